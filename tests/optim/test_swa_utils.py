"""Averages of parameters over training."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch
from minitorch import nn, optim
from minitorch.optim import swa_utils


def linear(value):
    model = nn.Linear(2, 1)
    with minitorch.no_grad():
        model.weight.fill_(value)
        model.bias.fill_(-value)
    return model


def test_the_mean_of_what_was_seen():
    average = swa_utils.AveragedModel(linear(0.0))
    for value in (1.0, 2.0, 6.0):
        average.update_parameters(linear(value))
    assert average.module.weight.tolist() == [[3.0, 3.0]]
    assert average.n_averaged.item() == 3
    assert average(minitorch.tensor([[1.0, 2.0]])).item() == pytest.approx(6.0)


@pytest.mark.parametrize("argument", ["avg_fn", "multi_avg_fn"])
def test_moving_averages(argument):
    make = {"avg_fn": swa_utils.get_ema_avg_fn, "multi_avg_fn": swa_utils.get_ema_multi_avg_fn}[argument]
    average = swa_utils.AveragedModel(linear(0.0), **{argument: make(0.75)})
    for value in (1.0, 2.0, 6.0):
        average.update_parameters(linear(value))
    assert average.module.weight.tolist() == [[pytest.approx(0.75 * 1.25 + 0.25 * 6)] * 2]
    with pytest.raises(ValueError, match="Invalid decay"):
        make(1.5)


def test_buffers_are_copied_or_averaged():
    for use_buffers, expected in ((False, 4.0), (True, 3.0)):
        model = nn.BatchNorm1d(1)
        average = swa_utils.AveragedModel(model, use_buffers=use_buffers)
        for value in (2.0, 4.0):
            model.running_mean.fill_(value)
            average.update_parameters(model)
        assert average.module.running_mean.item() == expected
    with pytest.raises(AssertionError, match="Only one of"):
        swa_utils.AveragedModel(model, avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=swa_utils.get_swa_multi_avg_fn())


def test_averages_are_saved_and_loaded():
    average = swa_utils.AveragedModel(linear(1.0))
    average.update_parameters(linear(5.0))
    other = swa_utils.AveragedModel(linear(0.0))
    other.load_state_dict(average.state_dict())
    assert other.n_averaged.item() == 1
    assert other.module.weight.tolist() == [[5.0, 5.0]]


def test_statistics_of_batch_normalization_anew():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 2), nn.BatchNorm1d(2, momentum=0.3)).eval()
    model[0].running_mean.fill_(100.0)
    minitorch.manual_seed(0)
    batches = [minitorch.randn(8, 3) for _ in range(4)]
    swa_utils.update_bn(((batch, None) for batch in batches), model)
    expected = minitorch.stack([batch.mean(0) for batch in batches]).mean(0)
    assert minitorch.allclose(model[0].running_mean, expected, atol=1e-6)
    assert not model.training
    assert model[2].momentum == 0.3
    swa_utils.update_bn([], nn.Linear(1, 1))


@pytest.mark.oracle
@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 5])
def test_learning_rates_equal_those_of_torch(torch, strategy, epochs):
    found = []
    for library in (minitorch, torch):
        from_module = library.nn.Linear(1, 1)
        optimizer = library.optim.SGD([{"params": [from_module.weight]}, {"params": [from_module.bias], "lr": 0.5}], lr=1.0)
        utils = library.optim.swa_utils
        swa = utils.SWALR(optimizer, swa_lr=[0.05, 0.1], anneal_epochs=epochs, anneal_strategy=strategy)
        rates = []
        for _ in range(8):
            optimizer.step()
            swa.step()
            rates.append([group["lr"] for group in optimizer.param_groups])
        state = {k: v for k, v in swa.state_dict().items() if k in ("anneal_epochs", "_anneal_strategy", "last_epoch")}
        found.append((rates, state))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    assert found[0][1] == found[1][1]


def test_wrong_schedules_are_refused():
    optimizer = optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
    with pytest.raises(ValueError, match="anneal_strategy"):
        swa_utils.SWALR(optimizer, 0.1, anneal_strategy="x")
    with pytest.raises(ValueError, match="anneal_epochs"):
        swa_utils.SWALR(optimizer, 0.1, anneal_epochs=-1)
    with pytest.raises(ValueError, match="same length"):
        swa_utils.SWALR(optimizer, [0.1, 0.2])
