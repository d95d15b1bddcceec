"""`vmap` itself: its arguments, levels, and what it refuses (spec V1 to V8)."""

from __future__ import annotations

import warnings
from collections import namedtuple

import pytest

import minitorch as mt
from minitorch import Tensor
from minitorch.dispatch.transforms import current_interpreter, interpreter_stack
from minitorch.func import (
    get_vmap_fallback_policy,
    grad,
    vmap,
    vmap_fallback_policy,
    vmap_fallbacks,
)
from minitorch.library import Library
from minitorch.testing import assert_close

Point = namedtuple("Point", ["x", "y"])


@pytest.fixture
def library():
    """Make libraries of the namespace `mapped`; what they registered is gone after the test."""
    made = []

    def make(kind="FRAGMENT"):
        made.append(Library("mapped", kind))
        return made[-1]

    yield make
    for lib in made:
        lib._destroy()


def numbers(*shape):
    return mt.arange(float(mt.Size(shape).numel())).reshape(shape)


# -- V1, V2: levels


def test_a_level_is_one_above_the_stack():
    levels = []

    def inner(x):
        levels.append((current_interpreter().level, x.shape))
        return x

    def outer(x):
        levels.append((current_interpreter().level, x.shape))
        return vmap(inner)(x)

    assert interpreter_stack() == ()
    result = vmap(outer)(numbers(2, 3, 4))
    assert levels == [(1, (3, 4)), (2, (4,))]
    assert interpreter_stack() == ()
    assert_close(result, numbers(2, 3, 4))


def test_what_a_batched_tensor_looks_like():
    seen = []

    def look(x):
        seen.append((x.shape, x.stride(), x.dtype, x.device, x.numel(), x.is_contiguous(), repr(x)))
        return x

    vmap(look, in_dims=1)(numbers(2, 3).to(mt.float64))
    ((shape, stride, dtype, device, numel, _, text),) = seen
    assert (shape, stride, dtype, device, numel) == ((2,), (3,), mt.float64, mt.device("cpu"), 2)
    assert text.startswith("BatchedTensor(lvl=1, bdim=1, value=\n    tensor(")


def test_rules_see_the_innermost_level_alone(library):
    lib = library()
    lib.define("seen(Tensor x, Tensor y) -> Tensor")
    calls = []

    def rule(info, in_dims, x, y):
        calls.append((info.batch_size, in_dims, x.shape, y.shape, len(interpreter_stack())))
        return x.clone(), in_dims[0]

    mt.library.register_vmap("mapped::seen", rule, lib=lib)
    lib.impl("seen", lambda x, y: x.clone(), "CompositeExplicitAutograd")
    op = mt.ops.mapped.seen
    vmap(lambda a: vmap(lambda b: op(b, a))(numbers(4, 2)))(numbers(3, 2))
    # Level 2 sees `a` as it is batched at level 1; level 1 sees what the rule of level 2 did.
    assert calls == [(4, (0, None), (4, 2), (2,), 1)]
    calls.clear()
    vmap(lambda a: vmap(lambda b: op(a, b))(numbers(4, 2)))(numbers(3, 2))
    assert [c[:2] for c in calls] == [(4, (None, 0))]


def test_a_tensor_of_an_outer_level_is_not_batched_in_the_inner_one():
    result = vmap(lambda a: vmap(lambda b: a)(numbers(4)))(numbers(3))
    assert_close(result, numbers(3).unsqueeze(1).expand(3, 4))


def test_nested_maps_are_a_table():
    x, y = numbers(3), numbers(4) + 1
    table = vmap(lambda a: vmap(lambda b: a / b)(y))(x)
    assert_close(table, x[:, None] / y)
    assert_close(vmap(vmap(mt.mul, (None, 0)), (0, None))(x, y), x[:, None] * y)


# -- V3: arguments


def test_in_dims_and_out_dims():
    x = numbers(2, 3, 4)
    for i in (-3, -2, -1, 0, 1, 2):
        for o in (-3, -2, -1, 0, 1, 2):
            expected = mt.stack([s.sin() for s in x.unbind(i)], o)
            assert_close(vmap(mt.sin, in_dims=i, out_dims=o)(x), expected)


def test_structures_of_arguments_and_results():
    def f(pair, d, scale=1.0):
        return {"sum": pair[0] + d["a"][0], "rest": [Point(pair[1] * scale, d["a"][1])]}

    pair, d = (numbers(3, 2), numbers(3)), {"a": [numbers(2, 3), mt.ones(5)]}
    result = vmap(f, in_dims=((0, 0), {"a": [1, None]}), out_dims={"sum": 1, "rest": [Point(0, 0)]})(pair, d, scale=2.0)
    assert result["sum"].shape == (2, 3)
    assert_close(result["sum"], (pair[0] + d["a"][0].t()).t())
    assert_close(result["rest"][0].x, pair[1] * 2)
    assert_close(result["rest"][0].y, mt.ones(3, 5))
    # One number holds for all of a container.
    result = vmap(f, in_dims=(0, None))(pair, {"a": [mt.ones(2), mt.ones(5)]})
    assert result["sum"].shape == (3, 2)


def test_a_result_that_is_not_batched_is_repeated():
    assert_close(vmap(lambda x: mt.ones(2))(numbers(3)), mt.ones(3, 2))
    assert_close(vmap(lambda x: mt.ones(2), out_dims=1)(numbers(3)), mt.ones(2, 3))


def test_out_dims_none():
    fixed = mt.ones(2)
    x, y = vmap(lambda x: (x, fixed), out_dims=(0, None))(numbers(3))
    assert y is fixed
    assert x.shape == (3,)
    with pytest.raises(ValueError, match="can not return a BatchedTensor when out_dim is None"):
        vmap(lambda x: x, out_dims=None)(numbers(3))
    assert vmap(lambda x: 3, out_dims=None)(numbers(3)) == 3
    x, *rest = vmap(lambda x: (x, 3, "a", None), out_dims=(0, None, None, None))(numbers(3))
    assert rest == [3, "a", None]
    assert_close(x, numbers(3))


def test_keyword_arguments_are_the_same_for_all():
    shapes = []

    def f(x, y):
        shapes.append(y.shape)
        return x + y.sum()

    assert_close(vmap(f)(numbers(3), y=mt.ones(3)), numbers(3) + 3)
    assert shapes == [(3,)]


@pytest.mark.parametrize(
    ("in_dims", "args", "text"),
    [
        ("0", (mt.ones(2),), "expected `in_dims` to be int or a"),
        (None, (mt.ones(2),), "expected `in_dims` to be int or a"),
        ((0,), (mt.ones(2), mt.ones(2)), "in_dims is not compatible with the structure of `inputs`"),
        ((0, "a"), (mt.ones(2), mt.ones(2)), "in_dim must be either"),
        ((0, 0), (mt.ones(2), 3), "We cannot vmap over non-Tensor arguments"),
        (1, (mt.ones(2),), "satisfy -1 <= in_dim < 1"),
        (-2, (mt.ones(2),), "satisfy -1 <= in_dim < 1"),
        (0, (mt.ones(()),), "dimensionality 0"),
        ((0, 0), (mt.ones(2), mt.ones(3)), "same size in the mapped dimension, got sizes"),
        ((None,), (mt.ones(2),), "at least one Tensor to vmap over"),
        (0, (), "got no inputs"),
    ],
)
def test_wrong_arguments(in_dims, args, text):
    with pytest.raises(ValueError, match=text):
        vmap(lambda *a: a[0], in_dims)(*args)
    assert interpreter_stack() == ()


@pytest.mark.parametrize(
    ("f", "out_dims", "text"),
    [
        (lambda x: 3.0, 0, "must only return Tensors"),
        (lambda x: (x, "a"), 0, "must only return Tensors"),
        (lambda x: (x, None), 0, "must only return Tensors"),
        (lambda x: (x, x), (0,), "out_dims is not compatible with the structure of `outputs`"),
        (lambda x: x, "a", "`out_dims` must be an int, None"),
        (lambda x: (x, x), {"a": 0}, "out_dims is not compatible"),
    ],
)
def test_wrong_results(f, out_dims, text):
    with pytest.raises(ValueError, match=text):
        vmap(f, out_dims=out_dims)(mt.ones(2))


def test_an_out_dim_that_does_not_exist():
    with pytest.raises(IndexError, match="Dimension out of range"):
        vmap(lambda x: x, out_dims=2)(mt.ones(2, 2))


def test_the_wrapped_function_keeps_its_name():
    def named(x):
        """Says what it does."""
        return x

    assert vmap(named).__name__ == "named"
    assert vmap(named).__doc__ == "Says what it does."


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5, 7])
def test_chunks(chunk_size):
    sizes = []

    def f(x, y):
        sizes.append(current_interpreter().batch_size)
        return x * y, {"a": x.sum()}

    x, y = numbers(5, 2), mt.ones(2)
    a, rest = vmap(f, in_dims=(0, None), out_dims=(1, 0), chunk_size=chunk_size)(x, y)
    assert sum(sizes) == 5
    assert max(sizes) == min(chunk_size, 5)
    assert_close(a, x.t())
    assert_close(rest["a"], x.sum(1))


def test_wrong_options():
    with pytest.raises(ValueError, match="chunk_size"):
        vmap(mt.sin, chunk_size=0)
    with pytest.raises(RuntimeError, match="randomness"):
        vmap(mt.sin, randomness="some")


def test_batches_of_none_and_one():
    for n in (0, 1):
        x = mt.ones(n, 3)
        assert vmap(lambda a: (a * 2).sum())(x).shape == (n,)
        assert vmap(lambda a: a @ a)(x).shape == (n,)


def test_an_error_inside_leaves_the_stack():
    def fail(x):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        vmap(fail)(mt.ones(2))
    assert interpreter_stack() == ()


# -- V4 to V6: rules, decompositions, loops


def test_a_composite_runs_as_its_parts_and_a_custom_one_in_a_loop(library):
    lib = library()
    lib.define("implicit(Tensor x) -> Tensor")
    shapes = []

    def body(x):
        shapes.append(x.shape)
        return x * 2

    lib.impl("implicit", body, "CompositeImplicitAutograd")
    with pytest.warns(UserWarning, match="performance drop.*mapped::implicit"):
        assert_close(vmap(mt.ops.mapped.implicit)(numbers(3, 2)), numbers(3, 2) * 2)
    assert shapes == [(2,)] * 3
    shapes.clear()
    lib.impl("implicit", body, "FuncTorchBatchedDecomposition")
    assert_close(vmap(mt.ops.mapped.implicit)(numbers(3, 2)), numbers(3, 2) * 2)
    assert shapes == [(2,)]


def test_the_loop_stacks_each_return_and_says_so(library):
    lib = library()
    lib.define("two(Tensor x, Tensor? y, float s) -> (Tensor, Tensor)")
    lib.impl("two", lambda x, y, s: (x * s, x.sum() if y is None else y), "CPU")
    op = mt.ops.mapped.two
    x = numbers(2, 3)
    for _ in range(2):  # each time
        with pytest.warns(UserWarning, match="performance drop"):
            a, b = vmap(lambda v: op(v, None, 2.0), in_dims=1)(x)
    assert_close(a, x.t() * 2)
    assert_close(b, x.sum(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_close(vmap(lambda v: op(mt.ones(2), mt.ones(2), 2.0)[0] + v)(mt.zeros(3, 2)), mt.full((3, 2), 2.0))


def test_policies_of_the_loop(library):
    lib = library()
    lib.define("looped(Tensor x) -> Tensor")
    lib.impl("looped", lambda x: x * 2, "CPU")
    assert get_vmap_fallback_policy() == "warn"
    with vmap_fallback_policy("error"):
        assert get_vmap_fallback_policy() == "error"
        with pytest.raises(RuntimeError, match="vmap has no batching rule for mapped::looped"):
            vmap(mt.ops.mapped.looped)(mt.ones(2))
    with vmap_fallback_policy("allow"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_close(vmap(mt.ops.mapped.looped)(mt.ones(2)), mt.full((2,), 2.0))
    assert get_vmap_fallback_policy() == "warn"
    with pytest.raises(ValueError, match="vmap_fallback_policy"):
        vmap_fallback_policy("sometimes")


def test_what_no_loop_can_be_made_of(library):
    lib = library()
    lib.define("number(Tensor x) -> int")
    lib.define("listed(Tensor[] xs) -> Tensor")
    lib.define("optional(Tensor?[] xs) -> Tensor")
    lib.define("nothing(Tensor x) -> ()")
    lib.define("written(Tensor x, Tensor(a!) y) -> Tensor")
    lib.define("into(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    lib.define("shown(Tensor(a) x) -> Tensor(a)")
    ops = mt.ops.mapped
    x = mt.ones(3)
    for call in (
        lambda v: ops.number(v),
        lambda v: ops.listed([v]),
        lambda v: ops.optional([None, v]),
    ):
        with pytest.raises(RuntimeError, match="Batching rule not implemented for .* We could not generate a fallback"):
            vmap(call)(x)
    # The first check comes first: also where nothing is batched.
    with pytest.raises(RuntimeError, match="We could not generate a fallback"):
        vmap(lambda v: vmap(lambda w: ops.listed([v]))(x))(x)
    for call in (lambda v: ops.written(v, v), lambda v: ops.into(v, out=v), lambda v: ops.shown(v)):
        with pytest.raises(RuntimeError, match="out= or view ops"):
            vmap(call)(x)
    with pytest.raises(RuntimeError, match="no returns"):
        vmap(lambda v: ops.nothing(v))(x)


def test_the_loop_writes_in_place(library):
    lib = library()
    lib.define("twice_(Tensor(a!) x, Tensor y) -> Tensor(a!)")
    lib.impl("twice_", lambda x, y: x.mul_(2).add_(y), "CPU")
    op = mt.ops.mapped.twice_
    x = mt.ones(2, 3)
    with pytest.warns(UserWarning, match="performance drop"):
        result = vmap(lambda v: op(v, mt.ones(())), in_dims=1, out_dims=1)(x)
    assert_close(result, mt.full((2, 3), 3.0))
    assert_close(x, mt.full((2, 3), 3.0))
    captured = mt.ones(())
    with pytest.raises(RuntimeError, match="not possible"):
        vmap(lambda v: op(captured, v))(mt.ones(3))
    assert captured.item() == 1.0


def test_the_loop_refuses_no_examples(library):
    lib = library()
    lib.define("empty_batch(Tensor x) -> Tensor")
    lib.impl("empty_batch", lambda x: x * 2, "CPU")
    with (
        vmap_fallback_policy("allow"),
        pytest.raises(RuntimeError, match="does not support vmap over dims of size 0"),
    ):
        vmap(mt.ops.mapped.empty_batch)(mt.ones(0, 2))


def test_the_list_of_loops():
    names = vmap_fallbacks()
    assert "aten::mul.Tensor" not in names
    assert "aten::convolution" not in names
    assert all(name.startswith("aten::") for name in names)


# -- V7: randomness


def test_error_is_the_default():
    with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
        vmap(lambda x: x + mt.rand(()))(mt.ones(3))
    # Also where it has nothing to do with the batch.
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(lambda x: mt.randn(2), out_dims=0)(mt.ones(3))


def test_same_and_different():
    x = mt.zeros(4)
    same = vmap(lambda v: v + mt.rand(()), randomness="same")(x)
    assert len(set(same.tolist())) == 1
    different = vmap(lambda v: v + mt.rand(()), randomness="different")(x)
    assert len(set(different.tolist())) == 4
    # A factory's result stays the same tensor for all with "same".
    drawn = []
    vmap(lambda v: (drawn.append(repr(mt.rand(2))), v)[1], randomness="same")(x)
    assert not drawn[0].startswith("BatchedTensor")


def test_dropout_in_the_three_modes():
    ones = mt.ones(3, 50)
    drop = mt.nn.functional.dropout
    with pytest.raises(RuntimeError, match="randomness error mode"):
        vmap(drop)(ones)
    same = vmap(drop, randomness="same")(ones)
    assert_close(same[0], same[1])
    different = vmap(drop, randomness="different")(ones)
    assert not mt.equal(different[0], different[1])


def test_chunks_repeat_the_same_draws():
    same = vmap(lambda v: v + mt.rand(()), randomness="same", chunk_size=2)(mt.zeros(5))
    assert len(set(same.tolist())) == 1


# -- V8: what is refused


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (lambda x: x.sum().item(), "item"),
        (lambda x: x if x.sum() > 0 else -x, "data-dependent"),
        (lambda x: float(x.sum()), "vmap"),
        (lambda x: x.nonzero(), "vmap"),
        (lambda x: mt.masked_select(x, x > 0), "vmap"),
        (lambda x: mt.unique(x), "vmap"),
        (lambda x: x.tolist(), "storage"),
        (lambda x: x.numpy(), "storage"),
        (lambda x: x.data_ptr(), "storage"),
    ],
)
def test_values_and_dynamic_shapes_are_refused(f, text):
    with pytest.raises(RuntimeError, match=text):
        vmap(f)(mt.ones(3, 2))


@pytest.mark.parametrize("name", ["add_", "mul_", "copy_", "sub_", "pow_"])
def test_in_place_on_what_is_captured(name):
    captured = mt.ones(2)
    with pytest.raises(RuntimeError, match="not possible"):
        vmap(lambda x: getattr(captured, name)(x))(mt.full((3, 2), 2.0))
    assert captured.tolist() == [1.0, 1.0]


def test_in_place_on_what_is_batched():
    x = mt.zeros(3, 2)
    view = vmap(lambda v: v.add_(1))(x)
    assert_close(x, mt.ones(3, 2))
    assert view.shape == (3, 2)
    y = mt.zeros(2, 3)
    vmap(lambda v: v[0].mul_(0).add_(5), in_dims=1)(y)
    assert_close(y, mt.tensor([[5.0] * 3, [0.0] * 3]))


def test_a_captured_tensor_may_change_by_what_is_no_batch():
    captured = mt.ones(2)
    vmap(lambda x: x + captured.add_(1))(mt.ones(3, 2))
    assert captured.tolist() == [2.0, 2.0]


# -- with the rest


def test_gradients_flow_through():
    x = numbers(3, 2).requires_grad_()
    y = vmap(lambda v: (v**2).sum())(x)
    y.sum().backward()
    assert_close(x.grad, 2 * x.detach())


def test_threads_have_their_own_stack():
    import threading

    results = {}

    def work(i):
        results[i] = vmap(grad(lambda v: (v**i).sum()))(mt.full((3, 2), 2.0))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for i in range(1, 5):
        assert_close(results[i], mt.full((3, 2), i * 2.0 ** (i - 1)))


def test_meta_tensors():
    result = vmap(lambda a, b: (a @ b).softmax(-1))(mt.empty(5, 2, 3, device="meta"), mt.empty(5, 3, 4, device="meta"))
    assert result.shape == (5, 2, 4)
    assert result.is_meta


def test_the_top_level_has_it_too():
    assert mt.vmap is vmap
    assert isinstance(mt.vmap(mt.sin)(mt.ones(2)), Tensor)


def test_a_tensor_that_has_escaped():
    kept = []
    vmap(lambda x: (kept.append(x), x)[1])(mt.ones(2))
    with pytest.raises(RuntimeError, match="add.*escaped"):
        kept[0] + 1
