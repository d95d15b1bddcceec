"""Derivatives of padding and resampling: linear maps and their transposes."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F

derivative(
    "constant_pad_nd",
    self=lambda grad, pad: F.constant_pad_nd(grad, [-p for p in pad]),
    result=lambda self_t, pad: F.constant_pad_nd(self_t, pad),
)
derivative(
    "reflection_pad1d",
    self=lambda grad, self, padding: F.reflection_pad1d_backward(grad, self, padding),
    result="linear",
)
derivative(
    "reflection_pad1d_backward",
    grad_output=lambda grad, padding: F.reflection_pad1d(grad, padding),
    result="linear",
)
derivative(
    "reflection_pad2d",
    self=lambda grad, self, padding: F.reflection_pad2d_backward(grad, self, padding),
    result="linear",
)
derivative(
    "reflection_pad2d_backward",
    grad_output=lambda grad, padding: F.reflection_pad2d(grad, padding),
    result="linear",
)
derivative(
    "reflection_pad3d",
    self=lambda grad, self, padding: F.reflection_pad3d_backward(grad, self, padding),
    result="linear",
)
derivative(
    "reflection_pad3d_backward",
    grad_output=lambda grad, padding: F.reflection_pad3d(grad, padding),
    result="linear",
)
derivative(
    "replication_pad1d",
    self=lambda grad, self, padding: F.replication_pad1d_backward(grad, self, padding),
    result="linear",
)
derivative(
    "replication_pad1d_backward",
    grad_output=lambda grad, padding: F.replication_pad1d(grad, padding),
    result="linear",
)
derivative(
    "replication_pad2d",
    self=lambda grad, self, padding: F.replication_pad2d_backward(grad, self, padding),
    result="linear",
)
derivative(
    "replication_pad2d_backward",
    grad_output=lambda grad, padding: F.replication_pad2d(grad, padding),
    result="linear",
)
derivative(
    "replication_pad3d",
    self=lambda grad, self, padding: F.replication_pad3d_backward(grad, self, padding),
    result="linear",
)
derivative(
    "replication_pad3d_backward",
    grad_output=lambda grad, padding: F.replication_pad3d(grad, padding),
    result="linear",
)
derivative(
    "upsample_nearest1d",
    self=lambda grad, self, output_size, scales: F.upsample_nearest1d_backward(
        grad, output_size, list(self.shape), scales
    ),
    result="linear",
)
derivative(
    "upsample_nearest1d_backward",
    grad_output=lambda grad, output_size, scales: F.upsample_nearest1d(grad, output_size, scales),
    result="linear",
)
derivative(
    "_upsample_nearest_exact1d",
    self=lambda grad, self, output_size, scales: F._upsample_nearest_exact1d_backward(
        grad, output_size, list(self.shape), scales
    ),
    result="linear",
)
derivative(
    "_upsample_nearest_exact1d_backward",
    grad_output=lambda grad, output_size, scales: F._upsample_nearest_exact1d(
        grad, output_size, scales
    ),
    result="linear",
)
derivative(
    "upsample_nearest2d",
    self=lambda grad, self, output_size, scales_h, scales_w: F.upsample_nearest2d_backward(
        grad, output_size, list(self.shape), scales_h, scales_w
    ),
    result="linear",
)
derivative(
    "upsample_nearest2d_backward",
    grad_output=lambda grad, output_size, scales_h, scales_w: F.upsample_nearest2d(
        grad, output_size, scales_h, scales_w
    ),
    result="linear",
)
derivative(
    "_upsample_nearest_exact2d",
    self=lambda grad, self, output_size, scales_h, scales_w: F._upsample_nearest_exact2d_backward(
        grad, output_size, list(self.shape), scales_h, scales_w
    ),
    result="linear",
)
derivative(
    "_upsample_nearest_exact2d_backward",
    grad_output=lambda grad, output_size, scales_h, scales_w: F._upsample_nearest_exact2d(
        grad, output_size, scales_h, scales_w
    ),
    result="linear",
)
derivative(
    "upsample_nearest3d",
    self=lambda grad, self, output_size, scales_d, scales_h, scales_w: (
        F.upsample_nearest3d_backward(
            grad, output_size, list(self.shape), scales_d, scales_h, scales_w
        )
    ),
    result="linear",
)
derivative(
    "upsample_nearest3d_backward",
    grad_output=lambda grad, output_size, scales_d, scales_h, scales_w: F.upsample_nearest3d(
        grad, output_size, scales_d, scales_h, scales_w
    ),
    result="linear",
)
derivative(
    "_upsample_nearest_exact3d",
    self=lambda grad, self, output_size, scales_d, scales_h, scales_w: (
        F._upsample_nearest_exact3d_backward(
            grad, output_size, list(self.shape), scales_d, scales_h, scales_w
        )
    ),
    result="linear",
)
derivative(
    "_upsample_nearest_exact3d_backward",
    grad_output=lambda grad, output_size, scales_d, scales_h, scales_w: F._upsample_nearest_exact3d(
        grad, output_size, scales_d, scales_h, scales_w
    ),
    result="linear",
)
derivative(
    "upsample_linear1d",
    self=lambda grad, self, output_size, align_corners, scales: F.upsample_linear1d_backward(
        grad, output_size, list(self.shape), align_corners, scales
    ),
    result="linear",
)
derivative(
    "upsample_linear1d_backward",
    grad_output=lambda grad, output_size, align_corners, scales: F.upsample_linear1d(
        grad, output_size, align_corners, scales
    ),
    result="linear",
)
derivative(
    "upsample_bilinear2d",
    self=lambda grad, self, output_size, align_corners, scales_h, scales_w: (
        F.upsample_bilinear2d_backward(
            grad, output_size, list(self.shape), align_corners, scales_h, scales_w
        )
    ),
    result="linear",
)
derivative(
    "upsample_bilinear2d_backward",
    grad_output=lambda grad, output_size, align_corners, scales_h, scales_w: F.upsample_bilinear2d(
        grad, output_size, align_corners, scales_h, scales_w
    ),
    result="linear",
)
derivative(
    "upsample_trilinear3d",
    self=lambda grad, self, output_size, align_corners, scales_d, scales_h, scales_w: (
        F.upsample_trilinear3d_backward(
            grad, output_size, list(self.shape), align_corners, scales_d, scales_h, scales_w
        )
    ),
    result="linear",
)
derivative(
    "upsample_trilinear3d_backward",
    grad_output=lambda grad, output_size, align_corners, scales_d, scales_h, scales_w: (
        F.upsample_trilinear3d(grad, output_size, align_corners, scales_d, scales_h, scales_w)
    ),
    result="linear",
)
derivative(
    "upsample_bicubic2d",
    self=lambda grad, self, output_size, align_corners, scales_h, scales_w: (
        F.upsample_bicubic2d_backward(
            grad, output_size, list(self.shape), align_corners, scales_h, scales_w
        )
    ),
    result="linear",
)
derivative(
    "upsample_bicubic2d_backward",
    grad_output=lambda grad, output_size, align_corners, scales_h, scales_w: F.upsample_bicubic2d(
        grad, output_size, align_corners, scales_h, scales_w
    ),
    result="linear",
)
derivative(
    "_upsample_bilinear2d_aa",
    self=lambda grad, self, output_size, align_corners, scales_h, scales_w: (
        F._upsample_bilinear2d_aa_backward(
            grad, output_size, list(self.shape), align_corners, scales_h, scales_w
        )
    ),
    result="linear",
)
derivative(
    "_upsample_bilinear2d_aa_backward",
    grad_output=lambda grad, output_size, align_corners, scales_h, scales_w: (
        F._upsample_bilinear2d_aa(grad, output_size, align_corners, scales_h, scales_w)
    ),
    result="linear",
)
derivative(
    "_upsample_bicubic2d_aa",
    self=lambda grad, self, output_size, align_corners, scales_h, scales_w: (
        F._upsample_bicubic2d_aa_backward(
            grad, output_size, list(self.shape), align_corners, scales_h, scales_w
        )
    ),
    result="linear",
)
derivative(
    "_upsample_bicubic2d_aa_backward",
    grad_output=lambda grad, output_size, align_corners, scales_h, scales_w: (
        F._upsample_bicubic2d_aa(grad, output_size, align_corners, scales_h, scales_w)
    ),
    result="linear",
)
