"""``minitorch.ops.quantized``: embeddings whose rows have 8, 4 or 2 bits an element, with a scale and a bias for each row."""

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


def summed(name: str, rows: Any, indices: Any, offsets: Any, per_sample_weights: Any, include_last_offset: bool) -> Any:
    """Return the sums of bags of rows."""
    if offsets is None:
        if indices.ndim != 2:
            raise RuntimeError(f"quantized::{name}: offsets are needed where the indices are not of two dimensions")
        offsets = F.arange(0, indices.numel(), indices.shape[1], dtype=int64, device=indices.device)
        indices = F.reshape(indices, [-1])
    return F.embedding_bag(
        rows, F.to(indices, int64), F.to(offsets, int64), False, 0, False, per_sample_weights, include_last_offset
    )[0]


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
        return summed(name, weight.rows(), indices, offsets, per_sample_weights, include_last_offset)

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


def _sub_byte(bits: int) -> None:
    """Define how rows of 4 or 2 bits an element are made, and read again."""
    name = f"embedding_bag_{bits}bit"
    per_byte, high = 8 // bits, (1 << bits) - 1

    def prepack_kernel(weight: Any, optimized_qparams: bool = False, nbins: int = 200, ratio: float = 0.16) -> Any:
        """Return the bytes of a row's integers, then its scale and its bias, two float16."""
        if optimized_qparams:
            raise NotImplementedError(f"quantized::{name}_prepack: optimized_qparams is not supported; give False")
        weight = F.to(weight, float32)
        least, greatest = _row_range(f"{name}_prepack", weight)
        if weight.shape[1] % per_byte:
            raise RuntimeError(
                f"quantized::{name}_prepack: the number of columns is a multiple of {per_byte}, as so many stand in a byte, and "
                f"not {weight.shape[1]}"
            )
        bias = F.to(least, float16)
        least = F.to(bias, float32)
        scale = F.to(F.div(F.sub(greatest, least), float(high)), float16)
        scale = F.masked_fill(scale, F.eq(F.to(scale, float32), 0), 1.0)
        inverse = F.reciprocal(F.to(scale, float32))
        ints = F.to(F.clamp(F.round(F.mul(F.sub(weight, least), inverse)), 0, high), int32)
        groups = F.reshape(ints, [ints.shape[0], -1, per_byte])
        packed = F.select(groups, 2, 0)
        for place in range(1, per_byte):
            packed = F.add(packed, F.mul(F.select(groups, 2, place), 1 << (bits * place)))
        return F.cat([F.to(packed, uint8), F.view(F.contiguous(F.cat([scale, bias], 1)), uint8)], 1)

    def unpack_kernel(weight: Any) -> Any:
        params = F.to(F.view(F.contiguous(F.slice(weight, 1, -4)), float16), float32)
        packed = F.to(F.slice(weight, 1, 0, -4), int32)
        parts = [F.bitwise_and(F.bitwise_right_shift(packed, bits * place), high) for place in range(per_byte)]
        ints = F.to(F.reshape(F.stack(parts, 2), [weight.shape[0], -1]), float32)
        return F.add(F.mul(ints, F.slice(params, 1, 0, 1)), F.slice(params, 1, 1, 2))

    quantized_operator(
        f"{name}_prepack(Tensor weight, bool optimized_qparams=False, int nbins=200, float ratio=0.16) -> Tensor", dense=True
    )(prepack_kernel)
    quantized_operator(f"{name}_unpack(Tensor weight) -> Tensor", dense=True)(unpack_kernel)
    _of_bytes(name, unpack_kernel)


def _of_bytes(name: str, unpack_rows: Any) -> None:
    """Define the sums of rows that are bytes with their parameters behind them."""

    def rows_kernel(
        weight: Any, indices: Any, offsets: Any = None, scale_grad_by_freq: bool = False, mode: int = 0,
        pruned_weights: bool = False, per_sample_weights: Any = None, compressed_indices_mapping: Any = None,
        include_last_offset: bool = False,
    ) -> Any:  # fmt: skip
        full = f"{name}_rowwise_offsets"
        _check_indices(full, indices)
        if pruned_weights or compressed_indices_mapping is not None:
            raise NotImplementedError(f"quantized::{full}: rows that were pruned are not supported; give all of them")
        return summed(full, unpack_rows(weight), indices, offsets, per_sample_weights, include_last_offset)

    quantized_operator(
        f"{name}_rowwise_offsets(Tensor weight, Tensor indices, Tensor? offsets=None, bool scale_grad_by_freq=False, int mode=0, "
        "bool pruned_weights=False, Tensor? per_sample_weights=None, Tensor? compressed_indices_mapping=None, bool "
        "include_last_offset=False) -> Tensor",
        dense=True,
    )(rows_kernel)


_of_bytes("embedding_bag_byte", byte_unpack_kernel)
_sub_byte(4)
_sub_byte(2)
