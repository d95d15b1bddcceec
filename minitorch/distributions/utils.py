"""What distributions share: broadcasting of parameters, lazy parameters, probabilities and their logits."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from numbers import Number
from typing import Any

from minitorch.autograd.grad_mode import enable_grad
from minitorch.core.dtype import finfo, get_default_dtype
from minitorch.functional import broadcast_tensors
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import tensor
from minitorch.tensor.tensor import Tensor

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def is_number(value: Any) -> bool:
    return isinstance(value, Number)


def is_tensor(value: Any) -> bool:
    return isinstance(value, TensorBase) or hasattr(type(value), "__torch_function__")


def broadcast_all(*values: Any) -> tuple[Tensor, ...]:
    """Return parameters as tensors of one shape; numbers get the type and the device of the first tensor.

    Parameters
    ----------
    *values : Tensor or float

    Raises
    ------
    ValueError
        If one is neither.
    """
    if not all(is_tensor(v) or is_number(v) for v in values):
        kinds = ", ".join(type(v).__name__ for v in values)
        raise ValueError(
            f"broadcast_all: Input arguments must all be instances of Number, Tensor or objects implementing "
            f"__torch_function__, but they are: {kinds}"
        )
    tensors = [v for v in values if is_tensor(v)]
    like: dict[str, Any] = {"dtype": get_default_dtype()}
    if tensors:
        like = {"dtype": tensors[0].dtype, "device": tensors[0].device}
    shaped = [v if is_tensor(v) else tensor(v, **like) for v in values]
    return tuple(broadcast_tensors(*shaped)) if len(shaped) > 1 else tuple(shaped)


def tiny(like: Tensor) -> float:
    """Return the smallest normal number of a tensor's type."""
    return finfo(like.dtype).tiny


def eps(like: Tensor) -> float:
    """Return the distance of 1 to the next number of a tensor's type."""
    return finfo(like.dtype).eps


def filled(like: Tensor, value: float, shape: Any = None) -> Tensor:
    """Return a tensor of one value, of the type, the device and (where none is given) the shape of another one."""
    return like.new_full(tuple(like.shape if shape is None else shape), value)


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Return standard normal draws of the type and the device of another tensor."""
    return F.normal(filled(like, 0.0, shape), filled(like, 1.0, shape))


def uniforms(shape: Any, like: Tensor) -> Tensor:
    """Return draws from [0, 1) of the type and the device of another tensor."""
    return F.rand(tuple(shape), dtype=like.dtype, device=like.device)


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """Return the sum over the last `dims` dimensions."""
    return value if dims == 0 else value.reshape(tuple(value.shape[: value.dim() - dims]) + (-1,)).sum(-1)


def clamp_probs(probs: Tensor) -> Tensor:
    """Return probabilities moved away from 0 and 1 by the precision of their type."""
    step = eps(probs)
    return F.clamp(probs, min=step, max=1 - step)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Return probabilities: the logistic function of each element, or the softmax of the last dimension."""
    return F.sigmoid(logits) if is_binary else F.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Return log odds of each element, or logarithms; probabilities of 0 and 1 stay finite."""
    clamped = clamp_probs(probs)
    return F.log(clamped) - F.log1p(-clamped) if is_binary else F.log(clamped)


def tril_matrix_to_vec(mat: Tensor, diag: int = 0) -> Tensor:
    """Return the elements of a square matrix on and below a diagonal, row by row.

    Raises
    ------
    ValueError
        If there is no such diagonal.
    """
    size = mat.shape[-1]
    if not -size <= diag < size:
        raise ValueError(f"diag ({diag}) provided is outside [{-size}, {size - 1}].")
    rows, columns = lower_indices(size, diag, mat)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec: Tensor, diag: int = 0) -> Tensor:
    """Return the square matrix with the given elements on and below a diagonal, row by row, and zeros above.

    Raises
    ------
    ValueError
        If that many elements fill no such triangle.
    """
    count = vec.shape[-1]
    # count = (n + diag) (n + diag + 1) / 2 for diag <= 0, with n rows
    size = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    rounded = round(size)
    if abs(size - rounded) > 1e-6:
        raise ValueError(f"The size of last dimension is {count} which cannot be expressed as the lower triangular part of a "
                         "square D x D matrix.")  # fmt: skip
    rows, columns = lower_indices(rounded, diag, vec)
    return with_elements(vec.new_zeros((*vec.shape[:-1], rounded, rounded)), rows, columns, vec)


def with_elements(matrices: Tensor, rows: Tensor, columns: Tensor, values: Tensor) -> Tensor:
    """Return matrices with other values at some places."""
    # indices come first in an index_put without gaps
    filled_in = F.index_put(matrices.movedim((-2, -1), (0, 1)), [rows, columns], values.movedim(-1, 0))
    return filled_in.movedim((0, 1), (-2, -1))


def lower_indices(size: int, diag: int, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return rows and columns of a triangle's elements."""
    rows, columns = F.tril_indices(size, size, diag, device=like.device).unbind(0)
    return rows, columns


class lazy_property:
    """A property that is computed when first read, and then kept; on the class it stays the descriptor's getter."""

    def __init__(self, wrapped: Callable) -> None:
        self.wrapped = wrapped
        update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return _LazyOnClass(self.wrapped)
        # What is kept must not depend on whether it was first read under no_grad.
        with enable_grad():
            value = self.wrapped(instance)
        instance.__dict__[self.wrapped.__name__] = value
        return value


class _LazyOnClass(lazy_property, property):
    """What a class shows of a lazy property: a property, to `inspect` and to the check of arguments."""

    def __init__(self, wrapped: Callable) -> None:
        property.__init__(self, wrapped)
