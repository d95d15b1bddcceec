"""Tools around models: data loading, activation checkpointing, dispatch modes, counting operations, naming devices."""

_MODULES = (
    "_debug_mode", "_device", "_python_dispatch", "_pytree", "benchmark", "checkpoint", "collect_env", "data", "debug", "dlpack",
    "flop_counter", "hooks", "memory_tracker", "model_zoo", "module_tracker", "tensorboard",
)  # fmt: skip
_OF_DEVICE_MODULES = ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend")


def _set_module(obj, mod):
    """Say that an object is of a module, in its ``__module__``."""
    if not isinstance(mod, str):
        raise TypeError(f"set_module(): the name of a module is a str, not {type(mod).__name__}")
    obj.__module__ = mod


def __getattr__(name):
    # Imported when first named: `import minitorch` stays light.
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"minitorch.utils.{name}")
    if name == "set_module":
        return _set_module
    if name == "swap_tensors":
        from minitorch.tensor.swap import swap_tensors

        return swap_tensors
    if name in _OF_DEVICE_MODULES:
        from minitorch.backends import device_modules

        return getattr(device_modules, name)
    raise AttributeError(f"module 'minitorch.utils' has no attribute {name!r}")
