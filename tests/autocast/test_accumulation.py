"""Sums, norms and products of half formats are computed in float32 and rounded once."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt

RNG = np.random.default_rng(0)
ROWS = (RNG.normal(size=(16, 512)) + 0.5).astype("f")
COLUMNS = RNG.normal(size=(512, 8)).astype("f")

OPERATORS = {
    "sum": lambda m, x, y: x.sum(1),
    "sum of all": lambda m, x, y: x.sum(),
    "mean": lambda m, x, y: x.mean(1),
    "prod": lambda m, x, y: x[:, :8].prod(1),
    "norm": lambda m, x, y: x.norm(dim=1),
    "var": lambda m, x, y: x.var(1),
    "cumsum": lambda m, x, y: x.cumsum(1),
    "logsumexp": lambda m, x, y: x.logsumexp(1),
    "softmax": lambda m, x, y: x.softmax(1),
    "log_softmax": lambda m, x, y: x.log_softmax(1),
    "layer_norm": lambda m, x, y: m.nn.functional.layer_norm(x, (512,)),
    "group_norm": lambda m, x, y: m.nn.functional.group_norm(x, 8),
    "rms_norm": lambda m, x, y: m.nn.functional.rms_norm(x, (512,), eps=1e-5),
    "mm": lambda m, x, y: x @ y,
    "bmm": lambda m, x, y: m.bmm(x[None], y[None]),
    "linear": lambda m, x, y: m.nn.functional.linear(x, y.T),
    "attention": lambda m, x, y: m.nn.functional.scaled_dot_product_attention(x[None], x[None], x[None]),
}


def computed(m, name, dtype, wide=None):
    x, y = (m.tensor(values).to(getattr(m, dtype)) for values in (ROWS, COLUMNS))
    if wide is not None:
        x, y = x.to(wide), y.to(wide)
    return OPERATORS[name](m, x, y)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", OPERATORS)
def test_the_result_is_that_of_float64_rounded(name, dtype):
    """Within one unit in the last place, and in all but a few elements to the bit."""
    actual = computed(mt, name, dtype)
    exact = computed(mt, name, dtype, mt.float64).to(actual.dtype)
    assert actual.dtype is getattr(mt, dtype)
    one, other = actual.double().numpy(), exact.double().numpy()
    unit = 2.0 ** (-7 if dtype == "bfloat16" else -10)
    # float32's own rounding matters where terms of a sum cancel.
    noise = 512 * 2.0**-24 * np.abs(other).max()
    assert (np.abs(one - other) <= unit * np.abs(other) + noise).all()
    assert (one == other).mean() > 0.98


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", OPERATORS)
def test_the_result_is_near_that_of_torch(name, dtype, torch):
    actual, expected = computed(mt, name, dtype), computed(torch, name, dtype)
    assert str(actual.dtype) == str(expected.dtype)
    one, other = actual.double().numpy(), expected.double().numpy()
    unit = 2.0 ** (-7 if dtype == "bfloat16" else -10)
    # PyTorch rounds some in between, which costs it a unit or two.
    assert (np.abs(one - other) <= 2 * unit * np.abs(other) + 512 * 2.0**-24 * np.abs(other).max()).all()


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_rms_norm_has_float32s_epsilon_by_default(dtype, torch):
    actual, expected = (
        m.nn.functional.rms_norm(m.full((1, 4), 1e-3, dtype=getattr(m, dtype)), (4,)).double()[0, 0].item() for m in (mt, torch)
    )
    assert actual == pytest.approx(expected, rel=1e-6)
    assert actual > 0.9
