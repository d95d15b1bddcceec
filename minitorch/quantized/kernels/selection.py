"""Operators that pick, order and join elements: they are the integers' own."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float32, float64, int32
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.quantized.handle import PerTensor, is_quantized, like
from minitorch.quantized.kernels.construction import dequantize_kernel, integer_of, same_params
from minitorch.quantized.registry import NoQuantizedKernel, quantized_kernel
from minitorch.quantized.rounding import quantize_ints

# The results are elements of the first argument, in other places.
_PICKING = (
    "flip", "roll", "index_select", "gather", "index.Tensor", "take", "masked_select", "repeat",
    "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
    "replication_pad1d", "replication_pad2d", "replication_pad3d",
    "upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
    "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d",
)  # fmt: skip
# Those of them whose dense kernels are of floating point numbers.
_OF_FLOATS = ("upsample", "_upsample", "reflection", "replication")
# The first result is elements, the others are places.
_ORDERING = (
    "sort", "sort.stable", "topk", "kthvalue", "max.dim", "min.dim", "median.dim", "mode", "cummax", "cummin",
)  # fmt: skip
_EXTREMES = ("max", "min", "amax", "amin", "median")
_PLACES = ("argmax", "argmin", "argsort", "argsort.stable")
_COMPARISONS = tuple(f"{name}.{overload}" for name in ("eq", "ne", "lt", "le", "gt", "ge") for overload in ("Tensor", "Scalar"))


def single(self: Any) -> PerTensor:
    """Return the parameters of a quantized tensor with one scale; of all else a kernel is not."""
    if not is_quantized(self) or self.handle.packed or not isinstance(self.handle.params, PerTensor):
        raise NoQuantizedKernel
    return self.handle.params


def as_floats(ints: Any) -> Any:
    """Return integers as floating point numbers that hold them exactly."""
    return F.to(ints, float64 if ints.dtype is int32 else float32)


def _picking(name: str) -> None:
    op = OPERATORS["aten::" + name]
    of_floats = name.startswith(_OF_FLOATS)

    def picking_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        single(self)
        ints = self.handle.ints
        if of_floats:
            return like(self, F.to(op.call((as_floats(ints), *args), kwargs or None), ints.dtype))
        return like(self, op.call((ints, *args), kwargs or None))

    quantized_kernel(name)(picking_kernel)


def _ordering(name: str) -> None:
    op = OPERATORS["aten::" + name]

    def ordering_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        _ordered(self)
        values, *places = op.call((self.handle.ints, *args), kwargs or None)
        return (like(self, values), *places)

    quantized_kernel(name)(ordering_kernel)


def _extreme(name: str) -> None:
    op = OPERATORS["aten::" + name]

    def extreme_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        _ordered(self)
        return like(self, op.call((self.handle.ints, *args), kwargs or None))

    quantized_kernel(name)(extreme_kernel)


def _place(name: str) -> None:
    op = OPERATORS["aten::" + name]

    def place_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        _ordered(self)
        return op.call((self.handle.ints, *args), kwargs or None)

    quantized_kernel(name)(place_kernel)


def _ordered(self: Any) -> None:
    """Refuse what has several scales, or a negative one: its integers are in another order."""
    if not single(self).scale > 0:
        raise NoQuantizedKernel


def _comparison(name: str) -> None:
    op = OPERATORS["aten::" + name]

    def comparison_kernel(self: Any, other: Any) -> Any:
        plain = [dequantize_kernel(v) if is_quantized(v) else v for v in (self, other)]
        return op.call(tuple(plain), None)

    quantized_kernel(name)(comparison_kernel)


for _names, _make in (
    (_PICKING, _picking), (_ORDERING, _ordering), (_EXTREMES, _extreme), (_PLACES, _place), (_COMPARISONS, _comparison),
):  # fmt: skip
    for _name in _names:
        _make(_name)


@quantized_kernel("aminmax")
def aminmax_kernel(self, *, dim=None, keepdim=False):
    _ordered(self)
    least, greatest = F.aminmax(self.handle.ints, dim=dim, keepdim=keepdim)
    return like(self, least), like(self, greatest)


# ---------------------------------------------------------------- what joins


def aligned(self: Any, other: Any) -> Any:
    """Return the integers of `other` (a quantized or float32 tensor) with the parameters of `self`."""
    params = single(self)
    if not is_quantized(other):
        raise NoQuantizedKernel
    if other.handle.qdtype is not self.handle.qdtype:
        raise NoQuantizedKernel
    if same_params(params, other.handle.params) and not other.handle.packed:
        return other.handle.ints
    return quantize_ints(dequantize_kernel(other), params, self.handle.qdtype)


@quantized_kernel("cat")
def cat_kernel(tensors, dim=0):
    tensors = list(tensors)
    if not all(is_quantized(t) for t in tensors):
        raise NoQuantizedKernel
    first = tensors[0]
    for t in tensors:
        if t.handle.qdtype is not first.handle.qdtype:
            raise RuntimeError(
                f"cat: all quantized tensors must have the same dtype: {first.handle.qdtype.name} and {t.handle.qdtype.name}"
            )
    return like(first, F.cat([aligned(first, t) for t in tensors], dim))


@quantized_kernel("stack")
def stack_kernel(tensors, dim=0):
    return cat_kernel([F.unsqueeze(t, dim) for t in tensors], dim)


@quantized_kernel("where.self")
def where_kernel(condition, self, other):
    first = self if is_quantized(self) else other
    if is_quantized(condition) or not is_quantized(first):
        raise NoQuantizedKernel
    ints = [_beside(first, value) for value in (self, other)]
    return like(first, F.where(condition, *ints))


def _beside(first: Any, value: Any) -> Any:
    """Return the integers of a quantized tensor, or of a number, with the parameters of another."""
    if is_quantized(value) or value.ndim:
        return aligned(first, value)
    return _values_for(first, value)


@quantized_kernel("masked_fill.Scalar")
def masked_fill_kernel(self, mask, value):
    single(self)
    return like(self, F.masked_fill(self.handle.ints, mask, integer_of(self, value, "masked_fill")))


@quantized_kernel("masked_fill.Tensor")
def masked_fill_tensor_kernel(self, mask, value):
    return masked_fill_kernel(self, mask, float(value.item()))


@quantized_kernel("constant_pad_nd")
def constant_pad_kernel(self, pad, value=0):
    single(self)
    return like(self, F.constant_pad_nd(self.handle.ints, pad, integer_of(self, value, "constant_pad_nd")))


def _values_for(self: Any, values: Any) -> Any:
    params = single(self)
    if is_quantized(values):
        return aligned(self, values)
    return quantize_ints(F.to(values, float32), params, self.handle.qdtype)


@quantized_kernel("index_put_")
def index_put_kernel(self, indices, values, accumulate=False):
    if accumulate or not is_quantized(self):
        raise NoQuantizedKernel
    F.index_put_(self.handle.ints, indices, _values_for(self, values))
    return self


@quantized_kernel("index_put")
def index_put_copy_kernel(self, indices, values, accumulate=False):
    single(self)
    return index_put_kernel(like(self, F.clone(self.handle.ints)), indices, values, accumulate)


def _writing(name: str) -> None:
    """Register an operator that returns `self` with `src` written over a view of it; functionalization makes such calls."""
    op = OPERATORS["aten::" + name]

    def scatter_kernel(self: Any, src: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_quantized(self):
            raise NoQuantizedKernel
        return like(self, op.call((single(self) and self.handle.ints, _values_for(self, src), *args), kwargs or None))

    quantized_kernel(name)(scatter_kernel)


for _name in ("select_scatter", "slice_scatter", "as_strided_scatter", "diagonal_scatter"):
    _writing(_name)


@quantized_kernel("fill.Scalar", "fill.Tensor")
def fill_copy_kernel(self, value):
    return F.fill_(F.clone(self), value)


@quantized_kernel("copy")
def copy_copy_kernel(self, src, non_blocking=False):
    if not is_quantized(self):
        raise NoQuantizedKernel
    return F.copy_(F.clone(self), src)


@quantized_kernel("embedding")
def embedding_kernel(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    if not is_quantized(weight):
        raise NoQuantizedKernel
    handle = weight.handle
    if isinstance(handle.params, PerTensor):
        return like(weight, F.embedding(handle.ints, indices))
    return F.embedding(dequantize_kernel(weight), indices)

