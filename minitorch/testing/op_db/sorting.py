"""Records of sorting, searching and counting."""

from __future__ import annotations

import numpy as np

import minitorch
from minitorch.testing.op_db.record import ANY_REAL, FLOATS, REAL_FLOATS, REAL_NUMBERS
from minitorch.testing.op_db.samples import record

NON_DIFFERENTIABLE: dict = dict(autograd=False)


def _samples(make):
    return [
        (make(5),),
        (make(2, 4),),
        (make(4, 2, layout="columns"), 0),
        (make(2, 3, layout="gaps"), -1, True),
        (make(),),
        (make(0, 2),),
        (make(3), {"descending": True}),
        (make(2, 3), {"stable": True, "dim": 1}),
    ]


def _argsort(x, dim=-1, descending=False, stable=False):
    if x.ndim == 0:
        return np.zeros((), np.int64)
    return np.argsort(-x if descending else x, dim, kind="stable")


def _sort(x, *args, **kwargs):
    where = _argsort(x, *args, **kwargs)
    dim = args[0] if args else kwargs.get("dim", -1)
    return (np.take_along_axis(x, where, dim) if x.ndim else x), where


def _topk(x, k, dim=-1, largest=True, sorted=True):
    values, where = _sort(x, dim, largest)
    return np.take(values, range(k), dim), np.take(where, range(k), dim)


def _boundaries(make):
    return minitorch.from_numpy(np.array([-1.0, -0.25, 0.5, 1.5]).astype(make.dtype.np))


def _bucketize(x, boundaries, out_int32=False, right=False):
    return np.searchsorted(boundaries, x, "right" if right else "left").astype(np.int32 if out_int32 else np.int64)


def _searchsorted(sequence, values, out_int32=False, right=False, side=None, sorter=None):
    side = "right" if right or side == "right" else "left"
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side, sorter)
    return np.stack([np.searchsorted(s, v, side) for s, v in zip(sequence, values, strict=True)])


def _histc(x, bins=100, min=0, max=0):
    return np.histogram(x, bins, (min, max) if min != max else None)[0].astype(x.dtype)


def _histogram(x, bins, range=None, weight=None, density=False):
    counts, edges = np.histogram(x, bins, range, density, weight)
    return counts.astype(float), edges


def _edges(make):
    return minitorch.from_numpy(np.linspace(-2, 2, 5).astype(make.dtype.np))


def _unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    return np.unique(x, return_inverse=return_inverse, return_counts=return_counts, axis=dim)


def _repeated(make, *shape):
    """Return a tensor with several equal elements."""
    return make.indices(*shape, high=3).to(make.dtype)


def _unique_consecutive(x):
    flat = x.ravel()
    return flat[np.concatenate([[True], flat[1:] != flat[:-1]])]


RECORDS = [
    record(
        "sort", _samples, _sort, dtypes=REAL_FLOATS, errors=lambda make: [(IndexError, "out of range", make(2, 3), 2)]
    ),
    record(
        "argsort",
        _samples,
        _argsort,
        dtypes=FLOATS,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 2)],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "msort",
        lambda make: [(make(4),), (make(4, 2, layout="columns"),), (make(0, 2),)],
        lambda x: np.sort(x, 0),
        dtypes=REAL_FLOATS,
    ),
    record(
        "topk",
        lambda make: [(make(5), 2), (make(2, 4), 3, 1), (make(4, 2, layout="columns"), 1, 0, False), (make(), 1, 0)],
        lambda x, k, dim=-1, largest=True, sorted=True: (
            _topk(x, k, dim, largest) if x.ndim else (x, np.zeros((), np.int64))
        ),
        dtypes=REAL_FLOATS,
        errors=lambda make: [(RuntimeError, "k", make(3), 4), (IndexError, "out of range", make(2), 1, 1)],
    ),
    record(
        "bucketize",
        lambda make: [
            (make(2, 3), _boundaries(make)),
            (make(4, layout="gaps"), _boundaries(make), {"right": True}),
            (make(), _boundaries(make), {"out_int32": True}),
        ],
        _bucketize,
        dtypes=REAL_FLOATS,
        errors=lambda make: [(RuntimeError, "", make(2), make(2, 2))],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "searchsorted",
        lambda make: [
            (_boundaries(make), make(2, 3)),
            (_boundaries(make), make(3), {"right": True}),
            (minitorch.stack([_boundaries(make), _boundaries(make)]), make(2, 3), {"side": "right"}),
        ],
        _searchsorted,
        dtypes=REAL_FLOATS,
        errors=lambda make: [(RuntimeError, "", make(2, 3).sort()[0], make(3, 3))],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "isin",
        lambda make: [
            (_repeated(make, 2, 3), _repeated(make, 2)),
            (_repeated(make, 4), 1),
            (_repeated(make, 3), _repeated(make, 2), {"invert": True}),
        ],
        lambda x, y, invert=False: np.isin(x, y, invert=invert),
        dtypes=REAL_NUMBERS,
        errors=lambda make: [(TypeError, "", make(2))],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "histc",
        lambda make: [(make(8), 4), (make(2, 5), 3, -1.0, 1.0), (make(5), {"bins": 5, "min": -2, "max": 2})],
        _histc,
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "bins", make(3), 0), (RuntimeError, "", make(3), 3, 2, 1)],
        no_meta="its range may come from the values",
        **NON_DIFFERENTIABLE,
    ),
    record(
        "bincount",
        lambda make: [
            (make.indices(6, high=4),),
            (make.indices(6, high=4), {"minlength": 6}),
            (make.indices(5, high=3), make(5)),
        ],
        lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength),
        dtypes=FLOATS,
        no_meta="the length depends on the values",
        errors=lambda make: [
            (RuntimeError, "", make.indices(2, 2, high=3)),
            (RuntimeError, "", -make.indices(3, low=1, high=3)),
        ],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "histogram",
        lambda make: [
            (make(8), 4),
            (make(2, 5), _edges(make)),
            (make(5), 3, {"range": (-1.0, 1.0), "weight": make(5)}),
            (make(6), 3, {"density": True}),
        ],
        _histogram,
        dtypes=FLOATS,
        no_meta="its range may come from the values",
        errors=lambda make: [(RuntimeError, "bins", make(3), 0)],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "histogramdd",
        lambda make: [(make(6, 2), [2, 3]), (make(6, 2), [2, 3], {"range": [-2.0, 2.0, -2.0, 2.0]})],
        dtypes=FLOATS,
        operators=(),
        no_meta="its range may come from the values",
        errors=lambda make: [(RuntimeError, "", make(3), [2])],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "unique",
        lambda make: [
            (_repeated(make, 2, 3),),
            (_repeated(make, 5), {"return_counts": True}),
            (_repeated(make, 2, 3), {"dim": 1}),
        ],
        _unique,
        dtypes=ANY_REAL,
        operators=(),
        no_meta="the length depends on the values",
        errors=lambda make: [(IndexError, "out of range", make(2, 3), {"dim": 2})],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "unique_consecutive",
        lambda make: [(_repeated(make, 6),), (_repeated(make, 2, 3),)],
        _unique_consecutive,
        dtypes=ANY_REAL,
        no_meta="the length depends on the values",
        errors=lambda make: [(IndexError, "out of range", make(2, 3), {"dim": 2})],
        **NON_DIFFERENTIABLE,
    ),
    record(
        "unravel_index",
        lambda make: [(make.indices(4, high=6), (2, 3)), (minitorch.tensor(5), (6,))],
        np.unravel_index,
        operators=(),
        errors=lambda make: [(ValueError, "negative", make.indices(2, high=3), (2, -3))],
        **NON_DIFFERENTIABLE,
    ),
]
