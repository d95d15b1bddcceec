"""`QConfigMapping`: which `QConfig` each operator of a model gets when its graph is quantized."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.quantization import fake_quantize as fq
from minitorch.ao.quantization import observer as ob
from minitorch.ao.quantization.qconfig import (
    QConfig,
    QConfigAny,
    default_quint8_weight_qconfig,
    default_reuse_input_qconfig,
    default_symmetric_qnnpack_qat_qconfig,
    default_symmetric_qnnpack_qconfig,
    get_default_qat_qconfig,
    get_default_qconfig,
)

__all__ = [
    "QConfigMapping",
    "get_default_qat_qconfig_mapping",
    "get_default_qconfig_mapping",
    "get_symmetric_qnnpack_qat_qconfig_mapping",
    "get_symmetric_qnnpack_qconfig_mapping",
]

_FIELDS = (
    "global_qconfig", "object_type_qconfigs", "module_name_regex_qconfigs", "module_name_qconfigs",
    "module_name_object_type_order_qconfigs",
)  # fmt: skip
# As dictionaries say it: the lists of pairs.
_KEYS = {
    "": "set_global", "object_type": "set_object_type", "module_name_regex": "set_module_name_regex",
    "module_name": "set_module_name", "module_name_object_type_order": "set_module_name_object_type_order",
}  # fmt: skip


class QConfigMapping:
    """Rules for operators, the later ones in this list before the earlier: all; by type (a module's class, a function, or
    the name of a method); by a regular expression of a module's name; by a module's name; by that, a type, and which
    of its calls.  A `QConfig` of None says that nothing is quantized.

    Examples
    --------
    >>> from minitorch.ao.quantization import QConfigMapping, default_qconfig
    >>> mapping = QConfigMapping().set_global(default_qconfig).set_object_type(minitorch.nn.Linear, None)
    """

    def __init__(self) -> None:
        self.global_qconfig: QConfigAny = None
        self.object_type_qconfigs: OrderedDict[Callable | str, QConfigAny] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, QConfigAny] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, QConfigAny] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[tuple[str, Callable, int], QConfigAny] = OrderedDict()

    def set_global(self, global_qconfig: QConfigAny) -> QConfigMapping:
        """Set what holds where no other rule does; return the mapping."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Callable | str, qconfig: QConfigAny) -> QConfigMapping:
        """Set what holds for a class of modules, a function, or a method's name; return the mapping."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: QConfigAny) -> QConfigMapping:
        """Set what holds for modules whose whole name matches; the first regular expression that does wins."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: QConfigAny) -> QConfigMapping:
        """Set what holds for a module, ``"features.0"``, and all inside of it; return the mapping."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Callable, index: int, qconfig: QConfigAny
    ) -> QConfigMapping:
        """Set what holds for the call number `index` of a type inside of a module; return the mapping."""
        self.module_name_object_type_order_qconfigs[(module_name, object_type, index)] = qconfig
        return self

    def __repr__(self) -> str:
        lines = []
        for name in _FIELDS:
            value = getattr(self, name)
            lines.append(f" {name}")
            if isinstance(value, OrderedDict):
                lines.extend([f"  {k}: {v}" for k, v in value.items()] or [f"  {value}"])
            else:
                lines.append(f"  {value}")
        return "QConfigMapping (\n" + "\n".join(lines) + "\n)"

    def to_dict(self) -> dict[str, Any]:
        """Return the rules as a dict of lists."""
        return {
            "": self.global_qconfig,
            "object_type": list(self.object_type_qconfigs.items()),
            "module_name_regex": list(self.module_name_regex_qconfigs.items()),
            "module_name": list(self.module_name_qconfigs.items()),
            "module_name_object_type_order": [(*k, v) for k, v in self.module_name_object_type_order_qconfigs.items()],
        }

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """Return the mapping of a dict such as `to_dict` returns; keys may be missing.

        Raises
        ------
        ValueError
            For keys that are not known.
        """
        unknown = [key for key in qconfig_dict if key not in _KEYS]
        if unknown:
            raise ValueError(f"QConfigMapping.from_dict: unknown keys {unknown}; known are {list(_KEYS)}")
        mapping = cls()
        for key, setter in _KEYS.items():
            if key == "":
                mapping.set_global(qconfig_dict.get(""))
                continue
            for rule in qconfig_dict.get(key, ()):
                getattr(mapping, setter)(*rule)
        return mapping


# Functions whose range is known, as modules, functions and methods.
_FIXED: dict[Any, str] = {
    nn.Hardsigmoid: "0to1", nn.functional.hardsigmoid: "0to1", "hardsigmoid": "0to1", "hardsigmoid_": "0to1",
    nn.Sigmoid: "0to1", minitorch.sigmoid: "0to1", "sigmoid": "0to1", "sigmoid_": "0to1", nn.Softmax: "0to1",
    nn.Tanh: "neg1to1", minitorch.tanh: "neg1to1", "tanh": "neg1to1", "tanh_": "neg1to1",
}  # fmt: skip


def _default_mapping(qconfig: QConfig, is_qat: bool) -> QConfigMapping:
    weight = fq.default_weight_fake_quant if is_qat else ob.default_weight_observer
    with_one_scale = QConfig(activation=qconfig.activation, weight=weight)
    with_float_weight = QConfig(activation=qconfig.activation, weight=ob.default_placeholder_observer)
    mapping = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    for transposed in (
        nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d, nn.functional.conv_transpose1d,
        nn.functional.conv_transpose2d, nn.functional.conv_transpose3d,
    ):  # fmt: skip
        mapping.set_object_type(transposed, with_one_scale)
    for normalization in (nn.functional.layer_norm, nn.LayerNorm):
        mapping.set_object_type(normalization, with_float_weight)
    mapping.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    for what, end in _FIXED.items():
        kind = "fake_quant" if is_qat else "observer"
        fixed = getattr(fq if is_qat else ob, f"default_fixed_qparams_range_{end}_{kind}")
        mapping.set_object_type(what, QConfig(activation=fixed, weight=weight))
    return mapping


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """Return the mapping for static quantization after training: `get_default_qconfig` for all, with the exceptions that
    some operators need."""
    return _default_mapping(get_default_qconfig(backend, version), False)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """Return the mapping for training with fake quantization."""
    return _default_mapping(get_default_qat_qconfig(backend, version), True)


def get_symmetric_qnnpack_qconfig_mapping() -> QConfigMapping:
    """Return the mapping for static quantization with symmetric signed 8-bit numbers."""
    return _default_mapping(default_symmetric_qnnpack_qconfig, False)


def get_symmetric_qnnpack_qat_qconfig_mapping() -> QConfigMapping:
    """Return the mapping for training with symmetric signed 8-bit numbers."""
    return _default_mapping(default_symmetric_qnnpack_qat_qconfig, True)
