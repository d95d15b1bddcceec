"""Optimizers take the CPU's steps, and a network learns what it learns there."""

import pytest

import minitorch
from minitorch.testing.conformance.helpers import check_equal, net, numbers

OPTIMIZERS = {
    "SGD": lambda p: minitorch.optim.SGD(p, lr=0.05),
    "SGD, momentum": lambda p: minitorch.optim.SGD(p, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01),
    "Adam": lambda p: minitorch.optim.Adam(p, lr=0.01),
    "Adam, amsgrad": lambda p: minitorch.optim.Adam(p, lr=0.01, amsgrad=True),
    "AdamW": lambda p: minitorch.optim.AdamW(p, lr=0.01),
    "Adagrad": lambda p: minitorch.optim.Adagrad(p, lr=0.05),
    "RMSprop": lambda p: minitorch.optim.RMSprop(p, lr=0.005, momentum=0.5),
}


def train(device, make, steps=6):
    """Return the losses of some steps, and the parameters at the end."""
    model = net().to(device)
    images = (numbers(9, 1, 4, 4) / 23).to(device)
    labels = (minitorch.arange(9) % 3).to(device)
    rule = make(model.parameters())
    losses = []
    for _ in range(steps):
        rule.zero_grad()
        loss = minitorch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        minitorch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        rule.step()
        losses.append(loss.item())
    return losses, list(model.parameters())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_the_cpus(device, name):
    wanted, weights = train("cpu", OPTIMIZERS[name])
    found, there = train(device, OPTIMIZERS[name])
    assert found == pytest.approx(wanted, rel=1e-3)
    assert wanted[-1] < wanted[0]
    for mine, its in zip(there, weights, strict=True):
        check_equal(mine, its, device, 100.0)


def test_batch_norm_and_dropout_in_their_modes(device):
    nn = minitorch.nn
    minitorch.manual_seed(0)
    models = [nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5))]
    models.append(nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5)))
    models[1].load_state_dict(models[0].state_dict())
    models[1].to(device)
    x = numbers(8, 4) / 23
    for model in models:
        model(x.to(next(model.parameters()).device))  # moves the running statistics
        model.eval()
    check_equal(models[1][1].running_mean, models[0][1].running_mean, device, 1.0)
    check_equal(models[1][1].running_var, models[0][1].running_var, device, 1.0)
    check_equal(models[1](x.to(device)), models[0](x), device, 10.0)


def test_a_recurrent_net(device):
    results = []
    for where in ("cpu", device):
        minitorch.manual_seed(3)
        model = minitorch.nn.LSTM(4, 5, batch_first=True).to(where)
        x = (numbers(2, 6, 4) / 23).to(where).requires_grad_()
        output, (hidden, cell) = model(x)
        (output.sum() + (hidden * cell).sum()).backward()
        results.append((output, x.grad, model.weight_hh_l0.grad))
    for found, wanted in zip(results[1], results[0], strict=True):
        check_equal(found, wanted, device, 10.0)


def test_attention(device):
    results = []
    for where in ("cpu", device):
        q, k, v = [(numbers(2, 3, 5, 4, seed=i) / 23).to(where).requires_grad_() for i in range(3)]
        out = minitorch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        out.square().sum().backward()
        results.append((out, q.grad, k.grad, v.grad))
    for found, wanted in zip(results[1], results[0], strict=True):
        check_equal(found, wanted, device, 10.0)
