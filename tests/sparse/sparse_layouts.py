"""Sparse tensors of every layout, for the tests of products and reductions."""

from __future__ import annotations

import itertools

import numpy as np

import minitorch as mt

LAYOUTS = ("coo", "uncoalesced", "csr", "csc", "bsr", "bsc")
BLOCK = (2, 3)


def matrix(*shape, dtype=mt.float64, seed=0, density=0.5):
    """Return a dense tensor, many of whose elements are zero; an empty row and an empty column among them."""
    rng = np.random.default_rng(seed)
    array = rng.standard_normal(shape)
    if dtype.is_complex:
        array = array + 1j * rng.standard_normal(shape)
    array = array * (rng.random(shape) < density)
    if len(shape) > 1 and min(shape[-2:]) > 2:
        array[..., 1, :] = 0
        array[..., :, 2] = 0
    return mt.from_numpy(np.asarray(array)).to(dtype)


def full(*shape, dtype=mt.float64, seed=1):
    return matrix(*shape, dtype=dtype, seed=seed, density=2.0) + 0.5


def in_layout(dense, layout, module=mt):
    """Return a dense tensor of matrices in a layout; blocks are 2 by 3."""
    if layout == "dense":
        return dense
    if layout == "coo":
        return dense.to_sparse()
    if layout == "uncoalesced":
        # In reverse order, and the first two entries in three parts.
        found = dense.to_sparse()
        indices, values = found.indices().flip(1), found.values().flip(0)
        indices = module.cat([indices, indices[:, :2], indices[:, :2]], 1)
        values = module.cat([values, values[:2] * 2, values[:2] * -2])
        return module.sparse_coo_tensor(indices, values, dense.shape)
    if layout in ("bsr", "bsc"):
        return getattr(dense, f"to_sparse_{layout}")(BLOCK)
    return getattr(dense, f"to_sparse_{layout}")()


def dense_of(tensor):
    return tensor if tensor.layout is mt.strided else tensor.to_dense()


def pairs(*others):
    """Return combinations of layouts, of which one at least is sparse."""
    every = ("dense", *LAYOUTS)
    return [p for p in itertools.product(every, every) if p != ("dense", "dense")]
