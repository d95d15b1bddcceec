"""Observers: modules that see tensors pass, and choose the scale and zero point to quantize them with.

Constructors, numerics and state are those of ``torch.ao.quantization.observer``.
"""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections import OrderedDict
from functools import partial
from typing import Any

import minitorch
from minitorch.ao.quantization.partial import PartialConstructor, with_args, with_callable_args
from minitorch.ao.quantization.utils import (
    check_range,
    determine_qparams,
    is_per_channel,
    quantization_range,
    scheme_name,
)
from minitorch.core import qscheme as qschemes
from minitorch.nn.modules.module import Module

EPS = 2.0**-23  # of float32: the least scale


class ObserverBase(Module, metaclass=ABCMeta):
    """What all observers are.

    Parameters
    ----------
    dtype : dtype
        What the observed tensor shall become.
    is_dynamic : bool
        Whether parameters are chosen anew for each tensor when the model runs, rather than once.
    """

    def __init__(self, dtype: Any, is_dynamic: bool = False):
        super().__init__()
        self.dtype = dtype
        self.is_dynamic = is_dynamic

    @abstractmethod
    def forward(self, x: Any) -> Any:
        """Take note of a tensor, and return it."""

    @abstractmethod
    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point."""

    with_args = classmethod(with_args)
    with_callable_args = classmethod(with_callable_args)


class UniformQuantizationObserverBase(ObserverBase):
    """What observers share that choose a scale and a zero point from a range of numbers.

    Parameters
    ----------
    dtype : dtype
        quint8, qint8, qint32, quint4x2, or an integer dtype.
    qscheme : qscheme
    reduce_range : bool
        Leave one bit unused, so that sums of products of two such numbers fit 16 bits.
    quant_min, quant_max : int, optional
        The range of integers, where it is not that of the dtype.
    factory_kwargs : dict, optional
        The device and dtype of buffers.
    eps : float
        The least scale.
    is_dynamic : bool

    Raises
    ------
    NotImplementedError
        For a scheme that it does not know.
    AssertionError
        If the range does not contain 0 or does not fit the dtype.
    """

    _version = 3
    eps: Any
    min_val: Any
    max_val: Any

    def __init__(
        self,
        dtype: Any = None,
        qscheme: Any = None,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict | None = None,
        eps: float = EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ):
        super().__init__(dtype=minitorch.quint8 if dtype is None else dtype, is_dynamic=is_dynamic)
        qscheme = qschemes.per_tensor_affine if qscheme is None else qscheme
        if scheme_name(qscheme) not in (
            "per_tensor_affine", "per_tensor_symmetric", "per_channel_affine", "per_channel_symmetric",
            "per_channel_affine_float_qparams",
        ):  # fmt: skip
            raise NotImplementedError(
                f"{type(self).__name__}: the scheme {qscheme} is not known; use per_tensor_affine, per_tensor_symmetric, "
                "per_channel_affine, per_channel_symmetric or per_channel_affine_float_qparams"
            )
        self.qscheme = qscheme
        self.reduce_range = reduce_range
        self._made_with = _factory(factory_kwargs)
        self.register_buffer("eps", minitorch.tensor([eps], **self._made_with))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            check_range(quant_min, quant_max)  # type: ignore[arg-type]
        self.quant_min, self.quant_max = quantization_range(quant_min, quant_max, self.dtype, reduce_range)

    def _calculate_qparams(self, min_val: Any, max_val: Any) -> tuple[Any, Any]:
        """Return scale and zero point for a range of numbers."""
        return determine_qparams(
            min_val,
            max_val,
            self.quant_min,
            self.quant_max,
            self.dtype,
            self.eps,
            self.has_customized_qrange,
            self.qscheme,
        )

    def _validate_qmin_qmax(self, quant_min: int, quant_max: int) -> None:
        check_range(quant_min, quant_max)

    def reset_min_max_vals(self) -> None:
        """Forget what was seen."""
        raise NotImplementedError(f"{type(self).__name__} cannot forget what it has seen")


def _factory(factory_kwargs: dict | None) -> dict:
    return {"dtype": minitorch.float32, **(factory_kwargs or {})}


class MinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and the greatest number that it has seen.

    Parameters are those of `UniformQuantizationObserverBase`.  State: ``min_val`` and ``max_val``, 0-dim tensors.

    Examples
    --------
    >>> from minitorch.ao.quantization import MinMaxObserver
    >>> observer = MinMaxObserver()
    >>> _ = observer(minitorch.tensor([-1.0, 0.0, 1.55]))
    >>> observer.calculate_qparams()
    (tensor([0.0100]), tensor([100], dtype=torch.int32))
    """

    def __init__(
        self,
        dtype: Any = None,
        qscheme: Any = None,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict | None = None,
        eps: float = EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ):
        if is_per_channel(qscheme):
            raise NotImplementedError(
                f"{type(self).__name__} has one range for the whole tensor, but the scheme is {qscheme}; use "
                "PerChannelMinMaxObserver"
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.register_buffer("min_val", minitorch.tensor(float("inf"), **self._made_with))
        self.register_buffer("max_val", minitorch.tensor(float("-inf"), **self._made_with))
        if scheme_name(self.qscheme) == "per_tensor_symmetric" and self.reduce_range and self.dtype.name == "quint8":
            raise NotImplementedError(
                f"{type(self).__name__}: Cannot reduce range for symmetric quantization for quint8; use qint8, or "
                "an affine scheme"
            )

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        low, high = minitorch.aminmax(x_orig.detach().to(self.min_val.dtype))
        self._set(minitorch.minimum(low, self.min_val), minitorch.maximum(high, self.max_val))
        return x_orig

    def _set(self, low: Any, high: Any) -> None:
        with minitorch.no_grad():
            self.min_val.copy_(low)
            self.max_val.copy_(high)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return scale and zero point, tensors of shape (1,)."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        self._set(minitorch.tensor(float("inf")), minitorch.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Keeps moving averages of the least and the greatest numbers of tensors.

    Parameters
    ----------
    averaging_constant : float
        The weight of the newest tensor; the first has weight 1.
    dtype, qscheme, ...
        As of `MinMaxObserver`.
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: Any = None,
        qscheme: Any = None,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ):
        self.averaging_constant = averaging_constant
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                f"{type(self).__name__}: parameters that are chosen anew for each tensor have no average; averaging_constant "
                f"must be 1, but is {averaging_constant}"
            )

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        low, high = minitorch.aminmax(x_orig.detach().to(self.min_val.dtype))
        if not (self.min_val == float("inf") and self.max_val == float("-inf")):
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self._set(low, high)
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Keeps the least and the greatest number of each channel.

    Parameters
    ----------
    ch_axis : int
        The dimension of the channels.
    dtype, qscheme, ...
        As of `UniformQuantizationObserverBase`; `qscheme` is per_channel_affine unless given.
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: Any = None,
        qscheme: Any = None,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict | None = None,
        eps: float = EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ):
        qscheme = qschemes.per_channel_affine if qscheme is None else qscheme
        if not is_per_channel(qscheme):
            raise NotImplementedError(
                f"{type(self).__name__} has a range for each channel, but the scheme is {qscheme}; use MinMaxObserver"
            )
        if is_dynamic:
            raise NotImplementedError(f"{type(self).__name__}: parameters of channels cannot be dynamic")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", minitorch.tensor([], **self._made_with))
        self.register_buffer("max_val", minitorch.tensor([], **self._made_with))
        if scheme_name(self.qscheme) == "per_channel_symmetric" and self.reduce_range and self.dtype.name == "quint8":
            raise NotImplementedError(
                f"{type(self).__name__}: Cannot reduce range for symmetric quantization for quint8; use qint8, or "
                "an affine scheme"
            )

    def _channel_ranges(self, x: Any) -> tuple[Any, Any]:
        """Return the least and the greatest number of each channel."""
        rows = minitorch.movedim(x.detach(), self.ch_axis, 0).to(self.min_val.dtype).flatten(1)
        return minitorch.aminmax(rows, dim=1)

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        low, high = self._channel_ranges(x_orig)
        if self.min_val.numel():
            low, high = minitorch.minimum(low, self.min_val), minitorch.maximum(high, self.max_val)
        self._set(low, high)
        return x_orig

    def _set(self, low: Any, high: Any) -> None:
        with minitorch.no_grad():
            self.min_val.resize_(low.shape)
            self.max_val.resize_(high.shape)
            self.min_val.copy_(low)
            self.max_val.copy_(high)

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return scales and zero points, tensors of shape (channels,)."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        # The sizes are those of the tensors that were seen.
        for name in ("min_val", "max_val"):
            value = state_dict.get(prefix + name)
            if value is not None:
                getattr(self, name).resize_(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def reset_min_max_vals(self) -> None:
        self._set(minitorch.rand(0), minitorch.rand(0))


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Keeps moving averages of the least and the greatest numbers of each channel.

    Parameters are those of `MovingAverageMinMaxObserver`, and `ch_axis`.
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: Any = None,
        qscheme: Any = None,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ):
        super().__init__(
            ch_axis, dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs
        )
        self.averaging_constant = averaging_constant

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        low, high = self._channel_ranges(x_orig)
        if self.min_val.numel():
            low = self.min_val + self.averaging_constant * (low - self.min_val)
            high = self.max_val + self.averaging_constant * (high - self.max_val)
        self._set(low, high)
        return x_orig


class FixedQParamsObserver(ObserverBase):
    """Has a scale and a zero point from the start: for functions whose range is known, such as ``sigmoid``.

    Parameters
    ----------
    scale : float
    zero_point : int
    dtype, qscheme
    quant_min, quant_max : int
    """

    scale: Any
    zero_point: Any

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: Any = None,
        qscheme: Any = None,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: Any,
    ):
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver: fixed parameters cannot be dynamic")
        super().__init__(dtype=minitorch.quint8 if dtype is None else dtype, is_dynamic=is_dynamic)
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.register_buffer("scale", minitorch.tensor([scale], dtype=minitorch.float32))
        self.register_buffer("zero_point", minitorch.tensor([zero_point], dtype=minitorch.int32))
        self.qscheme = qschemes.per_tensor_affine if qscheme is None else qscheme

    def forward(self, X: Any) -> Any:
        return X

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return the scale and the zero point that were given."""
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Sees nothing, and says which dtype a tensor shall get: float16, or one whose parameters are chosen when the model runs.

    Parameters
    ----------
    dtype : dtype
        float32 unless given.
    custom_op_name : str
    compute_dtype : dtype, optional
        Of older models: the dtype of dynamic quantization; sets `is_dynamic`.
    quant_min, quant_max : int, optional
    qscheme : qscheme, optional
    eps : float, optional
    is_dynamic : bool
    """

    def __init__(
        self,
        dtype: Any = None,
        custom_op_name: str = "",
        compute_dtype: Any = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: Any = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ):
        dtype = minitorch.float32 if dtype is None else dtype
        super().__init__(dtype=dtype if compute_dtype is None else compute_dtype, is_dynamic=is_dynamic)
        self.qscheme = qschemes.per_tensor_affine if qscheme is None else qscheme
        self.quant_min = quant_min
        self.quant_max = quant_max
        self.eps = eps
        self.custom_op = custom_op_name
        if compute_dtype:
            self.is_dynamic = True

    def forward(self, x: Any) -> Any:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "PlaceholderObserver sees nothing, so it has no parameters to calculate; use another observer"
        )


class RecordingObserver(ObserverBase):
    """Keeps copies of the tensors that it has seen, for a look at them.

    Attributes
    ----------
    tensor_val : list of Tensor
    """

    def __init__(self, dtype: Any = None):
        super().__init__(dtype=minitorch.quint8 if dtype is None else dtype, is_dynamic=False)
        self.tensor_val: list = []

    def forward(self, x: Any) -> Any:
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "RecordingObserver keeps tensors and has no parameters to calculate; use another observer"
        )

    def get_tensor_value(self) -> list:
        """Return the tensors."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Sees nothing: where a module is converted to float16, or nothing is quantized."""

    def __init__(self, dtype: Any = None, custom_op_name: str = ""):
        super().__init__(dtype=minitorch.float16 if dtype is None else dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise NotImplementedError(
            "NoopObserver sees nothing, so it has no parameters to calculate; use another observer"
        )


class ReuseInputObserver(ObserverBase):
    """Stands for the observer of the operator's input: of operators that keep scale and zero point, such as ``reshape``."""

    def __init__(self) -> None:
        super().__init__(minitorch.quint8, is_dynamic=False)

    def forward(self, x: Any) -> Any:
        return x

    def calculate_qparams(self, **kwargs: Any) -> Any:
        raise NotImplementedError("ReuseInputObserver stands for another observer, which has the parameters")


def get_observer_state_dict(mod: Module) -> OrderedDict:
    """Return the part of a model's state that belongs to observers."""
    return OrderedDict((k, v) for k, v in mod.state_dict().items() if "activation_post_process" in k)


def load_observer_state_dict(mod: Module, obs_dict: dict) -> None:
    """Load the state of observers, which `get_observer_state_dict` has returned, into a prepared model.

    Raises
    ------
    RuntimeError
        If there are observers without state, or state without observers.
    """
    own = [k for k in mod.state_dict() if "activation_post_process" in k]
    missing = [k for k in own if k not in obs_dict]
    unexpected = [k for k in obs_dict if k not in own]
    if missing or unexpected:
        raise RuntimeError(
            f"load_observer_state_dict: missing {missing}, unexpected {unexpected}; prepare the model the same way"
        )
    mod.load_state_dict(obs_dict, strict=False)


def is_observer(module: Any) -> bool:
    """Return whether a module is an observer."""
    return isinstance(module, ObserverBase)


# ---------------------------------------------------------------- defaults

# Activations with one bit unused, as products of 8-bit numbers are summed in 16 bits by some kernels.
default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(dtype=minitorch.qint8, qscheme=qschemes.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=minitorch.qint8, qscheme=qschemes.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=minitorch.qint8, qscheme=qschemes.per_channel_symmetric
)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=minitorch.qint8, qscheme=qschemes.per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=minitorch.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=minitorch.quint8, qscheme=qschemes.per_channel_affine_float_qparams, ch_axis=0
)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=minitorch.quint4x2, qscheme=qschemes.per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=minitorch.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=minitorch.quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = ReuseInputObserver

__all__ = [name for name in dir() if name.endswith("Observer") or "default_" in name or "observer_range" in name] + [
    "ObserverBase", "PartialConstructor", "UniformQuantizationObserverBase", "get_observer_state_dict", "is_observer",
    "load_observer_state_dict", "partial",
]  # fmt: skip
