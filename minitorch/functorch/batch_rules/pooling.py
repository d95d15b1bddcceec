"""Batch rules of pooling: the examples join the batch of images."""

from __future__ import annotations

from minitorch.functorch.leading import folded_batch
from minitorch.functorch.rules import structure

structure(
    folded_batch,
    "max_pool2d", "max_pool2d_backward", "max_pool2d_with_indices", "max_pool2d_with_indices_backward", "avg_pool2d",
    "avg_pool2d_backward", "_adaptive_avg_pool2d", "_adaptive_avg_pool2d_backward", "adaptive_max_pool2d",
    "adaptive_max_pool2d_backward", "max_unpool2d", element=3,
)  # fmt: skip
structure(
    folded_batch,
    "max_pool3d_with_indices", "max_pool3d_with_indices_backward", "avg_pool3d", "avg_pool3d_backward",
    "_adaptive_avg_pool3d", "_adaptive_avg_pool3d_backward", "adaptive_max_pool3d", "adaptive_max_pool3d_backward",
    "max_unpool3d", element=4,
)  # fmt: skip
