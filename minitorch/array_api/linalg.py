"""The extension `linalg`: linear algebra on the last two axes, stacks of matrices along those before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import minitorch as mt
from minitorch.array_api.data_types import operands
from minitorch.array_api.statistics import _reduce, sum


def _of_matrices(name: str, kernel: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def of_matrices(x: mt.Tensor, /) -> Any:
        return kernel(x)

    of_matrices.__name__ = of_matrices.__qualname__ = name
    of_matrices.__doc__ = doc
    return of_matrices


det = _of_matrices("det", mt.linalg.det, "Return the determinants.")
eig = _of_matrices("eig", mt.linalg.eig, "Return the complex eigenvalues and eigenvectors.")
eigh = _of_matrices("eigh", mt.linalg.eigh, "Return the eigenvalues and eigenvectors of Hermitian matrices.")
eigvals = _of_matrices("eigvals", mt.linalg.eigvals, "Return the complex eigenvalues.")
eigvalsh = _of_matrices("eigvalsh", mt.linalg.eigvalsh, "Return the eigenvalues of Hermitian matrices.")
inv = _of_matrices("inv", mt.linalg.inv, "Return the inverses.")
matrix_transpose = _of_matrices("matrix_transpose", lambda x: x.mT, "Return views with the last two axes exchanged.")
slogdet = _of_matrices("slogdet", mt.linalg.slogdet, "Return sign and logarithm of the absolute value of determinants.")
svdvals = _of_matrices("svdvals", mt.linalg.svdvals, "Return the singular values, the largest first.")


def cholesky(x: mt.Tensor, /, *, upper: bool = False) -> mt.Tensor:
    """Return the lower (or upper) triangular factors of positive definite matrices."""
    return mt.linalg.cholesky(x, upper=upper)


def cross(x1: mt.Tensor, x2: mt.Tensor, /, *, axis: int = -1) -> mt.Tensor:
    """Return the cross products of the vectors of three elements along `axis`."""
    # Broadcast here: the operator wants operands of as many dimensions.
    return mt.linalg.cross(*mt.broadcast_tensors(*operands("cross", x1, x2)), dim=axis)


def diagonal(x: mt.Tensor, /, *, offset: int = 0) -> mt.Tensor:
    """Return a view of the diagonals; those above the main one for a positive `offset`."""
    return mt.diagonal(x, offset, -2, -1)


def matmul(x1: mt.Tensor, x2: mt.Tensor, /) -> mt.Tensor:
    """Return the matrix products ``x1 @ x2``."""
    return mt.matmul(*operands("matmul", x1, x2))


def matrix_norm(x: mt.Tensor, /, *, keepdims: bool = False, ord: Any = "fro") -> mt.Tensor:
    """Return the norms of matrices: "fro", "nuc", or of order 1, 2, inf and their negatives."""
    return mt.linalg.matrix_norm(x, ord=ord, keepdim=keepdims)


def matrix_power(x: mt.Tensor, n: int, /) -> mt.Tensor:
    """Return matrices to the power of the integer `n`."""
    return mt.linalg.matrix_power(x, n)


def matrix_rank(x: mt.Tensor, /, *, rtol: Any = None) -> mt.Tensor:
    """Return the ranks: how many singular values are above `rtol` times the largest."""
    return mt.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: mt.Tensor, x2: mt.Tensor, /) -> mt.Tensor:
    """Return the outer product of two vectors."""
    return mt.outer(*operands("outer", x1, x2))


def pinv(x: mt.Tensor, /, *, rtol: Any = None) -> mt.Tensor:
    """Return the pseudo-inverses; singular values up to `rtol` times the largest count as zero."""
    return mt.linalg.pinv(x, rtol=rtol)


def qr(x: mt.Tensor, /, *, mode: str = "reduced") -> Any:
    """Return matrices with orthonormal columns, and upper triangular ones, whose products are `x`."""
    return mt.linalg.qr(x, mode=mode)


def solve(x1: mt.Tensor, x2: mt.Tensor, /) -> mt.Tensor:
    """Return the solutions of ``x1 @ x = x2``. `x2` is a vector just if it has one dimension, otherwise matrices."""
    left, right = operands("solve", x1, x2)
    is_vector = right.ndim == 1
    if is_vector:
        right = right.unsqueeze(-1)
    # PyTorch also takes a stack of vectors, and tells it from matrices by the number of dimensions.
    if right.ndim < left.ndim:
        right = right.reshape((1,) * (left.ndim - right.ndim) + tuple(right.shape))
    result = mt.linalg.solve(left, right)
    return result.squeeze(-1) if is_vector else result


def svd(x: mt.Tensor, /, *, full_matrices: bool = True) -> Any:
    """Return the singular value decompositions ``U``, ``S`` and ``Vh``."""
    return mt.linalg.svd(x, full_matrices=full_matrices)


def tensordot(x1: mt.Tensor, x2: mt.Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> mt.Tensor:
    """Return the sums of products over `axes`: the last of `x1` with the first of `x2`, or those that two lists name."""
    return mt.tensordot(*operands("tensordot", x1, x2), dims=axes)


def trace(x: mt.Tensor, /, *, offset: int = 0, dtype: Any = None) -> mt.Tensor:
    """Return the sums of the diagonals, as `sum` adds them."""
    return sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vecdot(x1: mt.Tensor, x2: mt.Tensor, /, *, axis: int = -1) -> mt.Tensor:
    """Return the dot products of the vectors along `axis` (counted from the end), the first conjugated.

    Raises
    ------
    ValueError
        If the vectors are of different lengths.
    """
    left, right = operands("vecdot", x1, x2)
    if left.shape[axis] != right.shape[axis]:
        raise ValueError(f"vecdot(): vectors of {left.shape[axis]} and {right.shape[axis]} elements along axis {axis}")
    left, right = left.movedim(axis, -1), right.movedim(axis, -1)
    return (mt.conj(left).unsqueeze(-2) @ right.unsqueeze(-1)).squeeze(-1).squeeze(-1)


def vector_norm(
    x: mt.Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: float = 2
) -> mt.Tensor:
    """Return the norms of order `ord` of vectors along `axis`: all of its elements are one vector."""

    def norm(array: mt.Tensor, axes: tuple[int, ...], keepdim: bool) -> mt.Tensor:
        return mt.linalg.vector_norm(array, ord, axes, keepdim=keepdim)

    return _reduce(norm, x, axis, keepdims)
