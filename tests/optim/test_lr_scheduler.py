"""Learning rate schedules: literal values, warnings, state, and all against PyTorch."""

from __future__ import annotations

import math

import numpy as np
import pytest

import minitorch
import minitorch.optim
from minitorch import nn, optim
from minitorch.optim import lr_scheduler


def make(library=minitorch):
    return library.optim.SGD([library.nn.Parameter(library.zeros(2))], lr=0.1, momentum=0.9)


def rates(optimizer, scheduler, steps):
    found = [optimizer.param_groups[0]["lr"]]
    for _ in range(steps):
        optimizer.step()
        scheduler.step()
        found.append(optimizer.param_groups[0]["lr"])
    return found


def test_step_and_exponential():
    optimizer = make()
    assert rates(optimizer, lr_scheduler.StepLR(optimizer, 2, 0.5), 4) == pytest.approx(
        [0.1, 0.1, 0.05, 0.05, 0.025]
    )
    optimizer = make()
    assert rates(optimizer, lr_scheduler.ExponentialLR(optimizer, 0.9), 2) == pytest.approx([0.1, 0.09, 0.081])


def test_cosine_reaches_its_least_value():
    optimizer = make()
    found = rates(optimizer, lr_scheduler.CosineAnnealingLR(optimizer, 4, 0.02), 4)
    assert found == pytest.approx([0.02 + 0.04 * (1 + math.cos(math.pi * t / 4)) for t in range(5)])


def test_one_cycle_goes_up_and_down_and_ends():
    optimizer = make()
    scheduler = lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    found = rates(optimizer, scheduler, 9)
    assert found[0] == pytest.approx(0.04)
    assert max(found) == pytest.approx(1.0)
    assert found[-1] == pytest.approx(0.04e-4)
    assert optimizer.param_groups[0]["momentum"] == pytest.approx(0.95)
    scheduler.step()
    with pytest.raises(ValueError, match="Tried to step 11 times"):
        scheduler.step()


def test_plateau_reduces_after_patience():
    optimizer = make()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    found = []
    for loss in (1.0, 0.9, 0.9, 0.9, 0.8):
        scheduler.step(minitorch.tensor(loss))
        found.append(optimizer.param_groups[0]["lr"])
    assert found == pytest.approx([0.1, 0.1, 0.1, 0.01, 0.01])


def test_a_step_before_the_optimizer_warns():
    scheduler = lr_scheduler.StepLR(make(), 2)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        scheduler.step()


def test_state_resumes():
    optimizer = make()
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, 10)
    rates(optimizer, scheduler, 4)
    other = make()
    resumed = lr_scheduler.CosineAnnealingLR(other, 10)
    other.load_state_dict(optimizer.state_dict())
    resumed.load_state_dict(scheduler.state_dict())
    assert rates(optimizer, scheduler, 3) == rates(other, resumed, 3)
    assert resumed.get_last_lr() == scheduler.get_last_lr()


def test_a_tensor_learning_rate_is_changed_in_place():
    lr = minitorch.tensor(0.1)
    p = nn.Parameter(minitorch.ones(1))
    optimizer = optim.SGD([p], lr=lr)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    p.grad = minitorch.ones(1)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr
    assert lr.item() == pytest.approx(0.05)
    assert p.item() == pytest.approx(0.9)


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="is not an Optimizer"):
        lr_scheduler.StepLR(3, 1)
    with pytest.raises(KeyError, match="initial_lr"):
        lr_scheduler.StepLR(make(), 1, last_epoch=3)
    with pytest.raises(ValueError, match="Expected positive integer T_0"):
        lr_scheduler.CosineAnnealingWarmRestarts(make(), 0)


SCHEDULES = [
    ("StepLR", {"step_size": 3}),
    ("MultiStepLR", {"milestones": [2, 5, 5]}),
    ("ConstantLR", {}),
    ("LinearLR", {}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("PolynomialLR", {"power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3, "T_mult": 2}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "triangular2"}),
    ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9}),
    ("OneCycleLR", {"max_lr": 0.1, "total_steps": 16}),
    ("OneCycleLR", {"max_lr": 0.1, "epochs": 4, "steps_per_epoch": 4, "three_phase": True, "anneal_strategy": "linear"}),
    ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
    ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.9}),
]


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "options"), SCHEDULES)
def test_schedule_equals_that_of_torch(torch, name, options):
    found = []
    for library in (minitorch, torch):
        optimizer = make(library)
        scheduler = getattr(library.optim.lr_scheduler, name)(optimizer, **options)
        values = []
        for _ in range(15):
            group = optimizer.param_groups[0]
            values.append((group["lr"], group["momentum"]))
            optimizer.step()
            scheduler.step()
        found.append((np.array(values), set(scheduler.state_dict())))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-12)
    assert found[0][1] == found[1][1]


@pytest.mark.oracle
def test_schedules_of_schedules_equal_those_of_torch(torch):
    found = []
    for library in (minitorch, torch):
        s = library.optim.lr_scheduler
        optimizer = make(library)
        parts = [s.ConstantLR(optimizer, 0.1, 2), s.ExponentialLR(optimizer, 0.9), s.CosineAnnealingLR(optimizer, 5)]
        values = rates(optimizer, s.SequentialLR(optimizer, parts, [3, 7]), 14)
        optimizer = make(library)
        parts = [s.ConstantLR(optimizer, 0.1, 2), s.ExponentialLR(optimizer, 0.9)]
        found.append(values + rates(optimizer, s.ChainedScheduler(parts), 6))
    assert found[0] == pytest.approx(found[1], rel=1e-12)
