"""Every operator of `op_db`, compiled by `aot_function`: results, changed inputs, gradients are those of eager mode."""

from __future__ import annotations

import op_db_copies
import pytest
from op_db_copies import copied, flat

import minitorch as mt
from minitorch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from minitorch.compiler import aot_function, default_partition, interpret, min_cut_rematerialization_partition
from minitorch.testing.op_db import op_db

NOT_TRACEABLE = (DataDependentOutputException, DynamicOutputShapeException)
OTHER_SIZE = "another size or storage"
# In all of their samples they read elements in Python, or have sizes that depend on elements.
NO_GRAPH = {
    "Tensor.item", "allclose", "argwhere", "bincount", "equal", "is_nonzero", "masked_select", "nonzero", "unique",
    "unique_consecutive",
}  # fmt: skip
# In some of their samples elements decide what is computed.
DECIDED_BY_DATA = {
    "Tensor.item",
    "allclose",
    "is_nonzero",
    "masked_select",
    "nn.functional.ctc_loss",
    "nn.functional.one_hot",
    "repeat_interleave",
}


def assert_same(actual, expected, what, initialized=True):
    if isinstance(expected, mt.Tensor):
        assert actual.requires_grad == expected.requires_grad, what
    op_db_copies.assert_same(actual, expected, what, initialized, atol=1e-5)


def run(function, record, tensors, gradients):
    """Call a function on tensors; return its results, and the gradients by those that get one."""
    inputs = [copied(t) for t in tensors]
    for tensor in inputs if gradients else ():
        if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
            tensor.requires_grad_()
    mt.manual_seed(0)
    results = flat(function(inputs))
    roots = [r for r in results if isinstance(r, mt.Tensor) and r.requires_grad]
    found = []
    if roots:
        wanted = [t for t in inputs if t.requires_grad]
        cotangents = [mt.full_like(r.detach(), 0.5 + i) for i, r in enumerate(roots)]
        found = list(mt.autograd.grad(roots, wanted, cotangents, allow_unused=True))
    return results, inputs, found


def check(record, function, sample, gradients, partition, **options):
    """Compare one call with the compiled one; return whether it was compiled."""

    def call(inputs):
        remaining = iter(inputs)
        given = sample.map(lambda _: next(remaining))
        return function(*given.args, **given.kwargs)

    what = f"{record.name}{sample!r}"
    tensors = sample.tensors()
    with mt.random.fork_rng():
        try:
            expected, changed, slopes = run(call, record, tensors, gradients)
        except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
            return False
        try:
            results, inputs, found = run(
                aot_function(call, interpret, partition_fn=partition, **options), record, tensors, gradients
            )
        except NOT_TRACEABLE:
            return False
        except RuntimeError as error:
            if OTHER_SIZE not in str(error):
                raise
            return False
    if record.project is not None:
        expected, results = flat(record.project(expected)), flat(record.project(results))
    assert len(results) == len(expected), what
    for i, (one, other) in enumerate(zip(results, expected, strict=True)):
        assert_same(one, other, f"{what}, result {i}", "empty" not in record.name)
    for one, other in zip(inputs, changed, strict=True):
        assert_same(one, other, f"{what}: an input afterwards")
    for i, (one, other) in enumerate(zip(found, slopes, strict=True)):
        assert (one is None) == (other is None) or not mt.count_nonzero(one if other is None else other), what
        if one is not None and other is not None:
            assert_same(one, other, f"{what}: gradient {i}")
    return True


@pytest.mark.op_db
@pytest.mark.parametrize("record", op_db, ids=lambda record: record.name)
def test_functions_and_gradients(record):
    dtype = getattr(mt, record.dtypes[0])
    samples = list(record.samples(dtype))
    partitions = (default_partition, min_cut_rematerialization_partition)
    compiled = [check(record, record.function, sample, True, partitions[i % 2]) for i, sample in enumerate(samples)]
    if not any(compiled):
        compiled = [check(record, record.function, sample, False, default_partition) for sample in samples]
    assert any(compiled) != (record.name in NO_GRAPH)


@pytest.mark.op_db
@pytest.mark.parametrize("record", op_db, ids=lambda record: record.name)
def test_symbolic_sizes(record):
    pytest.importorskip("sympy")
    partitions = (default_partition, min_cut_rematerialization_partition)
    for i, sample in enumerate(list(record.samples(getattr(mt, record.dtypes[0])))[:3]):
        try:
            check(record, record.function, sample, True, partitions[i % 2], dynamic=True)
        except RuntimeError as error:
            if type(error).__name__ != "GuardOnDataDependentSymNode":
                raise
            assert record.name in DECIDED_BY_DATA


@pytest.mark.op_db
@pytest.mark.parametrize("record", [r for r in op_db if r.inplace is not None], ids=lambda record: record.name)
def test_inplace_methods(record):
    dtype = getattr(mt, record.dtypes[0])
    for sample in list(record.samples(dtype))[:4]:
        if sample.args and isinstance(sample.args[0], mt.Tensor):
            check(record, record.inplace, sample, False, default_partition)
