"""Optimizers: literal steps, state, groups, hooks, and all of them against PyTorch."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import minitorch
import minitorch.optim
from minitorch import nn, optim


def parameter(*values):
    return nn.Parameter(minitorch.tensor(values))


def with_grad(p, *values):
    p.grad = minitorch.tensor(values)
    return p


@pytest.mark.parametrize("fused", [None, False])
def test_sgd_steps(fused):
    p = parameter(1.0, 2.0)
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9, fused=fused)
    with_grad(p, 1.0, -1.0)
    optimizer.step()
    assert p.tolist() == pytest.approx([0.9, 2.1])
    optimizer.step()  # the buffer is 0.9 * 1 + 1
    assert p.tolist() == pytest.approx([0.71, 2.29])
    assert optimizer.state[p]["momentum_buffer"].tolist() == pytest.approx([1.9, -1.9])


@pytest.mark.parametrize("fused", [None, False])
def test_first_step_of_adam_has_the_length_of_the_learning_rate(fused):
    p = with_grad(parameter(1.0, 2.0), 5.0, -0.001)
    optim.Adam([p], lr=0.1, fused=fused).step()
    assert p.tolist() == pytest.approx([0.9, 2.1], rel=1e-4)


@pytest.mark.parametrize("fused", [None, False])
def test_adamw_shrinks_parameters_without_gradient_size(fused):
    p = with_grad(parameter(1.0), 0.0)
    optim.AdamW([p], lr=0.1, weight_decay=0.5, fused=fused).step()
    assert p.tolist() == pytest.approx([0.95])


def test_step_bumps_the_version_of_a_parameter():
    p = with_grad(parameter(1.0), 1.0)
    loss = (p * p).sum()
    optim.SGD([p], lr=0.1).step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_parameters_without_gradient_stay():
    p, q = with_grad(parameter(1.0), 1.0), parameter(1.0)
    optimizer = optim.Adam([p, q], lr=0.1)
    optimizer.step()
    assert q.item() == 1.0
    assert q not in optimizer.state


def test_groups_have_options_of_their_own():
    p, q = with_grad(parameter(1.0), 1.0), with_grad(parameter(1.0), 1.0)
    optimizer = optim.SGD([{"params": [p]}, {"params": q, "lr": 1.0}], lr=0.1)
    optimizer.step()
    assert (p.item(), q.item()) == (pytest.approx(0.9), 0.0)
    with pytest.raises(ValueError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [p]})
    with pytest.raises(ValueError, match="can't optimize a non-leaf"):
        optimizer.add_param_group({"params": [p * 2]})
    named = optim.SGD([("a", parameter(1.0)), ("b", parameter(2.0))], lr=0.1)
    assert named.param_groups[0]["param_names"] == ["a", "b"]


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="empty parameter list"):
        optim.SGD([])
    with pytest.raises(TypeError, match="iterable of Tensors or dicts"):
        optim.SGD(minitorch.ones(1))
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.Adam([parameter(1.0)], lr=-1)
    with pytest.raises(ValueError, match="Nesterov momentum requires"):
        optim.SGD([parameter(1.0)], nesterov=True)
    with pytest.raises(TypeError, match="can only optimize Tensors"):
        optim.SGD([1.0])


def test_zero_grad_and_closure():
    p = parameter(1.0)
    optimizer = optim.SGD([p], lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = (p * 3).sum()
        loss.backward()
        return loss

    with minitorch.no_grad():
        assert optimizer.step(closure).item() == 3.0
    assert p.item() == pytest.approx(0.7)
    optimizer.zero_grad(set_to_none=False)
    assert p.grad.tolist() == [0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_hooks_run_around_the_step():
    p = with_grad(parameter(1.0), 1.0)
    optimizer = optim.SGD([p], lr=0.1)
    seen = []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append(p.item()))
    handle = optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append(p.item()))
    optimizer.step()
    assert seen == pytest.approx([1.0, 0.9])
    handle.remove()
    optimizer.step()
    assert len(seen) == 3


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop"])
def test_state_resumes_exactly(name):
    options = {"lr": 0.1} | ({"momentum": 0.9} if name == "SGD" else {})
    p = parameter(1.0, 2.0)
    optimizer = getattr(optim, name)([p], **options)
    for i in range(3):
        with_grad(p, float(i), 1.0)
        optimizer.step()
    q = nn.Parameter(p.detach().clone())
    other = getattr(optim, name)([q], lr=0.5)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for o, x in ((optimizer, p), (other, q)):
        with_grad(x, 2.0, -1.0)
        o.step()
    assert p.tolist() == q.tolist()
    with pytest.raises(ValueError, match="different number of parameter groups"):
        other.load_state_dict({"state": {}, "param_groups": []})


def test_repr_lists_the_options():
    text = repr(optim.Rprop([parameter(1.0)]))
    assert text.startswith("Rprop (\nParameter Group 0\n    capturable: False\n")


OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "fused": False}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "fused": False}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "maximize": True, "fused": False}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.1, "weight_decay": 0.1}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("Adamax", {"weight_decay": 0.1}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "weight_decay": 0.1, "betas": (0.9, 0.99)}),
    ("ASGD", {"t0": 2, "weight_decay": 0.1}),
    ("Rprop", {"maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.5, "weight_decay": 0.1, "d": 2.0, "eps": (1e-4, 1e-2), "maximize": True}),
]


def trained(library, name, options, steps):
    rng = np.random.default_rng(0)
    w, x = (rng.standard_normal(s).astype(np.float32) for s in ((3, 4), (8, 4)))
    weight, bias = library.nn.Parameter(library.from_numpy(w)), library.nn.Parameter(library.zeros(3))
    x = library.from_numpy(x)
    optimizer = getattr(library.optim, name)([weight, bias], **options)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((x @ weight.t() + bias) ** 2).mean() + weight.abs().sum() * 0.1
        loss.backward()
        optimizer.step()
    return weight, bias, optimizer


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_steps_equal_those_of_torch(torch, name, options):
    *ours, optimizer = trained(minitorch, name, options, 10)
    *theirs, their_optimizer = trained(torch, name, options, 10)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=2e-6)
    state, their_state = (o.state_dict()["state"] for o in (optimizer, their_optimizer))
    assert list(state) == list(their_state)
    for key, value in their_state.get(0, {}).items():
        np.testing.assert_allclose(np.asarray(state[0][key]), np.asarray(value), rtol=1e-4, atol=1e-5)
    assert repr(optimizer) == repr(their_optimizer)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options", [{}, {"line_search_fn": "strong_wolfe"}, {"lr": 0.5, "history_size": 3, "max_iter": 7}]
)
def test_lbfgs_equals_that_of_torch(torch, options):
    found = []
    for library in (minitorch, torch):
        rng = np.random.default_rng(0)
        w, x = (library.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in ((3, 4), (8, 4)))
        weight = library.nn.Parameter(w)
        optimizer = library.optim.LBFGS([weight], **options)

        def closure(optimizer=optimizer, weight=weight, x=x):
            optimizer.zero_grad()
            loss = ((x @ weight.t() - 1) ** 4).mean()
            loss.backward()
            return loss

        losses = [float(optimizer.step(closure).detach()) for _ in range(3)]
        found.append((losses, weight.detach().numpy()))
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-4)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-3, atol=1e-4)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options", [{}, {"nesterov": False, "weight_decay": 0.0}, {"lr": 0.1, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3}]
)
@pytest.mark.parametrize("shape", [(4, 6), (7, 3)])
def test_muon_equals_that_of_torch(torch, options, shape):
    found = []
    for library in (minitorch, torch):
        rng = np.random.default_rng(0)
        w, x = (library.from_numpy(rng.standard_normal(s).astype(np.float32)) for s in (shape, (8, shape[1])))
        weight = library.nn.Parameter(w)
        optimizer = library.optim.Muon([weight], **options)
        for _ in range(10):
            optimizer.zero_grad()
            ((x @ weight.t() - 1) ** 2).mean().backward()
            optimizer.step()
        found.append((weight.detach().numpy(), repr(optimizer), list(optimizer.state[weight])))
    # The products are of bfloat16, whose sums are rounded in another order.
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-2, atol=2e-3)
    assert found[0][1:] == found[1][1:]


def test_muon_makes_steps_orthogonal():
    from minitorch.optim.muon import orthogonalized

    minitorch.manual_seed(0)
    for shape in ((6, 9), (9, 6)):
        matrix = orthogonalized(minitorch.randn(shape), (3.4445, -4.775, 2.0315), 5, 1e-7).float()
        values = minitorch.linalg.svdvals(matrix)
        assert values.min() > 0.6
        assert values.max() < 1.3
    p = parameter(1.0)
    with pytest.raises(ValueError, match="only supports 2D parameters"):
        optim.Muon([p])
    with pytest.raises(ValueError, match="not supported"):
        optim.Muon([nn.Parameter(minitorch.ones(2, 2))], adjust_lr_fn="x")


def test_adafactor_keeps_a_row_and_a_column():
    p = nn.Parameter(minitorch.ones(3, 5))
    p.grad = minitorch.ones(3, 5)
    optimizer = optim.Adafactor([p], lr=0.1)
    optimizer.step()
    assert {k: tuple(v.shape) for k, v in optimizer.state[p].items()} == {"step": (), "row_var": (3, 1), "col_var": (1, 5)}
    assert p.flatten().tolist() == pytest.approx([0.9] * 15)
    with pytest.raises(ValueError, match="beta2_decay should be <= 0"):
        optim.Adafactor([p], beta2_decay=0.5)
