"""The type that operands of an operation would give."""

from __future__ import annotations

from typing import Any

from minitorch.core import promotion
from minitorch.core.dtype import dtype, from_numpy_dtype
from minitorch.tensor.base import TensorBase


def result_type(tensor1: Any, tensor2: Any) -> dtype:
    """Return the dtype of the result of an arithmetic operation on two operands.

    Parameters
    ----------
    tensor1, tensor2 : Tensor or number
        Tensors with dimensions decide before 0-dim ones, those before Python numbers.
    """
    operands = [t.handle if isinstance(t, TensorBase) else t for t in (tensor1, tensor2)]
    return from_numpy_dtype(promotion.result_type(*operands))
