"""Functional tensors: what they show, when they are right, what is refused, and the scopes (spec 6.5, F1 to F7)."""

from __future__ import annotations

import subprocess
import sys
import threading

import numpy as np
import pytest
from functional_helpers import Below, functionalized

import minitorch
from minitorch.dispatch.introspect import tls_included
from minitorch.dispatch.keys import FUNCTIONALIZE, FUNCTORCH_KEYS, PYTHON_KEYS, key_names
from minitorch.dispatch.library import Library
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.operator import OPERATORS
from minitorch.functionalize import (
    disable,
    enable,
    functionalization,
    is_functional,
    sync,
    unwrap,
    value_without_sync,
    wrap,
)
from minitorch.functionalize.inverses import INVERSES
from minitorch.functionalize.kernels import FUNCTIONAL_FORMS, MUTATING_FORMS, OutOfPlaceKernel, ViewKernel, kernel_of
from minitorch.functionalize.views import COPY_OF
from minitorch.ops.assemble import is_view
from minitorch.ops.registry import DECLARATIONS


@pytest.fixture
def library():
    lib = Library("functional_testing", "FRAGMENT")
    yield lib
    lib._destroy()


def equal(tensor, expected):
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(expected, tensor.handle.dtype))


# -- what they are (F1, F6) ---------------------------------------------------------------------------


def test_a_wrapper_mirrors_its_value():
    value = minitorch.ones(2, 3, dtype=minitorch.float64).t()
    x = wrap(value)
    assert is_functional(x)
    assert not is_functional(value)
    assert not is_functional(3)
    assert (x.shape, x.dtype, x.device, x.stride(), x.numel()) == ((3, 2), minitorch.float64, value.device, (1, 3), 6)
    assert unwrap(x) is value
    assert x.is_leaf
    assert not x.requires_grad


def test_a_wrapper_of_a_slice_knows_its_place():
    x = wrap(minitorch.arange(6.0)[2:])
    assert x.storage_offset() == 2
    with functionalization(reapply_views=True):
        y = x.as_strided((2,), (1,), 0)
    equal(unwrap(y), [0, 1])


def test_keys_of_a_wrapper():
    class Handler(minitorch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    inner = minitorch.ones(2).as_subclass(Handler)
    assert inner.key_set & PYTHON_KEYS
    x = wrap(inner)
    assert not x.key_set & (PYTHON_KEYS | FUNCTORCH_KEYS)
    assert x.key_set & FUNCTIONALIZE
    assert set(key_names(x.key_set)) >= {"CPU", "AutogradCPU", "ADInplaceOrView", "Functionalize"}


def test_aliases_share_their_storage():
    x = wrap(minitorch.ones(2, 2))
    with functionalization():
        y = x.t()
        z = x.clone()
    assert y.untyped_storage() == x.untyped_storage()
    assert z.untyped_storage() != x.untyped_storage()
    assert y._base is x


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda m: m.ones(2), "_to_functional_tensor(tensor([1., 1.]))"),
        (lambda m: m.ones(2, dtype=m.int32), "_to_functional_tensor(tensor([1, 1], dtype=torch.int32))"),
    ],
)
def test_printed(make, text):
    assert repr(minitorch._to_functional_tensor(make(minitorch))) == text


@pytest.mark.oracle
def test_printed_as_torch_does(torch):
    for m in (minitorch, torch):
        x = m._to_functional_tensor(m.ones(2)).requires_grad_()
        assert repr(x) == "_to_functional_tensor(tensor([1., 1.]), requires_grad=True)"
        assert repr(x * 2) == "_to_functional_tensor(tensor([2., 2.]), grad_fn=<MulBackward0>)"


def test_numbers_are_never_wrapped():
    x = wrap(minitorch.ones(2))
    seen, _, _ = functionalized(lambda x: x.add_(2).mul_(3.5), minitorch.ones(2))
    assert seen.names == ["add.Tensor", "mul.Tensor"]
    assert x.add(1).dtype is minitorch.float32


def test_numbers_can_be_read():
    x = wrap(minitorch.ones(1))
    y = x[0:]
    x.add_(1)
    assert (y.item(), float(y), bool(y), y.tolist(), (y > 1).all().item()) == (2.0, 2.0, True, [2.0], True)
    equal(x, [2])


# -- when values are right (F4) ---------------------------------------------------------------------------


def test_a_base_is_stale_until_it_is_synced():
    """The probe of spec 6.5: the base before and after sync, a view of it changed by 1."""
    x = minitorch._to_functional_tensor(minitorch.ones(2))
    x.view(2).add_(1)
    equal(minitorch._from_functional_tensor(x), [1, 1])
    minitorch._sync(x)
    equal(minitorch._from_functional_tensor(x), [2, 2])


def test_updates_are_applied_in_order_and_once():
    x = wrap(minitorch.zeros(3))
    a, b = x[:2], x[1:]
    a.add_(1)
    b.add_(10)
    a.mul_(2)
    storage = x.storage_cell
    assert storage.generation == 3
    assert value_without_sync(x).tolist() == [0, 0, 0]
    equal(unwrap(x), [2, 22, 10])
    assert not storage.updates
    with Below() as seen:
        sync(x)
        equal(unwrap(b), [22, 10])
    assert "slice_scatter" not in seen.names


def test_what_was_wrapped_is_never_changed():
    plain = minitorch.ones(2, 2)
    x = wrap(plain)
    x[0].zero_()
    x.t_()
    x.add_(1)
    equal(unwrap(x), [[1, 2], [1, 2]])
    equal(plain, np.ones((2, 2)))
    assert plain._version == 0


def test_changes_are_counted():
    x = wrap(minitorch.ones(4))
    y = x[1:]
    y.add_(1)
    x.zero_()
    assert (x._version, y._version) == (2, 2)


def test_strides_are_those_of_the_program():
    x = wrap(minitorch.arange(6.0).reshape(2, 3))
    with functionalization(reapply_views=False):
        y = x.t()
        y.cumsum_(0)  # what this returns out of place is row-major
        assert y.stride() == (1, 3)
        flat = x.reshape(6)  # so this is a view
        flat[0] = 9
        assert (y + 1).stride() == (1, 3)
    equal(unwrap(x), [[9, 1, 3], [3, 7, 12]])


# -- kinds of operators (F2, F3) -----------------------------------------------------------------------------


def test_factories_are_wrapped_inside_of_the_scope_only():
    assert not is_functional(minitorch.ones(2))
    plain = minitorch.ones(2)
    with functionalization():
        made = [minitorch.ones(2), minitorch.tensor([1.0]), minitorch.from_numpy(np.ones(2)), minitorch.rand(3)]
        assert all(is_functional(t) for t in made)
        assert not is_functional(plain + 1)
        assert not is_functional(plain.view(2))
        assert is_functional(plain + made[0])
    assert is_functional(made[0] + plain)


def test_a_plain_tensor_is_changed_as_ever():
    plain = minitorch.zeros(2)
    with functionalization():
        assert plain.add_(1) is plain
        plain.t_()
        plain.resize_(1)
    equal(plain, [1])


@pytest.mark.parametrize(
    "change",
    [
        lambda plain, x: plain.add_(x),
        lambda plain, x: plain.copy_(x),
        lambda plain, x: minitorch.add(x, 1, out=plain),
        lambda plain, x: minitorch.max(x, 0, out=(plain, x.long())),
    ],
)
def test_a_plain_tensor_is_not_changed_by_a_functional_one(change):
    with pytest.raises(RuntimeError, match="mutating a non-functional tensor"):
        change(minitorch.ones(2), wrap(minitorch.ones(2)))


def test_in_place_operators_keep_shape_and_dtype():
    x = wrap(minitorch.ones(1))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(minitorch.ones(4))
    with pytest.raises(RuntimeError, match="can't be cast"):
        wrap(minitorch.ones(1, dtype=minitorch.int64)).add_(1.5)
    half = wrap(minitorch.ones(2, dtype=minitorch.float16))
    half.add_(minitorch.ones(2))
    assert unwrap(half).dtype is half.dtype is minitorch.float16
    with pytest.raises(RuntimeError, match="single memory location"):
        wrap(minitorch.ones(1)).expand(3).add_(1)


@pytest.mark.parametrize(
    "view",
    [lambda x: x.unfold(0, 2, 1), lambda x: x.as_strided((2, 2), (1, 1)), lambda x: x.unfold(0, 3, 1)[0]],
)
def test_views_that_overlap_are_not_changed(view):
    x = wrap(minitorch.ones(4))
    y = view(x)
    with pytest.raises(RuntimeError, match="overlap in memory"):
        y.add_(1)
    x.add_(1)
    equal(unwrap(x), [2] * 4)
    assert (unwrap(y) == 2).all()


def test_windows_that_do_not_overlap_are_changed():
    x = wrap(minitorch.ones(2, 7))
    x.unfold(1, 2, 3).mul_(-0.0)
    equal(unwrap(x), [[-0.0, -0.0, 1, -0.0, -0.0, 1, 1]] * 2)
    assert np.signbit(unwrap(x).numpy()[0, 0])


def test_in_place_views_change_no_data():
    seen, _, (x,) = functionalized(lambda x: x.transpose_(0, 1).unsqueeze_(0), minitorch.arange(6.0).reshape(2, 3))
    assert seen.names == ["transpose.int", "unsqueeze"]
    assert x.shape == (1, 3, 2)
    assert x.storage_cell.generation == 0
    x[0, 0, 1] = 9
    equal(unwrap(x), [[[0, 9], [1, 4], [2, 5]]])


def test_out_arguments_are_written():
    out, index = wrap(minitorch.empty(0)), wrap(minitorch.empty(0, dtype=minitorch.int64))
    result = minitorch.max(wrap(minitorch.tensor([[1.0, 5.0], [3.0, 2.0]])), 0, out=(out, index))
    assert result[0] is out
    equal(unwrap(out), [3, 5])
    equal(unwrap(index), [1, 0])
    assert out._version == 1
    x = wrap(minitorch.ones(2, 2))
    minitorch.add(x[0], 1, out=x[1])
    equal(unwrap(x), [[1, 1], [2, 2]])
    with pytest.warns(UserWarning, match="was resized"):
        minitorch.add(minitorch.ones(3), 1, out=x)
    equal(unwrap(x), [2, 2, 2])
    minitorch.arange(4, out=x)
    equal(unwrap(x), [0, 1, 2, 3])


def test_resize_is_a_view_or_a_new_storage():
    seen, _, (x,) = functionalized(lambda x: x.resize_(2).add_(1), minitorch.ones(4))
    assert seen.names == ["as_strided", "add.Tensor", "as_strided_scatter", "as_strided"]
    equal(unwrap(x), [2, 2])
    equal(x.storage_cell.base, [2, 2, 1, 1])
    x = wrap(minitorch.ones(2))
    x.resize_(2, 2)
    x[1] = 7
    equal(unwrap(x), [[1, 1], [7, 7]])
    with pytest.raises(RuntimeError, match="resize a view"):
        x[1].resize_(8)
    with pytest.raises(RuntimeError, match="negative"):
        x.resize_(-1)


def test_set_shows_another_storage():
    x, y = wrap(minitorch.ones(4)), wrap(minitorch.zeros(3))
    x.set_(y)
    x.add_(1)
    equal(unwrap(y), [1, 1, 1])
    x.set_(y.untyped_storage(), 1, (2,), (1,))
    x.mul_(5)
    equal(unwrap(y), [1, 5, 5])
    x.set_(y, 0, (2,))
    x.zero_()
    equal(unwrap(y), [0, 0, 5])
    x.set_()
    assert x.shape == (0,)
    with pytest.raises(RuntimeError, match="plain"):
        x.set_(minitorch.ones(2))
    with pytest.raises(RuntimeError, match="type"):
        x.set_(wrap(minitorch.ones(2, dtype=minitorch.int64)))
    with pytest.raises(TypeError, match="list"):
        x.set_([1])


def test_data_shares_and_counts_for_itself():
    x = wrap(minitorch.ones(2, 2))
    y = x.t()
    x.data.add_(1)
    assert x._version == 0
    equal(unwrap(y), np.full((2, 2), 2))
    x.data = wrap(minitorch.zeros(3))
    equal(unwrap(x), [0, 0, 0])


def test_batch_norm_updates_its_statistics():
    start = [minitorch.arange(6.0).reshape(2, 3), minitorch.zeros(3), minitorch.ones(3)]

    def norm(x, mean, var):
        return minitorch.nn.functional.batch_norm(x, mean, var, training=True)

    expected = [t.clone() for t in start]
    result = norm(*expected)
    for reapply_views in (True, False):
        seen, functional, (_, mean, var) = functionalized(norm, *start, reapply_views=reapply_views)
        assert not seen.mutating
        equal(functional, result.numpy())
        equal(unwrap(mean), expected[1].numpy())
        equal(unwrap(var), expected[2].numpy())
    equal(start[1], [0, 0, 0])


@pytest.mark.parametrize("name", ["_fused_adam_", "_fused_adamw_", "_fused_sgd_"])
def test_fused_steps_return_their_lists(name):
    def step(p, g, m, v, s):
        F = getattr(ops.aten, name)
        if name == "_fused_sgd_":
            return F(
                [p], [g], [m], weight_decay=0.1, momentum=0.9, lr=0.1, dampening=0.0, nesterov=False, maximize=False,
                is_first_step=False,
            )  # fmt: skip
        return F(
            [p], [g], [m], [v], [], [s], lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.1, eps=1e-8, amsgrad=False,
            maximize=False,
        )  # fmt: skip

    start = [minitorch.ones(3), minitorch.arange(3.0), minitorch.zeros(3), minitorch.zeros(3), minitorch.ones(())]
    expected = [t.clone() for t in start]
    step(*expected)
    seen, result, wrappers = functionalized(step, *start)
    assert result is None
    assert seen.names == [name.removesuffix("_")]
    for wrapper, tensor in zip(wrappers, expected, strict=True):
        equal(unwrap(wrapper), tensor.numpy())
    equal(start[0], [1, 1, 1])
    assert not np.array_equal(expected[0].numpy(), np.ones(3))
    with pytest.raises(RuntimeError, match="non-functional"):
        step(start[0], *wrappers[1:])


def test_random_operators_draw_the_same():
    for draw in (
        lambda x: x.uniform_(), lambda x: x.bernoulli_(), lambda x: x.bernoulli_(minitorch.full((5,), 0.5)),
        lambda x: x.geometric_(0.5), lambda x: x.log_normal_(), lambda x: x.cauchy_(),
        lambda x: minitorch.nn.functional.dropout(x, 0.5, inplace=True),
    ):  # fmt: skip
        with minitorch.random.fork_rng():
            minitorch.manual_seed(3)
            expected = draw(minitorch.ones(5))
            minitorch.manual_seed(3)
            _, result, _ = functionalized(draw, minitorch.ones(5))
        equal(result, expected.numpy())


def test_embedding_renorm():
    weight, index = minitorch.arange(6.0).reshape(3, 2), minitorch.tensor([2, 1])
    expected = weight.clone()
    ops.aten.embedding_renorm_(expected, index, 1.0, 2.0)
    seen, _, (x, _) = functionalized(lambda w, i: ops.aten.embedding_renorm_(w, i, 1.0, 2.0), weight, index)
    assert seen.names == ["embedding_renorm"]
    equal(unwrap(x), expected.numpy())


# -- every declared operator has a kernel ----------------------------------------------------------------------


def test_every_operator_that_writes_is_provided_for():
    for name, declaration in DECLARATIONS.items():
        op = OPERATORS["aten::" + name]
        kernel = kernel_of(op)
        if op.schema.is_mutable:
            assert type(kernel) not in (OutOfPlaceKernel, ViewKernel), name
        if type(kernel) is ViewKernel:
            assert name in INVERSES, name
            assert name in COPY_OF, name
        if type(kernel) is OutOfPlaceKernel:
            assert not is_view(declaration), name


def test_tables_name_operators():
    names = [*FUNCTIONAL_FORMS, *FUNCTIONAL_FORMS.values(), *MUTATING_FORMS, *MUTATING_FORMS.values(), *INVERSES]
    assert [n for n in (*names, *COPY_OF, *COPY_OF.values()) if n not in DECLARATIONS] == []


# -- custom operators (F2) ---------------------------------------------------------------------------------------


def test_custom_operators(library):
    library.define("changes(Tensor(a!) x) -> ()")
    library.impl("changes", lambda x: (x.add_(1), None)[1], "CPU")
    library.define("views(Tensor(a) x) -> Tensor(a)")
    library.impl("views", lambda x: x[:], "CPU")
    library.define("adds(Tensor x) -> Tensor")
    library.impl("adds", lambda x: x + 1, "CPU")
    x = wrap(minitorch.ones(2))
    for name in ("changes", "views"):
        with pytest.raises(RuntimeError, match=f"functional_testing::{name}.*functionalization needs a kernel"):
            getattr(ops.functional_testing, name)(x)
    y = x[:1]
    y.add_(1)
    equal(unwrap(ops.functional_testing.adds(x)), [3, 2])
    plain = minitorch.ones(2)
    ops.functional_testing.changes(plain)
    equal(plain, [2, 2])
    library.impl("changes", lambda x: (x.add_(5), None)[1], "Functionalize")
    ops.functional_testing.changes(x)
    equal(unwrap(y), [7])


def test_composites_are_taken_apart_above_unless_autograd_is_out_of_the_way(library):
    """K8: an implicit composite has no kernel at the Functionalize key; without autograd it is called below as it is."""
    library.define("whole(Tensor x) -> Tensor")
    library.impl("whole", lambda x: x + 1, "CompositeImplicitAutograd")
    whole = ops.functional_testing.whole
    assert functionalized(whole, minitorch.ones(2))[0].names == ["add.Tensor"]
    with minitorch.inference_mode():
        assert functionalized(whole, minitorch.ones(2))[0].names == ["functional_testing.whole"]
        assert functionalized(lambda x: x.flatten(), minitorch.ones(2, 2))[0].names == ["view"]


# -- autograd above --------------------------------------------------------------------------------------------


def test_gradients_of_a_functionalized_program():
    def program(x):
        y = x * 2
        y[0].mul_(x[1])
        y.t_()
        return (y * y).sum()

    plain = minitorch.arange(1.0, 5.0).reshape(2, 2).requires_grad_()
    program(plain).backward()
    x = wrap(plain.detach().clone()).requires_grad_()
    with Below() as seen:
        program(x).backward()
    equal(unwrap(x.grad), plain.grad.numpy())
    assert not seen.mutating


# -- scopes and names ------------------------------------------------------------------------------------------


def test_scopes_nest_and_end_with_an_error():
    plain = minitorch.ones(2, 2)

    def names():
        with Below() as seen:
            wrap(plain).view(4)
        return seen.names[-1]

    assert names() == "view_copy"
    with functionalization(reapply_views=True):
        assert names() == "view"
        with functionalization(reapply_views=False):
            assert names() == "view_copy"
        with pytest.raises(ValueError, match="inner"), functionalization(reapply_views=False):
            raise ValueError("inner")
        assert names() == "view"
        assert tls_included().has("Functionalize")
    assert not tls_included().has("Functionalize")
    assert names() == "view_copy"


def test_enable_and_disable():
    enable(reapply_views=True)
    try:
        assert is_functional(minitorch.ones(2))
        with pytest.raises(RuntimeError, match="nest"):
            minitorch._enable_functionalization(reapply_views=True)
    finally:
        minitorch._disable_functionalization()
    assert not is_functional(minitorch.ones(2))
    disable()


def test_a_new_thread_is_not_functionalized():
    found = []
    with functionalization():
        thread = threading.Thread(target=lambda: found.append(is_functional(minitorch.ones(1))))
        thread.start()
        thread.join()
    assert found == [False]


def test_wrong_arguments():
    x = wrap(minitorch.ones(2))
    with pytest.raises(RuntimeError, match="functional tensor already"):
        minitorch._to_functional_tensor(x)
    with pytest.raises(TypeError, match="expected a Tensor"):
        wrap(3)
    for function in (minitorch._sync, minitorch._from_functional_tensor, unwrap):
        with pytest.raises(RuntimeError, match="functional tensor"):
            function(minitorch.ones(2))


def test_it_is_imported_when_it_is_named():
    code = (
        "import sys, minitorch; assert 'minitorch.functionalize' not in sys.modules; "
        "minitorch._is_functional_tensor(minitorch.ones(1)); assert 'minitorch.functionalize' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
