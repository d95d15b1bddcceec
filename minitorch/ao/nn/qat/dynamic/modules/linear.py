"""`Linear` to be trained for dynamic quantization."""

from __future__ import annotations

from typing import Any

from minitorch.ao.nn.qat.modules.linear import Linear as TrainedLinear

__all__ = ["Linear"]


class Linear(TrainedLinear):
    """A linear map whose input gets parameters of its own each time.

    Raises
    ------
    ValueError
        If the activation's observer remembers what came before.
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, qconfig: Any = None, device: Any = None,
        dtype: Any = None,
    ):  # fmt: skip
        # Here, as that package is about modules of this one.
        from minitorch.ao.quantization.qconfig import activation_is_memoryless

        super().__init__(in_features, out_features, bias, qconfig, device, dtype)
        if not activation_is_memoryless(qconfig):
            raise ValueError(
                "qat.dynamic.Linear: Dynamic QAT requires a memoryless observer, one with averaging_constant=1; use "
                "default_dynamic_qat_qconfig"
            )
