"""Losses, embedding bags and distances: edge rules with literal expectations."""

import math

import numpy as np
import pytest

import minitorch as mt
import minitorch.nn.functional as F
from minitorch.testing.gradcheck import gradcheck, gradgradcheck

INF, NAN = math.inf, math.nan


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), np.asarray(expected), rtol=1e-4, atol=1e-5)


def scores():
    return mt.arange(12.0).reshape(4, 3) * mt.tensor([1.0, -1.0, 0.5])


WEIGHT = [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("targets", "options", "each", "divisor"),
    [
        ([0, -100, 2, 1], {}, [1.40761, 0, 2.12693, 19.02975], 3),
        ([0, -100, 2, 1], {"weight": WEIGHT}, [1.40761, 0, 6.38079, 38.0595], 6),
        ([0, -100, 2, 1], {"weight": WEIGHT, "label_smoothing": 0.1}, [1.51503, 0, 6.83476, 35.87617], 6),
        ([0, 1, 2, 1], {"ignore_index": 1, "label_smoothing": 0.2}, [1.40761, 0, 2.72693, 0], 2),
    ],
)
def test_cross_entropy_of_classes(targets, options, each, divisor):
    if "weight" in options:
        options = {**options, "weight": mt.tensor(options["weight"])}
    targets = mt.tensor(targets)
    close(F.cross_entropy(scores(), targets, reduction="none", **options), each)
    close(F.cross_entropy(scores(), targets, reduction="sum", **options), sum(each))
    close(F.cross_entropy(scores(), targets, **options), sum(each) / divisor)


def test_cross_entropy_of_probabilities():
    target = mt.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    x = mt.arange(6.0).reshape(2, 3)
    options = {"weight": mt.tensor(WEIGHT), "label_smoothing": 0.1}
    close(F.cross_entropy(x, target, reduction="none", **options), [1.9586, 2.3817])
    close(F.cross_entropy(x, target, **options), (1.9586 + 2.3817) / 2)  # the mean is over the batch


def test_cross_entropy_without_targets_or_with_wrong_ones():
    assert F.cross_entropy(mt.ones(2, 3), mt.tensor([-100, -100])).isnan()
    with pytest.raises(IndexError, match="3 is out of bounds"):
        F.cross_entropy(mt.ones(2, 3), mt.tensor([0, 3]))


def test_nll_loss_of_images():
    x, target = mt.arange(12.0).reshape(1, 3, 2, 2), mt.tensor([[[0, 1], [-100, 2]]])
    weight = mt.tensor(WEIGHT)
    close(F.nll_loss(x, target, weight, reduction="none"), [[[0, -10], [0, -33]]])
    close(F.nll_loss(x, target, weight), -43 / 6)


def alignments():
    return (mt.arange(24.0).reshape(4, 2, 3) * 0.1).log_softmax(2)


def test_ctc_loss():
    targets, lengths = mt.tensor([[1, 2], [1, 1]]), mt.tensor([2, 2])
    full = mt.tensor([4, 4])
    close(F.ctc_loss(alignments(), targets, full, lengths, reduction="none"), [1.67204, 2.95713])
    close(F.ctc_loss(alignments(), targets, full, lengths), (1.67204 / 2 + 2.95713 / 2) / 2)
    short = mt.tensor([4, 2])  # two equal labels need a blank between them
    close(F.ctc_loss(alignments(), targets, short, lengths, reduction="none"), [1.67204, INF])
    close(F.ctc_loss(alignments(), targets, short, lengths, reduction="none", zero_infinity=True), [1.67204, 0])
    x = (mt.arange(8.0).reshape(4, 1, 2) * 0.1).log_softmax(2)
    empty = mt.zeros(1, 0, dtype=mt.int64)
    close(F.ctc_loss(x, empty, mt.tensor([4]), mt.tensor([0]), reduction="none"), [2.97759])


def test_regression_losses_at_their_edges():
    zero_or_three, one = mt.tensor([0.0, 3.0]), mt.tensor([1.0, 1.0])
    close(F.huber_loss(zero_or_three, one, reduction="none", delta=1.5), [0.5, 1.875])
    close(F.smooth_l1_loss(zero_or_three, one, reduction="none", beta=0.0), [1, 2])
    with pytest.raises(RuntimeError, match="non-positive values for delta"):
        F.huber_loss(one, one, delta=0)
    close(F.binary_cross_entropy(mt.tensor([0.0, 1.0, 1.0]), mt.tensor([0.0, 1.0, 0.0]), reduction="none"), [0, 0, 100])
    close(F.kl_div(mt.tensor([-1.0, -2.0]), mt.tensor([0.5, 0.0]), reduction="none"), [0.15343, 0])
    close(F.kl_div(mt.ones(2, 3).log_softmax(1), mt.ones(2, 3) / 3, reduction="batchmean"), 0)


# ---------------------------------------------------------------- embedding bags


@pytest.mark.parametrize(
    ("mode", "middle", "padded", "closed"),
    [
        ("sum", [4, 7], [[0, 1], [4, 5]], [[2, 4], [6, 8]]),
        ("mean", [4 / 3, 7 / 3], [[0, 1], [4, 5]], [[1, 2], [3, 4]]),
        ("max", [2, 3], [[0, 1], [4, 5]], [[2, 3], [4, 5]]),
    ],
)
def test_embedding_bag(mode, middle, padded, closed):
    indices, weight = mt.tensor([0, 1, 1, 2]), mt.arange(6.0).reshape(3, 2)
    close(F.embedding_bag(indices, weight, mt.tensor([0, 0, 3]), mode=mode), [[0, 0], middle, [4, 5]])
    close(F.embedding_bag(indices, weight, mt.tensor([0, 2]), mode=mode, padding_idx=1), padded)
    close(F.embedding_bag(indices, weight, mt.tensor([0, 2, 4]), mode=mode, include_last_offset=True), closed)
    close(F.embedding_bag(indices.reshape(2, 2), weight, mode=mode), closed)
    meta = F.embedding_bag(indices.to("meta"), weight.to("meta"), mt.tensor([0, 2]).to("meta"), mode=mode)
    assert meta.shape == (2, 2)


def test_embedding_bag_gradients():
    indices, offsets = mt.tensor([0, 1, 1, 2]), mt.tensor([0, 3])
    for mode, expected in (("sum", [1, 2, 10]), ("mean", [1 / 3, 2 / 3, 10]), ("max", [0, 1, 10])):
        weight = mt.arange(3.0).reshape(3, 1).requires_grad_()
        F.embedding_bag(indices, weight, offsets, mode=mode).backward(mt.tensor([[1.0], [10.0]]))
        close(weight.grad[:, 0], expected)
    weight = mt.arange(3.0).reshape(3, 1)
    factors = mt.tensor([1.0, 2.0, 3.0, 4.0]).requires_grad_()
    out = F.embedding_bag(indices, weight, offsets, mode="sum", per_sample_weights=factors, padding_idx=1)
    close(out, [[0], [8]])
    out.backward(mt.tensor([[1.0], [10.0]]))
    close(factors.grad, [0, 0, 0, 20])


def test_embedding_rows_are_kept_to_a_norm():
    weight = mt.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]])
    F.embedding(mt.tensor([0, 1]), weight, max_norm=1.0)
    close(weight, [[0.6, 0.8], [0.3, 0.4], [6, 8]])
    assert F.embedding(mt.tensor([0]).to("meta"), weight.to("meta"), max_norm=1.0).shape == (1, 2)
    with pytest.raises(IndexError, match="index 3 is out of range"):
        mt.embedding_renorm_(weight, mt.tensor([3]), 1.0, 2.0)


# ---------------------------------------------------------------- distances


@pytest.mark.parametrize(
    ("p", "expected"),
    [(0.0, [1, 2]), (0.5, [1, 1 + 2 + 2 * math.sqrt(2)]), (1.0, [1, 3]), (2.0, [1, math.sqrt(5)]), (3.0, [1, 9 ** (1 / 3)]),
     (INF, [1, 2])],
)  # fmt: skip
def test_cdist(p, expected):
    x, y = mt.tensor([[0.0, 0.0], [1.0, 3.0]]), mt.tensor([[0.0, 1.0]])
    close(mt.cdist(x, y, p)[:, 0], expected)
    assert mt.cdist(x.to("meta"), y.to("meta"), p).shape == (2, 1)


@pytest.mark.parametrize("p", [0.5, 1.0, 1.5, 2.0, 3.0, INF])
def test_cdist_gradient_is_finite_where_rows_agree(p):
    x = mt.tensor([[0.0, 1.0], [2.0, 2.0]], requires_grad=True)
    mt.cdist(x, x.detach(), p).sum().backward()
    assert mt.isfinite(x.grad).all()


def test_cdist_by_products_agrees_with_differences():
    x = mt.from_numpy(np.random.default_rng(0).standard_normal((40, 5)))
    exact = mt.cdist(x, x + 1, compute_mode="donot_use_mm_for_euclid_dist")
    close(mt.cdist(x, x + 1), exact.numpy())
    close(exact, np.linalg.norm(x.numpy()[:, None] - x.numpy() - 1, axis=-1))


def test_cdist_errors():
    with pytest.raises(RuntimeError, match="same number of columns"):
        mt.cdist(mt.ones(2, 3), mt.ones(2, 4))
    with pytest.raises(RuntimeError, match="x1 must have rows"):
        mt.cdist(mt.ones(3), mt.ones(2, 3))
    with pytest.raises(ValueError, match="compute_mode"):
        mt.cdist(mt.ones(2, 3), mt.ones(2, 3), compute_mode="fast")


def test_rows_without_keys_attend_to_nothing_and_have_gradients():
    query = mt.ones(1, 2, 2, requires_grad=True)
    mask = mt.tensor([[True, True], [False, False]])
    out = F.scaled_dot_product_attention(query, mt.ones(1, 2, 2), mt.ones(1, 2, 2), attn_mask=mask)
    close(out, [[[1, 1], [0, 0]]])
    out.sum().backward()
    close(query.grad, np.zeros((1, 2, 2)))


def test_layer_norm_with_a_bias_alone():
    close(F.layer_norm(mt.tensor([1.0, 3.0]), (2,), bias=mt.tensor([10.0, 20.0])), [9, 21])


# ---------------------------------------------------------------- derivatives


def random(*shape):
    return mt.from_numpy(np.random.default_rng(0).standard_normal(shape)).requires_grad_()


BAGS = mt.tensor([0, 1, 1, 2]), mt.tensor([0, 0, 3])


@pytest.mark.parametrize("p", [0.5, 1.5, 2.0, 3.0])
def test_cdist_derivatives(p):
    inputs = random(3, 2), random(4, 2) * 2 + 1
    assert gradcheck(lambda a, b: mt.cdist(a, b, p), inputs)
    assert gradgradcheck(lambda a, b: mt.cdist(a, b, p), inputs)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag_derivatives(mode):
    indices, offsets = BAGS

    def bag(weight):
        return F.embedding_bag(indices, weight, offsets, mode=mode)

    assert gradcheck(bag, (random(3, 2),))
    assert gradgradcheck(bag, (random(3, 2),))


def test_derivatives_of_weighted_bags():
    indices, offsets = BAGS

    def bag(weight, factors):
        return F.embedding_bag(indices, weight, offsets, mode="sum", per_sample_weights=factors, padding_idx=2)

    assert gradcheck(bag, (random(3, 2), random(4)))
    assert gradgradcheck(bag, (random(3, 2), random(4)))


def test_derivatives_of_many_distances_take_products(monkeypatch):
    """Of many points the differences are never held: the same derivatives by way of matrix products."""
    from minitorch.autograd import forward_ad
    from minitorch.autograd.derivatives import loss as derivatives
    from minitorch.ops.composite import loss as composite

    points = random(2, 4, 3), (-random(2, 5, 3).detach()).requires_grad_()  # no two are equal
    directions = random(2, 4, 3).detach(), random(2, 5, 3).detach()

    def derived():
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(x.detach(), t) for x, t in zip(points, directions, strict=True)]
            tangent = forward_ad.unpack_dual(mt.cdist(*duals)).tangent
        return [tangent, *mt.autograd.grad(mt.cdist(*points).square().sum(), points)]

    expected = derived()
    for module in (derivatives, composite):
        monkeypatch.setattr(module, "MOST_DIFFERENCES", 0)
    with monkeypatch.context() as patch:
        patch.setattr(derivatives, "along_slopes", None)
        patch.setattr(composite, "along_slopes", None)
        found = derived()
    for one, other in zip(found, expected, strict=True):
        mt.testing.assert_close(one, other)
    assert gradcheck(mt.cdist, points, check_forward_ad=True)


def test_distances_of_equal_points_pass_no_gradient():
    """The square root of a distance of 0 has an infinite derivative: it does not become NaN."""
    x = mt.ones(2, 3, requires_grad=True)
    mt.cdist(x, x.detach()).sqrt().sum().backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


def test_safe_softmax_derivatives():
    assert gradcheck(lambda x: mt.ops.aten._safe_softmax(x, 1), (random(2, 3),))
    assert gradgradcheck(lambda x: mt.ops.aten._safe_softmax(x, 1), (random(2, 3),))


def test_other_derivatives():
    samples = mt.from_numpy(np.random.default_rng(1).random((1, 2, 2)))
    assert gradcheck(
        lambda x: F.fractional_max_pool2d(x, 2, output_size=3, _random_samples=samples), (random(1, 2, 6, 6),)
    )
    lengths = mt.tensor([1, 3])
    assert gradcheck(lambda x: mt.segment_reduce(x, "mean", lengths=lengths), (random(4, 2),))
    assert gradcheck(lambda x, y: mt.as_strided_scatter(x, y, [2, 2], [1, 2], 1), (random(6), random(2, 2)))
    weight = mt.ones(2, 3, 3, dtype=mt.float64)
    assert gradcheck(lambda x, y: F.bilinear(x, y, weight), (random(2, 3), random(2, 3)))


def test_second_derivatives_of_channels_last():
    def through(function):
        return lambda x: function(x.to(memory_format=mt.channels_last))

    for function in (
        lambda x: F.max_pool2d(x, 2),
        lambda x: F.interpolate(x, size=(3, 3), mode="bilinear"),
        lambda x: F.conv2d(x, mt.ones(2, 2, 2, 2, dtype=mt.float64)),
        lambda x: F.batch_norm(x, None, None, training=True),
    ):
        assert gradcheck(through(function), (random(2, 2, 4, 4),))
        assert gradgradcheck(through(function), (random(2, 2, 4, 4),))
