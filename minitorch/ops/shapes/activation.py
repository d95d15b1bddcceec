"""Shapes, types and argument errors of the activations."""

from __future__ import annotations

from minitorch.core.dtype import finfo, from_numpy_dtype
from minitorch.ops.shapes.common import (
    MetaArray,
    broadcast_shapes,
    check,
    is_contiguous,
    normalize_dim,
)
from minitorch.ops.shapes.pointwise import elementwise_strides
from minitorch.ops.shapes.registry import shape


def dense_strides(array) -> tuple | None:
    """Return strides of a dense array with the dimension order of `array`; None: row-major."""
    if is_contiguous(array):
        return None
    order = sorted(range(array.ndim), key=lambda i: -abs(array.strides[i]))
    strides = [0] * array.ndim
    step = array.dtype.itemsize
    for i in reversed(order):
        strides[i] = step
        step *= max(array.shape[i], 1)
    return tuple(strides)


def like(array, *others) -> MetaArray:
    """Return what an elementwise operator of arrays of equal dtype gives."""
    result = array.shape
    if any(other.shape != result for other in others):
        result = broadcast_shapes(result, *(o.shape for o in others))
    return MetaArray(result, array.dtype, elementwise_strides(result, (array, *others), array.dtype.itemsize))


def check_floating(array, name: str, allow_complex: bool = False) -> None:
    """Raise `NotImplementedError` unless `array` is of a floating type."""
    kind = array.dtype.kind
    if kind in "fV" or (allow_complex and kind == "c"):
        return
    word = from_numpy_dtype(array.dtype).scalar_name
    raise NotImplementedError(
        f'{name}(): "{name}_cpu" not implemented for \'{word}\': the input must be floating '
        "point; convert it with .float() first"
    )


def check_ordered(array, name: str) -> None:
    """Raise unless the elements of `array` are numbers that can be compared."""
    if array.dtype.kind == "b":
        raise RuntimeError(f"Boolean inputs not supported for {name}; convert with .float() first")
    if array.dtype.kind == "c":
        word = from_numpy_dtype(array.dtype).scalar_name
        raise NotImplementedError(f"{name}(): \"{name}_cpu\" not implemented for '{word}'")


def _floating(name: str, allow_complex: bool = False):
    """Return the shape function of a unary activation of floating inputs."""

    def activation_shape(self, *args, **kwargs):
        check_floating(self, name, allow_complex)
        return like(self)

    return activation_shape


def _backward(name: str, allow_complex: bool = False):
    """Return the shape function of a backward operator ``(grad_output, self, ...)``."""

    def activation_backward_shape(grad_output, self, *args, **kwargs):
        check_floating(grad_output, name, allow_complex)
        return like(grad_output, self)

    return activation_backward_shape


shape("mish")(_floating("mish"))
shape("silu")(_floating("silu", allow_complex=True))
shape("hardshrink")(_floating("hardshrink"))
shape("hardsigmoid")(_floating("hardsigmoid"))
shape("hardswish")(_floating("hardswish"))
shape("leaky_relu")(_floating("leaky_relu"))
shape("elu")(_floating("elu"))
shape("softplus")(_floating("softplus"))
shape("mish_backward")(_backward("mish_backward"))
shape("silu_backward")(_backward("silu_backward", allow_complex=True))
shape("sigmoid_backward")(_backward("sigmoid_backward", allow_complex=True))
shape("tanh_backward")(_backward("tanh_backward", allow_complex=True))
shape("logit_backward")(_backward("logit_backward"))
shape("log_sigmoid_backward")(_backward("log_sigmoid_backward"))
shape("softplus_backward")(_backward("softplus_backward"))
shape("leaky_relu_backward")(_backward("leaky_relu_backward"))
shape("hardshrink_backward")(_backward("hardshrink_backward"))
shape("softshrink_backward")(_backward("softshrink_backward"))
shape("hardsigmoid_backward")(_backward("hardsigmoid_backward"))
shape("hardswish_backward")(_backward("hardswish_backward"))
shape("hardtanh_backward")(_backward("hardtanh_backward"))


@shape("threshold_backward")
def threshold_backward_shape(grad_output, self, threshold):
    return like(grad_output, self)


@shape("elu_backward")
def elu_backward_shape(grad_output, alpha, scale, input_scale, is_result, self_or_result):
    check_floating(grad_output, "elu_backward")
    check(
        not is_result or alpha >= 0,
        f"elu_backward(): in-place elu calculation is not supported for a negative alpha "
        f"({alpha}); use the out-of-place elu",
    )
    return like(grad_output, self_or_result)


def _gelu(self, approximate, name):
    check_floating(self, name)
    check(
        approximate in ("none", "tanh"),
        f"{name}(): approximate argument must be either none or tanh, not {approximate!r}",
    )


@shape("gelu")
def gelu_shape(self, *, approximate="none"):
    _gelu(self, approximate, "gelu")
    return like(self)


@shape("gelu_backward")
def gelu_backward_shape(grad_output, self, *, approximate="none"):
    _gelu(self, approximate, "gelu_backward")
    return like(grad_output, self)


@shape("relu")
def relu_shape(self):
    check_ordered(self, "relu")
    return like(self)


@shape("threshold")
def threshold_shape(self, threshold, value):
    check_ordered(self, "threshold")
    return like(self)


@shape("hardtanh")
def hardtanh_shape(self, min_val=-1, max_val=1):
    check(self.dtype.kind != "b", "Bool inputs not supported for hardtanh")
    check_ordered(self, "hardtanh")
    check(
        self.dtype.kind != "u" or min_val >= 0,
        "cannot do hardtanh on an unsigned type with negative limits",
    )
    return like(self)


def _largest(np_dtype) -> float:
    return float(finfo(from_numpy_dtype(np_dtype)).max)


@shape("softshrink")
def softshrink_shape(self, lambd=0.5):
    check_floating(self, "softshrink")
    check(
        0 <= lambd <= _largest(self.dtype),
        f"softshrink(): lambda must be in range [0, {_largest(self.dtype):g}] for input dtype "
        f"{from_numpy_dtype(self.dtype).scalar_name}, but found {lambd}",
    )
    return like(self)


@shape("log_sigmoid_forward")
def log_sigmoid_forward_shape(self):
    check_floating(self, "log_sigmoid")
    return like(self), like(self)


@shape("_prelu_kernel")
def prelu_kernel_shape(self, weight):
    check_floating(self, "prelu")
    return like(self, weight)


@shape("_prelu_kernel_backward")
def prelu_kernel_backward_shape(grad_output, self, weight):
    result = like(self, weight)
    return result, result


@shape("glu")
def glu_shape(self, dim=-1):
    check_floating(self, "glu")
    check(self.ndim > 0, "glu does not support 0-dimensional tensors")
    dim = normalize_dim(dim, self.ndim, "glu")
    n = self.shape[dim]
    check(
        n % 2 == 0,
        f"glu(): Halving dimension must be even, but dimension {dim} is size {n}",
    )
    half = MetaArray((*self.shape[:dim], n // 2, *self.shape[dim + 1 :]), self.dtype, self.strides)
    return like(half, half)


@shape("glu_backward")
def glu_backward_shape(grad_output, self, dim):
    check_floating(self, "glu_backward")
    expected = glu_shape(self, dim).shape
    check(
        grad_output.shape == expected,
        f"glu_backward(): grad_output has shape {grad_output.shape}, expected {expected}",
    )
    return MetaArray(self.shape, self.dtype)


@shape("_softmax")
def softmax_shape(self, dim, half_to_float):
    return _softmax(self, dim, half_to_float, "softmax")


@shape("_log_softmax")
def log_softmax_shape(self, dim, half_to_float):
    return _softmax(self, dim, half_to_float, "log_softmax")


def _softmax(self, dim, half_to_float, name):
    normalize_dim(dim, self.ndim, name)
    check_floating(self, name)
    return MetaArray(self.shape, "float32" if half_to_float else self.dtype)


@shape("_softmax_backward_data", "_log_softmax_backward_data")
def softmax_backward_data_shape(grad_output, output, dim, input_dtype):
    normalize_dim(dim, grad_output.ndim, "softmax_backward")
    check(
        grad_output.shape == output.shape,
        f"softmax_backward: grad_output has shape {grad_output.shape}, output {output.shape}; "
        "they must be equal",
    )
    return MetaArray(output.shape, input_dtype.np)
