"""Dynamically quantized modules."""

from minitorch.ao.nn.quantized.dynamic.modules.linear import Linear
from minitorch.ao.nn.quantized.dynamic.modules.rnn import GRU, LSTM, GRUCell, LSTMCell, RNNCell

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "Linear", "RNNCell"]
