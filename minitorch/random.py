"""Seeding and saving random state: PyTorch's ``torch.random``.

The CPU's generator gives PyTorch's CPU numbers for the same seed (`docs/random.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.backends import device_modules, lazy
from minitorch.backends.cpu.random import default_generator as _default_cpu_generator
from minitorch.core.generator import DEFAULT_GENERATORS, LATEST_SEED, Generator
from minitorch.tensor.creation import wrap

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

default_generator = _default_cpu_generator()
"""The CPU's generator of draws that name none."""


def _get_state(self: Generator) -> Any:
    """Return seed and position as a tensor of uint8, for `set_state`."""
    return wrap(self.state_array())


def _set_state(self: Generator, new_state: Any) -> None:
    """Continue from a state that `get_state` returned (or PyTorch's CPU generator saved)."""
    if not hasattr(new_state, "handle"):
        raise TypeError(f"expected a ByteTensor, but got {type(new_state).__name__}")
    self.set_state_array(new_state.cpu().handle)


Generator.get_state = _get_state  # type: ignore[attr-defined]
Generator.set_state = _set_state  # type: ignore[attr-defined]


def manual_seed(seed: int) -> Generator:
    """Start the stream of `seed` on every device; return the CPU's generator.

    Parameters
    ----------
    seed : int
        In ``[-2**63, 2**64)``; negative ones count from the end of that range.
    """
    seed = int(seed)
    for default in DEFAULT_GENERATORS.values():
        default().manual_seed(seed)
    _seed_devices(seed)
    return _default_cpu_generator()


def _seed_devices(seed: int) -> None:
    """Seed the devices there are, and those whose generators are still to be made."""
    LATEST_SEED[:] = [seed]
    device_modules.seed_devices(seed)


def seed() -> int:
    """Start streams nobody can foresee on every device; return the seed, 64 bits."""
    value = _default_cpu_generator().seed()
    for default in DEFAULT_GENERATORS.values():
        default().manual_seed(value)
    _seed_devices(value)
    return value


def initial_seed() -> int:
    """Return the seed of the CPU's generator."""
    return _default_cpu_generator().initial_seed()


def get_rng_state() -> Any:
    """Return the state of the CPU's generator, a tensor of uint8."""
    return _default_cpu_generator().get_state()  # type: ignore[attr-defined]


def set_rng_state(new_state: Any) -> None:
    """Continue the CPU's stream from a state that `get_rng_state` returned."""
    _default_cpu_generator().set_state(new_state)  # type: ignore[attr-defined]


@contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None,
    enabled: bool = True,
    _caller: str = "fork_rng",
    _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> Iterator[None]:
    """Scope: random state is put back on exit.

    Parameters
    ----------
    devices : iterable of int or device, optional
        Accepted; the generators of all device types that are in use are kept.
    enabled : bool
        False makes the scope do nothing.
    """
    if not enabled:
        yield
        return
    kept = kept_states()
    try:
        yield
    finally:
        for generator, state in kept:
            generator.set_state_array(state)


def kept_states() -> list[tuple[Generator, Any]]:
    """Return the default generators of all devices that are in use, each with its state."""
    generators = [default() for default in DEFAULT_GENERATORS.values()]
    for backend in lazy.BACKENDS_BY_TYPE.values():
        generators += [backend.default_generator(index) for index in range(backend.device_count())]
    return [(generator, generator.state_array()) for generator in generators]
