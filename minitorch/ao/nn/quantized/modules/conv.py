"""Quantized convolutions."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn.intrinsic import qat as nniqat
from minitorch.ao.nn.quantized.modules.utils import (
    WeightedQuantizedModule,
    output_qparams,
    quantize_weight,
    scalar_tensors,
    weight_observer,
    zero_weight,
)
from minitorch.nn.modules.arguments import pair, single, triple
from minitorch.nn.utils.fusion import fuse_conv_bn_weights

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]


class _ConvNd(WeightedQuantizedModule):
    """What quantized convolutions share.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias
        As of `nn.Conv2d`.
    padding_mode : str
        ``"zeros"`` or ``"reflect"``.

    Attributes
    ----------
    scale, zero_point : float, int
        Of the result.
    """

    _rank: int
    _FLOAT_MODULE: Any
    _NNIQAT_CONV_BN_MODULE: Any = None
    _NNI_CONV_RELU_MODULE: Any = None
    _tuple: Any
    _operator = ""
    _transposed = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
        output_padding: Any = 0,
    ):  # fmt: skip
        super().__init__()
        if padding_mode not in ("zeros", "reflect"):
            raise NotImplementedError(
                f"{type(self).__name__}: padding_mode {padding_mode!r} is not supported; use 'zeros' or 'reflect'"
            )
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"{type(self).__name__}: {in_channels} and {out_channels} channels must be divisible by groups, {groups}"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = self._tuple(kernel_size)
        self.stride = self._tuple(stride)
        self.padding = padding if isinstance(padding, str) else self._tuple(padding)
        self.dilation = self._tuple(dilation)
        self.transposed = self._transposed
        self.output_padding = self._tuple(output_padding)
        self.groups = groups
        self.padding_mode = padding_mode
        first, second = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        weight = zero_weight([first, second // groups, *self.kernel_size])
        self.set_weight_bias(weight, minitorch.zeros(out_channels, dtype=minitorch.float) if bias else None)
        self.scale = 1.0
        self.zero_point = 0

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )
        if self.padding != self._tuple(0):
            text += f", padding={self.padding}"
        if self.output_padding != self._tuple(0):
            text += f", output_padding={self.output_padding}"
        if self.dilation != self._tuple(1):
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self.bias() is not None else text + ", bias=False"

    def _zero_padding(self) -> list[int]:
        """Return the zeros on each side that the kernel adds."""
        if self.padding_mode != "zeros" or self.padding == "valid":
            return [0] * self._rank
        if self.padding == "same":
            total = [d * (k - 1) for d, k in zip(self.dilation, self.kernel_size, strict=True)]
            if any(t % 2 for t in total):
                raise NotImplementedError(
                    f"{type(self).__name__}: padding='same' of a kernel of even size is not the same on both sides; give numbers"
                )
            return [t // 2 for t in total]
        return [int(p) for p in self.padding]

    def set_weight_bias(self, w: Any, b: Any) -> None:
        """Replace the weight (out, in / groups, ...) and the bias (out,) or None."""
        geometry = [list(self.stride), self._zero_padding(), list(self.dilation)]
        if self._transposed:
            geometry.insert(2, list(self.output_padding))
        self._packed_params = self._kernel("_prepack")(w, b, *geometry, self.groups)

    def _kernel(self, suffix: str) -> Any:
        """Return the operator of the packed parameters with a given end of its name."""
        name = f"conv_transpose{self._rank}d" if self._transposed else f"conv{self._rank}d"
        return getattr(minitorch.ops.quantized, name + suffix)

    def _weight_bias(self) -> tuple[Any, Any]:
        return self._kernel("_unpack")(self._packed_params)

    def weight(self) -> Any:
        return self._weight_bias()[0]

    def bias(self) -> Any:
        return self._weight_bias()[1]

    def _padded(self, input: Any) -> Any:
        if input.dim() != self._rank + 2:
            raise ValueError(
                f"{type(self).__name__}: Input shape must have {self._rank + 2} dimensions, not {tuple(input.shape)}"
            )
        if self.padding_mode == "zeros":
            return input
        sides = [p for pad in reversed(self.padding) for p in (pad, pad)]
        return nn.functional.pad(input, sides, mode=self.padding_mode)

    def forward(self, input: Any) -> Any:
        return self._kernel(self._operator)(self._padded(input), self._packed_params, self.scale, self.zero_point)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        super()._apply(fn, recurse)
        weight, bias = self._weight_bias()
        self.set_weight_bias(fn(weight), None if bias is None else fn(bias))
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"], destination[prefix + "bias"] = self._weight_bias()
        destination[prefix + "scale"], destination[prefix + "zero_point"] = scalar_tensors(self.scale, self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list, unexpected_keys: list,
        error_msgs: list,
    ) -> None:  # fmt: skip
        self.set_weight_bias(state_dict.pop(prefix + "weight"), state_dict.pop(prefix + "bias"))
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a prepared float or trained one."""
        source = mod
        if hasattr(mod, "weight_fake_quant"):
            if cls._NNIQAT_CONV_BN_MODULE is not None and isinstance(mod, cls._NNIQAT_CONV_BN_MODULE):
                bn = mod.bn
                mod.weight, mod.bias = fuse_conv_bn_weights(
                    mod.weight, mod.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
                )
        else:
            if type(mod) not in (cls._FLOAT_MODULE, cls._NNI_CONV_RELU_MODULE):
                raise AssertionError(
                    f"nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}, but got: {type(mod).__name__}"
                )
            if not hasattr(mod, "qconfig"):
                raise AssertionError(f"nnq.{cls.__name__}.from_float: Input float module must have qconfig defined.")
            source = mod[0] if isinstance(mod, nni._FusedModule) else mod
        return cls._from_weight(source, weight_observer(mod, source), *output_qparams(mod, cls.__name__))

    @classmethod
    def _from_weight(cls, source: Any, observer: Any, scale: float, zero_point: int) -> Any:
        if observer.dtype is not minitorch.qint8:
            raise AssertionError(f"{cls.__name__}: Weight observer must have a dtype of qint8, not {observer.dtype}")
        made = cls(
            source.in_channels, source.out_channels, source.kernel_size, stride=source.stride, padding=source.padding,
            dilation=source.dilation, groups=source.groups, bias=source.bias is not None, padding_mode=source.padding_mode,
            **({"output_padding": source.output_padding} if cls._transposed else {}),
        )  # fmt: skip
        bias = None if source.bias is None else source.bias.detach()
        made.set_weight_bias(quantize_weight(source.weight.detach().float(), observer), bias)
        made.scale, made.zero_point = scale, zero_point
        return made

    @classmethod
    def from_reference(cls, ref_qconv: Any, output_scale: float, output_zero_point: int) -> Any:
        observer = weight_observer(ref_qconv, ref_qconv)
        return cls._from_weight(ref_qconv, observer, float(output_scale), int(output_zero_point))


class Conv1d(_ConvNd):
    """`nn.Conv1d` of quantized numbers; takes its arguments."""

    _rank = 1
    _tuple = staticmethod(single)
    _FLOAT_MODULE = nn.Conv1d
    _NNIQAT_CONV_BN_MODULE = nniqat.ConvBn1d
    _NNI_CONV_RELU_MODULE = nni.ConvReLU1d


class Conv2d(_ConvNd):
    """`nn.Conv2d` of quantized numbers; takes its arguments.

    Examples
    --------
    >>> conv = minitorch.ao.nn.quantized.Conv2d(3, 2, 3)
    >>> conv.scale = 0.05
    """

    _rank = 2
    _tuple = staticmethod(pair)
    _FLOAT_MODULE = nn.Conv2d
    _NNIQAT_CONV_BN_MODULE = nniqat.ConvBn2d
    _NNI_CONV_RELU_MODULE = nni.ConvReLU2d


class Conv3d(_ConvNd):
    """`nn.Conv3d` of quantized numbers; takes its arguments."""

    _rank = 3
    _tuple = staticmethod(triple)
    _FLOAT_MODULE = nn.Conv3d
    _NNIQAT_CONV_BN_MODULE = nniqat.ConvBn3d
    _NNI_CONV_RELU_MODULE = nni.ConvReLU3d


class _ConvTransposeNd(_ConvNd):
    """What quantized transposed convolutions share; their weight has one scale for all channels.

    Parameters
    ----------
    in_channels, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation
        As of `nn.ConvTranspose2d`.
    padding_mode : {"zeros"}
    """

    _transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
        groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None,
    ):  # fmt: skip
        if padding_mode != "zeros":
            raise ValueError(f'{type(self).__name__}: Only "zeros" padding mode is supported, not {padding_mode!r}')
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, output_padding=output_padding
        )


class ConvTranspose1d(_ConvTransposeNd):
    """`nn.ConvTranspose1d` of quantized numbers; takes its arguments."""

    _rank = 1
    _tuple = staticmethod(single)
    _FLOAT_MODULE = nn.ConvTranspose1d


class ConvTranspose2d(_ConvTransposeNd):
    """`nn.ConvTranspose2d` of quantized numbers; takes its arguments."""

    _rank = 2
    _tuple = staticmethod(pair)
    _FLOAT_MODULE = nn.ConvTranspose2d


class ConvTranspose3d(_ConvTransposeNd):
    """`nn.ConvTranspose3d` of quantized numbers; takes its arguments."""

    _rank = 3
    _tuple = staticmethod(triple)
    _FLOAT_MODULE = nn.ConvTranspose3d
