"""Masked reductions, windows, view copies and segments, with literal expectations."""

import math

import numpy as np
import pytest

import minitorch as mt
from minitorch.autograd import gradcheck, gradgradcheck

INF, NAN = math.inf, math.nan


def close(tensor, expected):
    np.testing.assert_allclose(tensor.detach().numpy(), np.asarray(expected), rtol=1e-4, atol=1e-5)


X = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
MASK = [[True, False, True], [False, False, False]]


@pytest.mark.parametrize(
    ("name", "rows", "all_of_it"),
    [
        ("sum", [4, 0], 4), ("prod", [3, 1], 3), ("amax", [3, -INF], 3), ("amin", [1, INF], 1), ("mean", [2, NAN], 2),
        ("argmax", [2, 0], 2), ("argmin", [0, 0], 0), ("logsumexp", [3.12693, -INF], 3.12693),
        ("var", [2, NAN], 2), ("std", [math.sqrt(2), NAN], math.sqrt(2)),
    ],
)  # fmt: skip
def test_masked_reductions(name, rows, all_of_it):
    reduce = getattr(mt.masked, name)
    x, mask = mt.tensor(X), mt.tensor(MASK)
    close(reduce(x, 1, mask=mask), rows)
    assert reduce(x, 1, keepdim=True, mask=mask).shape == (2, 1)
    close(reduce(x, mask=mask), all_of_it)


def test_masked_along_a_dimension():
    x, mask = mt.tensor(X), mt.tensor(MASK)
    close(mt.masked.cumsum(x, 1, mask=mask), [[1, 1, 4], [0, 0, 0]])
    close(mt.masked.cumprod(x, 1, mask=mask), [[1, 1, 3], [1, 1, 1]])
    close(mt.masked.softmax(x, 1, mask=mask), [[0.1192, 0, 0.8808], [NAN] * 3])
    close(mt.masked.softmin(x, 1, mask=mask)[0], [0.8808, 0, 0.1192])
    close(mt.masked.normalize(x, 2.0, 1, mask=mask), [[0.31623, 0, 0.94868], [0] * 3])
    close(mt.masked.median(x, 1, mask=mask), [1, NAN])
    close(mt.masked.logaddexp(x, x, input_mask=mask, other_mask=~mask), X)
    close(mt.masked.norm(x, 0, 1, mask=mask), [2, 0])


def test_masked_errors():
    with pytest.raises(ValueError, match="infer output dtype"):
        mt.masked.mean(mt.tensor([1, 2]))
    with pytest.raises(IndexError, match="must broadcast"):
        mt.masked.sum(mt.ones(2), mask=mt.ones(1, 2, dtype=mt.bool))
    assert mt.masked.sum(mt.tensor([1, 2], dtype=mt.int8)).dtype is mt.int64


def test_window_functions():
    close(mt.hann_window(4), [0, 0.5, 1, 0.5])
    close(mt.hann_window(5, periodic=False), [0, 0.5, 1, 0.5, 0])
    close(mt.hamming_window(3, False), [0.08, 1, 0.08])
    close(mt.blackman_window(5, False), [0, 0.34, 1, 0.34, 0])
    close(mt.bartlett_window(4), [0, 0.5, 1, 0.5])
    close(mt.kaiser_window(3, False, 8.0), [1 / np.i0(8.0), 1, 1 / np.i0(8.0)])
    assert mt.hann_window(0).shape == (0,)
    assert mt.hann_window(1).tolist() == [1]
    assert mt.hann_window(3, dtype=mt.float64).dtype is mt.float64
    with pytest.raises(RuntimeError, match="floating point dtypes"):
        mt.hann_window(3, dtype=mt.int64)


def test_signal_windows():
    w = mt.signal.windows
    close(w.hann(5), [0, 0.5, 1, 0.5, 0])
    close(w.hann(4, sym=False), [0, 0.5, 1, 0.5])
    close(w.cosine(2), [math.sin(math.pi / 4), math.sin(3 * math.pi / 4)])
    close(w.gaussian(3, std=2.0), [math.exp(-1 / 8), 1, math.exp(-1 / 8)])
    close(w.exponential(3, tau=2.0), [math.exp(-0.5), 1, math.exp(-0.5)])
    close(w.exponential(3, center=0, tau=2.0, sym=False), [1, math.exp(-0.5), math.exp(-1)])
    close(w.general_cosine(3, a=[0.5, 0.25, 0.125]), [0.375, 0.875, 0.375])
    close(w.nuttall(3), [0.0003628, 1, 0.0003628])
    close(w.bartlett(3), [0, 1, 0])
    close(w.kaiser(3, beta=100.0), [2 * math.sqrt(50 * math.pi) * math.exp(-100), 1, 0])  # without overflow
    assert w.hamming(4, requires_grad=True).requires_grad
    assert w.blackman(1).tolist() == [1]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda w: w.hann(-1), ValueError, "non-negative window length"),
        (lambda w: w.hann(3, dtype=mt.float16), ValueError, "float32 or float64"),
        (lambda w: w.hann(3, layout=mt.sparse_coo), ValueError, "strided tensors only"),
        (lambda w: w.kaiser(3, beta=-1), ValueError, "beta must be non-negative"),
        (lambda w: w.gaussian(3, std=0), ValueError, "must be positive"),
        (lambda w: w.exponential(3, center=1), ValueError, "Center must be None"),
        (lambda w: w.general_cosine(3, a=[]), ValueError, "cannot be empty"),
        (lambda w: w.general_cosine(3, a=None), TypeError, "list/tuple"),
    ],
)
def test_window_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(mt.signal.windows)


# ---------------------------------------------------------------- views and segments


@pytest.mark.parametrize(
    "call",
    [
        lambda x: (mt.transpose_copy(x, 0, 1), x.transpose(0, 1)),
        lambda x: (mt.permute_copy(x, [1, 0]), x.permute(1, 0)),
        lambda x: (mt.unsqueeze_copy(x, 0), x.unsqueeze(0)),
        lambda x: (mt.select_copy(x, 0, 1), x.select(0, 1)),
        lambda x: (mt.slice_copy(x, 1, 1), x[:, 1:]),
        lambda x: (mt.expand_copy(x[:1], [2, 3]), x[:1].expand(2, 3)),
        lambda x: (mt.view_copy(x, [3, 2]), x.view(3, 2)),
        lambda x: (mt.unfold_copy(x, 1, 2, 1), x.unfold(1, 2, 1)),
        lambda x: (mt.unbind_copy(x)[1], x.unbind()[1]),
        lambda x: (mt.split_copy(x, 1)[1], x.split(1)[1]),
    ],
)
def test_view_copies_share_no_memory(call):
    x = mt.arange(6.0).reshape(2, 3).requires_grad_()
    copy, view = call(x)
    assert copy.tolist() == view.tolist()
    assert copy.is_contiguous()
    before = x.tolist()
    copy.sum().backward()
    assert x.grad.sum().item() == copy.numel()
    copy.detach().zero_()
    assert x.tolist() == before


def test_as_strided_scatter_and_its_gradient():
    x, source = mt.zeros(5, requires_grad=True), mt.ones(2, requires_grad=True)
    result = mt.as_strided_scatter(x, source, [2], [2], 1)
    assert result.tolist() == [0, 1, 0, 1, 0]
    result.backward(mt.arange(5.0))
    assert x.grad.tolist() == [0, 0, 2, 0, 4]
    assert source.grad.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("view", "place", "expected"),
    [
        (lambda x: x[2:8:2], 4, [2, 9, 6]),  # a place in the storage, of which the gaps are kept
        (lambda x: x[2:].reshape(5, 2).t(), 3, [[2, 4, 6, 8, 10], [9, 5, 7, 9, 11]]),
        (lambda x: x[1:4], 3, [1, 2, 9]),
        (lambda x: x[:1].expand(4), 3, [0, 0, 0, 9]),
    ],
)
def test_as_strided_scatter_into_a_view(view, place, expected):
    def scattered(x, source):
        return mt.as_strided_scatter(view(x), source, [1], [1], place)

    result = scattered(mt.arange(12.0), mt.tensor([9.0]))
    assert result.tolist() == expected
    assert not result._is_view()
    inputs = (mt.arange(12.0, dtype=mt.float64).requires_grad_(), mt.ones(1, dtype=mt.float64).requires_grad_())
    assert gradcheck(scattered, inputs)
    assert gradgradcheck(scattered, inputs)


def test_as_strided_in_place():
    x = mt.arange(6.0)
    assert x.as_strided_([2], [3], 1) is x
    assert x.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("reduce", "expected"),
    [("sum", [3, 0, 7]), ("mean", [1.5, NAN, 3.5]), ("max", [2, -INF, 4]), ("min", [1, INF, 3]), ("prod", [2, 1, 12])],
)
def test_segment_reduce(reduce, expected):
    data, lengths = mt.tensor([1.0, 2.0, 3.0, 4.0]), mt.tensor([2, 0, 2])
    close(mt.segment_reduce(data, reduce, lengths=lengths), expected)
    close(mt.segment_reduce(data, reduce, offsets=mt.tensor([0, 2, 2, 4])), expected)
    with pytest.raises(RuntimeError, match="sum to"):
        mt.segment_reduce(data, reduce, lengths=mt.tensor([1]))


def test_nonzero_static():
    x = mt.tensor([[0, 1], [2, 0]])
    assert mt.nonzero_static(x, size=3).tolist() == [[0, 1], [1, 0], [-1, -1]]
    assert x.nonzero_static(size=1).tolist() == [[0, 1]]
    assert mt.nonzero_static(x.to("meta"), size=3).shape == (3, 2)


def test_sum_to_size():
    x = mt.arange(6.0).reshape(2, 3)
    assert x.sum_to_size(1, 3).tolist() == [[3, 5, 7]]
    assert x.sum_to_size(3).tolist() == [3, 5, 7]
    assert x.sum_to_size(2, 3) is x
    with pytest.raises(RuntimeError, match="not expandable"):
        x.sum_to_size(2)


def test_vander():
    assert mt.vander(mt.tensor([1, 2, 3])).tolist() == [[1, 1, 1], [4, 2, 1], [9, 3, 1]]
    assert mt.vander(mt.tensor([2, 3]), 2, increasing=True).tolist() == [[1, 2], [1, 3]]
    assert mt.vander(mt.tensor([2, 3]), 0).shape == (2, 0)


def test_questions_about_tensors():
    assert mt.is_tensor(mt.ones(1))
    assert not mt.is_tensor([1.0])
    assert mt.is_floating_point(mt.ones(1))
    assert mt.is_complex(mt.ones(1, dtype=mt.complex64))
    assert mt.numel(mt.ones(2, 3)) == 6
    with pytest.raises(TypeError, match="must be Tensor"):
        mt.is_complex(1j)


def test_casts_out_of_range():
    x = mt.tensor([3e9, -3e9, 70000.0, -1.5, NAN, INF])
    low = -(2**31)
    assert x.int().tolist() == [low, low, 70000, -1, low, low]
    assert x[2:4].short().tolist() == [4464, -1]
    assert x[3:4].byte().tolist() == [255]


def test_float64_is_rounded_to_half_in_two_steps():
    x = mt.tensor([1.00048828126, 65519.999, 2049.0, 2051.0], dtype=mt.float64)
    assert x.half().tolist() == [1.0, INF, 2048.0, 2052.0]
    target = mt.empty(4, dtype=mt.float16)
    assert target.copy_(x).tolist() == [1.0, INF, 2048.0, 2052.0]
    assert mt.tensor([1.00390625, 1.01171875]).bfloat16().tolist() == [1.0, 1.015625]


def test_fill_diagonal():
    x = mt.zeros(5, 2)
    assert x.fill_diagonal_(1) is x
    assert x.tolist() == [[1, 0], [0, 1], [0, 0], [0, 0], [0, 0]]
    assert mt.zeros(5, 2).fill_diagonal_(1, wrap=True).tolist() == [[1, 0], [0, 1], [0, 0], [1, 0], [0, 1]]
    assert mt.zeros(2, 2, 2).fill_diagonal_(3).nonzero().tolist() == [[0, 0, 0], [1, 1, 1]]
    leaf = mt.ones(2, 2, requires_grad=True)
    leaf.clone().fill_diagonal_(0).sum().backward()
    assert leaf.grad.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(RuntimeError, match="equal length"):
        mt.zeros(2, 3, 2).fill_diagonal_(1)


def test_hash_tensor():
    assert mt.hash_tensor(mt.tensor([1, 2, 5])).item() == 6
    assert mt.hash_tensor(mt.tensor([[1, 2], [5, 1]]), 1).tolist() == [3, 4]
    assert mt.hash_tensor(mt.tensor([1.5])).item() == 0x3FF8000000000000
    assert mt.hash_tensor(mt.tensor([True, False, True])).item() == 0
    assert mt.hash_tensor(mt.tensor([-1], dtype=mt.int8)).dtype is mt.uint64
