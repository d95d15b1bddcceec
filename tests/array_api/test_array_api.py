"""`minitorch.array_api` where the standard and PyTorch differ. The standard's own suite runs in .ci/array_api."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import minitorch as mt
from minitorch import array_api as xp


def test_tensors_answer_with_their_namespace():
    assert mt.ones(2).__array_namespace__() is xp
    assert mt.ones(2).__array_namespace__(api_version="2025.12") is xp
    with pytest.raises(ValueError, match=r"no version '2031.12'"):
        mt.ones(2).__array_namespace__(api_version="2031.12")


def test_minitorch_alone_does_not_load_it():
    code = "import minitorch, sys; assert 'minitorch.array_api' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_promotion_looks_at_dtypes_and_not_at_dimensions():
    vector, scalar = xp.ones(3, dtype=xp.float32), xp.asarray(2.0, dtype=xp.float64)
    assert (vector + scalar).dtype is mt.float32  # the operator is PyTorch's
    assert xp.add(vector, scalar).dtype is xp.float64
    assert xp.add(vector, 2.0).dtype is xp.float32
    assert xp.subtract(1, xp.asarray([3], dtype=xp.int8)).dtype is xp.int8


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("uint8", "int8", "int16"),
        ("uint16", "int8", "int32"),
        ("uint16", "uint64", "uint64"),
        ("uint32", "int64", "int64"),
        ("uint32", "int32", "int64"),
        ("float32", "complex64", "complex64"),
        ("float64", "complex64", "complex128"),
    ],
)
def test_result_type(a, b, expected):
    a, b = getattr(xp, a), getattr(xp, b)
    assert xp.result_type(a, b) is xp.result_type(b, a) is getattr(xp, expected)
    assert xp.multiply(xp.ones(2, dtype=a), xp.ones(2, dtype=b)).dtype is getattr(xp, expected)


def test_types_without_a_common_one_are_refused():
    with pytest.raises(TypeError, match="no integer type holds the values of"):
        xp.add(xp.ones(2, dtype=xp.uint64), xp.ones(2, dtype=xp.int8))
    assert not xp.can_cast(xp.uint64, xp.int64)
    assert not xp.can_cast(xp.int64, xp.int8)
    assert xp.can_cast(xp.int8, xp.int64)
    with pytest.raises(ValueError, match="expected an array or a dtype"):
        xp.result_type(1, 2.0)
    with pytest.raises(TypeError, match="expected an array among the operands"):
        xp.add(1, 2)
    with pytest.raises(TypeError, match="got a str"):
        xp.add(xp.ones(2), "1")


def test_reductions_over_no_axes_all_axes_and_several():
    x = xp.reshape(xp.arange(24, dtype=xp.int8), (2, 3, 4))
    n = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    for axis in (None, 1, -1, (0, 2), (2, -2), ()):
        for keepdims in (False, True):
            for name in ("sum", "prod", "max", "min", "all", "any", "count_nonzero"):
                got = getattr(xp, name)(x, axis=axis, keepdims=keepdims)
                want = np.asarray(getattr(np, name)(n, axis=axis, keepdims=keepdims))
                assert got.shape == want.shape, (name, axis, keepdims)
                np.testing.assert_array_equal(got.numpy(), want, f"{name} {axis}")
            floats, reference = xp.astype(x, xp.float64), n.astype(np.float64)
            for name in ("mean", "std", "var"):
                got = getattr(xp, name)(floats, axis=axis, keepdims=keepdims)
                want = np.asarray(getattr(np, name)(reference, axis=axis, keepdims=keepdims))
                assert got.shape == want.shape, (name, axis, keepdims)
                np.testing.assert_allclose(got.numpy(), want)


def test_axes_out_of_range_are_refused():
    for name in ("sum", "prod", "max", "all"):
        for axis in (2, -3, (0, 2)):
            with pytest.raises(IndexError):
                getattr(xp, name)(xp.ones((2, 3)), axis=axis)
    with pytest.raises(RuntimeError, match="multiple times"):
        xp.prod(xp.ones((2, 3)), axis=(0, -2))


def test_sums_of_integers_are_wide_and_keep_their_sign():
    assert xp.sum(xp.ones(3, dtype=xp.uint8)).dtype is xp.uint64
    assert xp.sum(xp.ones(3, dtype=xp.int8)).dtype is xp.int64
    assert xp.sum(xp.ones(3, dtype=xp.float32)).dtype is xp.float32
    assert xp.prod(xp.ones(3, dtype=xp.uint16)).dtype is xp.uint64
    assert xp.cumulative_sum(xp.asarray([1, 2, 3]), include_initial=True).tolist() == [0, 1, 3, 6]
    with pytest.raises(ValueError, match="axis is needed"):
        xp.cumulative_prod(xp.ones((2, 2)))


def test_unique_gives_first_places_and_each_nan_alone():
    x = xp.asarray([[2.0, float("nan"), 1.0], [2.0, float("nan"), 2.0]])
    values, indices, inverse, counts = xp.unique_all(x)
    np.testing.assert_array_equal(values.numpy(), [1, 2, np.nan, np.nan])
    assert indices.tolist() == [2, 0, 1, 4]
    assert inverse.tolist() == [[1, 2, 0], [1, 3, 1]]
    assert counts.tolist() == [1, 3, 1, 1]
    assert xp.unique_values(xp.asarray([1 + 2j, 1 + 1j, 1 + 2j])).tolist() == [1 + 1j, 1 + 2j]
    assert xp.unique_counts(xp.zeros((0,))).counts.shape == (0,)


def test_indices_count_from_the_end():
    x = xp.asarray([[1, 2, 3], [4, 5, 6]])
    assert xp.take(x, xp.asarray([-1, 0]), axis=1).tolist() == [[3, 1], [6, 4]]
    assert xp.take_along_axis(x, xp.asarray([[-1], [0]]), axis=1).tolist() == [[3], [4]]
    with pytest.raises(ValueError, match="axis is needed"):
        xp.take(x, xp.asarray([0]))


def test_shapes_that_pytorch_would_let_pass_are_refused():
    with pytest.raises(ValueError, match="has length 2, not 1"):
        xp.squeeze(xp.ones((2, 1)), axis=0)
    with pytest.raises(ValueError, match="no dimensions"):
        xp.nonzero(xp.asarray(1))
    with pytest.raises(IndexError, match="outside the 3 dimensions"):
        xp.expand_dims(xp.ones((2, 2)), axis=3)
    with pytest.raises(ValueError, match="twice"):
        xp.expand_dims(xp.ones((2, 2)), axis=(0, -4))
    with pytest.raises(ValueError, match=r"reshape\(\): copy=False"):
        xp.reshape(xp.ones((2, 3)).T, (6,), copy=False)
    with pytest.raises(ValueError):
        xp.broadcast_shapes((2,), (3,))


def test_solve_takes_a_vector_only_of_one_dimension():
    a = xp.broadcast_to(2 * xp.eye(2), (2, 2, 2))
    assert xp.linalg.solve(a, xp.ones((2,))).shape == (2, 2)
    # PyTorch would take this for a stack of vectors.
    assert xp.linalg.solve(a, xp.ones((2, 2))).shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("x1", "x2", "expected"),
    [(np.inf, 2.0, np.inf), (-np.inf, 2.0, -np.inf), (1.0, -np.inf, -0.0), (-1.0, np.inf, -0.0), (7.0, -2.0, -4.0)],
)
def test_floor_divide_of_infinite_numbers(x1, x2, expected):
    got = xp.floor_divide(xp.asarray(x1), xp.asarray(x2)).numpy()
    assert got == expected
    assert np.signbit(got) == np.signbit(expected)


def test_clip_keeps_the_dtype_and_takes_any_bounds():
    x = xp.asarray([-5, 0, 5], dtype=xp.int8)
    assert xp.clip(x, -1000, 3).tolist() == [-5, 0, 3]
    assert xp.clip(x, -1000, 3).dtype is xp.int8
    assert xp.clip(x, xp.asarray([0, 1, 300], dtype=xp.int16)[:2][:1], None).tolist() == [0, 0, 5]
    assert xp.isnan(xp.clip(xp.ones(2), float("nan"), None)).tolist() == [True, True]
    with pytest.raises(TypeError, match="a bound of 0.5"):
        xp.clip(x, 0.5)


def test_casts_and_limits():
    with pytest.raises(TypeError, match="take real"):
        xp.astype(xp.ones(2, dtype=xp.complex64), xp.float32)
    x = xp.ones(2)
    assert xp.astype(x, x.dtype, copy=False) is x
    assert xp.astype(x, x.dtype).data_ptr() != x.data_ptr()
    assert xp.finfo(xp.complex64).bits == 32
    assert xp.finfo(xp.complex64).dtype is xp.float32
    assert xp.iinfo(xp.ones(2, dtype=xp.uint16)).max == 65535
    assert xp.isdtype(xp.uint16, ("bool", "unsigned integer"))
    assert xp.isdtype(mt.bfloat16, "real floating")
    assert not xp.isdtype(mt.int8, "real floating")
    with pytest.raises(ValueError, match="unknown kind"):
        xp.isdtype(xp.uint16, "floating")


def test_creation():
    assert xp.arange(5, 2).shape == (0,)
    assert xp.arange(5.0, 2).dtype is xp.float32
    assert xp.linspace(0, 1, 4, endpoint=False).tolist() == [0.0, 0.25, 0.5, 0.75]
    assert xp.eye(2, 3, k=1).tolist() == [[0, 1, 0], [0, 0, 1]]
    assert [g.shape for g in xp.meshgrid(xp.ones(2), xp.ones(3))] == [(3, 2), (3, 2)]
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray([1, 2], copy=False)


def test_dlpack_of_tensors_shares_memory_or_copies():
    x = xp.zeros(2)
    xp.from_dlpack(x)[0] = 1
    xp.from_dlpack(x, copy=True)[1] = 1
    assert x.tolist() == [1, 0]
    assert np.from_dlpack(x).tolist() == [1, 0]
    assert xp.from_dlpack(np.ones(2), copy=True).tolist() == [1, 1]
    with pytest.raises(BufferError, match="require gradient"):
        mt.from_dlpack(mt.ones(2, requires_grad=True))
    assert x.__dlpack__(max_version=(1, 0), dl_device=(1, 0), copy=True) is not None
    assert x.to_device("cpu").device == mt.device("cpu")
    with pytest.raises(ValueError, match="stream must be None"):
        x.to_device("cpu", stream=1)


def test_inspection():
    info = xp.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["real floating"] is mt.get_default_dtype()
    assert set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", "int8", "int16", "int32", "int64"}
    assert len(info.dtypes()) == 13
    with pytest.raises(ValueError, match="unknown kind"):
        info.dtypes(kind="floating")


def test_functions_are_differentiable():
    x = mt.tensor([1.0, 2.0, 3.0], requires_grad=True)
    xp.sum(xp.square(xp.cumulative_sum(x, include_initial=True))).backward()
    assert x.grad.tolist() == [20.0, 18.0, 12.0]
