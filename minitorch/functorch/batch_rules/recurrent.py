"""Batch rules of the fused recurrent layers.

With the same recurrent weight for all examples, the examples are more sequences.  With a weight for each
the steps are made one by one, each for all examples.
"""

from __future__ import annotations

from typing import Any

from minitorch.functorch.layout import batched
from minitorch.functorch.leading import merged, regrouped, with_batch_at
from minitorch.functorch.rules import batch_rule
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named
from minitorch.ops.composite import recurrent_steps as steps

_lstm = operator_named("_fused_lstm_layer")
_lstm_backward = operator_named("_fused_lstm_layer_backward")
_gru = operator_named("_fused_gru_layer")
_gru_backward = operator_named("_fused_gru_layer_backward")
_rnn = operator_named("_fused_rnn_layer")
_rnn_backward = operator_named("_fused_rnn_layer_backward")


def _sequences(info: Any, x: Any, dim: int | None) -> Any:
    """Return (steps, N, size), or (N, size), with the examples as more of N."""
    if x is None:
        return None
    at = (x.ndim if dim is None else x.ndim - 1) - 2
    return merged(with_batch_at(x, dim, info.batch_size, at), at)


def _examples(info: Any, x: Any, count: int) -> Any:
    """Return what `_sequences` was like before, of `count` sequences an example; the batch is its third to last dimension."""
    return regrouped(x, x.ndim - 2, info.batch_size, count)


def _weight_gradient(info: Any, grads: Any, first: Any, states: Any) -> Any:
    """Return the sums over steps and sequences of gradient times state before, for each example.

    `grads` and `states` are (steps, batch, N, size), and `first`, the state before the first step, is (batch, N, size).
    """
    count = info.batch_size
    left, right = (
        F.reshape(F.permute(x, [1, 0, 2, 3]), [count, x.shape[0] * x.shape[2], x.shape[3]])
        for x in (grads, steps.previous_states(first, states))
    )
    return F.bmm(F.transpose(left, 1, 2), right)


def _by_step(info: Any, dims: tuple, *tensors: Any) -> list[Any]:
    """Return tensors with the mapped dimension third to last: (steps, batch, N, size), (batch, N, size), (batch, rows, size)."""
    return [
        None if x is None else with_batch_at(x, d, info.batch_size, (x.ndim if d is None else x.ndim - 1) - 2)
        for x, d in zip(tensors, dims, strict=True)
    ]


# ---------------------------------------------------------------- long short-term memory


@batch_rule("_fused_lstm_layer")
def lstm_rule(info: Any, in_dims: tuple, gates: Any, hx: Any, cx: Any, weight: Any) -> tuple[Any, Any]:
    if in_dims[3] is None:
        values = [_sequences(info, x, d) for x, d in zip((gates, hx, cx), in_dims, strict=False)]
        found = _lstm.call((*values, weight), None)
        count = found[0].shape[1] // info.batch_size if info.batch_size else 0
        return tuple(_examples(info, part, count) for part in found), 1
    return steps.lstm_steps(*_by_step(info, in_dims, gates, hx, cx, weight)), 1


@batch_rule("_fused_lstm_layer_backward")
def lstm_backward_rule(
    info: Any, in_dims: tuple, grad_output: Any, grad_cells: Any, hx: Any, cx: Any, weight: Any, output: Any, cells: Any,
    activations: Any,
) -> tuple[Any, Any]:  # fmt: skip
    tensors = (grad_output, grad_cells, hx, cx, weight, output, cells, activations)
    grad_output, grad_cells, hx, cx, weights, output, cells, activations = _by_step(info, in_dims, *tensors)
    count = hx.shape[1]
    if in_dims[4] is None:
        rest = (grad_output, grad_cells, hx, cx), (output, cells, activations)
        values = [[None if x is None else merged(x, x.ndim - 3) for x in part] for part in rest]
        grads, grad_h, grad_c, _ = _lstm_backward.call((*values[0], weight, *values[1]), None)
        grads, grad_h, grad_c = (_examples(info, x, count) for x in (grads, grad_h, grad_c))
    else:
        grads, grad_h, grad_c = steps.lstm_backward_steps(grad_output, grad_cells, cx, weights, cells, activations)
    return (grads, grad_h, grad_c, _weight_gradient(info, grads, hx, output)), [1, 0, 0, 0]


# ---------------------------------------------------------------- gated recurrent unit


@batch_rule("_fused_gru_layer")
def gru_rule(info: Any, in_dims: tuple, gates: Any, hx: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    if in_dims[2] is None and in_dims[3] is None:
        values = [_sequences(info, x, d) for x, d in zip((gates, hx), in_dims, strict=False)]
        found = _gru.call((*values, weight, bias), None)
        count = found[0].shape[1] // info.batch_size if info.batch_size else 0
        return tuple(_examples(info, part, count) for part in found), 1
    if bias is not None:
        bias = F.unsqueeze(batched(bias, in_dims[3], info.batch_size), 1)
    gates, hx, weight = _by_step(info, in_dims[:3], gates, hx, weight)
    return steps.gru_steps(gates, hx, weight, bias), 1


@batch_rule("_fused_gru_layer_backward")
def gru_backward_rule(
    info: Any, in_dims: tuple, grad_output: Any, hx: Any, weight: Any, output: Any, activations: Any
) -> tuple[Any, Any]:
    tensors = (grad_output, hx, weight, output, activations)
    grad_output, hx, weights, output, activations = _by_step(info, in_dims, *tensors)
    count = hx.shape[1]
    if in_dims[2] is None:
        values = [merged(x, x.ndim - 3) for x in (grad_output, hx, output, activations)]
        grads, grad_h, _, _ = _gru_backward.call((values[0], values[1], weight, values[2], values[3]), None)
        grads, grad_h = _examples(info, grads, count), _examples(info, grad_h, count)
    else:
        grads, grad_h = steps.gru_backward_steps(grad_output, hx, weights, output, activations)
    hidden = steps.gru_hidden_gradient(grads, activations)
    return (grads, grad_h, _weight_gradient(info, hidden, hx, output), F.sum(hidden, [0, 2])), [1, 0, 0, 0]


# ---------------------------------------------------------------- plain recurrent network


@batch_rule("_fused_rnn_layer")
def rnn_rule(info: Any, in_dims: tuple, gates: Any, hx: Any, weight: Any, relu: bool) -> tuple[Any, Any]:
    if in_dims[2] is None:
        values = [_sequences(info, x, d) for x, d in zip((gates, hx), in_dims, strict=False)]
        found = _rnn.call((*values, weight, relu), None)
        return _examples(info, found, found.shape[1] // info.batch_size if info.batch_size else 0), 1
    gates, hx, weight = _by_step(info, in_dims[:3], gates, hx, weight)
    return steps.rnn_steps(gates, hx, weight, relu), 1


@batch_rule("_fused_rnn_layer_backward")
def rnn_backward_rule(
    info: Any, in_dims: tuple, grad_output: Any, hx: Any, weight: Any, output: Any, relu: bool
) -> tuple[Any, Any]:
    grad_output, hx, weights, output = _by_step(info, in_dims[:4], grad_output, hx, weight, output)
    count = hx.shape[1]
    if in_dims[2] is None:
        values = [merged(x, x.ndim - 3) for x in (grad_output, hx, output)]
        grads, grad_h, _ = _rnn_backward.call((values[0], values[1], weight, values[2], relu), None)
        grads, grad_h = _examples(info, grads, count), _examples(info, grad_h, count)
    else:
        grads, grad_h = steps.rnn_backward_steps(grad_output, hx, weights, output, relu)
    return (grads, grad_h, _weight_gradient(info, grads, hx, output)), [1, 0, 0]
