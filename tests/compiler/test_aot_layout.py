"""`aot_function`: how arguments and results lie in memory is what it is without a compiler."""

from __future__ import annotations

import pytest
from aot_helpers import PARTITIONS, assert_same, check, copied, observe

import minitorch as mt
from minitorch.compiler import aot_function, nop

X = mt.arange(12.0).sin().reshape(3, 4)

pytestmark = pytest.mark.parametrize("partition", PARTITIONS)


def corner():
    """Return a leaf, and a part of what is computed from it: memory with gaps."""
    leaf = mt.arange(30.0).cos().reshape(5, 6).requires_grad_()
    return [leaf], ((leaf * 1)[:3, :4],)


def rows():
    """Return a leaf, and an expanded result of it."""
    leaf = mt.arange(4.0).requires_grad_()
    return [leaf], ((leaf * 1).expand(3, 4),)


def transposed():
    leaf = copied(X.t()).requires_grad_()
    return [leaf], (leaf,)


def views():
    """Return two views of one tensor."""
    base = X.clone()
    return [], (base[:2], base.view(-1))


def detached():
    """Return tensors in one memory, from its third element on, that are no views of one another."""
    memory = mt.arange(10.0)
    return [], (memory.detach()[2:6], memory.detach()[3:8])


# -- arguments -------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [corner, rows])
def test_contiguous_of_a_result_with_gaps_is_a_copy(partition, make):
    check(lambda x: x.contiguous(), make, partition)


def test_an_argument_with_gaps_is_transposed_in_place(partition):
    check(lambda x: (x.transpose_(0, 1), x.sum())[1], corner, partition)


def test_an_argument_is_saved_before_it_is_transposed_in_place(partition):
    def function(x):
        y = mt.where(x > 0, x, -x)
        x.t_()
        return y

    check(function, corner, partition)


def test_an_in_place_view_operator_that_does_nothing(partition):
    check(lambda x: x.squeeze_() * 2, corner, partition)
    check(lambda x: x.squeeze_() * 2, lambda: ([], (X.clone(),)), partition)  # and raises the version


def test_one_of_two_arguments_in_one_memory_is_transposed_in_place(partition):
    def function(x, y):
        y.mul_(2)
        x.t_()
        return x * 1

    check(function, views, partition)


def test_arguments_in_one_memory_that_does_not_begin_at_its_start(partition):
    check(lambda x, y: (x.add_(1), y.sum())[1], detached, partition)


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_base_of_another_size_is_compiled_anew(partition, dynamic):
    def function(x, y):
        x.add_(1)
        return x.view(-1) * 2, y.sum()

    compiled = aot_function(function, nop, partition_fn=PARTITIONS[partition], dynamic=dynamic)
    for size, end in ((10, 6), (10, 7), (12, 6)):

        def make(size=size, end=end):
            memory = mt.arange(float(size))
            return [], (memory[2:end], memory[3:])

        assert_same(observe(compiled, make), observe(function, make))


def test_an_argument_in_the_memory_of_another_cannot_get_a_gradient(partition):
    compiled = aot_function(lambda x, y, w: x.mul_(w) + y, nop, partition_fn=PARTITIONS[partition])
    memory = mt.arange(6.0)
    with pytest.raises(RuntimeError, match=r"share memory but are no views .* gets one"):
        compiled(memory.detach()[:3], memory.detach()[3:], mt.ones(3, requires_grad=True))


# -- results ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [lambda y: y.masked_fill_(y < 0, 2.0), lambda y: y.tril_(), lambda y: y.abs_()])
def test_a_result_keeps_its_strides_when_it_is_changed_in_place(partition, change):
    def function(x):
        y = change(x * 1)
        return y, y.t().view(-1), y * 3

    check(function, transposed, partition)


def test_results_in_one_memory_after_an_in_place_view_operator(partition):
    def function(x):
        y = x.sum(0)
        y.unsqueeze_(0)
        return y, y.expand(2, 4), y.view(-1)

    check(function, lambda: (lambda leaf: ([leaf], (leaf,)))(X.clone().requires_grad_()), partition)


def test_results_without_a_common_tensor_are_refused(partition):
    def function(x):
        y = x * 1
        view = y.view(-1)
        y.t_()
        return y, view

    compiled = aot_function(function, nop, partition_fn=PARTITIONS[partition])
    with pytest.raises(RuntimeError, match=r"shapes \[4, 3\], \[12\]\) that share memory, require gradients"):
        compiled(X.clone().requires_grad_())
    check(function, lambda: ([], (X.clone(),)), partition)


# -- gradients -------------------------------------------------------------------------------------


def test_a_gradient_comes_in_with_other_strides(partition):
    """The backward pass views it as complex numbers, which its last stride must be 1 for."""

    def function(x):
        return mt.view_as_real(mt.complex(x, x))

    compiled = aot_function(function, nop, partition_fn=PARTITIONS[partition])
    gradients = []
    for f in (function, compiled):
        x = X.clone().requires_grad_()
        f(x).sum().backward()
        gradients.append(x.grad)
    assert mt.equal(*gradients)


def test_a_gradient_of_a_plain_tensor_meets_a_changed_slice(partition):
    def function(x):
        y = x.cos()
        y.squeeze().mul_(x.sin())
        return y + 0.0

    check(function, lambda: (lambda leaf: ([leaf], (leaf,)))(X.clone().requires_grad_()), partition)
