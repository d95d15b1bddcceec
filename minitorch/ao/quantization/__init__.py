"""Quantized models: PyTorch's ``torch.ao.quantization``.

`docs/quantization.md` shows the ways to one: static quantization after training, by modules (`prepare`, `convert`) or by the
graph (`quantize_fx.prepare_fx`, `convert_fx`); training with fake quantization (`prepare_qat`); dynamic quantization
(`quantize_dynamic`); and weights alone (`weight_only.quantize_weights_`).
"""

from minitorch.ao.quantization.fake_quantize import *
from minitorch.ao.quantization.fuse_modules import *
from minitorch.ao.quantization.fuser_method_mappings import *
from minitorch.ao.quantization.histogram import *
from minitorch.ao.quantization.observer import *
from minitorch.ao.quantization.qconfig import *
from minitorch.ao.quantization.qconfig_mapping import *
from minitorch.ao.quantization.quantization_mappings import *
from minitorch.ao.quantization.quantize import *
from minitorch.ao.quantization.stubs import *


def __getattr__(name):
    if name in ("quantize_fx", "weight_only"):  # imported when first named: the first needs the tracer
        from importlib import import_module

        return import_module(f"minitorch.ao.quantization.{name}")
    raise AttributeError(f"module 'minitorch.ao.quantization' has no attribute {name!r}")
