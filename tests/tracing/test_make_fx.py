"""`make_fx`: the operators that a function calls, as a graph (spec J1 to J5)."""

from __future__ import annotations

import operator

import pytest

import minitorch as mt
import minitorch.nn.functional as F
from minitorch.func import functionalize, grad, vmap
from minitorch.fx.experimental.proxy_tensor import (
    disable_proxy_modes_tracing,
    get_isolated_graphmodule,
    get_proxy_mode,
    make_fx,
)
from minitorch.modes import TorchDispatchMode

aten = mt.ops.aten


def calls(graph):
    """Return the names of the operators that a graph calls, in order."""
    return [str(n.target).removeprefix("aten.") for n in graph.graph.nodes if n.op == "call_function"]


def code(graph):
    """Return the statements of a graph's code, without those that let values go."""
    return [line.split(";")[0].strip() for line in graph.code.strip().splitlines()]


@pytest.fixture
def x():
    return mt.arange(12.0).reshape(3, 4)


# -- the table of spec 6.12 ------------------------------------------------------------------------


def test_composites_are_taken_apart(x):
    graph = make_fx(F.linear)(x, mt.ones(5, 4))
    assert calls(graph) == ["t.default", "mm.default"]
    assert code(graph)[0] == "def forward(self, arg0_1, arg1_1):"


def test_composites_are_whole_above_autograd(x):
    assert calls(make_fx(lambda x, w: F.linear(x, w), pre_dispatch=True)(x, mt.ones(5, 4))) == ["linear.default"]


def test_tensors_of_python_data_are_constants(x):
    graph = make_fx(lambda x: x + mt.tensor([1.0, 2.0, 3.0, 4.0]))(x)
    assert code(graph) == [
        "def forward(self, x_1):",
        "_tensor_constant0 = self._tensor_constant0",
        "lift_fresh_copy = torch.ops.aten.lift_fresh_copy.default(_tensor_constant0)",
        "add = torch.ops.aten.add.Tensor(x_1, lift_fresh_copy)",
        "return add",
    ]
    assert mt.equal(graph(mt.zeros(3, 4))[0], mt.tensor([1.0, 2.0, 3.0, 4.0]))


def test_dead_code_is_kept(x):
    graph = make_fx(lambda x: (x + 1, x)[1])(x)
    assert calls(graph) == ["add.Tensor"]
    assert code(graph)[-1] == "return x_1"


def test_vmap_is_applied(x):
    graph = make_fx(vmap(lambda row: row.sum(0)))(x)
    assert code(graph)[1] == "sum_1 = torch.ops.aten.sum.dim_IntList(row_1, [1])"


def test_gradients_are_inline(x):
    graph = make_fx(grad(lambda y: (y * y).sum()))(x)
    assert calls(graph) == [
        "mul.Tensor", "sum.default", "ones_like.default", "expand.default", "mul.Tensor", "mul.Tensor", "add.Tensor",
    ]  # fmt: skip
    assert mt.equal(graph(x + 1), 2 * (x + 1))


# -- constants and parameters (J3) -------------------------------------------------------------------


def test_tensors_from_outside_are_attributes(x):
    outside = mt.ones(4)
    graph = make_fx(lambda x: x + outside + outside)(x)
    assert [n.target for n in graph.graph.nodes if n.op == "get_attr"] == ["_tensor_constant0"] * 2
    assert graph._tensor_constant0 is outside


def test_parameters_are_attributes(x):
    layer = mt.nn.Linear(4, 2)
    graph = make_fx(layer.forward)(x)
    assert [n.target for n in graph.graph.nodes if n.op == "get_attr"] == ["_param_constant0", "_param_constant1"]
    mt.testing.assert_close(graph(x), layer(x))
    assert dict(graph.named_parameters()).keys() == {"_param_constant0", "_param_constant1"}
    graph(x).sum().backward()
    assert layer.weight.grad is not None


def test_inplace_operators_are_nodes(x):
    def f(x):
        y = x.clone()
        y[0].add_(1)
        y.mul_(2)
        return y, x.add_(3)

    graph = make_fx(f)(x.clone())
    assert calls(graph) == ["clone.default", "select.int", "add_.Tensor", "mul_.Tensor", "add_.Tensor"]
    ours, theirs = x.clone(), x.clone()
    for one, other in zip(graph(ours), f(theirs), strict=True):
        assert mt.equal(one, other)
    assert mt.equal(ours, theirs)


def test_what_was_changed_is_denoted_by_the_change(x):
    graph = make_fx(lambda x: x.clone().add_(1))(x)
    assert code(graph)[-1] == "return add_"


# -- elements of tensors (J4) ------------------------------------------------------------------------


@pytest.mark.parametrize("f", [lambda x: x.sum().item(), lambda x: x if x.sum() > 0 else -x, lambda x: int(x[0, 0])])
def test_elements_of_traced_tensors_are_refused(x, f):
    with pytest.raises(RuntimeError, match="value out of a tracing tensor"):
        make_fx(f)(x)


def test_elements_of_known_constants_may_be_read(x):
    assert code(make_fx(lambda x: x * mt.tensor(3.0).item())(x))[-2] == "mul = torch.ops.aten.mul.Tensor(x_1, 3.0)"

    def f(x):
        n = mt.tensor(2)
        n.add_(1)
        return x * n.item()

    assert code(make_fx(f)(x))[-2] == "mul = torch.ops.aten.mul.Tensor(x_1, 3)"


@pytest.mark.parametrize("options", [{"tracing_mode": "fake"}, {"pre_dispatch": True}])
def test_elements_of_known_constants_may_be_read_in_other_traces(x, options):
    graph = make_fx(lambda x: x * (mt.tensor(3.0) + 1).item(), **options)(x)
    assert code(graph)[-2] == "mul = torch.ops.aten.mul.Tensor(x_1, 4.0)"


def test_a_constant_that_was_changed_is_known_no_longer(x):
    def f(x):
        n = mt.tensor([2.0])
        n[0].copy_(x[0, 1])  # by a view of its memory
        return x * n.item()

    with pytest.raises(RuntimeError, match="value out of a tracing tensor"):
        make_fx(f)(x)


def test_elements_of_tensors_from_outside_may_be_read(x):
    outside = mt.tensor(5.0)
    assert code(make_fx(lambda x: x * outside.item())(x))[-2] == "mul = torch.ops.aten.mul.Tensor(x_1, 5.0)"


def test_random_numbers_are_no_constants(x):
    with pytest.raises(RuntimeError, match="value out of a tracing tensor"):
        make_fx(lambda x: x * mt.tensor(0.5).bernoulli().item())(x)


# -- decompositions (J5) -----------------------------------------------------------------------------


def test_a_table_takes_operators_apart(x):
    def twice(a, b, *, alpha=1):
        return mt.mul(a, b)

    graph = make_fx(lambda x: (x + x).sin(), {aten.add.Tensor: twice})(x)
    assert calls(graph) == ["mul.Tensor", "sin.default"]


def test_sizes_are_those_of_the_trace(x):
    graph = make_fx(lambda x: x.reshape(-1, x.shape[0]))(x)
    assert code(graph)[1] == "view = torch.ops.aten.view.default(x_1, [-1, 3])"


# -- arguments and results ---------------------------------------------------------------------------


def test_nested_arguments_and_results(x):
    def f(d, rest):
        return {"sum": d["x"] + rest[0], "same": d["x"], "number": 3, "none": None}

    graph = make_fx(f)({"x": x, "unused": x + 1}, [x + 2, x + 3])
    assert code(graph)[0] == "def forward(self, d, rest):"
    assert [n.name for n in graph.graph.nodes if n.op == "placeholder"] == ["d_1", "d_2", "rest_1", "rest_2"]
    y = x + 1
    result = graph({"x": y, "unused": x}, [x, x])
    assert list(result) == ["sum", "same", "number", "none"]
    assert result["same"] is y
    assert result["number"] == 3
    assert result["none"] is None
    assert mt.equal(result["sum"], y + x)
    with pytest.raises(ValueError, match="nested otherwise"):
        graph({"x": y}, [x, x])


def test_several_results_are_picked(x):
    graph = make_fx(lambda x: x.max(1))(x)
    assert code(graph)[1:] == [
        "max_1 = torch.ops.aten.max.dim(x_1, 1)",
        "getitem = max_1[0]",
        "getitem_1 = max_1[1]",
        "return (getitem, getitem_1)",
    ]
    assert make_fx(lambda x: None)(x)(x) is None


def test_varargs_get_numbers(x):
    graph = make_fx(lambda *tensors: tensors[0] - tensors[1])(x, x + 1)
    assert code(graph)[0] == "def forward(self, arg0_1, arg1_1):"


# -- backward passes, transforms, grad mode ------------------------------------------------------------


def test_backward_inside(x):
    def f(x):
        y = x.sigmoid()
        return mt.autograd.grad(y.sum(), x)

    graph = make_fx(f)(x.clone().requires_grad_())
    assert calls(graph) == [
        "sigmoid.default",
        "sum.default",
        "ones_like.default",
        "expand.default",
        "sigmoid_backward.default",
    ]
    z = x.clone().requires_grad_()
    assert mt.equal(graph(z)[0], f(z)[0])


def test_backward_after_changes_of_views(x):
    def f(x):
        y = x.sin()
        y[1].mul_(3)
        y.t()[0].add_(y[0, 0])
        return mt.autograd.grad(y.sin().sum(), x)

    z = (x / 10).requires_grad_()
    graph = make_fx(f)(z)
    other = (x / 7).requires_grad_()
    mt.testing.assert_close(graph(other), f(other))


def test_functionalize_inside(x):
    graph = make_fx(functionalize(lambda x: (x.add_(1), x * 2)[1]))(x.clone())
    assert calls(graph) == ["add.Tensor", "mul.Tensor", "copy_.default"]


def test_grad_mode_above_autograd(x):
    def f(x):
        with mt.no_grad():
            y = x + 1
        return y * x

    graph = make_fx(f, pre_dispatch=True)(x)
    assert code(graph)[1:] == [
        "_set_grad_enabled = torch._C._set_grad_enabled(False)",
        "add = torch.ops.aten.add.Tensor(x_1, 1)",
        "_set_grad_enabled_1 = torch._C._set_grad_enabled(True)",
        "mul = torch.ops.aten.mul.Tensor(add, x_1)",
        "return mul",
    ]
    z = x.clone().requires_grad_()
    graph(z).sum().backward()
    assert mt.equal(z.grad, x + 1)  # nothing came by the sum
    assert mt.is_grad_enabled()
    assert calls(make_fx(f)(x)) == ["add.Tensor", "mul.Tensor"]


def test_pre_dispatch_keeps_composites_and_decomposes_by_table(x):
    model = mt.nn.Sequential(mt.nn.Linear(4, 4), mt.nn.ReLU())
    graph = make_fx(model.forward, pre_dispatch=True)(x)
    assert calls(graph) == ["linear.default", "relu.default"]
    table = {aten.relu.default: lambda x: mt.clamp(x, min=0)}
    assert calls(make_fx(model.forward, table, pre_dispatch=True)(x)) == ["linear.default", "clamp.default"]
    mt.testing.assert_close(graph(x), model(x))


# -- what nodes know -----------------------------------------------------------------------------------


def test_meta_describes_values(x):
    graph = make_fx(lambda x: x.t().max(1))(x)
    nodes = {n.name: n for n in graph.graph.nodes}
    assert nodes["t"].meta["val"].shape == (4, 3)
    assert nodes["t"].meta["val"].stride() == (1, 4)
    assert nodes["t"].meta["tensor_meta"].shape == (4, 3)
    assert [v.dtype for v in nodes["max_1"].meta["val"]] == [mt.float32, mt.int64]
    assert type(nodes["x_1"].meta["val"]).__name__ == "FakeTensor"


def test_stack_traces(x):
    graph = make_fx(lambda x: x.sin(), record_stack_traces=True)(x)
    node = next(n for n in graph.graph.nodes if n.op == "call_function")
    assert "test_make_fx.py" in node.stack_trace
    assert "proxy_mode.py" not in node.stack_trace
    assert (
        make_fx(lambda x: x.sin())(x).graph.find_nodes(op="call_function", target=aten.sin.default)[0].stack_trace
        is None
    )


# -- the mode --------------------------------------------------------------------------------------------


def test_the_mode_can_be_found_and_left(x):
    seen = []

    def f(x):
        mode = get_proxy_mode()
        with disable_proxy_modes_tracing() as left:
            seen.extend([mode is left, get_proxy_mode() is None])
            x.exp()
        return x.sin()

    assert calls(make_fx(f)(x)) == ["sin.default"]
    assert seen == [True, True]
    assert get_proxy_mode() is None


def test_a_graph_of_its_own_inside_of_a_trace(x):
    inner = []

    def f(x):
        inner.append(get_isolated_graphmodule(lambda a, k: a.cos() * k, (x,), {"k": 2}))
        return x.sin()

    assert calls(make_fx(f)(x)) == ["sin.default"]
    assert calls(inner[0]) == ["cos.default", "mul.Tensor"]
    assert mt.equal(inner[0]([x]), x.cos() * 2)


def test_modes_of_the_user_run_first(x):
    class Swap(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return mt.cos(*args) if func is aten.sin.default else func(*args, **(kwargs or {}))

    def f(x):
        with Swap():
            return x.sin()

    assert calls(make_fx(f)(x)) == ["cos.default"]


def test_errors_leave_nothing_behind(x):
    def f(x):
        raise KeyError("mine")

    for options in ({}, {"pre_dispatch": True}, {"tracing_mode": "fake"}):
        with pytest.raises(KeyError, match="mine"):
            make_fx(f, **options)(x)
        assert get_proxy_mode() is None
    with pytest.raises(ValueError, match="tracing_mode is one of"):
        make_fx(f, tracing_mode="imaginary")


def test_lazy_conjugates_and_negations(x):
    z = mt.complex(x, x + 1)

    def f(z):
        return mt.fft.fft(z.conj()), z.conj().imag + 1, (z.conj() * z).real

    graph = make_fx(f)(z)
    other = z * (2 + 1j)
    for one, two in zip(graph(other), f(other), strict=True):
        mt.testing.assert_close(one, two)


# -- fake and symbolic traces ------------------------------------------------------------------------


def test_fake_traces_compute_nothing(x):
    state = mt.get_rng_state()
    graph = make_fx(lambda x: mt.rand_like(x) @ mt.ones(4, 10**6) + x.sum().item(), tracing_mode="fake")(x)
    assert mt.equal(mt.get_rng_state(), state)
    assert calls(graph)[-2:] == ["_local_scalar_dense.default", "add.Tensor"]
    with pytest.raises(AssertionError, match="convert all Tensors to FakeTensors"):
        make_fx(lambda y: x + y, tracing_mode="fake")(x)
    graph = make_fx(lambda y: x + y, tracing_mode="fake", _allow_non_fake_inputs=True)(x)
    assert mt.equal(graph(x), x + x)


@pytest.mark.parametrize("tracing_mode", ["fake", "symbolic"])
def test_fake_traces_know_numbers_made_of_python_data(x, tracing_mode):
    def f(x):
        y = x * mt.tensor(2.0)
        y[mt.tensor([0])] = mt.tensor([3]).item()
        return y

    graph = make_fx(f, tracing_mode=tracing_mode)(x)
    assert mt.equal(graph(x + 1), f(x + 1))


def test_fake_arguments_bring_their_mode(x):
    from minitorch._subclasses import FakeTensorMode

    mode = FakeTensorMode()
    graph = make_fx(lambda a: a.exp().sum(0))(mode.from_tensor(x))
    assert mt.equal(graph(x), x.exp().sum(0))


pytest.importorskip("sympy")


def test_sizes_are_nodes(x):
    graph = make_fx(lambda x: x.view(x.shape[0] * x.shape[1]), tracing_mode="symbolic")(x)
    assert code(graph)[1:-1] == [
        "sym_size_int = torch.ops.aten.sym_size.int(x_1, 0)",
        "sym_size_int_1 = torch.ops.aten.sym_size.int(x_1, 1)",
        "mul = sym_size_int * sym_size_int_1",
        "view = torch.ops.aten.view.default(x_1, [mul])",
    ]
    assert graph(mt.ones(5, 6)).shape == (30,)


def test_sizes_are_computed_once_and_where_they_are_used(x):
    graph = make_fx(lambda x: mt.cat([x, x]).reshape(-1) * x.shape[0] + x.shape[1] * 2, tracing_mode="symbolic")(x)
    y = mt.ones(2, 7)
    assert mt.equal(graph(y), mt.full((28,), 16.0))
    targets = [n.target for n in graph.graph.nodes if n.op == "call_function"]
    assert targets.count(aten.sym_size.int) == 2
    assert targets.count(operator.mul) == 1
    assert targets[0] is aten.cat.default


def test_numbers_are_symbols_too(x):
    graph = make_fx(lambda x, n: (x * n, n + x.shape[0] // 2), tracing_mode="symbolic")(x, 5)
    product, number = graph(mt.ones(8, 2), 9)
    assert number == 13
    assert mt.equal(product, mt.full((8, 2), 9.0))


def test_sizes_that_data_decides(x):
    graph = make_fx(lambda x: x.nonzero().shape[0] * x.sum(), tracing_mode="symbolic")(x)
    assert graph(mt.ones(3)[:, None]).item() == 9.0
    graph = make_fx(lambda x: x * x.sum().item(), tracing_mode="symbolic")(x)
    assert mt.equal(graph(mt.ones(2, 2)), mt.full((2, 2), 4.0))


def test_modules_and_gradients_with_symbolic_sizes(x):
    def f(x, w):
        y = F.gelu(F.linear(F.layer_norm(x, x.shape[1:]), w)).chunk(2, -1)
        return mt.autograd.grad((y[0] * y[1]).mean(), w)[0]

    w = mt.linspace(-1, 1, 24).reshape(6, 4).requires_grad_()
    graph = make_fx(f, tracing_mode="symbolic")(x, w)
    other = mt.arange(20.0).sin().reshape(5, 4)
    mt.testing.assert_close(graph(other, w), f(other, w))
