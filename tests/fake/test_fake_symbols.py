"""Fake tensors with a shape environment: sizes are symbols, and so is what data decides (spec M8)."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch import nn
from minitorch._subclasses import FakeTensor, FakeTensorMode
from minitorch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException
from minitorch.core.symbolic import SymBool, SymFloat, SymInt
from minitorch.library import Library, get_ctx, register_fake

pytest.importorskip("sympy")

from minitorch.fake.shape_env import GuardOnDataDependentSymNode, ShapeEnv


@pytest.fixture
def env():
    return ShapeEnv()


@pytest.fixture
def mode(env):
    return FakeTensorMode(shape_env=env)


@pytest.fixture
def x(mode):
    return mode.from_tensor(mt.ones(3, 4), static_shapes=False, source="x")


def text(tensor):
    sizes = ", ".join(str(n) for n in tensor.shape)
    return f"({sizes},)" if tensor.ndim == 1 else f"({sizes})"


def test_from_tensor(mode, env, x):
    assert repr(x) == "FakeTensor(..., size=(s0, s1))"
    assert [str(s) for s in x.stride()] == ["s1", "1"]
    assert env.var_to_sources[x.shape[0].node.expr] == ["x.size()[0]"]
    assert mode.from_tensor(mt.ones(3, 4), static_shapes=True).shape == (3, 4)
    assert type(mode.from_tensor(mt.ones(1, 5)).shape[0]) is int  # the mode's own choice: symbols, but for 0 and 1
    partly = mode.from_tensor(mt.ones(6, 7), static_shapes=False, symbolic_context=[0])
    assert (type(partly.shape[0]), partly.shape[1]) == (SymInt, 7)
    assert FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True).from_tensor(mt.ones(3)).shape == (3,)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x.t().reshape(-1), "(s0*s1,)"),
        (lambda x: x @ x.t(), "(s0, s0)"),
        (lambda x: mt.cat([x, x]), "(2*s0, s1)"),
        (lambda x: x.sum(0), "(s1,)"),
        (lambda x: x[None].expand(7, -1, -1), "(7, s0, s1)"),
        (lambda x: x.view(-1), "(s0*s1,)"),
        (lambda x: x.softmax(-1), "(s0, s1)"),
        (lambda x: mt.zeros_like(x).cumsum(0), "(s0, s1)"),
        (lambda x: x.new_empty(x.shape[0] + 1), "(s0 + 1,)"),
        (lambda x: nn.functional.pad(x, [1, 2]), "(s0, s1 + 3)"),
    ],
)
def test_sizes_of_results(x, call, expected):
    assert text(call(x)) == expected


def test_gradients(mode, x):
    w = mode.from_tensor(mt.ones(4, 5, requires_grad=True), static_shapes=False)
    (x @ w).sum().backward()
    assert w.grad.shape == w.shape


def test_what_data_decides(mode, x):
    counts = mode.from_tensor(mt.ones(3, dtype=mt.int64))
    assert text(x.nonzero()) == "(u0, 2)"
    assert text(x[x > 0]).startswith("(u")
    assert text(x.masked_select(x > 0)).startswith("(u")
    assert text(mt.repeat_interleave(counts)).startswith("(u")
    assert text(mt.bincount(counts)).startswith("(u")
    values, inverse, number = mt.unique(x, return_inverse=True, return_counts=True)
    assert (text(values), text(inverse)) == (text(number), "(s0, s1)")
    rows, _, _ = mt.ops.aten.unique_dim(x, 0, True, False, False)
    assert text(rows).endswith(", s1)")
    assert type(x.sum().item()) is SymFloat
    assert type(counts[0].item()) is SymInt
    assert type((counts[0] > 1).item()) is SymBool
    assert text(x.nonzero().float().sum(0)) == "(2,)"


def test_what_was_found_is_found_again(mode, x):
    y = mode.from_tensor(mt.ones(3, 4), static_shapes=False)
    mask = x > 0
    assert (x[mask] + y[mask]).shape == x[mask].shape == x.masked_select(mask).shape
    assert mask.nonzero().shape[0] is mask.nonzero().shape[0]
    total = x.sum()
    assert total.item() is total.item()
    before = mask.nonzero().shape[0]
    mask.logical_not_()
    assert str(mask.nonzero().shape[0]) != str(before)
    assert str((x > 0).nonzero().shape[0]) != str(before)


def test_conditions_on_data(x):
    with pytest.raises(GuardOnDataDependentSymNode):
        bool(x.sum() > 0)
    with pytest.raises(GuardOnDataDependentSymNode):
        mt.allclose(x, x)
    with pytest.raises(GuardOnDataDependentSymNode):
        int(x.sum().item())


def test_constants_stay_numbers(mode):
    with mode:
        assert mt.tensor(3).item() == 3
        assert mt.tensor([3]).nonzero().shape == (1, 1)


def test_what_is_not_allowed():
    strict = FakeTensorMode(shape_env=ShapeEnv(allow_scalar_outputs=False, allow_dynamic_output_shape_ops=False))
    x = strict.from_tensor(mt.ones(3))
    with pytest.raises(DataDependentOutputException):
        x.sum().item()
    with pytest.raises(DynamicOutputShapeException):
        x.nonzero()
    x = FakeTensorMode(shape_env=ShapeEnv()).from_tensor(mt.ones(3))
    with pytest.raises(DataDependentOutputException, match=r"aten\.equal"):
        mt.equal(x, x)


def test_errors_of_arguments_come_first(mode):
    with pytest.raises(RuntimeError, match="only accepts 1D vector"):
        mt.repeat_interleave(mode.from_tensor(mt.ones(2, 2, dtype=mt.int64)))


def test_a_fake_impl_asks_for_a_size(mode, env, x):
    library = Library("fake_symbols", "DEF")
    try:
        library.define("positive(Tensor x) -> Tensor")

        @register_fake("fake_symbols::positive", lib=library)
        def positive_fake(x):
            context = get_ctx()
            with pytest.raises(ValueError, match="not negative"):
                context.new_dynamic_size(min=-1)
            return x.new_empty(context.new_dynamic_size(min=3, max=9), x.shape[1])

        result = mt.ops.fake_symbols.positive(x)
    finally:
        library._destroy()
    assert isinstance(result, FakeTensor)
    size = result.shape[0]
    assert size >= 3
    assert size <= 9
    with pytest.raises(GuardOnDataDependentSymNode):
        bool(size > 5)


def test_modules_of_real_parameters(env):
    mode = FakeTensorMode(shape_env=env, allow_non_fake_inputs=True, static_shapes=True)
    images = mode.from_tensor(mt.ones(2, 3, 8, 8), static_shapes=False)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2))
    assert text(model[0](images)).startswith("(s0, 4, s")
    assert text(model(images)) == "(s0, 2)"
