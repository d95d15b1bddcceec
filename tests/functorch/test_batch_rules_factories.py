"""Batch rules of tensors made like others, of filling and copying, and what is said where Python asks for a value."""

from __future__ import annotations

import pytest
from loop_oracle import check, random

import minitorch as mt
from minitorch.func import vmap, vmap_fallback_policy


def test_what_new_makes_is_batched():
    x = random(3, 4)
    for make in (
        lambda a: a.new_zeros(2), lambda a: a.new_ones(2), lambda a: a.new_full([2], 5.0), lambda a: a.new_empty(2).fill_(1),
        lambda a: a.new_empty_strided([2], [3]).fill_(2), lambda a: mt.zeros_like(a)[:2],
    ):  # fmt: skip
        check(lambda a, make=make: make(a).add_(a.sum()), [x], [0])
        check(lambda a, make=make: make(a).add_(a.sum()), [x], [-1], 4)
    assert vmap(lambda a: a.new_zeros(2, dtype=mt.int32))(x).dtype is mt.int32
    strided = vmap(lambda a: a.new_empty_strided([2, 3], [1, 2]))(x)
    assert strided.stride() == (6, 1, 2)


def test_factories_without_tensors_are_the_same_for_all():
    with pytest.raises(RuntimeError, match="in-place|not possible because"):
        vmap(lambda a: mt.zeros(2).add_(a.sum()))(random(3, 4))
    for make in (mt.zeros, mt.ones, mt.arange, mt.eye, lambda n: mt.full((n,), 2.0), lambda n: mt.linspace(0, 1, n)):
        with vmap_fallback_policy("error"):
            found = vmap(lambda a, make=make: make(3) * a)(mt.ones(2))
        assert (found[1] == make(3)).all()


@pytest.mark.parametrize("dim", [0, 2, -1])
def test_memory_formats_are_those_of_an_example(dim):
    x = random(2, 3, 4, 5, 6)
    functions = [
        lambda a: a.clone(memory_format=mt.channels_last), lambda a: a.to(mt.float32, memory_format=mt.channels_last),
        lambda a: mt.zeros_like(a, memory_format=mt.channels_last), lambda a: a.contiguous(memory_format=mt.channels_last),
    ]  # fmt: skip
    for function in functions:
        check(function, [x], [dim], x.shape[dim])
        found = vmap(function, in_dims=dim)(x)
        assert found[1].is_contiguous(memory_format=mt.channels_last)
    assert vmap(lambda a: a.clone(memory_format=mt.contiguous_format), in_dims=dim)(x)[1].is_contiguous()
    with pytest.raises(RuntimeError):
        vmap(lambda a: a.clone(memory_format=mt.channels_last))(random(2, 3))


def test_writes_go_through_to_the_tensor_that_was_mapped():
    for dim in (0, 1):
        x, source = mt.zeros(3, 4), mt.arange(12.0).reshape(3, 4)
        vmap(lambda a, b: a.copy_(b), in_dims=(dim, dim))(x, source)
        assert (x == source).all()
        vmap(lambda a: a[1:].fill_(7), in_dims=dim)(x)
        assert (x.movedim(dim, 0)[:, 1:] == 7).all()
        assert (x.movedim(dim, 0)[:, 0] == source.movedim(dim, 0)[:, 0]).all()
        vmap(lambda a, v: a[:1].fill_(v), in_dims=(dim, 0))(x, mt.arange(x.shape[dim]))
        assert (x.movedim(dim, 0)[:, 0] == mt.arange(x.shape[dim])).all()
        vmap(lambda a: a.view(-1).zero_() if a.is_contiguous() else a.zero_(), in_dims=dim)(x)
        assert not x.any()


def test_copies_broadcast_and_cast():
    check(lambda a, b: a.clone().copy_(b), [random(3, 2, 4), random(3, 4)], (0, 0))
    check(lambda a, b: a.clone().copy_(b), [random(3, 2, 4), random(3)], (0, 0))
    check(lambda a, b: a.clone().copy_(b), [random(3, 2, 4), random(4)], (0, None))
    check(lambda a, b: a.int().copy_(b), [random(3, 2, 4), random(4, 3)], (0, -1))
    check(vmap(lambda a, b: a.clone().copy_(b), in_dims=(0, None)), [random(2, 3, 4), random(2, 4)], (0, 0), 2)
    check(lambda a, v: mt.fill(a, v), [random(3, 2), random(3)], (0, 0))
    check(lambda a, v: mt.fill(a, v), [random(2), random(3)], (None, 0))
    with pytest.raises(RuntimeError, match="shape"):
        vmap(lambda a, b: a.clone().copy_(b))(random(3, 2), random(3, 4, 2))
    with pytest.raises(RuntimeError, match="0-dimension value tensor but got tensor with 1 dim"):
        vmap(lambda a, v: a.clone().fill_(v))(random(3, 2), random(3, 2))
    for change in (lambda u, a: u.copy_(a), lambda u, a: u.fill_(a[0]), lambda u, a: u.add_(a)):
        with pytest.raises(RuntimeError, match="not possible because"):
            vmap(change, in_dims=(None, 0))(mt.zeros(4), mt.zeros(3, 4))


def test_conditions_and_limits():
    c, x, y = random(3, 4) > 0, random(3, 2, 4), random(3)
    for dims in ((0, 0, 0), (0, None, None), (None, 0, None), (None, None, 0), (0, 0, None)):
        tensors = [t if d is not None else t[0] for t, d in zip((c, x, y), dims, strict=True)]
        check(mt.where, tensors, dims)
        check(lambda c, x, y: mt.where(c, x.float(), y), tensors, dims)  # an example of y has no say in the dtype
    check(lambda c, y: mt.where(c, y, 1), [c, mt.arange(3)], (0, 0))
    check(lambda x, y: mt.clamp(x, min=y), [x, y], (0, 0))
    check(lambda x, y: x.clone().clamp_(max=y), [x, y], (0, 0))
    check(lambda x, y: x.clone().gt_(y), [x, y], (0, 0))


def test_ranges_between_tensors():
    start, end = mt.tensor([0.0, -1.5, 2.0]), mt.tensor([1.0, 2.5, 2.0])
    for steps in (0, 1, 2, 5, 6):
        for dims in ((0, 0), (0, None), (None, 0)):
            given = [t if d is not None else t[1] for t, d in zip((start, end), dims, strict=True)]
            check(lambda a, b, n=steps: mt.linspace(a, b, n), given, dims, tolerance=1e-5)
            check(lambda a, b, n=steps: mt.logspace(a, b, n, 2.0, dtype=mt.float64), given, dims, tolerance=1e-6)
    check(lambda a: mt.linspace(a, 10, 4, dtype=mt.int64), [start], [0])
    check(lambda b: mt.linspace(0.0, b, 4, dtype=mt.complex64), [end], [0], tolerance=1e-5)
    with pytest.raises(RuntimeError, match="0-dimensional"):
        vmap(lambda a: mt.linspace(a, 1.0, 3))(random(3, 2))
    with pytest.raises(RuntimeError, match="steps must be non-negative"):
        vmap(lambda a: mt.linspace(a, 1.0, -1))(start)


def test_sizes_change_where_each_example_lies_in_one_piece():
    x = mt.arange(12.0).reshape(3, 4)
    found = vmap(lambda a: a.clone().resize_(2, 2))(x)
    assert (found == x.reshape(3, 2, 2)).all()
    found = vmap(lambda a: a.clone().resize_(3))(x)
    assert (found == x[:, :3]).all()
    found = vmap(lambda a: a.clone().resize_(2, 3)[0])(x)
    assert (found == x[:, :3]).all()
    with pytest.raises(RuntimeError, match="mapped dimension must be the first"):
        vmap(lambda a: a.clone().resize_(2), in_dims=-1)(x)


@pytest.mark.parametrize(
    "ask",
    [
        lambda a: a.sum().item(), lambda a: float(a.sum()), lambda a: int(a.sum()), lambda a: bool(a.any()),
        lambda a: a if a.sum() > 0 else -a, mt.is_nonzero, lambda a: mt.equal(a, a), lambda a: mt.allclose(a, a),
        lambda a: mt.full((2,), a.sum()), lambda a: 0.5 in a,
    ],
)  # fmt: skip
def test_python_values_are_refused(ask):
    """By a message of vmap's own, in each place where a value is asked for."""
    with pytest.raises(RuntimeError, match=r"vmap: .*each example"):
        vmap(ask)(mt.ones(3, 1))
    with pytest.raises(RuntimeError, match=r"vmap: .*each example"):
        vmap(vmap(ask))(mt.ones(2, 3, 1))


def test_elements_are_no_memory_to_read():
    for read in (lambda a: a.tolist(), lambda a: a.numpy()):
        with pytest.raises(RuntimeError, match="belongs to a transform"):
            vmap(read)(mt.ones(3, 2))


def test_values_that_are_not_batched_can_be_asked_for():
    u = mt.tensor(2.0)
    assert vmap(lambda a: a * u.item())(mt.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert vmap(lambda a: a if u > 1 else -a)(mt.ones(3)).tolist() == [1.0, 1.0, 1.0]


def test_results_in_place_of_others_are_refused():
    x = random(3, 4)
    for call in (
        lambda a: mt.add(a, a, out=mt.empty(4, dtype=a.dtype)), lambda a: mt.sum(a, 0, out=mt.empty((), dtype=a.dtype)),
        lambda a: mt.zeros(4, out=a),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="out="):
            vmap(call)(x)
