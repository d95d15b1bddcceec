"""Registers the backend, once there is a device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module

from minitorch.backends import NoKernel, array_kernels, bind_array_kernels, register_backend
from minitorch.backends.cuda import library as loader
from minitorch.backends.cuda.overrides import MODULES, OVERRIDES
from minitorch.backends.cuda.refusals import told
from minitorch.backends.device_modules import DEVICE_MODULES


def register() -> object:
    """Register the backend under the key CUDA; return it.

    Raises
    ------
    DeviceUnavailable
        If CuPy, a driver or a device is missing; nothing is registered then.
    """
    loader.require()
    from minitorch.backends.cuda.backend import CudaBackend
    from minitorch.backends.cuda.exchange import register_exchange
    from minitorch.backends.cuda.transfers import register_copies

    backend = CudaBackend()
    register_backend("cuda", backend, "CUDA")
    backend.namespace.default_generator = backend.default_generator
    for module in MODULES:
        import_module(f"minitorch.backends.cuda.{module}")
    kernels = array_kernels()
    chosen = {name: fn for name, fn in kernels.items() if fn.__module__.endswith(".random")}
    for operator, fn in OVERRIDES.items():
        chosen[operator] = _first_of(fn, kernels.get(operator))
    bind_array_kernels(backend, chosen, wrap=told)
    register_copies(backend)
    register_exchange(backend)
    # The module of the device is a file of the package; from now on `manual_seed` asks it too.
    DEVICE_MODULES["cuda"] = import_module("minitorch.cuda")
    return backend


def _first_of(own: Callable, general: Callable | None) -> Callable:
    """Return a kernel that tries a kernel of this package, and then the one written for any array library."""

    @wraps(own)
    def kernel(xp, *args, **kwargs):
        try:
            return own(*args, **kwargs)
        except NoKernel:
            if general is None:
                raise
            return general(xp, *args, **kwargs)

    return kernel
