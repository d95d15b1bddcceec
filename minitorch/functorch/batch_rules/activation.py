"""Batch rules of activations that do not work element by element."""

from __future__ import annotations

from typing import Any

from minitorch.functorch.along import along
from minitorch.functorch.batch_rules.pointwise import pointwise
from minitorch.functorch.layout import batched, rank
from minitorch.functorch.rules import batch_rule, structure
from minitorch.ops import functions as F

structure(
    along, "_softmax", "_log_softmax", "_softmax_backward_data", "_log_softmax_backward_data", "glu", "glu_backward",
    reduces=False,
)  # fmt: skip
structure(pointwise, "log_sigmoid_forward", "_prelu_kernel_backward", "native_dropout_backward")


@batch_rule("log_sigmoid_backward")
def log_sigmoid_backward(info: Any, in_dims: tuple, grad_output: Any, self: Any, buffer: Any) -> tuple[Any, Any]:
    grad_output, self = (batched(x, d, info.batch_size) for x, d in zip((grad_output, self), in_dims, strict=False))
    if rank(buffer, in_dims[2]) == rank(self, 0):  # where a backend keeps nothing in it, it is empty
        buffer = batched(buffer, in_dims[2], info.batch_size)
    return F.log_sigmoid_backward(grad_output, self, buffer), 0
