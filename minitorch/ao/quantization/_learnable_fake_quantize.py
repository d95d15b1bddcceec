"""Fake quantization whose scale and zero point are learned, under PyTorch's name for it."""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch.ao.quantization.fake_quantize import FakeQuantizeBase
from minitorch.ao.quantization.observer import EPS
from minitorch.ao.quantization.utils import SYMMETRIC, check_range, is_per_channel, scheme_name
from minitorch.nn.parameter import Parameter
from minitorch.ops import functions as F

__all__ = ["_LearnableFakeQuantize"]


class _LearnableFakeQuantize(FakeQuantizeBase):
    """Rounds tensors to a grid whose parameters are chosen by an observer first, and learned afterwards.

    Parameters
    ----------
    observer : ObserverBase class or constructor
    quant_min, quant_max : int
    scale, zero_point : float
        What they start with.
    channel_len : int
        How many channels there are; -1 for one grid of the whole tensor.
    use_grad_scaling : bool
        Divide the gradients of the parameters by the square root of the number of elements times `quant_max`.
    **observer_kwargs

    Notes
    -----
    Starts by following the observer; `enable_param_learning` makes it learn.  Esser et al. (2020), Bhalgat et al. (2020).
    """

    static_enabled: Any
    learning_enabled: Any
    eps: Any

    def __init__(
        self, observer: Any, quant_min: int = 0, quant_max: int = 255, scale: float = 1.0, zero_point: float = 0.0,
        channel_len: int = -1, use_grad_scaling: bool = False, **observer_kwargs: Any,
    ):  # fmt: skip
        super().__init__()
        check_range(quant_min, quant_max)
        if channel_len != -1 and channel_len <= 0:
            raise AssertionError(f"_LearnableFakeQuantize: channel_len must be positive or -1, not {channel_len}")
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.use_grad_scaling = use_grad_scaling
        count = max(channel_len, 1)
        self.scale = Parameter(minitorch.tensor([float(scale)] * count))
        self.zero_point = Parameter(minitorch.tensor([float(zero_point)] * count))
        self.activation_post_process = observer(quant_min=quant_min, quant_max=quant_max, **observer_kwargs)
        self.dtype = self.activation_post_process.dtype
        self.qscheme = self.activation_post_process.qscheme
        self.ch_axis = getattr(self.activation_post_process, "ch_axis", -1)
        self.register_buffer("fake_quant_enabled", minitorch.tensor([1], dtype=minitorch.uint8))
        self.register_buffer("static_enabled", minitorch.tensor([1], dtype=minitorch.uint8))
        self.register_buffer("learning_enabled", minitorch.tensor([0], dtype=minitorch.uint8))
        self.register_buffer("eps", minitorch.tensor([EPS]))

    def enable_param_learning(self) -> _LearnableFakeQuantize:
        """Learn the parameters from now on, and leave the observer alone; return the module."""
        return self._switch(learn=True, round_off=True, observe=False)

    def enable_static_estimate(self) -> _LearnableFakeQuantize:
        """Follow the observer from now on; return the module."""
        return self._switch(learn=False, round_off=True, observe=True)

    def enable_static_observation(self) -> _LearnableFakeQuantize:
        """Let the observer see tensors from now on, and return them as they are; return the module."""
        return self._switch(learn=False, round_off=False, observe=True)

    def _switch(self, learn: bool, round_off: bool, observe: bool) -> _LearnableFakeQuantize:
        self.learning_enabled[0] = int(learn)
        self.scale.requires_grad_(learn)
        self.zero_point.requires_grad_(learn)
        self.fake_quant_enabled[0] = int(round_off)
        self.static_enabled[0] = int(observe)
        return self

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale, and the zero point as integers of the range."""
        scale = self.scale.detach().clamp(min=self.eps.item())
        zero_point = self.zero_point.detach().round().clamp(self.quant_min, self.quant_max).long()
        return scale, zero_point

    def forward(self, X: Any) -> Any:
        with minitorch.no_grad():
            if self.static_enabled[0] == 1:
                self.activation_post_process(X.detach())
                scale, zero_point = self.activation_post_process.calculate_qparams()
                self.scale.copy_(scale)
                self.zero_point.copy_(zero_point)
            else:
                self.scale.clamp_(min=self.eps.item())
            if scheme_name(self.qscheme) in SYMMETRIC:
                self.zero_point.zero_()
        if self.fake_quant_enabled[0] != 1:
            return X
        factor = 1.0 / (X.numel() * self.quant_max) ** 0.5 if self.use_grad_scaling else 1.0
        if is_per_channel(self.qscheme):
            return F._fake_quantize_learnable_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, self.quant_min, self.quant_max, factor
            )
        return F._fake_quantize_learnable_per_tensor_affine(
            X, self.scale, self.zero_point, self.quant_min, self.quant_max, factor
        )
