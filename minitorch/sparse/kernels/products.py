"""Products of matrices, vectors and batches, of which one or all are sparse."""

from __future__ import annotations

from minitorch.core.layout import sparse_coo, sparse_csc, sparse_csr
from minitorch.errors import NeedsElementsError
from minitorch.ops import functions as F
from minitorch.ops.shapes import linalg as shapes
from minitorch.ops.shapes.common import check
from minitorch.sparse.handles import coo, is_coo, is_sparse, same_pattern
from minitorch.sparse.matrices import (
    Matrix,
    matrix_of,
    product_of,
    sum_of,
    tensor_of_matrix,
)
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import COO, CSR, sparse_kernel
from minitorch.tensor.wrapper import has_values


def _turned(dense):
    return F.transpose(dense, -2, -1)


def _product(self, mat2, name, layout=None):
    """Return the product of two matrices, of which one at least is sparse."""
    if not is_sparse(mat2):
        return matrix_of(self, name).times(mat2)
    if not is_sparse(self):
        product = F.t(matrix_of(mat2, name).transposed().times(F.t(self)))
        return product if is_coo(mat2) else F.contiguous(product)
    if layout is None:
        layout = sparse_coo if is_coo(self) else sparse_csr
    return tensor_of_matrix(product_of(matrix_of(self, name), matrix_of(mat2, name)), layout)


def _fits(a, b):
    """Return whether two handles are matrices that can be multiplied: a quick look, before the one that says what is wrong."""
    return len(a.shape) == 2 == len(b.shape) and a.shape[1] == b.shape[0] and a.dtype == b.dtype and a.dtype.kind != "b"


@sparse_kernel("mm")
def mm(self, mat2):
    if not _fits(self.handle, mat2.handle):
        shapes.mm_shape(self.handle, mat2.handle)
    return _product(self, mat2, "mm")


@sparse_kernel("_sparse_sparse_matmul")
def sparse_sparse_matmul(self, other):
    shapes.mm_shape(self.handle, other.handle)
    check(is_sparse(self) and is_sparse(other), "_sparse_sparse_matmul(): both matrices must be sparse")
    both_by_columns = self.layout is sparse_csc and other.layout is sparse_csc
    return _product(self, other, "_sparse_sparse_matmul", sparse_csc if both_by_columns else None)


@sparse_kernel("addmm", "_sparse_addmm")
def addmm(self, mat1, mat2, *, beta=1, alpha=1):
    shapes.addmm_shape(self.handle, mat1.handle, mat2.handle, beta=beta, alpha=alpha)
    if not (is_sparse(mat1) or is_sparse(mat2)):
        raise Unsupported("the product of two dense matrices is dense, and is not added to a sparse one")
    if is_sparse(self) and not (is_sparse(mat1) and is_sparse(mat2)):
        raise Unsupported("the product is dense, and is not added to a sparse matrix; its self must be dense")
    product = _product(mat1, mat2, "addmm")
    if not is_sparse(product):
        return _added(self, product, beta, alpha)
    if not is_sparse(self):
        return _added(self, F.to_dense(product), beta, alpha)
    check(tuple(self.shape) == tuple(product.shape), "addmm(): a sparse self must have the shape of the product")
    terms = matrix_of(_scaled(product, alpha), "addmm")
    if beta != 0:
        terms = sum_of(matrix_of(_scaled(self, beta), "addmm"), terms)
    return tensor_of_matrix(terms, self.layout)


def _scaled(tensor, factor):
    return tensor if factor == 1 else same_pattern(tensor, F.mul(tensor.handle.values, factor))


def _added(self, product, beta, alpha):
    """Return ``beta * self + alpha * product`` of dense tensors; with `beta` 0 self is not looked at."""
    if alpha != 1:
        product = F.mul(product, alpha)
    if beta == 0:
        return product
    return F.add(product, self if beta == 1 else F.mul(self, beta))


@sparse_kernel("mv")
def mv(self, vec):
    shapes.mv_shape(self.handle, vec.handle)
    if not is_sparse(vec):
        return F.squeeze(matrix_of(self, "mv").times(F.unsqueeze(vec, 1)), 1)
    if is_sparse(self):
        raise Unsupported("a product with a sparse vector; mm() multiplies with a sparse matrix of one column")
    places = F.select(vec.handle.indices, 0, 0)
    return F.mv(F.index_select(self, 1, places), vec.handle.values)


@sparse_kernel("addmv")
def addmv(self, mat, vec, *, beta=1, alpha=1):
    shapes.addmv_shape(self.handle, mat.handle, vec.handle, beta=beta, alpha=alpha)
    if is_sparse(self):
        raise Unsupported("the product is dense, and is not added to a sparse vector; its self must be dense")
    return _added(self, F.mv(mat, vec), beta, alpha)


def _vector_product(self, tensor, name, conjugate):
    shapes.dot_shape(self.handle, tensor.handle)
    if is_sparse(self) and is_sparse(tensor):
        self, tensor = F.coalesce(self), F.coalesce(tensor)
        places, other = F.select(self.handle.indices, 0, 0), F.select(tensor.handle.indices, 0, 0)
        left, right = self.handle.values, tensor.handle.values
        if right.shape[0] == 0:
            return F.new_zeros(left, [])
        found = F.clamp(F.searchsorted(other, places), max=right.shape[0] - 1)
        same = F.eq(F.index_select(other, 0, found), places)
        right = F.where(same, F.index_select(right, 0, found), 0)
    else:
        handle = (self if is_sparse(self) else tensor).handle
        places = F.select(handle.indices, 0, 0)
        left = handle.values if is_sparse(self) else F.index_select(self, 0, places)
        right = handle.values if is_sparse(tensor) else F.index_select(tensor, 0, places)
    return F.sum(F.mul(F.conj(left) if conjugate else left, right).resolve_conj(), dtype=left.dtype)


@sparse_kernel("dot", layouts=(COO,))
def dot(self, tensor):
    return _vector_product(self, tensor, "dot", False)


@sparse_kernel("vdot", layouts=(COO,))
def vdot(self, other):
    return _vector_product(self, other, "vdot", True)


# ---------------------------------------------------------------- batches


@sparse_kernel("bmm")
def bmm(self, mat2):
    shapes.bmm_shape(self.handle, mat2.handle)
    count, n, m = self.shape[0], self.shape[1], mat2.shape[2]
    if not is_sparse(mat2):
        product = matrix_of(self, "bmm").times(F.reshape(mat2, [count * mat2.shape[1], m]))
        return F.reshape(product, [count, n, m])
    right = matrix_of(mat2, "bmm")
    if not is_sparse(self):
        rows = F.reshape(_turned(self), [count * self.shape[2], n])
        product = F.reshape(right.transposed().times(rows), [count, m, n])
        return F.contiguous(_turned(product))
    return tensor_of_matrix(product_of(matrix_of(self, "bmm"), right), sparse_coo, (count,))


@sparse_kernel("baddbmm")
def baddbmm(self, batch1, batch2, *, beta=1, alpha=1):
    shapes.baddbmm_shape(self.handle, batch1.handle, batch2.handle, beta=beta, alpha=alpha)
    if is_sparse(self) or (is_sparse(batch1) and is_sparse(batch2)):
        raise Unsupported("a sparse self or two sparse factors; bmm() multiplies the factors")
    return _added(self, F.bmm(batch1, batch2), beta, alpha)


@sparse_kernel("linear")
def linear(input, weight, bias=None):
    shapes.linear_shape(input.handle, weight.handle, None if bias is None else bias.handle)
    if is_sparse(input) and (is_sparse(weight) or input.ndim != 2):
        raise Unsupported("a sparse input must be a matrix, and the weight then dense")
    if bias is not None and is_sparse(bias):
        raise Unsupported("a sparse bias")
    if is_sparse(input):
        result = matrix_of(input, "linear").times(F.t(weight))
    else:
        *lead, inner = input.shape
        rows = F.reshape(input, [-1, inner] if inner else [input.numel(), 0])
        product = F.t(matrix_of(weight, "linear").times(F.t(rows)))
        result = F.reshape(F.contiguous(product), [*lead, weight.shape[0]])
    return result if bias is None else F.add(result, bias)


# ---------------------------------------------------------------- at a pattern


@sparse_kernel("sparse_sampled_addmm")
def sampled_addmm(self, mat1, mat2, *, beta=1, alpha=1):
    name = "sampled_addmm"
    for argument, value in (("mat1", mat1), ("mat2", mat2)):
        check(not is_sparse(value), f"{name}(): {argument} must be dense, but its layout is {value.layout}")
        check(value.ndim == self.ndim, f"{name}(): {argument} must have {self.ndim} dimensions, like self")
    check(is_sparse(self), f"{name}(): self must be sparse, but its layout is {self.layout}")
    check(
        mat1.shape[:-2] == mat2.shape[:-2] == self.shape[:-2] and mat1.shape[-1] == mat2.shape[-2]
        and mat1.shape[-2] == self.shape[-2] and mat2.shape[-1] == self.shape[-1],
        f"{name}(): mat1 and mat2 shapes cannot be multiplied into the shape of self: {tuple(mat1.shape)}, "
        f"{tuple(mat2.shape)} and {tuple(self.shape)}",
    )  # fmt: skip
    check(
        mat1.dtype == mat2.dtype == self.dtype,
        f"{name}(): expected operands to have the same dtype, but got {self.dtype}, {mat1.dtype} and {mat2.dtype}",
    )
    if is_coo(self):
        self = F.coalesce(self)
    matrix = matrix_of(self, name)
    rows, columns = matrix.entries()
    inner = mat1.shape[-1]
    left = F.reshape(mat1, [matrix.shape[0], inner])
    right = F.reshape(_turned(mat2), [matrix.shape[1], inner])
    own = self.handle.values
    values = F.reshape(F._sampled_products(rows, columns, left, right), list(own.shape))
    return same_pattern(self, _added(own, values, beta, alpha))


# ---------------------------------------------------------------- products that stay sparse


def _check_sparse(name, argument, value):
    check(is_coo(value), f"{name}(): {argument} must have layout sparse_coo, but its layout is {value.layout}; use to_sparse()")


@sparse_kernel("hspmm")
def hspmm(mat1, mat2):
    """Return the product in rows: hybrid, with a dense row for each row of `mat1` that has entries."""
    shapes.mm_shape(mat1.handle, mat2.handle)
    _check_sparse("hspmm", "mat1", mat1)
    check(not is_sparse(mat2), f"hspmm(): mat2 must be dense, but its layout is {mat2.layout}")
    matrix = matrix_of(mat1, "hspmm")
    rows, columns = matrix.entries()
    if not has_values(rows):
        raise NeedsElementsError("hspmm", "how many rows the result has")
    there, inverse, _ = F._unique2(rows, True, True)
    count = there.shape[0]
    values = F._entries_mm(inverse, columns, matrix.values, mat2, count)
    return coo((mat1.shape[0], mat2.shape[1]), F.unsqueeze(there, 0), values)


@sparse_kernel("sspaddmm")
def sspaddmm(self, mat1, mat2, *, beta=1, alpha=1):
    """Return ``beta * self + alpha * mat1 @ mat2``, with an entry for each column in rows where `mat1` has some."""
    shapes.addmm_shape(self.handle, mat1.handle, mat2.handle, beta=beta, alpha=alpha)
    _check_sparse("sspaddmm", "self", self)
    _check_sparse("sspaddmm", "mat1", mat1)
    check(not is_sparse(mat2), f"sspaddmm(): mat2 must be dense, but its layout is {mat2.layout}")
    product = hspmm(mat1, mat2).handle
    rows, width = F.select(product.indices, 0, 0), mat2.shape[1]
    columns = F.arange(width, device=rows.device)
    count = rows.shape[0]
    indices = F.stack(
        [
            F.flatten(F.expand(F.unsqueeze(rows, 1), [count, width])),
            F.flatten(F.expand(F.unsqueeze(columns, 0), [count, width])),
        ]
    )
    values = F.flatten(product.values)
    values = values if alpha == 1 else F.mul(values, alpha)
    if beta != 0:
        own = self.handle
        indices = F.cat([own.indices, indices], 1)
        values = F.cat([own.values if beta == 1 else F.mul(own.values, beta), values])
    return coo(tuple(self.shape), indices, values)


# ---------------------------------------------------------------- systems of equations


def _solved(matrix, right):
    matrix = matrix.by_rows()
    dense = F.unsqueeze(right, 1) if right.ndim == 1 else right
    found = F._segment_solve(matrix.offsets, matrix.columns, matrix.values, dense)
    return F.squeeze(found, 1) if right.ndim == 1 else found


def _check_system(name, A, B):
    check(is_sparse(A) and not is_sparse(B), f"{name}(): the matrix must be sparse and the right side dense")
    check(
        A.ndim == 2 and A.shape[0] == A.shape[1],
        f"{name}(): the matrix must be square, but has shape {tuple(A.shape)}",
    )
    check(
        B.ndim in (1, 2) and B.shape[0] == A.shape[0],
        f"{name}(): the right side must have {A.shape[0]} rows, but has shape {tuple(B.shape)}",
    )
    check(A.dtype == B.dtype, f"{name}(): expected operands to have the same dtype, but got {A.dtype} and {B.dtype}")


@sparse_kernel("_spsolve")
def spsolve(A, B, *, left=True):
    check(left, "spsolve(): only left=True is implemented: transpose the system", NotImplementedError)
    _check_system("spsolve", A, B)
    return _solved(matrix_of(A, "spsolve"), B)


@sparse_kernel("linalg_solve_triangular")
def solve_triangular(A, B, *, upper, left=True, unitriangular=False):
    """Solve with the entries of one triangle; behind triangular_solve() too."""
    check(left, "solve_triangular(): of a sparse matrix only left=True is implemented", NotImplementedError)
    _check_system("solve_triangular", A, B)
    matrix = matrix_of(A, "solve_triangular")
    rows, columns = matrix.entries()
    there = F.ge(columns, rows) if upper else F.le(columns, rows)
    if unitriangular:
        there = F.logical_and(there, F.ne(columns, rows))
    kept = F.squeeze(F.nonzero(there), 1)
    rows, columns = F.index_select(rows, 0, kept), F.index_select(columns, 0, kept)
    values = F.index_select(matrix.values, 0, kept)
    if unitriangular:
        ones = F.arange(A.shape[0], dtype=rows.dtype, device=rows.device)
        rows, columns = F.cat([rows, ones]), F.cat([columns, ones])
        values = F.cat([values, F.new_ones(values, [A.shape[0]])])
    matrix = Matrix(matrix.shape, rows, columns, values)
    return _solved(matrix, B)


# ---------------------------------------------------------------- other reductions than the sum

REDUCTIONS = ("sum", "mean", "amax", "amin")


@sparse_kernel("_sparse_mm_reduce_impl", layouts=(CSR,))
def mm_reduce(self, other, reduce):
    """Return the product with another reduction in place of the sum, and which entry gave each extremum.

    The reduction is over the entries alone; a row without any is zero.
    """
    check(
        reduce in REDUCTIONS,
        f"sparse.mm(): reduce must be one of {', '.join(REDUCTIONS)}, but is {reduce!r}",
    )
    shapes.mm_shape(self.handle, other.handle)
    check(self.layout is sparse_csr, f"sparse.mm() with reduce needs layout sparse_csr, but its layout is {self.layout}")
    check(not is_sparse(other), f"sparse.mm() with reduce needs a dense second matrix, but its layout is {other.layout}")
    matrix = matrix_of(self, "sparse.mm")
    n, k = matrix.shape[0], other.shape[1]
    nnz = matrix.values.shape[0]
    if reduce in ("sum", "mean"):
        result = matrix.times(other)
        if reduce == "mean":
            result = F.div(result, F.unsqueeze(entry_counts(matrix.offsets), 1)).to(result.dtype)
        return result, F.new_empty(matrix.columns, [0])
    rows, columns = (t.long() for t in matrix.entries())
    products = F.mul(F.index_select(other, 0, columns), F.unsqueeze(matrix.values, 1))
    result = F.index_reduce(F.new_zeros(other, [n, k]), 0, rows, products, reduce, include_self=False)
    attained = F.eq(products, F.index_select(result, 0, rows))
    if products.is_floating_point():
        attained = F.logical_or(attained, F.isnan(products))
    place = F.where(attained, F.unsqueeze(F.arange(nnz, device=rows.device), 1), nnz)
    first = F.index_reduce(F.new_full(rows, [n, k], nnz), 0, rows, place, "amin")
    return result, first


def entry_counts(offsets):
    """Return how many entries each row has, at least one."""
    return F.clamp(F.sub(F.slice(offsets, 0, 1), F.slice(offsets, 0, 0, -1)), min=1)
