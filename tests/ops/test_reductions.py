"""Reductions, scans and norms: edge rules with literal expectations."""

import math

import numpy as np
import pytest

import minitorch as mt

NAN, INF = math.nan, math.inf


def same(tensor, expected, dtype=None):
    """Assert values (NaN equal to NaN) and, if given, the dtype."""
    if dtype is not None:
        assert tensor.dtype is dtype
    expected = np.asarray(expected)
    assert tuple(tensor.shape) == expected.shape
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=1e-5, atol=1e-6)


def gradient(fn, value):
    """Return the gradient of the sum of ``fn(tensor)``."""
    leaf = mt.tensor(value, dtype=mt.float64, requires_grad=True)
    fn(leaf).sum().backward()
    return leaf.grad


# ---------------------------------------------------------------- types


@pytest.mark.parametrize("dtype", [mt.bool, mt.uint8, mt.int8, mt.int16, mt.int32, mt.int64])
@pytest.mark.parametrize("name", ["sum", "prod", "cumsum", "cumprod"])
def test_integer_sums_and_products_are_int64(name, dtype):
    arguments = (0,) if name.startswith("cum") else ()
    assert getattr(mt.ones(3, dtype=dtype), name)(*arguments).dtype is mt.int64


def test_uint8_sum_does_not_wrap():
    same(mt.full((300,), 255, dtype=mt.uint8).sum(), 76500, mt.int64)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x.sum(dtype=mt.float64), mt.float64),
        (lambda x: x.sum(0, dtype=mt.int32), mt.int32),
        (lambda x: x.mean(dtype=mt.float64), mt.float64),
        (lambda x: x.half().sum(), mt.float16),
        (lambda x: x.bfloat16().mean(0), mt.bfloat16),
        (lambda x: x.argmax(), mt.int64),
        (lambda x: x.any(), mt.bool),
        (lambda x: x.to(mt.uint8).any(), mt.uint8),
        (lambda x: x.to(mt.complex64).std(), mt.float32),
        (lambda x: x.long().logsumexp(0), mt.float32),
        (lambda x: mt.linalg.vector_norm(x.to(mt.complex64)), mt.float32),
    ],
)
def test_result_type(call, expected):
    assert call(mt.ones(2, 3)).dtype is expected


def test_narrow_types_accumulate_in_float32():
    assert mt.ones(4096, dtype=mt.bfloat16).sum().item() == 4096
    assert mt.ones(4096, dtype=mt.float16).mean().item() == 1


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_integers_have_no_mean(name):
    with pytest.raises(RuntimeError, match="floating point"):
        getattr(mt.tensor([1, 2]), name)()


# ---------------------------------------------------------------- dims


@pytest.mark.parametrize("dim", [None, [], 0, -1, (0, 1), (2, 0), [-1]])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "var"])
def test_dims_as_numpy(name, dim, keepdim):
    values = np.arange(24.0).reshape(2, 3, 4) ** 1.5
    axis = None if dim in (None, []) else tuple(dim) if isinstance(dim, (tuple, list)) else dim
    reference = {"sum": np.sum, "mean": np.mean, "amax": np.max}.get(
        name, lambda v, axis, keepdims: np.var(v, axis, ddof=1, keepdims=keepdims)
    )
    arguments = {"keepdim": keepdim} if dim is None and name == "amax" else {
        "dim": dim, "keepdim": keepdim
    }  # fmt: skip
    same(
        getattr(mt.from_numpy(values), name)(**arguments),
        reference(values, axis=axis, keepdims=keepdim),
    )


@pytest.mark.parametrize("dim", [0, -1])
def test_zero_dim_inputs_have_one_dim_to_reduce(dim):
    x = mt.tensor(3.0)
    same(x.sum(dim), 3.0)
    same(x.max(dim).values, 3.0)
    same(x.max(dim).indices, 0)
    same(x.cumsum(dim), 3.0)
    same(x.median(dim).values, 3.0)


def test_dim_errors():
    x = mt.ones(2, 3)
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sum(2)
    with pytest.raises(RuntimeError, match="multiple times"):
        x.sum((0, -2))


def test_any_of_no_dims_reduces_nothing():
    same(mt.any(mt.tensor([[0, 2]]), dim=[]), [[False, True]])
    same(mt.all(mt.tensor([[0, 2]]), dim=(0, 1)), False)


def test_results_are_row_major():
    x = mt.ones(4, 3, 2).permute(2, 1, 0)
    assert x.sum(0).is_contiguous()
    assert x.cumsum(1).is_contiguous()
    assert x.amax(0).is_contiguous()


# ---------------------------------------------------------------- empty


def test_empty_reductions_give_the_identity():
    x = mt.zeros(0, 3)
    same(x.sum(), 0.0)
    same(x.prod(0), [1.0, 1.0, 1.0])
    same(x.mean(0), [NAN] * 3)
    same(x.logsumexp(0), [-INF] * 3)
    same(x.all(), True)
    same(x.any(), False)
    same(x.argmax(1), np.zeros(0))
    same(x.median(), NAN)


@pytest.mark.parametrize("name", ["max", "amin", "argmax"])
def test_empty_reductions_without_identity_raise(name):
    with pytest.raises((RuntimeError, IndexError), match=r"specified|specify"):
        getattr(mt.zeros(0, 3), name)()
    with pytest.raises(IndexError, match="non-zero size"):
        getattr(mt.zeros(0, 3), name)(0)


def test_empty_norms():
    same(mt.linalg.vector_norm(mt.zeros(0)), 0.0)
    with pytest.raises(RuntimeError, match="identity"):
        mt.linalg.vector_norm(mt.zeros(0), INF)


# ---------------------------------------------------------------- NaN and ties


def test_extrema_propagate_nan_and_name_its_first_place():
    x = mt.tensor([[1.0, NAN, 3.0, NAN], [4.0, 2.0, 4.0, 1.0]])
    values, indices = x.max(1)
    same(values, [NAN, 4.0])
    same(indices, [1, 0])
    same(x.min(1).indices, [1, 3])
    same(x.argmax(1), [1, 0])
    same(x.amax(), NAN)
    same(x.aminmax().min, NAN)


def test_medians():
    x = mt.tensor([3.0, NAN, 1.0, 2.0])
    same(x.median(), NAN)
    same(x.nanmedian(), 2.0)
    values, indices = x.median(0)
    same(values, NAN)
    same(indices, 1)
    same(mt.tensor([4, 1, 3, 2]).median(), 2)  # the lower of the two in the middle
    same(x.nansum(), 6.0)
    same(x.nanmean(), 2.0)


def test_mode_and_kthvalue():
    values, indices = mt.mode(mt.tensor([[2, 1, 2, 1], [5, 5, 0, 7]]))
    same(values, [1, 5])
    assert mt.tensor([[2, 1, 2, 1], [5, 5, 0, 7]])[[0, 1], indices.tolist()].tolist() == [1, 5]
    same(mt.kthvalue(mt.tensor([3.0, 1.0, 2.0]), 2).values, 2.0)
    with pytest.raises(RuntimeError, match="out of range"):
        mt.kthvalue(mt.tensor([3.0]), 2)


def test_cummax_names_the_last_of_equals():
    values, indices = mt.cummax(mt.tensor([1.0, 3.0, 3.0, 2.0, NAN, 5.0]), 0)
    same(values, [1, 3, 3, 3, NAN, NAN])
    same(indices, [0, 1, 2, 2, 4, 4])


def test_quantile():
    x = mt.tensor([[4.0, 1.0, 2.0], [NAN, 0.0, 1.0]])
    same(mt.quantile(x, 0.5, dim=1), [2.0, NAN])
    same(mt.nanquantile(x, mt.tensor([0.0, 0.5]), dim=1), [[1.0, 0.0], [2.0, 0.5]])
    same(mt.quantile(mt.arange(5.0), 0.3, interpolation="higher"), 2.0)


# ---------------------------------------------------------------- values


def test_long_sums_over_outer_axes_stay_exact():
    x = mt.full((300_000, 2), 0.1)
    np.testing.assert_allclose(x.sum(0).numpy(), 30_000.0, rtol=1e-5)
    np.testing.assert_allclose(x.cumsum(0)[-1].numpy(), 30_000.0, rtol=1e-5)


def test_logsumexp_of_infinities():
    same(mt.tensor([[-INF, -INF], [INF, 0.0], [1000.0, 1000.0]]).logsumexp(1),
         [-INF, INF, 1000 + math.log(2)])  # fmt: skip
    same(mt.logcumsumexp(mt.tensor([-INF, 0.0, 0.0]), 0), [-INF, 0.0, math.log(2)])


@pytest.mark.parametrize("ord", [0, 0.5, 1, 2, 3, INF, -INF, -1])
def test_vector_norm_as_numpy(ord):
    values = np.array([[3.0, -4.0, 1.0], [1.0, 2.0, -2.0]])
    same(mt.linalg.vector_norm(mt.from_numpy(values), ord, 1), np.linalg.norm(values, ord, 1))


def test_norm_is_of_all_elements():
    x = mt.tensor([[3.0, 0.0], [0.0, 4.0]])
    same(x.norm(), 5.0)
    same(mt.norm(x, 1), 7.0)
    same(mt.norm(x, "nuc"), 7.0)
    same(mt.norm(x, dim=1), [3.0, 4.0])


def test_variance_spellings():
    x = mt.tensor([1.0, 2.0, 3.0, 6.0])
    same(x.var(), 14 / 3)
    same(x.var(unbiased=False), 3.5)
    same(x.var(0, False), 3.5)
    same(x.var(correction=2), 7.0)
    same(x.std(0, keepdim=True), [math.sqrt(14 / 3)])
    deviation, mean = mt.std_mean(x)
    same(deviation, math.sqrt(14 / 3))
    same(mean, 3.0)
    same(mt.ones(1).var(), NAN)


def test_equal_and_allclose():
    x = mt.tensor([1.0, NAN])
    assert not mt.equal(x, x.clone())
    assert mt.equal(mt.tensor([1]), mt.tensor([1.0]))
    assert not mt.equal(mt.ones(2), mt.ones(3))
    assert mt.allclose(x, x, equal_nan=True)
    assert not mt.allclose(x, x)
    same(mt.isclose(mt.tensor([INF, 1.0]), mt.tensor([INF, 1.1])), [True, False])


def test_diff_trapezoid_gradient():
    x = mt.tensor([1.0, 4.0, 9.0, 16.0])
    same(mt.diff(x), [3.0, 5.0, 7.0])
    same(mt.diff(x, 2), [2.0, 2.0])
    same(mt.diff(mt.tensor([True, False])), [True])
    same(mt.trapezoid(x), 21.5)
    same(mt.cumulative_trapezoid(x, dx=2), [5.0, 18.0, 43.0])
    same(mt.gradient(x)[0], [3.0, 4.0, 6.0, 7.0])
    same(mt.cov(mt.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])), [[1.0, -1.0], [-1.0, 1.0]])


# ---------------------------------------------------------------- gradients


def test_extremum_gradients_are_shared_among_ties():
    same(gradient(lambda x: x.max(), [1.0, 3.0, 3.0]), [0.0, 0.5, 0.5])
    same(gradient(lambda x: x.amax(1), [[2.0, 2.0], [1.0, 0.0]]), [[0.5, 0.5], [1.0, 0.0]])
    same(gradient(lambda x: x.max(1).values, [[2.0, 2.0]]), [[1.0, 0.0]])


def test_product_gradients_through_zeros():
    same(gradient(lambda x: x.prod(), [2.0, 0.0, 3.0]), [0.0, 6.0, 0.0])
    same(gradient(lambda x: x.prod(0), [0.0, 0.0, 3.0]), [0.0, 0.0, 0.0])
    same(gradient(lambda x: x.cumprod(0), [2.0, 0.0, 3.0]), [1.0, 8.0, 0.0])


def test_norm_gradient_is_zero_at_zero():
    same(gradient(lambda x: x.norm(), [0.0, 0.0]), [0.0, 0.0])
    same(gradient(lambda x: x.std(), [1.0, 1.0]), [0.0, 0.0])


def test_sums_do_not_keep_their_input():
    x = mt.ones(3, requires_grad=True)
    y = x * 2
    total = y.sum()
    y.add_(1)
    total.backward()
    same(x.grad, [2.0, 2.0, 2.0])
