"""Libraries that take tensors: by the array API standard, or told by `minitorch.interop`."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import minitorch as mt


def library(name: str) -> None:
    """Skip without the library, unless the environment says that it has to be there."""
    if os.environ.get("MINITORCH_REQUIRE_INTEROP"):
        __import__(name)
    else:
        pytest.importorskip(name)


SCIPY = """
import json, numpy as np, scipy.fft, scipy.special, scipy.stats
import minitorch as mt
x = np.linspace(0.1, 2.0, 10)
results = {}
for name, function in {
    "gammaln": scipy.special.gammaln,
    "logsumexp": scipy.special.logsumexp,
    "zscore": scipy.stats.zscore,
    "skew": scipy.stats.skew,
    "fft": scipy.fft.fft,
}.items():
    result = function(mt.from_numpy(x))
    results[name] = [type(result).__name__, bool(np.allclose(result.numpy(), function(x)))]
print(json.dumps(results))
"""


def test_scipy_gives_tensors_for_tensors():
    library("scipy")
    # SciPy reads the switch when it is imported.
    run = subprocess.run(
        [sys.executable, "-c", SCIPY], env={**os.environ, "SCIPY_ARRAY_API": "1"}, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert set(map(tuple, json.loads(run.stdout).values())) == {("Tensor", True)}


SCIKIT_LEARN = """
import json, numpy as np, minitorch as mt
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler
x = np.random.RandomState(0).randn(60, 4)
y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
def run(x, y):
    return {
        "scaler": StandardScaler().fit_transform(x),
        "pca": PCA(2, svd_solver="full").fit(x).explained_variance_,
        "ridge": Ridge(solver="svd").fit(x, x[:, 0] * 2).coef_,
        "lda": LinearDiscriminantAnalysis().fit(x, y).predict(x),
    }
expected = run(x, y)
with config_context(array_api_dispatch=True):
    got = run(mt.from_numpy(x), mt.from_numpy(y))
print(json.dumps({n: [type(v).__name__, bool(np.allclose(v.numpy(), expected[n]))] for n, v in got.items()}))
"""


def test_scikit_learn_gives_tensors_for_tensors():
    library("sklearn")
    run = subprocess.run(
        [sys.executable, "-c", SCIKIT_LEARN],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert set(map(tuple, json.loads(run.stdout).values())) == {("Tensor", True)}


def test_array_api_compat_finds_the_namespace():
    library("array_api_compat")
    import array_api_compat

    x = mt.ones(2, 3)
    assert array_api_compat.array_namespace(x) is mt.array_api
    assert array_api_compat.size(x) == 6
    assert array_api_compat.to_device(x, "cpu").device.type == "cpu"


def test_einops():
    library("einops")
    import einops

    import minitorch.interop.einops  # noqa: F401  (registers)

    x = mt.arange(24.0).reshape(2, 3, 4).requires_grad_()
    joined = einops.rearrange(x, "a b c -> (a b) c")
    assert joined.shape == (6, 4)
    means = einops.reduce(x, "a b c -> b", "mean")
    np.testing.assert_allclose(means.detach().numpy(), x.detach().numpy().mean((0, 2)))
    assert einops.repeat(x, "a b c -> a b c d", d=2).shape == (2, 3, 4, 2)
    assert einops.einsum(x, x, "a b c, a b c -> a").shape == (2,)
    (joined.sum() + means.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 + 1 / 8)
    # Without that module, by the standard:
    import einops.array_api

    assert einops.array_api.rearrange(x.detach(), "a b c -> (a b) c").shape == (6, 4)


def test_opt_einsum():
    library("opt_einsum")
    import opt_einsum

    import minitorch.interop.opt_einsum  # noqa: F401  (registers)

    arrays = [np.random.RandomState(0).randn(*shape) for shape in ((2, 3), (3, 4), (4, 2))]
    operands = [mt.from_numpy(a).requires_grad_() for a in arrays]
    got = opt_einsum.contract("ab,bc,cd->da", *operands)
    np.testing.assert_allclose(got.detach().numpy(), (arrays[0] @ arrays[1] @ arrays[2]).T)
    got.sum().backward()
    assert all(o.grad is not None for o in operands)
    assert opt_einsum.contract_expression("ab,bc->ac", (2, 3), (3, 4))(*operands[:2]).shape == (2, 4)
