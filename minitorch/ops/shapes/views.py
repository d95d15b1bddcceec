"""Shape functions of views and copies."""

from __future__ import annotations

from minitorch.core.memory_format import contiguous_format, format_strides, preserve_format
from minitorch.core.meta_array import MetaArray, contiguous_strides
from minitorch.errors import NeedsElementsError
from minitorch.ops.shapes.common import broadcast_shapes, check, normalize_dim
from minitorch.ops.shapes.geometry import expand_geometry, infer_size, slice_bounds, view_strides
from minitorch.ops.shapes.registry import shape


def as_view(array, new_shape, strides, offset=0, dtype=None) -> MetaArray:
    """Return a view of `array`; `offset` in bytes from the array's own first element."""
    if isinstance(array, MetaArray):
        return array.view(new_shape, strides, array.offset + offset, dtype)
    return MetaArray(new_shape, array.dtype if dtype is None else dtype, strides, offset)


@shape("view")
def view_shape(self, size):
    new_shape = infer_size(size, self.size)
    strides = view_strides(self.shape, self.strides, new_shape, self.itemsize)
    check(
        strides is not None,
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
        f"contiguous subspaces): size {list(size)}, input of size {list(self.shape)}. Use .reshape(...) instead.",
    )
    return as_view(self, new_shape, strides)


@shape("_unsafe_view")
def unsafe_view_shape(self, size):
    return MetaArray(infer_size(size, self.size), self.dtype)


@shape("view.dtype")
def view_dtype_shape(self, dtype):
    old, new = self.itemsize, dtype.itemsize
    if old == new:
        return as_view(self, self.shape, self.strides, 0, dtype.np)
    check(self.ndim > 0, f"self.dim() cannot be 0 to view {self.dtype} as {dtype.name} (different element sizes)")
    check(self.strides[-1] == old or self.shape[-1] == 1,
          f"self.stride(-1) must be 1 to view {self.dtype} as {dtype.name} (different element sizes)")
    if old > new:
        last = self.shape[-1] * (old // new)
    else:
        ratio = new // old
        check(self.shape[-1] % ratio == 0,
              f"self.size(-1) must be divisible by {ratio} to view {self.dtype} as {dtype.name}, but got {self.shape[-1]}")
        last = self.shape[-1] // ratio
    return as_view(self, (*self.shape[:-1], last), (*self.strides[:-1], new), 0, dtype.np)


@shape("transpose.int")
def transpose_shape(self, dim0, dim1):
    dim0, dim1 = normalize_dim(dim0, self.ndim), normalize_dim(dim1, self.ndim)
    if self.ndim == 0:
        return as_view(self, (), ())
    sizes, strides = list(self.shape), list(self.strides)
    sizes[dim0], sizes[dim1] = sizes[dim1], sizes[dim0]
    strides[dim0], strides[dim1] = strides[dim1], strides[dim0]
    return as_view(self, sizes, strides)


@shape("t")
def t_shape(self):
    check(self.ndim <= 2, f"t() expects a tensor with <= 2 dimensions, but self is {self.ndim}D")
    return as_view(self, self.shape[::-1], self.strides[::-1])


@shape("permute")
def permute_shape(self, dims):
    check(
        len(dims) == self.ndim,
        f"permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
        f"ordering of dimensions i.e. input.dim() = {self.ndim} is not equal to len(dims) = {len(dims)}".replace(
            "(sparse_coo)", ""
        ),
    )
    order = [normalize_dim(d, self.ndim, "permute") for d in dims]
    check(len(set(order)) == len(order), "permute(): duplicate dims are not allowed.")
    return as_view(self, [self.shape[d] for d in order], [self.strides[d] for d in order])


@shape("expand")
def expand_shape(self, size, *, implicit=False):
    return as_view(self, *expand_geometry(self.shape, self.strides, size))


@shape("squeeze")
def squeeze_shape(self):
    keep = [i for i, n in enumerate(self.shape) if n != 1]
    return as_view(self, [self.shape[i] for i in keep], [self.strides[i] for i in keep])


@shape("squeeze.dim")
def squeeze_dim_shape(self, dim):
    return squeeze_dims_shape(self, [dim])


@shape("squeeze.dims")
def squeeze_dims_shape(self, dim):
    dims = {normalize_dim(d, self.ndim, "squeeze") for d in dim}
    keep = [i for i, n in enumerate(self.shape) if n != 1 or i not in dims]
    return as_view(self, [self.shape[i] for i in keep], [self.strides[i] for i in keep])


@shape("unsqueeze")
def unsqueeze_shape(self, dim):
    dim = normalize_dim(dim, self.ndim + 1, "unsqueeze")
    stride = self.itemsize if dim >= self.ndim else self.shape[dim] * self.strides[dim]
    sizes, strides = list(self.shape), list(self.strides)
    sizes.insert(dim, 1)
    strides.insert(dim, stride)
    return as_view(self, sizes, strides)


@shape("select.int")
def select_shape(self, dim, index):
    check(self.ndim > 0, "select() cannot be applied to a 0-dim tensor.", IndexError)
    dim = normalize_dim(dim, self.ndim, "select")
    size = self.shape[dim]
    check(
        -size <= index < size,
        f"select(): index {index} out of range for tensor of size {list(self.shape)} at dimension {dim}",
        IndexError,
    )
    if index < 0:
        index += size
    return as_view(
        self, self.shape[:dim] + self.shape[dim + 1 :], self.strides[:dim] + self.strides[dim + 1 :],
        index * self.strides[dim],
    )


@shape("slice.Tensor")
def slice_shape(self, dim=0, start=None, end=None, step=1):
    check(self.ndim > 0, "slice() cannot be applied to a 0-dim tensor.", IndexError)
    dim = normalize_dim(dim, self.ndim, "slice")
    check(step != 0, "slice(): step must not be zero")
    first, count, step = slice_bounds(start, end, step, self.shape[dim])
    sizes, strides = list(self.shape), list(self.strides)
    offset = first * strides[dim] if count else 0
    sizes[dim] = count
    strides[dim] *= step
    return as_view(self, sizes, strides, offset)


@shape("split.Tensor")
def split_shape(self, split_size, dim=0):
    check(self.ndim > 0, "split expects at least a 1-dimensional tensor")
    dim = normalize_dim(dim, self.ndim, "split")
    check(split_size >= 0, f"split expects split_size be non-negative, but got split_size={split_size}")
    size = self.shape[dim]
    check(
        split_size > 0 or size == 0,
        f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}",
    )
    if split_size == 0:
        return [as_view(self, self.shape, self.strides)]
    return [
        slice_shape(self, dim, start, min(start + split_size, size)) for start in range(0, max(size, 1), split_size)
    ]


@shape("split_with_sizes")
def split_with_sizes_shape(self, split_sizes, dim=0):
    check(self.ndim > 0, "split expects at least a 1-dimensional tensor")
    dim = normalize_dim(dim, self.ndim, "split_with_sizes")
    for n in split_sizes:
        check(n >= 0, f"split_with_sizes expects split_sizes have only non-negative entries, but got {list(split_sizes)}")
    check(
        sum(split_sizes) == self.shape[dim],
        f"split_with_sizes expects split_sizes to sum exactly to {self.shape[dim]} (input tensor's size at dimension "
        f"{dim}), but got split_sizes={list(split_sizes)}",
    )
    parts, start = [], 0
    for n in split_sizes:
        parts.append(slice_shape(self, dim, start, start + n))
        start += n
    return parts


@shape("unbind.int")
def unbind_shape(self, dim=0):
    check(self.ndim > 0, "unbind(): Dimension specified as 0 but tensor has no dimensions", IndexError)
    dim = normalize_dim(dim, self.ndim, "unbind")
    return [select_shape(self, dim, i) for i in range(self.shape[dim])]


@shape("diagonal")
def diagonal_shape(self, offset=0, dim1=0, dim2=1):
    dim1, dim2 = normalize_dim(dim1, self.ndim, "diagonal"), normalize_dim(dim2, self.ndim, "diagonal")
    check(dim1 != dim2, f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if offset >= 0:
        count = max(min(self.shape[dim1], self.shape[dim2] - offset), 0)
        start = offset * self.strides[dim2]
    else:
        count = max(min(self.shape[dim1] + offset, self.shape[dim2]), 0)
        start = -offset * self.strides[dim1]
    rest = [i for i in range(self.ndim) if i not in (dim1, dim2)]
    return as_view(
        self,
        [*[self.shape[i] for i in rest], count],
        [*[self.strides[i] for i in rest], self.strides[dim1] + self.strides[dim2]],
        start if count else 0,
    )


@shape("unfold")
def unfold_shape(self, dimension, size, step):
    dimension = normalize_dim(dimension, self.ndim, "unfold")
    full = self.shape[dimension] if self.ndim else 1
    check(size >= 0, f"unfold: size is {size} but must be >= 0")
    check(size <= full, f"maximum size for tensor at dimension {dimension} is {full} but size is {size}")
    check(step > 0, f"step is {step} but must be > 0")
    stride = self.strides[dimension] if self.ndim else self.itemsize
    sizes, strides = list(self.shape), list(self.strides)
    if self.ndim:
        sizes[dimension] = (full - size) // step + 1
        strides[dimension] = stride * step
    return as_view(self, [*sizes, size], [*strides, stride])


@shape("detach", "alias")
def alias_shape(self):
    return as_view(self, self.shape, self.strides)


@shape("_local_scalar_dense")
def local_scalar_dense_shape(self):
    check(self.size == 1, f"a Tensor with {self.size} elements cannot be converted to Scalar")
    raise NeedsElementsError("_local_scalar_dense", "the number")


@shape("equal")
def equal_shape(self, other):
    raise NeedsElementsError("equal", "whether the tensors are equal")


@shape("view_as_real")
def view_as_real_shape(self):
    check(
        self.dtype.kind == "c", f"view_as_real is only supported for complex tensors, and self is {self.dtype}"
    )
    part = self.itemsize // 2
    return as_view(self, (*self.shape, 2), (*self.strides, part), 0, "f4" if part == 4 else "f8")


@shape("view_as_complex")
def view_as_complex_shape(self):
    check(
        self.dtype.kind == "f" and self.itemsize >= 4,
        f"view_as_complex is only supported for half, float and double tensors, but got a tensor of type {self.dtype}",
    )
    check(self.ndim > 0, "Input tensor must have one or more dimensions")
    check(self.shape[-1] == 2, "Tensor must have a last dimension of size 2")
    check(self.strides[-1] == self.itemsize, "Tensor must have a last dimension with stride 1")
    whole = 2 * self.itemsize
    check(
        all(s % whole == 0 for s in self.strides[:-1]),
        "Tensor must have a stride divisible by 2 for all but last dimension",
    )
    return as_view(self, self.shape[:-1], self.strides[:-1], 0, "c8" if whole == 8 else "c16")


def preserved_strides(array) -> tuple:
    """Return the strides of a dense copy that keeps the order of `array`'s dimensions in memory."""
    if array.ndim < 2:
        return contiguous_strides(array.shape, array.itemsize)
    order = sorted(range(array.ndim), key=lambda d: (-abs(array.strides[d]), d))
    strides = [0] * array.ndim
    step = array.itemsize
    for d in reversed(order):
        strides[d] = step
        step *= max(array.shape[d], 1)
    return tuple(strides)


def is_dense(array) -> bool:
    """Return whether the elements fill a block of memory, each place once."""
    if array.size < 2:
        return True
    pairs = sorted((s, n) for s, n in zip(array.strides, array.shape, strict=True) if n != 1)
    step = array.itemsize
    for stride, n in pairs:
        if stride != step:
            return False
        step *= n
    return True


def copy_strides(array, memory_format, itemsize=None) -> tuple:
    """Return the strides of a copy of `array` in a memory format (None: preserved)."""
    itemsize = itemsize or array.itemsize
    if memory_format is None or memory_format is preserve_format:
        if is_dense(array):
            strides = tuple(array.strides)
        elif 0 in array.strides:
            strides = contiguous_strides(array.shape, array.itemsize)
        else:
            strides = preserved_strides(array)
        return tuple([s // array.itemsize * itemsize for s in strides])
    if memory_format is contiguous_format:
        return contiguous_strides(array.shape, itemsize)
    return format_strides(array.shape, itemsize, memory_format)


@shape("clone")
def clone_shape(self, *, memory_format=None):
    return MetaArray(self.shape, self.dtype, copy_strides(self, memory_format))


@shape("_to_copy")
def to_copy_shape(
    self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None
):
    target = self.dtype if dtype is None else dtype.np
    return MetaArray(self.shape, target, copy_strides(self, memory_format, target.itemsize))


@shape("copy_")
def copy_shape(self, src, non_blocking=False):
    broadcast = broadcast_shapes(self.shape, getattr(src, "shape", ()))
    check(
        broadcast == tuple(self.shape),
        f"output with shape {list(self.shape)} doesn't match the broadcast shape {list(broadcast)}",
    )
    return self


@shape("fill.Scalar", "fill.Tensor")
def fill_shape(self, value):
    check(getattr(value, "ndim", 0) == 0,
          f"fill_ only supports 0-dimension value tensor but got tensor with {getattr(value, 'ndim', 0)} dimensions.")
    return MetaArray(self.shape, self.dtype, copy_strides(self, None))


@shape("zero_", "detach_")
def unchanged_shape(self):
    return self




@shape("select_backward", "slice_backward", "diagonal_backward", "unfold_backward")
def zeros_of_input_sizes_shape(grad_output, input_sizes, *where):
    return MetaArray(input_sizes, grad_output.dtype)
