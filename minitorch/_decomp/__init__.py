"""Decompositions: operators written with simpler ones, for traces (``make_fx``, ``aot_function``) and compilers.

PyTorch's path and names.  `get_decompositions` gives a table for chosen operators, `core_aten_decompositions` the one that
leaves a small set of operators; `register_decomposition` adds to it.
"""

from minitorch._decomp.registry import (
    core_aten_decompositions,
    decomposition_table,
    get_decompositions,
    register_decomposition,
    remove_decompositions,
)

__all__ = [
    "core_aten_decompositions", "decomposition_table", "get_decompositions", "register_decomposition",
    "remove_decompositions",
]  # fmt: skip
