"""Matrix products and matrix functions written with other operators."""

from __future__ import annotations

import math

from minitorch.core.dtype import bool_
from minitorch.core.memory_format import contiguous_format
from minitorch.core.promotion import promote_types
from minitorch.dispatch.keys import SPARSE, SPARSE_CSR
from minitorch.dispatch.operator import OPERATORS
from minitorch.errors import LinAlgError
from minitorch.ops import functions as F
from minitorch.ops.composite.einsum import einsum
from minitorch.ops.composite.registry import composite_explicit, composite_implicit
from minitorch.ops.composite.sparse_products import sparse_matmul
from minitorch.ops.shapes.common import broadcast_shapes, check, normalize_dim
from minitorch.tensor.wrapper import innermost, is_followed

# ---------------------------------------------------------------- products


# Called directly: the hottest composite there is.
MM = OPERATORS["aten::mm"]
BMM = OPERATORS["aten::bmm"]
VIEW = OPERATORS["aten::view"]
_SPARSE = SPARSE | SPARSE_CSR


@composite_implicit("matmul", "linalg_matmul")
def matmul_composite(self, other):
    """Multiply vectors, matrices or batches of matrices, whatever the mixture."""
    n, m = self.ndim, other.ndim
    if n == 2 and m == 2:
        return MM.call2(self, other)
    if n == 2 and m == 1:
        return F.mv(self, other)
    if n == 1 and m == 1:
        return F.dot(self, other)
    if n == 1 and m == 2:
        return F.squeeze(F.mm(F.unsqueeze(self, 0), other), 0)
    check(
        n > 0 and m > 0,
        f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D",
    )
    if (self.key_set | other.key_set) & _SPARSE:
        return sparse_matmul(self, other)
    if m <= 2:  # one matrix for a batch: a single product of a tall matrix
        *lead, inner = self.shape
        rows = math.prod(lead)
        tall = F.reshape(self, [rows, inner])
        if m == 1:
            return F.reshape(F.mv(tall, other), lead)
        return F.reshape(F.mm(tall, other), [*lead, other.shape[1]])
    if n == 1:
        return F.squeeze(F.matmul(F.unsqueeze(self, 0), other), -2)
    check(
        self.shape[-1] == other.shape[-2],
        f"matmul(): shapes cannot be multiplied: {tuple(self.shape)} and {tuple(other.shape)}; "
        "self.shape[-1] must equal other.shape[-2]",
    )
    lead = broadcast_shapes(tuple(self.shape[:-2]), tuple(other.shape[:-2]))
    count = math.prod(lead)
    rows, inner, columns = self.shape[-2], self.shape[-1], other.shape[-1]
    a = F.reshape(F.expand(self, [*lead, rows, inner]), [count, rows, inner])
    b = F.reshape(F.expand(other, [*lead, inner, columns]), [count, inner, columns])
    return VIEW.call((BMM.call2(a, b), [*lead, rows, columns]), None)


@composite_implicit("inner")
def inner_composite(self, other):
    if self.dim() == 0 or other.dim() == 0:
        return F.mul(self, other)
    check(
        self.shape[-1] == other.shape[-1],
        "inner() the last dimension must match on both input tensors but got shapes "
        f"{list(self.shape)} and {list(other.shape)}",
    )
    return F.tensordot(self, other, [-1], [-1])


@composite_implicit("outer", "ger")
def outer_composite(self, vec2):
    for tensor in (self, vec2):
        check(
            tensor.dim() == 1,
            f"outer: Expected 1-D argument, but got {tensor.dim()}-D",
        )
    return F.mul(F.unsqueeze(self, 1), vec2)


@composite_implicit("einsum")
def einsum_composite(equation, tensors, *, path=None):
    return einsum(equation, tensors, path)


@composite_implicit("tensordot")
def tensordot_composite(self, other, dims_self, dims_other):
    check(
        len(dims_self) == len(dims_other),
        f"both dimension lists should have same length, got {len(dims_self)} and "
        f"{len(dims_other)}",
    )
    own = [normalize_dim(d, self.dim(), "tensordot") for d in dims_self]
    others = [normalize_dim(d, other.dim(), "tensordot") for d in dims_other]
    check(
        len(set(own)) == len(own) and len(set(others)) == len(others),
        "tensordot(): a dim appears multiple times in the list of dims",
    )
    inner = 1
    for a, b, given, given_other in zip(own, others, dims_self, dims_other, strict=True):
        n, m = self.shape[a], other.shape[b]
        if n == 1 != m:
            other = F.sum(other, [b], True, dtype=other.dtype)
        elif m == 1 != n:
            self = F.sum(self, [a], True, dtype=self.dtype)
        else:
            check(
                n == m,
                f"contracted dimensions need to match, but first has size {n} in dim {given} and "
                f"second has size {m} in dim {given_other}",
            )
        inner *= self.shape[a]
    rest = [d for d in range(self.dim()) if d not in own]
    rest_other = [d for d in range(other.dim()) if d not in others]
    shape = [self.shape[d] for d in rest] + [other.shape[d] for d in rest_other]
    rows = math.prod(self.shape[d] for d in rest)
    columns = math.prod(other.shape[d] for d in rest_other)
    a = F.reshape(F.permute(self, rest + own), [rows, inner])
    b = F.reshape(F.permute(other, others + rest_other), [inner, columns])
    if rows == columns == 1:
        return F.reshape(F.dot(F.reshape(a, [inner]), F.reshape(b, [inner])), shape)
    return F.reshape(F.mm(a, b), shape)


@composite_implicit("kron")
def kron_composite(self, other):
    ndim = max(self.dim(), other.dim())
    own = [1] * (ndim - self.dim()) + list(self.shape)
    others = [1] * (ndim - other.dim()) + list(other.shape)
    spread, spread_other, result = [], [], []
    for n, m in zip(own, others, strict=True):
        spread += [n, 1]
        spread_other += [1, m]
        result.append(n * m)
    product = F.mul(F.reshape(self, spread), F.reshape(other, spread_other))
    return F.reshape(product, result)


def _chain_order(sizes):
    """Return where to split each run of a chain of matrices, for the fewest multiplications."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            best = None
            for k in range(i, j):
                total = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                if best is None or total < best:
                    best, split[i][j] = total, k
            cost[i][j] = best
    return split


def _multiply_chain(matrices):
    split = _chain_order([m.shape[0] for m in matrices] + [matrices[-1].shape[1]])

    def product(i, j):
        if i == j:
            return matrices[i]
        k = split[i][j]
        return F.mm(product(i, k), product(k + 1, j))

    return product(0, len(matrices) - 1)


@composite_implicit("linalg_multi_dot")
def multi_dot_composite(tensors):
    check(
        len(tensors) >= 2,
        f"multi_dot(): expected at least 2 tensors but got {len(tensors)}",
    )
    matrices = list(tensors)
    first, last = matrices[0], matrices[-1]
    shape = []
    for place, tensor in enumerate(matrices):
        ends = place in (0, len(matrices) - 1)
        check(
            tensor.dim() == 2 or (ends and tensor.dim() == 1),
            f"multi_dot(): tensor {place} must be 2D{' or 1D' if ends else ''} but got "
            f"{tensor.dim()}D",
        )
    if first.dim() == 1:
        matrices[0] = F.unsqueeze(first, 0)
    else:
        shape.append(first.shape[0])
    if last.dim() == 1:
        matrices[-1] = F.unsqueeze(last, -1)
    else:
        shape.append(last.shape[1])
    for place in range(1, len(matrices)):
        a, b = matrices[place - 1], matrices[place]
        check(
            a.shape[1] == b.shape[0],
            f"multi_dot(): tensors {place - 1} and {place} with shapes {list(a.shape)} and "
            f"{list(b.shape)} cannot be multiplied",
        )
    return F.reshape(_multiply_chain(matrices), shape)


@composite_implicit("chain_matmul")
def chain_matmul_composite(matrices):
    check(len(matrices) > 0, "chain_matmul(): Expected one or more matrices")
    for tensor in matrices:
        check(tensor.dim() == 2, f"chain_matmul(): Tensor dimension is {tensor.dim()}, expected 2")
    if len(matrices) == 1:
        return F.clone(matrices[0])
    return F.linalg_multi_dot(matrices)


@composite_implicit("linalg_vecdot")
def vecdot_composite(x, y, *, dim=-1):
    return F.sum(F.mul(x.conj(), y), [dim])


@composite_implicit("cross")
def cross_composite(self, other, dim=None):
    if dim is None:
        dim = next((d for d, n in enumerate(self.shape) if n == 3), None)
        check(dim is not None, f"no dimension of size 3 in input of shape {tuple(self.shape)}")
    return F.linalg_cross(self, other, dim=dim)


@composite_implicit("linalg_diagonal")
def linalg_diagonal_composite(A, *, offset=0, dim1=-2, dim2=-1):
    return F.diagonal(A, offset, dim1, dim2)


# ---------------------------------------------------------------- factorizations


_NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite "
    "(the leading minor of order {} is not positive-definite)."
)
_FAILURES = {
    "linalg.cholesky": _NOT_POSITIVE,
    "cholesky": _NOT_POSITIVE,
    "linalg.inv": (
        "The diagonal element {} is zero, the inversion could not be completed because the input "
        "matrix is singular."
    ),
    "torch.linalg.solve": "The solver failed because the input matrix is singular.",
}  # fmt: skip


@composite_explicit("_linalg_check_errors")
def check_errors_composite(info, api_name, *, is_matrix):
    """Raise for the first matrix of a batch, or of an example, whose `info` is not 0."""
    info = innermost(info)
    if info.device.type == "meta" or not bool(F.any(info)):
        return
    values = F.reshape(info, [-1]).tolist()
    place = next(i for i, value in enumerate(values) if value)
    batch = "" if is_matrix else f"(Batch element {place}): "
    raise LinAlgError(f"{api_name}: {batch}{_FAILURES[api_name].format(values[place])}")


def _check_info(info, name):
    F._linalg_check_errors(info, name, is_matrix=info.dim() == 0)


@composite_implicit("linalg_cholesky")
def cholesky_composite(self, *, upper=False):
    factor, info = F.linalg_cholesky_ex(self, upper=upper)
    _check_info(info, "linalg.cholesky")
    return factor


@composite_implicit("cholesky")
def old_cholesky_composite(self, upper=False):
    factor, info = F.linalg_cholesky_ex(self, upper=upper)
    _check_info(info, "cholesky")
    return factor


@composite_explicit("cholesky_solve")
def cholesky_solve_composite(self, input2, upper=False):
    check(
        self.dim() >= 2 and input2.dim() >= 2,
        f"b and u should have at least 2 dimensions, but have {self.dim()} and {input2.dim()} "
        "dimensions instead",
    )
    turned = F.adjoint(input2)
    lower, high = (turned, input2) if upper else (input2, turned)
    half = F.linalg_solve_triangular(lower, self, upper=False)
    return F.linalg_solve_triangular(high, half, upper=True)


@composite_explicit("cholesky_inverse")
def cholesky_inverse_composite(self, upper=False):
    check(
        self.dim() >= 2 and self.shape[-1] == self.shape[-2],
        f"cholesky_inverse: expected batches of square matrices, got {tuple(self.shape)}",
    )
    return F.cholesky_solve(_eye_like(self), self, upper)


@composite_implicit("linalg_lu_factor")
def lu_factor_composite(A, *, pivot=True):
    factors, pivots, _ = F.linalg_lu_factor_ex(A, pivot=pivot)
    return factors, pivots


@composite_implicit("linalg_lu")
def lu_composite(A, *, pivot=True):
    factors, pivots, _ = F.linalg_lu_factor_ex(A, pivot=pivot)
    return F.lu_unpack(factors, pivots, True, True)


@composite_implicit("lu_unpack")
def lu_unpack_composite(LU_data, LU_pivots, unpack_data=True, unpack_pivots=True):
    check(
        LU_data.dim() >= 2,
        f"torch.lu_unpack: LU_data must have at least 2 dimensions, got {LU_data.dim()}",
    )
    *lead, rows, columns = LU_data.shape
    k = min(rows, columns)
    p = lower = upper = F.new_empty(LU_data.detach(), [0])
    if unpack_data:
        unit = F.eye(rows, k, dtype=LU_data.dtype, device=LU_data.device)
        lower = F.tril(F.narrow(LU_data, -1, 0, k), -1) + unit
        upper = F.triu(F.narrow(LU_data, -2, 0, k))
    if unpack_pivots:
        check(
            list(LU_pivots.shape) == [*lead, k],
            f"torch.lu_unpack: LU_pivots must have shape {[*lead, k]}, got "
            f"{list(LU_pivots.shape)}",
        )
        order = F.unsqueeze(F._lu_permutation(LU_pivots, rows), -2)
        p = F.new_zeros(LU_data.detach(), [*lead, rows, rows])
        p = F.scatter(p, -2, order, 1)
    return p, lower, upper


@composite_implicit("linalg_lu_solve")
def lu_solve_composite(LU, pivots, B, *, left=True, adjoint=False):
    check(
        LU.dtype is B.dtype,
        "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type "
        f"{LU.dtype.scalar_name} and B of type {B.dtype.scalar_name} instead",
    )
    p, lower, upper = F.lu_unpack(LU, pivots)
    if not left:
        return F.adjoint(F.linalg_lu_solve(LU, pivots, F.adjoint(B), adjoint=not adjoint))
    if adjoint:
        half = F.linalg_solve_triangular(F.adjoint(upper), B, upper=False)
        half = F.linalg_solve_triangular(
            F.adjoint(lower), half, upper=True, unitriangular=True
        )
        return column_major(F.matmul(p, half))
    half = F.linalg_solve_triangular(
        lower, F.matmul(F.transpose(p, -2, -1), B), upper=False, unitriangular=True
    )
    return F.linalg_solve_triangular(upper, half, upper=True)


@composite_implicit("lu_solve")
def old_lu_solve_composite(self, LU_data, LU_pivots):
    return F.linalg_lu_solve(LU_data, LU_pivots, self)


@composite_implicit("triangular_solve")
def triangular_solve_composite(self, A, upper=True, transpose=False, unitriangular=False):
    matrix = F.transpose(A, -2, -1) if transpose else A
    solution = F.linalg_solve_triangular(
        matrix, self, upper=upper != transpose, unitriangular=unitriangular
    )
    return solution, column_major(A)


@composite_implicit("qr")
def old_qr_composite(self, some=True):
    q, r = F.linalg_qr(self, "reduced" if some else "complete")
    return q, r


def _eye_like(A):
    """Return identity matrices of the shape of `A`."""
    n = A.shape[-1]
    eye = F.eye(n, dtype=A.dtype, device=A.device)
    return F.expand(eye, list(A.shape)) if A.dim() > 2 else eye


def _identity(source, eye):
    """Return a copy of `eye` that depends on `source`, with a gradient of zero."""
    return F.masked_fill(source, F.ones_like(source, dtype=bool_), 0) + eye


def column_major(matrices):
    """Return a copy of a batch of matrices, each column-major, as LAPACK's results are."""
    turned = F.clone(F.transpose(matrices, -2, -1), memory_format=contiguous_format)
    return F.transpose(turned, -2, -1)


@composite_implicit("linalg_householder_product", "orgqr")
def householder_product_composite(input, tau):
    check(
        input.dim() >= 2 and input.shape[-2] >= input.shape[-1] >= tau.shape[-1],
        "torch.linalg.householder_product: input.shape[-2] must be greater than or equal to "
        "input.shape[-1], and that to tau.shape[-1], got "
        f"{tuple(input.shape)} and {tuple(tau.shape)}",
    )
    check(
        input.dtype is tau.dtype,
        "torch.linalg.householder_product: tau must have the dtype of input",
    )
    *_lead, rows, columns = input.shape
    q = F.expand(F.eye(rows, columns, dtype=input.dtype, device=input.device), list(input.shape))
    for j in range(tau.shape[-1] - 1, -1, -1):
        q = _reflect(input, tau, j, q)
    return column_major(_identity(input, q) if tau.shape[-1] == 0 else q)


def _reflect(input, tau, j, target, adjoint=False):
    """Apply the `j`-th elementary reflector to `target` from the left."""
    *lead, rows, _ = input.shape
    below = F.narrow(F.select(input, -1, j), -1, j + 1, rows - j - 1)
    head = F.new_zeros(input, [*lead, j])
    v = F.cat([head, F.new_ones(input, [*lead, 1]), below], -1)
    factor = F.select(tau, -1, j)
    if adjoint:
        factor = factor.conj()
    factor = F.unsqueeze(F.unsqueeze(factor, -1), -1)
    projected = F.matmul(F.unsqueeze(v, -2).conj(), target)
    return target - factor * F.unsqueeze(v, -1) * projected


@composite_implicit("ormqr")
def ormqr_composite(self, input2, input3, left=True, transpose=False):
    tau, c = input2, input3
    if not left:
        return column_major(F.adjoint(F.ormqr(self, tau, F.adjoint(c), True, not transpose)))
    places = range(tau.shape[-1]) if transpose else range(tau.shape[-1] - 1, -1, -1)
    for j in places:
        c = _reflect(self, tau, j, c, transpose)
    return column_major(c)


# ---------------------------------------------------------------- eigenvalues, singular values


@composite_implicit("linalg_eigh")
def eigh_composite(self, UPLO="L"):
    return tuple(F._linalg_eigh(self, UPLO, True))


# A derivative needs the vectors too.
@composite_implicit("linalg_eigvalsh")
def eigvalsh_composite(self, UPLO="L"):
    return F._linalg_eigh(self, UPLO, is_followed(self))[0]


@composite_implicit("linalg_eigvals")
def eigvals_composite(self):
    return F.linalg_eig(self)[0] if is_followed(self) else F._linalg_eigvals(self)


@composite_implicit("linalg_svd")
def svd_composite(A, full_matrices=True, *, driver=None):
    return tuple(F._linalg_svd(A, full_matrices, True, driver=driver))


@composite_implicit("linalg_svdvals")
def svdvals_composite(A, *, driver=None):
    return F._linalg_svd(A, False, is_followed(A), driver=driver)[1]


@composite_implicit("svd")
def old_svd_composite(self, some=True, compute_uv=True):
    if not compute_uv:
        s = F.linalg_svdvals(self)
        *lead, rows, columns = self.shape
        u, v = F.new_zeros(self, [*lead, rows, rows]), F.new_zeros(self, [*lead, columns, columns])
        return u, s, v
    u, s, vh = F._linalg_svd(self, not some, True)
    return u, s, F.adjoint(vh)


# ---------------------------------------------------------------- determinants, inverses, solvers


@composite_implicit("det")
def det_composite(self):
    return F.linalg_det(self)


@composite_implicit("slogdet")
def slogdet_composite(self):
    return tuple(F.linalg_slogdet(self))


@composite_implicit("logdet")
def logdet_composite(self):
    sign, logarithm = F.linalg_slogdet(self)
    if self.is_complex():
        return F.add(logarithm, F.log(sign))
    nan = F.full_like(logarithm, math.nan)
    return F.where(sign == -1.0, nan, logarithm)


@composite_implicit("linalg_inv")
def inv_composite(A):
    result, info = F.linalg_inv_ex(A)
    _check_info(info, "linalg.inv")
    return result


@composite_implicit("inverse")
def inverse_composite(self):
    return F.linalg_inv(self)


@composite_implicit("linalg_solve")
def solve_composite(A, B, *, left=True):
    result, info = F.linalg_solve_ex(A, B, left=left)
    _check_info(info, "torch.linalg.solve")
    return result


@composite_implicit("linalg_lstsq")
def lstsq_composite(self, b, rcond=None, *, driver=None):
    solution, residuals, rank, values = F._linalg_lstsq(self, b, rcond, driver=driver)
    return solution, residuals, rank, values.detach()


@composite_implicit("linalg_tensorinv")
def tensorinv_composite(self, ind=2):
    check(ind > 0, f"Expected a strictly positive integer for 'ind', got {ind}")
    first, last = list(self.shape[:ind]), list(self.shape[ind:])
    check(
        math.prod(first) == math.prod(last),
        "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
        f"prod(self.shape[:ind]), but got {math.prod(last)} != {math.prod(first)}",
    )
    matrix = F.reshape(self, [math.prod(last), math.prod(first)])
    return F.reshape(F.linalg_inv(matrix), last + first)


@composite_implicit("linalg_tensorsolve")
def tensorsolve_composite(self, other, dims=None):
    if dims:
        moved = [d % self.dim() for d in dims]
        order = [d for d in range(self.dim()) if d not in moved] + moved
        self = F.permute(self, order)
    rest = list(self.shape[other.dim() :])
    check(
        math.prod(rest) == other.numel(),
        "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
        f"prod(self.shape[:other.ndim]), but got {math.prod(rest)} != {other.numel()}",
    )
    matrix = F.reshape(self, [other.numel(), math.prod(rest)])
    return F.reshape(F.linalg_solve(matrix, F.reshape(other, [-1])), rest)


# ---------------------------------------------------------------- norms and ranks


def _is_str(value):
    return isinstance(value, str)


def _two_dims(self, dim, name):
    check(
        len(dim) == 2,
        f"{name}: dim must be a 2-tuple. Got {list(dim)}",
    )
    first, second = (normalize_dim(d, self.dim(), name) for d in dim)
    check(
        first != second,
        f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})",
    )
    return first, second


def _largest(sizes, dim, keepdim):
    """Return the largest of numbers that are not negative: 0 where there are none."""
    if sizes.shape[dim] == 0:
        return F.sum(sizes, [dim], keepdim)
    return F.amax(sizes, [dim], keepdim)


def _matrix_norm(self, ord, dim, keepdim, dtype):
    name = "linalg.matrix_norm"
    check(
        self.dim() >= 2,
        f"{name}: The input tensor A must have at least 2 dimensions, got {self.dim()}",
    )
    check(
        self.is_floating_point() or self.is_complex(),
        f"{name}: Expected a floating point or complex tensor as input. Got "
        f"{self.dtype.scalar_name}",
    )
    rows, columns = _two_dims(self, dim, name)
    if ord == "fro":
        return F.linalg_vector_norm(self, 2, [rows, columns], keepdim, dtype=dtype)
    if dtype is not None:
        self = self.to(dtype)
    if ord == "nuc" or (not _is_str(ord) and abs(ord) == 2):
        values = F.linalg_svdvals(F.movedim(self, [rows, columns], [-2, -1]))
        if ord == "nuc":
            result = F.sum(values, [-1])
        else:
            result = _largest(values, -1, False) if ord > 0 else F.amin(values, [-1])
        if keepdim:
            for d in sorted((rows, columns)):
                result = F.unsqueeze(result, d)
        return result
    check(
        not _is_str(ord) and abs(ord) in (1, math.inf),
        f"{name}: Order {ord} not supported.",
    )
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = F.linalg_vector_norm(self, 1.0, [summed], keepdim)
    if not keepdim and chosen > summed:
        chosen -= 1
    return _largest(sums, chosen, keepdim) if ord > 0 else F.amin(sums, [chosen], keepdim)


@composite_implicit("linalg_matrix_norm")
def matrix_norm_composite(self, ord, dim=(-2, -1), keepdim=False, *, dtype=None):
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@composite_implicit("linalg_matrix_norm.str_ord")
def matrix_norm_str_composite(self, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None):
    return _matrix_norm(self, ord, dim, keepdim, dtype)


@composite_implicit("linalg_norm")
def linalg_norm_composite(self, ord=None, dim=None, keepdim=False, *, dtype=None):
    if dim is not None:
        check(
            len(dim) in (1, 2),
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}",
        )
    elif ord is not None:
        check(
            self.dim() in (1, 2),
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{self.dim()}D.",
        )
    if ord is not None and (len(dim) == 2 if dim is not None else self.dim() == 2):
        return _matrix_norm(self, ord, [0, 1] if dim is None else dim, keepdim, dtype)
    return F.linalg_vector_norm(self, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


@composite_implicit("linalg_norm.ord_str")
def linalg_norm_str_composite(self, ord, dim=None, keepdim=False, *, dtype=None):
    if dim is not None:
        check(
            len(dim) in (1, 2),
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}",
        )
    else:
        check(
            self.dim() in (1, 2),
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{self.dim()}D.",
        )
    check(
        (len(dim) if dim is not None else self.dim()) == 2,
        f"linalg.norm: Order {ord!r} is for matrices, got a vector",
    )
    return _matrix_norm(self, ord, [0, 1] if dim is None else dim, keepdim, dtype)


@composite_implicit("frobenius_norm.dim")
def frobenius_norm_composite(self, dim, keepdim=False):
    check(
        len(dim) <= 2,
        f"Expected at most 2 dimensions, but got {len(dim)} dimensions instead.",
    )
    return F.linalg_vector_norm(self, 2, dim, keepdim)


@composite_implicit("nuclear_norm")
def nuclear_norm_composite(self, keepdim=False):
    return _matrix_norm(self, "nuc", [-2, -1], keepdim, None)


@composite_implicit("nuclear_norm.dim")
def nuclear_norm_dim_composite(self, dim, keepdim=False):
    return _matrix_norm(self, "nuc", dim, keepdim, None)


def _tolerances(self, atol, rtol, name):
    """Return absolute and relative tolerance as tensors of the type of singular values.

    An absolute tolerance alone means no relative one; neither means the relative one that
    the precision and the size of the matrix suggest.
    """
    from minitorch.core.dtype import finfo

    real = self.dtype.to_real()

    def as_tensor(value):
        if hasattr(value, "shape"):
            check(
                not value.is_complex(),
                f"{name}: atol and rtol tensors must not be complex",
            )
            return value
        return F.full([], value, dtype=real, device=self.device)

    automatic = finfo(self.dtype).eps * max(self.shape[-2:])
    if rtol is None:
        if atol is None:
            rtol = automatic
        elif hasattr(atol, "shape"):
            rtol = F.where(atol > 0, F.zeros_like(atol), F.full_like(atol, automatic))
        else:
            rtol = 0.0 if atol > 0 else automatic
    return as_tensor(0.0 if atol is None else atol), as_tensor(rtol)


def _check_matrices(self, name, argument="A"):
    check(
        self.dim() >= 2,
        f"{name}: The input tensor {argument} must have at least 2 dimensions, got {self.dim()}",
    )
    check(
        self.is_floating_point() or self.is_complex(),
        f"{name}: Expected a floating point or complex tensor as input. Got "
        f"{self.dtype.scalar_name}",
    )


def _last_unsqueezed(tensor):
    return F.unsqueeze(tensor, -1) if tensor.dim() else tensor


def _pinv(self, atol, rtol, hermitian):
    _check_matrices(self, "linalg.pinv")
    atol, rtol = _tolerances(self, atol, rtol, "linalg.pinv")
    if self.numel() == 0:
        *lead, rows, columns = self.shape
        return F.new_empty(self, [*lead, columns, rows])
    if hermitian:
        values, vectors = F._linalg_eigh(self, "L", True)
        size = F.abs(values)
        largest = F.amax(size, [-1], True)
        left, right = vectors, F.adjoint(vectors)
    else:
        u, values, vh = F._linalg_svd(self, False, True)
        size, largest = values, F.narrow(values, -1, 0, 1)
        left, right = F.adjoint(vh), F.adjoint(u)
    bound = F.maximum(_last_unsqueezed(atol), _last_unsqueezed(rtol) * largest)
    kept = F.gt(size, bound)
    inverse = F.where(kept, F.reciprocal(F.where(kept, values, 1.0)), 0.0)
    inverse = inverse.to(self.dtype)
    return F.matmul(left * F.unsqueeze(inverse, -2), right)


@composite_explicit("linalg_pinv.atol_rtol_tensor")
def pinv_composite(self, *, atol=None, rtol=None, hermitian=False):
    return _pinv(self, atol, rtol, hermitian)


def _pinv_with_tensors(self, atol, rtol, hermitian):
    _check_matrices(self, "linalg.pinv")
    atol, rtol = _tolerances(self, atol, rtol, "linalg.pinv")
    return F.linalg_pinv(self, atol=atol, rtol=rtol, hermitian=hermitian)


@composite_implicit("linalg_pinv.atol_rtol_float")
def pinv_float_composite(self, *, atol=None, rtol=None, hermitian=False):
    return _pinv_with_tensors(self, atol, rtol, hermitian)


@composite_implicit("linalg_pinv", "linalg_pinv.rcond_tensor")
def pinv_rcond_composite(self, rcond, hermitian=False):
    return _pinv_with_tensors(self, 0.0, rcond, hermitian)


@composite_implicit("pinverse")
def pinverse_composite(self, rcond=1e-15):
    return _pinv_with_tensors(self, 0.0, rcond, False)


def _matrix_rank(self, atol, rtol, hermitian):
    _check_matrices(self, "linalg.matrix_rank", "input")
    atol, rtol = _tolerances(self, atol, rtol, "linalg.matrix_rank")
    if self.numel() == 0:
        from minitorch.core.dtype import int64

        return F.zeros(list(self.shape[:-2]), dtype=int64, device=self.device)
    values = F.abs(F.linalg_eigvalsh(self)) if hermitian else F.linalg_svdvals(self)
    largest = F.amax(values, [-1], True)
    bound = F.maximum(_last_unsqueezed(atol), _last_unsqueezed(rtol) * largest)
    return F.sum(F.gt(values, bound), [-1])


@composite_implicit("linalg_matrix_rank.atol_rtol_tensor")
def matrix_rank_tensor_composite(input, *, atol=None, rtol=None, hermitian=False):
    return _matrix_rank(input, atol, rtol, hermitian)


@composite_implicit("linalg_matrix_rank.atol_rtol_float")
def matrix_rank_composite(self, *, atol=None, rtol=None, hermitian=False):
    return _matrix_rank(self, atol, rtol, hermitian)


@composite_implicit("linalg_matrix_rank")
def matrix_rank_tol_composite(self, tol, hermitian=False):
    return _matrix_rank(self, tol, 0.0, hermitian)


@composite_implicit("linalg_matrix_rank.tol_tensor")
def matrix_rank_tol_tensor_composite(input, tol, hermitian=False):
    return _matrix_rank(input, tol, 0.0, hermitian)


@composite_implicit("linalg_cond")
def cond_composite(self, p=None):
    _check_matrices(self, "linalg.cond")
    if p is None or abs(p) == 2:
        values = F.linalg_svdvals(self)
        high, low = F.select(values, -1, 0), F.select(values, -1, -1)
        return F.div(low, high) if p == -2 else F.div(high, low)
    return _cond(self, p)


@composite_implicit("linalg_cond.p_str")
def cond_str_composite(self, p):
    _check_matrices(self, "linalg.cond")
    check(p in ("fro", "nuc"), f"linalg.cond got an invalid norm type: {p}")
    return _cond(self, p)


def _cond(self, p):
    check(
        self.shape[-1] == self.shape[-2],
        f"linalg.cond: with p={p!r} A must be batches of square matrices, but they are "
        f"{self.shape[-2]} by {self.shape[-1]} matrices",
    )
    if self.numel() == 0:
        real = self.dtype.to_real()
        return F.zeros(list(self.shape[:-2]), dtype=real, device=self.device)
    if p == "nuc":
        values = F.linalg_svdvals(self)
        return F.sum(values, [-1]) * F.sum(F.reciprocal(values), [-1])
    inverse, info = F.linalg_inv_ex(self)
    infinite = F.full_like(F.real(inverse) if inverse.is_complex() else inverse, math.inf)
    norms = _matrix_norm(self, p, [-2, -1], False, None) * _matrix_norm(
        inverse, p, [-2, -1], False, None
    )
    return F.where(F.ne(info, 0), F.select(F.select(infinite, -1, 0), -1, 0), norms)


# ---------------------------------------------------------------- matrix functions


@composite_implicit("linalg_matrix_power", "matrix_power")
def matrix_power_composite(self, n):
    check(
        self.dim() >= 2 and self.shape[-1] == self.shape[-2],
        f"linalg.matrix_power: A must be batches of square matrices, got {tuple(self.shape)}",
    )
    if n == 0:
        return _identity(self, _eye_like(self))
    if n < 0:
        self, n = F.linalg_inv(self), -n
    result = None
    while True:
        if n & 1:
            result = self if result is None else F.matmul(result, self)
        n >>= 1
        if not n:
            break
        self = F.matmul(self, self)
    return F.clone(result) if result is self else result


@composite_implicit("matrix_exp")
def matrix_exp_composite(self):
    return F.linalg_matrix_exp(self)


@composite_implicit("linalg_vander")
def vander_composite(x, *, N=None):
    x = F.atleast_1d(x)
    count = x.shape[-1] if N is None else N
    check(count > 1, f"N must be greater than 1, got {count}")
    if not (x.is_floating_point() or x.is_complex()):
        from minitorch.core.dtype import int64

        x = x.to(promote_types(x.dtype, int64))
    powers = F.cumprod(F.expand(F.unsqueeze(x, -1), [*x.shape, count - 1]), -1)
    return F.cat([F.new_ones(powers, [*x.shape, 1]), powers], -1)


@composite_implicit("vander")
def vander_matrix_composite(x, N=None, increasing=False):
    check(x.dim() == 1, f"vander(): x must be a one-dimensional tensor, got {x.dim()} dimension(s)")
    count = x.shape[0] if N is None else N
    check(count >= 0, f"vander(): N must be non-negative, got {count}")
    if not (x.is_floating_point() or x.is_complex()):
        from minitorch.core.dtype import int64

        x = x.to(promote_types(x.dtype, int64))
    columns = F.expand(F.unsqueeze(x, -1), [x.shape[0], max(count - 1, 0)])
    powers = F.cat([F.new_ones(x, [x.shape[0], min(count, 1)]), F.cumprod(columns, -1)], -1)
    return powers if increasing else F.flip(powers, [1])
