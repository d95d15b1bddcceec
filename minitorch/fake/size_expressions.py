"""Expressions of sizes: how Python's arithmetic becomes SymPy's, and back.

SymPy does the algebra.  Where its functions have other rules than Python's integers, there is a function of our own: `FloorDiv`
and `TrueDiv` (which does not turn ``a / b * b`` into ``a``, as floating-point numbers do not).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

try:
    import sympy
except ModuleNotFoundError as error:  # pragma: no cover - depends on the installation
    raise ModuleNotFoundError(
        "symbolic sizes are expressions of SymPy, which is not installed: pip install 'minitorch[symbolic]'", name="sympy"
    ) from error

from minitorch.core.symbolic import SymBool, SymFloat, SymInt


class FloorDiv(sympy.Function):
    """``base // divisor`` of integers."""

    nargs = (2,)
    is_integer = True

    @classmethod
    def eval(cls, base: Any, divisor: Any) -> Any:
        if divisor.is_zero:
            raise ZeroDivisionError("division by zero of a symbolic size")
        if base.is_zero:
            return sympy.S.Zero
        if base.is_Integer and divisor.is_Integer:
            return sympy.Integer(int(base) // int(divisor))
        if divisor == 1:
            return base
        if isinstance(base, FloorDiv) and divisor.is_positive:  # (a // b) // c is a // (b * c)
            return FloorDiv(base.args[0], base.args[1] * divisor)
        # Parts of a sum that the divisor divides come out of the division.
        whole, rest = sympy.S.Zero, sympy.S.Zero
        for term in sympy.Add.make_args(sympy.expand(base)):
            quotient = term / divisor
            if (quotient.is_integer and not quotient.has(sympy.Pow)) or _divides(divisor, term):
                whole += quotient
            else:
                rest += term
        if rest == 0:
            return whole
        if whole != 0:
            return whole + FloorDiv(rest, divisor)
        common = sympy.gcd(base, divisor)
        if common not in (1, 0) and common.is_positive:
            return FloorDiv(sympy.expand(base / common), sympy.expand(divisor / common))
        return None

    def _eval_is_nonnegative(self) -> Any:
        base, divisor = self.args
        return True if base.is_nonnegative and divisor.is_positive else None

    def _sympystr(self, printer: Any) -> str:
        base, divisor = self.args
        return f"({printer.parenthesize(base, 50)}//{printer.parenthesize(divisor, 60)})"


def _divides(divisor: Any, term: Any) -> bool:
    quotient = sympy.cancel(term / divisor)
    return sympy.denom(quotient) == 1 and bool(quotient.is_integer)


class TrueDiv(sympy.Function):
    """``a / b``, a floating-point number."""

    nargs = (2,)
    is_real = True

    @classmethod
    def eval(cls, a: Any, b: Any) -> Any:
        if b.is_zero:
            raise ZeroDivisionError("division by zero of a symbolic size")
        return sympy.Float(float(a) / float(b)) if a.is_number and b.is_number else None

    def _eval_is_positive(self) -> Any:
        return True if all(a.is_positive for a in self.args) else None

    def _sympystr(self, printer: Any) -> str:
        a, b = self.args
        return f"({printer.parenthesize(a, 50)}/{printer.parenthesize(b, 60)})"


class ToFloat(sympy.Function):
    """``float(a)`` of an integer."""

    nargs = (1,)
    is_real = True

    @classmethod
    def eval(cls, a: Any) -> Any:
        return sympy.Float(float(a)) if a.is_number else None

    def _eval_is_positive(self) -> Any:
        return self.args[0].is_positive


def _floored_difference(a: Any, b: Any) -> Any:
    """Return ``a % b`` with Python's sign, which is SymPy's."""
    if b.is_zero:
        raise ZeroDivisionError("modulo by zero of a symbolic size")
    return sympy.Mod(a, b)


def _power(a: Any, b: Any) -> Any:
    return sympy.Pow(a, b)


def _same(*kinds: type) -> type:
    return float if float in kinds else int


def _always(kind: type) -> Callable[..., type]:
    return lambda *kinds: kind


_to_bool, _to_int, _to_float = _always(bool), _always(int), _always(float)

# Name of an operation -> (function of SymPy expressions, kind of the result given the kinds of the operands).
OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[..., type]]] = {
    "add": (operator.add, _same),
    "sub": (operator.sub, _same),
    "mul": (operator.mul, _same),
    "neg": (operator.neg, _same),
    "abs": (sympy.Abs, _same),
    "max": (sympy.Max, _same),
    "min": (sympy.Min, _same),
    "truediv": (TrueDiv, _to_float),
    "floordiv": (FloorDiv, _to_int),
    "mod": (_floored_difference, _same),
    "pow": (_power, _same),
    "float": (ToFloat, _to_float),
    "sqrt": (sympy.sqrt, _to_float),
    "floor": (sympy.floor, _to_int),
    "ceil": (sympy.ceiling, _to_int),
    "trunc": (lambda a: sympy.Piecewise((sympy.floor(a), a >= 0), (sympy.ceiling(a), True)), _to_int),
    "eq": (sympy.Eq, _to_bool),
    "ne": (sympy.Ne, _to_bool),
    "lt": (sympy.Lt, _to_bool),
    "le": (sympy.Le, _to_bool),
    "gt": (sympy.Gt, _to_bool),
    "ge": (sympy.Ge, _to_bool),
    "and": (sympy.And, _to_bool),
    "or": (sympy.Or, _to_bool),
    "not": (sympy.Not, _to_bool),
    "ite": (lambda b, t, f: sympy.Piecewise((t, b), (f, True)), lambda b, t, f: _same(t, f)),
}

SYMBOLIC_TYPES: dict[type, Any] = {int: SymInt, float: SymFloat, bool: SymBool}


def expression_of(value: Any) -> Any:
    """Return the SymPy expression of a number, symbolic or not."""
    node = getattr(value, "node", None)
    if node is not None:
        return node.expr
    if isinstance(value, bool):
        return sympy.true if value else sympy.false
    return sympy.Integer(value) if isinstance(value, int) else sympy.Float(value)


def python_value(expr: Any, kind: type) -> Any:
    """Return an expression without unknowns as a Python number of type `kind`."""
    return kind(bool(expr)) if kind is bool else kind(expr)


def call_directly(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function: what `compute` does with each operation unless it is told otherwise."""
    return function(*args)


def compute(expr: Any, values: Mapping[Any, Any], call: Callable[..., Any] = call_directly, known: Any = None) -> Any:
    """Compute an expression with Python's operators.

    Parameters
    ----------
    expr : sympy.Expr
    values : mapping of sympy.Symbol to number
        What the unknowns are.
    call : callable
        ``call(function, *args)`` for each operation, with a function of the modules `operator` and `math` or a
        builtin: a tracer records it.
    known : dict, optional
        Expression -> value, for parts that occur several times; filled in.

    Raises
    ------
    KeyError
        For an unknown that has no value.
    """
    known = {} if known is None else known

    def go(part: Any) -> Any:
        if part in values:
            return values[part]
        if part not in known:
            known[part] = _compute_one(part, go, call)
        return known[part]

    return go(expr)


_BINARY: dict[Any, Callable] = {
    FloorDiv: operator.floordiv,
    TrueDiv: operator.truediv,
    sympy.Mod: operator.mod,
    sympy.Eq: operator.eq,
    sympy.Ne: operator.ne,
    sympy.StrictLessThan: operator.lt,
    sympy.LessThan: operator.le,
    sympy.StrictGreaterThan: operator.gt,
    sympy.GreaterThan: operator.ge,
}
_UNARY: dict[Any, Callable] = {
    ToFloat: float,
    sympy.Abs: operator.abs,
    sympy.floor: math.floor,
    sympy.ceiling: math.ceil,
    sympy.Not: operator.not_,
}


def _compute_one(part: Any, go: Callable, call: Callable) -> Any:
    """Compute one operation of an expression; `go` computes its operands."""
    kind = part.func
    if part.is_Symbol:
        raise KeyError(f"the size {part} has no value here")
    if part.is_Integer:
        return int(part)
    if part.is_Float or part.is_Rational:
        return float(part)
    if part in (sympy.true, sympy.false):
        return bool(part)
    if kind in _BINARY:
        return call(_BINARY[kind], go(part.args[0]), go(part.args[1]))
    if kind in _UNARY:
        return call(_UNARY[kind], go(part.args[0]))
    if kind is sympy.Add:
        # Positive terms first, so that a difference is a subtraction.
        terms = sorted(part.args, key=lambda term: term.could_extract_minus_sign())
        total = go(terms[0])
        for term in terms[1:]:
            if term.could_extract_minus_sign():
                total = call(operator.sub, total, go(-term))
            else:
                total = call(operator.add, total, go(term))
        return total
    if kind is sympy.Mul:
        factors = list(part.args)
        below = [f for f in factors if f.is_Pow and f.exp.is_negative]
        above = [f for f in factors if f not in below]
        result = go(above[0]) if above else 1
        for factor in above[1:]:
            result = call(operator.mul, result, go(factor))
        for factor in below:
            result = call(operator.truediv, result, go(1 / factor))
        return result
    if kind is sympy.Pow:
        base, exponent = part.args
        if exponent == sympy.Rational(1, 2):
            return call(math.sqrt, go(base))
        return call(operator.pow, go(base), go(exponent))
    if kind in (sympy.Max, sympy.Min):
        function = max if kind is sympy.Max else min
        result = go(part.args[0])
        for other in part.args[1:]:
            result = call(function, result, go(other))
        return result
    if kind in (sympy.And, sympy.Or):
        function = operator.and_ if kind is sympy.And else operator.or_
        result = go(part.args[0])
        for other in part.args[1:]:
            result = call(function, result, go(other))
        return result
    if kind is sympy.Piecewise:
        from minitorch.core.symbolic import sym_ite

        *cases, (last, _) = [(case[0], case[1]) for case in part.args]
        result = go(last)
        for value, condition in reversed(cases):
            result = call(sym_ite, go(condition), go(value), result)
        return result
    raise NotImplementedError(f"the expression {part} of symbolic sizes has no counterpart in Python: {kind.__name__}")
