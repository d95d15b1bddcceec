"""Calls of quantized operators, written once for minitorch on any device and for PyTorch.

A case is a function of an `Arguments`, which makes the same tensors for whoever runs it.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Arguments:
    """Makes the arguments of one case, from a seed.

    Parameters
    ----------
    lib : module
        minitorch or torch.
    seed : int
    device : str, optional
    """

    def __init__(self, lib: Any, seed: int, device: str | None = None):
        self.lib = lib
        self.device = device
        self.rng = np.random.default_rng(seed)
        self.dtype = ("quint8", "qint8")[seed % 2]
        self.quantized = lib.ops.quantized

    def tensor(self, array: Any) -> Any:
        """Return a tensor of an array."""
        made = self.lib.tensor(array)
        return made if self.device is None else made.to(self.device)

    def f(self, *shape: int, scale: float = 1.0) -> Any:
        """Return normal float32 numbers."""
        return self.tensor((self.rng.standard_normal(shape) * scale).astype(np.float32))

    def q(self, *shape: int, dtype: str | None = None, scale: float | None = None, zero_point: int | None = None) -> Any:
        """Return a quantized tensor with one scale."""
        dtype = dtype or self.dtype
        scale = float(self.rng.uniform(0.01, 0.2)) if scale is None else scale
        low, high = {"qint8": (-30, 30), "quint8": (90, 160), "qint32": (-100, 100)}[dtype]
        zero_point = int(self.rng.integers(low, high)) if zero_point is None else zero_point
        x = self.f(*shape, scale=scale * 40)
        return self.lib.quantize_per_tensor(x, scale, zero_point, getattr(self.lib, dtype))

    def x(self, *shape: int) -> Any:
        """Return a quantized input of a layer: quint8, below 128.

        PyTorch's kernels for processors without VNNI add pairs of products in 16 bits, which larger ones overflow.
        """
        x = self.tensor(self.rng.integers(0, 128, shape).astype(np.float32))
        return self.lib.quantize_per_tensor((x - 60.0) * 0.1, 0.1, 60, self.lib.quint8)

    def w(self, *shape: int, channels: bool = False) -> Any:
        """Return a quantized weight: qint8, with one scale or one for each output."""
        x = self.f(*shape)
        if not channels:
            return self.lib.quantize_per_tensor(x, 0.03, 0, self.lib.qint8)
        scales = self.tensor(self.rng.uniform(0.01, 0.05, shape[0]))
        zero_points = self.tensor(np.zeros(shape[0], np.int64))
        return self.lib.quantize_per_channel(x, scales, zero_points, 0, self.lib.qint8)

    def int8(self, *shape: int) -> Any:
        """Return ordinary integers of 8 bits."""
        return self.tensor(self.rng.integers(-128, 128, shape).astype(np.int8))

    def index(self, high: int, *shape: int) -> Any:
        """Return integers below `high`."""
        return self.tensor(self.rng.integers(0, high, shape))


CASES: dict[str, Any] = {}
UNITS: dict[str, int] = {}
"""By how many units results may differ from PyTorch's, by case; 0 where it is not named."""


def case(name: str, units: int = 0):
    """Register a case."""

    def register(fn: Any) -> Any:
        assert name not in CASES
        CASES[name] = fn
        UNITS[name] = units
        return fn

    return register


def simple(units: int, **cases: Any) -> None:
    """Register cases by keyword."""
    for name, fn in cases.items():
        case(name, units)(fn)


# ---------------------------------------------------------------- what they consist of

simple(
    0,
    quantize_per_tensor=lambda a: a.q(5, 7),
    quantize_per_channel=lambda a: a.w(6, 5, channels=True),
    quantize_qint32=lambda a: a.q(5, 7, dtype="qint32"),
    quantize_dynamic=lambda a: a.lib.quantize_per_tensor_dynamic(a.f(9, 5), getattr(a.lib, a.dtype), False),
    quantize_dynamic_reduced=lambda a: a.lib.quantize_per_tensor_dynamic(a.f(9, 5), a.lib.quint8, True),
    dequantize=lambda a: a.q(5, 7).dequantize(),
    dequantize_channels=lambda a: a.w(5, 7, channels=True).dequantize(),
    int_repr=lambda a: a.q(5, 7).int_repr(),
    make_per_tensor=lambda a: a.lib._make_per_tensor_quantized_tensor(a.q(3, 4).int_repr(), 0.25, 3),
    clone=lambda a: a.q(3, 4).clone(),
    contiguous=lambda a: a.q(3, 4).t().contiguous(),
    views=lambda a: [a.q(4, 6).t(), a.q(4, 6)[1:, ::2], a.q(2, 3, 4).permute(2, 0, 1), a.q(4, 6).view(3, 8), a.q(6)[2]],
    views_of_channels=lambda a: (lambda w: [w[:, 2:5], w.unsqueeze(0), w[2]])(a.w(4, 6, channels=True)),
    copy=lambda a: a.q(3, 4).copy_(a.f(3, 4)),
    fill=lambda a: a.q(3, 4).fill_(1.5),
    equal=lambda a: a.lib.equal(a.q(3, scale=0.1, zero_point=3), a.q(3, scale=0.1, zero_point=3)),
    item=lambda a: a.q(3, 4)[1, 2].item(),
)

# ---------------------------------------------------------------- elements, in other places and orders

simple(
    0,
    relu=lambda a: a.lib.relu(a.q(4, 9)),
    clamp=lambda a: a.lib.clamp(a.q(4, 9), -1.0, 2.0),
    clamp_min=lambda a: a.q(4, 9).clamp(min=0.5),
    hardtanh=lambda a: a.lib.nn.functional.hardtanh(a.q(4, 9), -1.0, 1.0),
    relu6=lambda a: a.lib.nn.functional.relu6(a.q(4, 9)),
    max=lambda a: a.q(4, 9).max(),
    min=lambda a: a.q(4, 9).min(),
    max_dim=lambda a: list(a.q(4, 9, scale=0.01).max(1)),
    sort=lambda a: list(a.q(4, 9).sort(dim=1, stable=True))[:1],
    topk=lambda a: list(a.q(4, 9).topk(3, 1))[:1],
    cat=lambda a: a.lib.cat([a.q(2, 3, scale=0.1, zero_point=3), a.q(4, 3, scale=0.1, zero_point=3)]),
    stack=lambda a: a.lib.stack([a.q(2, 3, scale=0.1, zero_point=3), a.q(2, 3, scale=0.1, zero_point=3)], 1),
    flip=lambda a: a.q(4, 9).flip(1),
    index_select=lambda a: a.q(4, 9).index_select(1, a.index(9, 5)),
    masked_fill=lambda a: (lambda q: q.masked_fill(q > 0, 1.0))(a.q(4, 9)),
    comparisons=lambda a: (lambda p, q: [p == q, p != q, p < q, p <= 0.5, p > q, p >= 0.1])(a.q(4, 9), a.q(4, 9)),
    max_pool2d=lambda a: a.lib.nn.functional.max_pool2d(a.q(2, 3, 8, 9), 3, 2, 1),
    quantized_max_pool1d=lambda a: a.lib.quantized_max_pool1d(a.q(2, 3, 9), [3], [2], [1], [1], False),
    quantized_max_pool2d=lambda a: a.lib.quantized_max_pool2d(a.q(2, 3, 8, 9), [3, 3], [2, 2], [1, 1], [1, 1], False),
    upsample_nearest=lambda a: a.lib.nn.functional.interpolate(a.q(1, 2, 4, 5), scale_factor=2, mode="nearest"),
    pad=lambda a: a.lib.nn.functional.pad(a.q(1, 2, 4, 5), [1, 2, 0, 1], value=0.0),
)

# ---------------------------------------------------------------- functions of elements, and means

simple(
    0,
    sigmoid=lambda a: a.lib.sigmoid(a.q(16, 17)),
    tanh=lambda a: a.lib.tanh(a.q(16, 17)),
    threshold=lambda a: a.lib.nn.functional.threshold(a.q(16, 17), 0.5, 0.0),
)
simple(
    1,
    leaky_relu=lambda a: a.lib.nn.functional.leaky_relu(a.q(16, 17), 0.1),
    hardsigmoid=lambda a: a.lib.nn.functional.hardsigmoid(a.q(16, 17)),
    gelu=lambda a: a.lib.nn.functional.gelu(a.q(16, 17)),
    mean=lambda a: a.q(4, 9).mean(),
    mean_dim=lambda a: a.q(4, 9, 3).mean([1, 2]),
    avg_pool2d=lambda a: a.lib.nn.functional.avg_pool2d(a.q(2, 3, 8, 9), 3, 2, 1),
    avg_pool2d_without_padding=lambda a: a.lib.nn.functional.avg_pool2d(a.q(2, 3, 8, 9), 3, 2, 1, count_include_pad=False),
    adaptive_avg_pool2d=lambda a: a.lib.nn.functional.adaptive_avg_pool2d(a.q(2, 3, 8, 9), (3, 2)),
    upsample_bilinear=lambda a: a.lib.nn.functional.interpolate(
        a.q(1, 2, 4, 5), scale_factor=2, mode="bilinear", align_corners=False
    ),
    quantized_batch_norm=lambda a: a.lib.quantized_batch_norm(
        a.q(2, 3, 4, 5), a.f(3), a.f(3), a.f(3), a.f(3) ** 2 + 0.5, 1e-5, 0.1, 10
    ),
)

# ---------------------------------------------------------------- minitorch.ops.quantized


def _pair(a: Arguments, dtype: str | None = None) -> tuple:
    return a.q(8, 9, dtype=dtype), a.q(8, 9, dtype=dtype)


simple(
    1,
    q_add=lambda a: a.quantized.add(*_pair(a), 0.2, 7),
    q_add_qint32=lambda a: a.quantized.add(*_pair(a, "qint32"), 0.2, 7),
    q_add_relu=lambda a: a.quantized.add_relu(*_pair(a), 0.2, 7),
    q_mul=lambda a: a.quantized.mul(*_pair(a), 0.5, 7),
    q_mul_relu=lambda a: a.quantized.mul_relu(*_pair(a), 0.5, 7),
    q_add_broadcast=lambda a: a.quantized.add(a.q(8, 9), a.q(9), 0.2, 7),
    q_add_out=lambda a: a.quantized.add_out(*_pair(a), a.q(8, 9)),
    q_add_scalar=lambda a: a.quantized.add_scalar(a.q(8, 9), 0.7),
    q_add_scalar_far=lambda a: [a.quantized.add_scalar(a.q(8, 9, scale=0.1), v) for v in (30.0, -30.0)],
    q_add_scalar_relu=lambda a: [a.quantized.add_scalar_relu(a.q(8, 9, scale=0.1), v) for v in (0.7, 30.0, -30.0, -0.5)],
    q_mul_scalar=lambda a: [a.quantized.mul_scalar(a.q(8, 9), v) for v in (0.7, -1.5, 0.0)],
    q_mul_scalar_relu=lambda a: [a.quantized.mul_scalar_relu(a.q(8, 9), v) for v in (0.7, -1.5, 0.0)],
    q_cat=lambda a: a.quantized.cat([a.q(3, 4), a.q(2, 4)], 0, 0.1, 5),
    q_cat_relu=lambda a: a.quantized.cat_relu([a.q(3, 4), a.q(2, 4)], 0, 0.1, 5),
    q_sigmoid=lambda a: a.quantized.sigmoid(a.q(16, 17), 0.004, 3),
    q_hardswish=lambda a: a.quantized.hardswish(a.q(16, 17), 0.05, 10),
    q_leaky_relu=lambda a: a.quantized.leaky_relu(a.q(16, 17), 0.1, False, 0.05, 10),
    q_elu=lambda a: a.quantized.elu(a.q(16, 17), 0.05, 10),
    q_celu=lambda a: a.quantized.celu(a.q(16, 17), 0.05, 10, 1.5),
    q_relu6=lambda a: a.quantized.relu6(a.q(16, 17)),
    q_clamp=lambda a: a.quantized.clamp(a.q(16, 17), -1.0, 1.0),
    q_threshold=lambda a: a.quantized.threshold(a.q(16, 17), 0.5, 0.0),
    q_prelu=lambda a: a.quantized.prelu(a.q(2, 3, 4), a.q(3), 0.05, 10),
    q_softmax=lambda a: a.quantized.softmax(a.q(8, 9), 1, 1 / 256, 0),
    q_batch_norm2d=lambda a: a.quantized.batch_norm2d(
        a.q(2, 3, 4, 5), a.f(3), a.f(3), a.f(3), a.f(3) ** 2 + 0.5, 1e-5, 0.1, 10
    ),
    q_batch_norm1d_relu=lambda a: a.quantized.batch_norm1d_relu(
        a.q(4, 3), a.f(3), a.f(3), a.f(3), a.f(3) ** 2 + 0.5, 1e-5, 0.1, 10
    ),
    q_layer_norm=lambda a: a.quantized.layer_norm(a.q(4, 9), [9], a.f(9), a.f(9), 1e-5, 0.05, 10),
    q_group_norm=lambda a: a.quantized.group_norm(a.q(2, 4, 5), 2, a.f(4), a.f(4), 1e-5, 0.05, 10),
    q_instance_norm=lambda a: a.quantized.instance_norm(a.q(2, 4, 5), a.f(4), a.f(4), 1e-5, 0.05, 10),
    q_matmul=lambda a: a.quantized.matmul(a.q(5, 300), a.q(300, 4), 2.0, 3),
)


def _linear(a: Arguments, channels: bool, relu: bool = False, k: int = 33) -> Any:
    x = a.x(6, k)
    packed = a.quantized.linear_prepack(a.w(5, k, channels=channels), a.f(5))
    return (a.quantized.linear_relu if relu else a.quantized.linear)(x, packed, 0.3, 60)


simple(
    1,
    q_linear=lambda a: _linear(a, False),
    q_linear_channels=lambda a: _linear(a, True),
    q_linear_relu=lambda a: _linear(a, True, relu=True),
    q_linear_long=lambda a: _linear(a, True, k=700),
    q_linear_without_bias=lambda a: a.quantized.linear(
        a.x(2, 3, 8), a.quantized.linear_prepack(a.w(5, 8)), 0.3, 60
    ),
    q_linear_dynamic=lambda a: a.quantized.linear_dynamic(a.f(6, 33), a.quantized.linear_prepack(a.w(5, 33), a.f(5)), True),
    q_linear_dynamic_reduced=lambda a: a.quantized.linear_dynamic(
        a.f(6, 33), a.quantized.linear_prepack(a.w(5, 33, channels=True), a.f(5)), True
    ),
    q_linear_relu_dynamic=lambda a: a.quantized.linear_relu_dynamic(
        a.f(6, 33), a.quantized.linear_prepack(a.w(5, 33), a.f(5))
    ),
    q_linear_unpack=lambda a: list(a.quantized.linear_unpack(a.quantized.linear_prepack(a.w(5, 33), a.f(5)))),
)


def _conv2d(a: Arguments, relu: bool = False, channels: bool = True, groups: int = 1) -> Any:
    x = a.x(2, 4, 7, 8)
    packed = a.quantized.conv2d_prepack(a.w(6, 4 // groups, 3, 3, channels=channels), a.f(6), [2, 1], [1, 1], [1, 2], groups)
    call = a.quantized.conv2d_relu if relu else a.quantized.conv2d
    return (call.new if hasattr(call, "new") else call)(x, packed, 0.3, 60)


def _conv1d(a: Arguments, relu: bool = False) -> Any:
    x = a.x(2, 4, 9)
    packed = a.quantized.conv1d_prepack(a.w(6, 4, 3), a.f(6), [1], [1], [1], 1)
    return (a.quantized.conv1d_relu if relu else a.quantized.conv1d)(x, packed, 0.3, 60)


def _transposed(a: Arguments, rank: int, groups: int = 1) -> Any:
    size = (7, 8)[:rank]
    x = a.x(2, 4, *size)
    prepack = getattr(a.quantized, f"conv_transpose{rank}d_prepack")
    packed = prepack(a.w(4, 6 // groups, *[3] * rank), a.f(6), [2] * rank, [1] * rank, [1] * rank, [1] * rank, groups)
    return getattr(a.quantized, f"conv_transpose{rank}d")(x, packed, 0.3, 60)


def _cell(a: Arguments, kind: str, gates: int) -> Any:
    cell = getattr(a.quantized, f"quantized_{kind}_cell_dynamic")
    x, state = a.f(3, 5), a.f(3, 4)
    packed = []
    biases = [a.f(gates * 4), a.f(gates * 4)]
    for size, bias in zip((5, 4), biases, strict=True):
        weight = a.lib.quantize_per_tensor(a.f(gates * 4, size, scale=0.3), 0.02, 0, a.lib.qint8)
        packed.append(a.quantized.linear_prepack(weight, bias))
    made = cell(x, [state, a.f(3, 4)] if kind == "lstm" else state, *packed, *biases)
    return list(made) if isinstance(made, (tuple, list)) else made


def _fp16(a: Arguments, relu: bool = False) -> Any:
    packed = a.quantized.linear_prepack_fp16(a.f(4, 9), a.f(4))
    call = a.quantized.linear_relu_dynamic_fp16 if relu else a.quantized.linear_dynamic_fp16
    return call(a.f(3, 9), packed)


simple(
    1,
    q_conv_transpose1d=lambda a: _transposed(a, 1),
    q_conv_transpose2d=lambda a: _transposed(a, 2),
    q_conv_transpose2d_groups=lambda a: _transposed(a, 2, groups=2),
    q_lstm_cell=lambda a: _cell(a, "lstm", 4),
    q_gru_cell=lambda a: _cell(a, "gru", 3),
    q_rnn_relu_cell=lambda a: _cell(a, "rnn_relu", 1),
    q_rnn_tanh_cell=lambda a: _cell(a, "rnn_tanh", 1),
    q_linear_fp16=lambda a: _fp16(a),
    q_linear_relu_fp16=lambda a: _fp16(a, relu=True),
    q_add_scalar_out=lambda a: a.quantized.add_scalar_out(a.q(3, 4), 0.7, a.q(3, 4)),
    q_cat_out=lambda a: a.quantized.cat_out([a.q(2, 4), a.q(2, 4)], 0, a.q(4, 4)),
    q_conv2d=lambda a: _conv2d(a),
    q_conv2d_relu=lambda a: _conv2d(a, relu=True),
    q_conv2d_one_scale=lambda a: _conv2d(a, channels=False),
    q_conv2d_groups=lambda a: _conv2d(a, groups=2),
    q_conv1d=lambda a: _conv1d(a),
    q_conv1d_relu=lambda a: _conv1d(a, relu=True),
    int_mm=lambda a: a.lib._int_mm(a.int8(32, 40), a.int8(40, 24)),
    weight_int8pack_mm=lambda a: a.lib._weight_int8pack_mm(
        a.f(4, 32).round(), a.int8(32, 32), a.f(32)
    ),
)

# ---------------------------------------------------------------- embeddings


def _rows(a: Arguments, dtype: str) -> Any:
    scales = a.tensor(a.rng.uniform(0.01, 0.05, 10).astype(np.float32))
    zero_points = a.tensor(a.rng.uniform(1, 9, 10).astype(np.float32))
    return a.lib.quantize_per_channel(a.f(10, 16, scale=0.3), scales, zero_points, 0, getattr(a.lib, dtype))


def _packed_rows(a: Arguments, dtype: str) -> Any:
    return a.quantized.embedding_bag_prepack(_rows(a, dtype))


def _there_and_back(a: Arguments, bits: str) -> Any:
    packed = getattr(a.quantized, f"embedding_bag_{bits}_prepack")(a.f(5, 16))
    return getattr(a.quantized, f"embedding_bag_{bits}_unpack")(packed)


def _rowwise(a: Arguments, bits: str) -> Any:
    packed = getattr(a.quantized, f"embedding_bag_{bits}_prepack")(a.f(10, 16))
    call = getattr(a.quantized, f"embedding_bag_{bits}_rowwise_offsets")
    return call(packed, a.index(10, 7), a.tensor(np.array([0, 2, 4])))


simple(
    1,
    packed_4_bits=lambda a: _rows(a, "quint4x2").dequantize(),
    packed_2_bits=lambda a: _rows(a, "quint2x4").dequantize(),
    q_embedding_byte=lambda a: a.quantized.embedding_byte(_packed_rows(a, "quint8"), a.index(10, 7)),
    q_embedding_4bit=lambda a: a.quantized.embedding_4bit(_packed_rows(a, "quint4x2"), a.index(10, 7)),
    q_embedding_bag_byte=lambda a: a.quantized.embedding_bag_byte(
        _packed_rows(a, "quint8"), a.index(10, 7), a.tensor(np.array([0, 2, 4]))
    ),
    q_embedding_bag_4bit=lambda a: a.quantized.embedding_bag_4bit(
        _packed_rows(a, "quint4x2"), a.index(10, 7), a.tensor(np.array([0, 2, 4]))
    ),
    q_embedding_bag_byte_prepack=lambda a: a.quantized.embedding_bag_byte_prepack(a.f(5, 16)),
    q_embedding_bag_byte_unpack=lambda a: _there_and_back(a, "byte"),
    q_embedding_bag_2bit_prepack=lambda a: a.quantized.embedding_bag_2bit_prepack(a.f(5, 16)),
    q_embedding_bag_2bit_unpack=lambda a: _there_and_back(a, "2bit"),
    q_embedding_bag_byte_rowwise=lambda a: _rowwise(a, "byte"),
    q_embedding_bag_4bit_rowwise=lambda a: _rowwise(a, "4bit"),
    choose_qparams_optimized=lambda a: list(a.lib.choose_qparams_optimized(a.f(64), 64, 200, 0.16, 4)),
    q_embedding_bag_4bit_prepack=lambda a: a.quantized.embedding_bag_4bit_prepack(a.f(5, 16)),
    q_embedding_bag_4bit_unpack=lambda a: _there_and_back(a, "4bit"),
)


# ---------------------------------------------------------------- comparison


def facts(result: Any) -> Any:
    """Return what can be compared of a result: arrays and numbers."""
    if isinstance(result, (list, tuple)):
        return [facts(item) for item in result]
    if not hasattr(result, "is_quantized"):
        return result
    if not result.is_quantized:
        return result.detach().cpu().numpy()
    result = result.detach().cpu()
    if "channel" in str(result.qscheme()):
        params: Any = (
            result.q_per_channel_scales().numpy(), result.q_per_channel_zero_points().numpy(), result.q_per_channel_axis()
        )  # fmt: skip
    else:
        params = (result.q_scale(), result.q_zero_point())
    ints = result.int_repr().numpy().astype(np.int64)
    scheme = str(result.qscheme())
    return {"dtype": str(result.dtype), "shape": tuple(result.shape), "scheme": scheme, "ints": ints, "params": params}


def assert_alike(found: Any, expected: Any, units: int = 0) -> None:
    """Assert that two results of `facts` are equal, integers of quantized tensors within some units."""
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert_alike(a, b, units)
    elif isinstance(expected, dict):
        for name in ("dtype", "shape", "scheme"):
            assert found[name] == expected[name]
        for a, b in zip(found["params"], expected["params"], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7)  # some of PyTorch's kernels keep them as float32
        difference = found["ints"] - expected["ints"]
        assert np.abs(difference).max(initial=0) <= units, f"{np.unique(difference, return_counts=True)}"
    elif isinstance(expected, np.ndarray):
        assert found.dtype == expected.dtype
        if expected.dtype.kind == "f" and units:
            np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6 * max(1.0, np.abs(expected).max(initial=0)))
        else:
            np.testing.assert_array_equal(found, expected)
    else:
        assert found == expected
