"""`register_backend`: one call that makes a `Backend` a device."""

from __future__ import annotations

import threading
from typing import Any

from minitorch.backends import device_modules, lazy, transfer
from minitorch.backends.api import Backend
from minitorch.backends.fallback import CpuFallback
from minitorch.backends.kernels import register_kernels
from minitorch.core import device as devices
from minitorch.core.device import device as device_class
from minitorch.core.generator import GENERATOR_TYPES
from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.keys import BACKENDS, DispatchKey
from minitorch.dispatch.operator import (
    BACKEND_FALLBACKS,
    OPERATORS,
    FallthroughKernel,
    PythonKernel,
    renamed_backends,
)
from minitorch.tensor.base import TensorBase
from minitorch.tensor.memory import register_memory

_PRIVATE = {"PrivateUse1": "privateuseone", "PrivateUse2": "privateusetwo", "PrivateUse3": "privateusethree"}
# Slots that the package has no use for, in the order in which further backends get them.
_UNCLAIMED = ("MAIA", "MTIA", "VE", "HPU", "IPU", "MPS", "HIP")
_lock = threading.RLock()


def register_backend(name: str, backend: Backend, key: str | None = None) -> Backend:
    """Make a device: its name, memory, copies, random numbers, module, methods, and the CPU fallback.

    Afterwards ``minitorch.device(name)``, ``tensor.to(name)``, ``Tensor.<name>()``, ``Tensor.is_<name>``,
    ``Module.<name>()`` and the module ``minitorch.<name>`` are there.

    Parameters
    ----------
    name : str
        The device type, an identifier.
    backend : Backend
    key : str, optional
        The backend key; by default that of the device type if there is one, else the first free one of
        ``PrivateUse1``, ``PrivateUse2``, ``PrivateUse3``, and further slots that nobody uses.

    Returns
    -------
    Backend
        `backend`, for ``@backend.kernel(...)``.

    Raises
    ------
    RuntimeError
        If the name or the key is taken.
    """
    if not isinstance(backend, Backend):
        raise TypeError(f"register_backend: expected an instance of a sub-class of Backend, not {type(backend).__name__}")
    if not isinstance(name, str) or not name.isidentifier():
        raise RuntimeError(f"register_backend: a device type must be an identifier, not {name!r}")
    with _lock:
        if name in lazy.BACKENDS_BY_TYPE:
            raise RuntimeError(f"register_backend: there is a backend for the device {name!r} already")
        if backend.key:
            raise RuntimeError(f"register_backend: this backend is registered already, for the device {backend.name!r}")
        device_modules.check_name(name)
        key = _choose_key(name, key)
        backend.adopt_key(name, key)
        _name_device(name, key)
        register_memory(key, backend)
        transfer.register(backend)
        _register_decompositions(key)
        _register_fallbacks(backend)
        GENERATOR_TYPES[name] = lambda device: backend.new_generator(backend.index_of(device))
        lazy.BACKENDS_BY_TYPE[name] = backend
        device_modules.give_device_module(name)
        device_modules.generate_methods(name)
        if devices.known_accelerator_type() is None:
            devices.set_accelerator_type(name)
        for names, fn in backend.__dict__.pop("_waiting_kernels", []):
            register_kernels(backend, names, fn)
    return backend


def _in_use(key: str) -> bool:
    return any(backend.key == key for backend in lazy.BACKENDS_BY_TYPE.values()) or any(
        one.key == key for one in lazy.LAZY_BACKENDS.values()
    )


def _choose_key(name: str, key: str | None) -> str:
    """Return the key for a device type.

    Raises
    ------
    RuntimeError
        If it is no backend's, is taken, or none is left.
    """
    own = devices.dispatch_key_name(name) if name in devices.known_device_types() else None
    if key is None and own is not None:
        key = own
    if key is not None:
        if key not in BACKENDS or key in ("CPU", "Meta"):
            raise RuntimeError(
                f"register_backend: {key!r} is the key of no backend that can be written; take one of "
                f"{', '.join(b for b in BACKENDS if b not in ('CPU', 'Meta'))}, or none"
            )
        taken = next((b for b in lazy.BACKENDS_BY_TYPE.values() if b.key == key), None)
        if taken is not None:
            raise RuntimeError(f"register_backend: the key {key} belongs to the backend of {taken.name!r}")
        return key
    for candidate in (*_PRIVATE, *_UNCLAIMED):
        if candidate in renamed_backends and renamed_backends[candidate] != name:
            continue
        if not _in_use(candidate) and not any(candidate in op.kernels for op in OPERATORS.values()):
            return candidate
    raise RuntimeError("register_backend: all backend keys are taken")


def _name_device(name: str, key: str) -> None:
    if key == "PrivateUse1" and name != "privateuseone":
        device_modules.rename_privateuse1_backend(name)
        return
    if name in devices.known_device_types():
        if devices.dispatch_key_name(name) != key:
            devices.register_device_type(name, key)
    elif key in _PRIVATE and renamed_backends.get(key) is None:
        devices.rename_device_type(_PRIVATE[key], name)
        renamed_backends[key] = name
    else:
        devices.register_device_type(name, key)


def _register_decompositions(key: str) -> None:
    """Take apart what is one kernel on the CPU and a composite in PyTorch (``linear``), until the backend has a kernel."""
    from minitorch.modes.decompositions import DECOMPOSED

    for name, fn in DECOMPOSED.items():
        OPERATORS[f"aten::{name}"].register(key, PythonKernel(fn))


def _register_fallbacks(backend: Backend) -> None:
    """Register what runs where an operator has nothing better: the CPU, autograd's warning, no autocast."""
    key = backend.key
    dense = DispatchKey.by_name[key]
    if dense.slot not in BACKEND_FALLBACKS:
        register_fallback(key, CpuFallback(backend))
    if DispatchKey.by_name[f"Autograd{key}"].slot not in BACKEND_FALLBACKS:
        from minitorch.autograd.fallback import AutogradFallback

        register_fallback(f"Autograd{key}", AutogradFallback(None))
    autocast = DispatchKey.by_name.get(f"Autocast{key}")
    if autocast is not None and autocast.slot not in BACKEND_FALLBACKS:
        register_fallback(autocast, FallthroughKernel())


def backend_of(place: Any) -> Backend | None:
    """Return the backend of a tensor, a device or a device type; None where it is the CPU's or the meta device's."""
    kind = place.device.type if isinstance(place, TensorBase) else device_class(place).type
    if kind in ("cpu", "meta"):
        return None
    devices.use_device_type(kind)
    return lazy.BACKENDS_BY_TYPE.get(kind)
