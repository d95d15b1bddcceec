"""`gradcheck` of functions of sparse tensors: what it looks at, and that wrong gradients are found."""

from __future__ import annotations

import warnings

import pytest
from sparse_samples import KINDS, LAYOUTS, in_layout, sample

import minitorch
from minitorch.testing.gradcheck import GradcheckError, gradcheck, gradgradcheck


class _Wrong(minitorch.autograd.Function):
    """The dense tensor, with three times its gradient."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.to_dense()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return (3 * grad).sparse_mask(x)


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_wrong_gradients_are_found(layout, fast):
    x = sample("plain", layout).requires_grad_()
    for masked in (True, False):
        with pytest.raises(GradcheckError, match="Jacobian mismatch"):
            gradcheck(_Wrong.apply, (x,), masked=masked, fast_mode=fast)
        right = lambda t, masked=masked: t.to_dense(masked_grad=masked) * 3  # noqa: E731
        assert gradcheck(right, (x,), masked=masked, fast_mode=fast)


@pytest.mark.parametrize("layout", LAYOUTS[:3])
@pytest.mark.parametrize("fast", [True, False])
def test_what_is_not_specified_is_ignored_if_it_is_masked(layout, fast):
    x = sample("plain", layout).requires_grad_()
    whole, specified = (lambda t, m=m: t.to_dense(masked_grad=m) * 3 for m in (False, True))
    assert gradcheck(whole, (x,), masked=True, fast_mode=fast)
    assert gradcheck(whole, (x,), masked=False, fast_mode=fast)
    assert gradcheck(specified, (x,), masked=True, fast_mode=fast)
    assert not gradcheck(specified, (x,), masked=False, fast_mode=fast, raise_exception=False)


def test_values_are_as_they_were():
    x = sample("dense dimension", "sparse_csr").requires_grad_()
    before = x.to_dense()
    for fast in (True, False):
        assert gradcheck(lambda t: t.to_dense() ** 2, (x,), masked=True, fast_mode=fast)
        assert gradgradcheck(lambda t: t.to_dense() ** 3, (x,), masked=True, fast_mode=fast)
    assert minitorch.equal(x.to_dense(), before)


def test_sparse_outputs_are_made_dense_by_the_caller():
    x = sample("plain", "sparse_coo").requires_grad_()
    with pytest.raises(ValueError, match="to_dense"):
        gradcheck(lambda t: t.clone(), (x,), masked=True)
    assert gradcheck(lambda t: t.clone().to_dense(), (x,), masked=True)


def test_outputs_whose_size_is_the_number_of_values():
    x = sample("plain", "sparse_csr").requires_grad_()
    assert gradcheck(lambda t: t.values() * 2, (x,), masked=True)
    with pytest.raises(GradcheckError, match="masked=True"):
        gradcheck(lambda t: t.values() * 2, (x,), masked=False)


def test_dense_and_sparse_inputs_together():
    x, y = sample("plain", "sparse_csc").requires_grad_(), minitorch.rand(4, 4, dtype=minitorch.float64, requires_grad=True)
    assert gradcheck(lambda s, d: s.to_dense() * d, (x, y), masked=True)


_FUNCTIONS = {
    "to_dense": lambda t, x, masked: x.to_dense(),
    "clone": lambda t, x, masked: x.clone().to_dense(masked_grad=masked) * 2,
    "sparse output": lambda t, x, masked: x.clone(),
    "squares": lambda t, x, masked: x.to_dense(masked_grad=masked) ** 2,
}


@pytest.mark.oracle
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS[:2])
@pytest.mark.parametrize("case", _FUNCTIONS)
def test_verdicts_are_those_of_pytorch(case, layout, masked, torch):
    def verdict(library, check):
        dense = library.tensor(KINDS["plain"][0].tolist(), dtype=library.float64)
        x = in_layout(dense, layout, 0, library).requires_grad_()
        try:
            return check(lambda t: _FUNCTIONS[case](library, t, masked), (x,), masked=masked, raise_exception=False)
        except ValueError:
            return "ValueError"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = verdict(torch, torch.autograd.gradcheck)
    assert verdict(minitorch, gradcheck) == expected
