"""The operators that have a kernel of their own here, instead of the one written for any array library."""

from __future__ import annotations

from collections.abc import Callable

OVERRIDES: dict[str, Callable] = {}
# The modules that register some.
MODULES: tuple[str, ...] = (
    "activation", "convolution", "index_operators", "integers", "loss", "normalization", "optimizers", "pooling", "recurrent",
    "reduction_operators", "scans", "shape_operators", "softmax", "sort_operators", "sparse",
)  # fmt: skip


def override(*names: str):
    """Register a function of `CLArray` operands as the kernel of operators.

    Parameters
    ----------
    *names : str
        Operators with their overloads, such as ``"sum.dim_IntList"``.
    """

    def register(fn):
        for name in names:
            if name in OVERRIDES:
                raise RuntimeError(f"two overrides for {name}")
            OVERRIDES[name] = fn
        return fn

    return register
