"""Records of the pointwise operators."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import (
    ANY,
    ANY_REAL,
    BOOL,
    FLOATS,
    FLOATS_AND_COMPLEX,
    INTEGERS,
    NUMBERS,
    REAL_FLOATS,
    REAL_NUMBERS,
)
from minitorch.testing.op_db.samples import binary, record, unary

FLOAT_DTYPES_OF_FREXP = (*FLOATS, "float16")
# Functions of these grow integers and bool into floats.
ANY_TO_FLOAT = ANY


def _sgn(x):
    return x / np.where(x == 0, 1, np.abs(x)) if np.iscomplexobj(x) else _sign(x)


def _sign(x):
    return x if x.dtype == np.bool_ else np.sign(x)


def _div(x, y, rounding_mode=None):
    if rounding_mode is None:
        return np.true_divide(x, y)
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    return np.trunc(np.true_divide(x, y))


def _clamp(x, min=None, max=None):
    if min is not None:
        x = np.maximum(x, min)
    return x if max is None else np.minimum(x, max)


def _float_power(x, y):
    kind = np.complex128 if np.iscomplexobj(x) or np.iscomplexobj(y) else np.float64
    return np.power(np.asarray(x, kind), np.asarray(y, kind))


def _xlogy(x, y):
    return np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, y)))


def _round(x, decimals=0):
    return np.round(x, decimals)


def _dist(x, y, p=2):
    return np.linalg.norm(np.ravel(x - y), p)


def _angle(x):
    return np.angle(x)


NON_DIFFERENTIABLE: dict = dict(autograd=False)

SUMS_AND_PRODUCTS = [
    binary("add", lambda x, y, alpha=1: x + y * alpha, number=2, kwargs=({"alpha": 3},), dtypes=NUMBERS),
    binary(
        "sub",
        lambda x, y, alpha=1: x - y * alpha,
        number=2,
        kwargs=({"alpha": 3},),
        dtypes=NUMBERS,
        aliases=("subtract",),
        operators=("sub", "subtract"),
    ),
    binary("rsub", lambda x, y, alpha=1: y - x * alpha, number=2, kwargs=({"alpha": 3},), dtypes=NUMBERS),
    binary("mul", np.multiply, number=2, dtypes=ANY, aliases=("multiply",), operators=("mul", "multiply")),
    binary(
        "div",
        _div,
        other_low=0.5,
        other_high=3,
        number=2,
        kwargs=({"rounding_mode": "floor"}, {"rounding_mode": "trunc"}),
        dtypes=REAL_FLOATS,
        aliases=("divide",),
        operators=("div", "divide"),
    ),
    binary("true_divide", np.true_divide, other_low=0.5, other_high=3, number=2),
    binary(
        "floor_divide", np.floor_divide, other_low=1, other_high=4, number=2, dtypes=REAL_NUMBERS, **NON_DIFFERENTIABLE
    ),
    binary("remainder", np.remainder, other_low=1, other_high=4, number=3, dtypes=REAL_NUMBERS),
    binary("fmod", np.fmod, other_low=1, other_high=4, number=3, dtypes=REAL_NUMBERS),
    unary("neg", np.negative, dtypes=NUMBERS, aliases=("negative",), operators=("neg", "negative")),
    unary("positive", np.positive, dtypes=NUMBERS),
    unary("reciprocal", lambda x: 1 / x, low=0.5, high=3, dtypes=FLOATS_AND_COMPLEX),
    unary("square", np.square, dtypes=NUMBERS),
    record(
        "addcmul",
        lambda make: [
            (make(2, 3), make(2, 3), make(3)),
            (make(2, 3, layout="columns"), make(2, 1), make(3, layout="gaps"), {"value": 2}),
            (make(), make(), make()),
            (make(0, 2), make(2), make(1, 2)),
        ],
        lambda x, y, z, value=1: x + value * y * z,
        dtypes=NUMBERS,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4), make(3))],
    ),
    record(
        "addcdiv",
        lambda make: [
            (make(2, 3), make(2, 3), make(3, low=0.5, high=3)),
            (make(2, 3, layout="columns"), make(2, 1), make(3, low=0.5, high=3, layout="gaps"), {"value": 2}),
            (make(), make(), make(low=0.5, high=3)),
        ],
        lambda x, y, z, value=1: x + value * y / z,
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4), make(3))],
    ),
    record(
        "lerp",
        lambda make: [
            (make(2, 3), make(2, 3), 0.4),
            (make(2, 3), make(3), make(2, 3, low=0, high=1)),
            (make(2, 3, layout="columns"), make(2, 3, layout="gaps"), 0.75),
            (make(), make(), 0.25),
        ],
        lambda x, y, weight: x + weight * (y - x),
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4), 0.5)],
    ),
    record(
        "dist",
        lambda make: [(make(2, 3), make(2, 3)), (make(2, 3), make(3), 1), (make(4, layout="gaps"), make(4), 3)],
        _dist,
        dtypes=FLOATS_AND_COMPLEX,
        no_gradgrad="",
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
    ),
]

SIGNS = [
    unary("abs", np.abs, dtypes=NUMBERS, avoid=(0.0,), aliases=("absolute",), operators=("abs", "absolute")),
    unary("sign", _sign, dtypes=ANY_REAL, avoid=(0.0,)),
    unary("sgn", _sgn, dtypes=ANY, avoid=(0.0,)),
    unary("signbit", np.signbit, dtypes=ANY_REAL, **NON_DIFFERENTIABLE),
    unary("angle", _angle, dtypes=ANY, avoid=(0.0,)),
    unary("conj_physical", np.conj, dtypes=NUMBERS),
    binary("copysign", np.copysign, avoid=(0.0,), number=-1.5, dtypes=REAL_FLOATS),
    binary("nextafter", np.nextafter, dtypes=FLOATS),
    binary("heaviside", np.heaviside, dtypes=REAL_NUMBERS, **NON_DIFFERENTIABLE),
    binary("hypot", np.hypot, avoid=(0.0,), dtypes=REAL_FLOATS),
]

POWERS = [
    record(
        "pow",
        lambda make: [
            (make(2, 3, low=0.5, high=2), make(2, 3)),
            (make(2, 3, low=0.5, high=2), 2),
            (make(2, 3, low=0.5, high=2), 2.5),
            (make(2, 1, low=0.5, high=2), make(3, layout="gaps")),
            (2.0, make(2, 3)),
            (make(3, 2, low=0.5, high=2, layout="columns"), 3),
            (make(low=0.5, high=2), make()),
            (make(0, 2, low=0.5, high=2), 0.5),
        ],
        np.power,
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [
            (RuntimeError, "size|shape", make(2, 3), make(4)),
            (RuntimeError, "negative", make.indices(3, high=4), -1),
        ],
    ),
    record(
        "float_power",
        lambda make: [
            (make(2, 3, low=0.5, high=2), make(3)),
            (make(2, 3, low=0.5, high=2), 2),
            (2.0, make(2, 3)),
            (make(3, 2, low=0.5, high=2, layout="columns"), 0.5),
        ],
        _float_power,
        dtypes=FLOATS_AND_COMPLEX,
        operators=("float_power", "float_power_"),
        no_inplace="its result is of double precision, which only some of the dtypes can hold",
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
    ),
    unary("sqrt", np.sqrt, low=0.2, high=4, dtypes=ANY_TO_FLOAT),
    unary("rsqrt", lambda x: 1 / np.sqrt(x), low=0.2, high=4, dtypes=FLOATS_AND_COMPLEX),
    binary("ldexp", lambda x, y: x * np.power(2.0, y), dtypes=FLOATS),
    record(
        "frexp",
        lambda make: [(make(2, 3),), (make(3, 2, layout="columns"),), (make(),), (make(0, 2),)],
        np.frexp,
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "float", make.indices(3, high=4))],
    ),
]

EXPONENTIALS = [
    unary("exp", np.exp, dtypes=ANY_TO_FLOAT),
    unary("exp2", np.exp2, dtypes=ANY_TO_FLOAT[:4] + INTEGERS + BOOL),
    unary("expm1", np.expm1, dtypes=FLOATS_AND_COMPLEX),
    unary("log", np.log, low=0.3, high=4),
    unary("log2", np.log2, low=0.3, high=4),
    unary("log10", np.log10, low=0.3, high=4),
    unary("log1p", np.log1p, low=-0.7, high=4),
    unary("sigmoid", lambda x: 1 / (1 + np.exp(-x)), dtypes=ANY_TO_FLOAT),
    record(
        "logit",
        lambda make: [
            (make(2, 3, low=0.1, high=0.9),),
            (make(3, 2, low=0.1, high=0.9, layout="columns"), 0.2),
            (make(low=0.1, high=0.9), {"eps": 0.05}),
            (make(0, 2, low=0.1, high=0.9),),
        ],
        lambda x, eps=None: (lambda y: np.log(y / (1 - y)))(x if eps is None else np.clip(x, eps, 1 - eps)),
        dtypes=REAL_FLOATS,
        errors=lambda make: [(TypeError, "", "text")],
    ),
    record(
        "xlogy",
        lambda make: [
            (make(2, 3), make(2, 3, low=0.3, high=3)),
            (make(2, 1), make(3, low=0.3, high=3)),
            (2.0, make(2, 3, low=0.3, high=3)),
            (make(2, 3), 2.0),
            (make(), make(low=0.3, high=3)),
        ],
        _xlogy,
        dtypes=REAL_FLOATS,
        errors=lambda make: [(RuntimeError, "size|shape", make(2, 3), make(4))],
    ),
    binary("logaddexp", np.logaddexp, dtypes=REAL_FLOATS),
    binary("logaddexp2", np.logaddexp2, dtypes=REAL_FLOATS),
]

TRIGONOMETRY = [
    unary("sin", np.sin, dtypes=ANY_TO_FLOAT),
    unary("cos", np.cos, dtypes=ANY_TO_FLOAT),
    unary("tan", np.tan, low=-1.2, high=1.2),
    unary("asin", np.arcsin, low=-0.8, high=0.8, aliases=("arcsin",), operators=("asin", "arcsin")),
    unary("acos", np.arccos, low=-0.8, high=0.8, aliases=("arccos",), operators=("acos", "arccos")),
    unary("atan", np.arctan, aliases=("arctan",), operators=("atan", "arctan")),
    unary("sinh", np.sinh, dtypes=ANY_TO_FLOAT),
    unary("cosh", np.cosh, dtypes=ANY_TO_FLOAT),
    unary("tanh", np.tanh, dtypes=ANY_TO_FLOAT),
    unary("asinh", np.arcsinh, aliases=("arcsinh",), operators=("asinh", "arcsinh")),
    unary("acosh", np.arccosh, low=1.2, high=4, aliases=("arccosh",), operators=("acosh", "arccosh")),
    unary("atanh", np.arctanh, low=-0.8, high=0.8, aliases=("arctanh",), operators=("atanh", "arctanh")),
    binary(
        "atan2", np.arctan2, low=0.3, high=2, dtypes=REAL_FLOATS, aliases=("arctan2",), operators=("atan2", "arctan2")
    ),
    unary("sinc", np.sinc, avoid=(0.0,)),
    unary("deg2rad", np.deg2rad, dtypes=REAL_FLOATS),
    unary("rad2deg", np.rad2deg, dtypes=REAL_FLOATS),
]

ROUNDING = [
    unary("floor", np.floor, dtypes=REAL_NUMBERS),
    unary("ceil", np.ceil, dtypes=REAL_NUMBERS),
    unary("trunc", np.trunc, dtypes=REAL_NUMBERS, aliases=("fix",), operators=("trunc", "fix")),
    unary("frac", lambda x: x - np.trunc(x), dtypes=REAL_FLOATS),
    record(
        "round",
        lambda make: [
            (make(2, 3),),
            (make(3, 2, layout="columns"),),
            (make(),),
            (make(2, 3), {"decimals": 2}),
            (make(2, 3, low=-200, high=200), {"decimals": -1}),
        ],
        _round,
        dtypes=FLOATS,
        errors=lambda make: [(TypeError, "", "text")],
    ),
]

LIMITS = [
    record(
        "clamp",
        lambda make: [
            (make(2, 3, avoid=(-1.0, 1.0)), -1, 1),
            (make(3, 2, avoid=(0.5,), layout="columns"), {"min": 0.5}),
            (make(avoid=(0.5,)), {"max": 0.5}),
            (make(2, 3), make(3, low=-3, high=-1), make(2, 3, low=0.1, high=1.1)),
            (make(2, 3, layout="gaps"), make(2, 3, low=-3, high=-2.5), None),
            (make(0, 3), -1, 1),
        ],
        _clamp,
        dtypes=REAL_FLOATS,
        aliases=("clip",),
        operators=("clamp", "clip"),
        errors=lambda make: [(RuntimeError, "None|At least one", make(2, 3)), (TypeError, "", make(2), "text")],
    ),
    record(
        "clamp_min",
        lambda make: [(make(2, 3, avoid=(0.5,)), 0.5), (make(2, 3), make(3)), (make(avoid=(0.5,)), 0.5)],
        np.maximum,
        dtypes=REAL_NUMBERS[:4],
        errors=lambda make: [(TypeError, "", make(2, 3))],
    ),
    record(
        "clamp_max",
        lambda make: [(make(2, 3, avoid=(0.5,)), 0.5), (make(2, 3), make(3)), (make(avoid=(0.5,)), 0.5)],
        np.minimum,
        dtypes=REAL_NUMBERS[:4],
        errors=lambda make: [(TypeError, "", make(2, 3))],
    ),
    binary("maximum", np.maximum, dtypes=ANY_REAL),
    binary("minimum", np.minimum, dtypes=ANY_REAL),
    binary("fmax", np.fmax, dtypes=ANY_REAL),
    binary("fmin", np.fmin, dtypes=ANY_REAL),
    record(
        "nan_to_num",
        lambda make: [
            (make(2, 3),),
            (make(3, 2, layout="columns") / make(3, 2, low=-1, high=1, grad=False), {"nan": 1.0}),
            (make(2) * float("inf"), 0.5, 7.0, -7.0),
            (make() * float("nan"),),
        ],
        lambda x, nan=0.0, posinf=None, neginf=None: _nan_to_num(x, nan, posinf, neginf),
        dtypes=FLOATS,
        no_layouts="",
        errors=lambda make: [(TypeError, "", "text")],
    ),
]


def _nan_to_num(x, nan, posinf, neginf):
    result = np.where(np.isnan(x), nan, x)
    if posinf is not None:
        result = np.where(np.isposinf(result), posinf, result)
    return result if neginf is None else np.where(np.isneginf(result), neginf, result)


COMPARISONS = [
    binary(name, function, number=1, dtypes=dtypes, aliases=aliases, operators=(name, *aliases), **NON_DIFFERENTIABLE)
    for name, function, dtypes, aliases in (
        ("eq", np.equal, ANY, ()),
        ("ne", np.not_equal, ANY, ("not_equal",)),
        ("lt", np.less, ANY_REAL, ("less",)),
        ("le", np.less_equal, ANY_REAL, ("less_equal",)),
        ("gt", np.greater, ANY_REAL, ("greater",)),
        ("ge", np.greater_equal, ANY_REAL, ("greater_equal",)),
    )
]
TESTS = [
    unary("isnan", np.isnan, dtypes=ANY, **NON_DIFFERENTIABLE),
    unary("isinf", np.isinf, dtypes=ANY, **NON_DIFFERENTIABLE),
    unary("isfinite", np.isfinite, dtypes=ANY, **NON_DIFFERENTIABLE),
    unary("isposinf", np.isposinf, dtypes=ANY_REAL, **NON_DIFFERENTIABLE),
    unary("isneginf", np.isneginf, dtypes=ANY_REAL, **NON_DIFFERENTIABLE),
    unary("isreal", np.isreal, dtypes=ANY, **NON_DIFFERENTIABLE),
]
LOGIC = [
    binary("logical_and", np.logical_and, dtypes=ANY, **NON_DIFFERENTIABLE),
    binary("logical_or", np.logical_or, dtypes=ANY, **NON_DIFFERENTIABLE),
    binary("logical_xor", np.logical_xor, dtypes=ANY, **NON_DIFFERENTIABLE),
    unary("logical_not", np.logical_not, dtypes=ANY, **NON_DIFFERENTIABLE),
    binary("bitwise_and", np.bitwise_and, number=1, dtypes=INTEGERS + BOOL, **NON_DIFFERENTIABLE),
    binary("bitwise_or", np.bitwise_or, number=1, dtypes=INTEGERS + BOOL, **NON_DIFFERENTIABLE),
    binary("bitwise_xor", np.bitwise_xor, number=1, dtypes=INTEGERS + BOOL, **NON_DIFFERENTIABLE),
    unary("bitwise_not", np.invert, dtypes=INTEGERS + BOOL, **NON_DIFFERENTIABLE),
    binary("bitwise_left_shift", np.left_shift, low=0, high=4, number=1, dtypes=INTEGERS, **NON_DIFFERENTIABLE),
    binary("bitwise_right_shift", np.right_shift, low=0, high=4, number=1, dtypes=INTEGERS, **NON_DIFFERENTIABLE),
    binary("gcd", np.gcd, dtypes=INTEGERS, **NON_DIFFERENTIABLE),
    binary("lcm", np.lcm, dtypes=INTEGERS, **NON_DIFFERENTIABLE),
]

REFLECTED = [
    binary(f"Tensor.{name}", function, operators=(), dtypes=dtypes, errors=None, **fields)
    for name, function, dtypes, fields in (
        ("__radd__", lambda x, y: y + x, NUMBERS, {}),
        ("__rsub__", lambda x, y: y - x, NUMBERS, {}),
        ("__rmul__", lambda x, y: y * x, NUMBERS, {}),
        ("__rdiv__", lambda x, y: y / x, FLOATS_AND_COMPLEX, {"low": 0.5, "high": 3}),
        ("__rmod__", lambda x, y: np.remainder(y, x), REAL_NUMBERS, {"low": 1, "high": 4}),
        ("__rpow__", lambda x, y: np.power(y, x), FLOATS_AND_COMPLEX, {"low": 0.5, "high": 2}),
        ("__rand__", np.bitwise_and, INTEGERS + BOOL, NON_DIFFERENTIABLE),
        ("__ror__", np.bitwise_or, INTEGERS + BOOL, NON_DIFFERENTIABLE),
        ("__rxor__", np.bitwise_xor, INTEGERS + BOOL, NON_DIFFERENTIABLE),
    )
]

RECORDS = [
    *SUMS_AND_PRODUCTS,
    *SIGNS,
    *POWERS,
    *EXPONENTIALS,
    *TRIGONOMETRY,
    *ROUNDING,
    *LIMITS,
    *COMPARISONS,
    *TESTS,
    *LOGIC,
    *REFLECTED,
]
