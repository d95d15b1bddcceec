"""`Quantize` and `DeQuantize`: what `QuantStub` and `DeQuantStub` become."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch.nn.modules.module import Module

__all__ = ["DeQuantize", "Quantize"]


class Quantize(Module):
    """Quantizes its input.

    Parameters
    ----------
    scale : float
    zero_point : int
    dtype : dtype
        quint8, qint8 or qint32.
    """

    scale: Any
    zero_point: Any

    def __init__(self, scale: Any, zero_point: Any, dtype: Any, factory_kwargs: dict | None = None):
        super().__init__()
        device = (factory_kwargs or {}).get("device")
        self.register_buffer("scale", minitorch.tensor([float(scale)], device=device))
        self.register_buffer("zero_point", minitorch.tensor([int(zero_point)], dtype=minitorch.long, device=device))
        self.dtype = dtype

    def forward(self, X: Any) -> Any:
        return minitorch.quantize_per_tensor(X, float(self.scale), int(self.zero_point), self.dtype)

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> Quantize:
        """Return the module for a `QuantStub` that has observed its input."""
        observer = getattr(mod, "activation_post_process", None)
        if observer is None:
            raise AssertionError(
                "Quantize.from_float: the QuantStub has no observer; prepare the model, and run it on examples"
            )
        scale, zero_point = observer.calculate_qparams()
        return Quantize(float(scale), int(zero_point), observer.dtype)

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}, dtype={self.dtype}"


class DeQuantize(Module):
    """Dequantizes its input."""

    def forward(self, Xq: Any) -> Any:
        return Xq.dequantize()

    @staticmethod
    def from_float(mod: Any, use_precomputed_fake_quant: bool = False) -> DeQuantize:
        """Return the module for a `DeQuantStub`."""
        return DeQuantize()
