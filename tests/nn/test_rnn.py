"""Recurrent networks and packed sequences."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch
from minitorch import nn
from minitorch.nn.utils import rnn


def test_lstm_equals_its_cells_step_by_step():
    minitorch.manual_seed(0)
    net = nn.LSTM(3, 4)
    cell = nn.LSTMCell(3, 4)
    cell.load_state_dict({k.removesuffix("_l0"): v for k, v in net.state_dict().items()})
    x = minitorch.randn(5, 2, 3)
    output, (h, c) = net(x)
    state = None
    for t in range(5):
        state = cell(x[t], state)
        assert minitorch.allclose(output[t], state[0], atol=1e-6)
    assert minitorch.allclose(h[0], state[0], atol=1e-6)
    assert minitorch.allclose(c[0], state[1], atol=1e-6)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_second_derivatives_go_through_the_fused_layers(kind):
    net = getattr(nn, kind)(2, 3).double()
    x = minitorch.randn(3, 2, 2, dtype=minitorch.float64, requires_grad=True)

    def run(x):
        output = net(x)[0]
        return (output * output).sum()

    (first,) = minitorch.autograd.grad(run(x), x, create_graph=True)
    (second,) = minitorch.autograd.grad((first * first).sum(), x)
    step = 1e-6
    moved = x.detach().clone()
    moved[1, 0, 1] += step
    moved.requires_grad_()
    (shifted,) = minitorch.autograd.grad(run(moved), moved)
    expected = float(((shifted**2).sum() - (first.detach() ** 2).sum()) / step)
    assert float(second[1, 0, 1]) == pytest.approx(expected, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences_give_what_each_sequence_gives_alone(kind, bidirectional):
    minitorch.manual_seed(0)
    net = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=bidirectional)
    sequences = [minitorch.randn(n, 3) for n in (2, 5, 3)]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    output, state = net(packed)
    padded, lengths = rnn.pad_packed_sequence(output, batch_first=True)
    assert lengths.tolist() == [2, 5, 3]
    last = state[0] if kind == "LSTM" else state
    for i, s in enumerate(sequences):
        alone, alone_state = net(s)
        assert minitorch.allclose(padded[i, : len(s)], alone, atol=1e-6)
        assert padded[i, len(s) :].abs().sum().item() == 0
        alone_last = alone_state[0] if kind == "LSTM" else alone_state
        assert minitorch.allclose(last[:, i], alone_last, atol=1e-6)


def test_pack_pads_and_sorts():
    a, b = minitorch.tensor([1.0, 2.0]), minitorch.tensor([3.0, 4.0, 5.0])
    padded = rnn.pad_sequence([a, b], batch_first=True, padding_value=-1)
    assert padded.tolist() == [[1, 2, -1], [3, 4, 5]]
    assert rnn.pad_sequence([a, b], batch_first=True, padding_side="left").tolist() == [[0, 1, 2], [3, 4, 5]]
    packed = rnn.pack_padded_sequence(padded, [2, 3], batch_first=True, enforce_sorted=False)
    assert packed.data.tolist() == [3, 1, 4, 2, 5]
    assert packed.batch_sizes.tolist() == [2, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 0]
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [[1, 2], [3, 4, 5]]
    with pytest.raises(RuntimeError, match="sorted in decreasing order"):
        rnn.pack_padded_sequence(padded, [2, 3], batch_first=True)


def test_wrong_sizes_are_told():
    net = nn.LSTM(3, 4)
    with pytest.raises(RuntimeError, match="Expected 3, got 5"):
        net(minitorch.ones(2, 1, 5))
    with pytest.raises(RuntimeError, match="Expected hidden"):
        net(minitorch.ones(2, 1, 3), (minitorch.ones(1, 2, 4), minitorch.ones(1, 2, 4)))
    with pytest.raises(ValueError, match="proj_size argument is only supported for LSTM"):
        nn.GRU(3, 4, proj_size=2)


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_packed_networks_against_torch(torch, kind):
    found = []
    arrays = [np.random.default_rng(i).standard_normal((n, 3)).astype(np.float32) for i, n in enumerate((4, 2, 1))]
    for library in (minitorch, torch):
        library.manual_seed(0)
        net = getattr(library.nn, kind)(3, 4, 2, bidirectional=True)
        packed = library.nn.utils.rnn.pack_sequence([library.from_numpy(a) for a in arrays])
        output, _ = net(packed)
        (output.data**2).sum().backward()
        found.append([output.data.detach().numpy(), *(p.grad.numpy() for p in net.parameters())])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
