"""Sizes that are not known yet: arithmetic, conditions, guards, and how tensors of the Meta key carry them."""

from __future__ import annotations

import copy
import math
import operator
import pickle
import random

import pytest

import minitorch
from minitorch.core.symbolic import SymBool, SymFloat, SymInt

pytest.importorskip("sympy")

from minitorch.fake.shape_env import GuardOnDataDependentSymNode, ShapeEnv
from minitorch.fake.size_expressions import compute, expression_of
from minitorch.fx.experimental import symbolic_shapes


@pytest.fixture
def env():
    return ShapeEnv()


def symbols(env, *sizes):
    return [env.create_symbol(n, f"x.size()[{i}]") for i, n in enumerate(sizes)]


def guards(env):
    return [str(guard) for guard in env.guards]


def meta(env, shape, dynamic_dims=None, dtype=None, source="x"):
    example = minitorch.empty(shape, device="meta")
    sizes, strides, _ = env.create_symbolic_sizes_strides(example.shape, example.stride(), 0, source, dynamic_dims)
    return minitorch.empty_strided(sizes, strides, device="meta", dtype=dtype)


# -- numbers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (lambda a, b: a * 3, "3*s0"),
        (lambda a, b: 4 * a // 4, "s0"),
        (lambda a, b: (2 * a + 2) // 2, "s0 + 1"),
        (lambda a, b: (a + 1) // 2, "((s0 + 1)//2)"),
        (lambda a, b: (a * b) // a, "s1"),
        (lambda a, b: a // 2 // 3, "(s0//6)"),
        (lambda a, b: a * b - b * a + 7, "7"),
        (lambda a, b: (4 * a) % 4, "0"),
        (lambda a, b: a % 3, "Mod(s0, 3)"),
        (lambda a, b: a / 2, "(s0/2)"),
        (lambda a, b: a**2, "s0**2"),
        (lambda a, b: a << 2, "4*s0"),
        (lambda a, b: abs(a), "s0"),
        (lambda a, b: -a + 2 * a, "s0"),
        (lambda a, b: minitorch.sym_max(a, b), "Max(s0, s1)"),
        (lambda a, b: minitorch.sym_min(a, 1), "1"),
        (lambda a, b: minitorch.sym_int(a / 1 * 2), None),
    ],
)
def test_expressions_without_guards(env, expression, text):
    a, b = symbols(env, 12, 7)
    result = expression(a, b)
    assert text is None or repr(result) == text
    assert int(expression(12, 7)) == (result if isinstance(result, int) else result.node.hint)
    assert env.guards == []


def test_kinds_of_results(env):
    a, b = symbols(env, 12, 7)
    assert isinstance(a + b, SymInt)
    assert isinstance(a / b, SymFloat)
    assert isinstance(a * 0.5, SymFloat)
    assert isinstance(a < b, SymBool)
    assert isinstance(math.floor(a / b), SymInt)
    assert isinstance(minitorch.sym_float(a), SymFloat)
    assert minitorch.sym_sqrt(a).node.hint == math.sqrt(12)
    assert type(a - a) is int
    assert a.__add__("x") is NotImplemented
    assert (a == "x") is False
    with pytest.raises(TypeError):
        a + None
    with pytest.raises(ZeroDivisionError):
        a // 0
    with pytest.raises(ZeroDivisionError):
        a % 0


_OPERATIONS = (
    operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, minitorch.sym_max, minitorch.sym_min,
    operator.truediv,
)  # fmt: skip


def _tree(rng, depth, unknowns):
    """Return a random function of two numbers."""
    if depth == 0 or rng.random() < 0.2:
        which = rng.randrange(3)
        number = rng.choice([1, 2, 3, 5, -2, 8])
        return (lambda a, b: number) if which == 2 else (lambda a, b: (a, b)[which])
    function = rng.choice(_OPERATIONS[:-1] if depth > 1 else _OPERATIONS)
    left, right = _tree(rng, depth - 1, unknowns), _tree(rng, depth - 1, unknowns)
    return lambda a, b: function(left(a, b), right(a, b))


@pytest.mark.parametrize("seed", range(150))
def test_random_expressions_compute_like_python(seed):
    rng = random.Random(seed)
    function = _tree(rng, rng.choice([2, 3, 4]), 2)
    env = ShapeEnv()
    a, b = symbols(env, 12, 7)
    try:
        expected = function(12, 7)
        result = function(a, b)
    except ZeroDivisionError:
        return
    if isinstance(result, (int, float)):
        assert result == pytest.approx(expected)
        return
    assert result.node.hint == pytest.approx(expected)
    for other in ((2, 2), (3, 100), (64, 9)):
        try:
            wanted = function(*other)
        except ZeroDivisionError:
            continue
        values = dict(zip((a.node.expr, b.node.expr), other, strict=True))
        if env.holds(values):
            assert compute(result.node.expr, values) == pytest.approx(wanted), result


def test_numbers_are_guarded_where_python_needs_them(env):
    (a,) = symbols(env, 4)
    assert list(range(a)) == [0, 1, 2, 3]
    assert guards(env) == ["Eq(s0, 4)"]
    assert repr(a) == "4"
    assert repr(a + 1) == "5"


def test_copies_and_pickles(env):
    (a,) = symbols(env, 4)
    assert copy.deepcopy([a])[0] is a
    with pytest.raises(TypeError, match="symbolic size"):
        pickle.dumps(a)
    assert hash(a) == hash(a * 1)


# -- conditions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (lambda a, b: a > 0, True),
        (lambda a, b: a == 1, False),
        (lambda a, b: a != 0, True),
        (lambda a, b: a >= 2, True),
        (lambda a, b: a + b > 3, True),
        (lambda a, b: a * b == b * a, True),
        (lambda a, b: a * b >= a, True),
        (lambda a, b: a + 1 == a, False),
        (lambda a, b: -a < 0, True),
        (lambda a, b: (a > 0) & (b > 0), True),
        (lambda a, b: (a < 0) | (b > 0), True),
        (lambda a, b: minitorch.sym_not(a < 0), True),
        (lambda a, b: (a, b) == (a, b), True),
        (lambda a, b: max(a, 1) is a, True),
    ],
)
def test_what_holds_for_all_sizes_needs_no_guard(env, condition, value):
    a, b = symbols(env, 12, 7)
    assert bool(condition(a, b)) is value
    assert env.guards == []


def test_what_depends_on_sizes_is_guarded(env):
    a, b = symbols(env, 12, 7)
    assert a > b
    assert not a > 100
    assert a > b  # known by now
    assert guards(env) == ["s0 > s1", "s0 <= 100"]
    x, y = a.node.expr, b.node.expr
    assert env.holds({x: 9, y: 3})
    assert not env.holds({x: 3, y: 9})
    assert not env.holds({x: 101, y: 3})
    assert not env.holds({x: 1, y: 0})


def test_equal_sizes_share_a_symbol(env):
    a, b, c = symbols(env, 4, 4, 5)
    assert repr([a, b, c]) == "[s0, s0, s1]"
    apart = ShapeEnv(duck_shape=False)
    a, b = symbols(apart, 4, 4)
    assert repr([a, b]) == "[s0, s1]"
    assert a == b
    assert repr(b) == "s0"
    assert guards(apart) == ["Eq(s0, s1)"]


def test_sizes_0_and_1_are_numbers(env):
    assert symbols(env, 0, 1) == [0, 1]
    assert isinstance(ShapeEnv(specialize_zero_one=False).create_symbol(1, "x"), SymInt)


def test_an_equation_replaces_a_symbol(env):
    a, b = symbols(env, 8, 256)
    assert b == 32 * a
    assert repr(b) == "32*s0"
    assert repr(b // 32) == "s0"


def test_bindings_of_other_inputs(env):
    a, _ = symbols(env, 8, 16)
    assert env.bindings((a, 3, 2 * a), (5, 3, 10)) == {a.node.expr: 5}
    assert env.bindings((a, 3, 2 * a), (5, 3, 11)) is None
    assert env.bindings((a, 3, 2 * a), (5, 4, 10)) is None


# -- sizes that data decides --------------------------------------------------------------


def test_unbacked_sizes_have_no_value(env):
    u = env.create_unbacked_size()
    assert u.node.hint is None
    assert u != 1
    assert u >= 0
    assert repr(max(u, 1)) == "u0"
    with pytest.raises(GuardOnDataDependentSymNode, match=r"u0 > 5: u0 is known only when the program runs on data"):
        bool(u > 5)
    with pytest.raises(GuardOnDataDependentSymNode, match="extract specialized number"):
        int(u)
    minitorch._check(u > 5)
    assert u > 5
    assert u > 3
    assert symbolic_shapes.guard_or_false(u > 7) is False
    assert symbolic_shapes.guard_or_true(u > 7) is True


def test_checks():
    minitorch._check(True)
    with pytest.raises(RuntimeError, match="^no$"):
        minitorch._check(False, lambda: "no")
    with pytest.raises(TypeError):
        minitorch._check(1)
    with pytest.raises(ValueError, match="Expected cond"):
        minitorch._check_value(False)
    with pytest.raises(RuntimeError):
        minitorch._check_is_size(-1)
    (a,) = symbols(ShapeEnv(), 4)
    with pytest.raises(IndexError, match="too few"):
        minitorch._check_index(a > 4, lambda: "too few")


def test_two_traces_do_not_mix(env):
    (a,), (b,) = symbols(env, 4), symbols(ShapeEnv(), 4)
    with pytest.raises(RuntimeError, match="two different traces"):
        a + b


def test_what_is_known_without_a_guard(env):
    a, b = symbols(env, 12, 7)
    assert symbolic_shapes.statically_known_true(a > 0)
    assert not symbolic_shapes.statically_known_true(a > b)
    assert not symbolic_shapes.statically_known_false(a > b)
    assert symbolic_shapes.hint_int(a + b) == 19
    assert symbolic_shapes.sym_eq((a, b), (a, b)) is True
    assert symbolic_shapes.free_symbols([a, {"x": b + 1}]) == {a.node.expr, b.node.expr}
    assert env.guards == []
    assert symbolic_shapes.guard_int(a) == 12
    assert guards(env) == ["Eq(s0, 12)"]


# -- tensors -----------------------------------------------------------------------------


def test_geometry_of_an_example(env):
    sizes, strides, offset = env.create_symbolic_sizes_strides((4, 3, 5), (15, 5, 1), 0, "x")
    assert repr((sizes, strides, offset)) == "((s0, s1, s2), (s1*s2, s2, 1), 0)"
    sizes, strides, _ = ShapeEnv().create_symbolic_sizes_strides((4, 3, 5), (1, 4, 12), 0, "x", [0])
    assert repr((sizes, strides)) == "((s0, 3, 5), (1, s0, 3*s0))"


@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x + 1, "[s0, 3, 5]"),
        (lambda x: x * x.shape[0], "[s0, 3, 5]"),
        (lambda x: x / x.size(0), "[s0, 3, 5]"),
        (lambda x: x.sum(0), "[3, 5]"),
        (lambda x: x.view(x.shape[0], -1), "[s0, 15]"),
        (lambda x: x.view(-1, 5), "[3*s0, 5]"),
        (lambda x: x.reshape(x.numel()), "[15*s0]"),
        (lambda x: x.transpose(0, 1).reshape(3, -1), "[3, 5*s0]"),
        (lambda x: x @ minitorch.empty(5, 7, device="meta"), "[s0, 3, 7]"),
        (lambda x: x[1:], "[s0 - 1, 3, 5]"),
        (lambda x: x[:-1], "[s0 - 1, 3, 5]"),
        (lambda x: x[::2], "[((s0 + 1)//2), 3, 5]"),
        (lambda x: x[: x.shape[0] // 2], "[(s0//2), 3, 5]"),
        (lambda x: x[:, 0], "[s0, 5]"),
        (lambda x: x[-1], "[3, 5]"),
        (lambda x: minitorch.cat([x, x]), "[2*s0, 3, 5]"),
        (lambda x: minitorch.stack([x, x]), "[2, s0, 3, 5]"),
        (lambda x: x.expand(2, *x.shape), "[2, s0, 3, 5]"),
        (lambda x: x.repeat(2, 1, 1), "[2*s0, 3, 5]"),
        (lambda x: minitorch.arange(x.shape[0], device="meta"), "[s0]"),
        (lambda x: minitorch.ones(x.shape[0], x.shape[0] * 2, device="meta"), "[s0, 2*s0]"),
        (lambda x: minitorch.full((x.shape[0],), x.shape[0], device="meta"), "[s0]"),
        (lambda x: x.softmax(-1).flatten(1), "[s0, 15]"),
        (lambda x: x.unfold(0, 2, 1), "[s0 - 1, 3, 5, 2]"),
        (lambda x: x.new_zeros(x.shape), "[s0, 3, 5]"),
        (lambda x: x.split(1, 1)[0], "[s0, 1, 5]"),
        (lambda x: minitorch.nn.functional.pad(x, (1, 1)), "[s0, 3, 7]"),
        (lambda x: minitorch.einsum("bij,bkj->bik", x, x), "[s0, 3, 3]"),
    ],
)
def test_operators_keep_unknown_sizes(env, function, shape):
    x = meta(env, (4, 3, 5), [0])
    assert repr(list(function(x).shape)) == shape
    assert env.guards == []


def test_facts_of_a_tensor(env):
    x = meta(env, (4, 3, 5), [0])
    assert repr(x.numel()) == "15*s0"
    assert x.is_contiguous()
    assert not x.transpose(0, 1).is_contiguous()
    assert repr(x.transpose(0, 1).stride()) == "(5, 15, 1)"
    assert (x * x.shape[0]).dtype is minitorch.float32
    assert (minitorch.arange(3, device="meta") / x.shape[0]).dtype is minitorch.float32
    assert (minitorch.arange(3, device="meta") * x.shape[0]).dtype is minitorch.int64
    assert env.guards == []
    assert len(x) == 4
    assert guards(env) == ["Eq(s0, 4)"]


def test_errors_of_shapes_name_the_sizes(env):
    x = meta(env, (4, 3), [0])
    with pytest.raises(RuntimeError, match=r"s0"):
        x + minitorch.empty(7, 3, device="meta")
    with pytest.raises(RuntimeError):
        x.view(-1, 7)


class Attention(minitorch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = minitorch.nn.Linear(16, 48), minitorch.nn.Linear(16, 4)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (s.view(b, t, 2, c // 2).transpose(1, 2) for s in self.qkv(x).split(c, dim=2))
        a = minitorch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(a.transpose(1, 2).reshape(b, t, c)).mean(1)


class Recurrent(minitorch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = minitorch.nn.LSTM(16, 8, num_layers=2, batch_first=True), minitorch.nn.Linear(8, 4)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


def _image_model():
    nn = minitorch.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, stride=2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.5), nn.Linear(4, 4),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("make", "shape"), [(_image_model, (6, 1, 28, 28)), (Attention, (6, 10, 16)), (Recurrent, (6, 10, 16))]
)
def test_training_steps_leave_the_batch_size_free(env, make, shape):
    model = make().to("meta")
    optimizer = minitorch.optim.AdamW(model.parameters())
    x = meta(env, shape, [0])
    target = meta(env, (6,), dtype=minitorch.int64)
    loss = minitorch.nn.functional.cross_entropy(model(x), target)
    loss.backward()
    optimizer.step()
    assert repr(model(x).shape) == "torch.Size([s0, 4])"
    assert env.guards == []
    assert expression_of(x.shape[0]).is_Symbol
