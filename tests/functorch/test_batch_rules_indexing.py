"""Batch rules of indexing, gathering, joining and masking: which tensors are mapped, dimensions, errors, gradients."""

from __future__ import annotations

from itertools import product

import pytest

import minitorch as mt
from minitorch.func import grad, vmap, vmap_fallback_policy

SIZE = 3


@pytest.fixture(autouse=True)
def no_loops():
    with vmap_fallback_policy("error"):
        yield


def check(function, *tensors, mapped=None, size=SIZE, nested=True):
    """Compare vmap with a loop for every choice of tensors that are mapped, first and last, and one level further."""
    choices = [c for c in product((True, False), repeat=len(tensors)) if any(c)] if mapped is None else mapped
    for choice in choices:
        examples = [[t[i] if m else t[0] for t, m in zip(tensors, choice, strict=True)] for i in range(size)]
        expected = mt.stack([function(*e) for e in examples])
        for dim in (0, -1):
            given = [t.movedim(0, dim) if m else t[0] for t, m in zip(tensors, choice, strict=True)]
            found = vmap(function, in_dims=tuple(dim if m else None for m in choice))(*given)
            mt.testing.assert_close(found, expected)
        if nested:
            given = [mt.stack([t, t], 1) if m else t[0] for t, m in zip(tensors, choice, strict=True)]
            dims = tuple(0 if m else None for m in choice)
            found = vmap(vmap(function, in_dims=dims), in_dims=dims)(*given)
            mt.testing.assert_close(found, mt.stack([expected, expected], 1))


def numbers(*shape, dtype=mt.float32):
    count = 1
    for n in shape:
        count *= n
    return (mt.arange(count, dtype=mt.int64) * 7 % 23 + 1).to(dtype).reshape(shape)


def places(*shape, below=3):
    count = 1
    for n in shape:
        count *= n
    return (mt.arange(count) * 5 % 7 % below).reshape(shape)


X = numbers(SIZE, 3, 4)


# ---------------------------------------------------------------- x[...] and x[...] = v


INDEXED = {
    "a place": lambda x, i: x[i[0, 0]],
    "a place of the last": lambda x, i: x[..., i[0, 0]],
    "vector": lambda x, i: x[i[0]],
    "matrix": lambda x, i: x[i],
    "of the last": lambda x, i: x[:, i],
    "two": lambda x, i: x[i, i],
    "two that broadcast": lambda x, i: x[i[:, :1], i[0]],
    "a new dimension": lambda x, i: x[None, :, i[0]],
    "apart": lambda x, i: x[None][i[0] * 0, :, i[0]],
    "in the middle": lambda x, i: x[:, None, :][:, i[0] * 0],
    "before two of the rest": lambda x, i: x.unsqueeze(-1).expand(3, 4, 2)[:, i[0], i[0] * 0 + 1],
    "with a slice": lambda x, i: x[1:, i[0]],
    "with a number": lambda x, i: x[-1, i],
    "from the end": lambda x, i: x[i - 3],
    "with a mask of all": lambda x, i: x[mt.tensor([True, False, True])],
    "with a mask of columns": lambda x, i: x[:, mt.tensor([True, False, True, True])],
    "with a mask and a vector": lambda x, i: x[mt.tensor([True, False, True]), i[0]],
    "with a mask of the matrix": lambda x, i: x[mt.arange(12).reshape(3, 4) > 7],
    "with a list": lambda x, i: x[[0, 2], :],
    "with True": lambda x, i: x[True],
}


@pytest.mark.parametrize("name", INDEXED)
def test_indexing(name):
    check(INDEXED[name], X, places(SIZE, 2, 2))


# Places that are the same twice would be written in an order that nobody promises.
APART = mt.tensor([[[0, 1], [2, 0]], [[2, 1], [0, 2]], [[1, 2], [0, 1]]])


class Written:
    """Writes a value where it is indexed, and returns the whole."""

    def __init__(self, x, value):
        self.x, self.value = x, value

    def __getitem__(self, index):
        self.x[index] = self.value
        return self.x


@pytest.mark.parametrize("name", [n for n in INDEXED if n not in ("apart", "in the middle", "before two of the rest")])
def test_writing_by_index(name):
    def write(x, i, v):
        return INDEXED[name](Written(x.clone(), v), i[:1].expand(2, 2))

    choices = [(True, True, True), (True, False, True), (True, True, False), (True, False, False)]
    check(write, X, APART, numbers(SIZE, 1), mapped=choices)
    check(lambda x, i: write(x, i, 9), X, APART, mapped=[(True, True), (True, False)])


@pytest.mark.parametrize("place", ["first", "middle", "apart"])
def test_writing_rows_by_index(place):
    def write(x, i, v):
        x = x.reshape(2, 3, 2).clone()
        if place == "first":
            x[i] = v[:2, :2]
        elif place == "middle":
            x[:, i] = v[:2, :2].unsqueeze(-1)
        else:
            x[i, :, i] = v[:2, :3]
        return x

    i = mt.tensor([[0, 1], [1, 0], [0, 1]])
    if place == "first":
        check(lambda x, i, v: write(x, i, v[:1, :2]), X, i, X, mapped=[(True, True, True), (True, False, True)])
    else:
        check(write, X, i, X, mapped=[(True, True, True), (True, False, True), (True, True, False), (True, False, False)])


def test_writing_through_to_the_mapped_tensor():
    x = X.clone()

    def write(x, i):
        x[i] = -1
        x[0, 1:3] = 5
        return x.sum()

    i = mt.tensor([0, 1, 2])
    vmap(write)(x, i)
    expected = X.clone()
    expected[mt.arange(3), i] = -1
    expected[:, 0, 1:3] = 5
    mt.testing.assert_close(x, expected)


def test_writing_values_of_each_example_to_one_tensor_is_refused():
    x = mt.zeros(4)

    def put(i):
        x[i] = 1
        return x

    with pytest.raises(RuntimeError, match="not possible"):
        vmap(put)(mt.tensor([0, 1]))
    with pytest.raises(RuntimeError, match="not possible"):
        vmap(lambda v: x[:1].copy_(v))(mt.ones(2, 1))


def test_masks_of_each_example_are_refused():
    x = mt.ones(2, 3)
    for function in (
        lambda x: x[x > 0], lambda x: x.clone().index_put_((x > 0,), mt.zeros(())), lambda x: x.nonzero(),
        lambda x: x.masked_select(x > 0), lambda x: mt.where(x > 0)[0],
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="vmap"):
            vmap(function)(x)


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put(accumulate):
    def put(x, i, v):
        return x.index_put((i,), v, accumulate)

    def put_apart(x, i, v):
        return x.reshape(3, 2, 2).index_put((i, None, i * 0), v, accumulate)

    def put_last(x, i, v):
        return x.index_put((None, i), v.unsqueeze(-1)[:3], accumulate)

    i = mt.tensor([[0, 2], [1, 0], [2, 1]])
    check(put, X, i, numbers(SIZE, 4))
    check(put, X, i, numbers(SIZE, 2, 1))
    check(put_apart, X, i, numbers(SIZE, 2))
    check(put_last, X, i, numbers(SIZE, 3))
    if accumulate:
        check(put, X, i * 0, numbers(SIZE, 4))


# ---------------------------------------------------------------- gathering and scattering


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_and_scatter(dim):
    i = places(SIZE, 2, 3)
    source = numbers(SIZE, 3, 3)
    check(lambda x, i: x.gather(dim, i), X, i)
    check(lambda x, i, s: x.scatter_add(dim, i, s), X, i, source)
    check(lambda x, i: x.scatter(dim, i, 2.0), X, i)
    check(lambda x, i, s: x.scatter_reduce(dim, i, s, "amax", include_self=False), X, i, source)
    check(lambda x, i, s: x.scatter_reduce(dim, i, s, "mean"), X, i, source)
    check(lambda x, i: x.scatter(dim, i, 2.0, reduce="multiply"), X, i)
    apart = mt.stack([mt.arange(3), mt.tensor([2, 0, 1]), mt.tensor([1, 2, 0])]).unsqueeze(1)
    apart = apart if dim else apart.movedim(1, 2)
    check(lambda x, i, s: x.scatter(dim, i, s), X, apart, source)
    check(lambda x, i, s: x.clone().scatter_(dim, i, s), X, apart, source, mapped=[(True, True, True), (True, False, True)])


def test_gather_of_examples_without_dimensions():
    x, i = numbers(2), mt.zeros(2, dtype=mt.int64)
    check(lambda x, i: x.gather(0, i), x, i, size=2)
    check(lambda x, i: x.gather(-1, i), x, mt.zeros(2, 3, dtype=mt.int64), size=2)
    check(lambda x, i: x.scatter(0, i, 5.0), x, i, size=2)
    check(lambda x, i: x.scatter_add(0, i, x), x, i, size=2)
    check(lambda x, i: x.index_select(0, i), x, i, size=2)
    check(lambda x, i: x.index_add(0, i, x), x, i, size=2)
    check(lambda x, i: x.index_fill(0, i, 3.0), x, i, size=2)
    check(lambda x, i: x.take(i), x, i, size=2)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_slices_by_position(dim):
    i = mt.tensor([[0, 2], [1, 0], [2, 1]])
    shape = (2, 4) if dim == 0 else (3, 2)
    source = numbers(SIZE, *shape)
    check(lambda x, i: x.index_select(dim, i), X, i)
    check(lambda x, i, s: x.index_add(dim, i, s, alpha=2), X, i, source)
    check(lambda x, i, s: x.index_copy(dim, i, s), X, i, source)
    check(lambda x, i, s: x.index_reduce(dim, i, s, "prod"), X, i, source)
    check(lambda x, i, s: x.index_reduce(dim, i, s, "mean", include_self=False), X, i, source)
    check(lambda x, i: x.index_fill(dim, i, 7), X, i)
    check(lambda x, i: x.index_fill(dim, i - 3, 7), X, i)
    check(lambda x, i, v: x.index_fill(dim, i, v), X, i, numbers(SIZE))
    check(lambda x, i, s: x.clone().index_add_(dim, i, s), X, i, source, mapped=[(True, True, True), (True, False, True)])
    check(lambda x, i: x.index_select(dim, i), X, places(SIZE))


def test_positions_out_of_range_do_not_reach_a_neighbour():
    x, i = X, mt.tensor([[0, 1], [1, 4], [0, 2]])
    s = numbers(SIZE, 2, 4)
    for error, function in (
        (IndexError, lambda x, i: x[i]),
        ((IndexError, RuntimeError), lambda x, i: x.index_select(0, i)),
        ((IndexError, RuntimeError), lambda x, i: x.index_add(0, i, s[0])),
        ((IndexError, RuntimeError), lambda x, i: x.index_copy(0, i, s[0])),
        ((IndexError, RuntimeError), lambda x, i: x.index_fill(0, i, 1.0)),
        ((IndexError, RuntimeError), lambda x, i: x.index_fill(0, i, x[0, 0])),
        (IndexError, lambda x, i: x.take(i + 12 * (i == 4))),
        ((IndexError, RuntimeError), lambda x, i: mt.nn.functional.embedding(i, x)),
    ):
        with pytest.raises(error):
            function(x[1], i[1])
        with pytest.raises(error):
            vmap(function)(x, i)


def test_take_and_put():
    i = places(SIZE, 2, 2, below=12) - 3
    check(lambda x, i: x.take(i), X, i)
    check(lambda x, i, s: x.put(i, s, accumulate=True), X, i, numbers(SIZE, 4))
    apart = mt.tensor([[0, 11], [3, -1], [-12, 5]])
    check(lambda x, i, s: x.put(i, s), X, apart, numbers(SIZE, 2))


def test_take_along_dim():
    check(lambda x, i: x.take_along_dim(i, -1), X, places(SIZE, 3, 2))
    check(lambda x, i: x.take_along_dim(i), X, places(SIZE, 5))


# ---------------------------------------------------------------- masks


def test_masks():
    mask = X % 3 == 0
    check(lambda x, m: x.masked_fill(m, 0.5), X, mask)
    check(lambda x, m: x.masked_fill(m, 0.5), X[:, 0], mask)  # the mask has more dimensions
    check(lambda x, m, v: x.masked_fill(m, v), X, mask, numbers(SIZE))
    check(lambda x, m, v: x.masked_fill(m, v), X.long(), mask[:, 0], numbers(SIZE))
    check(lambda x, m: x.clone().masked_fill_(m, 0.5), X, mask, mapped=[(True, True), (True, False)])
    check(lambda x, m, s: x.masked_scatter(m, s), X, mask, numbers(SIZE, 15))
    check(lambda x, m, s: x.masked_scatter(m, s), X, mask[:, :, :1], numbers(SIZE, 15))
    check(lambda x, m: x.masked_select(m), X, mask, mapped=[(True, False)])
    check(lambda x, m: x.masked_select(m), X[:, 0], mask, mapped=[(True, False)])
    check(lambda m, a, b: mt.where(m, a, b), mask, X, numbers(SIZE))
    with pytest.raises(RuntimeError):
        vmap(lambda x, m, s: x.masked_scatter(m, s))(X, X > 0, numbers(SIZE, 2))


def test_argwhere_where_all_examples_have_as_many_places():
    check(mt.argwhere, mt.tensor([[[0, 1], [2, 3]], [[0, 4], [1, 1]], [[1, 1], [0, 1]]]), nested=False)
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(mt.argwhere)(mt.tensor([[0, 1], [1, 1]]))


def test_nonzero_static():
    x = X % 4
    for size in (0, 2, 20):
        check(lambda x, size=size: mt.nonzero_static(x, size=size, fill_value=-7), x)
    check(lambda x: mt.nonzero_static(x, size=2), x[:, 0, 0])


# ---------------------------------------------------------------- joining, repeating, turning


def test_joining():
    row = numbers(SIZE, 1, 4)
    check(lambda x, r: mt.cat([x, r, x]), X, row)
    check(lambda x, r: mt.cat([x, r.reshape(-1)[:3].unsqueeze(1)], -1), X, row)
    check(lambda x, r: mt.cat([x, r.long()]), X, row)
    check(lambda x, r: mt.cat([x.long(), mt.ones(0)]), X, row)
    check(lambda x, r: mt.stack([x[0], r[0]], -1), X, row)
    check(lambda x, r: mt.stack([x, r.reshape(-1)[0]]), X[:, 0, 0], row)
    check(lambda x, r: mt.hstack([x, x]) + r, X[:, :, :2], row)
    check(lambda x, r: mt.block_diag(x, r, mt.ones(2)), X, row)
    check(lambda x, r: mt.cartesian_prod(x[0], r[0]), X, row)
    check(lambda x, r: mt.meshgrid(x[0], r[0], indexing="xy")[1], X, row)
    check(lambda x: mt.combinations(x, 2), X[:, 0])
    with pytest.raises(RuntimeError):
        vmap(lambda x: mt.cat([x, x]))(mt.ones(2))
    with pytest.raises(IndexError):
        vmap(lambda x: mt.cat([x, x], 2))(X)


def test_repeating():
    check(lambda x: x.repeat(2, 1, 3), X)
    check(lambda x: x.repeat(2, 3), X[:, 0, 0])
    check(lambda x: x.tile(2), X)
    check(lambda x: x.repeat_interleave(2, -1), X)
    check(lambda x: x.repeat_interleave(2), X)
    check(lambda x: x.repeat_interleave(mt.tensor([1, 0, 2]), 0), X)
    check(lambda x, r: x.repeat_interleave(r, 0), X, mt.tensor([[1, 0, 2], [3, 0, 0], [1, 1, 1]]), nested=False)
    check(
        lambda x, r: x.repeat_interleave(r, 0, output_size=3), X[:2], mt.tensor([[1, 0, 2], [3, 0, 0]]), size=2,
    )  # fmt: skip
    with pytest.raises(RuntimeError, match="dynamic shape"):
        vmap(lambda r: mt.repeat_interleave(r))(mt.tensor([[1, 0], [1, 1]]))
    with pytest.raises(RuntimeError):
        vmap(lambda x: x.repeat(2))(X)


def test_turning():
    check(lambda x: x.flip(-1, 0), X)
    check(lambda x: x.roll(1), X)
    check(lambda x: x.roll((1, -1), (0, -1)), X)
    check(lambda x: x.roll(2), X[:, 0, 0])
    check(lambda x: x.rot90(), X)
    check(lambda x: x.tril(-1), X)
    check(lambda x: x.clone().triu_(), X)
    check(lambda x: x.diag_embed(1, 0, -1), X)
    check(lambda x: x.diag(), X)
    check(lambda x: x[:, :3].trace(), X)
    for error, function in (
        (RuntimeError, lambda x: x.tril()), (IndexError, lambda x: x.roll(1, 1)), (IndexError, lambda x: x.flip(1)),
        (RuntimeError, lambda x: x.trace()),
    ):  # fmt: skip
        with pytest.raises(error):
            vmap(function)(mt.ones(2, 3))
    with pytest.raises((IndexError, RuntimeError)):
        vmap(lambda x: x.diag_embed())(mt.ones(2))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_padding(mode):
    pad = mt.nn.functional.pad
    ops = mt.ops.aten
    check(lambda x: pad(x, (1, 2), mode=mode), X)
    check(lambda x: pad(x, (1, 0), mode=mode), numbers(SIZE, 2, 3, 4))
    check(lambda x: pad(x, (1, 2, 0, 1), mode=mode), numbers(SIZE, 2, 3, 4))
    check(lambda x: pad(x, (1, 2, 0, 1), mode=mode), numbers(SIZE, 2, 2, 3, 4))
    check(lambda x: pad(x, (1, 1, 1, 1, 0, 1), mode=mode), numbers(SIZE, 1, 2, 3, 2))
    if mode in ("reflect", "replicate"):
        backward = getattr(ops, {"reflect": "reflection", "replicate": "replication"}[mode] + "_pad1d_backward")
        check(lambda g, x: backward(g, x, [1, 2]), numbers(SIZE, 3, 7), X)
        check(lambda g, x: backward(g, x, [1, 2]), numbers(SIZE, 2, 3, 7), numbers(SIZE, 2, 3, 4))
    with pytest.raises(RuntimeError):
        vmap(lambda x: pad(x, (1, 1, 1, 1, 1, 1), mode=mode))(X)


# ---------------------------------------------------------------- tables


def test_embedding():
    weight, indices = numbers(SIZE, 5, 2), places(SIZE, 2, 3, below=5)
    functional, ops = mt.nn.functional, mt.ops.aten
    check(lambda w, i: functional.embedding(i, w), weight, indices)
    check(lambda w, i: functional.embedding(i[0, 0], w, padding_idx=0), weight, indices)
    grad = numbers(SIZE, 2, 3, 2)
    for padding, by_frequency in ((-1, False), (2, False), (2, True)):
        check(lambda g, i, p=padding, f=by_frequency: ops.embedding_dense_backward(g, i, 5, p, f), grad, indices)


def test_the_padding_row_of_a_table_for_each_example_has_no_gradient():
    weight, indices = numbers(SIZE, 5, 2), places(SIZE, 4, below=3)

    def gradient(look_up):
        w = weight.clone().requires_grad_()
        look_up(w).sum().backward()
        return w.grad

    def one(w, i):
        return mt.nn.functional.embedding(i, w, padding_idx=1)

    expected = gradient(lambda w: mt.stack([one(w[k], indices[k]) for k in range(SIZE)]))
    assert (expected[:, 1] == 0).all()
    mt.testing.assert_close(gradient(lambda w: vmap(one)(w, indices)), expected)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("padding", [None, 1])
def test_embedding_bag(mode, last, padding):
    weight, indices = numbers(SIZE, 5, 2), places(SIZE, 6, below=5)
    offsets = mt.tensor([[0, 2, 6], [0, 0, 6], [0, 3, 6]])

    def bag(w, i, o, p=None):
        return mt.nn.functional.embedding_bag(
            i, w, o if last else o[:2], mode=mode, include_last_offset=last, padding_idx=padding, per_sample_weights=p
        )

    check(bag, weight, indices, offsets)
    if mode == "sum":
        check(bag, weight, indices, offsets, numbers(SIZE, 6), mapped=[(True, True, True, True), (False, False, False, True)])
    # The other results, which its gradient is made of.
    number = ["sum", "mean", "max"].index(mode)

    def details(w, i, o, place):
        found = mt.ops.aten._embedding_bag(w, i, o if last else o[:2], False, number, False, None, last, padding or -1)
        return found[place]

    for place in (1, 2, 3):
        check(lambda w, i, o, place=place: details(w, i, o, place), weight, indices, offsets)


def test_embedding_renorm_in_place():
    weight, indices = numbers(SIZE, 5, 2), places(SIZE, 3, below=5)

    def renorm(w, i):
        return mt.ops.aten.embedding_renorm_(w, i, 1.0, 2.0)

    expected = mt.stack([renorm(weight[k].clone(), indices[k]) for k in range(SIZE)])
    given = weight.clone()
    vmap(renorm)(given, indices)
    mt.testing.assert_close(given, expected)
    given = weight.movedim(0, 2).clone()
    vmap(renorm, in_dims=(2, 0))(given, indices)
    mt.testing.assert_close(given.movedim(2, 0), expected)


def test_one_hot_and_segments():
    check(lambda i: mt.nn.functional.one_hot(i, 4), places(SIZE, 2, 3))
    with pytest.raises(RuntimeError, match="num_classes"):
        vmap(mt.nn.functional.one_hot)(places(SIZE, 2))
    lengths = mt.tensor([[1, 2], [3, 0], [2, 1]])
    check(lambda x, n: mt.segment_reduce(x, "mean", lengths=n, unsafe=True), X, lengths.clamp(1, 2))
    for reduce in ("sum", "max"):
        check(lambda x, n, r=reduce: mt.segment_reduce(x, r, lengths=n, unsafe=True), X, lengths)


def test_no_examples():
    x, i = mt.zeros(0, 3, 4), mt.zeros(0, 2, dtype=mt.int64)
    for function, shape in (
        (lambda x, i: x[i], (0, 2, 4)), (lambda x, i: x[:, i], (0, 3, 2)), (lambda x, i: x.index_select(1, i), (0, 3, 2)),
        (lambda x, i: x.gather(0, i.unsqueeze(1)), (0, 2, 1)), (lambda x, i: x.take(i), (0, 2)),
        (lambda x, i: mt.cat([x, x]), (0, 6, 4)), (lambda x, i: mt.stack([i, i]), (0, 2, 2)),
        (lambda x, i: x.index_add(1, i, x[:, :2]), (0, 3, 4)), (lambda x, i: x.roll(1), (0, 3, 4)),
        (lambda x, i: mt.nn.functional.embedding(i, x), (0, 2, 4)), (lambda x, i: x.repeat(2, 2), (0, 6, 8)),
        (lambda x, i: x.masked_fill(x > 0, 1.0), (0, 3, 4)), (lambda x, i: mt.nn.functional.pad(x, (1, 1)), (0, 3, 6)),
    ):  # fmt: skip
        assert vmap(function)(x, i).shape == shape


def test_out_is_refused():
    with pytest.raises(RuntimeError, match="out="):
        vmap(lambda x, i: mt.gather(x, 0, i, out=mt.empty(1, 4)))(X, places(SIZE, 1, 4))


# ---------------------------------------------------------------- with gradients, and as PyTorch has it


def test_gradients_at_places_of_each_example():
    i = mt.tensor([0, 2, 1])

    def read(x, i):
        return x[i, 1] ** 2 + x[i].sum() + x[:, i].sum()

    def write(x, i):
        y = x * 1
        y[i] = y[0] * 2
        y[0, i] = 0
        return (y * y).sum()

    for function in (read, write):
        expected = mt.stack([grad(function)(X[k], i[k]) for k in range(SIZE)])
        mt.testing.assert_close(vmap(grad(function))(X, i), expected)
        mt.testing.assert_close(grad(lambda x, f=function: vmap(f)(x, i).sum())(X), expected)


FORMS = {
    "a place": lambda x, i, j: x[i],
    "two places": lambda x, i, j: x[i, i],
    "a place and a vector": lambda x, i, j: x[i, j],
    "a place apart from a vector": lambda x, i, j: x[i, :, j],
    "a vector apart from a place": lambda x, i, j: x[j, :, i],
    "a place behind a new dimension": lambda x, i, j: x[None, i, ..., j],
    "a matrix apart": lambda x, i, j: x[j[:, None], :, j],
    "behind a slice": lambda x, i, j: x[1:, j, i],
    "a number apart": lambda x, i, j: x[0, :, j],
}


@pytest.mark.oracle
@pytest.mark.parametrize("name", FORMS)
def test_where_indices_go_is_where_pytorch_has_them(name, torch):
    x, i, j = numbers(SIZE, 4, 3, 4), places(SIZE), places(SIZE, 2)
    given = [torch.from_numpy(t.numpy()) for t in (x, i, j)]
    for dims in ((0, 0, 0), (None, 0, 0), (0, None, 0), (0, 0, None), (None, None, 0)):
        ours = [t[0] if d is None else t for t, d in zip((x, i, j), dims, strict=True)]
        theirs = [t[0] if d is None else t for t, d in zip(given, dims, strict=True)]
        expected = torch.func.vmap(FORMS[name], in_dims=dims)(*theirs)
        mt.testing.assert_close(vmap(FORMS[name], in_dims=dims)(*ours), mt.from_numpy(expected.numpy()))
