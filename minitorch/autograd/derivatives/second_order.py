"""When the backward pass of a fused operator must itself be made of operators that have derivatives."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.dual import level_count
from minitorch.autograd.grad_mode import is_grad_enabled
from minitorch.dispatch.transforms import TransformType, interpreter_stack


def is_differentiated_again(*tensors: Any) -> bool:
    """Return whether what is computed from these tensors is recorded, or differentiated by a level around.

    Grad mode alone does not say: the backward pass of a function transform has it on, whether or not there is
    anything to differentiate outside.
    """
    if not is_grad_enabled():
        return False
    levels: Any = interpreter_stack()
    if level_count() or any(i.transform is not TransformType.Vmap for i in levels):
        return True
    given = [t for t in tensors if t is not None]
    for level in reversed(levels):
        given = [level.unwrap(t)[0] for t in given]  # a batched tensor does not say what its value is
    return any(t.requires_grad for t in given)
