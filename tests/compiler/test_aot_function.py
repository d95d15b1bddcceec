"""`aot_function`: compiled functions do all that can be seen of the functions."""

from __future__ import annotations

import pytest
from aot_helpers import PARTITIONS, Recorder, check, computed, copied, leaf, leaves, plain

import minitorch as mt
import minitorch.nn.functional as F
from minitorch.compiler import aot_function, interpret, make_boxed_compiler, make_boxed_func, nop, print_compile

X = mt.arange(12.0).sin().reshape(3, 4)
W = mt.arange(20.0).cos().reshape(5, 4)


def mixed(*tensors):
    """Return what makes a first argument that requires a gradient, and others that do not."""

    def make():
        first = leaf(tensors[0])
        return [first], (first, *[copied(t) for t in tensors[1:]])

    return make


pytestmark = pytest.mark.parametrize("partition", PARTITIONS)


# -- results and gradients -------------------------------------------------------------------------


def mlp(x, w):
    y = F.gelu(F.linear(x, w))
    return F.log_softmax(y, -1).pow(2).sum(), y.detach(), y.argmax(-1)


@pytest.mark.parametrize("make", [plain, leaves, mixed, computed])
def test_results_and_gradients(partition, make):
    check(mlp, make(X, W), partition)


def test_containers_numbers_and_none(partition):
    def f(pair, options, scale):
        a, b = pair
        out = {"sum": (a * scale, None, 3), "rest": [b.t(), options["name"]]}
        return out if options["twice"] is None else None

    def make():
        a, b = leaf(X), leaf(W)
        return [a, b], ((a, b), {"name": "n", "twice": None}, 0.5)

    check(f, make, partition)


def test_inputs_that_are_not_used(partition):
    check(lambda x, w: x.exp(), leaves(X, W), partition)
    check(lambda x, w: (w, 7), leaves(X, W), partition)


def test_gradients_inside(partition):
    def f(x):
        y = (x * x).sum()
        (g,) = mt.autograd.grad(y, x, create_graph=True)
        return (g * x).sum()

    check(f, leaves(X), partition)


def test_transforms_inside(partition):
    check(lambda x, w: mt.func.vmap(lambda row: mt.tanh(w @ row))(x), leaves(X, W), partition)
    check(lambda x, w: mt.func.grad(lambda w: F.linear(x, w).sin().sum())(w), leaves(X, W), partition)


def test_grad_mode_inside(partition):
    def f(x, w):
        with mt.no_grad():
            y = x * 2
            assert not y.requires_grad
        z = F.linear(y, w)
        assert z.requires_grad
        with mt.enable_grad():
            return z, y, x.detach() + 1

    check(f, leaves(X, W), partition)


def test_checkpoints_inside(partition):
    from minitorch.utils.checkpoint import checkpoint

    def f(x, w):
        return checkpoint(lambda x: F.linear(x.exp(), w).tanh(), x, use_reentrant=False)

    check(f, leaves(X, W), partition)


# -- changed inputs ----------------------------------------------------------------------------------


def test_changed_inputs(partition):
    recorder = check(lambda x, b: (x * b.add_(1), b.sum()), mixed(X, X + 1), partition)
    assert not any(name.endswith("_") for i in range(2) for name in recorder.names(i))


def test_versions_are_raised_as_often(partition):
    def f(x, mean, var):
        x.add_(1)
        x[0].mul_(2)
        y = F.batch_norm(x, mean, var, training=True)  # writes the statistics, and raises no version
        return y, x.t().sub_(1)

    check(f, plain(X, mt.zeros(4), mt.ones(4)), partition)


def test_changes_by_views_and_after_reads(partition):
    def f(x, b):
        before = b * 1
        b[0].mul_(3)
        b.t()[1].copy_(x[0, :3])
        return before, b + x

    check(f, mixed(X, X + 1), partition)


def test_changed_inputs_that_were_computed(partition):
    def f(x, w):
        x.mul_(2)
        x[0].add_(w[0])
        return F.linear(x, w)

    check(f, computed(X, W), partition)


def test_plain_inputs_that_get_a_history(partition):
    check(lambda w, x: x.add_(w[:3]).sum(), mixed(W, X), partition)


def test_parameters_changed_without_grad_mode(partition):
    def step(p, g):
        with mt.no_grad():
            p.add_(g, alpha=-0.1)
        return p.sum()

    check(step, mixed(X, X * 2), partition)


def test_leaves_may_not_be_changed(partition):
    compiled = aot_function(lambda x: x.add_(1), nop, partition_fn=PARTITIONS[partition])
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        compiled(leaf(X))


def test_inputs_are_saved_as_they_were(partition):
    """The backward pass needs an input that is changed after it was read by way of a copy."""

    def f(w, x):
        y = x.clone() * w[:3]
        x.zero_()
        return y

    check(f, mixed(W, X), partition)


def test_changed_geometry(partition):
    def f(x):
        x.t_()
        x.as_strided_((2, 6), (6, 1))
        return x * 2

    check(f, plain(X), partition)

    def g(x):
        first = x[0]
        x.mul_(2).t_()
        return first, x.t()

    check(g, plain(X), partition)
    compiled = aot_function(lambda x: x.resize_(2, 2), nop)
    with pytest.raises(RuntimeError, match="another size or storage"):
        compiled(copied(X))


def test_out_arguments(partition):
    check(lambda x, out: mt.mul(x, 2, out=out), plain(X, X), partition)


# -- memory that is shared -----------------------------------------------------------------------------


def test_outputs_that_are_inputs(partition):
    check(lambda x, b: (x, b, b.add_(1), x * b), mixed(X, X), partition)


def test_outputs_in_the_memory_of_inputs(partition):
    check(lambda x, b: (x.view(-1), b[1:].t(), b.mul_(2)[0], x.detach()), mixed(X, X), partition)
    check(lambda x: (x.unbind(0), x.split(2, 1), x.diagonal(), x.expand(2, 3, 4)), leaves(X), partition)


def test_outputs_that_share_memory(partition):
    def f(x):
        y = x * 2
        return y, y.view(-1), y[0], y.detach(), y

    check(f, leaves(X), partition)

    def only_views(x):
        y = x * 2
        return y[0], y[1:]

    check(only_views, leaves(X), partition)


def test_shared_outputs_can_be_changed_afterwards(partition):
    def f(x):
        y = x * 2
        return y, y[0]

    x, other = leaf(X), leaf(X)
    y, first = f(x)
    first.mul_(3)
    z, head = aot_function(f, nop, partition_fn=PARTITIONS[partition])(other)
    head.mul_(3)
    assert mt.equal(y, z)
    y.sin().sum().backward()
    z.sin().sum().backward()
    mt.testing.assert_close(other.grad, x.grad)


def test_the_same_tensor_twice(partition):
    def make():
        x = leaf(X)
        return [x], (x, x)

    check(lambda a, b: a * b, make, partition)

    def plain_twice():
        x = copied(X)
        return [], (x, x)

    recorder = check(lambda a, b: (a.add_(1), b * 2), plain_twice, partition)
    assert len(recorder.graphs[0].graph.find_nodes(op="placeholder")) == 1


def test_inputs_that_share_memory(partition):
    def make():
        x = copied(X)
        return [], (x, x[0], x.t())

    check(lambda x, row, t: (row * 2, x * t.t()), make, partition)  # nothing is changed: inputs of their own
    recorder = check(lambda x, row, t: (row.add_(1), x * 2, t[:, 1:].mul_(3), t), make, partition)
    assert len(recorder.graphs[0].graph.find_nodes(op="placeholder")) == 1

    def make_computed():
        x = leaf(X)
        y = x * 1
        return [x], (y, y[0])

    check(lambda y, row: (row.mul_(3), y.sin()), make_computed, partition)

    def make_detached():
        x = copied(X)
        return [], (x[0].detach(), x[1].detach())

    check(lambda a, b: (a.add_(1), b.mul_(2)), make_detached, partition)


# -- random numbers ------------------------------------------------------------------------------------


def test_random_numbers_are_those_of_eager_mode(partition):
    def f(x, w):
        mt.rand(2)  # nobody uses these, and the stream has moved
        y = F.dropout(F.linear(x, w), 0.4)
        return y * mt.randn_like(y), mt.bernoulli(mt.full((4,), 0.5))

    recorder = check(f, leaves(X, W), partition)
    assert "rand" in recorder.names(0)
    assert "bernoulli" not in recorder.names(1)


def test_random_numbers_in_the_order_of_memory(partition):
    check(lambda x: F.dropout(x.t() * 2, 0.5) + mt.empty_like(x.t()).bernoulli_(0.5), leaves(X), partition)
    check(lambda x: (x.t().bernoulli_(0.3), x[:, ::2].uniform_()), plain(X), partition)


def test_tracing_draws_nothing(partition):
    state = mt.get_rng_state()
    aot_function(lambda x: mt.rand_like(x) * x, lambda module, _: lambda *args: (mt.zeros(3, 4), args[0]))(leaf(X))
    assert mt.equal(mt.get_rng_state(), state)


# -- the backward pass ---------------------------------------------------------------------------------


def test_backward_twice(partition):
    x = leaf(X)
    y = aot_function(lambda x: F.dropout(x.exp(), 0.5).sum(), interpret, partition_fn=PARTITIONS[partition])(x)
    (first,) = mt.autograd.grad(y, x, retain_graph=True)
    (second,) = mt.autograd.grad(y, x)
    assert mt.equal(first, second)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        mt.autograd.grad(y, x)


def test_second_derivatives_are_refused(partition):
    x = leaf(X)
    y = aot_function(lambda x: x.exp().sum(), nop, partition_fn=PARTITIONS[partition])(x)
    (g,) = mt.autograd.grad(y, x, create_graph=True)
    mt.testing.assert_close(g, x.exp())
    assert g.requires_grad
    with pytest.raises(RuntimeError, match="does not support double backward"):
        g.sum().backward()


def test_outputs_without_a_gradient_of_theirs(partition):
    x, other = leaf(X), leaf(X)

    def f(x):
        return x.sin(), x.cos(), x.exp()

    for function, tensor in ((f, x), (aot_function(f, nop, partition_fn=PARTITIONS[partition]), other)):
        function(tensor)[1].sum().backward()
    mt.testing.assert_close(other.grad, x.grad)


def test_hooks(partition):
    x, seen = leaf(X), []
    x.register_hook(lambda g: seen.append("input") or g * 2)
    y = aot_function(lambda x: x * 3, nop, partition_fn=PARTITIONS[partition])(x)
    y.register_hook(lambda g: seen.append("output") or g + 1)
    y.retain_grad()
    y.sum().backward()
    assert seen == ["output", "input"]
    assert mt.equal(x.grad, mt.full((3, 4), 12.0))
    assert mt.equal(y.grad, mt.full((3, 4), 2.0))


def test_hooks_inside(partition):
    def f(x):
        y = x * 3
        y.register_hook(lambda g: g * 10)
        return y.sin()

    check(f, leaves(X), partition)


def test_saved_values_that_are_changed_are_noticed(partition):
    x, w = leaf(X), copied(W)
    y = aot_function(lambda x, w: F.linear(x, w), nop, partition_fn=PARTITIONS[partition])(x, w)
    w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# -- specialisations -----------------------------------------------------------------------------------


def test_what_is_compiled_again(partition):
    recorder = Recorder()
    f = aot_function(lambda x, k=1: x.sin() * k, recorder, partition_fn=PARTITIONS[partition])

    def compiles(*args, **kwargs):
        before = len(recorder.graphs)
        f(*args, **kwargs)
        return len(recorder.graphs) - before

    assert compiles(X) == 1
    assert compiles(X + 1) == 0
    assert compiles(mt.ones(2, 4)) == 1
    assert compiles(X.t()) == 1
    assert compiles(X.double()) == 1
    assert compiles(leaf(X)) == 2
    assert compiles(leaf(X)) == 0
    with mt.no_grad():
        assert compiles(leaf(X)) == 1
    assert compiles(X, 2) == 1
    assert compiles(X, k=2) == 1
    assert compiles(X, 2.0) == 1
    assert compiles(X, 2) == 0
    with mt.autocast("cpu", dtype=mt.bfloat16):
        assert compiles(X) == 1
    assert compiles(X) == 0


def test_inference_and_its_compiler(partition):
    forward, inference = Recorder(), Recorder()
    f = aot_function(
        lambda x, b: (x * 2, b.add_(1)), forward, inference_compiler=inference, keep_inference_input_mutations=True,
        partition_fn=PARTITIONS[partition],
    )  # fmt: skip
    b = copied(X)
    version = b._version
    with mt.no_grad():
        y, same = f(leaf(X), b)
    assert same is b
    assert mt.equal(b, X + 1)
    assert not y.requires_grad
    assert b._version == version + 1
    assert not forward.graphs
    assert inference.names(0) == ["mul", "add", "copy_"]
    f(leaf(X), copied(X))
    assert len(forward.graphs) == 2
    assert len(inference.graphs) == 1


def test_compilers_get_examples(partition):
    seen = []

    def forward(module, examples):
        seen.append(examples)
        return make_boxed_func(module)

    def backward(module, examples):
        seen.append(examples)
        return module

    f = aot_function(lambda x, w: F.linear(x, w).sum(), forward, backward, PARTITIONS[partition])
    f(leaf(X), leaf(W)).backward()
    assert [tuple(t.shape) for t in seen[0]] == [(3, 4), (5, 4)]
    assert tuple(seen[1][-1].shape) == ()
    assert all(type(t).__name__ == "FakeTensor" for group in seen for t in group)


def test_boxed_compilers(partition):
    compiler = make_boxed_compiler(nop)
    assert mt.equal(aot_function(lambda x: x.sin(), compiler)(X), X.sin())


def test_print_compile(partition, capsys):
    aot_function(lambda x: x.sin(), print_compile)(X)
    assert "torch.ops.aten.sin.default(arg0_1)" in capsys.readouterr().out


def test_autocast_around(partition):
    def f(x, w):
        return F.linear(x, w).float().sum()

    def run(function):
        x, w = leaf(X), leaf(W)
        with mt.autocast("cpu", dtype=mt.bfloat16):
            y = function(x, w)
        y.backward()
        return y, x.grad, w.grad

    recorder = Recorder()
    expected = run(f)
    for one, other in zip(run(aot_function(f, recorder, partition_fn=PARTITIONS[partition])), expected, strict=True):
        mt.testing.assert_close(one, other)
    assert recorder.names(0).count("_to_copy") == 3


def test_decompositions(partition):
    from minitorch._decomp import get_decompositions

    aten = mt.ops.aten
    table = get_decompositions([aten.gelu, aten.gelu_backward, aten._log_softmax, aten._log_softmax_backward_data])
    recorder = check(mlp, leaves(X, W), partition, decompositions=table)
    assert not {"gelu", "gelu_backward", "_log_softmax"} & {*recorder.names(0), *recorder.names(1)}


# -- functions and operators of the user's ---------------------------------------------------------------


def test_functions_with_a_backward_of_their_own(partition):
    class Clip(mt.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad.clamp(-0.1, 0.1) * x

    check(lambda x: Clip.apply(x.sin()).cos(), leaves(X), partition)


@pytest.fixture
def custom_operators():
    @mt.library.custom_op("aot_tests::cube", mutates_args=())
    def cube(x: mt.Tensor) -> mt.Tensor:
        return x * x * x

    cube.register_fake(mt.empty_like)
    cube.register_autograd(
        lambda ctx, grad: 3 * ctx.saved_tensors[0] ** 2 * grad,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )

    @mt.library.custom_op("aot_tests::scale_", mutates_args=("x",))
    def scale_(x: mt.Tensor, factor: float) -> None:
        x.mul_(factor)

    scale_.register_fake(lambda x, factor: None)

    @mt.library.custom_op("aot_tests::accumulate", mutates_args=("total",))
    def accumulate(total: mt.Tensor, x: mt.Tensor) -> mt.Tensor:
        total.add_(x)
        return x * 2

    accumulate.register_fake(lambda total, x: mt.empty_like(x))
    yield
    for definition in (cube, scale_, accumulate):
        definition._lib._destroy()


def test_custom_operators(partition, custom_operators):
    ops = mt.ops.aot_tests
    recorder = check(lambda x: ops.cube(x.sin()).sum(), leaves(X), partition)
    assert "cube" in recorder.names(0)
    assert "cube" not in recorder.names(1)


def test_custom_operators_that_change_arguments(partition, custom_operators):
    ops = mt.ops.aot_tests

    def f(x, total):
        y = x * 2
        ops.scale_(y[0].detach(), 3.0)
        doubled = ops.accumulate(total, x.detach())
        return y.sin(), doubled, total

    recorder = check(f, mixed(X, X + 1), partition)
    targets = [str(n.target) for n in recorder.graphs[0].graph.nodes if n.op == "call_function"]
    assert targets.count("auto_functionalized") == 2

    def twice(x):
        ops.accumulate(x, x)

    check(twice, plain(X), partition)


# -- what cannot be compiled -----------------------------------------------------------------------------


def test_tensors_that_are_no_arguments(partition):
    constant, parameter = copied(X), leaf(X)
    check(lambda x: x * constant, leaves(X), partition)
    with pytest.raises(RuntimeError, match="requires a gradient and is none of its arguments"):
        aot_function(lambda x: x * parameter, nop)(leaf(X))


def test_elements_are_refused(partition):
    from minitorch._subclasses.fake_tensor import DataDependentOutputException

    with pytest.raises(DataDependentOutputException):
        aot_function(lambda x: x * 2 if x.sum() > 0 else x, nop)(leaf(X))


def test_errors_leave_nothing_behind(partition):
    def f(x):
        raise KeyError("mine")

    compiled = aot_function(f, nop)
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            compiled(leaf(X))
    assert mt.is_grad_enabled()
    assert not compiled.cache.values().__iter__().__next__()


# -- symbolic sizes ----------------------------------------------------------------------------------------


def test_symbolic_sizes_serve_several(partition):
    pytest.importorskip("sympy")
    recorder = Recorder()

    def f(x, w):
        y = F.gelu(F.linear(x, w))
        return y.mean(), x.view(-1), y.flatten() * x.shape[0], x.shape[0], y[1:]

    compiled = aot_function(f, recorder, partition_fn=PARTITIONS[partition], dynamic=True)
    for rows in (3, 7, 4):
        x, w, v = mt.arange(rows * 4.0).sin().reshape(rows, 4), leaf(W), leaf(W)
        ours, theirs = compiled(x, w), f(x, v)
        for one, other in zip(ours, theirs, strict=True):
            mt.testing.assert_close(one, other)
        (ours[0] + ours[2].sum()).backward()
        (theirs[0] + theirs[2].sum()).backward()
        mt.testing.assert_close(w.grad, v.grad)
    assert len(recorder.graphs) == 2
    compiled(mt.ones(1, 4), leaf(W))  # 1 is no symbol
    assert len(recorder.graphs) == 4
