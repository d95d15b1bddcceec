"""Data types: which there are, which result from several, and casts.

The standard's promotion looks at dtypes alone, where PyTorch's lets tensors with dimensions decide before those without;
and it has rules for the unsigned types of 16 to 64 bits, which PyTorch does not promote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import minitorch as mt
from minitorch.core.dtype import dtype as DType

SIGNED = (mt.int8, mt.int16, mt.int32, mt.int64)
UNSIGNED = (mt.uint8, mt.uint16, mt.uint32, mt.uint64)
REAL = (mt.float32, mt.float64)
COMPLEX = (mt.complex64, mt.complex128)

# Kind -> the standard's dtypes of it.
KINDS: dict[str, tuple[DType, ...]] = {
    "bool": (mt.bool,),
    "signed integer": SIGNED,
    "unsigned integer": UNSIGNED,
    "integral": SIGNED + UNSIGNED,
    "real floating": REAL,
    "complex floating": COMPLEX,
    "numeric": SIGNED + UNSIGNED + REAL + COMPLEX,
}

_SCALARS = (bool, int, float, complex)


def is_scalar(value: Any) -> bool:
    """Return whether `value` is a Python number."""
    return isinstance(value, _SCALARS)


def dtype_of(value: Any) -> DType:
    """Return the dtype of an array, or a dtype itself."""
    return value if isinstance(value, DType) else value.dtype


def _promote(a: DType, b: DType) -> DType:
    if a is b:
        return a
    if a in KINDS["integral"] and b in KINDS["integral"]:
        if a.is_signed == b.is_signed:
            return a if a.itemsize > b.itemsize else b
        signed, unsigned = (a, b) if a.is_signed else (b, a)
        size = max(signed.itemsize, 2 * unsigned.itemsize)
        for candidate in SIGNED:
            if candidate.itemsize == size:
                return candidate
        raise TypeError(
            f"result_type(): no integer type holds the values of {a} and {b}; cast one of them with astype()"
        )
    return mt.promote_types(a, b)


def _promote_scalar(kind: DType, scalar: complex) -> DType:
    """Return the type of an array of `kind` with a Python number: the array's, unless the number is of a higher kind."""
    if isinstance(scalar, bool):
        return kind
    if isinstance(scalar, int):
        return mt.int64 if kind is mt.bool else kind
    if isinstance(scalar, float):
        return kind if kind.is_floating_point or kind.is_complex else mt.get_default_dtype()
    if kind.is_complex:
        return kind
    return (kind if kind.is_floating_point else mt.get_default_dtype()).to_complex()


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that an operation on the arguments has, by the standard's promotion.

    Parameters
    ----------
    *arrays_and_dtypes : Tensor, dtype or number
        Python numbers count last, and by their kind alone.

    Raises
    ------
    ValueError
        If there is neither an array nor a dtype among them.
    TypeError
        If no type holds the values of all: uint64 with signed integers.

    Examples
    --------
    >>> import minitorch.array_api as xp
    >>> xp.result_type(xp.ones(3, dtype=xp.float32), xp.asarray(1.0, dtype=xp.float64))
    torch.float64
    """
    kinds = [dtype_of(value) for value in arrays_and_dtypes if not is_scalar(value)]
    if not kinds:
        raise ValueError(f"result_type(): expected an array or a dtype among the arguments, got {arrays_and_dtypes}")
    result = kinds[0]
    for kind in kinds[1:]:
        result = _promote(result, kind)
    for value in arrays_and_dtypes:
        if is_scalar(value):
            result = _promote_scalar(result, value)
    return result


def operands(name: str, *values: Any) -> list[Any]:
    """Return arrays and Python numbers as arrays of their common dtype, on one device.

    Raises
    ------
    TypeError
        If none of them is an array, or one is neither that nor a number.
    """
    device = None
    for value in values:
        if isinstance(value, mt.Tensor):
            device = value.device
        elif not is_scalar(value):
            raise TypeError(f"{name}(): expected arrays and Python numbers, got a {type(value).__name__}")
    if device is None:
        raise TypeError(f"{name}(): expected an array among the operands, got {', '.join(map(repr, values))}")
    kind = result_type(*values)
    return [
        value.to(kind) if isinstance(value, mt.Tensor) else mt.tensor(value, dtype=kind, device=device)
        for value in values
    ]


def can_cast(from_: Any, to: DType, /) -> bool:
    """Return whether `from_` (a dtype or an array) promotes to the dtype `to`."""
    try:
        return _promote(dtype_of(from_), to) is to
    except (TypeError, RuntimeError):
        return False


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Return whether `dtype` is of a kind: a dtype, the name of one of the standard's kinds, or any of a tuple of these.

    Raises
    ------
    ValueError
        If there is no kind of that name.
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype(): unknown kind {kind!r}; there are {', '.join(KINDS)}")
        # Also of the floating-point types that the standard does not have.
        if kind == "real floating" or (kind == "numeric" and dtype.is_floating_point):
            return dtype.is_floating_point
        return dtype in KINDS[kind]
    return dtype is kind


def astype(x: mt.Tensor, dtype: DType, /, *, copy: bool = True, device: Any = None) -> mt.Tensor:
    """Return `x` with another dtype: a copy, unless ``copy=False`` and it has that dtype and device.

    Raises
    ------
    TypeError
        If `x` is complex and `dtype` is not: take ``real`` or ``imag`` first.
    """
    if x.dtype.is_complex and not (dtype.is_complex or dtype is mt.bool):
        raise TypeError(f"astype(): {x.dtype} has no {dtype}; take real() or imag() first")
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


@dataclass(frozen=True)
class FInfo:
    """Limits of a floating-point type, as Python numbers; of a complex one, those of its parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IInfo:
    """Limits of an integer type."""

    bits: int
    max: int
    min: int
    dtype: DType


def finfo(type: Any, /) -> FInfo:
    """Return the limits of a floating-point dtype, or of an array's."""
    kind = dtype_of(type).to_real()
    found = mt.finfo(kind)
    return FInfo(found.bits, float(found.eps), float(found.max), float(found.min), float(found.smallest_normal), kind)


def iinfo(type: Any, /) -> IInfo:
    """Return the limits of an integer dtype, or of an array's."""
    kind = dtype_of(type)
    found = mt.iinfo(kind)
    return IInfo(found.bits, int(found.max), int(found.min), kind)
