"""What indices, values and size of a sparse tensor must satisfy, and who asks for which checks.

Note [Checks of constructors]
    A kernel may hand indices to a library that trusts them, so a bad one must not get into a tensor: the public constructors
    check shapes, types and that indices are in range, which costs one pass over the indices.  That
    compressed indices are sorted and distinct, and that coordinates said to be coalesced are, is checked on demand: with
    ``check_invariants=True``, or in the scope of `check_sparse_tensor_invariants`.  ``check_invariants=False``
    leaves out everything but shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from minitorch.core.dtype import int32, int64
from minitorch.errors import NeedsElementsError
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse.convert import linear_positions, product
from minitorch.sparse.handles import BLOCKED, BY_ROWS, COMPRESSED
from minitorch.tensor.wrapper import has_values

# How much is checked.
SHAPES, RANGES, EVERYTHING = 0, 1, 2

_enabled = False


class check_sparse_tensor_invariants:
    """Scope, decorator and switch of the full checks of new sparse tensors (Note [Checks of constructors]).

    Parameters
    ----------
    enable : bool
        What holds within the scope.

    Examples
    --------
    >>> with minitorch.sparse.check_sparse_tensor_invariants():
    ...     minitorch.sparse_csr_tensor([0, 2, 2], [1, 1], [1.0, 2.0], (2, 2))
    Traceback (most recent call last):
        ...
    RuntimeError: `col_indices` of each row must be sorted and distinct along the last dimension, ...
    """

    def __init__(self, enable: bool = True):
        self.state = enable
        self._saved: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Return whether every new sparse tensor is checked in full."""
        return _enabled

    @staticmethod
    def enable() -> None:
        """Check every new sparse tensor in full from now on."""
        _set(True)

    @staticmethod
    def disable() -> None:
        """Check shapes and ranges of indices alone from now on."""
        _set(False)

    def __enter__(self) -> None:
        if self._saved is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different context manager instance for context "
                "nesting."
            )
        self._saved = _enabled
        _set(self.state)

    def __exit__(self, *exc: Any) -> None:
        assert self._saved is not None
        _set(self._saved)
        self._saved = None

    def __call__(self, fn: Callable) -> Callable:
        @wraps(fn)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return fn(*args, **kwargs)

        return checked


def _set(value: bool) -> None:
    global _enabled
    _enabled = value


def level_of(check_invariants: bool | None) -> int:
    """Return how much to check for the argument of a constructor."""
    if check_invariants is None:
        return EVERYTHING if _enabled else RANGES
    return EVERYTHING if check_invariants else SHAPES


def _is_plain(*tensors: Any) -> bool:
    """Return whether elements can be looked at: not those of meta and fake tensors, nor one example of many."""
    return all(has_values(t) for t in tensors)


def check_size(name: str, size: Any) -> None:
    """Raise for sizes that are negative."""
    check(all(n >= 0 for n in size), f"{name}(): sizes must not be negative, but size is {list(size)}")


def check_index_sign(indices: Any) -> None:
    """Raise RuntimeError for the first dimension that has a negative index."""
    if indices.numel() and _is_plain(indices):
        lowest = F.amin(indices, [1]).tolist()
        for d, low in enumerate(lowest):
            check(low >= 0, f"found negative index {low} for dim {d}")


def check_coo(indices: Any, values: Any, size: Any, is_coalesced: bool | None, level: int) -> None:
    """Check what a tensor of layout ``sparse_coo`` is to be made of.

    Raises
    ------
    RuntimeError
        With what is wrong.
    """
    check(indices.ndim == 2, f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    check(not (indices.is_floating_point() or indices.is_complex()), f"indices must be integers, but are {indices.dtype}")
    check(
        values.ndim > 0 and indices.shape[1] == values.shape[0],
        f"indices and values must have same nnz, but got nnz from indices: {indices.shape[1]}, nnz from values: "
        f"{values.shape[0] if values.ndim else '(values is a 0-dim tensor)'}",
    )
    sparse_dim, dense_dim = indices.shape[0], values.ndim - 1
    check(
        len(size) == sparse_dim + dense_dim,
        f"'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = {len(size)}, sparse_dim = {sparse_dim}, "
        f"dense_dim = {dense_dim}",
    )
    check(
        tuple(values.shape[1:]) == tuple(size[sparse_dim:]),
        f"values has incorrect size, expected {[values.shape[0], *size[sparse_dim:]]}, got {list(values.shape)}",
    )
    check(indices.device == values.device, f"indices are on {indices.device} and values on {values.device}")
    if level == SHAPES or not indices.numel() or not _is_plain(indices):
        return
    check_index_sign(indices)
    for d, high in enumerate(F.amax(indices, [1]).tolist()):
        check(high < size[d], f"size is inconsistent with indices: for dim {d}, size is {size[d]} but found index {high}")
    if is_coalesced and level == EVERYTHING and indices.shape[1] > 1:
        positions = linear_positions(indices, size[:sparse_dim])
        check(
            bool(F.all(F.gt(F.slice(positions, 0, 1), F.slice(positions, 0, 0, -1)))),
            "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor: pass is_coalesced=False, and "
            "call coalesce()",
        )


def names_of(layout: Any) -> tuple[str, str, str, str]:
    """Return what compressed and plain indices of a layout are called, and what they count."""
    if layout in BY_ROWS:
        return "crow_indices", "col_indices", "row", "column"
    return "ccol_indices", "row_indices", "column", "row"


def check_compressed_layout(name: str, layout: Any) -> None:
    """Raise RuntimeError if a layout is no compressed one."""
    check(
        layout in COMPRESSED,
        f"{name} expected sparse compressed tensor layout but got {'none' if layout is None else layout}; it is one of "
        "sparse_csr, sparse_csc, sparse_bsr and sparse_bsc",
    )


def check_compressed_parts(compressed: Any, plain: Any, values: Any, layout: Any) -> None:
    """Check the numbers of dimensions, batches and entries of what a compressed tensor is to be made of."""
    outer_name, inner_name, _, _ = names_of(layout)
    check(compressed.ndim >= 1, f"{outer_name} must have dimensionality >= 1 but got {compressed.ndim}")
    check(
        compressed.ndim == plain.ndim,
        f"{outer_name} and {inner_name} dimensionalities must be equal but got {compressed.ndim} and {plain.ndim}, respectively",
    )
    batch_dim = compressed.ndim - 1
    block_dim = 2 if layout in BLOCKED else 0
    check(
        values.ndim > batch_dim + block_dim,
        f"values must have dimensionality > sum of batch and block dimensionalities (={batch_dim} + {block_dim}) but got "
        f"{values.ndim}",
    )
    check(
        tuple(plain.shape[:batch_dim]) == tuple(compressed.shape[:batch_dim]) == tuple(values.shape[:batch_dim]),
        f"all batch dimensions of {outer_name} (={list(compressed.shape[:batch_dim])}), {inner_name} "
        f"(={list(plain.shape[:batch_dim])}) and values (={list(values.shape[:batch_dim])}) must be equal",
    )
    nnz = values.shape[batch_dim]
    check(
        plain.shape[-1] == nnz,
        f"{inner_name}.shape[-1] must be equal to nnz (={nnz}) as defined by values.shape[{batch_dim}], but got "
        f"{plain.shape[-1]}",
    )
    check(compressed.shape[-1] >= 1, f"{outer_name}.shape[-1] must be at least 1, the number of rows or columns + 1, but is 0")
    check(
        compressed.dtype is plain.dtype,
        f"{outer_name} and {inner_name} must have the same dtype, but got {compressed.dtype} and {plain.dtype}, respectively",
    )
    check(
        compressed.dtype in (int32, int64),
        f"{outer_name} and {inner_name} must be an int32 or int64 type, but got {compressed.dtype}",
    )
    check(
        compressed.device == plain.device == values.device,
        f"{outer_name}, {inner_name} and values must be on one device, but are on {compressed.device}, {plain.device} and "
        f"{values.device}",
    )


def check_compressed(compressed: Any, plain: Any, values: Any, size: Any, layout: Any, level: int) -> None:
    """Check what a compressed tensor is to be made of.

    Raises
    ------
    RuntimeError
        With what is wrong.
    """
    check_compressed_parts(compressed, plain, values, layout)
    outer_name, inner_name, outer_word, inner_word = names_of(layout)
    batch_dim = compressed.ndim - 1
    first = batch_dim + 1
    block = tuple(values.shape[first : first + 2]) if layout in BLOCKED else (1, 1)
    dense = tuple(values.shape[first + (2 if layout in BLOCKED else 0) :])
    check(
        len(size) == batch_dim + 2 + len(dense),
        f"tensor dimensionality must be sum of batch, base, and dense dimensionalities (={batch_dim} + 2 + {len(dense)}) but "
        f"got {len(size)}",
    )
    check(
        tuple(size[:batch_dim]) == tuple(compressed.shape[:batch_dim]),
        f"all batch dimensions of {outer_name} (={list(compressed.shape[:batch_dim])}) and of the tensor "
        f"(={list(size[:batch_dim])}) must be equal",
    )
    check(
        tuple(size[batch_dim + 2 :]) == dense,
        f"values must have the tensor's dense dimensions {list(size[batch_dim + 2 :])}, but has {list(dense)}",
    )
    for d in range(2):
        check(
            block[d] > 0 and size[batch_dim + d] % block[d] == 0,
            f"tensor shape[{batch_dim + d}] (={size[batch_dim + d]}) must be divisible with blocksize[{d}] (={block[d]}) as "
            "defined by values shape",
        )
    counts = [size[batch_dim + d] // block[d] for d in range(2)]
    outer, inner = counts if layout in BY_ROWS else counts[::-1]
    check(
        compressed.shape[-1] == outer + 1,
        f"{outer_name}.shape[-1] must be equal to the number of {outer_word}s + 1 (={outer + 1}), but got "
        f"{compressed.shape[-1]}",
    )
    if level == SHAPES or not _is_plain(compressed, plain):
        return
    nnz = plain.shape[-1]
    if compressed.numel():
        _check_offsets(compressed, outer_name, nnz, inner)
    if plain.numel():
        low, high = F.aminmax(plain)
        n_name = "ncols" if layout in BY_ROWS else "nrows"
        check(
            int(low) >= 0 and int(high) < inner,
            f"`0 <= {inner_name} < {n_name}` is not satisfied: {n_name} is {inner}, and they are from {int(low)} to {int(high)}",
        )
    if level == EVERYTHING and nnz > 1 and plain.numel():
        _check_sorted(compressed, plain, outer, inner_name, outer_word)


def _check_offsets(compressed: Any, name: str, nnz: int, inner: int) -> None:
    check(bool(F.all(F.eq(F.select(compressed, -1, 0), 0))), f"`{name}[..., 0] == 0` is not satisfied.")
    check(
        bool(F.all(F.eq(F.select(compressed, -1, -1), nnz))),
        f"`{name}[..., -1] == nnz` is not satisfied: nnz is {nnz}.",
    )
    if compressed.shape[-1] > 1:
        counts = F.sub(F.slice(compressed, -1, 1), F.slice(compressed, -1, 0, -1))
        low, high = F.aminmax(counts)
        check(
            int(low) >= 0 and int(high) <= inner,
            f"`0 <= {name}[..., 1:] - {name}[..., :-1] <= {inner}` is not satisfied: the differences are from {int(low)} to "
            f"{int(high)}.",
        )


def _check_sorted(compressed: Any, plain: Any, outer: int, inner_name: str, outer_word: str) -> None:
    nnz = plain.shape[-1]
    count = product(plain.shape[:-1])
    offsets = F.reshape(compressed, [count, outer + 1])
    lengths = F.reshape(F.sub(F.slice(offsets, 1, 1), F.slice(offsets, 1, 0, -1)), [count * outer])
    rows = F.repeat_interleave(F.arange(count * outer, device=plain.device), lengths, output_size=count * nnz)
    flat = F.reshape(plain, [count * nnz])
    same_row = F.eq(F.slice(rows, 0, 1), F.slice(rows, 0, 0, -1))
    grows = F.gt(F.slice(flat, 0, 1), F.slice(flat, 0, 0, -1))
    check(
        bool(F.all(F.logical_or(F.logical_not(same_row), grows))),
        f"`{inner_name}` of each {outer_word} must be sorted and distinct along the last dimension, which is not satisfied.",
    )


def needing_values(indices: Any) -> Any:
    """Return indices that a size is to be found from; raise where they have no elements."""
    if not has_values(indices):
        raise NeedsElementsError("sparse constructors", "the size, which is not given,")
    return indices


def inferred_size(compressed: Any, plain: Any, values: Any, layout: Any) -> list[int]:
    """Return the smallest size that compressed and plain indices fit in."""
    check_compressed_parts(compressed, plain, values, layout)
    batch_dim = compressed.ndim - 1
    first = batch_dim + 1
    block = tuple(values.shape[first : first + 2]) if layout in BLOCKED else (1, 1)
    dense = list(values.shape[first + (2 if layout in BLOCKED else 0) :])
    outer = compressed.shape[-1] - 1
    inner = int(F.amax(needing_values(plain))) + 1 if plain.numel() else 0
    rows, columns = (outer, inner) if layout in BY_ROWS else (inner, outer)
    return [*compressed.shape[:batch_dim], rows * block[0], columns * block[1], *dense]

