"""Backends: what runs operators on a device.

The CPU's and the meta device's are in the package; anybody may write others (`Backend`, `register_backend`), and
what they have no kernels for runs on the CPU (`fallback_policy`, `fallback_report`); `densify_policy` and `requantize_policy`
are the same for what sparse and quantized tensors lack.
"""

# Where each public name is: all but the CPU's parts are imported when first named.
_HOMES = {
    "Backend": "api",
    "HostGenerator": "generators",
    "NoKernel": "minitorch.dispatch.policy",
    "FallbackWarning": "minitorch.dispatch.policy",
    "FallbackReport": "minitorch.dispatch.policy",
    "FallbackRow": "minitorch.dispatch.policy",
    "fallback_policy": "minitorch.dispatch.policy",
    "densify_policy": "minitorch.dispatch.policy",
    "requantize_policy": "minitorch.dispatch.policy",
    "fallback_report": "minitorch.dispatch.policy",
    "clear_fallbacks": "minitorch.dispatch.policy",
    "array_kernels": "kernels",
    "bind_array_kernels": "kernels",
    "backend_of": "registration",
    "register_backend": "registration",
    "register_lazy_backend": "lazy",
    "registered_backends": "lazy",
    "autoload": "lazy",
}

# PyTorch's names of libraries, about which programs ask and set things.
_LIBRARIES = frozenset(("cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"))

__all__ = sorted(_HOMES)


def __getattr__(name):
    from importlib import import_module

    if name in _LIBRARIES:
        return import_module(f"minitorch.backends.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'minitorch.backends' has no attribute {name!r}")
    module = home if home.startswith("minitorch.") else f"minitorch.backends.{home}"
    return getattr(import_module(module), name)


def __dir__():
    return sorted(set(globals()) | set(_HOMES))
