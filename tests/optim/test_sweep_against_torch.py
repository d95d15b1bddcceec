"""Every optimizer with all options of PyTorch's own samples (`optim_db`), every schedule: with torch, step by step.

In the middle the state is saved, and loaded into a new optimizer and a new schedule.
"""

from __future__ import annotations

import copy
import importlib.util
import itertools
import warnings

import numpy as np
import pytest

import minitorch
import minitorch.optim

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

STEPS = 20
SHAPES = [(3, 4), (5,), (2, 3, 2), (1,)]


def optimizer_cases():
    """Return (name, options, how) for each of PyTorch's samples; none where they cannot be imported."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_optimizers import optim_db

    cases = []
    for info in optim_db:
        name = info.optim_cls.__name__
        if name in ("SparseAdam", "LBFGS"):  # sparse gradients: tests/sparse/test_sparse_lookups.py; a closure: below
            continue
        ways = ["default", *({"foreach"} & set(info.supported_impls)), *(["fused"] if "cpu" in info.supports_fused_on else [])]
        for sample, way in itertools.product(info.optim_inputs_func(device="cpu"), ways):
            cases.append((name, sample.kwargs, way))
    extra = [
        ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
        ("Adam", {"betas": (0.5, 0.9), "eps": 1e-3}),
        ("Adam", {"decoupled_weight_decay": True, "weight_decay": 0.3}),
        ("AdamW", {"amsgrad": True, "maximize": True}),
    ]
    return cases + [(name, options, way) for name, options in extra for way in ("default", "foreach", "fused")]


def case_id(case):
    name, options, way = case
    return f"{name}-{way}-" + "-".join(f"{k}={v}" for k, v in options.items())


def ours(value):
    """Return an option of torch as one of ours."""
    return minitorch.tensor(value.item(), dtype=minitorch.float32) if type(value).__name__ == "Tensor" else value


class Run:
    """An optimizer of a library with two groups of parameters and given gradients."""

    def __init__(self, library, name, options, way):
        self.library = library
        random = np.random.default_rng(0)
        shapes = [s for s in SHAPES if len(s) == 2 or name != "Muon"]
        starts = [random.standard_normal(s) for s in shapes]
        if name not in ("Muon", "Adafactor") and way != "fused":  # fused, torch has no complex parameters
            starts.append(random.standard_normal(3) + 1j * random.standard_normal(3))
        self.parameters = [library.nn.Parameter(library.from_numpy(s)) for s in starts]
        options = {k: v if library is not minitorch else ours(v) for k, v in options.items()}
        if way != "default":
            options[way] = True
        self.make = lambda: getattr(library.optim, name)(self.groups(), **options)
        self.optimizer = self.make()
        self.always = name == "SGD" and way == "fused"

    def groups(self):
        lr = {"lr": 0.02} if len(self.parameters) > 1 else {}
        return [{"params": self.parameters[:1]}, *([{"params": self.parameters[1:], **lr}] if lr else [])]

    def step(self, number):
        random = np.random.default_rng(number)
        for i, p in enumerate(self.parameters):
            grad = random.standard_normal(p.shape) + 0.1
            if p.is_complex():
                grad = grad + 1j * random.standard_normal(p.shape)
            # A parameter now and then has no gradient; torch's fused SGD with momentum takes no such step.
            left_out = (number + i) % 7 == 3 and not self.always
            p.grad = None if left_out else self.library.from_numpy(grad)
        self.optimizer.step()

    def reload(self):
        state = copy.deepcopy(self.optimizer.state_dict())
        self.optimizer = self.make()
        self.optimizer.load_state_dict(state)

    def values(self):
        found = {f"parameter {i}": p for i, p in enumerate(self.parameters)}
        for index, state in self.optimizer.state_dict()["state"].items():
            found |= {f"{key} of {index}": value for key, value in state.items()}
        return {k: v.detach().numpy().copy() if hasattr(v, "detach") else v for k, v in found.items()}


@pytest.mark.parametrize("case", optimizer_cases(), ids=case_id)
def test_twenty_steps_are_those_of_torch(torch, case):
    runs, errors = [], []
    for library in (minitorch, torch):
        try:
            runs.append(Run(library, *case))
        except (ValueError, RuntimeError) as error:
            errors.append(type(error))
    assert not errors or errors == [errors[0]] * 2
    if errors:
        return
    # The products of Muon are of bfloat16, whose sums are rounded in another order.
    tolerance = {"rtol": 2e-2, "atol": 4e-3} if case[0] == "Muon" else {"rtol": 1e-6, "atol": 1e-9}
    for number in range(STEPS):
        for run in runs:
            run.step(number)
        if number in (0, 8, STEPS - 1):
            found, expected = (run.values() for run in runs)
            assert found.keys() == expected.keys()
            for key, value in expected.items():
                np.testing.assert_allclose(found[key], value, **tolerance, err_msg=f"step {number}: {key}")
                assert np.asarray(found[key]).dtype == np.asarray(value).dtype, key
        if number == 8:
            for run in runs:
                run.reload()
    assert repr(runs[0].optimizer) == repr(runs[1].optimizer)


LBFGS = [{}, {"lr": 0.01}, {"tolerance_grad": 1e-6}, {"line_search_fn": "strong_wolfe"}, {"history_size": 3, "max_iter": 5}]


@pytest.mark.parametrize("options", LBFGS, ids=str)
def test_steps_with_a_closure_are_those_of_torch(torch, options):
    found = []
    for library in (minitorch, torch):
        random = np.random.default_rng(0)
        values = [random.standard_normal((3, 2)), random.standard_normal(2) + 1j * random.standard_normal(2)]
        w, z = parameters = [library.nn.Parameter(library.from_numpy(v)) for v in values]
        x = library.from_numpy(random.standard_normal((7, 3)))
        optimizer = library.optim.LBFGS(parameters, **options)

        def closure(library=library, optimizer=optimizer, w=w, z=z, x=x):
            optimizer.zero_grad()
            loss = ((x @ w).sigmoid() - 0.3).square().sum() + (z - (1 + 2j)).abs().square().sum() * (1 + w.square().mean())
            loss.backward()
            return loss

        losses = [float(optimizer.step(closure).detach()) for _ in range(4)]
        found.append((losses, *(p.detach().numpy() for p in parameters)))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def chained(s, optimizer):
    parts = [s.LinearLR(optimizer, 0.1, total_iters=7), s.StepLR(optimizer, 9, 0.7), s.ExponentialLR(optimizer, 0.98)]
    return s.ChainedScheduler(parts)


def sequential(s, optimizer):
    parts = [s.ConstantLR(optimizer, 0.1, 4), s.CosineAnnealingLR(optimizer, 10), s.StepLR(optimizer, 5, 0.5)]
    return s.SequentialLR(optimizer, parts, [6, 21])


def sequential_with_restarts(s, optimizer):
    parts = [s.LinearLR(optimizer, 0.2, total_iters=5), s.CosineAnnealingWarmRestarts(optimizer, 6, T_mult=2)]
    return s.SequentialLR(optimizer, parts, [5])


def chained_in_sequence(s, optimizer):
    first = s.ChainedScheduler([s.ExponentialLR(optimizer, 0.9), s.ConstantLR(optimizer, 0.5, 3)])
    return s.SequentialLR(optimizer, [first, s.ExponentialLR(optimizer, 0.95)], [12])


SCHEDULES = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.9**epoch, lambda epoch: 1 / (1 + epoch)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.97 if epoch % 2 else 1.01),
    "StepLR": lambda s, o: s.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 11, 11, 40], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 12),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.1, 0.8, 30),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.95),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 35, 1.5),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 13, 0.001),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.001),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 6, 9),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 6, mode="triangular2", base_momentum=0.7, max_momentum=0.9),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 6, mode="exp_range", gamma=0.97, cycle_momentum=False),
    "CyclicLR scale_fn": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 6, scale_fn=lambda x: 0.5**x, scale_mode="iterations"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, [0.1, 0.3], total_steps=60),
    "OneCycleLR three_phase": lambda s, o: s.OneCycleLR(
        o, 0.1, epochs=6, steps_per_epoch=10, three_phase=True, anneal_strategy="linear", pct_start=0.4
    ),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=2, cooldown=1, min_lr=[0.001, 0.01]),
    "ReduceLROnPlateau max": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.3, 1, 0.1, "abs", eps=1e-4),
    "ChainedScheduler": chained,
    "SequentialLR": sequential,
    "SequentialLR with restarts": sequential_with_restarts,
    "SequentialLR of chained": chained_in_sequence,
}  # fmt: skip


def rates(library, make, steps=50, reload_at=None):
    """Return the options that a schedule changes after each step, and the names in its state."""
    schedules = library.optim.lr_scheduler

    def build():
        parameters = [library.nn.Parameter(library.zeros(2)) for _ in range(2)]
        optimizer = library.optim.SGD([{"params": parameters[:1]}, {"params": parameters[1:], "lr": 0.05}], lr=0.1, momentum=0.9)
        return optimizer, make(schedules, optimizer)

    optimizer, schedule = build()
    losses = np.random.default_rng(0).random(steps).cumsum() % 3
    found = []
    for step in range(steps):
        if step == reload_at:
            state = copy.deepcopy((optimizer.state_dict(), schedule.state_dict()))
            optimizer, schedule = build()
            optimizer.load_state_dict(state[0])
            schedule.load_state_dict(state[1])
        optimizer.step()
        schedule.step(*([losses[step]] if isinstance(schedule, schedules.ReduceLROnPlateau) else []))
        found.append([*schedule.get_last_lr(), *((g["lr"], g["momentum"]) for g in optimizer.param_groups)])
    return np.array([np.hstack(row) for row in found], dtype=float), schedule.state_dict().keys()


@pytest.mark.parametrize("reload_at", [None, 17])
@pytest.mark.parametrize("name", SCHEDULES)
def test_fifty_steps_of_a_schedule_are_those_of_torch(torch, name, reload_at):
    found, names = rates(minitorch, SCHEDULES[name], reload_at=reload_at)
    expected, their_names = rates(torch, SCHEDULES[name], reload_at=reload_at)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    assert names == their_names


def test_every_schedule_is_in_the_table(torch):
    base = torch.optim.lr_scheduler.LRScheduler
    all_of_them = {n for n, c in vars(torch.optim.lr_scheduler).items() if isinstance(c, type) and issubclass(c, base)}
    assert all_of_them - {"LRScheduler", "_LRScheduler"} == {name.split()[0] for name in SCHEDULES}
