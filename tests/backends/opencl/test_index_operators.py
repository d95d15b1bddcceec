"""Operators of OpenCL arrays that have kernels of their own, against the array kernels on NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("pyopencl")

from opencl_forms import FORMS, device_in_form

from minitorch.backends import NoKernel
from minitorch.backends.array.registry import ARRAY_KERNELS
from minitorch.backends.opencl import geometry, index_operators, shape_operators, sort_operators
from minitorch.backends.opencl.array import CLArray, from_host
from minitorch.backends.opencl.overrides import OVERRIDES
from minitorch.ops.families import load_families

load_families("minitorch.backends.array")
pytestmark = pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(t) for t in ("f2", "f4", "f8", "c8")] + [BFLOAT16]
MODULES = (index_operators, shape_operators, sort_operators)

# What NumPy computes where the memory is shared, and has no override elsewhere.
ON_HOST = {
    "sort", "argsort", "topk", "_unique2", "unique_dim", "unique_consecutive", "bincount", "histc", "isin.Tensor_Tensor",
    "sort.stable", "argsort.stable", "histogram.bin_ct", "histogram.bins_tensor",
}  # fmt: skip
# What leaves operands that are not row-major to the array kernels.
FORMATTED = {"index.Tensor"}


@pytest.fixture(params=FORMS)
def device(request):
    """Return the device in each form that it has kernels for."""
    return device_in_form(request.param)


def numbers(shape, dtype="f4", seed=0):
    """Return numbers whose sums and products are exact in every dtype, so that the order does not matter."""
    random = np.random.RandomState(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.rand(*shape) < 0.5
    return random.randint(0, 4, shape).astype(dtype) if dtype.kind in "u" else random.randint(-3, 4, shape).astype(dtype)


def places(shape, bound, seed=0, low=0):
    return np.random.RandomState(seed).randint(low, bound, shape)


def distinct(count, bound, seed=0):
    return np.random.RandomState(seed).permutation(bound)[:count]


def to_device(value, device):
    if isinstance(value, np.ndarray):
        array = from_host(value, device)
        if value.ndim > 1 and not value.flags.c_contiguous:
            order = sorted(range(value.ndim), key=lambda d: -value.strides[d])
            memory = from_host(np.ascontiguousarray(value.transpose(order)), device)
            array = geometry.permute(memory, [order.index(d) for d in range(value.ndim)])
        return array
    if isinstance(value, (list, tuple)):
        return type(value)([to_device(v, device) for v in value])
    return value


def copied(value):
    if isinstance(value, np.ndarray):
        return value.copy("K")
    if isinstance(value, (list, tuple)):
        return type(value)([copied(v) for v in value])
    return value


def same(found, expected):
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    expected = np.asarray(expected)
    assert type(found) is CLArray
    values = found.to_host()
    assert values.shape == expected.shape
    assert values.dtype == expected.dtype
    if expected.dtype.kind == "V":
        values, expected = values.astype("f4"), expected.astype("f4")
    np.testing.assert_array_equal(values, expected)


def check(device, name, *args, **kwargs):
    """Compare one call: the result, or the first argument where that is written to."""
    if args and isinstance(args[-1], dict):
        *args, kwargs = args
        args = tuple(args)
    on_device = to_device(args, device)
    device_kwargs = {k: to_device(v, device) for k, v in kwargs.items()}
    own = copied(args)
    error = None
    try:
        expected = ARRAY_KERNELS[name](np, *own, **kwargs)
    except Exception as raised:
        error = raised
    if error is not None:
        with pytest.raises((type(error), NoKernel)) as caught:
            OVERRIDES[name](*on_device, **device_kwargs)
        if caught.type is NoKernel:
            assert name in ON_HOST
        elif isinstance(error, (IndexError, RuntimeError)) and "axis" not in str(error):  # NumPy's own have another word
            assert str(caught.value) == str(error)
        return
    try:
        found = OVERRIDES[name](*on_device, **device_kwargs)
    except NoKernel:
        # Then the array kernel runs on the device's namespace.
        assert name in ON_HOST or name in FORMATTED
        return
    if name.partition(".")[0].endswith("_"):
        same(on_device[0], own[0])
    else:
        same(found, expected)
        if type(found) is CLArray and found.ndim and found.size:
            assert found.flags.c_contiguous == np.asarray(expected).flags.c_contiguous


X = numbers((4, 6))
Y = numbers((3, 4, 5))
CALLS = [
    ("gather", X, 1, places((4, 3), 6)),
    ("gather", X, 0, places((2, 6), 4)),
    ("gather", X.T, -1, places((6, 4), 4)),
    ("gather", Y, 1, places((3, 7, 2), 4)),
    ("gather", X[0], 0, np.array(3)),
    ("gather", np.array(3, "f4"), 0, np.array([0, 0])),
    ("gather", X, 1, places((4, 3), 6).astype("i4")),
    ("gather", X, 1, np.zeros((4, 0), "i8")),
    ("gather", X, 1, np.array([[6]])),
    ("gather", X, 1, np.array([[-1]])),
    ("gather", X, 1, places((5, 2), 6)),
    ("gather", X, 2, places((4, 3), 6)),
    ("scatter.src", X, 1, np.stack([distinct(3, 6, k) for k in range(4)]), numbers((4, 5), seed=1)),
    ("scatter_.src", X.T, 0, np.stack([distinct(3, 6, k) for k in range(4)]).T, numbers((3, 4), seed=1)),
    ("scatter.value", X, 0, places((2, 6), 4), 7),
    ("scatter_.value", X, 0, places((2, 6), 4), 7.5),
    ("scatter.src", X, 0, np.array([[9]]), X),
    ("scatter.src", X, 0, np.array([[0]]), X.astype("f8")),
    ("scatter.value", X, 0, np.zeros((0, 6), "i8"), 1),
    ("scatter.src", X, 1, places((4, 6), 6), X[:, :3]),
    ("scatter_add", X, 1, places((4, 6), 6), numbers((4, 6), seed=2)),
    ("scatter_add_", X, 0, places((3, 6), 4), numbers((4, 6), seed=2)),
    ("scatter_add", X[0], 0, places((50,), 6), numbers((50,))),
    ("scatter_add", X.T, 1, places((6, 4), 4), numbers((6, 4))),
    ("scatter.reduce", X, 1, places((4, 6), 6), numbers((4, 6), seed=2)),
    ("scatter.value_reduce", X, 1, places((4, 6), 6), 2),
    ("index_select", Y, 1, places((6,), 4)),
    ("index_select", Y.T, -1, places((6,), 3)),
    ("index_select", Y, 0, np.array(2)),
    ("index_select", np.array(2, "f4"), 0, np.array([0])),
    ("index_select", Y, 1, np.array([4])),
    ("index_select", Y, 1, np.array([-1])),
    ("index_select", Y, 1, places((6,), 4).astype("i4")),
    ("index_copy", Y, 1, distinct(3, 4), numbers((3, 3, 5))),
    ("index_copy_", X, 0, distinct(3, 4), numbers((3, 6))),
    ("index_copy", X, 0, np.array([4]), numbers((1, 6))),
    ("index_copy", X, 0, np.array([1]), numbers((2, 6))),
    ("index_fill.int_Scalar", Y, 1, np.array([0, -1]), 9),
    ("index_fill_.int_Scalar", X, 1, np.array([0, -1]), 9),
    ("index_fill.int_Tensor", Y.T, 1, np.array([0, -1]), np.array(3, "f4")),
    ("index_fill.int_Scalar", X, 1, np.array([6]), 1),
    ("index.Tensor", Y, [places((2, 3), 3, low=-3)]),
    ("index.Tensor", Y, [None, places((2, 3), 4, low=-4)]),
    ("index.Tensor", Y, [places((3,), 3), None, places((3,), 5)]),
    ("index.Tensor", Y, [Y > 0]),
    ("index.Tensor", Y, [Y[0] > 9]),
    ("index.Tensor", Y, [Y[:, 0, 0] > 0, places((1,), 4)]),
    ("index.Tensor", Y, [(Y[:, :, 0] > 0).astype("u1")]),
    ("index.Tensor", X, [np.array([4])]),
    ("index.Tensor", X.T, [places((3,), 6), places((2, 1), 4)]),
    ("index.Tensor", Y[:0], [np.array([0])]),
    ("index.Tensor", Y, [np.zeros((0, 2), "i8")]),
    ("index_put", Y, [distinct(2, 3)], numbers((2, 4, 5))),
    ("index_put_", Y, [None, distinct(2, 4)], numbers((1, 5))),
    ("index_put", Y, [Y > 0], np.array(3, "f4")),
    ("index_put_", X, [X > 0], np.float32([3])),
    ("index_put", Y, [np.array([3])], numbers((4, 5))),
    ("index_put", X, [np.array([1])], X.astype("i8")),
    ("take", X, places((2, 3), 24, low=-24)),
    ("take", X.T, places((2, 3), 24)),
    ("take", X, np.array([24])),
    ("take", X[:0], np.array([0])),
    ("put", X, distinct(5, 24), numbers((5,))),
    ("put_", X.T, distinct(5, 24) - 24, numbers((5,))),
    ("put", X, np.array([30]), numbers((1,))),
    ("put", X, places((9,), 24), numbers((9,)), True),
    ("put_", X.T, places((9,), 24), numbers((9,)), True),
    ("masked_fill.Scalar", X, X > 0, -1),
    ("masked_fill.Scalar", X, X[:1] > 0, 2.5),
    ("masked_fill.Scalar", X[0], X > 0, 2.5),
    ("masked_fill.Tensor", X.T, X.T > 0, np.array(4, "f8")),
    ("masked_fill_.Scalar", X.T, X.T > 0, 1e30),
    ("masked_fill_.Tensor", X, X[0] > 0, np.array(4, "f4")),
    ("masked_fill.Scalar", X, X, 1),
    ("masked_fill.Scalar", X, X > 0, 1e300),
    ("masked_select", X, X > 0),
    ("masked_select", X, X[0] > 0),
    ("masked_select", X[0], X > 0),
    ("masked_select", X.T, X.T > 0),
    ("masked_scatter", X, X > 0, numbers((30,), seed=4)),
    ("masked_scatter_", X.T, X.T > 0, numbers((6, 5), seed=4)),
    ("masked_scatter", X[0], X > 0, numbers((30,), seed=4)),
    ("masked_scatter", X, X < 9, numbers((3,))),
    ("nonzero", Y),
    ("nonzero", X[0]),
    ("nonzero", X.T > 0),
    ("nonzero", np.array(1, "f4")),
    ("nonzero", X[:0]),
    ("embedding", X, places((2, 3), 4)),
    ("embedding", X, np.array([4])),
    ("embedding", X, np.array([-1])),
    ("embedding", X, np.zeros((0,), "i8")),
    ("embedding_dense_backward", numbers((2, 30, 6)), places((2, 30), 4), 4, -1, False),
    ("embedding_dense_backward", numbers((2, 30, 6)), places((2, 30), 4), 4, 2, False),
    ("embedding_dense_backward", np.full((2, 30, 6), 60, "f4"), np.repeat(np.arange(4), 15).reshape(2, 30), 4, 2, True),
    ("embedding_dense_backward", numbers((3, 6)), np.array([0, 4, 1]), 4, -1, False),
    ("cat", [X, X[:2]], 0),
    ("cat", [X, X[:, :3], X[:, :0]], -1),
    ("cat", [X[:0, 0], Y, Y], 1),
    ("cat", [X, Y], 0),
    ("stack", [X, X], 1),
    ("stack", [X.T, X.T], -1),
    ("repeat", X, (2, 1, 3)),
    ("repeat", X, (0, 1)),
    ("repeat", X, (2,)),
    ("roll", X, (2,)),
    ("roll", X, (1, -2), (0, 1)),
    ("roll", X, (1,), (0, 1)),
    ("flip", X, (0,)),
    ("flip", Y, (0, 2)),
    ("flip", X, (0, 0)),
    ("tril", Y, 1),
    ("triu", X, -1),
    ("triu", X.T, 0),
    ("tril", X[0]),
    ("constant_pad_nd", X, (1, 2)),
    ("constant_pad_nd", Y, (1, 2, -1, 0), 5),
    ("constant_pad_nd", X, (-7, 0)),
    ("constant_pad_nd", X, (-3, -3)),
    ("reflection_pad1d", Y, (2, 1)),
    ("reflection_pad2d", Y, (2, 1, 1, 0)),
    ("reflection_pad1d", Y, (5, 0)),
    ("reflection_pad3d", numbers((2, 3, 4, 5)), (1,) * 6),
    ("replication_pad1d", X, (2, 9)),
    ("replication_pad2d", numbers((2, 3, 4, 5)), (2, 1, 7, -1)),
    ("reflection_pad2d_backward", numbers((3, 5, 8)), Y, (2, 1, 1, 0)),
    ("reflection_pad1d_backward", numbers((3, 4, 9)), Y, (2, 1)),
    ("replication_pad2d_backward", numbers((2, 3, 10, 8)), numbers((2, 3, 4, 5)), (2, 1, 7, -1)),
    ("upsample_nearest1d", Y, [8]),
    ("upsample_nearest2d", numbers((2, 3, 4, 5)), [9, 3]),
    ("upsample_nearest2d", numbers((2, 3, 4, 5)), [9, 3], 2.2, None),
    ("upsample_nearest3d", numbers((1, 2, 3, 4, 5)), [5, 5, 5]),
    ("_upsample_nearest_exact2d", numbers((2, 3, 4, 5)), [9, 3]),
    ("upsample_nearest1d_backward", numbers((3, 4, 8)), [8], [3, 4, 5]),
    ("upsample_nearest2d_backward", numbers((2, 3, 9, 3)), [9, 3], [2, 3, 4, 5]),
    ("upsample_nearest3d_backward", numbers((1, 2, 5, 5, 5)), [5, 5, 5], [1, 2, 3, 4, 5]),
    ("_upsample_nearest_exact2d_backward", numbers((2, 3, 9, 3)), [9, 3], [2, 3, 4, 5]),
    ("upsample_nearest2d", Y, [8, 8]),
    ("select_backward", numbers((3, 5)), [3, 4, 5], 1, -2),
    ("slice_backward", numbers((3, 2, 5)), [3, 4, 5], 1, 0, 4, 2),
    ("slice_backward", numbers((3, 1, 5)), [3, 4, 5], -2, -1, 2**63 - 1, 1),
    ("sort", Y),
    ("sort", Y.T, 0, True),
    ("argsort", Y, 1),
    ("topk", X, 2),
    ("topk", Y, 3, 1, False),
    ("topk", X, 9),
    ("_unique2", Y, True, True, True),
    ("unique_dim", X > 0, 1, True, True, True),
    ("unique_consecutive", np.sort(Y, None), True, True),
    ("bincount", places((30,), 7)),
    ("bincount", places((30,), 7), numbers((30,)), 9),
    ("bincount", X),
    ("histc", Y, 5),
    ("isin.Tensor_Tensor", Y, X[0]),
    ("sort.stable", Y, {"stable": True, "dim": 1, "descending": True}),
    ("argsort.stable", Y.T, {"stable": True, "dim": 0}),
    ("histogram.bin_ct", Y, 4),
    ("histogram.bins_tensor", Y, np.array([-2, 0, 1.5], "f4"), {"weight": Y * Y, "density": True}),
    ("reflection_pad3d_backward", numbers((2, 3, 5, 6, 7)), numbers((2, 3, 3, 4, 5)), (1,) * 6),
    ("replication_pad1d_backward", numbers((3, 4, 8)), Y, (2, 1)),
    ("replication_pad3d", numbers((2, 3, 4, 5)), (1, 2, 0, 1, 3, 0)),
    ("replication_pad3d_backward", numbers((2, 6, 5, 8)), numbers((2, 3, 4, 5)), (1, 2, 0, 1, 3, 0)),
    ("index_fill_.int_Tensor", X, 0, np.array([1, -1]), np.array(3, "f4")),
    ("searchsorted.Tensor", np.sort(X[0]), Y),
    ("searchsorted.Tensor", np.sort(X, 1), numbers((4, 3), seed=9)),
    ("searchsorted.Tensor", np.sort(X, 1), numbers((3, 3))),
    ("bucketize.Tensor", Y, np.sort(X[0])),
    ("bucketize.Tensor", Y, X),
]


@pytest.mark.parametrize("call", CALLS, ids=[f"{k}-{c[0]}" for k, c in enumerate(CALLS)])
def test_as_the_array_kernel(device, call):
    check(device, *call)


def test_every_override_of_these_modules_is_called():
    own = {name for name, fn in OVERRIDES.items() if any(fn.__module__ == m.__name__ for m in MODULES)}
    # These three are called by test_accumulation_in_every_dtype.
    called = {c[0] for c in CALLS} | {"scatter_reduce.two", "index_add", "index_add_"}
    assert own <= called


@pytest.mark.parametrize("dtype", [*FLOATS, np.dtype("i4"), np.dtype("u1"), np.dtype("?")], ids=str)
def test_accumulation_in_every_dtype(device, dtype):
    base, source = numbers((4, 6), dtype), numbers((4, 6), dtype, 3)
    index = places((4, 6), 6)
    check(device, "scatter_add", base, 1, index, source)
    check(device, "index_put", base, [places((5,), 4)], numbers((5, 6), dtype, 1), True)
    check(device, "index_put", base, [places((5,), 4), places((5,), 6)], numbers((5,), dtype, 1), True)
    check(device, "index_put_", base, [None, places((5,), 6, low=-6)], numbers((4, 5), dtype, 1), True)
    check(device, "index_add", base, 1, places((9,), 6), numbers((4, 9), dtype))
    check(device, "index_add_", base.T, 1, places((9,), 4), numbers((6, 9), dtype))
    if dtype.kind != "b":
        check(device, "index_add", base, 0, places((9,), 4), numbers((9, 6), dtype), alpha=2)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        if not (dtype.kind == "c" and reduce in ("amax", "amin")) and not (dtype.kind == "b" and reduce == "mean"):
            for include in (True, False):
                check(device, "scatter_reduce.two", base, 1, index, source, reduce, include_self=include)
    if dtype.kind == "f":
        check(device, "embedding_dense_backward", source, np.array([1, 1, 0, 1]), 3, -1, False)
    check(device, "gather", base, 1, index)
    check(device, "masked_fill.Scalar", base, base != 0, 1)
    check(device, "tril", base, 0)
    check(device, "constant_pad_nd", base, (1, 1), 1)
    check(device, "reflection_pad1d", base, (1, 2))


def test_indices_out_of_range_name_operator_index_and_size(device):
    weight = from_host(X, device)
    bad = from_host(np.array([1, 9]), device)
    with pytest.raises(IndexError, match=r"embedding\(\).*index 9 .*size 4"):
        OVERRIDES["embedding"](weight, bad)
    with pytest.raises(RuntimeError, match="index 9 is out of bounds for dimension 0 with size 4"):
        OVERRIDES["index_add"](weight, 0, bad, from_host(X[:2], device))
    with pytest.raises(IndexError, match="tried to access index 99 on a tensor of 24 elements"):
        OVERRIDES["take"](weight, from_host(np.array([99]), device))
