"""Samples of `op_db` run more than once: copies of their tensors, and when results are the same."""

from __future__ import annotations

import numpy as np

import minitorch as mt


def copied(tensor, factor=1.0):
    """Return a copy with the same strides, so that it can be changed as the tensor itself could.

    Floating-point elements are multiplied with `factor`.
    """
    if any(n > 1 and s == 0 for n, s in zip(tensor.shape, tensor.stride(), strict=True)):
        return tensor.detach()  # refuses to be changed
    made = mt.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor.detach())
    return made.mul_(factor) if factor != 1.0 and tensor.dtype.is_floating_point else made


def flat(result):
    """Return the items of nested lists and tuples as one list."""
    return [item for part in result for item in flat(part)] if isinstance(result, (list, tuple)) else [result]


def assert_same(actual, expected, what, initialized=True, atol=1e-6):
    """Compare one item of a result: of the same arithmetic on the same values, whose sums may be taken in another order."""
    if not isinstance(expected, mt.Tensor):
        assert actual == expected or actual != actual, what
        return
    assert actual.dtype is expected.dtype, what
    assert actual.shape == expected.shape, what
    if not initialized:
        return
    one, other = (t.numpy(force=True) for t in (actual, expected))
    if one.dtype.kind == "V":
        one, other = one.astype(np.float32), other.astype(np.float32)
    np.testing.assert_allclose(one, other, rtol=2e-5, atol=atol, err_msg=what)
