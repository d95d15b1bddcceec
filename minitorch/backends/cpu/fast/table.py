"""Which operators have kernels for large arrays, and in which module."""

from __future__ import annotations

import os
import platform
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from warnings import warn

import numpy as np

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
    "_softmax": ("softmax", 0),
    "_log_softmax": ("softmax", 0),
    "_softmax_backward_data": ("softmax", 0),
    "_log_softmax_backward_data": ("softmax", 0),
    "cumsum": ("rows", 0),
    "topk": ("rows", 0),
    "native_layer_norm": ("normalization", 0),
    "native_layer_norm_backward": ("normalization", 0),
    "native_batch_norm": ("normalization", 0),
    "native_batch_norm_backward": ("normalization", 0),
    "max_pool2d": ("pooling", 0),
    "max_pool2d_backward": ("pooling", 1),
    "max_pool2d_with_indices": ("pooling", 0),
    "max_pool2d_with_indices_backward": ("pooling", 0),
    "gather": ("indexing", 2),
    "scatter_add": ("indexing", 2),
    "scatter_add_": ("indexing", 2),
    "embedding_dense_backward": ("indexing", 0),
    "_scaled_dot_product_flash_attention_for_cpu": ("attention", 0),
    "_scaled_dot_product_flash_attention_for_cpu_backward": ("attention", 0),
}

_PACKAGE = "minitorch.backends.cpu.fast"
SWITCH = "MINITORCH_FAST"
DEFAULT_MINIMUM = 32768  # below, the call costs as much as the passes it saves


# The others need numba.
_COMPILED_MODULES = ("activation", "softmax", "normalization", "attention")
_FEATURES = ("AVX2", "FMA3")  # what the build assumes on x86 (setup.py)


def has_numba() -> bool:
    """Return whether numba is installed, and loads if it was imported already."""
    return _numba_loads and find_spec("numba") is not None


def has_compiled_loops() -> bool:
    """Return whether the build compiled the loops, for instructions that this processor has."""
    spec = find_spec("minitorch.backends.cpu.loops")
    if spec is None or spec.origin is None or spec.origin.endswith(".py"):
        return False
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return True
    features = np._core._multiarray_umath.__cpu_features__  # type: ignore[attr-defined]
    return all([features.get(name) for name in _FEATURES])


def available() -> list[str]:
    """Return the operators that have a kernel for large arrays in this installation; numba is not imported for it."""
    if os.environ.get(SWITCH, "1") == "0":
        return []
    if has_numba():
        return list(FAST_KERNELS)
    if has_compiled_loops():
        return [name for name, (module, _) in FAST_KERNELS.items() if module in _COMPILED_MODULES]
    return []


def minimum() -> int:
    """Return how many elements count as large."""
    return int(os.environ.get("MINITORCH_FAST_FROM", DEFAULT_MINIMUM))


_numba_loads = True


def find(name: str) -> Any:
    """Return the kernel of an operator, None where neither numba nor the build provides it."""
    global _numba_loads
    module = FAST_KERNELS[name][0]
    if has_numba():
        try:
            return import_module(f"{_PACKAGE}.{module}").KERNELS[name]
        except ImportError as error:  # numba refuses versions of NumPy that it does not know
            warn(f"numba does not load ({error}): large arrays stay with the other kernels", stacklevel=2)
            _numba_loads = False
    if module in _COMPILED_MODULES and has_compiled_loops():
        return import_module(f"{_PACKAGE}.{module}").KERNELS[name]
    return None
