"""The backward engine: order, ownership of gradients, depth, threads, reentrancy, and what it leaves behind."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import minitorch as mt
from minitorch.autograd import Function
from minitorch.autograd.variable import Variable


def leaf(*values, dtype=mt.float32):
    return mt.tensor(list(values) if len(values) > 1 else values[0], dtype=dtype, requires_grad=True)


# -- the ways in -----------------------------------------------------------------------


def test_backward_adds_to_grad():
    x = leaf(1.0, 2.0)
    (x * 3).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [5.0, 7.0]


def test_gradients_of_a_tensor_used_twice_are_summed():
    x = leaf(2.0)
    y = x * 3
    (y * y + y * x).backward()
    assert x.grad.item() == pytest.approx(2 * 9 * 2 + 2 * 3 * 2)


def test_grad_leaves_grad_alone():
    x = leaf(3.0)
    (found,) = mt.autograd.grad(x * x, x)
    assert found.item() == 6.0
    assert x.grad is None


def test_second_derivative():
    x = leaf(2.0, dtype=mt.float64)
    y = x * x * x
    (first,) = mt.autograd.grad(y, x, create_graph=True)
    (second,) = mt.autograd.grad(first, x, create_graph=True)
    (third,) = mt.autograd.grad(second, x)
    assert (first.item(), second.item(), third.item()) == (12.0, 12.0, 6.0)


def test_backward_into_inputs_leaves_other_leaves_alone():
    x, w = leaf(2.0), leaf(3.0)
    y = x * w
    (y * y).backward(inputs=[w, y])
    assert x.grad is None
    assert (w.grad.item(), y.grad.item()) == (24.0, 12.0)
    assert y.retains_grad


def test_only_nodes_towards_the_inputs_run():
    x, w = leaf(2.0), leaf(3.0)
    ran = []
    a, b = x * 2, w * 2
    a.register_hook(lambda g: ran.append("a"))
    b.register_hook(lambda g: ran.append("b"))
    mt.autograd.grad((a + b), x)
    assert ran == ["a"]


def test_batched_gradients():
    x = leaf(1.0, 2.0)
    (rows,) = mt.autograd.grad(x * x, x, mt.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]


def test_a_batch_of_gradients_where_an_input_is_unused():
    x, other = (mt.ones(2, requires_grad=True) for _ in range(2))
    unused, rows = mt.autograd.grad(x * 2, (other, x), mt.eye(2), is_grads_batched=True, allow_unused=True)
    assert unused is None
    assert rows.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    with pytest.raises(RuntimeError, match="index 0 appears to not have been used"):
        mt.autograd.grad(x * 2, (other, x), mt.eye(2), is_grads_batched=True)


def test_gradient_edges_stand_for_tensors():
    x = leaf(2.0)
    y = x * 3
    edge = mt.autograd.graph.get_gradient_edge(y)
    z = y * y
    assert mt.autograd.grad(z, edge, retain_graph=True)[0].item() == 12.0
    assert mt.autograd.grad(edge, x, mt.tensor(1.0), retain_graph=True)[0].item() == 3.0
    assert mt.autograd.grad(z, mt.autograd.graph.get_gradient_edge(x))[0].item() == 36.0


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: mt.ones(()).backward(), RuntimeError, "element 0 of tensors does not require grad"),
        (lambda x: (x * 2).backward(), RuntimeError, "only for scalar outputs"),
        (lambda x: (x * 2).backward(mt.ones(3)), RuntimeError, "Mismatch in shape: grad_output"),
        (lambda x: (x * 2).backward(3), TypeError, "gradients can be either Tensors or None"),
        (lambda x: x.sum().backward(inputs=[]), RuntimeError, "cannot be empty"),
        (lambda x: mt.autograd.backward([x.sum(), x.sum()], [mt.ones(())]), RuntimeError, "2 tensors and 1 gradients"),
        (lambda x: mt.autograd.grad(x.sum(), mt.ones(2)), RuntimeError, "does not require grad"),
        (lambda x: mt.autograd.grad(x.sum(), leaf(1.0)), RuntimeError, "appears to not have been used"),
        (lambda x: mt.autograd.grad(x.sum(), []), ValueError, "non-empty inputs"),
        (lambda x: (x[0] * (1 + 1j)).backward(), RuntimeError, "real scalar outputs"),
    ],
)
def test_wrong_calls_are_refused(call, error, text):
    with pytest.raises(error, match=text):
        call(leaf(1.0, 2.0))


def test_saved_tensors_are_freed_by_backward():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


# -- who owns a gradient ---------------------------------------------------------------


def shares_memory(a, b):
    return np.shares_memory(a.handle, b.handle)


def last_gradient(function, parameter):
    """Return the address of the gradient that the last operator of a backward pass made, and ``.grad``'s."""
    made = []

    class Watch(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            result = grad * 2
            made.append(result.data_ptr())
            return result

    function(Watch.apply(parameter)).backward()
    return made[0], parameter.grad.data_ptr()


def test_gradient_of_a_leaf_is_not_copied():
    made, kept = last_gradient(lambda p: (p * 3).sum(), mt.ones(1000, requires_grad=True))
    assert made == kept


def test_gradient_that_somebody_else_holds_is_copied():
    p = mt.ones(1000, requires_grad=True)
    seen = []
    p.register_hook(seen.append)
    (p * 3).sum().backward()
    assert not shares_memory(seen[0], p.grad)


def test_gradient_whose_array_somebody_else_holds_is_copied():
    p = mt.ones(1000, requires_grad=True)
    seen = []
    p.register_hook(lambda g: seen.append(g.numpy()))
    (p * 3).sum().backward()
    assert not np.shares_memory(seen[0], p.grad.handle)


@pytest.mark.parametrize(
    "combine",
    [
        lambda p, q: p + q,
        lambda p, q: p.view(10, 10) + q.view(10, 10),
        lambda p, q: mt.cat([p, q]),
        lambda p, q: p.expand(3, 100) + q,
        lambda p, q: p.clone() - q.neg(),
        lambda p, q: mt.stack([p, q]),
        lambda p, q: p.view_as(p) + q.reshape(100),
    ],
)
def test_two_leaves_never_share_a_gradient(combine):
    p, q = mt.ones(100, requires_grad=True), mt.ones(100, requires_grad=True)
    out = combine(p, q)
    start = mt.ones(out.shape)
    out.backward(start)
    assert not shares_memory(p.grad, q.grad)
    assert not shares_memory(p.grad, start)
    assert not shares_memory(q.grad, start)
    p.grad.zero_()
    assert q.grad.abs().sum().item() > 0


def test_a_gradient_given_to_backward_is_not_kept():
    p, start = mt.ones(5, requires_grad=True), mt.ones(5)
    p.backward(start)
    assert not shares_memory(p.grad, start)


def test_retained_gradient_is_nobody_elses():
    p = mt.ones(5, requires_grad=True)
    y = p.view(5)
    y.retain_grad()
    y.backward(mt.ones(5))
    assert not shares_memory(y.grad, p.grad)


def test_gradient_has_the_strides_of_its_leaf():
    p = mt.ones(2, 3).t().requires_grad_()
    (p * 2).sum().backward()
    assert p.grad.stride() == (1, 3)
    q = mt.ones(2, 3, requires_grad=True)
    (q.t() * mt.ones(3, 2)).sum().backward()
    assert q.grad.stride() == (3, 1)


def test_meta_tensors_have_gradients():
    p = mt.ones(2, 3, device="meta", requires_grad=True)
    (p * p).sum().backward()
    assert (p.grad.shape, p.grad.device.type) == ((2, 3), "meta")


# -- order and repetition --------------------------------------------------------------


def test_repeated_runs_give_the_same_bits():
    mt.manual_seed(0)
    w1, w2 = mt.randn(17, 31, requires_grad=True), mt.randn(31, 13, requires_grad=True)
    x = mt.randn(5, 17)

    def run():
        w1.grad = w2.grad = None
        h = (x @ w1).tanh()
        (h @ w2 + h.sum(1, keepdim=True) * 0.1).exp().mean().backward()
        return w1.grad.handle.tobytes(), w2.grad.handle.tobytes()

    assert len({run() for _ in range(5)}) == 1


def test_later_nodes_run_first():
    x = leaf(1.0)
    order = []
    a, b = x * 2, x * 3
    for name, tensor in (("a", a), ("b", b)):
        tensor.grad_fn.register_prehook(lambda grads, name=name: order.append(name))
    (a + b).backward()
    assert order == ["b", "a"]


def test_a_node_waits_for_all_its_gradients():
    x = leaf(1.0)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.item()))
    z = y * 3
    (z + y + z.exp() * 0).backward()
    assert seen == [4.0]


# -- depth -----------------------------------------------------------------------------


def chain(x, length):
    for _ in range(length):
        x = x + 1
    return x


def test_long_chain_runs_and_is_freed_without_recursion():
    x = leaf(1.0)
    y = chain(x, 200_000)
    y.backward()
    assert x.grad.item() == 1.0
    del y
    unused = chain(x, 200_000)
    del unused


@pytest.mark.slow
def test_chain_of_a_million_nodes_takes_linear_time():
    x = leaf(1.0)
    gc.disable()
    try:
        short = chain(x, 100_000)
        started = time.perf_counter()
        short.backward()
        one = time.perf_counter() - started
        long = chain(x, 1_000_000)
        started = time.perf_counter()
        long.backward()
        assert time.perf_counter() - started < 40 * one
        del long
    finally:
        gc.enable()
    assert x.grad.item() == 2.0


def test_wide_graph():
    x = leaf(1.0)
    parts = [x * i for i in range(2000)]
    mt.stack(parts).sum().backward()
    assert x.grad.item() == sum(range(2000))


# -- threads ---------------------------------------------------------------------------


def run_in_threads(work, count=4):
    errors = []

    def guarded(i):
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []


def test_threads_add_to_one_leaf():
    x = mt.ones(3, requires_grad=True)

    def work(_):
        for _ in range(50):
            (x * 2).sum().backward()

    run_in_threads(work)
    assert x.grad.tolist() == [400.0] * 3


def test_threads_run_backward_through_one_graph():
    x = mt.ones(3, requires_grad=True)
    y = (x * x).sum()
    run_in_threads(lambda _: y.backward(retain_graph=True))
    assert x.grad.tolist() == [8.0] * 3


def test_grad_mode_is_per_thread():
    seen = []
    with mt.no_grad():
        run_in_threads(lambda _: seen.append(mt.is_grad_enabled()), 1)
    assert seen == [True]


def test_multithreading_setting_is_remembered():
    assert mt.autograd.is_multithreading_enabled()
    with mt.autograd.set_multithreading_enabled(False):
        assert not mt.autograd.is_multithreading_enabled()
    assert mt.autograd.is_multithreading_enabled()


# -- backward inside backward ----------------------------------------------------------


def test_backward_in_a_hook():
    x, y = leaf(1.0), leaf(2.0)

    def inner(grad):
        with mt.enable_grad():
            (y * y).backward()

    x.register_hook(inner)
    (x * 3).backward()
    assert (x.grad.item(), y.grad.item()) == (3.0, 4.0)


class Reenter(Function):
    """``x -> x``, computed again in backward, ``depth`` levels deep."""

    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        ctx.save_for_backward(x)
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        if ctx.depth == 0:
            return grad, None
        (x,) = ctx.saved_tensors
        with mt.enable_grad():
            x = x.detach().requires_grad_()
            Reenter.apply(x, ctx.depth - 1).backward(grad)
        return x.grad, None


@pytest.mark.parametrize("depth", [1, 500])
def test_backward_in_backward(depth):
    x = leaf(2.0)
    Reenter.apply(x, depth).backward(mt.tensor(3.0))
    assert x.grad.item() == 3.0


def test_grad_mode_follows_create_graph_inside_backward():
    modes = []

    class Mode(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            modes.append(mt.is_grad_enabled())
            return grad

    x = leaf(1.0)
    y = Mode.apply(x)
    y.backward(retain_graph=True)
    y.backward(create_graph=True)
    with mt.no_grad():
        y.backward()
    assert modes == [False, True, False]
    assert mt.is_grad_enabled()


def test_callbacks_run_when_the_pass_is_complete():
    x = leaf(1.0)
    order = []

    def hook(grad):
        Variable._execution_engine.queue_callback(lambda: order.append(x.grad.item()))
        order.append("hook")

    x.register_hook(hook)
    (x * 5).backward()
    assert order == ["hook", 5.0]
    with pytest.raises(RuntimeError, match="during backward"):
        Variable._execution_engine.queue_callback(print)


# -- errors ----------------------------------------------------------------------------


class Fail(Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("no gradient today")


def test_an_error_in_backward_leaves_everything_usable():
    x = leaf(1.0, 2.0)
    with mt.no_grad():
        pass
    with pytest.raises(ValueError, match="no gradient today"):
        (Fail.apply(x) * 2).sum().backward()
    assert x.grad is None
    assert mt.is_grad_enabled()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_error_deep_inside_nested_passes_comes_out():
    class Deep(Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.depth = depth
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            with mt.enable_grad():
                x = mt.ones(1, requires_grad=True)
                (Deep.apply(x, ctx.depth - 1) if ctx.depth else Fail.apply(x)).sum().backward()
            return grad, None

    with pytest.raises(ValueError, match="no gradient today"):
        Deep.apply(leaf(1.0), 60).backward()


# -- memory ----------------------------------------------------------------------------


@pytest.fixture
def no_collector():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def build(kind):
    """Return a graph's result, and weak references to tensors that only the graph holds."""
    x = mt.ones(3, requires_grad=True)
    a = x * 2
    refs = [weakref.ref(a), weakref.ref(x)]
    if kind == "saved inputs":
        out = (a * a).sum()
    elif kind == "saved outputs":
        b = a.exp()
        c = b.tanh().sigmoid()
        refs += [weakref.ref(b), weakref.ref(c)]
        out = c.sum()
    elif kind == "views":
        b = a.view(3, 1).t()[0]
        refs.append(weakref.ref(b))
        out = b.sum()
    elif kind == "changed in place":
        a.mul_(3)
        a.exp_()
        out = a.sum()
    elif kind == "changed views":
        v = a[1:]
        v.mul_(x[:2])
        v.exp_()
        refs.append(weakref.ref(v))
        out = a.sum()
    elif kind == "several outputs":
        values, indices = (a * 1).max(0)
        parts = a.unbind(0)
        refs += [weakref.ref(values), weakref.ref(indices), weakref.ref(parts[0])]
        out = values + parts[0]
    elif kind == "hooks":
        a.register_hook(lambda g: g * 2)
        a.retain_grad()
        x.register_hook(lambda g: g)
        out = a.sum()
    elif kind == "edges":
        refs.append(weakref.ref((a * 3).grad_fn.next_functions[0][0]))
        out = a.sum()
        refs.append(weakref.ref(a.grad_fn.next_functions[0][0]))
    else:
        b = Pair.apply(a)[0]
        refs.append(weakref.ref(b))
        out = b.sum()
    refs += [weakref.ref(out), weakref.ref(out.grad_fn)]
    return out, refs


class Pair(Function):
    @staticmethod
    def forward(ctx, x):
        y, z = x.exp(), x * 2
        ctx.save_for_backward(x, y, z)
        ctx.mark_non_differentiable(z)
        return y, z

    @staticmethod
    def backward(ctx, grad, _):
        x, y, z = ctx.saved_tensors
        return grad * y


KINDS = [
    "saved inputs", "saved outputs", "views", "changed in place", "changed views", "several outputs", "hooks", "edges",
    "function",
]


@pytest.mark.parametrize("kind", KINDS)
def test_dropping_a_graph_frees_it_at_once(no_collector, kind):
    out, refs = build(kind)
    del out
    assert [r() for r in refs] == [None] * len(refs)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_after_backward(no_collector, kind):
    out, refs = build(kind)
    out.backward()
    del out
    assert [r() for r in refs] == [None] * len(refs)


def test_function_without_recording_leaves_nothing(no_collector):
    x = mt.ones(3)
    out = Pair.apply(x)
    refs = [weakref.ref(x), weakref.ref(out[0])]
    del x, out
    assert [r() for r in refs] == [None, None]


def test_backward_frees_saved_tensors_as_it_goes(no_collector):
    x = mt.ones(3, requires_grad=True)
    a = x * 2
    b = a * a
    ref = weakref.ref(a)
    freed = []
    x.register_hook(lambda g: freed.append(ref() is None))
    out = b.sum()
    del a, b
    out.backward()
    assert freed == [True]


def test_failed_backward_leaves_no_gradients_behind(no_collector):
    x = mt.ones(3, requires_grad=True)
    refs = []

    def watch(grad):
        refs.append(weakref.ref(grad))

    y = Fail.apply(x)
    y.register_hook(watch)
    try:
        (y * 2).sum().backward()
    except ValueError:
        pass
    assert refs[0]() is None


def test_a_thread_that_ends_takes_its_state_along():
    code = (
        "import threading, minitorch as mt\n"
        "def work():\n"
        "    x = mt.ones(2, requires_grad=True); (x * x).sum().backward(); assert x.grad.tolist() == [2, 2]\n"
        "for _ in range(20):\n"
        "    t = threading.Thread(target=work); t.start(); t.join()\n"
        "print('done')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
