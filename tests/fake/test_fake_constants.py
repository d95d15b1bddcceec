"""Fake tensors whose elements are known, and what the others raise (spec M8)."""

from __future__ import annotations

import copy
import gc

import pytest

import minitorch as mt
from minitorch._subclasses import FakeTensor, FakeTensorMode
from minitorch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException


@pytest.fixture
def mode():
    with FakeTensorMode() as entered:
        yield entered


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (lambda: mt.tensor(3).item(), 3),
        (lambda: int(mt.tensor(4)), 4),
        (lambda: bool(mt.tensor(3) < 4), True),
        (lambda: (mt.tensor(3) + mt.tensor(4)).item(), 7),
        (lambda: mt.tensor(3).float().mul(2.5).item(), 7.5),
        (lambda: mt.tensor(3).add_(4).item(), 7),
        (lambda: mt.tensor([3]).item(), 3),
        (lambda: mt.tensor(3).reshape(1, 1).tolist(), [[3]]),
        (lambda: mt.tensor(3).clone().item(), 3),
        (lambda: mt.tensor(3).data.item(), 3),
        (lambda: mt.ones_like(mt.tensor(3)).item(), 1),
        (lambda: mt.tensor(3).masked_fill(mt.tensor(True), 2).item(), 2),
        (lambda: (mt.tensor(3.0, requires_grad=True) * 2).item(), 6.0),
        (lambda: mt.equal(mt.tensor(3), mt.tensor(3)), True),
        (lambda: mt.allclose(mt.tensor(3.0), mt.tensor(4.0)), False),
        (lambda: mt.tensor([3]).nonzero().shape, (1, 1)),
        (lambda: mt.arange(mt.tensor(5)).shape, (5,)),
        (lambda: mt.ones(4)[mt.tensor(2)].shape, ()),
        (lambda: mt.ones(2, 3).expand(mt.tensor(4), 2, 3).shape, (4, 2, 3)),
        (lambda: copy.deepcopy(mt.tensor(3)).item(), 3),
        (lambda: mt.tensor([mt.tensor(2.0), 1.0]).shape, (2,)),
    ],
)
def test_known_elements(mode, made, value):
    assert made() == value


@pytest.mark.parametrize(
    "made",
    [
        lambda: mt.zeros(()).item(),  # what a factory makes is not looked at
        lambda: mt.tensor([1, 2]).sum().item(),  # too large
        lambda: mt.tensor([1, 2])[0].item(),
        lambda: mt.rand_like(mt.tensor(3.0)).item(),
        lambda: (mt.tensor(3) + mt.zeros((), dtype=mt.int64)).item(),
        lambda: mt.tensor(3, device="cuda").item(),
        lambda: mt.tensor(3).cuda().item(),
    ],
)
def test_unknown_elements(mode, made):
    with pytest.raises(DataDependentOutputException, match=r"aten\._local_scalar_dense\.default"):
        made()


def test_writing_makes_all_aliases_unknown(mode):
    known, unknown = mt.tensor(3.0), mt.zeros(())
    view, alias, other = known.view(1), known.detach(), mt.tensor(4.0)
    view.fill_(5.0)
    assert (known.item(), alias.item(), view.item()) == (5.0, 5.0, 5.0)
    alias.add_(unknown)
    assert known.constant is view.constant is alias.constant is None
    for tensor in (known, view, alias):
        with pytest.raises(DataDependentOutputException):
            tensor.item()
    assert other.item() == 4.0


def test_writing_through_a_large_view(mode):
    known = mt.tensor(3.0)
    wide = known.expand(3)
    assert known.item() == 3.0
    assert wide.constant is None
    wide.fill_(5.0)
    with pytest.raises(DataDependentOutputException):
        known.item()


def test_out_and_lists_make_unknown(mode):
    out, listed = mt.tensor(3.0), mt.tensor(4.0)
    mt.add(mt.zeros(()), 1, out=out)
    mt.ops.aten._foreach_copy_([listed], [mt.zeros(())]) if hasattr(mt.ops.aten, "_foreach_copy_") else listed.copy_(
        out
    )
    assert out.constant is listed.constant is None


def test_the_list_of_constants_forgets(mode):
    known = mt.tensor(3)
    assert len(mode.constants._showing) == 1
    del known
    gc.collect()
    assert not mode.constants._showing


def test_a_constant_keeps_its_own_elements(mode):
    one = mt.tensor(3)
    other = one.clone()
    other.add_(1)
    assert (one.item(), other.item()) == (3, 4)


X = lambda: mt.ones(2, 3)  # noqa: E731
COUNTS = lambda: mt.ones(3, dtype=mt.int64)  # noqa: E731


@pytest.mark.parametrize(
    ("call", "operator"),
    [
        (lambda: X().sum().item(), "aten._local_scalar_dense.default"),
        (lambda: bool(X().sum()), "aten._local_scalar_dense.default"),
        (lambda: float(X().sum()), "aten._local_scalar_dense.default"),
        (lambda: X().tolist(), "aten._local_scalar_dense.default"),
        (lambda: mt.is_nonzero(X().sum()), "aten._local_scalar_dense.default"),
        (lambda: 1 in X(), "aten._local_scalar_dense.default"),
        (lambda: X()[COUNTS()[0]], "aten._local_scalar_dense.default"),
        (lambda: mt.arange(COUNTS()[0]), "aten._local_scalar_dense.default"),
        (lambda: mt.nn.functional.one_hot(COUNTS()), "aten._local_scalar_dense.default"),
        (lambda: mt.equal(X(), X()), "aten.equal.default"),
        (lambda: mt.allclose(X(), X()), "aten.allclose.default"),
    ],
)
def test_values(mode, call, operator):
    with pytest.raises(DataDependentOutputException, match=operator) as info:
        call()
    assert isinstance(info.value, RuntimeError)
    assert str(info.value.func) == operator


@pytest.mark.parametrize(
    ("call", "operator"),
    [
        (lambda: X().nonzero(), "aten.nonzero.default"),
        (lambda: mt.argwhere(X()), "aten.nonzero.default"),
        (lambda: mt.where(X() > 0), "aten.nonzero.default"),
        (lambda: X()[X() > 0], "aten.nonzero.default"),
        (lambda: X().masked_select(X() > 0), "aten.masked_select.default"),
        (lambda: X().unique(), "aten._unique2.default"),
        (lambda: mt.unique(X(), dim=0), "aten.unique_dim.default"),
        (lambda: mt.unique_consecutive(X()), "aten.unique_consecutive.default"),
        (lambda: mt.bincount(COUNTS()), "aten.bincount.default"),
        (lambda: mt.repeat_interleave(COUNTS()), "aten.repeat_interleave.Tensor"),
        (lambda: X().t().repeat_interleave(COUNTS(), 0), "aten.repeat_interleave.Tensor"),
    ],
)
def test_shapes(mode, call, operator):
    with pytest.raises(DynamicOutputShapeException, match=operator) as info:
        call()
    assert isinstance(info.value, RuntimeError)
    assert str(info.value.func) == operator


def test_errors_of_arguments_come_first(mode):
    with pytest.raises(RuntimeError, match="only accepts 1D vector") as info:
        mt.repeat_interleave(X().long())
    assert not isinstance(info.value, DynamicOutputShapeException)
    assert mt.repeat_interleave(COUNTS(), output_size=7).shape == (7,)


def test_writing_by_a_mask_is_no_question_of_shape(mode):
    x = X()
    x[x > 0] = 1.0
    assert isinstance(x, FakeTensor)
    assert x._version == 1
