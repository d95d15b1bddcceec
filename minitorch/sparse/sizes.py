"""Which other sizes a sparse tensor may take."""

from __future__ import annotations

from typing import Any

from minitorch.ops.shapes.common import check

_INSTEAD = (
    "on a non-empty sparse tensor is not supported. Make a new one with sparse_coo_tensor(size), or clear this one with "
    "sparse_resize_and_clear_()."
)


def check_dims(size: Any, sparse_dim: int, dense_dim: int) -> None:
    """Raise RuntimeError unless a size has as many dimensions as there are sparse and dense ones."""
    check(
        len(size) == sparse_dim + dense_dim,
        f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
        f"dense_dim = {dense_dim}",
    )
    check(all(n >= 0 for n in size), f"sizes must not be negative, but size is {list(size)}")


def check_resize(name: str, tensor: Any, size: Any, sparse_dim: int, dense_dim: int) -> None:
    """Raise RuntimeError where a tensor of layout ``sparse_coo`` has values that a new size would not hold."""
    handle = tensor.handle
    if not handle.nnz:
        return
    for word, own, new in (("sparse", handle.sparse_dim, sparse_dim), ("dense", handle.dense_dim, dense_dim)):
        check(own == new, f"{name}(): changing the number of {word} dimensions (from {own} to {new}) {_INSTEAD}")
    own, new = list(handle.shape), list(size)
    for word, part in (("sparse", slice(0, sparse_dim)), ("dense", slice(sparse_dim, None))):
        check(
            all(b >= a for a, b in zip(own[part], new[part], strict=True)),
            f"{name}(): shrinking the size of {word} dimensions (from {own[part]} to {new[part]}) {_INSTEAD}",
        )
