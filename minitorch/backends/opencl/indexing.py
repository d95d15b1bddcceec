"""NumPy's indexing of arrays on a device: advanced indexing, its assignment and its accumulation, and their relatives."""

from __future__ import annotations

import numpy as np

from minitorch.backends.opencl.access import OUTSIDE, Places, gather, gather_checked, scatter
from minitorch.backends.opencl.array import CLArray, empty, from_host
from minitorch.backends.opencl.ctypes import BOOL, FLOAT32, INT64, is_narrow
from minitorch.backends.opencl.expression import Scalar, broadcast_shape, lazy
from minitorch.backends.opencl.geometry import (
    broadcast_arrays,
    broadcast_to,
    count,
    diagonal,
    expand_dims,
    flip,
    fliplr,
    flipud,
    merged_strides,
    moveaxis,
    normal_axis,
    ravel,
    reshape,
    swapaxes,
)
from minitorch.backends.opencl.joining import (
    append,
    arange,
    concatenate,
    diff,
    eye,
    linspace,
    repeat,
    roll,
    rot90,
    stack,
    tile,
    tril,
    tril_indices,
    triu,
    triu_indices,
)
from minitorch.backends.opencl.pointwise import assign, cast, constant, copy
from minitorch.backends.opencl.positions import (
    as_index,
    check_bounds,
    coordinates,
    flat_positions,
    flatnonzero,
    limits,
    nonzero,
)

# ---------------------------------------------------------------- what an index says


class Selection:
    """An index tuple applied to an array: the view that its basic parts give, and its index arrays.

    Attributes
    ----------
    view : CLArray
        After integers, slices and new axes; dimensions that arrays index are whole.
    axes : list of int
        The dimension of the view that each array indexes.
    arrays : list of CLArray
        Integers within bounds.
    front : int
        Where the broadcast dimensions of the arrays stand in the result.
    unchecked : list
        (index array, bound, dimension) for positions that have not been compared with the bounds.
    """

    __slots__ = ("arrays", "axes", "front", "unchecked", "view")

    def geometry(self):
        """Return (shape, strides, owned, places): what `access` takes."""
        view, axes = self.view, self.axes
        shapes = [i.shape for i in self.arrays]
        try:
            common = broadcast_shape(shapes)
        except ValueError:
            raise IndexError(
                f"shape mismatch: indexing arrays could not be broadcast together with shapes {' '.join(map(str, shapes))}"
            ) from None
        kept = [d for d in range(view.ndim) if d not in axes]
        lead, tail = kept[: self.front], kept[self.front :]
        shape = (*[view.shape[d] for d in lead], *common, *[view.shape[d] for d in tail])
        zeros = (0,) * len(common)
        strides = (*[view.strides[d] for d in lead], *zeros, *[view.strides[d] for d in tail])
        owned = (*[True] * len(lead), *[False] * len(common), *[True] * len(tail))
        places = []
        for axis, index in zip(axes, self.arrays, strict=True):
            skip = len(common) - index.ndim
            steps = [0 if n == 1 else s for n, s in zip(index.shape, index.strides, strict=True)]
            steps = (*[0] * (len(lead) + skip), *steps, *[0] * len(tail))
            places.append(Places(index, steps, view.shape[axis], view.strides[axis]))
        return shape, strides, owned, places


def _is_basic(item) -> bool:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return True
    return isinstance(item, (int, np.integer)) and not isinstance(item, bool)


def _entries(array, items):
    """Return the items of an index with Ellipsis spelled out as slices, and masks as arrays.

    Each entry is ("none" | "slice" | "int" | "array" | "mask" | "gap", value, how many dimensions it takes).
    """
    if not isinstance(items, tuple):
        items = (items,)
    entries = []
    used = 0
    ellipsis = None
    for item in items:
        if item is None:
            entries.append(("none", None, 0))
        elif item is Ellipsis:
            if ellipsis is not None:
                raise IndexError("an index can only have a single ellipsis ('...')")
            ellipsis = len(entries)
            entries.append(("gap", None, 0))
        elif isinstance(item, slice):
            entries.append(("slice", item, 1))
            used += 1
        elif _is_basic(item):
            entries.append(("int", int(item), 1))
            used += 1
        else:
            if not isinstance(item, CLArray):
                item = np.asarray(item)
                if item.size == 0 and item.dtype.kind == "f":
                    item = item.astype(np.int64)
                if item.dtype.kind not in "biu":
                    raise IndexError(
                        "only integers, slices (`:`), ellipsis (`...`), None and integer or boolean arrays are valid indices"
                    )
                item = from_host(item, array.device)
            if item.dtype == BOOL:
                entries.append(("mask", item, item.ndim))
                used += item.ndim
            else:
                entries.append(("array", item, 1))
                used += 1
    if used > array.ndim:
        raise IndexError(
            f"too many indices for array: array is {array.ndim}-dimensional, but {used} were indexed"
        )
    rest = [("slice", slice(None), 1)] * (array.ndim - used)
    if ellipsis is None:
        entries += rest
    else:
        entries[ellipsis + 1 : ellipsis + 1] = rest
    return entries


def select(array: CLArray, items, check: bool = True) -> Selection:
    """Return what an index tuple selects.

    Parameters
    ----------
    array : CLArray
    items
        As NumPy takes it, with arrays of the device among them.
    check : bool
        Whether to compare positions with the dimensions here; if not, they are listed as unchecked.

    Raises
    ------
    IndexError
    """
    array.settle()
    entries = _entries(array, items)
    advanced = any(e[0] in ("array", "mask") for e in entries)
    shape, strides, offset = [], [], 0
    axes, arrays, unchecked = [], [], []
    runs = []  # whether entries in sequence are advanced, to see if all of them stand together
    kept_before = None
    kept = 0
    dim = 0
    for kind, value, takes in entries:
        is_advanced = advanced and kind in ("int", "array", "mask")
        if is_advanced and kept_before is None:
            kept_before = kept
        if not runs or runs[-1] != is_advanced:
            runs.append(is_advanced)
        if kind == "none":
            shape.append(1)
            strides.append(0)
            kept += 1
        elif kind == "slice":
            start, stop, step = value.indices(array.shape[dim])
            n = len(range(start, stop, step))
            if n:
                offset += start * array.strides[dim]
            shape.append(n)
            strides.append(step * array.strides[dim])
            kept += 1
        elif kind == "int":
            n = array.shape[dim]
            if not -n <= value < n:
                raise IndexError(f"index {value} is out of bounds for dimension {dim} with size {n}")
            offset += (value + n if value < 0 else value) * array.strides[dim]
        elif kind == "array":
            index = as_index(value, array.device)
            if check:
                check_bounds(index, array.shape[dim], dim)
            else:
                unchecked.append((index, array.shape[dim], dim))
            axes.append(len(shape))
            arrays.append(index)
            shape.append(array.shape[dim])
            strides.append(array.strides[dim])
        elif kind == "mask":
            covered = array.shape[dim : dim + takes]
            for k, (n, m) in enumerate(zip(covered, value.shape, strict=True)):
                if n != m:
                    raise IndexError(
                        "boolean index did not match indexed array along "
                        f"dimension {dim + k}; size of dimension is {n} but size of boolean dimension is {m}"
                    )
            if takes == 0:
                # A mask of no dimensions indexes a new one of size 1.
                held = bool(value.to_host())
                axes.append(len(shape))
                arrays.append(from_host(np.zeros(int(held), np.int64), array.device))
                shape.append(1)
                strides.append(0)
            else:
                flat = flat_positions(value)
                whole = merged_strides(covered, array.strides[dim : dim + takes], (count(covered),)) if 0 not in covered else None
                if whole is not None:
                    axes.append(len(shape))
                    arrays.append(flat)
                    shape.append(count(covered))
                    strides.append(whole[0])
                else:
                    for k, part in enumerate(coordinates(flat, covered)):
                        axes.append(len(shape))
                        arrays.append(part)
                        shape.append(covered[k])
                        strides.append(array.strides[dim + k])
        dim += takes
    result = Selection()
    result.view = array.view_of(tuple(shape), tuple(strides), 0 if 0 in shape else offset)
    result.axes, result.arrays, result.unchecked = axes, arrays, unchecked
    result.front = kept_before if runs.count(True) == 1 and kept_before is not None else 0
    return result


def get_items(array: CLArray, items) -> CLArray:
    """Return ``array[items]``: a view for slices, integers and new axes, a new array where arrays index.

    Raises
    ------
    IndexError
    """
    chosen = select(array, items, check=False)
    if not chosen.arrays:
        return chosen.view
    shape, strides, _, places = chosen.geometry()
    target = empty(shape, array.dtype, array.device).settle()
    if not chosen.unchecked:
        return gather(chosen.view, 0, strides, places, target)
    if target.size == 0 or gather_checked(chosen.view, 0, strides, places, target) & OUTSIDE:
        for index, bound, axis in chosen.unchecked:
            check_bounds(index, bound, axis)
    return target


def _as_value(value, dtype, device) -> CLArray:
    """Return an array or number as an array of `dtype` that may stay lazy."""
    if not isinstance(value, CLArray):
        value = np.asarray(value)
        if value.ndim == 0:
            return constant((), value.astype(dtype).item() if dtype.kind != "V" else float(value), dtype, device)
        value = from_host(value, device)
    return cast(value, dtype)


def _fixed_mask(array, items):
    """Return the mask, with as many dimensions as `array`, if it is all that indexes; else None."""
    if isinstance(items, tuple):
        if len(items) != 1:
            return None
        items = items[0]
    if isinstance(items, CLArray) and items.dtype == BOOL and 0 < items.ndim <= array.ndim:
        if items.shape == array.shape[: items.ndim]:
            return reshape(items, items.shape + (1,) * (array.ndim - items.ndim))
    return None


def set_items(array: CLArray, items, value) -> None:
    """Do ``array[items] = value``; of several values for one element the last one stays.

    Raises
    ------
    IndexError, ValueError
    """
    device = array.device
    value = _as_value(value, array.dtype, device)
    if value.ndim == 0:
        mask = _fixed_mask(array, items)
        if mask is not None:
            fill(array, mask, value)
            return
    chosen = select(array, items)
    if not chosen.arrays:
        assign(chosen.view, _fitted(value, chosen.view.shape))
        return
    _scatter("set", chosen, value)


def fill(array: CLArray, mask: CLArray, value: CLArray) -> None:
    """Write `value` where `mask` holds; both broadcast."""
    array.settle()
    assign(array, lazy("where", (mask, value, array), array.dtype, array.device))


def _fitted(value, shape):
    """Return a value without the leading dimensions of size 1 that an assignment ignores."""
    extra = value.ndim - len(shape)
    if extra > 0 and all(n == 1 for n in value.shape[:extra]):
        return reshape(value, value.shape[extra:])
    try:
        fits = broadcast_shape([value.shape, shape]) == tuple(shape)
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {tuple(shape)}")
    return value


def _scatter(op, chosen, value):
    view = chosen.view
    block = view.block
    chosen.arrays = [copy(i) if i.block is block else i for i in chosen.arrays]
    shape, strides, owned, places = chosen.geometry()
    value = _fitted(value, shape).settle()
    if value.block is block:
        value = copy(value)
    scatter(op, view, 0, strides, owned, places, broadcast_to(value, shape))


def ufunc_at(op: str, array: CLArray, items, value) -> None:
    """Combine `value` with elements of `array`, once for each time that the index names one.

    Sums do not depend on the number of threads.  float16 and bfloat16 are computed in float32 and rounded at the end.
    """
    target = array
    if is_narrow(array.dtype):
        target = copy(cast(array, FLOAT32).settle())
    chosen = select(target, items)
    value = _as_value(value, target.dtype, array.device)
    if not chosen.arrays:
        view = chosen.view
        assign(view, lazy(op, (view, _fitted(value, view.shape)), view.dtype, view.device))
    else:
        _scatter(op, chosen, value)
    if target is not array:
        assign(array, target)


def add_at(array: CLArray, items, value) -> None:
    """Add `value` to ``array[items]``, once for each time that the index names an element."""
    ufunc_at("add", array, items, value)


def multiply_at(array: CLArray, items, value) -> None:
    """Multiply ``array[items]`` by `value`, once for each time that the index names an element."""
    ufunc_at("multiply", array, items, value)


def maximum_at(array: CLArray, items, value) -> None:
    """Replace ``array[items]`` by the maximum with `value`."""
    ufunc_at("maximum", array, items, value)


def minimum_at(array: CLArray, items, value) -> None:
    """Replace ``array[items]`` by the minimum with `value`."""
    ufunc_at("minimum", array, items, value)


# ---------------------------------------------------------------- along one dimension


def take(array: CLArray, indices, axis=None, check: bool = True, out=None, mode: str = "raise") -> CLArray:
    """Return the elements (``axis=None``: of the flattened array) or slices at positions.

    Raises
    ------
    IndexError
        If a position is out of bounds.
    """
    array.settle()
    index = as_index(indices, array.device)
    if axis is None:
        array, axis = ravel(array), 0
    axis = normal_axis(axis, array.ndim) if array.ndim else 0
    if array.ndim == 0:
        array = reshape(array, (1,))
    bound = array.shape[axis]
    if mode != "raise":
        index = _moded(index, bound, mode)
        check = False
    after = array.ndim - axis - 1
    shape = array.shape[:axis] + index.shape + array.shape[axis + 1 :]
    strides = array.strides[:axis] + (0,) * index.ndim + array.strides[axis + 1 :]
    places = Places(index, (0,) * axis + _steps(index) + (0,) * after, bound, array.strides[axis])
    result = empty(shape, array.dtype, array.device).settle()
    if not check:
        gather(array, 0, strides, [places], result)
    elif result.size == 0 or gather_checked(array, 0, strides, [places], result) & OUTSIDE:
        check_bounds(index, bound, axis)
    if out is None:
        return result
    assign(out, result)
    return out


def _moded(index, bound, mode):
    if mode == "wrap":
        return lazy("remainder", (index, Scalar(bound, index.dtype)), index.dtype, index.device).settle()
    low = lazy("maximum", (index, Scalar(0, index.dtype)), index.dtype, index.device)
    return lazy("minimum", (low, Scalar(bound - 1, index.dtype)), index.dtype, index.device).settle()


def _steps(array):
    return tuple([0 if n == 1 else s for n, s in zip(array.shape, array.strides, strict=True)])


def along(array: CLArray, index: CLArray, axis: int):
    """Return (strides, owned, places) of a walk over `index`, which holds positions along `axis` of `array`."""
    strides = tuple([0 if d == axis or m == 1 else s for d, (m, s) in enumerate(zip(array.shape, array.strides, strict=True))])
    owned = tuple([d != axis for d in range(array.ndim)])
    return strides, owned, [Places(index, _steps(index), array.shape[axis], array.strides[axis])]


def _aligned(array, indices, axis):
    """Return (array, index, axis) for the functions along an axis; the two broadcast elsewhere."""
    index = as_index(indices, array.device)
    array.settle()
    if axis is None:
        if index.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        array, axis = ravel(array), 0
    axis = normal_axis(axis, array.ndim)
    if index.ndim != array.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    check_bounds(index, array.shape[axis], axis)
    shape = list(broadcast_shape([
        tuple([1 if d == axis else n for d, n in enumerate(array.shape)]),
        tuple([1 if d == axis else n for d, n in enumerate(index.shape)]),
    ]))  # fmt: skip
    shape[axis] = index.shape[axis]
    return array, broadcast_to(index, tuple(shape)), axis


def take_along_axis(array: CLArray, indices, axis=-1) -> CLArray:
    """Return the elements at positions along `axis`, the other coordinates being those of the position."""
    array, index, axis = _aligned(array, indices, axis)
    strides, _, places = along(array, index, axis)
    return gather(array, 0, strides, places, empty(index.shape, array.dtype, array.device).settle())


def put_along_axis(array: CLArray, indices, values, axis) -> None:
    """Write values at positions along `axis`, the other coordinates being those of the position."""
    flat, index, axis = _aligned(array, indices, axis)
    value = broadcast_to(_fitted(_as_value(values, array.dtype, array.device), index.shape), index.shape)
    if value.block is flat.block:
        value = copy(value)
    if index.block is flat.block:
        index = copy(index)
    strides, owned, places = along(flat, index, axis)
    # Where the array is broadcast along an index, places repeat.
    owned = tuple([o and (n == m) for o, n, m in zip(owned, flat.shape, index.shape, strict=True)])
    scatter("set", flat, 0, strides, owned, places, value)
    if flat.block is not array.block:
        assign(array, reshape(flat, array.shape))


def compress(condition, array: CLArray, axis=None) -> CLArray:
    """Return the slices along `axis` (None: the elements of the flattened array) where a vector holds."""
    if not isinstance(condition, CLArray):
        condition = from_host(np.asarray(condition, bool), array.device)
    return take(array, flat_positions(condition), axis)


def extract(condition: CLArray, array: CLArray) -> CLArray:
    """Return the elements of the flattened array where the flattened condition holds."""
    return take(ravel(array), flat_positions(ravel(condition)), 0)


def putmask(array: CLArray, mask: CLArray, values) -> None:
    """Write values where a mask of the same shape holds; fewer values than elements are repeated."""
    values = _as_value(values, array.dtype, array.device)
    mask = cast(mask, BOOL)
    if values.size == 1:
        fill(array, mask, reshape(values, ()) if values.ndim else values)
        return
    values = ravel(values)
    if values.size != array.size:
        values = resize(values, array.size)
    fill(array, mask, reshape(values, array.shape))


def resize(values: CLArray, size: int) -> CLArray:
    """Return a vector of `size` elements: those of `values`, repeated from the start."""
    index = arange(size, device=values.device)
    return take(values, lazy("remainder", (index, Scalar(values.size, INT64)), INT64, values.device).settle(), 0, check=False)


def argwhere(array: CLArray) -> CLArray:
    """Return the coordinates of the elements that are not zero, one row for each."""
    if array.ndim == 0:
        return empty((int(array.to_host() != 0), 0), INT64, array.device).settle()
    return stack(nonzero(array), 1)


def where(condition: CLArray) -> tuple:
    """Return `nonzero`: what ``where`` of one argument means."""
    return nonzero(condition)


def unravel_index(indices, shape) -> tuple:
    """Return the coordinates that positions counted through a shape stand for."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    index = indices if isinstance(indices, CLArray) else from_host(np.asarray(indices))
    total = count(shape)
    low, high = limits(as_index(index, index.device))
    if low < 0 or high >= total:
        raise ValueError(f"index {low if low < 0 else high} is out of bounds for array with size {total}")
    index = cast(index, INT64).settle()
    return tuple(coordinates(index, shape))


def bincount(x: CLArray, weights: CLArray | None = None, minlength: int = 0) -> CLArray:
    """Return how often each number occurs among non-negative integers, or the sums of their weights.

    Raises
    ------
    ValueError
        For negative numbers.
    """
    if x.ndim != 1:
        raise ValueError("object too deep for desired array" if x.ndim else "object of too small depth for desired array")
    if x.dtype.kind not in "iub":
        raise TypeError(f"Cannot cast array data from {x.dtype} to int64 according to the rule 'safe'")
    if weights is not None and weights.shape != x.shape:
        raise ValueError("The weights and list don't have the same length.")
    index = as_index(cast(x, INT64) if x.dtype == BOOL else x, x.device)
    low, high = limits(index)
    if low < 0:
        raise ValueError("'list' argument must have no negative elements")
    dtype = INT64 if weights is None else np.dtype(np.float64)
    length = max(high + 1, minlength)
    result = constant((length,), dtype.type(0).item(), dtype, x.device).settle()
    if x.size:
        value = constant((), 1, INT64, x.device) if weights is None else cast(weights, dtype)
        places = [Places(index, _steps(index), length, dtype.itemsize)]
        scatter("add", result, 0, (0,), (False,), places, broadcast_to(value, x.shape))
    return result


# What the array namespace has of this module.
EXPORTS = frozenset([
    "append", "arange", "argwhere", "bincount", "broadcast_arrays", "broadcast_to", "compress", "concatenate", "diagonal",
    "diff", "expand_dims", "extract", "eye", "flatnonzero", "flip", "fliplr", "flipud", "linspace", "moveaxis", "nonzero",
    "put_along_axis", "putmask", "ravel", "repeat", "reshape", "roll", "rot90", "stack", "swapaxes", "take",
    "take_along_axis", "tile", "tril", "tril_indices", "triu", "triu_indices", "unravel_index",
])  # fmt: skip
__all__ = [
    "EXPORTS", "add_at", "along", "append", "arange", "argwhere", "bincount", "broadcast_arrays", "broadcast_to", "compress",
    "concatenate", "diagonal", "diff", "expand_dims", "extract", "eye", "fill", "flatnonzero", "flip", "fliplr", "flipud",
    "get_items", "linspace", "maximum_at", "minimum_at", "moveaxis", "multiply_at", "nonzero", "put_along_axis", "putmask",
    "ravel", "repeat", "reshape", "roll", "rot90", "select", "set_items", "stack", "swapaxes", "take", "take_along_axis", "tile",
    "tril", "tril_indices", "triu", "triu_indices", "ufunc_at", "unravel_index",
]  # fmt: skip
