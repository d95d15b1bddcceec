"""Type promotion: the type of a result from the types of the operands."""

from __future__ import annotations

import numpy as np

from minitorch.core import dtype as _dtypes
from minitorch.core.dtype import dtype, from_numpy_dtype, on_default_dtype_change
from minitorch.core.symbolic import is_symbolic, python_type

BOOL, INTEGER, FLOAT, COMPLEX = range(4)

_BAREBONES = ("uint16", "uint32", "uint64")  # types that promote with floats and nothing else


def _float8(d: dtype) -> bool:
    return d.name.startswith("float8")


def _compute(a: dtype, b: dtype) -> dtype:
    """Return the least type that holds the values of both, in PyTorch's order of types."""
    if a is b:
        return a
    if a.category == _dtypes.QUANTIZED or b.category == _dtypes.QUANTIZED:
        raise RuntimeError(
            f"promoteTypes with quantized numbers is not handled: offending types: {a.scalar_name} {b.scalar_name}. "
            "dequantize() first"
        )
    if _float8(a) or _float8(b):
        raise RuntimeError(
            "Promotion for Float8 Types is not supported, attempted to promote "
            f"{a.scalar_name} and {b.scalar_name}"
        )
    if a.category > b.category:
        a, b = b, a
    if a.name in _BAREBONES or b.name in _BAREBONES:
        if b.category == FLOAT:
            return b
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{a.scalar_name} and {b.scalar_name}"
        )
    if a.category != b.category:
        if b.category == COMPLEX and a is _dtypes.float64:
            return _dtypes.complex128
        return b
    if a.itemsize != b.itemsize:
        return a if a.itemsize > b.itemsize else b
    if a.category == FLOAT:  # float16 with bfloat16
        return _dtypes.float32
    return _dtypes.int16  # uint8 with int8


_TABLE: dict[tuple[dtype, dtype], dtype] = {}


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """Return the smallest type that both types can be cast to.

    Raises
    ------
    RuntimeError
        For float8 with anything else, and uint16, uint32, uint64 with bool, integers and
        complex: these do not promote.
    """
    found = _TABLE.get((type1, type2))
    if found is None:
        for d in (type1, type2):
            if not isinstance(d, dtype):
                raise TypeError(f"promote_types(): expected a dtype, not {type(d).__name__}")
        found = _TABLE[type1, type2] = _compute(type1, type2)
    return found


def can_cast(from_: dtype, to: dtype) -> bool:
    """Return whether a result of type `from_` may be written into a tensor of type `to`.

    Sizes do not matter, only kinds: complex to real, floating point to integer, and anything
    to bool are refused.
    """
    return from_.category <= to.category or to.category == INTEGER == from_.category


# ---------------------------------------------------------------- operands

# The three kinds of operand, strongest first.  A weaker kind changes the result only where
# its category is higher.
DIMENSIONED, ZERO_DIM, NUMBER = range(3)

_NUMBER_TYPES = frozenset((bool, int, float, complex))

_cache: dict[tuple, np.dtype] = {}
_pair_cache: dict[tuple, np.dtype] = {}


def _forget(default_dtype: dtype) -> None:
    _cache.clear()
    _pair_cache.clear()


on_default_dtype_change(_forget)


def number_dtype(number_type: type) -> dtype:
    """Return the type that a Python number of `number_type` has by itself."""
    if issubclass(number_type, bool):
        return _dtypes.bool_
    if issubclass(number_type, int):
        return _dtypes.int64
    if issubclass(number_type, float):
        return _dtypes.get_default_dtype()
    if issubclass(number_type, complex):
        return _dtypes.get_default_complex_dtype()
    raise TypeError(f"expected a tensor or a number, not {number_type.__name__}")


def _key(operand):
    """Return what of `operand` decides: a number's Python type, or (dtype, has dimensions)."""
    kind = type(operand)
    if kind in _NUMBER_TYPES:
        return kind
    np_dtype = getattr(operand, "dtype", None)
    if np_dtype is not None:
        return np_dtype, operand.ndim != 0
    for number_type in (bool, int, float, complex):
        if isinstance(operand, number_type):
            return number_type
    if is_symbolic(operand):
        return python_type(operand)
    raise TypeError(f"expected an array or a number, not {kind.__name__}")


def _stronger(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """Return the result of operands of type `higher` with operands of a weaker kind."""
    if higher is None:
        return lower
    if lower is None or higher.category == COMPLEX:
        return higher
    if higher.category == FLOAT:
        return higher.to_complex() if lower.category == COMPLEX else higher
    if lower.category == COMPLEX:
        return lower
    if higher.category == BOOL or lower.category == FLOAT:
        return promote_types(higher, lower)
    return higher


def _resolve(keys) -> np.dtype:
    by_kind: list[dtype | None] = [None, None, None]
    for key in keys:
        if isinstance(key, tuple):
            kind = DIMENSIONED if key[1] else ZERO_DIM
            own = from_numpy_dtype(key[0])
        else:
            kind = NUMBER
            own = number_dtype(key)
        current = by_kind[kind]
        by_kind[kind] = own if current is None else promote_types(current, own)
    result = _stronger(by_kind[DIMENSIONED], _stronger(by_kind[ZERO_DIM], by_kind[NUMBER]))
    if result is None:
        raise TypeError("result_type() needs at least one operand")
    return result.np


def result_type(*operands) -> np.dtype:
    """Return the NumPy dtype of the result of an operation on `operands`.

    Parameters
    ----------
    *operands : handle or number
        Arrays (anything with a NumPy `dtype` and `ndim`) and Python numbers.

    Notes
    -----
    Arrays with dimensions come before 0-dim arrays, those before Python numbers.  A weaker
    operand changes the result only if its category (bool, integer, floating point, complex)
    is higher: an int64 array plus ``1.5`` is of the default dtype, a float16 array plus a
    0-dim float64 array stays float16.
    """
    key = tuple(map(_key, operands))
    found = _cache.get(key)
    if found is None:
        found = _cache[key] = _resolve(key)
    return found


def result_type_of_two(a, b) -> np.dtype:
    """Return ``result_type(a, b)``: the same, for the common case."""
    kind_a = type(a)
    kind_b = type(b)
    if kind_b in _NUMBER_TYPES:
        if kind_a in _NUMBER_TYPES:
            key = kind_a, kind_b
        else:
            key = a.dtype, a.ndim != 0, kind_b
    elif kind_a in _NUMBER_TYPES:
        key = b.dtype, b.ndim != 0, kind_a
    else:
        try:
            dtype_a = a.dtype
            dtype_b = b.dtype
        except AttributeError:  # a symbolic number
            return result_type(a, b)
        if dtype_a is dtype_b:
            return dtype_a
        key = dtype_a, a.ndim != 0, dtype_b, b.ndim != 0
    found = _pair_cache.get(key)
    if found is None:
        found = _pair_cache[key] = _resolve((_key(a), _key(b)))
    return found
