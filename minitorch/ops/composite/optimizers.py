"""Optimizer steps that return what they would write."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit


def _functional(step, count):
    """Return a step that writes into copies of its first `count` lists, and returns them."""

    def functional_step_composite(*lists, **options):
        copies = [[F.clone(t) for t in tensors] for tensors in lists[:count]]
        step(*copies, *lists[count:], **options)
        return tuple(copies)

    return functional_step_composite


composite_explicit("_fused_sgd")(_functional(lambda *lists, **options: F._fused_sgd_(*lists, **options), 3))
composite_explicit("_fused_adam")(_functional(lambda *lists, **options: F._fused_adam_(*lists, **options), 5))
composite_explicit("_fused_adamw")(_functional(lambda *lists, **options: F._fused_adamw_(*lists, **options), 5))
