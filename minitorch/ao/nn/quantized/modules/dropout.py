"""Dropout in quantized models: nothing."""

from __future__ import annotations

from typing import Any

from minitorch import nn

__all__ = ["Dropout"]


class Dropout(nn.Dropout):
    """Returns its input: a quantized model is not trained."""

    def forward(self, input: Any) -> Any:
        return input

    def _get_name(self) -> str:
        return "QuantizedDropout"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Dropout:
        """Return the module for a float one."""
        return cls(mod.p, mod.inplace)
