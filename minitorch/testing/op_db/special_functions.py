"""Records of the special functions."""

from __future__ import annotations

import math

import numpy as np

from minitorch.testing.op_db.record import FLOATS, REAL_FLOATS
from minitorch.testing.op_db.samples import elementwise, record, unary

# Long series have no double precision in half formats, and complex numbers only few of these.
REAL: dict = dict(dtypes=REAL_FLOATS)


def _i0(x):
    return np.i0(x)


def _entr(x):
    return np.where(x > 0, -x * np.log(np.where(x > 0, x, 1)), np.where(x == 0, 0, -np.inf))


def _log_multigamma(x, p):
    return p * (p - 1) / 4 * math.log(math.pi) + sum(math.lgamma(x - j / 2) for j in range(int(p)))


def _ndtr(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def _polynomials(name, recurrence):
    """Return the record of a family of orthogonal polynomials in x, of the order n."""

    def reference(x, n):
        x, n = np.broadcast_arrays(np.asarray(x, float), n)
        return elementwise(lambda a, k: recurrence(a, int(k)))(x, n)

    return record(
        f"special.{name}",
        lambda make: [
            (make(2, 3, low=0.1, high=0.9), make.indices(2, 3, high=5).to(make.dtype)),
            (make(2, 3, low=0.1, high=0.9), 3),
            (make(low=0.1, high=0.9), make.indices(2, high=4).to(make.dtype)),
            (make(3, 2, low=0.1, high=0.9, layout="columns"), 2),
            (make(0, 2), 2),
        ],
        reference,
        dtypes=FLOATS,
        autograd=False,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
    )


def _recurrence(first, step):
    """Return p(x, n) from p(0) = 1, p(1) = first(x) and p(n + 1) = step(n, x, p(n), p(n - 1))."""

    def value(x, n):
        before, now = 1.0, first(x)
        if n == 0:
            return before
        for k in range(1, n):
            before, now = now, step(k, x, now, before)
        return now

    return value


def _chebyshev(first):
    return _recurrence(first, lambda k, x, now, before: 2 * x * now - before)


def _shifted(function):
    return lambda x, n: function(2 * x - 1, n)


POLYNOMIALS = [
    _polynomials("chebyshev_polynomial_t", _chebyshev(lambda x: x)),
    _polynomials("chebyshev_polynomial_u", _chebyshev(lambda x: 2 * x)),
    _polynomials("chebyshev_polynomial_v", _chebyshev(lambda x: 2 * x - 1)),
    _polynomials("chebyshev_polynomial_w", _chebyshev(lambda x: 2 * x + 1)),
    _polynomials("shifted_chebyshev_polynomial_t", _shifted(_chebyshev(lambda x: x))),
    _polynomials("shifted_chebyshev_polynomial_u", _shifted(_chebyshev(lambda x: 2 * x))),
    _polynomials("shifted_chebyshev_polynomial_v", _shifted(_chebyshev(lambda x: 2 * x - 1))),
    _polynomials("shifted_chebyshev_polynomial_w", _shifted(_chebyshev(lambda x: 2 * x + 1))),
    _polynomials(
        "hermite_polynomial_h", _recurrence(lambda x: 2 * x, lambda k, x, now, before: 2 * x * now - 2 * k * before)
    ),
    _polynomials("hermite_polynomial_he", _recurrence(lambda x: x, lambda k, x, now, before: x * now - k * before)),
    _polynomials(
        "laguerre_polynomial_l",
        _recurrence(lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)),
    ),
    _polynomials(
        "legendre_polynomial_p",
        _recurrence(lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)),
    ),
]


def _shape_and_bound(make):
    """Return samples whose first argument has no gradient, as in PyTorch."""
    return [
        (make(2, 3, low=0.5, high=3, grad=False), make(2, 3, low=0.5, high=3)),
        (make(2, 1, low=0.5, high=3, grad=False), make(3, low=0.5, high=3, layout="gaps")),
        (make(low=0.5, high=3, grad=False), make(low=0.5, high=3)),
        (make(0, 2, grad=False), make(2, low=0.5, high=3)),
    ]


ERROR_FUNCTIONS = [
    unary("erf", elementwise(math.erf), aliases=("special.erf",), operators=("erf", "special_erf"), **REAL),
    unary("erfc", elementwise(math.erfc), aliases=("special.erfc",), operators=("erfc", "special_erfc"), **REAL),
    unary(
        "erfinv", None, low=-0.8, high=0.8, aliases=("special.erfinv",), operators=("erfinv", "special_erfinv"), **REAL
    ),
    unary("special.erfcx", elementwise(lambda x: math.exp(x * x) * math.erfc(x)), dtypes=FLOATS),
    unary("special.ndtr", elementwise(_ndtr), dtypes=FLOATS),
    unary("special.log_ndtr", elementwise(lambda x: math.log(_ndtr(x))), dtypes=FLOATS),
    unary("special.ndtri", None, low=0.1, high=0.9, dtypes=FLOATS),
    unary("special.entr", _entr, low=0.2, high=3, **REAL),
]

GAMMA = [
    unary(
        "lgamma",
        elementwise(math.lgamma),
        low=0.3,
        high=4,
        aliases=("special.gammaln",),
        operators=("lgamma", "special_gammaln"),
        **REAL,
    ),
    unary(
        "digamma",
        None,
        low=0.3,
        high=4,
        aliases=("special.digamma", "special.psi"),
        operators=("digamma", "special_digamma", "special_psi"),
        **REAL,
    ),
    record(
        "mvlgamma",
        lambda make: [
            (make(2, 3, low=2.5, high=5), 1),
            (make(2, low=2.5, high=5), {"p": 3}),
            (make(low=2.5, high=5), 2),
        ],
        lambda x, p=1: elementwise(_log_multigamma)(x, p),
        aliases=("special.multigammaln",),
        operators=("mvlgamma", "special_multigammaln"),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "p", make(2, low=3, high=4), 0)],
    ),
    record(
        "polygamma",
        lambda make: [(1, make(2, 3, low=0.5, high=3)), (0, make(2, low=0.5, high=3)), (2, make(low=0.5, high=3))],
        dtypes=FLOATS,
        operators=("polygamma", "polygamma_", "special_polygamma"),
        aliases=("special.polygamma",),
        no_inplace="its first argument is the order",
        errors=lambda make: [(RuntimeError, "negative", -1, make(2, low=1, high=2))],
    ),
    record(
        "igamma",
        _shape_and_bound,
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
        aliases=("special.gammainc",),
        operators=("igamma", "special_gammainc"),
    ),
    record(
        "igammac",
        _shape_and_bound,
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
        aliases=("special.gammaincc",),
        operators=("igammac", "special_gammaincc"),
    ),
    record(
        "special.zeta",
        lambda make: [
            (make(2, 3, low=1.5, high=4, grad=False), make(2, 3, low=1, high=3)),
            (make(2, 1, low=1.5, high=4, grad=False), make(3, low=1, high=3, layout="gaps")),
            (2.5, make(2, 3, low=1, high=3)),
        ],
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
    ),
]

BESSEL = [
    unary("i0", _i0, aliases=("special.i0",), operators=("i0", "special_i0"), **REAL),
    unary("special.i0e", lambda x: np.i0(x) * np.exp(-np.abs(x)), avoid=(0.0,), **REAL),
    unary("special.i1", None, dtypes=FLOATS),
    unary("special.i1e", None, avoid=(0.0,), dtypes=FLOATS),
    *(
        unary(f"special.{name}", reference, low=0.3, high=4, dtypes=FLOATS, autograd=False)
        for name, reference in (
            ("bessel_j0", None),
            ("bessel_j1", None),
            ("bessel_y0", None),
            ("bessel_y1", None),
            ("modified_bessel_i0", np.i0),
            ("modified_bessel_i1", None),
            ("modified_bessel_k0", None),
            ("modified_bessel_k1", None),
            ("scaled_modified_bessel_k0", None),
            ("scaled_modified_bessel_k1", None),
            ("spherical_bessel_j0", lambda x: np.sin(x) / x),
            ("airy_ai", None),
        )
    ),
]

OTHERS = [
    record(
        "special.xlog1py",
        lambda make: [
            (make(2, 3), make(2, 3, low=-0.7, high=2)),
            (make(2, 1), make(3, low=-0.7, high=2)),
            (2.0, make(2, 3, low=-0.7, high=2)),
            (make(2, 3), 2.0),
        ],
        lambda x, y: x * np.log1p(y),
        dtypes=REAL_FLOATS,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
    ),
    record(
        "special.xlogy",
        lambda make: [(make(2, 3), make(2, 3, low=0.3, high=3)), (2.0, make(2, low=0.3, high=3))],
        lambda x, y: x * np.log(y),
        dtypes=REAL_FLOATS,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
    ),
    unary("special.exp2", np.exp2, **REAL),
    unary("special.expm1", np.expm1),
    unary("special.expit", lambda x: 1 / (1 + np.exp(-x))),
    unary("special.logit", lambda x: np.log(x / (1 - x)), low=0.1, high=0.9, **REAL),
    unary("special.log1p", np.log1p, low=-0.7, high=3),
    unary("special.sinc", np.sinc, avoid=(0.0,)),
    unary("special.round", np.round, dtypes=FLOATS),
    record(
        "special.softmax",
        lambda make: [(make(2, 3), 1), (make(3, 2, layout="columns"), 0), (make(), 0)],
        lambda x, dim: np.exp(x) / np.exp(x).sum(dim if x.ndim else None, keepdims=True),
        dtypes=FLOATS,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 2)],
    ),
    record(
        "special.log_softmax",
        lambda make: [(make(2, 3), 1), (make(3, 2, layout="columns"), 0), (make(), 0)],
        lambda x, dim: x - np.log(np.exp(x).sum(dim if x.ndim else None, keepdims=True)),
        dtypes=FLOATS,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 2)],
    ),
]

RECORDS = [*ERROR_FUNCTIONS, *GAMMA, *BESSEL, *OTHERS, *POLYNOMIALS]
