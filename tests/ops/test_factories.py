"""Factories: types, shapes, strides, options, ``out=`` and errors."""

import itertools

import numpy as np
import pytest

import minitorch

M = minitorch


@pytest.mark.parametrize(
    ("make", "name", "values"),
    [
        (lambda: M.zeros(2), "float32", [0, 0]),
        (lambda: M.zeros((1, 2), dtype=M.int8), "int8", [[0, 0]]),
        (lambda: M.zeros([2]), "float32", [0, 0]),
        (lambda: M.zeros(()), "float32", 0),
        (lambda: M.zeros(size=(1,)), "float32", [0]),
        (lambda: M.ones(2, dtype=M.bool), "bool", [True, True]),
        (lambda: M.ones(2, dtype=M.bfloat16), "bfloat16", [1, 1]),
        (lambda: M.full((2,), 3), "int64", [3, 3]),
        (lambda: M.full((2,), 3.5), "float32", [3.5, 3.5]),
        (lambda: M.full((2,), True), "bool", [True, True]),
        (lambda: M.full((1,), 2j), "complex64", [2j]),
        (lambda: M.full((1,), 1.7, dtype=M.int32), "int32", [1]),
        (lambda: M.full((1,), -1, dtype=M.uint8), "uint8", [255]),
        (lambda: M.full((1,), float("inf"), dtype=M.float16), "float16", [float("inf")]),
        (lambda: M.full((1,), M.tensor(2.5)), "float32", [2.5]),
        (lambda: M.scalar_tensor(3), "float32", 3),
        (lambda: M.arange(3), "int64", [0, 1, 2]),
        (lambda: M.arange(1, 2, 0.5), "float32", [1, 1.5]),
        (lambda: M.arange(5, 0, -2), "int64", [5, 3, 1]),
        (lambda: M.arange(2.5), "float32", [0, 1, 2]),
        (lambda: M.arange(2.5, dtype=M.int64), "int64", [0, 1]),
        (lambda: M.arange(3, dtype=M.float64), "float64", [0, 1, 2]),
        (lambda: M.range(1, 2, 0.5), "float32", [1, 1.5, 2]),
        (lambda: M.linspace(0, 1, 5), "float32", [0, 0.25, 0.5, 0.75, 1]),
        (lambda: M.linspace(0, 10, 4, dtype=M.int64), "int64", [0, 3, 6, 10]),
        (lambda: M.linspace(2, 9, 1), "float32", [2]),
        (lambda: M.linspace(2, 9, 0), "float32", []),
        (lambda: M.linspace(M.tensor(0.0), 1, 3), "float32", [0, 0.5, 1]),
        (lambda: M.linspace(0, M.tensor(1.0), 3), "float32", [0, 0.5, 1]),
        (lambda: M.linspace(0, 1j, 3), "complex64", [0, 0.5j, 1j]),
        (lambda: M.logspace(0, 2, 3), "float32", [1, 10, 100]),
        (lambda: M.logspace(0, 3, 4, base=2), "float32", [1, 2, 4, 8]),
        (lambda: M.eye(2), "float32", [[1, 0], [0, 1]]),
        (lambda: M.eye(1, 2, dtype=M.int64), "int64", [[1, 0]]),
        (lambda: M.tril_indices(2, 2), "int64", [[0, 1, 1], [0, 0, 1]]),
        (lambda: M.triu_indices(2, 3, 1), "int64", [[0, 0, 1], [1, 2, 2]]),
        (lambda: M.complex(M.tensor([1.0]), M.tensor([2.0])), "complex64", [1 + 2j]),
        (lambda: M.polar(M.tensor([2.0]), M.tensor([0.0])), "complex64", [2]),
        (lambda: M.ones(2, dtype=M.int32).new_zeros(1), "int32", [0]),
        (lambda: M.ones(2, dtype=M.int32).new_ones((1,), dtype=M.float32), "float32", [1]),
        (lambda: M.ones(2, dtype=M.int32).new_full((1,), 7.9), "int32", [7]),
        (lambda: M.ones(2, dtype=M.int32).new_tensor([3]), "int32", [3]),
        (lambda: M.full_like(M.zeros(1, dtype=M.int64), 1.7), "int64", [1]),
        (lambda: M.ones_like(M.zeros(1), dtype=M.int8), "int8", [1]),
    ],
)
def test_values(make, name, values):
    x = make()
    assert x.dtype is getattr(M, name)
    assert x.tolist() == values


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: M.zeros(-1), RuntimeError, "negative dimension -1"),
        (lambda: M.empty(2, -3), RuntimeError, "negative dimension -3"),
        (lambda: M.empty(2**62, 4), RuntimeError, "Storage size calculation overflowed"),
        (lambda: M.full((1,), 300, dtype=M.uint8), RuntimeError, "uint8_t without overflow"),
        (lambda: M.full((1,), 1e40), RuntimeError, "type float without overflow"),
        (lambda: M.full((1,), 2j, dtype=M.float32), RuntimeError, "without overflow"),
        (lambda: M.full((1,), float("nan"), dtype=M.int64), RuntimeError, "int64_t"),
        (lambda: M.full_like(M.zeros(1, dtype=M.uint8), 300), RuntimeError, "full_like"),
        (lambda: M.arange(0, 5, 0), RuntimeError, "step must be nonzero"),
        (lambda: M.arange(5, 0), RuntimeError, "inconsistent with step sign"),
        (lambda: M.arange(float("inf")), RuntimeError, "unsupported range"),
        (lambda: M.arange(2, dtype=M.bool), NotImplementedError, "arange_cpu.*Bool"),
        (lambda: M.linspace(0, 1, -1), RuntimeError, "must be non-negative"),
        (lambda: M.linspace(M.ones(1), 1, 3), RuntimeError, "only supports 0-dimensional"),
        (lambda: M.linspace(0, 1j, 3, dtype=M.float32), RuntimeError, "can't be safely cast"),
        (lambda: M.eye(-1), RuntimeError, "greater or equal to 0"),
        (lambda: M.tril_indices(3, -1), RuntimeError, "col must be non-negative"),
        (lambda: M.tril_indices(3, 3, dtype=M.float32), NotImplementedError, "Float"),
        (lambda: M.empty_strided((2, 3), (1,)), RuntimeError, "dimensionality of sizes"),
        (lambda: M.empty_strided((2,), (-1,)), RuntimeError, "must not be negative"),
        (lambda: M.empty_permuted((2, 3), (0, 0)), RuntimeError, "Duplicate dim"),
        (lambda: M.empty(2, 3, memory_format=M.channels_last), RuntimeError, "required rank 4"),
        (lambda: M.complex(M.ones(1), M.ones(1).double()), RuntimeError, "scalar type Double"),
        (lambda: M.polar(M.ones(1).int(), M.ones(1).int()), RuntimeError, "Half, Float or Double"),
        (
            lambda: M.zeros(2, out=M.ones(2, dtype=M.int64), dtype=M.float32),
            RuntimeError,
            "does not match dtype of out",
        ),
        (
            lambda: M.complex(
                M.ones(1).double(), M.ones(1).double(), out=M.ones(1, dtype=M.complex64)
            ),
            RuntimeError,
            "for argument 'out'",
        ),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


def strided_samples():
    yield M.ones(2, 3)
    yield M.ones(2, 3).t()
    yield M.ones(4, 3, 2)[:, ::2]
    yield M.ones(4, 5, 6).permute(2, 0, 1)[:, 1:3]
    yield M.ones(2, 1).expand(2, 3)
    yield M.empty(2, 3, 4, 5, memory_format=M.channels_last)
    yield M.ones(0, 3)
    yield M.ones(())


@pytest.mark.parametrize(
    "make", [M.empty_like, M.zeros_like, M.ones_like, M.rand_like, M.randn_like]
)
def test_like_keeps_the_order_of_dimensions(make):
    for x in strided_samples():
        y = make(x)
        assert y.shape == x.shape
        assert y.dtype is x.dtype
        if x.numel():
            order = sorted(range(x.ndim), key=lambda d: -x.stride(d))
            if 0 not in x.stride():
                assert y.permute(order).is_contiguous()
        assert make(x, memory_format=M.contiguous_format).is_contiguous()
        assert make(x, device="meta").is_meta
        meta = make(x.to("meta"))
        assert meta.is_meta
        assert meta.stride() == make(x).stride() or not x.numel()


def test_strides_of_empties():
    assert M.empty(2, 3, 4, 5, memory_format=M.channels_last).stride() == (60, 1, 15, 3)
    assert M.empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    assert M.empty_strided((2, 3), (7, 2)).stride() == (7, 2)
    assert M.empty_strided((2, 3), (0, 0)).fill_(3).tolist() == [[3] * 3] * 2
    assert M.empty_strided((2, 2), (1, 4), dtype=M.float8_e5m2).stride() == (1, 4)
    assert M.empty_permuted((2, 3, 4), (1, 0, 2)).stride() == (4, 8, 1)
    assert M.ones(2).new_empty_strided((2, 3), (1, 2), dtype=M.int8).stride() == (1, 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda **k: M.zeros(2, 3, **k),
        lambda **k: M.ones(2, **k),
        lambda **k: M.full((2,), 7, **k),
        lambda **k: M.arange(0, 1, 0.1, **k),
        lambda **k: M.linspace(0, 1, 7, **k),
        lambda **k: M.logspace(0, 1, 7, **k),
        lambda **k: M.eye(3, **k),
        lambda **k: M.eye(3, 2, **k),
        lambda **k: M.range(0, 1, 0.25, **k),
    ],
)
def test_out_computes_in_its_own_type(call):
    out = M.empty(0, dtype=M.float64)
    result = call(out=out)
    assert result is out
    assert np.array_equal(out.numpy(), call(dtype=M.float64).numpy())
    again = call(out=out, dtype=M.float64, device="cpu")
    assert again is out


def test_requires_grad_and_device():
    assert M.zeros(2, requires_grad=True).requires_grad
    assert M.zeros(2, requires_grad=True).is_leaf
    assert M.arange(3, device="meta").is_meta
    assert M.full((2,), 1.5, device="meta").dtype is M.float32
    with pytest.raises(RuntimeError, match="floating point"):
        M.zeros(2, dtype=M.int64, requires_grad=True)


def test_gradients_of_complex_and_polar():
    real, imag = M.tensor([1.0, 2.0], requires_grad=True), M.tensor([3.0, 4.0], requires_grad=True)
    z = M.complex(real, imag)
    (z * z.conj()).real.sum().backward()
    assert real.grad.tolist() == [2, 4]
    assert imag.grad.tolist() == [6, 8]
    size, angle = M.tensor([2.0], requires_grad=True), M.tensor([0.5], requires_grad=True)
    z = M.polar(size, angle)
    (z.real + 3 * z.imag).sum().backward()
    assert size.grad.item() == pytest.approx(np.cos(0.5) + 3 * np.sin(0.5))
    assert angle.grad.item() == pytest.approx(-2 * np.sin(0.5) + 6 * np.cos(0.5))


@pytest.mark.oracle
def test_ranges_against_torch(torch):
    names = ["float32", "float64", "int64", "int32", "bfloat16"]
    bounds = [(0, 10), (-3.3, 7.7), (5, -5), (2.7, 9.9), (0, 0)]
    for name, (start, end) in itertools.product(names, bounds):
        ours, theirs = getattr(M, name), getattr(torch, name)
        for steps in (0, 1, 2, 7, 50):
            a = M.linspace(start, end, steps, dtype=ours)
            b = torch.linspace(start, end, steps, dtype=theirs)
            same = np.array_equal(a.double().numpy(), b.double().numpy())
            close = name == "bfloat16" and np.allclose(
                a.float().numpy(), b.float().numpy(), rtol=1e-2, atol=5e-2
            )
            assert same or close, (name, start, end, steps)
        for step in (1, 2, 3.5):
            step = step if end >= start else -step
            if "int" in name:
                step = int(step)
            a = M.arange(start, end, step, dtype=ours)
            b = torch.arange(start, end, step, dtype=theirs)
            assert a.shape == tuple(b.shape), (name, start, end, step)
            assert np.allclose(
                a.double().numpy(), b.double().numpy(), rtol=1e-2 if name == "bfloat16" else 1e-6
            )
