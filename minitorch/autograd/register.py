"""Registers the kernels of the Autograd and ADInplaceOrView keys for the declared operators."""

from __future__ import annotations

from typing import Any

from minitorch.autograd import engine
from minitorch.autograd.bookkeeping import (
    InplaceBookkeeping,
    InplaceListBookkeeping,
    InplaceViewBookkeeping,
    ViewBookkeeping,
)
from minitorch.autograd.derivatives.registry import DERIVATIVES
from minitorch.autograd.fallback import register_fallbacks
from minitorch.autograd.kernel import (
    AutogradKernel,
    DetachInplaceKernel,
    InplaceAutogradKernel,
    InplaceViewAutogradKernel,
    OutAutogradKernel,
)
from minitorch.autograd.node import Node
from minitorch.core.dtype import from_numpy_dtype
from minitorch.core.layout import strided
from minitorch.core.memory_format import contiguous_format
from minitorch.dispatch.operator import OPERATORS, FallthroughKernel, Operator
from minitorch.ops import functions as F
from minitorch.ops.assemble import is_view
from minitorch.ops.families import load_families
from minitorch.ops.registry import DECLARATIONS
from minitorch.tensor.base import new_tensor

# They share memory but are no views (spec A7): what a sparse tensor is made of has no history, except for `values`.
_NO_VIEWS = frozenset(
    (
        "detach", "lift_fresh", "_indices", "_values", "indices", "crow_indices", "ccol_indices", "row_indices", "col_indices",
    )
)  # fmt: skip


def _register_operator(name: str, declaration: Any, op: Operator) -> None:
    if "CompositeImplicitAutograd" in op.kernels:
        return
    if name == "detach_":
        op.register("Autograd", DetachInplaceKernel(None))
        return
    if declaration.kind == "out":
        op.register("Autograd", OutAutogradKernel(None))
        return
    if declaration.kind == "inplace" and (")[] self" in declaration.schema or name == "_amp_update_scale_"):
        # Steps of optimizers and of gradient scaling write into several tensors, leaves too, outside autograd.
        op.register("Autograd", FallthroughKernel())
        op.register("ADInplaceOrView", InplaceListBookkeeping())
        return
    if declaration.kind == "inplace" and declaration.functional and is_view(DECLARATIONS[declaration.functional]):
        functional = OPERATORS["aten::" + declaration.functional]
        op.register("Autograd", InplaceViewAutogradKernel(functional))
        op.register("ADInplaceOrView", InplaceViewBookkeeping(functional))
        return
    if declaration.kind == "inplace":
        source = declaration.functional or name
        op.register("Autograd", InplaceAutogradKernel(DERIVATIVES.get(name) or DERIVATIVES.get(source)))
        op.register("ADInplaceOrView", InplaceBookkeeping())
        return
    op.register("Autograd", AutogradKernel(DERIVATIVES.get(name)))
    if is_view(declaration) and name not in _NO_VIEWS:
        op.register("ADInplaceOrView", ViewBookkeeping())


def sum_to_shape(grad: Any, shape: tuple, node: Any, index: int) -> Any:
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
        _wrong_shape(node, index, have, shape)
    dims = list(range(lead))
    stretched = False
    for i, n in enumerate(shape):
        if have[lead + i] != n:
            if n != 1:
                _wrong_shape(node, index, have, shape)
            dims.append(lead + i)
            stretched = True
    if not stretched:
        return F.sum(grad, dims)
    grad = F.sum(grad, dims, True)
    return F.reshape(grad, list(shape)) if lead else grad


def _wrong_shape(node: Any, index: int, have: tuple, shape: tuple) -> None:
    raise RuntimeError(
        f"Function {node.name()} returned an invalid gradient at index {index} - got {list(have)} but expected shape "
        f"compatible with {list(shape)}"
    )


def cast_to(grad: Any, np_dtype: Any) -> Any:
    """Return a gradient in the dtype of its input: the real part for a real input."""
    dtype = from_numpy_dtype(np_dtype)
    if grad.dtype.is_complex and not dtype.is_complex:
        grad = F.real(grad)
    return F.to(grad, dtype)


def copy_for(tensor: Any, grad: Any, create_graph: bool) -> Any:
    """Return a copy of a gradient with the strides of its tensor where that is dense, else row by row."""
    if grad.layout is not strided or tensor.layout is not strided:
        copied = F.clone(grad)
        return copied if create_graph else copied.detach()
    copied = F.clone(grad, memory_format=contiguous_format)
    if copied.stride() != tensor.stride() and is_dense(tensor):
        placed = F.new_empty_strided(grad, list(tensor.shape), list(tensor.stride()))
        copied = placed.copy_(grad)
    return copied if create_graph else copied.detach()


def is_dense(tensor: Any) -> bool:
    """Return whether the elements of a tensor fill a stretch of memory without gaps or overlaps."""
    expected = 1
    for step, n in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if n != 1:
            if step != expected:
                return False
            expected *= n
    return True


def _one() -> Any:
    return F.ones([])


def _one_reshaped() -> Any:
    made = F.ones([1])
    return new_tensor(made.handle.reshape(()), made.key_set)


def _node() -> Node:
    node = Node()
    node.output_count = 1
    return node


def register() -> None:
    """Register the autograd kernels of all declared operators, and give the engine what it calls."""
    load_families("minitorch.autograd.derivatives")
    for name in DERIVATIVES:
        if name not in DECLARATIONS:
            raise LookupError(f"{name} has a derivative and no declaration")
    for name, declaration in DECLARATIONS.items():
        _register_operator(name, declaration, OPERATORS["aten::" + name])
    engine.set_operators(F.add, sum_to_shape, cast_to, copy_for)
    engine.calibrate(_one, _one_reshaped, _node)
    register_fallbacks()
