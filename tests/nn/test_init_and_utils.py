"""Initialisers, gradient clipping, parametrizations."""

from __future__ import annotations

import math

import pytest

import minitorch
from minitorch import nn
from minitorch.nn import init
from minitorch.nn.utils import parametrizations, parametrize


def test_linear_starts_from_the_known_weights_of_seed_0():
    minitorch.manual_seed(0)
    weight = nn.Linear(3, 2).weight
    assert weight[0].tolist() == pytest.approx([-0.0043, 0.3097, -0.4752], abs=5e-5)


def test_constant_eye_dirac():
    assert init.constant_(minitorch.empty(2), 3.0).tolist() == [3, 3]
    assert init.eye_(minitorch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    x = minitorch.randn(1, 2, 5)
    weight = init.dirac_(minitorch.empty(2, 2, 3))
    assert minitorch.allclose(nn.functional.conv1d(x, weight, padding=1), x)
    with pytest.raises(ValueError, match="2 dimensions"):
        init.eye_(minitorch.empty(2))


def test_bounds_and_deviations():
    t = minitorch.empty(200, 100)
    assert init.xavier_uniform_(t).abs().max().item() <= math.sqrt(6 / 300)
    assert init.kaiming_normal_(t).std().item() == pytest.approx(math.sqrt(2 / 100), rel=0.05)
    assert init.kaiming_uniform_(t, a=math.sqrt(5)).abs().max().item() <= 1 / math.sqrt(100)
    assert init.trunc_normal_(t, std=2.0, a=-1, b=1).abs().max().item() <= 1
    assert (init.sparse_(t, 0.1) == 0).sum(0).tolist() == [20] * 100
    q = init.orthogonal_(minitorch.empty(3, 5))
    assert minitorch.allclose(q @ q.t(), minitorch.eye(3), atol=1e-5)
    with pytest.warns(UserWarning, match="zero-element"):
        init.kaiming_uniform_(minitorch.empty(0, 3))
    with pytest.raises(ValueError, match="fewer than 2 dimensions"):
        init.xavier_normal_(minitorch.empty(3))


def test_gains():
    assert init.calculate_gain("relu") == math.sqrt(2)
    assert init.calculate_gain("leaky_relu", 1) == 1.0
    assert init.calculate_gain("tanh") == 5 / 3
    with pytest.raises(ValueError, match="Unsupported nonlinearity"):
        init.calculate_gain("step")


def test_clip_grad_norm_and_value():
    p, q = nn.Parameter(minitorch.zeros(2)), nn.Parameter(minitorch.zeros(1))
    p.grad, q.grad = minitorch.tensor([3.0, 0.0]), minitorch.tensor([4.0])
    assert nn.utils.clip_grad_norm_([p, q], 1.0).item() == 5.0
    assert p.grad.tolist() == pytest.approx([0.6, 0.0], rel=1e-5)
    nn.utils.clip_grad_value_([p, q], 0.5)
    assert (p.grad.tolist(), q.grad.tolist()) == ([0.5, 0.0], [0.5])
    p.grad = minitorch.tensor([math.inf, 0.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_(p, 1.0, error_if_nonfinite=True)
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_parameters_as_a_vector():
    net = nn.Linear(2, 1)
    vector = nn.utils.parameters_to_vector(net.parameters())
    assert vector.shape == (3,)
    nn.utils.vector_to_parameters(minitorch.tensor([1.0, 2.0, 3.0]), net.parameters())
    assert net(minitorch.ones(1, 2)).item() == 6.0


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2

    def right_inverse(self, x):
        return x / 2


def test_parametrization_computes_and_inverts():
    net = nn.Linear(2, 1, bias=False)
    before = net.weight.detach().clone()
    parametrize.register_parametrization(net, "weight", Doubled())
    assert parametrize.is_parametrized(net, "weight")
    assert minitorch.allclose(net.weight, before)
    assert list(net.state_dict()) == ["parametrizations.weight.original"]
    net(minitorch.ones(1, 2)).sum().backward()
    assert net.parametrizations.weight.original.grad.tolist() == [[2.0, 2.0]]
    net.weight = minitorch.ones(1, 2)
    assert net.parametrizations.weight.original.tolist() == [[0.5, 0.5]]
    parametrize.remove_parametrizations(net, "weight")
    assert type(net) is nn.Linear
    assert isinstance(net.weight, nn.Parameter)
    assert net.weight.tolist() == [[1.0, 1.0]]


def test_weight_and_spectral_norm():
    net = parametrizations.weight_norm(nn.Linear(3, 2))
    assert net.parametrizations.weight.original0.shape == (2, 1)
    assert minitorch.allclose(net.weight.norm(2, 1), net.parametrizations.weight.original0.squeeze(1), atol=1e-6)
    minitorch.manual_seed(0)
    net = parametrizations.spectral_norm(nn.Linear(4, 4), n_power_iterations=20)
    largest = minitorch.linalg.svdvals(net.weight)[0].item()
    assert largest == pytest.approx(1.0, rel=1e-3)


def test_fused_convolution_and_batch_norm():
    conv, norm = nn.Conv2d(2, 3, 3).eval(), nn.BatchNorm2d(3).eval()
    norm.running_mean.copy_(minitorch.tensor([1.0, 2.0, 3.0]))
    x = minitorch.randn(1, 2, 5, 5)
    fused = nn.utils.fuse_conv_bn_eval(conv, norm)
    assert minitorch.allclose(fused(x), norm(conv(x)), atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "args", "shape"),
    [
        ("uniform_", (-1, 2), (3, 4)), ("normal_", (1, 2), (5, 7)), ("trunc_normal_", (), (4, 5)),
        ("xavier_uniform_", (2.0,), (3, 4, 2)), ("xavier_normal_", (), (4, 5)), ("kaiming_uniform_", (), (4, 5, 3)),
        ("kaiming_normal_", (0, "fan_out", "relu"), (4, 5)), ("orthogonal_", (), (4, 3)), ("sparse_", (0.3,), (5, 4)),
    ],
)
def test_numbers_of_a_seed(torch, name, args, shape):
    found = []
    for library in (minitorch, torch):
        library.manual_seed(1)
        found.append(getattr(library.nn.init, name)(library.empty(*shape), *args).tolist())
    assert minitorch.tensor(found[0]).flatten().tolist() == pytest.approx(
        minitorch.tensor(found[1]).flatten().tolist(), rel=1e-4, abs=1e-5
    )
