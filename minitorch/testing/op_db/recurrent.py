"""Records of recurrent layers and cells."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import FLOATS
from minitorch.testing.op_db.samples import record

KINDS: dict = dict(dtypes=FLOATS)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _lstm_cell(x, state, w_ih, w_hh, b_ih=0, b_hh=0):
    h, c = state
    i, f, g, o = np.split(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, -1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _gru_cell(x, h, w_ih, w_hh, b_ih=0, b_hh=0):
    given, kept = np.split(x @ w_ih.T + b_ih, 3, -1), np.split(h @ w_hh.T + b_hh, 3, -1)
    r, z = _sigmoid(given[0] + kept[0]), _sigmoid(given[1] + kept[1])
    n = np.tanh(given[2] + r * kept[2])
    return (1 - z) * n + z * h


def _rnn_cell(function):
    return lambda x, h, w_ih, w_hh, b_ih=0, b_hh=0: function(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)


def _relu(x):
    return np.maximum(x, 0)


def _layer(cell, has_cells=False):
    """Return the reference of a network of one direction, from that of its cell."""

    def reference(x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        x = np.swapaxes(x, 0, 1) if batch_first else x
        states = list(zip(*hx, strict=True)) if has_cells else list(hx)
        each, last = 4 if has_biases else 2, []
        for layer in range(num_layers):
            state, steps = states[layer], []
            for step in x:
                state = cell(step, state, *params[layer * each : (layer + 1) * each])
                steps.append(state[0] if has_cells else state)
            x = np.stack(steps)
            last.append(state)
        output = np.swapaxes(x, 0, 1) if batch_first else x
        if has_cells:
            return output, np.stack([s[0] for s in last]), np.stack([s[1] for s in last])
        return output, np.stack(last)

    return reference


def _parameters(make, gates, inputs, hidden, biases=True):
    weights = [make(gates * hidden, inputs) * 0.7, make(gates * hidden, hidden) * 0.7]
    return weights + ([make(gates * hidden), make(gates * hidden)] if biases else [])


def _cells(gates, state):
    def samples(make):
        return [
            (make(2, 3), state(make), *_parameters(make, gates, 3, 2)),
            (make(2, 3), state(make), *_parameters(make, gates, 3, 2, False)),
        ]

    return samples


def _networks(gates, state):
    def samples(make):
        two = _parameters(make, gates, 2, 2) + _parameters(make, gates, 2, 2)
        return [
            (make(3, 2, 2), state(make, 1), _parameters(make, gates, 2, 2), True, 1, 0.0, False, False, False),
            (make(2, 3, 2), state(make, 2), two, True, 2, 0.0, False, False, True),
            (make(3, 2, 2), state(make, 1), _parameters(make, gates, 2, 2, False), False, 1, 0.0, False, False, False),
        ]

    return samples


def _one(make):
    return make(2, 2)


def _pair(make):
    return [make(2, 2), make(2, 2)]


def _one_of(make, layers):
    return make(layers, 2, 2)


def _pair_of(make, layers):
    return [make(layers, 2, 2), make(layers, 2, 2)]


RECORDS = [
    record(
        "lstm_cell",
        _cells(4, _pair),
        _lstm_cell,
        errors=lambda make: [(RuntimeError, "", make(2, 3), _pair(make), make(8, 2), make(8, 2))],
        **KINDS,
    ),
    record(
        "gru_cell",
        _cells(3, _one),
        _gru_cell,
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 2), make(6, 2), make(6, 2))],
        **KINDS,
    ),
    record(
        "rnn_tanh_cell",
        _cells(1, _one),
        _rnn_cell(np.tanh),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 2), make(2, 2), make(2, 2))],
        **KINDS,
    ),
    record(
        "rnn_relu_cell",
        _cells(1, _one),
        _rnn_cell(_relu),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 2), make(2, 2), make(2, 2))],
        **KINDS,
    ),
    record("lstm", _networks(4, _pair_of), _layer(_lstm_cell, True), **KINDS),
    record("gru", _networks(3, _one_of), _layer(_gru_cell), **KINDS),
    record("rnn_tanh", _networks(1, _one_of), _layer(_rnn_cell(np.tanh)), **KINDS),
    record("rnn_relu", _networks(1, _one_of), _layer(_rnn_cell(_relu)), **KINDS),
]
