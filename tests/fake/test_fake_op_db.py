"""A fake run of every operator has the geometry and the aliasing of the real run: by its record in `testing.op_db`."""

from __future__ import annotations

import pytest
from op_db_helpers import call, over

import minitorch as mt
from minitorch._subclasses import FakeTensorMode
from minitorch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensor
from minitorch.core.pytree import tree_leaves
from minitorch.modes import TorchDispatchMode

# What an operator raises for want of elements: always, or for some samples.
ALWAYS = {
    "unique": DynamicOutputShapeException, "unique_consecutive": DynamicOutputShapeException,
    "nonzero": DynamicOutputShapeException, "argwhere": DynamicOutputShapeException,
    "masked_select": DynamicOutputShapeException, "bincount": DynamicOutputShapeException,
    "equal": DataDependentOutputException, "allclose": DataDependentOutputException,
    "is_nonzero": DataDependentOutputException, "Tensor.item": DataDependentOutputException,
}  # fmt: skip
SOMETIMES = {
    "ops.aten.index": DynamicOutputShapeException, "Tensor.__getitem__": DynamicOutputShapeException,  # masks
    "repeat_interleave": DynamicOutputShapeException, "tensor_split": DataDependentOutputException,  # tensors of counts
    "nn.functional.ctc_loss": DataDependentOutputException,
    "nn.functional.one_hot": DataDependentOutputException,  # without a number of classes
}  # fmt: skip


def dtypes(record):
    """Return the first dtype, and another kind of dtype if the operator takes more than one kind."""
    first = record.dtypes[0]
    others = [n for n in ("int64", "complex64", "bfloat16", "bool") if n in record.dtypes and n != first]
    return [first, *others[:1]]


def significant(shape, strides):
    """Return the strides that say where elements are: those of dimensions of several, in tensors that have elements.

    Note [Strides that mean nothing]
        The others are what is cheapest to find: NumPy gives a new dimension of 1 the stride 0, the shape function that of
        PyTorch.
    """
    if 0 in shape:
        return None
    return tuple(step if n > 1 else None for n, step in zip(shape, strides, strict=True))


class Passing(TorchDispatchMode):
    """Does nothing: with it a real run takes the same operators apart as a fake one."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class Picture:
    """What can be seen of tensors without reading them: geometry, and who is who and shares memory with whom."""

    def __init__(self):
        self.tensors = []
        self.storages = []
        self.versions = []  # before the call

    def of(self, value, is_result=False):
        if not isinstance(value, mt.Tensor):
            return value if isinstance(value, (int, str, type(None))) else type(value).__name__
        one = next((i for i, t in enumerate(self.tensors) if t is value), None)
        if one is None:
            one = len(self.tensors)
            self.tensors.append(value)
            self.versions.append(None if value.is_inference() else value._version)
        if value._is_zerotensor():
            memory = None
        else:
            storage = value.untyped_storage()
            if storage not in self.storages:
                self.storages.append(storage)
            memory = self.storages.index(storage), storage.nbytes()
        return {
            "number": one, "shape": tuple(value.shape), "dtype": value.dtype, "stride": significant(value.shape, value.stride()),
            "offset": value.storage_offset(), "device": value.device, "memory": memory, "bits": (value.is_conj(), value.is_neg()),
            "requires_grad": value.requires_grad, "leaf": value.is_leaf,
            "changes": value._version - self.versions[one], "view": value._is_view() if is_result else None,
            "node": value.grad_fn.name() if is_result and value.grad_fn is not None else None,
        }  # fmt: skip


def run(record, sample, backward):
    """Return the pictures of arguments, results and gradients."""
    picture = Picture()
    seen = [picture.of(t) for t in sample.tensors()]
    result = call(record, sample)
    leaves = tree_leaves(result)
    inputs = [t for t in sample.tensors() if t.requires_grad and t.is_leaf]
    seen += [picture.of(v, all(v is not t for t in sample.tensors())) for v in leaves]
    seen += [picture.of(t) for t in sample.tensors()]  # changed, it may be
    outputs = [t for t in leaves if isinstance(t, mt.Tensor) and t.requires_grad]
    if backward and outputs and inputs:
        try:
            grads = mt.autograd.grad(outputs, inputs, [mt.ones_like(t) for t in outputs], allow_unused=True)
        except RuntimeError as error:
            if "is not implemented" not in str(error):
                raise
            seen.append(str(error))
        else:
            seen += [
                (tuple(g.shape), g.dtype, significant(g.shape, g.stride()), g.device) if g is not None else None
                for g in grads
            ]
    return seen, leaves


def compare(record, sample, copied, wants):
    """Run a sample and its copy, real and fake; return what became of it."""
    what = f"{record.name}{sample!r}"
    mode = FakeTensorMode()
    fake_sample = copied.map(mode.from_tensor)
    try:
        with Passing():
            expected, _ = run(record, sample, wants)
    except NotImplementedError as error:  # of this dtype
        with mode, pytest.raises(type(error)):
            run(record, fake_sample, wants)
        return "not implemented"
    wanted = ALWAYS.get(record.name, SOMETIMES.get(record.name))
    try:
        with mode:
            found, leaves = run(record, fake_sample, wants)
    except Exception as error:
        error.add_note(f"in a fake run of {what}")
        if wanted is None or type(error) is not wanted:
            raise
        return "needs elements"
    assert all(type(t) is FakeTensor for t in leaves if isinstance(t, mt.Tensor)), what
    assert len(found) == len(expected), what
    for i, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one == other, f"{what}: tensor {i} of arguments, results, arguments, gradients"
    return "same"


@over(dtypes=dtypes)
def test_fake_run_looks_like_the_real_run(record, dtype_name):
    dtype = getattr(mt, dtype_name)
    wants = dtype.is_floating_point or dtype.is_complex
    outcomes = []
    fakes = list(record.samples(dtype, requires_grad=wants))
    for number, sample in enumerate(record.samples(dtype, requires_grad=wants)):
        outcomes.append(compare(record, sample, fakes[number], wants))
    if record.name in ALWAYS:
        assert set(outcomes) == {"needs elements"}
    if not outcomes:
        pytest.skip("no samples")
