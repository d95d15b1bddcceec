"""Modules against PyTorch's: initial weights of a seed, results, gradients, state, text."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch
import minitorch.nn

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

_random = np.random.default_rng(0)


def f(*shape):
    return _random.standard_normal(shape).astype(np.float32)


def ints(high, *shape):
    return _random.integers(0, high, shape)


def signs(*shape):
    return np.sign(f(*shape))


CASES = [
    ("Identity", (3,), {}, [f(2)]),
    ("Linear", (4, 3), {}, [f(2, 4)]),
    ("Linear", (4, 3), {"bias": False}, [f(2, 5, 4)]),
    ("Bilinear", (4, 3, 2), {}, [f(5, 4), f(5, 3)]),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "groups": 2}, [f(2, 4, 9)]),
    ("Conv2d", (3, 6, (3, 2)), {"padding": "same"}, [f(2, 3, 7, 8)]),
    ("Conv2d", (3, 6, 3), {"padding": 1, "padding_mode": "circular"}, [f(2, 3, 7, 8)]),
    ("Conv2d", (3, 6, 3), {"padding": 1, "padding_mode": "reflect", "dilation": 2}, [f(3, 7, 8)]),
    ("Conv3d", (2, 3, 2), {}, [f(2, 2, 4, 4, 4)]),
    ("ConvTranspose1d", (3, 4, 3), {"stride": 2}, [f(2, 3, 5)]),
    ("ConvTranspose2d", (3, 4, 3), {"stride": 2, "output_padding": 1}, [f(2, 3, 5, 5)]),
    ("ConvTranspose3d", (3, 4, 2), {}, [f(2, 3, 3, 3, 3)]),
    ("BatchNorm1d", (4,), {}, [f(5, 4)]),
    ("BatchNorm2d", (3,), {"momentum": None}, [f(2, 3, 4, 4)]),
    ("BatchNorm3d", (3,), {"affine": False}, [f(2, 3, 2, 2, 2)]),
    ("BatchNorm1d", (3,), {"track_running_stats": False, "bias": False}, [f(2, 3, 4)]),
    ("InstanceNorm1d", (3,), {"affine": True, "track_running_stats": True}, [f(2, 3, 4)]),
    ("InstanceNorm2d", (3,), {}, [f(2, 3, 4, 4)]),
    ("LayerNorm", (4,), {}, [f(2, 4)]),
    ("LayerNorm", ((3, 4),), {"bias": False}, [f(2, 3, 4)]),
    ("GroupNorm", (2, 4), {}, [f(2, 4, 3)]),
    ("RMSNorm", (4,), {}, [f(2, 4)]),
    ("LocalResponseNorm", (3,), {}, [f(2, 5, 4)]),
    ("Embedding", (10, 4), {"padding_idx": -2}, [ints(10, 3, 2)]),
    ("EmbeddingBag", (10, 4), {"mode": "sum"}, [ints(10, 3, 2)]),
    ("EmbeddingBag", (10, 4), {"mode": "max", "padding_idx": 3}, [ints(10, 3, 5)]),
    ("EmbeddingBag", (10, 4), {}, [ints(10, 7), np.array([0, 2, 2, 5])]),
    ("MaxPool1d", (2,), {}, [f(2, 3, 7)]),
    ("MaxPool2d", (3,), {"stride": 2, "padding": 1, "return_indices": True, "ceil_mode": True}, [f(2, 3, 8, 8)]),
    ("MaxPool3d", (2,), {}, [f(2, 2, 4, 4, 4)]),
    ("AvgPool1d", (2,), {}, [f(2, 3, 7)]),
    ("AvgPool2d", (3,), {"padding": 1, "count_include_pad": False}, [f(2, 3, 8, 8)]),
    ("AvgPool3d", (2,), {}, [f(2, 2, 4, 4, 4)]),
    ("LPPool1d", (2, 3), {}, [f(2, 3, 7)]),
    ("LPPool2d", (2, 3), {"stride": 2}, [f(2, 3, 7, 7)]),
    ("AdaptiveAvgPool1d", (3,), {}, [f(2, 3, 7)]),
    ("AdaptiveAvgPool2d", ((2, None),), {}, [f(2, 3, 7, 5)]),
    ("AdaptiveAvgPool3d", (2,), {}, [f(2, 3, 4, 5, 6)]),
    ("AdaptiveMaxPool2d", (2,), {}, [f(2, 3, 7, 5)]),
    *((name, (), {}, [f(2, 4, 3, 2)]) for name in (
        "ReLU", "ReLU6", "Sigmoid", "Tanh", "Hardsigmoid", "Hardswish", "SiLU", "Mish", "SELU", "LogSigmoid",
        "Softsign", "Tanhshrink", "Softplus", "ELU", "CELU", "GELU", "GLU", "Hardshrink", "Softshrink", "LeakyReLU",
        "Hardtanh", "PReLU", "RReLU", "Flatten", "Softmax2d",
    )),
    ("GELU", ("tanh",), {}, [f(3, 4)]),
    ("PReLU", (4,), {}, [f(2, 4, 3)]),
    ("Softmax", (1,), {}, [f(2, 4)]),
    ("LogSoftmax", (1,), {}, [f(2, 4)]),
    ("Softmin", (1,), {}, [f(2, 4)]),
    ("Threshold", (0.1, 2.0), {}, [f(2, 4)]),
    ("Unflatten", (1, (2, 2)), {}, [f(2, 4)]),
    ("ZeroPad2d", (1,), {}, [f(1, 2, 3, 3)]),
    ("ConstantPad1d", ((1, 2), 3.5), {}, [f(1, 2, 3)]),
    ("ReflectionPad2d", (1,), {}, [f(1, 2, 3, 3)]),
    ("ReplicationPad3d", (1,), {}, [f(1, 2, 3, 3, 3)]),
    ("CircularPad2d", (1,), {}, [f(1, 2, 3, 3)]),
    ("Upsample", (), {"scale_factor": 2, "mode": "bilinear"}, [f(1, 2, 3, 3)]),
    ("UpsamplingNearest2d", (), {"scale_factor": 2}, [f(1, 2, 3, 3)]),
    ("PixelShuffle", (2,), {}, [f(1, 8, 3, 3)]),
    ("PixelUnshuffle", (2,), {}, [f(1, 2, 4, 4)]),
    ("ChannelShuffle", (2,), {}, [f(1, 4, 3, 3)]),
    ("Unfold", (2,), {}, [f(1, 2, 4, 4)]),
    ("Fold", ((4, 4), 2), {}, [f(1, 8, 9)]),
    ("CosineSimilarity", (), {}, [f(3, 4), f(3, 4)]),
    ("PairwiseDistance", (), {}, [f(3, 4), f(3, 4)]),
    ("RNN", (4, 5), {}, [f(3, 2, 4)]),
    ("RNN", (4, 5, 2, "relu"), {"bidirectional": True, "batch_first": True}, [f(3, 2, 4)]),
    ("LSTM", (4, 5), {}, [f(3, 2, 4)]),
    ("LSTM", (4, 5, 2), {"bidirectional": True, "batch_first": True, "proj_size": 3}, [f(3, 2, 4)]),
    ("LSTM", (4, 5, 2), {"bias": False, "bidirectional": True}, [f(3, 4)]),
    ("GRU", (4, 5), {}, [f(3, 2, 4)]),
    ("GRU", (4, 5, 2), {"bidirectional": True, "bias": False}, [f(3, 2, 4)]),
    ("RNNCell", (4, 5), {}, [f(2, 4)]),
    ("LSTMCell", (4, 5), {}, [f(2, 4)]),
    ("AdaptiveLogSoftmaxWithLoss", (8, 10, [2, 5]), {"div_value": 2.0}, [f(4, 8), np.array([0, 3, 9, 1])]),
    ("LazyLinear", (3,), {}, [f(2, 4)]),
    ("LazyConv2d", (3, 2), {"stride": 2}, [f(2, 4, 5, 5)]),
    ("LazyConvTranspose1d", (3, 2), {}, [f(2, 4, 5)]),
    ("LazyBatchNorm1d", (), {}, [f(5, 3)]),
    ("GRUCell", (4, 5), {}, [f(4)]),
    ("MultiheadAttention", (8, 2), {}, [f(3, 2, 8), f(5, 2, 8), f(5, 2, 8)]),
    ("MultiheadAttention", (8, 2), {"kdim": 4, "vdim": 6, "batch_first": True, "add_bias_kv": True, "add_zero_attn": True},
     [f(2, 3, 8), f(2, 5, 4), f(2, 5, 6)]),
    ("TransformerEncoderLayer", (8, 2, 16), {"dropout": 0.0, "activation": "gelu"}, [f(3, 2, 8)]),
    ("TransformerDecoderLayer", (8, 2, 16), {"dropout": 0.0, "norm_first": True, "batch_first": True},
     [f(3, 2, 8), f(3, 4, 8)]),
    ("Transformer", (8, 2, 1, 1, 16, 0.0), {}, [f(3, 2, 8), f(4, 2, 8)]),
    ("L1Loss", (), {}, [f(3, 4), f(3, 4)]),
    ("MSELoss", (), {"reduction": "sum"}, [f(3, 4), f(3, 4)]),
    ("SmoothL1Loss", (), {}, [f(3, 4), f(3, 4)]),
    ("HuberLoss", (), {}, [f(3, 4), f(3, 4)]),
    ("CrossEntropyLoss", (), {"label_smoothing": 0.1}, [f(3, 4), ints(4, 3)]),
    ("NLLLoss", (), {}, [f(3, 4), ints(4, 3)]),
    ("PoissonNLLLoss", (), {}, [f(3, 4), abs(f(3, 4))]),
    ("GaussianNLLLoss", (), {}, [f(3, 4), f(3, 4), abs(f(3, 4))]),
    ("KLDivLoss", (), {"reduction": "batchmean"}, [f(3, 4), abs(f(3, 4))]),
    ("BCELoss", (), {}, [np.full((3, 4), 0.25, np.float32), (f(3, 4) > 0).astype(np.float32)]),
    ("BCEWithLogitsLoss", (), {}, [f(3, 4), abs(f(3, 4))]),
    ("HingeEmbeddingLoss", (), {}, [f(3, 4), signs(3, 4)]),
    ("MultiLabelMarginLoss", (), {}, [f(2, 4), np.array([[1, 2, -1, 0], [3, -1, 0, 0]])]),
    ("SoftMarginLoss", (), {}, [f(3, 4), signs(3, 4)]),
    ("MultiLabelSoftMarginLoss", (), {}, [f(3, 4), (f(3, 4) > 0).astype(np.float32)]),
    ("CosineEmbeddingLoss", (), {}, [f(3, 4), f(3, 4), signs(3)]),
    ("MarginRankingLoss", (), {}, [f(3), f(3), signs(3)]),
    ("MultiMarginLoss", (), {}, [f(3, 4), ints(4, 3)]),
    ("TripletMarginLoss", (), {}, [f(3, 4), f(3, 4), f(3, 4)]),
    ("TripletMarginWithDistanceLoss", (), {}, [f(3, 4), f(3, 4), f(3, 4)]),
]


def leaves(value):
    """Return the tensors in a result, in order."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def outcome(library, name, args, kwargs, arrays):
    """Return what a module of a library does with the inputs, as NumPy arrays and texts."""
    library.manual_seed(0)
    module = getattr(library.nn, name)(*args, **kwargs)
    if name == "RReLU":
        module.eval()
    inputs = [library.from_numpy(a.copy()) for a in arrays]
    for i, tensor in enumerate(inputs):
        if tensor.is_floating_point() and (i == 0 or not name.endswith("Loss")):
            tensor.requires_grad_()
    results = leaves(module(*inputs))
    total = sum((r * r).sum() for r in results if r.is_floating_point())
    if total.requires_grad:
        total.backward()
    found = {f"result {i}": r for i, r in enumerate(results)}
    found |= {f"gradient of input {i}": t.grad for i, t in enumerate(inputs) if t.grad is not None}
    found |= {f"gradient of {k}": p.grad for k, p in module.named_parameters() if p.grad is not None}
    found |= module.state_dict()
    return {k: v.detach().numpy() for k, v in found.items()}, repr(module)


@pytest.mark.parametrize(("name", "args", "kwargs", "arrays"), CASES, ids=[c[0] for c in CASES])
def test_module(torch, name, args, kwargs, arrays):
    ours, text = outcome(minitorch, name, args, kwargs, arrays)
    theirs, their_text = outcome(torch, name, args, kwargs, arrays)
    assert text == their_text
    assert list(ours) == list(theirs)
    for key, expected in theirs.items():
        assert ours[key].dtype == expected.dtype, key
        np.testing.assert_allclose(ours[key], expected, rtol=1e-4, atol=2e-5, err_msg=key)


def test_all_public_names_are_there(torch):
    missing = [n for n in dir(torch.nn) if n[0].isupper() and not hasattr(minitorch.nn, n)]
    assert missing == ["Container"]  # an empty class, deprecated before PyTorch 1.0
