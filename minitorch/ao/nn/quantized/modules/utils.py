"""What quantized modules share."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import minitorch
from minitorch.nn.modules.module import Module


class WeightedQuantizedModule(Module, metaclass=ABCMeta):
    """A module with a quantized weight: `weight()` and `bias()` return copies of what is packed for kernels."""

    @abstractmethod
    def weight(self) -> Any:
        """Return the quantized weight."""

    @abstractmethod
    def bias(self) -> Any:
        """Return the float bias, or None."""

    @classmethod
    @abstractmethod
    def from_reference(cls, ref_module: Any, output_scale: float, output_zero_point: int) -> Any:
        """Return the module for a float one with observed weight, and parameters of the result."""


class ResultParameters(Module):
    """A module whose results have `scale` and `zero_point`, numbers that its state holds as tensors."""

    scale: float
    zero_point: int

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "scale"], destination[prefix + "zero_point"] = scalar_tensors(self.scale, self.zero_point)

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, local_metadata: Any, strict: bool, missing_keys: list, unexpected_keys: list,
        error_msgs: list,
    ) -> None:  # fmt: skip
        self.scale = float(state_dict.pop(prefix + "scale"))
        self.zero_point = int(state_dict.pop(prefix + "zero_point"))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, False, missing_keys, unexpected_keys, error_msgs
        )


def quantize_weight(float_wt: Any, observer: Any) -> Any:
    """Return a float weight quantized with the parameters of an observer that has seen it.

    Raises
    ------
    ValueError
        For a scheme that weights cannot have.
    """
    scale, zero_point = observer.calculate_qparams()
    name = observer.qscheme.name
    if name in ("per_tensor_symmetric", "per_tensor_affine"):
        return minitorch.quantize_per_tensor(float_wt, float(scale), int(zero_point), observer.dtype)
    if name in ("per_channel_symmetric", "per_channel_affine"):
        return minitorch.quantize_per_channel(
            float_wt, scale.to(minitorch.double), zero_point.to(minitorch.int64), observer.ch_axis, observer.dtype
        )
    if name == "per_channel_affine_float_qparams":
        return minitorch.quantize_per_channel(
            float_wt, scale.to(minitorch.float), zero_point.to(minitorch.float), observer.ch_axis, observer.dtype
        )
    raise ValueError(
        f"a weight cannot be quantized with {observer.qscheme}; use a per tensor or per channel affine scheme"
    )


def zero_weight(shape: list[int]) -> Any:
    """Return a weight of zeros, for a module that gets another one."""
    return minitorch.quantize_per_tensor(minitorch.zeros(shape), 1.0, 0, minitorch.qint8)


def weight_observer(mod: Any, source: Any) -> Any:
    """Return the observer or fake quantization of a float module's weight, after it has seen it.

    Parameters
    ----------
    mod : Module
        The module that has the `QConfig`.
    source : Module
        The one that has the weight: `mod`, or the first of a fused one.
    """
    observer = getattr(mod, "weight_fake_quant", None)
    if observer is None:
        observer = mod.qconfig.weight()
        observer = observer.to(source.weight.device) if isinstance(observer, Module) else observer
    observer(source.weight)
    return observer


def output_qparams(mod: Any, name: str) -> tuple[float, int]:
    """Return scale and zero point of what a prepared module returns.

    Raises
    ------
    AssertionError
        If it has no observer.
    """
    if not hasattr(mod, "activation_post_process"):
        raise AssertionError(
            f"{name}.from_float: {type(mod).__name__} has no observer of what it returns; prepare the model, and run it "
            "on examples"
        )
    scale, zero_point = mod.activation_post_process.calculate_qparams()
    return float(scale), int(zero_point)


def hide_packed_params_from_repr(self: Any, params: type) -> str:
    """Return the text of a module without that of its packed parameters."""
    parts = [f"({name}): {module!r}" for name, module in self._modules.items() if not isinstance(module, params)]
    inner = "".join(f"\n  {part}" for part in parts)
    return f"{self._get_name()}({self.extra_repr()}{inner + chr(10) if inner else ''})"


def scalar_tensors(scale: float, zero_point: int) -> tuple[Any, Any]:
    """Return scale and zero point as states have them."""
    return minitorch.tensor(float(scale)), minitorch.tensor(int(zero_point))
