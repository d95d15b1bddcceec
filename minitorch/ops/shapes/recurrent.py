"""Shapes, types and argument errors of recurrent layers."""

from __future__ import annotations

from minitorch.ops.shapes.activation import check_floating
from minitorch.ops.shapes.common import MetaArray, check
from minitorch.ops.shapes.registry import shape


def _layer(gates, hx, weight_hh, count, name):
    """Check a layer's operands; return (steps, batch, size)."""
    check_floating(gates, name)
    check(
        gates.ndim == 3 and hx.ndim == 2,
        f"{name}(): expected gates of 3 and a hidden state of 2 dimensions, got {gates.shape} and "
        f"{hx.shape}",
    )
    size = hx.shape[1]
    check(
        weight_hh.shape == (count * size, size),
        f"{name}(): weight_hh should have shape {(count * size, size)}, got {weight_hh.shape}",
    )
    check(
        gates.shape[1:] == (hx.shape[0], count * size),
        f"{name}(): gates {gates.shape} and hidden state {hx.shape} do not fit",
    )
    check(
        gates.dtype == hx.dtype == weight_hh.dtype,
        f"{name}(): input, hidden state and weights must have one dtype, got {gates.dtype}, "
        f"{hx.dtype} and {weight_hh.dtype}",
    )
    return (*gates.shape[:2], size)


@shape("_fused_lstm_layer")
def fused_lstm_layer_shape(gates, hx, cx, weight_hh):
    states = _layer(gates, hx, weight_hh, 4, "lstm")
    check(cx.shape == hx.shape, f"lstm(): hx {hx.shape} and cx {cx.shape} must have one shape")
    output = MetaArray(states, gates.dtype)
    return output, output, MetaArray(gates.shape, gates.dtype)


@shape("_fused_lstm_layer_backward")
def fused_lstm_layer_backward_shape(
    grad_output, grad_cells, hx, cx, weight_hh, output, cells, activations
):
    arrays = (activations, hx, cx, weight_hh)
    return tuple(MetaArray(a.shape, a.dtype) for a in arrays)


@shape("_fused_gru_layer")
def fused_gru_layer_shape(gates, hx, weight_hh, bias_hh):
    steps, batch, size = _layer(gates, hx, weight_hh, 3, "gru")
    activations = MetaArray((steps, batch, 4 * size), gates.dtype)
    return MetaArray((steps, batch, size), gates.dtype), activations


@shape("_fused_gru_layer_backward")
def fused_gru_layer_backward_shape(grad_output, hx, weight_hh, output, activations):
    steps, batch, size = output.shape
    dtype = output.dtype
    return (
        MetaArray((steps, batch, 3 * size), dtype), MetaArray(hx.shape, dtype),
        MetaArray(weight_hh.shape, dtype), MetaArray((3 * size,), dtype),
    )  # fmt: skip


@shape("_fused_rnn_layer")
def fused_rnn_layer_shape(gates, hx, weight_hh, relu):
    return MetaArray(_layer(gates, hx, weight_hh, 1, "rnn"), gates.dtype)


@shape("_fused_rnn_layer_backward")
def fused_rnn_layer_backward_shape(grad_output, hx, weight_hh, output, relu):
    dtype = output.dtype
    return (
        MetaArray(output.shape, dtype), MetaArray(hx.shape, dtype),
        MetaArray(weight_hh.shape, dtype),
    )  # fmt: skip
