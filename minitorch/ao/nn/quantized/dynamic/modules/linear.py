"""The dynamically quantized linear map."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn.qat import dynamic as nnqatd
from minitorch.ao.nn.quantized.modules import linear as nnq
from minitorch.ao.nn.quantized.modules.utils import quantize_weight, weight_observer
from minitorch.nn import functional as F
from minitorch.nn.modules.activation import NonDynamicallyQuantizableLinear

__all__ = ["Linear", "product"]


def product(packed: nnq.LinearPackedParams, x: Any) -> Any:
    """Return a linear map of float32 numbers, with packed parameters of qint8 or float16.

    The input is quantized with one bit unused, as PyTorch's kernels need.
    """
    if packed.dtype is minitorch.qint8:
        return minitorch.ops.quantized.linear_dynamic(x, packed._packed_params, reduce_range=True)
    return F.linear(x, *packed._weight_bias())


class Linear(nnq.Linear):
    """A linear map with a quantized weight, of float32 numbers.

    Parameters
    ----------
    in_features, out_features : int
    bias_ : bool
    dtype : dtype
        qint8: the input is quantized by its range; float16: the weight is rounded to half precision.
    """

    _version = 4
    _FLOAT_MODULE = (nn.Linear, NonDynamicallyQuantizableLinear, nni.LinearReLU, nnqatd.Linear)

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = None):
        super().__init__(in_features, out_features, bias_, dtype)
        self.version = 4

    def forward(self, x: Any) -> Any:
        return product(self._packed_params, x).to(x.dtype)

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        if self._packed_params.dtype is minitorch.qint8:
            text += f", qscheme={self.weight().qscheme()}"
        return text

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one with a `QConfig`, or one that was trained for it."""
        cls._check_float(mod)
        source = mod[0] if isinstance(mod, nni._FusedModule) else mod
        observer = weight_observer(mod, source)
        dtype = observer.dtype
        if dtype not in (minitorch.qint8, minitorch.float16):
            raise RuntimeError(
                f"Linear.from_float: Unsupported dtype {dtype} for dynamic quantization of Linear; use qint8 or float16"
            )
        weight = source.weight.detach().float()
        made = cls(source.in_features, source.out_features, dtype=dtype)
        bias = None if source.bias is None else source.bias.detach()
        made.set_weight_bias(quantize_weight(weight, observer) if dtype is minitorch.qint8 else weight, bias)
        return made
