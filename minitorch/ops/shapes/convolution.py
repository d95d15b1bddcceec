"""Shapes, types and argument errors of convolutions, unfold and fold."""

from __future__ import annotations

from math import prod

from minitorch.core.dtype import from_numpy_dtype
from minitorch.ops.shapes.common import MetaArray, check, in_format_of, is_contiguous
from minitorch.ops.shapes.registry import shape


def expand(values, count: int, name: str, what: str) -> tuple:
    """Return `values` with one entry per spatial dimension."""
    if len(values) == 1:
        return tuple(values) * count
    check(
        len(values) == count,
        f"{name}(): expected {what} to be a single integer value or a list of {count} values to "
        f"match the convolution dimensions, but got {what}={list(values)}",
    )
    return tuple(values)


def window_count(size: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """Return how many windows fit a padded length."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def check_same_type(input, weight, bias, name: str) -> None:
    """Raise unless the operands of a convolution have one dtype."""
    for other, what in ((weight, "weight"), (bias, "bias")):
        if other is not None and other.dtype != input.dtype:
            a = from_numpy_dtype(input.dtype).name
            b = from_numpy_dtype(other.dtype).name
            raise RuntimeError(
                f"{name}(): Input type ({a}) and {what} type ({b}) should be the same; "
                "convert one of them with .to(dtype)"
            )


@shape("convolution")
def convolution_shape(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
):
    name = "convolution"
    d = weight.ndim - 2
    check(d > 0, f"{name}(): weight should have at least three dimensions, got {weight.shape}")
    check(groups > 0, f"{name}(): non-positive groups is not supported, got {groups}")
    check(
        input.ndim == weight.ndim,
        f"{name}(): Expected {weight.ndim}D input for a weight of size {list(weight.shape)}, but "
        f"got input of size {list(input.shape)}",
    )
    stride = expand(stride, d, name, "stride")
    padding = expand(padding, d, name, "padding")
    dilation = expand(dilation, d, name, "dilation")
    output_padding = expand(output_padding, d, name, "output_padding")
    check(min(padding) >= 0, f"{name}(): negative padding is not supported, got {padding}")
    check(min(stride) > 0, f"{name}(): non-positive stride is not supported, got {stride}")
    check(min(dilation) > 0, f"{name}(): dilation should be greater than zero, got {dilation}")
    check_same_type(input, weight, bias, name)
    w = list(weight.shape)
    check(
        weight.shape[0] >= groups,
        f"{name}(): Given groups={groups}, expected weight to be at least {groups} at dimension "
        f"0, but got weight of size {w} instead",
    )
    check(
        weight.shape[0] % groups == 0,
        f"{name}(): Given groups={groups}, expected weight to be divisible by {groups} at "
        f"dimension 0, but got weight of size {w} instead",
    )
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    check(
        input.shape[1] == channels,
        f"{name}(): Given groups={groups}, weight of size {w}, expected input"
        f"{list(input.shape)} to have {channels} channels, but got {input.shape[1]} channels "
        "instead",
    )
    outputs = weight.shape[1] * groups if transposed else weight.shape[0]
    bias_shape = [outputs] if bias is None else list(bias.shape)
    check(
        bias_shape == [outputs],
        f"{name}(): Given weight of size {w}, expected bias to be 1-dimensional with {outputs} "
        f"elements, but got bias of size {bias_shape} instead",
    )
    kernel = weight.shape[2:]
    sizes = input.shape[2:]
    if transposed:
        for o, s, t in zip(output_padding, stride, dilation, strict=True):
            check(
                0 <= o < max(s, t),
                f"{name}(): output padding must be smaller than either stride or dilation, but "
                f"got output_padding={output_padding}, stride={stride}, dilation={dilation}",
            )
        out = tuple(
            (n - 1) * s - 2 * p + t * (k - 1) + o + 1
            for n, k, s, p, t, o in zip(
                sizes, kernel, stride, padding, dilation, output_padding, strict=True
            )
        )
        check(
            min(out) > 0,
            f"{name}(): Given input size per channel: {sizes}. Calculated output size per "
            f"channel: {out}. Output size is too small",
        )
    else:
        padded = tuple(n + 2 * p for n, p in zip(sizes, padding, strict=True))
        reach = tuple(t * (k - 1) + 1 for k, t in zip(kernel, dilation, strict=True))
        check(
            all(n >= r for n, r in zip(padded, reach, strict=True)),
            f"{name}(): Calculated padded input size per channel: {padded}. Kernel size: "
            f"{reach}. Kernel size can't be greater than actual input size",
        )
        out = tuple(
            window_count(*each)
            for each in zip(sizes, kernel, stride, padding, dilation, strict=True)
        )
    result = in_format_of(input, MetaArray((input.shape[0], outputs, *out), input.dtype))
    return result if not is_contiguous(result) else in_format_of(weight, result)


@shape("convolution_backward")
def convolution_backward_shape(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed,
    output_padding, groups, output_mask,
):  # fmt: skip
    out = convolution_shape(
        input, weight, None, stride, padding, dilation, transposed, output_padding, groups
    )
    check(
        grad_output.shape == out.shape,
        f"convolution_backward(): grad_output has size {list(grad_output.shape)}, the "
        f"convolution gives {list(out.shape)}",
    )
    check_same_type(grad_output, weight, None, "convolution_backward")
    need_input, need_weight, need_bias = output_mask
    dtype = grad_output.dtype
    return (
        MetaArray(input.shape, dtype) if need_input else None,
        MetaArray(weight.shape, dtype) if need_weight else None,
        MetaArray((out.shape[1],), dtype) if need_bias else None,
    )


def _windows(sizes, kernel_size, dilation, padding, stride, name):
    kernel = expand(kernel_size, 2, name, "kernel_size")
    dilation = expand(dilation, 2, name, "dilation")
    padding = expand(padding, 2, name, "padding")
    stride = expand(stride, 2, name, "stride")
    check(min(kernel) > 0, f"{name}(): kernel size should be greater than zero, got {kernel}")
    check(min(dilation) > 0, f"{name}(): dilation should be greater than zero, got {dilation}")
    check(min(padding) >= 0, f"{name}(): padding should be non-negative, got {padding}")
    check(min(stride) > 0, f"{name}(): stride should be greater than zero, got {stride}")
    out = tuple(
        window_count(*each) for each in zip(sizes, kernel, stride, padding, dilation, strict=True)
    )
    return kernel, out


@shape("im2col")
def im2col_shape(self, kernel_size, dilation, padding, stride):
    name = "im2col"
    check(
        self.ndim in (3, 4) and 0 not in self.shape[-3:],
        f"{name}(): Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for "
        f"input, but got: {list(self.shape)}",
    )
    kernel, out = _windows(self.shape[-2:], kernel_size, dilation, padding, stride, name)
    check(
        min(out) > 0,
        f"{name}(): Given input with spatial size {self.shape[-2:]}, kernel_size={kernel}, "
        f"dilation={dilation}, padding={padding}, calculated shape of the array of sliding "
        f"blocks as {out}, but its components must be at least one.",
    )
    result = (*self.shape[:-3], self.shape[-3] * prod(kernel), prod(out))
    return MetaArray(result, self.dtype)


@shape("col2im")
def col2im_shape(self, output_size, kernel_size, dilation, padding, stride):
    name = "col2im"
    check(
        len(output_size) == 2,
        f"{name}(): It is expected output_size equals to 2, but got size {len(output_size)}",
    )
    kernel, out = _windows(output_size, kernel_size, dilation, padding, stride, name)
    check(
        self.ndim in (2, 3) and 0 not in self.shape[-2:],
        f"{name}(): Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size "
        f"and non-zero dimensions for input, but got: {list(self.shape)}",
    )
    rows, columns = self.shape[-2:]
    check(
        rows % prod(kernel) == 0,
        f"{name}(): Expected size of input's dimension 1 to be divisible by the product of "
        f"kernel_size, but got input.size(1)={rows} and kernel_size={kernel}.",
    )
    check(
        columns == prod(out) and min(out) > 0,
        f"{name}(): Given output_size={tuple(output_size)}, kernel_size={kernel}, "
        f"dilation={dilation}, padding={padding}, stride={stride}, expected size of input's "
        f"dimension 2 to match the calculated number of sliding blocks {out[0]} * {out[1]} = "
        f"{prod(out)}, but got input.size(2)={columns}.",
    )
    return MetaArray((*self.shape[:-2], rows // prod(kernel), *output_size), self.dtype)
