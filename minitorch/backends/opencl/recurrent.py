"""Layers of recurrent networks: on shared memory they are NumPy's, in place.

A step is a product of small matrices and a few functions of a few numbers, and the next one waits for it: a launch
for each costs more than the arithmetic.  On a device with memory of its own the array kernels run on this package's
namespace, so that the sequence stays there.
"""

from __future__ import annotations

from minitorch.backends import array_kernels
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.sort_operators import on_host

_kernels = array_kernels()
for _name in (
    "_fused_lstm_layer", "_fused_lstm_layer_backward", "_fused_gru_layer", "_fused_gru_layer_backward", "_fused_rnn_layer",
    "_fused_rnn_layer_backward",
):  # fmt: skip
    _layer = on_host(_kernels[_name])
    _layer.__module__ = __name__
    override(_name)(_layer)
