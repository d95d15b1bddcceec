"""Registers the backend: under the device type ``opencl`` in this package, under any other name for the tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module

from minitorch.backends import NoKernel, array_kernels, bind_array_kernels, register_backend
from minitorch.backends.opencl import device_module
from minitorch.backends.opencl.backend import OpenCLBackend
from minitorch.backends.opencl.namespace import xp
from minitorch.backends.opencl.overrides import MODULES, OVERRIDES
from minitorch.backends.opencl.replay import traced


def register(name: str = "opencl", key: str | None = "XPU") -> OpenCLBackend:
    """Register the backend under a device type and a backend key; return it."""
    backend = OpenCLBackend()
    register_backend(name, backend, key)
    xp.default_generator = backend.default_generator
    device_module.attach(name)
    for module in MODULES:
        import_module(f"minitorch.backends.opencl.{module}")
    kernels = array_kernels()
    chosen = {n: fn for n, fn in kernels.items() if fn.__module__.endswith(".random")}
    for operator, fn in OVERRIDES.items():
        chosen[operator] = _first_of(fn, kernels.get(operator))
    bind_array_kernels(backend, chosen, wrap=traced)
    return backend


def _first_of(own: Callable, general: Callable | None) -> Callable:
    """Return a kernel that tries a kernel of this package, and then the one written for any array library."""
    if general is None:

        @wraps(own)
        def only_kernel(xp, *args, **kwargs):
            return own(*args, **kwargs)

        return only_kernel

    @wraps(own)
    def kernel(xp, *args, **kwargs):
        try:
            return own(*args, **kwargs)
        except NoKernel:
            return general(xp, *args, **kwargs)

    return kernel
