"""`functional_call` and `stack_module_state`: modules as functions of their parameters and buffers."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch import nn
from minitorch.func import functional_call, grad, stack_module_state, vmap
from minitorch.testing import assert_close


def state_of(module):
    return {name: tensor.tolist() for name, tensor in module.state_dict().items()}


class Tied(nn.Module):
    """Two layers of one weight."""

    def __init__(self):
        super().__init__()
        self.one = nn.Linear(2, 2, bias=False)
        self.two = nn.Linear(2, 2, bias=False)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(self.one(x))


def test_what_is_given_takes_its_place_for_one_call():
    layer = nn.Linear(2, 1)
    before, weight = state_of(layer), layer.weight
    given = {"weight": mt.ones(1, 2), "bias": mt.ones(1)}
    assert functional_call(layer, given, mt.ones(2)).tolist() == [3.0]
    assert functional_call(layer, given, (mt.ones(2),)).tolist() == [3.0]
    assert functional_call(layer, given, kwargs={"input": mt.ones(2)}).tolist() == [3.0]
    assert functional_call(layer, ({"weight": mt.ones(1, 2)}, {"bias": mt.zeros(1)}), mt.ones(2)).tolist() == [2.0]
    assert functional_call(layer, {"weight": mt.zeros(1, 2)}, mt.ones(2)).tolist() == layer.bias.tolist()
    with pytest.raises(RuntimeError):
        functional_call(layer, given, mt.ones(3))
    assert state_of(layer) == before
    assert layer.weight is weight


def test_running_statistics_are_written_to_what_is_given():
    layer = nn.BatchNorm1d(2)
    given = {name: tensor.clone() for name, tensor in layer.named_buffers()}
    x = mt.randn(4, 2) + 3
    functional_call(layer, given, x)
    assert layer.running_mean.tolist() == [0.0, 0.0]
    assert layer.num_batches_tracked.item() == 0
    assert given["num_batches_tracked"].item() == 1
    assert_close(given["running_mean"], 0.1 * x.mean(0))


def test_tied_weights():
    module = Tied()
    double = {"one.weight": 2 * mt.eye(2)}
    assert functional_call(module, double, mt.ones(2)).tolist() == [4.0, 4.0]
    assert_close(functional_call(module, double, mt.ones(2), tie_weights=False), module.two(2 * mt.ones(2)))
    both = {"one.weight": mt.eye(2), "two.weight": 2 * mt.eye(2)}
    with pytest.raises(ValueError, match="different values for"):
        functional_call(module, both, mt.ones(2))
    assert functional_call(module, both, mt.ones(2), tie_weights=False).tolist() == [2.0, 2.0]


def test_names_that_are_missing_or_unknown():
    module = nn.Sequential(nn.Linear(2, 2))
    x = mt.ones(2)
    expected = module(x).tolist()
    for name in ("other", "0.other"):
        assert functional_call(module, {name: x}, x).tolist() == expected
        assert not hasattr(module, "other")
    with pytest.raises(AttributeError, match="no attribute `1`"):
        functional_call(module, {"1.weight": x}, x)
    with pytest.raises(RuntimeError, match=r"Missing key\(s\).*0.bias"):
        functional_call(module, {"0.weight": mt.eye(2)}, x, strict=True)
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\).*0.other"):
        functional_call(module, {"0.weight": mt.eye(2), "0.bias": x, "0.other": x}, x, strict=True)
    with pytest.raises(TypeError, match="is to be a Tensor, and is int"):
        functional_call(module, {"0.weight": 3}, x)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        functional_call(module, ({"0.bias": x}, {"0.bias": x}), x)
    assert module(x).tolist() == expected


def test_gradients_belong_to_what_is_given():
    layer = nn.Linear(2, 1)
    parameters = {name: p.detach() for name, p in layer.named_parameters()}
    found = grad(lambda p, x: functional_call(layer, p, x).sum())(parameters, mt.tensor([3.0, 4.0]))
    assert {name: g.tolist() for name, g in found.items()} == {"weight": [[3.0, 4.0]], "bias": [1.0]}
    assert layer.weight.grad is None


def test_stacked_state():
    models = [nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).eval() for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    assert {name: tuple(p.shape) for name, p in parameters.items()} == {
        "0.weight": (3, 3, 2), "0.bias": (3, 3), "1.weight": (3, 3), "1.bias": (3, 3),
    }  # fmt: skip
    assert all(p.requires_grad and p.is_leaf for p in parameters.values())
    assert tuple(buffers["1.running_mean"].shape) == (3, 3)
    x = mt.randn(4, 2)
    found = vmap(lambda p, b: functional_call(models[0], (p, b), x))(parameters, buffers)
    assert_close(found, mt.stack([model(x) for model in models]))
    found.sum().backward()
    for i, model in enumerate(models):
        model(x).sum().backward()
        assert_close(parameters["0.weight"].grad[i], model[0].weight.grad)


def test_models_that_do_not_go_together():
    with pytest.raises(RuntimeError, match="at least one model"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="same class"):
        stack_module_state([nn.Linear(1, 1), nn.ReLU()])
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()])
    frozen = nn.Linear(1, 1).requires_grad_(False)
    with pytest.raises(RuntimeError, match="same requires_grad"):
        stack_module_state([nn.Linear(1, 1), frozen])


def test_batch_norms_without_running_statistics():
    from minitorch.func import replace_all_batch_norm_modules_

    model = nn.Sequential(nn.BatchNorm1d(2), nn.Sequential(nn.BatchNorm2d(2, affine=False)), nn.Linear(2, 2))
    assert replace_all_batch_norm_modules_(model) is model
    for norm in (model[0], model[1][0]):
        assert norm.running_mean is norm.running_var is norm.num_batches_tracked is None
        assert not norm.track_running_stats
    x = mt.arange(24.0).reshape(3, 4, 2)
    found = vmap(lambda x: model[0](x))(x)
    assert_close(found, mt.stack([model[0](rows) for rows in x]))
    assert model[0].eval()(x[0]).shape == (4, 2)
