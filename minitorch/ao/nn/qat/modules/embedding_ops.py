"""Embeddings whose rows are fake quantized."""

from __future__ import annotations

from typing import Any

from minitorch import nn
from minitorch.ao.nn.qat.modules.common import checked_float_module, required_qconfig
from minitorch.nn import functional as F

__all__ = ["Embedding", "EmbeddingBag"]


def _with_row_scales(qconfig: Any, name: str) -> Any:
    made = required_qconfig(qconfig, name).weight()
    if made.qscheme.name != "per_channel_affine_float_qparams":
        raise AssertionError(
            f"{name}: the weight's scheme must be per_channel_affine_float_qparams, but is {made.qscheme}; "
            "use default_embedding_qat_qconfig"
        )
    return made


class Embedding(nn.Embedding):
    """`nn.Embedding` with rows that are fake quantized; takes its arguments, and a `qconfig`."""

    _FLOAT_MODULE = nn.Embedding

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.weight_fake_quant = _with_row_scales(qconfig, type(self).__name__)
        self.qconfig = qconfig

    def forward(self, input: Any) -> Any:
        return F.embedding(
            input, self.weight_fake_quant(self.weight), self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one, with the same weight (not a copy)."""
        checked_float_module(mod, cls, (cls._FLOAT_MODULE,))
        made = cls(
            mod.num_embeddings, mod.embedding_dim, mod.padding_idx, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq,
            mod.sparse, qconfig=mod.qconfig,
        )  # fmt: skip
        made.weight = mod.weight
        return made

    def to_float(self) -> nn.Embedding:
        """Return the float module."""
        return nn.Embedding(
            self.num_embeddings, self.embedding_dim, self.padding_idx, self.max_norm, self.norm_type,
            self.scale_grad_by_freq, self.sparse, self.weight.detach(),
        )  # fmt: skip


class EmbeddingBag(nn.EmbeddingBag):
    """`nn.EmbeddingBag` with rows that are fake quantized; takes its arguments, and a `qconfig`."""

    _FLOAT_MODULE = nn.EmbeddingBag

    def __init__(self, *args: Any, qconfig: Any = None, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.weight_fake_quant = _with_row_scales(qconfig, type(self).__name__)
        self.qconfig = qconfig

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        return F.embedding_bag(
            input, self.weight_fake_quant(self.weight), offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
            self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one, with the same weight (not a copy)."""
        checked_float_module(mod, cls, (cls._FLOAT_MODULE,))
        made = cls(
            mod.num_embeddings, mod.embedding_dim, mod.max_norm, mod.norm_type, mod.scale_grad_by_freq, mod.mode,
            mod.sparse, None, mod.include_last_offset, mod.padding_idx, qconfig=mod.qconfig,
        )  # fmt: skip
        made.weight = mod.weight
        return made

    def to_float(self) -> nn.EmbeddingBag:
        """Return the float module."""
        return nn.EmbeddingBag(
            self.num_embeddings, self.embedding_dim, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
            self.sparse, self.weight.detach(), self.include_last_offset, self.padding_idx,
        )  # fmt: skip
