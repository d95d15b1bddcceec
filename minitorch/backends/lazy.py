"""Which backends there are, and those that are imported when their device is first used.

Small, because it is imported with the package: what it names is not.
"""

from __future__ import annotations

import os
import sys
import threading
from importlib import import_module
from typing import Any

from minitorch.core import device as devices
from minitorch.core.device import dispatch_key_name
from minitorch.dispatch.operator import OPERATORS

ENTRY_POINTS = "minitorch.backends"
AUTOLOAD = "MINITORCH_DEVICE_BACKEND_AUTOLOAD"

# Device type -> backend, for those that `register_backend` was called for.
BACKENDS_BY_TYPE: dict[str, Any] = {}
# Device types that need no loading.
_BUILT_IN = frozenset(("cpu", "meta"))


class DeviceUnavailable(NotImplementedError, AssertionError):
    """A device was asked for that this installation, or this machine, does not have.

    PyTorch raises AssertionError for ``"cuda"`` and NotImplementedError for others.
    """


class LazyBackend:
    """A backend that is imported when its device is first used.

    Attributes
    ----------
    name, key : str
    target : str
        ``"module:function"``; the function registers the backend.
    install : str
        What to type where a library is missing.
    """

    def __init__(self, name: str, key: str, target: str, install: str = ""):
        self.name = name
        self.key = key
        self.target = target
        self.install = install


LAZY_BACKENDS: dict[str, LazyBackend] = {}
_lock = threading.RLock()
_loading: set[str] = set()


def register_lazy_backend(name: str, key: str, target: str, *, install: str = "") -> None:
    """Make a device type known whose backend is imported when it is first used.

    Afterwards ``device(name)``, ``Tensor.<name>()`` and the module ``minitorch.<name>`` are there.

    Parameters
    ----------
    name : str
        The device type.
    key : str
        Its backend key.
    target : str
        ``"module:function"``: the function is called without arguments, and calls `register_backend`.
    install : str, optional
        What to type where a library is missing; shown in the error.
    """
    if ":" not in target:
        raise ValueError(f"register_lazy_backend: the target is 'module:function', not {target!r}")
    from minitorch.backends.device_modules import (
        check_name,
        generate_methods,
        give_device_module,
        rename_privateuse1_backend,
    )

    check_name(name)
    if key == "PrivateUse1" and name != "privateuseone":
        rename_privateuse1_backend(name)
    elif name not in devices.known_device_types():
        devices.register_device_type(name, key)
    LAZY_BACKENDS[name] = LazyBackend(name, key, target, install)
    give_device_module(name)
    generate_methods(name)


def registered_backends() -> dict[str, Any]:
    """Return the backends that `register_backend` was called for, by device type."""
    return dict(BACKENDS_BY_TYPE)


def load(type: str) -> None:
    """Have the backend of a device type registered.

    Raises
    ------
    DeviceUnavailable
        If there is none, or it cannot be imported.
    """
    if type in _BUILT_IN or (type in BACKENDS_BY_TYPE and type not in _loading):
        return  # one that is being loaded by another thread may lack kernels yet
    lazy = LAZY_BACKENDS.get(type)
    if lazy is not None:
        with _lock:
            if type not in BACKENDS_BY_TYPE and type not in _loading:
                _loading.add(type)
                try:
                    _import(lazy)
                except DeviceUnavailable:
                    if not _has_kernels(lazy.key):
                        raise
                finally:
                    _loading.discard(type)
        return
    key = dispatch_key_name(type)
    if _has_kernels(key):
        return
    raise DeviceUnavailable(
        f"there is no backend for the device {type!r} in this installation: no operator has a kernel for its key, {key}. "
        f"{_advice(type)}"
    )


def _has_kernels(key: str) -> bool:
    """Return whether somebody registers kernels for a key one by one."""
    return any(key in op.kernels for op in OPERATORS.values())


def _advice(type: str) -> str:
    there = sorted({"cpu", *LAZY_BACKENDS, *BACKENDS_BY_TYPE})
    note = "minitorch.cuda.is_available() says so beforehand. " if type == "cuda" else ""
    return f"{note}Devices that this installation knows: {', '.join(there)}."


def _import(lazy: LazyBackend) -> None:
    module, _, function = lazy.target.partition(":")
    try:
        getattr(import_module(module), function)()
    except ModuleNotFoundError as error:
        missing = error.name or str(error)
        what = "is not part of this installation" if missing == module else f"needs {missing}, which is not installed"
        install = f" {lazy.install}" if lazy.install else ""
        raise DeviceUnavailable(f"the backend of the device {lazy.name!r} {what}.{install}") from None
    if lazy.name not in BACKENDS_BY_TYPE:
        raise RuntimeError(f"{lazy.target} did not register a backend for the device {lazy.name!r}")


def loaded(type: str) -> Any:
    """Return the backend of a device type, loaded now if it is not; None where it cannot be."""
    try:
        load(type)
    except Exception:
        return None
    return BACKENDS_BY_TYPE.get(type)


# ---------------------------------------------------------------- plug-ins


def _is_declared() -> bool:
    """Return whether some installed distribution has entry points of our group; the metadata module is slow to import."""
    wanted = f"[{ENTRY_POINTS}]".encode()
    for folder in sys.path:
        try:
            entries = list(os.scandir(folder or "."))
        except OSError:
            continue
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")):
                try:
                    with open(os.path.join(entry.path, "entry_points.txt"), "rb") as file:
                        if wanted in file.read():
                            return True
                except OSError:
                    continue
    return False


def autoload() -> list[str]:
    """Call what installed distributions declare as entry points ``minitorch.backends``; return their names.

    Runs at import, unless the environment variable ``MINITORCH_DEVICE_BACKEND_AUTOLOAD`` is something else than 1.  A
    plug-in that fails is named in a RuntimeWarning, and the import goes on.
    """
    if os.environ.get(AUTOLOAD, "1") != "1" or not _is_declared():
        return []
    from importlib.metadata import entry_points

    called = []
    for point in entry_points(group=ENTRY_POINTS):
        try:
            point.load()()
            called.append(point.name)
        except Exception as error:
            import warnings

            warnings.warn(
                f"the backend plug-in {point.name!r} ({point.value}) failed to load: {type(error).__name__}: {error}. "
                f"Set {AUTOLOAD}=0 to load none.",
                RuntimeWarning,
                stacklevel=2,
            )
    return called


def register() -> None:
    """Have devices load their backends at their first use, and make the package's own lazy ones known."""
    devices.loader = load
    register_lazy_backend(
        "opencl", "XPU", "minitorch.backends.opencl:register",
        install="Type: pip install 'minitorch[opencl-cpu]' (Intel's CPU driver), 'minitorch[opencl-pocl]' (PoCL), or "
        "'minitorch[opencl]' where a vendor's driver is installed.",
    )  # fmt: skip
    register_lazy_backend(
        "cuda", "CUDA", "minitorch.backends.cuda:register",
        install="Type: pip install 'minitorch[cuda12]' or 'minitorch[cuda13]', as the driver's CUDA version is.",
    )  # fmt: skip
    # PyTorch's name of the key's device: programs written for it find the OpenCL device.
    package = sys.modules["minitorch"]
    sys.modules["minitorch.xpu"] = package.xpu = package.opencl  # type: ignore[attr-defined]
