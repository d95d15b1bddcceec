"""Small tensors in every sparse layout, and the same of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
COMPRESSED = LAYOUTS[1:]
BLOCKED = LAYOUTS[3:]

PLAIN = np.array([[1.0, 0, 2, 0], [0, 0, 3, 0], [0, 0, 0, 0], [4, 0, 0, 5]])
# name: the dense values, and how many of the last dimensions are dense ones
KINDS = {
    "plain": (PLAIN, 0),
    "batches": (np.stack([PLAIN, PLAIN.T]), 0),
    "dense dimension": (np.stack([PLAIN, -2 * PLAIN], -1), 1),
    "empty": (np.zeros((4, 2)), 0),
    "no rows": (np.zeros((0, 4)), 0),
}


def dense_of(kind: str, dtype: Any = None) -> Any:
    """Return the dense tensor of a kind."""
    return minitorch.tensor(KINDS[kind][0], dtype=dtype or minitorch.float64)


def in_layout(dense: Any, layout: str, dense_dim: int = 0, library: Any = minitorch) -> Any:
    """Return a tensor, of this library or of PyTorch, in a layout."""
    options: dict[str, Any] = {"layout": getattr(library, layout)}
    if layout in BLOCKED:
        options["blocksize"] = (2, 2)
    if dense_dim:
        options["dense_dim"] = dense_dim
    return dense.to_sparse(**options)


def sample(kind: str, layout: str, dtype: Any = None) -> Any:
    """Return the tensor of a kind in a layout."""
    return in_layout(dense_of(kind, dtype), layout, KINDS[kind][1])


def parts_of(tensor: Any) -> dict[str, Any]:
    """Return what a sparse tensor, of this library or of PyTorch, consists of, by name, as lists."""
    name = str(tensor.layout).removeprefix("torch.")
    found: dict[str, Any] = {"shape": tuple(tensor.shape), "layout": name, "dtype": str(tensor.dtype)}
    if name == "strided":
        return {**found, "values": tensor.detach().tolist()}
    if name == "sparse_coo":
        indices, values = tensor._indices(), tensor._values()
        return {**found, "indices": indices.tolist(), "values": values.tolist(), "coalesced": tensor.is_coalesced()}
    by_rows = name in ("sparse_csr", "sparse_bsr")
    outer = tensor.crow_indices() if by_rows else tensor.ccol_indices()
    inner = tensor.col_indices() if by_rows else tensor.row_indices()
    values = tensor.detach().values()
    types = str(outer.dtype), str(inner.dtype)
    return {**found, "types": types, "outer": outer.tolist(), "inner": inner.tolist(), "values": values.tolist()}
