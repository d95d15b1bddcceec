"""Shapes, types and argument errors of the factories."""

from __future__ import annotations

import math

import numpy as np

from minitorch.core.dtype import (
    complex64,
    complex128,
    finfo,
    from_numpy_dtype,
    get_default_complex_dtype,
    get_default_dtype,
)
from minitorch.core.memory_format import format_strides, preserve_format, preserved_strides
from minitorch.core.symbolic import is_symbolic, python_type, sym_int
from minitorch.ops.shapes.common import MetaArray, broadcast_shapes, check, contiguous_strides
from minitorch.ops.shapes.registry import shape

_BOOL = np.dtype(np.bool_)
_INT64 = np.dtype(np.int64)
# C's names of the types, which PyTorch's messages about overflow use.
C_NAMES = {
    "bool": "bool",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}
_COMPLEX_OF = {"e": complex64.np, "f": complex64.np, "d": complex128.np}


def np_dtype_of(dtype) -> np.dtype:
    """Return the NumPy dtype of a factory's ``dtype=``; None means the default dtype."""
    return (get_default_dtype() if dtype is None else dtype).np


def number_np_dtype(value) -> np.dtype:
    """Return the NumPy dtype of a tensor made of one Python number."""
    kind = python_type(value)
    if issubclass(kind, bool):
        return _BOOL
    if issubclass(kind, int):
        return _INT64
    if issubclass(kind, float):
        return get_default_dtype().np
    return get_default_complex_dtype().np


def fits(value, np_dtype) -> bool:
    """Return whether a Python number can become an element of `np_dtype` (it may lose digits)."""
    kind = np_dtype.kind
    if kind == "b" or is_symbolic(value):
        return True
    if isinstance(value, complex):
        if kind != "c":
            if value.imag != 0:
                return False
            value = value.real
        else:
            part = np.dtype(f"f{np_dtype.itemsize // 2}")
            return fits(value.real, part) and fits(value.imag, part)
    if kind in "iu":
        if not math.isfinite(value):
            return False
        limits = np.iinfo(np_dtype)
        low = limits.min
        if kind == "u" and isinstance(value, int):
            low = -limits.max  # wraps
        return low <= value <= limits.max
    if not isinstance(value, int) and not math.isfinite(value):
        return True
    if kind == "c":
        return fits(value, np.dtype(f"f{np_dtype.itemsize // 2}"))
    return abs(value) <= finfo(from_numpy_dtype(np_dtype)).max


def check_fits(value, np_dtype, name: str) -> None:
    """Raise unless a Python number can become an element of `np_dtype`."""
    if not fits(value, np_dtype):
        word = from_numpy_dtype(np_dtype).name
        raise RuntimeError(
            f"{name}(): value cannot be converted to type {C_NAMES.get(word, word)} without "
            f"overflow: {value!r}"
        )


def check_size(size, name: str) -> tuple:
    """Return `size` as a tuple; raise if one is negative or there are too many elements."""
    size = tuple(size)
    count = 1
    for n in size:
        if n < 0:
            raise RuntimeError(
                f"{name}(): Trying to create tensor with negative dimension {n}: {list(size)}"
            )
        count *= max(n, 1)  # PyTorch's strides of an empty tensor overflow too
    if not is_symbolic(count) and count >= 1 << 60:
        raise RuntimeError(f"{name}(): Storage size calculation overflowed with sizes={list(size)}")
    return size


def unsupported(name: str, np_dtype) -> NotImplementedError:
    """Return the error for an element type that a factory has no rule for."""
    word = from_numpy_dtype(np_dtype).scalar_name
    return NotImplementedError(f"{name}(): \"{name}_cpu\" not implemented for '{word}'")


def formatted(size, np_dtype, memory_format, name: str) -> MetaArray:
    """Return a new array in `memory_format` (None: contiguous)."""
    size = check_size(size, name)
    if memory_format is None:
        return MetaArray(size, np_dtype)
    return MetaArray(size, np_dtype, format_strides(size, np_dtype.itemsize, memory_format))


def like(array, dtype, memory_format) -> MetaArray:
    """Return a new array of the shape of `array`; by default in its order of dimensions."""
    np_dtype = array.dtype if dtype is None else dtype.np
    if memory_format is None or memory_format is preserve_format:
        strides = preserved_strides(
            tuple(array.shape), array.strides, array.dtype.itemsize, np_dtype.itemsize
        )
    else:
        strides = format_strides(tuple(array.shape), np_dtype.itemsize, memory_format)
    return MetaArray(array.shape, np_dtype, strides)


def strided_extent(size, stride, name: str) -> int:
    """Return how many elements of memory `size` and `stride` reach over.

    Raises
    ------
    RuntimeError
        If the two do not describe an array.
    """
    check(
        len(size) == len(stride),
        f"{name}(): dimensionality of sizes ({len(size)}) must match dimensionality of "
        f"strides ({len(stride)})",
    )
    check_size(size, name)
    if 0 in size:
        return 0
    if min(stride, default=0) < 0:
        raise RuntimeError(
            f"{name}(): Storage size calculation overflowed with sizes={list(size)} and "
            f"strides={list(stride)}: strides must not be negative"
        )
    return 1 + sum((n - 1) * s for n, s in zip(size, stride, strict=True))


def arange_plan(start, end, step, dtype, name: str = "arange"):
    """Return (start, step, count, NumPy dtype) of a range.

    Raises
    ------
    RuntimeError
        If the step is 0 or points away from `end`, or a bound is not finite.
    """
    for bound in (start, end, step):
        if isinstance(bound, complex):
            raise RuntimeError(
                f"{name}(): value cannot be converted to type double without overflow: {bound}"
            )
    all_ints = all(issubclass(python_type(bound), int) for bound in (start, end, step))
    if dtype is None:
        np_dtype = _INT64 if all_ints else get_default_dtype().np
    else:
        np_dtype = dtype.np
        if np_dtype.kind in "bc":
            raise unsupported(name, np_dtype)
    if step == 0:
        raise RuntimeError(f"{name}(): step must be nonzero")
    if not all(is_symbolic(bound) or math.isfinite(bound) for bound in (start, end)):
        raise RuntimeError(f"{name}(): unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError(
            f"{name}(): upper bound and lower bound inconsistent with step sign: "
            f"from {start} to {end} by {step}"
        )
    if np_dtype.kind not in "iu":
        count = -((start - end) // step) if all_ints else math.ceil((end - start) / step)
        return start, step, count, np_dtype
    for bound in (start, end, step):
        check_fits(bound, np_dtype if not is_symbolic(bound) and abs(bound) >= 1 << 63 else _INT64, name)
    if np_dtype.itemsize == 8:  # counted in integers; narrower types in float64, like PyTorch
        start, end, step, all_ints = sym_int(start), sym_int(end), sym_int(step), True
    if sym_int(step) == 0:
        raise ValueError(f"{name}(): step must be nonzero, but {step} is 0 as a {from_numpy_dtype(np_dtype).name}")
    count = -((start - end) // step) if all_ints else math.ceil((end - start) / step)
    return sym_int(start), sym_int(step), count, np_dtype


def range_plan(start, end, step, dtype):
    """Return (start, step, count, NumPy dtype) of a range that includes `end`."""
    np_dtype = np_dtype_of(dtype)
    if np_dtype.kind in "bc":
        raise unsupported("range", np_dtype)
    if step == 0:
        raise RuntimeError("range(): step must be nonzero")
    if not all(is_symbolic(bound) or math.isfinite(bound) for bound in (start, end)):
        raise RuntimeError(f"range(): unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError(
            "range(): upper bound and lower bound inconsistent with step sign: "
            f"from {start} to {end} by {step}"
        )
    return start, step, math.floor((end - start) / step) + 1, np_dtype


def spaced_dtype(values, steps, dtype, name: str) -> np.dtype:
    """Return the NumPy dtype of `linspace` and `logspace`."""
    if steps < 0:
        raise RuntimeError(f"{name}(): number of steps must be non-negative, but is {steps}")
    is_complex = any(isinstance(v, complex) for v in values)
    if dtype is None:
        return (get_default_complex_dtype() if is_complex else get_default_dtype()).np
    if is_complex and not dtype.is_complex:
        raise RuntimeError(
            f"torch.{name}(): inferred dtype c10::complex<float> can't be safely cast to passed "
            f"dtype {dtype.scalar_name}"
        )
    if dtype.np.kind == "b":
        raise unsupported(name, dtype.np)
    return dtype.np


def index_pairs_dtype(row, col, dtype, name: str) -> np.dtype:
    """Return the NumPy dtype of `tril_indices` and `triu_indices`."""
    for word, n in (("row", row), ("col", col)):
        check(n >= 0, f"{name}(): {word} must be non-negative, got {n}")
    np_dtype = _INT64 if dtype is None else dtype.np
    if np_dtype not in (_INT64, np.dtype(np.int32)):
        raise NotImplementedError(
            f"\"{name}\" not implemented for '{from_numpy_dtype(np_dtype).scalar_name}': "
            "indices are int32 or int64"
        )
    return np_dtype


def tril_count(row: int, col: int, offset: int) -> int:
    """Return the number of elements of a matrix on and below a diagonal."""
    return sum(min(max(i + offset + 1, 0), col) for i in range(row))


@shape("empty.memory_format")
def empty_shape(size, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return formatted(size, np_dtype_of(dtype), memory_format, "empty")


@shape("empty_strided")
def empty_strided_shape(size, stride, *, dtype=None, layout=None, device=None, pin_memory=None):
    extent = strided_extent(size, stride, "empty_strided")
    np_dtype = np_dtype_of(dtype)
    itemsize = np_dtype.itemsize
    strides = tuple(s * itemsize for s in stride)
    return MetaArray(size, np_dtype, strides, storage_size=extent * itemsize)


@shape("empty_permuted")
def empty_permuted_shape(
    size, physical_layout, *, dtype=None, layout=None, device=None, pin_memory=None
):
    size = check_size(size, "empty_permuted")
    check(
        len(size) == len(physical_layout),
        "Number of dimensions in size does not match the length of the physical_layout; i.e. "
        f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(physical_layout)}",
    )
    for axis in physical_layout:
        check(
            0 <= axis < len(size),
            f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {axis})",
            IndexError,
        )
    check(len(set(physical_layout)) == len(size), "empty_permuted(): Duplicate dim not allowed")
    np_dtype = np_dtype_of(dtype)
    physical = contiguous_strides([size[a] for a in physical_layout], np_dtype.itemsize)
    strides = [0] * len(size)
    for axis, stride in zip(physical_layout, physical, strict=True):
        strides[axis] = stride
    return MetaArray(size, np_dtype, strides)


@shape("zeros")
def zeros_shape(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return MetaArray(check_size(size, "zeros"), np_dtype_of(dtype))


@shape("ones")
def ones_shape(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return MetaArray(check_size(size, "ones"), np_dtype_of(dtype))


@shape("full")
def full_shape(size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None):
    np_dtype = number_np_dtype(fill_value) if dtype is None else dtype.np
    check_fits(fill_value, np_dtype, "full")
    return MetaArray(check_size(size, "full"), np_dtype)


@shape("empty_like", "zeros_like", "ones_like")
def like_shape(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return like(self, dtype, memory_format)


@shape("full_like")
def full_like_shape(
    self, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    result = like(self, dtype, memory_format)
    check_fits(fill_value, result.dtype, "full_like")
    return result


@shape("scalar_tensor")
def scalar_tensor_shape(s, *, dtype=None, layout=None, device=None, pin_memory=None):
    np_dtype = np_dtype_of(dtype)
    if np_dtype.itemsize > 2 or np_dtype.kind not in "fV":  # the narrow ones take what becomes inf
        check_fits(s, np_dtype, "scalar_tensor")
    return MetaArray((), np_dtype)


@shape("arange")
def arange_shape(end, *, dtype=None, layout=None, device=None, pin_memory=None):
    _, _, count, np_dtype = arange_plan(0, end, 1, dtype)
    return MetaArray((count,), np_dtype)


@shape("arange.start", "arange.start_step")
def arange_start_shape(
    start, end, step=1, *, dtype=None, layout=None, device=None, pin_memory=None
):
    _, _, count, np_dtype = arange_plan(start, end, step, dtype)
    return MetaArray((count,), np_dtype)


@shape("range.step")
def range_shape(start, end, step=1, *, dtype=None, layout=None, device=None, pin_memory=None):
    _, _, count, np_dtype = range_plan(start, end, step, dtype)
    return MetaArray((count,), np_dtype)


@shape("linspace")
def linspace_shape(start, end, steps, *, dtype=None, layout=None, device=None, pin_memory=None):
    return MetaArray((steps,), spaced_dtype((start, end), steps, dtype, "linspace"))


@shape("logspace")
def logspace_shape(
    start, end, steps, base=10.0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    return MetaArray((steps,), spaced_dtype((start, end), steps, dtype, "logspace"))


@shape("eye")
def eye_shape(n, *, dtype=None, layout=None, device=None, pin_memory=None):
    check(n >= 0, f"eye(): n must be greater or equal to 0, got {n}")
    return MetaArray((n, n), np_dtype_of(dtype))


@shape("eye.m")
def eye_m_shape(n, m, *, dtype=None, layout=None, device=None, pin_memory=None):
    check(n >= 0, f"eye(): n must be greater or equal to 0, got {n}")
    check(m >= 0, f"eye(): m must be greater or equal to 0, got {m}")
    return MetaArray((n, m), np_dtype_of(dtype))


@shape("tril_indices")
def tril_indices_shape(
    row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = index_pairs_dtype(row, col, dtype, "tril_indices")
    return MetaArray((2, tril_count(row, col, offset)), np_dtype)


@shape("triu_indices")
def triu_indices_shape(
    row, col, offset=0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    np_dtype = index_pairs_dtype(row, col, dtype, "triu_indices")
    return MetaArray((2, row * col - tril_count(row, col, offset - 1)), np_dtype)


def _complex_pair(first, second, name: str) -> MetaArray:
    words = [from_numpy_dtype(a.dtype).scalar_name for a in (first, second)]
    for array in (first, second):
        check(
            array.dtype.char in _COMPLEX_OF,
            f"{name}(): Expected both inputs to be Half, Float or Double tensors but got "
            f"{words[0]} and {words[1]}",
        )
    check(
        first.dtype == second.dtype,
        f"{name}(): Expected object of scalar type {words[0]} but got scalar type {words[1]} "
        "for second argument",
    )
    return MetaArray(broadcast_shapes(first.shape, second.shape), _COMPLEX_OF[first.dtype.char])


@shape("complex")
def complex_shape(real, imag):
    return _complex_pair(real, imag, "complex")


@shape("polar")
def polar_shape(abs, angle):
    return _complex_pair(abs, angle, "polar")
