"""``x[...]`` and ``x[...] = v``: basic indexing as views, the rest by ``index`` and ``index_put``."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtype import float32
from minitorch.core.symbolic import SymInt
from minitorch.dispatch.operator import OPERATORS, Operator
from minitorch.tensor.base import TensorBase, is_plain
from minitorch.tensor.operators import F
from minitorch.tensor.wrapper import has_elements

_EVERYTHING = slice(None)
_select: Operator
_slice: Operator
_unsqueeze: Operator


def bind_operators() -> None:
    """Look up the operators that indexing calls directly."""
    global _select, _slice, _unsqueeze
    _select = OPERATORS["aten::select.int"]
    _slice = OPERATORS["aten::slice.Tensor"]
    _unsqueeze = OPERATORS["aten::unsqueeze"]


def overridden(tensor: TensorBase, index: Any) -> bool:
    """Return whether the tensor or an index is of a class that may override indexing."""
    if not is_plain(tensor):
        return True
    if isinstance(index, TensorBase):
        return not is_plain(index)
    return isinstance(index, tuple) and any(isinstance(i, TensorBase) and not is_plain(i) for i in index)


def getitem(tensor: TensorBase, index: Any) -> Any:
    """Return ``tensor[index]``.

    Raises
    ------
    IndexError
        For too many indices, or one out of range.
    """
    kind = type(index)
    if kind is int:
        if tensor.handle.ndim == 0:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number"
            )
        return _select.call((tensor, 0, index), None)
    if kind is slice:
        return apply_slice(tensor, 0, index)
    if index is None:
        return _unsqueeze.call((tensor, 0), None)
    if index is Ellipsis:
        return F.alias(tensor)
    result, positions, rest = apply_basic(tensor, as_tuple(index))
    if not positions:
        return F.alias(tensor) if result is tensor else result
    indices: list = [None] * (max(positions) + 1)
    for d, value in zip(positions, rest, strict=True):
        indices[d] = value
    return F.index(result, indices)


def as_tuple(index: Any) -> tuple:
    """Return an index as a tuple of indices; a list of slices or nested lists is one tensor index."""
    if type(index) is tuple:
        return index
    if isinstance(index, tuple):
        return tuple(index)
    return (index,)


def apply_slice(tensor: TensorBase, dim: int, index: slice) -> Any:
    """Return the slice of one dimension; a step may be negative."""
    start, stop, step = bound(index.start), bound(index.stop), bound(index.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    if step is None:
        if start is None or start == 0:
            if stop is None:
                return F.alias(tensor) if dim == 0 else tensor
            return _slice.call((tensor, dim, None, stop), None)
        return _slice.call((tensor, dim, start) if stop is None else (tensor, dim, start, stop), None)
    return _slice.call((tensor, dim, start, stop, step), None)


def bound(value: Any) -> Any:
    """Return a slice bound as an int or None."""
    if value is None or type(value) is int:
        return value
    if hasattr(value, "__index__"):
        return value if isinstance(value, SymInt) else value.__index__()
    raise TypeError(f"slice indices must be integers or None or have an __index__ method, not {type(value).__name__}")


def consumed(item: Any) -> int:
    """Return how many dimensions an index takes up."""
    if item is None or item is True or item is False or item is Ellipsis:
        return 0
    if isinstance(item, (np.ndarray, TensorBase)) and item.dtype in _bools():
        return item.ndim
    if isinstance(item, (list, tuple)):
        array = np.asarray(item) if not _holds_tensors(item) else None
        if array is not None and array.dtype == np.bool_:
            return array.ndim
    return 1


def _bools() -> tuple:
    from minitorch.core.dtype import bool as bool_dtype
    from minitorch.core.dtype import uint8

    return (bool_dtype, np.dtype(np.bool_), uint8, np.dtype(np.uint8))


def _holds_tensors(item: Any) -> bool:
    return any(isinstance(v, TensorBase) or (isinstance(v, (list, tuple)) and _holds_tensors(v)) for v in item)


def as_index_tensor(item: Any, like: TensorBase) -> Any:
    """Return a list, array or tensor index as a tensor of int64 or bool."""
    from minitorch.core.dtype import bool as bool_dtype
    from minitorch.core.dtype import int32, int64, uint8
    from minitorch.tensor.creation import tensor as make_tensor

    if isinstance(item, TensorBase):
        dtype = item.dtype
        if dtype is uint8:
            return F.ne(item, 0)
        if dtype not in (int64, bool_dtype, int32) and not (not dtype.is_floating_point and not dtype.is_complex):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        return item
    array = np.asarray(item if not _holds_tensors(item) else _plain(item))
    if array.size == 0 and array.dtype.kind == "f":
        array = array.astype(np.int64)
    if array.dtype.kind not in "biu":
        raise IndexError(
            f"only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
            f"(got {type(item).__name__})"
        )
    if array.dtype != np.bool_:
        array = array.astype(np.int64)
    return make_tensor(array, device=like.device)


def _plain(item: Any) -> Any:
    if isinstance(item, TensorBase):
        return item.tolist()
    return [_plain(v) for v in item] if isinstance(item, (list, tuple)) else item


def apply_basic(tensor: TensorBase, index: tuple) -> tuple[Any, list[int], list[Any]]:
    """Apply ints, slices, None and ``...`` as views; return the view and the tensor indices left, by dimension."""
    used = 0
    for item in index:
        kind = type(item)
        used += 1 if kind is slice or kind is int else consumed(item)
    ndim = tensor.handle.ndim
    if used > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    result = tensor
    dim = 0
    positions: list[int] = []
    rest: list[Any] = []
    seen_ellipsis = False
    for item in index:
        kind = type(item)
        if kind is int:
            result = _select.call((result, dim, item), None)
        elif kind is slice:
            if item != _EVERYTHING:
                result = apply_slice(result, dim, item)
            dim += 1
        elif item is Ellipsis:
            if not seen_ellipsis:
                dim += ndim - used
            seen_ellipsis = True
        elif item is None:
            result = _unsqueeze.call((result, dim), None)
            dim += 1
        elif item is True or item is False:
            result = _unsqueeze.call((result, dim), None)
            positions.append(dim)
            rest.append(as_index_tensor([item], tensor))
            dim += 1
        elif isinstance(item, TensorBase) and item.ndim == 0 and item.dtype.category == 1 and item.dtype.name != "uint8":
            if has_elements(item):
                result = _select.call((result, dim, int(item.item())), None)
            else:
                # Under vmap each example has a place of its own.
                positions.append(dim)
                rest.append(item)
                dim += 1
        elif isinstance(item, TensorBase) and item.ndim == 0 and item.dtype.category <= 1:
            result = _unsqueeze.call((result, dim), None)
            positions.append(dim)
            rest.append(F.reshape(as_index_tensor(item, tensor), [1]))
            dim += 1
        elif hasattr(item, "__index__") and not isinstance(item, (TensorBase, np.ndarray)):
            result = _select.call((result, dim, bound(item)), None)
        elif isinstance(item, (TensorBase, np.ndarray, list, tuple, range)):
            value = as_index_tensor(list(item) if isinstance(item, range) else item, tensor)
            positions.append(dim)
            rest.append(value)
            dim += value.ndim if value.dtype.category == 0 else 1
        else:
            raise IndexError(
                "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices "
                f"(got {kind.__name__})"
            )
    return result, positions, rest


def setitem(tensor: TensorBase, index: Any, value: Any) -> None:
    """Do ``tensor[index] = value``: broadcast and cast the value into the places."""
    from minitorch.tensor.creation import tensor as make_tensor

    if index is Ellipsis or (type(index) is slice and index == slice(None)):
        target, positions, rest = tensor, [], []
    elif type(index) is int and tensor.handle.ndim == 0:
        raise IndexError(
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python to convert a 0-dim tensor to a number"
        )
    else:
        target, positions, rest = apply_basic(tensor, as_tuple(index))
    if not positions:
        if isinstance(value, TensorBase):
            F.copy_(target, _fit(value, target.shape))
        elif isinstance(value, (bool, int, float, complex)):
            F.fill_(target, value)
        else:
            F.copy_(target, _fit(make_tensor(value, dtype=_dtype_of_values(tensor), device=tensor.device), target.shape))
        return
    if not isinstance(value, TensorBase):
        value = make_tensor(value, dtype=_dtype_of_values(tensor), device=tensor.device)
    elif value.dtype is not tensor.dtype and not tensor.is_quantized:
        value = F.to(value, tensor.dtype)
    indices: list = [None] * (max(positions) + 1)
    for d, item in zip(positions, rest, strict=True):
        indices[d] = item
    F.index_put_(target, indices, value)


def _dtype_of_values(tensor):
    """Return the dtype that Python data gets on its way into a tensor; a quantized one quantizes numbers itself."""
    return float32 if tensor.is_quantized else tensor.dtype


def _fit(value, shape):
    """Drop leading dimensions of size 1 that the target does not have."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = F.squeeze(value, 0)
    return value
