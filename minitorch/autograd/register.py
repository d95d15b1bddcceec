"""Registers the kernels of the Autograd and ADInplaceOrView keys for the declared operators."""

from __future__ import annotations

from typing import Any

from minitorch.autograd import engine
from minitorch.autograd.derivatives.registry import DERIVATIVES
from minitorch.autograd.fallback import register_fallbacks
from minitorch.autograd.kernel import (
    AutogradKernel,
    InplaceAutogradKernel,
    InplaceBookkeeping,
    OutAutogradKernel,
    ViewBookkeeping,
)
from minitorch.core.dtype import from_numpy_dtype
from minitorch.dispatch.operator import OPERATORS, Operator
from minitorch.ops import functions as F
from minitorch.ops.assemble import is_view
from minitorch.ops.families import load_families
from minitorch.ops.registry import DECLARATIONS


def _register_operator(name: str, declaration: Any, op: Operator) -> None:
    if "CompositeImplicitAutograd" in op.kernels:
        return
    if declaration.kind == "out":
        op.register("Autograd", OutAutogradKernel(None))
        return
    if declaration.kind == "inplace":
        source = declaration.functional or name
        op.register("Autograd", InplaceAutogradKernel(DERIVATIVES.get(name) or DERIVATIVES.get(source)))
        op.register("ADInplaceOrView", InplaceBookkeeping())
        return
    op.register("Autograd", AutogradKernel(DERIVATIVES.get(name)))
    if is_view(declaration):
        op.register("ADInplaceOrView", ViewBookkeeping())


def sum_to_shape(grad: Any, shape: tuple, node: Any) -> Any:
    """Return a gradient summed over the dimensions that broadcasting added or stretched.

    Raises
    ------
    RuntimeError
        If the gradient's shape does not come from `shape` by broadcasting.
    """
    have = grad.handle.shape
    lead = len(have) - len(shape)
    if lead < 0:
        if grad.numel() == 1 and all(n == 1 for n in shape):
            return F.reshape(grad, list(shape))
        _wrong_shape(node, have, shape)
    dims = list(range(lead))
    for i, n in enumerate(shape):
        if have[lead + i] != n:
            if n != 1:
                _wrong_shape(node, have, shape)
            dims.append(lead + i)
    grad = F.sum(grad, dims, True)
    return F.reshape(grad, list(shape)) if lead else grad


def _wrong_shape(node: Any, have: tuple, shape: tuple) -> None:
    raise RuntimeError(
        f"Function {node.name()} returned an invalid gradient: got {list(have)} but expected shape compatible with "
        f"{list(shape)}"
    )


def cast_to(grad: Any, np_dtype: Any) -> Any:
    """Return a gradient in the dtype of its input: the real part for a real input."""
    dtype = from_numpy_dtype(np_dtype)
    if grad.dtype.is_complex and not dtype.is_complex:
        grad = F.real(grad)
    return F.to(grad, dtype)


def register() -> None:
    """Register the autograd kernels of all declared operators, and give the engine what it calls."""
    load_families("minitorch.autograd.derivatives")
    for name in DERIVATIVES:
        if name not in DECLARATIONS:
            raise LookupError(f"{name} has a derivative and no declaration")
    for name, declaration in DECLARATIONS.items():
        _register_operator(name, declaration, OPERATORS["aten::" + name])
    engine.set_operators(F.add, sum_to_shape, cast_to, F.clone, F.detach)
    register_fallbacks()
