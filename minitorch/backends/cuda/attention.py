"""Scaled dot-product attention by tiles: the matrix of scores is never in memory."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda import programs
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import floating, rows, wide

_WIDEST = 128  # head sizes that the kernels have room for
_LANES = 8  # threads of a row


def _tile(dtype: np.dtype) -> int:
    """Return the rows of a block, as ``attention.cu`` has them."""
    return 8 if dtype == np.float64 else 16


def _laid(array: Any) -> tuple[Any, bool]:
    """Return an array as the kernels read it, and whether it lies by position: (batch, length, heads, size)."""
    if not array.flags.c_contiguous:
        turned = array.swapaxes(1, 2)
        if turned.flags.c_contiguous:
            return turned, True
    return rows(array), False


def _by_position(shape: tuple, dtype: Any) -> tuple[Any, Any]:
    """Return new memory that lies by position, and its view of `shape`."""
    batch, heads, length, size = shape
    memory = programs.empty((batch, length, heads, size), dtype)
    return memory, memory.swapaxes(1, 2)


def _check(query: Any, key: Any, value: Any, dropout_p: float) -> None:
    floating(query, key, value)
    if not (query.ndim == key.ndim == value.ndim == 4) or not query.shape[:2] == key.shape[:2] == value.shape[:2]:
        raise NoKernel("not four dimensions, or batches that differ")
    if query.shape[3] != key.shape[3] or key.shape[2] != value.shape[2]:
        raise NoKernel("operands that do not fit")
    if not (query.size and key.size and value.size) or max(query.shape[3], value.shape[3]) > _WIDEST:
        raise NoKernel(f"no elements, or heads of more than {_WIDEST}")
    if dropout_p:
        raise NoKernel("dropout")


def _mask(mask: Any, query: Any, key: Any) -> tuple[Any, Any, tuple[int, ...]]:
    """Return (mask of booleans, mask to add, elements from one entry to the next by dimension)."""
    if mask is None:
        return None, None, (0, 0, 0, 0)
    shape = (*query.shape[:3], key.shape[2])
    lead = 4 - mask.ndim
    if not 0 < mask.ndim <= 4 or any(n not in (1, whole) for n, whole in zip(mask.shape, shape[lead:], strict=True)):
        raise NoKernel("a mask that does not fit")
    is_bool = mask.dtype.kind == "b"
    if not is_bool:
        if mask.dtype not in (query.dtype, np.dtype(np.float32)):
            raise NoKernel(f"a mask of {mask.dtype}")
    # What is expanded is read where it lies once.
    mask = mask[tuple(slice(None, None if step else 1) for step in mask.strides)]
    if not is_bool:
        mask = mask.astype(wide(query.dtype), copy=False)
    mask = rows(mask)
    steps = (s // mask.dtype.itemsize if n > 1 else 0 for n, s in zip(mask.shape, mask.strides, strict=True))
    return mask if is_bool else None, None if is_bool else mask, (*(0,) * lead, *steps)


def _sizes(query: Any, key: Any, value: Any) -> tuple[int, ...]:
    batch, heads, queries, size = query.shape
    return batch * heads, heads, queries, key.shape[2], size, value.shape[3]


def _run(name: str, dtype: np.dtype, count: int, length: int, *args: Any) -> None:
    tile = _tile(dtype)
    blocks = min(count * -(-length // tile), programs.GRID)
    programs.launch(programs.kernel("attention", name, T=dtype), blocks, tile * _LANES, *args)


def _scale(scale: float | None, query: Any) -> float:
    return 1.0 / sqrt(query.shape[3]) if scale is None else float(scale)


@override("_scaled_dot_product_flash_attention_for_cpu")
def attention(
    query: Any, key: Any, value: Any, dropout_p: float = 0.0, is_causal: bool = False, *, attn_mask: Any = None,
    scale: float | None = None,
) -> tuple:  # fmt: skip
    _check(query, key, value, dropout_p)
    allowed, bias, steps = _mask(attn_mask, query, key)
    dtype, shape = query.dtype, (*query.shape[:3], value.shape[3])
    # The result lies as the query does.
    turned = shape[1] > 1 and shape[2] > 1 and query.strides[1] < query.strides[2]
    memory, result = _by_position(shape, dtype) if turned else (programs.empty(shape, dtype),) * 2
    logsumexp = programs.empty(shape[:3], wide(dtype))
    (q, q_turned), (k, k_turned), (v, v_turned) = _laid(query), _laid(key), _laid(value)
    layout = np.int32(q_turned + 2 * k_turned + 4 * v_turned + 8 * turned)
    sizes = _sizes(query, key, value)
    _run(
        "attention", dtype, sizes[0], shape[2], q, k, v, allowed, bias, memory, logsumexp, *sizes, *steps,
        _scale(scale, query), bool(is_causal), layout,
    )  # fmt: skip
    return result, logsumexp


@override("_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(
    grad_out: Any, query: Any, key: Any, value: Any, out: Any, logsumexp: Any, dropout_p: float, is_causal: bool, *,
    attn_mask: Any = None, scale: float | None = None,
) -> tuple:  # fmt: skip
    _check(query, key, value, dropout_p)
    floating(query, grad_out, out)
    shape, dtype = (*query.shape[:3], value.shape[3]), query.dtype
    if grad_out.shape != shape or out.shape != shape or logsumexp.shape != shape[:3] or logsumexp.dtype != wide(dtype):
        raise NoKernel("a gradient or results that do not fit")
    allowed, bias, steps = _mask(attn_mask, query, key)
    (q, q_turned), (k, k_turned), (v, v_turned) = _laid(query), _laid(key), _laid(value)
    (o, o_turned), (g, g_turned) = _laid(out), _laid(grad_out)
    layout = np.int32(q_turned + 2 * k_turned + 4 * v_turned + 8 * o_turned + 16 * g_turned)
    (dq, grad_query), (dk, grad_key), (dv, grad_value) = (_by_position(a.shape, dtype) for a in (query, key, value))
    sums, delta = rows(logsumexp), programs.empty(shape[:3], wide(dtype))
    sizes = _sizes(query, key, value)
    rest = (*sizes, *steps, _scale(scale, query), bool(is_causal), layout)
    _run("attention_backward_query", dtype, sizes[0], shape[2], g, q, k, v, o, sums, allowed, bias, dq, delta, *rest)
    _run(
        "attention_backward_key_value", dtype, sizes[0], key.shape[2], g, q, k, v, sums, delta, allowed, bias, dk, dv,
        *rest,
    )  # fmt: skip
    return grad_query, grad_key, grad_value
