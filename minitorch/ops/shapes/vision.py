"""Shapes, types and argument errors of padding and resampling."""

from __future__ import annotations

from minitorch.ops.shapes.activation import check_floating
from minitorch.ops.shapes.common import MetaArray, check, in_format_of, keeps_format
from minitorch.ops.shapes.registry import shape


@shape("constant_pad_nd")
@keeps_format
def constant_pad_nd_shape(self, pad, value=0):
    name = "constant_pad_nd"
    check(len(pad) % 2 == 0, f"{name}(): Length of pad must be even but instead it equals {len(pad)}")
    check(
        len(pad) <= 2 * self.ndim,
        f"{name}(): Length of pad should be no more than twice the number of dimensions of the "
        f"input. Pad length is {len(pad)} while the input has {self.ndim} dimensions.",
    )
    result = list(self.shape)
    for i in range(len(pad) // 2):
        axis = self.ndim - 1 - i
        result[axis] += pad[2 * i] + pad[2 * i + 1]
        check(
            result[axis] >= 0,
            f"{name}(): The input size {self.shape[axis]}, plus negative padding {pad[2 * i]} and "
            f"{pad[2 * i + 1]}, resulted in a negative output size, which is invalid. Check "
            f"dimension {axis} of your input.",
        )
    return MetaArray(tuple(result), self.dtype)


def _padded(self, padding, d, name, mirrored):
    check(
        len(padding) == 2 * d,
        f"{name}(): padding size is expected to be {2 * d}, got {len(padding)}",
    )
    check(
        self.ndim in (d + 1, d + 2) and 0 not in self.shape[-d - 1 :],
        f"{name}(): Expected {d + 1}D or {d + 2}D (batch mode) tensor with possibly 0 batch size "
        f"and other non-zero dimensions for input, but got: {list(self.shape)}",
    )
    result = list(self.shape)
    for i in range(d):
        axis = self.ndim - 1 - i
        before, after = padding[2 * i], padding[2 * i + 1]
        size = self.shape[axis]
        check(
            not mirrored or (before < size and after < size),
            f"{name}(): Padding size should be less than the corresponding input dimension, but "
            f"got: padding ({before}, {after}) at dimension {axis} of input {list(self.shape)}",
        )
        result[axis] += before + after
        check(
            result[axis] >= 1,
            f"{name}(): input of size {size} at dimension {axis} is too small. Calculated output "
            f"size: {result[axis]}",
        )
    return tuple(result)


@shape("reflection_pad1d")
def reflection_pad1d_shape(self, padding):
    return MetaArray(_padded(self, padding, 1, "reflection_pad1d", True), self.dtype)


@shape("reflection_pad2d")
@keeps_format
def reflection_pad2d_shape(self, padding):
    return MetaArray(_padded(self, padding, 2, "reflection_pad2d", True), self.dtype)


@shape("reflection_pad3d")
@keeps_format
def reflection_pad3d_shape(self, padding):
    return MetaArray(_padded(self, padding, 3, "reflection_pad3d", True), self.dtype)


@shape("replication_pad1d")
def replication_pad1d_shape(self, padding):
    return MetaArray(_padded(self, padding, 1, "replication_pad1d", False), self.dtype)


@shape("replication_pad2d")
@keeps_format
def replication_pad2d_shape(self, padding):
    return MetaArray(_padded(self, padding, 2, "replication_pad2d", False), self.dtype)


@shape("replication_pad3d")
@keeps_format
def replication_pad3d_shape(self, padding):
    return MetaArray(_padded(self, padding, 3, "replication_pad3d", False), self.dtype)


@shape(
    "reflection_pad1d_backward", "reflection_pad2d_backward", "reflection_pad3d_backward",
    "replication_pad1d_backward", "replication_pad2d_backward", "replication_pad3d_backward",
)  # fmt: skip
def pad_backward_shape(grad_output, self, padding):
    expected = _padded(self, padding, len(padding) // 2, "pad_backward", False)
    check(
        grad_output.shape == expected,
        f"pad_backward(): expected grad_output of shape {expected}, got {grad_output.shape}",
    )
    return MetaArray(self.shape, grad_output.dtype)


# ---------------------------------------------------------------- resampling


def _resampled(self, output_size, d, name, floating):
    check(
        self.ndim == d + 2,
        f"{name}(): It is expected input_size equals to {d + 2}, but got size {self.ndim}",
    )
    check(
        len(output_size) == d,
        f"{name}(): It is expected output_size equals to {d}, but got size {len(output_size)}",
    )
    check(
        min(output_size) > 0 and 0 not in self.shape[2:],
        f"{name}(): Input and output sizes should be greater than 0, but got input "
        f"{list(self.shape[2:])} output {list(output_size)}",
    )
    check(
        0 not in self.shape[1:],
        f"{name}(): Non-empty {d + 2}D data tensor expected but got a tensor with sizes "
        f"{list(self.shape)}",
    )
    if floating:
        check_floating(self, name)
    return in_format_of(self, MetaArray((*self.shape[:2], *output_size), self.dtype))


@shape("upsample_nearest1d", "_upsample_nearest_exact1d")
def upsample_nearest1d_shape(self, output_size, scales=None):
    return _resampled(self, output_size, 1, "upsample_nearest1d", False)


@shape("upsample_nearest2d", "_upsample_nearest_exact2d")
def upsample_nearest2d_shape(self, output_size, scales_h=None, scales_w=None):
    return _resampled(self, output_size, 2, "upsample_nearest2d", False)


@shape("upsample_nearest3d", "_upsample_nearest_exact3d")
def upsample_nearest3d_shape(
    self, output_size, scales_d=None, scales_h=None, scales_w=None
):
    return _resampled(self, output_size, 3, "upsample_nearest3d", False)


@shape("upsample_linear1d")
def upsample_linear1d_shape(self, output_size, align_corners, scales=None):
    return _resampled(self, output_size, 1, "upsample_linear1d", True)


@shape(
    "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa",
    "_upsample_bicubic2d_aa",
)  # fmt: skip
def upsample_smooth2d_shape(self, output_size, align_corners, scales_h=None, scales_w=None):
    return _resampled(self, output_size, 2, "upsample_2d", self.dtype.char != "B")


@shape("upsample_trilinear3d")
def upsample_trilinear3d_shape(
    self, output_size, align_corners, scales_d=None, scales_h=None, scales_w=None
):
    return _resampled(self, output_size, 3, "upsample_trilinear3d", True)


@shape(
    "upsample_nearest1d_backward", "upsample_nearest2d_backward", "upsample_nearest3d_backward",
    "_upsample_nearest_exact1d_backward", "_upsample_nearest_exact2d_backward",
    "_upsample_nearest_exact3d_backward", "upsample_linear1d_backward",
    "upsample_bilinear2d_backward", "upsample_trilinear3d_backward",
    "upsample_bicubic2d_backward", "_upsample_bilinear2d_aa_backward",
    "_upsample_bicubic2d_aa_backward",
)  # fmt: skip
def upsample_backward_shape(grad_output, output_size, input_size, *rest):
    expected = (*input_size[:2], *output_size)
    check(
        grad_output.shape == expected,
        f"upsample_backward(): expected grad_output of shape {expected}, got {grad_output.shape}",
    )
    return MetaArray(tuple(input_size), grad_output.dtype)
