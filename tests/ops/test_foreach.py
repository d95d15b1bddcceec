"""Operators on lists of tensors."""

from __future__ import annotations

import pytest

import minitorch as mt

_TEXT = (
    "abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min clone copy_ cos cosh div erf erfc exp expm1 "
    "floor frac lerp lgamma log log10 log1p log2 max maximum minimum mm mul neg norm pow powsum reciprocal round "
    "rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc zero_"
)
NAMES = tuple(_TEXT.split())


def lists():
    return [mt.tensor([[0.5, 0.25], [0.75, 1.0]]), mt.tensor([[0.1, 0.9], [0.3, 0.2]])]


def test_each_does_what_one_does():
    a, b = lists(), lists()[::-1]
    assert [t.tolist() for t in mt._foreach_mul(a, b)] == [(x * y).tolist() for x, y in zip(a, b, strict=True)]
    assert mt._foreach_add(a, b, alpha=2)[1].tolist() == (a[1] + 2 * b[1]).tolist()
    assert mt._foreach_sub(a, [1, 2])[1].tolist() == (a[1] - 2).tolist()
    assert mt._foreach_pow(2, a)[0].tolist() == (2**a[0]).tolist()
    assert mt._foreach_lerp(a, b, [0.0, 1.0])[1].tolist() == b[1].tolist()
    assert mt._foreach_addcmul(a, a, b, mt.tensor([1.0, 3.0]))[1].tolist() == mt.addcmul(a[1], a[1], b[1], value=3).tolist()


def test_in_place():
    a = lists()
    before = [t._version for t in a]
    assert mt._foreach_maximum_(a, 0.5) is None
    assert min(t.min().item() for t in a) == 0.5
    assert [t._version for t in a] == [v + 1 for v in before]
    mt._foreach_zero_(a)
    mt._foreach_copy_(a, lists())
    assert mt.equal(a[0], lists()[0])


def test_gradients_pass():
    a = [t.requires_grad_() for t in lists()]
    sum(n.sum() for n in mt._foreach_norm(mt._foreach_exp(a))).backward()
    assert mt.allclose(a[1].grad, mt.exp(2 * a[1]) / mt.exp(a[1]).norm())


def test_lists_that_do_not_fit():
    a = lists()
    with pytest.raises(RuntimeError, match=r"_foreach_add_\(\): Tensor lists must have the same number of tensors, got 2 and 1"):
        mt._foreach_add_(a, a[:1])
    with pytest.raises(RuntimeError, match="at least one tensor"):
        mt._foreach_sqrt([])
    with pytest.raises(RuntimeError, match="one element a tensor"):
        mt._foreach_addcdiv(a, a, a, mt.ones(3))
    assert not hasattr(mt, "_foreach_nothing")


def _arguments(torch, schema):
    theirs, ours = [], []
    for argument in schema.arguments:
        kind = str(argument.type)
        if argument.kwarg_only or argument.name in ("dtype", "non_blocking"):
            continue
        if kind == "List[Tensor]":
            theirs.append([torch.tensor(t.tolist()) for t in lists()])
            ours.append(lists())
        elif kind == "Tensor":
            values = [0.5, 0.25] if argument.name == "scalars" else 2.0
            theirs.append(torch.tensor(values))
            ours.append(mt.tensor(values))
        else:
            value = [0.5, 2.0] if kind.startswith("List") else 0.3
            theirs.append(value)
            ours.append(value)
    return theirs, ours


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_against_torch(torch, name):
    forms = [n for n in (f"_foreach_{name}", f"_foreach_{name}_") if hasattr(torch, n)]
    assert forms
    for form in forms:
        packet, own = getattr(torch.ops.aten, form), getattr(mt.ops.aten, form)
        for overload in packet.overloads():
            if overload.endswith("out"):
                continue
            theirs, ours = getattr(packet, overload), getattr(own, overload)
            assert str(theirs._schema) == str(ours._schema)
            args, same = _arguments(torch, theirs._schema)
            expected, found = theirs(*args), ours(*same)
            if form.endswith("_"):
                expected, found = args[0], same[0]
            for a, b in zip(expected, found, strict=True):
                mt.testing.assert_close(b, mt.tensor(a.tolist()), equal_nan=True)


@pytest.mark.oracle
def test_every_name_of_torch(torch):
    theirs = {n.removeprefix("_foreach_").removesuffix("_") for n in dir(torch) if n.startswith("_foreach_")}
    assert theirs == {n.removesuffix("_") for n in NAMES}
