"""Tangents inside of transforms: whose memory they have, what they are views of, and what levels around see of them."""

import pytest

import minitorch as mt
from minitorch.func import grad, hessian, jacfwd, jacrev, jvp, vmap
from minitorch.testing import assert_close


def matrix(scale=0.37):
    return (mt.arange(1, 10, dtype=mt.float64).reshape(3, 3) * scale).sin() + 0.1


ROWS = mt.tensor([0.4, 1.3, 0.7], dtype=mt.float64)


def written_through_a_view(a):
    b = mt.zeros_like(a)
    b.copy_(a)
    b.unsqueeze(0).mul_(a)
    return b


def sum_written_through_a_view(a):
    b = a + 0
    b.t()[0] += a[1]
    return b


def base_changed_after_the_view(a):
    b = a * 1
    row = b[0]
    b.mul_(2)
    return row * a


def view_of_a_constant(a):
    b = mt.zeros_like(a)
    row, column = b[0], b[:, 1]
    row.copy_(a[1])
    return column * row


def two_views(a):
    b = a.clone()
    row, column = b[0], b[:, 1]
    row.copy_(a[1])
    column.sin_()
    return b * row


def column_from_another(a):
    b = a * 1
    b[:, 1] = a[:, 0]
    return b**2


def broadcast_then_viewed(a):
    b = mt.zeros(3, 3, dtype=mt.float64) + a[0]
    flat = b.view(9)
    flat[::2] *= 2
    return flat


def new_zeros(a):
    b = a.new_zeros(3, 3)
    b[1:] = a[:2]
    b.diagonal().add_(a[0])
    return b * a


PROGRAMS = [
    written_through_a_view, sum_written_through_a_view, base_changed_after_the_view, view_of_a_constant, two_views,
    column_from_another, broadcast_then_viewed, new_zeros,
]  # fmt: skip


def differences(f, a, step=1e-6):
    """The Jacobian by central differences, of calls outside of transforms."""
    columns = []
    for i in range(9):
        move = mt.zeros(9, dtype=mt.float64)
        move[i] = step
        move = move.reshape(3, 3)
        columns.append((f(a + move) - f(a - move)) / (2 * step))
    return mt.stack(columns, -1).reshape(*columns[0].shape, 3, 3)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_in_place_changes_of_views(f):
    a, direction = matrix(), matrix(0.9)
    expected = differences(f, a)
    assert_close(jacrev(f)(a), expected, atol=1e-7, rtol=1e-6)
    assert_close(jacfwd(f)(a), expected, atol=1e-7, rtol=1e-6)
    result, tangent = jvp(f, (a,), (direction,))
    assert_close(result, f(a))
    assert_close(tangent, (expected * direction).sum((-2, -1)), atol=1e-7, rtol=1e-6)
    # The levels of vmap inside, around, and where only the tangent is mapped.
    each = vmap(lambda s: jacfwd(lambda a: f(a * s))(a))(ROWS)
    assert_close(each, mt.stack([differences(lambda a, s=s: f(a * s), a) for s in ROWS]), atol=1e-7, rtol=1e-6)
    inside = jacfwd(lambda a: vmap(lambda s: f(a * s))(ROWS))(a)
    assert_close(inside, each)

    def scalar(a):
        return f(a).sin().sum()

    slopes = differences(grad(scalar), a)
    assert_close(hessian(scalar)(a), slopes, atol=1e-6, rtol=1e-5)
    assert_close(vmap(hessian(scalar))(mt.stack([a, a])), mt.stack([slopes, slopes]), atol=1e-6, rtol=1e-5)
    assert_close(jacrev(jacfwd(scalar))(a), slopes, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("f", [lambda a: (a + 0)[0].mul_(2), written_through_a_view, sum_written_through_a_view])
def test_the_tangent_that_was_given_stays(f):
    a, direction = matrix(), matrix(0.9)
    jvp(f, (a,), (direction,))
    assert_close(direction, matrix(0.9), atol=0, rtol=0)
    assert_close(a, matrix(), atol=0, rtol=0)


def test_the_tangent_of_make_dual_stays():
    direction = matrix(0.9)
    with mt.autograd.forward_ad.dual_level():
        dual = mt.autograd.forward_ad.make_dual(matrix(), direction)
        (dual + 0)[0].mul_(2)
        mt.zeros(3, 3, dtype=mt.float64).add_(dual)[0].mul_(2)
    assert_close(direction, matrix(0.9), atol=0, rtol=0)


# Operators whose tangent is computed from the formula for backward.
BY_TRANSPOSITION = [
    lambda a: a.var(0, keepdim=True),
    lambda a: mt.linalg.solve(a + 4 * mt.eye(3, dtype=mt.float64), a),
    lambda a: mt.linalg.det(a) * a,
    lambda a: mt.nn.functional.scaled_dot_product_attention(a[None], a[None], a[None]),
    lambda a: mt.cdist(a, matrix(0.8)),
]


@pytest.mark.parametrize("f", BY_TRANSPOSITION)
def test_levels_around_see_a_tangent_that_was_made_of_gradients(f):
    a, direction = matrix(0.7), matrix(0.9)

    def slope(a):
        return jvp(f, (a,), (direction,))[1].sin().sum()

    expected = differences(slope, a)
    assert float(expected.abs().max()) > 1e-3
    assert_close(grad(slope)(a), expected, atol=1e-6, rtol=1e-5)
    assert_close(jacfwd(slope)(a), expected, atol=1e-6, rtol=1e-5)
    assert_close(vmap(grad(slope))(a[None])[0], expected, atol=1e-6, rtol=1e-5)


def test_hooks_of_saved_tensors_leave_tangents_their_history():
    def weight_gradient():
        weight = matrix(0.7).requires_grad_()
        jvp(lambda a: (a * weight).var(0), (matrix(),), (matrix(0.9),))[1].sin().sum().backward()
        return weight.grad

    expected = weight_gradient()
    assert float(expected.abs().max()) > 1e-2
    with mt.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert_close(weight_gradient(), expected)


@pytest.mark.parametrize(
    "make",
    [lambda t: t.new_zeros(2), lambda t: t.new_ones((2,)), lambda t: t.new_full((2,), 1.0), lambda t: t.new_empty(2).zero_()],
)
def test_new_tensors_are_of_each_example_at_every_level(make):
    def f(x, s):
        y = make(x * s)
        y += x * s
        return (y**2).sum()

    x = mt.tensor([1.0, 2.0])
    first = float(make(x)[0])
    expected = mt.stack([2 * s * (x * s + first) for s in (1.0, 3.0)])
    s = mt.tensor([1.0, 3.0])
    assert_close(vmap(lambda s: grad(lambda x: f(x, s))(x))(s), expected)
    assert_close(vmap(lambda s: jacfwd(lambda x: f(x, s))(x))(s), expected)
    assert_close(grad(lambda x: vmap(lambda s: f(x, s))(s).sum())(x), expected.sum(0))


def normalize(a, dims, eps=1e-5):
    middle = a - a.mean(dims, keepdim=True)
    return middle / ((middle * middle).mean(dims, keepdim=True) + eps).sqrt()


NORMS = [
    (lambda a: mt.nn.functional.layer_norm(a, (3,)), lambda a: normalize(a, -1)),
    (lambda a: mt.nn.functional.batch_norm(a, None, None, training=True), lambda a: normalize(a, 0)),
    (lambda a: mt.nn.functional.group_norm(a[None], 3)[0], lambda a: normalize(a, -1)),
    (lambda a: mt.nn.functional.rms_norm(a, (3,), eps=1e-5), lambda a: a / ((a * a).mean(-1, keepdim=True) + 1e-5).sqrt()),
]


@pytest.mark.parametrize(("norm", "composed"), NORMS, ids=["layer", "batch", "group", "rms"])
def test_third_derivatives_of_normalization(norm, composed):
    weights = matrix(1.7)

    def third(f):
        first = grad(lambda a: (f(a).sin() * weights).sum())
        second = grad(lambda a: (first(a).sin() * weights).sum())
        return grad(lambda a: (second(a).sin() * weights).sum())(matrix(0.7))

    assert float(third(composed).abs().max()) > 1e-2
    assert_close(third(norm), third(composed), atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("which", [1, 2])
def test_statistics_of_layer_norm_have_gradients(which):
    a = matrix(0.7)

    def statistic(a):
        return mt.native_layer_norm(a, (3,), None, None, 1e-5)[which]

    assert_close(jacrev(statistic)(a), differences(statistic, a), atol=1e-7, rtol=1e-6)
