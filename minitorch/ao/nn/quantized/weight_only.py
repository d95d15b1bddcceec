"""Linear maps whose weights alone are quantized: less memory, and float results of float inputs.

Note [Groups of four bits]
    A row of the weight is cut into groups of numbers, each with a scale and a least value of its own: a number is
    ``least + scale * q`` for an integer q from 0 to 15.  Two integers share a byte, the first in its lower half.
"""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module

__all__ = ["Int4WeightLinear", "Int8WeightLinear", "pack_int4", "unpack_int4"]


def pack_int4(integers: Any) -> Any:
    """Return integers from 0 to 15 with two in each byte.

    Parameters
    ----------
    integers : Tensor, shape (..., n), n even

    Returns
    -------
    Tensor, shape (..., n / 2), uint8

    Raises
    ------
    ValueError
        If n is odd.
    """
    if integers.shape[-1] % 2:
        raise ValueError(
            f"pack_int4: the last dimension has {integers.shape[-1]} numbers, which is odd; pad it with one"
        )
    integers = integers.to(minitorch.uint8)
    return integers[..., ::2] + integers[..., 1::2] * 16


def unpack_int4(packed: Any) -> Any:
    """Return the integers that `pack_int4` has packed, as uint8."""
    pairs = minitorch.stack([packed % 16, minitorch.div(packed, 16, rounding_mode="floor").to(minitorch.uint8)], -1)
    return pairs.flatten(-2)


class _WeightOnlyLinear(Module):
    """What linear maps with quantized weights share: their weight does not learn, what flows through it does.

    Attributes
    ----------
    weight : Tensor
        Integers.
    bias : Parameter or None
    """

    bias: Any
    weight: Any
    scales: Any

    def __init__(self, in_features: int, out_features: int, bias: Any):
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.bias = bias

    def dequantized_weight(self, dtype: Any) -> Any:
        """Return the weight in floating point, shape (out, in)."""
        raise NotImplementedError

    def forward(self, input: Any) -> Any:
        return F.linear(input, self.dequantized_weight(input.dtype), self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Int8WeightLinear(_WeightOnlyLinear):
    """A linear map whose weight has 8 bits an element, with a scale for each row.

    Parameters
    ----------
    weight : Tensor, shape (out, in), floating
        The greatest number of a row becomes 127.
    bias : Parameter, shape (out,), optional

    Examples
    --------
    >>> from minitorch.ao.nn.quantized.weight_only import Int8WeightLinear
    >>> Int8WeightLinear(minitorch.ones(2, 4))(minitorch.ones(4))
    tensor([4., 4.])
    """

    def __init__(self, weight: Any, bias: Any = None):
        super().__init__(weight.shape[1], weight.shape[0], bias)
        weight = weight.detach()
        greatest = weight.abs().amax(1, keepdim=True)
        scales = minitorch.where(greatest > 0, greatest / 127, minitorch.ones_like(greatest))
        self.register_buffer("weight", minitorch.round(weight / scales).to(minitorch.int8))
        self.register_buffer("scales", scales.squeeze(1))

    def dequantized_weight(self, dtype: Any) -> Any:
        return self.weight.to(dtype) * self.scales.to(dtype).unsqueeze(1)

    @classmethod
    def from_float(cls, linear: Any) -> Int8WeightLinear:
        """Return the module for an `nn.Linear`, with its bias (not a copy of it)."""
        return cls(linear.weight, linear.bias)


class Int4WeightLinear(_WeightOnlyLinear):
    """A linear map whose weight has 4 bits an element, with a scale and a least value for each group of a row.

    Parameters
    ----------
    weight : Tensor, shape (out, in), floating
    bias : Parameter, shape (out,), optional
    group_size : int
        Even; divides `in`.

    Raises
    ------
    ValueError
        If `group_size` is odd or does not divide `in`.
    """

    zeros: Any

    def __init__(self, weight: Any, bias: Any = None, group_size: int = 32):
        super().__init__(weight.shape[1], weight.shape[0], bias)
        if group_size <= 0 or group_size % 2 or self.in_features % group_size:
            raise ValueError(
                f"Int4WeightLinear: group_size must be even and divide the {self.in_features} input features, but is {group_size}"
            )
        self.group_size = group_size
        groups = weight.detach().reshape(self.out_features, -1, group_size)
        least, greatest = groups.amin(2), groups.amax(2)
        span = greatest - least
        scales = minitorch.where(span > 0, span / 15, minitorch.ones_like(span))
        steps = minitorch.round((groups - least.unsqueeze(2)) / scales.unsqueeze(2)).clamp(0, 15)
        self.register_buffer("weight", pack_int4(steps.reshape(self.out_features, self.in_features)))
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", least)

    def dequantized_weight(self, dtype: Any) -> Any:
        steps = unpack_int4(self.weight).to(dtype).reshape(self.out_features, -1, self.group_size)
        weight = steps * self.scales.to(dtype).unsqueeze(2) + self.zeros.to(dtype).unsqueeze(2)
        return weight.reshape(self.out_features, self.in_features)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, group_size={self.group_size}"

    @classmethod
    def from_float(cls, linear: Any, group_size: int = 32) -> Int4WeightLinear:
        """Return the module for an `nn.Linear`, with its bias (not a copy of it)."""
        return cls(linear.weight, linear.bias, group_size)
