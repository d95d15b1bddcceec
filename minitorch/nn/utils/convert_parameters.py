"""Parameters as one vector."""

from __future__ import annotations

from collections.abc import Iterable

from minitorch.ops.functions import cat
from minitorch.tensor.base import TensorBase
from minitorch.tensor.tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all parameters, flattened, one after the other."""
    return cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Let the parameters show their parts of `vec`."""
    if not isinstance(vec, TensorBase):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec)}")
    start = 0
    for p in parameters:
        count = p.numel()
        p.data = vec[start : start + count].view_as(p).data
        start += count
