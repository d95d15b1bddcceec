"""Quantized tensors from numbers and integers, and back; copies."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.dtype import float32, float64, int64, qint8, quantized_limits, quint8
from minitorch.core.memory_format import preserve_format
from minitorch.core.meta_array import MetaArray
from minitorch.ops import functions as F
from minitorch.quantized.handle import (
    INTEGERS,
    PACKED,
    QUANTIZED_OF,
    PerChannel,
    PerTensor,
    QuantizedHandle,
    ints_of,
    is_quantized,
    per_channel,
    per_tensor,
    wrap,
)
from minitorch.quantized.qparams import choose_qparams, narrowed_range
from minitorch.quantized.registry import dense_kernel, quantized_kernel
from minitorch.quantized.rounding import dequantize_ints, pack, quantize_ints, unpack


def quantized(x: Any, params: PerTensor | PerChannel, dtype: dtype_class) -> Any:
    """Return float32 values quantized with given parameters."""
    ints = quantize_ints(x, params, dtype)
    if dtype in PACKED:
        return wrap(pack(ints, dtype), params, dtype, tuple(x.shape))
    return wrap(ints, params, dtype)


def _check_source(name: str, self: Any) -> None:
    if self.dtype is not float32:
        raise RuntimeError(f"{name}: Quantize only works on Float Tensor, got {self.dtype.scalar_name}; convert with float()")


def _check_values(name: str, self: Any) -> None:
    if not self.numel():
        raise RuntimeError(f"{name}: parameters are chosen from values, and a tensor of shape {tuple(self.shape)} has none")


def _checked(name: str, scale: float, zero_point: int, dtype: dtype_class) -> PerTensor:
    low, high = quantized_limits(dtype)
    if dtype in PACKED:
        raise RuntimeError(f"{name}: {dtype.name} is for quantize_per_channel with floating point parameters")
    if not low <= zero_point <= high:
        side = "above upper" if zero_point > high else "below lower"
        raise RuntimeError(f"{name}: zero_point {zero_point} is {side} bound: {dtype.name} keeps {low} to {high}")
    return PerTensor(float(scale), int(zero_point))


@dense_kernel("quantize_per_tensor")
def quantize_per_tensor_kernel(self, scale, zero_point, dtype):
    _check_source("quantize_per_tensor", self)
    return quantized(self, _checked("quantize_per_tensor", scale, zero_point, dtype), dtype)


@dense_kernel("quantize_per_tensor.tensor_qparams")
def quantize_per_tensor_with_tensors_kernel(self, scale, zero_point, dtype):
    return quantize_per_tensor_kernel(self, float(scale.item()), int(zero_point.item()), dtype)


@dense_kernel("quantize_per_tensor.tensors")
def quantize_per_tensor_list_kernel(tensors, scales, zero_points, dtype):
    return [
        quantize_per_tensor_kernel(t, float(s), int(z), dtype)
        for t, s, z in zip(tensors, scales.tolist(), zero_points.tolist(), strict=True)
    ]


@dense_kernel("quantize_per_tensor_dynamic")
def quantize_per_tensor_dynamic_kernel(self, dtype, reduce_range):
    name = "quantize_per_tensor_dynamic"
    _check_source(name, self)
    quantized_limits(dtype)
    if dtype not in (qint8, quint8):
        raise RuntimeError(f"{name}: dtype {dtype.scalar_name} not supported: qint8 and quint8 are")
    _check_values(name, self)
    return quantized(self, choose_qparams(name, self, dtype, reduce_range), dtype)


@dense_kernel("_choose_qparams_per_tensor")
def choose_qparams_per_tensor_kernel(self, reduce_range=False):
    name = "_choose_qparams_per_tensor"
    _check_values(name, self)
    params = choose_qparams(name, self, quint8, reduce_range)
    return params.scale, params.zero_point


@dense_kernel("choose_qparams_optimized")
def choose_qparams_optimized_kernel(input, numel, n_bins, ratio, bit_width):
    if numel > input.numel():
        raise RuntimeError(f"choose_qparams_optimized: numel {numel} is greater than the number of elements, {input.numel()}")
    row = F.to(F.reshape(input, [-1])[:numel].cpu(), float32).numpy()
    least, greatest = narrowed_range(row, n_bins, ratio, bit_width)
    return tuple(F.full([1], float(v), dtype=float32, device=input.device) for v in (greatest, least))


def channel_params(name: str, scales: Any, zero_points: Any, axis: int, shape: tuple) -> PerChannel:
    """Return checked copies of a row of scales and one of zero points.

    Raises
    ------
    RuntimeError
        If they do not fit a tensor of `shape` along `axis`.
    """
    if not 0 <= axis < max(len(shape), 1):
        raise RuntimeError(f"{name}: Channel axis out of range: axis is {axis}, of a tensor of {len(shape)} dimensions")
    if scales.ndim != 1 or zero_points.ndim != 1 or scales.shape[0] != zero_points.shape[0]:
        raise RuntimeError(
            f"{name}: number of elements in scales and zero_points must match, and both must be 1-D: the shapes are "
            f"{tuple(scales.shape)} and {tuple(zero_points.shape)}"
        )
    if scales.shape[0] != shape[axis]:
        raise RuntimeError(
            f"{name}: length of scales must equal to channel, expected {shape[axis]} got, {scales.shape[0]} "
            f"(the size along axis {axis} is the number of channels)"
        )
    if zero_points.dtype.is_floating_point:
        return PerChannel(F.clone(F.to(scales.detach(), float32)), F.clone(F.to(zero_points.detach(), float32)), axis)
    return PerChannel(F.clone(F.to(scales.detach(), float64)), F.clone(F.to(zero_points.detach(), int64)), axis)


@dense_kernel("quantize_per_channel")
def quantize_per_channel_kernel(self, scales, zero_points, axis, dtype):
    _check_source("quantize_per_channel", self)
    low, high = quantized_limits(dtype)
    params = channel_params("quantize_per_channel", scales, zero_points, axis, tuple(self.shape))
    if not params.float_qparams and params.zero_points.handle.size and has_values(params.zero_points):
        least, greatest = (int(v.item()) for v in F.aminmax(params.zero_points))
        if least < low or greatest > high:
            raise RuntimeError(
                f"quantize_per_channel: zero_points go from {least} to {greatest}, and {dtype.name} keeps {low} to {high}"
            )
    return quantized(self, params, dtype)


def has_values(tensor: Any) -> bool:
    """Return whether a tensor has elements to be looked at: those of the meta device, and fake ones, have none."""
    return not isinstance(tensor.handle, MetaArray)


def _quantized_dtype(name: str, self: Any) -> dtype_class:
    found = QUANTIZED_OF.get(self.dtype)
    if found is None:
        raise RuntimeError(f"{name}: the integers are int8, uint8 or int32, not {self.dtype.name}")
    return found


@dense_kernel("_make_per_tensor_quantized_tensor")
def make_per_tensor_quantized_tensor_kernel(self, scale, zero_point):
    dtype = _quantized_dtype("_make_per_tensor_quantized_tensor", self)
    return wrap(F.clone(self), PerTensor(float(scale), int(zero_point)), dtype)


@dense_kernel("_make_per_channel_quantized_tensor")
def make_per_channel_quantized_tensor_kernel(self, scale, zero_point, axis):
    name = "_make_per_channel_quantized_tensor"
    return wrap(F.clone(self), channel_params(name, scale, zero_point, axis, tuple(self.shape)), _quantized_dtype(name, self))


# ---------------------------------------------------------------- what they consist of


@quantized_kernel("dequantize.self")
def dequantize_kernel(self):
    handle = self.handle
    ints = unpack(handle.ints, handle.qdtype, handle.shape) if handle.packed else handle.ints
    return dequantize_ints(ints, handle.params)


@quantized_kernel("int_repr")
def int_repr_kernel(self):
    return F.clone(self.handle.ints)


@quantized_kernel("q_scale")
def q_scale_kernel(self):
    return per_tensor(self, "q_scale").scale


@quantized_kernel("q_zero_point")
def q_zero_point_kernel(self):
    return per_tensor(self, "q_zero_point").zero_point


@quantized_kernel("q_per_channel_scales")
def q_per_channel_scales_kernel(self):
    return F.clone(per_channel(self, "q_per_channel_scales").scales)


@quantized_kernel("q_per_channel_zero_points")
def q_per_channel_zero_points_kernel(self):
    return F.clone(per_channel(self, "q_per_channel_zero_points").zero_points)


@quantized_kernel("q_per_channel_axis")
def q_per_channel_axis_kernel(self):
    return per_channel(self, "q_per_channel_axis").axis


@quantized_kernel("qscheme")
def qscheme_kernel(self):
    return self.handle.params.scheme


@quantized_kernel("_local_scalar_dense")
def local_scalar_dense_kernel(self):
    return F._local_scalar_dense(dequantize_kernel(self))


# ---------------------------------------------------------------- without values


@dense_kernel("_empty_affine_quantized")
def empty_affine_quantized_kernel(
    size, *, dtype=None, layout=None, device=None, pin_memory=None, scale=1.0, zero_point=0, memory_format=None
):
    if dtype is None:
        raise RuntimeError("_empty_affine_quantized: must provide data type for Tensor creation functions: dtype=quint8")
    params = _checked("_empty_affine_quantized", scale, zero_point, dtype)
    return wrap(F.empty(size, dtype=INTEGERS[dtype], device=device, memory_format=memory_format), params, dtype)


@dense_kernel("_empty_per_channel_affine_quantized")
def empty_per_channel_affine_quantized_kernel(
    size, *, scales, zero_points, axis, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    name = "_empty_per_channel_affine_quantized"
    if dtype is None:
        raise RuntimeError(f"{name}: must provide data type for Tensor creation functions: dtype=qint8")
    quantized_limits(dtype)
    params = channel_params(name, scales, zero_points, axis, tuple(size))
    device = scales.device if device is None else device
    if dtype in PACKED:
        count = 1
        for n in size:
            count *= n
        ints = F.empty([-(-count // PACKED[dtype])], dtype=INTEGERS[dtype], device=device)
        return wrap(ints, params, dtype, tuple(size))
    return wrap(F.empty(size, dtype=INTEGERS[dtype], device=device, memory_format=memory_format), params, dtype)


@quantized_kernel("empty_quantized")
def empty_quantized_kernel(
    size, qtensor, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    handle = qtensor.handle
    ints = F.empty(
        size, dtype=INTEGERS[dtype or handle.qdtype], device=device or qtensor.device, memory_format=memory_format
    )
    params = handle.params
    if isinstance(params, PerChannel):
        params = channel_params("empty_quantized", params.scales, params.zero_points, params.axis, tuple(size))
    return wrap(ints, params, dtype or handle.qdtype)


@quantized_kernel("empty_like")
def empty_like_kernel(self, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    handle = self.handle
    if dtype is not None and dtype.category != handle.qdtype.category:
        return F.empty(list(self.shape), dtype=dtype, device=device or self.device, memory_format=memory_format)
    if dtype is not None and dtype is not handle.qdtype:
        raise RuntimeError(
            f"empty_like: the integers of {handle.qdtype.name} are no {dtype.name}: use empty_quantized with its own parameters"
        )
    ints = F.empty_like(handle.ints, device=device, memory_format=memory_format)
    return wrap(ints, _moved_params(handle.params, device), handle.qdtype, handle._shape)


@quantized_kernel("full_like")
def full_like_kernel(
    self, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None
):
    return F.fill_(empty_like_kernel(self, dtype=dtype, device=device, memory_format=memory_format), fill_value)


@quantized_kernel("zeros_like")
def zeros_like_kernel(self, **options):
    return full_like_kernel(self, 0.0, **options)


@quantized_kernel("ones_like")
def ones_like_kernel(self, **options):
    return full_like_kernel(self, 1.0, **options)


# ---------------------------------------------------------------- copies


def _moved_params(params: Any, device: Any) -> Any:
    if device is None:
        return params
    return params.with_tensors(tuple(F.to(t, device=device) for t in params.tensors()))


@quantized_kernel("clone")
def clone_kernel(self, *, memory_format=preserve_format):
    handle = self.handle
    return wrap(F.clone(handle.ints, memory_format=memory_format), handle.params, handle.qdtype, handle._shape)


@quantized_kernel("_to_copy")
def to_copy_kernel(
    self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=preserve_format
):
    handle = self.handle
    if dtype is not None and dtype is not handle.qdtype:
        if dtype.category != 2:
            raise RuntimeError(
                f"to(): a quantized tensor ({handle.qdtype.name}) is no {dtype.name}: use int_repr() for its integers, "
                "dequantize() for its numbers"
            )
        return F.to(dequantize_kernel(self), device=device or self.device, dtype=dtype)
    ints = F._to_copy(handle.ints, device=device, non_blocking=non_blocking, memory_format=memory_format)
    return wrap(ints, _moved_params(handle.params, device), handle.qdtype, handle._shape)


@quantized_kernel("copy_")
def copy_kernel(self, src, non_blocking=False):
    if not is_quantized(self):
        raise RuntimeError(
            "copy_: Copying from quantized Tensor to non-quantized Tensor is not allowed, please use dequantize to get a "
            "float Tensor from a quantized Tensor"
        )
    handle = self.handle
    if not is_quantized(src):
        if not hasattr(src, "handle"):
            src = F.scalar_tensor(float(src), dtype=float32, device=self.device)
        if src.dtype is not float32:
            raise RuntimeError(
                f"copy_: Quantized copy only works with kFloat as source Tensor, and not {src.dtype.scalar_name}; convert it "
                "with float()"
            )
        return write(self, F.expand(F.to(src, device=self.device), list(self.shape)))
    source = src.handle
    if source.qdtype is not handle.qdtype:
        raise RuntimeError(
            f"copy_: Quantized Copy only works with same data type: self is {handle.qdtype.name}, src {source.qdtype.name}"
        )
    if source.params.scheme is not handle.params.scheme:
        raise RuntimeError(
            f"copy_: Quantized Copy only works with same qscheme: self is {handle.params.scheme!r}, src {source.params.scheme!r}"
        )
    if same_params(handle.params, source.params) or (not handle.of_others and tuple(self.shape) == tuple(src.shape)):
        # What is no view takes the parameters over, as in PyTorch.
        handle.ints.copy_(source.ints)
        handle.params = _moved_params(source.params, self.device)
        return self
    return write(self, F.expand(F.to(dequantize_kernel(src), device=self.device), list(self.shape)))


def write(self: Any, src: Any) -> Any:
    """Write a float32 or quantized tensor of the same shape into a quantized one, which keeps its parameters; return it."""
    handle = self.handle
    if is_quantized(src):
        if not handle.packed and src.handle.qdtype is handle.qdtype and same_params(handle.params, src.handle.params):
            handle.ints.copy_(src.handle.ints)
            return self
        src = dequantize_kernel(src)
    ints = quantize_ints(src, handle.params, handle.qdtype)
    handle.ints.copy_(pack(ints, handle.qdtype) if handle.packed else ints)
    return self


def same_params(a: Any, b: Any) -> bool:
    """Return whether two tensors' integers stand for the same numbers."""
    if a is b:
        return True
    if isinstance(a, PerTensor):
        return isinstance(b, PerTensor) and a.scale == b.scale and a.zero_point == b.zero_point
    return (
        isinstance(b, PerChannel) and a.axis == b.axis and a.float_qparams == b.float_qparams
        and F.equal(a.scales, F.to(b.scales, device=a.scales.device))
        and F.equal(a.zero_points, F.to(b.zero_points, device=a.zero_points.device))
    )  # fmt: skip


def integer_of(self: Any, value: float, name: str) -> int:
    """Return the integer that stands for one number in a tensor with one scale."""
    made = F.scalar_tensor(float(value), dtype=float32)
    return int(quantize_ints(made, per_tensor(self, name), self.handle.qdtype).item())


@quantized_kernel("fill_.Scalar")
def fill_kernel(self, value):
    if isinstance(self.handle.params, PerChannel) or self.handle.packed:
        return copy_kernel(self, F.full(list(self.shape), float(value), dtype=float32, device=self.device))
    self.handle.ints.fill_(integer_of(self, value, "fill_"))
    return self


@quantized_kernel("fill_.Tensor")
def fill_tensor_kernel(self, value):
    return fill_kernel(self, float(value.item()))


@quantized_kernel("zero_")
def zero_kernel(self):
    return fill_kernel(self, 0.0)


@quantized_kernel("resize_")
def resize_kernel(self, size, *, memory_format=None):
    params = per_tensor(self, "resize_")
    ints = F.detach(ints_of(self, "resize_"))
    ints.resize_(size)
    # A handle of its own: what shares the old one keeps its shape.
    self.handle = QuantizedHandle(ints, params, self.handle.qdtype)
    self.shape_cache = None
    return self


@quantized_kernel("equal")
def equal_kernel(self, other):
    if not (is_quantized(self) and is_quantized(other)):
        return False
    mine, others = self.handle, other.handle
    if mine.qdtype is not others.qdtype or tuple(mine.shape) != tuple(others.shape):
        return False
    return same_params(mine.params, others.params) and F.equal(mine.ints, others.ints)


