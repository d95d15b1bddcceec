"""Activations written with other operators."""

from __future__ import annotations

from minitorch.core.dtype import float32, float64
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit
from minitorch.tensor.wrapper import has_elements, has_values

_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@composite_implicit("relu6")
def relu6_composite(self):
    return F.hardtanh(self, 0, 6)


@composite_implicit("celu")
def celu_composite(self, alpha=1.0):
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return F.elu(self, alpha, 1.0, 1.0 / alpha)


@composite_implicit("selu")
def selu_composite(self):
    return F.elu(self, _SELU_ALPHA, _SELU_SCALE, 1.0)


@composite_implicit("log_sigmoid")
def log_sigmoid_composite(self):
    return F.log_sigmoid_forward(self)[0]


@composite_implicit("prelu")
def prelu_composite(self, weight):
    count = weight.numel()
    if weight.dim() > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.dim()}"
        )
    if self.dtype != weight.dtype:
        raise RuntimeError(
            f"prelu: Type promoting not supported. Got {self.dtype} and {weight.dtype}"
        )
    if count != 1:
        if self.dim() == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = self.shape[1] if self.dim() > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
    if self.dim() >= 2:
        weight = weight.reshape([1, count] + [1] * (self.dim() - 2))
    else:
        weight = weight.reshape([count] if self.dim() else [])
    return F._prelu_kernel(self, weight)


@composite_implicit("rrelu")
def rrelu_composite(
    self, lower=0.125, upper=0.33333333333333331, training=False, generator=None
):
    if lower > upper:
        raise RuntimeError(
            f"rrelu: Lower bound should be less than or equal to the upper bound, but got "
            f"{lower} and {upper}"
        )
    if not training:
        return F.leaky_relu(self, (lower + upper) / 2)
    # One draw for each element that is not positive, in order; for each element where there are no values (of which
    # there is one for each example under vmap).
    negative = self.detach() <= 0
    compute = self.dtype if self.dtype.itemsize > 2 else float32
    slopes = F.ones_like(self, dtype=compute, requires_grad=False).contiguous()
    count = int(negative.sum()) if has_values(self) and has_elements(self) else self.numel()
    draws = F.new_empty(self, [count], dtype=float64)
    # PyTorch rounds the bounds to the type it computes in, and the product and the sum each by itself.
    low, high = lower, upper
    if self.dtype.itemsize <= 4:
        low, high = (float(float32.np.type(bound)) for bound in (lower, upper))
    draws.uniform_(generator=generator).mul_(high - low).add_(low)
    return (self * F.masked_scatter(slopes, negative, draws.to(compute))).to(self.dtype)


# Called directly, without choosing among overloads again.
SOFTMAX = OPERATORS["aten::_softmax"]
LOG_SOFTMAX = OPERATORS["aten::_log_softmax"]


@composite_implicit("softmax.int")
def softmax_composite(self, dim, dtype=None):
    if dtype is None or dtype == self.dtype:
        return SOFTMAX.call((self, dim, False), None)
    return F._softmax(self.to(dtype), dim, False)


@composite_implicit("log_softmax.int")
def log_softmax_composite(self, dim, dtype=None):
    if dtype is None or dtype == self.dtype:
        return LOG_SOFTMAX.call((self, dim, False), None)
    return F._log_softmax(self.to(dtype), dim, False)
