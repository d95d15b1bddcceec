"""Pruning: masks, their combination, removal, and agreement with PyTorch."""

from __future__ import annotations

import copy
import importlib

import numpy as np
import pytest

import minitorch
from minitorch import nn
from minitorch.nn.utils import prune


def layer():
    model = nn.Linear(4, 3)
    with minitorch.no_grad():
        model.weight.copy_(minitorch.tensor([[1.0, -2.0, 3.0, -4.0], [0.5, 6.0, -7.0, 8.0], [9.0, 0.1, 0.2, -0.3]]))
    return model


def test_smallest_elements_are_held_at_zero():
    model = prune.l1_unstructured(layer(), "weight", 3)
    assert (model.weight == 0).tolist() == [[False] * 4, [False] * 4, [False, True, True, True]]
    assert sorted(name for name, _ in model.named_parameters()) == ["bias", "weight_orig"]
    assert prune.is_pruned(nn.Sequential(model))
    optimizer = minitorch.optim.SGD(model.parameters(), lr=0.1)
    model(minitorch.ones(2, 4)).sum().backward()
    optimizer.step()
    model(minitorch.ones(2, 4))
    assert model.weight[2, 1:].tolist() == [0.0, 0.0, 0.0]
    assert model.weight_orig.grad[2].tolist() == [2.0, 0.0, 0.0, 0.0]


def test_pruning_again_works_on_what_is_left():
    model = prune.l1_unstructured(layer(), "weight", 3)
    prune.ln_structured(model, "weight", amount=1, n=2, dim=0)
    assert model.weight_mask.tolist() == [[0.0] * 4, [1.0] * 4, [1.0, 0.0, 0.0, 0.0]]
    hook = next(iter(model._forward_pre_hooks.values()))
    assert isinstance(hook, prune.PruningContainer)
    assert [type(method) for method in hook] == [prune.L1Unstructured, prune.LnStructured]
    prune.random_unstructured(model, "weight", 0.4)
    assert int(model.weight_mask.sum()) == 3
    prune.remove(model, "weight")
    assert not prune.is_pruned(model)
    assert sorted(model.state_dict()) == ["bias", "weight"]
    assert int((model.weight != 0).sum()) == 3
    assert isinstance(model.weight, nn.Parameter)


def test_several_parameters_together():
    model = nn.Sequential(layer(), layer())
    with minitorch.no_grad():
        model[1].weight.mul_(0.01)
    prune.global_unstructured([(model[0], "weight"), (model[1], "weight")], prune.L1Unstructured, amount=0.5)
    assert [int(part.weight_mask.sum()) for part in model] == [12, 0]


def test_slices_and_masks():
    minitorch.manual_seed(0)
    model = prune.random_structured(layer(), "weight", 2, dim=1)
    assert sorted((model.weight != 0).all(0).tolist()) == [False, False, True, True]
    model = prune.custom_from_mask(layer(), "bias", minitorch.tensor([1, 0, 1]))
    assert model.bias[1] == 0
    assert prune.identity(layer(), "weight").weight_mask.all()
    scores = minitorch.arange(12.0).reshape(3, 4)
    model = prune.l1_unstructured(layer(), "weight", 4, importance_scores=scores)
    assert model.weight_mask.sum(1).tolist() == [0.0, 4.0, 4.0]
    assert prune.L1Unstructured(2).prune(scores).flatten()[:3].tolist() == [0.0, 0.0, 2.0]


def test_pruned_modules_are_saved_and_copied(tmp_path):
    model = prune.l1_unstructured(layer(), "weight", 3)
    other = prune.identity(layer(), "weight")
    other.load_state_dict(model.state_dict())
    x = minitorch.randn(5, 4)
    assert minitorch.equal(other(x), model(x))
    assert minitorch.equal(copy.deepcopy(prune.remove(model, "weight"))(x), other(x))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), ValueError, "float in the range"),
        (lambda m: prune.l1_unstructured(m, "weight", -1), ValueError, "non-negative"),
        (lambda m: prune.l1_unstructured(m, "weight", "x"), TypeError, "Invalid type for amount"),
        (lambda m: prune.l1_unstructured(m, "weight", 13), ValueError, "smaller than the number"),
        (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ValueError, "multidimensional"),
        (lambda m: prune.random_structured(m, "weight", 1, 5), IndexError, "Invalid index 5"),
        (lambda m: prune.remove(m, "weight"), ValueError, "has to be pruned"),
        (lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2), TypeError, "unstructured"),
        (lambda m: prune.l1_unstructured(m, "weight", 1, minitorch.ones(2)), AssertionError, "same shape"),
    ],
)
def test_wrong_calls_leave_the_module_as_it_was(call, error, text):
    model = layer()
    with pytest.raises(error, match=text):
        call(model)
    assert sorted(model.state_dict()) == ["bias", "weight"]
    assert not prune.is_pruned(model)


@pytest.mark.oracle
def test_masks_equal_those_of_torch(torch):
    found = []
    for library in (minitorch, torch):
        module = importlib.import_module(f"{library.__name__}.nn.utils.prune")
        rng = np.random.default_rng(0)
        model = library.nn.Sequential(library.nn.Conv2d(3, 8, 3), library.nn.Linear(8, 6))
        with library.no_grad():
            for p in model.parameters():
                p.copy_(library.from_numpy(rng.standard_normal(tuple(p.shape)).astype(np.float32)))
        module.l1_unstructured(model[0], "weight", 0.3)
        module.ln_structured(model[0], "weight", 2, n=1, dim=0)
        module.ln_structured(model[0], "weight", 0.2, n=2, dim=1)
        module.global_unstructured([(model[0], "weight"), (model[1], "weight")], module.L1Unstructured, amount=40)
        module.l1_unstructured(model[1], "bias", 2)
        found.append({name: value.detach().numpy().copy() for name, value in model.state_dict().items()})
    assert list(found[0]) == list(found[1])
    for name, value in found[0].items():
        np.testing.assert_array_equal(value, found[1][name])
