"""Integers at their limits, indices of all kinds, and the order of NaN and of equals: literal expectations."""

import math

import numpy as np
import pytest

import minitorch as mt

INF, NAN = math.inf, math.nan

INTEGERS = [
    (lambda: mt.tensor([-7, 7, -7, 7]) // mt.tensor([2, -2, -2, 2]), [-4, -4, 3, 3]),
    (lambda: mt.tensor([-7, 7, -7]) % mt.tensor([2, -2, -2]), [1, -1, -1]),
    (lambda: mt.fmod(mt.tensor([-7, 7, -7]), mt.tensor([2, -2, -2])), [-1, 1, -1]),
    (lambda: mt.div(mt.tensor([-7, 7]), 2, rounding_mode="trunc"), [-3, 3]),
    (lambda: mt.div(mt.tensor([-7, 7]), 2, rounding_mode="floor"), [-4, 3]),
    (lambda: mt.tensor([1, 2]) / mt.tensor([2, 4]), [0.5, 0.5]),
    (lambda: mt.tensor([1]) % mt.tensor([0]), RuntimeError),
    (lambda: mt.tensor([1]) // mt.tensor([0]), RuntimeError),
    (lambda: mt.tensor([1.0, -1.0, 0.0]) // 0, [INF, -INF, NAN]),
    (lambda: mt.tensor([127], dtype=mt.int8) + 1, [-128]),
    (lambda: mt.tensor([255], dtype=mt.uint8) + 1, [0]),
    (lambda: -mt.tensor([1], dtype=mt.uint8), [255]),
    (lambda: mt.tensor([100, 100], dtype=mt.int8).sum(), 200),
    (lambda: mt.tensor([2]) ** -1, RuntimeError),
    (lambda: mt.tensor([1, -1, 2]) ** mt.tensor([-1, -2, -1]), [1, 1, 0]),
    (lambda: mt.tensor([-128], dtype=mt.int8).abs(), [-128]),
    (lambda: mt.tensor([1, -8]) << 2, [4, -32]),
    (lambda: mt.tensor([-8]) >> 1, [-4]),
    (lambda: mt.tensor([200], dtype=mt.uint8) + mt.tensor([100], dtype=mt.int8), [300]),
    (lambda: mt.tensor([True]) + mt.tensor([True]), [True]),
    (lambda: mt.tensor([True]) - mt.tensor([True]), RuntimeError),
    (lambda: mt.tensor([True]) * 2, [2]),
    (lambda: mt.tensor([-7.5, 7.5]) % mt.tensor([2.0, -2.0]), [0.5, -0.5]),
    (lambda: mt.remainder(mt.tensor([5.0, -5.0]), INF), [5.0, INF]),
    (lambda: mt.tensor([-7.5]) // 2, [-4.0]),
    (lambda: mt.gcd(mt.tensor([-4, 0]), mt.tensor([6, 0])), [2, 0]),
    (lambda: mt.lcm(mt.tensor([-4, 0]), mt.tensor([6, 3])), [12, 0]),
]

INDEXING = [
    (
        lambda: mt.zeros(3).index_put((mt.tensor([0, 0, 2]),), mt.tensor([1.0, 2.0, 3.0]), accumulate=True),
        [3.0, 0.0, 3.0],
    ),
    (lambda: mt.zeros(3).index_put((mt.tensor([0, 0]),), mt.tensor([1.0, 2.0])), [2.0, 0.0, 0.0]),
    (lambda: mt.arange(24).reshape(2, 3, 4)[:, mt.tensor([0, 2]), 1:3], [[[1, 2], [9, 10]], [[13, 14], [21, 22]]]),
    (lambda: mt.arange(24).reshape(2, 3, 4)[mt.tensor([0, 1]), :, mt.tensor([1, 2])], [[1, 5, 9], [14, 18, 22]]),
    (
        lambda: mt.arange(24).reshape(2, 3, 4)[mt.tensor([[0], [1]]), mt.tensor([0, 2])],
        [[[0, 1, 2, 3], [8, 9, 10, 11]], [[12, 13, 14, 15], [20, 21, 22, 23]]],
    ),
    (lambda: mt.arange(6).reshape(2, 3)[None, mt.tensor([1]), ...], [[[3, 4, 5]]]),
    (lambda: mt.arange(6).reshape(2, 3)[mt.tensor([True, False])], [[0, 1, 2]]),
    (lambda: mt.arange(6).reshape(2, 3)[:, mt.tensor([True, False, True])], [[0, 2], [3, 5]]),
    (lambda: mt.arange(5)[mt.tensor([-1, -5])], [4, 0]),
    (lambda: mt.arange(5)[mt.tensor([5])], IndexError),
    (lambda: mt.arange(24).reshape(2, 3, 4)[0, :, mt.tensor([1, 2])], [[1, 2], [5, 6], [9, 10]]),
    (lambda: mt.arange(3)[True], [[0, 1, 2]]),
    (lambda: mt.arange(3)[False], np.empty((0, 3))),
    (lambda: mt.arange(6).reshape(2, 3)[mt.tensor([[True, False, True], [False, True, False]])], [0, 2, 4]),
    (lambda: mt.arange(6).reshape(2, 3)[[0, 1], [1, 2]], [1, 5]),
    (lambda: mt.zeros(4).put(mt.tensor([1, 1]), mt.tensor([1.0, 2.0]), True), [0.0, 3.0, 0.0, 0.0]),
    (lambda: mt.zeros(3).scatter_add(0, mt.tensor([0, 0, 1]), mt.ones(3)), [2.0, 1.0, 0.0]),
    (lambda: mt.ones(3).scatter(0, mt.tensor([0, 0]), mt.tensor([2.0, 3.0]), reduce="multiply"), [6.0, 1.0, 1.0]),
    (
        lambda: mt.zeros(4).masked_scatter(mt.tensor([True, False, True, True]), mt.tensor([1.0, 2.0, 3.0])),
        [1.0, 0.0, 2.0, 3.0],
    ),
    (lambda: mt.zeros(3).index_fill(0, mt.tensor([-1]), 2.0), [0.0, 0.0, 2.0]),
    (lambda: mt.zeros(3).index_add(0, mt.tensor([0, 0]), mt.tensor([1.0, 2.0]), alpha=2), [6.0, 0.0, 0.0]),
    (lambda: mt.tensor([[1, 2], [3, 4]]).gather(1, mt.tensor([[1], [0]])), [[2], [3]]),
    (lambda: mt.arange(4).take(mt.tensor([-1])), [3]),
]

NAN_AND_TIES = [
    (lambda: mt.tensor([3.0, NAN, 1.0, NAN, 2.0]).sort(), [[1.0, 2.0, 3.0, NAN, NAN], [2, 4, 0, 1, 3]]),
    (lambda: mt.tensor([3.0, NAN, 1.0, NAN, 2.0]).sort(descending=True), [[NAN, NAN, 3.0, 2.0, 1.0], [1, 3, 0, 4, 2]]),
    (lambda: mt.tensor([[1.0, NAN, 3.0], [NAN, NAN, 1.0]]).max(1), [[NAN, NAN], [1, 0]]),
    (lambda: mt.tensor([1.0, NAN]).max(), NAN),
    (lambda: mt.tensor([1, 3, 3, 2]).argmax(), 1),
    (lambda: mt.tensor([2, 1, 1, 3]).argmin(), 1),
    (lambda: mt.tensor([[1, 3, 3], [2, 2, 0]]).max(1), [[3, 2], [1, 0]]),
    (lambda: mt.tensor([1.0, NAN, 3.0]).median(), NAN),
    (lambda: mt.tensor([4.0, 1.0, 3.0, 2.0]).median(), 2.0),
    (lambda: mt.tensor([[4.0, 1.0, 3.0, 2.0], [1.0, NAN, 2.0, 3.0]]).median(1), [[2.0, NAN], [3, 1]]),
    (lambda: mt.tensor([1.0, NAN, 3.0, 2.0]).topk(2), [[NAN, 3.0], [1, 2]]),
    (lambda: mt.tensor([1.0, NAN, 3.0, 2.0]).topk(3, largest=False), [[1.0, 2.0, 3.0], [0, 3, 2]]),
    (lambda: mt.tensor([NAN, 1.0, -INF, INF]).argsort(), [2, 1, 3, 0]),
    (lambda: mt.tensor([1.0, NAN, 3.0]).kthvalue(3), [NAN, 1]),
    (lambda: mt.tensor([[1, 2, 2, 1, 3], [5, 5, 4, 4, 4]]).mode(1), [[1, 4], [3, 4]]),
    (lambda: mt.tensor([1.0, NAN, 3.0]).cummax(0), [[1.0, NAN, NAN], [0, 1, 1]]),
    (lambda: mt.tensor([2, 1, 1, 3]).cummin(0), [[2, 1, 1, 1], [0, 1, 2, 2]]),
    (lambda: mt.aminmax(mt.tensor([1.0, NAN, 2.0])), [NAN, NAN]),
    (lambda: mt.tensor([NAN, 1.0]).clamp(0, 0.5), [NAN, 0.5]),
    (lambda: mt.tensor([1.0, 2.0]).clamp(3, 1), [1.0, 1.0]),
    (lambda: mt.maximum(mt.tensor([1.0, NAN]), mt.tensor([NAN, 2.0])), [NAN, NAN]),
    (lambda: mt.fmax(mt.tensor([1.0, NAN, NAN]), mt.tensor([NAN, 2.0, NAN])), [1.0, 2.0, NAN]),
    (lambda: mt.tensor([NAN, 1.0, NAN, 1.0]).unique(), [1.0, NAN, NAN]),
    (
        lambda: mt.isclose(mt.tensor([INF, NAN, 1.0]), mt.tensor([INF, NAN, 1.0000001]), equal_nan=True),
        [True, True, True],
    ),
    (lambda: mt.tensor([-INF, -INF]).softmax(0), [NAN, NAN]),
    (lambda: mt.tensor([-INF, -INF]).logsumexp(0), -INF),
    (lambda: mt.tensor([NAN, 0.0]).prod(), NAN),
]


def check(call, expected):
    if isinstance(expected, type):
        with pytest.raises(expected):
            call()
        return
    result = call()
    parts = result if isinstance(result, tuple) else (result,)
    wanted = expected if isinstance(result, tuple) else (expected,)
    for part, want in zip(parts, wanted, strict=True):
        np.testing.assert_allclose(part.numpy(), np.asarray(want), rtol=1e-6)


@pytest.mark.parametrize(("call", "expected"), INTEGERS)
def test_integers(call, expected):
    check(call, expected)


@pytest.mark.parametrize(("call", "expected"), INDEXING)
def test_indexing(call, expected):
    check(call, expected)


@pytest.mark.parametrize(("call", "expected"), NAN_AND_TIES)
def test_nan_and_ties(call, expected):
    check(call, expected)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_a_transposed_matrix_is_contiguous(name):
    function = getattr(mt, name)
    for dtype in (mt.float32, mt.float64):
        assert function(mt.ones(3, 2, dtype=dtype).t(), -1).stride() == (3, 1)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [-3, 2])
def test_softmax_of_nothing_looks_at_its_dimension(name, dim):
    with pytest.raises(IndexError, match="Dimension out of range"):
        getattr(mt, name)(mt.zeros(0, 3), dim)


def test_integers_made_of_an_expanded_tensor_lie_in_order():
    assert mt.ones(2, 3).expand(2, 2, 3).to(mt.uint8).stride() == (6, 3, 1)


@pytest.mark.parametrize("name", ["zeros", "ones", "empty"])
def test_sizes_that_overflow_beside_a_zero(name):
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        getattr(mt, name)((2**62, 2**62, 0))


def test_slice_of_a_number():
    with pytest.raises(IndexError, match="0-dim"):
        mt.tensor(1.0)[:2]


@pytest.mark.parametrize("value", [2**63, 2**64 - 1])
def test_bfloat16_beside_integers_beyond_int64(value):
    x = mt.ones(2).bfloat16()
    assert (x < value).tolist() == [True, True]
    assert (x == value).tolist() == [False, False]
    assert x.fill_(value).tolist() == [2.0 ** round(math.log2(value))] * 2


@pytest.mark.parametrize(("name", "right", "wrong"), [
    ("cat", lambda: [mt.ones(1)], [1]), ("stack", lambda: [mt.ones(1)], [None]), ("zeros", lambda: (2,), (2.0,)),
])
def test_a_list_of_wrong_elements_after_a_right_one(name, right, wrong):
    """The plan kept for a list was made for its elements: another list is looked at anew."""
    function = getattr(mt, name)
    function(right())
    with pytest.raises(TypeError, match=f"{name}.*argument"):
        function(type(right())(wrong))


def test_diagonals_of_what_runs_backwards():
    x = mt.arange(24).reshape(2, 3, 4)
    for view in (x[..., ::-1], x[:, ::-1], x[::-1, ::-1, ::-1], x.permute(2, 0, 1)[::-1]):
        for offset in (-1, 0, 1, 2):
            for dims in ((0, 1), (-2, -1), (2, 0)):
                found = mt.diagonal(view, offset, *dims).numpy()
                np.testing.assert_array_equal(found, np.diagonal(view.numpy(), offset, *dims))


@pytest.mark.parametrize("shape", [(), (2,)])
def test_norms_of_too_few_dimensions(shape):
    """Compiled, an index out of a shape's range is not found out: nothing may be read before the check."""
    x, one = mt.ones(shape), mt.tensor(1.0)
    with pytest.raises(RuntimeError, match="at least two dimensions"):
        mt.nn.functional.batch_norm(x, None, None, training=True) if shape else mt.nn.functional.batch_norm(x, one, one)
    with pytest.raises(RuntimeError, match="layer_norm"):
        mt.nn.functional.layer_norm(x, [2], one, one)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "complex64"])
@pytest.mark.parametrize("step", [2, 3, 4, 8])
def test_strided_tensors_are_negated_in_place(dtype, step):
    """NumPy 2.4.6 negates neighbours where the step is 16 or 32 bytes."""
    for length in (1, 2, 3, 4, 9):
        for out in (False, True):
            x = mt.arange(1, length * step + 1).to(getattr(mt, dtype))
            view = x[::step]
            expected = [-v for v in view.tolist()]
            if out:
                mt.neg(view, out=view)
            else:
                view.neg_()
            assert view.tolist() == expected
            assert x[1::step].tolist() == list(range(2, length * step + 1, step))
