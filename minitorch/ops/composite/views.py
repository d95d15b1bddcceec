"""Views and copies written with other operators."""

from __future__ import annotations

from minitorch.core.memory_format import contiguous_format, preserve_format, suggested_format
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, CONJUGATE, NEGATIVE
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.shapes.common import is_contiguous, normalize_dim
from minitorch.ops.shapes.geometry import infer_size, view_strides
from minitorch.ops.shapes.views import copy_strides
from minitorch.tensor.base import new_tensor

# Called directly: arguments are right already, and these are on the way of everyday code.
VIEW = OPERATORS["aten::view"]
TO_COPY = OPERATORS["aten::_to_copy"]


@composite_implicit("reshape")
def reshape_composite(self, shape):
    handle = self.handle
    try:
        contiguous = is_contiguous(handle)
    except RuntimeError:  # a compressed layout: without strides there is nothing to copy either
        contiguous = True
    if contiguous:
        return VIEW.call((self, shape), None)
    size = infer_size(shape, handle.size)
    if view_strides(handle.shape, handle.strides, size, handle.itemsize) is not None:
        return VIEW.call((self, list(size)), None)
    return F._unsafe_view(F.clone(self, memory_format=contiguous_format), size)


@composite_implicit("reshape_as")
def reshape_as_composite(self, other):
    return F.reshape(self, other.shape)


@composite_implicit("view_as")
def view_as_composite(self, other):
    return F.view(self, other.shape)


@composite_implicit("swapaxes", "swapdims")
def swapaxes_composite(self, axis0, axis1):
    return F.transpose(self, axis0, axis1)


@composite_explicit("detach_")
def detach__composite(self):
    # Its work is done by the autograd kernel: below that there is no history.
    return self


@composite_explicit("lift_fresh")
def lift_fresh_composite(self):
    # For levels that wrap tensors: one made of Python data comes through here.
    return F.alias(self)


@composite_implicit("adjoint")
def adjoint_composite(self):
    if self.ndim == 1:
        raise RuntimeError("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if self.ndim == 0:
        return self.conj()
    return F.transpose(self, -2, -1).conj()


@composite_implicit("movedim.intlist", "moveaxis.intlist")
def movedim_composite(self, source, destination):
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number "
            f"of dims as destination ({list(destination)} dims)"
        )
    source = [normalize_dim(d, self.ndim, "movedim") for d in source]
    destination = [normalize_dim(d, self.ndim, "movedim") for d in destination]
    for name, dims in (("source", source), ("destination", destination)):
        if len(set(dims)) != len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{name}` ({dims})")
    if self.ndim == 0:
        return F.alias(self)
    order = [-1] * self.ndim
    for s, d in zip(source, destination, strict=True):
        order[d] = s
    rest = iter([d for d in range(self.ndim) if d not in source])
    return F.permute(self, [next(rest) if d < 0 else d for d in order])


@composite_implicit("movedim.int", "moveaxis.int")
def movedim_int_composite(self, source, destination):
    return F.movedim(self, [source], [destination])


@composite_implicit("expand_as")
def expand_as_composite(self, other):
    return F.expand(self, other.shape)


@composite_implicit("broadcast_to")
def broadcast_to_composite(self, size):
    return F.expand(self, size)


@composite_implicit("narrow")
def narrow_composite(self, dim, start, length):
    if self.ndim == 0:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    dim = normalize_dim(dim, self.ndim, "narrow")
    size = self.shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
    if start < 0:
        start += size
    if start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return F.slice(self, dim, start, start + length)


@composite_implicit("narrow.Tensor")
def narrow_tensor_composite(self, dim, start, length):
    if start.ndim != 0 or start.handle.dtype.kind not in "iu":
        raise RuntimeError(
            f"narrow(): start must be an 0-dim integral Tensor, got {start.dtype} of shape {list(start.shape)}."
        )
    return F.narrow(self, dim, int(start.item()), length)


@composite_implicit("chunk")
def chunk_composite(self, chunks, dim=0):
    if self.ndim == 0:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = self.shape[normalize_dim(dim, self.ndim, "chunk")]
    split = (size + chunks - 1) // chunks
    if split == 0:
        return F.split_with_sizes(self, [0] * chunks, dim)
    return F.split(self, split, dim)


@composite_implicit("split.sizes")
def split_sizes_composite(self, split_size, dim=0):
    return F.split_with_sizes(self, split_size, dim)


@composite_implicit("tensor_split.sections")
def tensor_split_sections_composite(self, sections, dim=0):
    if self.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    dim = normalize_dim(dim, self.ndim, "tensor_split")
    small, larger = divmod(self.shape[dim], sections)
    parts, start = [], 0
    for i in range(sections):
        end = start + small + (1 if i < larger else 0)
        parts.append(F.slice(self, dim, start, end))
        start = end
    return parts


@composite_implicit("tensor_split.indices")
def tensor_split_indices_composite(self, indices, dim=0):
    if self.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    bounds = [0, *indices, self.shape[normalize_dim(dim, self.ndim, "tensor_split")]]
    return [F.slice(self, dim, bounds[i], bounds[i + 1]) for i in range(len(indices) + 1)]


@composite_implicit("tensor_split.tensor_indices_or_sections")
def tensor_split_tensor_composite(self, tensor_indices_or_sections, dim=0):
    value = tensor_indices_or_sections.tolist()
    return list(F.tensor_split(self, value, dim))


def _axis_split(name, least, axis):
    def split(self, how):
        if self.ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {self.ndim} "
                "dimensions!"
            )
        dim = axis if self.ndim > 1 or least > 1 else 0
        if isinstance(how, int) and (how <= 0 or self.shape[dim] % how):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                f"{self.shape[dim]} is not divisible by the split_size {how}!"
            )
        return list(F.tensor_split(self, how, dim))

    return split


composite_implicit("hsplit.int")(_axis_split("hsplit", 1, 1))
composite_implicit("hsplit.array")(_axis_split("hsplit", 1, 1))
composite_implicit("vsplit.int")(_axis_split("vsplit", 2, 0))
composite_implicit("vsplit.array")(_axis_split("vsplit", 2, 0))
composite_implicit("dsplit.int")(_axis_split("dsplit", 3, 2))
composite_implicit("dsplit.array")(_axis_split("dsplit", 3, 2))


@composite_implicit("flatten.using_ints")
def flatten_composite(self, start_dim=0, end_dim=-1):
    start = normalize_dim(start_dim, self.ndim, "flatten")
    end = normalize_dim(end_dim, self.ndim, "flatten")
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if self.ndim == 0:
        return F.reshape(self, [1])
    if start == end:
        return self
    shape = self.shape
    merged = 1
    for n in shape[start : end + 1]:
        merged *= n
    return F.reshape(self, [*shape[:start], merged, *shape[end + 1 :]])


@composite_implicit("unflatten.int")
def unflatten_composite(self, dim, sizes):
    dim = normalize_dim(dim, self.ndim, "unflatten")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    shape = self.shape
    try:
        sizes = infer_size(sizes, shape[dim])
    except RuntimeError:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({shape[dim]}) in the "
            "input tensor"
        ) from None
    return F.view(self, [*shape[:dim], *sizes, *shape[dim + 1 :]])


@composite_implicit("ravel")
def ravel_composite(self):
    return F.reshape(F.contiguous(self), [-1])


@composite_implicit("conj")
def conj_composite(self):
    return F._conj(self) if self.dtype.is_complex else self


def _with_bit_flipped(tensor, bit):
    """Return a view of the same memory, to be read the other way."""
    result = new_tensor(tensor.handle, tensor.key_set ^ bit)
    result.storage_cell = tensor.storage_of()
    if tensor.key_set & AD_INPLACE_OR_VIEW:
        result.version_counter = tensor.counter_of()
    return result


@composite_explicit("_conj")
def conj_view_composite(self):
    if not self.dtype.is_complex:
        raise RuntimeError(f"_conj(): only complex tensors have a conjugate bit, got {self.dtype}; use conj()")
    return _with_bit_flipped(self, CONJUGATE)


@composite_explicit("_neg_view")
def neg_view_composite(self):
    if self.dtype.category == 0:
        raise RuntimeError("_neg_view(): bool tensors cannot be negated; use logical_not()")
    return _with_bit_flipped(self, NEGATIVE)


@composite_explicit("_conj_physical")
def conj_physical_composite(self):
    return F.conj_physical(self)


@composite_implicit("resolve_conj")
def resolve_conj_composite(self):
    return F.clone(self) if self.is_conj() else self


@composite_implicit("resolve_neg")
def resolve_neg_composite(self):
    return F.clone(self) if self.is_neg() else self


@composite_implicit("real")
def real_composite(self):
    if not self.dtype.is_complex:
        return self
    return F.select(F.view_as_real(F._conj(self) if self.is_conj() else self), -1, 0)


@composite_implicit("imag")
def imag_composite(self):
    if not self.dtype.is_complex:
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if self.is_conj():
        return F.select(F._neg_view(F.view_as_real(F._conj(self))), -1, 1)
    return F.select(F.view_as_real(self), -1, 1)


@composite_implicit("atleast_1d")
def atleast_1d_composite(self):
    return F.reshape(self, [1]) if self.ndim == 0 else self


@composite_implicit("atleast_1d.Sequence")
def atleast_1d_sequence_composite(tensors):
    return [F.atleast_1d(t) for t in tensors]


@composite_implicit("atleast_2d")
def atleast_2d_composite(self):
    if self.ndim == 0:
        return F.reshape(self, [1, 1])
    return F.unsqueeze(self, 0) if self.ndim == 1 else self


@composite_implicit("atleast_2d.Sequence")
def atleast_2d_sequence_composite(tensors):
    return [F.atleast_2d(t) for t in tensors]


@composite_implicit("atleast_3d")
def atleast_3d_composite(self):
    if self.ndim == 0:
        return F.reshape(self, [1, 1, 1])
    if self.ndim == 1:
        return F.unsqueeze(F.unsqueeze(self, 0), -1)
    return F.unsqueeze(self, -1) if self.ndim == 2 else self


@composite_implicit("atleast_3d.Sequence")
def atleast_3d_sequence_composite(tensors):
    return [F.atleast_3d(t) for t in tensors]


# -- functional forms: the whole of what an operator would leave in its first argument -------------


@composite_explicit("copy")
def copy_composite(self, src, non_blocking=False):
    return F.empty_like(self).copy_(src, non_blocking)


@composite_explicit("zero")
def zero_composite(self):
    return F.zeros_like(self)


@composite_explicit("resize")
def resize_composite(self, size, *, memory_format=None):
    result = F.clone(self)
    return result.resize_(size) if memory_format is None else result.resize_(size, memory_format=memory_format)


# -- copies and casts --------------------------------------------------------------------------


@composite_implicit("contiguous")
def contiguous_composite(self, *, memory_format=contiguous_format):
    if memory_format is preserve_format:
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    handle = self.handle
    if memory_format is contiguous_format:
        if is_contiguous(handle):
            return self
    elif tuple(handle.strides) == copy_strides(handle, memory_format):
        return self
    return F.clone(self, memory_format=memory_format)


def _to(self, dtype, device, non_blocking, copy, memory_format, layout=None):
    if not copy and (dtype is None or dtype is self.dtype):
        here = self.device
        same_place = device is None or (
            device.type == here.type and (device.index is None or device.index == here.index)
        )
        if same_place and (
            memory_format is None
            or memory_format is preserve_format
            or suggested_format(tuple(self.handle.shape), tuple(self.handle.strides)) is memory_format
        ):
            return self
    keywords = {}
    if dtype is not None:
        keywords["dtype"] = dtype
    if device is not None:
        keywords["device"] = device
    if layout is not None:
        keywords["layout"] = layout
    if non_blocking:
        keywords["non_blocking"] = True
    if memory_format is not None:
        keywords["memory_format"] = memory_format
    return TO_COPY.call((self,), keywords)


@composite_implicit("to.dtype")
def to_dtype_composite(self, dtype, non_blocking=False, copy=False, memory_format=None):
    return _to(self, dtype, None, non_blocking, copy, memory_format)


@composite_implicit("to.device")
def to_device_composite(self, device, dtype, non_blocking=False, copy=False, memory_format=None):
    return _to(self, dtype, device, non_blocking, copy, memory_format)


@composite_implicit("to.other")
def to_other_composite(self, other, non_blocking=False, copy=False, memory_format=None):
    return _to(self, other.dtype, other.device, non_blocking, copy, memory_format)


@composite_implicit("to.device_only")
def to_device_only_composite(self, device=None, dtype=None, non_blocking=False, copy=False, memory_format=None):
    return _to(self, dtype, device, non_blocking, copy, memory_format)


@composite_implicit("to.dtype_layout")
def to_dtype_layout_composite(
    self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, copy=False, memory_format=None
):
    return _to(self, dtype, device, non_blocking, copy, memory_format, layout)


@composite_implicit("type_as")
def type_as_composite(self, other):
    return F.to(self, other)


@composite_implicit("item")
def item_composite(self):
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return F._local_scalar_dense(self)


@composite_implicit("is_nonzero")
def is_nonzero_composite(self):
    if self.numel() != 1:
        count = "no values" if self.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")
    return bool(self.item())
