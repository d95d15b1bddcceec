"""Softmax, normalizations, losses and optimizer steps on OpenCL devices, against the array kernels on NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("pyopencl")

from minitorch.backends import NoKernel
from minitorch.backends.array.registry import ARRAY_KERNELS
from minitorch.backends.opencl import loss, normalization, optimizers, runtime, softmax
from minitorch.backends.opencl.array import CLArray, from_host
from minitorch.backends.opencl.overrides import OVERRIDES

if runtime.device_count() == 0:
    pytest.skip("no OpenCL device can be used", allow_module_level=True)

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


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


# A program takes long to build with some drivers: the form for GPUs is tried with one dtype.
FORMS = [("own", BFLOAT16), ("own", "f"), ("gpu", "f")]


@pytest.fixture
def form(request, monkeypatch):
    """Run with the kernels' own form for the device, or with that for GPUs."""
    if request.param == "gpu":
        monkeypatch.setattr(runtime.device(), "is_cpu", False)
    return request.param


def forms(*more):
    """Parametrize a test by form and dtype."""
    return pytest.mark.parametrize(("form", "dtype"), [*FORMS, *more], indirect=["form"], ids=str)


# ---------------------------------------------------------------- softmax


@forms(("own", "e"), ("own", "d"))
@pytest.mark.parametrize(
    ("shape", "dim"), [((5, 70), 1), ((70, 37), 0), ((3, 20, 16), 1), ((2, 3, 5), 1), ((9,), 0), ((4, 1), -1), ((), 0)], ids=str
)
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


@forms()
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


@forms()
@pytest.mark.parametrize("affine", [True, False])
def test_group_norm(form, affine, dtype):
    N, C, group, size = 3, 6, 2, (5, 4)
    x = random((N, C, *size), dtype)
    w, b = (random(C, dtype, 1), random(C, dtype, 2)) if affine else (None, None)
    out, mean, rstd = check("native_group_norm", x, w, b, N, C, 20, group, 1e-5)
    g = random(x.shape, dtype, 3)
    tol = {BFLOAT16: 5e-2, np.dtype("f"): 2e-4}.get(np.dtype(dtype))
    check("native_group_norm_backward", g, x, mean, rstd, w, N, C, 20, group, (True, True, True), tol=tol)


@forms(("own", "d"))
@pytest.mark.parametrize(("shape", "affine"), [((8, 5), True), ((4, 3, 7), False), ((3, 4, 6, 5), True)], ids=str)
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
    for name, args in (
        ("native_batch_norm", (None, None, None, None, True, 0.1, 1e-5)),
        ("native_group_norm", (None, None, 2, 3, 20, 3, 1e-5)),
    ):
        got, want = OVERRIDES[name](a, *args), ARRAY_KERNELS[name](np, x, *args)
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


# ---------------------------------------------------------------- negative log likelihood


@forms()
@pytest.mark.parametrize(("shape", "ignore"), [((7,), -100), ((5, 7), 3), ((3000, 10), -100), ((2, 7, 5, 4), 3)], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss(form, shape, ignore, weighted, dtype):
    suffix = "2d" if len(shape) == 4 else ""
    classes = shape[0] if len(shape) == 1 else shape[1]
    rng = np.random.default_rng(1)
    target = rng.integers(0, classes, () if len(shape) == 1 else (shape[0], *shape[2:]))
    target = np.asarray(target)
    if ignore == -100 and target.ndim:
        target[0] = ignore
    x = random(shape, dtype)
    w = np.abs(random(classes, dtype, 1)) if weighted else None
    if weighted:
        w[2] = 0
    tol = 2e-2 if x.dtype.itemsize == 2 else 2e-5
    for reduction in (0, 1, 2):
        loss, total = check(f"nll_loss{suffix}_forward", x, target, w, reduction, ignore, tol=tol)
        loss, total = np.asarray(loss, dtype), np.asarray(total, dtype)
        g = random(loss.shape, dtype, 3)
        check(f"nll_loss{suffix}_backward", g, x, target, w, reduction, ignore, total)


def test_nll_loss_of_byte_targets_and_wrong_classes():
    x, target = random((40, 5)), np.arange(40) % 5
    check("nll_loss_forward", x, target.astype("u1"), None, 1, -100)
    for wrong in (5, -1):
        target[17] = wrong
        message = rf"Target {wrong} is out of bounds. Classes are 0 to 4"
        with pytest.raises(IndexError, match=message):
            OVERRIDES["nll_loss_forward"](from_host(x), from_host(target), None, 1, -100)
        one = from_host(np.asarray(1.0, "f"))
        with pytest.raises(IndexError, match=message):
            OVERRIDES["nll_loss_backward"](one, from_host(x), from_host(target), None, 1, -100, one)
    with pytest.raises(NoKernel):
        OVERRIDES["nll_loss_forward"](from_host(x), from_host(target[:3]), None, 1, -100)


# ---------------------------------------------------------------- optimizers


def both(name, lists, **options):
    """Run a step on both, and compare all that it may write."""
    on_host = [[a.copy() for a in row] for row in lists]
    there = on_device(lists)
    OVERRIDES[name](*there, **{k: on_device(v) for k, v in options.items()})
    ARRAY_KERNELS[name](np, *on_host, **options)
    for row, other_row in zip(there, on_host, strict=True):
        for one, other in zip(row, other_row, strict=True):
            assert_same(one, other, tol=1e-2 if other.dtype.itemsize == 2 else 1e-5 if other.dtype.itemsize == 4 else 1e-11)
    return on_host


SHAPES = [(3, 4), (), (5000,), (1, 8192), (17, 300)]


NESTEROV = {"momentum": 0.9, "nesterov": True, "maximize": True, "dampening": 0.1, "weight_decay": 0.1}


@forms()
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, NESTEROV], ids=str)
def test_fused_sgd(form, options, dtype):
    options = {"weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False, **options}
    rows = [[random(s, dtype, seed) for s in SHAPES] for seed in (1, 2, 3)]
    for first in (True, False):
        rows = both("_fused_sgd_", rows, is_first_step=first, **options)


@pytest.mark.parametrize(("form", "dtype"), [("own", "f"), ("own", "d"), ("gpu", "f")], indirect=["form"])
@pytest.mark.parametrize("options", [{}, {"amsgrad": True, "weight_decay": 0.1}, {"maximize": True, "beta1": 0.0}], ids=str)
@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_"])
def test_fused_adam(form, name, options, dtype):
    options = {
        "lr": 0.01, "beta1": 0.9, "beta2": 0.999, "weight_decay": 0.0, "eps": 1e-8, "amsgrad": False, "maximize": False, **options
    }  # fmt: skip
    rows = [[random(s, dtype, seed) for s in SHAPES] for seed in (1, 2)]
    rows += [[np.zeros(s, dtype) for s in SHAPES] for _ in range(3)] + [[np.zeros((), "f") for _ in SHAPES]]
    if not options["amsgrad"]:
        rows[4] = []
    for _ in range(3):
        rows = both(name, rows, **options)
    assert float(rows[5][0]) == 3.0


def test_fused_steps_of_mixed_precision_and_odd_layouts():
    options = {
        "weight_decay": 0.0, "momentum": 0.0, "lr": 0.1, "dampening": 0.0, "nesterov": False, "maximize": False,
        "is_first_step": True,
    }  # fmt: skip
    rows = [[random((3, 4))], [random((3, 4), seed=1)], []]
    both("_fused_sgd_", rows, grad_scale=np.asarray([4.0], "f"), **options)
    both("_fused_sgd_", rows, found_inf=np.asarray([1.0], "f"), **options)
    turned = from_host(rows[0][0].T.copy()).view_of((3, 4), (4, 12), 0)
    OVERRIDES["_fused_sgd_"]([turned], on_device(rows[1]), [], **options)
    assert_same(turned, rows[0][0] - rows[1][0] * np.float32(0.1))
    gaps = from_host(random((3, 8))).view_of((3, 4), (32, 8), 0)
    with pytest.raises(NoKernel):
        OVERRIDES["_fused_sgd_"]([gaps], on_device(rows[1]), [], **options)


@pytest.mark.parametrize("module", [loss, normalization, optimizers, softmax])
def test_each_module_registers_its_operators(module):
    assert any(fn.__module__ == module.__name__ for fn in OVERRIDES.values())
