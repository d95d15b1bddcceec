"""Activation checkpointing."""

from __future__ import annotations

import itertools
import weakref

import pytest

import minitorch as mt
from minitorch.utils.checkpoint import (
    CheckpointError,
    checkpoint,
    checkpoint_sequential,
    set_checkpoint_early_stop,
)

BOTH = pytest.mark.parametrize("reentrant", [True, False])


def leaf(*values):
    return mt.tensor(list(values), requires_grad=True)


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function = function
        self.calls = 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


@BOTH
def test_same_gradients_and_two_runs(reentrant):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    f = Counted(lambda x, w: ((x * w).sin() * x).exp())
    f.function(x, w).sum().backward()
    expected = x.grad.tolist(), w.grad.tolist()
    x.grad = w.grad = None
    y = checkpoint(f, x, w, use_reentrant=reentrant)
    assert f.calls == 1
    y.sum().backward()
    assert f.calls == 2
    assert (x.grad.tolist(), w.grad.tolist()) == expected


@BOTH
def test_random_numbers_are_the_same(reentrant):
    x = leaf(1.0, 2.0)
    drawn = []

    def f(t):
        drawn.append(mt.rand(2).tolist())
        return t * t

    y = checkpoint(f, x, use_reentrant=reentrant)
    after = mt.get_rng_state()
    y.sum().backward()
    assert drawn[0] == drawn[1]
    assert mt.get_rng_state().tolist() == after.tolist()
    checkpoint(f, x, use_reentrant=reentrant, preserve_rng_state=False).sum().backward()
    assert drawn[2] != drawn[3]


@BOTH
def test_arguments_that_are_no_tensors(reentrant):
    x = leaf(1.0, 2.0)
    y, n = checkpoint(lambda t, k, s: (t * k, len(s)), x, 3.0, "abc", use_reentrant=reentrant)
    y.sum().backward()
    assert (x.grad.tolist(), n) == ([3.0, 3.0], 3)


@pytest.mark.filterwarnings("ignore:None of the inputs")  # the inner one runs without grad mode, as in PyTorch
@BOTH
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")  # the inner one runs without grad mode
def test_nested_checkpoints(reentrant):
    x = leaf(0.5, 1.5)
    inner, outer = Counted(lambda t: t.exp().sin()), Counted(None)
    outer.function = lambda t: checkpoint(inner, t.cos(), use_reentrant=reentrant) * t
    outer.function(x).sum().backward()
    expected = x.grad.tolist()
    x.grad = None
    inner.calls = 0
    checkpoint(outer, x, use_reentrant=reentrant).sum().backward()
    assert x.grad.tolist() == expected
    assert (outer.calls, inner.calls) == (2, 3)


def test_second_derivative():
    x = mt.tensor([0.5, 1.5], dtype=mt.float64, requires_grad=True)
    f = lambda t: checkpoint(lambda u: (u * u).exp(), t, use_reentrant=False)  # noqa: E731
    assert mt.autograd.gradcheck(f, (x,))
    assert mt.autograd.gradgradcheck(f, (x,))


def test_grad_of_parts():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = checkpoint(lambda x, w: x * w, x, w, use_reentrant=False)
    (found,) = mt.autograd.grad(y.sum(), x)
    assert found.tolist() == [3.0, 4.0]
    y = checkpoint(lambda x, w: x * w, x, w, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible with .grad\(\)"):
        mt.autograd.grad(y.sum(), x)


def test_each_backward_runs_it_once():
    x = leaf(1.0, 2.0)
    f = Counted(lambda t: (t.exp() * t).sin())
    y = checkpoint(f, x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert f.calls == 3
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


def test_saved_values_can_be_looked_at():
    x = leaf(1.0, 2.0)
    y = checkpoint(lambda t: t * t, x, use_reentrant=False)
    assert y.grad_fn._saved_self.tolist() == [1.0, 2.0]


def test_intermediate_results_are_not_kept():
    x = leaf(1.0, 2.0)
    refs = []

    def f(t):
        h = t * 2
        refs.append(weakref.ref(h))
        return (h * h).exp()

    y = checkpoint(f, x, use_reentrant=False)
    assert refs[0]() is None
    y.sum().backward()
    assert refs[1]() is None


def test_the_second_run_stops_early():
    x = leaf(1.0, 2.0)
    reached = []

    def f(t):
        y = t.exp()
        reached.append(1)
        return y + 1

    checkpoint(f, x, use_reentrant=False).sum().backward()
    assert len(reached) == 1
    checkpoint(f, x, use_reentrant=False, early_stop=False).sum().backward()
    assert len(reached) == 3
    with set_checkpoint_early_stop(False):
        y = checkpoint(f, x, use_reentrant=False)
    y.sum().backward()
    assert len(reached) == 5


@pytest.mark.parametrize(
    ("second", "text"),
    [
        (lambda t: t * t * t, "different number of tensors was saved"),
        (lambda t: t * 2, "different number of tensors was saved"),
        (lambda t: t[:1].exp(), "different metadata"),
    ],
)
def test_a_second_run_that_differs_is_noticed(second, text):
    x = leaf(1.0, 2.0)
    runs = itertools.count()
    y = checkpoint(
        lambda t: t.exp() if next(runs) == 0 else second(t), x, use_reentrant=False, early_stop=False
    )
    with pytest.raises(CheckpointError, match=text):
        y.sum().backward()


def test_metadata_is_not_compared_if_not_asked_for():
    x = leaf(1.0, 2.0)
    runs = itertools.count()
    y = checkpoint(
        lambda t: t.exp() if next(runs) == 0 else t[:1].exp(), x, use_reentrant=False, determinism_check="none"
    )
    y.sum().backward()


@BOTH
def test_an_argument_that_changed_is_noticed(reentrant):
    z = leaf(1.0, 2.0) * 1
    y = checkpoint(lambda t: t.exp(), z, use_reentrant=reentrant)
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_scopes_of_both_runs():
    entered = []

    class Scope:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            entered.append(self.name)

        def __exit__(self, *exc_info):
            return None

    y = checkpoint(
        lambda t: t.exp(), leaf(1.0), use_reentrant=False, context_fn=lambda: (Scope("first"), Scope("again"))
    )
    assert entered == ["first"]
    y.sum().backward()
    assert entered == ["first", "again"]


def test_without_grad_mode_nothing_is_kept():
    f = Counted(lambda t: t * 2)
    with mt.no_grad():
        y = checkpoint(f, leaf(1.0), use_reentrant=False)
    assert not y.requires_grad


def test_wrong_options():
    x = leaf(1.0)
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(mt.sin, x)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad"):
        checkpoint(mt.sin, x.detach(), use_reentrant=True)
    with pytest.raises(ValueError, match="Unexpected keyword arguments: k"):
        checkpoint(mt.sin, x, use_reentrant=True, k=1)
    with pytest.raises(ValueError, match="context_fn"):
        checkpoint(mt.sin, x, use_reentrant=True, context_fn=lambda: None)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(mt.sin, x, use_reentrant=False, determinism_check="some")
    with pytest.raises(NotImplementedError, match="debug"):
        checkpoint(mt.sin, x, use_reentrant=False, debug=True)
    y = checkpoint(lambda t: t.detach() * 2, x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad"):
        y.sum().backward()


@BOTH
def test_sequential(reentrant):
    x = leaf(0.5, 1.5)
    steps = [Counted(f) for f in (mt.sin, mt.exp, mt.cos, mt.tanh, mt.sigmoid)]
    expected = x
    for step in steps:
        expected = step.function(expected)
    expected.sum().backward()
    gradient, x.grad = x.grad.tolist(), None
    y = checkpoint_sequential(steps, 2, x, use_reentrant=reentrant)
    assert y.tolist() == expected.tolist()
    y.sum().backward()
    assert x.grad.tolist() == gradient
    assert [s.calls for s in steps] == [2, 2, 1, 1, 1]
    with pytest.raises(ValueError, match="Unexpected keyword"):
        checkpoint_sequential(steps, 2, x, use_reentrant=reentrant, k=1)
