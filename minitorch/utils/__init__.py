"""Tools around models: data loading, activation checkpointing, dispatch modes, counting operations."""


def __getattr__(name):
    # Imported when first named: `import minitorch` stays light.
    if name in ("_python_dispatch", "checkpoint", "data", "flop_counter"):
        from importlib import import_module

        return import_module(f"minitorch.utils.{name}")
    raise AttributeError(f"module 'minitorch.utils' has no attribute {name!r}")
