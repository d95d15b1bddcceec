"""Look-up of rows, and the gradient of it by atomic sums in float32 or float64."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda import checks, programs
from minitorch.backends.cuda.library import library
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import floating, rows, wide


@override("embedding")
def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    floating(weight)
    if weight.ndim != 2:
        raise NoKernel("not a matrix")
    count, columns = weight.shape
    kind, found = checks.index_type(indices), checks.report()
    result = programs.empty((*indices.shape, columns), weight.dtype)
    function = programs.kernel("embedding", "embedding", T=weight.dtype, I=kind)
    programs.over(function, result.size, rows(weight), rows(indices), result, found, indices.size, columns, count)
    value = checks.wrong(found) if result.size else None
    if value is not None:
        raise IndexError(
            f"embedding(): index out of range in self: index {value} is out of bounds for dimension 0 with size {count}"
        )
    return result


@override("embedding_dense_backward")
def embedding_dense_backward(
    grad_output: Any, indices: Any, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    floating(grad_output)
    kind, found = checks.index_type(indices), checks.report()
    columns = grad_output.shape[-1] if grad_output.ndim else 0
    if grad_output.shape != (*indices.shape, columns) or not grad_output.size:
        raise NoKernel("shapes that do not fit, or no elements")
    compute = wide(grad_output.dtype)
    index = rows(indices)
    counts = None
    if scale_grad_by_freq:
        # Positions that do not exist are found by the kernel; here they must not be counted.
        there = library().clip(index.reshape(-1).astype(np.int64), 0, num_weights - 1)
        counts = library().bincount(there, minlength=num_weights).astype(np.int64)
    sums = library().zeros((num_weights, columns), compute)
    function = programs.kernel("embedding", "embedding_backward", T=grad_output.dtype, I=kind)
    args = (rows(grad_output), index, counts, sums, found, index.size, columns, num_weights, padding_idx)
    programs.over(function, grad_output.size, *args)
    value = checks.wrong(found)
    if value is not None:
        raise IndexError(f"index {value} is out of bounds for dimension 0 with size {num_weights}")
    if compute == grad_output.dtype:
        return sums
    result = programs.empty(sums.shape, grad_output.dtype)
    round_all = programs.kernel("embedding", "embedding_round", T=grad_output.dtype, I=kind)
    programs.over(round_all, sums.size, sums, result, sums.size)
    return result
