"""The public names of the top level that are imported when first named: `import minitorch` stays light."""

from __future__ import annotations

from importlib import import_module
from typing import Any

SUBMODULES = frozenset(
    (
        "_C", "_decomp", "_dispatch", "_functorch", "_ops", "_subclasses", "accelerator", "amp", "ao", "array_api", "as_torch",
        "backends", "compiler", "cpu", "cuda", "distributed", "distributions", "fft", "func", "fx", "interop", "jit",
        "library", "linalg", "masked", "nn", "optim", "overrides", "quantization", "serialization", "signal", "special",
        "testing", "tools", "types", "utils", "version",
    )
)

# Module -> names that it has.
_NAMES: dict[str, tuple[str, ...]] = {
    "amp": ("GradScaler", "autocast"),
    "autocast_mode": (
        "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "get_autocast_dtype",
        "is_autocast_available", "is_autocast_cache_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
        "set_autocast_dtype", "set_autocast_enabled",
    ),
    "autograd.anomaly": ("is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_anomaly_enabled"),
    "backends.device_modules": ("get_device_module",),
    "compiler": ("compile",),
    "core.numeric_settings": (
        "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
        "is_deterministic_algorithms_warn_only_enabled", "set_deterministic_debug_mode", "set_float32_matmul_precision",
        "set_flush_denormal", "use_deterministic_algorithms",
    ),
    "core.qscheme": (
        "per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine",
        "per_tensor_symmetric", "qscheme",
    ),
    "errors": ("AcceleratorError", "OutOfMemoryError"),
    "func": ("vmap",),
    "serialization": ("load", "save"),
    "tensor.legacy_types": (
        "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
        "LongTensor", "ShortTensor", "set_default_tensor_type", "typename",
    ),
    "tensor.storage": ("UntypedStorage", "is_storage"),
}  # fmt: skip

# Name -> (module, what it is called there).
_HOMES: dict[str, tuple[str, str]] = {
    "__array_namespace_info__": ("array_api", "__array_namespace_info__"),
    "_disable_functionalization": ("functionalize", "disable"),
    "_enable_functionalization": ("functionalize", "enable"),
    "_from_functional_tensor": ("functionalize", "value_without_sync"),
    "_is_functional_tensor": ("functionalize", "is_functional"),
    "_register_device_module": ("backends.device_modules", "register_device_module"),
    "_sync": ("functionalize", "sync"),
    "_to_functional_tensor": ("functionalize", "wrap"),
    **{name: (module, name) for module, names in _NAMES.items() for name in names},
}


def find(name: str) -> Any:
    """Return what a name of the top level stands for.

    Raises
    ------
    AttributeError
        If there is no such name.
    """
    if name in SUBMODULES:
        try:
            return import_module(f"minitorch.{name}")
        except ModuleNotFoundError as error:
            # A planned folder that is not there yet: hasattr() must answer, not raise.
            if error.name != f"minitorch.{name}":
                raise
    if name in _HOMES:
        module, attribute = _HOMES[name]
        return getattr(import_module(f"minitorch.{module}"), attribute)
    raise AttributeError(f"module 'minitorch' has no attribute {name!r}")
