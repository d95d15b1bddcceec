"""Quantized models: PyTorch's ``torch.ao.quantization``.

`docs/quantization.md` shows the ways to one: static quantization after training, by modules (`prepare`, `convert`) or by the graph
(`quantize_fx.prepare_fx`, `convert_fx`); training with fake quantization (`prepare_qat`); dynamic quantization
(`quantize_dynamic`); and weights alone (`quantize_weights_`).
"""

from minitorch.ao.quantization.fake_quantize import *
from minitorch.ao.quantization.histogram import *
from minitorch.ao.quantization.observer import *
from minitorch.ao.quantization.qconfig import *
from minitorch.ao.quantization.qconfig_mapping import *
from minitorch.ao.quantization.stubs import *
