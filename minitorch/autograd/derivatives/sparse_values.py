"""Derivatives where the argument is a sparse tensor: formulas applied to values, and selections.

Note [Gradients of sparse tensors]
    The gradient of an element-wise function of a sparse tensor has the pattern of the tensor: the formula is
    applied to the values there, and says nothing of the places without a value.  `_sparse_values_at` and
    `_sparse_with_values` are each the derivative of the other, so such a gradient is differentiable again.
    A gradient may have another layout than its tensor, as in PyTorch: that of a sum with a dense tensor is dense.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any

from minitorch.autograd.derivatives.indexing import repeat_backward
from minitorch.autograd.derivatives.registry import derivative, parameter_names, sparse_derivative
from minitorch.core.layout import sparse_coo, strided
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase

_ANY = inspect.Parameter.POSITIONAL_OR_KEYWORD


def patterned(tensor: Any) -> Any:
    """Return a sparse tensor in which each place has one value."""
    return F.coalesce(tensor) if tensor.layout is sparse_coo else tensor


def on_values(formula: Callable, argument: str) -> Callable:
    """Return the formula of a sparse argument: `formula`, applied to what its tensors are at the entries of one of them.

    Parameters
    ----------
    argument : str
        Whose entries: an argument of the operator, or ``"result"``.
    """
    names = parameter_names(formula)
    wanted = tuple(dict.fromkeys(("grad", argument, *names)))

    def on_values_formula(*found: Any) -> Any:
        by_name = dict(zip(wanted, found, strict=True))
        by_name[argument] = patterned(by_name[argument])
        pattern = by_name[argument].detach()
        arguments = []
        for name in names:
            value = by_name[name]
            if isinstance(value, TensorBase) and value.ndim:
                value = F._sparse_values_at(value, pattern)
            arguments.append(value)
        return F._sparse_with_values(pattern, formula(*arguments))

    on_values_formula.__signature__ = inspect.Signature([inspect.Parameter(name, _ANY) for name in wanted])  # type: ignore[attr-defined]
    return on_values_formula


def in_layout_of(grad: Any, like: Any) -> Any:
    """Return a sparse gradient in the layout of its tensor."""
    if grad.layout is like.layout or grad.layout is strided:
        return grad
    if like.layout is sparse_coo or like.layout.name in ("sparse_csr", "sparse_csc"):
        return F._to_sparse(grad, layout=like.layout)
    return F._to_sparse(grad, layout=like.layout, blocksize=list(like.handle.blocksize))


def as_coordinates(grad: Any) -> Any:
    """Return a gradient, dense or of any layout, in layout ``sparse_coo``."""
    return grad if grad.layout is sparse_coo else F._to_sparse(grad, layout=sparse_coo)


derivative(
    "_sparse_values_at",
    self=lambda grad, pattern: F._sparse_with_values(pattern, grad),
)
derivative(
    "_sparse_with_values",
    values=lambda grad, pattern: F._sparse_values_at(grad, pattern),
)
derivative("_sparse_broadcast_to", self=lambda grad: grad)  # the caller sums broadcast dimensions


# ---------------------------------------------------------------- selections


def select_gradient(grad, self, dim, index):
    return in_layout_of(F.select_backward(as_coordinates(grad), list(self.shape), dim, index), self)


def _selection() -> Any:
    # Loaded already: a sparse tensor was made.
    return import_module("minitorch.sparse.kernels.selection")


def index_gradient(grad, self, indices):
    """Return the gradient of ``x[indices]``: rows added where they came from, or single elements at their indices."""
    spread, first = _selection().spread_indices(self, indices)
    sizes = list(self.shape[first : first + len(spread)])
    rest = list(self.shape[first + len(spread) :])
    count = spread[0].numel()
    flat = [F.reshape(i, [-1]) for i in spread]
    if grad.layout is strided:
        if not first and not rest:
            pattern = F._sparse_coo_tensor_unsafe(F.stack(flat), F.new_ones(grad, [count]), list(self.shape))
            return in_layout_of(F._sparse_with_values(pattern, F.reshape(grad, [-1])), self)
    position = flat[0]
    joined = sizes[0]
    for size, further in zip(sizes[1:], flat[1:], strict=True):
        position = position * size + further
        joined *= size
    shape = [*self.shape[:first], joined, *rest]
    grad = F.reshape(as_coordinates(grad), [*self.shape[:first], count, *rest])
    grad = F.index_add(F.new_zeros(grad, shape), first, position, grad)
    return in_layout_of(F.reshape(grad, list(self.shape)), self)


def masked_select_gradient(grad, self, mask):
    places = F.nonzero(mask)
    return index_gradient(grad, self, list(F.unbind(places, 1)))


def index_select_gradient(grad, self, dim, index):
    grad = as_coordinates(grad)
    return in_layout_of(F.index_add(F.new_zeros(grad, list(self.shape)), dim, index, grad), self)


def expand_gradient(grad, self):
    """Return a gradient summed over the dimensions that a sparse tensor was repeated along."""
    grad = as_coordinates(grad)
    lead = grad.ndim - self.ndim
    stretched = [lead + d for d, n in enumerate(self.shape) if grad.shape[lead + d] != n]
    if lead or stretched:
        grad = F.sum(grad, [*range(lead), *stretched])
    for d in stretched:
        grad = F.unsqueeze(grad, d - lead)
    return in_layout_of(grad, self)


def repeat_gradient(grad, self, repeats):
    return in_layout_of(repeat_backward(as_coordinates(grad), self.shape, repeats), self)


sparse_derivative("expand", self=expand_gradient)
sparse_derivative("_sparse_broadcast_to", self=expand_gradient)
sparse_derivative("repeat", self=repeat_gradient)
sparse_derivative("index_select", self=index_select_gradient)
sparse_derivative("select.int", self=select_gradient)
sparse_derivative("index.Tensor", self=index_gradient)
sparse_derivative("masked_select", self=masked_select_gradient)
