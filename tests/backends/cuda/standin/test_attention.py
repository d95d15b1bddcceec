"""Attention through its operator: the tiles' results, gradients and strides against the CPU, and what they leave alone."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch as mt
from minitorch.backends.cuda import programs
from minitorch.nn import functional as F


@pytest.fixture
def launched(monkeypatch):
    """Return the kernels of ``attention.cu`` that were launched."""
    names, original = [], programs.kernel

    def kernel(name, function, **types):
        if name == "attention":
            names.append(function)
        return original(name, function, **types)

    monkeypatch.setattr(programs, "kernel", kernel)
    return names


def results(device, operands, turned=False, mask=None, **keywords):
    """Return the result, its strides, and the gradients."""
    leaves = [x.to(device).detach().requires_grad_() for x in operands]
    inputs = [x.transpose(1, 2) for x in leaves] if turned else leaves
    mask = mask if mask is None else mask.to(device)
    y = F.scaled_dot_product_attention(*inputs, attn_mask=mask, **keywords)
    weights = mt.linspace(-1, 1, y.numel(), dtype=mt.float32).reshape(y.shape).to(device, y.dtype)
    (y * weights).sum().backward()
    return [y.detach().cpu().float().numpy(), *[x.grad.cpu().float().numpy() for x in leaves]], y.stride()


ALL = ["attention", "attention_backward_query", "attention_backward_key_value"]
MASKS = {
    "none": lambda: None,
    "bool": lambda: mt.arange(19 * 19).reshape(19, 19) % 3 > 0,
    "expanded": lambda: (mt.arange(19) % 4 > 0).expand(2, 3, 19, 19),
    "float": lambda: mt.linspace(-2, 2, 2 * 19).reshape(2, 1, 1, 19),
    "strided": lambda: mt.linspace(-2, 2, 19 * 38).reshape(38, 19).t()[:, ::2],
}


@pytest.mark.parametrize("dtype", [mt.float32, mt.float64, mt.float16, mt.bfloat16], ids=str)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("form", ["causal", *MASKS])
def test_it_agrees_with_the_cpu(launched, dtype, turned, form):
    mt.manual_seed(0)
    mask = None if form == "causal" else MASKS[form]()
    shape = (2, 19, 3, 5) if turned else (2, 3, 19, 5)
    operands = [mt.randn(shape).to(dtype) for _ in range(3)]
    keywords = {"turned": turned, "mask": mask, "is_causal": form == "causal"}
    found, strides = results("cuda", operands, **keywords)
    expected, cpu_strides = results("cpu", operands, **keywords)
    assert launched == ALL
    assert strides == cpu_strides
    tolerance = {mt.float16: 4e-3, mt.bfloat16: 3e-2}.get(dtype, 1e-5)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_a_query_without_keys_gives_zeros():
    mask = mt.ones(4, 4, dtype=mt.bool)
    mask[1] = False
    found, _ = results("cuda", [mt.randn(1, 1, 4, 8) for _ in range(3)], mask=mask)
    assert not found[0][0, 0, 1].any()
    assert not found[1][0, 0, 1].any()
    assert all(np.isfinite(a).all() for a in found)


@pytest.mark.parametrize("shape", [(1, 2, 3, 130), (1, 2, 0, 8)], ids=["wide heads", "nothing"])
def test_what_the_kernels_leave_to_those_of_any_array_library(launched, shape):
    operands = [mt.randn(shape) for _ in range(3)]
    found, _ = results("cuda", operands)
    expected, _ = results("cpu", operands)
    assert not launched
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
