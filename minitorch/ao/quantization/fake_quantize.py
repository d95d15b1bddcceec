"""Fake quantization as modules: what stands at weights and activations while a model is trained for quantization.

Constructors, numerics and state are those of ``torch.ao.quantization.fake_quantize``.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import Any

import minitorch
from minitorch.ao.quantization.histogram import HistogramObserver
from minitorch.ao.quantization.observer import (
    FixedQParamsObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)
from minitorch.ao.quantization.partial import given, with_args
from minitorch.ao.quantization.utils import dtype_range, is_per_channel, is_per_tensor, scheme_name
from minitorch.core import qscheme as qschemes
from minitorch.nn.modules.module import Module
from minitorch.ops import functions as F


class FakeQuantizeBase(Module, metaclass=ABCMeta):
    """What modules of fake quantization share: that they can be switched on and off, and so can their observers.

    Attributes
    ----------
    fake_quant_enabled, observer_enabled : Tensor, shape (1,), uint8
    """

    fake_quant_enabled: Any
    observer_enabled: Any

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("fake_quant_enabled", minitorch.tensor([1], dtype=minitorch.uint8))
        self.register_buffer("observer_enabled", minitorch.tensor([1], dtype=minitorch.uint8))

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """Return a tensor rounded to the grid."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point."""

    def enable_fake_quant(self, enabled: bool = True) -> None:
        """Round from now on, or do not."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self) -> None:
        """Return tensors as they are from now on."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled: bool = True) -> None:
        """Choose the parameters by what is seen from now on, or keep them."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self) -> None:
        """Keep the parameters from now on."""
        self.enable_observer(False)

    with_args = classmethod(with_args)


def _checked_range(name: str, observer: Any, kwargs: dict, quant_min: int, quant_max: int) -> None:
    if quant_min > quant_max:
        raise AssertionError(
            f"{name}: quant_min must be less than or equal to quant_max, but they are {quant_min} and {quant_max}"
        )
    dtype = given(observer, "dtype", kwargs.get("dtype") or minitorch.quint8)
    low, high = dtype_range(dtype)
    if quant_min < low or quant_max > high:
        end = "quant_min" if quant_min < low else "quant_max"
        raise AssertionError(
            f"{name}: {end} out of bound: [{quant_min}, {quant_max}] does not fit {dtype}, whose range is [{low}, {high}]"
        )


class FakeQuantize(FakeQuantizeBase):
    """Rounds tensors to the grid that an observer chooses.

    Parameters
    ----------
    observer : ObserverBase class or constructor
    quant_min, quant_max : int, optional
        The range of integers; the observer's unless given.
    is_dynamic : bool
        Whether the parameters are those of the tensor that comes, rather than of all that came.
    **observer_kwargs
        For the observer.

    Attributes
    ----------
    activation_post_process : ObserverBase
    scale, zero_point : Tensor, shape (1,) or (channels,), float32 and int32
        Zero points are float32 for per_channel_affine_float_qparams.

    Notes
    -----
    The gradient passes straight through where the range was not left (`fake_quantize_per_tensor_affine`).
    """

    scale: Any
    zero_point: Any

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int | None = None,
        quant_max: int | None = None,
        is_dynamic: bool = False,
        **observer_kwargs: Any,
    ):
        super().__init__()
        if quant_min is not None and quant_max is not None:
            _checked_range(type(self).__name__, observer, observer_kwargs, quant_min, quant_max)
            observer_kwargs.update(quant_min=quant_min, quant_max=quant_max)
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = observer(**observer_kwargs)
        self.quant_min = self.activation_post_process.quant_min
        self.quant_max = self.activation_post_process.quant_max
        self.is_dynamic = is_dynamic
        floating = scheme_name(self.activation_post_process.qscheme) == "per_channel_affine_float_qparams"
        self.register_buffer("scale", minitorch.tensor([1.0], dtype=minitorch.float32))
        self.register_buffer(
            "zero_point", minitorch.tensor([0], dtype=minitorch.float32 if floating else minitorch.int32)
        )
        self.dtype = self.activation_post_process.dtype
        self.qscheme = self.activation_post_process.qscheme
        self.ch_axis = getattr(self.activation_post_process, "ch_axis", -1)
        if not is_per_channel(self.qscheme) and not is_per_tensor(self.qscheme):
            raise AssertionError(f"FakeQuantize: the scheme {self.qscheme} is neither per channel nor per tensor")
        self.is_per_channel = is_per_channel(self.qscheme)

    def calculate_qparams(self) -> Any:  # type: ignore[override]
        """Return the observer's scale and zero point."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X: Any) -> Any:
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            self._keep(*self.calculate_qparams())
        if self.fake_quant_enabled[0] == 1:
            X = self._round(X)
        return X

    def _keep(self, scale: Any, zero_point: Any) -> None:
        with minitorch.no_grad():
            self.scale.resize_(scale.shape).copy_(scale)
            self.zero_point.resize_(zero_point.shape).copy_(zero_point)

    def _round(self, X: Any) -> Any:
        if self.is_per_channel:
            return F.fake_quantize_per_channel_affine(
                X, self.scale, self.zero_point, self.ch_axis, self.quant_min, self.quant_max
            )
        return F.fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, self.quant_min, self.quant_max)

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
            f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        # As many as there are channels, which a new module does not know.
        for name in ("scale", "zero_point"):
            value = state_dict.get(prefix + name)
            if value is not None:
                getattr(self, name).resize_(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds to a grid that is given: for functions whose range is known.

    Parameters
    ----------
    observer : constructor of a FixedQParamsObserver
    """

    def __init__(self, observer: Any):
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError(
                f"FixedQParamsFakeQuantize: its observer must be a FixedQParamsObserver, not "
                f"{type(self.activation_post_process).__name__}"
            )
        self._observer_ctr = observer
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point
        if not is_per_tensor(self.qscheme):
            raise AssertionError(f"FixedQParamsFakeQuantize: the scheme must be per tensor, not {self.qscheme}")

    def calculate_qparams(self) -> Any:
        """Return the scale and the zero point that were given."""
        return self.scale, self.zero_point

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min}, quant_max={self.quant_max}, "
            f"qscheme={self.qscheme}"
        )


class FusedMovingAvgObsFakeQuantize(FakeQuantize):
    """Rounds to the grid of a moving average of ranges, whose parameters are chosen as kernels choose them.

    Differs from `FakeQuantize` with the same observer in the last bits of the scale, and in the zero point: see
    `ops.composite.moving_ranges`.

    Parameters
    ----------
    observer : MovingAverageMinMaxObserver or MovingAveragePerChannelMinMaxObserver
    quant_min, quant_max : int
    **observer_kwargs
    """

    def __init__(
        self,
        observer: Any = MovingAverageMinMaxObserver,
        quant_min: int = 0,
        quant_max: int = 255,
        **observer_kwargs: Any,
    ):
        super().__init__(observer, quant_min, quant_max, **observer_kwargs)
        if not isinstance(
            self.activation_post_process, (MovingAverageMinMaxObserver, MovingAveragePerChannelMinMaxObserver)
        ):
            raise AssertionError(
                "FusedMovingAvgObsFakeQuantize: its observer must be a MovingAverageMinMaxObserver or a "
                f"MovingAveragePerChannelMinMaxObserver, not {type(self.activation_post_process).__name__}"
            )
        self.register_buffer("fake_quant_enabled", minitorch.tensor([1], dtype=minitorch.long))
        self.register_buffer("observer_enabled", minitorch.tensor([1], dtype=minitorch.long))
        self.is_symmetric_quant = scheme_name(self.qscheme) in ("per_tensor_symmetric", "per_channel_symmetric")

    def forward(self, X: Any) -> Any:
        observer = self.activation_post_process
        return F.fused_moving_avg_obs_fake_quant(
            X, self.observer_enabled, self.fake_quant_enabled, observer.min_val, observer.max_val, self.scale, self.zero_point,
            observer.averaging_constant, self.quant_min, self.quant_max, max(self.ch_axis, 0), self.is_per_channel,
            self.is_symmetric_quant,
        )  # fmt: skip

    def extra_repr(self) -> str:
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, scale={self.scale}, "
            f"zero_point={self.zero_point}, dtype={self.dtype}, quant_min={self.quant_min}, quant_max={self.quant_max}, "
            f"qscheme={self.qscheme}, reduce_range={self.activation_post_process.reduce_range}"
        )


# ---------------------------------------------------------------- switches for ``model.apply``


def _is_fake_quant(mod: Any) -> bool:
    return isinstance(mod, FakeQuantizeBase)


def disable_fake_quant(mod: Any) -> None:
    """Make a module return tensors as they are, if it is one of fake quantization: ``model.apply(disable_fake_quant)``."""
    if _is_fake_quant(mod):
        mod.disable_fake_quant()


def enable_fake_quant(mod: Any) -> None:
    """Make a module round, if it is one of fake quantization: ``model.apply(enable_fake_quant)``."""
    if _is_fake_quant(mod):
        mod.enable_fake_quant()


def disable_observer(mod: Any) -> None:
    """Make a module of fake quantization keep its parameters: ``model.apply(disable_observer)``."""
    if _is_fake_quant(mod):
        mod.disable_observer()


def enable_observer(mod: Any) -> None:
    """Make a module of fake quantization choose its parameters: ``model.apply(enable_observer)``."""
    if _is_fake_quant(mod):
        mod.enable_observer()


# ---------------------------------------------------------------- defaults

default_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=minitorch.quint8,
    qscheme=qschemes.per_tensor_affine, reduce_range=True,
)  # fmt: skip
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=minitorch.qint8,
    qscheme=qschemes.per_tensor_symmetric, reduce_range=False,
)  # fmt: skip
default_dynamic_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, is_dynamic=True, dtype=minitorch.quint8,
    averaging_constant=1,
)  # fmt: skip
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)
default_symmetric_fixed_qparams_fake_quant = default_fixed_qparams_range_neg1to1_fake_quant
default_affine_fixed_qparams_fake_quant = default_fixed_qparams_range_0to1_fake_quant
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, dtype=minitorch.qint8,
    qscheme=qschemes.per_channel_symmetric, reduce_range=False, ch_axis=0,
)  # fmt: skip
default_embedding_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, qscheme=qschemes.per_channel_affine_float_qparams,
    dtype=minitorch.quint8, quant_min=0, quant_max=255, ch_axis=0, averaging_constant=1,
)  # fmt: skip
default_embedding_fake_quant_4bit = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, qscheme=qschemes.per_channel_affine_float_qparams, ch_axis=0,
    dtype=minitorch.quint4x2, averaging_constant=1,
)  # fmt: skip
default_histogram_fake_quant = FakeQuantize.with_args(
    observer=HistogramObserver, quant_min=0, quant_max=255, dtype=minitorch.quint8, qscheme=qschemes.per_tensor_affine,
    reduce_range=True,
)  # fmt: skip
default_fused_act_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, dtype=minitorch.quint8
)
default_fused_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=minitorch.qint8,
    qscheme=qschemes.per_tensor_symmetric,
)  # fmt: skip
default_fused_per_channel_wt_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-128, quant_max=127, dtype=minitorch.qint8,
    qscheme=qschemes.per_channel_symmetric,
)  # fmt: skip
fused_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, quant_min=-127, quant_max=127, dtype=minitorch.qint8,
    qscheme=qschemes.per_tensor_symmetric, eps=2**-12,
)  # fmt: skip
fused_per_channel_wt_fake_quant_range_neg_127_to_127 = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, quant_min=-127, quant_max=127, dtype=minitorch.qint8,
    qscheme=qschemes.per_channel_symmetric, eps=2**-12,
)  # fmt: skip

_SWITCHES_AND_DEFAULTS = ("default_", "fused_", "enable_fake", "disable_fake", "enable_observer", "disable_observer")
__all__ = [name for name in dir() if name.startswith(_SWITCHES_AND_DEFAULTS) and not name.endswith("_observer")] + [
    "FakeQuantize", "FakeQuantizeBase", "FixedQParamsFakeQuantize", "FusedMovingAvgObsFakeQuantize", "disable_observer",
    "enable_observer",
]  # fmt: skip
