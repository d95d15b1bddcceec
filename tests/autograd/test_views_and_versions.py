"""In-place changes, views and version counters: the tables of the dispatcher's specification (A6 to A9)."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.autograd import gradcheck, gradgradcheck


def leaf(n=4):
    return mt.arange(1.0, n + 1, dtype=mt.float64).requires_grad_()


# -- A8, row by row --------------------------------------------------------------------


def test_inplace_on_a_leaf():
    x = leaf()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        x.add_(1)
    assert x._version == 0


def test_inplace_on_a_view_of_a_leaf():
    x = leaf()
    for view in (x.view(2, 2), x[1:], x.view(2, 2)[0]):
        with pytest.raises(RuntimeError, match="a view of a leaf Variable"):
            view.add_(1)


def test_both_are_allowed_without_grad_mode():
    x = leaf()
    with mt.no_grad():
        x.add_(1)
        x.view(2, 2).mul_(2)
        x[0] = 7
    assert x._version == 3
    assert x.tolist() == [7.0, 6.0, 8.0, 10.0]
    assert x.is_leaf


def test_inplace_on_a_view_of_a_result_rewrites_histories():
    x = leaf()
    y = x * 1
    view, other = y[:2], y.view(2, 2)
    old = view.grad_fn
    view.mul_(10)
    assert "CopySlices" in y.grad_fn.name()
    assert view.grad_fn is not old
    assert view.grad_fn.next_functions[0][0] is y.grad_fn
    assert other.grad_fn.next_functions[0][0] is y.grad_fn
    (other * other).sum().backward()
    assert x.grad.tolist() == [200.0, 400.0, 6.0, 8.0]


@pytest.mark.parametrize("split", [lambda y: y.unbind(0), lambda y: y.split(2), lambda y: y.chunk(2)])
def test_inplace_on_one_of_several_views(split):
    part = split(leaf() * 1)[0]
    with pytest.raises(RuntimeError, match=r"Output 0 of \w+ is a view and is being modified inplace"):
        part.mul_(2)


def test_inplace_on_several_views_of_a_constant():
    a, b = mt.ones(4).split(2)
    a.mul_(2)
    assert (a.tolist(), b.tolist()) == ([2.0, 2.0], [1.0, 1.0])


def test_a_view_made_without_grad_mode():
    y = leaf() * 1
    with mt.no_grad():
        view = y.view(2, 2)
    assert view.requires_grad
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode and is being modified inplace"):
        view.mul_(2)


def test_a_view_made_in_inference_mode():
    y = leaf() * 1
    with mt.inference_mode():
        view = y.view(2, 2)
    with pytest.raises(RuntimeError, match="A view was created in inference mode"):
        view.mul_(2)


def test_a_view_made_without_grad_mode_whose_base_changed():
    y = leaf() * 1
    with mt.no_grad():
        view = y.view(2, 2)
    y.mul_(2)
    with pytest.raises(RuntimeError, match="created in no_grad mode and its base or another view of its base has been"):
        view.sum()


def test_a_view_made_without_grad_mode_has_no_history():
    x = leaf()
    with mt.no_grad():
        view = x.view(2, 2)
    assert view.requires_grad
    (view * 2).sum().backward()
    assert x.grad is None


@pytest.mark.parametrize("grad_of", ["input", "out"])
def test_out_refuses_gradients(grad_of):
    x, out = mt.ones(2, requires_grad=grad_of == "input"), mt.ones(2, requires_grad=grad_of == "out")
    with pytest.raises(RuntimeError, match=r"functions with out=\.\.\. arguments don't support automatic differentiation"):
        mt.mul(x, mt.ones(2), out=out)
    with mt.no_grad():
        mt.mul(x, mt.ones(2), out=out)


# -- gradients of in-place changes -----------------------------------------------------


def on_transposed(x, w):
    y = (x.view(2, 2).t() * 1).t()
    y[0].mul_(w[:2])
    return y


def on_chain_of_views(x, w):
    y = x * 1
    y.view(2, 2).t().unsqueeze(0)[0, 1].mul_(w[1:3])
    return y


def twice(x, w):
    y = x * w
    a, b = y[:3], y[1:]
    a.mul_(b.clone())
    b.sin_()
    return y * a.sum()


def into_constant(x, w):
    y = mt.zeros(6, dtype=mt.float64)
    y[1:5] = x * w
    y[2].mul_(w[0])
    return y


def by_mask_and_index(x, w):
    y = x * 1
    y[mt.tensor([True, False, True, False])] = w[:2] * 2
    y.index_put_((mt.tensor([1]),), w[2:3], accumulate=True)
    y.masked_fill_(mt.tensor([False, False, True, False]), 2.0)
    return y * y


def saved_output_on_a_view(x, w):
    y = x * w
    y[1:].exp_()
    return y


def shape_changes(x, w):
    y = (x * w).view(2, 2) * 1
    y.t_()
    y.unsqueeze_(0)
    y.squeeze_()
    return y * w.view(2, 2)


def shape_changes_of_views(x, w):
    y = (x * w).view(2, 2) * 1
    a, b = y.t(), y.view(4)
    a.t_()
    a.unsqueeze_(0)
    a.swapaxes_(0, 2)
    y.mul_(3)
    a.mul_(w.view(2, 2, 1))
    return a * b[0] + y.sum()


def shape_changes_of_the_base(x, w):
    y = (x * w).view(2, 2) * 1
    column, pair = y[:, 1:], y[0][:]
    y.t_()
    y.unsqueeze_(0)
    pair.mul_(w[2:])
    return column * 3 + y.sum() * pair


def broadcast_source(x, w):
    y = x.view(2, 2) * 1
    y.mul_(w[:2])
    y[0].add_(w[0], alpha=3)
    return y


def copies(x, w):
    y = mt.zeros(2, 4, dtype=mt.float64)
    y[0].copy_(x)
    y[1].copy_(w * x)
    return y.prod(0)


def filled(x, w):
    y = x * w
    y[0].zero_()
    y[1:2].fill_(w[0])
    return y * x


INPLACE = [
    on_transposed, on_chain_of_views, twice, into_constant, by_mask_and_index, saved_output_on_a_view, shape_changes,
    shape_changes_of_views, shape_changes_of_the_base, broadcast_source, copies, filled,
]


@pytest.mark.parametrize("program", INPLACE)
def test_gradients_of_inplace_programs(program):
    inputs = (leaf(), (leaf() * 0.3).detach().requires_grad_())
    assert gradcheck(program, inputs)
    assert gradgradcheck(program, inputs)


def test_second_derivative_of_a_saved_output_on_a_view():
    # The graph is freed on the way: every node must run once only.
    for keep_view in (True, False):
        x = (leaf() * 0.1).detach().requires_grad_()
        y = x * 1
        view = y.view(2, 2).t()
        view.exp_()
        tail = view.softmax(0).sum() if keep_view else 0
        del view
        (first,) = mt.autograd.grad((y * y).sum() + tail, x, create_graph=True)
        first.sum().backward()
        mt.testing.assert_close(x.grad, 4 * (2 * x.detach()).exp())


def test_old_values_that_are_overwritten_get_no_gradient():
    x = leaf()
    for change in (mt.Tensor.zero_, lambda t: t.gt_(0), lambda t: t.uniform_(), lambda t: t.copy_(mt.ones(4))):
        y = x * 2
        change(y)
        assert y.requires_grad
        x.grad = None
        y.sum().backward()
        assert x.grad is None or x.grad.tolist() == [0.0] * 4


def test_base_and_view_may_both_be_used_before_the_change():
    x = leaf()
    y = x * 3
    early = y.sum()
    y[0].mul_(2)
    (early + y.sum()).backward()
    assert x.grad.tolist() == [9.0, 6.0, 6.0, 6.0]


def test_integers_never_get_a_history():
    x = mt.tensor([1.5, 2.5], requires_grad=True)
    y = mt.zeros(2, dtype=mt.int64)
    y.copy_(x)
    assert (y.tolist(), y.requires_grad) == ([1, 2], False)


def test_detach_inplace():
    y = leaf() * 2
    assert y.detach_() is y
    assert not y.requires_grad
    assert y.grad_fn is None
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        (leaf() * 2).view(2, 2).detach_()


def test_requires_grad_can_only_be_taken_from_leaves():
    y = leaf() * 2
    with pytest.raises(RuntimeError, match="leaf variables"):
        y.requires_grad_(False)
    with pytest.raises(RuntimeError, match="floating point"):
        mt.ones(2, dtype=mt.int64).requires_grad_()


# -- versions (A6, A7, A9) -------------------------------------------------------------


def test_version_is_shared_by_views_and_detached_tensors_but_not_by_data():
    x = mt.ones(4)
    view, detached, data = x.view(2, 2), x.detach(), x.data
    x.add_(1)
    view[0].mul_(2)
    detached.sub_(1)
    assert (x._version, view._version, detached._version, data._version) == (3, 3, 3, 0)
    data.add_(1)
    assert (x._version, data._version) == (3, 1)
    assert x.tolist() == data.tolist()


def test_base_is_the_root_of_all_views():
    x = mt.ones(2, 2)
    view = x.view(4)[1:].unsqueeze(0)
    assert view._base is x
    assert x._base is None
    assert x.detach()._base is None
    assert not x.detach()._is_view()
    assert view._is_view()


def test_results_start_at_version_zero():
    x = mt.ones(2)
    x.add_(1)
    assert (x * 2)._version == 0
    assert x.clone()._version == 0


def test_out_counts_as_a_change():
    out = mt.zeros(2)
    mt.add(mt.ones(2), 1, out=out)
    assert out._version > 0


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w.add_(1),
        lambda w: w.view(-1).add_(1),
        lambda w: w.detach().add_(1),
        lambda w: w.__setitem__(0, 5.0),
        lambda w: mt.add(mt.ones(2), 1, out=w),
        lambda w: mt.autograd.graph.increment_version(w),
    ],
)
def test_a_saved_input_that_changed_is_an_error(change):
    w = mt.ones(2)
    y = mt.ones(2, requires_grad=True) * w
    change(w)
    with pytest.raises(
        RuntimeError, match=r"modified by an inplace operation: \[torch.FloatTensor \[2\]\], is at version \d; expected version 0"
    ):
        y.sum().backward()


def test_a_saved_output_that_changed_is_an_error():
    x = mt.ones(2, requires_grad=True)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(RuntimeError, match="which is output 0 of Exp, is at version 1; expected version 0"):
        y.sum().backward()


def test_a_change_of_data_is_not_noticed():
    x, w = mt.ones(2, requires_grad=True), mt.ones(2)
    y = x * w
    w.data.mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_saved_tensor_detached_in_place_is_an_error():
    x = mt.ones(2, requires_grad=True)
    h = x * 2
    y = h * h
    h.detach_()
    with pytest.raises(RuntimeError, match="has been detached in-place"):
        y.sum().backward()


def test_saved_lists_are_checked():
    x, i = mt.ones(3, requires_grad=True), mt.tensor([0, 2])
    y = x[i]
    i.add_(0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_joined_tensors_are_not_kept():
    x = mt.ones(2, requires_grad=True)
    h = x * 2
    y = mt.cat([h, mt.stack([h, h]).view(-1)])
    h.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0]


def test_what_no_formula_needs_may_change():
    x, w = mt.ones(2, requires_grad=True), mt.ones(2)
    y = x + w
    z = x * 2
    w.add_(1)
    y.mul_(3)
    z.add_(1)
    (y + z).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_lists_that_are_written_count_too():
    p, g, m = mt.ones(2), mt.ones(2), mt.zeros(2)
    mt.ops.aten._fused_sgd_(
        [p], [g], [m], weight_decay=0.0, momentum=0.9, lr=0.1, dampening=0.0, nesterov=False, maximize=False,
        is_first_step=True,
    )
    assert p._version == 1
    assert m._version == 1


def test_view_made_before_its_base_became_a_leaf_that_requires_grad():
    """A base changed since then is where the view's gradient goes (PyTorch makes the view's node anew)."""
    base = mt.ones(3)
    view = base[:2]
    base.zero_()
    base.requires_grad_()
    (view * 2).sum().backward()
    assert base.grad.tolist() == [2, 2, 0]
    assert view.grad is None


@pytest.mark.parametrize("stop", [lambda x: x.detach_(), lambda x: x.requires_grad_(False)])
def test_leaf_that_no_longer_requires_grad_gets_none(stop):
    x, other = leaf(2), leaf(2)
    y = (x * other).sum()
    stop(x)
    y.backward()
    assert x.grad is None
    assert other.grad.tolist() == [1, 2]
