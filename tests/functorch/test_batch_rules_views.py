"""Batch rules of views: dimensions, no dimensions, awkward memory, and that they are views."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.func import vmap, vmap_fallback_policy


@pytest.fixture(autouse=True)
def no_loops():
    with vmap_fallback_policy("error"):
        yield


def check(function, *tensors, in_dims=0):
    """Compare vmap with a loop, for the mapped dimension first and last, and nested."""
    size = tensors[0].shape[0]
    expected = [function(*[t[i] for t in tensors]) for i in range(size)]
    many = isinstance(expected[0], (list, tuple))
    columns = list(zip(*expected, strict=True)) if many else [expected]
    last = [t.movedim(0, -1) for t in tensors]
    for given, dim in ((tensors, 0), (last, -1)):
        found = vmap(function, in_dims=dim)(*given)
        for result, column in zip(found if many else [found], columns, strict=True):
            mt.testing.assert_close(result, mt.stack(list(column)))
    nested = vmap(vmap(function, in_dims=-1), in_dims=1)(*[mt.stack([t, t]).movedim(1, -1).movedim(0, 1) for t in tensors])
    for result, column in zip(nested if many else [nested], columns, strict=True):
        mt.testing.assert_close(result, mt.stack([mt.stack(list(column))] * 2))


def numbers(*shape, dtype=None):
    count = 1
    for n in shape:
        count *= n
    return mt.arange(count, dtype=dtype or mt.float32).reshape(shape)


MATRIX = {
    "view": lambda x: x.reshape(4, 3),
    "view of the rest": lambda x: x.reshape(-1, 2),
    "t": lambda x: x.t(),
    "transpose": lambda x: x.transpose(-1, 0),
    "permute": lambda x: x.permute(-1, 0),
    "movedim": lambda x: x.movedim(0, -1),
    "select": lambda x: x.select(-1, 2),
    "select from the end": lambda x: x.select(0, -1),
    "slice": lambda x: x[:, 1:4:2],
    "reversed": lambda x: x.flip(-1),
    "split": lambda x: x.split(2, -1),
    "split with sizes": lambda x: x.split([1, 3], -1),
    "chunk": lambda x: x.chunk(3, 1),
    "tensor_split": lambda x: x.tensor_split(2, -1),
    "tensor_split by a tensor": lambda x: x.tensor_split(mt.tensor([1, 2]), -1),
    "unbind": lambda x: x.unbind(-1),
    "expand": lambda x: x.expand(2, -1, 4),
    "expand of one": lambda x: x[:1].expand(3, 4),
    "squeeze": lambda x: x[:1].squeeze(),
    "squeeze a dim": lambda x: x[:, :1].squeeze(-1),
    "squeeze dims": lambda x: x[:1].squeeze((0, 1)),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "diagonal": lambda x: x.diagonal(1),
    "diagonal of others": lambda x: x.unsqueeze(0).diagonal(-1, -1, 1),
    "unfold": lambda x: x.unfold(-1, 2, 1),
    "flatten": lambda x: x.flatten(),
    "ravel of a transpose": lambda x: x.t().ravel(),
    "contiguous": lambda x: x.t().contiguous().view(-1),
    "view as real": lambda x: mt.view_as_real(x.to(mt.complex64)),
    "view as complex": lambda x: mt.view_as_complex(x.reshape(3, 2, 2).contiguous()),
    "view as integers": lambda x: x.contiguous().view(mt.int32),
    "view as bytes": lambda x: x.contiguous().view(mt.uint8),
    "select_scatter": lambda x: x.select_scatter(x[0], -2, 1),
    "slice_scatter": lambda x: x.slice_scatter(x[:, :2], -1, 1, 3),
    "diagonal_scatter": lambda x: x.diagonal_scatter(x[0, :3]),
    "as_strided of a copy": lambda x: x.contiguous().clone(memory_format=mt.contiguous_format).sum(0).as_strided((2, 2), (1, 1)),
}


@pytest.mark.parametrize("name", MATRIX)
def test_of_matrices(name):
    check(MATRIX[name], numbers(5, 3, 4))


@pytest.mark.parametrize("name", ["view", "transpose", "expand", "unbind", "squeeze", "flatten", "unfold", "split"])
def test_of_one_example(name):
    check(MATRIX[name], numbers(1, 3, 4))


SCALAR = {
    "view": lambda x: x.view(1),
    "reshape": lambda x: x.reshape(1, -1),
    "transpose": lambda x: x.transpose(0, -1),
    "t": lambda x: x.t(),
    "permute": lambda x: x.permute([]),
    "expand": lambda x: x.expand(2, 3),
    "squeeze": lambda x: x.squeeze(),
    "squeeze a dim": lambda x: x.squeeze(0),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "unfold": lambda x: x.unfold(0, 1, 1),
    "unfold nothing": lambda x: x.unfold(0, 0, 1),
    "flip": lambda x: x.flip(0),
    "flatten": lambda x: x.flatten(),
    "view as real": lambda x: mt.view_as_real(x.to(mt.complex64)),
}


@pytest.mark.parametrize("name", SCALAR)
def test_of_examples_without_dimensions(name):
    check(SCALAR[name], numbers(2))  # of two: the mapped dimension must not be taken for an example's


@pytest.mark.parametrize(
    ("error", "function"),
    [
        (IndexError, lambda x: x.select(0, 0)),
        (IndexError, lambda x: x[0]),
        (RuntimeError, lambda x: x.split(1)),
        (IndexError, lambda x: x.unbind()),
        (IndexError, lambda x: x.diagonal()),
        (RuntimeError, lambda x: mt.view_as_complex(x)),
        (RuntimeError, lambda x: x.view(mt.int16)),
        (RuntimeError, lambda x: x.view(2)),
        (IndexError, lambda x: x.unsqueeze(1)),
        (RuntimeError, lambda x: x.expand(-1, 2)),
        (IndexError, lambda x: x.transpose(0, 1)),
        (RuntimeError, lambda x: x.permute(0)),
    ],
)
def test_errors_are_those_of_an_example(error, function):
    with pytest.raises(error):
        function(numbers(2)[0])
    with pytest.raises(error):
        vmap(function)(numbers(2))


def test_no_examples():
    x = mt.zeros(0, 3, 4)
    for function, shape in (
        (lambda x: x.reshape(-1), (0, 12)), (lambda x: x.t(), (0, 4, 3)), (lambda x: x.expand(2, 3, 4), (0, 2, 3, 4)),
        (lambda x: x.unfold(1, 2, 2), (0, 3, 2, 2)), (lambda x: x[:, 0], (0, 3)), (lambda x: x.view(-1, 2), (0, 6, 2)),
    ):  # fmt: skip
        assert vmap(function)(x).shape == shape


VIEWS = {
    "view": lambda x: x.view(12),
    "transpose": lambda x: x.t(),
    "permute": lambda x: x.permute(1, 0),
    "select": lambda x: x[1],
    "slice": lambda x: x[:, 1:3],
    "split": lambda x: x.split(2, 1)[1],
    "unbind": lambda x: x.unbind(1)[2],
    "diagonal": lambda x: x.diagonal(),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[:1].squeeze(),
    "as_strided": lambda x: x.as_strided((2, 2), (4, 1)),
    "real": lambda x: mt.view_as_complex(x.view(3, 2, 2)).real,
    "a range of bits": lambda x: x.view(mt.int32)[0],
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_write_through(name):
    def write(x):
        VIEWS[name](x).fill_(7)
        return x

    given, expected = numbers(2, 3, 4), numbers(2, 3, 4)
    for i in range(2):
        VIEWS[name](expected[i]).fill_(7)
    result = vmap(write)(given)
    mt.testing.assert_close(given, expected)
    mt.testing.assert_close(result, expected)


def test_an_offset_in_memory_is_that_of_the_first_example():
    given, expected = numbers(2, 3, 4), numbers(2, 3, 4)
    vmap(lambda x: x.as_strided((2,), (4,), 3).fill_(7))(given)
    expected[:, :2, 3] = 7
    mt.testing.assert_close(given, expected)


def test_views_write_through_where_the_mapped_dimension_is_not_first():
    given = numbers(3, 4, 2)

    def write(x):
        x.t()[1].mul_(-1)
        return x.sum()

    vmap(write, in_dims=2)(given)
    expected = numbers(3, 4, 2)
    expected[:, 1] *= -1
    mt.testing.assert_close(given, expected)


def test_changes_into_a_view_in_place():
    def change(x):
        y = x.clone()
        assert y.t_() is y
        assert y.shape == (4, 3)
        y.unsqueeze_(0)
        y.transpose_(0, 2)
        assert y.shape == (3, 4, 1)
        y.squeeze_(-1)
        y.add_(1)
        return y

    x = numbers(2, 3, 4)
    mt.testing.assert_close(vmap(change)(x), x + 1)
    mt.testing.assert_close(vmap(change, in_dims=1)(x.movedim(0, 1)), x + 1)


def test_a_view_that_cannot_be_is_refused():
    x = numbers(2, 3, 4)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        vmap(lambda x: x.t().view(12))(x)
    assert vmap(lambda x: x.view(12), in_dims=2)(numbers(3, 4, 2)).shape == (2, 12)


def test_gradients_of_views():
    grad = numbers(5, 3, 2)
    ops = mt.ops.aten
    check(lambda g: ops.select_backward(g, [3, 4, 2], -2, 1), grad)
    check(lambda g: ops.slice_backward(g, [3, 5], -1, 1, 5, 2), grad)
    check(lambda g: ops.diagonal_backward(g, [3, 4, 2], 1, -1, -2)[..., :1], numbers(5, 3, 1))
    check(lambda g: ops.unfold_backward(g, [4], 0, 2, 1), grad)
    check(lambda g: ops.unfold_backward(g, [], 0, 1, 1), numbers(2, 1))


def test_fill_diagonal_in_place():
    def fill(x):
        return x.clone().fill_diagonal_(9, wrap=True)

    x = numbers(2, 7, 3)
    mt.testing.assert_close(vmap(fill)(x), mt.stack([fill(e) for e in x]))


def test_tensor_split_by_indices_of_each_example():
    with pytest.raises(RuntimeError, match=r"vmap: tensor_split"):
        vmap(lambda x, i: x.tensor_split(i))(numbers(2, 4), mt.tensor([[1], [2]]))
