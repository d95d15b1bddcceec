"""Every module of PyTorch's own samples (`module_db`), in training and evaluation: values, gradients, state, text.

The module of torch gives the state, ours loads it.  What follows runs on the same inputs and the same seed.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import minitorch
import minitorch.nn

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]

# In torch.nn and not here.
MISSING = {
    "Container",  # an empty class that was deprecated before PyTorch 1.0
}
TOLERANCE = {"rtol": 1e-7, "atol": 1e-9}


def module_infos():
    """Return PyTorch's records by the name of their module; none where they cannot be imported."""
    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("expecttest") is None:
        return {}
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db

    return {info.name.removeprefix("nn."): info for info in module_db}


class Converter:
    """Turns arguments of torch into ours: tensors by value, functions, dtypes and modules by name."""

    def __init__(self, torch):
        self.torch = torch
        self.leaves = {}  # of each tensor of torch that needs a gradient, by id: it, and ours

    def __call__(self, value):
        torch = self.torch
        if isinstance(value, torch.nn.utils.rnn.PackedSequence):
            return minitorch.nn.utils.rnn.PackedSequence(*map(self, value))
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if isinstance(value, torch.dtype | torch.device):
            return getattr(minitorch, str(value).removeprefix("torch."), str(value))
        if isinstance(value, tuple | list):
            return type(value)(map(self, value))
        if isinstance(value, dict):
            return {k: self(v) for k, v in value.items()}
        if isinstance(value, torch.nn.LinearCrossEntropyOptions):
            return minitorch.nn.LinearCrossEntropyOptions(**{k: self(getattr(value, k)) for k in value.__slots__})
        if isinstance(value, torch.nn.TransformerEncoderLayer):
            return encoder_layer(value, self.function(value.activation))
        if callable(value):
            return self.function(value)
        return value

    def tensor(self, value):
        if id(value) not in self.leaves:
            parent = minitorch.nn.Parameter if isinstance(value, self.torch.nn.Parameter) else (lambda t: t)
            ours = parent(minitorch.from_numpy(value.detach().contiguous().numpy().copy()))
            ours = ours.requires_grad_(value.requires_grad) if ours.is_floating_point() or ours.is_complex() else ours
            self.leaves[id(value)] = (value, ours)
        return self.leaves[id(value)][1]

    def function(self, value):
        torch, name = self.torch, getattr(value, "__name__", "")
        for theirs, ours in ((torch.nn.functional, minitorch.nn.functional), (torch, minitorch), (torch.nn, minitorch.nn)):
            if getattr(theirs, name, None) is value:
                return getattr(ours, name)
        return value  # a lambda over tensors' methods


def encoder_layer(theirs, activation):
    """Return our layer with the options of torch's; the samples of TransformerEncoder are given one."""
    return minitorch.nn.TransformerEncoderLayer(
        theirs.self_attn.embed_dim, theirs.self_attn.num_heads, theirs.linear1.out_features, theirs.dropout.p, activation,
        batch_first=theirs.self_attn.batch_first, norm_first=theirs.norm_first, bias=theirs.linear1.bias is not None,
    )  # fmt: skip


def parts(value):
    """Return the tensors in a result, in order."""
    if value is None:
        return []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in parts(part)]
    return [value]


def gradients_of(library, module, results, inputs):
    """Run the backward pass from sums with the same weights; return gradients by name."""
    outputs = [r for r in results if r.is_floating_point() or r.is_complex()]
    total = sum((r * library.linspace(0.5, 1.5, r.numel(), dtype=library.float64).reshape(r.shape)).real.sum() for r in outputs)
    if outputs and total.requires_grad:
        total.backward()
    found = {f"gradient of input {i}": t.grad for i, t in enumerate(inputs)}
    return found | {f"gradient of {name}": p.grad for name, p in module.named_parameters()}


def assert_same(ours, theirs, where):
    assert list(ours) == list(theirs), where
    for key, expected in theirs.items():
        found = ours[key]
        assert (found is None) == (expected is None), f"{where}: {key}"
        if expected is not None:
            assert tuple(found.shape) == tuple(expected.shape), f"{where}: {key}"
            assert str(found.dtype) == str(expected.dtype), f"{where}: {key}"
            assert found.requires_grad == expected.requires_grad, f"{where}: {key}"
            values = (t.detach().resolve_conj().numpy() for t in (found, expected))
            np.testing.assert_allclose(*values, **TOLERANCE, err_msg=f"{where}: {key}")


INFOS = module_infos()
CASES = [(name, training) for name in sorted(INFOS) for training in (True, False)[: 1 + INFOS[name].train_and_eval_differ]]


@pytest.mark.parametrize(("name", "training"), CASES, ids=[f"{n}-{'train' if t else 'eval'}" for n, t in CASES])
def test_module(torch, name, training):
    info = INFOS[name]
    torch.manual_seed(0)
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=True, training=training)
    for i, sample in enumerate(samples):
        if sample.forward_input is None:
            continue
        where = f"{name}, sample {i}, {sample.desc or ''} {sample.constructor_input.args} {sample.constructor_input.kwargs}"
        convert = Converter(torch)
        constructor, forward = sample.constructor_input, sample.forward_input
        theirs = info.module_cls(*constructor.args, **constructor.kwargs).train(training).to(torch.float64)
        ours = getattr(minitorch.nn, name)(*convert(constructor.args), **convert(constructor.kwargs)).train(training)
        ours = ours.to(minitorch.float64)
        assert repr(ours) == repr(theirs), where
        args, kwargs = convert(forward.args), convert(forward.kwargs)
        if name.startswith("Lazy"):  # its parameters are made by the first call
            theirs(*forward.args, **forward.kwargs)
            ours(*args, **kwargs)
        state = theirs.state_dict()
        ours.load_state_dict({key: minitorch.from_numpy(value.numpy().copy()) for key, value in state.items()})
        for parameter, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert parameter.requires_grad == other.requires_grad

        torch.manual_seed(1)
        their_results = parts(theirs(*forward.args, **forward.kwargs))
        minitorch.manual_seed(1)
        our_results = parts(ours(*args, **kwargs))
        assert_same(dict(enumerate(our_results)), dict(enumerate(their_results)), where)
        inputs = [pair for pair in convert.leaves.values() if pair[0].requires_grad and pair[0].is_leaf]
        found = gradients_of(minitorch, ours, our_results, [pair[1] for pair in inputs])
        expected = gradients_of(torch, theirs, their_results, [pair[0] for pair in inputs])
        assert_same(found, expected, where)
        assert_same(ours.state_dict(), theirs.state_dict(), where)
        for pair in inputs:
            pair[0].grad = None


def test_what_is_missing_is_named(torch):
    modules = {n for n, m in vars(torch.nn).items() if isinstance(m, type) and issubclass(m, torch.nn.Module)}
    assert {n for n in modules if not hasattr(minitorch.nn, n)} == MISSING
    classes = {n for n in vars(torch.optim) if n[0].isupper() and n != "Optimizer"}
    assert {n for n in classes if not hasattr(minitorch.optim, n)} == set()


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        (((3,), (5, 3), (2,)), {}),
        (((2, 4, 3), (5, 3), (2, 4)), {}),
        (((4, 3), (3,), (4,)), {}),
        (((4, 3), (5, 2), (4,)), {}),
        (((3,), (5, 2, 3), (2,)), {}),
        (((4, 3), (5, 3), (2,)), {}),
        (((4, 3), (5, 3), (4,)), {"linear_bias": (4,)}),
        (((4, 3), (5, 2, 3), (4, 2)), {"linear_bias": (5,)}),
        (((4, 3), (5, 3), (4,)), {"weight": (4,)}),
        (((4, 3), (5, 3), (4,)), {"label_smoothing": 2.0}),
        (((4, 3), (5, 3), (4,)), {"reduction": "x"}),
        (((4, 3), (5, 3), (4, 5)), {"ignore_index": 2}),
    ],
)
def test_linear_cross_entropy_refuses_what_torch_refuses(torch, shapes, options):
    errors = []
    for library in (minitorch, torch):
        x, w = library.zeros(shapes[0]), library.zeros(shapes[1])
        y = library.zeros(shapes[2], dtype=library.float32 if shapes[2] == (4, 5) else library.int64)
        kwargs = {k: library.zeros(v) if isinstance(v, tuple) else v for k, v in options.items()}
        try:
            library.nn.functional.linear_cross_entropy(x, w, y, **kwargs)
        except (ValueError, RuntimeError) as error:
            errors.append(type(error))
        else:
            errors.append(None)
    assert errors[0] is errors[1]


@pytest.mark.parametrize("size", [(5, 3, 1), (5, 1, 4), (1, 3, 4), (5, 3), (1, 1, 4), (3, 4), (1,), (), (2, 3, 4)])
def test_sizes_of_variances_are_those_of_torch(torch, size):
    found = []
    for library in (minitorch, torch):
        try:
            loss = library.nn.functional.gaussian_nll_loss(
                library.zeros(5, 3, 4), library.ones(5, 3, 4), library.full(size, 2.0), reduction="none"
            )
            found.append((tuple(loss.shape), pytest.approx(float(loss.sum()))))
        except ValueError:
            found.append(None)
    assert found[0] == found[1]


@pytest.mark.parametrize(("count", "sizes"), [(2, (2, 5, 6, 6)), (3, (2, 2, 5, 6, 6)), (3, (2, 5, 6, 6))])
@pytest.mark.parametrize("extra", [(0, 0), (1, 0), (-1, 0), (0, 1)])
def test_more_random_samples_than_examples_are_taken(torch, count, sizes, extra):
    batch, channels = (sizes[0], sizes[1]) if len(sizes) == count + 2 else (1, sizes[0])
    samples = np.random.default_rng(0).random((batch + extra[0], channels + extra[1], count), dtype=np.float32)
    found = []
    for library in (minitorch, torch):
        x = library.arange(float(np.prod(sizes))).reshape(sizes)
        pool = getattr(library.nn.functional, f"fractional_max_pool{count}d")
        try:
            found.append(pool(x, 2, output_size=(2, 3, 3)[-count:], _random_samples=library.from_numpy(samples)).tolist())
        except RuntimeError:
            found.append(None)
    if batch + extra[0] == 0:
        found[1] = None  # torch reads beyond the end of an empty tensor
    assert found[0] == found[1]


@pytest.mark.parametrize("how", ["double", "meta", "half"])
def test_a_lazy_module_stays_lazy_when_it_is_converted(how):
    module = minitorch.nn.LazyConv1d(3, 2)
    weight = module.weight
    module.to("meta") if how == "meta" else getattr(module, how)()
    assert module.weight is weight
    assert type(weight) is minitorch.nn.UninitializedParameter
    x = minitorch.ones(2, 4, 5, dtype=weight.dtype, device=weight.device)
    assert module(x).shape == (2, 3, 4)
    assert type(module.weight) is minitorch.nn.Parameter


@pytest.mark.parametrize(
    ("scores", "target"),
    [((5,), (2,)), ((5,), (1,)), ((4, 5), ()), ((1, 5), ()), ((2, 5), (1,)), ((2, 5, 3), (2,)), ((5,), (2, 2)), ((5,), (5,))],
)
def test_cross_entropy_refuses_sizes_as_torch_does(torch, scores, target):
    errors = []
    for library in (minitorch, torch):
        try:
            library.nn.functional.cross_entropy(library.zeros(scores), library.zeros(target, dtype=library.int64))
        except (ValueError, RuntimeError) as error:
            errors.append(type(error))
        else:
            errors.append(None)
    assert errors[0] is errors[1]
