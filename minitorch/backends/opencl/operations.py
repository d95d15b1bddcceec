"""The table of pointwise operations: their C expressions for scalars and for vectors of 16.

A row is a function of `Form`, which knows the type and width, and the names of the operands,
all of one type.  It returns a C expression.  A row that has no vector form is marked in `SCALAR`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from minitorch.backends.opencl.complex_source import COMPLEX_SOURCE
from minitorch.backends.opencl.ctypes import (
    BFLOAT_SOURCE,
    BOOL,
    MASK_TYPE,
    compute_type,
    truth,
    vector,
)

OPERATIONS: dict[str, Callable[..., str]] = {}
SCALAR: set[str] = set()  # no vector form
PREDICATES: set[str] = set()  # the result is bool


class Form:
    """The type and width that an expression is written for.

    Attributes
    ----------
    dtype : numpy.dtype
        Of the operands.
    kind : str
        b, i, u, f or c (narrow floating types are f).
    ctype : str
        C type of one element.
    width : int
        1 or 16.
    """

    __slots__ = ("ctype", "dtype", "kind", "result", "width")

    def __init__(self, dtype: np.dtype, width: int, result: np.dtype | None = None):
        self.dtype = dtype
        self.kind = "f" if dtype.kind == "V" else dtype.kind
        self.ctype = compute_type(dtype)
        self.width = width
        self.result = dtype if result is None else result

    @property
    def type(self) -> str:
        return vector(self.ctype, self.width)

    def number(self, value) -> str:
        """Return a literal of the type."""
        suffix = "f" if self.ctype == "float" else ""
        text = f"{value!r}{suffix}" if self.kind == "f" else str(value)
        return f"({self.type})({text})"

    def select(self, condition: str, a: str, b: str) -> str:
        """Return `a` where a condition between operands of the type holds, else `b`."""
        return f"(({condition}) ? ({a}) : ({b}))" if self.width == 1 else f"select({b}, {a}, {condition})"

    def both(self, a: str, b: str) -> str:
        """Return the conjunction of two conditions."""
        return f"({a}) && ({b})" if self.width == 1 else f"(({a}) & ({b}))"

    def either(self, a: str, b: str) -> str:
        """Return the disjunction of two conditions."""
        return f"({a}) || ({b})" if self.width == 1 else f"(({a}) | ({b}))"

    def truth(self, condition: str) -> str:
        """Return a condition as an element of type bool."""
        return truth(condition, self.width)

    def unsigned(self) -> str:
        return self.ctype if self.ctype.startswith("u") else "u" + self.ctype

    def cast(self, value: str, ctype: str | None = None) -> str:
        ctype = ctype or self.ctype
        return f"({ctype})({value})" if self.width == 1 else f"convert_{ctype}{self.width}({value})"


def operation(*names: str, scalar: bool = False, predicate: bool = False):
    """Register a row for `names`."""

    def register(fn):
        for name in names:
            OPERATIONS[name] = fn
            if scalar:
                SCALAR.add(name)
            if predicate:
                PREDICATES.add(name)
        return fn

    return register


def _call(f: Form, name: str, *args: str) -> str:
    if f.kind == "c":
        return f"c{name}_{f.ctype}({', '.join(args)})"
    return f"{name}({', '.join(args)})"


# ---------------------------------------------------------------- arithmetic


@operation("positive")
def _positive(f, a):
    return a


@operation("add")
def _add(f, a, b):
    return f"{a} | {b}" if f.kind == "b" else f"{a} + {b}"


@operation("subtract")
def _subtract(f, a, b):
    return f"{a} - {b}"


@operation("multiply")
def _multiply(f, a, b):
    if f.kind == "c":
        return _call(f, "mul", a, b)
    return f"{a} & {b}" if f.kind == "b" else f"{a} * {b}"


@operation("divide", "true_divide")
def _divide(f, a, b):
    return _call(f, "div", a, b) if f.kind == "c" else f"{a} / {b}"


@operation("negative")
def _negative(f, a):
    return f"-{a}"


@operation("reciprocal")
def _reciprocal(f, a):
    if f.kind == "c":
        return _call(f, "div", f"({f.ctype})(1, 0)", a)
    if f.kind in "iu":
        return f.select(
            f"{a} == {f.number(0)}", f.number(0), f"{f.number(1)} / {f.select(f'{a} == {f.number(0)}', f.number(1), a)}"
        )
    return f"{f.number(1.0)} / {a}"


@operation("square")
def _square(f, a):
    return _multiply(f, a, a)


@operation("absolute", "abs")
def _absolute(f, a):
    if f.kind in "bu":
        return a
    if f.kind == "i":
        return f.cast(f"abs({a})")
    return f"fabs({a})"


@operation("complex_absolute", scalar=True)
def _complex_absolute(f, a):
    return f"hypot({a}.x, {a}.y)"


@operation("real", scalar=True)
def _real(f, a):
    return f"{a}.x"


@operation("imag", scalar=True)
def _imag(f, a):
    return f"{a}.y"


@operation("complex_angle", scalar=True)
def _complex_angle(f, a):
    return f"atan2({a}.y, {a}.x)"


@operation("make_complex", scalar=True)
def _make_complex(f, a, b):
    return f"({compute_type(f.result)})({a}, {b})"


@operation("conjugate", "conj")
def _conjugate(f, a):
    return f"({f.ctype})({a}.x, -{a}.y)" if f.kind == "c" else a


@operation("sign")
def _sign(f, a):
    if f.kind == "b":
        return a
    if f.kind == "f":
        return f.select(f"isnan({a})", a, f"sign({a})")
    if f.kind == "c":
        return f"csgn_{f.ctype}({a})"
    return f.select(
        f"{a} > {f.number(0)}",
        f.number(1),
        f.select(f"{a} < {f.number(0)}", f.number(-1 if f.kind == "i" else 0), f.number(0)),
    )


def _signed_division(f, a, b):
    """Quotient, and whether floor division takes one more from it, for integers; b is not 0."""
    quotient = f"({a} / {b})"
    return quotient, f.both(f"{quotient} * {b} != {a}", f"({a} < {f.number(0)}) != ({b} < {f.number(0)})")


@operation("floor_divide")
def _floor_divide(f, a, b):
    if f.kind in "fb":
        return f"floor_divide_{f.ctype}({a}, {b})" if f.kind == "f" else f"({b} ? {a} : 0)"
    return f"floor_divide_{f.ctype}({a}, {b})"


@operation("remainder", "mod")
def _remainder(f, a, b):
    return f"remainder_{f.ctype}({a}, {b})"


@operation("fmod")
def _fmod(f, a, b):
    return f"fmod({a}, {b})" if f.kind == "f" else f"fmod_{f.ctype}({a}, {b})"


@operation("power")
def _power(f, a, b):
    if f.kind == "c":
        return _call(f, "pow", a, b)
    return f"pow({a}, {b})" if f.kind == "f" else f"power_{f.ctype}({a}, {b})"


SCALAR.update(("floor_divide", "remainder", "mod", "fmod"))


def needs_scalars(name: str, dtype: np.dtype) -> bool:
    """Return whether an operation has no vector form for a type."""
    if dtype.kind == "c" or name in SCALAR:
        return True
    return name == "power" and dtype.kind not in "fV"


@operation("maximum")
def _maximum(f, a, b):
    if f.kind == "b":
        return f"{a} | {b}"
    if f.kind in "iu":
        return f"max({a}, {b})"
    if f.kind == "c":
        return f"cmaximum_{f.ctype}({a}, {b})"
    return f.select(f.either(f"isnan({a})", f"isnan({b})"), f"{a} + {b}", f"fmax({a}, {b})")


@operation("minimum")
def _minimum(f, a, b):
    if f.kind == "b":
        return f"{a} & {b}"
    if f.kind in "iu":
        return f"min({a}, {b})"
    if f.kind == "c":
        return f"cminimum_{f.ctype}({a}, {b})"
    return f.select(f.either(f"isnan({a})", f"isnan({b})"), f"{a} + {b}", f"fmin({a}, {b})")


@operation("fmax")
def _fmax(f, a, b):
    return f"fmax({a}, {b})" if f.kind == "f" else _maximum(f, a, b)


@operation("fmin")
def _fmin(f, a, b):
    return f"fmin({a}, {b})" if f.kind == "f" else _minimum(f, a, b)


@operation("gcd", scalar=True)
def _gcd(f, a, b):
    return f"gcd_{f.ctype}({a}, {b})"


@operation("lcm", scalar=True)
def _lcm(f, a, b):
    return f"lcm_{f.ctype}({a}, {b})"


# ---------------------------------------------------------------- functions of the C library

_FUNCTIONS = {
    "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "cbrt": "cbrt", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
    "erf": "erf", "erfc": "erfc", "lgamma": "lgamma", "arctan2": "atan2", "hypot": "hypot", "copysign": "copysign",
    "nextafter": "nextafter", "fabs": "fabs",
}  # fmt: skip
_ROUNDING = {"floor", "ceil", "trunc", "rint"}


def _make_function(name, function):
    def row(f, *args):
        if f.kind in "biu" and name in _ROUNDING:
            return args[0]
        return _call(f, function, *args)

    return row


for _name, _function in _FUNCTIONS.items():
    OPERATIONS[_name] = _make_function(_name, _function)


def _exact_for_tiny(name):
    # PoCL's functions of floats are wrong by 5e-5 for tiny arguments.
    def row(f, a):
        if f.ctype != "float":
            return _call(f, name, a)
        return f.select(f"fabs({a}) < {f.number(1e-4)}", f.number(1.0) if name == "cos" else a, f"{name}({a})")

    return row


for _name in ("sin", "cos", "tan"):
    OPERATIONS[_name] = _exact_for_tiny(_name)


@operation("sigmoid")
def _sigmoid(f, a):
    if f.kind == "c":
        return _call(f, "div", f"({f.ctype})(1, 0)", f"(({f.ctype})(1, 0) + {_call(f, 'exp', f'(-{a})')})")
    return f"{f.number(1.0)} / ({f.number(1.0)} + exp(-{a}))"


@operation("logaddexp")
def _logaddexp(f, a, b):
    if f.kind == "c":
        return f"clogaddexp_{f.ctype}({a}, {b})"
    return f.select(
        f"{a} == {b}", f"{a} + {f.number(0.6931471805599453)}",
        f.select(f.either(f"isnan({a})", f"isnan({b})"), f"{a} + {b}", f"fmax({a}, {b}) + log1p(exp(-fabs({a} - {b})))"),
    )  # fmt: skip


@operation("logaddexp2")
def _logaddexp2(f, a, b):
    rest = f"log1p(exp2(-fabs({a} - {b}))) * {f.number(1.4426950408889634)}"
    unequal = f.select(f.either(f"isnan({a})", f"isnan({b})"), f"{a} + {b}", f"fmax({a}, {b}) + {rest}")
    return f.select(f"{a} == {b}", f"{a} + {f.number(1.0)}", unequal)


@operation("deg2rad", "radians")
def _deg2rad(f, a):
    return f"{a} * {f.number(0.017453292519943295)}"


@operation("rad2deg", "degrees")
def _rad2deg(f, a):
    return f"{a} * {f.number(57.29577951308232)}"


@operation("heaviside")
def _heaviside(f, a, b):
    step = f.select(f"{a} == {f.number(0.0)}", b, f.select(f"{a} > {f.number(0.0)}", f.number(1.0), f.number(0.0)))
    return f.select(f"isnan({a})", a, step)


@operation("frexp_mantissa", scalar=True)
def _frexp_mantissa(f, a):
    return f"frexp_mantissa_{f.ctype}({a})"


@operation("frexp_exponent", scalar=True)
def _frexp_exponent(f, a):
    return f"frexp_exponent_{f.ctype}({a})"


@operation("ldexp", scalar=True)
def _ldexp(f, a, b):
    return f"{a} * exp2({b})"


# ---------------------------------------------------------------- conditions


def _comparison(name, sign):
    @operation(name, predicate=True)
    def row(f, a, b):
        if f.kind == "c":
            if sign in ("==", "!="):
                joint = "&&" if sign == "==" else "||"
                return f"(uchar)({a}.x {sign} {b}.x {joint} {a}.y {sign} {b}.y)"
            return f"(uchar)({a}.x {sign} {b}.x || ({a}.x == {b}.x && {a}.y {sign} {b}.y))"
        return f.truth(f"{a} {sign} {b}")

    return row


for _name, _sign in {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}.items():  # fmt: skip
    _comparison(_name, _sign)


def _nonzero(f, a):
    if f.kind == "b":
        return a
    if f.kind == "c":
        return f"(uchar)({a}.x != 0 || {a}.y != 0)"
    return f.truth(f"{a} != {f.number(0)}" if f.kind != "f" else f"{a} != {f.number(0.0)}")


@operation("logical_and", predicate=True)
def _logical_and(f, a, b):
    return f"({_nonzero(f, a)} & {_nonzero(f, b)})"


@operation("logical_or", predicate=True)
def _logical_or(f, a, b):
    return f"({_nonzero(f, a)} | {_nonzero(f, b)})"


@operation("logical_xor", predicate=True)
def _logical_xor(f, a, b):
    return f"({_nonzero(f, a)} ^ {_nonzero(f, b)})"


@operation("logical_not", predicate=True)
def _logical_not(f, a):
    return f"({_nonzero(f, a)} ^ {'(uchar)1'})"


def _float_predicate(name, test):
    @operation(name, predicate=True)
    def row(f, a):
        if f.kind == "c":
            joint = "&&" if name == "isfinite" else "||"
            return f"(uchar)({test.format(f'{a}.x')} {joint} {test.format(f'{a}.y')})"
        if f.kind != "f":
            held = name == "isfinite"
            return f"({vector('uchar', f.width)})({int(held)})"
        return f.truth(test.format(a))

    return row


_float_predicate("isnan", "isnan({})")
_float_predicate("isinf", "isinf({})")
_float_predicate("isfinite", "isfinite({})")


@operation("signbit", predicate=True)
def _signbit(f, a):
    return f.truth(f"signbit({a})") if f.kind == "f" else f.truth(f"{a} < {f.number(0)}")


# ---------------------------------------------------------------- bits


@operation("bitwise_and")
def _and(f, a, b):
    return f"{a} & {b}"


@operation("bitwise_or")
def _or(f, a, b):
    return f"{a} | {b}"


@operation("bitwise_xor")
def _xor(f, a, b):
    return f"{a} ^ {b}"


@operation("invert", "bitwise_not")
def _invert(f, a):
    return f"{a} ^ (uchar)1" if f.kind == "b" else f"~{a}"


def _bits(f):
    return f.dtype.itemsize * 8


@operation("left_shift")
def _left_shift(f, a, b):
    # C says nothing of counts outside the width; NumPy and PyTorch give 0.
    outside = f.either(f"{b} < {f.number(0)}", f"{b} >= {f.number(_bits(f))}")
    return f.select(outside, f.number(0), f"{a} << ({b} & {f.number(_bits(f) - 1)})")


@operation("right_shift")
def _right_shift(f, a, b):
    outside = f.either(f"{b} < {f.number(0)}", f"{b} >= {f.number(_bits(f))}")
    filled = f"{a} >> {f.number(_bits(f) - 1)}" if f.kind == "i" else f.number(0)
    return f.select(outside, filled, f"{a} >> ({b} & {f.number(_bits(f) - 1)})")


# ---------------------------------------------------------------- what is written for one element at a time

_INTEGER_SOURCE = """
inline T floor_divide_T(T a, T b) {
  if (b == 0) return 0;
  T q = a / b; return (q * b != a && ((a < 0) != (b < 0))) ? q - 1 : q; }
inline T remainder_T(T a, T b) { if (b == 0) return 0; T r = a % b; return (r != 0 && ((r < 0) != (b < 0))) ? r + b : r; }
inline T fmod_T(T a, T b) { return b == 0 ? (T)0 : (T)(a % b); }
inline T power_T(T a, T n) {
  if (n < 0) return a == 1 ? 1 : (a == (T)-1 ? ((n & 1) ? (T)-1 : (T)1) : 0);
  T r = 1; while (n > 0) { if (n & 1) r *= a; a *= a; n >>= 1; } return r; }
inline T gcd_T(T a, T b) { a = a < 0 ? -a : a; b = b < 0 ? -b : b; while (b != 0) { T t = a % b; a = b; b = t; } return a; }
inline T lcm_T(T a, T b) { T g = gcd_T(a, b); a = a < 0 ? -a : a; b = b < 0 ? -b : b; return g == 0 ? (T)0 : (T)(a / g * b); }
"""
_FLOAT_SOURCE = """
inline T remainder_T(T a, T b) {
  T r = fmod(a, b); if (b == 0) return r;
  if (r != 0) { if ((b < 0) != (r < 0)) r += b; } else r = copysign((T)0, b);
  return r; }
inline T floor_divide_T(T a, T b) {
  if (b == 0) return a / b;
  T r = fmod(a, b), q = (a - r) / b;
  if (r != 0) { if ((b < 0) != (r < 0)) q -= 1; }
  if (q == 0) return copysign((T)0, a / b);
  T w = floor(q); return q - w > (T)0.5 ? w + 1 : w; }
inline T frexp_mantissa_T(T a) { int e; return frexp(a, &e); }
inline int frexp_exponent_T(T a) { int e; frexp(a, &e); return isfinite(a) ? e : 0; }
"""


def helper_source(names: set[tuple[str, np.dtype]]) -> str:
    """Return the C functions that operations (name, dtype) call."""
    parts = []
    dtypes = {d for _, d in names}
    if any(d.kind == "c" for d in dtypes):
        for scalar in ("float", "double"):
            if any(compute_type(d) == scalar + "2" for d in dtypes if d.kind == "c"):
                parts.append(COMPLEX_SOURCE.replace("C_", scalar + "2").replace("R_", scalar))
    needed = {"floor_divide", "remainder", "mod", "fmod", "power", "gcd", "lcm", "frexp_mantissa", "frexp_exponent"}
    done = set()
    for name, dtype in names:
        if name in needed and dtype.kind != "c" and dtype != BOOL:
            ctype = compute_type(dtype)
            if ctype not in done:
                done.add(ctype)
                parts.append((_FLOAT_SOURCE if dtype.kind in "fV" else _INTEGER_SOURCE).replace("T", ctype))
    return "".join(parts)


def where_expression(dtype: np.dtype, width: int, condition: str, a: str, b: str) -> str:
    """Return `a` where elements of type bool hold, else `b`."""
    if width == 1:
        return f"({condition} ? {a} : {b})"
    mask = MASK_TYPE[compute_type(dtype)]
    return f"select({b}, {a}, convert_{mask}{width}({condition}) != ({mask}{width})(0))"


__all__ = ["BFLOAT_SOURCE", "OPERATIONS", "PREDICATES", "Form", "helper_source", "needs_scalars", "where_expression"]
