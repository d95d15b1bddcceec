"""Views and copies of arrays."""

from __future__ import annotations

from minitorch.backends.array.common import protect_overlap
from minitorch.backends.array.registry import array_kernel, view_kernel
from minitorch.core.meta_array import MetaArray
from minitorch.ops.shapes.geometry import expand_geometry
from minitorch.ops.shapes.views import (
    copy_strides,
    diagonal_shape,
    is_dense,
    transpose_shape,
    unfold_shape,
    view_shape,
)


@view_kernel("view")
def view_kernel_(xp, self, size):
    if self.flags.c_contiguous:
        return self.reshape(size)
    return strided_view(xp, self, view_shape(self, size))


@array_kernel("_unsafe_view")
def unsafe_view_kernel(xp, self, size):
    return self.reshape(size)


@view_kernel("view.dtype")
def view_dtype_kernel(xp, self, dtype):
    if self.ndim == 0 and self.itemsize != dtype.itemsize:
        raise ValueError("0-dim arrays keep their item size")
    return self.view(dtype.np)


@view_kernel("transpose.int")
def transpose_kernel(xp, self, dim0, dim1):
    if self.ndim == 0:
        transpose_shape(self, dim0, dim1)
        return self[...]
    return self.swapaxes(dim0, dim1)


@view_kernel("t")
def t_kernel(xp, self):
    if self.ndim > 2:
        raise ValueError("t() of more than two dimensions")
    return self.T if self.ndim == 2 else self[...]


@view_kernel("permute")
def permute_kernel(xp, self, dims):
    return self.transpose(dims) if dims else self[...]


@view_kernel("squeeze")
def squeeze_kernel(xp, self):
    return self.squeeze()[...]


@view_kernel("squeeze.dim")
def squeeze_dim_kernel(xp, self, dim):
    if self.ndim == 0:
        if not -1 <= dim <= 0:
            raise ValueError("dim out of range")
        return self[...]
    return self.squeeze(dim) if self.shape[dim] == 1 else self[...]


@view_kernel("squeeze.dims")
def squeeze_dims_kernel(xp, self, dim):
    if self.ndim == 0:
        if any([not -1 <= d <= 0 for d in dim]):
            raise ValueError("dim out of range")
        return self[...]
    dims = tuple({d % self.ndim for d in dim if self.shape[d] == 1})
    return self.squeeze(dims) if dims else self[...]


@view_kernel("unsqueeze")
def unsqueeze_kernel(xp, self, dim):
    ndim = self.ndim
    if not -ndim - 1 <= dim <= ndim:
        raise ValueError("dim out of range")
    if dim < 0:
        dim += ndim + 1
    if dim == 0:
        return self[None]
    if dim == ndim:
        return self[..., None]
    return self[(slice(None),) * dim + (None,)]


@view_kernel("select.int")
def select_kernel(xp, self, dim, index):
    if dim == 0:
        return self[index, ...]
    ndim = self.ndim
    if not -ndim <= dim < ndim:
        raise ValueError("dim out of range")
    if dim < 0:
        dim += ndim
    return self[(slice(None),) * dim + (index, Ellipsis)]


@view_kernel("slice.Tensor")
def slice_kernel(xp, self, dim=0, start=None, end=None, step=1):
    if dim == 0:
        return self[start:end:step]
    ndim = self.ndim
    if not -ndim <= dim < ndim:
        raise ValueError("dim out of range")
    if dim < 0:
        dim += ndim
    return self[(slice(None),) * dim + (slice(start, end, step),)]


@view_kernel("split.Tensor")
def split_kernel(xp, self, split_size, dim=0):
    if self.ndim == 0 or split_size < 0 or not -self.ndim <= dim < self.ndim:
        raise ValueError("split size or dim out of range")
    size = self.shape[dim]
    if split_size == 0:
        if size:
            raise ValueError("split_size is 0")
        return [self[...]]
    lead = (slice(None),) * (dim % self.ndim)
    return [self[(*lead, slice(start, start + split_size))] for start in range(0, max(size, 1), split_size)]


@view_kernel("split_with_sizes")
def split_with_sizes_kernel(xp, self, split_sizes, dim=0):
    if self.ndim == 0 or not -self.ndim <= dim < self.ndim:
        raise ValueError("dim out of range")
    if sum(split_sizes) != self.shape[dim] or min(split_sizes, default=0) < 0:
        raise ValueError("sizes do not sum to the dimension")
    lead = (slice(None),) * (dim % self.ndim)
    parts, start = [], 0
    for n in split_sizes:
        parts.append(self[(*lead, slice(start, start + n))])
        start += n
    return parts


@view_kernel("unbind.int")
def unbind_kernel(xp, self, dim=0):
    if self.ndim == 0 or not -self.ndim <= dim < self.ndim:
        raise ValueError("dim out of range")
    if dim < 0:
        dim += self.ndim
    lead = (slice(None),) * dim
    return [self[(*lead, i, Ellipsis)] for i in range(self.shape[dim])]


@view_kernel("detach", "alias")
def alias_kernel(xp, self):
    return self[...]


@view_kernel("view_as_real")
def view_as_real_kernel(xp, self):
    if self.dtype.kind != "c":
        raise ValueError("not complex")
    part = xp.float32 if self.itemsize == 8 else xp.float64
    return self[..., None].view(part)


@view_kernel("view_as_complex")
def view_as_complex_kernel(xp, self):
    if self.ndim == 0 or self.shape[-1] != 2 or self.dtype.kind != "f":
        raise ValueError("last dimension must be two floats")
    whole = xp.complex64 if self.itemsize == 4 else xp.complex128
    if any(s % (2 * self.itemsize) for s in self.strides[:-1]):
        raise ValueError("strides must be even")
    return self.view(whole)[..., 0]


# -- copies ----------------------------------------------------------------------------------


def copy_in_format(xp, array, dtype, memory_format):
    """Return a dense copy of `array` as `dtype`, its dimensions ordered as the memory format says."""
    if memory_format is None and is_dense(array) and not any(s < 0 for s in array.strides):
        return array.astype(dtype, order="K", copy=True)
    strides = copy_strides(array, memory_format, dtype.itemsize)
    order = sorted(range(array.ndim), key=lambda d: (-strides[d], d))
    inverse = sorted(range(array.ndim), key=order.__getitem__)
    block = xp.empty([array.shape[d] for d in order], dtype)
    result = block.transpose(inverse)
    xp.copyto(result, array, casting="unsafe")
    return result


@array_kernel("clone")
def clone_kernel(xp, self, *, memory_format=None):
    if memory_format is None and self.flags.c_contiguous:
        return self.copy()
    return copy_in_format(xp, self, self.dtype, memory_format)


@array_kernel("_to_copy")
def to_copy_kernel(
    xp, self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None
):
    if memory_format is None and dtype is not None and self.dtype.char in "fdlib?" and self.flags.c_contiguous:
        target = dtype.np
        if target.char in "fd" or self.dtype.char in "lib?":
            return self.astype(target)
    target = self.dtype if dtype is None else dtype.np
    if target.kind == "b" and self.dtype.kind == "V":
        self = self.astype(xp.float32)
    if self.dtype.kind == "c" and target.kind not in "cb":
        self = self.real
    if self.dtype.kind in "fV" and target.kind in "iu":
        if not self.flags.c_contiguous:
            self = copy_in_format(xp, self, self.dtype, memory_format)  # NumPy's order differs of expanded arrays
        self = float_to_integer(xp, self, target)
        if memory_format is None:
            return self
    if target.char == "e" and self.dtype.char == "d":
        self = self.astype(xp.float32)  # rounded twice, as PyTorch does
    if memory_format is None and self.flags.c_contiguous:
        return self.astype(target)
    return copy_in_format(xp, self, target, memory_format)


def float_to_integer(xp, array, target):
    """Cast floats to integers: towards zero; out of range as the machine converts to 32 or 64 bits, then wrapping."""
    if array.dtype.kind == "V":
        array = array.astype(xp.float32)
    if target.itemsize < 4:
        return array.astype(xp.int32).astype(target)
    if target.char == "I":
        return array.astype(xp.int64).astype(target)
    return array.astype(target)


@array_kernel("copy_")
def copy_kernel(xp, self, src, non_blocking=False):
    if isinstance(src, (bool, int, float, complex)):
        src = xp.asarray(src)
    if src.ndim > self.ndim:
        raise ValueError("the source has dimensions that the target has not")
    if src.dtype.kind == "c" and self.dtype.kind not in "cb":
        src = src.real
    elif self.dtype.kind in "iu" and src.dtype.kind in "fV":
        src = float_to_integer(xp, src, self.dtype)
    elif self.dtype.char == "e" and src.dtype.char == "d":
        src = src.astype(xp.float32)
    xp.copyto(self, src, casting="unsafe")
    return self


@array_kernel("fill.Scalar", "fill.Tensor")
def fill_kernel(xp, self, value):
    result = xp.empty_like(self)
    if getattr(value, "ndim", 0) != 0:
        raise ValueError("fill needs one value")
    if type(value) is int and self.dtype.kind == "V":
        value = float(value)  # ml_dtypes' types take no Python integer beyond a C long
    result.fill(value)
    return result


@array_kernel("zero_")
def zero_kernel(xp, self):
    self.fill(0)
    return self


@array_kernel("_local_scalar_dense")
def local_scalar_dense_kernel(xp, self):
    if self.size != 1:
        raise ValueError("not one element")
    value = self.item()
    return float(value) if self.dtype.kind == "V" else value


# -- views that NumPy's own methods do not give ------------------------------------------------


def strided_view(xp, array, geometry):
    """Return `array`'s memory seen as `geometry`, whose offset counts from `array`'s first element."""
    if geometry.offset == 0 and array.flags.c_contiguous and array.size:
        return xp.ndarray(geometry.shape, geometry.dtype, array, 0, geometry.strides)
    if geometry.size == 0 or array.size == 0:
        return array.reshape(-1)[:0].reshape(geometry.shape)
    if geometry.offset:
        # The first element of the view, as an array of its own to start from.
        # Counted from the lowest address, which negative steps lead down to.
        index, rest = [], geometry.offset
        for d in range(array.ndim):
            if array.strides[d] < 0:
                rest -= (array.shape[d] - 1) * array.strides[d]
        for d in sorted(range(array.ndim), key=lambda d: -abs(array.strides[d])):
            step = abs(array.strides[d])
            count = min(rest // step, array.shape[d] - 1) if step else 0
            rest -= count * step
            index.append((d, array.shape[d] - 1 - count if array.strides[d] < 0 else count))
        at = dict(index)
        array = array[tuple([slice(at[d], at[d] + 1) for d in range(array.ndim)])]
    return xp.lib.stride_tricks.as_strided(array, geometry.shape, geometry.strides)


@view_kernel("expand")
def expand_kernel(xp, self, size, *, implicit=False):
    shape, strides = expand_geometry(self.shape, self.strides, size)
    if self.flags.c_contiguous and self.size:
        return protect_overlap(xp.ndarray(shape, self.dtype, self, 0, strides))
    return protect_overlap(strided_view(xp, self, MetaArray(shape, self.dtype, strides)))


@view_kernel("diagonal")
def diagonal_kernel(xp, self, offset=0, dim1=0, dim2=1):
    return strided_view(xp, self, diagonal_shape(self, offset, dim1, dim2))


@view_kernel("unfold")
def unfold_kernel(xp, self, dimension, size, step):
    return strided_view(xp, self, unfold_shape(self, dimension, size, step))


# -- the gradients of views ---------------------------------------------------------------------


@array_kernel("select_backward")
def select_backward_kernel(xp, grad_output, input_sizes, dim, index):
    result = xp.zeros(input_sizes, grad_output.dtype)
    select_kernel(xp, result, dim, index)[...] = grad_output
    return result


@array_kernel("slice_backward")
def slice_backward_kernel(xp, grad_output, input_sizes, dim, start, end, step):
    result = xp.zeros(input_sizes, grad_output.dtype)
    slice_kernel(xp, result, dim, start, end, step)[...] = grad_output
    return result


@array_kernel("diagonal_backward")
def diagonal_backward_kernel(xp, grad_output, input_sizes, offset, dim1, dim2):
    result = xp.zeros(input_sizes, grad_output.dtype)
    diagonal_kernel(xp, result, offset, dim1, dim2)[...] = grad_output
    return result


@array_kernel("unfold_backward")
def unfold_backward_kernel(xp, grad_in, input_sizes, dim, size, step):
    result = xp.zeros(input_sizes, grad_in.dtype)
    if not input_sizes:
        return grad_in.sum(-1) if size else result
    dim %= len(input_sizes)
    lead = (slice(None),) * dim
    # Windows overlap: add position by position within the window, where places are distinct.
    count = grad_in.shape[dim]
    for i in range(size):
        result[(*lead, slice(i, i + (count - 1) * step + 1, step))] += grad_in[..., i]
    return result
