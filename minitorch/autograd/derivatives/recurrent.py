"""Derivatives of recurrent layers.

Where the backward pass is itself differentiated, layer and backward pass are computed anew with elementary operators.
"""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative, is_differentiated_again
from minitorch.ops import functions as F
from minitorch.ops.composite import recurrent_steps as steps


def lstm_layer_gradients(
    grads, gates, hx, cx, weight_hh, output, cells, activations, needs
):
    grad_output, grad_cells, _ = grads
    if grad_output is None and grad_cells is None:
        return None, None, None, None
    if not is_differentiated_again(gates, hx, cx, weight_hh, grad_output, grad_cells):
        return F._fused_lstm_layer_backward(
            grad_output, grad_cells, hx, cx, weight_hh, output, cells, activations
        )
    output, cells, activations = steps.lstm_steps(gates, hx, cx, weight_hh)
    grad_gates, grad_hx, grad_cx = steps.lstm_backward_steps(
        grad_output, grad_cells, cx, weight_hh, cells, activations
    )
    return grad_gates, grad_hx, grad_cx, steps.weight_gradient(grad_gates, hx, output)


derivative(
    "_fused_lstm_layer",
    jointly={("gates", "hx", "cx", "weight_hh"): lstm_layer_gradients},
)


def gru_layer_gradients(grads, gates, hx, weight_hh, bias_hh, output, activations, needs):
    grad_output = grads[0]
    if grad_output is None:
        return None, None, None, None
    if not is_differentiated_again(gates, hx, weight_hh, bias_hh, grad_output):
        return F._fused_gru_layer_backward(grad_output, hx, weight_hh, output, activations)
    output, activations = steps.gru_steps(gates, hx, weight_hh, bias_hh)
    grad_gates, grad_hx = steps.gru_backward_steps(grad_output, hx, weight_hh, output, activations)
    hidden = steps.gru_hidden_gradient(grad_gates, activations)
    grad_bias = F.sum(hidden, [0, 1]) if needs[3] else None
    return grad_gates, grad_hx, steps.weight_gradient(hidden, hx, output), grad_bias


derivative(
    "_fused_gru_layer",
    jointly={("gates", "hx", "weight_hh", "bias_hh"): gru_layer_gradients},
)


def rnn_layer_gradients(grad, gates, hx, weight_hh, relu, result, needs):
    if not is_differentiated_again(gates, hx, weight_hh, grad):
        return F._fused_rnn_layer_backward(grad, hx, weight_hh, result, relu)
    output = steps.rnn_steps(gates, hx, weight_hh, relu)
    grad_gates, grad_hx = steps.rnn_backward_steps(grad, hx, weight_hh, output, relu)
    return grad_gates, grad_hx, steps.weight_gradient(grad_gates, hx, output)


derivative(
    "_fused_rnn_layer",
    jointly={("gates", "hx", "weight_hh"): rnn_layer_gradients},
)
