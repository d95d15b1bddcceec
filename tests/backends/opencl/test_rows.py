"""Softmax, normalizations, losses and optimizer steps on OpenCL devices, against the array kernels on NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("pyopencl")

from minitorch.backends import NoKernel
from minitorch.backends.array.registry import ARRAY_KERNELS
from minitorch.backends.opencl import normalization as _normalization
from minitorch.backends.opencl import runtime
from minitorch.backends.opencl import softmax as _softmax
from minitorch.backends.opencl.array import CLArray, from_host
from minitorch.backends.opencl.overrides import OVERRIDES

if runtime.device_count() == 0:
    pytest.skip("no OpenCL device can be used", allow_module_level=True)

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = ["e", BFLOAT16, "f", "d"]


class DType:
    """Stands for a dtype of minitorch."""

    def __init__(self, dtype):
        self.np = np.dtype(dtype)


def random(shape, dtype="f", seed=0):
    return np.asarray(np.random.default_rng(seed).standard_normal(shape)).astype(dtype)


def on_device(value):
    """Return arguments with NumPy arrays on the device."""
    if isinstance(value, np.ndarray):
        return from_host(value)
    if isinstance(value, (list, tuple)):
        return type(value)([on_device(v) for v in value])
    return value


def wide(x):
    x = np.asarray(x)
    return x.astype("d") if x.dtype.kind in "fV" else x


def assert_same(got, want, tol=None):
    if want is None:
        assert got is None
        return
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_same(one, other, tol)
        return
    want = np.asarray(want)
    assert isinstance(got, CLArray)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    if tol is None:
        tol = {BFLOAT16: 1.6e-2, np.dtype("e"): 2e-3, np.dtype("f"): 3e-5}.get(want.dtype, 1e-11)
    np.testing.assert_allclose(wide(got.to_host()), wide(want), rtol=tol, atol=tol)


def check(name, *args, tol=None, **options):
    """Compare an operator with the array kernel; return the latter's result."""
    want = ARRAY_KERNELS[name](np, *args, **options)
    got = OVERRIDES[name](*on_device(args), **{k: on_device(v) for k, v in options.items()})
    assert_same(got, want, tol)
    return want


@pytest.fixture(params=["own", "gpu"])
def form(request, monkeypatch):
    """Run with the kernels' own form for the device, and with that for GPUs."""
    if request.param == "gpu":
        monkeypatch.setattr(runtime.device(), "is_cpu", False)
    return request.param


# ---------------------------------------------------------------- softmax


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize(("shape", "dim"), [((5, 70), 1), ((70, 37), 0), ((3, 20, 16), 1), ((2, 3, 5), 1), ((9,), 0), ((4, 1), -1), ((), 0)], ids=str)
def test_softmax(form, shape, dim, dtype):
    x = random(shape, dtype) * np.asarray(3, dtype)
    x = np.asarray(x, dtype)
    y = check("_softmax", x, dim, False)
    z = check("_log_softmax", x, dim, False)
    g = random(shape, dtype, seed=1)
    y, z = np.asarray(y, dtype), np.asarray(z, dtype)
    check("_softmax_backward_data", g, y, dim, DType(dtype))
    check("_log_softmax_backward_data", g, z, dim, DType(dtype))


def test_softmax_of_extremes():
    x = random((6, 33))
    x[0, 3] = np.nan
    x[1, 4] = np.inf
    x[2] = -np.inf
    x[3, 5] = -np.inf
    x[4] = 1e30
    with np.errstate(invalid="ignore"):
        check("_softmax", x, 1, False)
        check("_log_softmax", x, 1, False)


def test_softmax_of_half_in_float_and_of_views():
    x = random((20, 33), "e")
    check("_softmax", x, 1, True)
    check("_log_softmax", x, 0, True)
    a = from_host(x.astype("f"))
    view = a.view_of((33, 10), (4, 2 * 33 * 4), 0)
    want = ARRAY_KERNELS["_softmax"](np, x.astype("f").T[:, ::2], 1, False)
    assert_same(OVERRIDES["_softmax"](view, 1, False), want)
    assert OVERRIDES["_softmax"](from_host(np.empty((0, 3), "f")), 1, False).shape == (0, 3)
    with pytest.raises(NoKernel):
        OVERRIDES["_softmax"](from_host(np.ones((2, 3), "i4")), 1, False)


def test_softmax_of_a_big_array():
    check("_softmax", random((1024, 1000)), 1, False)
    check("_softmax", random((1000, 1024)), 0, False)


# ---------------------------------------------------------------- normalization


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("affine", [(True, True), (True, False), (False, False)], ids=str)
@pytest.mark.parametrize(("lead", "normalized"), [((6, 3), (40,)), ((5,), (3, 7)), ((300,), (64,))], ids=str)
def test_layer_norm(form, lead, normalized, affine, dtype):
    x = random((*lead, *normalized), dtype)
    w = random(normalized, dtype, 1) if affine[0] else None
    b = random(normalized, dtype, 2) if affine[1] else None
    out, mean, rstd = check("native_layer_norm", x, normalized, w, b, 1e-5)
    g = random(x.shape, dtype, 3)
    tol = {BFLOAT16: 3e-2, np.dtype("e"): 4e-3, np.dtype("f"): 2e-4}.get(np.dtype(dtype))
    for mask in ((True, True, True), (True, False, False)):
        check("native_layer_norm_backward", g, x, normalized, mean, rstd, w, b, mask, tol=tol)
    _, rstd = check("_fused_rms_norm", x, normalized, w, None)
    check("_fused_rms_norm", x, normalized, w, 0.5)
    check("_fused_rms_norm_backward", g, x, normalized, rstd, w, (True, True), tol=tol)


@pytest.mark.parametrize("dtype", [BFLOAT16, "f", "d"], ids=str)
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(form, affine, dtype):
    N, C, group, size = 3, 6, 2, (5, 4)
    x = random((N, C, *size), dtype)
    w, b = (random(C, dtype, 1), random(C, dtype, 2)) if affine else (None, None)
    out, mean, rstd = check("native_group_norm", x, w, b, N, C, 20, group, 1e-5)
    g = random(x.shape, dtype, 3)
    tol = {BFLOAT16: 5e-2, np.dtype("f"): 2e-4}.get(np.dtype(dtype))
    check("native_group_norm_backward", g, x, mean, rstd, w, N, C, 20, group, (True, True, True), tol=tol)


@pytest.mark.parametrize("dtype", [BFLOAT16, "f", "d"], ids=str)
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("shape", [(8, 5), (4, 3, 7), (3, 4, 6, 5)], ids=str)
def test_batch_norm(form, shape, affine, dtype):
    C = shape[1]
    wide_dtype = np.dtype("f") if np.dtype(dtype) == BFLOAT16 else np.dtype(dtype)
    x, g = random(shape, dtype), random(shape, dtype, 3)
    w, b = (random(C, wide_dtype, 1), random(C, wide_dtype, 2)) if affine else (None, None)
    tol = {BFLOAT16: 5e-2, np.dtype("f"): 2e-4}.get(np.dtype(dtype))
    for training in (True, False):
        running = [random(C, wide_dtype, 4), np.abs(random(C, wide_dtype, 5)) + np.asarray(0.5, wide_dtype)]
        device_running = [from_host(r) for r in running]
        got = OVERRIDES["native_batch_norm"](*on_device((x, w, b)), *device_running, training, 0.1, 1e-5)
        want = ARRAY_KERNELS["native_batch_norm"](np, x, w, b, *running, training, 0.1, 1e-5)
        assert_same(got, want)
        for one, other in zip(device_running, running, strict=True):
            assert_same(one, other)
        saved = want[1:] if training else (None, None)
        args = (g, x, w, *running, *saved, training, 1e-5, (True, True, True))
        check("native_batch_norm_backward", *args, tol=tol)
    check("native_batch_norm", x, w, b, None, None, True, 0.1, 1e-5)


def test_normalization_keeps_the_memory_format():
    x = np.ascontiguousarray(random((2, 3, 5, 4)).transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
    dense = from_host(np.ascontiguousarray(x.transpose(0, 2, 3, 1)))
    a = dense.view_of(x.shape, x.strides, 0)
    for got, want in (
        (OVERRIDES["native_batch_norm"](a, None, None, None, None, True, 0.1, 1e-5), ARRAY_KERNELS["native_batch_norm"](np, x, None, None, None, None, True, 0.1, 1e-5)),
        (OVERRIDES["native_group_norm"](a, None, None, 2, 3, 20, 3, 1e-5), ARRAY_KERNELS["native_group_norm"](np, x, None, None, 2, 3, 20, 3, 1e-5)),
    ):  # fmt: skip
        assert_same(got[0], want[0])
        assert got[0].strides == want[0].strides


def test_what_normalization_refuses():
    x = from_host(random((4, 6)))
    with pytest.raises(NoKernel):
        OVERRIDES["native_layer_norm"](x, (5,), None, None, 1e-5)
    with pytest.raises(NoKernel):
        OVERRIDES["native_layer_norm"](x, (6,), from_host(random(6, "d")), None, 1e-5)
    with pytest.raises(NoKernel):
        OVERRIDES["native_batch_norm"](x, from_host(random(5)), None, None, None, True, 0.1, 1e-5)


assert _softmax
assert _normalization
