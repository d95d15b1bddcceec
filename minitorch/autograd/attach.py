"""The methods and properties of `Tensor` that belong to autograd."""

from __future__ import annotations

from typing import Any

from minitorch.autograd import graph, hooks
from minitorch.autograd.backward import tensor_backward


def attach(cls: Any) -> None:
    """Give the tensor class its autograd methods."""
    cls.backward = tensor_backward
    cls.grad_fn = property(graph.grad_fn_of, doc="The node that computed it; None for leaves.")
    cls.is_leaf = property(graph.is_leaf, doc="Whether it was not computed from tensors that require a gradient.")
    cls.register_hook = hooks.register_hook
    cls.register_post_accumulate_grad_hook = hooks.register_post_accumulate_grad_hook
    cls.retain_grad = hooks.retain_grad
    cls.retains_grad = property(hooks.retains_grad)
