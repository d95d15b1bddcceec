"""The summary of a model."""

from __future__ import annotations

import time

import pytest

import minitorch
from minitorch import nn
from minitorch._subclasses import FakeTensorMode
from minitorch.autograd.graph import saved_tensors_hooks
from minitorch.utils.flop_counter import FlopCounterMode


class Tied(nn.Module):
    """Two layers that share their weight, with a norm that keeps statistics in between."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(8, 8), nn.BatchNorm1d(8), nn.Linear(8, 8)
        self.second.weight = self.first.weight

    def forward(self, x, scale=1.0):
        return self.second(self.norm(self.first(x)).relu()) * scale


@pytest.fixture
def model():
    return nn.Sequential(Tied(), nn.Sequential(nn.Linear(8, 16), nn.GELU()), nn.Linear(16, 3))


def test_rows_are_the_calls_of_modules(model):
    found = minitorch.summary(model, (4, 8))
    assert [(row.name, row.kind, row.depth) for row in found.rows] == [
        ("", "Sequential", 0), ("0", "Tied", 1), ("0.first", "Linear", 2), ("0.norm", "BatchNorm1d", 2),
        ("0.second", "Linear", 2), ("1", "Sequential", 1), ("1.0", "Linear", 2), ("1.1", "GELU", 2), ("2", "Linear", 1),
    ]  # fmt: skip
    assert [row.output_shapes for row in found.rows[:3]] == [[[4, 3]], [[4, 8]], [[4, 8]]]
    assert [row.parameters for row in found.rows] == [0, 0, 72, 16, 8, 0, 144, 0, 51]
    assert found.total_params == found.trainable_params == sum(p.numel() for p in model.parameters()) == 291
    assert found.param_bytes == 4 * 291
    assert found.buffer_bytes == sum(b.nbytes for b in model.buffers())


def test_flops_and_memory_are_those_of_a_real_pass(model):
    found = minitorch.summary(model, (4, 8))
    kept = {}

    def pack(tensor):
        kept[id(tensor.storage_of())] = tensor.storage_of(), tensor.untyped_storage().nbytes()
        return tensor

    own = {id(t.storage_of()) for t in (*model.parameters(), *model.buffers())}
    with FlopCounterMode(display=False) as counter, saved_tensors_hooks(pack, lambda tensor: tensor):
        y = model(minitorch.ones(4, 8))
    assert found.total_flops == counter.get_total_flops() > 0
    assert found.saved_bytes == sum(nbytes for key, (_, nbytes) in kept.items() if key not in own)
    y.sum().backward()


def test_the_model_is_left_as_it_is(model):
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = minitorch.get_rng_state()
    minitorch.summary(model, (4, 8))
    for name, value in model.state_dict().items():
        assert minitorch.equal(before[name], value)
        assert type(value) is minitorch.Tensor
    assert minitorch.equal(state, minitorch.get_rng_state())
    assert all(not m._forward_hooks and not m._forward_pre_hooks for m in model.modules())
    assert all(p.grad is None for p in model.parameters())


def test_inputs_can_be_given():
    model = Tied()
    by_size = minitorch.summary(model, [(3, 8)])
    by_tensor = minitorch.summary(model, input_data=minitorch.ones(3, 8))
    by_name = minitorch.summary(model, input_data={"x": minitorch.ones(3, 8), "scale": 2.0})
    assert by_size.table() == by_tensor.table() == by_name.table()
    assert by_name.input_bytes == 96
    table = minitorch.summary(nn.Embedding(10, 4), (2, 3), dtypes=minitorch.int64)
    assert table.rows[0].output_shapes == [[2, 3, 4]]


def test_a_module_that_is_called_again_is_counted_once():
    layer = nn.Linear(4, 4)
    found = minitorch.summary(nn.Sequential(layer, nn.ReLU(), layer), (1, 4))
    assert [row.is_repeated for row in found.rows] == [False, False, False, True]
    assert [row.parameters for row in found.rows] == [0, 20, 0, 0]
    assert found.total_params == 20
    assert found.total_flops == 2 * 32
    assert "(again)" in str(found)


def test_the_table_goes_down_to_a_depth(model):
    found = minitorch.summary(model, (4, 8), depth=1)
    lines = str(found).splitlines()
    assert [line.split()[0] for line in lines[3:7]] == ["Sequential", "0:", "1:", "2:"]
    assert [line.split()[-4] for line in lines[4:7]] == ["96", "144", "51"]  # with what is inside
    assert "first" in found.table(depth=2)
    assert f"Total params: {found.total_params:,}" in lines


def test_frozen_parameters_are_told_apart():
    model = nn.Linear(4, 4)
    model.weight.requires_grad_(False)
    found = minitorch.summary(model, (1, 4))
    assert (found.total_params, found.trainable_params) == (20, 4)
    assert "Non-trainable params: 16" in str(found)


def test_a_model_larger_than_the_machine():
    begin = time.perf_counter()
    with FakeTensorMode():
        model = nn.Sequential(*[nn.Linear(200_000, 200_000, device="cuda") for _ in range(4)])  # 640 GB
    found = minitorch.summary(model, (8, 200_000))
    assert found.param_bytes == 4 * 4 * (200_000**2 + 200_000)
    assert found.total_flops == 4 * 2 * 8 * 200_000**2
    assert time.perf_counter() - begin < 20


def test_what_is_refused(model):
    with pytest.raises(ValueError, match="input_size"):
        minitorch.summary(model)
    with pytest.raises(ValueError, match="2 input sizes, but 1 dtypes"):
        minitorch.summary(model, [(1, 8), (1, 8)], dtypes=[None])
    with pytest.raises(RuntimeError, match="cannot be multiplied") as caught:
        minitorch.summary(model, (4, 9))
    assert caught.value.__notes__ == ["summary(): in 0.first (Linear), with inputs of shapes [[4, 9]]"]
    assert all(not m._forward_hooks for m in model.modules())


def test_lazy_models_stay_lazy():
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(3))
    minitorch.manual_seed(0)
    before = minitorch.random.get_rng_state()
    found = minitorch.summary(model, (2, 1, 8, 8))
    assert minitorch.equal(minitorch.random.get_rng_state(), before)
    assert found.total_params == (4 * 9 + 4) + 8 + (4 * 36 * 3 + 3)
    assert [row.output_shapes for row in found.rows][-1] == [[2, 3]]
    assert all(layer.has_uninitialized_params() for layer in (model[0], model[1], model[3]))
    assert model(minitorch.ones(2, 1, 8, 8)).shape == (2, 3)
    assert type(model[0]) is nn.Conv2d


def test_what_is_no_module():
    with pytest.raises(TypeError, match="not a function"):
        minitorch.summary(lambda x: x, (2,))
