"""CUDA logic on a stand-in: each record of `op_db`, forward and backward, against the CPU.  This is no CUDA coverage."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from op_db_helpers import assert_same, call, outputs, projected
from op_db_helpers import over as over_records

import minitorch as mt
from minitorch.backends import fallback_policy, fallback_report
from minitorch.testing.op_db import Maker

# Operators that run on the CPU for lack of something in CuPy, and the reason that the ledger of fallbacks has to give.
NO_PRODUCTS = "CuPy has no multiply.at"
ON_THE_CPU = {
    "scatter_reduce": NO_PRODUCTS,
    "index_reduce": NO_PRODUCTS,
    "segment_reduce": NO_PRODUCTS,
    "poisson": "by rejection",
    "binomial": "by rejection",
    "_standard_gamma": "by rejection",
    "_sample_dirichlet": "by rejection",
}
FACTORIES = ("factories", "random", "windows", "fft")
# Results that are on the CPU by their nature.
NOT_ON_THE_DEVICE = ("Tensor.cpu", "Tensor.to", "Tensor.type")


def dtypes(record):
    """Return one type of each width that kernels tell apart."""
    if record.random:
        return record.dtypes[:1]
    return [name for name in ("float32", "bfloat16", "int64") if name in record.dtypes] or record.dtypes[:1]


def moved(record, sample):
    """Return a sample on the device; what requires grad does so there, as a leaf."""
    there = sample.map(lambda t: t.detach().to("cuda").requires_grad_(t.requires_grad))
    if record.name in ("linspace", "logspace") or (record.family in FACTORIES and not sample.tensors()):
        there.kwargs["device"] = "cuda"
    return there


def samples(record, dtype_name, requires_grad=False):
    return record.samples(getattr(mt, dtype_name), requires_grad=requires_grad)


def on_the_device(value):
    return [r for r in outputs(value) if isinstance(r, mt.Tensor)]


@pytest.fixture(autouse=True)
def fallbacks_are_the_known_ones(request):
    record = request.node.callspec.params["record"]
    fallback_report().clear()
    reason = ON_THE_CPU.get(record.name)
    fallback_policy("error" if reason is None else "allow")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy's, of values that the CPU's kernels warn of
        yield
    fallback_policy("error")
    assert all(reason in row.reason for row in fallback_report())


@over_records(dtypes=dtypes)
def test_values(record, dtype_name):
    for sample in samples(record, dtype_name):
        expected = call(record, sample)
        actual = call(record, moved(record, sample))
        for one, other in zip(on_the_device(actual), on_the_device(expected), strict=True):
            assert one.device.type == "cuda" or other.device.type != "cpu" or record.name in NOT_ON_THE_DEVICE
        home = [r.cpu() if isinstance(r, mt.Tensor) else r for r in outputs(actual)]
        shape = tuple if isinstance(expected, (tuple, list)) else (lambda items: items[0])
        assert_same(record, shape(home), expected if not isinstance(expected, list) else tuple(expected), "values")


def differentiable(record):
    return record.autograd and not record.random and "float32" in record.dtypes


def gradients(record, sample, weights):
    """Return the gradients of a weighted sum of the results."""
    inputs = [t for t in sample.tensors() if t.requires_grad]
    results = [
        r for r in outputs(projected(record, call(record, sample))) if isinstance(r, mt.Tensor) and r.requires_grad
    ]
    if not inputs or not results:
        return None
    total = sum(
        (r * Maker("cpu", r.dtype, False, i)(*r.shape, low=0.5, high=1.0).to(r.device)).sum()
        for i, r in enumerate(results)
    )
    if total.dtype.is_complex:
        total = total.real
    total.backward()
    return [t.grad for t in inputs]


@over_records(dtypes=lambda record: ["float32"], only=differentiable)
def test_gradients(record, dtype_name):
    for sample in samples(record, dtype_name, requires_grad=True):
        expected = gradients(record, sample.map(lambda t: t.detach().requires_grad_(t.requires_grad)), None)
        if expected is None:
            continue
        actual = gradients(record, moved(record, sample), None)
        assert actual is not None
        for one, other in zip(actual, expected, strict=True):
            assert (one is None) == (other is None)
            if one is not None:
                assert one.device.type == "cuda"
                size = max(1.0, float(other.abs().max()) if other.numel() else 1.0)
                np.testing.assert_allclose(
                    one.cpu().numpy(), other.numpy(), rtol=2e-4, atol=2e-5 * size, err_msg=f"{record.name}{sample!r}"
                )
