"""Batch rules of normalization, attention and recurrent layers."""

from __future__ import annotations

import pytest
from loop_oracle import check, check_all, gradients, random, stacked

import minitorch as mt
from minitorch.func import grad, hessian, jacrev, vmap, vmap_fallback_policy

nn = mt.nn.functional

# ---------------------------------------------------------------- normalization


@pytest.mark.parametrize("shape", [(2, 4, 3), (4, 3), (3,)])
def test_layer_norm(shape):
    check_all(lambda x, w, b: nn.layer_norm(x, (3,), w, b), [shape, (3,), (3,)])
    check_all(lambda x: nn.layer_norm(x, shape), [shape])
    check_all(lambda x, w: nn.rms_norm(x, (3,), w), [shape, (3,)])
    check_all(lambda x: nn.rms_norm(x, shape), [shape])


@pytest.mark.parametrize("shape", [(2, 4, 3, 2), (1, 4, 3), (3, 4)])
def test_group_norm(shape):
    check_all(lambda x, w, b: nn.group_norm(x, 2, w, b), [shape, (4,), (4,)])
    check_all(lambda x: nn.group_norm(x, 2), [shape])
    check_all(lambda x, w: nn.group_norm(x, 2, w), [shape, (4,)])


@pytest.mark.parametrize("shape", [(3, 4, 2, 2), (5, 4)])
def test_batch_norm(shape):
    mean, var = random(4), random(4).abs() + 0.5
    check_all(lambda x, w, b: nn.batch_norm(x, None, None, w, b, training=True), [shape, (4,), (4,)])
    check_all(lambda x, w, b: nn.batch_norm(x, mean, var, w, b), [shape, (4,), (4,)])
    check_all(lambda x, m, v: nn.batch_norm(x, m, v * v + 0.5), [shape, (4,), (4,)], backward=False)
    check_all(lambda x: nn.batch_norm(x, mean, var), [shape])
    check_all(lambda x: nn.instance_norm(x), [(2, 4, 3)])


def test_running_statistics_of_each_example():
    x = random(3, 5, 4)
    for dim in (0, 1):
        mean, var = mt.zeros(3, 4, dtype=mt.float64), mt.ones(3, 4, dtype=mt.float64)
        if dim == 1:
            mean, var = mean.t().contiguous(), var.t().contiguous()
        vmap(lambda x, m, v: nn.batch_norm(x, m, v, training=True), in_dims=(0, dim, dim))(x, mean, var)
        assert mt.allclose(mean.movedim(dim, 0), 0.1 * x.mean(1))
        assert mt.allclose(var.movedim(dim, 0), 0.9 + 0.1 * x.var(1))


def test_running_statistics_that_all_examples_share():
    mean, var = mt.zeros(4), mt.ones(4)
    x = mt.randn(3, 5, 4)
    with pytest.raises(RuntimeError, match="batch_norm.*track_running_stats"):
        vmap(lambda x: nn.batch_norm(x, mean, var, training=True))(x)
    assert mean.eq(0).all()
    # What is normalized is the same for all examples, and so is what is kept of it.
    w = mt.randn(3, 4)
    found = vmap(lambda w: nn.batch_norm(x[0], mean, var, w, training=True))(w)
    assert mt.allclose(mean, 0.1 * x[0].mean(0))
    assert mt.allclose(found, nn.batch_norm(x[0], None, None, training=True) * w[:, None], atol=1e-5)


def test_narrow_dtypes_keep_their_own():
    x, w = mt.randn(3, 2, 4).to(mt.bfloat16), mt.randn(3, 4).to(mt.bfloat16)
    for function in (lambda x, w: nn.layer_norm(x, (4,), w, w), lambda x, w: nn.rms_norm(x, (4,), w)):
        found = vmap(function)(x, w)
        assert found.dtype is mt.bfloat16
        assert mt.allclose(found.float(), mt.stack([function(a, b) for a, b in zip(x, w, strict=True)]).float(), atol=0.1)


def test_normalization_of_nothing():
    with vmap_fallback_policy("error"):
        assert vmap(lambda x: nn.layer_norm(x, (3,)))(random(0, 2, 3)).shape == (0, 2, 3)
        assert vmap(lambda x: nn.group_norm(x, 2))(random(0, 2, 4)).shape == (0, 2, 4)
        assert vmap(lambda x: nn.batch_norm(x, None, None, training=True))(random(0, 2, 4)).shape == (0, 2, 4)
        assert vmap(lambda x: nn.batch_norm(x, None, None, training=True))(random(3, 0)).shape == (3, 0)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: nn.layer_norm(x, (3, 4)),
        lambda x: nn.rms_norm(x, (3, 4)),
        lambda x: nn.group_norm(x, 3),
        lambda x: nn.batch_norm(x, mt.zeros(3), mt.zeros(3)),
    ],
)
def test_normalization_refuses_what_one_example_is_refused_for(function):
    x = mt.randn(3, 4)
    with pytest.raises(RuntimeError) as one:
        function(x[0])
    with pytest.raises(RuntimeError) as mapped:
        vmap(function)(x)
    assert str(mapped.value) == str(one.value)


# ---------------------------------------------------------------- attention

QKV = [(2, 2, 4, 3), (2, 2, 5, 3), (2, 2, 5, 3)]


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"scale": 0.3}])
def test_attention(options):
    attention = nn.scaled_dot_product_attention
    check_all(lambda q, k, v: attention(q, k, v, **options), QKV)
    check_all(lambda q, k, v: attention(q, k, v, **options), [shape[1:] for shape in QKV])
    check_all(lambda q, k, v: attention(q, k, v, **options), [shape[2:] for shape in QKV])


@pytest.mark.parametrize("shape", [(4, 5), (2, 4, 5), (1, 1, 4, 5), (2, 1, 4, 5)])
def test_attention_with_a_mask(shape):
    for dims in ((0, 0, 0, 0), (0, 0, 0, None), (None, None, None, -1), (-1, None, 0, 0)):
        tensors = stacked([*QKV, shape], dims, 3)

        def function(q, k, v, mask):
            return nn.scaled_dot_product_attention(q, k, v, mask.detach())

        check(function, tensors, dims)
        check(lambda q, k, v, m: gradients(lambda *t: function(*t, m), q, k, v), tensors, dims)
        boolean = [*tensors[:3], tensors[3] > -1.5]
        check(lambda q, k, v, m: nn.scaled_dot_product_attention(q, k, v, m), boolean, dims)


def test_attention_is_differentiated_twice():
    def total(q, k, v):
        return nn.scaled_dot_product_attention(q, k, v).sin().sum()

    tensors = [random(1, *shape[1:]) for shape in QKV]
    mixed = jacrev(jacrev(total), argnums=2)(*tensors)
    assert mt.allclose(mixed.permute(4, 5, 6, 7, 0, 1, 2, 3), jacrev(jacrev(total, argnums=2))(*tensors))
    batches = [random(2, *t.shape).requires_grad_() for t in tensors]
    mapped = mt.autograd.grad(vmap(lambda *t: grad(total)(*t).cos().sum())(*batches).sum(), batches)
    looped = mt.autograd.grad(sum(grad(total)(*[b[i] for b in batches]).cos().sum() for i in range(2)), batches)
    for found, expected in zip(mapped, looped, strict=True):
        assert mt.allclose(found, expected)


# ---------------------------------------------------------------- recurrent layers

STEPS, BATCH, SIZE = 3, 2, 4


def layer(kind, count):
    """Return a function of (input, states, weights), and the shapes of its arguments."""
    shapes = [(STEPS, BATCH, 3), (1, BATCH, SIZE), (count * SIZE, 3), (count * SIZE, SIZE), (count * SIZE,), (count * SIZE,)]

    def function(x, h, *weights):
        if kind == "lstm":
            return mt.lstm(x, [h, h * 0.5], list(weights), True, 1, 0.0, False, False, False)
        return getattr(mt, kind)(x, h, list(weights), True, 1, 0.0, False, False, False)

    return function, shapes


@pytest.mark.parametrize(("kind", "count"), [("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)])
def test_recurrent_layers(kind, count):
    function, shapes = layer(kind, count)
    data_only, weights_only, all_of_it = (0, -1, *[None] * 4), (None, None, 0, 0, 0, -1), (0, 0, -1, 0, 0, 0)
    hidden, one_bias = (None, 0, None, None, None, None), (0, None, None, None, None, 0)
    check_all(function, shapes, patterns=[data_only, weights_only, all_of_it, hidden, one_bias])


@pytest.mark.parametrize(("kind", "count"), [("lstm", 4), ("gru", 3), ("rnn_tanh", 1)])
def test_recurrent_layers_are_differentiated_twice(kind, count):
    function, shapes = layer(kind, count)
    tensors = [random(*shape) for shape in shapes]

    def total(*tensors):
        return function(*tensors)[0].sin().sum()

    by_weight = jacrev(total, argnums=3)
    mixed = jacrev(jacrev(total), argnums=3)(*tensors)  # by data, then by weight
    assert mixed.abs().sum() > 0
    assert mt.allclose(mixed.permute(3, 4, 0, 1, 2), jacrev(by_weight)(*tensors))
    assert mt.allclose(hessian(total, argnums=3)(*tensors), jacrev(by_weight, argnums=3)(*tensors))
    check(by_weight, [mt.stack([t, t * 0.5]) for t in tensors], (0,) * 6, count=2)
    check(hessian(total, argnums=3), [mt.stack([t, t * 0.5]) for t in tensors], (0,) * 6, count=2)


def test_autograd_records_through_vmap_of_grad():
    function, shapes = layer("gru", 3)
    batches = [random(2, *shape).requires_grad_() for shape in shapes]

    def of_one(*tensors):
        return grad(lambda *t: function(*t)[0].sin().sum(), argnums=3)(*tensors).cos().sum()

    mapped = mt.autograd.grad(vmap(of_one)(*batches).sum(), batches)
    looped = mt.autograd.grad(sum(of_one(*[b[i] for b in batches]) for i in range(2)), batches)
    for found, expected in zip(mapped, looped, strict=True):
        assert mt.allclose(found, expected)


def test_recurrent_networks_of_several_layers():
    shapes = [(BATCH, STEPS, 3), (4, BATCH, SIZE)]
    weights = []
    for size in (3, 3, 2 * SIZE, 2 * SIZE):
        weights += [random(3 * SIZE, size), random(3 * SIZE, SIZE)]
    check_all(lambda x, h: mt.gru(x, h, weights, False, 2, 0.0, False, True, True), shapes)


@pytest.mark.parametrize("kind", ["lstm_cell", "gru_cell", "rnn_tanh_cell"])
def test_cells(kind):
    count = {"lstm_cell": 4, "gru_cell": 3, "rnn_tanh_cell": 1}[kind]

    def function(x, h, w_ih, w_hh):
        return getattr(mt, kind)(x, [h, h] if kind == "lstm_cell" else h, w_ih, w_hh)

    check_all(function, [(BATCH, 3), (BATCH, SIZE), (count * SIZE, 3), (count * SIZE, SIZE)])


# ---------------------------------------------------------------- per-sample gradients of a whole network


def test_per_sample_gradients():
    mt.manual_seed(0)
    model = mt.nn.Sequential(
        mt.nn.Conv2d(1, 4, 3, padding=1), mt.nn.GroupNorm(2, 4), mt.nn.ReLU(), mt.nn.MaxPool2d(2), mt.nn.Flatten(),
        mt.nn.LayerNorm(16), mt.nn.Linear(16, 5),
    ).double()  # fmt: skip
    parameters = {name: p.detach() for name, p in model.named_parameters()}
    x, y = random(6, 1, 4, 4), random(6, 5)

    def loss(parameters, x, y):
        return ((mt.func.functional_call(model, parameters, (x[None],)) - y[None]) ** 2).mean()

    with vmap_fallback_policy("error"):
        found = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, x, y)
    for i in range(6):
        for name, expected in grad(loss)(parameters, x[i], y[i]).items():
            assert mt.allclose(found[name][i], expected), name
