"""Orthogonal parametrizations, weight and spectral norm by hooks, modules without initialization, old names."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch
from minitorch import nn
from minitorch.nn import utils
from minitorch.nn.utils import parametrizations


@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder", None])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
@pytest.mark.parametrize("use_trivialization", [True, False])
def test_orthogonal_matrices_stay_orthogonal(orthogonal_map, shape, use_trivialization):
    minitorch.manual_seed(0)
    model = nn.Linear(shape[1], shape[0])
    before = model.weight.detach().clone()
    if not use_trivialization and not (orthogonal_map == "householder" or (orthogonal_map is None and shape != (4, 4))):
        with pytest.raises(NotImplementedError, match="not possible to assign"):
            parametrizations.orthogonal(model, orthogonal_map=orthogonal_map, use_trivialization=False)
        return
    parametrizations.orthogonal(model, orthogonal_map=orthogonal_map, use_trivialization=use_trivialization)
    tall = shape[0] >= shape[1]
    # It starts at the orthogonal factor of what the parameter was.
    q, r = minitorch.linalg.qr(before if tall else before.mT)
    q = q * r.diagonal().sign()
    assert minitorch.allclose(model.weight if tall else model.weight.mT, q, atol=1e-5)
    optimizer = minitorch.optim.SGD(model.parameters(), lr=0.3)
    start = model.weight.detach().clone()
    for _ in range(3):
        optimizer.zero_grad()
        ((model(minitorch.ones(2, shape[1])) - 1) ** 2).sum().backward()
        optimizer.step()
    weight = model.weight
    gram = weight.mT @ weight if tall else weight @ weight.mT
    assert minitorch.allclose(gram, minitorch.eye(min(shape)), atol=1e-5)
    assert not minitorch.allclose(weight, start, atol=1e-3)


def test_unitary_matrices_and_wrong_arguments():
    model = nn.Linear(3, 3, dtype=minitorch.complex64)
    parametrizations.orthogonal(model)
    assert minitorch.allclose(model.weight.mH @ model.weight, minitorch.eye(3, dtype=minitorch.complex64), atol=1e-5)
    with pytest.raises(ValueError, match="householder parametrization does not support complex"):
        parametrizations.orthogonal(nn.Linear(3, 3, dtype=minitorch.complex64), orthogonal_map="householder")
    with pytest.raises(ValueError, match="has to be one of"):
        parametrizations.orthogonal(nn.Linear(3, 3), orthogonal_map="qr")
    with pytest.raises(ValueError, match="no parameter or buffer"):
        parametrizations.orthogonal(nn.Linear(3, 3), "kernel")
    with pytest.raises(ValueError, match="1 dimensions"):
        parametrizations.orthogonal(nn.Linear(3, 3), "bias")


@pytest.mark.oracle
@pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4)])
def test_orthogonal_maps_equal_those_of_torch(torch, orthogonal_map, shape):
    found = []
    for library in (minitorch, torch):
        rng = np.random.default_rng(0)
        model = library.nn.Linear(shape[1], shape[0])
        library.nn.utils.parametrizations.orthogonal(model, orthogonal_map=orthogonal_map)
        part = model.parametrizations.weight
        with library.no_grad():
            # The same place on the way from the same base.
            part.original.copy_(library.from_numpy(rng.standard_normal(shape).astype(np.float32)))
            rows = max(shape)
            q = np.linalg.qr(rng.standard_normal((rows, rows)))[0].astype(np.float32)
            part[0].base.copy_(library.from_numpy(q))
            if orthogonal_map == "householder":
                part.original.diagonal().fill_(-1.0)
        model.weight.square().mul(library.arange(float(shape[1]))).sum().backward()
        found.append((model.weight.detach().numpy(), part.original.grad.numpy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm_by_hooks(dim):
    model = nn.Linear(4, 3)
    before = model.weight.detach().clone()
    utils.weight_norm(model, dim=dim)
    assert sorted(model.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert minitorch.allclose(model.weight, before)
    with minitorch.no_grad():
        model.weight_g.mul_(2)
    model(minitorch.ones(1, 4)).sum().backward()
    assert minitorch.allclose(model.weight, before * 2)
    assert model.weight_v.grad is not None
    with pytest.raises(RuntimeError, match="two weight_norm hooks"):
        utils.weight_norm(model)
    utils.remove_weight_norm(model)
    assert sorted(model.state_dict()) == ["bias", "weight"]
    assert minitorch.allclose(model.weight, before * 2)
    with pytest.raises(ValueError, match="not found"):
        utils.remove_weight_norm(model)


def test_spectral_norm_by_hooks():
    minitorch.manual_seed(0)
    model = utils.spectral_norm(nn.Conv2d(3, 6, 3), n_power_iterations=20)
    assert sorted(model.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    x = minitorch.randn(2, 3, 8, 8)
    (model(x).sum() - model(x * 2).sum()).backward()  # two passes before one backward
    assert minitorch.linalg.matrix_norm(model.weight.detach().flatten(1), 2).item() == pytest.approx(1, abs=1e-3)
    u = model.weight_u.clone()
    model.eval()(x)
    assert minitorch.equal(model.weight_u, u)
    other = utils.spectral_norm(nn.Conv2d(3, 6, 3))
    other.load_state_dict(model.state_dict())
    assert minitorch.allclose(other.eval()(x), model(x), atol=1e-6)
    utils.remove_spectral_norm(model)
    assert sorted(model.state_dict()) == ["bias", "weight"]
    assert minitorch.allclose(model(x), other(x), atol=1e-6)
    with pytest.raises(ValueError, match="not found"):
        utils.remove_spectral_norm(model)
    with pytest.raises(ValueError, match="positive"):
        utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)


@pytest.mark.oracle
@pytest.mark.parametrize("make", [lambda nn: nn.Linear(4, 3), lambda nn: nn.ConvTranspose2d(3, 5, 2)])
def test_spectral_norm_equals_that_of_torch(torch, make):
    found = []
    for library in (minitorch, torch):
        library.manual_seed(3)
        model = library.nn.utils.spectral_norm(make(library.nn))
        rng = np.random.default_rng(0)
        shape = (2, 4) if isinstance(model, library.nn.Linear) else (2, 3, 4, 4)
        x = library.from_numpy(rng.standard_normal(shape).astype(np.float32))
        results = [model(x).detach().numpy() for _ in range(3)]
        found.append((results, list(model.state_dict())))
    assert found[0][1] == found[1][1]
    for ours, theirs in zip(found[0][0], found[1][0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_modules_without_initialization():
    minitorch.manual_seed(0)
    state = minitorch.get_rng_state()
    model = utils.skip_init(nn.Linear, 5, 2, bias=False)
    assert minitorch.equal(minitorch.get_rng_state(), state)
    assert (tuple(model.weight.shape), model.weight.device.type, model.bias) == ((2, 5), "cpu", None)
    with pytest.raises(RuntimeError, match="Expected a Module"):
        utils.skip_init(dict)
    with pytest.raises(RuntimeError, match="'device' arg"):
        utils.skip_init(nn.ReLU)


def test_memory_formats_of_weights():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Linear(2, 2), nn.Conv3d(2, 2, 2))
    before = model[0].weight.detach().clone()
    utils.convert_conv2d_weight_memory_format(model, minitorch.channels_last)
    utils.convert_conv3d_weight_memory_format(model, minitorch.channels_last_3d)
    assert model[0].weight.is_contiguous(memory_format=minitorch.channels_last)
    assert model[2].weight.is_contiguous(memory_format=minitorch.channels_last_3d)
    assert minitorch.equal(model[0].weight, before)


def test_old_names_warn():
    w = minitorch.empty(3, 3)
    with pytest.warns(FutureWarning, match="nn.init.constant_"):
        assert nn.init.constant(w, 2.0).sum() == 18
    p = nn.Parameter(minitorch.ones(2))
    p.grad = minitorch.ones(2) * 10
    with pytest.warns(FutureWarning, match="clip_grad_norm_"):
        utils.clip_grad_norm([p], 1.0)
    assert p.grad.norm().item() == pytest.approx(1.0, abs=1e-4)


def test_the_older_path_of_functional_call():
    model = nn.Linear(2, 1, bias=False)
    result = utils.stateless.functional_call(model, {"weight": minitorch.ones(1, 2)}, (minitorch.ones(2),))
    assert result.item() == 2
