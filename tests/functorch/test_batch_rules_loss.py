"""Batch rules of losses: which arguments are mapped, weights, reductions and gradients."""

from __future__ import annotations

import pytest
from loop_oracle import check, check_all, gradients, random

import minitorch as mt
import minitorch.nn.functional as nn
from minitorch.func import vmap, vmap_fallback_policy

REDUCTIONS = ("none", "mean", "sum")


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("loss", [nn.mse_loss, nn.smooth_l1_loss, nn.huber_loss, nn.l1_loss, nn.soft_margin_loss])
def test_losses_between_elements(loss, reduction):
    for shape in ((), (4,), (2, 3)):
        check_all(lambda x, y: loss(x, y, reduction=reduction), [shape, shape])


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_between_elements(reduction):
    def make(*shape):
        return mt.rand(shape, dtype=mt.float64) * 0.5 + 0.1  # check_all makes it half as large again

    def loss(x, y, w):
        return nn.binary_cross_entropy(x, y, weight=w, reduction=reduction)

    patterns = [(0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0), (-1, 0, None)]
    check_all(loss, [(2, 3), (2, 3), (3,)], backward=False, make=make, patterns=patterns)
    for dims in patterns[:2]:
        shapes = [(3, 2, 4) if d is not None else (2, 4) for d in dims[:2]]
        check(lambda x, y: gradients(lambda x: loss(x, y, None), x), [make(*s) for s in shapes], dims[:2])
    with pytest.raises(RuntimeError, match="between 0 and 1"):
        vmap(nn.binary_cross_entropy)(mt.tensor([[0.5], [1.5]]), mt.zeros(2, 1))


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 5, 3), (2, 5, 2, 3)], ids=str)
def test_negative_log_likelihood(shape, reduction):
    """The target of an example, or one for all; weights of each, the same for all, or none; some targets ignored."""
    target_shape = () if len(shape) == 1 else (shape[0], *shape[2:])
    targets = mt.randint(0, 5, (3, *target_shape))
    weights = mt.rand(3, 5, dtype=mt.float64)
    for dims in ((0, 0), (0, None), (None, 0), (-1, 0)):
        x = random(*shape) if dims[0] is None else random(3, *shape) if dims[0] == 0 else random(*shape, 3)
        t = targets if dims[1] == 0 else targets[1]
        for ignored in (-100, int(targets.reshape(-1)[0])):
            if reduction == "mean" and not target_shape and ignored >= 0:
                continue  # the mean of nothing

            def loss(x, t, w=None, ignored=ignored):
                return nn.nll_loss(x, t, weight=w, ignore_index=ignored, reduction=reduction)

            check(loss, [x, t], dims)
            check(lambda x, t, f=loss: gradients(lambda x: f(x, t), x), [x, t], dims)
            for w, d in ((weights[0], None), (weights, 0)):
                check(loss, [x, t, w], (*dims, d))
                check(lambda x, t, w, f=loss: gradients(lambda x: f(x, t, w), x), [x, t, w], (*dims, d))
    nested = [random(2, 3, *shape), targets.expand(2, *targets.shape)]
    check(vmap(lambda x, t: nn.nll_loss(x, t, reduction=reduction)), nested, (0, 0), 2)


def test_wrong_targets_and_weights():
    x, t = random(3, 4, 5), mt.randint(0, 5, (3, 4))
    with pytest.raises(IndexError, match="out of bounds"):
        vmap(nn.nll_loss)(x, t + 5)
    with pytest.raises(RuntimeError, match="for all 5 classes"):
        vmap(lambda x, t, w: nn.nll_loss(x, t, weight=w))(x, t, mt.ones(3, 4, dtype=mt.float64))
    with pytest.raises((RuntimeError, ValueError), match="target|batch"):
        vmap(nn.nll_loss)(x, t[:, :3])


@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"reduction": "none"}, {"ignore_index": 1}], ids=str)
def test_cross_entropy(options):
    x, t, w = random(3, 4, 5), mt.randint(0, 5, (3, 4)), mt.rand(3, 5, dtype=mt.float64)
    for dims in ((0, 0, 0), (0, 0, None), (0, None, None), (None, 0, None)):
        given = [v if d is not None else v[0] for v, d in zip((x, t, w), dims, strict=True)]
        check(lambda x, t, w: nn.cross_entropy(x, t, weight=w, **options), given, dims)
    if "ignore_index" not in options:
        check(lambda x, t: nn.cross_entropy(x, t, **options), [x, random(3, 4, 5).softmax(-1)], (0, 0))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_paths_of_labels(reduction):
    """Labels in rows or one after another; lengths in lists, the same for all, or of each example."""
    logs = random(3, 6, 2, 4).log_softmax(-1)
    rows = mt.randint(1, 4, (3, 2, 3))
    flat = mt.randint(1, 4, (3, 5))
    steps, labels = mt.tensor([[6, 5], [6, 6], [5, 6]]), mt.tensor([[3, 2], [2, 3], [3, 2]])

    def loss(logs, targets, steps, labels):
        return nn.ctc_loss(logs, targets, steps, labels, reduction=reduction, zero_infinity=True)

    for targets in (rows, flat):
        for dims in ((0, 0), (0, None), (None, 0)):
            given = [v if d is not None else v[0] for v, d in zip((logs, targets), dims, strict=True)]
            check(lambda x, t: loss(x, t, [6, 5], [3, 2]), given, dims)
            check(lambda x, t: gradients(lambda x: loss(x, t, [6, 5], [3, 2]), x), given, dims)
        for dims in ((0, 0, 0, 0), (0, None, 0, 0), (None, None, None, 0), (0, 0, None, None), (0, 0, 0, None)):
            given = [v if d is not None else v[0] for v, d in zip((logs, targets, steps, labels), dims, strict=True)]
            check(loss, given, dims)
            check(lambda x, t, s, n: gradients(lambda x: loss(x, t, s, n), x), given, dims)
    check(lambda x: nn.ctc_loss(x, mt.tensor([1, 2]), mt.tensor(5), mt.tensor(2)), [random(3, 5, 4).log_softmax(-1)], [0])


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances_of_all_pairs(p):
    check_all(lambda a, b: mt.cdist(a, b, p), [(4, 2), (3, 2)])
    check_all(lambda a, b: mt.cdist(a, b, p), [(2, 4, 2), (3, 2)])
    check_all(lambda a: nn.pdist(a, p), [(4, 2)])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: nn.mse_loss(x, y), lambda x, y: nn.nll_loss(x, mt.tensor([0, 1])), lambda x, y: mt.cdist(x, y),
        lambda x, y: nn.binary_cross_entropy(x * 0 + 0.5, y * 0), lambda x, y: nn.cross_entropy(x, y.softmax(-1)),
        lambda x, y: nn.huber_loss(x, y, reduction="none"), lambda x, y: nn.prelu(x, y[0]), lambda x, y: nn.logsigmoid(x),
    ],
)  # fmt: skip
def test_no_examples(function):
    x, y = random(2, 3), random(2, 3)
    expected = function(x, y)
    empty = mt.empty(0, 2, 3, dtype=mt.float64)
    with vmap_fallback_policy("error"):
        found = vmap(function)(empty, empty)
        out, slopes = vmap(lambda x, y: gradients(lambda x: function(x, y), x))(empty, empty)
    assert found.shape == out.shape == (0, *expected.shape)
    assert slopes[0].shape == empty.shape


def test_dtypes_of_examples_without_dimensions():
    x, y = random(3, 4).float(), random(3)
    assert vmap(lambda x, y: nn.mse_loss(x, y.expand(4).float() * 0 + y, reduction="none"))(x, y).dtype is mt.float32
    check(lambda x, y: nn.prelu(x, y), [random(3, 2, 4), random(3)], (0, 0))
    check_all(nn.prelu, [(2, 4), (4,)])
    check_all(nn.logsigmoid, [(2, 4)])
