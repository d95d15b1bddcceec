"""Derivatives of recurrent layers.

For a graph of the backward pass the layer is computed anew with elementary operators, and their
derivatives are used.
"""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.autograd.grad_mode import is_grad_enabled
from minitorch.ops import functions as F
from minitorch.ops.composite.recurrent import gru_gates, lstm_gates


def _replayed(inputs, outputs_of, grads):
    """Return the gradients of `inputs` by differentiating `outputs_of` them."""
    from minitorch.autograd import grad

    wanted = [t for t in inputs if t is not None and t.requires_grad]
    pairs = [(o, g) for o, g in zip(outputs_of(*inputs), grads, strict=True) if g is not None]
    found = grad(
        [o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=True, allow_unused=True
    )
    results = iter(found)
    return tuple(next(results) if t is not None and t.requires_grad else None for t in inputs)


def _unrolled_lstm(gates, hx, cx, weight_hh):
    h, c = hx, cx
    outputs, cells = [], []
    for gate in gates.unbind(0):
        h, c = lstm_gates(gate + F.linear(h, weight_hh), c)
        outputs.append(h)
        cells.append(c)
    return F.stack(outputs), F.stack(cells)


def lstm_layer_gradients(
    grads, gates, hx, cx, weight_hh, output, cells, activations, needs
):
    grad_output, grad_cells, _ = grads
    if grad_output is None and grad_cells is None:
        return None, None, None, None
    if is_grad_enabled():
        inputs = (gates, hx, cx, weight_hh)
        return _replayed(inputs, _unrolled_lstm, (grad_output, grad_cells))
    return F._fused_lstm_layer_backward(
        grad_output, grad_cells, hx, cx, weight_hh, output, cells, activations
    )


derivative(
    "_fused_lstm_layer",
    jointly={("gates", "hx", "cx", "weight_hh"): lstm_layer_gradients},
)


def _unrolled_gru(gates, hx, weight_hh, bias_hh):
    h = hx
    outputs = []
    for gate in gates.unbind(0):
        h = gru_gates(gate, F.linear(h, weight_hh, bias_hh), h)
        outputs.append(h)
    return (F.stack(outputs),)


def gru_layer_gradients(grads, gates, hx, weight_hh, bias_hh, output, activations, needs):
    grad_output = grads[0]
    if grad_output is None:
        return None, None, None, None
    if is_grad_enabled():
        inputs = (gates, hx, weight_hh, bias_hh)
        return _replayed(inputs, _unrolled_gru, (grad_output,))
    return F._fused_gru_layer_backward(grad_output, hx, weight_hh, output, activations)


derivative(
    "_fused_gru_layer",
    jointly={("gates", "hx", "weight_hh", "bias_hh"): gru_layer_gradients},
)


def _unrolled_rnn(gates, hx, weight_hh, relu):
    h = hx
    outputs = []
    for gate in gates.unbind(0):
        total = gate + F.linear(h, weight_hh)
        h = F.relu(total) if relu else F.tanh(total)
        outputs.append(h)
    return (F.stack(outputs),)


def rnn_layer_gradients(grad, gates, hx, weight_hh, relu, result, needs):
    if is_grad_enabled():
        inputs = (gates, hx, weight_hh)
        return _replayed(inputs, lambda *i: _unrolled_rnn(*i, relu), (grad,))
    return F._fused_rnn_layer_backward(grad, hx, weight_hh, result, relu)


derivative(
    "_fused_rnn_layer",
    jointly={("gates", "hx", "weight_hh"): rnn_layer_gradients},
)
