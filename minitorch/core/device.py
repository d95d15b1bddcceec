"""`device`: where a tensor's elements are, and the registry of device types."""

from __future__ import annotations

import threading
from collections.abc import Callable

# Device type to the name of its backend key; "" where the type has none. The order is that
# of the error text.
_KEY_NAMES: dict[str, str] = {
    "cpu": "CPU",
    "cuda": "CUDA",
    "opencl": "XPU",
    "meta": "Meta",
    "privateuseone": "PrivateUse1",
    "privateusetwo": "PrivateUse2",
    "privateusethree": "PrivateUse3",
    "hip": "HIP",
    "mps": "MPS",
    "xla": "XLA",
    "lazy": "Lazy",
    "hpu": "HPU",
    "ipu": "IPU",
    "ve": "VE",
    "mtia": "MTIA",
    "maia": "MAIA",
    "vulkan": "Vulkan",
    "fpga": "FPGA",
    "mkldnn": "",
    "opengl": "",
    "ideep": "",
}
_ALIASES: dict[str, str] = {"xpu": "opencl"}

_INTERNED: dict[tuple, device] = {}


class device:
    """Where a tensor's elements are: a device type and, where it matters, a number.

    Equal devices are one object, so that ``a == b`` is ``a is b``.  Used as a context
    manager, a device is where factories create tensors that name no device.

    Parameters
    ----------
    type : str or device
        ``"cpu"``, ``"cuda"``, or with the number, ``"cuda:1"``.
    index : int, optional

    Attributes
    ----------
    type : str
    index : int or None

    Raises
    ------
    RuntimeError
        If the type is unknown or the text malformed.
    """

    __slots__ = ("index", "type")

    type: str
    index: int | None

    def __new__(cls, type: str | device, index: int | None = None) -> device:
        found = _INTERNED.get((type, index))
        if found is not None:
            return found
        return _make(type, index)

    def __repr__(self) -> str:
        if self.index is None:
            return f"device(type={self.type!r})"
        return f"device(type={self.type!r}, index={self.index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __setattr__(self, name: str, value) -> None:
        raise AttributeError(f"a device does not change: {name!r} cannot be set")

    def __reduce__(self):
        return device, ((self.type,) if self.index is None else (self.type, self.index))

    def __copy__(self) -> device:
        return self

    def __deepcopy__(self, memo) -> device:
        return self

    @property
    def key_name(self) -> str:
        """The name of the backend key of this device type."""
        return dispatch_key_name(self.type)

    def __enter__(self) -> device:
        _local.stack = (*_local.stack, _local.default)
        _local.default = self
        return self

    def __exit__(self, *exc_info) -> None:
        *rest, _local.default = _local.stack
        _local.stack = tuple(rest)


def _make(type, index) -> device:
    if isinstance(type, device):
        if index is not None:
            raise TypeError("device(): a device and an index were given; give the type as a string")
        return type
    if isinstance(type, int) and not isinstance(type, bool) and index is None:
        return device(_accelerator_type(), type)
    if not isinstance(type, str):
        raise TypeError(
            "device() received an invalid combination of arguments: the type must be a string "
            f"or a device, not {type.__class__.__name__}"
        )
    if index is not None:
        if not isinstance(index, int):
            raise TypeError(f"device(): the index must be an int, not {index.__class__.__name__}")
        if index < 0:
            raise RuntimeError(f"Device index must not be negative, but is {index}")
        if ":" in type:
            raise RuntimeError(
                "type (string) must not include an index because index was passed "
                f"explicitly: {type}"
            )
        kind, number = type, index
    else:
        kind, number = _parse(type)
    kind = _ALIASES.get(kind, kind)
    if kind not in _KEY_NAMES:
        raise RuntimeError(
            f"Expected one of {', '.join(known_device_types())} device type "
            f"at start of device string: {type}"
        )
    found = _INTERNED.get((kind, number))
    if found is None:
        found = object.__new__(device)
        object.__setattr__(found, "type", kind)
        object.__setattr__(found, "index", number)
        _INTERNED[kind, number] = found
    _INTERNED[type, index] = found
    return found


def _parse(text: str) -> tuple[str, int | None]:
    if not text:
        raise RuntimeError("Device string must not be empty")
    kind, colon, digits = text.partition(":")
    if not colon:
        return kind, None
    plain = digits.isascii() and digits.isdigit()
    if not kind or not plain or (digits[0] == "0" and len(digits) > 1):
        raise RuntimeError(f"Invalid device string: {text!r}")
    return kind, int(digits)


# ---------------------------------------------------------------- device types


def known_device_types() -> list[str]:
    """Return the names that a device string may start with."""
    return [*_KEY_NAMES, *_ALIASES]


def register_device_type(name: str, dispatch_key_name: str) -> None:
    """Add a device type, or give one that exists another backend key.

    Parameters
    ----------
    name : str
        An identifier, such as ``"npu"``.
    dispatch_key_name : str
        The backend key of its tensors, such as ``"PrivateUse1"``.
    """
    if not name.isidentifier():
        raise RuntimeError(f"a device type must be an identifier, not {name!r}")
    if name in _ALIASES:
        raise RuntimeError(f"{name} is another name of the device type {_ALIASES[name]}")
    _KEY_NAMES[name] = dispatch_key_name


def rename_device_type(old: str, new: str) -> None:
    """Let `new` name what `old` names; `old` stays as an alias, and devices print as `new`."""
    if old not in _KEY_NAMES:
        raise RuntimeError(f"there is no device type {old!r} to rename")
    if not new.isidentifier():
        raise RuntimeError(f"a device type must be an identifier, not {new!r}")
    if new in _KEY_NAMES or new in _ALIASES:
        raise RuntimeError(f"there is a device type {new!r} already")
    _KEY_NAMES[new] = _KEY_NAMES.pop(old)
    for alias, kind in list(_ALIASES.items()):
        if kind == old:
            _ALIASES[alias] = new
    _ALIASES[old] = new
    for made in list(_INTERNED.values()):
        if made.type == old:
            object.__setattr__(made, "type", new)
            _INTERNED[new, made.index] = made


def dispatch_key_name(type: str) -> str:
    """Return the name of the backend key of a device type.

    Raises
    ------
    RuntimeError
        If the type is unknown, or has no backend.
    """
    key = _KEY_NAMES.get(_ALIASES.get(type, type))
    if not key:
        raise RuntimeError(f"there is no backend for the device type {type!r}")
    return key


# Called with a device type before its first use, to import its backend; raises where there is none.
loader: Callable[[str], None] | None = None


def use_device_type(type: str) -> None:
    """Have the backend of a device type imported, if it is one that is imported on first use.

    Raises
    ------
    Exception
        If it cannot be used, or there is none; what it says is for the user.
    """
    if loader is not None:
        loader(type)


_accelerator: list[str] = []


def set_accelerator_type(type: str) -> None:
    """Say which device type a bare number (``device(0)``) means."""
    _accelerator[:] = [type]


def known_accelerator_type() -> str | None:
    """Return which device type a bare number means; None where there is no accelerator."""
    return _accelerator[0] if _accelerator else None


def _accelerator_type() -> str:
    if not _accelerator:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return _accelerator[0]


# ---------------------------------------------------------------- the default device


class _Local(threading.local):
    default: device | None = None
    stack: tuple = ()


_local = _Local()
cpu = device("cpu")


def default_device() -> device:
    """Return where factories create tensors that name no device, in this thread."""
    return _local.default or cpu


def get_default_device() -> device:
    """Return where factories create tensors that name no device, in this thread."""
    return default_device()


def set_default_device(d: str | device | None) -> None:
    """Set where factories create tensors that name no device, in this thread.

    Parameters
    ----------
    d : device, str or None
        None means the CPU.
    """
    _local.default = None if d is None else device(d)
