"""Every operator of `op_db` does under functionalization what it does without, and nothing below writes."""

from __future__ import annotations

import pytest
from functional_helpers import functionalized
from op_db_copies import assert_same, copied, flat

import minitorch as mt
from minitorch.functionalize import unwrap
from minitorch.ops.assemble import is_view
from minitorch.ops.registry import DECLARATIONS
from minitorch.testing.op_db import op_db

VIEWS = {name.partition(".")[0] for name, d in DECLARATIONS.items() if is_view(d)}


def steps(tensor):
    return [s for n, s in zip(tensor.shape, tensor.stride(), strict=True) if n > 1] if tensor.numel() else []


def check(record, function, sample, reapply_views):
    """Compare one call with and without; return whether it is a call that works."""

    def call(inputs):
        remaining = iter(inputs)
        given = sample.map(lambda _: next(remaining))
        if record.random:
            mt.manual_seed(0)
        return function(*given.args, **given.kwargs)

    with mt.random.fork_rng():
        eager = [copied(t) for t in sample.tensors()]
        try:
            expected = call(eager)
        except (RuntimeError, TypeError, ValueError, IndexError) as error:
            # What is refused without functionalization is refused with it.
            with pytest.raises(type(error)):
                functionalized(lambda *inputs: call(inputs), *[copied(t) for t in sample.tensors()])
            return False
        inputs = [copied(t) for t in sample.tensors()]
        before = [copied(t) for t in inputs]
        below, result, wrappers = functionalized(
            lambda *inputs: call(inputs), *inputs, reapply_views=reapply_views
        )
    what = f"{record.name}{sample!r}"
    assert not below.mutating, f"{what}: {below.mutating}"
    if record.project is not None:
        result, expected = record.project(result), record.project(expected)
    result, expected = flat(result), flat(expected)
    assert len(result) == len(expected), what
    for i, (one, other) in enumerate(zip(result, expected, strict=True)):
        assert_same(one, other, f"{what}, result {i}", "empty" not in record.name)
    for wrapper, changed, plain, old in zip(wrappers, eager, inputs, before, strict=True):
        assert_same(unwrap(wrapper), changed, f"{what}: an input afterwards")
        assert steps(wrapper) == steps(changed), f"{what}: strides of an input afterwards"
        assert_same(plain, old, f"{what} changed what was wrapped")
    return True


@pytest.mark.parametrize("record", op_db, ids=lambda record: record.name)
def test_functions(record):
    dtype = getattr(mt, record.dtypes[0])
    modes = (True, False) if set(record.operators) & VIEWS else (True,)
    for reapply_views in modes:
        assert any([check(record, record.function, sample, reapply_views) for sample in record.samples(dtype)])


@pytest.mark.parametrize("record", [r for r in op_db if r.inplace is not None], ids=lambda record: record.name)
def test_inplace_methods(record):
    dtype = getattr(mt, record.dtypes[0])
    for sample in record.samples(dtype):
        if sample.args and isinstance(sample.args[0], mt.Tensor):
            check(record, record.inplace, sample, True)


@pytest.mark.parametrize("record", [r for r in op_db if r.out_names()], ids=lambda record: record.name)
def test_out_arguments(record):
    """The ``out`` of a functional call is written: resized if it is empty."""
    dtype = getattr(mt, record.dtypes[0])
    tried = 0
    for sample in record.samples(dtype):
        results = flat(record.function(*sample.args, **sample.kwargs))
        names = [names for names in record.out_names() if len(names) == len(results)]
        if not names or not all(isinstance(r, mt.Tensor) for r in results):
            continue

        def into(*args, resized, results=results, **kwargs):
            made = [mt.empty(0 if resized else r.shape, dtype=r.dtype) for r in results]
            record.function(*args, **kwargs, out=made[0] if len(made) == 1 else tuple(made))
            return made

        for resized in (False, True):
            try:
                into(*sample.args, **sample.kwargs, resized=resized)
            except TypeError:
                break  # another overload, which has no out= form
            tried += check(record, into, type(sample)(*sample.args, **sample.kwargs, resized=resized), True)
    assert tried
