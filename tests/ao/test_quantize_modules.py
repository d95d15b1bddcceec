"""Quantization by modules: `prepare`, `convert` and what belongs to them, with PyTorch's fbgemm kernels as the oracle."""

from __future__ import annotations

import copy
import io

import numpy as np
import pytest
from quantization_cases import (
    FUSED,
    batches,
    cnn,
    interesting_statistics,
    mq,
    mt,
    nnq,
    quiet,
    take_state,
    torch_quantization,
    units,
)


@pytest.fixture
def fbgemm(torch):
    """PyTorch with the kernels of fbgemm."""
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    yield torch
    torch.backends.quantized.engine = before


def integers_differ(found, expected):
    """Return how many integers of two quantized tensors differ."""
    return int((found.int_repr().numpy() != expected.int_repr().numpy()).sum())


def converted(library, quantization, model, data, convert_array):
    model.eval()
    model.qconfig = quantization.get_default_qconfig("fbgemm")
    model = quantization.fuse_modules(model, FUSED)
    model = quantization.prepare(model)
    for array in data:
        model(convert_array(array))
    return quantization.convert(model)


@pytest.mark.oracle
def test_a_network_becomes_torchs(fbgemm):
    torch, tq = fbgemm, torch_quantization(fbgemm)
    mt.manual_seed(0)
    model, other = interesting_statistics(cnn(mt, mq)), cnn(torch, tq)
    take_state(torch, other, model)
    data = batches(8, 1, 8, 8, count=5)
    ours = converted(mt, mq, model, data[:4], mt.from_numpy)
    theirs = quiet(converted, torch, tq, other, data[:4], torch.from_numpy)
    assert [type(m).__name__ for m in ours.modules()][1:] == [type(m).__name__ for m in theirs.modules()][1:]
    found, expected = ours.state_dict(), theirs.state_dict()
    assert list(found) == list(expected)
    for key, value in expected.items():
        if key.endswith("weight"):
            assert integers_differ(found[key], value) == 0
            assert found[key].q_per_channel_scales().tolist() == value.q_per_channel_scales().tolist()
        elif key.endswith("_packed_params"):
            assert integers_differ(found[key][0], value[0]) == 0
            assert found[key][1].tolist() == pytest.approx(value[1].tolist(), rel=1e-6)
        elif key.endswith("scale"):
            # Float sums are in another order, and so may be the last bit of a range.
            np.testing.assert_allclose(found[key].numpy(), value.numpy(), rtol=1e-6)
        elif key.endswith("zero_point"):
            assert found[key].tolist() == value.tolist()
    scale = ours.l2.scale
    assert units(ours(mt.from_numpy(data[4])), theirs(torch.from_numpy(data[4])), scale) < 1.01


@pytest.mark.oracle
def test_a_perceptron_becomes_torchs(fbgemm):
    torch, tq = fbgemm, torch_quantization(fbgemm)

    def made(library):
        nn = library.nn
        return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.Hardswish(), nn.Linear(8, 3))

    mt.manual_seed(1)
    model, other = made(mt).eval(), made(torch).eval()
    take_state(torch, other, model)
    data = batches(32, 6, count=3, seed=1)
    results = []
    for _library, quantization, network, to in ((mt, mq, model, mt.from_numpy), (torch, tq, other, torch.from_numpy)):
        network.qconfig = quantization.get_default_qconfig("fbgemm")
        wrapped = quantization.QuantWrapper(network)
        wrapped.qconfig = network.qconfig
        prepared = quiet(quantization.prepare, wrapped)
        for array in data:
            prepared(to(array))
        results.append(quiet(quantization.convert, prepared))
    ours, theirs = results
    for index in (0, 2, 4):
        assert integers_differ(ours.module[index].weight(), theirs.module[index].weight()) == 0
        assert ours.module[index].scale == pytest.approx(theirs.module[index].scale, rel=1e-6)
        assert ours.module[index].zero_point == theirs.module[index].zero_point
    expected = theirs(torch.from_numpy(data[0]))
    assert units(ours(mt.from_numpy(data[0])), expected, ours.module[4].scale) < 1.01


def quantized_cnn():
    mt.manual_seed(0)
    data = [mt.from_numpy(array) for array in batches(8, 1, 8, 8, count=3)]
    model = interesting_statistics(cnn(mt, mq)).eval()
    return model, converted(mt, mq, copy.deepcopy(model), data, lambda t: t), data


def test_quantized_and_float_results_are_near():
    model, quantized, data = quantized_cnn()
    expected = model(data[0])
    assert (quantized(data[0]) - expected).abs().max() < 0.05 * expected.abs().max()
    assert not list(quantized.parameters())
    assert not [m for m in quantized.modules() if hasattr(m, "qconfig") or mq.is_observer(m)]


def test_states_are_saved_loaded_and_copied():
    _, quantized, data = quantized_cnn()
    file = io.BytesIO()
    mt.save(quantized.state_dict(), file)
    file.seek(0)
    other = converted(mt, mq, cnn(mt, mq), data[2:], lambda t: t)
    other.load_state_dict(mt.load(file))
    expected = quantized(data[1])
    assert mt.equal(other(data[1]), expected)
    assert mt.equal(copy.deepcopy(quantized)(data[1]), expected)


@pytest.mark.oracle
def test_states_are_exchanged_with_torch(fbgemm):
    torch, tq = fbgemm, torch_quantization(fbgemm)
    arrays = batches(8, 1, 8, 8, count=3)
    mt.manual_seed(0)
    ours = converted(mt, mq, cnn(mt, mq), arrays, mt.from_numpy)
    theirs = quiet(converted, torch, tq, cnn(torch, tq), arrays[:1], torch.from_numpy)
    file = io.BytesIO()
    mt.save(ours.state_dict(), file)
    file.seek(0)
    theirs.load_state_dict(quiet(torch.load, file, weights_only=True))
    x = mt.from_numpy(arrays[0])
    assert units(ours(x), theirs(torch.from_numpy(arrays[0])), ours.l2.scale) < 1.01
    file = io.BytesIO()
    quiet(torch.save, theirs.state_dict(), file)
    file.seek(0)
    other = converted(mt, mq, cnn(mt, mq), arrays[:1], mt.from_numpy)
    other.load_state_dict(mt.load(file))
    assert mt.equal(other(x), ours(x))


def test_fusing():
    model = cnn(mt, mq).eval()
    fused = mq.fuse_modules(model, FUSED)
    assert [type(m).__name__ for m in (fused.c1, fused.b1, fused.r1, fused.c2, fused.l1)] == [
        "ConvReLU2d", "Identity", "Identity", "ConvReLU2d", "LinearReLU",
    ]  # fmt: skip
    x = mt.randn(2, 1, 8, 8)
    mt.testing.assert_close(fused(x), model(x))
    trained = mq.fuse_modules_qat(model.train(), FUSED)
    assert type(trained.c1).__name__ == "ConvBnReLU2d"
    with pytest.raises(AssertionError, match=r"did not find fuser method for: \['Linear', 'Conv2d'\]"):
        mq.fuse_modules(model, ["l1", "c1"])
    model.b1.eval()
    with pytest.raises(AssertionError, match="same mode"):
        mq.fuse_modules(model, ["c1", "b1", "r1"])


def test_hooks_go_along_when_modules_are_fused_and_converted():
    calls = []
    model = mt.nn.Sequential(mt.nn.Linear(3, 2), mt.nn.ReLU()).eval()
    model[0].register_forward_pre_hook(lambda module, input: calls.append(type(module).__name__))
    model[1].register_forward_hook(lambda module, input, output: calls.append("after"))
    fused = mq.fuse_modules(model, ["0", "1"])
    fused.qconfig = mq.get_default_qconfig()
    wrapped = mq.QuantWrapper(fused)
    prepared = mq.prepare(wrapped)
    prepared(mt.randn(4, 3))
    quantized = mq.convert(prepared)
    calls.clear()
    quantized(mt.randn(4, 3))
    assert calls == ["LinearReLU", "after"]


def test_what_has_no_qconfig_stays():
    model = mt.nn.Sequential(mq.QuantStub(), mt.nn.Linear(3, 3), mq.DeQuantStub(), mt.nn.Linear(3, 2)).eval()
    model.qconfig = mq.get_default_qconfig()
    model[3].qconfig = None
    prepared = mq.prepare(model)
    prepared(mt.randn(4, 3))
    quantized = mq.convert(prepared)
    assert type(quantized[1]) is nnq.Linear
    assert type(quantized[3]) is mt.nn.Linear
    assert quantized(mt.randn(4, 3)).shape == (4, 2)


def test_a_model_without_qconfigs_is_noticed():
    with pytest.warns(UserWarning, match="None of the submodule got qconfig"):
        mq.prepare(mt.nn.Sequential(mt.nn.Linear(2, 2)))
    linear = mt.nn.Linear(2, 2)
    linear.qconfig = mq.default_qconfig
    with pytest.raises(AssertionError, match="has no observer"):
        nnq.Linear.from_float(linear)


def test_quantization_in_one_call():
    data = [(mt.randn(8, 4), mt.zeros(8)) for _ in range(2)]
    model = mq.QuantWrapper(mt.nn.Linear(4, 2))
    model.qconfig = mq.get_default_qconfig()
    quantized = mq.quantize(model, mq.default_eval_fn, [data])
    expected = model(data[0][0])
    assert (quantized(data[0][0]) - expected).abs().max() < 0.05 * expected.abs().max()


def test_stubs_around_each_leaf():
    model = mt.nn.Sequential(mt.nn.Linear(4, 4), mt.nn.Tanh(), mt.nn.Linear(4, 2)).eval()
    model[0].qconfig = mq.get_default_qconfig()
    wrapped = mq.add_quant_dequant(model)
    assert [type(m).__name__ for m in wrapped] == ["QuantWrapper", "Tanh", "Linear"]
    prepared = mq.prepare(wrapped)
    prepared(mt.randn(8, 4))
    assert type(mq.convert(prepared)[0].module) is nnq.Linear


def test_qconfigs_by_name_and_class():
    model = mt.nn.Sequential(mt.nn.Sequential(mt.nn.Linear(2, 2), mt.nn.Conv2d(1, 1, 1)), mt.nn.Linear(2, 2))
    mq.propagate_qconfig_(model, {"": mq.default_qconfig, mt.nn.Conv2d: None, "1": mq.default_per_channel_qconfig})
    assert type(model[0][0].qconfig.weight()) is mq.MinMaxObserver
    assert model[0][1].qconfig is None
    assert type(model[1].qconfig.weight()) is mq.PerChannelMinMaxObserver
    transposed = mt.nn.ConvTranspose2d(1, 1, 1)
    with pytest.raises(AssertionError, match="Per channel weight observer"):
        mq.propagate_qconfig_(transposed, {"": mq.default_per_channel_qconfig})


def test_devices_return_the_bits_of_the_cpu(opencl):
    _, quantized, data = quantized_cnn()
    expected = quantized(data[0])
    there = quantized.to(opencl)
    assert there.c1.weight().device.type == opencl
    assert mt.equal(there(data[0].to(opencl)).cpu(), expected)
