"""Every operator of `op_db`, traced by make_fx: the graph does on other values what the operator does."""

from __future__ import annotations

import op_db_copies
import pytest
from op_db_copies import copied, flat

import minitorch as mt
from minitorch.fx.experimental.proxy_tensor import make_fx
from minitorch.testing.op_db import op_db

NEEDS_ELEMENTS = "value out of a tracing tensor"
# They read elements in Python for each of their samples, which no graph can follow (in PyTorch too, but for the last).
READ_ELEMENTS = {
    "Tensor.item", "allclose", "equal", "is_nonzero", "nn.functional.gaussian_nll_loss", "nn.functional.one_hot",
    "segment_reduce",
}  # fmt: skip
# In some of their samples they decide by elements.
DECIDED_BY_DATA = {"allclose", "equal", "is_nonzero", "nn.functional.ctc_loss", "nn.functional.one_hot", "tensor_split"}


def assert_same(actual, expected, what, initialized=True):
    if isinstance(expected, mt.Tensor):
        assert actual.stride() == expected.stride() or not expected.numel(), what
    op_db_copies.assert_same(actual, expected, what, initialized)


def check(record, function, sample):
    """Trace one call, run the graph on other values, and compare with the call; return whether it was traced."""

    def call(inputs):
        remaining = iter(inputs)
        given = sample.map(lambda _: next(remaining))
        result = function(*given.args, **given.kwargs)
        return tuple(result) if isinstance(result, (list, tuple)) else result

    what = f"{record.name}{sample!r}"
    with mt.random.fork_rng():
        try:
            mt.manual_seed(0)
            call([copied(t) for t in sample.tensors()])
        except (RuntimeError, TypeError, ValueError, IndexError):
            return False
        try:
            graph = make_fx(call)([copied(t) for t in sample.tensors()])
        except RuntimeError as error:
            if NEEDS_ELEMENTS not in str(error):
                raise
            return False
        graph.graph.lint()
        eager = [copied(t, 0.9375) for t in sample.tensors()]
        inputs = [copied(t, 0.9375) for t in sample.tensors()]
        mt.manual_seed(0)
        try:
            expected = flat(call(eager))
        except (RuntimeError, ValueError):
            return True  # not with these values
        mt.manual_seed(0)
        result = flat(graph(inputs))
    if record.project is not None:
        result, expected = flat(record.project(result)), flat(record.project(expected))
    assert len(result) == len(expected), what
    for i, (one, other) in enumerate(zip(result, expected, strict=True)):
        assert_same(one, other, f"{what}, result {i}\n{graph.code}", "empty" not in record.name)
    for one, other in zip(inputs, eager, strict=True):
        assert_same(one, other, f"{what}: an input afterwards")
    return True


@pytest.mark.op_db
@pytest.mark.parametrize("record", op_db, ids=lambda record: record.name)
def test_functions(record):
    dtype = getattr(mt, record.dtypes[0])
    traced = [check(record, record.function, sample) for sample in record.samples(dtype)]
    assert any(traced) != (record.name in READ_ELEMENTS)


@pytest.mark.op_db
@pytest.mark.parametrize("record", [r for r in op_db if r.inplace is not None], ids=lambda record: record.name)
def test_inplace_methods(record):
    dtype = getattr(mt, record.dtypes[0])
    for sample in list(record.samples(dtype))[:4]:
        if sample.args and isinstance(sample.args[0], mt.Tensor):
            check(record, record.inplace, sample)


@pytest.mark.op_db
@pytest.mark.parametrize("tracing_mode", ["fake", "symbolic"])
@pytest.mark.parametrize("record", op_db, ids=lambda record: record.name)
def test_traces_without_elements(record, tracing_mode):
    """Traced on fake tensors, and with symbolic sizes, a function gives a graph that does the same."""
    pytest.importorskip("sympy")
    for sample in list(record.samples(getattr(mt, record.dtypes[0])))[:3]:

        def call(inputs, sample=sample):
            remaining = iter(inputs)
            given = sample.map(lambda _: next(remaining))
            result = record.function(*given.args, **given.kwargs)
            return tuple(result) if isinstance(result, (list, tuple)) else result

        with mt.random.fork_rng():
            mt.manual_seed(0)
            try:
                expected = flat(call([copied(t) for t in sample.tensors()]))
            except (RuntimeError, TypeError, ValueError, IndexError):
                continue
            try:
                graph = make_fx(call, tracing_mode=tracing_mode)([copied(t) for t in sample.tensors()])
            except RuntimeError as error:
                if type(error).__name__ not in ("GuardOnDataDependentSymNode", "DataDependentOutputException"):
                    raise
                assert record.name in DECIDED_BY_DATA
                continue
            mt.manual_seed(0)
            result = flat(graph([copied(t) for t in sample.tensors()]))
        if record.project is not None:
            result, expected = flat(record.project(result)), flat(record.project(expected))
        for i, (one, other) in enumerate(zip(result, expected, strict=True)):
            assert_same(one, other, f"{record.name}{sample!r}, result {i}", "empty" not in record.name)
