"""Functions and inputs for checks of derivatives, from the records of `op_db`."""

from __future__ import annotations

from op_db_helpers import call, outputs, projected

import minitorch as mt
from minitorch.testing.op_db import Maker


def double_dtypes(record):
    names = [name for name in ("float64", "complex128") if name in record.dtypes]
    return [name for name in names if name != "complex128" or not record.no_complex_grad]


def cases(record, dtype_name, limit=None):
    """Yield a function of the tensors that require grad, and these tensors, for each sample."""
    for number, sample in enumerate(record.samples(getattr(mt, dtype_name), requires_grad=True)):
        # gradcheck changes its inputs in place: no two elements may be one.  What is expanded is so inside.
        wanted = [t.requires_grad for t in sample.tensors()]
        inputs = [unexpanded(t) for t in sample.tensors() if t.requires_grad]
        if not inputs or (limit is not None and number >= limit):
            continue

        def function(*tensors, sample=sample, wanted=wanted):
            flags, rest = iter(wanted), iter(tensors)
            # Others are copied: what works in place gives them a history.
            given = sample.map(lambda t: next(rest).expand(t.shape) if next(flags) else t.detach().clone())
            if record.prepare is not None:
                given.args = record.prepare(*given.args, **given.kwargs)
            results = outputs(projected(record, call(record, given)))
            return tuple([r for r in results if isinstance(r, mt.Tensor) and is_float(r)])

        yield sample, function, tuple(inputs)


def unexpanded(tensor):
    """Return a leaf that holds each element of a tensor once."""
    leaf = tensor.detach()
    if tensor.numel():
        leaf = leaf[tuple([slice(1) if step == 0 else slice(None) for step in tensor.stride()])]
    return leaf.requires_grad_()


def is_float(tensor):
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def explained(record, sample, check):
    """Run a check; a failure also names the operator and the sample."""
    __tracebackhide__ = True
    try:
        assert check()
    except Exception as error:
        error.add_note(f"in {record.name}{sample!r}")
        raise


def weights(function, inputs):
    """Return gradients of the outputs, the same ones each time."""
    made = []
    for number, output in enumerate(o for o in function(*inputs) if o.requires_grad):
        made.append(Maker("cpu", output.dtype, True, number)(*output.shape, low=-1, high=1))
    return made
