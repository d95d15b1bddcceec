"""Each operator of a real run looks as on fake tensors, or the mode that compares them says which does not."""

from __future__ import annotations

import pytest
from op_db_helpers import call, over

import minitorch as mt
from minitorch import nn
from minitorch._subclasses import CrossRefFakeMode
from minitorch._subclasses.fake_utils import MetadataMismatchError
from minitorch.dispatch.library import Library
from minitorch.library import register_fake


def test_a_training_step():
    with CrossRefFakeMode():
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3))
        optimizer = mt.optim.Adam(model.parameters())
        nn.functional.cross_entropy(model(mt.randn(4, 1, 8, 8)), mt.zeros(4, dtype=mt.int64)).backward()
        optimizer.step()
    assert type(model[0].weight.grad) is mt.Tensor


@pytest.mark.parametrize(
    ("fake", "what"),
    [
        (lambda x: x.new_empty(x.shape[0]), "shape"),
        (lambda x: mt.empty_like(x, dtype=mt.float64), "dtype"),
        (lambda x: mt.empty_like(x).t(), "strides"),
        (lambda x: x.new_empty(9)[3:].view(2, 3), "offset"),
        (lambda x: x.detach(), "same storage"),
        (lambda x: None, "is a NoneType"),
    ],
)
def test_a_fake_impl_that_is_wrong(fake, what):
    library = Library("cross_reference", "DEF")
    try:
        library.define("double(Tensor x) -> Tensor")
        library.impl("double", lambda x: x * 2, "CPU")
        register_fake("cross_reference::double", fake, lib=library)
        x = mt.ones(3, 3) if what == "strides" else mt.ones(2, 3)
        with pytest.raises(MetadataMismatchError, match=what), CrossRefFakeMode():
            mt.ops.cross_reference.double(x)
        with CrossRefFakeMode(lambda func: func.namespace == "cross_reference"):
            assert mt.ops.cross_reference.double(x).shape == x.shape
    finally:
        library._destroy()


@over()
def test_operators(record):
    """Each operator of an op_db sample, and those of its backward pass."""
    dtype = getattr(mt, record.dtypes[0])
    wants = dtype.is_floating_point or dtype.is_complex
    for sample in record.samples(dtype, requires_grad=wants):
        with CrossRefFakeMode():
            result = call(record, sample)
            outputs = [t for t in (result if isinstance(result, (list, tuple)) else (result,)) if isinstance(t, mt.Tensor)]
            outputs = [t for t in outputs if t.requires_grad]
            inputs = [t for t in sample.tensors() if t.requires_grad and t.is_leaf]
            if outputs and inputs and record.autograd and not record.no_gradcheck:
                mt.autograd.grad(outputs, inputs, [mt.ones_like(t) for t in outputs], allow_unused=True)
