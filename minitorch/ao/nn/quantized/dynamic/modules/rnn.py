"""Dynamically quantized recurrent networks.

Note [Steps of a dynamically quantized recurrent network]
    The products of all inputs of a layer with its weight are computed at once, with one scale for the whole
    sequence; those of the hidden state at each step, with a scale of its own.  What is done with the sums is
    computed in float32.
"""

from __future__ import annotations

from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn.quantized.dynamic.modules.linear import product
from minitorch.ao.nn.quantized.modules.linear import LinearPackedParams
from minitorch.ao.nn.quantized.modules.utils import quantize_weight
from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNNCell"]


def _lstm_step(from_input: Any, from_hidden: Any, state: tuple) -> tuple:
    i, f, g, o = (from_hidden + from_input).chunk(4, 1)
    cell = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def _gru_step(from_input: Any, from_hidden: Any, state: tuple) -> tuple:
    (ri, zi, ni), (rh, zh, nh) = from_input.chunk(3, 1), from_hidden.chunk(3, 1)
    new = (ni + nh * (rh + ri).sigmoid()).tanh()
    return ((state[0] - new) * (zh + zi).sigmoid() + new,)


def _tanh_step(from_input: Any, from_hidden: Any, state: tuple) -> tuple:
    return ((from_hidden + from_input).tanh(),)


def _relu_step(from_input: Any, from_hidden: Any, state: tuple) -> tuple:
    return (F.relu(from_hidden + from_input),)


_STEPS = {"LSTM": _lstm_step, "GRU": _gru_step, "RNN_TANH": _tanh_step, "RNN_RELU": _relu_step}
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _packed(weight: Any, bias: Any, observer: Any, dtype: Any) -> LinearPackedParams:
    made = LinearPackedParams(dtype)
    if dtype is minitorch.qint8:
        observer(weight)
        weight = quantize_weight(weight.detach().float(), observer)
    made.set_weight_bias(weight.detach(), None if bias is None else bias.detach())
    return made


def _initial(shape: tuple, dtype: Any) -> LinearPackedParams:
    """Return packed parameters of random weights, as a float layer starts with."""
    weight = (minitorch.rand(shape) - 0.5) * 2 / shape[1] ** 0.5
    if dtype is minitorch.qint8:
        weight = minitorch.quantize_per_tensor(weight, float(weight.abs().max()) / 127, 0, minitorch.qint8)
    made = LinearPackedParams(dtype)
    made.set_weight_bias(weight, minitorch.zeros(shape[0]))
    return made


class PackedParameter(Module):
    """The two packed weights of one layer and direction: of the input, and of the hidden state."""

    def __init__(self, ih: LinearPackedParams, hh: LinearPackedParams):
        super().__init__()
        self._pair = (ih, hh)

    def __iter__(self) -> Any:
        return iter(self._pair)

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        for packed in self._pair:
            packed._apply(fn)
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        destination[prefix + "param"] = tuple(p._weight_bias() for p in self._pair)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for packed, weight_bias in zip(self._pair, state_dict.pop(prefix + "param"), strict=True):
            packed.set_weight_bias(*weight_bias)


class RNNBase(Module):
    """What dynamically quantized recurrent networks share.

    Parameters
    ----------
    mode : {"LSTM", "GRU"}
    input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional
        As of `nn.LSTM`.
    dtype : dtype
        qint8 or float16.
    """

    _version = 2
    _FLOAT_MODULE: Any = nn.RNNBase

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, dtype: Any = None,
    ):  # fmt: skip
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.dtype = minitorch.qint8 if dtype is None else dtype
        if self.dtype not in (minitorch.qint8, minitorch.float16):
            raise RuntimeError(
                f"{mode}: Unsupported dtype specified for quantized RNN: {self.dtype}; use qint8 or float16"
            )
        directions = 2 if bidirectional else 1
        gates = _GATES[mode]
        self._all_weight_values = nn.ModuleList()
        for layer in range(num_layers):
            size = input_size if layer == 0 else hidden_size * directions
            for _ in range(directions):
                self._all_weight_values.append(
                    PackedParameter(
                        _initial((gates * hidden_size, size), self.dtype),
                        _initial((gates * hidden_size, hidden_size), self.dtype),
                    )
                )

    def _get_name(self) -> str:
        return f"DynamicQuantized{self.mode}"

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    # -- running ---------------------------------------------------------------------------

    def _direction(self, layer: int, direction: int, data: Any, sizes: list[int], state: tuple) -> tuple[Any, tuple]:
        """Return the outputs, one row for each of `data`, and the last states of one direction.

        Parameters
        ----------
        data : Tensor, shape (sum of sizes, features)
            The inputs of all steps, one step after the other.
        sizes : list of int
            How many sequences have each step; never more than the step before has.
        state : tuple of Tensor, shape (batch, hidden)
        """
        ih, hh = self._all_weight_values[layer * (2 if self.bidirectional else 1) + direction]
        step = _STEPS[self.mode]
        inputs = list(minitorch.split(product(ih, data), sizes))
        outputs: list = [None] * len(sizes)
        for t in reversed(range(len(sizes))) if direction else range(len(sizes)):
            n = sizes[t]
            active = tuple(s[:n] for s in state)
            new = step(inputs[t], product(hh, active[0]), active)
            outputs[t] = new[0]
            # Sequences that are over, or in the other direction not begun, keep their state.
            state = tuple(v if n == s.shape[0] else minitorch.cat([v, s[n:]]) for v, s in zip(new, state, strict=True))
        return minitorch.cat(outputs), state

    def _layers(self, data: Any, sizes: list[int], states: tuple) -> tuple[Any, tuple]:
        directions = 2 if self.bidirectional else 1
        last: list = []
        for layer in range(self.num_layers):
            results = []
            for direction in range(directions):
                index = layer * directions + direction
                output, state = self._direction(layer, direction, data, sizes, tuple(s[index] for s in states))
                results.append(output)
                last.append(state)
            data = minitorch.cat(results, 1) if directions == 2 else results[0]
            if self.dropout and self.training and layer < self.num_layers - 1:
                data = F.dropout(data, self.dropout, True)
        return data, tuple(minitorch.stack([s[k] for s in last]) for k in range(len(states)))

    def _run(self, input: Any, states: tuple | None, count: int) -> tuple[Any, tuple]:
        """Return outputs in the form of the input, and the last states, `count` of them."""
        packed = isinstance(input, PackedSequence)
        if packed:
            data, batch_sizes, sorted_indices, unsorted_indices = input
            sizes = batch_sizes.tolist()
        else:
            batched = input.dim() == 3
            if input.dim() not in (2, 3):
                raise RuntimeError(f"{self._get_name()}: input must have 2 or 3 dimensions, got {input.dim()}")
            if not batched:
                input = input.unsqueeze(0 if self.batch_first else 1)
                states = None if states is None else tuple(s.unsqueeze(1) for s in states)
            steps = input.transpose(0, 1) if self.batch_first else input
            sizes = [steps.shape[1]] * steps.shape[0]
            data, sorted_indices, unsorted_indices = steps.reshape(-1, steps.shape[2]), None, None
        if data.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{self._get_name()}: input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{data.shape[-1]}"
            )
        shape = (self.num_layers * (2 if self.bidirectional else 1), sizes[0], self.hidden_size)
        if states is None:
            states = (minitorch.zeros(shape, dtype=data.dtype, device=data.device),) * count
        for state in states:
            if tuple(state.shape) != shape:
                raise RuntimeError(f"{self._get_name()}: Expected hidden size {shape}, got {list(state.shape)}")
        if sorted_indices is not None:
            states = tuple(s.index_select(1, sorted_indices) for s in states)
        output, last = self._layers(data, sizes, states)
        if unsorted_indices is not None:
            last = tuple(s.index_select(1, unsorted_indices) for s in last)
        if packed:
            return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), last
        output = output.reshape(len(sizes), sizes[0], -1)
        output = output.transpose(0, 1) if self.batch_first else output
        if not batched:
            return output.squeeze(0 if self.batch_first else 1), tuple(s.squeeze(1) for s in last)
        return output, last

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one with a `QConfig`."""
        if not isinstance(mod, (nn.LSTM, nn.GRU)):
            raise AssertionError(
                f"nn.quantized.dynamic.RNNBase.from_float only works for LSTM and GRU, not {type(mod).__name__}"
            )
        if not getattr(mod, "qconfig", None):
            raise AssertionError(f"{cls.__name__}.from_float: Input RNNBase must have qconfig defined")
        if getattr(mod, "proj_size", 0):
            raise NotImplementedError(f"{cls.__name__}.from_float: projections of the hidden state are not supported")
        dtype = mod.qconfig.weight().dtype
        build: Any = cls
        made = build(
            mod.input_size, mod.hidden_size, mod.num_layers, mod.bias, mod.batch_first, mod.dropout, mod.bidirectional,
            dtype=dtype,
        )  # fmt: skip
        suffixes = [
            f"_l{layer}{end}"
            for layer in range(mod.num_layers)
            for end in ("", "_reverse")[: 2 if mod.bidirectional else 1]
        ]
        for i, suffix in enumerate(suffixes):
            made._all_weight_values[i] = PackedParameter(
                *[
                    _packed(
                        getattr(mod, f"weight_{kind}{suffix}"), getattr(mod, f"bias_{kind}{suffix}", None), mod.qconfig.weight(),
                        dtype,
                    )
                    for kind in ("ih", "hh")
                ]
            )  # fmt: skip
        return made


class LSTM(RNNBase):
    """`nn.LSTM` with quantized weights, of float32 numbers.

    Examples
    --------
    >>> lstm = minitorch.ao.nn.quantized.dynamic.LSTM(8, 16, num_layers=2)
    >>> output, (h, c) = lstm(minitorch.randn(5, 3, 8))
    >>> output.shape
    torch.Size([5, 3, 16])
    """

    _FLOAT_MODULE = nn.LSTM

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: tuple | None = None) -> Any:
        return self._run(input, hx, 2)


class GRU(RNNBase):
    """`nn.GRU` with quantized weights, of float32 numbers."""

    _FLOAT_MODULE = nn.GRU

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Any = None) -> Any:
        output, (hidden,) = self._run(input, None if hx is None else (hx,), 1)
        return output, hidden


class RNNCellBase(Module):
    """One step of a recurrent network, with quantized weights.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
    dtype : dtype
        qint8 or float16.
    """

    _mode = "RNN_TANH"

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, dtype: Any = None):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.weight_dtype = minitorch.qint8 if dtype is None else dtype
        rows = _GATES[self._mode] * hidden_size
        self._packed_weight_ih = _initial((rows, input_size), self.weight_dtype)
        self._packed_weight_hh = _initial((rows, hidden_size), self.weight_dtype)

    def _get_name(self) -> str:
        return f"DynamicQuantized{type(self).__name__}"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")

    def _step(self, input: Any, states: tuple | None, count: int) -> tuple:
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{self._get_name()}: input has inconsistent input_size: got {input.shape[-1]}, expected {self.input_size}"
            )
        if states is None:
            states = (
                minitorch.zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device),
            ) * count
        return _STEPS[self._mode](
            product(self._packed_weight_ih, input), product(self._packed_weight_hh, states[0]), states
        )

    @classmethod
    def _arguments(cls, mod: Any) -> dict:
        return {}

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Any:
        """Return the module for a float one with a `QConfig`."""
        if not getattr(mod, "qconfig", None):
            raise AssertionError(f"{cls.__name__}.from_float: Input RNNCell must have qconfig defined")
        dtype = mod.qconfig.weight().dtype
        made = cls(mod.input_size, mod.hidden_size, mod.bias, dtype=dtype, **cls._arguments(mod))
        bias_ih, bias_hh = (mod.bias_ih, mod.bias_hh) if mod.bias else (None, None)
        made._packed_weight_ih = _packed(mod.weight_ih, bias_ih, mod.qconfig.weight(), dtype)
        made._packed_weight_hh = _packed(mod.weight_hh, bias_hh, mod.qconfig.weight(), dtype)
        return made


class RNNCell(RNNCellBase):
    """`nn.RNNCell` with quantized weights; `nonlinearity` is ``"tanh"`` or ``"relu"``."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", dtype: Any = None
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"RNNCell: Unknown nonlinearity: {nonlinearity}; use 'tanh' or 'relu'")
        self._mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(input_size, hidden_size, bias, dtype)
        self.nonlinearity = nonlinearity

    @classmethod
    def _arguments(cls, mod: Any) -> dict:
        return {"nonlinearity": mod.nonlinearity}

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._step(input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """`nn.LSTMCell` with quantized weights."""

    _mode = "LSTM"

    def forward(self, input: Any, hx: tuple | None = None) -> tuple:
        return self._step(input, hx, 2)


class GRUCell(RNNCellBase):
    """`nn.GRUCell` with quantized weights."""

    _mode = "GRU"

    def forward(self, input: Any, hx: Any = None) -> Any:
        return self._step(input, None if hx is None else (hx,), 1)[0]
