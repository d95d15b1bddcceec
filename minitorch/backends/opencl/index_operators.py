"""Operators that gather and scatter by position.

They give what the array kernels of the same operators give (`minitorch.backends.array.indexing`),
which explain an error by the operator's shape function: so here too a ValueError without a text
stands for arguments that do not fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import NoKernel, helpers
from minitorch.backends.opencl.access import Places, gather_checked, scatter
from minitorch.backends.opencl.array import CLArray, empty
from minitorch.backends.opencl.ctypes import BOOL, FLOAT32, INT32, INT64, UINT8, is_narrow
from minitorch.backends.opencl.expression import Scalar, broadcast_shape, lazy
from minitorch.backends.opencl.geometry import broadcast_to, ravel, reshape
from minitorch.backends.opencl.indexing import (
    along,
    argwhere,
    bincount,
    fill,
    get_items,
    set_items,
    take,
    ufunc_at,
)
from minitorch.backends.opencl.joining import stack
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import assign, cast, constant, copy
from minitorch.backends.opencl.positions import flat_positions, limits, nonzero

_INDEX_TYPES = (INT64, INT32)


def checked(index: CLArray, bound: int, dim: int, error: type[Exception] = RuntimeError) -> CLArray:
    """Return positions with memory; raise unless all are in ``range(bound)``."""
    if index.dtype not in _INDEX_TYPES:
        raise ValueError
    index.settle()
    low, high = limits(index)
    if low < 0 or high >= bound:
        raise error(str(helpers.out_of_bounds(index.to_host(), bound, dim)))
    return index


def number_of(array: CLArray, value: Any, check_range=True) -> CLArray:
    """Return a Python number as an array of no dimensions of an array's type; refuse what that cannot hold."""
    value = helpers.number_for(np, array, value, check_range)  # a real number, except for complex arrays
    if array.dtype.kind == "V":
        value = float(value.real)
    return constant((), value, array.dtype, array.device)


def apart_from(block, array: CLArray) -> CLArray:
    """Return an operand with memory of its own, copied if it lies in a block that is to be written."""
    array.settle()
    return copy(array) if array.block is block else array


# ---------------------------------------------------------------- along one dimension


def aligned(self: CLArray, dim: int, index: CLArray, source=None, checks=checked):
    """Return (self, dim, index) with at least one dimension, of shapes that gather and scatter take."""
    ndim = self.ndim
    if index.size == 0:
        index = cast(index, INT64)
    if ndim == 0 or index.ndim == 0:
        if ndim > 1 or index.ndim > 1 or not -1 <= dim <= 0:
            raise ValueError
        return ravel(self), 0, checks(ravel(index), self.size, 0)
    if dim < 0:
        dim += ndim
    if index.ndim != ndim or not 0 <= dim < ndim:
        if index.size == 0 and 0 <= dim < ndim:
            return self, dim, index
        raise ValueError
    if index.size:
        for d in range(ndim):
            n = index.shape[d]
            if (d != dim and n > self.shape[d]) or (source is not None and n > source.shape[d]):
                raise ValueError
    return self, dim, checks(index, self.shape[dim], dim)


def _not_checked(index, bound, dim):
    """Stand in for `checked` where the kernel itself looks at the positions."""
    if index.dtype not in _INDEX_TYPES:
        raise ValueError
    return index.settle()


@override("gather")
def gather_kernel(self, dim, index, *, sparse_grad=False):
    self.settle()
    shape = index.shape
    view, dim, places = aligned(self, dim, index, checks=_not_checked)
    result = empty(shape, self.dtype, self.device).settle()
    if index.size == 0:
        return result
    strides, _, where = along(view, places, dim)
    if gather_checked(view, 0, strides, where, reshape(result, places.shape)):
        checked(places, view.shape[dim], dim)
    return result


def _source_for(out, dim, index, source):
    """Return (out, dim, index, values) that fit, values being broadcast to the index; values None for an empty index."""
    block = out.block
    if isinstance(source, CLArray):
        if source.dtype != out.dtype:
            raise ValueError
        if source.ndim != index.ndim and index.size:
            if source.ndim > 1 or index.ndim > 1:
                raise ValueError
            source = ravel(source)
        view, dim, index = aligned(out, dim, apart_from(block, index), source if source.ndim == out.ndim and out.ndim else None)
        if index.size == 0:
            return view, dim, index, None
        source = apart_from(block, source)
        if source.ndim == 0:
            source = ravel(source)
        return view, dim, index, source.view_of(index.shape, source.strides, 0)
    view, dim, index = aligned(out, dim, apart_from(block, index))
    if index.size == 0:
        return view, dim, index, None
    return view, dim, index, broadcast_to(number_of(out, source), index.shape)


def _scatter_into(out, dim, index, source, op="set"):
    view, dim, index, values = _source_for(out, dim, index, source)
    if values is not None:
        strides, owned, where = along(view, index, dim)
        scatter(op, view, 0, strides, owned, where, values)


@override("scatter.src", "scatter.value")
def scatter_kernel(self, dim, index, src):
    out = copy(self)
    _scatter_into(out, dim, index, src)
    return out


@override("scatter_.src", "scatter_.value")
def scatter_inplace_kernel(self, dim, index, src):
    _scatter_into(self, dim, index, src)


_OPS = {
    "add": "add", "sum": "add", "mean": "add", "multiply": "multiply", "prod": "multiply", "amax": "maximum",
    "amin": "minimum",
}  # fmt: skip


def _reduce_into(out, dim, index, source, reduce, include_self=True):
    """Combine an array (or a number) with what stands at positions along `dim`."""
    target = out
    narrow = is_narrow(out.dtype)
    view, dim, index, values = _source_for(out, dim, index, source)
    if values is None:
        return
    if narrow:
        # Rounded once, at the end.
        target = copy(cast(out, FLOAT32).settle())
        view = reshape(target, view.shape)
        values = broadcast_to(cast(values, FLOAT32), index.shape)
    strides, owned, where = along(view, index, dim)
    if not include_self:
        start = helpers.identity_of(np, view.dtype, reduce)
        start = view.dtype.type(start).item()
        scatter("set", view, 0, strides, owned, where, broadcast_to(constant((), start, view.dtype, out.device), index.shape))
    scatter(_OPS[reduce], view, 0, strides, owned, where, values)
    if reduce == "mean":
        counts = constant(view.shape, 1 if include_self else 0, INT64, out.device).settle()
        one = broadcast_to(constant((), 1, INT64, out.device), index.shape)
        steps, owned, where = along(counts, index, dim)
        scatter("add", counts, 0, steps, owned, where, one)
        counts = lazy("maximum", (counts, Scalar(1, INT64)), INT64, out.device)
        op = "floor_divide" if view.dtype.kind in "iu" else "divide"
        assign(view, lazy(op, (view, cast(counts, view.dtype)), view.dtype, out.device))
    if narrow:
        assign(out, target)


@override("scatter_add")
def scatter_add_kernel(self, dim, index, src):
    out = copy(self)
    _reduce_into(out, dim, index, src, "sum")
    return out


@override("scatter_add_")
def scatter_add_inplace_kernel(self, dim, index, src):
    _reduce_into(self, dim, index, src, "sum")


@override("scatter.reduce", "scatter.value_reduce")
def scatter_with_reduce_kernel(self, dim, index, src, *, reduce):
    if reduce not in ("add", "multiply"):
        raise ValueError
    out = copy(self)
    _reduce_into(out, dim, index, src, reduce)
    return out


@override("scatter_reduce.two")
def scatter_reduce_kernel(self, dim, index, src, reduce, *, include_self=True):
    if reduce not in ("sum", "prod", "mean", "amax", "amin") or (self.dtype.kind == "c" and reduce in ("amax", "amin")):
        raise ValueError
    if self.dtype == BOOL and reduce == "mean":
        raise NoKernel("the mean of bool")
    out = copy(self)
    _reduce_into(out, dim, index, src, reduce, include_self)
    return out


# ---------------------------------------------------------------- whole slices by position


def _slices(out, dim, index, source, error: type[Exception] = RuntimeError):
    """Return (dim, index, source) of the operators that write slices, checked."""
    if index.ndim > 1 or not -max(out.ndim, 1) <= dim < max(out.ndim, 1) or source.dtype != out.dtype:
        raise ValueError
    dim = dim + out.ndim if dim < 0 and out.ndim else max(dim, 0)
    index = ravel(index)
    if out.ndim == 0:
        if source.size != 1 or (index.size != 1 and error is RuntimeError):
            raise ValueError
        return 0, checked(index, 1, 0, error), ravel(source)
    expected = (*out.shape[:dim], index.size, *out.shape[dim + 1 :])
    if source.shape != expected and not (source.ndim == 0 and expected == (1,)):
        raise ValueError
    return dim, checked(index, out.shape[dim], dim, error), reshape(source, expected)


def _write_slices(op, out, dim, index, source):
    """Write, or combine, slices along `dim` of an array of at least one dimension."""
    block = out.block
    index, source = apart_from(block, index), apart_from(block, source)
    strides = tuple([0 if d == dim else s for d, s in enumerate(out.strides)])
    owned = tuple([d != dim for d in range(out.ndim)])
    steps = tuple([index.strides[0] if d == dim else 0 for d in range(out.ndim)])
    scatter(op, out, 0, strides, owned, [Places(index, steps, out.shape[dim], out.strides[dim])], source)


@override("index_select")
def index_select_kernel(self, dim, index):
    if index.ndim > 1 or not -max(self.ndim, 1) <= dim < max(self.ndim, 1):
        raise ValueError
    dim = dim + self.ndim if dim < 0 and self.ndim else max(dim, 0)
    index = ravel(index)
    if self.ndim == 0:
        if index.size != 1:
            raise ValueError
        checked(index, 1, 0, IndexError)
        return copy(self)
    return _taken(self, index, dim, lambda: checked(index, self.shape[dim], dim, IndexError))


def _taken(self, index, dim, explain):
    """Return slices at positions along `dim`; call `explain`, which raises, where one is negative or too large."""
    if index.dtype not in _INDEX_TYPES:
        raise ValueError
    self.settle(), index.settle()
    shape = self.shape[:dim] + index.shape + self.shape[dim + 1 :]
    result = empty(shape, self.dtype, self.device).settle()
    if result.size == 0:
        explain()
        return result
    after = self.ndim - dim - 1
    strides = self.strides[:dim] + (0,) * index.ndim + self.strides[dim + 1 :]
    steps = (0,) * dim + tuple([0 if n == 1 else s for n, s in zip(index.shape, index.strides, strict=True)]) + (0,) * after
    if gather_checked(self, 0, strides, [Places(index, steps, self.shape[dim], self.strides[dim])], result):
        explain()
    return result


def _index_add_into(out, dim, index, source, alpha):
    dim, index, source = _slices(out, dim, index, source)
    if alpha != 1:
        if out.dtype == BOOL:
            raise NoKernel("alpha of bool")
        value = float(alpha) if out.dtype.kind == "V" else out.dtype.type(alpha).item()
        source = lazy("multiply", (source, Scalar(value, out.dtype)), out.dtype, out.device)
    target = out
    if is_narrow(out.dtype):
        target = copy(cast(out, FLOAT32).settle())
        source = cast(source, FLOAT32)
    if source.size:
        _write_slices("add", ravel(target) if out.ndim == 0 else target, dim, index, source.settle())
    if target is not out:
        assign(out, target)


@override("index_add")
def index_add_kernel(self, dim, index, source, *, alpha=1):
    out = copy(self)
    _index_add_into(out, dim, index, source, alpha)
    return out


@override("index_add_")
def index_add_inplace_kernel(self, dim, index, source, *, alpha=1):
    if not self.flags.writeable:
        raise ValueError("elements share memory")
    _index_add_into(self, dim, index, source, alpha)


def _index_copy_into(out, dim, index, source):
    if index.dtype != INT64:
        raise ValueError
    dim, index, source = _slices(out, dim, index, source, IndexError)
    if out.ndim == 0:
        assign(out, reshape(source, ()))
    elif source.size:
        _write_slices("set", out, dim, index, source)


@override("index_copy")
def index_copy_kernel(self, dim, index, source):
    out = copy(self)
    _index_copy_into(out, dim, index, source)
    return out


@override("index_copy_")
def index_copy_inplace_kernel(self, dim, index, source):
    _index_copy_into(self, dim, index, source)


def _index_fill_into(out, dim, index, value):
    if index.ndim > 1 or not -max(out.ndim, 1) <= dim < max(out.ndim, 1) or index.dtype != INT64:
        raise ValueError
    dim = dim + out.ndim if dim < 0 and out.ndim else max(dim, 0)
    index = apart_from(out.block, ravel(index))
    if isinstance(value, CLArray):
        if value.ndim:
            raise ValueError
        value = value.to_host().item()
        value = float(value) if not isinstance(value, (bool, int, float, complex)) else value
    value = number_of(out, value, check_range=False)
    if out.ndim == 0:
        if index.size:
            assign(out, value)
        return
    bound = out.shape[dim]
    low, high = limits(index)
    if low < -bound or high >= bound:
        position = next(p for p in index.to_host().tolist() if not -bound <= p < bound)
        raise IndexError(f"index {position} is out of bounds for dimension {dim} with size {bound}")
    shape = (*out.shape[:dim], index.size, *out.shape[dim + 1 :])
    _write_slices("set", out, dim, index, broadcast_to(value, shape))


@override("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill_kernel(self, dim, index, value):
    out = copy(self, "K")
    _index_fill_into(out, dim, index, value)
    return out


@override("index_fill_.int_Scalar", "index_fill_.int_Tensor")
def index_fill_inplace_kernel(self, dim, index, value):
    _index_fill_into(self, dim, index, value)


# ---------------------------------------------------------------- advanced indexing


def _items(self, indices):
    """Return what to index with: int64 arrays, masks of the right shape, and full slices."""
    if not indices:
        raise ValueError
    result = []
    dim = 0
    for index in indices:
        if index is None:
            result.append(slice(None))
            dim += 1
            continue
        if index.dtype == UINT8:
            index = lazy("not_equal", (index, Scalar(0, UINT8)), BOOL, index.device)
        if index.dtype == BOOL:
            if index.shape != self.shape[dim : dim + index.ndim]:
                raise ValueError
            dim += index.ndim
        elif index.dtype in _INDEX_TYPES:
            dim += 1
        else:
            raise ValueError
        result.append(index)
    if dim > self.ndim:
        raise ValueError
    if self.size == 0:
        helpers.check_bounds(np, self, tuple(result))
    return tuple(result)


@override("index.Tensor")
def index_kernel(self, indices):
    self.settle()
    if len(indices) == 1 and self.ndim > 2 and not self.flags.c_contiguous:
        raise NoKernel("the result's dimensions follow those of the operand")
    items = _items(self, indices)
    result = get_items(self, items)
    return copy(result) if result.block is self.block else result


def _index_put_into(out, indices, values, accumulate):
    if values.dtype != out.dtype:
        raise ValueError
    items = _items(out, indices)
    if accumulate:
        ufunc_at("add", out, items, values)
    else:
        set_items(out, items, values)


@override("index_put")
def index_put_kernel(self, indices, values, accumulate=False):
    out = copy(self, "K")
    _index_put_into(out, indices, values, accumulate)
    return out


@override("index_put_")
def index_put_inplace_kernel(self, indices, values, accumulate=False):
    _index_put_into(self, indices, values, accumulate)


def _check_flat(self, index):
    """Raise unless all positions are in the flattened array, counted from either end."""
    total = self.size
    if index.size and total == 0:
        raise IndexError("take(): tried to take from an empty tensor")
    low, high = limits(index.settle())
    if low < -total or high >= total:
        position = next(p for p in index.to_host().reshape(-1).tolist() if not -total <= p < total)
        raise IndexError(f"out of range: tried to access index {position} on a tensor of {total} elements.")


@override("take")
def take_kernel(self, index):
    if index.dtype != INT64:
        raise ValueError
    _check_flat(self, index)
    return take(self, index, None, check=False)


def _put_into(out, index, source, accumulate):
    if index.dtype != INT64 or source.dtype != out.dtype or source.size != index.size:
        raise ValueError
    _check_flat(out, index)
    if index.size == 0:
        return
    narrow = accumulate and is_narrow(out.dtype)
    if narrow:
        target = copy(cast(out, FLOAT32).settle())
    elif out.flags.c_contiguous:
        target = out
    else:
        target = copy(out)
    flat = ravel(target)
    places, values = apart_from(flat.block, ravel(index)), apart_from(flat.block, cast(ravel(source), target.dtype))
    where = [Places(places, places.strides, flat.size, flat.dtype.itemsize)]
    scatter("add" if accumulate else "set", flat, 0, (0,), (False,), where, values)
    if target is not out:
        assign(out, target)


@override("put")
def put_kernel(self, index, source, accumulate=False):
    out = copy(self, "K")
    _put_into(out, index, source, accumulate)
    return out


@override("put_")
def put_inplace_kernel(self, index, source, accumulate=False):
    _put_into(self, index, source, accumulate)


# ---------------------------------------------------------------- masks


def _mask_value(self, mask, value):
    if mask.dtype != BOOL:
        raise ValueError
    if isinstance(value, CLArray):
        if value.ndim or (value.dtype.kind == "c" and self.dtype.kind != "c"):
            raise ValueError
        return cast(value, self.dtype)
    return number_of(self, value)


@override("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill_kernel(self, mask, value):
    value = _mask_value(self, mask, value)
    out = empty(broadcast_shape([self.shape, mask.shape]), self.dtype, self.device).settle()
    assign(out, lazy("where", (mask, value, self), self.dtype, self.device))
    return out


@override("masked_fill_.Scalar", "masked_fill_.Tensor")
def masked_fill_inplace_kernel(self, mask, value):
    value = _mask_value(self, mask, value)
    if broadcast_shape([self.shape, mask.shape]) != self.shape:
        raise ValueError
    fill(self, mask, value)


@override("masked_select")
def masked_select_kernel(self, mask):
    if mask.dtype != BOOL:
        raise ValueError
    shape = broadcast_shape([self.shape, mask.shape])
    return get_items(broadcast_to(self, shape), broadcast_to(mask, shape))


def _masked_scatter_into(out, mask, source):
    if mask.dtype != BOOL or source.dtype != out.dtype:
        raise ValueError
    places = flat_positions(broadcast_to(mask, out.shape))
    if places.size > source.size:
        raise RuntimeError(f"masked_scatter(): the mask selects {places.size} elements, but source has {source.size}")
    if places.size == 0:
        return
    target = out if out.flags.c_contiguous else copy(out)
    flat = ravel(target)
    values = apart_from(flat.block, ravel(source))
    values = values.view_of((places.size,), values.strides, 0)
    scatter("set", flat, 0, (0,), (False,), [Places(places, places.strides, flat.size, flat.dtype.itemsize)], values)
    if target is not out:
        assign(out, target)


@override("masked_scatter")
def masked_scatter_kernel(self, mask, source):
    shape = broadcast_shape([self.shape, mask.shape])
    out = empty(shape, self.dtype, self.device).settle()
    assign(out, self)
    _masked_scatter_into(out, mask, source)
    return out


@override("masked_scatter_")
def masked_scatter_inplace_kernel(self, mask, source):
    _masked_scatter_into(self, mask, source)


@override("nonzero")
def nonzero_kernel(self):
    if self.ndim == 0:
        return argwhere(self)
    places = nonzero(self)
    if len(places) == 1:
        return reshape(places[0], (-1, 1))
    rows = stack(places)
    return rows.view_of(rows.shape[::-1], rows.strides[::-1], 0)


# ---------------------------------------------------------------- embedding


@override("embedding")
def embedding_kernel(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if weight.ndim != 2 or indices.dtype not in _INDEX_TYPES:
        raise ValueError

    def explain():
        try:
            checked(indices, weight.shape[0], 0)
        except RuntimeError as error:
            raise IndexError(f"embedding(): index out of range in self: {error}") from None

    return _taken(weight, indices, 0, explain)


@override("embedding_dense_backward")
def embedding_dense_backward_kernel(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    device, dtype = grad_output.device, grad_output.dtype
    compute = FLOAT32 if is_narrow(dtype) else dtype
    columns = grad_output.shape[-1]
    index = ravel(cast(indices, INT64) if indices.dtype not in _INDEX_TYPES else indices)
    index = checked(index, num_weights, 0, IndexError)
    rows = reshape(cast(grad_output, compute), (index.size, columns))
    if scale_grad_by_freq and index.size:
        counts = cast(take(bincount(index, minlength=num_weights), index, 0, check=False), compute)
        rows = lazy("divide", (rows, reshape(counts, (index.size, 1))), compute, device)
    out = constant((num_weights, columns), compute.type(0).item(), compute, device).settle()
    if rows.size:
        _write_slices("add", out, 0, index, rows.settle())
    if 0 <= padding_idx < num_weights and columns:
        row = out.view_of((columns,), out.strides[1:], padding_idx * out.strides[0])
        assign(row, Scalar(compute.type(0).item(), compute))
    return cast(out, dtype).settle()


