"""Recurrent layers and their gradients step by step, in elementary operators.

For what the fused layers do not do: backward passes that are differentiated again, and, under vmap, a recurrent
weight for each example.  Tensors are (steps, ..., N, size), states (..., N, size), and the weight is (..., rows, size):
the dimensions between may be a batch.  Biases broadcast with (..., N, rows).
"""

from __future__ import annotations

from minitorch.ops import functions as F


def lstm_steps(gates, h, c, weight):
    """Return outputs, cells, and the activations of the gates (input, forget, candidate, output)."""
    columns = weight.transpose(-2, -1)
    outputs, cells, activations = [], [], []
    for gate in gates.unbind(0):
        i, f, g, o = F.chunk(gate + F.matmul(h, columns), 4, -1)
        i, f, g, o = F.sigmoid(i), F.sigmoid(f), F.tanh(g), F.sigmoid(o)
        c = f * c + i * g
        h = o * F.tanh(c)
        outputs.append(h)
        cells.append(c)
        activations.append(F.cat([i, f, g, o], -1))
    return F.stack(outputs), F.stack(cells), F.stack(activations)


def lstm_backward_steps(grad_output, grad_cells, cx, weight, cells, activations):
    """Return the gradients of gates, first hidden state and first cell state."""
    grad_h = grad_c = F.zeros_like(cx)
    found = []
    for t in range(activations.shape[0] - 1, -1, -1):
        i, f, g, o = F.chunk(activations[t], 4, -1)
        if grad_output is not None:
            grad_h = grad_h + grad_output[t]
        if grad_cells is not None:
            grad_c = grad_c + grad_cells[t]
        out = F.tanh(cells[t])
        grad_c = grad_c + grad_h * o * (1 - out * out)
        before = cells[t - 1] if t else cx
        parts = [
            grad_c * g * i * (1 - i), grad_c * before * f * (1 - f), grad_c * i * (1 - g * g),
            grad_h * out * o * (1 - o),
        ]  # fmt: skip
        found.append(F.cat(parts, -1))
        grad_c = grad_c * f
        grad_h = F.matmul(found[-1], weight)
    return _in_order(found, activations), grad_h, grad_c


def gru_steps(gates, h, weight, bias):
    """Return outputs, and (reset, update, candidate, hidden candidate) of each step."""
    columns = weight.transpose(-2, -1)
    outputs, activations = [], []
    for gate in gates.unbind(0):
        hidden = F.matmul(h, columns)
        h_r, h_z, h_n = F.chunk(hidden if bias is None else hidden + bias, 3, -1)
        x_r, x_z, x_n = F.chunk(gate, 3, -1)
        r, z = F.sigmoid(x_r + h_r), F.sigmoid(x_z + h_z)
        n = F.tanh(x_n + r * h_n)
        h = n + z * (h - n)
        outputs.append(h)
        activations.append(F.cat([r, z, n, h_n], -1))
    return F.stack(outputs), F.stack(activations)


def gru_backward_steps(grad_output, hx, weight, output, activations):
    """Return the gradients of gates and first hidden state."""
    grad_h = F.zeros_like(hx)
    found = []
    for t in range(output.shape[0] - 1, -1, -1):
        r, z, n, h_n = F.chunk(activations[t], 4, -1)
        grad_h = grad_h + grad_output[t]
        before = output[t - 1] if t else hx
        for_n = grad_h * (1 - z) * (1 - n * n)
        for_z = grad_h * (before - n) * z * (1 - z)
        for_r = for_n * h_n * r * (1 - r)
        found.append(F.cat([for_r, for_z, for_n], -1))
        grad_h = grad_h * z + F.matmul(F.cat([for_r, for_z, for_n * r], -1), weight)
    return _in_order(found, F.narrow(activations, -1, 0, weight.shape[-2])), grad_h


def gru_hidden_gradient(grads, activations):
    """Return what arrives at the hidden state's projection: its candidate went through the reset gate."""
    size = activations.shape[-1] // 4
    reset = F.narrow(activations, -1, 0, size)
    return F.cat([F.narrow(grads, -1, 0, 2 * size), F.narrow(grads, -1, 2 * size, size) * reset], -1)


def rnn_steps(gates, h, weight, relu):
    """Return the outputs."""
    columns = weight.transpose(-2, -1)
    outputs = []
    for gate in gates.unbind(0):
        h = F.matmul(h, columns) + gate
        h = F.relu(h) if relu else F.tanh(h)
        outputs.append(h)
    return F.stack(outputs)


def rnn_backward_steps(grad_output, hx, weight, output, relu):
    """Return the gradients of gates and first hidden state."""
    grad_h = F.zeros_like(hx)
    found = []
    for t in range(output.shape[0] - 1, -1, -1):
        out = output[t]
        slope = F.to(out > 0, out.dtype) if relu else 1 - out * out
        found.append((grad_h + grad_output[t]) * slope)
        grad_h = F.matmul(found[-1], weight)
    return _in_order(found, output), grad_h


def _in_order(found, like):
    """Return the gradients of the steps, which were found from the last to the first."""
    return F.stack(found[::-1]) if found else F.zeros_like(like)


def previous_states(first, states):
    """Return the state before each step."""
    return F.cat([first.unsqueeze(0), states.narrow(0, 0, max(states.shape[0] - 1, 0))]).narrow(0, 0, states.shape[0])


def weight_gradient(grads, first, states):
    """Return the sums over steps and sequences of gradient times state before; without a batch between."""
    before = previous_states(first, states)
    return F.matmul(grads.reshape(-1, grads.shape[-1]).t(), before.reshape(-1, before.shape[-1]))
