"""The quantized linear map."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn.intrinsic import qat as nniqat
from minitorch.ao.nn.quantized.modules.utils import (
    ResultParameters,
    WeightedQuantizedModule,
    hide_packed_params_from_repr,
    output_qparams,
    quantize_weight,
    weight_observer,
    zero_weight,
)
from minitorch.nn.modules.activation import NonDynamicallyQuantizableLinear
from minitorch.nn.modules.module import Module
from minitorch.nn.utils.fusion import fuse_linear_bn_weights

__all__ = ["Linear", "LinearPackedParams"]


class LinearPackedParams(Module):
    """A weight and a bias, packed for kernels; in states a pair of tensors.

    Parameters
    ----------
    dtype : dtype
        qint8, or float16: of dynamic quantization to half precision.
    """

    _version = 3

    def __init__(self, dtype: Any = None):
        super().__init__()
        self.dtype = minitorch.qint8 if dtype is None else dtype
        if self.dtype is minitorch.qint8:
            weight = zero_weight([1, 1])
        else:
            weight = minitorch.zeros([1, 1], dtype=minitorch.float)
        self.set_weight_bias(weight, None)

    def set_weight_bias(self, weight: Any, bias: Any) -> None:
        """Pack a weight (out, in) and a bias (out,) or None."""
        if self.dtype is minitorch.qint8:
            self._packed_params = minitorch.ops.quantized.linear_prepack(weight, bias)
        elif self.dtype is minitorch.float16:
            self._packed_params = (weight.detach().to(minitorch.float16).to(minitorch.float32), bias)
        else:
            raise RuntimeError(f"LinearPackedParams: weights are qint8 or float16, not {self.dtype}")

    def _weight_bias(self) -> tuple[Any, Any]:
        if self.dtype is minitorch.qint8:
            return minitorch.ops.quantized.linear_unpack(self._packed_params)
        return self._packed_params  # type: ignore[return-value]

    def forward(self, x: Any) -> Any:
        return x

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        super()._apply(fn, recurse)
        weight, bias = self._weight_bias()
        self.set_weight_bias(fn(weight), None if bias is None else fn(bias))
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_params"] = self._weight_bias()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list, unexpected_keys: list,
        error_msgs: list,
    ) -> None:  # fmt: skip
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight_bias(*state_dict.pop(prefix + "_packed_params"))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def __repr__(self) -> str:
        return repr(self._weight_bias())


class Linear(ResultParameters, WeightedQuantizedModule):
    """A linear map of quantized numbers.

    Parameters
    ----------
    in_features, out_features : int
    bias_ : bool
    dtype : dtype
        qint8.

    Attributes
    ----------
    scale, zero_point : float, int
        Of the result.
    """

    _version = 3
    _FLOAT_MODULE: Any = (nn.Linear, NonDynamicallyQuantizableLinear)

    def __init__(self, in_features: int, out_features: int, bias_: bool = True, dtype: Any = None):
        super().__init__()
        dtype = minitorch.qint8 if dtype is None else dtype
        self.in_features = in_features
        self.out_features = out_features
        bias = minitorch.zeros(out_features, dtype=minitorch.float) if bias_ else None
        if dtype is minitorch.qint8:
            weight = zero_weight([out_features, in_features])
        elif dtype is minitorch.float16:
            weight = minitorch.zeros([out_features, in_features], dtype=minitorch.float)
        else:
            raise RuntimeError(
                f"Linear: Unsupported dtype specified for quantized Linear: {dtype}; use qint8 or float16"
            )
        self._packed_params = LinearPackedParams(dtype)
        self._packed_params.set_weight_bias(weight, bias)
        self.scale = 1.0
        self.zero_point = 0

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return hide_packed_params_from_repr(self, LinearPackedParams)

    def forward(self, x: Any) -> Any:
        return minitorch.ops.quantized.linear(x, self._packed_params._packed_params, self.scale, self.zero_point)

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._packed_params._weight_bias()

    def weight(self) -> Any:
        return self._weight_bias()[0]

    def bias(self) -> Any:
        return self._weight_bias()[1]

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Replace the weight and the bias."""
        self._packed_params.set_weight_bias(w, b)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a prepared float or trained one."""
        source = mod
        if hasattr(mod, "weight_fake_quant"):
            if type(mod) is nniqat.LinearBn1d:
                bn = mod.bn
                mod.weight, mod.bias = fuse_linear_bn_weights(
                    mod.weight, mod.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
                )
        else:
            cls._check_float(mod)
            source = mod[0] if isinstance(mod, nni._FusedModule) else mod
        return cls._from_weight(source, weight_observer(mod, source), *output_qparams(mod, cls.__name__))

    @classmethod
    def _check_float(cls, mod: Any) -> None:
        expected = cls._FLOAT_MODULE if isinstance(cls._FLOAT_MODULE, tuple) else (cls._FLOAT_MODULE,)
        if type(mod) not in expected:
            raise AssertionError(
                f"nnq.{cls.__name__}.from_float only works for {[c.__name__ for c in expected]}, but got: {type(mod).__name__}"
            )
        if not hasattr(mod, "qconfig"):
            raise AssertionError(f"nnq.{cls.__name__}.from_float: Input float module must have qconfig defined")

    @classmethod
    def _from_weight(cls, source: Any, observer: Any, scale: float, zero_point: int) -> Any:
        if observer.dtype is not minitorch.qint8:
            raise AssertionError(f"{cls.__name__}: Weight observer must have dtype qint8, not {observer.dtype}")
        made = cls(source.in_features, source.out_features)
        bias = None if source.bias is None else source.bias.detach()
        made.set_weight_bias(quantize_weight(source.weight.detach().float(), observer), bias)
        made.scale, made.zero_point = scale, zero_point
        return made

    @classmethod
    def from_reference(cls, ref_qlinear: Any, output_scale: float, output_zero_point: int) -> Any:
        observer = weight_observer(ref_qlinear, ref_qlinear)
        return cls._from_weight(ref_qlinear, observer, float(output_scale), int(output_zero_point))
