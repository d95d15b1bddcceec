"""Shapes, types and argument errors of matrix products, factorizations and solvers."""

from __future__ import annotations

import numpy as np

from minitorch.core.promotion import result_type
from minitorch.ops.shapes.common import MetaArray, broadcast_shapes, check, normalize_dim
from minitorch.ops.shapes.indexing import sizes
from minitorch.ops.shapes.reductions import INT64, real_dtype, word
from minitorch.ops.shapes.registry import shape
from minitorch.ops.shapes.sorting import INT32


def column_major(shape, np_dtype) -> MetaArray:
    """Return a batch of column-major matrices."""
    shape = tuple(shape)
    size = np_dtype.itemsize
    if len(shape) < 2:
        return MetaArray(shape, np_dtype)
    turned = MetaArray((*shape[:-2], shape[-1], shape[-2]), np_dtype).strides
    strides = (*turned[:-2], size, max(shape[-2], 1) * size)
    return MetaArray(shape, np_dtype, strides)


# ---------------------------------------------------------------- products


def _same_dtypes(name: str, *arrays) -> None:
    first = arrays[0]
    for other in arrays[1:]:
        check(
            other.dtype == first.dtype,
            f"{name}(): expected operands to have the same dtype, but got: "
            f"{word(first.dtype)} != {word(other.dtype)}",
        )


def _no_bool(array, name: str) -> None:
    check(
        array.dtype.kind != "b",
        f"{name}(): not implemented for Bool; convert with .to(int64) first",
        NotImplementedError,
    )


def _ndim(array, ndim: int, name: str, argument: str) -> None:
    what = {1: "a vector", 2: "a matrix", 3: "a batch of matrices (3-D)"}[ndim]
    check(
        array.ndim == ndim,
        f"{name}(): {argument} must be {what}, got shape {sizes(array)}",
    )


def _inner(name: str, a, b, first: str, second: str) -> None:
    """Check that the last dimension of `a` fits `b` (its second to last, or its only one)."""
    rows = b.shape[-2] if b.ndim > 1 else b.shape[-1]
    check(
        a.shape[-1] == rows,
        f"{name}(): mat1 and mat2 shapes cannot be multiplied "
        f"({'x'.join(map(str, a.shape))} and {'x'.join(map(str, b.shape))}): {first}.shape[-1] "
        f"must equal {second}.shape[{max(b.ndim - 2, 0)}]",
    )


@shape("mm")
def mm_shape(self, mat2):
    _ndim(self, 2, "mm", "self")
    _ndim(mat2, 2, "mm", "mat2")
    _inner("mm", self, mat2, "self", "mat2")
    _same_dtypes("mm", self, mat2)
    _no_bool(self, "mm")
    return MetaArray((self.shape[0], mat2.shape[1]), self.dtype)


def _bmm_shape(a, b, name):
    _ndim(a, 3, name, "batch1")
    _ndim(b, 3, name, "batch2")
    check(
        a.shape[0] == b.shape[0] and a.shape[2] == b.shape[1],
        f"{name}(): Expected size for first two dimensions of batch2 tensor to be: "
        f"[{a.shape[0]}, {a.shape[2]}] but got: [{b.shape[0]}, {b.shape[1]}].",
    )
    _same_dtypes(name, a, b)
    _no_bool(a, name)
    return a.shape[0], a.shape[1], b.shape[2]


@shape("bmm")
def bmm_shape(self, mat2):
    return MetaArray(_bmm_shape(self, mat2, "bmm"), self.dtype)


@shape("mv")
def mv_shape(self, vec):
    _ndim(self, 2, "mv", "self")
    _ndim(vec, 1, "mv", "vec")
    check(
        self.shape[1] == vec.shape[0],
        f"mv(): size mismatch, got input ({self.shape[0]}x{self.shape[1]}), vec "
        f"({vec.shape[0]})",
    )
    _same_dtypes("mv", self, vec)
    _no_bool(self, "mv")
    return MetaArray((self.shape[0],), self.dtype)


@shape("dot", "vdot")
def dot_shape(self, tensor):
    check(
        self.ndim == 1 and tensor.ndim == 1,
        f"dot(): 1D tensors expected, but got {self.ndim}D and {tensor.ndim}D tensors",
    )
    check(
        self.shape == tensor.shape,
        f"dot(): inconsistent tensor size, expected tensor {sizes(self)} and src "
        f"{sizes(tensor)} to have the same number of elements, but got {self.size} and "
        f"{tensor.size} elements respectively",
    )
    _same_dtypes("dot", self, tensor)
    _no_bool(self, "dot")
    return MetaArray((), self.dtype)


def _added(self, result_shape, name, np_dtype):
    result_shape = tuple(result_shape)
    try:
        fits = broadcast_shapes(self.shape, result_shape) == result_shape
    except RuntimeError:
        fits = False
    check(
        fits,
        f"{name}(): The expanded size of the tensor must match: input of shape {sizes(self)} "
        f"cannot be expanded to {list(result_shape)}",
    )
    return MetaArray(result_shape, np_dtype)


@shape("addmm")
def addmm_shape(self, mat1, mat2, *, beta=1, alpha=1):
    _ndim(mat1, 2, "addmm", "mat1")
    _ndim(mat2, 2, "addmm", "mat2")
    _inner("addmm", mat1, mat2, "mat1", "mat2")
    _same_dtypes("addmm", mat1, mat2, self)
    _no_bool(self, "addmm")
    return _added(self, (mat1.shape[0], mat2.shape[1]), "addmm", self.dtype)


@shape("addmv")
def addmv_shape(self, mat, vec, *, beta=1, alpha=1):
    check(
        mat.ndim == 2 and vec.ndim == 1 and self.ndim <= 1,
        f"addmv(): vector + matrix @ vector expected, got {self.ndim}, {mat.ndim}, {vec.ndim}",
    )
    check(
        mat.shape[1] == vec.shape[0],
        f"addmv(): size mismatch, got input ({sizes(self)}), mat ({mat.shape[0]}x"
        f"{mat.shape[1]}), vec ({vec.shape[0]})",
    )
    _same_dtypes("addmv", mat, vec, self)
    _no_bool(self, "addmv")
    return _added(self, (mat.shape[0],), "addmv", self.dtype)


@shape("baddbmm")
def baddbmm_shape(self, batch1, batch2, *, beta=1, alpha=1):
    result = _bmm_shape(batch1, batch2, "baddbmm")
    _same_dtypes("baddbmm", batch1, self)
    return _added(self, result, "baddbmm", self.dtype)


@shape("addbmm")
def addbmm_shape(self, batch1, batch2, *, beta=1, alpha=1):
    result = _bmm_shape(batch1, batch2, "addbmm")
    _same_dtypes("addbmm", batch1, self)
    return _added(self, result[1:], "addbmm", self.dtype)


@shape("addr")
def addr_shape(self, vec1, vec2, *, beta=1, alpha=1):
    _ndim(vec1, 1, "addr", "vec1")
    _ndim(vec2, 1, "addr", "vec2")
    dtype = result_type(self, vec1, vec2)
    check(
        dtype.kind not in "biu" or not (isinstance(alpha, float) or isinstance(beta, float)),
        "addr(): For integral input tensors, arguments alpha and beta must not be floating point "
        f"numbers, got {alpha} and {beta}",
    )
    return _added(self, (vec1.shape[0], vec2.shape[0]), "addr", dtype)


@shape("linear")
def linear_shape(input, weight, bias=None):
    check(
        weight.ndim == 2 and input.ndim >= 1,
        f"linear(): weight must be a matrix and input at least a vector, got {sizes(weight)} and "
        f"{sizes(input)}",
    )
    check(
        input.shape[-1] == weight.shape[1],
        "linear(): mat1 and mat2 shapes cannot be multiplied: the last dimension of input, of "
        f"shape {sizes(input)}, must have the size of weight.shape[1], of shape {sizes(weight)}",
    )
    if bias is None:
        _same_dtypes("linear", input, weight)
    else:
        _same_dtypes("linear", input, weight, bias)
        check(
            bias.ndim <= 1 and bias.size in (1, weight.shape[0]),
            f"linear(): bias of shape {sizes(bias)} does not fit weight of shape "
            f"{sizes(weight)}: expected [{weight.shape[0]}]",
        )
    _no_bool(input, "linear")
    return MetaArray((*input.shape[:-1], weight.shape[0]), input.dtype)


@shape("linalg_cross")
def cross_shape(self, other, *, dim=-1):
    check(
        self.ndim == other.ndim,
        "linalg.cross(): inputs must have the same number of dimensions, got "
        f"{self.ndim} and {other.ndim}",
    )
    dim = normalize_dim(dim, self.ndim, "linalg.cross")
    check(
        self.ndim > 0 and self.shape[dim] == 3 and other.shape[dim] == 3,
        f"linalg.cross(): inputs dimension {dim} must have length 3. Got {sizes(self)} and "
        f"{sizes(other)}",
    )
    return MetaArray(broadcast_shapes(self.shape, other.shape), result_type(self, other))


# ---------------------------------------------------------------- matrices


def matrices(array, name: str, argument: str = "A") -> None:
    """Require a batch of matrices of a type that LAPACK knows."""
    check(
        array.ndim >= 2,
        f"{name}: The input tensor {argument} must have at least 2 dimensions, got "
        f"{array.ndim}",
    )
    check(
        array.dtype.char in "fdFD",
        f"{name}: Expected a floating point or complex tensor as input of float32, float64, "
        f"complex64 or complex128, got {word(array.dtype)}",
        RuntimeError if array.dtype.kind in "biu" else NotImplementedError,
    )


def square(array, name: str, argument: str = "A") -> None:
    matrices(array, name, argument)
    check(
        array.shape[-1] == array.shape[-2],
        f"{name}: {argument} must be batches of square matrices, but they are "
        f"{array.shape[-2]} by {array.shape[-1]} matrices",
    )


def _info(array) -> MetaArray:
    return MetaArray(array.shape[:-2], INT32)


@shape("linalg_cholesky_ex")
def cholesky_shape(self, *, upper=False, check_errors=False):
    square(self, "linalg.cholesky")
    return column_major(self.shape, self.dtype), _info(self)


@shape("linalg_lu_factor_ex")
def lu_factor_shape(self, *, pivot=True, check_errors=False):
    matrices(self, "torch.lu_factor")
    steps = min(self.shape[-2:])
    return (
        column_major(self.shape, self.dtype),
        MetaArray((*self.shape[:-2], steps), INT32),
        _info(self),
    )


@shape("_lu_permutation")
def lu_permutation_shape(pivots, rows):
    check(
        pivots.dtype == INT32 and pivots.ndim > 0,
        "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. "
        "Note: this function is intended to be used with the output produced by "
        f"torch.linalg.lu_factor; got {word(pivots.dtype)}",
    )
    return MetaArray((*pivots.shape[:-1], rows), INT64)


@shape("linalg_qr")
def qr_shape(self, mode="reduced"):
    matrices(self, "linalg.qr")
    check(
        mode in ("reduced", "complete", "r"),
        f"linalg.qr received unrecognized mode {mode!r} but expected one of 'reduced' (default), "
        "'r', or 'complete'",
    )
    *lead, rows, columns = self.shape
    steps = rows if mode == "complete" else min(rows, columns)
    q = column_major((*lead, rows, steps), self.dtype)
    if mode == "r":
        q = MetaArray((0,), self.dtype)
    return q, column_major((*lead, steps, columns), self.dtype)


@shape("geqrf")
def geqrf_shape(self):
    matrices(self, "torch.geqrf")
    steps = min(self.shape[-2:])
    return column_major(self.shape, self.dtype), MetaArray((*self.shape[:-2], steps), self.dtype)


@shape("_linalg_eigh")
def eigh_shape(A, UPLO="L", compute_v=True):
    square(A, "linalg.eigh")
    check(
        UPLO.upper() in ("L", "U"),
        f"linalg.eigh: Expected UPLO argument to be 'L' or 'U', but got {UPLO}",
    )
    values = MetaArray(A.shape[:-1], real_dtype(A.dtype))
    return values, column_major(A.shape if compute_v else (0,), A.dtype)


def _complex_dtype(np_dtype):
    return np.dtype(np.complex64 if np_dtype.char in "fF" else np.complex128)


@shape("linalg_eig")
def eig_shape(self):
    square(self, "linalg.eig")
    kind = _complex_dtype(self.dtype)
    return MetaArray(self.shape[:-1], kind), column_major(self.shape, kind)


@shape("_linalg_eigvals")
def eigvals_shape(self):
    square(self, "linalg.eigvals")
    return MetaArray(self.shape[:-1], _complex_dtype(self.dtype))


@shape("_linalg_svd")
def svd_shape(A, full_matrices=False, compute_uv=True, *, driver=None):
    matrices(A, "linalg.svd")
    *lead, rows, columns = A.shape
    steps = min(rows, columns)
    values = MetaArray((*lead, steps), real_dtype(A.dtype))
    if not compute_uv:
        none = MetaArray((0,), A.dtype)
        return none, values, none
    left, right = (rows, columns) if full_matrices else (steps, steps)
    return (
        column_major((*lead, rows, left), A.dtype),
        values,
        column_major((*lead, right, columns), A.dtype),
    )


@shape("linalg_det")
def det_shape(A):
    square(A, "linalg.det")
    return MetaArray(A.shape[:-2], A.dtype)


@shape("linalg_slogdet")
def slogdet_shape(A):
    square(A, "linalg.slogdet")
    return MetaArray(A.shape[:-2], A.dtype), MetaArray(A.shape[:-2], real_dtype(A.dtype))


@shape("linalg_inv_ex")
def inv_shape(A, *, check_errors=False):
    square(A, "linalg.inv")
    return column_major(A.shape, A.dtype), _info(A)


def is_vector_solve(a_shape, b_shape) -> bool:
    """Return whether the right-hand side is read as a batch of vectors."""
    return len(b_shape) == 1 or (
        len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1])
    )


@shape("linalg_solve_ex")
def solve_shape(A, B, *, left=True, check_errors=False):
    square(A, "linalg.solve")
    check(
        A.dtype == B.dtype,
        "linalg.solve: Expected A and B to have the same dtype, but found A of type "
        f"{word(A.dtype)} and B of type {word(B.dtype)} instead",
    )
    vector = is_vector_solve(A.shape, B.shape)
    check(
        left or not vector,
        "linalg.solve: Vector broadcasting of the left hand side is not supported for "
        "left=False. In this case linalg.solve is equivalent to B / A.squeeze(-1)",
    )
    rows = B.shape[-1] if vector or not left else B.shape[-2]
    check(
        rows == A.shape[-1],
        f"linalg.solve: Incompatible shapes of A and B for the equation "
        f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and {sizes(B)})",
    )
    if vector:
        lead = broadcast_shapes(A.shape[:-2], B.shape[:-1])
        result = column_major((*lead, rows), A.dtype)
    else:
        lead = broadcast_shapes(A.shape[:-2], B.shape[:-2])
        result = (*lead, *B.shape[-2:])
        result = column_major(result, A.dtype) if left else MetaArray(result, A.dtype)
    return result, _info(A)


@shape("linalg_solve_triangular")
def solve_triangular_shape(self, B, *, upper, left=True, unitriangular=False):
    square(self, "linalg.solve_triangular")
    matrices(B, "linalg.solve_triangular", "B")
    check(
        self.dtype == B.dtype,
        "linalg.solve_triangular: Expected A and B to have the same dtype, got "
        f"{word(self.dtype)} and {word(B.dtype)}",
    )
    check(
        (B.shape[-2] if left else B.shape[-1]) == self.shape[-1],
        "linalg.solve_triangular: Incompatible shapes of A and B for the equation "
        f"{'AX = B' if left else 'XA = B'} ({self.shape[-2]}x{self.shape[-1]} and "
        f"{B.shape[-2]}x{B.shape[-1]})",
    )
    lead = broadcast_shapes(self.shape[:-2], B.shape[:-2])
    return column_major((*lead, *B.shape[-2:]), self.dtype)


@shape("_linalg_lstsq")
def lstsq_shape(self, b, rcond=None, *, driver=None):
    matrices(self, "torch.linalg.lstsq", "input")
    check(
        self.dtype == b.dtype,
        "torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's "
        f"dtype {word(self.dtype)} and other's dtype {word(b.dtype)}",
    )
    driver = "gelsy" if driver is None else driver
    check(
        driver in ("gels", "gelsy", "gelsd", "gelss"),
        "torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), "
        f"got {driver!r}",
    )
    *lead, rows, columns = self.shape
    vector = self.ndim - 1 == b.ndim and tuple(b.shape) == tuple(self.shape[:-1])
    check(
        (b.ndim >= 2 or vector) and (b.shape[-1] if vector else b.shape[-2]) == rows,
        f"torch.linalg.lstsq: input.size(-2) should match other.size(-2), got {sizes(self)} and "
        f"{sizes(b)}",
    )
    real = real_dtype(self.dtype)
    if vector:
        common, wide = tuple(lead), 1
        tall = MetaArray((*common, max(rows, columns)), self.dtype)
        solution = MetaArray((*common, columns), self.dtype, tall.strides)
    else:
        common, wide = broadcast_shapes(lead, b.shape[:-2]), b.shape[-1]
        tall = column_major((*common, max(rows, columns), wide), self.dtype)
        solution = MetaArray((*common, columns, wide), self.dtype, tall.strides)
    none = MetaArray((0,), real)
    residuals = none
    if rows > columns and driver != "gelsy":
        residuals = MetaArray((*common, wide), real)
    rank = MetaArray((0,) if driver == "gels" else common, INT64)
    values = none
    if driver in ("gelsd", "gelss"):
        values = MetaArray((*common, min(rows, columns)), real)
    return solution, residuals, rank, values


@shape("linalg_matrix_exp")
def matrix_exp_shape(self):
    if self.dtype.kind == "V" or self.dtype.char == "e":
        self = MetaArray(self.shape, np.dtype(np.float32))
        square(self, "linalg.matrix_exp")
    else:
        square(self, "linalg.matrix_exp")
    return MetaArray(self.shape, self.dtype)
