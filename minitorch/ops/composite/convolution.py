"""Convolutions of each dimension, written with `convolution`."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit

_NONE = {1: [0], 2: [0, 0], 3: [0, 0, 0]}


def _batched(input, weight, d, name):
    """Return `input` with a batch dimension, and whether that was added."""
    ndim = input.dim()
    if ndim == d + 2:
        return input, False
    if ndim == d + 1:
        return input.unsqueeze(0), True
    raise RuntimeError(
        f"Expected {d + 1}D (unbatched) or {d + 2}D (batched) input to {name}, but got input of "
        f"size: {list(input.shape)}"
    )


def _conv(input, weight, bias, stride, padding, dilation, groups, d, name):
    if input.dim() == d + 2:
        return F.convolution(
            input, weight, bias, stride, padding, dilation, False, _NONE[d], groups
        )
    input, added = _batched(input, weight, d, name)
    result = F.convolution(
        input, weight, bias, stride, padding, dilation, False, _NONE[d], groups
    )
    return result.squeeze(0) if added else result


@composite_implicit("conv1d")
def conv1d_composite(input, weight, bias=None, stride=(1,), padding=(0,), dilation=(1,), groups=1):
    return _conv(input, weight, bias, stride, padding, dilation, groups, 1, "conv1d")


@composite_implicit("conv2d")
def conv2d_composite(
    input, weight, bias=None, stride=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1
):
    return _conv(input, weight, bias, stride, padding, dilation, groups, 2, "conv2d")


@composite_implicit("conv3d")
def conv3d_composite(
    input, weight, bias=None, stride=(1, 1, 1), padding=(0, 0, 0), dilation=(1, 1, 1), groups=1
):
    return _conv(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


def _conv_mode(input, weight, bias, stride, padding, dilation, groups, d, name):
    """Resolve a padding given as ``"valid"`` or ``"same"``."""
    if padding == "valid":
        return _conv(input, weight, bias, stride, _NONE[d], dilation, groups, d, name)
    if padding != "same":
        raise RuntimeError(f"{name}(): Invalid padding string: {padding!r}; use 'valid' or 'same'")
    if any(s != 1 for s in stride):
        raise RuntimeError(f"{name}(): padding='same' is not supported for strided convolutions")
    if weight.dim() != d + 2 or input.dim() not in (d + 1, d + 2):
        return _conv(input, weight, bias, stride, _NONE[d], dilation, groups, d, name)  # which says what is wrong
    dilation = list(dilation) * d if len(dilation) == 1 else dilation
    totals = [t * (k - 1) for t, k in zip(dilation, weight.shape[2:], strict=True)]
    if any(t % 2 for t in totals):
        # More padding on the right: pad the excess first.
        pads = []
        for t in reversed(totals):
            pads += [0, t % 2]
        input = F.constant_pad_nd(input, pads)
    halves = [t // 2 for t in totals]
    return _conv(input, weight, bias, stride, halves, dilation, groups, d, name)


@composite_implicit("conv1d.padding")
def conv1d_padding_composite(
    input, weight, bias=None, stride=(1,), padding="valid", dilation=(1,), groups=1
):
    return _conv_mode(input, weight, bias, stride, padding, dilation, groups, 1, "conv1d")


@composite_implicit("conv2d.padding")
def conv2d_padding_composite(
    input, weight, bias=None, stride=(1, 1), padding="valid", dilation=(1, 1), groups=1
):
    return _conv_mode(input, weight, bias, stride, padding, dilation, groups, 2, "conv2d")


@composite_implicit("conv3d.padding")
def conv3d_padding_composite(
    input, weight, bias=None, stride=(1, 1, 1), padding="valid", dilation=(1, 1, 1), groups=1
):
    return _conv_mode(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


def _conv_transpose(
    input, weight, bias, stride, padding, output_padding, groups, dilation, d, name
):
    input, added = _batched(input, weight, d, name)
    result = F.convolution(
        input, weight, bias, stride, padding, dilation, True, output_padding, groups
    )
    return result.squeeze(0) if added else result


@composite_implicit("conv_transpose1d")
def conv_transpose1d_composite(
    input, weight, bias=None, stride=(1,), padding=(0,), output_padding=(0,), groups=1,
    dilation=(1,),
):  # fmt: skip
    return _conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, 1,
        "conv_transpose1d",
    )  # fmt: skip


@composite_implicit("conv_transpose2d.input")
def conv_transpose2d_composite(
    input, weight, bias=None, stride=(1, 1), padding=(0, 0), output_padding=(0, 0), groups=1,
    dilation=(1, 1),
):  # fmt: skip
    return _conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, 2,
        "conv_transpose2d",
    )  # fmt: skip


@composite_implicit("conv_transpose3d.input")
def conv_transpose3d_composite(
    input, weight, bias=None, stride=(1, 1, 1), padding=(0, 0, 0), output_padding=(0, 0, 0),
    groups=1, dilation=(1, 1, 1),
):  # fmt: skip
    return _conv_transpose(
        input, weight, bias, stride, padding, output_padding, groups, dilation, 3,
        "conv_transpose3d",
    )  # fmt: skip


@composite_implicit("_convolution")
def convolution_flags_composite(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups,
    benchmark, deterministic, cudnn_enabled, allow_tf32,
):  # fmt: skip
    return F.convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


@composite_implicit("conv_tbc")
def conv_tbc_composite(self, weight, bias, pad=0):
    """Convolve (time, batch, channels) with (kernel, in channels, out channels)."""
    result = F.convolution(
        self.permute(1, 2, 0), weight.permute(2, 1, 0), bias, [1], [pad], [1], False, [0], 1
    )
    return result.permute(2, 0, 1)
