"""Device modules and methods: ``minitorch.npu``, ``Tensor.npu()``, ``Module.npu()`` (spec E2 to E5)."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from minitorch.backends import lazy
from minitorch.core.device import device as device_class
from minitorch.core.device import known_accelerator_type, known_device_types, rename_device_type
from minitorch.dispatch.operator import renamed_backends
from minitorch.tensor.tensor import Tensor

# Device type -> the module of its functions.
DEVICE_MODULES: dict[str, Any] = {}
# Device types whose modules are files of this package.
_OWN_MODULES = ("cpu", "cuda")
# Device types whose methods were generated, with what they were generated for.
_METHODS: dict[str, set[str]] = {}
# What has methods besides tensors: "Module" and "PackedSequence", entered by `minitorch.nn` when it is imported.
_CLASSES: dict[str, type] = {}


class DeviceModule(ModuleType):
    """The functions of one device type, ``minitorch.<name>``; its backend is loaded when one of them is called."""

    def __init__(self, name: str):
        super().__init__(f"minitorch.{name}", f"The device {name}: how many there are, which is current, its random numbers.")
        self._device_type = name

    @property
    def backend(self) -> Any:
        """The backend, loaded now if it is not."""
        lazy.load(self._device_type)
        return lazy.BACKENDS_BY_TYPE[self._device_type]

    def is_available(self) -> bool:
        """Return whether there is a device that can be used."""
        backend = lazy.loaded(self._device_type)
        return backend is not None and bool(backend.is_available())

    def is_initialized(self) -> bool:
        """Return whether the backend was loaded."""
        return self._device_type in lazy.BACKENDS_BY_TYPE

    def init(self) -> None:
        """Load the backend."""
        lazy.load(self._device_type)

    def device_count(self) -> int:
        """Return how many devices there are; 0 where the backend cannot be used."""
        backend = lazy.loaded(self._device_type)
        return 0 if backend is None else backend.device_count()

    def current_device(self) -> int:
        """Return the number of the device that new tensors of this thread are on."""
        return self.backend.current_device()

    def set_device(self, device: Any) -> None:
        """Set the device that new tensors of this thread are on, by number, name or device."""
        backend = self.backend
        backend.set_device(backend.index_of(device))

    def device(self, device: Any) -> Any:
        """Scope: the current device is another one."""
        backend = self.backend
        return backend.on_device(backend.index_of(device))

    def synchronize(self, device: Any = None) -> None:
        """Wait until everything that was begun on a device is done."""
        backend = self.backend
        backend.synchronize(backend.index_of(device))

    def manual_seed(self, seed: int) -> None:
        """Seed the current device's random numbers."""
        self.backend.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        """Seed all devices' random numbers."""
        self.backend.manual_seed_all(seed)

    def seed(self) -> None:
        """Give the current device's random numbers a seed that nobody can foresee."""
        self.backend.default_generator().seed()

    def seed_all(self) -> None:
        """Give all devices' random numbers one seed that nobody can foresee."""
        backend = self.backend
        backend.manual_seed_all(backend.default_generator().seed())

    def initial_seed(self) -> int:
        """Return the seed of the current device's random numbers."""
        return self.backend.default_generator().initial_seed()

    def get_rng_state(self, device: Any = None) -> Any:
        """Return the state of a device's random numbers, a CPU tensor of uint8."""
        return self.backend.get_rng_state(device)

    def set_rng_state(self, new_state: Any, device: Any = None) -> None:
        """Continue from what `get_rng_state` returned."""
        self.backend.set_rng_state(new_state, device)

    def get_amp_supported_dtype(self) -> list:
        """Return the dtypes that autocast may compute in."""
        return list(self.backend.autocast_dtypes)

    def _is_in_bad_fork(self) -> bool:
        function = self.backend.device_functions.get("_is_in_bad_fork")
        return bool(function()) if function is not None else False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_device_type":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        # A backend without a device fails after it was registered: diagnose() says why, and must be there then.
        backend = lazy.loaded(self._device_type) or lazy.BACKENDS_BY_TYPE.get(self._device_type)
        if backend is not None and name in backend.device_functions:
            return backend.device_functions[name]
        why = f"the backend {type(backend).__name__} has it not among its device_functions" if backend else "it is not loaded"
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}: {why}")


def register_device_module(device_type: str, module: Any) -> None:
    """Make a module the public one of a device type: ``minitorch.<device_type>``, importable by that name.

    Raises
    ------
    RuntimeError
        If the type is unknown, or has a module already.
    """
    kind = device_class(device_type).type
    package = sys.modules["minitorch"]
    if kind in DEVICE_MODULES or kind in vars(package):
        raise RuntimeError(f"The runtime module of '{kind}' has already been registered with '{module}'")
    DEVICE_MODULES[kind] = module
    setattr(package, kind, module)
    sys.modules[f"minitorch.{kind}"] = module


def check_name(name: str) -> None:
    """Raise RuntimeError if ``minitorch.<name>`` or ``Tensor.<name>`` means something else than a device."""
    if name in DEVICE_MODULES or name in _OWN_MODULES or name in known_device_types():
        return
    for owner, shown in ((sys.modules["minitorch"], "minitorch"), (Tensor, "minitorch.Tensor")):
        if name in vars(owner) or hasattr(owner, name):
            raise RuntimeError(f"the name {name!r} cannot be a device's: {shown}.{name} means something else")


def get_device_module(device: Any = None) -> Any:
    """Return the module of a device: ``minitorch.cpu``, ``minitorch.npu``.

    Parameters
    ----------
    device : device or str, optional
        The accelerator, or else the CPU, when omitted.

    Raises
    ------
    RuntimeError
        If there is none; the message says how to register one.
    """
    kind = (known_accelerator_type() or "cpu") if device is None else device_class(device).type
    found = DEVICE_MODULES.get(kind)
    if found is None and kind in _OWN_MODULES:
        found = getattr(sys.modules["minitorch"], kind)
    if found is None:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'minitorch.{kind}'. Register one with "
            f"minitorch._register_device_module({kind!r}, module)"
        )
    return found


def give_device_module(name: str) -> None:
    """Make the functions of a device type that has no module yet."""
    if name not in DEVICE_MODULES and name not in _OWN_MODULES:
        register_device_module(name, DeviceModule(name))


def seed_devices(seed: int) -> None:
    """Seed the devices of all backends that are loaded, and of all device modules that can."""
    for kind, module in list(DEVICE_MODULES.items()):
        if isinstance(module, DeviceModule):
            if kind in lazy.BACKENDS_BY_TYPE:
                lazy.BACKENDS_BY_TYPE[kind].manual_seed_all(seed)
        elif hasattr(module, "manual_seed_all"):
            bad_fork = getattr(module, "_is_in_bad_fork", None)
            if bad_fork is None or not bad_fork():
                module.manual_seed_all(seed)


# ---------------------------------------------------------------- names


def rename_privateuse1_backend(backend_name: str) -> None:
    """Give the device ``privateuseone`` another name, once for the process.

    Raises
    ------
    RuntimeError
        If it has another name already.
    """
    before = renamed_backends.get("PrivateUse1")
    if before is not None:
        if before != backend_name:
            raise RuntimeError(
                f"torch.rename_privateuse1_backend() has already been set! Current backend: {before}; it cannot become "
                f"{backend_name}"
            )
        return
    rename_device_type("privateuseone", backend_name)
    renamed_backends["PrivateUse1"] = backend_name


def privateuse1_backend_name() -> str:
    """Return the name of the device whose key is PrivateUse1."""
    return renamed_backends.get("PrivateUse1", "privateuseone")


def generate_methods_for_privateuse1_backend(
    for_tensor: bool = True,
    for_module: bool = True,
    for_packed_sequence: bool = True,
    for_storage: bool = False,
    unsupported_dtype: list | None = None,
) -> None:
    """Add ``Tensor.<name>()``, ``Tensor.is_<name>``, ``Module.<name>()`` and their kind for the renamed device.

    Parameters
    ----------
    for_tensor, for_module, for_packed_sequence, for_storage : bool
        Which classes get methods.  Modules and packed sequences need those of tensors.
    unsupported_dtype : list of dtype, optional
        What the storages of the device cannot hold.

    Raises
    ------
    RuntimeError
        If they were generated already.
    """
    name = privateuse1_backend_name()
    wanted = [
        kind for kind, asked in (
            ("Tensor", for_tensor), ("Module", for_module), ("PackedSequence", for_packed_sequence), ("Storage", for_storage)
        ) if asked
    ]  # fmt: skip
    there = _METHODS.get(name, set())
    if "Tensor" not in wanted and "Tensor" not in there and {"Module", "PackedSequence"} & set(wanted):
        raise RuntimeError(
            f"Can not automatically generate {name}() or is_{name}() method for modules without the methods of tensors: "
            "pass for_tensor=True"
        )
    for kind in wanted:
        if kind in there:
            raise RuntimeError(
                f"The custom device module of {kind} has already been registered: {kind}.{name} exists, and methods are "
                "generated once"
            )
    generate_methods(name, wanted, unsupported_dtype)


def generate_methods(name: str, kinds: Any = ("Tensor", "Module", "PackedSequence"), unsupported_dtype: Any = None) -> None:
    """Add the methods of a device type to the classes named, where they are not there yet."""
    done = _METHODS.setdefault(name, set())
    for kind in kinds:
        if kind in done:
            continue
        done.add(kind)
        if kind == "Tensor":
            _give_methods(Tensor, name, _move_tensor)
        elif kind == "Storage":
            from minitorch.tensor.storage import UntypedStorage

            _give_methods(UntypedStorage, name, _move_storage, unsupported_dtype)
        elif kind in _CLASSES:
            _give_methods(_CLASSES[kind], name, _MOVERS[kind])


def take_class(cls: type) -> None:
    """Give a class of ``minitorch.nn`` the methods of the devices that there are, and of those to come."""
    _CLASSES[cls.__name__] = cls
    for name, kinds in _METHODS.items():
        if cls.__name__ in kinds:
            _give_methods(cls, name, _MOVERS[cls.__name__])


def _give_methods(cls: type, name: str, mover: Any, unsupported_dtype: Any = None) -> None:
    def move(self: Any, device: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:
        return mover(self, _target(name, device), non_blocking, **kwargs)

    move.__name__ = move.__qualname__ = name
    move.__doc__ = f"Move to the device {name}, number `device` (the current one by default)."
    if name not in cls.__dict__:
        setattr(cls, name, move)
    if cls.__name__ != "Module" and f"is_{name}" not in cls.__dict__:
        setattr(cls, f"is_{name}", property(lambda self: _device_of(self).type == name, doc=f"Whether it is on a {name}."))


def _device_of(value: Any) -> Any:
    return value.device if hasattr(value, "device") else value.data.device


def _target(name: str, device: Any) -> Any:
    if device is None:
        lazy.load(name)
        backend = lazy.BACKENDS_BY_TYPE.get(name)
        return device_class(name) if backend is None else device_class(name, backend.current_device())
    if isinstance(device, int) and not isinstance(device, bool):
        return device_class(name, device)
    found = device_class(device)
    if found.type != name:
        raise ValueError(f"Expected a device of type {name}, but got {found}")
    return found


def _move_tensor(tensor: Any, device: Any, non_blocking: bool, **kwargs: Any) -> Any:
    return tensor.to(device=device, non_blocking=non_blocking, **kwargs)


def _move_module(module: Any, device: Any, non_blocking: bool) -> Any:
    return module._apply(lambda t: t.to(device))


def _move_sequence(sequence: Any, device: Any, non_blocking: bool) -> Any:
    return sequence.to(device)


def _move_storage(storage: Any, device: Any, non_blocking: bool) -> Any:
    return storage.to(device)


_MOVERS = {"Module": _move_module, "PackedSequence": _move_sequence}
