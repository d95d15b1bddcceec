"""The engine on a device: what it saves, adds up, and refuses."""

import pytest

import minitorch
from minitorch.testing.conformance.helpers import check_equal, numbers


def on(x, device):
    return x.to(device).requires_grad_()


def test_gradients_add_up_on_the_device(device):
    results = []
    for where in ("cpu", device):
        x, y = on(numbers(3, 4) / 10, where), on(numbers(4, 2) / 10, where)
        for _ in range(2):
            ((x @ y).tanh().sum(0) * x[0, 0]).sum().backward()
        results.append((x.grad, y.grad))
    for found, wanted in zip(results[1], results[0], strict=True):
        check_equal(found, wanted, device, 10.0)


def test_second_derivatives(device):
    results = []
    for where in ("cpu", device):
        x = on(numbers(2, 3) / 10, where)
        (first,) = minitorch.autograd.grad((x.exp() * x.sin()).sum(), x, create_graph=True)
        results.append(minitorch.autograd.grad((first * first).sum(), x)[0])
    check_equal(results[1], results[0], device, 10.0)


def test_gradients_cross_devices(device):
    x = numbers(3).requires_grad_()
    (x.to(device) * 2).cpu().mul(numbers(3)).sum().backward()
    check_equal(x.grad, 2 * numbers(3), minitorch.device("cpu"))


def test_gradients_of_views_and_of_what_was_changed_in_place(device):
    results = []
    for where in ("cpu", device):
        x = on(numbers(3, 4) / 10, where)
        y = x * 1
        y[1].mul_(3)
        y[:, 2] = y[:, 0].exp()
        (y.t()[1:] ** 2).sum().backward()
        results.append(x.grad)
    check_equal(results[1], results[0], device, 10.0)


def test_what_was_saved_may_not_be_changed(device):
    x = on(numbers(3), device)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        x.add_(1)


def test_hooks_and_modes(device):
    x, seen = on(numbers(3), device), []
    y = x * 2
    y.register_hook(lambda grad: seen.append(grad.device) or grad * 3)
    y.sum().backward()
    assert seen == [device]
    check_equal(x.grad, minitorch.full((3,), 6.0), device)
    with minitorch.no_grad():
        assert not (x * 2).requires_grad
    with minitorch.inference_mode():
        assert (x * 2).is_inference()
    assert x.detach().requires_grad is False


def test_custom_functions(device):
    class Cube(minitorch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    x = on(numbers(4) / 10, device)
    Cube.apply(x).sum().backward()
    check_equal(x.grad, 3 * (numbers(4) / 10) ** 2, device, 1.0)
