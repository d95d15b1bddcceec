"""Direct convolutions on the device against the CPU's, forward and backward, in both kernel forms."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import minitorch as mt
import minitorch.nn.functional as F
from minitorch.backends import fallback_policy
from minitorch.backends.opencl import runtime


@pytest.fixture(params=["cpu form", "gpu form"])
def form(request, monkeypatch):
    monkeypatch.setattr(runtime.device(), "is_cpu", request.param == "cpu form")


def check(function, x, weight, bias, **options):
    results = []
    cotangent = None
    for device in ("cpu", "opencl"):
        operands = [t.to(device).requires_grad_() for t in (x, weight, bias) if t is not None]
        out = function(*operands, **options) if bias is not None else function(*operands, None, **options)
        cotangent = mt.randn(out.shape) if cotangent is None else cotangent
        grads = mt.autograd.grad(out, operands, cotangent.to(device))
        results.append([t.detach().cpu().numpy() for t in (out, *grads)])
    for expected, got in zip(*results, strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-4)


CASES = [
    (size, kernel, stride, padding, dilation, groups)
    for size, kernel, stride, padding, dilation, groups in product(
        [(9, 11), (8, 35)], [(3, 3), (1, 1), (2, 5)], [1, 2, (3, 1)], [0, (1, 3)], [1, 2], [1, 2]
    )
]


@pytest.mark.parametrize("case", CASES[::3], ids=str)
def test_conv2d(form, case):
    size, kernel, stride, padding, dilation, groups = case
    mt.manual_seed(0)
    with fallback_policy("error"):
        x, weight = mt.randn(2, 4, *size), mt.randn(6, 4 // groups, *kernel)
        check(F.conv2d, x, weight, mt.randn(6), stride=stride, padding=padding, dilation=dilation, groups=groups)


@pytest.mark.parametrize(("stride", "padding", "extra", "dilation", "groups"), [
    (1, 0, 0, 1, 1), (2, 1, 1, 1, 2), (3, 0, 1, 2, 1), (2, 1, 0, 2, 2), (1, 1, 1, 2, 1),
])  # fmt: skip
def test_transposed_and_one_dimension(form, stride, padding, extra, dilation, groups):
    mt.manual_seed(0)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    with fallback_policy("error"):
        check(
            F.conv_transpose2d,
            mt.randn(2, 4, 5, 7),
            mt.randn(4, 6 // groups, 3, 3),
            mt.randn(6),
            output_padding=extra,
            **options,
        )
        check(
            F.conv_transpose1d, mt.randn(2, 4, 17), mt.randn(4, 6 // groups, 3), None, output_padding=extra, **options
        )
        check(F.conv1d, mt.randn(2, 4, 17), mt.randn(6, 4 // groups, 3), mt.randn(6), **options)


@pytest.mark.parametrize("shapes", [
    ((8, 1, 28, 28), (8, 1, 3, 3), 1), ((2, 3, 8, 9), (5, 3, 3, 3), 1), ((2, 8, 8, 9), (8, 1, 3, 3), 8),
], ids=str)  # fmt: skip
def test_channel_counts(form, shapes):
    image, weight, groups = shapes
    mt.manual_seed(0)
    check(F.conv2d, mt.randn(*image), mt.randn(*weight), None, groups=groups, padding=1)


def test_sizes_that_do_not_fit():
    x = mt.randn(1, 3, 5, 5).to("opencl")
    with pytest.raises(RuntimeError, match="channels"):
        F.conv2d(x, mt.randn(2, 4, 3, 3).to("opencl"))
    with pytest.raises(RuntimeError, match="[Kk]ernel"):
        F.conv2d(x, mt.randn(2, 3, 7, 7).to("opencl"))
