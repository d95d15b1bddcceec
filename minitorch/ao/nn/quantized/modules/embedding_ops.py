"""Embeddings of 8 or 4 bits an element."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn.quantized.modules.utils import hide_packed_params_from_repr, quantize_weight, weight_observer
from minitorch.nn.modules.module import Module

__all__ = ["Embedding", "EmbeddingBag", "EmbeddingPackedParams"]


class EmbeddingPackedParams(Module):
    """The rows, packed for kernels; in states a quantized tensor.

    Parameters
    ----------
    dtype : dtype
        quint8 or quint4x2.
    """

    _version = 1

    def __init__(self, num_embeddings: int, embedding_dim: int, dtype: Any = None):
        super().__init__()
        self.dtype = minitorch.quint8 if dtype is None else dtype
        if self.dtype not in (minitorch.quint8, minitorch.quint4x2):
            raise NotImplementedError(
                f"EmbeddingPackedParams: Unsupported dtype for quantized embedding: {self.dtype}; use quint8 or quint4x2"
            )
        self.set_weight(
            minitorch.quantize_per_channel(
                minitorch.zeros(num_embeddings, embedding_dim), minitorch.ones(num_embeddings, dtype=minitorch.float),
                minitorch.zeros(num_embeddings, dtype=minitorch.float), 0, self.dtype,
            )
        )  # fmt: skip

    def set_weight(self, weight: Any) -> None:
        """Replace the rows, a quantized tensor with float parameters of each row."""
        self._packed_weight = minitorch.ops.quantized.embedding_bag_prepack(weight)

    def _weight(self) -> Any:
        return minitorch.ops.quantized.embedding_bag_unpack(self._packed_weight)

    def forward(self, x: Any) -> Any:
        return x

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        super()._apply(fn, recurse)
        self.set_weight(fn(self._weight()))
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list, unexpected_keys: list,
        error_msgs: list,
    ) -> None:  # fmt: skip
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )

    def __repr__(self) -> str:
        return repr(self._weight())


class Embedding(Module):
    """Rows of 8 or 4 bits an element, looked up and returned in float32.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
    dtype : dtype
        quint8 or quint4x2.
    """

    _version = 1
    _FLOAT_MODULE: Any = nn.Embedding

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        self.dtype = self._packed_params.dtype
        if _weight is not None:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(
                    f"Embedding: Shape of weight {list(_weight.shape)} does not match num_embeddings and embedding_dim, "
                    f"{[num_embeddings, embedding_dim]}"
                )
            self.set_weight(_weight)

    @property
    def _four_bits(self) -> bool:
        return self.dtype is minitorch.quint4x2

    def forward(self, indices: Any) -> Any:
        operators = minitorch.ops.quantized
        operator = operators.embedding_4bit if self._four_bits else operators.embedding_byte
        return operator(self._packed_params._packed_weight, indices)

    def _get_name(self) -> str:
        return "QuantizedEmbedding"

    def extra_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype={self.dtype}, "
            f"qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return hide_packed_params_from_repr(self, EmbeddingPackedParams)

    def set_weight(self, w: Any) -> None:
        """Replace the rows."""
        self._packed_params.set_weight(w)

    def weight(self) -> Any:
        """Return the rows, a quantized tensor."""
        return self._packed_params._weight()

    @classmethod
    def _quantized_rows(cls, mod: Any) -> tuple[Any, Any]:
        observer = weight_observer(mod, mod)
        if observer.qscheme.name != "per_channel_affine_float_qparams":
            raise AssertionError(
                f"{cls.__name__}.from_float: the weight's scheme must be per_channel_affine_float_qparams, but is "
                f"{observer.qscheme}; use float_qparams_weight_only_qconfig"
            )
        return quantize_weight(mod.weight.detach().float(), observer), observer.dtype

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one with a `QConfig`."""
        weight, dtype = cls._quantized_rows(mod)
        made = cls(mod.num_embeddings, mod.embedding_dim, dtype=dtype)
        made.set_weight(weight)
        return made


class EmbeddingBag(Embedding):
    """Sums of rows of 8 or 4 bits an element, in float32.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
    mode : {"sum"}
    include_last_offset : bool
    dtype : dtype
        quint8 or quint4x2.
    """

    _FLOAT_MODULE = nn.EmbeddingBag

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
        scale_grad_by_freq: bool = False, mode: str = "sum", sparse: bool = False, _weight: Any = None,
        include_last_offset: bool = False, dtype: Any = None,
    ):  # fmt: skip
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        if mode != "sum":
            raise NotImplementedError(f"EmbeddingBag: only mode 'sum' is supported for quantized rows, not {mode!r}")
        self.mode = mode
        self.pruned_weights = False
        self.include_last_offset = include_last_offset

    def forward(
        self, indices: Any, offsets: Any = None, per_sample_weights: Any = None, compressed_indices_mapping: Any = None
    ) -> Any:
        operators = minitorch.ops.quantized
        operator = operators.embedding_bag_4bit if self._four_bits else operators.embedding_bag_byte
        return operator(
            self._packed_params._packed_weight, indices, offsets, False, 0, self.pruned_weights, per_sample_weights,
            compressed_indices_mapping, self.include_last_offset,
        )  # fmt: skip

    def _get_name(self) -> str:
        return "QuantizedEmbeddingBag"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one with a `QConfig`."""
        weight, dtype = cls._quantized_rows(mod)
        made = cls(
            mod.num_embeddings,
            mod.embedding_dim,
            mode=mod.mode,
            include_last_offset=mod.include_last_offset,
            dtype=dtype,
        )
        made.set_weight(weight)
        return made
