"""Dynamic quantization against PyTorch, and embeddings whose weights alone are quantized."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from quantization_cases import batches, mq, mt, quiet, take_state, torch_quantization

from minitorch.ao.nn.quantized import dynamic as nnqd

WAYS = [
    ("Linear", {}),
    ("LSTM", {"num_layers": 2, "bidirectional": True}),
    ("GRU", {"num_layers": 2}),
    ("LSTM", {"batch_first": True}),
]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["qint8", "float16"])
@pytest.mark.parametrize(("name", "options"), WAYS, ids=["linear", "lstm", "gru", "lstm-batch-first"])
def test_modules_return_what_torchs_do(torch, name, options, dtype):
    mt.manual_seed(0)
    ours, theirs = getattr(mt.nn, name)(6, 8, **options), getattr(torch.nn, name)(6, 8, **options)
    take_state(torch, theirs, ours)
    quantized = mq.quantize_dynamic(mt.nn.Sequential(ours), dtype=getattr(mt, dtype))
    expected_model = quiet(
        torch_quantization(torch).quantize_dynamic, torch.nn.Sequential(theirs), dtype=getattr(torch, dtype)
    )
    assert repr(quantized) == repr(expected_model)
    x = batches(5, 3, 6)[0]
    found, expected = quantized(mt.from_numpy(x)), expected_model(torch.from_numpy(x))
    if name == "Linear":
        found, expected = [found], [expected]
    else:
        states = [[s[1]] if mt.is_tensor(s[1]) or torch.is_tensor(s[1]) else list(s[1]) for s in (found, expected)]
        found, expected = [found[0], *states[0]], [expected[0], *states[1]]
    for ours_part, theirs_part in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours_part.detach().numpy(), theirs_part.detach().numpy(), atol=1e-6, rtol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["LSTMCell", "GRUCell", "RNNCell"])
def test_cells_return_what_torchs_do(torch, name):
    mt.manual_seed(0)
    ours, theirs = getattr(mt.nn, name)(6, 8), getattr(torch.nn, name)(6, 8)
    take_state(torch, theirs, ours)
    quantized = mq.quantize_dynamic(mt.nn.Sequential(ours))[0]
    expected_cell = quiet(torch_quantization(torch).quantize_dynamic, torch.nn.Sequential(theirs))[0]
    x, h = batches(4, 6)[0], batches(4, 8)[1]
    state = (lambda t: (t, t)) if name == "LSTMCell" else (lambda t: t)
    found = quantized(mt.from_numpy(x), state(mt.from_numpy(h)))
    expected = expected_cell(torch.from_numpy(x), state(torch.from_numpy(h)))
    found, expected = (found, expected) if name == "LSTMCell" else ([found], [expected])
    for ours_part, theirs_part in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours_part.detach().numpy(), theirs_part.detach().numpy(), atol=1e-6)


def test_a_recurrent_network_is_near_the_float_one():
    lstm = mt.nn.LSTM(6, 8, bidirectional=True)
    quantized = mq.quantize_dynamic(mt.nn.Sequential(lstm))[0]
    assert type(quantized) is nnqd.LSTM
    x = mt.randn(5, 3, 6)
    expected, (h, c) = lstm(x)
    found, (hq, cq) = quantized(x)
    for ours, theirs in ((found, expected), (hq, h), (cq, c)):
        assert (ours - theirs).abs().max() < 0.02
    unbatched, _ = quantized(x[:, 0])
    assert unbatched.shape == (5, 16)
    with pytest.raises(RuntimeError, match="Expected hidden size"):
        quantized(x, (h, c[:, :2]))
    with pytest.raises(RuntimeError, match="Expected 6, got 5"):
        quantized(mt.randn(5, 3, 5))


@pytest.mark.oracle
@pytest.mark.parametrize("bidirectional", [False, True])
def test_packed_sequences(torch, bidirectional):
    mt.manual_seed(0)
    ours, theirs = mt.nn.LSTM(4, 5, bidirectional=bidirectional), torch.nn.LSTM(4, 5, bidirectional=bidirectional)
    take_state(torch, theirs, ours)
    x, lengths = batches(6, 3, 4)[0], [4, 6, 1]
    results = []
    for library, quantization, network, to in (
        (mt, mq, ours, mt.from_numpy), (torch, torch_quantization(torch), theirs, torch.from_numpy),
    ):  # fmt: skip
        quantized = quiet(quantization.quantize_dynamic, library.nn.Sequential(network))[0]
        packed = library.nn.utils.rnn.pack_padded_sequence(to(x), lengths, enforce_sorted=False)
        output, (h, c) = quantized(packed)
        results.append([library.nn.utils.rnn.pad_packed_sequence(output)[0], h, c])
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), atol=1e-6)


@pytest.mark.oracle
@pytest.mark.parametrize("bits", [8, 4])
def test_embeddings_return_what_torchs_do(torch, bits):
    mt.manual_seed(0)
    tq = torch_quantization(torch)
    ours, theirs = mt.nn.EmbeddingBag(10, 8, mode="sum"), torch.nn.EmbeddingBag(10, 8, mode="sum")
    take_state(torch, theirs, ours)
    kind = "quint8" if bits == 8 else "quint4x2"
    quantized = mq.quantize_dynamic(mt.nn.Sequential(ours), dtype=getattr(mt, kind))[0]
    expected_bag = quiet(tq.quantize_dynamic, torch.nn.Sequential(theirs), dtype=getattr(torch, kind))[0]
    indices, offsets = [9, 6, 5, 7, 8, 8, 9, 2], [0, 3, 4]
    found = quantized(mt.tensor(indices), mt.tensor(offsets))
    expected = expected_bag(torch.tensor(indices), torch.tensor(offsets))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), atol=1e-5)


def test_an_embedding_of_bytes():
    embedding = mt.nn.Embedding(10, 8)
    quantized = mq.quantize_dynamic(mt.nn.Sequential(embedding), dtype=mt.quint8)[0]
    indices = mt.tensor([[1, 9], [0, 0]])
    assert (quantized(indices) - embedding(indices)).abs().max() < 0.02
    fresh = type(quantized)(10, 8)
    fresh.load_state_dict(quantized.state_dict())
    assert mt.equal(fresh(indices), quantized(indices))


def test_which_modules():
    model = mt.nn.Sequential(mt.nn.Linear(4, 4), mt.nn.Linear(4, 2))
    by_name = mq.quantize_dynamic(model, {"1": mq.default_dynamic_qconfig})
    assert [type(m).__name__ for m in by_name] == ["Linear", "Linear"]
    assert type(by_name[1]) is nnqd.Linear
    assert type(by_name[0]) is mt.nn.Linear
    assert type(mq.quantize_dynamic(model, {mt.nn.Linear})[0]) is nnqd.Linear
    per_channel = mq.quantize_dynamic(model, {mt.nn.Linear: mq.per_channel_dynamic_qconfig})
    assert per_channel[0].weight().qscheme() is mt.per_channel_affine
    with pytest.raises(ValueError, match="Provide full qconfig"):
        mq.quantize_dynamic(model, dtype=mt.qint32)


def test_states_are_loaded_and_copied():
    model = mt.nn.Sequential(mt.nn.Linear(6, 6), mt.nn.GRU(6, 5))
    quantized = mq.quantize_dynamic(model)
    x = mt.randn(4, 2, 6)
    expected = quantized(x)[0]
    other = mq.quantize_dynamic(mt.nn.Sequential(mt.nn.Linear(6, 6), mt.nn.GRU(6, 5)))
    other.load_state_dict(quantized.state_dict())
    assert mt.equal(other(x)[0], expected)
    assert mt.equal(copy.deepcopy(quantized)(x)[0], expected)


def test_devices_return_nearly_the_same(opencl):
    quantized = mq.quantize_dynamic(mt.nn.Sequential(mt.nn.Linear(6, 6), mt.nn.LSTM(6, 5)))
    x = mt.randn(4, 2, 6)
    expected = quantized(x)[0]
    found = quantized.to(opencl)(x.to(opencl))[0].cpu()
    mt.testing.assert_close(found, expected)  # the sums are equal; exponentials may differ in the last bit
