"""Kernels of matrix products, factorizations and solvers.

Factorizations and solutions are column-major within each matrix, as LAPACK leaves them and as
PyTorch's strides say.
"""

from __future__ import annotations

from minitorch.backends.array.common import is_low_precision
from minitorch.backends.array.registry import array_kernel
from minitorch.core.promotion import result_type
from minitorch.errors import LinAlgError
from minitorch.ops.shapes.common import broadcast_shapes

_BLAS = "fdFD"


# ---------------------------------------------------------------- products


def _dot(xp, a, b):
    """Return the product of two vectors or matrices of one dtype."""
    if a.dtype.char in _BLAS:
        return a.dot(b)
    if is_low_precision(a.dtype):
        return a.astype(xp.float32).dot(b.astype(xp.float32)).astype(a.dtype)
    if a.dtype.kind == "b":
        raise ValueError
    return a.dot(b)


def _matmul(xp, a, b):
    """Return the product of batches of matrices of one dtype, row-major."""
    if is_low_precision(a.dtype):
        return xp.matmul(a.astype(xp.float32), b.astype(xp.float32)).astype(a.dtype)
    if a.dtype.kind == "b":
        raise ValueError
    if a.shape[-1] == 1 and b.shape[-2] == 1 and a.dtype.char in _BLAS:
        # Outer products: they write more than they compute, at which a library for products is slow.
        result = xp.einsum("...i,...j->...ij", a[..., 0], b[..., 0, :])
    else:
        result = xp.matmul(a, b)
    return result if result.flags.c_contiguous else xp.ascontiguousarray(result)


@array_kernel("mm")
def mm_kernel(xp, self, mat2):
    if self.ndim != 2 or mat2.ndim != 2 or self.dtype != mat2.dtype:
        raise ValueError
    if self.dtype.char in _BLAS:
        return self.dot(mat2)
    return _dot(xp, self, mat2)


@array_kernel("bmm")
def bmm_kernel(xp, self, mat2):
    if self.ndim != 3 or mat2.ndim != 3 or self.dtype != mat2.dtype or len(self) != len(mat2):
        raise ValueError
    return _matmul(xp, self, mat2)


@array_kernel("mv")
def mv_kernel(xp, self, vec):
    if self.ndim != 2 or vec.ndim != 1 or self.dtype != vec.dtype:
        raise ValueError
    return _dot(xp, self, vec)


@array_kernel("dot")
def dot_kernel(xp, self, tensor):
    if self.ndim != 1 or tensor.ndim != 1 or self.dtype != tensor.dtype:
        raise ValueError
    return _dot(xp, self, tensor)


@array_kernel("vdot")
def vdot_kernel(xp, self, other):
    if self.ndim != 1 or other.ndim != 1 or self.dtype != other.dtype:
        raise ValueError
    return _dot(xp, self.conj() if self.dtype.kind == "c" else self, other)


def _plus(xp, self, product, beta, alpha):
    """Return ``beta * self + alpha * product`` in `product`'s memory.

    With ``beta == 0`` the values of `self` do not matter, not even NaN.
    """
    dtype = product.dtype
    if dtype.kind in "iu":
        alpha, beta = int(alpha), int(beta)
    if alpha != 1:
        product *= dtype.type(alpha)
    if beta != 0:
        product += self if beta == 1 else self * dtype.type(beta)
    elif broadcast_shapes(self.shape, product.shape) != product.shape:
        raise ValueError
    return product


def _add_product(xp, multiply, self, a, b, beta, alpha):
    dtype = self.dtype
    if a.dtype != dtype or b.dtype != dtype:
        raise ValueError
    if is_low_precision(dtype):
        wide = xp.float32
        product = multiply(xp, a.astype(wide), b.astype(wide))
        return _plus(xp, self.astype(wide), product, beta, alpha).astype(dtype)
    return _plus(xp, self, multiply(xp, a, b), beta, alpha)


@array_kernel("addmm")
def addmm_kernel(xp, self, mat1, mat2, *, beta=1, alpha=1):
    if mat1.ndim != 2 or mat2.ndim != 2:
        raise ValueError
    return _add_product(xp, _dot, self, mat1, mat2, beta, alpha)


@array_kernel("addmv")
def addmv_kernel(xp, self, mat, vec, *, beta=1, alpha=1):
    if mat.ndim != 2 or vec.ndim != 1:
        raise ValueError
    return _add_product(xp, _dot, self, mat, vec, beta, alpha)


@array_kernel("baddbmm")
def baddbmm_kernel(xp, self, batch1, batch2, *, beta=1, alpha=1):
    if batch1.ndim != 3 or batch2.ndim != 3 or len(batch1) != len(batch2):
        raise ValueError
    return _add_product(xp, _matmul, self, batch1, batch2, beta, alpha)


def _sum_of_products(xp, a, b):
    return xp.add.reduce(_matmul(xp, a, b), 0, dtype=a.dtype)


@array_kernel("addbmm")
def addbmm_kernel(xp, self, batch1, batch2, *, beta=1, alpha=1):
    if batch1.ndim != 3 or batch2.ndim != 3 or len(batch1) != len(batch2):
        raise ValueError
    return _add_product(xp, _sum_of_products, self, batch1, batch2, beta, alpha)


@array_kernel("addr")
def addr_kernel(xp, self, vec1, vec2, *, beta=1, alpha=1):
    if vec1.ndim != 1 or vec2.ndim != 1:
        raise ValueError
    dtype = result_type(self, vec1, vec2)
    if dtype.kind in "biu" and (isinstance(alpha, float) or isinstance(beta, float)):
        raise ValueError
    if dtype.kind == "b":
        product = xp.logical_and(vec1[:, None], vec2) & bool(alpha)
        if beta:
            product |= self
        return product
    a, b = vec1.astype(dtype, copy=False), vec2.astype(dtype, copy=False)
    return _plus(xp, self.astype(dtype, copy=False), a[:, None] * b, beta, alpha)


@array_kernel("linear")
def linear_kernel(xp, input, weight, bias=None):
    dtype = weight.dtype
    if input.dtype != dtype or (bias is not None and bias.dtype != dtype):
        raise ValueError
    if weight.ndim != 2 or input.ndim < 1 or (bias is not None and bias.ndim > 1):
        raise ValueError
    if dtype.char not in _BLAS:
        if is_low_precision(dtype):
            wide = xp.float32
            result = linear_kernel(
                xp,
                input.astype(wide),
                weight.astype(wide),
                None if bias is None else bias.astype(wide),
            )
            return result.astype(dtype)
        if dtype.kind == "b":
            raise ValueError
    if input.ndim <= 2:
        result = input.dot(weight.T)
    else:
        lead = input.shape[:-1]
        if input.shape[-1] != weight.shape[1]:
            raise ValueError
        result = input.reshape(-1 if input.size else _count(lead), input.shape[-1]).dot(weight.T)
        result = result.reshape(*lead, weight.shape[0])
    if bias is not None:
        if bias.size not in (1, weight.shape[0]):
            raise ValueError
        result += bias
    return result


def _count(shape):
    count = 1
    for n in shape:
        count *= n
    return count


@array_kernel("linalg_cross")
def cross_kernel(xp, self, other, *, dim=-1):
    if self.ndim != other.ndim or self.shape[dim] != 3 or other.shape[dim] != 3:
        raise ValueError
    dtype = result_type(self, other)
    a, b = self.astype(dtype, copy=False), other.astype(dtype, copy=False)
    out = xp.empty(broadcast_shapes(a.shape, b.shape), dtype)
    rows = xp.moveaxis(out, dim, 0)
    a, b = xp.moveaxis(a, dim, 0), xp.moveaxis(b, dim, 0)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        rows[i] = a[j] * b[k] - a[k] * b[j]
    return out


# ---------------------------------------------------------------- matrices and their parts


def _swap(array):
    """Return the transposes of a batch of matrices, a view."""
    return array.swapaxes(-2, -1)


def _columns(xp, array):
    """Return `array` with each matrix column-major."""
    return _swap(xp.ascontiguousarray(_swap(array)))


def _adjoint(array):
    return _swap(array.conj() if array.dtype.kind == "c" else array)


def _square(self):
    if self.ndim < 2 or self.shape[-1] != self.shape[-2] or self.dtype.char not in _BLAS:
        raise ValueError


def _matrices(self):
    if self.ndim < 2 or self.dtype.char not in _BLAS:
        raise ValueError


def _below(xp, matrix, offset=0):
    """Return a mask of the elements on or below a diagonal."""
    rows, columns = matrix.shape[-2:]
    return xp.arange(rows)[:, None] + offset >= xp.arange(columns)


def _tril(xp, matrix, offset=0):
    return xp.where(_below(xp, matrix, offset), matrix, matrix.dtype.type(0))


def _triu(xp, matrix, offset=0):
    return xp.where(_below(xp, matrix, offset - 1), matrix.dtype.type(0), matrix)


def _each(xp, array, tail=2):
    """Return `array` as a sequence of what stands in its last `tail` dimensions."""
    lead = array.ndim - tail
    return array.reshape((_count(array.shape[:lead]), *array.shape[lead:]))


def _fail(name, info, what):
    """Raise for the first matrix of a batch whose `info` is not 0."""
    flat = info.reshape(-1).tolist()
    place = next(i for i, value in enumerate(flat) if value)
    batch = f"(Batch element {place}): " if info.ndim else ""
    raise LinAlgError(f"linalg.{name}: {batch}{what.format(flat[place])}")


# ---------------------------------------------------------------- factorizations

NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite "
    "(the leading minor of order {} is not positive-definite)."
)
SINGULAR_INVERSE = (
    "The diagonal element {} is zero, the inversion could not be completed because the input "
    "matrix is singular."
)
SINGULAR_SOLVE = "The solver failed because the input matrix is singular."
ZERO_PIVOT = "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero."


@array_kernel("linalg_cholesky_ex")
def cholesky_kernel(xp, self, *, upper=False, check_errors=False):
    _square(self)
    matrix = _adjoint(self) if upper else self
    info = xp.zeros(self.shape[:-2], xp.int32)
    try:
        factor = xp.linalg.cholesky(matrix)
        if not xp.isfinite(factor).all():  # a library that returns NaN instead of raising
            raise xp.linalg.LinAlgError
    except xp.linalg.LinAlgError:
        factor = xp.array(matrix, order="C")
        flat_info = info.reshape(-1)
        for i, one in enumerate(_each(xp, factor)):
            flat_info[i] = _cholesky_one(xp, one)
        info = flat_info.reshape(info.shape)
        if check_errors:
            _fail("cholesky", info, NOT_POSITIVE)
    if upper:
        factor = _adjoint(factor)
    return _columns(xp, factor), info


def _cholesky_one(xp, matrix):
    """Factor one matrix in place, as far as it goes; return where it failed, or 0."""
    n = len(matrix)
    low, high = 0, n
    while low < high:  # the largest leading block that is positive-definite
        middle = (low + high + 1) // 2
        try:
            finite = xp.isfinite(xp.linalg.cholesky(matrix[:middle, :middle])).all()
        except xp.linalg.LinAlgError:
            finite = False
        if finite:
            low = middle
        else:
            high = middle - 1
    done = xp.linalg.cholesky(matrix[:low, :low])
    matrix[...] = _tril(xp, matrix)
    matrix[:low, :low] = done
    return 0 if low == n else low + 1


def _lu_panel(xp, a, pivots, start, stop, swap):
    """Factor columns ``start..stop`` of a batch of matrices in place, one by one."""
    rows = a.shape[-2]
    batch = xp.arange(len(a))
    for j in range(start, min(stop, rows)):
        if swap:
            column = a[:, j:, j]
            if column.dtype.kind == "c":  # LAPACK compares these, not absolute values
                size = xp.abs(column.real) + xp.abs(column.imag)
            else:
                size = xp.abs(column)
            chosen = j + size.argmax(1)
            pivots[:, j] = chosen + 1
            moved = a[batch, chosen].copy()
            a[batch, chosen] = a[:, j]
            a[:, j] = moved
        if j + 1 < rows:
            pivot = a[:, j, j]
            safe = xp.where(pivot == 0, a.dtype.type(1), pivot)
            a[:, j + 1 :, j] /= safe[:, None]
            if j + 1 < stop:
                a[:, j + 1 :, j + 1 : stop] -= a[:, j + 1 :, j, None] * a[:, j, None, j + 1 : stop]


def lu_factor(xp, self, pivot=True):
    """Return LU and 1-based pivots of a batch of matrices (blocked, right-looking)."""
    rows, columns = self.shape[-2:]
    a = _each(xp, xp.array(self, order="C"))
    steps = min(rows, columns)
    pivots = xp.empty((len(a), steps), xp.int32)
    pivots[...] = xp.arange(1, steps + 1)
    block = 48
    for start in range(0, steps, block):
        stop = min(start + block, steps)
        _lu_panel(xp, a, pivots, start, stop, pivot)
        if stop < columns:
            unit = a[:, start:stop, start:stop]
            unit = _tril(xp, unit, -1) + xp.eye(stop - start, dtype=a.dtype)
            a[:, start:stop, stop:] = xp.linalg.solve(unit, a[:, start:stop, stop:])
            if stop < rows:
                a[:, stop:, stop:] -= xp.matmul(
                    a[:, stop:, start:stop], a[:, start:stop, stop:]
                )
    lead = self.shape[:-2]
    return a.reshape(self.shape), pivots.reshape((*lead, steps))


def _first_zero(xp, diagonal):
    """Return the 1-based place of the first zero in each row, 0 where there is none."""
    zero = diagonal == 0
    if diagonal.shape[-1] == 0:
        return xp.zeros(diagonal.shape[:-1], xp.int32)
    return xp.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(xp.int32)


def _singular_info(xp, self):
    """Return LAPACK's info of solving with each matrix: the first zero pivot, or 0."""
    lu = lu_factor(xp, self)[0]
    return _first_zero(xp, xp.diagonal(lu, axis1=-2, axis2=-1))


@array_kernel("linalg_lu_factor_ex")
def lu_factor_kernel(xp, self, *, pivot=True, check_errors=False):
    _matrices(self)
    lu, pivots = lu_factor(xp, self, pivot)
    info = _first_zero(xp, xp.diagonal(lu, axis1=-2, axis2=-1))
    if check_errors and info.any():
        _fail("lu_factor_ex", info, ZERO_PIVOT)
    return _columns(xp, lu), pivots, info


@array_kernel("_lu_permutation")
def lu_permutation_kernel(xp, pivots, rows):
    """Return the row order that a factorization's successive exchanges give."""
    if pivots.dtype.char != "i" or pivots.ndim == 0:
        raise ValueError
    flat = _each(xp, pivots, 1)
    order = xp.empty((len(flat), rows), xp.int64)
    order[...] = xp.arange(rows)
    batch = xp.arange(len(flat))
    for j in range(flat.shape[1]):
        chosen = flat[:, j] - 1
        moved = order[batch, chosen]
        order[batch, chosen] = order[:, j]
        order[:, j] = moved
    return order.reshape((*pivots.shape[:-1], rows))


@array_kernel("linalg_qr")
def qr_kernel(xp, self, mode="reduced"):
    _matrices(self)
    if mode == "r":
        r = _qr(xp, self, "r")
        return xp.empty(0, self.dtype), _columns(xp, r)
    if mode not in ("reduced", "complete"):
        raise ValueError
    q, r = _qr(xp, self, mode)
    return _columns(xp, q), _columns(xp, r)


def _qr(xp, self, mode):
    if self.size:
        return xp.linalg.qr(self, mode)
    rows, columns = self.shape[-2:]
    steps = rows if mode == "complete" else min(rows, columns)
    r = xp.zeros((*self.shape[:-2], steps, columns), self.dtype)
    if mode == "r":
        return r
    q = xp.zeros((*self.shape[:-2], rows, steps), self.dtype)
    q[...] = xp.eye(rows, steps, dtype=self.dtype)
    return q, r


@array_kernel("geqrf")
def geqrf_kernel(xp, self):
    """Return Householder vectors and R in one matrix, and the vectors' factors."""
    _matrices(self)
    a = xp.array(self, order="C")
    rows, columns = a.shape[-2:]
    steps = min(rows, columns)
    tau = xp.zeros((*a.shape[:-2], steps), a.dtype)
    for j in range(steps):
        x = a[..., j:, j]
        alpha = x[..., 0]
        norm = xp.sqrt(xp.add.reduce((x * x.conj()).real, -1))
        tail = xp.add.reduce((x[..., 1:] * x[..., 1:].conj()).real, -1)
        beta = xp.where(alpha.real >= 0, -norm, norm)
        trivial = (tail == 0) & (alpha.imag == 0)
        safe = xp.where(trivial, beta.dtype.type(1), beta)
        t = xp.where(trivial, 0, (safe - alpha) / safe)
        scale = xp.where(trivial, 1, alpha - safe)
        v = x / scale[..., None]
        v[..., 0] = 1
        rest = a[..., j:, j + 1 :]
        inner = xp.matmul(v[..., None, :].conj(), rest)
        rest -= t.conj()[..., None, None] * v[..., :, None] * inner
        a[..., j:, j] = xp.where(trivial[..., None], x, v)
        a[..., j, j] = xp.where(trivial, alpha, safe)
        tau[..., j] = t
    return _columns(xp, a), tau


@array_kernel("_linalg_eigh")
def eigh_kernel(xp, A, UPLO="L", compute_v=True):
    _square(A)
    side = UPLO.upper()
    if side not in ("L", "U"):
        raise ValueError
    try:
        if not compute_v:
            return xp.linalg.eigvalsh(A, side), xp.empty(0, A.dtype)
        values, vectors = xp.linalg.eigh(A, side)
    except xp.linalg.LinAlgError as error:
        raise LinAlgError(f"linalg.eigh: The algorithm failed to converge: {error}") from None
    return values, _columns(xp, vectors)


def _complex_type(xp, dtype):
    return xp.complex64 if dtype.char in "fF" else xp.complex128


@array_kernel("linalg_eig")
def eig_kernel(xp, self):
    _square(self)
    _finite(xp, self, "eig")
    values, vectors = xp.linalg.eig(self)
    kind = _complex_type(xp, self.dtype)
    return values.astype(kind, copy=False), _columns(xp, vectors.astype(kind, copy=False))


@array_kernel("_linalg_eigvals")
def eigvals_kernel(xp, self):
    _square(self)
    _finite(xp, self, "eigvals")
    return xp.linalg.eigvals(self).astype(_complex_type(xp, self.dtype), copy=False)


def _finite(xp, self, name):
    if not xp.isfinite(self).all():
        raise RuntimeError(
            f"torch.linalg.{name}: input tensor should not contain infs or NaNs."
        )


@array_kernel("_linalg_svd")
def svd_kernel(xp, A, full_matrices=False, compute_uv=True, *, driver=None):
    _matrices(A)
    try:
        if not compute_uv:
            none = xp.empty(0, A.dtype)
            return none, xp.linalg.svd(A, compute_uv=False), none
        u, s, vh = xp.linalg.svd(A, full_matrices)
    except xp.linalg.LinAlgError as error:
        raise LinAlgError(
            f"linalg.svd: The algorithm failed to converge because the input matrix contained "
            f"non-finite values or is ill-conditioned: {error}"
        ) from None
    return _columns(xp, u), s, _columns(xp, vh)


# ---------------------------------------------------------------- determinants, solvers


@array_kernel("linalg_det")
def det_kernel(xp, A):
    _square(A)
    return xp.asarray(xp.linalg.det(A))


@array_kernel("linalg_slogdet")
def slogdet_kernel(xp, A):
    _square(A)
    sign, logarithm = xp.linalg.slogdet(A)
    return sign, logarithm


@array_kernel("linalg_inv_ex")
def inv_kernel(xp, A, *, check_errors=False):
    _square(A)
    info = xp.zeros(A.shape[:-2], xp.int32)
    try:
        return _columns(xp, xp.linalg.inv(A)), info
    except xp.linalg.LinAlgError:
        info = _singular_info(xp, A)
    if check_errors and info.any():
        _fail("inv", info, SINGULAR_INVERSE)
    inverse = xp.empty(A.shape, A.dtype)
    results, singular = _each(xp, inverse), info.reshape(-1)
    for i, one in enumerate(_each(xp, A)):
        results[i] = xp.nan if singular[i] else xp.linalg.inv(one)
    return _columns(xp, inverse), info


def is_vector_solve(a_shape, b_shape):
    """Return whether PyTorch reads the right-hand side as a batch of vectors."""
    return len(b_shape) == 1 or (
        len(a_shape) - 1 == len(b_shape) and tuple(b_shape) == tuple(a_shape[:-1])
    )


@array_kernel("linalg_solve_ex")
def solve_kernel(xp, A, B, *, left=True, check_errors=False):
    _square(A)
    if A.dtype != B.dtype:
        raise ValueError
    vector = is_vector_solve(A.shape, B.shape)
    if vector and not left:
        raise ValueError
    a, b = A, B[..., None] if vector else B
    if not left:
        a, b = _swap(a), _swap(b)
    if b.shape[-2] != a.shape[-1]:
        raise ValueError
    info = xp.zeros(A.shape[:-2], xp.int32)
    try:
        result = xp.linalg.solve(a, b)
    except xp.linalg.LinAlgError:
        info = _singular_info(xp, A)
        if check_errors and info.any():
            _fail("solve", info, SINGULAR_SOLVE)
        lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
        result = xp.empty((*lead, *b.shape[-2:]), a.dtype)
        every_a = _each(xp, xp.broadcast_to(a, (*lead, *a.shape[-2:])))
        every_b = _each(xp, xp.broadcast_to(b, result.shape))
        bad = xp.broadcast_to(info, lead).reshape(-1)
        for i, one in enumerate(_each(xp, result)):
            one[...] = xp.nan if bad[i] else xp.linalg.solve(every_a[i], every_b[i])
    if vector:
        result = result[..., 0]
        return (_columns(xp, result) if result.ndim > 1 else xp.ascontiguousarray(result)), info
    return (_columns(xp, result) if left else _swap(_columns(xp, result))), info


@array_kernel("linalg_solve_triangular")
def solve_triangular_kernel(xp, self, B, *, upper, left=True, unitriangular=False):
    _square(self)
    if self.dtype != B.dtype or B.ndim < 2:
        raise ValueError
    a, b = self, B
    if not left:
        a, b, upper = _swap(a), _swap(b), not upper
    if b.shape[-2] != a.shape[-1]:
        raise ValueError
    a = _triu(xp, a) if upper else _tril(xp, a)
    if unitriangular:
        n = a.shape[-1]
        a[..., xp.arange(n), xp.arange(n)] = 1
    try:
        result = xp.linalg.solve(a, b)
    except xp.linalg.LinAlgError:
        result = _substitute(xp, a, b, upper)
    return _columns(xp, result if left else _swap(result))


def _substitute(xp, a, b, upper):
    """Solve by substitution, row after row: what a zero on the diagonal needs (inf and NaN)."""
    lead = broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x = xp.array(xp.broadcast_to(b, (*lead, *b.shape[-2:])), order="C")
    n = a.shape[-1]
    for i in range(n - 1, -1, -1) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        x[..., i, :] -= xp.matmul(a[..., i, None, known], x[..., known, :])[..., 0, :]
        x[..., i, :] /= a[..., i, i, None]
    return x


@array_kernel("_linalg_lstsq")
def lstsq_kernel(xp, self, b, rcond=None, *, driver=None):
    """Solve least squares problems by the singular value decomposition (`gels` by QR)."""
    _matrices(self)
    driver = "gelsy" if driver is None else driver
    if self.dtype != b.dtype or driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise ValueError
    vector = self.ndim - 1 == b.ndim and b.shape == self.shape[:-1]
    rhs = b[..., None] if vector else b
    rows, columns = self.shape[-2:]
    if rhs.ndim < 2 or rhs.shape[-2] != rows:
        raise ValueError
    lead = broadcast_shapes(self.shape[:-2], rhs.shape[:-2])
    a = xp.broadcast_to(self, (*lead, rows, columns))
    rhs = xp.broadcast_to(rhs, (*lead, *rhs.shape[-2:]))
    real = a.real.dtype
    none = xp.empty(0, real)
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    if driver == "gels":
        cut = real.type(0)
    elif rcond is None or rcond < 0:
        cut = real.type(xp.finfo(real).eps * max(rows, columns))
    else:
        cut = real.type(rcond)
    largest = s[..., :1] if s.shape[-1] else s
    kept = s > cut * largest
    inverse = xp.where(kept, 1 / xp.where(kept, s, real.type(1)), real.type(0))
    solution = xp.matmul(_adjoint(vh), inverse[..., None] * xp.matmul(_adjoint(u), rhs))
    rank = xp.add.reduce(kept, -1, xp.int64)
    residuals = none
    if rows > columns and driver != "gelsy" and bool((rank == columns).all()):
        gap = xp.matmul(a, solution) - rhs
        residuals = xp.add.reduce((gap * gap.conj()).real, -2)
        residuals = xp.ascontiguousarray(residuals)
    if driver == "gels":
        rank = xp.empty(0, xp.int64)
    values = xp.ascontiguousarray(s) if driver in ("gelsd", "gelss") else none
    # LAPACK solves in place of the right-hand side, whose columns may be longer.
    tall = xp.empty((*lead, rhs.shape[-1], max(rows, columns)), a.dtype)
    tall[..., :columns] = _swap(solution)
    solution = _swap(tall[..., :columns])
    if vector:
        solution = solution[..., 0]
    return solution, residuals, rank, values


# ---------------------------------------------------------------- matrix functions

@array_kernel("linalg_matrix_exp")
def matrix_exp_kernel(xp, self):
    """Exponentiate by scaling and squaring of the diagonal Pade approximant of order 8."""
    dtype = self.dtype
    if not is_low_precision(dtype):
        _square(self)
    elif self.ndim < 2 or self.shape[-1] != self.shape[-2]:
        raise ValueError
    n = self.shape[-1]
    if self.size == 0:
        return self.copy()
    work = self.astype(xp.complex128 if dtype.kind == "c" else xp.float64)
    norm = xp.add.reduce(xp.abs(work), -2).max(-1, initial=0.0)
    with_scale = xp.maximum(norm, 1e-300) / 0.5
    squarings = xp.maximum(xp.ceil(xp.log2(with_scale)), 0.0)
    squarings = xp.where(xp.isfinite(squarings), squarings, 0.0).astype(xp.int64)
    a = work / (2.0**squarings)[..., None, None]
    eye = xp.eye(n, dtype=work.dtype)
    order, coefficient = 8, 1.0
    top, bottom, power = eye + 0 * a, eye + 0 * a, eye
    for k in range(1, order + 1):
        coefficient *= (order - k + 1) / (k * (2 * order - k + 1))
        power = xp.matmul(a, power)
        term = coefficient * power
        top = top + term
        bottom = bottom + (term if k % 2 == 0 else -term)
    result = xp.linalg.solve(bottom, top)
    for k in range(int(squarings.max(initial=0))):
        again = (squarings > k)[..., None, None]
        result = xp.where(again, xp.matmul(result, result), result)
    return result.astype(dtype)
