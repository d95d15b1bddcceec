"""What shape functions share: dimension checks, broadcasting, strides."""

from __future__ import annotations

from functools import wraps
from operator import index as as_index

from minitorch.core.memory_format import contiguous_format, format_strides, suggested_format
from minitorch.core.meta_array import MetaArray, contiguous_strides, is_contiguous

__all__ = [
    "MetaArray", "broadcast_shapes", "check", "contiguous_strides", "in_format_of", "is_contiguous", "keeps_format",
    "normalize_dim", "normalize_dims", "reduced_shape",
]


def check(condition: bool, text: str, error: type[Exception] = RuntimeError) -> None:
    """Raise ``error(text)`` unless `condition` holds."""
    if not condition:
        raise error(text)


def normalize_dim(dim: int, ndim: int, name: str = "") -> int:
    """Return `dim` counted from the front; 0-dim arrays are treated as having one dimension.

    Raises
    ------
    IndexError
        If `dim` is outside ``[-ndim, ndim - 1]``.
    """
    dim = as_index(dim)
    bound = max(ndim, 1)
    if not -bound <= dim < bound:
        prefix = f"{name}(): " if name else ""
        raise IndexError(
            f"{prefix}Dimension out of range (expected to be in range of [{-bound}, {bound - 1}], but got {dim})"
        )
    return dim + bound if dim < 0 else dim


def normalize_dims(dims, ndim: int, name: str = "") -> tuple:
    """Return `dims` (None or empty: all) counted from the front, each at most once."""
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return tuple(range(ndim))
    if isinstance(dims, int):
        dims = (dims,)
    result = tuple(normalize_dim(d, ndim, name) for d in dims)
    for i, d in enumerate(result):
        if d in result[:i]:
            prefix = f"{name}(): " if name else ""
            raise RuntimeError(f"{prefix}dim {d} appears multiple times in the list of dims")
    return result if ndim else ()


def reduced_shape(shape: tuple, dims: tuple, keepdim: bool) -> tuple:
    """Return `shape` with normalized `dims` reduced away."""
    if keepdim:
        return tuple(1 if i in dims else n for i, n in enumerate(shape))
    return tuple(n for i, n in enumerate(shape) if i not in dims)


def broadcast_shapes(*shapes: tuple) -> tuple:
    """Return the shape that `shapes` broadcast to.

    Raises
    ------
    RuntimeError
        If two sizes differ and neither is 1.
    """
    ndim = max((len(s) for s in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        lead = ndim - len(shape)
        for i, n in enumerate(shape):
            current = result[lead + i]
            if n == current or n == 1:
                continue
            if current != 1:
                raise RuntimeError(
                    f"The size of tensor a ({current}) must match the size of tensor b ({n}) "
                    f"at non-singleton dimension {lead + i}"
                )
            result[lead + i] = n
    return tuple(result)


def in_format_of(array, result: MetaArray) -> MetaArray:
    """Return a contiguous `result` in the memory format that `array` suggests."""
    if result.ndim != array.ndim:
        return result
    fmt = suggested_format(array.shape, array.strides)
    if fmt is contiguous_format:
        return result
    return MetaArray(result.shape, result.dtype, format_strides(result.shape, result.itemsize, fmt))


def keeps_format(shape_function):
    """Make the results of a shape function follow the memory format of its first argument."""

    @wraps(shape_function)
    def formatted_shape(self, *args, **kwargs):
        result = shape_function(self, *args, **kwargs)
        if isinstance(result, tuple):
            return tuple([in_format_of(self, r) for r in result])
        return in_format_of(self, result)

    return formatted_shape
