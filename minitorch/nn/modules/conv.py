"""Convolutions."""

from __future__ import annotations

import math
from typing import Any

from minitorch.nn import functional as F
from minitorch.nn import init
from minitorch.nn.modules.arguments import pair, reversed_pairs, single, triple
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.ops.functions import empty
from minitorch.tensor.tensor import Tensor

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
]  # fmt: skip

_conv1d, _conv2d, _conv3d = F.conv1d, F.conv2d, F.conv3d
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """What convolutions of all dimensions share."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding",
        "in_channels", "out_channels", "kernel_size",
    ]  # fmt: skip

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple,
        stride: tuple,
        padding: Any,
        dilation: tuple,
        transposed: bool,
        output_padding: tuple,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                )
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(_PADDING_MODES)}, but got "
                f"padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        # What `functional.pad` takes, where the padding is not zeros.
        self._reversed_padding_repeated_twice = self._pads()
        if transposed:
            shape = (in_channels, out_channels // groups, *kernel_size)
        else:
            shape = (out_channels, in_channels // groups, *kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _pads(self) -> list[int]:
        if not isinstance(self.padding, str):
            return reversed_pairs(self.padding)
        pads = [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            dimensions = zip(self.dilation, self.kernel_size, strict=True)
            for i, (d, k) in enumerate(reversed(list(dimensions))):
                total = d * (k - 1)
                pads[2 * i] = total // 2
                pads[2 * i + 1] = total - total // 2
        return pads

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        )
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def _padded(self, input: Tensor) -> Tensor:
        return F.pad(input, self._reversed_padding_repeated_twice, self.padding_mode)


class Conv1d(_ConvNd):
    """Convolution (more exactly: correlation) over sequences.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride, dilation : int or tuple of int
    padding : int, tuple of int or {"valid", "same"}
    groups : int
        Parts of the channels that are convolved apart.
    bias : bool
    padding_mode : {"zeros", "reflect", "replicate", "circular"}

    Attributes
    ----------
    weight : Parameter, shape (out_channels, in_channels / groups, kernel size)
    bias : Parameter or None, shape (out_channels,)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else single(padding)
        super().__init__(
            in_channels, out_channels, single(kernel_size), single(stride), padding,
            single(dilation), False, single(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution of `input`, shape ([batch,] channels, length)."""
        if self.padding_mode != "zeros":
            return _conv1d(
                self._padded(input), self.weight, self.bias, self.stride, single(0),
                self.dilation, self.groups,
            )  # fmt: skip
        return _conv1d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv2d(_ConvNd):
    """Convolution (more exactly: correlation) over images.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride, dilation : int or tuple of two
    padding : int, tuple of two or {"valid", "same"}
    groups : int
        Parts of the channels that are convolved apart.
    bias : bool
    padding_mode : {"zeros", "reflect", "replicate", "circular"}

    Attributes
    ----------
    weight : Parameter, shape (out_channels, in_channels / groups, height, width)
    bias : Parameter or None, shape (out_channels,)

    Examples
    --------
    >>> Conv2d(16, 33, 3, stride=2)(minitorch.ones(20, 16, 50, 100)).shape
    torch.Size([20, 33, 24, 49])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else pair(padding)
        super().__init__(
            in_channels, out_channels, pair(kernel_size), pair(stride), padding, pair(dilation),
            False, pair(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution of `input`, shape ([batch,] channels, height, width)."""
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode != "zeros":
            return _conv2d(
                self._padded(input), weight, bias, self.stride, pair(0), self.dilation, self.groups
            )
        return _conv2d(
            input, weight, bias, self.stride, self.padding, self.dilation, self.groups
        )


class Conv3d(_ConvNd):
    """Convolution (more exactly: correlation) over volumes; parameters as for `Conv2d`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        padding = padding if isinstance(padding, str) else triple(padding)
        super().__init__(
            in_channels, out_channels, triple(kernel_size), triple(stride), padding,
            triple(dilation), False, triple(0), groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """Return the convolution of `input`, shape ([batch,] channels, depth, height, width)."""
        if self.padding_mode != "zeros":
            return _conv3d(
                self._padded(input), self.weight, self.bias, self.stride, triple(0),
                self.dilation, self.groups,
            )  # fmt: skip
        return _conv3d(
            input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class _ConvTransposeNd(_ConvNd):
    """What transposed convolutions of all dimensions share."""

    _dimensions: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}'
            )
        expand = (single, pair, triple)[self._dimensions - 1]
        super().__init__(
            in_channels, out_channels, expand(kernel_size), expand(stride), expand(padding),
            expand(dilation), True, expand(output_padding), groups, bias, padding_mode, device,
            dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: list[int] | None) -> list[int]:
        """Return the output padding that leads to `output_size`."""
        if output_size is None:
            return list(self.output_padding)
        d = self._dimensions
        if len(output_size) == input.dim():
            output_size = output_size[-d:]
        if len(output_size) != d:
            raise ValueError(
                f"{type(self).__name__}: for {input.dim()}D input, output_size must have {d} or "
                f"{input.dim()} elements (got {len(output_size)})"
            )
        result = []
        for n, size, s, p, k, t in zip(
            input.shape[-d:], output_size, self.stride, self.padding, self.kernel_size,
            self.dilation, strict=True,
        ):  # fmt: skip
            least = (n - 1) * s - 2 * p + t * (k - 1) + 1
            if not least <= size <= least + s - 1:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from "
                    f"{least} to {least + s - 1} (for an input of {tuple(input.shape[-d:])})"
                )
            result.append(size - least)
        return result

    def forward(self, input: Tensor, output_size: list[int] | None = None) -> Tensor:
        """Return the transposed convolution of `input`."""
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)
        return function[self._dimensions - 1](
            input, self.weight, self.bias, self.stride, self.padding,
            self._output_padding(input, output_size), self.groups, self.dilation,
        )  # fmt: skip


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of `Conv1d` as a layer: it enlarges sequences.

    Parameters
    ----------
    in_channels, out_channels : int
    kernel_size, stride, padding, dilation : int or tuple of int
        Those of the convolution whose gradient this is.
    output_padding : int or tuple of int
        Added to one side of the result.
    groups : int
    bias : bool
    """

    _dimensions = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of `Conv2d` as a layer; parameters as for `ConvTranspose1d`."""

    _dimensions = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of `Conv3d` as a layer; parameters as for `ConvTranspose1d`."""

    _dimensions = 3
