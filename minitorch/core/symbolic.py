"""`SymInt`, `SymFloat`, `SymBool`: numbers that are an expression of sizes not known yet.

They compute like the Python numbers that they stand for.  Where a Python number is needed after all, in a
condition, an index of a list, or a call of C code, they give the value that the sizes have now (the *hint*), and their
shape environment writes down that this was used (a *guard*).  An expression without unknowns is an ordinary number.

Here are the numbers alone; `fake.shape_env` has their expressions, hints and guards, and is what they ask.
"""

from __future__ import annotations

import math
from typing import Any

Number = (int, float)


class Symbolic:
    """What `SymInt`, `SymFloat` and `SymBool` have in common.

    Attributes
    ----------
    node : object
        The expression: ``node.expr``, ``node.hint``, ``node.shape_env``; made by the shape environment.
    """

    __slots__ = ("__weakref__", "node")

    def __init__(self, node: Any):
        self.node = node

    def __repr__(self) -> str:
        return str(self.node.expr)

    def __hash__(self) -> int:
        return hash(self.node.expr)

    def __eq__(self, other: Any) -> Any:
        return _apply("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        return _apply("ne", self, other)

    def __bool__(self) -> bool:
        return bool(self.node.evaluate())

    def __deepcopy__(self, memo: dict) -> Symbolic:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"{self!r} is a symbolic size of a trace, and cannot be pickled; int() gives its value now")


class SymBool(Symbolic):
    """A condition on sizes; in an ``if`` it becomes a guard.  `sym_not`, ``&`` and ``|`` combine without one."""

    __slots__ = ()

    def __int__(self) -> int:
        return int(bool(self))

    def __and__(self, other: Any) -> Any:
        return _apply("and", self, other)

    def __or__(self, other: Any) -> Any:
        return _apply("or", self, other)

    __rand__ = __and__
    __ror__ = __or__

    def __sym_not__(self) -> Any:
        return self.node.apply("not", self)


class _Arithmetic(Symbolic):
    """The arithmetic of `SymInt` and `SymFloat`."""

    __slots__ = ()
    __hash__ = Symbolic.__hash__

    def __add__(self, other: Any) -> Any:
        return _apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return _apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return _apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return _apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return _apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return _apply("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return _apply("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _apply("truediv", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _apply("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _apply("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return _apply("mod", self, other)

    def __rmod__(self, other: Any) -> Any:
        return _apply("mod", other, self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return _apply("pow", self, other)

    def __rpow__(self, other: Any) -> Any:
        return _apply("pow", other, self)

    def __neg__(self) -> Any:
        return self.node.apply("neg", self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self.node.apply("abs", self)

    def __lt__(self, other: Any) -> Any:
        return _apply("lt", self, other)

    def __le__(self, other: Any) -> Any:
        return _apply("le", self, other)

    def __gt__(self, other: Any) -> Any:
        return _apply("gt", self, other)

    def __ge__(self, other: Any) -> Any:
        return _apply("ge", self, other)

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __int__(self) -> int:
        return int(self.node.evaluate())

    def __float__(self) -> float:
        return float(self.node.evaluate())

    def __complex__(self) -> complex:
        return complex(self.node.evaluate())

    def __sym_max__(self, other: Any) -> Any:
        return _apply("max", self, other)

    def __sym_min__(self, other: Any) -> Any:
        return _apply("min", self, other)

    def __sym_float__(self) -> Any:
        return self.node.apply("float", self)


class SymInt(_Arithmetic):
    """An integer made of sizes that are not known yet.

    ``int(n)``, and whatever needs an int, gives its value now and adds the guard that it is this value.
    """

    __slots__ = ()

    def __index__(self) -> int:
        return int(self.node.evaluate())

    def __trunc__(self) -> Any:
        return self

    __floor__ = __trunc__
    __ceil__ = __trunc__
    __sym_int__ = __trunc__

    def __round__(self, ndigits: Any = None) -> Any:
        return self

    def __lshift__(self, other: Any) -> Any:
        return self * 2**other

    def __rshift__(self, other: Any) -> Any:
        return self // 2**other

    def __and__(self, other: Any) -> int:
        return int(self) & int(other)

    def __or__(self, other: Any) -> int:
        return int(self) | int(other)

    def __xor__(self, other: Any) -> int:
        return int(self) ^ int(other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def bit_length(self) -> int:
        return int(self).bit_length()

    def is_integer(self) -> bool:
        return True

    @property
    def real(self) -> SymInt:
        return self


class SymFloat(_Arithmetic):
    """A floating-point number made of sizes that are not known yet."""

    __slots__ = ()

    def __trunc__(self) -> Any:
        return self.node.apply("trunc", self)

    def __floor__(self) -> Any:
        return self.node.apply("floor", self)

    def __ceil__(self) -> Any:
        return self.node.apply("ceil", self)

    __sym_int__ = __trunc__

    def __round__(self, ndigits: Any = None) -> Any:
        return round(float(self), ndigits)

    def is_integer(self) -> bool:
        return float(self).is_integer()

    @property
    def real(self) -> SymFloat:
        return self


def _apply(name: str, a: Any, b: Any) -> Any:
    """Apply a binary operation to operands of which at least one is symbolic."""
    for operand in (a, b):
        if not isinstance(operand, (Symbolic, *Number)):
            return NotImplemented
    return (a if isinstance(a, Symbolic) else b).node.apply(name, a, b)


def is_symbolic(value: Any) -> bool:
    """Return whether a value is a symbolic number."""
    return isinstance(value, Symbolic)


def python_type(value: Any) -> type:
    """Return the type of a number; of a symbolic one that of the numbers it stands for."""
    if isinstance(value, Symbolic):
        return bool if isinstance(value, SymBool) else int if isinstance(value, SymInt) else float
    return type(value)


# -- public functions: like Python's, without a guard for symbolic numbers ---------------------


def sym_int(a: Any) -> Any:
    """Return a number rounded towards zero, as ``int(a)`` does."""
    return a.__sym_int__() if isinstance(a, (SymInt, SymFloat)) else int(a)


def sym_float(a: Any) -> Any:
    """Return a number as a floating-point one, as ``float(a)`` does."""
    return a.__sym_float__() if isinstance(a, _Arithmetic) else float(a)


def sym_not(a: Any) -> Any:
    """Return the negation of a condition, as ``not a`` does.

    Examples
    --------
    >>> minitorch.sym_not(True)
    False
    """
    return a.__sym_not__() if isinstance(a, SymBool) else not a


def sym_max(a: Any, b: Any) -> Any:
    """Return the larger of two numbers; a float if either is one.

    Examples
    --------
    >>> minitorch.sym_max(2, 3)
    3
    """
    return _extreme("max", max, a, b)


def sym_min(a: Any, b: Any) -> Any:
    """Return the smaller of two numbers; a float if either is one."""
    return _extreme("min", min, a, b)


def _extreme(name: str, function: Any, a: Any, b: Any) -> Any:
    if isinstance(a, Symbolic) or isinstance(b, Symbolic):
        result = _apply(name, a, b)
        if result is NotImplemented:
            raise TypeError(f"sym_{name}(): expected numbers, not {type(a).__name__} and {type(b).__name__}")
        return result
    result = function(a, b)
    return float(result) if isinstance(a, float) or isinstance(b, float) else result


def sym_sum(args: Any) -> Any:
    """Return the sum of a sequence of numbers."""
    return sum(args)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """Return `t` if the condition `b` holds, else `f`; all three may be symbolic."""
    return b.node.apply("ite", b, t, f) if isinstance(b, SymBool) else (t if b else f)


def sym_sqrt(a: Any) -> Any:
    """Return the square root of a number."""
    return a.node.apply("sqrt", a) if isinstance(a, _Arithmetic) else math.sqrt(a)
