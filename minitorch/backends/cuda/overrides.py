"""The operators that have a kernel of their own here, instead of the one written for any array library."""

from __future__ import annotations

from collections.abc import Callable

OVERRIDES: dict[str, Callable] = {}
# The modules that register some.
MODULES: tuple[str, ...] = (
    "activation",
    "attention",
    "embedding",
    "loss",
    "normalization",
    "optimizers",
    "pooling",
    "scatter",
    "softmax",
    "sparse",
)


def override(*names: str) -> Callable[[Callable], Callable]:
    """Register a function of CuPy's arrays as the kernel of operators, named with their overloads.

    It raises `NoKernel`, before it writes, for operands that the kernel of any array library is to take.
    """

    def register(fn: Callable) -> Callable:
        for name in names:
            if name in OVERRIDES:
                raise RuntimeError(f"two overrides for {name}")
            OVERRIDES[name] = fn
        return fn

    return register
