"""The functions of `minitorch.sparse`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.core.layout import strided
from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]


def mm(mat1: Any, mat2: Any, reduce: str = "sum") -> Any:
    """Return the product of two matrices of which one or both are sparse.

    Parameters
    ----------
    mat1 : Tensor, shape (n, m), any layout
    mat2 : Tensor, shape (m, p), any layout
    reduce : str
        ``"sum"``; or ``"mean"``, ``"amax"`` or ``"amin"`` of the entries' products in place of their sum, for a dense
        `mat2`.  A row of `mat1` without entries is zero.

    Returns
    -------
    Tensor, shape (n, p)
        Dense if one matrix is, else of layout ``sparse_coo`` if `mat1` is, ``sparse_csc`` if both are, else ``sparse_csr``.

    Raises
    ------
    RuntimeError
        If shapes or dtypes do not fit, or values have dense dimensions.

    Notes
    -----
    Other than that of `minitorch.mm`, which may be dense, the gradient of a sparse factor has the factor's layout and entries.

    Examples
    --------
    >>> import minitorch
    >>> a = minitorch.tensor([[0.0, 2.0], [1.0, 0.0]]).to_sparse_csr().requires_grad_()
    >>> product = minitorch.sparse.mm(a, minitorch.ones(2, 3))
    >>> product
    tensor([[2., 2., 2.],
            [1., 1., 1.]], grad_fn=<SparseAddmmBackward0>)
    >>> product.sum().backward()
    >>> a.grad.values()
    tensor([3., 3.])
    """
    if reduce == "sum":
        return F._sparse_mm(mat1, mat2)
    return F._sparse_mm(mat1, mat2, reduce)


def addmm(mat: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0) -> Any:
    """Return ``beta * mat + alpha * (mat1 @ mat2)``; the gradient of a sparse `mat1` has its entries.

    Parameters
    ----------
    mat : Tensor, broadcasts to shape (n, p)
        Dense where the product is dense.
    mat1 : Tensor, shape (n, m), any layout
    mat2 : Tensor, shape (m, p), any layout
    beta, alpha : float
        With `beta` 0 the elements of `mat` are not looked at.

    Examples
    --------
    >>> import minitorch
    >>> eye = minitorch.eye(2).to_sparse()
    >>> minitorch.sparse.addmm(minitorch.ones(2, 2), eye, minitorch.ones(2, 2), alpha=2)
    tensor([[3., 3.],
            [3., 3.]])
    """
    return F._sparse_addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(
    input: Any, mat1: Any, mat2: Any, *, beta: float = 1.0, alpha: float = 1.0, out: Any = None
) -> Any:
    """Return ``beta * input + alpha * (mat1 @ mat2)`` at the entries of a sparse tensor.

    Parameters
    ----------
    input : Tensor, shape (*batch, n, m), any sparse layout
    mat1 : Tensor, shape (*batch, n, k)
    mat2 : Tensor, shape (*batch, k, m)
    beta, alpha : float
    out : Tensor, optional
        Of the layout of `input`; it becomes the result.

    Returns
    -------
    Tensor
        With the layout and the entries of `input`.

    Examples
    --------
    >>> import minitorch
    >>> pattern = minitorch.eye(3).to_sparse_csr()
    >>> minitorch.sparse.sampled_addmm(pattern, minitorch.ones(3, 2), minitorch.ones(2, 3)).values()
    tensor([3., 3., 3.])
    """
    result = F.sparse_sampled_addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return result if out is None else out.copy_(result)


def sum(input: Any, dim: int | Sequence[int] | None = None, dtype: Any = None) -> Any:
    """Return the sum of a sparse tensor over dimensions, by default all.

    Parameters
    ----------
    input : Tensor, any sparse layout
        Of a compressed layout only over all dimensions: see ``Tensor.sum(keepdim=True)``.
    dim : int or sequence of int, optional
    dtype : dtype, optional
        To convert to before summing.

    Returns
    -------
    Tensor
        Dense where all sparse dimensions are summed over, else of layout ``sparse_coo``.

    Notes
    -----
    Other than that of `minitorch.sum`, which is dense, the gradient has the entries of `input`.

    Examples
    --------
    >>> import minitorch
    >>> a = minitorch.tensor([[0.0, 2.0], [1.0, 0.0], [3.0, 0.0]]).to_sparse()
    >>> minitorch.sparse.sum(a, 0).to_dense()
    tensor([4., 2.])
    """
    if dim is None:
        return F._sparse_sum(input) if dtype is None else F._sparse_sum(input, dtype=dtype)
    dims = [dim] if isinstance(dim, int) else list(dim)
    return F._sparse_sum(input, dims) if dtype is None else F._sparse_sum(input, dims, dtype=dtype)


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the softmax along a dimension of the entries alone, as if all others were minus infinity.

    Parameters
    ----------
    input : Tensor, any sparse layout, floating
    dim : int
    dtype : dtype, optional
        To convert to first.

    Returns
    -------
    Tensor
        With the layout and the entries of `input`.

    Examples
    --------
    >>> import minitorch
    >>> a = minitorch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 5.0]]).to_sparse()
    >>> minitorch.sparse.softmax(a, 1).values()
    tensor([0.5000, 0.5000, 1.0000])
    """
    return F._sparse_softmax(input, dim, dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """Return the logarithm of `softmax`.

    Examples
    --------
    >>> import minitorch
    >>> a = minitorch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 5.0]]).to_sparse()
    >>> minitorch.sparse.log_softmax(a, 1).values()
    tensor([-0.6931, -0.6931,  0.0000])
    """
    return F._sparse_log_softmax(input, dim, dtype)


def spdiags(diagonals: Any, offsets: Any, shape: Sequence[int], layout: Any = None) -> Any:
    """Return a sparse matrix with rows of a tensor on its diagonals.

    Parameters
    ----------
    diagonals : Tensor, shape (count, length) or (length,)
        The element of column j of a row stands in column j of the matrix.
    offsets : Tensor, shape (count,) or (), int64
        Which diagonal each row is: 0 is the main one, positive ones lie above it.  Each once.
    shape : sequence of int
        Of the matrix.
    layout : layout, optional
        ``sparse_coo`` (the default), ``sparse_csr`` or ``sparse_csc``.

    Examples
    --------
    >>> import minitorch
    >>> rows = minitorch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> minitorch.sparse.spdiags(rows, minitorch.tensor([0, 1]), (3, 3)).to_dense()
    tensor([[1., 5., 0.],
            [0., 2., 6.],
            [0., 0., 3.]])
    """
    return F._spdiags(diagonals, offsets, list(shape), layout)


def spsolve(input: Any, other: Any, *, left: bool = True) -> Any:
    """Return the solution of ``input @ x = other``, by SciPy's sparse LU decomposition on the CPU.

    Parameters
    ----------
    input : Tensor, shape (n, n), any sparse layout, float32, float64 or complex
    other : Tensor, shape (n,) or (n, k)
    left : bool
        Only True is implemented.

    Raises
    ------
    RuntimeError
        If the matrix is singular.
    NotImplementedError
        Where SciPy is not installed, or the tensors are not on the CPU.

    Examples
    --------
    >>> import minitorch
    >>> a = minitorch.tensor([[2.0, 0.0], [1.0, 4.0]]).to_sparse_csr()
    >>> minitorch.sparse.spsolve(a, minitorch.tensor([2.0, 5.0]))
    tensor([1., 1.])
    """
    return F._spsolve(input, other, left=left)


def as_sparse_gradcheck(gradcheck: Callable[..., bool]) -> Callable[..., bool]:
    """Return `gradcheck` for functions of sparse tensors: derivatives are checked with respect to their values.

    Parameters
    ----------
    gradcheck : callable
        `minitorch.autograd.gradcheck` or ``gradgradcheck``.

    Returns
    -------
    callable
        With ``masked=True`` (the default) it gives the function each sparse input made from its values, which are
        ordinary dense inputs, and makes sparse results dense.

    Examples
    --------
    >>> import minitorch
    >>> check = minitorch.sparse.as_sparse_gradcheck(minitorch.autograd.gradcheck)
    >>> a = minitorch.eye(3, dtype=minitorch.float64).to_sparse().requires_grad_()
    >>> check(lambda x: minitorch.sparse.mm(x, x), a)
    True
    """

    def check_sparse(function: Callable, inputs: Any, **kwargs: Any) -> bool:
        masked = kwargs.pop("masked", True)
        inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        if not masked:
            return gradcheck(function, inputs, masked=masked, **kwargs)
        flat, rebuilders = [], []
        for value in inputs:
            if _is_sparse(value) and value.requires_grad:
                pattern = value.detach()
                flat.append(_values(pattern).clone().requires_grad_())
                rebuilders.append(lambda values, pattern=pattern: with_values(pattern, values))
            else:
                flat.append(value)
                rebuilders.append(lambda value: value)

        def of_values(*values: Any) -> Any:
            result = function(*[make(value) for make, value in zip(rebuilders, values, strict=True)])
            if isinstance(result, (tuple, list)):
                return tuple([r.to_dense() if _is_sparse(r) else r for r in result])
            return result.to_dense() if _is_sparse(result) else result

        return gradcheck(of_values, tuple(flat), **kwargs)

    return check_sparse


def _is_sparse(value: Any) -> bool:
    return hasattr(value, "layout") and value.layout is not strided


def _values(pattern: Any) -> Any:
    return pattern._values() if pattern.is_sparse else pattern.values()


def with_values(pattern: Any, values: Any) -> Any:
    """Return the sparse tensor with the entries of another and other values, differentiable with respect to them."""
    if pattern.is_sparse:
        return F._sparse_coo_tensor_unsafe(
            pattern._indices(), values, list(pattern.shape), is_coalesced=pattern.is_coalesced()
        )
    by_rows = str(pattern.layout).endswith("r")
    check(pattern.layout is not strided, "with_values(): the pattern must be sparse")
    indices = (pattern.crow_indices(), pattern.col_indices()) if by_rows else (pattern.ccol_indices(), pattern.row_indices())
    return F._sparse_compressed_tensor_unsafe(*indices, values, list(pattern.shape), layout=pattern.layout)
