"""Records of views as copies, of scatters into views, and of what splits without being a view."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db import views
from minitorch.testing.op_db.record import ANY, COMPLEX, FLOATS, NUMBERS, OpRecord
from minitorch.testing.op_db.samples import record, unary

EVERYTHING: dict = dict(dtypes=ANY)
_VIEWS = {r.name.removeprefix("Tensor."): r for r in views.RECORDS}


def _copy_of(name: str, copy: str = "") -> OpRecord:
    """Return the record of the operator that gives a view's elements in memory of its own."""
    view = _VIEWS[name]
    return OpRecord(
        copy or f"{name}_copy",
        view.make_samples,
        reference=view.reference,
        dtypes=view.dtypes,
        autograd=view.autograd,
        no_layouts=view.no_layouts,
        no_out="the view's samples fit only some of its out= forms",
    )


RECORDS = [
    *(
        _copy_of(name)
        for name in (
            "as_strided",
            "detach",
            "diagonal",
            "expand",
            "narrow",
            "permute",
            "select",
            "squeeze",
            "t",
            "transpose",
            "unfold",
            "unsqueeze",
            "view",
            "view_as_real",
            "view_as_complex",
            "split_with_sizes",
            "unbind",
        )
    ),
    _copy_of("chunk", "unsafe_chunk"),
    _copy_of("split_with_sizes", "unsafe_split_with_sizes"),
    record(
        "alias_copy",
        lambda make: [(make(2, 3),), (make(3, 2, layout="columns"),)],
        lambda x: x,
        no_out="see `clone`",
        **EVERYTHING,
    ),
    unary("_conj_copy", np.conj, dtypes=COMPLEX, no_out="see `clone`"),
    unary("_neg_view_copy", np.negative, dtypes=NUMBERS, no_out="see `clone`"),
    record(
        "slice_copy",
        lambda make: [(make(4, 3), 0, 1, 3), (make(3, 4, layout="columns"), 1, 0, 4, 2)],
        lambda x, dim, start, end, step=1: np.take(x, range(start, end, step), dim),
        no_out="tested with the other copies",
        **EVERYTHING,
    ),
    *(
        record(
            name,
            lambda make: [(make(5), 2), (make(2, 4), 3, 1), (make(4, 2, layout="columns"), 3)],
            lambda x, size, dim=0: np.split(x, range(size, x.shape[dim], size), dim),
            no_out="writes into a list",
            **EVERYTHING,
        )
        for name in ("split_copy", "unsafe_split")
    ),
    record(
        "as_strided_scatter",
        lambda make: [(make(2, 3), make(2, 2), [2, 2], [3, 1]), (make(6), make(3), [3], [2], 0)],
        lambda x, source, size, stride, offset=0: _strided_scatter(x, source, size, stride, offset),
        no_layouts="speaks of memory, not of elements",
        no_out="computed for the layout of its input",
        **EVERYTHING,
    ),
    record(
        "_chunk_cat",
        lambda make: [([make(4, 2), make(2, 3)], 0, 2), ([make(4), make(2)], 0, 2)],
        no_out="its out= form is not public",
        dtypes=FLOATS,
    ),
    record(
        "resize_as_",
        lambda make: [(make(6, grad=False), make(2, 3, grad=False))],
        lambda x, y: x.reshape(y.shape),
        autograd=False,
        no_layouts="speaks of memory, not of elements",
        no_inplace="it is one",
        **EVERYTHING,
    ),
    record(
        "Tensor.fill_diagonal_",
        lambda make: [(make(3, 3, grad=False), 1), (make(3, 2, grad=False, layout="columns"), 0)],
        lambda x, value: np.where(np.eye(*x.shape, dtype=bool), np.asarray(value, x.dtype), x),
        autograd=False,
        **EVERYTHING,
    ),
]


def _strided_scatter(x, source, size, stride, offset):
    flat = x.ravel().copy()
    np.lib.stride_tricks.as_strided(flat[offset:], size, [s * flat.itemsize for s in stride])[...] = source
    return flat.reshape(x.shape)
