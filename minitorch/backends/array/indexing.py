"""Kernels that gather, scatter, mask and join.

Positions are checked before anything is written: NumPy reads negative positions from the end,
which PyTorch allows in some operators and refuses in others.  Where positions are out of range
the kernel raises the error itself, because no shape function sees values.
"""

from __future__ import annotations

from minitorch.backends.array.common import SMALL, accumulate_dtype, contiguous, is_low_precision, is_writeable
from minitorch.backends.array.elementwise import arranged, as_type
from minitorch.backends.array.layout import keeps_format, with_strides
from minitorch.backends.array.registry import array_kernel
from minitorch.core.promotion import result_type, result_type_of_two
from minitorch.errors import OutOfBoundsError
from minitorch.ops.shapes.common import broadcast_shapes
from minitorch.ops.shapes.indexing import joined_strides, rows_strides
from minitorch.ops.shapes.pointwise import elementwise_strides

# Up to this many positions a Python loop is faster than a reduction.
_FEW = 24
# From this many elements on, sums by row go through a sparse product where SciPy is installed.
_SPARSE_SIZE = 1 << 17


def out_of_bounds(index, bound, dim, error=OutOfBoundsError):
    """Return the error for the first position outside ``range(bound)``."""
    bad = next(v for v in index.reshape(-1).tolist() if not 0 <= v < bound)
    return error(f"index {bad} is out of bounds for dimension {dim} with size {bound}")


def _within(xp, index, bound):
    """Return whether all positions are in ``range(bound)``; `index` is int64."""
    if index.size <= _FEW:
        positions = index.reshape(-1).tolist()
        return not positions or (min(positions) >= 0 and max(positions) < bound)
    return xp.maximum.reduce(index.view(xp.uint64), None) < bound  # negative ones become huge


def _checked(xp, index, bound, dim, error=OutOfBoundsError):
    """Return `index` as int64; raise unless all positions are in ``range(bound)``."""
    code = index.dtype.char
    if code != "l":
        if code not in "iq":
            raise ValueError
        index = index.astype(xp.int64)
    if not _within(xp, index, bound):
        raise out_of_bounds(index, bound, dim, error)
    return index


# ---------------------------------------------------------------- along one dimension


def _mesh(xp, index, dim):
    """Return the tuple that indexes an array with `index` along `dim` and itself elsewhere."""
    ndim = index.ndim
    mesh = []
    for d, n in enumerate(index.shape):
        if d == dim:
            mesh.append(index)
        else:
            shape = [1] * ndim
            shape[d] = n
            mesh.append(xp.arange(n).reshape(shape))
    return tuple(mesh)


def _flat_positions(xp, index, dim, shape):
    """Return the positions that `_mesh` selects in a flattened row-major array of `shape`."""
    step = 1
    flat = None
    ndim = len(shape)
    for d in range(ndim - 1, -1, -1):
        n = index.shape[d]
        if d == dim:
            part = index if step == 1 else index * step
        elif n > 1:
            part = xp.arange(0, n * step, step)
            if d != ndim - 1:
                part = part.reshape((n,) + (1,) * (ndim - 1 - d))
        else:
            part = None
        if part is not None:
            flat = part if flat is None else flat + part
        step *= shape[d]
    return flat


def _aligned(xp, self, dim, index, source=None):
    """Check the shapes of gather and scatter; return dim and int64 index, at least 1-d."""
    ndim = self.ndim
    if index.shape == self.shape and ndim and source is None and -ndim <= dim < ndim:
        dim %= ndim
        return dim, _checked(xp, index, self.shape[dim], dim)
    if index.size == 0:
        index = index.astype(xp.int64)
    if ndim == 0 or index.ndim == 0:
        if ndim > 1 or index.ndim > 1:
            raise ValueError
        if not -1 <= dim <= 0:
            raise ValueError
        index = index.reshape(-1)
        return 0, _checked(xp, index, self.size, 0)
    if dim < 0:
        dim += ndim
    if index.ndim != ndim or not 0 <= dim < ndim:
        if index.size == 0 and 0 <= dim < ndim:
            return dim, index.astype(xp.int64)
        raise ValueError
    for d in range(ndim):
        n = index.shape[d]
        if (d != dim and n > self.shape[d]) or (source is not None and n > source.shape[d]):
            if index.size == 0:
                break
            raise ValueError
    return dim, _checked(xp, index, self.shape[dim], dim)


_GATHERED = 8192  # positions at a time: they stay in the cache


def _gather_last(xp, self, index):
    """Gather many elements along the last dimension of row-major arrays, positions being in bounds."""
    width, span = self.shape[-1], index.shape[-1]
    flat, index2 = self.reshape(-1), index.reshape(-1, span)
    out = xp.empty(index2.shape, self.dtype)
    step = max(1, _GATHERED // span)
    starts = xp.arange(0, step * width, width)[:, None]
    positions = xp.empty((step, span), xp.int64)
    for first in range(0, len(index2), step):
        part = index2[first : first + step]
        count = len(part)
        xp.add(part, starts[:count], out=positions[:count])
        out[first : first + count] = flat[first * width : (first + count) * width].take(positions[:count])
    return out.reshape(index.shape)


_columns: dict = {}


def _column(xp, count):
    """Return the integers below `count` as a column, kept; for small counts."""
    found = _columns.get((xp, count))
    if found is None:
        found = _columns[xp, count] = xp.arange(count).reshape(-1, 1)
    return found


@array_kernel("gather")
def gather_kernel(xp, self, dim, index, *, sparse_grad=False):
    if self.ndim == 2 and dim in (1, -1) and index.dtype.char == "l" and 0 < index.size <= SMALL:
        # Few elements: bounds checked by Python, rows by one vector.
        values = index.reshape(-1).tolist()
        rows = index.shape[0]
        fits = index.ndim == 2 and index.flags.c_contiguous and rows <= self.shape[0]
        if fits and min(values) >= 0 and max(values) < self.shape[1]:
            if self.flags.c_contiguous:
                width, span = self.shape[1], index.shape[1]
                flat = [v + i // span * width for i, v in enumerate(values)]
                return self.reshape(-1).take(xp.array(flat)).reshape(index.shape)
            return self[_column(xp, rows), index]
    dim, positions = _aligned(xp, self, dim, index)
    if index.size == 0:
        return xp.empty(index.shape, self.dtype)
    if self.ndim <= 1:
        return self.reshape(-1).take(positions).reshape(index.shape)
    if self.flags.c_contiguous:
        many = positions.size > _GATHERED and positions.flags.c_contiguous
        if many and dim == self.ndim - 1 and positions.shape[:-1] == self.shape[:-1]:
            return _gather_last(xp, self, positions)
        return self.take(_flat_positions(xp, positions, dim, self.shape))
    return contiguous(xp, self[_mesh(xp, positions, dim)])


def _trimmed(source, index):
    """Return the part of `source` that `index` covers."""
    if source.shape == index.shape or source.ndim == 0:
        return source
    return source[tuple([slice(0, n) for n in index.shape])]


def _scatter_into(xp, out, dim, index, source):
    """Write an array (or a number) at positions along `dim`."""
    is_array = hasattr(source, "dtype")
    if is_array and source.dtype != out.dtype:
        raise ValueError
    if is_array and source.ndim != index.ndim and index.size:
        if source.ndim > 1 or index.ndim > 1:
            raise ValueError
        source = source.reshape(-1)
    dim, positions = _aligned(
        xp, out, dim, index, source if is_array and source.ndim == out.ndim else None
    )
    if index.size == 0:
        return
    values = _trimmed(source, positions) if is_array else number_for(xp, out, source)
    if out.ndim == 0:
        out[...] = values.reshape(-1)[-1] if is_array else values
    elif out.flags.c_contiguous:
        out.reshape(-1)[_flat_positions(xp, positions, dim, out.shape)] = values
    else:
        out[_mesh(xp, positions, dim)] = values


@array_kernel("scatter.src")
def scatter_kernel(xp, self, dim, index, src):
    out = self.copy()
    _scatter_into(xp, out, dim, index, src)
    return out


@array_kernel("scatter.value")
def scatter_value_kernel(xp, self, dim, index, value):
    out = self.copy()
    _scatter_into(xp, out, dim, index, value)
    return out


@array_kernel("scatter_.src", "scatter_.value")
def scatter_inplace_kernel(xp, self, dim, index, src):
    _scatter_into(xp, self, dim, index, src)


_AT = {
    "add": "add", "sum": "add", "mean": "add", "multiply": "multiply", "prod": "multiply",
    "amax": "maximum", "amin": "minimum",
}  # fmt: skip


def identity_of(xp, dtype, reduce):
    """Return the value that a reduction starts from."""
    if reduce in ("amax", "amin"):
        if dtype.kind in "fV":
            return dtype.type(float("-inf") if reduce == "amax" else float("inf"))
        if dtype.kind == "b":
            return reduce == "amin"
        limits = xp.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return 1 if reduce in ("prod", "multiply") else 0


def _scatter_reduce_into(xp, out, dim, index, source, reduce, include_self=True):
    """Combine an array (or a number) with what stands at positions along `dim`."""
    is_array = hasattr(source, "dtype")
    if is_array and source.dtype != out.dtype:
        raise ValueError
    if is_array and source.ndim != index.ndim and index.size:
        if source.ndim > 1 or index.ndim > 1:
            raise ValueError
        source = source.reshape(-1)
    dim, positions = _aligned(
        xp, out, dim, index, source if is_array and source.ndim == out.ndim else None
    )
    if index.size == 0:
        return
    values = _trimmed(source, positions) if is_array else number_for(xp, out, source)
    target = out
    if out.ndim == 0 or not out.flags.c_contiguous or out.dtype.kind == "V":
        target = xp.ascontiguousarray(out).astype(accumulate_dtype(xp, out.dtype))
    flat = target.reshape(-1)
    shape = out.shape or (1,)
    places = _flat_positions(xp, positions, dim, shape).reshape(-1)
    if is_array:
        values = values.reshape(-1).astype(flat.dtype, copy=False)
    if not include_self:
        flat[places] = identity_of(xp, flat.dtype, reduce)
    getattr(xp, _AT[reduce]).at(flat, places, values)
    if reduce == "mean":
        counts = xp.full(flat.shape, 1 if include_self else 0, xp.int64)
        xp.add.at(counts, places, 1)
        xp.maximum(counts, 1, out=counts)
        if flat.dtype.kind in "iu":
            flat //= counts.astype(flat.dtype)
        else:
            flat /= counts.astype(flat.real.dtype)
    if target is not out:
        out[...] = target.reshape(out.shape)


@array_kernel("scatter_add")
def scatter_add_kernel(xp, self, dim, index, src):
    out = self.copy()
    _scatter_reduce_into(xp, out, dim, index, src, "sum")
    return out


@array_kernel("scatter_add_")
def scatter_add_inplace_kernel(xp, self, dim, index, src):
    _scatter_reduce_into(xp, self, dim, index, src, "sum")


@array_kernel("scatter.reduce", "scatter.value_reduce")
def scatter_with_reduce_kernel(xp, self, dim, index, src, *, reduce):
    if reduce not in ("add", "multiply"):
        raise ValueError
    out = self.copy()
    _scatter_reduce_into(xp, out, dim, index, src, reduce)
    return out


@array_kernel("scatter_reduce.two")
def scatter_reduce_kernel(xp, self, dim, index, src, reduce, *, include_self=True):
    if reduce not in ("sum", "prod", "mean", "amax", "amin"):
        raise ValueError
    if self.dtype.kind == "c" and reduce in ("amax", "amin"):
        raise ValueError
    out = self.copy()
    _scatter_reduce_into(xp, out, dim, index, src, reduce, include_self)
    return out


# ---------------------------------------------------------------- whole slices by position


def _vector(xp, self, dim, index):
    """Return dim counted from the front and a 1-d index for the index_* operators."""
    if index.ndim > 1:
        raise ValueError
    if not -max(self.ndim, 1) <= dim < max(self.ndim, 1):
        raise ValueError
    return (dim + self.ndim if dim < 0 and self.ndim else max(dim, 0)), index.reshape(-1)


@array_kernel("index_select")
def index_select_kernel(xp, self, dim, index):
    dim, index = _vector(xp, self, dim, index)
    if self.ndim == 0:
        if index.size != 1:
            raise ValueError
        _checked(xp, index, 1, 0, IndexError)
        return self.copy()
    index = _checked(xp, index, self.shape[dim], dim, IndexError)
    return self.take(index, dim)


def add_rows(xp, out, index, source):
    """Add the rows of a matrix to those rows of `out` that `index` names, which may repeat."""
    columns = out.shape[1]
    if source.size >= _SPARSE_SIZE and source.dtype.char in "fd":
        sparse = _sparse_module(xp)
        if sparse is not None:
            count = len(index)
            ones = xp.ones(count, source.dtype)
            chooser = sparse.csr_matrix((ones, (index, xp.arange(count))), (len(out), count))
            out += chooser @ xp.ascontiguousarray(source)
            return
    if columns == 1:
        positions = index
    else:
        positions = (index[:, None] * columns + xp.arange(columns)).reshape(-1)
    xp.add.at(out.reshape(-1), positions, source.reshape(-1))


_sparse_cache: dict = {}


def _sparse_module(xp):
    """Return the sparse matrices that go with `xp`, or None where they are not installed."""
    if xp not in _sparse_cache:
        name = "scipy.sparse" if xp.__name__ == "numpy" else "cupyx.scipy.sparse"
        try:
            from importlib import import_module

            _sparse_cache[xp] = import_module(name)
        except ImportError:
            _sparse_cache[xp] = None
    return _sparse_cache[xp]


def _index_add_into(xp, out, dim, index, source, alpha):
    dim, index = _vector(xp, out, dim, index)
    if source.dtype != out.dtype:
        raise ValueError
    if out.ndim == 0:
        if source.size != 1 or index.size != 1:
            raise ValueError
        _checked(xp, index, 1, 0)
        out += source.reshape(()) * as_type(xp, alpha, out.dtype)
        return
    expected = (*out.shape[:dim], index.size, *out.shape[dim + 1 :])
    if source.shape != expected and not (source.ndim == 0 and expected == (1,)):
        raise ValueError
    index = _checked(xp, index, out.shape[dim], dim)
    if alpha != 1:
        source = source * as_type(xp, alpha, source.dtype)
    source = source.reshape(expected)
    if dim == 0 and out.flags.c_contiguous and out.dtype.kind in "fciu" and out.size:
        columns = out.size // len(out)
        add_rows(xp, out.reshape(len(out), columns), index, source.reshape(-1, columns))
        return
    place = (slice(None),) * dim + (index,)
    if is_low_precision(out.dtype):
        wide = out.astype(xp.float32)
        xp.add.at(wide, place, source.astype(xp.float32))
        out[...] = wide
    else:
        xp.add.at(out, place, source)


@array_kernel("index_add")
def index_add_kernel(xp, self, dim, index, source, *, alpha=1):
    out = self.copy()
    _index_add_into(xp, out, dim, index, source, alpha)
    return out


@array_kernel("index_add_")
def index_add_inplace_kernel(xp, self, dim, index, source, *, alpha=1):
    if not is_writeable(self):  # add.at would not look
        raise ValueError("the array is read-only")
    _index_add_into(xp, self, dim, index, source, alpha)


def _index_copy_into(xp, out, dim, index, source):
    dim, index = _vector(xp, out, dim, index)
    if source.dtype != out.dtype or index.dtype.char not in "lq":
        raise ValueError
    if out.ndim == 0:
        if source.size != 1:
            raise ValueError
        _checked(xp, index, 1, 0, IndexError)
        out[...] = source.reshape(())
        return
    expected = (*out.shape[:dim], index.size, *out.shape[dim + 1 :])
    if source.shape != expected and not (source.ndim == 0 and expected == (1,)):
        raise ValueError
    index = _checked(xp, index, out.shape[dim], dim, IndexError)
    out[(slice(None),) * dim + (index,)] = source.reshape(expected)


@array_kernel("index_copy")
def index_copy_kernel(xp, self, dim, index, source):
    out = self.copy()
    _index_copy_into(xp, out, dim, index, source)
    return out


@array_kernel("index_copy_")
def index_copy_inplace_kernel(xp, self, dim, index, source):
    _index_copy_into(xp, self, dim, index, source)


def _index_fill_into(xp, out, dim, index, value):
    dim, index = _vector(xp, out, dim, index)
    if index.dtype.char not in "lq":
        raise ValueError
    if hasattr(value, "dtype"):
        if value.ndim:
            raise ValueError
        value = value.item()
    value = number_for(xp, out, value, check_range=False)
    if out.ndim == 0:
        if index.size:
            out[...] = value
        return
    bound = out.shape[dim]
    for position in index.tolist():
        if not -bound <= position < bound:
            raise IndexError(
                f"index {position} is out of bounds for dimension {dim} with size {bound}"
            )
    out[(slice(None),) * dim + (index,)] = value


@array_kernel("index_fill.int_Scalar", "index_fill.int_Tensor")
def index_fill_kernel(xp, self, dim, index, value):
    out = self.copy("K")
    _index_fill_into(xp, out, dim, index, value)
    return out


@array_kernel("index_fill_.int_Scalar", "index_fill_.int_Tensor")
def index_fill_inplace_kernel(xp, self, dim, index, value):
    _index_fill_into(xp, self, dim, index, value)


@array_kernel("index_reduce")
def index_reduce_kernel(xp, self, dim, index, source, reduce, *, include_self=True):
    dim, index = _vector(xp, self, dim, index)
    expected = (*self.shape[:dim], index.size, *self.shape[dim + 1 :])
    if (
        source.dtype != self.dtype
        or reduce not in ("prod", "mean", "amax", "amin")
        or (self.dtype.kind == "c" and reduce in ("amax", "amin"))
        or (self.ndim and source.shape != expected)
    ):
        raise ValueError
    out = self.copy()
    if self.ndim == 0:
        _scatter_reduce_into(xp, out, 0, index, source.reshape(-1), reduce, include_self)
        return out
    shape = [1] * self.ndim
    shape[dim] = index.size
    index = xp.ascontiguousarray(xp.broadcast_to(index.reshape(shape), expected))
    _scatter_reduce_into(xp, out, dim, index, source, reduce, include_self)
    return out


# ---------------------------------------------------------------- advanced indexing


def _index_tuple(xp, self, indices):
    """Return what to index with: int64 arrays, masks of the right shape, and full slices."""
    if not indices:
        raise ValueError
    result = []
    dim = 0
    shape = self.shape
    for index in indices:
        if index is None:
            result.append(slice(None))
            dim += 1
            continue
        code = index.dtype.char
        if code == "B":
            index = index != 0
            code = "?"
        if code == "?":
            if index.shape != shape[dim : dim + index.ndim]:
                raise ValueError
            dim += index.ndim
        elif code in "lqi":
            dim += 1
        else:
            raise ValueError
        result.append(index)
    if dim > self.ndim:
        raise ValueError
    return tuple(result)


def check_bounds(xp, self, places):
    """Raise for positions outside their dimension; NumPy skips them where nothing is selected."""
    dim = 0
    for place in places:
        if type(place) is slice:
            dim += 1
        elif place.dtype.kind == "b":
            dim += place.ndim
        else:
            bound = self.shape[dim]
            if place.size and bound == 0:
                raise IndexError("index is out of bounds for dimension with size 0")
            dim += 1


@array_kernel("index.Tensor")
def index_kernel(xp, self, indices):
    if len(indices) == 1:
        only = indices[0]
        if only is not None and only.dtype.char in "lqi" and self.ndim:
            if only.size and self.shape[0] == 0:
                raise IndexError("index is out of bounds for dimension with size 0")
            result = xp.asarray(self.take(only, 0))
            if self.ndim > 2 and not self.flags.c_contiguous and result.size:
                return with_strides(xp, result, rows_strides(self, only.ndim, result.shape))
            return result
    places = _index_tuple(xp, self, indices)
    if self.size == 0:
        check_bounds(xp, self, places)
    result = self[places]
    if type(result) is type(self) and xp.may_share_memory(result, self):
        return result.copy()
    return contiguous(xp, result)


def _index_put_into(xp, out, indices, values, accumulate):
    if values.dtype != out.dtype:
        raise ValueError
    places = _index_tuple(xp, out, indices)
    if out.size == 0:
        check_bounds(xp, out, places)
    if not accumulate:
        out[places] = values
        return
    if len(places) == 1 and type(places[0]) is not slice and places[0].dtype.kind != "b":
        index = places[0]
        bound = len(out)
        columns = out.size // bound if bound else 0
        if (
            columns
            and out.flags.c_contiguous
            and out.dtype.kind in "fciu"
            and values.shape == index.shape + out.shape[1:]
        ):
            flat = index.reshape(-1).astype(xp.int64, copy=False)
            if not _within(xp, flat, bound):
                for position in flat.tolist():
                    if not -bound <= position < bound:
                        raise out_of_bounds(flat, bound, 0, IndexError)
                flat = xp.where(flat < 0, flat + bound, flat)
            add_rows(xp, out.reshape(bound, columns), flat, values.reshape(-1, columns))
            return
    if is_low_precision(out.dtype):
        wide = out.astype(xp.float32)
        xp.add.at(wide, places, values.astype(xp.float32))
        out[...] = wide
    else:
        xp.add.at(out, places, values)


@array_kernel("index_put")
def index_put_kernel(xp, self, indices, values, accumulate=False):
    out = self.copy("K")
    _index_put_into(xp, out, indices, values, accumulate)
    return out


@array_kernel("index_put_")
def index_put_inplace_kernel(xp, self, indices, values, accumulate=False):
    _index_put_into(xp, self, indices, values, accumulate)


@array_kernel("take")
def take_kernel(xp, self, index):
    if index.dtype.char not in "lq":
        raise ValueError
    _check_flat(xp, self, index)
    return xp.asarray(self.take(index)).reshape(index.shape)


def _check_flat(xp, self, index):
    """Raise unless all positions are in the flattened array, counted from either end."""
    count = self.size
    if index.size and count == 0:
        raise IndexError("take(): tried to take from an empty tensor")
    if not _within(xp, index, count):
        for position in index.reshape(-1).tolist():
            if not -count <= position < count:
                raise IndexError(
                    f"out of range: tried to access index {position} on a tensor of {count} "
                    "elements."
                )


def _put_into(xp, out, index, source, accumulate):
    if index.dtype.char not in "lq" or source.dtype != out.dtype or source.size != index.size:
        raise ValueError
    _check_flat(xp, out, index)
    places, values = index.reshape(-1), source.reshape(-1)
    target = xp.array(out, order="C", dtype=accumulate_dtype(xp, out.dtype))
    flat = target.reshape(-1)
    if accumulate:
        xp.add.at(flat, places, values.astype(flat.dtype, copy=False))
    else:
        flat[places] = values
    out[...] = target


@array_kernel("put")
def put_kernel(xp, self, index, source, accumulate=False):
    out = self.copy("K")
    _put_into(xp, out, index, source, accumulate)
    return out


@array_kernel("put_")
def put_inplace_kernel(xp, self, index, source, accumulate=False):
    _put_into(xp, self, index, source, accumulate)


# ---------------------------------------------------------------- masks


def number_for(xp, array, value, check_range=True):
    """Return a Python number as `array`'s element type; refuse what that type cannot hold."""
    kind = array.dtype.kind
    if kind == "c":
        return complex(value)
    if isinstance(value, complex):
        if value.imag or check_range:
            raise ValueError
        value = value.real
    if kind == "f":
        limit = xp.finfo(array.dtype).max
        if value != value or abs(value) <= limit or abs(value) == float("inf"):
            return value
        raise ValueError
    if kind == "b":
        return bool(value)
    if kind in "iu":
        value = int(value)
        limits = xp.iinfo(array.dtype)
        if kind == "u" and -limits.max <= value < 0:
            return value + limits.max + 1
        if not limits.min <= value <= limits.max:
            raise ValueError
    return value


def _mask_value(xp, self, mask, value):
    if mask.dtype.kind != "b":
        raise ValueError
    if hasattr(value, "dtype"):
        if value.ndim or (value.dtype.kind == "c" and self.dtype.kind != "c"):
            raise ValueError
        return value.astype(self.dtype)
    if type(value) is float and self.dtype.char in "fd" and -3e38 < value < 3e38:
        return value
    return number_for(xp, self, value)


@array_kernel("masked_fill.Scalar", "masked_fill.Tensor")
def masked_fill_kernel(xp, self, mask, value):
    value = _mask_value(xp, self, mask, value)
    if mask.shape == self.shape:
        out = self.copy()
        xp.putmask(out, mask, value)
        return out
    shape = broadcast_shapes(self.shape, mask.shape)
    out = xp.empty(shape, self.dtype)
    out[...] = self
    xp.copyto(out, value, where=mask)
    return out


@array_kernel("masked_fill_.Scalar", "masked_fill_.Tensor")
def masked_fill_inplace_kernel(xp, self, mask, value):
    xp.copyto(self, _mask_value(xp, self, mask, value), where=mask, casting="unsafe")


@array_kernel("masked_select")
def masked_select_kernel(xp, self, mask):
    if mask.dtype.kind != "b":
        raise ValueError
    if mask.shape != self.shape:
        self, mask = xp.broadcast_arrays(self, mask)
    return self[mask]


def _masked_scatter_into(xp, out, mask, source):
    if mask.dtype.kind != "b" or source.dtype != out.dtype:
        raise ValueError
    if mask.shape != out.shape:
        mask = xp.broadcast_to(mask, out.shape)
    count = int(xp.count_nonzero(mask))
    if count > source.size:
        raise RuntimeError(
            f"masked_scatter(): the mask selects {count} elements, but source has {source.size}"
        )
    out[mask] = source.reshape(-1)[:count]


@array_kernel("masked_scatter")
def masked_scatter_kernel(xp, self, mask, source):
    out = xp.empty(broadcast_shapes(self.shape, mask.shape), self.dtype)
    out[...] = self
    _masked_scatter_into(xp, out, mask, source)
    return out


@array_kernel("masked_scatter_")
def masked_scatter_inplace_kernel(xp, self, mask, source):
    _masked_scatter_into(xp, self, mask, source)


@array_kernel("nonzero")
def nonzero_kernel(xp, self):
    if self.ndim == 0:
        return xp.empty((1 if self else 0, 0), xp.int64)
    places = self.nonzero()
    if len(places) == 1:
        return places[0].reshape(-1, 1)
    return xp.stack(places).T


@array_kernel("where.self")
def where_kernel(xp, condition, self, other):
    code = condition.dtype.char
    if code != "?":
        if code != "B":
            raise ValueError
        condition = condition != 0
    if self.dtype is not other.dtype:
        dtype = result_type_of_two(self, other)
        self, other = self.astype(dtype, copy=False), other.astype(dtype, copy=False)
    result = xp.where(condition, self, other)
    if result.ndim < 2 or (
        self.flags.c_contiguous and other.flags.c_contiguous and condition.flags.c_contiguous
    ):
        return result
    return arranged(xp, result, (condition, self, other))


# ---------------------------------------------------------------- embedding


@array_kernel("embedding")
def embedding_kernel(xp, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if weight.ndim != 2:
        raise ValueError
    positions = indices
    if indices.dtype.char != "l":
        if indices.dtype.char not in "iq":
            raise ValueError
        positions = indices.astype(xp.int64)
    if not _within(xp, positions, len(weight)):
        raise IndexError(
            f"embedding(): index out of range in self: {out_of_bounds(positions, len(weight), 0)}"
        )
    return weight.take(positions, 0)


@array_kernel("embedding_dense_backward")
def embedding_dense_backward_kernel(
    xp, grad_output, indices, num_weights, padding_idx, scale_grad_by_freq
):
    columns = grad_output.shape[-1]
    compute = accumulate_dtype(xp, grad_output.dtype)
    rows = grad_output.reshape(-1, columns).astype(compute, copy=False)
    index = indices.reshape(-1).astype(xp.int64, copy=False)
    if padding_idx >= 0:
        keep = index != padding_idx
        if not keep.all():
            index, rows = index[keep], rows[keep]
    if not _within(xp, index, num_weights):
        raise out_of_bounds(index, num_weights, 0, IndexError)
    if scale_grad_by_freq:
        counts = xp.bincount(index, minlength=num_weights).astype(compute)
        rows = rows / counts[index][:, None]
    out = xp.zeros((num_weights, columns), compute)
    if columns:
        add_rows(xp, out, index, rows)
    return out.astype(grad_output.dtype, copy=False)


@array_kernel("repeat_interleave.Tensor")
def repeat_interleave_kernel(xp, repeats, *, output_size=None):
    if repeats.ndim != 1 or repeats.dtype.char not in "lqi":
        raise ValueError
    if repeats.size and repeats.min() < 0:
        raise RuntimeError("repeat_interleave(): repeats can not be negative")
    return xp.repeat(xp.arange(len(repeats)), repeats).astype(repeats.dtype, copy=False)


# ---------------------------------------------------------------- triangles, diagonals


def _triangle(xp, self, diagonal, lower):
    if self.ndim < 2:
        raise ValueError
    rows = xp.arange(self.shape[-2])
    columns = xp.arange(-diagonal, self.shape[-1] - diagonal)
    keep = rows[:, None] >= columns if lower else rows[:, None] <= columns
    return contiguous(xp, xp.where(keep, self, self.dtype.type(0)))


@array_kernel("tril")
def tril_kernel(xp, self, diagonal=0):
    return _triangle(xp, self, diagonal, True)


@array_kernel("triu")
def triu_kernel(xp, self, diagonal=0):
    return _triangle(xp, self, diagonal, False)


def _diagonal_of(xp, out, offset, dim1, dim2):
    """Return a writable view of a diagonal, last as in `diagonal`."""
    moved = xp.moveaxis(out, (dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    length = max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)
    row, column = moved.strides[-2:]
    start = moved[..., 0 if offset >= 0 else -offset :, offset if offset > 0 else 0 :]
    return xp.lib.stride_tricks.as_strided(
        start, (*moved.shape[:-2], length), (*moved.strides[:-2], row + column)
    )


@array_kernel("diag_embed")
def diag_embed_kernel(xp, self, offset=0, dim1=-2, dim2=-1):
    ndim = self.ndim + 1
    if self.ndim == 0 or not (-ndim <= dim1 < ndim and -ndim <= dim2 < ndim):
        raise ValueError
    dim1, dim2 = dim1 % ndim, dim2 % ndim
    if dim1 == dim2:
        raise ValueError
    size = self.shape[-1] + abs(offset)
    shape = list(self.shape[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, size)
    out = xp.zeros(shape, self.dtype)
    if self.size:
        _diagonal_of(xp, out, offset, dim1, dim2)[...] = self
    return out


@array_kernel("diagonal_scatter")
def diagonal_scatter_kernel(xp, self, src, offset=0, dim1=0, dim2=1):
    out = self.copy("K")
    place = _diagonal_of(xp, out, offset, dim1, dim2)
    if place.shape != src.shape:
        raise ValueError
    place[...] = src
    return out


@array_kernel("select_scatter")
def select_scatter_kernel(xp, self, src, dim, index):
    out = self.copy("K")
    place = xp.moveaxis(out, dim, 0)
    if place.shape[1:] != src.shape:
        raise ValueError
    place[index] = src
    return out


@array_kernel("slice_scatter")
def slice_scatter_kernel(xp, self, src, dim=0, start=None, end=None, step=1):
    out = self.copy("K")
    if step <= 0:
        raise ValueError
    place = xp.moveaxis(out, dim, 0)[start:end:step]
    if place.shape != xp.moveaxis(src, dim, 0).shape:
        raise ValueError
    place[...] = xp.moveaxis(src, dim, 0)
    return out


# ---------------------------------------------------------------- turning, joining, repeating


@array_kernel("roll")
@keeps_format
def roll_kernel(xp, self, shifts, dims=()):
    if not dims:
        if len(shifts) != 1:
            raise ValueError
        return _roll(xp, self.reshape(-1), shifts[0], 0).reshape(self.shape)
    if len(shifts) != len(dims) or self.ndim == 0:
        raise ValueError
    result = self
    for shift, dim in zip(shifts, dims, strict=True):
        result = _roll(xp, result, shift, dim)
    return contiguous(xp, result)


def _roll(xp, array, shift, dim):
    if array.size == 0 or array.ndim == 0:
        return array.copy()
    cut = -shift % array.shape[dim]
    lead = (slice(None),) * (dim % array.ndim)
    if not cut:
        return array.copy()
    return xp.concatenate((array[(*lead, slice(cut, None))], array[(*lead, slice(0, cut))]), dim)


@array_kernel("flip")
def flip_kernel(xp, self, dims):
    index = [slice(None)] * self.ndim
    for dim in dims:
        if self.ndim:
            if index[dim].step is not None:
                raise ValueError
            index[dim] = slice(None, None, -1)
        elif not -1 <= dim <= 0:
            raise ValueError
    if any([step == 0 and n > 1 for n, step in zip(self.shape, self.strides, strict=True)]):
        # Of an expanded array NumPy and PyTorch see the order differently.
        strides = elementwise_strides(self.shape, (self,), self.itemsize)
        return self[tuple(index)].copy() if strides is None else like_strides(xp, self[tuple(index)], strides)
    out = xp.empty_like(self, order="K")
    out[...] = self[tuple(index)]
    return out


def like_strides(xp, array, strides):
    """Return a copy of `array` whose dimensions lie in memory as `strides` order them."""
    order = sorted(range(array.ndim), key=lambda d: -strides[d])
    memory = xp.ascontiguousarray(array.transpose(order))
    return memory.transpose([order.index(d) for d in range(array.ndim)])


@array_kernel("cat")
def cat_kernel(xp, tensors, dim=0):
    dtype = tensors[0].dtype
    for tensor in tensors:
        if tensor.dtype is not dtype:
            tensors = _of_one_type(tensors)
            break
    try:
        result = xp.concatenate(tensors, dim)
    except ValueError:
        # An empty vector may stand beside tensors of any number of dimensions.
        kept = [t for t in tensors if t.shape != (0,)]
        if len(kept) in (0, len(tensors)):
            raise
        result = xp.concatenate(kept, dim)
    if result.flags.c_contiguous:
        return result
    strides = joined_strides(result.shape, tensors, result.itemsize)
    if strides is None:
        return xp.ascontiguousarray(result)
    return result if strides == result.strides else like_strides(xp, result, strides)


def _of_one_type(tensors):
    dtype = result_type(*tensors)
    return [t.astype(dtype, copy=False) for t in tensors]


@array_kernel("stack")
def stack_kernel(xp, tensors, dim=0):
    first = tensors[0]
    dtype = first.dtype
    if dim < 0:
        dim += first.ndim + 1
    new = (slice(None),) * dim + (None,)
    rows = []
    for tensor in tensors:
        if tensor.dtype is not dtype:
            tensors = _of_one_type(tensors)
            rows = [t[new] for t in tensors]
            break
        rows.append(tensor[new])
    result = xp.concatenate(rows, dim)
    return result if result.flags.c_contiguous else xp.ascontiguousarray(result)


@array_kernel("repeat")
def repeat_kernel(xp, self, repeats):
    lead = len(repeats) - self.ndim
    if lead < 0 or min(repeats, default=0) < 0:
        raise ValueError
    spread, interleaved, result = [], [], []
    for n, times in zip((1,) * lead + self.shape, repeats, strict=True):
        spread += (1, n)
        interleaved += (times, n)
        result.append(times * n)
    out = xp.empty(interleaved, self.dtype)
    out[...] = self.reshape(spread)
    return out.reshape(result)
