"""How a functional tensor lies in memory: as the program believes, and as its value really does.

Note [Two layouts]
    What a program sees of a functional tensor, its *geometry*, is what it would see without
    functionalization: ``x.t()`` has the strides of a transpose, and an in-place operator changes
    no strides.  So `reshape` makes a view where it would have made one.  The value behind may lie
    differently, since it came out of an out-of-place operator.  The geometry of a view is computed
    by the Meta kernel of its operator; that of a fresh result is the value's, unless an argument's
    value lies differently from what the program knows: then the Meta kernel is asked too
    (`result_geometries`).  Four operators read memory and not just elements; for them the value is
    laid out first (`for_view`, `laid_out`).
"""

from __future__ import annotations

from typing import Any

from minitorch.core.memory_format import contiguous_format
from minitorch.core.meta_array import MetaArray, contiguous_strides
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOCAST_KEYS, AUTOGRAD_KEYS, BACKEND_SELECT
from minitorch.dispatch.local_state import ForceKeysGuard
from minitorch.dispatch.tensor_keys import tensor_keys
from minitorch.ops import functions as F
from minitorch.ops.shapes.geometry import infer_size, view_strides
from minitorch.tensor.base import TensorBase, make_storage, new_tensor
from minitorch.tensor.components import ComponentHandle
from minitorch.tensor.memory import memory_holder, memory_of
from minitorch.tensor.wrapper import WrapperHandle

_ABOVE_BACKENDS = AUTOGRAD_KEYS | AD_INPLACE_OR_VIEW | AUTOCAST_KEYS
_META = tensor_keys("Dense", "Meta") & ~_ABOVE_BACKENDS


def geometry_of(value: Any) -> MetaArray:
    """Return shape, strides, offset and extent of a tensor's memory, without the memory."""
    handle = value.handle
    if isinstance(handle, MetaArray):
        return handle
    if isinstance(handle, ComponentHandle):  # it may have no strides
        return MetaArray(tuple(handle.shape), handle.dtype)
    geometry = getattr(handle, "geometry", None)  # of a functional tensor at another level
    if geometry is not None:
        return geometry
    cell = value.storage_cell
    if cell is None or isinstance(handle, WrapperHandle):
        return MetaArray(handle.shape, handle.dtype, handle.strides)
    memory = memory_of(value)
    elements = memory_holder(value).handle
    if not isinstance(elements, memory.array_type):  # fake ones
        return MetaArray(handle.shape, handle.dtype, handle.strides)
    return MetaArray(
        handle.shape, handle.dtype, handle.strides, memory.offset(cell.root, elements), memory.nbytes(cell.root)
    )


def view_geometry(op: Any, geometry: MetaArray, args: tuple, kwargs: dict | None) -> Any:
    """Return the geometry of the view that `op` makes, a list of them if it makes several.

    Raises what the operator raises for arguments that are wrong.
    """
    stand_in = new_tensor(geometry, _META)
    stand_in.storage_cell = make_storage(geometry)
    entry = op.lookup_raw(_META)
    result = entry.kernel.run(op, entry, (stand_in, *args), kwargs)
    return [r.handle for r in result] if isinstance(result, (list, tuple)) else result.handle


def result_geometries(op: Any, args: tuple, kwargs: dict | None) -> list[MetaArray]:
    """Return the geometry of each tensor that an out-of-place operator would return for these arguments.

    Empty where that depends on elements, or the operator has no Meta kernel.
    """

    def stand_in(value: Any) -> Any:
        if isinstance(value, TensorBase):
            return new_tensor(geometry_of(value), _META)
        if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)):
            return [stand_in(item) for item in value]
        return value

    keywords = {name: stand_in(value) for name, value in kwargs.items()} if kwargs else None
    with ForceKeysGuard(BACKEND_SELECT, _ABOVE_BACKENDS):
        try:
            result = op.call(tuple([stand_in(a) for a in args]), keywords)
        except (NotImplementedError, RuntimeError, TypeError, ValueError):
            return []
    return [t.handle for t in tensors_in([result])]


def tensors_in(values: Any) -> list[TensorBase]:
    """Return the tensors among values, those in lists too."""
    found = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_in(value)
    return found


def same_layout(handle: Any, geometry: MetaArray) -> bool:
    """Return whether two arrays of one shape have the same strides, as far as those matter."""
    if isinstance(handle, ComponentHandle):
        return True
    if tuple(handle.shape) != geometry.shape:
        return False
    return geometry.size == 0 or all(
        n == 1 or a == b for n, a, b in zip(geometry.shape, handle.strides, geometry.strides, strict=True)
    )


def reshaped(value: Any, shape: Any, copies: bool) -> Any:
    """Return a tensor's elements in another shape: a view if its memory allows, a copy if `copies`."""
    shape = list(shape)
    if copies:
        return F.view_copy(value, shape)
    return F.view(for_view("view", value, (shape,)), shape)


def for_view(name: str, value: Any, args: tuple) -> Any:
    """Return a value, copied where it does not lie as the view operator called `name` needs it.

    That the program may make this view was found out from the geometry.
    """
    handle = value.handle
    if name == "view":
        fits = view_strides(handle.shape, handle.strides, infer_size(args[0], handle.size), handle.itemsize) is not None
    else:
        fits = same_layout(handle, MetaArray(handle.shape, handle.dtype))
    return value if fits else F.clone(value, memory_format=contiguous_format)


def dense_order(geometry: MetaArray) -> list[int] | None:
    """Return the dimensions from the slowest to the fastest one in memory; None if it has gaps or overlaps."""
    order = sorted(range(geometry.ndim), key=lambda d: (-geometry.strides[d], d))
    sizes = [geometry.shape[d] for d in order]
    dense = contiguous_strides(sizes, geometry.itemsize)
    if any(n != 1 and geometry.strides[d] != s for n, d, s in zip(sizes, order, dense, strict=True)):
        return None
    return order


def copied_in_order(value: Any, order: list[int]) -> Any:
    """Return a copy of a value whose dimensions lie in memory in this order."""
    value = F.clone(F.permute(value, order), memory_format=contiguous_format)
    return F.permute(value, [order.index(d) for d in range(len(order))])


def laid_out(value: Any, geometry: MetaArray) -> tuple[Any, int]:
    """Return a value with the strides of `geometry`, and how far its memory begins behind that of `geometry`.

    The distance is in elements: an offset into the memory that the program knows, plus the distance, is the
    offset into the value's.

    Raises
    ------
    RuntimeError
        If the memory had gaps, which the value has not.
    """
    if not same_layout(value.handle, geometry):
        order = dense_order(geometry)
        if order is None:
            raise RuntimeError(
                f"as_strided: the memory of this tensor (shape {list(geometry.shape)}, strides in bytes "
                f"{list(geometry.strides)}) has gaps or overlaps, and was changed in place under functionalization, which "
                "keeps the elements and not the memory between them. Clone the tensor first."
            )
        value = copied_in_order(value, order)
    own = geometry_of(value)
    return value, (own.offset - geometry.offset) // max(geometry.itemsize, 1)
