"""Sparse tensors under vmap: constructors, conversions to dense tensors, masks, and their gradients."""

from __future__ import annotations

import pytest
from sparse_samples import LAYOUTS, sample

import minitorch
from minitorch.func import grad, vmap, vmap_fallback_policy
from minitorch.testing import assert_close

INDICES = minitorch.tensor([[1, 0, 1], [2, 0, 2]])


@pytest.fixture(autouse=True)
def no_loops():
    with vmap_fallback_policy("error"):
        yield


def looped(fn, *batches):
    return minitorch.stack([fn(*examples) for examples in zip(*batches, strict=True)])


def _coo(values):
    return minitorch.sparse_coo_tensor(INDICES, values, (2, 4))


def _csr(values):
    return minitorch.sparse_csr_tensor([0, 1, 3], [3, 0, 2], values, (2, 4))


def _bsc(values):
    return minitorch.sparse_bsc_tensor([0, 0, 1], [0], values.reshape(1, 1, 3), (1, 6))


_CONSTRUCTORS = {"coo": _coo, "csr": _csr, "bsc": _bsc}


@pytest.mark.parametrize("layout", _CONSTRUCTORS)
def test_values_that_are_mapped(layout):
    make, values = _CONSTRUCTORS[layout], minitorch.arange(12.0).reshape(4, 3)
    dense = lambda v: make(v).to_dense() ** 2  # noqa: E731
    assert_close(vmap(dense)(values), looped(dense, values))
    assert_close(vmap(dense, in_dims=1)(values.t()), looped(dense, values))
    loss = lambda v: (make(v).to_dense() ** 3).sum()  # noqa: E731
    assert_close(vmap(grad(loss))(values), looped(grad(loss), values))
    nested = vmap(vmap(dense))(values.reshape(2, 2, 3))
    assert_close(nested, looped(dense, values).reshape(2, 2, *nested.shape[2:]))


def test_values_come_back():
    values = minitorch.arange(12.0).reshape(4, 3)
    assert_close(vmap(lambda v: _csr(v).values() * 2)(values), values * 2)
    assert_close(vmap(lambda v: _coo(v)._values() * 2)(values), values * 2)
    dense = lambda v: _coo(v).coalesce().values()  # noqa: E731
    assert_close(vmap(dense)(values), looped(dense, values))
    shared = vmap(lambda v: v.sum() + _coo(v)._indices())(values)
    assert shared.shape == (4, 2, 3)


def test_places_that_are_mapped():
    indices = minitorch.stack([INDICES, 1 - INDICES.clamp(max=1), INDICES * 0])
    values = minitorch.arange(9.0).reshape(3, 3)
    make = lambda i, v: minitorch._sparse_coo_tensor_unsafe(i, v, [2, 4]).to_dense()  # noqa: E731
    assert_close(vmap(make)(indices, values), looped(make, indices, values))
    assert_close(vmap(make, in_dims=(0, None))(indices, values[0]), looped(lambda i: make(i, values[0]), indices))
    with pytest.raises(RuntimeError, match="places of their own"):
        vmap(lambda i, v: minitorch._sparse_coo_tensor_unsafe(i, v, [2, 4])._values())(indices, values)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_examples_of_a_batch(layout):
    batch = sample("batches", layout)
    expected = batch.to_dense()
    assert_close(vmap(lambda s: s.to_dense() * 2)(batch), expected * 2)
    seen = []

    def look(s):
        seen.append((s.sparse_dim(), s.dense_dim(), s.shape, s.layout))
        return s.clone().to_dense()

    assert_close(vmap(look)(batch), expected)
    assert seen == [(2, 0, (4, 4), batch.layout)]
    loss = lambda s: (s.to_dense() ** 2).sum()  # noqa: E731
    found = vmap(grad(loss))(batch)
    assert found.layout is batch.layout
    assert_close(found.to_dense(), 2 * expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_masks(layout):
    mask, batch = sample("plain", layout), minitorch.arange(32.0).double().reshape(2, 4, 4)
    masked = lambda x: x.sparse_mask(mask).to_dense()  # noqa: E731
    assert_close(vmap(masked)(batch), looped(masked, batch))
    assert_close(vmap(masked, in_dims=2)(batch.permute(1, 2, 0)), looped(masked, batch))
    loss = lambda x: (masked(x) ** 2).sum()  # noqa: E731
    assert_close(vmap(grad(loss))(batch), looped(grad(loss), batch))
    masks = sample("batches", layout)
    found = vmap(lambda x, m: x.sparse_mask(m).to_dense())(batch, masks)
    assert_close(found, batch.sparse_mask(masks).to_dense())
