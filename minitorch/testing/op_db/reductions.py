"""Records of reductions, scans and statistics."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import ANY, ANY_REAL, FLOATS, FLOATS_AND_COMPLEX, NUMBERS, REAL_FLOATS
from minitorch.testing.op_db.samples import axis, calls, record, reduction, reduction_samples

NON_DIFFERENTIABLE: dict = dict(autograd=False)


def _with_index(value, index):
    """Return the reference of a reduction that also says where: of everything when there is no dim."""

    def reference(x, dim=None, keepdim=False):
        if dim is None:
            return value(x)
        if x.ndim == 0:
            return x, np.zeros((), np.int64)
        where = np.expand_dims(index(x, axis=dim), dim)
        picked = np.take_along_axis(x, where, dim)
        return (picked, where) if keepdim else (picked.squeeze(dim), where.squeeze(dim))

    return reference


def _arg(function):
    def reference(x, dim=None, keepdim=False):
        if dim is None or x.ndim == 0:
            return function(x)
        found = function(x, axis=dim)
        return np.expand_dims(found, dim) if keepdim else found

    return reference


def _variance(function):
    def reference(x, dim=None, unbiased=True, keepdim=False, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        correction = (1 if unbiased else 0) if correction is None else correction
        return function(x, axis=axis(dim), ddof=correction, keepdims=keepdim)

    return reference


def _with_mean(function):
    spread, mean = _variance(function), _variance(lambda x, ddof, **rest: np.mean(x, **rest))
    return lambda *args, **kwargs: (spread(*args, **kwargs), mean(*args, **kwargs))


def _variance_samples(make):
    return [
        (make(2, 3),),
        (make(3, 2, layout="columns"), False),
        (make(2, 3), 1),
        (make(2, 3, 2, layout="gaps"), [0, 2], {"correction": 0, "keepdim": True}),
        (make(2, 4), -1, {"correction": 2}),
        (make(2, 3), 0, False, True),
    ]


def _logsumexp(x, dim, keepdim=False):
    return np.log(np.sum(np.exp(x), axis=axis(dim) if x.ndim else None, keepdims=keepdim))


def _norm(x, ord=2, dim=None, keepdim=False, dtype=None):
    axes = tuple(range(x.ndim)) if dim is None else axis(dim)
    size = np.abs(x)
    if ord == np.inf:
        return size.max(axes, keepdims=keepdim)
    if ord == -np.inf:
        return size.min(axes, keepdims=keepdim)
    if ord == 0:
        return (size != 0).sum(axes, keepdims=keepdim).astype(size.dtype)
    return np.power(np.power(size, ord).sum(axes, keepdims=keepdim), 1 / ord)


def _renorm(x, p, dim, maxnorm):
    norms = np.power(np.power(np.abs(x), p).sum(tuple(d for d in range(x.ndim) if d != dim), keepdims=True), 1 / p)
    return np.where(norms > maxnorm, x * (maxnorm / (norms + 1e-7)), x)


def _scan(function):
    def reference(x, dim, dtype=None):
        return function(np.asarray(x), axis=dim) if x.ndim else x

    return reference


def _scan_with_index(function):
    def reference(x, dim):
        if x.ndim == 0:
            return x, np.zeros((), np.int64)
        values = function.accumulate(x, dim)
        places = np.arange(x.shape[dim]).reshape([-1 if d == dim % x.ndim else 1 for d in range(x.ndim)])
        # The last place at which the running extremum was attained.
        return values, np.maximum.accumulate(np.where(x == values, places, 0), dim)

    return reference


def _median(x, dim=None, keepdim=False):
    """The lower of the two in the middle."""
    if dim is None:
        return np.sort(x.ravel())[(x.size - 1) // 2]
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    where = np.take(np.argsort(x, dim, kind="stable"), [(x.shape[dim] - 1) // 2], dim)
    values = np.take_along_axis(x, where, dim)
    return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))


def _kthvalue(x, k, dim=-1, keepdim=False):
    where = np.take(np.argsort(x, dim, kind="stable"), [k - 1], dim)
    values = np.take_along_axis(x, where, dim)
    return (values, where) if keepdim else (values.squeeze(dim), where.squeeze(dim))


def _quantile(x, q, dim=None, keepdim=False, interpolation="linear"):
    return np.quantile(x, q, axis=dim, keepdims=keepdim, method=interpolation)


def _trapezoid(y, x=None, dx=1, dim=-1):
    return np.trapezoid(y, x, dx, dim)


def _cumulative_trapezoid(y, x=None, dx=1, dim=-1):
    y = np.moveaxis(y, dim, -1)
    widths = dx if x is None else np.diff(x)
    return np.moveaxis(np.cumsum((y[..., 1:] + y[..., :-1]) / 2 * widths, -1), -1, dim)


def _scan_samples(make):
    return [
        (make(2, 3), 1),
        (make(3, 2, layout="columns"), 0),
        (make(2, 3, 2, layout="gaps"), -2),
        (make(), 0),
        (make(0, 2), 0),
        (make(2, 3, layout="expanded"), 0),
    ]


def _scan_errors(make):
    return [(IndexError, "out of range", make(2, 3), 2)]


def _quantile_samples(make):
    q = make(2, low=0.1, high=0.9, grad=False)
    return [
        (make(5), 0.3),
        (make(2, 5), q, {"dim": 1}),
        (make(4, 2, layout="columns"), 0.6, 0, True),
        (make(2, 3), q, {"interpolation": "lower"}),
        (make(2, 3), 0.4, {"dim": -1, "interpolation": "midpoint"}),
    ]


def _quantile_errors(make):
    return [
        (RuntimeError, "0", make(3), 1.5),
        (IndexError, "out of range", make(2, 3), 0.5, 2),
    ]


def _extremum_samples(make):
    yield from reduction_samples(dims="one", empty=False)(make)


SUMS = [
    reduction("sum", np.sum, dtypes=ANY),
    reduction("mean", np.mean, dtypes=FLOATS_AND_COMPLEX, empty=False),
    reduction("prod", np.prod, dims="one", dtypes=ANY),
    reduction("nansum", np.nansum, dtypes=REAL_FLOATS),
    reduction("nanmean", np.nanmean, dtypes=FLOATS, empty=False),
    reduction(
        "count_nonzero",
        np.count_nonzero,
        keepdim=False,
        dtypes=ANY,
        errors=None,
        **NON_DIFFERENTIABLE,
        samples=calls(lambda make: [(make(2, 3),), (make(2, 3), 1), (make(2, 3, 2, layout="gaps"), [0, 2]), (make(),)]),
    ),
    reduction("any", np.any, dtypes=ANY, **NON_DIFFERENTIABLE),
    reduction("all", np.all, dtypes=ANY, **NON_DIFFERENTIABLE),
    reduction(
        "logsumexp",
        reference=_logsumexp,
        dtypes=FLOATS_AND_COMPLEX,
        full=False,
        empty=False,
        aliases=("special.logsumexp",),
        operators=("logsumexp", "special_logsumexp"),
    ),
    record(
        "trace",
        lambda make: [(make(3, 3),), (make(2, 4, layout="columns"),), (make(3, 2, layout="gaps"),)],
        np.trace,
        dtypes=NUMBERS,
        errors=lambda make: [(RuntimeError, "matrix", make(3))],
    ),
]

EXTREMA = [
    reduction("amax", np.max, empty=False, dtypes=ANY_REAL),
    reduction("amin", np.min, empty=False, dtypes=ANY_REAL),
    reduction(
        "max",
        reference=_with_index(np.max, np.argmax),
        dims="one",
        empty=False,
        dtypes=REAL_FLOATS,
    ),
    reduction(
        "min",
        reference=_with_index(np.min, np.argmin),
        dims="one",
        empty=False,
        dtypes=REAL_FLOATS,
    ),
    reduction("argmax", reference=_arg(np.argmax), dims="one", empty=False, dtypes=ANY_REAL[:-1], **NON_DIFFERENTIABLE),
    reduction("argmin", reference=_arg(np.argmin), dims="one", empty=False, dtypes=ANY_REAL[:-1], **NON_DIFFERENTIABLE),
    record(
        "aminmax",
        lambda make: [
            (make(2, 3),),
            (make(3, 2, layout="columns"), {"dim": 0}),
            (make(2, 3), {"dim": 1, "keepdim": True}),
        ],
        lambda x, dim=None, keepdim=False: (np.min(x, dim, keepdims=keepdim), np.max(x, dim, keepdims=keepdim)),
        dtypes=REAL_FLOATS,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), {"dim": 2})],
    ),
    reduction("median", reference=_median, dims="one", empty=False, dtypes=FLOATS),
    reduction("nanmedian", reference=_median, dims="one", empty=False, dtypes=FLOATS),
    record(
        "mode",
        lambda make: [(make(2, 3),), (make(3, 2, layout="columns"), 0), (make(2, 3), 1, True), (make(),)],
        # Elements of samples differ: the mode is the least of them.
        lambda x, dim=-1, keepdim=False: _with_index(np.min, np.argmin)(x, dim, keepdim),
        dtypes=FLOATS,
        errors=_scan_errors,
    ),
    record(
        "kthvalue",
        lambda make: [(make(5), 2), (make(2, 4), 3, 1), (make(3, 2, layout="columns"), 1, 0, True)],
        _kthvalue,
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "k", make(3), 4), (IndexError, "out of range", make(2, 3), 1, 2)],
    ),
    record("quantile", _quantile_samples, _quantile, dtypes=FLOATS, errors=_quantile_errors),
    record(
        "nanquantile",
        _quantile_samples,
        lambda x, q, dim=None, keepdim=False, interpolation="linear": np.nanquantile(
            x, q, axis=dim, keepdims=keepdim, method=interpolation
        ),
        dtypes=FLOATS,
        errors=_quantile_errors,
    ),
]

VARIANCE = [
    record(
        name,
        _variance_samples,
        make_reference(function),
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 2)],
    )
    for name, make_reference, function in (
        ("var", _variance, np.var),
        ("std", _variance, np.std),
        ("var_mean", _with_mean, np.var),
        ("std_mean", _with_mean, np.std),
    )
]

SCANS = [
    record("cumsum", _scan_samples, _scan(np.cumsum), dtypes=ANY, errors=_scan_errors),
    record("cumprod", _scan_samples, _scan(np.cumprod), dtypes=ANY, errors=_scan_errors),
    record("cummax", _scan_samples, _scan_with_index(np.maximum), dtypes=ANY_REAL[:-1], errors=_scan_errors),
    record("cummin", _scan_samples, _scan_with_index(np.minimum), dtypes=ANY_REAL[:-1], errors=_scan_errors),
    record(
        "logcumsumexp",
        _scan_samples,
        lambda x, dim: np.log(np.cumsum(np.exp(x), dim)) if x.ndim else x,
        dtypes=FLOATS,
        errors=_scan_errors,
    ),
    record(
        "diff",
        lambda make: [
            (make(2, 4),),
            (make(2, 4), 2),
            (make(4, 2, layout="columns"), {"dim": 0}),
            (make(2, 3), {"prepend": make(2, 1), "append": make(2, 2)}),
            (make(2, 0),),
        ],
        lambda x, n=1, dim=-1, prepend=None, append=None: np.diff(
            x,
            n,
            dim,
            **({} if prepend is None else {"prepend": prepend}),
            **({} if append is None else {"append": append}),
        ),
        dtypes=NUMBERS,
        errors=lambda make: [(RuntimeError, "dim", make()), (IndexError, "out of range", make(2), 1, 1)],
    ),
]

NORMS = [
    record(
        "linalg.vector_norm",
        lambda make: [
            (make(2, 3),),
            (make(3, 2, layout="columns"), 1),
            (make(2, 3, avoid=(0.0,)), 3, 1),
            (make(2, 3), float("inf"), 0, True),
            (make(2, 3), -float("inf"), [0, 1]),
            (make(2, 3, avoid=(0.0,)), 0.5, -1),
            (make(2, 3), 0, 1),
            (make(),),
            (make(2, 3), 2, [1], {"dtype": make.dtype}),
        ],
        _norm,
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 2, 2)],
    ),
    record(
        "renorm",
        lambda make: [(make(2, 3), 2, 0, 1.0), (make(3, 2, layout="columns"), 1, 1, 2.0), (make(2, 3), 2, 0, 90.0)],
        _renorm,
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "norm", make(2, 3), -1, 0, 1.0)],
    ),
]

STATISTICS = [
    record(
        "cov",
        lambda make: [
            (make(3, 4),),
            (make(5),),
            (make(4, 3, layout="columns"), {"correction": 0}),
            (
                make(2, 4),
                {"fweights": make.indices(4, low=1, high=4), "aweights": make(4, low=0.5, high=2, grad=False)},
            ),
        ],
        lambda x, correction=1, fweights=None, aweights=None: np.cov(
            x, ddof=correction, fweights=fweights, aweights=aweights
        ),
        dtypes=FLOATS,
        no_meta="looks at the values of its weights",
        errors=lambda make: [(RuntimeError, "dim", make(2, 2, 2))],
    ),
    record(
        "corrcoef",
        lambda make: [(make(3, 4),), (make(5),), (make(4, 3, layout="columns"),)],
        np.corrcoef,
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "dim", make(2, 2, 2))],
    ),
    record(
        "equal",
        lambda make: [(make(2, 3), make(2, 3)), (make(2), make(3)), (make(0, 2), make(0, 2))],
        np.array_equal,
        dtypes=ANY,
        no_meta="a meta tensor has no values to compare",
        **NON_DIFFERENTIABLE,
    ),
    record(
        "allclose",
        lambda make: [(make(2, 3), make(2, 3)), (make(2), make(2), {"atol": 10.0}), (make(), make(), 1.0, 9.0)],
        lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.allclose(x, y, rtol, atol, equal_nan),
        dtypes=FLOATS,
        no_meta="a meta tensor has no values to compare",
        **NON_DIFFERENTIABLE,
    ),
    record(
        "isclose",
        lambda make: [(make(2, 3), make(2, 3)), (make(2), make(3, 2), {"atol": 1.0}), (make(), make())],
        lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(x, y, rtol, atol, equal_nan),
        dtypes=NUMBERS,
        errors=lambda make: [(RuntimeError, "rtol", make(2), make(2), -1.0)],
        **NON_DIFFERENTIABLE,
    ),
    *(
        record(
            name,
            lambda make: [
                (make(2, 4),),
                (make(4, 2, layout="columns"), {"dx": 0.5, "dim": 0}),
                (make(2, 4), make(4)),
                (make(2, 3), {"x": make(2, 3)}),
            ],
            reference,
            dtypes=FLOATS,
            errors=lambda make: [(RuntimeError, "size|shape|x", make(2, 4), make(3))],
        )
        for name, reference in (
            ("trapezoid", _trapezoid),
            ("trapz", _trapezoid),
            ("cumulative_trapezoid", _cumulative_trapezoid),
        )
    ),
    record(
        "gradient",
        lambda make: [
            (make(5),),
            (make(3, 4), {"dim": 1}),
            (make(4, 3, layout="columns"), {"spacing": 2.0}),
            (make(3, 4), {"spacing": (make(3, grad=False).sort()[0], make(4, grad=False).sort()[0]), "dim": (0, 1)}),
            (make(4, 4), {"edge_order": 2}),
        ],
        dtypes=FLOATS,
        no_layouts="spacing must be a sorted sequence of 1-d tensors",
        errors=lambda make: [(RuntimeError, "edge_order|dimension", make(1))],
    ),
]

OTHERS = [
    record(
        "Tensor.sum_to_size",
        lambda make: [(make(2, 3), [1, 3]), (make(2, 3), [3]), (make(2, 3, layout="columns"), [2, 1])],
        lambda x, size: x.sum(
            tuple(d for d in range(2) if d < 2 - len(size) or size[d - 2] == 1), keepdims=True
        ).reshape(size),
        errors=lambda make: [(RuntimeError, "", make(2, 3), [2])],
        dtypes=NUMBERS,
    ),
    record("hash_tensor", lambda make: [(make(2, 3),), (make(2, 3), [1])], dtypes=FLOATS, **NON_DIFFERENTIABLE),
]

RECORDS = [*SUMS, *EXTREMA, *VARIANCE, *SCANS, *NORMS, *STATISTICS, *OTHERS]
