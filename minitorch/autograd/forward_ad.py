"""Forward mode: derivatives along a direction, computed next to the values.

A *dual* tensor is a primal with a tangent.  Operators called on dual tensors inside a
`dual_level` give dual tensors; the tangent of the result is the Jacobian times the tangent of
the argument::

    with forward_ad.dual_level():
        y = f(forward_ad.make_dual(x, v))
        jvp = forward_ad.unpack_dual(y).tangent
"""

from __future__ import annotations

from collections import namedtuple
from contextlib import ContextDecorator
from typing import Any

from minitorch.autograd.dual import (
    below,
    enter_level,
    exit_level,
    hide_tangent,
    in_layout_of,
    level_count,
    set_tangent,
    tangent_of,
)
from minitorch.dispatch.local_state import current
from minitorch.dispatch.transforms import inside_transforms
from minitorch.ops import functions as F

__all__ = [
    "UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual",
]  # fmt: skip

UnpackedDualTensor = namedtuple("UnpackedDualTensor", ["primal", "tangent"])
UnpackedDualTensor.__doc__ = "What `unpack_dual` returns: `primal`, and `tangent` or None."


def enter_dual_level() -> int:
    """Begin a level of forward mode, and return its number.

    Raises
    ------
    RuntimeError
        If there is one already.
    """
    if level_count():
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment: a dual level is active. Leave it with "
            "exit_dual_level() first."
        )
    return enter_level()


def exit_dual_level(*, level: int | None = None) -> None:
    """End a level: all tangents made in it are gone.

    Raises
    ------
    RuntimeError
        If `level` is not the innermost one.
    """
    innermost = level_count() - 1
    if innermost < 0 or (level is not None and level != innermost):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    exit_level()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """Return a dual tensor: a view of `tensor` with a tangent.

    Parameters
    ----------
    tensor, tangent : Tensor
        Of the same shape, floating or complex.
    level : int, optional
        The active level.

    Raises
    ------
    RuntimeError
        If there is no active level, if shapes differ, or if `tensor` is dual already.
    ValueError
        If one of them is not floating or complex.

    Examples
    --------
    >>> with dual_level():
    ...     y = make_dual(minitorch.tensor([1.0, 2.0]), minitorch.tensor([1.0, 0.0])).square()
    ...     print(unpack_dual(y).tangent)
    tensor([2., 0.])
    """
    level = _active(level)
    if level < 0:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {value.dtype}")
    if tangent.shape != tensor.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if inside_transforms():
        from minitorch.functorch import dual_numbers

        return dual_numbers.make_dual(tensor, tangent, level)
    return make_dual_here(tensor, tangent, level)


def make_dual_here(tensor: Any, tangent: Any, level: int) -> Any:
    """Return what `make_dual` does, of tensors that autograd sees as they are."""
    if tangent_of(tensor, level) is not None:
        raise RuntimeError(
            f"Making a dual Tensor based on a Tensor that already has a forward gradient at the same level {level} is not "
            "supported."
        )
    with below(level):
        dual = F.alias(tensor)
    set_tangent(dual, level, in_layout_of(dual, tangent, level))
    return dual


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the primal, as a view without a tangent, and the tangent of a tensor (None if it has none).

    Outside of all levels the primal is `tensor` itself.
    """
    level = _active(level)
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if inside_transforms():
        from minitorch.functorch import dual_numbers

        return dual_numbers.unpack_dual(tensor, level)
    return unpack_dual_here(tensor, level)


def unpack_dual_here(tensor: Any, level: int) -> UnpackedDualTensor:
    """Return what `unpack_dual` does, of a tensor that autograd sees as it is."""
    tangent = tangent_of(tensor, level)
    with below(level):
        primal = F.alias(tensor)
    hide_tangent(primal, level)
    return UnpackedDualTensor(primal, tangent)


def _active(level: int | None) -> int:
    innermost = level_count() - 1
    if level is None:
        return innermost
    if level > innermost:
        raise RuntimeError(f"there is no forward AD level {level}; enter_dual_level() begins one")
    return level


class dual_level(ContextDecorator):
    """A context in which tensors can have tangents; with its end they are gone.

    Returns
    -------
    int
        The level, which the functions of this module take by default.
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: Any) -> None:
        exit_dual_level()


class _set_fwd_grad_enabled(ContextDecorator):
    """Switch the computation of tangents on or off, from the call on and as a context."""

    def __init__(self, mode: bool):
        self.previous = current().forward_grad_enabled
        current().forward_grad_enabled = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: Any) -> None:
        current().forward_grad_enabled = self.previous
