"""Random numbers of devices that draw them on the CPU.

A backend without random kernels of its own draws on the CPU (`fallback`), from a generator of the device: its draws
leave the CPU's stream alone, and follow the device's seed.

Note [Draws on the CPU of a generator that cannot]
    A device's own generator may leave some distributions to the CPU.  Each such draw takes a stream of its own, seeded
    by the generator's state, and moves the generator by one place (``set_offset``): so the same seed, and the same state,
    give the same numbers.  Of a generator without ``set_offset`` the stream goes on until its state is another one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

from minitorch.backends.cpu.random import CPUGenerator, default_generator
from minitorch.core.device import device as device_class
from minitorch.core.generator import DEFAULT_GENERATORS, Generator


class HostGenerator(CPUGenerator):
    """A generator of any device that draws what the CPU's draws for the same seed."""

    __slots__ = ()

    def clone_state(self) -> Generator:
        """Return a new generator of the same device at the same position of the same stream."""
        new = type(self)(self.device)
        new.set_state_array(self.state_array())
        return new


class _Substitute(threading.local):
    generator: Any = None


_substitute = _Substitute()
_installed = False
_host_streams: WeakKeyDictionary[Generator, tuple[Any, bytes]] = WeakKeyDictionary()


def _default_of_thread() -> Any:
    return _substitute.generator or default_generator()


@contextmanager
def drawing_from(generator: Generator) -> Iterator[None]:
    """Scope: draws on the CPU that name no generator come from this one, in this thread."""
    global _installed
    if not _installed:
        _installed = True
        DEFAULT_GENERATORS["cpu"] = _default_of_thread  # from now on: the CPU alone never pays for it
    outer, _substitute.generator = _substitute.generator, host_stream(generator)
    try:
        yield
    finally:
        _substitute.generator = outer


def host_stream(generator: Generator) -> CPUGenerator:
    """Return what draws on the CPU for a device's generator: itself, or a stream of its state.

    Note [Draws on the CPU of a generator that cannot] says which.
    """
    if isinstance(generator, CPUGenerator):
        return generator
    own: Any = generator
    state = own.state_array().tobytes()
    found: Any
    found, before = _host_streams.get(generator, (None, b""))
    moves = hasattr(own, "set_offset")
    if found is None or moves or state != before:
        found = HostGenerator(device_class("cpu"))
        # A hash spreads states that differ in one place.
        found.manual_seed(int.from_bytes(blake2b(state, digest_size=8).digest(), "little"))
        _host_streams[generator] = found, state
    if moves:
        own.set_offset(own.get_offset() + 1)
    return found
