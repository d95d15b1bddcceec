"""Compiled functions inside of transforms, traces and modes, and gradients inside of compiled functions."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.compiler import aot_function, nop
from minitorch.func import functionalize, grad, jvp, vmap
from minitorch.fx.experimental.proxy_tensor import make_fx
from minitorch.utils._python_dispatch import TorchDispatchMode

X = mt.arange(6.0).reshape(2, 3)


def square(x):
    return (x * x).sum()


class Names(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.basename)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(
    "transform",
    [
        vmap,
        grad,
        lambda f: vmap(grad(f)),
        functionalize,
        lambda f: lambda x: jvp(f, (x,), (x,))[1],
        lambda f: aot_function(f, nop),
    ],
)
def test_transforms_see_what_a_compiled_function_does(transform):
    assert mt.equal(transform(aot_function(square, nop))(X), transform(square)(X))


def test_a_compiled_function_in_another_that_is_differentiated():
    x = X.clone().requires_grad_()
    aot_function(lambda x: aot_function(mt.sin, nop)(x).sum(), nop)(x).backward()
    assert mt.equal(x.grad, X.cos())


@pytest.mark.parametrize("options", [{}, {"tracing_mode": "fake"}, {"tracing_mode": "symbolic"}])
def test_a_trace_goes_through_a_compiled_function(options):
    graph = make_fx(aot_function(lambda x: x.sin() * 2, nop), **options)(X)
    assert [n.target.basename for n in graph.graph.nodes if n.op == "call_function"] == ["sin", "mul"]


def test_modes_see_the_run_and_not_how_it_was_compiled():
    compiled = aot_function(lambda x: x.sin() * 2, nop)
    for _ in range(2):
        with Names() as names:
            compiled(X)
        assert names.seen == ["sin", "mul"]


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_function_asks_for_a_gradient_of_its_own(dynamic):
    compiled = aot_function(lambda x: mt.autograd.grad(square(x), x)[0], nop, dynamic=dynamic)
    assert mt.equal(compiled(X.clone().requires_grad_()), 2 * X)


def test_an_argument_cannot_begin_to_require_a_gradient():
    with pytest.raises(RuntimeError, match=r"argument of shape \[2, 3\] require a gradient \(requires_grad_\(\)\)"):
        aot_function(lambda x: x.requires_grad_() * 2, nop)(X.clone())


def test_a_compiler_returns_a_callable():
    with pytest.raises(TypeError, match="a callable, not NoneType"):
        aot_function(mt.sin, lambda graph, inputs: None)(X)
