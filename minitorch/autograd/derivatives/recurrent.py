"""Derivatives of recurrent layers.

For a graph of the backward pass the layer is computed anew with elementary operators, and their
derivatives are used.
"""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative, is_differentiated
from minitorch.dispatch.transforms import from_the_top
from minitorch.ops import functions as F
from minitorch.ops.composite.recurrent import gru_gates, lstm_gates


def _replayed(inputs, outputs_of, grads):
    """Return the gradients of `inputs` by differentiating `outputs_of` them, at whatever level they are followed."""
    from minitorch.functorch.reverse import vjp

    places = [i for i, t in enumerate(inputs) if t is not None]
    given = [i for i, g in enumerate(grads) if g is not None]

    def outputs(*tensors):
        values = list(inputs)
        for place, tensor in zip(places, tensors, strict=True):
            values[place] = tensor
        found = outputs_of(*values)
        return tuple([found[i] for i in given])

    with from_the_top():
        _, pull_back = vjp(outputs, *[inputs[place] for place in places])
        found = pull_back(tuple([grads[i] for i in given]))
    results = [None] * len(inputs)
    for place, gradient in zip(places, found, strict=True):
        results[place] = gradient
    return tuple(results)


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
    inputs = (gates, hx, cx, weight_hh)
    if is_differentiated(*inputs, *grads):
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
    inputs = (gates, hx, weight_hh, bias_hh)
    if is_differentiated(*inputs, *grads):
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
    inputs = (gates, hx, weight_hh)
    if is_differentiated(*inputs, grad):
        return _replayed(inputs, lambda *i: _unrolled_rnn(*i, relu), (grad,))
    return F._fused_rnn_layer_backward(grad, hx, weight_hh, result, relu)


derivative(
    "_fused_rnn_layer",
    jointly={("gates", "hx", "weight_hh"): rnn_layer_gradients},
)
