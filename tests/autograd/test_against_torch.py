"""In-place changes, views and graphs: programs that must do in minitorch what they do in PyTorch."""

from __future__ import annotations

import warnings

import pytest

import minitorch

PROGRAMS = {
    "inplace_on_result": """
x = t.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.mul_(x)
y.sum().backward()
out = [x.grad, y._version]
""",
    "inplace_on_leaf": """
x = t.ones(2, requires_grad=True)
x.add_(1)
""",
    "inplace_on_leaf_without_grad_mode": """
x = t.ones(2, requires_grad=True)
with t.no_grad():
    x.add_(1)
out = [x, x._version, x.is_leaf]
""",
    "inplace_on_view_of_leaf": """
x = t.ones(4, requires_grad=True)
x.view(2, 2).add_(1)
""",
    "view_of_result_changed": """
x = t.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x * 1
v = y[1:3]
v.mul_(10)
y.sum().backward()
out = [x.grad, y._version, v._version, v._base is y, y.grad_fn.name()]
""",
    "base_changed_then_view_used": """
x = t.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x * 1
v = y.view(2, 2)
y.mul_(3)
(v * v).sum().backward()
out = [x.grad]
""",
    "view_changed_then_other_view_used": """
x = t.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
y = x * 1
a, b = y[:2], y[1:]
a.mul_(x[0] * 5)
(b * b).sum().backward()
out = [x.grad, b.requires_grad, b.is_leaf]
""",
    "constant_base_gets_history": """
x = t.tensor([1.0, 2.0], requires_grad=True)
b = t.zeros(4)
v = b[1:3]
v.copy_(x)
out = [b.requires_grad, v.requires_grad, b.is_leaf, v.is_leaf]
(b * t.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
out += [x.grad]
""",
    "constant_base_changed_makes_view_differentiable": """
x = t.tensor([1.0, 2.0], requires_grad=True)
b = t.ones(2)
v = b.view(2, 1)
b.mul_(x)
out = [v.requires_grad, v.is_leaf]
(v * 3).sum().backward()
out += [x.grad]
""",
    "setitem": """
x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
y[0] = 7.0
y[1] = x[2] * 4
(y * y).sum().backward()
out = [x.grad, y]
""",
    "setitem_rows_by_tensor": """
x = t.arange(6.0).reshape(2, 3).requires_grad_()
y = x * 2
y[t.tensor([1])] = x[0] * x[0]
y.sum().backward()
out = [x.grad]
""",
    "chain_of_views": """
x = t.arange(12.0).requires_grad_()
y = x + 0
v = y.view(3, 4).t()[1:3].unsqueeze(0)
v.mul_(t.arange(6.0).view(1, 2, 3))
out = [v._base is y, v._base is not None, v.shape]
(y * y).sum().backward()
out += [x.grad]
""",
    "view_of_transposed_memory": """
x = t.arange(6.0).reshape(2, 3).requires_grad_()
y = x.t().clone(memory_format=t.preserve_format) if False else (x.t() * 1)
v = y.t()
v[0].mul_(5)
(y * t.arange(6.0).reshape(3, 2)).sum().backward()
out = [x.grad]
""",
    "expanded_view_is_written": """
x = t.ones(1, 3, requires_grad=True)
y = (x * 2).expand(2, 3)
z = y * 1
z[0].mul_(3)
z.sum().backward()
out = [x.grad]
""",
    "unbind_output_changed": """
x = t.ones(2, 2, requires_grad=True)
a, b = (x * 1).unbind(0)
a.mul_(2)
""",
    "split_output_changed": """
x = t.ones(4, requires_grad=True)
(x * 1).split(2)[0].mul_(2)
""",
    "base_of_unbind_changed": """
x = t.ones(2, 2, requires_grad=True)
y = x * 1
a, b = y.unbind(0)
y.mul_(2)
a.sum().backward()
""",
    "unbind_output_of_constant_changed": """
a, b = t.ones(2, 2).unbind(0)
a.mul_(2)
out = [a, b]
""",
    "view_made_without_grad_mode_changed": """
x = t.ones(4, requires_grad=True)
y = x * 1
with t.no_grad():
    v = y.view(2, 2)
out = [v.requires_grad]
v.mul_(2)
""",
    "view_made_without_grad_mode_reports_base": """
x = t.ones(4, requires_grad=True)
y = x * 1
with t.no_grad():
    v = y.view(2, 2)
    w = v[0]
out = [v.requires_grad, w.requires_grad, w._base is y]
""",
    "view_made_without_grad_mode_then_base_changed": """
x = t.ones(4, requires_grad=True)
y = x * 1
with t.no_grad():
    v = y.view(2, 2)
y.mul_(2)
v.sum().backward()
""",
    "view_and_change_without_grad_mode": """
x = t.ones(4, requires_grad=True)
y = x * 1
with t.no_grad():
    v = y.view(2, 2)
    v.mul_(3)
y.sum().backward()
out = [x.grad, y, y._version]
""",
    "view_made_in_inference_mode_changed": """
x = t.ones(4, requires_grad=True)
y = x * 1
with t.inference_mode():
    v = y.view(2, 2)
v.mul_(2)
""",
    "saved_input_changed": """
x = t.ones(2, requires_grad=True)
w = t.ones(2)
y = x * w
w.add_(1)
y.sum().backward()
""",
    "saved_output_changed": """
x = t.ones(2, requires_grad=True)
y = x.exp()
y.mul_(2)
y.sum().backward()
""",
    "saved_output_changed_through_detached": """
x = t.ones(2, requires_grad=True)
y = x.exp()
y.detach().mul_(2)
y.sum().backward()
""",
    "data_has_its_own_versions": """
x = t.tensor([1.0, 2.0], requires_grad=True)
w = t.ones(2)
y = x * w
w.data.add_(1)
out = [w._version, w.data._version, w]
y.sum().backward()
out += [x.grad]
""",
    "versions": """
x = t.ones(4)
v, d = x.view(2, 2), x.detach()
out = [x._version]
v.add_(1)
out += [x._version, v._version, d._version, (x + 1)._version, d._base is None, d._is_view()]
d.add_(1)
out += [x._version, v._version, v[0]._base is x]
""",
    "detach_inplace": """
x = t.ones(2, requires_grad=True)
y = x * 2
z = y.detach_()
out = [y.requires_grad, z is y, y.grad_fn is None]
""",
    "detach_view_inplace": """
x = t.ones(2, requires_grad=True)
(x * 2).view(2, 1).detach_()
""",
    "comparison_inplace_ends_history": """
x = t.tensor([1.0, -2.0], requires_grad=True)
y = x * 2
y.gt_(0)
out = [y.requires_grad, y]
y.sum().backward()
out += [x.grad]
""",
    "zero_and_fill": """
x = t.ones(4, requires_grad=True)
y = x * 2
y[:2].zero_()
y[2:3].fill_(5)
y.sum().backward()
out = [x.grad, y]
""",
    "random_fill_ends_history": """
x = t.ones(2, requires_grad=True)
y = x * 2
y.uniform_(0, 1)
out = [y.requires_grad]
y.sum().backward()
out += [x.grad]
""",
    "masked_fill": """
x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
v = y[1:]
v.masked_fill_(t.tensor([True, False]), 0.5)
(y * y).sum().backward()
out = [x.grad]
""",
    "second_derivative_through_changed_view": """
x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * x
y[1:].mul_(x[:2])
g, = t.autograd.grad((y * y).sum(), x, create_graph=True)
g.pow(2).sum().backward()
out = [g.detach(), x.grad]
""",
    "gradient_of_original_and_changed": """
x = t.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
z = y.sum()
y.mul_(2)
(z + y.sum()).backward()
out = [x.grad]
""",
    "retain_grad_after_change": """
x = t.ones(2, requires_grad=True)
y = x * 2
y.retain_grad()
y.mul_(3)
out = [y.retains_grad]
y.sum().backward()
out += [y.grad]
""",
    "retain_grad_of_base_and_view": """
x = t.ones(4, requires_grad=True)
y = x * 2
v = y[:2]
y.retain_grad()
v.retain_grad()
v.mul_(3)
(y * 2).sum().backward()
out = [y.grad, v.grad, x.grad]
""",
    "hooks_around_a_change": """
x = t.ones(2, requires_grad=True)
seen = []
y = x * 2
y.register_hook(lambda g: seen.append(g.tolist()))
y.mul_(3)
y.register_hook(lambda g: seen.append(g.tolist()))
y.sum().backward()
out = [seen]
""",
    "self_multiplied_by_itself": """
x = t.tensor([2.0, 3.0], requires_grad=True)
y = x * 1
y.mul_(y.clone())
y.sum().backward()
out = [x.grad]
""",
    "out_argument_that_requires_grad": """
x = t.ones(2, requires_grad=True)
t.add(t.ones(2), t.ones(2), out=x)
""",
    "out_with_input_that_requires_grad": """
x = t.ones(2, requires_grad=True)
t.add(x, t.ones(2), out=t.ones(2))
""",
    "out_without_grad_mode": """
x = t.ones(2, requires_grad=True)
o = t.zeros(2)
with t.no_grad():
    t.add(x, x, out=o)
out = [o, o.requires_grad, o._version]
""",
    "integer_view_of_base": """
x = t.arange(4)
v = x.view(2, 2)
v[0].add_(1)
out = [x, x._version, v._base is x]
""",
    "constant_copied_into_integers": """
x = t.tensor([1.5, 2.5], requires_grad=True)
y = t.zeros(2, dtype=t.int64)
y.copy_(x)
out = [y, y.requires_grad]
""",
    "transpose_inplace": """
x = t.arange(6.0).reshape(2, 3).requires_grad_()
y = x * 2
y.t_()
(y * t.arange(6.0).reshape(3, 2)).sum().backward()
out = [y.shape, x.grad]
""",
    "unsqueeze_inplace": """
x = t.ones(3, requires_grad=True)
y = x * 2
y.unsqueeze_(0)
y.sum().backward()
out = [y.shape, x.grad, y.is_leaf]
""",
    "requires_grad_of_view_of_constant": """
b = t.zeros(4)
v = b[:2]
v.requires_grad_()
out = [v.is_leaf, b.requires_grad]
(v * 3).sum().backward()
out += [v.grad]
v.mul_(2)
""",
    "relu_inplace_in_a_network": """
x = t.tensor([[-1.0, 2.0], [3.0, -4.0]], requires_grad=True)
w = t.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
h = x @ w
h.relu_()
(h @ w).sum().backward()
out = [x.grad, w.grad]
""",
    "sigmoid_inplace_then_changed": """
x = t.tensor([-1.0, 2.0], requires_grad=True)
h = x * 1
h.sigmoid_()
h.add_(1)
h.sum().backward()
""",
    "addcmul_inplace_on_view": """
x = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 1
y[:2].addcmul_(x[1:], x[:2], value=2)
(y * y).sum().backward()
out = [x.grad]
""",
    "broadcast_inplace": """
x = t.ones(2, 3, requires_grad=True)
w = t.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x * 2
y.mul_(w)
y.sum().backward()
out = [x.grad, w.grad]
""",
    "dtype_is_kept_by_inplace": """
x = t.ones(2, requires_grad=True)
w = t.tensor([1.0, 2.0], dtype=t.float64, requires_grad=True)
y = x * 2
y.mul_(w)
y.sum().backward()
out = [y.dtype == t.float32, x.grad.dtype == t.float32, w.grad.dtype == t.float64, w.grad]
""",
    "inference_tensors": """
with t.inference_mode():
    a = t.ones(2)
    b = a + 1
    b.add_(1)
    out = [a.is_inference(), b.is_inference(), a.view(2, 1).is_inference(), a.requires_grad]
out += [(a + 1).is_inference(), a.view(2, 1).is_inference(), a.clone().is_inference()]
""",
    "inference_tensor_changed_outside": """
with t.inference_mode():
    a = t.ones(2)
a.add_(1)
""",
    "inference_tensor_version": """
with t.inference_mode():
    a = t.ones(2)
a._version
""",
    "inference_tensor_saved": """
with t.inference_mode():
    a = t.ones(2)
x = t.ones(2, requires_grad=True)
x * a
""",
    "inference_tensor_not_saved": """
with t.inference_mode():
    a = t.ones(2)
x = t.ones(2, requires_grad=True)
(x + a).sum().backward()
out = [x.grad]
""",
    "inference_tensor_requires_grad_outside": """
with t.inference_mode():
    a = t.ones(2)
a.requires_grad_()
""",
    "normal_tensor_in_inference_mode": """
x = t.ones(2, requires_grad=True)
y = x * 1
with t.inference_mode():
    v = y.view(2, 1)
    w = y + 1
    y.add_(1)
out = [v.is_inference(), w.is_inference(), y._version, w.requires_grad, v.requires_grad, y]
""",
    "nested_modes": """
out = []
with t.inference_mode():
    out += [t.is_grad_enabled(), t.is_inference_mode_enabled()]
    with t.inference_mode(False):
        out += [t.is_grad_enabled(), t.is_inference_mode_enabled()]
        x = t.ones(2, requires_grad=True)
        out += [(x * 2).requires_grad, (x * 2).is_inference()]
    with t.enable_grad():
        out += [t.is_grad_enabled(), (t.ones(2, requires_grad=True) * 2).requires_grad]
out += [t.is_grad_enabled()]
""",
    "grad_of_results_and_leaves": """
x = t.tensor(2.0, requires_grad=True)
y = x * 3
z = y * y
out = [t.autograd.grad(z, [x, y], retain_graph=True), t.autograd.grad(z, [y, y]), x.grad]
""",
    "backward_into_inputs": """
x = t.tensor(2.0, requires_grad=True)
w = t.tensor(3.0, requires_grad=True)
y = x * w
(y * y).backward(inputs=[w, y])
out = [x.grad, w.grad, y.grad]
""",
    "backward_on_a_leaf": """
x = t.tensor([1.0, 2.0], requires_grad=True)
x.backward(t.tensor([3.0, 4.0]))
out = [x.grad]
""",
    "several_roots": """
x = t.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
t.autograd.backward([y, (y * x).sum(), x], [t.ones(2), None, t.ones(2)])
out = [x.grad]
""",
    "unused_input": """
x, y = t.ones(2, requires_grad=True), t.ones(2, requires_grad=True)
out = [t.autograd.grad(x.sum(), [x, y], allow_unused=True), t.autograd.grad(x.sum(), [x, y], materialize_grads=True)]
t.autograd.grad(x.sum(), [y])
""",
    "second_backward": """
x = t.ones(2, requires_grad=True)
y = (x * x).sum()
y.backward(retain_graph=True)
y.backward()
out = [x.grad]
y.backward()
""",
    "nothing_saved_so_backward_twice": """
x = t.ones(2, requires_grad=True)
y = (x + 1).sum()
y.backward()
y.backward()
out = [x.grad]
""",
    "create_graph_accumulates_with_history": """
x = t.tensor(2.0, requires_grad=True)
(x * x * x).backward(create_graph=True)
out = [x.grad.requires_grad, x.grad.detach()]
first = x.grad
x.grad = None
first.backward()
out += [x.grad]
""",
    "complex_gradients": """
z = t.tensor([1.0 + 2.0j, 3.0 - 1.0j], requires_grad=True)
r = t.tensor([2.0, 5.0], requires_grad=True)
(z * r).abs().sum().backward()
out = [z.grad, r.grad, r.grad.is_complex()]
""",
    "grad_layout": """
p = t.ones(2, 3).t().requires_grad_()
(p * 2).sum().backward()
q = t.ones(2, 3, requires_grad=True)
(q.t() * t.ones(3, 2)).sum().backward()
e = t.ones(1).expand(3).requires_grad_()
(e * 2).sum().backward()
c = t.ones(2, 3, 4, 5).contiguous(memory_format=t.channels_last).requires_grad_()
(c * 2).sum().backward()
out = [p.grad.stride(), q.grad.stride(), e.grad.stride(), c.grad.stride()]
""",
    "node_names": """
x = t.ones(2, 2, requires_grad=True)
out = [n.grad_fn.name() for n in (x * 2, x + 1, x @ x, x.t(), x[0], x.sum(), x.sum(0), x.exp(), x.view(4), x.relu(), x.clone())]
out += [(x * 2).grad_fn.next_functions[0][0].name(), (x * 2).grad_fn.next_functions[1]]
""",
}


def outcome(t, source):
    """Return what a program leaves in `out`, and how it ended."""
    names = {"t": t, "out": []}
    ended = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(source, names)
        except Exception as error:
            ended = type(error).__name__
    return [plain(value) for value in names["out"]], ended


def plain(value):
    """Return a value of either library in terms of Python."""
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_program_does_what_it_does_in_torch(torch, name):
    expected, expected_end = outcome(torch, PROGRAMS[name])
    found, found_end = outcome(minitorch, PROGRAMS[name])
    assert found_end == expected_end
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other) if _is_flat(other) else one == other


def _is_flat(value):
    return isinstance(value, (int, float, complex)) or (
        isinstance(value, list) and all(isinstance(v, (int, float, complex)) for v in value)
    )
