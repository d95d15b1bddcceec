"""The examples of the function transforms, small, against loops; and the identities between the transforms."""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path

import pytest

import minitorch
from minitorch.func import functional_call, hessian, jacfwd, jacrev, jvp, linearize, vjp
from minitorch.testing import assert_close

EXAMPLES = Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(f"{name}_example", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    before = minitorch.get_default_dtype()
    minitorch.set_default_dtype(getattr(minitorch, request.param))
    minitorch.manual_seed(0)
    yield request.param
    minitorch.set_default_dtype(before)


def test_gradients_of_each_image_are_those_of_a_loop(dtype):
    script = example("per_sample_gradients")
    model = script.make_model(minitorch)
    images, labels = minitorch.rand(5, 1, 8, 8), minitorch.tensor([3, 1, 4, 1, 5])
    found = script.by_vmap(minitorch, model, images, labels)
    expected = script.by_loop(minitorch, model, images, labels)
    assert {name: g.shape for name, g in found.items()} == {n: (5, *p.shape) for n, p in model.named_parameters()}
    for name in expected:
        assert_close(found[name], expected[name])

    mean, norms = script.clipped_mean(minitorch, found, bound=1e9)
    loss = minitorch.nn.functional.cross_entropy(model(images), labels)
    for name, gradient in zip(mean, minitorch.autograd.grad(loss, model.parameters()), strict=True):
        assert_close(mean[name], gradient)
    bound = norms.median().item()
    clipped, _ = script.clipped_mean(minitorch, found, bound)
    kept = [min(1.0, bound / n) for n in norms.tolist()]
    assert min(kept) < 1.0
    for name, gradients in found.items():
        assert_close(clipped[name], sum(k * g for k, g in zip(kept, gradients, strict=True)) / 5)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("per_sample_gradients", "--images 12"), ("ensemble", "--models 3 --steps 5"), ("maml", "--steps 5")],
)
def test_the_scripts_run(name, arguments, monkeypatch, capsys):
    if name == "per_sample_gradients":
        pytest.importorskip("sklearn", reason="scikit-learn carries the digits")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    result = example(name).main(arguments.split())
    text = capsys.readouterr().out
    if name == "maml":
        assert len(result) == 5
        assert "new waves after 1 steps" in text
    else:
        assert result[1] < 1e-4
        assert "times as fast" in text


def test_an_ensemble_is_each_model_alone(dtype):
    script = example("ensemble")
    points, labels = script.half_moons(minitorch, 20)
    models = [script.make_model(minitorch) for _ in range(4)]
    before = copy.deepcopy(models)
    stacked, losses = script.train_together(minitorch, models, points, labels, steps=12)
    for model, untouched in zip(models, before, strict=True):
        for p, q in zip(model.parameters(), untouched.parameters(), strict=True):
            assert p.tolist() == q.tolist()
            assert p.grad is None
    alone = [script.train_alone(minitorch, model, points, labels, steps=12) for model in models]
    assert_close(losses, minitorch.stack(alone))
    chances = script.predict(minitorch, models[0], stacked, points)
    for i, model in enumerate(models):
        for name, p in model.named_parameters():
            assert_close(stacked[name][i], p.detach())
        assert_close(chances[i], model(points).softmax(-1).detach())


@pytest.mark.parametrize("steps", [1, 2])
def test_meta_gradient_is_that_of_plain_autograd(dtype, steps):
    script = example("maml")
    model = script.make_model(minitorch, width=8)
    tasks = script.sine_waves(minitorch, 3, 6)
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    found, value = script.meta_gradient(minitorch, model, parameters, tasks, steps=steps, lr=0.05)

    leaves = {name: p.clone().requires_grad_() for name, p in parameters.items()}
    mse = minitorch.nn.functional.mse_loss
    losses = []
    for x, y, new_x, new_y in zip(*tasks, strict=True):
        now = leaves
        for _ in range(steps):
            loss = mse(functional_call(model, now, (x,)), y)
            gradients = minitorch.autograd.grad(loss, tuple(now.values()), create_graph=True)
            now = {name: p - 0.05 * g for (name, p), g in zip(now.items(), gradients, strict=True)}
        losses.append(mse(functional_call(model, now, (new_x,)), new_y))
    expected = minitorch.stack(losses).mean()
    assert_close(value, expected.detach())
    for (name, leaf), gradient in zip(leaves.items(), minitorch.autograd.grad(expected, tuple(leaves.values())), strict=True):
        assert_close(found[name], gradient, msg=name)
        assert leaf.grad is None


def test_meta_learning_lowers_the_loss():
    script = example("maml")
    minitorch.manual_seed(0)
    losses = script.train(minitorch, script.make_model(minitorch, width=20), 80, tasks=10)
    assert sum(losses[-20:]) < 0.9 * sum(losses[:20])


def network(dtype):
    model = minitorch.nn.Sequential(minitorch.nn.Linear(4, 5), minitorch.nn.Tanh(), minitorch.nn.Linear(5, 3))
    return model, minitorch.randn(4)


def test_a_jacobian_is_a_loop_of_vjp(dtype):
    model, x = network(dtype)
    output, pull_back = vjp(model, x)
    rows = [pull_back(unit)[0] for unit in minitorch.eye(3)]
    columns = [jvp(model, (x,), (unit,))[1] for unit in minitorch.eye(4)]
    for found in (jacrev(model)(x), jacfwd(model)(x), jacrev(model, chunk_size=2)(x), jacfwd(model, chunk_size=3)(x)):
        assert_close(found.detach(), minitorch.stack(rows).detach())
        assert_close(found.detach(), minitorch.stack(columns, 1).detach())
    assert output.shape == (3,)


def test_products_with_a_hessian_are_its_rows(dtype):
    model, x = network(dtype)

    def f(x):
        return model(x).square().sum()

    whole = hessian(f)(x).detach()
    assert_close(whole, whole.T)
    _, push = linearize(minitorch.func.grad(f), x)
    _, pull_back = vjp(minitorch.func.grad(f), x)
    for row, unit in zip(whole, minitorch.eye(4), strict=True):
        forward_over_reverse = jvp(minitorch.func.grad(f), (x,), (unit,))[1]
        reverse_over_forward = minitorch.func.grad(lambda x, v=unit: jvp(f, (x,), (v,))[1])(x)
        for found in (forward_over_reverse, reverse_over_forward, pull_back(unit)[0], push(unit)):
            assert_close(found.detach(), row)
