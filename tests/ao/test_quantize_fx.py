"""Quantization of graphs: what is fused, observed and converted, and that the numbers are PyTorch's."""

from __future__ import annotations

import copy
import io

import pytest
from quantization_cases import batches, mq, mt, nnq, quiet, take_state, torch_quantization, units

from minitorch import fx
from minitorch.ao.quantization.quantize_fx import convert_fx, fuse_fx, prepare_fx, prepare_qat_fx

nn = mt.nn


def network(library):
    """Return a network without stubs: modules, functions, a sum with relu, pooling, a functional linear map."""
    nn = library.nn
    F = nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.c1, self.b1 = nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4)
            self.c2, self.b2 = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
            self.act, self.drop, self.last = nn.Hardswish(), nn.Dropout(0.5), nn.Linear(8, 3)
            self.weight = nn.Parameter(library.ones(8, 4 * 16) * 0.01)

        def forward(self, x):
            x = F.relu(self.b1(self.c1(x)))
            x = F.relu(x + self.b2(self.c2(x)))
            x = F.max_pool2d(x, 2).flatten(1)
            x = self.act(F.linear(x, self.weight))
            return self.last(self.drop(x))

    return Net()


def made():
    mt.manual_seed(0)
    model = network(mt)
    with mt.no_grad():
        model.weight.normal_(0, 0.2)
        model.b1.running_mean.copy_(mt.tensor([0.1, -0.2, 0.3, 0.0]))
        model.b2.running_var.copy_(mt.tensor([0.5, 1.0, 2.0, 1.5]))
    return model.eval()


def quantized(model, data, mapping=None):
    prepared = prepare_fx(model, mapping or mq.get_default_qconfig_mapping("fbgemm"), (data[0],))
    with mt.no_grad():
        for x in data:
            prepared(x)
    return prepared, convert_fx(prepared)


def calls(module):
    return [
        str(n.target) if n.op != "call_function" else n.target.__name__
        for n in module.graph.nodes
        if n.op.startswith("call")
    ]


@pytest.mark.oracle
def test_numbers_are_torchs(torch):
    from torch.ao.quantization.quantize_fx import convert_fx as torch_convert
    from torch.ao.quantization.quantize_fx import prepare_fx as torch_prepare

    tq = torch_quantization(torch)
    model, other = made(), network(torch).eval()
    take_state(torch, other, model)
    arrays = batches(8, 1, 8, 8)
    _, ours = quantized(model, [mt.from_numpy(a) for a in arrays])
    engine, torch.backends.quantized.engine = torch.backends.quantized.engine, "fbgemm"
    try:
        prepared = quiet(
            torch_prepare, other, quiet(tq.get_default_qconfig_mapping, "fbgemm"), (torch.from_numpy(arrays[0]),)
        )
        for array in arrays:
            prepared(torch.from_numpy(array))
        theirs = quiet(torch_convert, prepared)
        for name in ("c1", "c2", "last"):
            found, expected = getattr(ours, name), getattr(theirs, name)
            assert type(found).__name__ == type(expected).__name__
            assert (found.weight().int_repr().numpy() == expected.weight().int_repr().numpy()).all()
            assert found.scale == pytest.approx(expected.scale, rel=1e-5)
            assert found.zero_point == expected.zero_point
        x = arrays[1]
        assert units(ours(mt.from_numpy(x)), theirs(torch.from_numpy(x)), ours.last.scale) < 1.01
    finally:
        torch.backends.quantized.engine = engine


def test_the_graph_has_no_float_operator_between():
    data = [mt.from_numpy(a) for a in batches(8, 1, 8, 8)]
    model = made()
    prepared, converted = quantized(model, data)
    assert calls(converted) == [
        "quantize_per_tensor", "c1", "c2", "add_relu", "max_pool2d", "flatten", "linear_quantized", "act", "drop", "last",
        "dequantize",
    ]  # fmt: skip
    assert [type(m).__name__ for m in converted.children()] == [
        "ConvReLU2d", "Conv2d", "Linear", "Hardswish", "Dropout", "Linear",
    ]  # fmt: skip
    assert not list(converted.parameters())
    expected = model(data[0])
    assert (converted(data[0]) - expected).abs().max() < 0.1 * expected.abs().max()
    assert mt.allclose(prepared(data[0]), expected, atol=1e-5)
    converted.train()
    assert mt.equal(converted(data[0]), converted(data[0]))  # dropout does nothing


def test_states_and_copies():
    data = [mt.from_numpy(a) for a in batches(4, 1, 8, 8)]
    _, converted = quantized(made(), data)
    file = io.BytesIO()
    mt.save(converted.state_dict(), file)
    file.seek(0)
    _, other = quantized(network(mt).eval(), data[:1])
    other.load_state_dict(mt.load(file))
    expected = converted(data[1])
    assert mt.equal(other(data[1]), expected)
    assert mt.equal(copy.deepcopy(converted)(data[1]), expected)
    file = io.BytesIO()
    mt.save(converted, file)
    file.seek(0)
    assert mt.equal(mt.load(file, weights_only=False)(data[1]), expected)


def test_devices_return_the_bits_of_the_cpu(opencl):
    data = [mt.from_numpy(a) for a in batches(16, 1, 8, 8)]
    _, converted = quantized(made(), data)
    expected = converted(data[0])
    assert mt.equal(converted.to(opencl)(data[0].to(opencl)).cpu(), expected)


def test_fusing_a_graph():
    fused = fuse_fx(made())
    assert [type(m).__name__ for m in (fused.c1, fused.c2)] == ["ConvReLU2d", "Conv2d"]
    x = mt.randn(2, 1, 8, 8)
    mt.testing.assert_close(fused(x), made()(x))


def test_a_module_that_is_called_twice_is_not_fused():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.relu = nn.Linear(4, 4), nn.ReLU()

        def forward(self, x):
            return self.a(self.relu(self.a(x)))

    model, x = Twice().eval(), mt.randn(8, 4)
    _, converted = quantized(model, [x])
    assert calls(converted)[1:4] == ["a", "relu", "a_again"]
    assert converted.a.scale != converted.a_again.scale
    assert (converted(x) - model(x)).abs().max() < 0.05 * model(x).abs().max()


def fitted(model, x, y, steps):
    """Return the losses of some steps."""
    optimizer = mt.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_training():
    model = made().train()
    y = mt.arange(16) % 3
    x = mt.from_numpy(batches(3, 1, 8, 8)[0])[y] + 0.1 * mt.from_numpy(
        batches(16, 1, 8, 8, seed=1)[0]
    )  # three pictures, noisy
    losses = fitted(model, x, y, 10)
    # From weights that were trained: ranges follow slowly, and what leaves them gets no gradient.
    prepared = prepare_qat_fx(model, mq.get_default_qat_qconfig_mapping(), (x,))
    assert type(prepared.c1).__name__ == "ConvBnReLU2d"
    assert prepared.training
    before = prepared.last.weight.clone()
    losses += fitted(prepared, x, y, 15)
    assert min(losses[-5:]) < 0.5 * losses[0]
    assert not mt.equal(prepared.last.weight, before)
    prepared.eval()
    prepared.apply(mq.disable_observer)
    converted = convert_fx(prepared)
    assert type(converted.c1) is nn.intrinsic.quantized.ConvReLU2d
    assert (converted(x).argmax(1) == prepared(x).argmax(1)).float().mean() > 0.9


def test_rules_of_a_mapping():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4)), nn.Linear(4, 2)).eval()
    x = mt.randn(8, 4)
    default = mq.get_default_qconfig()

    def float_ones(mapping):
        _, converted = quantized(model, [x], mapping)
        return [name for name, m in converted.named_modules() if type(m) is nn.Linear]

    mapping = mq.QConfigMapping
    assert float_ones(mapping().set_global(default)) == []
    assert float_ones(mapping().set_global(default).set_object_type(nn.Linear, None)) == ["0", "1.0", "1.1", "2"]
    assert float_ones(mapping().set_global(default).set_module_name("1", None)) == ["1.0", "1.1"]
    assert float_ones(mapping().set_object_type(nn.Linear, default).set_module_name_regex(r"1\..*", None)) == [
        "1.0",
        "1.1",
    ]
    assert float_ones(mapping().set_module_name_regex("1.*", None).set_module_name("1.0", default)) == ["0", "1.1", "2"]
    ordered = mapping().set_global(default).set_module_name_object_type_order("", nn.Linear, 1, None)
    assert float_ones(ordered) == ["2"]
    assert float_ones({"": default, "module_name": [("0", None)]}) == ["0"]


def test_mappings_as_dicts():
    mapping = mq.get_default_qconfig_mapping()
    again = mq.QConfigMapping.from_dict(mapping.to_dict())
    assert again.to_dict() == mapping.to_dict()
    assert "object_type_qconfigs" in repr(mapping)
    with pytest.raises(ValueError, match=r"unknown keys \['objects'\]"):
        mq.QConfigMapping.from_dict({"objects": []})


@pytest.mark.oracle
@pytest.mark.parametrize("get", ["get_default_qconfig_mapping", "get_default_qat_qconfig_mapping"])
def test_default_mappings_are_torchs(torch, get):
    def rules(quantization):
        return {getattr(k, "__name__", k): v for k, v in quiet(getattr(quantization, get)).object_type_qconfigs.items()}

    ours, theirs = rules(mq), rules(torch_quantization(torch))
    assert set(ours) == set(theirs)
    for key, expected in theirs.items():
        text = (
            repr(ours[key]).replace("minitorch.", "torch.").replace("quantization.histogram.", "quantization.observer.")
        )
        assert text == repr(expected), key


def test_dynamic_quantization_and_weights_alone():
    class Text(nn.Module):
        def __init__(self):
            super().__init__()
            self.rows, self.lstm, self.last = nn.EmbeddingBag(10, 8, mode="sum"), nn.LSTM(8, 8), nn.Linear(8, 2)

        def forward(self, indices):
            return self.last(self.lstm(self.rows(indices).unsqueeze(0))[0])

    model, indices = Text().eval(), mt.randint(0, 10, (3, 5))
    mapping = mq.QConfigMapping().set_global(mq.default_dynamic_qconfig)
    mapping.set_object_type(nn.EmbeddingBag, mq.float_qparams_weight_only_qconfig)
    converted = convert_fx(prepare_fx(model, mapping, (indices,)))
    assert type(converted.rows) is nnq.EmbeddingBag
    assert [type(m) for m in (converted.lstm, converted.last)] == [nnq.dynamic.LSTM, nnq.dynamic.Linear]
    assert (converted(indices) - model(indices)).abs().max() < 0.05


def test_sums_joined_tensors_and_known_ranges():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.sums, self.norm = nn.Linear(4, 4), nnq.FloatFunctional(), nn.LayerNorm(4)

        def forward(self, x):
            y = self.a(x)
            y = mt.cat([mt.sigmoid(y), y.tanh(), self.norm(y)], 1)
            y = (self.sums.add(y, y) * 0.5) * y
            return mt.matmul(y, y.t())

    model, x = Net().eval(), mt.randn(8, 4)
    prepared, converted = quantized(model, [x])
    assert calls(converted) == [
        "quantize_per_tensor", "a", "sigmoid", "tanh", "norm", "cat", "add", "mul_scalar", "mul", "t", "matmul", "dequantize",
    ]  # fmt: skip
    assert type(prepared.norm) is nn.LayerNorm
    assert (converted(x) - model(x)).abs().max() < 0.1 * model(x).abs().max()


def test_a_block_of_a_mobile_network():
    """Groups, attention to channels, sizes that are asked for, slices, and what is averaged."""

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(
                nn.Conv2d(4, 4, 3, padding=1, groups=4, bias=False),
                nn.BatchNorm2d(4),
                nn.ReLU6(),
                nn.Conv2d(4, 4, 1),
                nn.Hardswish(),
            )
            self.pool, self.squeeze, self.up = (
                nn.AdaptiveAvgPool2d(1),
                nn.Conv2d(4, 4, 1),
                nn.ConvTranspose2d(4, 4, 2, stride=2),
            )

        def forward(self, x):
            y = self.net(x)
            y = x + y * nn.functional.hardsigmoid(self.squeeze(self.pool(y)))
            y = self.up(y)[:, :2]
            return y.mean((2, 3)).view(y.size(0), -1)

    mt.manual_seed(0)
    model, x = Block().eval(), mt.randn(4, 4, 6, 6)
    _, converted = quantized(model, [x])
    assert calls(converted) == [
        "quantize_per_tensor", "net.0", "net.2", "net.3", "net.4", "pool", "squeeze", "hardsigmoid", "mul", "add", "up",
        "getitem", "mean", "size", "view", "dequantize",
    ]  # fmt: skip
    with mt.backends.fallback_policy("error"), mt.backends.requantize_policy("error"):
        found = converted(x)
    assert (found - model(x)).abs().max() < 0.1 * model(x).abs().max()


def test_what_cannot_be_quantized_stays():
    model = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 2), nn.Softplus()).eval()
    x = mt.randn(8, 4)
    _, converted = quantized(model, [x])
    assert calls(converted) == [
        "quantize_per_tensor",
        "0",
        "dequantize",
        "1",
        "quantize_per_tensor",
        "2",
        "dequantize",
        "3",
    ]
    assert (converted(x) - model(x)).abs().max() < 0.05


def test_inputs_that_are_no_floats_are_not_observed():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = nn.Linear(4, 2)

        def forward(self, x, count):
            return self.last(x) + 0 * (count + 1)

    model, x = Net().eval(), mt.randn(8, 4)
    prepared = prepare_fx(model, mq.get_default_qconfig_mapping(), (x, mt.tensor(3)))
    observed = [n.args[0].name for n in prepared.graph.nodes if "activation_post_process" in str(n.target)]
    assert "count" not in observed
    assert "x" in observed


def test_modules_that_are_not_looked_into_and_attributes_that_stay():
    class Branch(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.branch, self.last, self.note = Branch(), nn.Linear(4, 2), "kept"

        def forward(self, x):
            return self.last(self.branch(x))

    custom = {"non_traceable_module_class": [Branch], "preserved_attributes": ["note"]}
    prepared = prepare_fx(Net().eval(), mq.get_default_qconfig_mapping(), (mt.randn(2, 4),), custom)
    assert type(prepared.branch) is Branch
    assert prepared.note == "kept"
    with pytest.raises(TypeError, match="must be a dict"):
        prepare_fx(Net(), mq.get_default_qconfig_mapping(), (mt.randn(2, 4),), "custom")
    with pytest.raises(TypeError, match="must be a GraphModule"):
        convert_fx(Net())
    with pytest.raises(NotImplementedError, match="backend_config"):
        prepare_fx(Net(), mq.get_default_qconfig_mapping(), (mt.randn(2, 4),), custom, backend_config=object())
    assert isinstance(prepared, fx.GraphModule)
