"""Function transforms on a device: no rule knows a backend, and this shows that none has to."""

import pytest

import minitorch
from minitorch import nn
from minitorch.func import functional_call, functionalize, grad, hessian, jvp, vmap
from minitorch.testing.conformance.helpers import check_equal, numbers


def _reductions(x):
    return x.sum(0), x.softmax(-1), x.max(1)[0], x.cumsum(0)


def _views(x):
    y = x.t().reshape(-1)[2:].clone()
    y[1:3].mul_(2)
    return minitorch.cat([y, x[0]])


def _indexing(x):
    places = minitorch.tensor([2, 0, 1], device=x.device)
    return x.gather(1, places.expand(x.shape[0], 3)), x[:, places], minitorch.where(x > 3, x, -x)


def _products(x):
    return x @ x.t(), minitorch.einsum("ij,ik->jk", x, x), nn.functional.linear(x, x)


def _layers(x):
    image = x.reshape(1, 1, *x.shape)
    weight = minitorch.ones(2, 1, 2, 2, device=x.device, dtype=x.dtype) / 4
    return (
        nn.functional.conv2d(image, weight),
        nn.functional.max_pool2d(image, 2),
        nn.functional.layer_norm(x, x.shape[1:]),
        nn.functional.gelu(x),
    )


@pytest.mark.parametrize("function", [_reductions, _views, _indexing, _products, _layers])
def test_vmap(device, function):
    x = numbers(3, 4, 5) / 7
    wanted = vmap(function, in_dims=1)(x)
    found = vmap(function, in_dims=1)(x.to(device))
    for one, other in zip(_listed(found), _listed(wanted), strict=True):
        check_equal(one, other, device, 10.0)


def test_random_numbers_of_each_example(device):
    def draw(x):
        return x + minitorch.rand(4, device=x.device)

    zeros = minitorch.zeros(3, 4).to(device)
    different = vmap(draw, randomness="different")(zeros).cpu()
    assert len({tuple(row) for row in different.tolist()}) == 3
    same = vmap(draw, randomness="same")(zeros).cpu()
    assert len({tuple(row) for row in same.tolist()}) == 1


def test_per_sample_gradients(device):
    model = nn.Sequential(nn.Conv2d(1, 3, 2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(12, 4))
    x, y = numbers(5, 1, 5, 5) / 60, minitorch.tensor([0, 1, 2, 3, 0])

    def loss(p, x, y):
        return nn.functional.cross_entropy(functional_call(model, p, (x[None],)), y[None])

    parameters = {n: (numbers(*p.shape) / p.numel() / 2) for n, p in model.named_parameters()}
    results = []
    for where in ("cpu", device):
        given = {n: p.to(where) for n, p in parameters.items()}
        results.append(vmap(grad(loss), in_dims=(None, 0, 0))(given, x.to(where), y.to(where)))
    for name in parameters:
        check_equal(results[1][name], results[0][name], device, 20.0)


def test_derivatives_nest(device):
    def f(x):
        return (x.sin() * x.roll(1, 0).exp()).sum()

    results = []
    for where in ("cpu", device):
        x = (numbers(4) / 5).to(where)
        results.append((hessian(f)(x), jvp(grad(f), (x,), (x,))[1], vmap(grad(f))(x.expand(2, 4))))
    for found, wanted in zip(results[1], results[0], strict=True):
        check_equal(found, wanted, device, 10.0)


def test_functionalization(device):
    def f(x):
        y = x.clone()
        y[0].mul_(x[1])
        return y.t().add_(1)

    x = numbers(3, 2)
    check_equal(functionalize(f)(x.to(device)), f(x), device)


def _listed(result):
    return [item for part in result for item in _listed(part)] if isinstance(result, tuple) else [result]
