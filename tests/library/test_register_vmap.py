"""Batch rules of custom and raw operators (spec L14), below a double of the vmap transform."""

from __future__ import annotations

import pytest

import minitorch
from minitorch import Tensor
from minitorch.dispatch.keys import functionality_bit
from minitorch.dispatch.namespace import ops
from minitorch.dispatch.operator import KeyedObject
from minitorch.dispatch.scopes import disable_functorch
from minitorch.dispatch.transforms import Interpreter, TransformType, interpreter_stack
from minitorch.library import register_vmap

BATCHED = functionality_bit("FuncTorchBatched")


class Batched(KeyedObject):
    """What vmap wraps: a value, its mapped dimension, and the level."""

    def __init__(self, value, dim, level):
        self.value, self.dim, self.level = value, dim, level
        self.key_set = value.key_set | BATCHED
        self.shape = value.shape[:dim] + value.shape[dim + 1 :]


class Vmap(Interpreter):
    """The interpreter as a batch rule sees it; its calls go straight to the batched level."""

    transform = TransformType.Vmap

    def __init__(self, batch_size, randomness="error"):
        super().__init__()
        self.batch_size, self.randomness = batch_size, randomness

    def unwrap(self, tensor):
        if isinstance(tensor, Batched) and tensor.level == self.level:
            return tensor.value, tensor.dim
        return tensor, None

    def wrap(self, value, dim):
        return Batched(value, dim, self.level)


class Grad(Interpreter):
    transform = TransformType.Grad


@pytest.fixture
def vmap():
    """One level of vmap, entered; calls meet the batched level and not those that enter and leave the stack."""
    with disable_functorch(), Vmap(3) as level:
        yield level


def batched(level, *shape, dim=0):
    return Batched(minitorch.ones(*shape), dim, level.level)


@pytest.fixture
def double(make_op):
    @make_op("double")
    def double(x: Tensor, y: Tensor, n: int = 2) -> Tensor:
        return x * n + y

    return double


def test_the_rule_gets_info_dims_and_unwrapped_arguments(double, vmap):
    seen = []

    @double.register_vmap
    def rule(info, in_dims, x, y, n=2):
        seen.append((info, in_dims, x, y, n, interpreter_stack()))
        return x * n, 1

    x, y = batched(vmap, 2, 3, dim=1), minitorch.ones(2)
    out = double(x, y, 5)
    ((info, in_dims, got, plain, n, stack),) = seen
    assert (info.batch_size, info.randomness) == (3, "error")
    assert in_dims == (1, None, None)
    assert got is x.value
    assert plain is y
    assert n == 5
    assert stack == ()  # the level is out of the way
    assert isinstance(out, Batched)
    assert (out.dim, out.level) == (1, 1)
    assert out.value.tolist() == [[5.0] * 3] * 2


def test_defaults_are_stripped_as_for_every_kernel(double, vmap):
    seen = []
    double.register_vmap(lambda info, in_dims, *args: (seen.append((in_dims, len(args))), (args[0], 0))[1])
    double(batched(vmap, 3), minitorch.ones(1), 2)
    assert seen == [((0, None), 2)]


def test_levels_are_told_apart(double):
    """Where nothing is batched at the innermost level its rule is not called, but the operator from the top."""
    seen = []
    double.register_vmap(lambda info, in_dims, x, y: (seen.append((info.batch_size, in_dims)), (x, 0))[1])
    with disable_functorch(), Vmap(3) as outer:
        x = batched(outer, 3, 4)
        with Vmap(4) as inner:
            both = Batched(x, 0, inner.level)
            double(both, minitorch.ones(1))
            double(x, minitorch.ones(1))
    assert seen == [(4, (0, None)), (3, (0, None))]


def test_lists(make_op, vmap):
    op = make_op("total", lambda xs: xs[0] + xs[1], schema="(Tensor[] xs) -> Tensor[]")
    seen = []

    @op.register_vmap
    def rule(info, in_dims, xs):
        seen.append((in_dims, [isinstance(x, Tensor) for x in xs]))
        return [xs[0], xs[1]], [0, None]

    plain = minitorch.ones(2)
    first, second = op([batched(vmap, 3, 2), plain])
    assert seen == [(([0, None],), [True, True])]
    assert isinstance(first, Batched)
    assert second is plain


def test_out_dims_may_be_one_for_all(make_op, vmap):
    op = make_op("pair", lambda x: (x, x), schema="(Tensor x) -> (Tensor, Tensor)")
    op.register_vmap(lambda info, in_dims, x: ((x * 1, x * 2), 0))
    assert [out.dim for out in op(batched(vmap, 3))] == [0, 0]
    op.register_vmap(lambda info, in_dims, x: ((x * 1, x * 2), None))  # the newest rule counts
    assert all(isinstance(out, Tensor) for out in op(batched(vmap, 3)))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda x: x, "must return two values.*returned a Tensor"),
        (lambda x: (x,), "must return two values.*returned 1 values"),
        (lambda x: (x, 0, 0), "returned 3 values"),
        (lambda x: ((x, x), (0,)), "structure of the output"),
        (lambda x: ((x, x), "0"), "structure of the output"),
        (lambda x: ((x, x), (0, "0")), "an int or None"),
    ],
)
def test_wrong_results(make_op, vmap, result, message):
    op = make_op("pair", lambda x: (x, x), schema="(Tensor x) -> (Tensor, Tensor)")
    op.register_vmap(lambda info, in_dims, x: result(x))
    with pytest.raises(RuntimeError, match=message):
        op(batched(vmap, 3))


def test_keyword_only_arguments_pass_through(library, vmap):
    lib = library()
    lib.define("scaled(Tensor x, *, int n=1) -> Tensor")
    seen = []

    @register_vmap("testing::scaled", lib=lib)
    def rule(info, in_dims, x, *, n=1):
        seen.append((in_dims, n))
        return x * n, 0

    ops.testing.scaled(batched(vmap, 3), n=4)
    assert seen == [((0,), 4)]
    assert ops.testing.scaled.default.has_kernel_for_dispatch_key("FuncTorchBatched")
    lib.define("keyword(Tensor x, *, Tensor y) -> Tensor")
    with pytest.raises(NotImplementedError, match="kwarg-only Tensor args"):
        register_vmap("testing::keyword", rule, lib=lib)


def test_a_rule_goes_with_its_library(library, vmap):
    lib, rules = library(), library("IMPL")
    lib.define("f(Tensor x) -> Tensor")
    register_vmap(ops.testing.f, lambda info, in_dims, x: (x, 0), lib=rules)
    assert isinstance(ops.testing.f(batched(vmap, 3)), Batched)
    rules._destroy()
    assert not ops.testing.f.default.has_kernel_for_dispatch_key("FuncTorchBatched")


def test_the_batched_level_needs_vmap(double):
    double.register_vmap(lambda info, in_dims, x, y: (x, 0))
    stray = Batched(minitorch.ones(3), 0, 1)
    with pytest.raises(RuntimeError, match="no transform"):
        double(stray, minitorch.ones(1))
    with (
        disable_functorch(),
        Grad(),
        pytest.raises(RuntimeError, match="innermost transform is Grad"),
    ):
        double(stray, minitorch.ones(1))


def test_register_vmap_by_name_and_as_decorator(double, vmap):
    @register_vmap("testing::double")
    def rule(info, in_dims, x, y):
        return x, 0

    assert callable(rule)
    assert isinstance(double(batched(vmap, 3), minitorch.ones(1)), Batched)
    register_vmap(double._opoverload, lambda info, in_dims, x, y: (x, None))
    assert isinstance(double(batched(vmap, 3), minitorch.ones(1)), Tensor)
