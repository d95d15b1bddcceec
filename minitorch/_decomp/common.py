"""What decompositions share: the dtype that they compute in, and reductions of losses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch._decomp.registry import register_decomposition
from minitorch.core.dtype import bfloat16, float16, float32
from minitorch.core.pytree import tree_map, tree_map_only
from minitorch.dispatch.dispatcher import OVERLOADS
from minitorch.dispatch.namespace import ops
from minitorch.tensor.base import TensorBase

_HALF = (float16, bfloat16)


def decomposition(*names: str, rounds_once: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function for operators by name, such as ``"rsub.Tensor"``.

    Parameters
    ----------
    rounds_once : bool
        Half formats are computed with in float32 and rounded at the end, as the operator's kernel does.
    """
    overloads = []
    for name in names:
        basename, _, overload = name.partition(".")
        assert overload in OVERLOADS[f"aten::{basename}"], name
        overloads.append(getattr(getattr(ops.aten, basename), overload or "default"))

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        register_decomposition(overloads)(_rounding_once(fn) if rounds_once else fn)
        return fn

    return register


def _rounding_once(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        halves: list[Any] = []

        def widen(tensor: Any) -> Any:
            if tensor.dtype in _HALF:
                halves.append(tensor.dtype)
                return tensor.to(float32)
            return tensor

        args, kwargs = tree_map_only(TensorBase, widen, (args, kwargs))
        result = fn(*args, **kwargs)
        if not halves:
            return result
        narrow = halves[0]
        return tree_map(lambda t: t.to(narrow) if isinstance(t, TensorBase) and t.dtype is float32 else t, result)

    return run


def widened(tensor: Any) -> Any:
    """Return a tensor of a half format as float32, and others as they are."""
    return tensor.to(float32) if tensor.dtype in _HALF else tensor


NONE, MEAN, SUM = 0, 1, 2


def reduced(loss: Any, reduction: int) -> Any:
    """Return a loss by element as its mean, its sum, or as it is."""
    if reduction == MEAN:
        return loss.mean()
    return loss.sum() if reduction == SUM else loss


def spread(grad: Any, loss_like: Any, reduction: int) -> Any:
    """Return the gradient by element of what `reduced` made."""
    return grad / loss_like.numel() if reduction == MEAN else grad
