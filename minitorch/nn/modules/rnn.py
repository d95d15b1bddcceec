"""Recurrent networks."""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.nn import init
from minitorch.nn.modules.module import Module
from minitorch.nn.parameter import Parameter
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What recurrent networks share: weights by layer and direction.

    Parameters
    ----------
    mode : {"LSTM", "GRU", "RNN_TANH", "RNN_RELU"}
    input_size, hidden_size, num_layers : int
    bias, batch_first : bool
    dropout : float
        Between layers, while training.
    bidirectional : bool
    proj_size : int
        The size that an LSTM's hidden state is projected to; 0 for none.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
        "bidirectional", "proj_size",
    ]  # fmt: skip

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an "
                "element being zeroed"
            )
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero "
                f"dropout expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={num_layers}",
                stacklevel=3,
            )
        if not isinstance(hidden_size, int):
            raise TypeError(
                f"hidden_size should be of type int, got: {type(hidden_size).__name__}"
            )
        if hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if proj_size >= hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        options = {"device": device, "dtype": dtype}
        directions = 2 if bidirectional else 1
        rows = _GATES[mode] * hidden_size
        state_size = proj_size if proj_size > 0 else hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for direction in range(directions):
                inputs = input_size if layer == 0 else state_size * directions
                suffix = f"_l{layer}" + ("_reverse" if direction == 1 else "")
                shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, state_size)}
                if bias:
                    shapes["bias_ih"] = shapes["bias_hh"] = (rows,)
                if proj_size > 0:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [name + suffix for name in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(F.empty(shape, **options)))
                self._all_weights.append(names)
        self.reset_parameters()

    @property
    def _flat_weights(self) -> list[Any]:
        """The weights in the order that the operators take them."""
        parameters = self._parameters
        return [
            parameters[name] if name in parameters else getattr(self, name)
            for names in self._all_weights
            for name in names
        ]

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: there is no library here that wants the weights in one piece."""

    def reset_parameters(self) -> None:
        """Draw all weights uniformly within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_input(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        self._check_size(input)

    def _check_size(self, input: Tensor) -> None:
        if not input.is_floating_point() or input.dtype != self._flat_weights[0].dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype "
                f"({self._flat_weights[0].dtype}). Convert input: input.to("
                f"{self._flat_weights[0].dtype}), or convert model: model.to({input.dtype})"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got "
                f"{input.shape[-1]}"
            )

    def _state_shape(self, batch: int, size: int) -> tuple[int, int, int]:
        return self.num_layers * (2 if self.bidirectional else 1), batch, size

    def _check_state(self, state: Tensor, expected: tuple, what: str) -> None:
        if tuple(state.shape) != expected:
            raise RuntimeError(f"Expected {what} size {expected}, got {list(state.shape)}")

    def _zero_state(self, input: Tensor, batch: int, size: int) -> Tensor:
        return F.zeros(
            self._state_shape(batch, size), dtype=input.dtype, device=input.device
        )

    def _permuted(self, state: Any, permutation: Tensor | None) -> Any:
        """Return states with their sequences in another order."""
        if permutation is None:
            return state
        if isinstance(state, tuple):
            return tuple(s.index_select(1, permutation) for s in state)
        return state.index_select(1, permutation)

    def _run(self, operator: Any, input: Any, hx: Any, sizes: tuple[int, ...]) -> Any:
        """Run `operator` over a tensor or a packed sequence; return output and states.

        `hx` is a tuple of states or None, `sizes` the size of each state.
        """
        from minitorch.nn.utils.rnn import PackedSequence

        packed = isinstance(input, PackedSequence)
        added = False
        if packed:
            data, batch_sizes, sorted_indices, unsorted_indices = input
            self._check_size(data)
            batch = int(batch_sizes[0])
        else:
            data = input
            self._check_input(data)
            sorted_indices = None
            if data.dim() == 2:
                added = True
                data = data.unsqueeze(0 if self.batch_first else 1)
                if hx is not None:
                    if any(h.dim() != 2 for h in hx):
                        raise RuntimeError(
                            "For unbatched 2-D input, hx should also be 2-D but got "
                            f"{hx[0].dim()}-D tensor"
                        )
                    hx = tuple(h.unsqueeze(1) for h in hx)
            elif hx is not None and any(h.dim() != 3 for h in hx):
                raise RuntimeError(
                    f"For batched 3-D input, hx should also be 3-D but got {hx[0].dim()}-D tensor"
                )
            batch = data.shape[0 if self.batch_first else 1]
        if hx is None:
            hx = tuple(self._zero_state(data, batch, size) for size in sizes)
        else:
            for h, size, i in zip(hx, sizes, range(2), strict=False):
                self._check_state(h, self._state_shape(batch, size), f"hidden[{i}]")
            hx = self._permuted(tuple(hx), sorted_indices)
        state: Any = list(hx) if self.mode == "LSTM" else hx[0]
        rest = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        weights = self._flat_weights
        if packed:
            output, *states = operator(data, batch_sizes, state, weights, *rest)
            output = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
            states = self._permuted(tuple(states), unsorted_indices)
        else:
            output, *states = operator(data, state, weights, *rest, self.batch_first)
            if added:
                output = output.squeeze(0 if self.batch_first else 1)
                states = [s.squeeze(1) for s in states]
        return output, tuple(states)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


def _no_projection(kwargs: dict, name: str) -> None:
    if "proj_size" in kwargs:
        raise ValueError(
            f"proj_size argument is only supported for LSTM, not {name}"
        )


class RNN(RNNBase):
    """A recurrent network with ``tanh`` or ``relu`` (Elman, 1990).

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    nonlinearity : {"tanh", "relu"}
    bias, batch_first : bool
    dropout : float
    bidirectional : bool
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs, "RNN")
        if len(args) > 3:
            self_nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self_nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self_nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{self_nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__("RNN_" + self_nonlinearity.upper(), *args, **kwargs)
        self.nonlinearity = self_nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> Any:
        """Return the hidden states of all steps, and the last one of each layer."""
        operator = F.rnn_tanh if self.mode == "RNN_TANH" else F.rnn_relu
        output, (h,) = self._run(operator, input, None if hx is None else (hx,), (self.hidden_size,))
        return output, h


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter & Schmidhuber, 1997).

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    bias, batch_first : bool
    dropout : float
        Between layers, while training.
    bidirectional : bool
    proj_size : int
        The size that the hidden state is projected to; 0 for none.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        """Return the hidden states of all steps, and the last hidden and cell states."""
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)
        return self._run(F.lstm, input, hx, sizes)


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014).

    Parameters
    ----------
    input_size, hidden_size, num_layers : int
    bias, batch_first : bool
    dropout : float
        Between layers, while training.
    bidirectional : bool
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _no_projection(kwargs, "GRU")
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Any, hx: Tensor | None = None) -> Any:
        """Return the hidden states of all steps, and the last one of each layer."""
        output, (h,) = self._run(F.gru, input, None if hx is None else (hx,), (self.hidden_size,))
        return output, h


class RNNCellBase(Module):
    """What single steps of recurrent networks share."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(F.empty((rows, input_size), **options))
        self.weight_hh = Parameter(F.empty((rows, hidden_size), **options))
        if bias:
            self.bias_ih = Parameter(F.empty(rows, **options))
            self.bias_hh = Parameter(F.empty(rows, **options))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights uniformly within ``1 / sqrt(hidden_size)``."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _batched(self, input: Tensor, states: tuple | None) -> tuple[Tensor, Any, bool]:
        """Return input and states with a batch dimension, and whether it was there."""
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead"
            )
        if states is not None:
            for state in states:
                if state.dim() not in (1, 2):
                    raise ValueError(
                        f"{self._get_name()}: Expected hidden to be 1D or 2D, got {state.dim()}D "
                        "instead"
                    )
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            if states is not None:
                states = tuple(s.unsqueeze(0) for s in states)
        if states is None:
            zeros = F.zeros(
                [input.shape[0], self.hidden_size], dtype=input.dtype, device=input.device
            )
            states = (zeros, zeros)
        return input, states, batched

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        if nonlinearity != "tanh":
            text += f", nonlinearity={nonlinearity}"
        return text


class RNNCell(RNNCellBase):
    """One step of an `RNN`.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
    nonlinearity : {"tanh", "relu"}
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        input, states, batched = self._batched(input, None if hx is None else (hx,))
        if self.nonlinearity == "tanh":
            cell = F.rnn_tanh_cell
        elif self.nonlinearity == "relu":
            cell = F.rnn_relu_cell
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        h = cell(
            input, states[0], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        return h if batched else h.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        """Return the next hidden and cell state."""
        input, states, batched = self._batched(input, hx)
        h, c = F.lstm_cell(
            input, list(states), self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of a `GRU`.

    Parameters
    ----------
    input_size, hidden_size : int
    bias : bool
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next hidden state."""
        input, states, batched = self._batched(input, None if hx is None else (hx,))
        h = F.gru_cell(
            input, states[0], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        return h if batched else h.squeeze(0)
