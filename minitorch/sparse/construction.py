"""The public constructors of sparse tensors: lists or tensors of indices and values, with checks.

What is checked: `invariants`, Note [Checks of constructors].
"""

from __future__ import annotations

from typing import Any

from minitorch.core.device import device as device_class
from minitorch.core.dtype import int32, int64
from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse import invariants
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import as_tensor

_MISSING: Any = object()


def _values_of(values: Any, dtype: Any, device: Any) -> Any:
    """Return values as a tensor; one that is given keeps its history."""
    return as_tensor(values, dtype=dtype, device=device)


def _indices_of(indices: Any, values: Any) -> Any:
    """Return indices as a tensor beside the values; of lists int64, if there are integers in them."""
    if isinstance(indices, TensorBase):
        return as_tensor(indices, device=values.device).detach()
    result = as_tensor(indices, device=values.device)
    return result if result.numel() else result.to(int64)


def _pinned(tensor: Any, pin_memory: bool | None) -> Any:
    return tensor.pin_memory() if pin_memory else tensor


def _finished(result: Any, requires_grad: bool) -> Any:
    if requires_grad and not result.requires_grad:
        result._set_requires_grad(True)
    return result


def sparse_coo_tensor(
    indices: Any = _MISSING,
    values: Any = _MISSING,
    size: Any = None,
    *,
    dtype: Any = None,
    device: Any = None,
    layout: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
    is_coalesced: bool | None = None,
) -> Any:
    """Return a tensor of layout ``sparse_coo``: values at the coordinates that the columns of `indices` are.

    Parameters
    ----------
    indices : Tensor or nested list of int, shape (sparse_dim, nnz)
        Kept as int64.  A column may come again: its values add up.  Given alone, it is the size of a tensor without
        values.
    values : Tensor or nested list, shape (nnz, *dense dimensions)
        A tensor of the right dtype and device is not copied, and a gradient flows back to it.
    size : sequence of int, optional
        The smallest that indices fit in, if it is not given.
    dtype, device : optional
        Those of `values` by default.
    requires_grad : bool
    check_invariants : bool, optional
        By default shapes and the range of indices are checked; ``True`` checks `is_coalesced` too, ``False`` shapes alone.
    is_coalesced : bool, optional
        Says that columns come in lexicographic order, each once.

    Raises
    ------
    RuntimeError
        If indices, values and size do not fit together.

    Examples
    --------
    >>> minitorch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 4)).to_dense()
    tensor([[0., 0., 3., 0.],
            [4., 0., 5., 0.]])
    """
    check(layout in (None, sparse_coo), f"sparse_coo_tensor: layout must be torch.sparse_coo but got {layout}")
    if values is _MISSING:
        if indices is _MISSING:
            if size is None:
                raise TypeError("sparse_coo_tensor() received an invalid combination of arguments: give indices and values")
            indices = size
        if isinstance(indices, TensorBase):
            raise TypeError("sparse_coo_tensor() received indices and no values")
        invariants.check_size("sparse_coo_tensor", indices)
        result = F._sparse_coo_tensor_with_dims(
            len(indices), 0, list(indices), dtype=dtype, layout=sparse_coo, device=device, pin_memory=pin_memory
        )
        return _finished(result, requires_grad)
    values = _pinned(_values_of(values, dtype, device), pin_memory)
    indices = _pinned(_indices_of(indices, values).to(int64), pin_memory)
    if not values.ndim:  # a number, the value of the only place
        values = values.unsqueeze(0)
    return _finished(coo_checked(indices, values, size, is_coalesced, check_invariants), requires_grad)


def coo_checked(
    indices: Any, values: Any, size: Any, is_coalesced: bool | None = None, check_invariants: bool | None = None
) -> Any:
    """Return a tensor of layout ``sparse_coo`` made of tensors; see `sparse_coo_tensor`."""
    check(indices.ndim == 2, f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if size is None:
        invariants.check_index_sign(indices)
        highest = F.amax(invariants.needing_values(indices), [1]).tolist() if indices.numel() else [-1] * indices.shape[0]
        size = [*(n + 1 for n in highest), *values.shape[1:]]
    size = list(size)
    invariants.check_size("sparse_coo_tensor", size)
    invariants.check_coo(indices, values, size, is_coalesced, invariants.level_of(check_invariants))
    return F._sparse_coo_tensor_with_dims_and_tensors(
        indices.shape[0], values.ndim - 1, size, indices, values, dtype=values.dtype, layout=sparse_coo,
        device=values.device, is_coalesced=is_coalesced,
    )  # fmt: skip


def sparse_compressed_tensor(
    compressed_indices: Any,
    plain_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Return a tensor of a compressed layout.

    Parameters
    ----------
    compressed_indices : Tensor or nested list of int, shape (*batch, n + 1)
        Where the entries of each row (column) begin, counted in blocks in the blocked layouts, and at last their number.
    plain_indices : Tensor or nested list of int, shape (*batch, nnz)
        The column (row) of each entry.
    values : Tensor or nested list, shape (*batch, nnz, *block, *dense dimensions)
        `block` is there in the blocked layouts alone.  A gradient flows back to it.
    size : sequence of int, optional
        The smallest that indices fit in, if it is not given.
    layout : layout
        ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.
    dtype, device : optional
        Those of `values` by default.
    requires_grad : bool
    check_invariants : bool, optional
        By default shapes, types and the range of indices are checked; ``True`` checks their order too, ``False`` shapes
        and types alone.

    Raises
    ------
    RuntimeError
        If indices, values and size do not fit together.

    Examples
    --------
    >>> x = minitorch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], layout=minitorch.sparse_csc)
    >>> x.to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    return _compressed(
        "sparse_compressed_tensor", layout, compressed_indices, plain_indices, values, size, dtype, device, pin_memory,
        requires_grad, check_invariants,
    )  # fmt: skip


def _compressed(
    name: str, layout: Any, compressed: Any, plain: Any, values: Any, size: Any, dtype: Any, device: Any, pin_memory: bool,
    requires_grad: bool, check_invariants: bool | None,
) -> Any:  # fmt: skip
    invariants.check_compressed_layout(name, layout)
    values = _pinned(_values_of(values, dtype, device if device is None else device_class(device)), pin_memory)
    compressed = _pinned(_indices_of(compressed, values), pin_memory)
    plain = _pinned(_indices_of(plain, values), pin_memory)
    if {compressed.dtype, plain.dtype} == {int32, int64} and invariants.level_of(check_invariants) != invariants.EVERYTHING:
        compressed, plain = compressed.to(int64), plain.to(int64)
    result = compressed_checked(compressed, plain, values, size, layout, check_invariants)
    return _finished(result, requires_grad)


def compressed_checked(
    compressed: Any, plain: Any, values: Any, size: Any, layout: Any, check_invariants: bool | None = None
) -> Any:
    """Return a compressed tensor made of tensors; see `sparse_compressed_tensor`."""
    if size is None:
        size = invariants.inferred_size(compressed, plain, values, layout)
    size = list(size)
    invariants.check_size("sparse_compressed_tensor", size)
    invariants.check_compressed(compressed, plain, values, size, layout, invariants.level_of(check_invariants))
    return F._sparse_compressed_tensor_unsafe(
        compressed, plain, values, size, dtype=values.dtype, layout=layout, device=values.device
    )


def _check_own_layout(name: str, layout: Any, own: Any) -> None:
    check(layout in (None, own), f"{name}: layout must be {own} but got {layout}")


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Return a tensor of layout ``sparse_csr``: rows of elements.

    Parameters
    ----------
    crow_indices : Tensor or nested list of int, shape (*batch, n + 1)
    col_indices : Tensor or nested list of int, shape (*batch, nnz)
    values : Tensor or nested list, shape (*batch, nnz, *dense dimensions)
    size, dtype, device, pin_memory, requires_grad, check_invariants
        As for `sparse_compressed_tensor`; it raises the same errors.

    Examples
    --------
    >>> minitorch.sparse_csr_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    _check_own_layout("sparse_csr_tensor", layout, sparse_csr)
    return _compressed(
        "sparse_csr_tensor", sparse_csr, crow_indices, col_indices, values, size, dtype, device, pin_memory, requires_grad,
        check_invariants,
    )  # fmt: skip


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Return a tensor of layout ``sparse_csc``: columns of elements.

    Parameters
    ----------
    ccol_indices : Tensor or nested list of int, shape (*batch, n + 1)
    row_indices : Tensor or nested list of int, shape (*batch, nnz)
    values : Tensor or nested list, shape (*batch, nnz, *dense dimensions)
    size, dtype, device, pin_memory, requires_grad, check_invariants
        As for `sparse_compressed_tensor`; it raises the same errors.

    Examples
    --------
    >>> minitorch.sparse_csc_tensor([0, 1, 2], [1, 0], [3.0, 4.0]).to_dense()
    tensor([[0., 4.],
            [3., 0.]])
    """
    _check_own_layout("sparse_csc_tensor", layout, sparse_csc)
    return _compressed(
        "sparse_csc_tensor", sparse_csc, ccol_indices, row_indices, values, size, dtype, device, pin_memory, requires_grad,
        check_invariants,
    )  # fmt: skip


def sparse_bsr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Return a tensor of layout ``sparse_bsr``: rows of blocks.

    Parameters
    ----------
    crow_indices : Tensor or nested list of int, shape (*batch, n + 1)
    col_indices : Tensor or nested list of int, shape (*batch, nnz)
    values : Tensor or nested list, shape (*batch, nnz, rows of a block, columns of a block, *dense dimensions)
    size, dtype, device, pin_memory, requires_grad, check_invariants
        As for `sparse_compressed_tensor`; it raises the same errors.

    Examples
    --------
    >>> minitorch.sparse_bsr_tensor([0, 1], [1], [[[3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 3., 4.]])
    """
    _check_own_layout("sparse_bsr_tensor", layout, sparse_bsr)
    return _compressed(
        "sparse_bsr_tensor", sparse_bsr, crow_indices, col_indices, values, size, dtype, device, pin_memory, requires_grad,
        check_invariants,
    )  # fmt: skip


def sparse_bsc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Any = None,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    check_invariants: bool | None = None,
) -> Any:
    """Return a tensor of layout ``sparse_bsc``: columns of blocks.

    Parameters
    ----------
    ccol_indices : Tensor or nested list of int, shape (*batch, n + 1)
    row_indices : Tensor or nested list of int, shape (*batch, nnz)
    values : Tensor or nested list, shape (*batch, nnz, rows of a block, columns of a block, *dense dimensions)
    size, dtype, device, pin_memory, requires_grad, check_invariants
        As for `sparse_compressed_tensor`; it raises the same errors.

    Examples
    --------
    >>> minitorch.sparse_bsc_tensor([0, 0, 1], [0], [[[3.0, 4.0]]]).to_dense()
    tensor([[0., 0., 3., 4.]])
    """
    _check_own_layout("sparse_bsc_tensor", layout, sparse_bsc)
    return _compressed(
        "sparse_bsc_tensor", sparse_bsc, ccol_indices, row_indices, values, size, dtype, device, pin_memory, requires_grad,
        check_invariants,
    )  # fmt: skip
