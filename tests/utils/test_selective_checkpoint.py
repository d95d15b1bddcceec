"""Selective checkpoints, and changes of what is saved for backward."""

from __future__ import annotations

from collections import Counter
from functools import partial

import pytest

import minitorch as mt
from minitorch.utils._python_dispatch import TorchDispatchMode
from minitorch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

MM, SIGMOID = mt.ops.aten.mm.default, mt.ops.aten.sigmoid.default


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.calls = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls[func] += 1
        return func(*args, **(kwargs or {}))


def layers(x, w):
    return mt.mm(mt.mm(x, w).sigmoid(), w).sigmoid()


def run(policy, **options):
    mt.manual_seed(0)
    w, x = mt.randn(4, 4, requires_grad=True), mt.randn(3, 4)
    contexts = partial(create_selective_checkpoint_contexts, policy, **options)
    with Counting() as counting:
        out = checkpoint(layers, x, w, use_reentrant=False, context_fn=contexts)
        out.sum().backward()
    expected = mt.autograd.grad(layers(x, w).sum(), w)[0]
    assert mt.equal(w.grad, expected)
    return counting.calls[MM], counting.calls[SIGMOID]


def test_results_of_chosen_operators_are_kept():
    # Two products forward, three backward; what is not kept is computed again, up to the last tensor that is saved.
    assert run([MM]) == (5, 4)
    assert run(lambda ctx, op, *args, **kwargs: op is MM) == (5, 4)
    answers = {SIGMOID: CheckpointPolicy.MUST_SAVE}
    assert run(lambda ctx, op, *args, **kwargs: answers.get(op, CheckpointPolicy.MUST_RECOMPUTE)) == (7, 2)
    assert run(lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_CPU_OFFLOAD) == (5, 2)
    assert run(lambda ctx, op, *args, **kwargs: False) == (7, 4)


def test_policies_that_are_wrong():
    with pytest.raises(TypeError, match="returns a CheckpointPolicy or a bool, but returned 1"):
        run(lambda ctx, op, *args, **kwargs: 1)
    with pytest.raises(ValueError, match="a list holds operators"):
        create_selective_checkpoint_contexts(["mm"])
    with pytest.raises(RuntimeError, match="was kept 0 times"):
        run(lambda ctx, op, *args, **kwargs: op is MM and ctx.is_recompute)


def test_a_kept_result_may_not_be_changed():
    def function(x, change):
        y = x.exp()
        z = y * 2
        if change:
            y.add_(1)
        return z.sin()

    keep = [mt.ops.aten.exp.default]
    x = mt.ones(2, requires_grad=True)
    out = checkpoint(function, x, True, use_reentrant=False, context_fn=partial(create_selective_checkpoint_contexts, keep))
    with pytest.raises(RuntimeError, match="was changed in place after the first"):
        out.sum().backward()


def test_saved_tensors_may_be_changed():
    leaf = mt.ones(3, requires_grad=True)
    with mt.autograd.graph.allow_mutation_on_saved_tensors() as context:
        b = leaf.clone()
        part = b[1:]
        out = (part**2).sum() + b.sin().sum()
        b.mul_(3)
        part.add_(1)
        assert len(context.cloned) == 2
        (out + (b**2).sum()).backward()
    cosine = mt.ones(()).cos().item()
    assert leaf.grad.tolist() == pytest.approx([18 + cosine, 2 + 24 + cosine, 2 + 24 + cosine])


def test_backward_outside_of_the_scope():
    x = mt.ones(2, requires_grad=True)
    with mt.autograd.graph.allow_mutation_on_saved_tensors():
        y = (x.exp() * x).sum()
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors' context"):
        y.backward()
