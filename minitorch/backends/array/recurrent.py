"""Kernels of recurrent layers: one direction over all steps.

What does not depend on the hidden state is done for all steps at once; a step is one small
matrix product and a few ufuncs.
"""

from __future__ import annotations

from minitorch.backends.array.common import contiguous
from minitorch.backends.array.precision import float_kernel, rounded, widen
from minitorch.backends.array.registry import array_kernel


def _check(gates, hx, weight_hh, count):
    if (
        gates.ndim != 3
        or hx.ndim != 2
        or weight_hh.shape != (count * hx.shape[1], hx.shape[1])
        or gates.shape[1:] != (hx.shape[0], weight_hh.shape[0])
        or not gates.dtype == hx.dtype == weight_hh.dtype
    ):
        raise ValueError("shapes do not fit")


def _previous(xp, first, states):
    """Return the state before each step."""
    return xp.concatenate([first[None], states[:-1]])


# ---------------------------------------------------------------- long short-term memory


def _sigmoid_by_tanh(xp, size, dtype, tanh_block):
    """Return factors and offsets that make four tanh blocks sigmoids, except one of them.

    sigmoid(x) is tanh(x / 2) / 2 + 1 / 2, so that one tanh serves all gates.
    """
    factor = xp.full(4 * size, 0.5, dtype)
    offset = factor.copy()
    block = slice(tanh_block * size, (tanh_block + 1) * size)
    factor[block] = 1
    offset[block] = 0
    return factor, offset


@array_kernel("_fused_lstm_layer")
@float_kernel
def fused_lstm_layer_kernel(xp, gates, hx, cx, weight_hh):
    _check(gates, hx, weight_hh, 4)
    steps, batch, _ = gates.shape
    size = hx.shape[1]
    dtype = gates.dtype
    factor, offset = _sigmoid_by_tanh(xp, size, dtype, 2)
    activations = gates * factor
    weight = xp.ascontiguousarray(weight_hh.T) * factor
    output = xp.empty((steps, batch, size), dtype)
    cells = xp.empty((steps, batch, size), dtype)
    product = xp.empty((batch, 4 * size), dtype)
    part = xp.empty((batch, size), dtype)
    h, c = hx, cx
    for t in range(steps):
        a = activations[t]
        xp.matmul(h, weight, out=product)
        xp.add(a, product, out=a)
        xp.tanh(a, out=a)
        xp.multiply(a, factor, out=a)
        xp.add(a, offset, out=a)
        cell = cells[t]
        xp.multiply(a[:, size : 2 * size], c, out=cell)
        xp.multiply(a[:, :size], a[:, 2 * size : 3 * size], out=part)
        xp.add(cell, part, out=cell)
        h, c = output[t], cell
        xp.tanh(cell, out=part)
        xp.multiply(a[:, 3 * size :], part, out=h)
    return output, cells, activations


@array_kernel("_fused_lstm_layer_backward")
def fused_lstm_layer_backward_kernel(
    xp, grad_output, grad_cells, hx, cx, weight_hh, output, cells, activations
):
    if output.dtype.char not in "fd":
        arrays = (grad_output, grad_cells, hx, cx, weight_hh, output, cells, activations)
        wide = fused_lstm_layer_backward_kernel(xp, *[widen(a) for a in arrays])
        return rounded(wide, output.dtype)
    steps, batch, size = output.shape
    dtype = output.dtype
    if steps == 0:
        return (
            xp.zeros(activations.shape, dtype), xp.zeros(hx.shape, dtype),
            xp.zeros(cx.shape, dtype), xp.zeros(weight_hh.shape, dtype),
        )  # fmt: skip
    parts = activations.reshape(steps, batch, 4, size)
    tanh_cells = xp.tanh(cells)
    through_cell = tanh_cells * tanh_cells
    xp.subtract(1, through_cell, out=through_cell)
    through_cell *= parts[:, :, 3]
    # What the cell's gradient is multiplied by for each gate but the output's, slopes included.
    slopes = 1 - activations
    slopes *= activations
    by_gate = slopes.reshape(steps, batch, 4, size)
    candidate = parts[:, :, 2]
    xp.subtract(1, candidate * candidate, out=by_gate[:, :, 2])
    by_gate[:, :, 0] *= candidate
    by_gate[:, :, 1] *= _previous(xp, cx, cells)
    by_gate[:, :, 2] *= parts[:, :, 0]
    by_gate[:, :, 3] *= tanh_cells
    grads = xp.empty((steps, batch, 4 * size), dtype)
    grad_h = xp.zeros((batch, size), dtype)
    grad_c = xp.zeros((batch, size), dtype)
    part = xp.empty((batch, size), dtype)
    weight_hh = contiguous(xp, weight_hh)
    for t in range(steps - 1, -1, -1):
        if grad_output is not None:
            xp.add(grad_h, grad_output[t], out=grad_h)
        if grad_cells is not None:
            xp.add(grad_c, grad_cells[t], out=grad_c)
        xp.multiply(grad_h, through_cell[t], out=part)
        xp.add(grad_c, part, out=grad_c)
        target = grads[t]
        shaped, factors = target.reshape(batch, 4, size), by_gate[t]
        xp.multiply(factors[:, :3], grad_c[:, None], out=shaped[:, :3])
        xp.multiply(factors[:, 3], grad_h, out=shaped[:, 3])
        xp.multiply(grad_c, parts[t, :, 1], out=grad_c)
        xp.matmul(target, weight_hh, out=grad_h)
    hidden = _previous(xp, hx, output).reshape(steps * batch, size)
    grad_weight = grads.reshape(steps * batch, 4 * size).T @ hidden
    return grads, grad_h, grad_c, grad_weight


# ---------------------------------------------------------------- gated recurrent unit


@array_kernel("_fused_gru_layer")
@float_kernel
def fused_gru_layer_kernel(xp, gates, hx, weight_hh, bias_hh):
    """Return the outputs, and (reset, update, candidate, hidden candidate) of each step."""
    _check(gates, hx, weight_hh, 3)
    steps, batch, _ = gates.shape
    size = hx.shape[1]
    dtype = gates.dtype
    weight = xp.ascontiguousarray(weight_hh.T)
    output = xp.empty((steps, batch, size), dtype)
    activations = xp.empty((steps, batch, 4 * size), dtype)
    hidden = xp.empty((batch, 3 * size), dtype)
    h = hx
    for t in range(steps):
        a, x = activations[t], gates[t]
        xp.matmul(h, weight, out=hidden)
        if bias_hh is not None:
            xp.add(hidden, bias_hh, out=hidden)
        both = a[:, : 2 * size]
        xp.add(x[:, : 2 * size], hidden[:, : 2 * size], out=both)
        xp.multiply(both, 0.5, out=both)
        xp.tanh(both, out=both)
        xp.multiply(both, 0.5, out=both)
        xp.add(both, 0.5, out=both)
        candidate = a[:, 2 * size : 3 * size]
        a[:, 3 * size :] = hidden[:, 2 * size :]
        xp.multiply(a[:, :size], hidden[:, 2 * size :], out=candidate)
        xp.add(candidate, x[:, 2 * size :], out=candidate)
        xp.tanh(candidate, out=candidate)
        new = output[t]
        xp.subtract(h, candidate, out=new)
        xp.multiply(new, a[:, size : 2 * size], out=new)
        xp.add(new, candidate, out=new)
        h = new
    return output, activations


@array_kernel("_fused_gru_layer_backward")
@float_kernel
def fused_gru_layer_backward_kernel(xp, grad_output, hx, weight_hh, output, activations):
    """Return the gradients of gates, hx, weight_hh and bias_hh."""
    steps, batch, size = output.shape
    dtype = output.dtype
    parts = activations.reshape(steps, batch, 4, size)
    reset, update, candidate, hidden = (parts[:, :, i] for i in range(4))
    previous = _previous(xp, hx, output) if steps else output
    for_candidate = (1 - update) * (1 - candidate * candidate)
    for_update = (previous - candidate) * update * (1 - update)
    for_reset = hidden * reset * (1 - reset)
    grads = xp.empty((steps, batch, 3, size), dtype)
    hidden_grads = xp.empty((steps, batch, 3 * size), dtype)
    grad_h = xp.zeros((batch, size), dtype)
    weight_hh = contiguous(xp, weight_hh)
    for t in range(steps - 1, -1, -1):
        xp.add(grad_h, grad_output[t], out=grad_h)
        g = grads[t]
        h = hidden_grads[t].reshape(batch, 3, size)
        xp.multiply(grad_h, for_candidate[t], out=g[:, 2])
        xp.multiply(g[:, 2], for_reset[t], out=g[:, 0])
        xp.multiply(grad_h, for_update[t], out=g[:, 1])
        h[:, :2] = g[:, :2]
        xp.multiply(g[:, 2], reset[t], out=h[:, 2])
        xp.multiply(grad_h, update[t], out=grad_h)
        xp.add(grad_h, hidden_grads[t] @ weight_hh, out=grad_h)
    flat = hidden_grads.reshape(steps * batch, 3 * size)
    grad_weight = flat.T @ previous.reshape(steps * batch, size)
    return grads.reshape(steps, batch, 3 * size), grad_h, grad_weight, flat.sum(axis=0)


# ---------------------------------------------------------------- plain recurrent network


@array_kernel("_fused_rnn_layer")
@float_kernel
def fused_rnn_layer_kernel(xp, gates, hx, weight_hh, relu):
    _check(gates, hx, weight_hh, 1)
    steps = gates.shape[0]
    weight = xp.ascontiguousarray(weight_hh.T)
    output = xp.empty(gates.shape, gates.dtype)
    h = hx
    for t in range(steps):
        new = output[t]
        xp.matmul(h, weight, out=new)
        xp.add(new, gates[t], out=new)
        if relu:
            xp.maximum(new, 0, out=new)
        else:
            xp.tanh(new, out=new)
        h = new
    return output


@array_kernel("_fused_rnn_layer_backward")
@float_kernel
def fused_rnn_layer_backward_kernel(xp, grad_output, hx, weight_hh, output, relu):
    """Return the gradients of gates, hx and weight_hh."""
    steps, batch, size = output.shape
    slopes = (output > 0).astype(output.dtype) if relu else 1 - output * output
    grads = xp.empty(output.shape, output.dtype)
    grad_h = xp.zeros((batch, size), output.dtype)
    weight_hh = contiguous(xp, weight_hh)
    for t in range(steps - 1, -1, -1):
        xp.add(grad_h, grad_output[t], out=grad_h)
        xp.multiply(grad_h, slopes[t], out=grads[t])
        xp.matmul(grads[t], weight_hh, out=grad_h)
    previous = _previous(xp, hx, output) if steps else output
    flat = grads.reshape(steps * batch, size)
    return grads, grad_h, flat.T @ previous.reshape(steps * batch, size)
