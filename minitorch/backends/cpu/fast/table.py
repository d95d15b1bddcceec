"""Which operators have kernels for large arrays, and in which module."""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from warnings import warn

# operator -> (module, the argument whose size decides)
FAST_KERNELS: dict[str, tuple[str, int]] = {
    "exp": ("activation", 0),
    "log": ("activation", 0),
    "relu": ("activation", 0),
    "sigmoid": ("activation", 0),
    "silu": ("activation", 0),
    "gelu": ("activation", 0),
    "sigmoid_backward": ("activation", 0),
    "silu_backward": ("activation", 0),
    "gelu_backward": ("activation", 0),
    "tanh_backward": ("activation", 0),
    "threshold_backward": ("activation", 0),
    "_softmax": ("rows", 0),
    "_log_softmax": ("rows", 0),
    "_softmax_backward_data": ("rows", 0),
    "_log_softmax_backward_data": ("rows", 0),
    "cumsum": ("rows", 0),
    "topk": ("rows", 0),
    "native_layer_norm": ("normalization", 0),
    "native_layer_norm_backward": ("normalization", 0),
    "native_batch_norm": ("normalization", 0),
    "native_batch_norm_backward": ("normalization", 0),
    "max_pool2d": ("pooling", 0),
    "max_pool2d_with_indices": ("pooling", 0),
    "max_pool2d_with_indices_backward": ("pooling", 0),
    "gather": ("indexing", 2),
    "scatter_add": ("indexing", 2),
    "scatter_add_": ("indexing", 2),
    "embedding_dense_backward": ("indexing", 0),
    "_scaled_dot_product_flash_attention_for_cpu": ("attention", 0),
    "_scaled_dot_product_flash_attention_for_cpu_backward": ("attention", 0),
}

SWITCH = "MINITORCH_FAST"
DEFAULT_MINIMUM = 32768  # below, numba's call costs more than the passes it saves


def is_wanted() -> bool:
    """Return whether numba is installed and not switched off, without importing it."""
    return os.environ.get(SWITCH, "1") != "0" and find_spec("numba") is not None


def minimum() -> int:
    """Return how many elements count as large."""
    return int(os.environ.get("MINITORCH_FAST_FROM", DEFAULT_MINIMUM))


def find(name: str) -> Any:
    """Return the kernel of an operator, None where numba does not load."""
    module = FAST_KERNELS[name][0]
    try:
        return import_module(f"minitorch.backends.cpu.fast.{module}").KERNELS[name]
    except ImportError as error:  # numba refuses versions of NumPy that it does not know
        warn(f"numba does not load ({error}): large arrays stay with the NumPy kernels", stacklevel=2)
        return None
