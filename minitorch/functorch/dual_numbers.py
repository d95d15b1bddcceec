"""`forward_ad.make_dual` and `unpack_dual` inside of transforms.

A tangent belongs to the tensor that autograd sees.  Under `grad` and `jvp` that is the wrapper of the level;
under `vmap` autograd is one level down, so the value inside becomes dual, for all examples at once.
"""

from __future__ import annotations

from typing import Any

from minitorch.autograd import forward_ad
from minitorch.dispatch.transforms import TransformType, current_interpreter
from minitorch.functorch.layout import batched
from minitorch.functorch.wrappers import unwrap_dead


def make_dual(tensor: Any, tangent: Any, level: int) -> Any:
    """Return a dual tensor of the innermost transform."""
    interpreter: Any = current_interpreter()
    tensor, tangent = unwrap_dead(tensor), unwrap_dead(tangent)
    if interpreter.transform is not TransformType.Vmap:
        return forward_ad.make_dual_here(interpreter.lift(tensor), interpreter.lift(tangent), level)
    value, dim = interpreter.unwrap(tensor)
    slope, slope_dim = interpreter.unwrap(tangent)
    with interpreter.lower():
        if dim is None and slope_dim is None:
            return forward_ad.make_dual(value, slope, level=level)
        size = interpreter.batch_size
        dual = forward_ad.make_dual(batched(value, dim, size), batched(slope, slope_dim, size), level=level)
    return interpreter.wrap(dual, 0)


def unpack_dual(tensor: Any, level: int) -> Any:
    """Return primal and tangent of a tensor of the innermost transform."""
    interpreter: Any = current_interpreter()
    tensor = unwrap_dead(tensor)
    if interpreter.transform is not TransformType.Vmap:
        return forward_ad.unpack_dual_here(interpreter.lift(tensor), level)
    value, dim = interpreter.unwrap(tensor)
    with interpreter.lower():
        primal, tangent = forward_ad.unpack_dual(value, level=level)
    if dim is None:
        return forward_ad.UnpackedDualTensor(primal, tangent)
    return forward_ad.UnpackedDualTensor(
        interpreter.wrap(primal, dim), None if tangent is None else interpreter.wrap(tangent, dim)
    )
