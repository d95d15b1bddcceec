"""`GradScaler`: what it does to gradients, steps and its scale, literally and against PyTorch."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import minitorch as mt
from minitorch.amp import GradScaler

INF, NAN = float("inf"), float("nan")


def setting(lr=0.5, **options):
    w = mt.ones(2, requires_grad=True)
    return w, mt.optim.SGD([w], lr=lr), GradScaler("cpu", **{"init_scale": 8.0, **options})


# -- step by step ----------------------------------------------------------------------


def test_a_good_step():
    w, optimizer, scaler = setting()
    loss = (w * mt.tensor([1.0, 2.0])).sum()
    assert scaler.scale(loss).item() == 24.0
    scaler.scale(loss).backward()
    assert w.grad.tolist() == [8.0, 16.0]
    scaler.unscale_(optimizer)
    assert w.grad.tolist() == [1.0, 2.0]
    assert [found.item() for found in scaler._found_inf_per_device(optimizer).values()] == [0.0]
    scaler.step(optimizer)
    assert w.tolist() == [0.5, 0.0]
    scaler.update()
    assert (scaler.get_scale(), scaler._get_growth_tracker()) == (8.0, 1)


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
def test_a_bad_step_is_left_out_and_the_scale_backs_off(bad):
    w, optimizer, scaler = setting(backoff_factor=0.25)
    scaler.scale((w * mt.tensor([1.0, bad])).sum()).backward()
    assert scaler.step(optimizer) is None
    assert w.tolist() == [1.0, 1.0]
    scaler.update()
    assert (scaler.get_scale(), scaler._get_growth_tracker()) == (2.0, 0)


def test_the_scale_grows_after_an_interval_of_good_steps():
    w, optimizer, scaler = setting(growth_interval=3, growth_factor=4.0)
    seen = []
    for factor in (1.0, 1.0, INF, 1.0, 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), scaler._get_growth_tracker()))
    assert seen == [(8.0, 1), (8.0, 2), (4.0, 0), (4.0, 1), (4.0, 2), (16.0, 0), (16.0, 1)]


def test_the_scale_does_not_grow_to_infinity():
    scale, tracker, found = mt.tensor(3e38), mt.tensor(0, dtype=mt.int32), mt.tensor(0.0)
    assert mt._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 1) is scale
    assert (scale.item(), tracker.item()) == (float(np.float32(3e38)), 0)


def test_nested_outputs_are_scaled():
    scaler = GradScaler("cpu", init_scale=4.0)
    a, b = mt.ones(1), mt.ones(1, dtype=mt.float64)
    x, [y, z] = scaler.scale((a, [b, a]))
    assert (x.item(), y.item(), z.item()) == (4.0, 4.0, 4.0)
    assert [t.item() for t in scaler.scale(t for t in (a, b))] == [4.0, 4.0]
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)
    with pytest.raises(ValueError, match="outputs must be"):
        scaler.scale([a, 3])


def test_several_optimizers_are_judged_apart_and_share_the_scale():
    v, w = mt.ones(1, requires_grad=True), mt.ones(1, requires_grad=True)
    first, second, scaler = mt.optim.SGD([v], lr=0.5), mt.optim.SGD([w], lr=0.5), GradScaler("cpu", init_scale=8.0)
    scaler.scale(v.sum() + (w * INF).sum()).backward()
    scaler.step(first)
    scaler.step(second)
    scaler.update()
    assert (v.item(), w.item(), scaler.get_scale()) == (0.5, 1.0, 4.0)


def test_gradients_of_several_dtypes():
    parameters = [mt.ones(2, dtype=dtype, requires_grad=True) for dtype in (mt.float32, mt.bfloat16, mt.float64)]
    scaler, optimizer = GradScaler("cpu", init_scale=8.0), mt.optim.SGD(parameters, lr=1.0)
    scaler.scale(sum(p.float().sum() for p in parameters)).backward()
    scaler.step(optimizer)
    assert [p.tolist() for p in parameters] == [[0.0, 0.0]] * 3
    scaler.update()
    assert scaler.get_scale() == 8.0


def test_optimizers_of_others():
    class Foreign:
        """Has what a scaler needs, and nothing else."""

        def __init__(self, parameters):
            self.param_groups = [{"params": parameters}]
            self.steps = []

        def step(self, *args, **kwargs):
            self.steps.append((args, kwargs, [p.grad.tolist() for p in self.param_groups[0]["params"]]))
            return "stepped"

    w = mt.ones(1, requires_grad=True)
    optimizer, scaler = Foreign([w]), GradScaler("cpu", init_scale=8.0)
    scaler.scale(w.sum()).backward()
    assert scaler.step(optimizer, 1, key=2) == "stepped"
    assert optimizer.steps == [((1,), {"key": 2}, [[1.0]])]


def test_optimizers_that_unscale_themselves():
    class Unscaling(mt.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, closure=None):
            self.seen = (self.grad_scale, self.found_inf.item(), self.param_groups[0]["params"][0].grad.item())

    w = mt.ones(1, requires_grad=True)
    optimizer, scaler = Unscaling([w], lr=1.0), GradScaler("cpu", init_scale=8.0)
    scaler.scale(w.sum()).backward()
    scaler.step(optimizer)
    assert optimizer.seen[0].item() == 8.0
    assert optimizer.seen[1:] == (0.0, 8.0)
    assert not hasattr(optimizer, "grad_scale")
    scaler.update()
    optimizer.zero_grad()
    scaler.scale((w * INF).sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert optimizer.seen[:2] == (None, 1.0)
    scaler.update()
    assert scaler.get_scale() == 4.0


# -- errors ----------------------------------------------------------------------------


def test_errors_of_the_order_of_calls():
    w, optimizer, scaler = setting()
    for call in (scaler.update, lambda: scaler.step(optimizer), lambda: scaler.unscale_(optimizer)):
        with pytest.raises(AssertionError, match="but the scale is None"):
            call()
    scaler.scale(w.sum()).backward()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) has already been called"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="step\\(\\) has already been called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="unscale_\\(\\) is being called after step"):
        scaler.unscale_(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled"):
        pickle.dumps(scaler)
    scaler.update()
    optimizer.zero_grad()
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)


def test_errors_of_values():
    with pytest.raises(AssertionError, match="growth factor must be > 1.0"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match="backoff factor must be < 1.0"):
        GradScaler("cpu", backoff_factor=1.0)
    with pytest.raises(RuntimeError, match="Expected one of cpu"):
        GradScaler("toaster")
    half = mt.ones(1, dtype=mt.float16, requires_grad=True)
    scaler, optimizer = GradScaler("cpu", init_scale=2.0), mt.optim.SGD([half], lr=1.0)
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(optimizer)
    for wrong in (mt.ones(2), mt.ones(1, dtype=mt.float64), mt.ones(1, requires_grad=True)):
        with pytest.raises(AssertionError, match="new_scale should be a float or a tensor of one float32 element"):
            scaler.update(wrong)


def test_errors_of_the_operators():
    one, tracker, zero = mt.tensor(1.0), mt.tensor(0, dtype=mt.int32), mt.tensor(0.0)
    with pytest.raises(RuntimeError, match="growth_tracker has dtype torch.int64"):
        mt._amp_update_scale_(one, tracker.long(), zero, 2.0, 0.5, 1)
    with pytest.raises(RuntimeError, match="self has dtype torch.float64"):
        mt._amp_update_scale_(one.double(), tracker, zero, 2.0, 0.5, 1)
    unscale = mt._amp_foreach_non_finite_check_and_unscale_
    with pytest.raises(NotImplementedError, match="a gradient has dtype torch.int64"):
        unscale([mt.tensor([1])], zero, one)
    with pytest.raises(RuntimeError, match="found_inf must have one element, but has 2"):
        unscale([mt.ones(1)], mt.zeros(2), one)
    with pytest.raises(RuntimeError, match="both must be of float32"):
        unscale([mt.ones(1)], zero, one.double())


# -- the operators ---------------------------------------------------------------------


def test_the_operators_count_what_they_change():
    grads, found = [mt.ones(2), mt.ones(1)], mt.zeros(())
    mt._amp_foreach_non_finite_check_and_unscale_(grads, found, mt.tensor(0.5))
    assert [t._version for t in (*grads, found)] == [1, 1, 1]
    scale, tracker = mt.tensor(8.0), mt.tensor(0, dtype=mt.int32)
    mt._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 5)
    assert (scale._version, tracker._version, tracker.item()) == (1, 1, 1)


def test_found_inf_is_never_taken_back():
    found = mt.tensor(1.0)
    mt._amp_foreach_non_finite_check_and_unscale_([mt.ones(1)], found, mt.tensor(0.5))
    assert found.item() == 1.0


def test_the_operators_under_functionalization():
    def run(scale, tracker, grad, found):
        mt._amp_foreach_non_finite_check_and_unscale_([grad], found, mt.tensor(0.5))
        return mt._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 1) + grad

    given = mt.tensor(8.0), mt.tensor(0, dtype=mt.int32), mt.tensor([2.0, INF]), mt.tensor(0.0)
    result = mt.func.functionalize(run)(*given)
    assert [t.tolist() for t in given] == [4.0, 0, [1.0, INF], 1.0]
    assert result.tolist() == [5.0, INF]


# -- state -----------------------------------------------------------------------------


def test_state_goes_into_another_scaler():
    w, optimizer, scaler = setting(growth_interval=10)
    scaler.scale(w.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 10, "_growth_tracker": 1}
    fresh, used = GradScaler("cpu"), GradScaler("cpu")
    used.scale(w.sum())
    for other in (fresh, used, pickle.loads(pickle.dumps(scaler))):
        other.load_state_dict(state)
        assert other.state_dict() == state
        assert other.scale(mt.ones(1)).item() == 8.0
        assert other._get_growth_tracker() == 1
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        fresh.load_state_dict({})


def test_what_it_is_set_to():
    scaler = GradScaler("cpu")
    assert (scaler.get_scale(), scaler.is_enabled()) == (65536.0, True)
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.1)
    scaler.set_growth_interval(7)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.1, 7)
    scaler.scale(mt.ones(1))
    scaler.update(4.0)
    assert scaler.get_scale() == 4.0
    scaler.update(mt.tensor([16.0]))
    assert scaler.get_scale() == 16.0


def test_not_enabled_it_does_nothing():
    w, optimizer, scaler = setting(enabled=False)
    loss = w.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.5, 0.5]
    assert (scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()) == (1.0, {}, False)
    scaler.load_state_dict({"scale": 2.0})
    pickle.loads(pickle.dumps(scaler))
    if not mt.cuda.is_available():
        with pytest.warns(UserWarning, match="GradScaler is enabled, but CUDA is not available.  Disabling"):
            assert not GradScaler().is_enabled()


# -- against PyTorch -------------------------------------------------------------------


def trajectory(m, weights, inputs, bad_steps):
    """Train a linear map under float16 autocast; return the scale, the steps and the weights after each update."""
    w = m.tensor(weights, requires_grad=True)
    optimizer = m.optim.SGD([w], lr=0.05, momentum=0.9)
    scaler = m.amp.GradScaler("cpu", init_scale=2.0**10, growth_interval=4)
    seen = []
    for number, x in enumerate(inputs):
        optimizer.zero_grad()
        with m.autocast("cpu", dtype=m.float16):
            loss = (m.mm(m.tensor(x), w) ** 2).mean()
        factor = INF if number in bad_steps else 1.0
        scaler.scale(loss * factor).backward()
        if number % 3 == 0:
            scaler.unscale_(optimizer)
            m.nn.utils.clip_grad_norm_([w], 1.0)
        scaler.step(optimizer)
        scaler.update()
        seen.append((scaler.get_scale(), scaler._get_growth_tracker(), w.detach().numpy().copy()))
    return seen, scaler.state_dict()


@pytest.mark.oracle
def test_twenty_steps_are_those_of_torch(torch):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(4, 3)).astype("f")
    inputs = rng.normal(size=(20, 8, 4)).astype("f")
    ours, our_state = trajectory(mt, weights, inputs, (5, 13))
    theirs, their_state = trajectory(torch, weights, inputs, (5, 13))
    assert [step[:2] for step in ours] == [step[:2] for step in theirs]
    assert our_state == their_state
    assert ours[5][0] == ours[4][0] / 2
    np.testing.assert_array_equal(ours[5][2], ours[4][2])  # left out
    for (_, _, one), (_, _, other) in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3)
