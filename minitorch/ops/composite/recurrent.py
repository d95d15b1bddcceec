"""Recurrent networks, written with linear maps, cells and the fused layers."""

from __future__ import annotations

from minitorch.core.promotion import promote_types
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit

# ---------------------------------------------------------------- cells


def lstm_gates(gates, cx):
    """Return the next hidden and cell state, given the sums that enter the gates."""
    i, f, g, o = gates.chunk(4, -1)
    c = F.sigmoid(f) * cx + F.sigmoid(i) * F.tanh(g)
    return F.sigmoid(o) * F.tanh(c), c


def gru_gates(x, hidden, hx):
    """Return the next hidden state, given the projections of input and state."""
    x_r, x_z, x_n = x.chunk(3, -1)
    h_r, h_z, h_n = hidden.chunk(3, -1)
    r, z = F.sigmoid(x_r + h_r), F.sigmoid(x_z + h_z)
    n = F.tanh(x_n + r * h_n)
    return n + z * (hx - n)


@composite_implicit("lstm_cell")
def lstm_cell_composite(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    gates = F.linear(input, w_ih, b_ih) + F.linear(hx[0], w_hh, b_hh)
    return lstm_gates(gates, hx[1])


@composite_implicit("gru_cell")
def gru_cell_composite(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    return gru_gates(F.linear(input, w_ih, b_ih), F.linear(hx, w_hh, b_hh), hx)


@composite_implicit("rnn_tanh_cell")
def rnn_tanh_cell_composite(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    return F.tanh(F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh))


@composite_implicit("rnn_relu_cell")
def rnn_relu_cell_composite(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    return F.relu(F.linear(input, w_ih, b_ih) + F.linear(hx, w_hh, b_hh))


# ---------------------------------------------------------------- layers
#
# A layer takes (input, states, weights, lengths) and returns (output, states).  `states` is a
# tuple of (batch, size); `lengths` is None, or the batch sizes of a packed sequence.


class _Weights:
    """The weights of one direction of one layer."""

    def __init__(self, values, has_biases, has_projection):
        values = list(values)
        self.w_ih, self.w_hh = values[:2]
        self.b_ih = self.b_hh = None
        if has_biases:
            self.b_ih, self.b_hh = values[2:4]
        self.w_hr = values[-1] if has_projection else None

    def both_biases(self):
        return None if self.b_ih is None else self.b_ih + self.b_hh


def _of_one_dtype(gates, *others):
    """Return the operands of a fused layer in their widest dtype: under autocast the projection is of a narrower one."""
    if all([other is None or other.dtype is gates.dtype for other in others]):
        return gates, *others
    dtype = gates.dtype
    for other in others:
        dtype = dtype if other is None else promote_types(dtype, other.dtype)
    return tuple([value if value is None else value.to(dtype) for value in (gates, *others)])


def lstm_layer(x, states, w):
    gates = F.linear(x, w.w_ih, w.both_biases())
    if w.w_hr is not None:
        return _projected_lstm(gates, states, w)
    output, cells, _ = F._fused_lstm_layer(*_of_one_dtype(gates, states[0], states[1], w.w_hh))
    return output, (output[-1], cells[-1])


def _projected_lstm(gates, states, w):
    h, c = states
    outputs = []
    for gate in gates.unbind(0):
        h, c = lstm_gates(gate + F.linear(h, w.w_hh), c)
        h = F.linear(h, w.w_hr)
        outputs.append(h)
    return F.stack(outputs), (h, c)


def gru_layer(x, states, w):
    gates = F.linear(x, w.w_ih, w.b_ih)
    output, _ = F._fused_gru_layer(*_of_one_dtype(gates, states[0], w.w_hh, w.b_hh))
    return output, (output[-1],)


def _in_dtype_of(gates, *others):
    """Return state and weight in the dtype of the projection: under autocast each step is in the narrower one."""
    return [other if other.dtype is gates.dtype else other.to(gates.dtype) for other in others]


def rnn_tanh_layer(x, states, w):
    gates = F.linear(x, w.w_ih, w.both_biases())
    output = F._fused_rnn_layer(gates, *_in_dtype_of(gates, states[0], w.w_hh), False)
    return output, (output[-1],)


def rnn_relu_layer(x, states, w):
    gates = F.linear(x, w.w_ih, w.both_biases())
    output = F._fused_rnn_layer(gates, *_in_dtype_of(gates, states[0], w.w_hh), True)
    return output, (output[-1],)


def _run_packed(layer, x, states, w, batch_sizes, reverse):
    """Run a layer over a packed sequence: runs of steps with equally many sequences."""
    starts = [0]
    for n in batch_sizes:
        starts.append(starts[-1] + n)
    order = range(len(batch_sizes))
    outputs = [None] * len(batch_sizes)
    if not reverse:
        ended = []
        for t in order:
            n = batch_sizes[t]
            if n < states[0].shape[0]:
                ended.append(tuple(s[n:] for s in states))
                states = tuple(s[:n] for s in states)
            out, states = layer(x[starts[t] : starts[t + 1]].unsqueeze(0), states, w)
            outputs[t] = out[0]
        ended.append(states)
        states = tuple(F.cat(list(parts)) for parts in zip(*reversed(ended), strict=True))
        return F.cat(outputs), states
    initial = states
    states = tuple(s[: batch_sizes[-1]] for s in initial)
    for t in reversed(order):
        n, have = batch_sizes[t], states[0].shape[0]
        if n > have:
            states = tuple(
                F.cat([s, first[have:n]]) for s, first in zip(states, initial, strict=True)
            )
        out, states = layer(x[starts[t] : starts[t + 1]].unsqueeze(0), states, w)
        outputs[t] = out[0]
    return F.cat(outputs), states


def _run(layer, x, states, params, options, batch_sizes, has_projection=False):
    """Run all layers and directions; return the output and the stacked last states."""
    has_biases, num_layers, dropout, train, bidirectional = options
    directions = 2 if bidirectional else 1
    per_direction = 2 + 2 * bool(has_biases) + has_projection
    if len(params) != per_direction * num_layers * directions:
        raise RuntimeError(
            f"rnn: expected {per_direction * num_layers * directions} weights for {num_layers} "
            f"layers, got {len(params)}"
        )
    last = []
    for number in range(num_layers):
        outputs = []
        for direction in range(directions):
            k = number * directions + direction
            part = params[k * per_direction : (k + 1) * per_direction]
            weights = _Weights(part, has_biases, has_projection)
            own = tuple(s[k] for s in states)
            if batch_sizes is not None:
                out, own = _run_packed(layer, x, own, weights, batch_sizes, direction == 1)
            elif direction == 1:
                out, own = layer(x.flip([0]), own, weights)
                out = out.flip([0])
            else:
                out, own = layer(x, own, weights)
            outputs.append(out)
            last.append(own)
        x = outputs[0] if directions == 1 else F.cat(outputs, -1)
        if dropout and train and number < num_layers - 1:
            x = F.dropout(x, dropout, True)
    return x, tuple(F.stack(list(each)) for each in zip(*last, strict=True))


def _run_input(
    layer, input, states, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first, has_projection=False,
):  # fmt: skip
    if batch_first:
        input = input.transpose(0, 1)
    options = (has_biases, num_layers, dropout, train, bidirectional)
    output, states = _run(layer, input, states, params, options, None, has_projection)
    if batch_first:
        output = output.transpose(0, 1)
    return output, states


def _run_data(
    layer, data, batch_sizes, states, params, has_biases, num_layers, dropout, train,
    bidirectional, has_projection=False,
):  # fmt: skip
    options = (has_biases, num_layers, dropout, train, bidirectional)
    return _run(layer, data, states, params, options, batch_sizes.tolist(), has_projection)


@composite_implicit("lstm.input")
def lstm_input_composite(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
):
    _check_two(hx)
    projected = hx[0].shape[2] != hx[1].shape[2]
    output, (h, c) = _run_input(
        lstm_layer, input, tuple(hx), params, has_biases, num_layers, dropout, train,
        bidirectional, batch_first, projected,
    )  # fmt: skip
    return output, h, c


@composite_implicit("lstm.data")
def lstm_data_composite(
    data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
):
    _check_two(hx)
    projected = hx[0].shape[2] != hx[1].shape[2]
    output, (h, c) = _run_data(
        lstm_layer, data, batch_sizes, tuple(hx), params, has_biases, num_layers, dropout, train,
        bidirectional, projected,
    )  # fmt: skip
    return output, h, c


def _check_two(hx):
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")


@composite_implicit("gru.input")
def gru_input_composite(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
):
    output, (h,) = _run_input(
        gru_layer, input, (hx,), params, has_biases, num_layers, dropout, train, bidirectional,
        batch_first,
    )  # fmt: skip
    return output, h


@composite_implicit("gru.data")
def gru_data_composite(
    data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
):
    output, (h,) = _run_data(
        gru_layer, data, batch_sizes, (hx,), params, has_biases, num_layers, dropout, train,
        bidirectional,
    )  # fmt: skip
    return output, h


@composite_implicit("rnn_tanh.input")
def rnn_tanh_input_composite(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
):
    output, (h,) = _run_input(
        rnn_tanh_layer, input, (hx,), params, has_biases, num_layers, dropout, train,
        bidirectional, batch_first,
    )  # fmt: skip
    return output, h


@composite_implicit("rnn_tanh.data")
def rnn_tanh_data_composite(
    data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
):
    output, (h,) = _run_data(
        rnn_tanh_layer, data, batch_sizes, (hx,), params, has_biases, num_layers, dropout, train,
        bidirectional,
    )  # fmt: skip
    return output, h


@composite_implicit("rnn_relu.input")
def rnn_relu_input_composite(
    input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
):
    output, (h,) = _run_input(
        rnn_relu_layer, input, (hx,), params, has_biases, num_layers, dropout, train,
        bidirectional, batch_first,
    )  # fmt: skip
    return output, h


@composite_implicit("rnn_relu.data")
def rnn_relu_data_composite(
    data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
):
    output, (h,) = _run_data(
        rnn_relu_layer, data, batch_sizes, (hx,), params, has_biases, num_layers, dropout, train,
        bidirectional,
    )  # fmt: skip
    return output, h
