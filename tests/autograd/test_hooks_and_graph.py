"""Hooks, the graph as users see it, and the scopes around saved tensors."""

from __future__ import annotations

import gc
import inspect

import pytest

import minitorch as mt
from minitorch.autograd import Function, graph


def leaf(*values):
    return mt.tensor(list(values), requires_grad=True)


# -- tensors' hooks --------------------------------------------------------------------


def test_hooks_run_in_order_and_replace_the_gradient():
    x = leaf(1.0)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(("first", g.item())))
    handle = y.register_hook(lambda g: g * 10)
    y.register_hook(lambda g: seen.append(("last", g.item())))
    y.sum().backward()
    assert seen == [("first", 1.0), ("last", 10.0)]
    assert x.grad.tolist() == [20.0]
    handle.remove()
    handle.remove()
    (x * 1 + y.detach()).sum().backward()
    assert x.grad.tolist() == [21.0]


def test_a_handle_is_a_scope():
    x = leaf(1.0)
    with x.register_hook(lambda g: g * 5):
        (x * 1).sum().backward()
    (x * 1).sum().backward()
    assert x.grad.tolist() == [6.0]


def test_leaf_hooks_run_once_on_the_summed_gradient():
    x = leaf(1.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2 + x * 3).sum().backward()
    assert seen == [5.0]


def test_a_hook_on_an_unused_output_is_not_run():
    a, b = (leaf(1.0, 2.0) * 1).unbind(0)
    b.register_hook(lambda g: pytest.fail("no gradient came"))
    a.backward()


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda g: g[:1], RuntimeError, "has changed the size of value"),
        (lambda g: g.double(), RuntimeError, "has changed the type of value"),
        (lambda g: 3, TypeError, "returned 'int'"),
    ],
)
def test_wrong_results_of_hooks_are_refused(change, error, text):
    y = leaf(1.0, 2.0) * 2
    y.register_hook(change)
    with pytest.raises(error, match=text):
        y.sum().backward()


def test_hooks_need_a_tensor_that_requires_grad():
    for register in ("register_hook", "register_post_accumulate_grad_hook"):
        with pytest.raises(RuntimeError, match="doesn't require gradient"):
            getattr(mt.ones(2), register)(print)
    with pytest.raises(RuntimeError, match="non-leaf"):
        (leaf(1.0) * 2).register_post_accumulate_grad_hook(print)
    with pytest.raises(RuntimeError, match="retain_grad"):
        mt.ones(2).retain_grad()


def test_hooks_of_a_graph_of_gradients():
    x = leaf(2.0)
    seen = []
    (first,) = mt.autograd.grad((x * x * x).sum(), x, create_graph=True)
    first.register_hook(lambda g: seen.append(g.item()))
    first.sum().backward()
    assert seen == [1.0]
    assert x.grad.tolist() == [12.0]


def test_retained_gradients():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    y.register_hook(lambda g: g * 3)
    y.sum().backward(retain_graph=True)
    assert y.grad.tolist() == [3.0]
    y.sum().backward()
    assert y.grad.tolist() == [6.0]
    assert not x.retains_grad


def test_retained_gradients_with_history():
    x = leaf(2.0)
    y = x * x
    y.retain_grad()
    (y * y).sum().backward(create_graph=True)
    assert y.grad.requires_grad
    (second,) = mt.autograd.grad(y.grad, x, mt.ones(1))
    assert second.tolist() == [8.0]


# -- nodes' hooks ----------------------------------------------------------------------


def test_order_of_all_hooks():
    x = leaf(1.0, 1.0)
    order = []
    y = x * 2
    accumulator = graph.get_gradient_edge(x).node
    y.grad_fn.register_hook(lambda gi, go: order.append("node"))
    y.grad_fn.register_prehook(lambda go: order.append("node pre"))
    y.register_hook(lambda g: order.append("tensor"))
    accumulator.register_hook(lambda gi, go: order.append("leaf's node"))
    accumulator.register_prehook(lambda go: order.append("leaf's node pre"))
    x.register_post_accumulate_grad_hook(lambda p: order.append("accumulated"))
    x.register_hook(lambda g: order.append("leaf"))
    y.sum().backward(retain_graph=True)
    assert order == ["tensor", "node pre", "node", "leaf", "leaf's node pre", "accumulated", "leaf's node"]
    order.clear()
    mt.autograd.grad(y.sum(), x)
    assert order == ["tensor", "node pre", "node", "leaf"]


def test_node_hooks_see_and_replace_gradients():
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    seen = []
    y.grad_fn.register_prehook(lambda go: (go[0] * 2,))

    def after(grad_inputs, grad_outputs):
        seen.append(([g.item() for g in grad_inputs], grad_outputs[0].item()))
        return (grad_inputs[0] * 10, grad_inputs[1])

    handle = y.grad_fn.register_hook(after)
    y.sum().backward(retain_graph=True)
    assert seen == [([6.0, 4.0], 2.0)]
    assert (x.grad.item(), w.grad.item()) == (60.0, 4.0)
    handle.remove()
    y.sum().backward()
    assert len(seen) == 1


def test_node_hooks_run_when_no_gradient_comes():
    class Nothing(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return None

    seen = []
    y = leaf(1.0) * 2
    y.grad_fn.register_prehook(lambda go: seen.append(go))
    y.grad_fn.register_hook(lambda gi, go: seen.append(gi))
    Nothing.apply(y).sum().backward()
    assert seen == [(None,), (None, None)]


def test_post_accumulate_hook_may_free_the_gradient():
    x = leaf(1.0)

    def step(p):
        with mt.no_grad():
            p.sub_(p.grad)
        p.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * 3).sum().backward()
    assert (x.tolist(), x.grad) == ([-2.0], None)


def test_multi_grad_hook_waits_for_all():
    x, y, z = leaf(1.0), leaf(2.0), leaf(3.0)
    seen = []
    handle = graph.register_multi_grad_hook([x, y * 1, z], lambda grads: seen.append([g and g.item() for g in grads]))
    a = y * 1
    both = graph.register_multi_grad_hook([x, a], lambda grads: seen.append([g and g.item() for g in grads]))
    (x * 2 + a * 5).sum().backward()
    assert seen == [[2.0, None, None], [2.0, 5.0]] or seen == [[2.0, 5.0], [2.0, None, None]]
    seen.clear()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [[2.0, None]]
    both.remove()
    (x * 2).sum().backward()
    assert len(seen) == 1


def test_multi_grad_hook_for_any():
    x, y = leaf(1.0), leaf(2.0)
    seen = []
    graph.register_multi_grad_hook([x, y], lambda g: seen.append(g.item()), mode="any")
    (x * 2 + y * 3).sum().backward()
    (x * 4).sum().backward()
    assert len(seen) == 2
    assert seen[1] == 4.0
    with pytest.raises(ValueError, match="mode"):
        graph.register_multi_grad_hook([x], print, mode="some")


# -- the graph -------------------------------------------------------------------------


def test_next_functions():
    x, c = leaf(1.0), mt.ones(1)
    y = x * c
    z = y + x
    (first, first_nr), (second, second_nr) = z.grad_fn.next_functions
    assert first is y.grad_fn
    assert second.variable is x
    assert (first_nr, second_nr) == (0, 0)
    assert y.grad_fn.next_functions[1] == (None, 0)
    assert second.next_functions == ()
    a, b = (x.expand(2)).unbind(0)
    assert (b * 1).grad_fn.next_functions[0] == (b.grad_fn, 1)
    assert a.grad_fn is b.grad_fn


def test_a_leaf_has_one_accumulator():
    x = leaf(1.0)
    first = (x * 2).grad_fn.next_functions[0][0]
    assert (x + 1).grad_fn.next_functions[0][0] is first
    assert graph.get_gradient_edge(x).node is first
    assert first.name().endswith("AccumulateGrad")
    first([mt.tensor([3.0])][0])
    assert x.grad.tolist() == [3.0]


def test_hooks_of_an_accumulator_outlive_it():
    x = leaf(1.0)
    seen = []
    graph.get_gradient_edge(x).node.register_hook(lambda gi, go: seen.append(go[0].item()))
    gc.collect()
    (x * 2).sum().backward()
    assert seen == [2.0]


def test_nodes_can_be_called():
    x = leaf(2.0)
    y = x * 3
    gradients = y.grad_fn(mt.ones(1))
    assert gradients[0].tolist() == [3.0]
    assert gradients[1] is None
    assert y.exp().grad_fn(mt.ones(1)).shape == (1,)


def test_saved_values_can_be_looked_at():
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    assert y.grad_fn._saved_self is x
    assert y.grad_fn._saved_other is w
    e = x.exp()
    assert e.grad_fn._saved_result.grad_fn is e.grad_fn
    with pytest.raises(AttributeError):
        _ = y.grad_fn._saved_nothing
    y.sum().backward()
    with pytest.raises(RuntimeError, match="already been freed"):
        _ = y.grad_fn._saved_self


def test_metadata():
    node = (leaf(1.0) * 2).grad_fn
    node.metadata["seen"] = 1
    assert node.metadata == {"seen": 1}
    assert isinstance(node, graph.Node)
    assert repr(node).startswith("<MulBackward0 object at")


def test_gradient_edge_needs_a_history():
    with pytest.raises(RuntimeError, match="does not require gradients"):
        graph.get_gradient_edge(mt.ones(1))


def test_increment_version():
    x, y = mt.ones(2), mt.ones(2)
    graph.increment_version(x)
    graph.increment_version([x, y])
    assert (x._version, y._version) == (2, 1)
    with mt.inference_mode():
        z = mt.ones(2)
    with pytest.raises(RuntimeError, match="inference"):
        graph.increment_version(z)


# -- saved-tensor hooks (A10) ----------------------------------------------------------


class Log:
    """Pack and unpack hooks that note what they see."""

    def __init__(self):
        self.packed, self.unpacked = [], []

    def pack(self, tensor):
        self.packed.append(tensor.tolist())
        return len(self.packed) - 1, tensor

    def unpack(self, packed):
        self.unpacked.append(packed[0])
        return packed[1]

    def scope(self):
        return graph.saved_tensors_hooks(self.pack, self.unpack)


def test_hooks_run_when_tensors_are_saved_and_when_they_are_used():
    log = Log()
    x, w = leaf(2.0), leaf(3.0)
    with log.scope():
        y = x * w
        z = y.exp()
    outside = z * 2 * x
    assert log.packed == [[3.0], [2.0], pytest.approx([403.4288])]
    assert log.unpacked == []
    outside.sum().backward()
    assert sorted(log.unpacked) == [0, 1, 2]
    assert log.unpacked[0] == 2
    assert w.grad.item() == pytest.approx(2 * 403.4288 * 2 * 2, rel=1e-4)


def test_pack_sees_a_tensor_without_history():
    seen = []

    def pack(tensor):
        seen.append((tensor.requires_grad, mt.is_grad_enabled()))
        return tensor * 1

    x = leaf(2.0)
    with graph.saved_tensors_hooks(pack, lambda t: t):
        y = (x * x).exp()
    assert seen == [(False, False)] * 3
    y.sum().backward()
    assert x.grad is not None


def test_second_derivatives_go_through_hooks():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: t.numpy().copy(), mt.from_numpy):
        y = x * 1
        z = (y * y * y).sum()
    (first,) = mt.autograd.grad(z, x, create_graph=True)
    (second,) = mt.autograd.grad(first, x, create_graph=True)
    (third,) = mt.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (12.0, 12.0, 6.0)


def test_only_the_innermost_hooks_run():
    outer, inner = Log(), Log()
    x = leaf(2.0)
    with outer.scope():
        _ = x.exp()
        with inner.scope():
            _ = x.sin()
        _ = x.cos()
    assert (len(outer.packed), len(inner.packed)) == (2, 1)


def test_versions_are_not_checked_where_hooks_took_a_copy():
    x, w = leaf(2.0), mt.tensor([3.0])
    with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        y = x * w
    w.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [3.0]


def test_unpack_must_return_a_tensor():
    x = leaf(2.0)
    with graph.saved_tensors_hooks(lambda t: 1, lambda p: p):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack_hook must return a Tensor"):
        y.sum().backward()


def test_an_error_in_a_pack_hook_leaves_no_hooks_behind():
    def fail(tensor):
        raise ValueError("no room")

    with pytest.raises(ValueError, match="no room"):
        with graph.saved_tensors_hooks(fail, fail):
            leaf(1.0).exp()
    leaf(1.0).exp()


def test_save_on_cpu():
    x = leaf(2.0)
    with graph.save_on_cpu():
        y = x * x
    y.sum().backward()
    assert x.grad.tolist() == [4.0]


def test_hooks_can_be_forbidden():
    log = Log()
    with graph.disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"):
            with log.scope():
                pass
    with log.scope():
        pass


# -- anomaly mode ----------------------------------------------------------------------


def test_anomaly_mode_finds_the_nan():
    x = leaf(0.0)
    with mt.autograd.set_detect_anomaly(True):
        y = (x / x).sum()
        with pytest.warns(UserWarning, match=r"Error detected in DivBackward0(.|\n)*test_anomaly_mode_finds_the_nan"):
            with pytest.raises(RuntimeError, match="DivBackward0' returned nan values in its 1th output"):
                y.backward()
    with mt.autograd.set_detect_anomaly(True, check_nan=False):
        (x / x).sum().backward()


def test_anomaly_mode_as_a_scope():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"):
        scope = mt.autograd.detect_anomaly()
    with scope:
        assert mt.autograd.anomaly.is_anomaly_enabled()
    assert not mt.autograd.anomaly.is_anomaly_enabled()


def test_anomaly_mode_without_forward_information():
    x = leaf(0.0)
    y = (x / x).sum()
    with mt.autograd.set_detect_anomaly(True):
        with pytest.warns(UserWarning, match="No forward pass information available"):
            with pytest.raises(RuntimeError, match="nan values"):
                y.backward()


def test_anomaly_mode_names_the_node_that_made_the_node():
    x = leaf(0.0)
    with mt.autograd.set_detect_anomaly(True, check_nan=False):
        (first,) = mt.autograd.grad((x.sqrt() * 0).sum(), x, create_graph=True)
        with pytest.warns(UserWarning) as caught:
            with mt.autograd.set_detect_anomaly(True):
                with pytest.raises(RuntimeError, match="nan values"):
                    first.sum().backward()
    assert any("SqrtBackward0" in str(w.message) for w in caught)


def test_grad_takes_its_arguments_in_pytorchs_order():
    x, unused = mt.tensor(3.0, requires_grad=True), mt.tensor(1.0, requires_grad=True)
    names = list(inspect.signature(mt.autograd.grad).parameters)
    assert names == [
        "outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused",
        "is_grads_batched", "materialize_grads",
    ]
    first, none = mt.autograd.grad(x * x, (x, unused), None, False, False, True, True)
    assert (first.item(), none) == (6.0, None)
    with pytest.warns(FutureWarning, match="only_inputs=False is ignored"):
        (again,) = mt.autograd.grad(x * x, x, only_inputs=False)
    assert again.item() == 6.0
    assert x.grad is None
