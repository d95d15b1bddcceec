"""`assert_close` and `make_tensor`."""

from __future__ import annotations

import re

import numpy as np
import pytest

import minitorch as mt
from minitorch.testing import assert_close, make_tensor

T = mt.tensor
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (T([1.0, 2.0]), T([1.0, 2.0 + 1e-7]), {}),
        (T([1, 2]), T([1, 2]), {}),
        (1.0, 1.0 + 1e-9, {}),
        (True, True, {}),
        (None, None, {}),
        (1, 1.0, {"check_dtype": False}),
        ([1.0, T(2.0)], (1.0, T(2.0)), {}),
        ({"a": [T(1.0)]}, {"a": [T(1.0)]}, {}),
        (np.ones(2), np.ones(2), {}),
        (T(NAN), T(NAN), {"equal_nan": True}),
        (T([INF, -INF]), T([INF, -INF]), {}),
        (T([1.0]), T([1.5]), {"rtol": 0.5, "atol": 0.0}),
        (T([1], dtype=mt.int32), T([1]), {"check_dtype": False}),
        (T([1.0], dtype=mt.bfloat16), T([1.01], dtype=mt.bfloat16), {}),
        (T([1.0 + 1.0j]), T([1.0 + 1.0000001j]), {}),
        (T([[1.0, 2.0], [3.0, 4.0]]), T([[1.0, 3.0], [2.0, 4.0]]).t(), {}),
        (mt.ones(2, device="meta"), mt.ones(2, device="meta"), {}),
        (mt.ones(0), mt.ones(0), {}),
    ],
)
def test_close(actual, expected, options):
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "options", "text"),
    [
        (T([1.0, 2.0]), T([1.0, 3.0]), {}, "Mismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 1.0 at index (1,)"),
        (T([[1, 2]]), T([[1, 3]]), {},
         "not equal!\n\nMismatched elements: 1 / 2 (50.0%)\nGreatest absolute difference: 1 at index (0, 1)\n"),
        (T(1.0), T(2.0), {},
         "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)"),
        (1, 2, {}, "Scalars are not equal!"),
        (True, False, {}, "Booleans mismatch"),
        (1, 1.0, {}, "(d)types do not match"),
        (T([1.0]), T([1.0, 2.0]), {}, "'shape' do not match"),
        (T([1.0]), T([1.0], dtype=mt.float64), {}, "'dtype' do not match: torch.float32 != torch.float64"),
        (T([1.0]), mt.ones(1, device="meta"), {}, "'device' do not match: cpu != meta"),
        (T([[1.0, 2.0]]), T([[1.0], [2.0]]).t(), {"check_stride": True}, "'stride()' do not match"),
        ([1.0, T([2.0])], [1.0, T([3.0])], {}, "The failure occurred for item [1]"),
        ({"a": [1.0]}, {"a": [2.0]}, {}, "The failure occurred for item ['a'][0]"),
        ([1], [1, 2], {}, "length of the sequences mismatch: 1 != 2"),
        ({"a": 1}, {"b": 1}, {}, "Missing keys in the actual mapping: ['b']"),
        (None, 1, {}, "None mismatch"),
        (T(NAN), T(NAN), {}, "Expected nan but got nan"),
        (T([INF]), T([1.0]), {}, "Greatest absolute difference: inf"),
        (T([1.0]), T([INF]), {"rtol": 1.0, "atol": 1.0}, "not close"),
        (T(255, dtype=mt.uint8), T(0, dtype=mt.uint8), {}, "Absolute difference: 255"),
        (T([2.0]), T([1.0]), {"msg": "hello"}, "hello"),
        (T([2.0]), T([1.0]), {"msg": lambda text: "before " + text}, "before Tensor-likes"),
    ],
)
def test_not_close(actual, expected, options, text):
    with pytest.raises(AssertionError, match=re.escape(text)):
        assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "options", "error"),
    [
        ("a", "a", {}, TypeError),
        (T(1.0), 1.0, {}, TypeError),
        (np.ones(1), T([1.0]), {}, TypeError),
        (1.0, 1.0, {"rtol": 1.0}, ValueError),
        (1.0, 1.0, {"rtol": -1.0, "atol": 0.0}, ValueError),
    ],
)
def test_what_cannot_be_compared(actual, expected, options, error):
    with pytest.raises(error):
        assert_close(actual, expected, **options)


def test_subclasses():
    class Sub(mt.Tensor):
        pass

    x = T([1.0])
    sub = x.as_subclass(Sub)
    assert_close(sub, x)
    with pytest.raises(TypeError):
        assert_close(sub, x, allow_subclasses=False)


# -- make_tensor -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (mt.float32, -9, 9), (mt.float64, -9, 9), (mt.bfloat16, -9, 9), (mt.float16, -9, 9), (mt.int64, -9, 9),
        (mt.int8, -9, 9), (mt.uint8, 0, 9), (mt.bool, 0, 1),
    ],
)
def test_default_range(dtype, low, high):
    x = make_tensor(500, dtype=dtype, device="cpu")
    assert (x.dtype, x.shape) == (dtype, (500,))
    assert low <= x.double().min().item() < 0.2 * low + 0.2 * high
    assert 0.7 * high < x.double().max().item() <= high


def test_complex_range():
    x = make_tensor(200, dtype=mt.complex64, device="cpu", low=1, high=2)
    for part in (x.real, x.imag):
        assert part.min().item() >= 1
        assert part.max().item() < 2


def test_given_range():
    x = make_tensor((200,), dtype=mt.int64, device="cpu", low=1.5, high=3.5)
    assert sorted(set(x.tolist())) == [2, 3]
    y = make_tensor([3, 4], dtype=mt.float32, device="cpu", low=2)
    assert y.min().item() >= 2
    assert make_tensor(100, dtype=mt.uint8, device="cpu", low=-5, high=1).tolist() == [0] * 100


def test_layout_and_flags():
    x = make_tensor(2, 3, dtype=mt.float32, device="cpu", noncontiguous=True)
    assert (x.shape, x.stride(), x.is_contiguous()) == ((2, 3), (6, 2), False)
    y = make_tensor(2, 3, 4, 5, dtype=mt.float32, device="cpu", memory_format=mt.channels_last)
    assert y.stride() == (60, 1, 15, 3)
    assert make_tensor(2, dtype=mt.float64, device="cpu", requires_grad=True).requires_grad
    assert make_tensor(2, dtype=mt.float32, device="meta").is_meta
    assert 0 not in make_tensor(500, dtype=mt.int64, device="cpu", exclude_zero=True).tolist()
    assert make_tensor(dtype=mt.float32, device="cpu").shape == ()


@pytest.mark.parametrize(
    "options",
    [
        {"dtype": mt.float32, "low": 20},
        {"dtype": mt.float32, "low": NAN},
        {"dtype": mt.int64, "low": 1, "high": 1},
        {"dtype": mt.bool, "low": 2, "high": 3},
        {"dtype": mt.int64, "requires_grad": True},
        {"dtype": mt.float32, "noncontiguous": True, "memory_format": mt.contiguous_format},
    ],
)
def test_wrong_options(options):
    with pytest.raises(ValueError):
        make_tensor(2, device="cpu", **options)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["float32", "float64", "int64", "complex64", "bool", "uint8"])
def test_same_numbers_as_torch(torch, name):
    options = {"noncontiguous": True}
    torch.manual_seed(3)
    expected = torch.testing.make_tensor(4, 3, dtype=getattr(torch, name), device="cpu", **options)
    mt.manual_seed(3)
    found = make_tensor(4, 3, dtype=getattr(mt, name), device="cpu", **options)
    assert found.tolist() == expected.tolist()
