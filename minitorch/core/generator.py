"""`Generator`: what every device's source of random numbers is, and the registry of them."""

from __future__ import annotations

from collections.abc import Callable

from minitorch.core.device import device as Device
from minitorch.core.device import use_device_type

GENERATOR_TYPES: dict[str, type[Generator] | Callable[[Device], Generator]] = {}
"""The generator class of each device type, or a function of a device that returns a new one; entered by its backend."""

DEFAULT_GENERATORS: dict[str, Callable[[], Generator]] = {}
"""What returns the generator of draws that name none, for each device type."""

LATEST_SEED: list[int] = []
"""The seed of the last `manual_seed`, for the generators of devices that are made after it."""

DEFAULT_SEED = 67280421310721
"""The seed of a generator that was not given one."""


class _OfDevice(type):
    """Makes ``Generator(device)`` what the device's backend makes."""

    def __call__(cls, *args, **kwargs):
        if cls is Generator:
            kind = Device(*args[:1] or (kwargs.get("device", "cpu"),))
            make = generator_type(kind)
            if not isinstance(make, type):
                return make(kind)
        return super().__call__(*args, **kwargs)


def generator_type(device: Device) -> type[Generator] | Callable[[Device], Generator]:
    """Return what makes the generators of a device.

    Raises
    ------
    RuntimeError
        If there are none.
    """
    found = GENERATOR_TYPES.get(device.type)
    if found is None:
        use_device_type(device.type)
        found = GENERATOR_TYPES.get(device.type)
    if found is None:
        raise RuntimeError(
            f"Device type {device.type.upper()} is not supported for torch.Generator() api: "
            f"there are generators for {', '.join(GENERATOR_TYPES)}"
        )
    return found


class Generator(metaclass=_OfDevice):
    """A stream of random numbers: an algorithm, a seed, and a position.

    ``Generator(device)`` returns an object of the class that the device's backend
    registered.  Sampling methods return new row-major arrays and move the position.

    Parameters
    ----------
    device : device or str

    Attributes
    ----------
    device : device
    """

    __slots__ = ("__weakref__", "device")

    def __new__(cls, device: Device | str = "cpu") -> Generator:
        if cls is not Generator:
            return object.__new__(cls)
        return object.__new__(generator_type(Device(device)))  # type: ignore[arg-type]

    def __init__(self, device: Device | str = "cpu"):
        self.device = Device(device)

    def manual_seed(self, seed: int) -> Generator:
        """Start the stream of `seed`; return this generator."""
        raise NotImplementedError

    def initial_seed(self) -> int:
        """Return the seed that the stream was started with."""
        raise NotImplementedError

    def seed(self) -> int:
        """Start a stream nobody can foresee; return its seed."""
        raise NotImplementedError

    def state_array(self):
        """Return the seed and position as an array of uint8."""
        raise NotImplementedError

    def set_state_array(self, state) -> None:
        """Continue from what `state_array` returned."""
        raise NotImplementedError

    def clone_state(self) -> Generator:
        """Return a new generator at the same position of the same stream."""
        new = Generator(self.device)
        new.set_state_array(self.state_array())
        return new

    __copy__ = clone_state

    def __deepcopy__(self, memo) -> Generator:
        return self.clone_state()

    def __reduce__(self):
        return _generator_at, (self.device, self.state_array())


def _generator_at(device: Device, state) -> Generator:
    new = Generator(device)
    new.set_state_array(state)
    return new


def check_seed(seed) -> int:
    """Return `seed` as an int in ``[0, 2**64)``; negative ones count from the end.

    Raises
    ------
    RuntimeError
        If `seed` is no int.
    ValueError
        If it is outside ``[-2**63, 2**64)``.
    """
    try:
        seed = seed.__index__()
    except AttributeError:
        raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}") from None
    if not -(1 << 63) <= seed < 1 << 64:
        raise ValueError(f"Overflow when unpacking long long: the seed {seed} needs over 64 bits")
    return seed % (1 << 64)
