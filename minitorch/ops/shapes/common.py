"""What shape functions share: dimension checks, broadcasting, strides."""

from __future__ import annotations

from operator import index as as_index

from minitorch.core.meta_array import MetaArray, contiguous_strides, is_contiguous

__all__ = [
    "MetaArray", "broadcast_shapes", "check", "contiguous_strides", "is_contiguous", "normalize_dim", "normalize_dims",
    "reduced_shape",
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
