"""The C types of NumPy's dtypes: how elements lie in memory, and what kernels compute with.

float16 and bfloat16 are storage: they are read into float and rounded when written, by
functions that OpenCL C 1.2 has without any extension.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from minitorch.backends import NoKernel

BOOL = np.dtype(np.bool_)
INT32 = np.dtype(np.int32)
INT64 = np.dtype(np.int64)
UINT8 = np.dtype(np.uint8)
FLOAT16 = np.dtype(np.float16)
FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
COMPLEX64 = np.dtype(np.complex64)
COMPLEX128 = np.dtype(np.complex128)

_COMPUTE = {
    BOOL: "uchar", np.dtype(np.int8): "char", UINT8: "uchar", np.dtype(np.int16): "short",
    np.dtype(np.uint16): "ushort", INT32: "int", np.dtype(np.uint32): "uint", INT64: "long",
    np.dtype(np.uint64): "ulong", FLOAT16: "float", FLOAT32: "float", FLOAT64: "double", BFLOAT16: "float",
    COMPLEX64: "float2", COMPLEX128: "double2",
}  # fmt: skip
_STORAGE = {**_COMPUTE, FLOAT16: "half", BFLOAT16: "ushort"}
# The signed integer of the same width, which comparisons of vectors give and `select` takes.
MASK_TYPE = {
    "uchar": "char", "char": "char", "ushort": "short", "short": "short", "uint": "int", "int": "int", "float": "int",
    "ulong": "long", "long": "long", "double": "long",
}  # fmt: skip


def compute_type(dtype: np.dtype) -> str:
    """Return the C type of one element in an expression.

    Raises
    ------
    NoKernel
        If kernels do not know the dtype (float8).
    """
    try:
        return _COMPUTE[dtype]
    except KeyError:
        raise NoKernel(f"no OpenCL kernel knows elements of type {dtype}") from None


def storage_type(dtype: np.dtype) -> str:
    """Return the C type of one element in memory.

    Raises
    ------
    NoKernel
        If kernels do not know the dtype (float8).
    """
    try:
        return _STORAGE[dtype]
    except KeyError:
        raise NoKernel(f"no OpenCL kernel knows elements of type {dtype}") from None


def is_narrow(dtype: np.dtype) -> bool:
    """Return whether elements are rounded when they are stored."""
    return dtype in (FLOAT16, BFLOAT16)


def is_complex(dtype: np.dtype) -> bool:
    """Return whether elements are pairs of numbers."""
    return dtype.kind == "c"


def load(dtype: np.dtype, pointer: str, index: str, width: int = 1) -> str:
    """Return the C expression of `width` neighbouring elements at ``pointer + index``, in the type to compute in."""
    if dtype == FLOAT16:
        return f"vload_half({index}, {pointer})" if width == 1 else f"vload_half{width}(0, {pointer} + ({index}))"
    if dtype == BFLOAT16:
        if width == 1:
            return f"as_float((uint){pointer}[{index}] << 16)"
        return f"as_float{width}(convert_uint{width}(vload{width}(0, {pointer} + ({index}))) << 16)"
    if width == 1:
        return f"{pointer}[{index}]"
    return f"vload{width}(0, {pointer} + ({index}))"


def store(dtype: np.dtype, pointer: str, index: str, value: str, width: int = 1) -> str:
    """Return the C statement that writes `width` neighbouring elements, rounding to nearest even."""
    if dtype == FLOAT16:
        if width == 1:
            return f"vstore_half_rte({value}, {index}, {pointer});"
        return f"vstore_half{width}_rte({value}, 0, {pointer} + ({index}));"
    if dtype == BFLOAT16:
        suffix = "" if width == 1 else str(width)
        value = f"to_bfloat{suffix}({value})"
    if width == 1:
        return f"{pointer}[{index}] = {value};"
    return f"vstore{width}({value}, 0, {pointer} + ({index}));"


# NaN keeps its sign and becomes quiet; all else rounds to nearest even.
BFLOAT_SOURCE = """
inline ushort to_bfloat(float x) {
  uint u = as_uint(x);
  return isnan(x) ? (ushort)((u >> 16) | 0x40u) : (ushort)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}
inline ushort16 to_bfloat16(float16 x) {
  uint16 u = as_uint16(x);
  uint16 r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return convert_ushort16(select(r, (u >> 16) | 0x40u, isnan(x)));
}
"""


def vector(ctype: str, width: int) -> str:
    """Return the name of a C vector type; `width` 1 is the type itself."""
    return ctype if width == 1 else f"{ctype}{width}"


def convert(value: str, source: np.dtype, target: np.dtype, width: int = 1) -> str:
    """Return the C expression of a cast between the types that dtypes are computed in."""
    a, b = compute_type(source), compute_type(target)
    if target == BOOL:
        if source == BOOL:
            return value
        if source.kind == "c":
            return f"(uchar)({value}.x != 0 || {value}.y != 0)"
        return truth(f"{value} != 0" if width == 1 else f"{value} != ({vector(a, width)})(0)", width)
    if source.kind == "c":
        if target.kind == "c":
            return value if a == b else f"convert_{b}({value})"
        return convert(f"{value}.x", np.dtype(source.type(0).real.dtype), target)
    if target.kind == "c":
        part = b[:-1]
        return f"({b})(({part}){value}, 0)"
    if a == b:
        return value
    return f"({b}){value}" if width == 1 else f"convert_{b}{width}({value})"


def truth(condition: str, width: int) -> str:
    """Return a condition as elements 0 and 1 of type uchar; a vector's is -1 where it holds."""
    if width == 1:
        return f"(uchar)({condition})"
    return f"(convert_uchar{width}({condition}) & (uchar)1)"
