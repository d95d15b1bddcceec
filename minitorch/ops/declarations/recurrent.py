"""Recurrent networks: what exists.

The ``_fused_..._layer`` operators are ours: one direction of one layer over all steps, given the
projected inputs.
"""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "_fused_lstm_layer(Tensor gates, Tensor hx, Tensor cx, Tensor weight_hh) -> (Tensor output, "
    "Tensor cells, Tensor activations)",
    variants=0,
)
operator(
    "_fused_lstm_layer_backward(Tensor? grad_output, Tensor? grad_cells, Tensor hx, Tensor cx, "
    "Tensor weight_hh, Tensor output, Tensor cells, Tensor activations) -> (Tensor, Tensor, "
    "Tensor, Tensor)",
    variants=0,
)
operator(
    "_fused_gru_layer(Tensor gates, Tensor hx, Tensor weight_hh, Tensor? bias_hh) -> (Tensor "
    "output, Tensor activations)",
    variants=0,
)
operator(
    "_fused_gru_layer_backward(Tensor grad_output, Tensor hx, Tensor weight_hh, Tensor output, "
    "Tensor activations) -> (Tensor, Tensor, Tensor, Tensor)",
    variants=0,
)
operator(
    "_fused_rnn_layer(Tensor gates, Tensor hx, Tensor weight_hh, bool relu) -> Tensor",
    variants=0,
)
operator(
    "_fused_rnn_layer_backward(Tensor grad_output, Tensor hx, Tensor weight_hh, Tensor output, "
    "bool relu) -> (Tensor, Tensor, Tensor)",
    variants=0,
)
operator(
    "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
    "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, "
    "Tensor)",
    variants=FUNCTION,
)
operator(
    "lstm.data(Tensor data, Tensor batch_sizes, Tensor[] hx, Tensor[] params, bool "
    "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
    "Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
    "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "gru.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool has_biases, "
    "int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
    "(Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "rnn_tanh.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
    "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
    "Tensor)",
    variants=FUNCTION,
)
operator(
    "rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int "
    "num_layers, float dropout, bool train, bool bidirectional, bool batch_first) -> "
    "(Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "rnn_relu.data(Tensor data, Tensor batch_sizes, Tensor hx, Tensor[] params, bool "
    "has_biases, int num_layers, float dropout, bool train, bool bidirectional) -> (Tensor, "
    "Tensor)",
    variants=FUNCTION,
)
operator(
    "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
    "Tensor? b_hh=None) -> (Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? "
    "b_hh=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
    "Tensor? b_hh=None) -> Tensor",
    variants=FUNCTION,
)
operator(
    "rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
    "Tensor? b_hh=None) -> Tensor",
    variants=FUNCTION,
)
