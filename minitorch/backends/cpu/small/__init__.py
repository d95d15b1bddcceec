"""Compiled loops for small float32 operands on the CPU, and for rows through exp of any length.

Note [Loops for small operands]
    A NumPy call costs 300 to 1700 ns before it touches an element, several times what its
    work on a few elements takes.  Where the core is compiled, these loops stand before the
    array kernels of the operators that model code calls most: a loop gets the operator's
    arguments, and returns the result, or None for whatever it was not made for (other
    dtypes, strides or broadcasting, more elements than it is faster for, wrong arguments).
    Then the array kernel runs as if there were no loop.  Measured in
    `docs/decisions/0005-loops-for-small-operands.md`.

    ``MINITORCH_SMALL_LOOPS=0`` in the environment leaves them out.  The modules here take
    elements by pointer (`arrays.pxd`), so they are not imported where the core runs
    interpreted.
"""

from __future__ import annotations

import os

from minitorch.backends.array.binding import COMPILED, ArrayKernel
from minitorch.dispatch.operator import OPERATORS


def register() -> None:
    """Put the loops before the CPU kernels that are registered already."""
    if not COMPILED or os.environ.get("MINITORCH_SMALL_LOOPS", "1") in ("", "0"):
        return
    from minitorch.backends.cpu.small import moves, pointwise, rows

    for module in (pointwise, rows, moves):
        for name, loop in module.LOOPS.items():
            kernel = OPERATORS["aten::" + name].active("CPU")
            if not isinstance(kernel, ArrayKernel):
                raise TypeError(f"{name} has no array kernel that a loop could stand before")
            kernel.loop = loop
