"""``minitorch.ops.quantized``: cells of recurrent layers whose weights are quantized, and whose inputs are as they come."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.namespace import ops
from minitorch.ops import functions as F
from minitorch.quantized.library.definitions import quantized_operator


def _gates(input: Any, hx: Any, w_ih: Any, w_hh: Any) -> tuple:
    """Return the linear layers of the input and of the state (7 bits, as in PyTorch); the packed weights have the biases."""
    linear = ops.quantized.linear_dynamic
    return linear(input, w_ih, True), linear(hx, w_hh, True)


def _lstm(input: Any, hx: Any, w_ih: Any, w_hh: Any, bias_ih: Any, bias_hh: Any) -> tuple:
    state, cell = hx
    of_input, of_state = _gates(input, state, w_ih, w_hh)
    i, f, g, o = F.chunk(F.add(of_input, of_state), 4, -1)
    cell = F.add(F.mul(F.sigmoid(f), cell), F.mul(F.sigmoid(i), F.tanh(g)))
    return F.mul(F.sigmoid(o), F.tanh(cell)), cell


def _gru(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    of_input, of_state = _gates(input, hx, w_ih, w_hh)
    (ri, zi, ni), (rh, zh, nh) = F.chunk(of_input, 3, -1), F.chunk(of_state, 3, -1)
    reset, update = F.sigmoid(F.add(ri, rh)), F.sigmoid(F.add(zi, zh))
    new = F.tanh(F.add(ni, F.mul(reset, nh)))
    return F.add(new, F.mul(update, F.sub(hx, new)))


def _relu_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    return F.relu(F.add(*_gates(input, hx, w_ih, w_hh)))


def _tanh_cell(input: Any, hx: Any, w_ih: Any, w_hh: Any, b_ih: Any, b_hh: Any) -> Any:
    return F.tanh(F.add(*_gates(input, hx, w_ih, w_hh)))


_CELL = "(Tensor input, Tensor hx, Any w_ih, Any w_hh, Tensor b_ih, Tensor b_hh) -> Tensor"
for _schema, _fn in (
    (
        "quantized_lstm_cell_dynamic(Tensor input, Tensor[] hx, Any w_ih, Any w_hh, Tensor bias_ih, Tensor bias_hh) -> "
        "(Tensor, Tensor)",
        _lstm,
    ),
    (f"quantized_gru_cell_dynamic{_CELL}", _gru),
    (f"quantized_rnn_relu_cell_dynamic{_CELL}", _relu_cell),
    (f"quantized_rnn_tanh_cell_dynamic{_CELL}", _tanh_cell),
):
    quantized_operator(_schema, composite=True)(_fn)
