"""The installed device: kernels of its own for what nets run most, the CPU for the rest, and a demonstration that says which."""

import numpy as np
import pytest

import minitorch
from minitorch import nn
from minitorch.backends import clear_fallbacks, fallback_policy, fallback_report

F = nn.functional


@pytest.fixture(autouse=True)
def fallbacks():
    clear_fallbacks()
    with fallback_policy("allow"):
        yield


def matrix(*shape, seed=0):
    values = np.random.default_rng(seed).standard_normal(shape)
    return minitorch.from_numpy(values.astype(np.float32))


# What has to run on the device: a function of tensors, and its operands' shapes.
NATIVE = {
    "pointwise": (lambda x, y: ((x * y + 1).tanh() - y.exp()).sigmoid() / 2, (3, 4), (4,)),
    "activations": (lambda x: F.gelu(x) + F.silu(x) + F.leaky_relu(x) + x.relu() + F.softplus(x), (3, 4)),
    "comparisons": (lambda x, y: minitorch.where(x > y, x, y) + (x <= 0).float(), (3, 4), (3, 4)),
    "reductions": (lambda x: x.sum(0) + x.mean((1, 2)).sum() + x.amax((0, 2)).sum() - x.amin(), (3, 4, 5)),
    "products": (lambda x, y: (x @ y).t() @ x, (3, 3), (3, 3)),
    "batched products": (minitorch.bmm, (2, 3, 4), (2, 4, 5)),
    "linear": (F.linear, (3, 4), (5, 4), (5,)),
    "softmax": (lambda x: x.softmax(0) + x.log_softmax(-1), (3, 4)),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), (3, 4), (4,), (4,)),
    "embedding": (lambda w: F.embedding(minitorch.tensor([[0, 2], [1, 1]]).to(w.device), w), (3, 4)),
    "cross-entropy": (lambda x: F.cross_entropy(x, minitorch.tensor([0, 2, 1]).to(x.device)), (3, 4)),
    "convolution": (lambda x, w, b: F.conv2d(x, w, b, stride=2, padding=1), (2, 2, 6, 5), (4, 2, 3, 3), (4,)),
    "joining": (lambda x, y: minitorch.cat([x, y], 1), (3, 4), (3, 2)),
}


@pytest.mark.parametrize("name", NATIVE)
def test_forward_and_backward_on_the_device(name):
    function, *shapes = NATIVE[name]
    results = []
    for device in ("cpu", "numba"):
        operands = [matrix(*shape, seed=i).to(device).requires_grad_() for i, shape in enumerate(shapes)]
        with fallback_policy("error" if device == "numba" else "allow"):
            out = function(*operands)
        out.square().sum().backward()
        results.append([out.detach().cpu(), *[x.grad.cpu() for x in operands]])
    for found, wanted in zip(results[1], results[0], strict=True):
        minitorch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_operands_it_does_not_do_go_to_the_cpu():
    x = minitorch.tensor([1.0, 2.0], dtype=minitorch.float16).to("numba")
    assert x.exp().dtype is minitorch.float16
    assert "not of float16" in str(fallback_report())
    with pytest.raises(IndexError):
        F.embedding(minitorch.tensor([7]).to("numba"), matrix(3, 4).to("numba"))


def test_the_demonstration(capsys):
    import minitorch_numba

    losses = minitorch_numba.demo()
    assert losses[-1] < 0.3 * losses[0]
    said = capsys.readouterr().out
    assert "what ran on the CPU:" in said
    on_cpu = set(fallback_report().operators())
    assert {name for name in on_cpu if "max_pool2d" in name}
    assert not {"aten::convolution", "aten::convolution_backward", "aten::native_layer_norm", "aten::gelu"} & on_cpu
    assert all(name in said for name in on_cpu)
