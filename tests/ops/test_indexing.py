"""Gathering, scattering, masking and joining: edge rules with literal expectations."""

import numpy as np
import pytest

import minitorch as mt


def same(tensor, expected, dtype=None):
    """Assert values and shape and, if given, the dtype."""
    if dtype is not None:
        assert tensor.dtype is dtype
    expected = np.asarray(expected)
    assert tuple(tensor.shape) == expected.shape
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-6)


def matrix():
    return mt.arange(12.0).reshape(3, 4)


# ---------------------------------------------------------------- positions


@pytest.mark.parametrize("position", [-1, 3, 10**12])
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda x, i: x.gather(0, i), RuntimeError),
        (lambda x, i: x.t().gather(1, i), RuntimeError),
        (lambda x, i: x.scatter(0, i, 1.0), RuntimeError),
        (lambda x, i: x.scatter_(0, i, mt.ones(1, 1)), RuntimeError),
        (lambda x, i: x.scatter_add(0, i, mt.ones(1, 1)), RuntimeError),
        (lambda x, i: x.index_select(0, i[0]), IndexError),
        (lambda x, i: x.index_add(0, i[0], mt.ones(1, 4)), RuntimeError),
        (lambda x, i: x.index_copy_(0, i[0], mt.ones(1, 4)), IndexError),
        (lambda x, i: mt.nn.functional.embedding(i, x), IndexError),
    ],
)
def test_positions_from_the_end_or_beyond_are_refused(call, error, position):
    x = matrix()
    with pytest.raises(error, match="out of"):
        call(x, mt.tensor([[position]]))
    same(x, np.arange(12.0).reshape(3, 4))  # nothing was written


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: x[i],
        lambda x, i: x.index_put([i], mt.ones(1)),
        lambda x, i: x.index_put_([i], mt.ones(1), accumulate=True),
        lambda x, i: x.index_fill(0, i, 1.0),
        lambda x, i: x.reshape(-1)[:3].take(i),
        lambda x, i: x.reshape(-1)[:3].put(i, mt.ones(1)),
    ],
)
def test_positions_from_the_end_are_allowed_but_not_beyond(call):
    call(matrix(), mt.tensor([-3]))
    for position in (-4, 3):
        with pytest.raises(IndexError, match="out of"):
            call(matrix(), mt.tensor([position]))


def test_gather_and_scatter():
    x = matrix()
    index = mt.tensor([[0, 2], [1, 1]])
    same(x.gather(0, index), [[0, 9], [4, 5]])
    same(x.gather(1, index), [[0, 2], [5, 5]])
    same(x.t().gather(0, index), [[0, 6], [1, 5]])
    same(mt.zeros(2, 3).scatter(1, index[:1], mt.tensor([[5.0, 6.0]])), [[5, 0, 6], [0, 0, 0]])
    same(mt.zeros(3).scatter_add(0, mt.tensor([1, 1, 2]), mt.ones(3)), [0, 2, 1])
    same(mt.tensor(3.0).gather(0, mt.tensor([0, 0])), [3, 3])
    same(x.gather(0, mt.zeros(0, 4, dtype=mt.int64)), np.zeros((0, 4)))
    with pytest.raises(RuntimeError, match="same number of dimensions"):
        x.gather(0, mt.tensor([0]))
    with pytest.raises(RuntimeError, match="no larger than"):
        x.gather(1, mt.zeros(4, 1, dtype=mt.int64))
    with pytest.raises(RuntimeError, match="int64"):
        x.gather(0, index.float())


@pytest.mark.parametrize(
    ("reduce", "included", "excluded"),
    [
        ("sum", [10, 14, 1], [8, 14, 1]), ("prod", [30, 14, 1], [15, 14, 1]),
        ("mean", [10 / 3, 7, 1], [4, 14, 1]), ("amax", [5, 7, 1], [5, 14, 1]),
        ("amin", [2, 2, 1], [3, 14, 1]),
    ],
)  # fmt: skip
def test_scatter_reduce(reduce, included, excluded):
    x = mt.tensor([2.0, 0.0, 1.0]) if reduce in ("sum", "mean") else mt.tensor([2.0, 1.0, 1.0])
    source = mt.tensor([3.0, 14.0, 5.0])
    index = mt.tensor([0, 1, 0])
    result = x.scatter_reduce(0, index, source, reduce)
    same(result[[0, 2]], [included[0], included[2]])
    same(x.scatter_reduce(0, index, source, reduce, include_self=False), excluded)


def test_index_operators():
    x = mt.zeros(3, 2)
    rows = mt.tensor([2, 0, 2])
    source = mt.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    same(x.index_add(0, rows, source), [[3, 4], [0, 0], [6, 8]])
    same(x.index_add(0, rows, source, alpha=2), [[6, 8], [0, 0], [12, 16]])
    same(x.index_copy(0, mt.tensor([1]), source[:1]), [[0, 0], [1, 2], [0, 0]])
    same(x.index_fill(1, mt.tensor([-1]), 7), [[0, 7], [0, 7], [0, 7]])
    with pytest.raises(RuntimeError, match="shape"):
        x.index_add(0, rows, source[:, :1])
    y = mt.zeros(2, 3).t()
    y.index_add_(0, rows, source)  # into memory that is not row-major
    same(y, [[3, 4], [0, 0], [6, 8]])


@pytest.mark.parametrize("count", [3, 5000])
def test_rows_add_up_whatever_the_size(count):
    rng = np.random.default_rng(0)
    index, source = rng.integers(0, 40, count), rng.standard_normal((count, 64))
    expected = np.zeros((40, 64))
    np.add.at(expected, index, source)
    result = mt.zeros(40, 64, dtype=mt.float64).index_add(0, mt.from_numpy(index), mt.from_numpy(source))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-10, atol=1e-12)


# ---------------------------------------------------------------- advanced indexing


def test_separated_indices_move_to_the_front():
    x = mt.zeros(2, 3, 4, 5)
    i = mt.tensor([0, 1])
    assert mt.ops.aten.index(x, [i, None, i]).shape == (2, 3, 5)
    assert mt.ops.aten.index(x, [None, i, None, i]).shape == (2, 2, 4)
    assert mt.ops.aten.index(x, [None, i, mt.tensor([[0, 1]])]).shape == (2, 1, 2, 5)


def test_masks_and_positions():
    x = matrix()
    same(x[x > 9], [10, 11])
    same(mt.ops.aten.index(x, [None, mt.tensor([True, False, False, True])]), [[0, 3], [4, 7], [8, 11]])
    same(mt.ops.aten.index(x, [mt.tensor(1)]), [4, 5, 6, 7])
    with pytest.raises(IndexError, match="mask"):
        mt.ops.aten.index(x, [mt.tensor([True, False])])
    with pytest.raises(IndexError, match="broadcast"):
        mt.ops.aten.index(x, [mt.tensor([0, 1]), mt.tensor([0, 1, 2])])
    with pytest.raises(IndexError, match="too many"):
        mt.ops.aten.index(x, [None, None, mt.tensor([0])])
    with pytest.raises(IndexError, match="long, int, byte or bool"):
        mt.ops.aten.index(x, [mt.tensor([0.0])])


def test_index_put():
    x = mt.zeros(3)
    i = mt.tensor([0, 0, 2])
    same(x.index_put([i], mt.ones(3), accumulate=True), [2, 0, 1])
    same(x.index_put([i], mt.tensor(5.0)), [5, 0, 5])
    with pytest.raises(RuntimeError, match="dtypes match"):
        x.index_put([i], mt.ones(3, dtype=mt.float64))
    with pytest.raises(RuntimeError, match="broadcast"):
        x.index_put([i], mt.ones(2))


# ---------------------------------------------------------------- masks


def test_masked_operators():
    x = matrix()
    mask = x > 5
    same(x.masked_fill(mask, -1.0), np.where(x.numpy() > 5, -1, x.numpy()))
    same(x.masked_select(mask[0]), np.zeros(0))
    same(mt.zeros(2, 2).masked_scatter(mt.tensor([True, False]), mt.tensor([1.0, 2.0, 3.0])), [[1, 0], [2, 0]])
    assert x.masked_fill(mt.ones(2, 3, 4, dtype=mt.bool), 0).shape == (2, 3, 4)
    same(mt.tensor([1, 2]).masked_fill(mt.tensor([True, False]), 1.9), [1, 2], mt.int64)
    for value, array in ((300, mt.zeros(1, dtype=mt.uint8)), (1e39, mt.zeros(1)), (1j, mt.zeros(1))):
        with pytest.raises(RuntimeError, match="overflow"):
            array.masked_fill(mt.tensor([True]), value)
    with pytest.raises(RuntimeError, match="boolean"):
        x.masked_fill(mask.long(), 0)
    with pytest.raises(RuntimeError, match="source has 1"):
        x.masked_scatter(mask, mt.ones(1))


def test_where():
    mask = mt.tensor([True, False])
    same(mt.where(mask, 1, 2), [1, 2], mt.int64)
    same(mt.where(mask, mt.tensor([1, 2]), 2.5), [1, 2.5], mt.float32)
    same(mt.where(mask, mt.ones(2, dtype=mt.float16), mt.tensor(2.0)), [1, 2], mt.float16)
    assert [t.tolist() for t in mt.where(mt.tensor([[0, 3], [0, 4]]))] == [[0, 1], [1, 1]]
    assert mt.where(mask, mt.ones(2, 2).t(), mt.zeros(2, 2).t()).stride() == (1, 2)
    with pytest.raises(RuntimeError, match="boolean"):
        mt.where(mask.long(), 1.0, 2.0)


def test_nonzero():
    x = mt.tensor([[1, 0], [0, 2]])
    same(x.nonzero(), [[0, 0], [1, 1]])
    assert [t.tolist() for t in x.nonzero(as_tuple=True)] == [[0, 1], [0, 1]]
    assert mt.tensor(3.0).nonzero().shape == (1, 0)
    assert mt.tensor(0.0).nonzero().shape == (0, 0)


# ---------------------------------------------------------------- embedding


@pytest.mark.parametrize("by_freq", [False, True])
@pytest.mark.parametrize("padding_idx", [None, 1])
def test_embedding_gradient(padding_idx, by_freq):
    weight = mt.zeros(3, 2, dtype=mt.float64, requires_grad=True)
    index = mt.tensor([[0, 1], [0, 0]])
    mt.nn.functional.embedding(
        index, weight, padding_idx=padding_idx, scale_grad_by_freq=by_freq
    ).sum().backward()
    expected = np.array([[1.0 if by_freq else 3.0] * 2, [0.0 if padding_idx else 1.0] * 2, [0.0] * 2])
    same(weight.grad, expected)


def test_one_hot_and_repeat_interleave():
    same(mt.nn.functional.one_hot(mt.tensor([2, 0])), [[0, 0, 1], [1, 0, 0]], mt.int64)
    with pytest.raises(RuntimeError, match="non-negative"):
        mt.nn.functional.one_hot(mt.tensor([-1]))
    same(mt.tensor([1, 2]).repeat_interleave(2), [1, 1, 2, 2])
    same(mt.tensor([1, 2]).repeat_interleave(mt.tensor([0, 3])), [2, 2, 2])
    same(mt.tensor([[1, 2]]).repeat_interleave(2, 1), [[1, 1, 2, 2]])


# ---------------------------------------------------------------- diagonals, turning, joining


def test_triangles_and_diagonals():
    x = mt.full((2, 3), float("nan"))
    same(x.nan_to_num(1.0).tril(), [[1, 0, 0], [1, 1, 0]])
    assert x.tril()[0, 1] == 0  # the rest is zero, whatever was there
    same(mt.ones(2, 3).triu(1), [[0, 1, 1], [0, 0, 1]])
    same(mt.diag(mt.tensor([1.0, 2.0]), -1), [[0, 0, 0], [1, 0, 0], [0, 2, 0]])
    same(mt.diag(matrix(), 1), [1, 6, 11])
    same(mt.diag_embed(mt.tensor([1.0, 2.0]), 1, 1, 0), [[0, 0, 0], [1, 0, 0], [0, 2, 0]])


def test_turning():
    x = mt.tensor([[1, 2], [3, 4]])
    same(x.roll(1), [[4, 1], [2, 3]])
    same(x.roll((1, -1), (0, 1)), [[4, 3], [2, 1]])
    same(x.flip(0), [[3, 4], [1, 2]])
    same(x.rot90(), [[2, 4], [1, 3]])
    with pytest.raises(RuntimeError, match="multiple times"):
        x.flip(0, 0)


def test_cat():
    x = mt.ones(2, 2)
    same(mt.cat([x, mt.tensor([])]), np.ones((2, 2)))  # an empty vector fits everything
    assert mt.cat([mt.ones(1), mt.ones(1, dtype=mt.int64)]).dtype is mt.float32
    assert mt.cat([x.t(), x.t()]).is_contiguous()
    with pytest.raises(RuntimeError, match="must match"):
        mt.cat([x, mt.ones(2, 3)])
    with pytest.raises(RuntimeError, match="zero-dimensional"):
        mt.cat([mt.tensor(1.0)])
    with pytest.raises(RuntimeError, match="equal size"):
        mt.stack([x, mt.ones(2)])
    same(mt.stack([mt.tensor(1.0), mt.tensor(2.0)]), [1, 2])
    same(mt.stack([mt.tensor([1, 2]), mt.tensor([3, 4])], -1), [[1, 3], [2, 4]])
    same(mt.hstack([mt.tensor([1]), mt.tensor([2])]), [1, 2])
    same(mt.vstack([mt.tensor([1]), mt.tensor([2])]), [[1], [2]])


def test_cat_keeps_channels_last():
    x = mt.ones(2, 3, 2, 2).to(memory_format=mt.channels_last)
    assert mt.cat([x, x], 1).is_contiguous(memory_format=mt.channels_last)


def test_repeating_and_grids():
    same(mt.tensor([[1, 2]]).repeat(2, 2), [[1, 2, 1, 2], [1, 2, 1, 2]])
    same(mt.tensor([1, 2]).tile((2, 1)), [[1, 2], [1, 2]])
    rows, _ = mt.meshgrid(mt.arange(2), mt.arange(3), indexing="ij")
    same(rows, [[0, 0, 0], [1, 1, 1]])
    assert mt.meshgrid(mt.arange(2), mt.arange(3), indexing="xy")[0].shape == (3, 2)
    same(mt.cartesian_prod(mt.tensor([1, 2]), mt.tensor([3, 4])), [[1, 3], [1, 4], [2, 3], [2, 4]])
    same(mt.combinations(mt.tensor([1, 2, 3])), [[1, 2], [1, 3], [2, 3]])
    same(mt.block_diag(mt.tensor([[1]]), mt.tensor([2, 3])), [[1, 0, 0], [0, 2, 3]])
    assert [t.tolist() for t in mt.unravel_index(mt.tensor([5, 0]), (2, 3))] == [[1, 0], [2, 0]]


def test_results_are_fresh_memory():
    x = matrix()
    for result in (
        x.roll(0, 0), x.flip(()), x.repeat(1, 1), mt.cat([x]), mt.stack([x]), x.tril(10),
        x.index_select(0, mt.arange(3)), mt.ops.aten.index(x, [mt.tensor(0)]), x.masked_fill(x > 99, 0),
    ):  # fmt: skip
        assert not np.shares_memory(result.numpy(), x.numpy())


# ---------------------------------------------------------------- gradients


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x.gather(0, mt.tensor([0, 0, 2])), [2, 0, 1]),
        (lambda x: x[mt.tensor([1, 1, -1])], [0, 2, 1]),
        (lambda x: x.index_select(0, mt.tensor([1, 1])), [0, 2, 0]),
        (lambda x: x.masked_fill(mt.tensor([True, False, False]), 0), [0, 1, 1]),
        (lambda x: x.take(mt.tensor([0, -1])), [1, 0, 1]),
        (lambda x: x.scatter(0, mt.tensor([1]), 5.0), [1, 0, 1]),
        (lambda x: mt.zeros(5).scatter_add(0, mt.tensor([0, 0, 4]), x)[:1], [1, 1, 0]),
        (lambda x: x.repeat(2, 2), [4, 4, 4]),
        (lambda x: mt.cat([x, x * 2]), [3, 3, 3]),
        (lambda x: mt.where(mt.tensor([True, False, True]), x, 3 * x), [1, 3, 1]),
        (lambda x: x.flip(0)[:1], [0, 0, 1]),
        (lambda x: mt.diag_embed(x)[0], [1, 0, 0]),
    ],
)
def test_gradient(call, expected):
    x = mt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    call(x).sum().backward()
    same(x.grad, expected)


def test_inplace_scatter_records_its_source():
    source = mt.ones(2, requires_grad=True)
    x = mt.zeros(3)
    x.index_put_([mt.tensor([0, 2])], source * 3)
    (x * mt.tensor([1.0, 2.0, 4.0])).sum().backward()
    same(source.grad, [3, 12])


def test_picked_rows_lie_in_memory_as_the_source():
    x = mt.arange(120.0).reshape(2, 4, 5, 3).permute(0, 3, 1, 2)
    for index in (mt.tensor([1, 0]), mt.tensor([[0], [1]]), mt.tensor([1])):
        rows = x[index]
        assert rows.stride()[-3:] == (1, 15, 3)
        assert rows.tolist() == x.contiguous()[index].tolist()
        assert x.to("meta")[index.to("meta")].stride() == rows.stride()
    assert x.contiguous()[mt.tensor([1, 0])].is_contiguous()


@pytest.mark.parametrize("name", ["gather", "scatter", "index_add", "index_select", "take", "index", "index_put", "embedding"])
def test_positions_out_of_bounds_name_operator_position_and_size(name):
    x, far, row = mt.zeros(3, 4), mt.tensor([[9]]), mt.tensor([7])
    calls = {
        "gather": lambda: x.gather(1, far),
        "scatter": lambda: x.scatter(1, far, 1.0),
        "index_add": lambda: x.index_add(0, row, mt.ones(1, 4)),
        "index_select": lambda: x.index_select(0, row),
        "take": lambda: x.take(far + 90),
        "index": lambda: x[row],
        "index_put": lambda: x.index_put((row,), mt.ones(4)),
        "embedding": lambda: mt.nn.functional.embedding(row, x),
    }
    with pytest.raises(IndexError, match=rf"{name}\(\): .*[79].* (3|4|12)\b") as caught:
        calls[name]()
    if name in ("gather", "scatter", "index_add"):
        assert isinstance(caught.value, RuntimeError)  # what PyTorch raises there
