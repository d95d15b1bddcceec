"""`autograd.Function` inside of transforms, and modules as functions of their parameters."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch import nn
from minitorch.autograd import Function
from minitorch.func import functional_call, grad, jacrev, jvp, stack_module_state, vjp, vmap
from minitorch.testing import assert_close


class Cube(Function):
    """x ** 3 * factor with a gradient that is five times too large, so that tests see whose it is."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, factor):
        return x**3 * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, factor = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)
        ctx.factor = factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 15 * x**2 * ctx.factor * g, None

    @staticmethod
    def jvp(ctx, t, _):
        (x,) = ctx.saved_tensors
        return 15 * x**2 * ctx.factor * t


class Sorted(Function):
    """Two outputs, one of which is not differentiable, and a rule of its own for vmap."""

    calls: list = []

    @staticmethod
    def forward(x, dim):
        return mt.sort(x, dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        values, indices = output
        ctx.mark_non_differentiable(indices)
        ctx.save_for_backward(indices)
        ctx.dim = inputs[1]

    @staticmethod
    def backward(ctx, g, _):
        (indices,) = ctx.saved_tensors
        return mt.zeros_like(g).scatter(ctx.dim, indices, g), None

    @staticmethod
    def vmap(info, in_dims, x, dim):
        Sorted.calls.append((info.batch_size, in_dims))
        x = x.movedim(in_dims[0], 0)
        return Sorted.apply(x, dim + 1 if dim >= 0 else dim), (0, 0)


def numbers(*shape):
    return mt.arange(float(mt.Size(shape).numel())).reshape(shape) / 3 + 0.5


@pytest.fixture(autouse=True)
def no_calls():
    Sorted.calls.clear()


def cube(x):
    return Cube.apply(x, 2.0)


def test_a_generated_rule_uses_the_formula_at_every_level():
    x = numbers(3, 2)
    slope = 30 * x**2
    assert_close(vmap(cube)(x), 2 * x**3)
    assert_close(grad(lambda x: cube(x).sum())(x), slope)
    assert_close(vmap(grad(lambda x: cube(x).sum()))(x), slope)
    assert_close(grad(lambda x: vmap(cube)(x).sum())(x), slope)
    assert_close(grad(lambda x: vmap(vmap(cube), in_dims=1, out_dims=1)(x).sum())(x), slope)
    assert_close(jvp(cube, (x,), (mt.ones_like(x),))[1], slope)
    assert_close(jvp(vmap(cube), (x,), (mt.ones_like(x),))[1], slope)
    assert_close(vmap(lambda x: jvp(cube, (x,), (mt.ones_like(x),))[1])(x), slope)
    assert_close(jacrev(cube)(x[0]), mt.diag(slope[0]))
    assert_close(grad(lambda x: grad(lambda x: cube(x).sum())(x).sum())(x), 60 * x)


def test_plain_autograd_through_vmap_uses_the_formula():
    x = numbers(3, 2).requires_grad_()
    vmap(cube)(x).sum().backward()
    assert_close(x.grad, 30 * x.detach() ** 2)


def test_an_input_that_is_the_same_for_all_gets_the_sum():
    class Product(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * y

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            return g * y, g * x

    x, y = numbers(2), numbers(3, 2)
    _, pull = vjp(lambda x, y: vmap(Product.apply, (None, 0))(x, y), x, y)
    gx, gy = pull(mt.ones(3, 2))
    assert_close(gx, y.sum(0))
    assert_close(gy, x.expand(3, 2))


def test_a_rule_of_its_own():
    x = mt.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    values, indices = vmap(lambda x: Sorted.apply(x, 0))(x)
    assert_close(values, x.sort(1)[0])
    assert_close(indices, x.sort(1)[1])
    assert Sorted.calls == [(2, (0, None))]
    weights = mt.tensor([1.0, 10.0, 100.0])
    expected = mt.tensor([[100.0, 1.0, 10.0], [1.0, 100.0, 10.0]])
    assert_close(vmap(grad(lambda x: (Sorted.apply(x, -1)[0] * weights).sum()))(x), expected)
    assert_close(grad(lambda x: (vmap(lambda x: Sorted.apply(x, -1)[0])(x) * weights).sum())(x), expected)
    Sorted.calls.clear()
    vmap(lambda y: Sorted.apply(x, 0)[0].sum() + y)(mt.ones(2))  # nothing of it is batched
    assert Sorted.calls == []


def test_what_is_refused():
    class Old(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Bare(Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Both(Bare):
        generate_vmap_rule = True

        @staticmethod
        def vmap(info, in_dims, x):
            return x * 2, in_dims[0]

    for transform in (vmap, grad, lambda f: lambda x: jvp(f, (x,), (x,))):
        with pytest.raises(RuntimeError, match="must override the setup_context staticmethod"):
            transform(lambda x: Old.apply(x).sum())(mt.ones(2))
    with pytest.raises(RuntimeError, match="does not have vmap support"):
        vmap(Bare.apply)(mt.ones(2))
    with pytest.raises(RuntimeError, match="both generate_vmap_rule=True and an overridden vmap"):
        vmap(Both.apply)(mt.ones(2))
    assert_close(grad(lambda x: Bare.apply(x).sum())(mt.ones(2)), mt.full((2,), 2.0))


# -- modules


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(mt.ones(2))
        self.register_buffer("steps", mt.zeros(()))

    def forward(self, x, *, scale=1.0):
        self.steps = self.steps + 1
        return (x * self.weight).sum() * scale


def test_functional_call():
    module = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    x = numbers(4, 2)
    parameters = {name: mt.full_like(p, 0.5).detach() for name, p in module.named_parameters()}
    expected = (x.sum(1, keepdim=True) * 0.5 + 0.5).tanh() * 1.5 + 0.5
    assert_close(functional_call(module, parameters, x), expected)
    assert_close(functional_call(module, parameters, (x,)), expected)
    assert all(isinstance(p, nn.Parameter) for p in module.parameters())
    before = module(x)
    # One name alone: the others are the module's own.
    assert not mt.equal(functional_call(module, {"2.bias": mt.ones(1)}, x), before)
    assert_close(module(x), before)
    gradients = grad(lambda p: functional_call(module, p, x).sum())({n: p.detach() for n, p in module.named_parameters()})
    module(x).sum().backward()
    for name, p in module.named_parameters():
        assert_close(gradients[name], p.grad)


def test_functional_call_with_buffers_and_keywords():
    module = Counter()
    state = {"steps": mt.tensor(5.0)}
    result = functional_call(module, ({"weight": mt.tensor([1.0, 2.0])}, state), (mt.ones(2),), {"scale": 2.0})
    assert result.item() == 6.0
    assert module.steps.item() == 0.0


def test_functional_call_of_tied_weights():
    module = nn.Module()
    module.a = nn.Linear(2, 2, bias=False)
    module.b = nn.Linear(2, 2, bias=False)
    module.b.weight = module.a.weight
    module.forward = lambda x: module.b(module.a(x))
    w = mt.eye(2) * 3
    assert_close(functional_call(module, {"a.weight": w}, mt.ones(2)), mt.full((2,), 9.0))
    with pytest.raises(ValueError, match="different values"):
        functional_call(module, {"a.weight": w, "b.weight": w.clone()}, mt.ones(2))
    other = functional_call(module, {"a.weight": w, "b.weight": mt.eye(2)}, mt.ones(2), tie_weights=False)
    assert_close(other, mt.full((2,), 3.0))


def test_functional_call_refuses():
    module = nn.Linear(2, 1)
    x = mt.ones(2)
    with pytest.raises(ValueError, match="multiple dictionaries"):
        functional_call(module, ({"bias": x}, {"bias": x}), x)
    with pytest.raises(ValueError, match="dict"):
        functional_call(module, 3, x)
    with pytest.raises(RuntimeError, match=r"Missing key.*weight.*Unexpected key.*nope"):
        functional_call(module, {"bias": mt.ones(1), "nope": x}, x, strict=True)
    weight = module.weight
    with pytest.raises(RuntimeError):
        functional_call(module, {"weight": mt.ones(3, 5)}, x)
    assert module.weight is weight


def test_ensembles():
    models = [nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Linear(4, 1)).eval() for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    assert parameters["0.weight"].shape == (3, 4, 2)
    assert parameters["0.weight"].requires_grad
    assert parameters["0.weight"].is_leaf
    x = numbers(5, 2)

    def run(p, b, x):
        return functional_call(models[0], (p, b), (x,))

    together = vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)
    assert_close(together, mt.stack([m(x) for m in models]))
    together.sum().backward()
    for i, m in enumerate(models):
        m(x).sum().backward()
        for name, p in m.named_parameters():
            assert_close(parameters[name].grad[i], p.grad)
    with pytest.raises(RuntimeError, match="at least one model"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="training/eval mode"):
        stack_module_state([nn.Linear(1, 1), nn.Linear(1, 1).eval()])
    with pytest.raises(RuntimeError, match="same class"):
        stack_module_state([nn.Linear(1, 1), nn.Tanh()])


def test_per_sample_gradients_of_a_network():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64, 10)
    )
    x, y = mt.randn(6, 1, 8, 8), mt.arange(6)
    parameters = {name: p.detach() for name, p in model.named_parameters()}

    def loss(p, x, y):
        return nn.functional.cross_entropy(functional_call(model, p, (x[None],)), y[None])

    found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    for i in range(6):
        model.zero_grad()
        nn.functional.cross_entropy(model(x[i : i + 1]), y[i : i + 1]).backward()
        for name, p in model.named_parameters():
            assert_close(found[name][i], p.grad, rtol=1e-4, atol=1e-5)
