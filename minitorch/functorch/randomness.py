"""Random operators under vmap (spec V7).

Note [Random operators under vmap]
    FuncTorchVmapMode, which is on for each call that a vmap interprets, has a kernel for the random operators
    alone.  With randomness "error" they are refused, whatever they are given.  With "same" every example gets the
    same draws: a call without batched tensors is made once, and its result is the same tensor for all.  With
    "different" each has its own: the draws are made for the whole batch at once.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.generator import DEFAULT_GENERATORS
from minitorch.dispatch.keys import full_after_bits, parse_key
from minitorch.dispatch.operator import OPERATORS, Entry, Kernel
from minitorch.functorch.rules import vmap_level
from minitorch.ops.registry import RANDOM

_AFTER = full_after_bits(parse_key("FuncTorchVmapMode"))

MODES = ("error", "different", "same")


def check(randomness: str) -> None:
    """Raise ValueError unless it is the name of a mode."""
    if randomness not in MODES:
        raise ValueError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


class GeneratorStates:
    """The states of the generators of all devices in use, to be restored any number of times."""

    def __init__(self) -> None:
        generators = [default() for default in DEFAULT_GENERATORS.values()]
        self._states = [(generator, generator.state_array()) for generator in generators]

    def restore(self) -> None:
        """Make the generators draw again what they drew after this was made."""
        for generator, state in self._states:
            generator.set_state_array(state)


class RefusingKernel(Kernel):
    """Refuses random operators where the vmap around them says so, and passes others on."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        level = vmap_level(op)
        if level.randomness == "error":
            raise RuntimeError(
                f"vmap: called random operation while in randomness error mode ({op.qualname}). Please either use the "
                "'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        return op.run_below(op.entry_below(entry, _AFTER), args, kwargs)


def register() -> None:
    """Register the kernel for every random operator."""
    kernel = RefusingKernel()
    for op in OPERATORS.values():
        if op.namespace == "aten" and op.declaration is not None and RANDOM[0] in op.tags:
            if "CompositeImplicitAutograd" not in op.kernels:
                op.register("FuncTorchVmapMode", kernel)
