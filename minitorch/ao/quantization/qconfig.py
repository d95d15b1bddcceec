"""`QConfig`: which observers a module's activations and weights get."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import minitorch
from minitorch.ao.quantization import fake_quantize as fq
from minitorch.ao.quantization import observer as ob
from minitorch.ao.quantization.histogram import HistogramObserver
from minitorch.ao.quantization.partial import PartialConstructor
from minitorch.nn import Identity, Module


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """How a module is quantized: a constructor of observers for what it returns, and one for its weight.

    Parameters
    ----------
    activation, weight : class or constructor
        Made once for each place: ``MinMaxObserver.with_args(dtype=minitorch.qint8)``, never a module.

    Examples
    --------
    >>> from minitorch.ao.quantization import QConfig, default_observer, default_weight_observer
    >>> qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
    """

    __slots__ = ()

    def __new__(cls, activation: Any, weight: Any):
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received an observer; it needs the class or MyObserver.with_args(...), as each place gets one of its own"
            )
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig | None

BACKENDS = ("fbgemm", "x86", "qnnpack", "onednn")

default_qconfig = QConfig(activation=ob.default_observer, weight=ob.default_weight_observer)
default_debug_qconfig = QConfig(weight=ob.default_weight_observer, activation=ob.default_debug_observer)
default_per_channel_qconfig = QConfig(activation=ob.default_observer, weight=ob.default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(activation=ob.default_dynamic_quant_observer, weight=ob.default_weight_observer)
float16_dynamic_qconfig = QConfig(
    activation=ob.PlaceholderObserver.with_args(dtype=minitorch.float16, is_dynamic=True),
    weight=ob.PlaceholderObserver.with_args(dtype=minitorch.float16),
)
float16_static_qconfig = QConfig(
    activation=ob.PlaceholderObserver.with_args(dtype=minitorch.float16),
    weight=ob.PlaceholderObserver.with_args(dtype=minitorch.float16),
)
per_channel_dynamic_qconfig = QConfig(
    activation=ob.default_dynamic_quant_observer, weight=ob.default_per_channel_weight_observer
)
float_qparams_weight_only_qconfig = QConfig(
    activation=ob.default_placeholder_observer, weight=ob.default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    activation=ob.default_placeholder_observer, weight=ob.default_float_qparams_observer_4bit
)
default_qat_qconfig = QConfig(activation=fq.default_fake_quant, weight=fq.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(activation=fq.default_dynamic_fake_quant, weight=fq.default_weight_fake_quant)
default_weight_only_qconfig = QConfig(activation=Identity, weight=fq.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(activation=fq.default_fake_quant, weight=Identity)
default_qat_qconfig_v2 = QConfig(activation=fq.default_fused_act_fake_quant, weight=fq.default_fused_wt_fake_quant)
default_reuse_input_qconfig = QConfig(activation=ob.default_reuse_input_observer, weight=ob.NoopObserver)
default_quint8_weight_qconfig = QConfig(activation=HistogramObserver, weight=ob.MinMaxObserver)
default_embedding_qat_qconfig = QConfig(
    activation=ob.NoopObserver.with_args(dtype=minitorch.float32), weight=fq.default_embedding_fake_quant
)
default_embedding_qat_qconfig_4bit = QConfig(
    activation=ob.NoopObserver.with_args(dtype=minitorch.float32), weight=fq.default_embedding_fake_quant_4bit
)
default_symmetric_qnnpack_qconfig = QConfig(
    activation=HistogramObserver.with_args(dtype=minitorch.qint8, reduce_range=False, eps=2**-12),
    weight=ob.weight_observer_range_neg_127_to_127,
)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    activation=HistogramObserver.with_args(dtype=minitorch.qint8, reduce_range=False, eps=2**-12),
    weight=ob.per_channel_weight_observer_range_neg_127_to_127,
)
_SYMMETRIC_ACTIVATION = fq.FusedMovingAvgObsFakeQuantize.with_args(
    observer=ob.MovingAverageMinMaxObserver, quant_min=-128, quant_max=127, dtype=minitorch.qint8, reduce_range=False,
    eps=2**-12,
)  # fmt: skip
default_symmetric_qnnpack_qat_qconfig = QConfig(
    activation=_SYMMETRIC_ACTIVATION, weight=fq.fused_wt_fake_quant_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    activation=_SYMMETRIC_ACTIVATION, weight=fq.fused_per_channel_wt_fake_quant_range_neg_127_to_127
)


def _check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {list(BACKENDS)}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """Return the `QConfig` for static quantization after training.

    Parameters
    ----------
    backend : {"x86", "fbgemm", "qnnpack", "onednn"}
        Whose numerics are wanted: of x86 and fbgemm, activations leave one bit unused; qnnpack has one scale for all
        channels of a weight.
    version : int
        0.

    Raises
    ------
    AssertionError
        For another backend or version.
    """
    _check_backend(backend)
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )
    reduced = backend in ("x86", "fbgemm")
    weight = ob.default_weight_observer if backend == "qnnpack" else ob.default_per_channel_weight_observer
    return QConfig(activation=HistogramObserver.with_args(reduce_range=reduced), weight=weight)


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """Return the `QConfig` for training with fake quantization.

    Parameters
    ----------
    backend : {"x86", "fbgemm", "qnnpack", "onednn"}
    version : int
        0: `FakeQuantize`; 1: `FusedMovingAvgObsFakeQuantize`.

    Raises
    ------
    AssertionError
        For another backend or version.
    """
    _check_backend(backend)
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version} in get_default_qat_qconfig is not supported. Version number must be 0 or 1"
        )
    cls = fq.FusedMovingAvgObsFakeQuantize if version else fq.FakeQuantize
    reduced = {} if backend == "onednn" else {"reduce_range": backend in ("x86", "fbgemm")}
    activation = cls.with_args(observer=ob.MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **reduced)
    if backend == "qnnpack":
        weight = fq.default_fused_wt_fake_quant if version else fq.default_weight_fake_quant
    else:
        weight = fq.default_fused_per_channel_wt_fake_quant if version else fq.default_per_channel_weight_fake_quant
    return QConfig(activation=activation, weight=weight)


def assert_valid_qconfig(qconfig: QConfigAny, mod: Module) -> None:
    """Raise `AssertionError` where a module cannot have weights with a scale for each channel."""
    if qconfig is None:
        return
    transposed = (minitorch.nn.ConvTranspose1d, minitorch.nn.ConvTranspose2d, minitorch.nn.ConvTranspose3d)
    if isinstance(mod, transposed) and qconfig.weight is not None:
        example = qconfig.weight()
        if isinstance(example, (ob.PerChannelMinMaxObserver, ob.MovingAveragePerChannelMinMaxObserver)):
            raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")


def add_module_to_qconfig_obs_ctr(qconfig: QConfigAny, module: Module | None) -> Any:
    """Return a `QConfig` whose observers are made on the device of a module's parameters."""
    if module is None or qconfig is None or tuple(qconfig._fields) != ("activation", "weight"):
        return qconfig

    def device() -> Any:
        devices = {p.device for p in module.parameters()} | {b.device for b in module.buffers()}
        return next(iter(devices)) if len(devices) == 1 else None

    def placed(constructor: Any) -> Any:
        def make(*args: Any, **kwargs: Any) -> Any:
            made = constructor(*args, **kwargs)
            return made if device() is None or not isinstance(made, Module) else made.to(device())

        return make

    return QConfig(activation=placed(qconfig.activation), weight=placed(qconfig.weight))


def qconfig_equals(q1: Any, q2: Any) -> bool:
    """Return whether two `QConfig` make the same observers."""
    if q1 is None or q2 is None:
        return q1 is q2
    return all(_same(a, b) for a, b in ((q1.activation, q2.activation), (q1.weight, q2.weight)))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, PartialConstructor) and isinstance(second, PartialConstructor):
        a, b = dict(first.p.keywords), dict(second.p.keywords)
        nested = _same(a.pop("observer", None), b.pop("observer", None))
        return first.p.func == second.p.func and first.p.args == second.p.args and a == b and nested
    return first == second


def activation_is_memoryless(qconfig: QConfig) -> bool:
    """Return whether activations get parameters of the tensor that comes, rather than of all that came."""
    made = qconfig.activation()
    inner = getattr(made, "activation_post_process", made)
    return bool(getattr(inner, "is_dynamic", False) or getattr(inner, "averaging_constant", None) == 1)


def is_reuse_input_qconfig(qconfig: QConfigAny) -> bool:
    """Return whether what an operator returns keeps the scale and zero point of its input."""
    return qconfig is not None and qconfig.activation is ob.ReuseInputObserver


__all__ = [n for n in dir() if n.endswith(("qconfig", "qconfig_4bit", "qconfig_v2"))] + [
    "QConfig", "QConfigAny", "activation_is_memoryless", "add_module_to_qconfig_obs_ctr", "qconfig_equals",
]  # fmt: skip
