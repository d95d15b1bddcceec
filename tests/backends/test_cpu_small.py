"""The compiled loops for small operands give what the array kernels give (Note [Loops for small operands])."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch.dispatch.operator import OPERATORS


def kernel_of(name):
    """Return the kernel that an operator's loop stands before."""
    return OPERATORS["aten::" + name].active("CPU")


LOOPS = kernel_of("sum").loop is not None
pytestmark = pytest.mark.skipif(not LOOPS, reason="the loops are there where the core is compiled")

NAN, INF = float("nan"), float("inf")
SHAPES = [(), (0,), (1,), (5,), (3, 4), (2, 3, 4), (4, 0), (0, 4), (65,), (70, 40)]


def f32(*shape, seed=0):
    return mt.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def special(*shape):
    values = np.resize(np.array([0.5, NAN, -INF, INF, -0.0, 0.0, 1e-40, -3e38, 2.0], np.float32), shape)
    return mt.from_numpy(values.copy())


def operands():
    """Yield tensors of many shapes, values and strides."""
    for shape in SHAPES:
        yield f32(*shape)
        yield special(*shape)
    yield f32(4, 6).t()
    yield f32(4, 6)[:, ::2]
    yield f32(1, 5).expand(3, 5)
    yield f32(3, 4).double()


def both(name, make_args, **kwargs):
    """Call an operator with its loop and without, on arguments made anew; return both results or exceptions."""
    op = OPERATORS["aten::" + name]
    kernel = kernel_of(name)
    loop = kernel.loop
    assert loop is not None
    results = []
    for used in (loop, None):
        kernel.loop = used
        try:
            results.append(op(*make_args(), **kwargs))
        except Exception as error:
            results.append(error)
        finally:
            kernel.loop = loop
    return results


def agree(name, make_args, rtol=2e-6, atol=1e-6):
    got, expected = both(name, make_args)
    if isinstance(expected, Exception):
        assert type(got) is type(expected)
        assert str(got) == str(expected)
        return
    assert not isinstance(got, Exception), got
    pairs = zip(got, expected, strict=True) if isinstance(expected, (tuple, list)) else [(got, expected)]
    for g, e in pairs:
        if e is None:
            assert g is None
            continue
        assert g.dtype is e.dtype
        assert g.shape == e.shape
        assert 0 in g.shape or g.stride() == e.stride()
        np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=rtol, atol=atol)


def names_of(kind, module="pointwise"):
    if not LOOPS:
        return []
    from importlib import import_module

    loops = import_module(f"minitorch.backends.cpu.small.{module}").LOOPS
    return [name for name, loop in loops.items() if type(loop).__name__ == kind]


@pytest.mark.parametrize("name", names_of("UnaryLoop") + names_of("UnaryInplaceLoop"))
def test_functions(name):
    for x in operands():
        agree(name, lambda x=x: (x.clone(),))


@pytest.mark.parametrize("name", names_of("BinaryLoop") + names_of("BinaryInplaceLoop") + names_of("CompareLoop"))
def test_functions_of_two(name):
    numbers = [] if name in ("maximum", "minimum", "sigmoid_backward", "tanh_backward") else [2.5, -3, 0.0, INF, 10**30]
    tensors = name.rpartition(".")[2] != "Scalar"
    for x in operands():
        others = [x.clone(), special(*x.shape), f32(1), f32(), f32(2, 2), f32(*x.shape[-1:], seed=1)] if tensors else []
        for y in others + numbers:
            agree(name, lambda x=x, y=y: (x.clone(), y))


def test_overlapping_operands_are_not_mixed_up():
    for name in ("add_.Tensor", "mul_.Tensor", "sub_.Tensor"):
        def overlapping():
            base = f32(9)
            return base[1:], base[:-1]

        agree(name, overlapping)
        agree(name, lambda: (lambda x: (x, x))(f32(5)))
    row = f32(3, 3)
    got = (row * 1.0).add_(row[1])
    np.testing.assert_allclose(got.numpy(), row.numpy() + row.numpy()[1])
    before = row.numpy().copy()
    row.add_(row[0])
    np.testing.assert_allclose(row.numpy(), before + before[0])


def test_read_only_memory_is_not_written():
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    loop = kernel_of("add_.Tensor").loop
    tensor = f32(3)
    tensor.handle = array
    assert loop.run((tensor, 1.0), None) is None


def test_selection():
    mask = mt.tensor([[True, False], [False, True]])
    for x in (f32(2, 2), special(2, 2), f32(), f32(2), f32(2, 2).t()):
        for y in (f32(2, 2, seed=1), f32(), f32(2)):
            agree("where.self", lambda x=x, y=y: (mask, x, y))
        for value in (0.0, -2, NAN, INF, 1e39, 10**400):
            agree("masked_fill.Scalar", lambda x=x, value=value: (x, mask, value))
            if value != 10**400:
                agree("threshold_backward", lambda x=x, value=value: (f32(*x.shape, seed=2), x, value))


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums(name):
    for x in operands():
        agree(name, lambda x=x: (x,), rtol=1e-4, atol=1e-4)
        dimensional = "sum.dim_IntList" if name == "sum" else "mean.dim"
        for dim in ([-1], [0], [0, 1], [], None, [7]):
            for keepdim in (False, True):
                agree(dimensional, lambda x=x, dim=dim, keepdim=keepdim: (x, dim, keepdim), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["max.dim", "min.dim"])
def test_extrema(name):
    ties = mt.tensor([[1.0, 3.0, 3.0], [NAN, 2.0, NAN], [5.0, NAN, INF]])
    for x in [*operands(), ties]:
        for dim in (-1, 0, 1, 5):
            for keepdim in (False, True):
                agree(name, lambda x=x, dim=dim, keepdim=keepdim: (x, dim, keepdim))


@pytest.mark.parametrize("name", ["cumsum", "_softmax", "_log_softmax"])
def test_along_a_dimension(name):
    extra = () if name == "cumsum" else (False,)
    for x in operands():
        for dim in (-1, 0, 1, 5):
            agree(name, lambda x=x, dim=dim: (x, dim, *extra), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["_softmax_backward_data", "_log_softmax_backward_data"])
def test_softmax_gradients(name):
    for shape in [(3, 4), (5,), (2, 3, 4), (0, 3), (3, 0)]:
        for dim in (-1, 0):
            output = mt.softmax(f32(*shape), dim) if "log" not in name else mt.log_softmax(f32(*shape), dim)
            agree(name, lambda s=shape, o=output, d=dim: (f32(*s, seed=1), o, d, mt.float32), rtol=1e-5, atol=1e-6)


def test_layer_norm():
    for shape in [(3, 4), (2, 3, 5), (4,), (0, 4), (3, 1)]:
        n = shape[-1]
        for weight in (None, f32(n, seed=1)):
            for bias in (None, f32(n, seed=2)):
                agree(
                    "native_layer_norm", lambda s=shape, w=weight, b=bias, n=n: (f32(*s), [n], w, b, 1e-5),
                    rtol=1e-4, atol=1e-5,
                )
                out, mean, rstd = mt.native_layer_norm(f32(*shape), [n], weight, bias, 1e-5)
                mask = [True, weight is not None, bias is not None]
                agree(
                    "native_layer_norm_backward",
                    lambda s=shape, w=weight, b=bias, n=n, mean=mean, rstd=rstd, mask=mask: (
                        f32(*s, seed=3), f32(*s), [n], mean, rstd, w, b, mask
                    ),
                    rtol=1e-4, atol=1e-4,
                )
    agree("native_layer_norm", lambda: (f32(3, 4), [5], None, None, 1e-5))
    agree("native_layer_norm", lambda: (f32(3, 4), [4], f32(3), None, 1e-5))


def test_products():
    for a, b in [((2, 3), (3, 4)), ((1, 1), (1, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 2)), ((2, 3), (4, 5))]:
        agree("mm", lambda a=a, b=b: (f32(*a), f32(*b, seed=1)), rtol=1e-5, atol=1e-5)
        for bias in (None, f32(b[1]), f32(b[1] + 1)):
            agree(
                "linear", lambda a=a, b=b, bias=bias: (f32(*a), f32(*b[::-1], seed=1), bias), rtol=1e-5, atol=1e-5
            )


def test_moves():
    x = f32(3, 4)
    for index in ([[0, 1], [3, 2]], [[0, 4]], [[-1, 0]], [[0, 0], [1, 1], [2, 2], [3, 3]]):
        for dim in (0, 1, -1):
            agree("gather", lambda index=index, dim=dim: (x, dim, mt.tensor(index)))
    for index in ([0, 2, 1], [3], [-1], []):
        agree("embedding", lambda index=index: (x, mt.tensor(index, dtype=mt.int64)))
    lists = [[x, x], [x, f32(2, 4)], [x, f32(3, 5)], [x, x.double()], [x, x.t()], [f32(0), x], [f32()], [f32(2), f32(3)]]
    for tensors in lists:
        for dim in (0, 1):
            agree("cat", lambda tensors=tensors, dim=dim: (tensors, dim))
            agree("stack", lambda tensors=tensors, dim=dim: (tensors, dim))


def test_casts():
    for x in [*operands(), *(t.to(mt.int64) for t in (f32(3, 4), f32(), f32(0))), f32(3) > 0, f32(4, 6).double().t()]:
        for dtype in (mt.float64, mt.float32, mt.int64, mt.bool, mt.float16):
            if not (dtype is mt.int64 and x.isnan().any()):
                agree_keywords("_to_copy", lambda x=x: (x,), dtype=dtype)
        agree_keywords("_to_copy", lambda x=x: (x,))
    agree_keywords("_to_copy", lambda: (mt.tensor([1e300, -1e300], dtype=mt.float64),), dtype=mt.float32)


def agree_keywords(name, make_args, **kwargs):
    got, expected = both(name, make_args, **kwargs)
    assert got.dtype is expected.dtype
    assert got.shape == expected.shape
    assert 0 in got.shape or got.stride() == expected.stride()
    np.testing.assert_array_equal(got.numpy(), expected.numpy())


def test_factories():
    for name in ("zeros", "ones"):
        for sizes in ([], [0], [2, 3], [3, 0, 2], [100, 100]):
            agree(name, lambda sizes=sizes: (sizes,))
    for name in ("zeros_like", "ones_like"):
        for x in operands():
            agree(name, lambda x=x: (x,))
    assert mt.empty(2, 3).shape == (2, 3)
    assert mt.empty_like(f32(2, 3)).dtype is mt.float32
    for sizes in ([-1], [2, -3]):
        for make in (mt.zeros, mt.ones, mt.empty):
            with pytest.raises(RuntimeError, match="negative"):
                make(sizes)
    try:
        mt.set_default_dtype(mt.float64)
        assert mt.zeros(2).dtype is mt.ones(2).dtype is mt.empty(2).dtype is mt.float64
    finally:
        mt.set_default_dtype(mt.float32)
    assert mt.zeros(0, 1 << 40).shape == (0, 1 << 40)


def test_handles_of_other_devices_are_left_alone():
    """``.to("cpu")`` runs the CPU's kernel on a tensor of another device."""

    class Foreign:
        shape, dtype, ndim, size = (2,), np.dtype(np.float32), 1, 2

    tensor = f32(2)
    tensor.handle = Foreign()
    for name in names_of("CastLoop", "moves"):
        assert kernel_of(name).loop.run((tensor,), {"dtype": mt.float64}) is None
        assert kernel_of(name).loop.run((tensor,), {"dtype": mt.float32}) is None
    for kind, module in (("UnaryLoop", "pointwise"), ("LikeLoop", "moves"), ("SumLoop", "rows")):
        for name in names_of(kind, module):
            assert kernel_of(name).loop.run((tensor,), None) is None
    for name in names_of("BinaryLoop"):
        assert kernel_of(name).loop.run((f32(2), tensor), None) is None
        assert kernel_of(name).loop.run((tensor, f32(2)), None) is None
