"""The table of sparse kernels, and their registration for every backend.

Note [Sparse kernels]
    A kernel is a function of tensors at the key Sparse (coordinates) or SparseCsr (the compressed layouts) of a
    backend.  It is called where the highest key among the arguments is that one, so some may be dense, or (at Sparse)
    compressed.  It takes components (`handles`), and computes with the operators `F`; autograd is switched off.
    For what it cannot do it raises `Unsupported`, before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.operator import OPERATORS, Kernel
from minitorch.sparse.refusal import Refusal, Unsupported, densified

# What a kernel is for: functionalities by the name that `sparse_kernel` takes.
COO, CSR = "Sparse", "SparseCsr"
BACKENDS = ("CPU", "CUDA", "XPU", "Meta", "PrivateUse1", "PrivateUse2", "PrivateUse3")
FAMILIES = (
    "access",
    "arithmetic",
    "comparison",
    "conversion",
    "copies",
    "factories",
    "joining",
    "masks",
    "products",
    "reductions",
    "resizing",
    "selection",
    "shapes",
    "softmax",
    "unary",
)

_KERNELS: dict[tuple[str, str], Callable] = {}


def sparse_kernel(*names: str, layouts: tuple[str, ...] = (COO, CSR)) -> Callable:
    """Return a decorator that makes a function the kernel of operators, for all backends.

    Parameters
    ----------
    names : str
        ``"mm"``, ``"sum.dim_IntList"``.
    layouts : tuple of str
        `COO`, `CSR` or both: for which layouts.
    """

    def register_function(fn: Callable) -> Callable:
        for name in names:
            for functionality in layouts:
                if (name, functionality) in _KERNELS:
                    raise ValueError(f"{name} has two {functionality} kernels")
                _KERNELS[name, functionality] = fn
        return fn

    return register_function


class SparseKernel(Kernel):
    """Runs a function of tensors; what it does not support is refused, or computed densely if the policy says so."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        try:
            return self.fn(*args, **(kwargs or {}))
        except Unsupported as error:
            reason = str(error)
        return densified(op, entry, args, kwargs, reason)


def register() -> None:
    """Register kernels and fallbacks of the sparse layouts."""
    for family in FAMILIES:
        import_module(f"minitorch.sparse.kernels.{family}")
    for (name, functionality), fn in _KERNELS.items():
        op = OPERATORS.get(f"aten::{name}")
        if op is None:
            raise LookupError(f"{fn.__module__}: {name} has a sparse kernel and no declaration")
        for backend in BACKENDS:
            op.register(functionality + backend, SparseKernel(fn))
    for functionality in (COO, CSR):
        for backend in BACKENDS:
            register_fallback(functionality + backend, Refusal())
