"""A backward pass is in the scopes of the thread that called it, in whatever thread it runs (R5)."""

from __future__ import annotations

import threading

import minitorch as mt
from minitorch.autograd import Function
from minitorch.dispatch.local_state import current
from minitorch.dispatch.mode_stack import mode_stack
from minitorch.dispatch.scopes import autocast_level, disable_functorch
from minitorch.dispatch.transforms import Interpreter, TransformType, interpreter_stack
from minitorch.modes import TorchDispatchMode


def test_a_pass_in_a_fresh_thread():
    """Passes within passes run in a thread of their own from some depth on."""
    seen = []

    class Deep(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            state = current()
            seen.append((threading.get_ident(), state.included, state.excluded, mode_stack(), interpreter_stack()))
            if ctx.depth:
                with mt.enable_grad():
                    Deep.apply(mt.ones((), requires_grad=True), ctx.depth - 1).backward(grad)
            return grad, None

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Level(Interpreter):
        transform = TransformType.Grad

    y = Deep.apply(mt.ones((), requires_grad=True), 50)
    grad = mt.tensor(1.0)
    with disable_functorch(), Level() as level, Mode() as mode, autocast_level("cpu"):
        y.backward(grad)
    assert len({thread for thread, *_ in seen}) > 1
    assert len({entry[1:] for entry in seen}) == 1
    assert seen[-1][3:] == ((mode,), (level,))
