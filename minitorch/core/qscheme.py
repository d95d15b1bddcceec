"""Quantization schemes: how the integers of a quantized tensor stand for numbers."""

from __future__ import annotations

__all__ = [
    "per_channel_affine",
    "per_channel_affine_float_qparams",
    "per_channel_symmetric",
    "per_tensor_affine",
    "per_tensor_symmetric",
    "qscheme",
]

QSCHEMES: dict[str, qscheme] = {}
"""Every scheme by its name."""


class qscheme:
    """How the integers of a quantized tensor stand for numbers; one object per scheme.

    The real value is ``(integer - zero_point) * scale``, with one scale and zero point for the tensor or one for each
    index along an axis (its channels).  Tensors are affine; the symmetric schemes are what observers choose parameters by.
    """

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name
        QSCHEMES[name] = self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self):
        return _qscheme_by_name, (self.name,)

    def __copy__(self) -> qscheme:
        return self

    def __deepcopy__(self, memo) -> qscheme:
        return self


def _qscheme_by_name(name: str) -> qscheme:
    return QSCHEMES[name]


per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
