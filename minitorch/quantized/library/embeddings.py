"""``minitorch.ops.quantized``: embeddings whose rows have 8 or 4 bits an element, with a scale and a bias for each row."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float16, float32, int32, int64, uint8
from minitorch.ops import functions as F
from minitorch.quantized.library.definitions import quantized_operator
from minitorch.quantized.packed import EmbeddingPackedParams


@quantized_operator("embedding_bag_prepack(Tensor weight) -> Any W_prepack")
def embedding_bag_prepack_kernel(weight):
    return EmbeddingPackedParams(weight)


@quantized_operator("embedding_bag_unpack(Any W_prepack) -> Tensor W_origin", dense=True)
def embedding_bag_unpack_kernel(W_prepack):
    return W_prepack.unpack()


def _check_indices(name: str, indices: Any) -> None:
    if indices.dtype not in (int32, int64):
        raise RuntimeError(f"quantized::{name}: Expect 32 or 64 bit indices, but found {indices.dtype.scalar_name} instead.")


def _embedding(name: str) -> None:
    def embedding_kernel(weight: Any, indices: Any, pruned_weights: bool = False) -> Any:
        _check_indices(name, indices)
        return F.embedding(weight.rows(), F.to(indices, int64))

    quantized_operator(f"{name}(Any weight, Tensor indices, bool pruned_weights=False) -> Tensor", dense=True)(embedding_kernel)


def _embedding_bag(name: str) -> None:
    def embedding_bag_kernel(
        weight: Any, indices: Any, offsets: Any = None, scale_grad_by_freq: bool = False, mode: int = 0,
        pruned_weights: bool = False, per_sample_weights: Any = None, compressed_indices_mapping: Any = None,
        include_last_offset: bool = False,
    ) -> Any:  # fmt: skip
        _check_indices(name, indices)
        if pruned_weights or compressed_indices_mapping is not None:
            raise NotImplementedError(f"quantized::{name}: rows that were pruned are not supported; give all of them")
        if mode != 0:
            raise RuntimeError(f"quantized::{name}: only sums (mode 0) are supported, not mode {mode}")
        if offsets is None:
            if indices.ndim != 2:
                raise RuntimeError(f"quantized::{name}: offsets are needed where the indices are not of two dimensions")
            offsets = F.arange(0, indices.numel(), indices.shape[1], dtype=int64, device=indices.device)
            indices = F.reshape(indices, [-1])
        rows = weight.rows()
        return F.embedding_bag(
            rows, F.to(indices, int64), F.to(offsets, int64), False, 0, False, per_sample_weights, include_last_offset
        )[0]

    quantized_operator(
        f"{name}(Any weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, bool "
        "pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool "
        "include_last_offset=False) -> Tensor",
        dense=True,
    )(embedding_bag_kernel)


for _bits in ("byte", "4bit"):
    _embedding(f"embedding_{_bits}")
    _embedding_bag(f"embedding_bag_{_bits}")


# ---------------------------------------------------------------- rows with their parameters behind them


def _row_range(name: str, weight: Any) -> tuple:
    if weight.ndim != 2:
        raise RuntimeError(f"quantized::{name}: the weight is a matrix, not of {weight.ndim} dimensions")
    return F.amin(weight, [1], True), F.amax(weight, [1], True)


@quantized_operator("embedding_bag_byte_prepack(Tensor weight) -> Tensor", dense=True)
def byte_prepack_kernel(weight):
    """Return (rows, columns + 8) bytes: the integers of a row, then its scale and its bias, two float32."""
    weight = F.to(weight, float32)
    least, greatest = _row_range("embedding_bag_byte_prepack", weight)
    span = F.sub(greatest, least)
    scale = F.div(span, 255.0)
    inverse = F.div(F.full_like(span, 255.0), F.add(span, 1e-8))
    ints = F.to(F.round(F.mul(F.sub(weight, least), inverse)), uint8)
    return F.cat([ints, F.view(F.contiguous(F.cat([scale, least], 1)), uint8)], 1)


@quantized_operator("embedding_bag_byte_unpack(Tensor weight) -> Tensor", dense=True)
def byte_unpack_kernel(weight):
    params = F.view(F.contiguous(F.slice(weight, 1, -8)), float32)
    ints = F.to(F.slice(weight, 1, 0, -8), float32)
    return F.add(F.mul(ints, F.slice(params, 1, 0, 1)), F.slice(params, 1, 1, 2))


@quantized_operator(
    "embedding_bag_4bit_prepack(Tensor weight, bool optimized_qparams=False, int nbins=200, float ratio=0.16) -> Tensor",
    dense=True,
)
def four_bit_prepack_kernel(weight, optimized_qparams=False, nbins=200, ratio=0.16):
    """Return (rows, columns / 2 + 4) bytes: two integers in each, then the row's scale and its bias, two float16."""
    if optimized_qparams:
        raise NotImplementedError("quantized::embedding_bag_4bit_prepack: optimized_qparams is not supported; give False")
    weight = F.to(weight, float32)
    if weight.ndim == 2 and weight.shape[1] % 2:
        raise RuntimeError("quantized::embedding_bag_4bit_prepack: the number of columns is even: two stand in a byte")
    least, greatest = _row_range("embedding_bag_4bit_prepack", weight)
    bias = F.to(least, float16)
    least = F.to(bias, float32)
    scale = F.to(F.div(F.sub(greatest, least), 15.0), float16)
    wide = F.to(scale, float32)
    scale = F.masked_fill(scale, F.eq(wide, 0), 1.0)
    inverse = F.reciprocal(F.to(scale, float32))
    ints = F.to(F.clamp(F.round(F.mul(F.sub(weight, least), inverse)), 0, 15), int32)
    pairs = F.reshape(ints, [ints.shape[0], -1, 2])
    packed = F.to(F.add(F.select(pairs, 2, 0), F.mul(F.select(pairs, 2, 1), 16)), uint8)
    return F.cat([packed, F.view(F.contiguous(F.cat([scale, bias], 1)), uint8)], 1)


@quantized_operator("embedding_bag_4bit_unpack(Tensor weight) -> Tensor", dense=True)
def four_bit_unpack_kernel(weight):
    params = F.to(F.view(F.contiguous(F.slice(weight, 1, -4)), float16), float32)
    packed = F.to(F.slice(weight, 1, 0, -4), int32)
    ints = F.stack([F.bitwise_and(packed, 15), F.bitwise_right_shift(packed, 4)], 2)
    ints = F.to(F.reshape(ints, [weight.shape[0], -1]), float32)
    return F.add(F.mul(ints, F.slice(params, 1, 0, 1)), F.slice(params, 1, 1, 2))
