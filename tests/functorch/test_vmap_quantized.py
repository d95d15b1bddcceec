"""vmap over what makes quantized tensors, and over these."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import minitorch as mt

ZEROS = mt.zeros(4, dtype=mt.int64)
SCALES = mt.tensor([0.1, 0.2, 0.3, 0.4])
X = mt.tensor((np.random.default_rng(0).standard_normal((3, 4, 2)) * 3).astype(np.float32))

MAKERS = {
    "one scale": lambda x: mt.quantize_per_tensor(x, 0.1, 3, mt.qint8),
    "a tensor of scale": lambda x: mt.quantize_per_tensor(x, mt.tensor(0.1), mt.tensor(3), mt.qint8),
    "a list": lambda x: mt.quantize_per_tensor([x, -x], mt.tensor([0.1, 0.2]), mt.tensor([0, 1]), mt.qint8)[1],
    "channels": lambda x: mt.quantize_per_channel(x, SCALES, ZEROS, 0, mt.quint8),
    "last channels": lambda x: mt.quantize_per_channel(x, SCALES[:2], ZEROS[:2], 1, mt.quint8),
    "integers": lambda x: mt._make_per_tensor_quantized_tensor(x.to(mt.int8), 0.1, 3),
    "integers of channels": lambda x: mt._make_per_channel_quantized_tensor(x.to(mt.int8), SCALES, ZEROS, 0),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("dim", [0, 2])
def test_examples_are_quantized_as_one_by_one(name, dim):
    make = MAKERS[name]
    x = mt.stack(X.unbind(0), dim)
    made = mt.vmap(lambda x: make(x).dequantize(), dim)(x)
    np.testing.assert_array_equal(made.numpy(), mt.stack([make(e).dequantize() for e in X]).numpy())
    ints = mt.vmap(lambda x: make(x).int_repr(), dim)(x)
    np.testing.assert_array_equal(ints.numpy(), mt.stack([make(e).int_repr() for e in X]).numpy())


def test_in_a_fresh_process_too():
    """The operators' first kernels load the package, and must not be taken for what they consist of."""
    code = "import minitorch as mt; f = lambda x: mt.quantize_per_tensor(x, 0.5, 0, mt.qint8).int_repr()"
    code += "; assert mt.vmap(f)(mt.ones(2, 3)).tolist() == [[2] * 3] * 2"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: mt.quantize_per_tensor_dynamic(x, mt.qint8, False),
        lambda x: mt._choose_qparams_per_tensor(x)[0],
        lambda x: mt.quantize_per_tensor(x, x[0, 0].abs(), mt.tensor(0), mt.qint8),
        lambda x: mt.quantize_per_channel(x, x[:, 0].abs(), ZEROS, 0, mt.qint8),
        lambda x: mt.quantize_per_tensor([x, x], x[0].abs(), mt.tensor([0, 0]), mt.qint8)[0],
    ],
)
def test_parameters_of_each_example_are_refused(call):
    with pytest.raises(RuntimeError, match="a scale and a zero point of its own"):
        mt.vmap(call)(X)


def test_axes_are_those_of_an_example():
    with pytest.raises(RuntimeError, match="axis is 2, of a tensor of 2 dimensions"):
        mt.vmap(lambda x: mt.quantize_per_channel(x, SCALES[:2], ZEROS[:2], 2, mt.qint8))(X)


def test_products_of_integers():
    rng = np.random.default_rng(0)
    a = mt.tensor(rng.integers(-9, 9, (3, 32, 8)).astype(np.int8))
    b = mt.tensor(rng.integers(-9, 9, (3, 8, 16)).astype(np.int8))
    expected = a.numpy().astype(np.int32) @ b.numpy().astype(np.int32)
    np.testing.assert_array_equal(mt.vmap(mt._int_mm)(a, b).numpy(), expected)
    np.testing.assert_array_equal(mt.vmap(mt._int_mm, (0, None))(a, b[0]).numpy(), a.numpy().astype(np.int32) @ b[0].numpy())
