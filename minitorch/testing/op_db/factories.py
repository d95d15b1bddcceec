"""Records of the factories."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import ANY, FLOATS, FLOATS_AND_COMPLEX
from minitorch.testing.op_db.samples import binary, record

NO_INPUT: dict = dict(autograd=False)
UNINITIALIZED: dict = dict(autograd=False, random=True)  # only shapes and dtypes can be compared


def _kind(make):
    return {"dtype": make.dtype, "device": make.device}


def _sizes(make):
    return [([2, 3], _kind(make)), ([], _kind(make)), ([0, 2], _kind(make)), ((4,), _kind(make))]


def _like(make):
    return [
        (make(2, 3),),
        (make(3, 2, layout="columns"),),
        (make(),),
        (make(0, 2),),
        (make(2, 3), {"dtype": make.dtype}),
    ]


def _negative_size(make):
    return [(RuntimeError, "negative", [-1, 2])]


def _np(dtype):
    return dtype.np


def _filled(value):
    return lambda size, dtype, device: np.full(size, value, _np(dtype))


def _filled_like(value):
    return lambda x, dtype=None: np.full(x.shape, value, x.dtype)


def _spaced(function):
    def reference(start, end, steps, *rest, dtype=None, device=None):
        return function(float(start), float(end), steps, *rest)

    return reference


def _ends(make):
    return [
        (0, 4, 5, _kind(make)),
        (1.5, -2.0, 4, _kind(make)),
        (2, 3, 1, _kind(make)),
        (0, 1, 0, _kind(make)),
        (make(grad=False), 3, 4, _kind(make)),
        (1, make(grad=False), 4, _kind(make)),
        (make(grad=False), make(grad=False), 3, _kind(make)),
    ]


def _range_reference(function):
    def reference(*numbers, dtype=None, device=None):
        return function(*numbers)

    return reference


def _triangle(function):
    def reference(row, col, offset=0, dtype=None):
        # m lets NumPy's function find all places of a matrix that is not square.
        return np.stack(function(row, offset, col))

    return reference


RECORDS = [
    record("empty", _sizes, errors=_negative_size, dtypes=ANY, **UNINITIALIZED),
    record(
        "empty_strided",
        lambda make: [([2, 3], [1, 2], _kind(make)), ([2, 2], [4, 1], _kind(make)), ([0], [1], _kind(make))],
        errors=lambda make: [(RuntimeError, "stride", [2, 3], [1])],
        dtypes=ANY,
        **UNINITIALIZED,
    ),
    record(
        "empty_permuted",
        lambda make: [([2, 3], [1, 0], _kind(make)), ([2, 3, 4], [0, 2, 1], _kind(make))],
        errors=lambda make: [(RuntimeError, "", [2, 3], [0, 0])],
        dtypes=ANY,
        **UNINITIALIZED,
    ),
    record("empty_like", _like, errors=lambda make: [(TypeError, "", 3)], dtypes=ANY, **UNINITIALIZED),
    record("zeros", _sizes, _filled(0), errors=_negative_size, dtypes=ANY, **NO_INPUT),
    record("_efficientzerotensor", _sizes, _filled(0), dtypes=ANY, **NO_INPUT),
    record("ones", _sizes, _filled(1), errors=_negative_size, dtypes=ANY, **NO_INPUT),
    record(
        "full",
        lambda make: [(*a[:-1], 1, a[-1]) for a in _sizes(make)],
        lambda size, value, dtype, device: np.full(size, value, _np(dtype)),
        errors=lambda make: [(TypeError, "", [2])],
        dtypes=ANY,
        **NO_INPUT,
    ),
    record("zeros_like", _like, _filled_like(0), errors=lambda make: [(TypeError, "", 3)], dtypes=ANY, **NO_INPUT),
    record("ones_like", _like, _filled_like(1), errors=lambda make: [(TypeError, "", 3)], dtypes=ANY, **NO_INPUT),
    record(
        "full_like",
        lambda make: [(a[0], 1, *a[1:]) for a in _like(make)],
        lambda x, value, dtype=None: np.full(x.shape, value, x.dtype),
        errors=lambda make: [(TypeError, "", make(2))],
        dtypes=ANY,
        **NO_INPUT,
    ),
    record(
        "scalar_tensor",
        lambda make: [(1, _kind(make)), (0, _kind(make))],
        lambda s, dtype, device: np.asarray(s, _np(dtype)),
        errors=lambda make: [(TypeError, "", "text")],
        dtypes=ANY,
        **NO_INPUT,
    ),
    record(
        "Tensor.new_empty",
        lambda make: [(make(2), [3, 2]), (make(), [])],
        dtypes=ANY,
        errors=lambda make: [(RuntimeError, "negative", make(2), [-1])],
        **UNINITIALIZED,
    ),
    record(
        "Tensor.new_empty_strided",
        lambda make: [(make(2), [3, 2], [1, 3])],
        dtypes=ANY,
        errors=lambda make: [(RuntimeError, "stride", make(2), [2, 3], [1])],
        **UNINITIALIZED,
    ),
    record(
        "Tensor.new_zeros",
        lambda make: [(make(2), [3, 2]), (make(), []), (make(2), (0, 2))],
        lambda x, size: np.zeros(size, x.dtype),
        dtypes=ANY,
        errors=lambda make: [(RuntimeError, "negative", make(2), [-1])],
        **NO_INPUT,
    ),
    record(
        "Tensor.new_ones",
        lambda make: [(make(2), [3, 2]), (make(), []), (make(2), (0, 2))],
        lambda x, size: np.ones(size, x.dtype),
        dtypes=ANY,
        errors=lambda make: [(RuntimeError, "negative", make(2), [-1])],
        **NO_INPUT,
    ),
    record(
        "Tensor.new_full",
        lambda make: [(make(2), [3, 2], 1), (make(), [], 0), (make(2), (0, 2), 1)],
        lambda x, size, value: np.full(size, value, x.dtype),
        dtypes=ANY,
        errors=lambda make: [(RuntimeError, "negative", make(2), [-1], 0)],
        **NO_INPUT,
    ),
    record(
        "arange",
        lambda make: [
            (5, _kind(make)),
            (1, 4, _kind(make)),
            (0.5, 3.0, 0.5, _kind(make)),
            (3, -3, -2, _kind(make)),
            (0, _kind(make)),
        ],
        _range_reference(np.arange),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "step|zero", 0, 3, 0), (RuntimeError, "step|bound|sign", 0, 3, -1)],
        **NO_INPUT,
    ),
    record(
        "range",
        lambda make: [(1, 4, _kind(make)), (0.5, 3.0, 0.5, _kind(make)), (3, -3, -2, _kind(make))],
        _range_reference(lambda a, b, step=1: np.arange(a, b + step / 2, step)),
        dtypes=FLOATS,
        no_out="deprecated, as `range` itself",
        errors=lambda make: [(RuntimeError, "step|zero", 0, 3, 0)],
        **NO_INPUT,
    ),
    record(
        "linspace",
        _ends,
        _spaced(np.linspace),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "negative", 0, 1, -1)],
        **NO_INPUT,
    ),
    record(
        "logspace",
        lambda make: [*[a[:-1] + (10.0, a[-1]) for a in _ends(make)], (0, 3, 4, 2.0, _kind(make))],
        _spaced(lambda start, end, steps, base=10.0: np.logspace(start, end, steps, base=base)),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "negative", 0, 1, -1)],
        **NO_INPUT,
    ),
    record(
        "eye",
        lambda make: [(3, _kind(make)), (2, 4, _kind(make)), (0, _kind(make)), (3, 0, _kind(make))],
        lambda n, m=None, dtype=None, device=None: np.eye(n, m, dtype=_np(dtype)),
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(RuntimeError, "n", -1)],
        **NO_INPUT,
    ),
    record(
        "tril_indices",
        lambda make: [(3, 3), (2, 4, 1), (4, 2, -1), (0, 3)],
        _triangle(np.tril_indices),
        errors=lambda make: [(RuntimeError, "negative", -1, 3)],
        **NO_INPUT,
    ),
    record(
        "triu_indices",
        lambda make: [(3, 3), (2, 4, 1), (4, 2, -1), (0, 3)],
        _triangle(np.triu_indices),
        errors=lambda make: [(RuntimeError, "negative", -1, 3)],
        **NO_INPUT,
    ),
    binary("complex", lambda x, y: x + 1j * y, dtypes=FLOATS),
    binary("polar", lambda x, y: x * np.exp(1j * y), low=0.3, dtypes=FLOATS),
]
