"""Tools around models: data loading, activation checkpointing, dispatch modes, counting operations, naming devices."""

_OF_DEVICE_MODULES = ("generate_methods_for_privateuse1_backend", "rename_privateuse1_backend")


def __getattr__(name):
    # Imported when first named: `import minitorch` stays light.
    if name in ("_python_dispatch", "checkpoint", "data", "dlpack", "flop_counter", "hooks"):
        from importlib import import_module

        return import_module(f"minitorch.utils.{name}")
    if name in _OF_DEVICE_MODULES:
        from minitorch.backends import device_modules

        return getattr(device_modules, name)
    raise AttributeError(f"module 'minitorch.utils' has no attribute {name!r}")
