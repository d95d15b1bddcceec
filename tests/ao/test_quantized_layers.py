"""Each quantized module against PyTorch's, weights alone in 8 and 4 bits, and PyTorch's older names."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from quantization_cases import batches, mq, mt, nnq, quiet

from minitorch.ao.nn.intrinsic import quantized as nniq
from minitorch.ao.nn.quantized.weight_only import Int4WeightLinear, Int8WeightLinear, pack_int4, unpack_int4
from minitorch.ao.quantization.weight_only import quantize_weights_

X = (2, 4, 6, 6)
# Name, arguments, and the shape of the input.
LAYERS = [
    ("Hardswish", (0.05, 100), X), ("LeakyReLU", (0.05, 100, 0.2), X), ("ELU", (0.05, 100), X), ("ReLU6", (), X),
    ("Sigmoid", (1 / 256, 0), X), ("Softmax", (1, 1 / 256, 0), X), ("Dropout", (0.5,), X),
]  # fmt: skip


def quantized_input(shape, scale=0.05, zero_point=100):
    """Return the same quantized numbers of 8 bits in both libraries."""
    import torch

    values = batches(*shape)[0] * 2
    return (
        mt.quantize_per_tensor(mt.from_numpy(values), scale, zero_point, mt.quint8),
        quiet(torch.quantize_per_tensor, torch.from_numpy(values), scale, zero_point, torch.quint8),
    )


def assert_within_a_unit(found, expected):
    assert (found.q_scale(), found.q_zero_point()) == (expected.q_scale(), expected.q_zero_point())
    difference = found.int_repr().numpy().astype(int) - expected.int_repr().numpy().astype(int)
    assert np.abs(difference).max() <= 1


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "arguments", "shape"), LAYERS, ids=[name for name, _, _ in LAYERS])
def test_layers_return_what_torchs_do(torch, name, arguments, shape):
    import torch.ao.nn.quantized as torch_nnq

    ours, theirs = getattr(nnq, name)(*arguments), quiet(getattr(torch_nnq, name), *arguments)
    x, y = quantized_input(shape)
    assert_within_a_unit(ours(x), theirs(y))
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["LayerNorm", "GroupNorm", "InstanceNorm2d", "BatchNorm2d"])
def test_normalizations_are_converted_as_torchs(torch, name):
    import torch.ao.nn.quantized as torch_nnq
    import torch.ao.quantization as tq

    arguments = {"LayerNorm": ([6],), "GroupNorm": (2, 4), "InstanceNorm2d": (4, 1e-5, 0.1, True), "BatchNorm2d": (4,)}[
        name
    ]
    values = batches(*X)[0] * 2
    results = []
    for library, quantization, quantized, to in (
        (mt, mq, nnq, mt.from_numpy), (torch, tq, torch_nnq, torch.from_numpy),
    ):  # fmt: skip
        module = getattr(library.nn, name)(*arguments).eval()
        module.qconfig = quantization.QConfig(
            activation=quantization.MinMaxObserver, weight=quantization.MinMaxObserver
        )
        module.activation_post_process = quantization.MinMaxObserver()
        module.activation_post_process(module(to(values)))
        made = quiet(getattr(quantized, name).from_float, module)
        x = quiet(library.quantize_per_tensor, to(values), 0.05, 100, library.quint8)
        results.append((made(x), made))
    (found, ours), (expected, theirs) = results
    difference = found.int_repr().numpy().astype(int) - expected.int_repr().numpy().astype(int)
    assert np.abs(difference).max() <= 1
    assert list(ours.state_dict()) == list(theirs.state_dict())


def test_prelu():
    """Against the float one: PyTorch's kernel takes numbers above 0 for those below where the weight's zero point is 0."""
    module = mt.nn.PReLU()
    module.qconfig = mq.default_quint8_weight_qconfig
    module.activation_post_process = mq.MinMaxObserver()
    x = mt.quantize_per_tensor(mt.randn(4, 8), 0.05, 100, mt.quint8)
    expected = module(x.dequantize())
    module.activation_post_process(expected)
    made = nnq.PReLU.from_float(module)
    assert (made(x).dequantize() - expected).abs().max() <= made.scale


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "arguments", "options", "shape"),
    [
        ("Conv1d", (4, 6, 3), {"padding": 1, "stride": 2}, (2, 4, 9)),
        ("Conv2d", (4, 6, 3), {"padding": 1, "groups": 2}, X),
        ("Conv2d", (4, 6, (3, 2)), {"dilation": 2, "bias": False}, X),
        ("Conv2d", (4, 6, 3), {"padding": 2, "padding_mode": "reflect"}, X),
        ("Conv3d", (2, 3, 2), {}, (1, 2, 4, 4, 4)),
        ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "padding": 1, "output_padding": 1}, (2, 4, 9)),
        ("ConvTranspose2d", (4, 6, 3), {"groups": 2, "bias": False, "dilation": 2}, X),
        ("Linear", (6, 5), {}, (3, 6)),
    ],
)
def test_weighted_layers_return_what_torchs_do(torch, name, arguments, options, shape):
    import torch.ao.nn.quantized as torch_nnq

    float_layer = getattr(mt.nn, name)(*arguments, **options)
    bias = options.get("bias", True)
    options = {"bias_": bias} if name == "Linear" else options
    ours, theirs = getattr(nnq, name)(*arguments, **options), quiet(getattr(torch_nnq, name), *arguments, **options)
    weight = float_layer.weight.detach().numpy()
    scales = np.abs(weight).reshape(len(weight), -1).max(1) / 127
    for library, module, to in ((mt, ours, mt.from_numpy), (torch, theirs, torch.from_numpy)):
        if "Transpose" in name:
            rows = quiet(library.quantize_per_tensor, to(weight), float(scales.max()), 0, library.qint8)
        else:
            points = to(np.zeros(len(weight), np.int64))
            rows = quiet(library.quantize_per_channel, to(weight), to(scales), points, 0, library.qint8)
        module.set_weight_bias(rows, to(float_layer.bias.detach().numpy()) if bias else None)
        module.scale, module.zero_point = 0.04, 110
    x, y = quantized_input(shape, 0.15, 64)  # below 128: sums of two products fit the 16 bits of PyTorch's kernels
    assert_within_a_unit(ours(x), theirs(y))
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert repr(ours) == repr(theirs)


@pytest.mark.oracle
def test_functionals_return_what_torchs_do(torch):
    import torch.ao.nn.quantized as torch_nnq

    ours, theirs = nnq.QFunctional(), quiet(torch_nnq.QFunctional)
    for module in (ours, theirs):
        module.scale, module.zero_point = 0.1, 90
    x, y = quantized_input(X)
    for name, extra in (
        ("add", None),
        ("mul", None),
        ("add_relu", None),
        ("add_scalar", 0.7),
        ("mul_scalar", -0.5),
        ("matmul", None),
    ):
        found = getattr(ours, name)(x, x if extra is None else extra)
        assert_within_a_unit(found, getattr(theirs, name)(y, y if extra is None else extra))
    assert_within_a_unit(ours.cat([x, x], 1), theirs.cat([y, y], 1))
    with pytest.raises(RuntimeError, match="call its methods"):
        ours(x)


def test_functions():
    from minitorch.ao.nn.quantized import functional as qF

    x = mt.quantize_per_tensor(mt.randn(2, 4, 6, 6), 0.05, 100, mt.quint8)
    weight = mt.quantize_per_tensor(mt.randn(3, 4, 3, 3), 0.02, 0, mt.qint8)
    found = qF.conv2d(x, weight, None, padding=1, scale=0.2, zero_point=64)
    expected = mt.nn.functional.conv2d(x.dequantize(), weight.dequantize(), padding=1)
    assert (found.dequantize() - expected.clamp(-64 * 0.2, 191 * 0.2)).abs().max() <= 0.11
    rows = mt.quantize_per_tensor(mt.randn(3, 6), 0.02, 0, mt.qint8)
    assert qF.linear(x, rows, None, 0.1, 100).shape == (2, 4, 6, 3)
    for function, arguments in (
        (qF.hardswish, (0.1, 100)), (qF.elu, (0.1, 100)), (qF.leaky_relu, (0.1, False, 0.1, 100)), (qF.clamp, (-1, 1)),
        (qF.hardtanh, ()),
    ):  # fmt: skip
        assert function(x, *arguments).dtype is mt.quint8
    with pytest.raises(NotImplementedError, match="zero-padding"):
        qF.conv2d(x, weight, None, padding_mode="reflect")


def test_layers_with_relu():
    conv, plain = nniq.ConvReLU2d(1, 2, 3), nnq.Conv2d(1, 2, 3)
    weight = mt.quantize_per_tensor(mt.randn(2, 1, 3, 3), 0.02, 0, mt.qint8)
    x = mt.quantize_per_tensor(mt.randn(1, 1, 5, 5), 0.05, 100, mt.quint8)
    for module in (conv, plain):
        module.set_weight_bias(weight, None)
        module.scale, module.zero_point = 0.03, 60
    assert mt.equal(conv(x).int_repr(), plain(x).int_repr().clamp(60, 255))
    with pytest.raises(ValueError, match="must have 4 dimensions"):
        conv(x[0])


# ---------------------------------------------------------------- weights alone


def test_four_bits_are_packed_two_to_a_byte():
    steps = mt.arange(16).reshape(2, 8)
    packed = pack_int4(steps)
    assert packed.tolist() == [[0x10, 0x32, 0x54, 0x76], [0x98, 0xBA, 0xDC, 0xFE]]
    assert mt.equal(unpack_int4(packed), steps.to(mt.uint8))
    with pytest.raises(ValueError, match="odd"):
        pack_int4(mt.arange(3))


@pytest.mark.parametrize(("bits", "error", "share"), [(8, 0.5 / 127, 0.26), (4, 0.5 / 15 * 2, 0.19)])
def test_weights_alone(bits, error, share):
    mt.manual_seed(0)
    model = mt.nn.Sequential(mt.nn.Linear(64, 32, bias=False), mt.nn.ReLU(), mt.nn.Linear(32, 4))
    weights = [model[0].weight.detach().clone(), model[2].weight.detach().clone()]
    bias = model[2].bias
    before = sum(t.numel() * t.element_size() for t in weights)
    assert quantize_weights_(model, bits=bits, group_size=32) is model
    for module, weight in zip((model[0], model[2]), weights, strict=True):
        restored = module.dequantized_weight(mt.float32)
        assert (restored - weight).abs().max() <= error * weight.abs().max() * 1.001
    after = sum(b.numel() * b.element_size() for b in model.buffers())
    assert after < (share + 0.02) * before
    assert model[2].bias is bias
    x = mt.randn(3, 64, requires_grad=True)
    model(x).sum().backward()
    assert x.grad.abs().sum() > 0
    assert [name for name, _ in model.named_parameters()] == ["2.bias"]
    kinds = (Int8WeightLinear, Int4WeightLinear)
    fresh = quantize_weights_(
        mt.nn.Sequential(mt.nn.Linear(64, 32, bias=False), mt.nn.ReLU(), mt.nn.Linear(32, 4)), bits=bits
    )
    assert type(fresh[0]) is kinds[bits == 4]
    fresh.load_state_dict(model.state_dict())
    assert mt.equal(fresh(x), model(x))
    assert model.half()(x.half()).dtype is mt.float16


def test_which_weights_alone():
    model = mt.nn.Sequential(mt.nn.Linear(8, 6), mt.nn.Linear(6, 32), mt.nn.Linear(32, 2))
    quantize_weights_(model, bits=4, group_size=8, filter_fn=lambda module, name: name != "2")
    assert [type(m).__name__ for m in model] == ["Int4WeightLinear", "Linear", "Linear"]
    assert type(quantize_weights_(mt.nn.Linear(3, 2))) is Int8WeightLinear
    with pytest.raises(ValueError, match="must be 8 or 4, not 3"):
        quantize_weights_(model, bits=3)
    with pytest.raises(ValueError, match="divide the 6 input features"):
        Int4WeightLinear(mt.ones(2, 6), group_size=4)
    constant = Int4WeightLinear(mt.full([2, 4], 0.3), group_size=4)
    mt.testing.assert_close(constant(mt.ones(4)), mt.full([2], 1.2))
    assert Int8WeightLinear(mt.zeros(2, 4))(mt.ones(4)).tolist() == [0, 0]


# ---------------------------------------------------------------- names

NAMES = """
import sys
import minitorch
assert not [m for m in sys.modules if m.startswith("minitorch.ao")]
import minitorch.nn.quantized.dynamic
import minitorch.quantization.observer
from minitorch.nn.intrinsic.qat import ConvBn2d
from minitorch.quantization import QuantStub
from minitorch.ao.quantization import observer
assert minitorch.nn.quantized is minitorch.ao.nn.quantized
assert minitorch.nn.quantized.dynamic.Linear is minitorch.ao.nn.quantized.dynamic.Linear
assert minitorch.quantization is minitorch.ao.quantization
assert minitorch.quantization.observer is observer
assert sys.modules["minitorch.quantization.observer"] is observer
assert ConvBn2d is minitorch.ao.nn.intrinsic.qat.ConvBn2d
"""


def test_older_names_are_the_same_modules():
    subprocess.run([sys.executable, "-c", NAMES], check=True)


@pytest.mark.oracle
def test_public_names_are_there(torch):
    import torch.ao.nn.intrinsic
    import torch.ao.nn.qat
    import torch.ao.nn.quantized
    import torch.ao.quantization

    # Of TorchScript, of blockwise quantization outside of torch.ao's own flow, of sparse weights, and of Caffe's kind.
    left_out = {
        "AffineQuantizedObserverBase", "Callable", "Granularity", "MappingType", "ObserverOrFakeQuantize", "PerAxis", "PerBlock",
        "PerGroup", "PerRow", "PerTensor", "PerToken", "QConfigDynamic", "QuantType", "Tensor", "TorchAODType", "TypeAliasType",
        "ZeroPointDomain", "convert_dynamic_jit", "convert_jit", "fuse_conv_bn_jit", "get_block_size", "get_fuser_method_new",
        "get_default_compare_output_module_list", "get_default_custom_config_dict", "get_default_qat_qconfig_dict",
        "get_default_qconfig_dict", "get_quantized_operator", "no_observer_set", "prepare_dynamic_jit", "prepare_jit",
        "quant_type", "quantize_dynamic_jit", "quantize_jit", "script_qconfig", "script_qconfig_dict", "sys", "torch",
        "DEFAULT_DYNAMIC_SPARSE_QUANT_MODULE_MAPPINGS", "DEFAULT_FLOAT_TO_QUANTIZED_OPERATOR_MAPPINGS",
        "DEFAULT_REFERENCE_STATIC_QUANT_MODULE_MAPPINGS", "DEFAULT_STATIC_SPARSE_QUANT_MODULE_MAPPINGS",
        "get_default_dynamic_sparse_quant_module_mappings", "get_default_float_to_quantized_operator_mappings",
        "get_default_static_quant_reference_module_mappings", "get_default_static_sparse_quant_module_mappings",
        "backend_config", "fx", "pt2e", "quantizer",
    }  # fmt: skip
    missing = [
        n for n in dir(torch.ao.quantization) if not n.startswith("_") and not hasattr(mq, n) and n not in left_out
    ]
    assert not missing
    modules = {"LSTM", "MultiheadAttention"}
    assert not [n for n in dir(torch.ao.nn.quantized) if n[0].isupper() and not hasattr(nnq, n) and n not in modules]
    assert not [n for n in dir(torch.ao.nn.qat) if n[0].isupper() and not hasattr(mt.ao.nn.qat, n)]
    fused = {"ConvAdd2d", "ConvAddReLU2d", "LinearLeakyReLU", "LinearTanh"}
    assert not [
        n
        for n in dir(torch.ao.nn.intrinsic)
        if n[0].isupper() and not hasattr(mt.ao.nn.intrinsic, n) and n not in fused
    ]
