"""Quantized activations."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn.quantized.modules.utils import output_qparams
from minitorch.nn.modules.module import Module

__all__ = ["ELU", "Hardswish", "LeakyReLU", "PReLU", "ReLU6", "Sigmoid", "Softmax"]


class ReLU6(nn.ReLU):
    """``clamp(x, 0, 6)`` of quantized numbers, with their scale and zero point."""

    def __init__(self, inplace: bool = False):
        super().__init__(inplace)
        self.inplace = inplace

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ReLU6:
        """Return the module for a float one."""
        return ReLU6(mod.inplace)


class Hardswish(nn.Hardswish):
    """`nn.Hardswish` of quantized numbers.

    Parameters
    ----------
    scale, zero_point : float, int
        Of the result.
    """

    scale: Any
    zero_point: Any

    def __init__(self, scale: float, zero_point: int, device: Any = None, dtype: Any = None):
        super().__init__()
        self.register_buffer("scale", minitorch.tensor(float(scale), device=device))
        self.register_buffer("zero_point", minitorch.tensor(int(zero_point), device=device))

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.hardswish(input, float(self.scale), int(self.zero_point))

    def _get_name(self) -> str:
        return "QuantizedHardswish"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Hardswish:
        """Return the module for a prepared float one."""
        return Hardswish(*output_qparams(mod, "Hardswish"))


class LeakyReLU(nn.LeakyReLU):
    """`nn.LeakyReLU` of quantized numbers.

    Parameters
    ----------
    scale, zero_point : float, int
        Of the result.
    negative_slope : float
    inplace : bool
    """

    scale: Any
    zero_point: Any

    def __init__(
        self, scale: float, zero_point: int, negative_slope: float = 1e-2, inplace: bool = False, device: Any = None,
        dtype: Any = None,
    ):  # fmt: skip
        super().__init__(negative_slope, inplace)
        self.register_buffer("scale", minitorch.tensor(float(scale), device=device))
        self.register_buffer("zero_point", minitorch.tensor(int(zero_point), device=device))

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.leaky_relu(
            input, self.negative_slope, self.inplace, float(self.scale), int(self.zero_point)
        )

    def _get_name(self) -> str:
        return "QuantizedLeakyReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> LeakyReLU:
        """Return the module for a prepared float one."""
        return cls(*output_qparams(mod, "LeakyReLU"), mod.negative_slope, mod.inplace)


class ELU(nn.ELU):
    """`nn.ELU` of quantized numbers.

    Parameters
    ----------
    scale, zero_point : float, int
        Of the result.
    alpha : float
    """

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0):
        super().__init__(alpha)
        self.scale = scale
        self.zero_point = zero_point

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.elu(input, self.scale, self.zero_point, self.alpha)

    def _get_name(self) -> str:
        return "QuantizedELU"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> ELU:
        """Return the module for a prepared float one."""
        return ELU(*output_qparams(mod, "ELU"), mod.alpha)


class Sigmoid(nn.Sigmoid):
    """`nn.Sigmoid` of quantized numbers.

    Parameters
    ----------
    output_scale, output_zero_point : float, int
        Of the result.
    """

    def __init__(self, output_scale: float, output_zero_point: int):
        super().__init__()
        self.output_scale = output_scale
        self.output_zero_point = output_zero_point

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.sigmoid(input, self.output_scale, self.output_zero_point)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Sigmoid:
        """Return the module for a prepared float one."""
        return cls(*output_qparams(mod, "Sigmoid"))


class Softmax(Module):
    """`nn.Softmax` of quantized numbers.

    Parameters
    ----------
    dim : int
    scale, zero_point : float, int
        Of the result.
    """

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0):
        super().__init__()
        self.dim = dim
        self.scale = scale
        self.zero_point = zero_point

    def forward(self, input: Any) -> Any:
        if self.dim is None:
            raise ValueError("Softmax: dim must be given for quantized numbers")
        return minitorch.ops.quantized.softmax(input, self.dim, self.scale, self.zero_point)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"

    def _get_name(self) -> str:
        return "QuantizedSoftmax"

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Softmax:
        """Return the module for a prepared float one."""
        return Softmax(mod.dim, *output_qparams(mod, "Softmax"))


class PReLU(Module):
    """`nn.PReLU` of quantized numbers, with a quantized weight.

    Parameters
    ----------
    output_scale, output_zero_point : float, int
        Of the result.
    num_parameters : int
    """

    def __init__(self, output_scale: float, output_zero_point: int, num_parameters: int = 1):
        super().__init__()
        self.num_parameters = num_parameters
        self.scale = output_scale
        self.zero_point = output_zero_point
        self.set_weight(minitorch.quantize_per_tensor(minitorch.full([num_parameters], 0.25), 1.0, 0, minitorch.quint8))

    def set_weight(self, w: Any) -> None:
        """Replace the weight, a quantized tensor."""
        self.weight = w

    def forward(self, input: Any) -> Any:
        return minitorch.ops.quantized.prelu(input, self.weight, self.scale, self.zero_point)

    def _get_name(self) -> str:
        return "QuantizedPReLU"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> PReLU:
        """Return the module for a prepared float one."""
        made = cls(*output_qparams(mod, "PReLU"), mod.num_parameters)
        observer = mod.qconfig.weight()
        weight = mod.weight.detach().float()
        observer(weight)
        scale, zero_point = observer.calculate_qparams()
        made.set_weight(minitorch.quantize_per_tensor(weight, float(scale), int(zero_point), minitorch.quint8))
        return made
