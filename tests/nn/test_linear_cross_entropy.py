"""`linear_cross_entropy` in chunks: the same numbers as at once, without the scores of the whole batch."""

from __future__ import annotations

import itertools

import pytest

import minitorch
from minitorch import nn
from minitorch.nn.functional import cross_entropy, linear, linear_cross_entropy
from minitorch.testing import assert_close
from minitorch.utils._python_dispatch import TorchDispatchMode
from minitorch.utils._pytree import tree_leaves

Options = nn.LinearCrossEntropyOptions


class Largest(TorchDispatchMode):
    """Notes the size of the largest result of an operator."""

    numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        sizes = [leaf.numel() for leaf in tree_leaves(result) if isinstance(leaf, minitorch.Tensor)]
        self.numel = max([self.numel, *sizes])
        return result


def tensors(outputs=(), probabilities=False):
    minitorch.manual_seed(0)
    x = minitorch.randn(12, 3, dtype=minitorch.float64, requires_grad=True)
    w = minitorch.randn(5, *outputs, 3, dtype=minitorch.float64, requires_grad=True)
    b = minitorch.randn(5, *outputs, dtype=minitorch.float64, requires_grad=True)
    if probabilities:
        return x, w, b, minitorch.rand(12, 5, *outputs, dtype=minitorch.float64).softmax(1)
    return x, w, b, minitorch.randint(5, (12, *outputs))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(
    ("outputs", "probabilities", "weighted", "ignored"),
    [
        ((), False, True, 2),
        ((2,), False, False, 1),
        ((2,), False, True, None),
        ((), True, True, None),
        ((3, 2), True, False, None),
    ],
)
def test_chunks_give_the_loss_and_the_gradients_of_the_whole(reduction, outputs, probabilities, weighted, ignored):
    x, w, b, y = tensors(outputs, probabilities)
    weight = minitorch.rand(5, dtype=minitorch.float64) if weighted else None
    kwargs = {"linear_bias": b, "weight": weight, "reduction": reduction, "ignore_index": ignored, "label_smoothing": 0.1}
    scores = linear(x, w.flatten(0, -2), b.flatten()).reshape(12, 5, *outputs)
    ignore = {} if ignored is None else {"ignore_index": ignored}
    expected = cross_entropy(scores, y, weight, reduction=reduction, label_smoothing=0.1, **ignore)
    gradients = minitorch.autograd.grad(expected.sum(), (x, w, b), create_graph=True)
    second = minitorch.autograd.grad(gradients[1].square().sum(), x)
    for options in (None, Options(batch_chunk_size=5), Options(), Options(chunking_method=None), Options(batch_chunk_size=50)):
        found = linear_cross_entropy(x, w, y, options=options, **kwargs)
        assert_close(found, expected)
        found_gradients = minitorch.autograd.grad(found.sum(), (x, w, b), create_graph=True)
        for one, other in zip(found_gradients, gradients, strict=True):
            assert_close(one, other)
        assert_close(minitorch.autograd.grad(found_gradients[1].square().sum(), x), second)


def test_no_result_is_as_large_as_the_scores():
    x, w = minitorch.randn(64, 4, requires_grad=True), minitorch.randn(200, 4, requires_grad=True)
    y = minitorch.randint(200, (64,))
    sizes = []
    for options in (None, Options(batch_chunk_size=8)):
        with Largest() as largest:
            linear_cross_entropy(x, w, y, options=options).backward()
        sizes.append(largest.numel)
    assert sizes == [64 * 200, 8 * 200]


def test_losses_are_summed_in_another_dtype():
    x, w = minitorch.randn(64, 4).half(), minitorch.randn(100, 4).half()
    y = minitorch.randint(100, (64,))
    exact = linear_cross_entropy(x.double(), w.double(), y).item()
    found = linear_cross_entropy(x, w, y, reduction="sum", options=Options(batch_chunk_size=4, acc_dtype=minitorch.float32))
    assert found.dtype == minitorch.float16
    assert found.item() == pytest.approx(64 * exact, rel=2e-3)


@pytest.mark.oracle
def test_sizes_of_chunks_are_those_of_torch(torch):
    methods = ["aspect_ratio", "aspect_ratio:1", "aspect_ratio:3"]
    for method, batch, features, classes in itertools.product(methods, (4, 7, 64, 100), (3, 16), (5, 16, 100)):
        theirs = torch.nn.LinearCrossEntropyOptions(chunking_method=method)
        expected = theirs._adjust(batch, features, classes, torch.float32).batch_chunk_size
        assert Options(chunking_method=method).rows(batch, features, classes) == max(expected, 1)


@pytest.mark.parametrize(
    "options", [{"acc_policy": "best"}, {"chunking_method": "square"}, {"chunking_method": "aspect_ratio:0"},
                {"batch_chunk_size": 0}, {"acc_dtype": minitorch.int64}]
)  # fmt: skip
def test_wrong_options_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        Options(**options)


def test_two_sizes_are_refused():
    x, w, _, y = tensors()
    with pytest.raises(ValueError, match="disagree; pass one of them"):
        linear_cross_entropy(x, w, y, options=Options(batch_chunk_size=5, chunking_method="aspect_ratio"))
