"""Derivatives of matrix products, factorizations and solvers.

`mH` is the conjugate transpose.  The formulas are those of real matrices with transposes
made conjugate, after Giles (2008), "Collected matrix derivative results for forward and
reverse mode algorithmic differentiation", and Seeger et al. (2017), "Auto-differentiating
linear algebra".
"""

from __future__ import annotations

from minitorch.autograd.derivatives.reductions import conj
from minitorch.autograd.derivatives.registry import Multilinear, derivative
from minitorch.ops import functions as F
from minitorch.tensor.wrapper import has_values, innermost


def _mT(tensor):
    return F.transpose(tensor, -2, -1)


def _mH(tensor):
    return conj(F.transpose(tensor, -2, -1))


def scaled(tensor, factor):
    """Return `tensor` times the conjugate of a Python number."""
    if factor == 1:
        return tensor
    return tensor * (factor.conjugate() if isinstance(factor, complex) else factor)


# ---------------------------------------------------------------- products

derivative(
    "mm",
    self=lambda grad, mat2: F.mm(grad, _mH(mat2)),
    mat2=lambda grad, self: F.mm(_mH(self), grad),
    result=lambda self_p, self_t, mat2_p, mat2_t: F.mm(self_t, mat2_p) + F.mm(self_p, mat2_t),
)
derivative(
    "bmm",
    self=lambda grad, mat2: F.bmm(grad, _mH(mat2)),
    mat2=lambda grad, self: F.bmm(_mH(self), grad),
    result=lambda self_p, self_t, mat2_p, mat2_t: F.bmm(self_t, mat2_p) + F.bmm(self_p, mat2_t),
)
derivative(
    "mv",
    self=lambda grad, vec: F.outer(grad, conj(vec)),
    vec=lambda grad, self: F.mv(_mH(self), grad),
    result=lambda self_p, self_t, vec_p, vec_t: F.mv(self_t, vec_p) + F.mv(self_p, vec_t),
)
derivative(
    "dot",
    self=lambda grad, tensor: grad * conj(tensor),
    tensor=lambda grad, self: grad * conj(self),
    result=lambda self_p, self_t, tensor_p, tensor_t: F.dot(self_t, tensor_p)
    + F.dot(self_p, tensor_t),
)
derivative(
    "vdot",
    self=lambda grad, other: conj(grad) * other,
    other=lambda grad, self: grad * self,
    result=lambda self_p, self_t, other_p, other_t: F.vdot(self_t, other_p)
    + F.vdot(self_p, other_t),
)
derivative(
    "addmm",
    self=lambda grad, beta: scaled(grad, beta),
    mat1=lambda grad, mat2, alpha: scaled(F.mm(grad, _mH(mat2)), alpha),
    mat2=lambda grad, mat1, alpha: scaled(F.mm(_mH(mat1), grad), alpha),
    result=Multilinear("mat1", "mat2", additive=("self",)),
)
derivative(
    "addmv",
    self=lambda grad, beta: scaled(grad, beta),
    mat=lambda grad, vec, alpha: scaled(F.outer(grad, conj(vec)), alpha),
    vec=lambda grad, mat, alpha: scaled(F.mv(_mH(mat), grad), alpha),
    result=Multilinear("mat", "vec", additive=("self",)),
)
derivative(
    "baddbmm",
    self=lambda grad, beta: scaled(grad, beta),
    batch1=lambda grad, batch2, alpha: scaled(F.bmm(grad, _mH(batch2)), alpha),
    batch2=lambda grad, batch1, alpha: scaled(F.bmm(_mH(batch1), grad), alpha),
    result=Multilinear("batch1", "batch2", additive=("self",)),
)


def _for_each(grad, batch):
    return F.expand(F.unsqueeze(grad, 0), [batch.shape[0], *grad.shape])


derivative(
    "addbmm",
    self=lambda grad, beta: scaled(grad, beta),
    batch1=lambda grad, batch2, alpha: scaled(
        F.bmm(_for_each(grad, batch2), _mH(batch2)), alpha
    ),
    batch2=lambda grad, batch1, alpha: scaled(
        F.bmm(_mH(batch1), _for_each(grad, batch1)), alpha
    ),
    result=Multilinear("batch1", "batch2", additive=("self",)),
)
derivative(
    "addr",
    self=lambda grad, beta: scaled(grad, beta),
    vec1=lambda grad, vec2, alpha: scaled(F.mv(grad, conj(vec2)), alpha),
    vec2=lambda grad, vec1, alpha: scaled(F.mv(_mT(grad), conj(vec1)), alpha),
    result=Multilinear("vec1", "vec2", additive=("self",)),
)


def linear_backward(grad, input, weight, needs):
    """Return the gradients of input, weight and bias that are needed."""
    grad_input = grad_weight = grad_bias = None
    flat = grad
    if grad.dim() != 2:
        flat = F.reshape(grad, [-1 if grad.numel() else _rows(grad), grad.shape[-1]])
    if needs[0]:
        grad_input = F.mm(flat, conj(weight))
        if grad.dim() != 2:
            grad_input = F.reshape(grad_input, list(input.shape))
    if needs[1]:
        rows = input if input.dim() == 2 else F.reshape(input, [flat.shape[0], input.shape[-1]])
        grad_weight = F.mm(F.t(flat), conj(rows))
    if len(needs) > 2 and needs[2]:
        grad_bias = F.sum(flat, [0])
    return grad_input, grad_weight, grad_bias


def _rows(grad):
    count = 1
    for n in grad.shape[:-1]:
        count *= n
    return count


derivative(
    "linear",
    jointly={("input", "weight", "bias"): linear_backward},
    result=Multilinear("input", "weight", additive=("bias",)),
)
derivative(
    "linalg_cross",
    self=lambda grad, other, dim: F.linalg_cross(conj(other), grad, dim=dim),
    other=lambda grad, self, dim: F.linalg_cross(grad, conj(self), dim=dim),
    result=Multilinear("self", "other"),
)


# ---------------------------------------------------------------- factorizations


def _half_diagonal(tensor):
    """Return the lower triangle, with half the diagonal."""
    return F.tril(tensor) - F.diag_embed(F.diagonal(tensor, 0, -2, -1)) * 0.5


def cholesky_backward(grad, factor, upper):
    if upper:
        grad, factor = _mH(grad), _mH(factor)
    inner = _half_diagonal(F.matmul(_mH(factor), grad))
    left = F.linalg_solve_triangular(_mH(factor), inner, upper=True)
    both = F.linalg_solve_triangular(factor, left, upper=False, left=False)
    return (both + _mH(both)) * 0.5


derivative(
    "linalg_cholesky_ex", self=lambda grad, L, upper: cholesky_backward(grad, L, upper)
)


def _of_product(grad, factor, upper):
    """Turn the gradient of ``L @ L.mH`` (``U.mH @ U``) into that of the factor."""
    both = grad + _mH(grad)
    return F.matmul(factor, both) if upper else F.matmul(both, factor)


def cholesky_inverse_backward(grad, inverse, factor, upper):
    return _of_product(-F.matmul(inverse, F.matmul(grad, inverse)), factor, upper)


derivative(
    "cholesky_inverse",
    self=lambda grad, result, self, upper: cholesky_inverse_backward(grad, result, self, upper),
)


def cholesky_solve_backward(grad, x, factor, upper, needs):
    grad_b = F.cholesky_solve(grad, factor, upper)
    grad_factor = None
    if needs[1]:
        grad_factor = _of_product(-F.matmul(grad_b, _mH(x)), factor, upper)
    return grad_b, grad_factor


derivative(
    "cholesky_solve",
    jointly={
        ("self", "input2"): lambda grad, result, input2, upper, needs: cholesky_solve_backward(
            grad, result, input2, upper, needs
        )
    },
)


def lu_factor_backward(grad, factors, pivots, pivot):
    p, lower, upper = F.lu_unpack(factors, pivots, True, pivot)
    rows, columns = factors.shape[-2:]
    k = min(rows, columns)
    grad_lower = F.tril(F.narrow(grad, -1, 0, k), -1)
    grad_upper = F.triu(F.narrow(grad, -2, 0, k))
    square_l, square_u = F.narrow(lower, -2, 0, k), F.narrow(upper, -1, 0, k)
    below = F.matmul(_mH(square_l), F.narrow(grad_lower, -2, 0, k))
    above = F.matmul(F.narrow(grad_upper, -1, 0, k), _mH(square_u))
    if columns > k:
        grad_rest, rest = (F.narrow(t, -1, k, columns - k) for t in (grad_upper, upper))
        below = below - F.matmul(grad_rest, _mH(rest))
    if rows > k:
        grad_rest, rest = (F.narrow(t, -2, k, rows - k) for t in (grad_lower, lower))
        above = above - F.matmul(_mH(rest), grad_rest)
    inner = F.tril(below, -1) + F.triu(above)
    result = F.linalg_solve_triangular(_mH(square_u), inner, upper=False, left=False)
    result = F.linalg_solve_triangular(
        _mH(square_l), result, upper=True, unitriangular=True
    )
    if columns > k:
        right = F.linalg_solve_triangular(
            _mH(square_l),
            F.narrow(grad_upper, -1, k, columns - k),
            upper=True,
            unitriangular=True,
        )
        result = F.cat([result, right], -1)
    if rows > k:
        bottom = F.linalg_solve_triangular(
            _mH(square_u), F.narrow(grad_lower, -2, k, rows - k), upper=False, left=False
        )
        result = F.cat([result, bottom], -2)
    return F.matmul(p, result) if pivot else result


derivative(
    "linalg_lu_factor_ex",
    A=lambda grad, LU, pivots, pivot: lu_factor_backward(grad, LU, pivots, pivot),
)


derivative("_lu_permutation")


def qr_backward(grads, q, r, mode):
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. "
            "Use linalg.qr(A, mode='reduced')."
        )
    grad_q, grad_r = grads
    rows, columns = q.shape[-2], r.shape[-1]
    if mode == "complete" and rows > columns:
        raise RuntimeError(
            "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
        )
    if grad_r is None:
        grad_r = F.zeros_like(r)
    if grad_q is None:
        grad_q = F.zeros_like(q)
    k = r.shape[-2]
    right = None
    if columns > k:  # the rest of the columns is Q times the rest of R
        rest, grad_rest = (F.narrow(t, -1, k, columns - k) for t in (r, grad_r))
        right = F.matmul(q, grad_rest)
        grad_q = grad_q + F.matmul(F.matmul(q, rest), _mH(grad_rest))
        r, grad_r = F.narrow(r, -1, 0, k), F.narrow(grad_r, -1, 0, k)
    inner = F.matmul(r, _mH(grad_r)) - F.matmul(_mH(grad_q), q)
    below = F.tril(inner, -1)
    diagonal = F.diagonal(inner, 0, -2, -1)
    if diagonal.is_complex():
        diagonal = F.real(diagonal).to(inner.dtype)
    inner = below + _mH(below) + F.diag_embed(diagonal)
    result = F.linalg_solve_triangular(
        _mH(r), grad_q + F.matmul(q, inner), upper=False, left=False
    )
    return result if right is None else F.cat([result, right], -1)


derivative("linalg_qr", A=lambda grads, Q, R, mode: qr_backward(grads, Q, R, mode))


def _differences(values):
    """Return the matrix of ``values[j] - values[i]``, with ones on its diagonal."""
    gaps = F.unsqueeze(values, -2) - F.unsqueeze(values, -1)
    ones = F.ones_like(values)
    return gaps + F.diag_embed(ones)


def _without_diagonal(matrix):
    return matrix - F.diag_embed(F.diagonal(matrix, 0, -2, -1))


def eigh_backward(grads, values, vectors, compute_v):
    if not compute_v:
        raise RuntimeError(
            "linalg_eigh: Setting compute_v to false in the forward pass makes its derivative "
            "unavailable"
        )
    grad_values, grad_vectors = grads
    if grad_vectors is None:
        if grad_values is None:
            return None
        scaled_vectors = vectors * F.unsqueeze(grad_values, -2)
        return F.matmul(scaled_vectors, _mH(vectors))
    turn = F.matmul(_mH(vectors), grad_vectors)
    turn = (turn - _mH(turn)) * 0.5  # of a rotation only this part counts
    inner = _without_diagonal(turn / _differences(values))
    if grad_values is not None:
        inner = inner + F.diag_embed(grad_values)
    return F.matmul(vectors, F.matmul(inner, _mH(vectors)))


derivative(
    "_linalg_eigh",
    A=lambda grads, eigenvalues, eigenvectors, compute_v: eigh_backward(
        grads, eigenvalues, eigenvectors, compute_v
    ),
)


def eig_backward(grads, values, vectors):
    grad_values, grad_vectors = grads
    adjoint = _mH(vectors)
    if grad_vectors is None:
        if grad_values is None:
            return None
        return F.linalg_solve(adjoint, F.unsqueeze(grad_values, -1) * adjoint)
    inner = F.matmul(adjoint, grad_vectors)
    diagonal = F.real(F.diagonal(inner, 0, -2, -1)).to(inner.dtype)
    inner = inner - F.matmul(adjoint, vectors * F.unsqueeze(diagonal, -2))
    inner = _without_diagonal(inner / conj(_differences(values)))
    if grad_values is not None:
        inner = inner + F.diag_embed(grad_values)
    return F.linalg_solve(adjoint, F.matmul(inner, adjoint))


derivative(
    "linalg_eig",
    self=lambda grads, eigenvalues, eigenvectors: eig_backward(grads, eigenvalues, eigenvectors),
)


def svd_backward(grads, u, s, vh, full_matrices, compute_uv):
    if not compute_uv:
        raise RuntimeError(
            "linalg_svd: Setting compute_uv to false in the forward pass makes its derivative "
            "unavailable"
        )
    grad_u, grad_s, grad_vh = grads
    if grad_u is None and grad_s is None and grad_vh is None:
        return None
    k = s.shape[-1]
    if full_matrices:
        u, vh = F.narrow(u, -1, 0, k), F.narrow(vh, -2, 0, k)
        grad_u = None if grad_u is None else F.narrow(grad_u, -1, 0, k)
        grad_vh = None if grad_vh is None else F.narrow(grad_vh, -2, 0, k)
    if grad_u is None and grad_vh is None:
        return F.matmul(u, F.unsqueeze(grad_s, -1) * vh)
    rows, columns = u.shape[-2], vh.shape[-1]
    gaps = _differences(s * s)
    inner = None
    if grad_s is not None:
        inner = F.diag_embed(grad_s)
    if grad_u is not None:
        turn = F.matmul(_mH(u), grad_u)
        turn = turn - _mH(turn)
        part = turn / gaps * F.unsqueeze(s, -2)
        if turn.is_complex():
            # Of the phase that U and V share, the gradient sees one half in each.
            part = _without_diagonal(part) + F.diag_embed(
                F.diagonal(turn, 0, -2, -1) / (s * 2.0)
            )
        inner = part if inner is None else inner + part
    if grad_vh is not None:
        turn = F.matmul(vh, _mH(grad_vh))
        turn = turn - _mH(turn)
        part = _without_diagonal(F.unsqueeze(s, -1) * (turn / gaps))
        inner = part if inner is None else inner + part
    result = F.matmul(F.matmul(u, inner), vh)
    if grad_u is not None and rows > k:
        outside = grad_u / F.unsqueeze(s, -2)
        outside = outside - F.matmul(u, F.matmul(_mH(u), outside))
        result = result + F.matmul(outside, vh)
    if grad_vh is not None and columns > k:
        outside = grad_vh / F.unsqueeze(s, -1)
        outside = outside - F.matmul(F.matmul(outside, _mH(vh)), vh)
        result = result + F.matmul(u, outside)
    return result


derivative(
    "_linalg_svd",
    A=lambda grads, U, S, Vh, full_matrices, compute_uv: svd_backward(
        grads, U, S, Vh, full_matrices, compute_uv
    ),
)


# ---------------------------------------------------------------- determinants, solvers


def _to_matrix(tensor):
    return F.unsqueeze(F.unsqueeze(tensor, -1), -1)


def det_backward(grad, A, det):
    """Return the gradient times the conjugate cofactors, which singular matrices have too."""
    if A.numel() == 0:
        return F.zeros_like(A)
    if not has_values(A) or not bool(F.any(innermost(F.eq(det, 0)))):
        return _to_matrix(grad * conj(det)) * _mH(F.linalg_inv_ex(A)[0])
    u, s, vh = F.linalg_svd(A)
    length = s.shape[-1]
    others = [
        F.prod(F.cat([F.narrow(s, -1, 0, i), F.narrow(s, -1, i + 1, length - i - 1)], -1), -1)
        for i in range(length)
    ]
    phase = conj(F.linalg_det(u) * F.linalg_det(vh))
    cofactors = F.matmul(u, F.unsqueeze(F.stack(others, -1), -1) * vh)
    return _to_matrix(grad * phase) * cofactors


derivative("linalg_det", A=lambda grad, A, result: det_backward(grad, A, result))


def slogdet_backward(grads, A, sign):
    grad_sign, grad_log = grads
    factor = grad_log
    if A.is_complex() and grad_sign is not None:
        turn = -F.imag(conj(grad_sign) * sign)
        factor = F.complex(F.zeros_like(turn) if grad_log is None else grad_log, turn)
    if factor is None:
        return F.zeros_like(A)
    return _to_matrix(factor) * _mH(F.linalg_inv_ex(A)[0])


derivative("linalg_slogdet", A=lambda grads, A, sign: slogdet_backward(grads, A, sign))


def inv_backward(grad, inverse):
    turned = _mH(inverse)
    return -F.matmul(turned, F.matmul(grad, turned))


derivative(
    "linalg_inv_ex",
    A=lambda grad, inverse: inv_backward(grad, inverse),
    result=lambda A_t, inverse: -F.matmul(inverse, F.matmul(A_t, inverse)),
)


def solve_backward(grad, A, b_shape, x, left, needs):
    vector = len(b_shape) == 1 or (
        A.dim() - 1 == len(b_shape) and tuple(b_shape) == tuple(A.shape[:-1])
    )
    if vector:
        grad, x = F.unsqueeze(grad, -1), F.unsqueeze(x, -1)
    grad_b = F.linalg_solve_ex(_mH(A), grad, left=left)[0]
    grad_a = None
    if needs[0]:
        grad_a = -(F.matmul(grad_b, _mH(x)) if left else F.matmul(_mH(x), grad_b))
    return grad_a, F.squeeze(grad_b, -1) if vector else grad_b


derivative(
    "linalg_solve_ex",
    jointly={
        ("A", "B"): lambda grad, A, B_shape, result0, left, needs: solve_backward(
            grad, A, B_shape, result0, left, needs
        )
    },
)


def solve_triangular_backward(grad, A, x, upper, left, unitriangular, needs):
    grad_b = F.linalg_solve_triangular(
        _mH(A), grad, upper=not upper, left=left, unitriangular=unitriangular
    )
    grad_a = None
    if needs[0]:
        grad_a = -(F.matmul(grad_b, _mH(x)) if left else F.matmul(_mH(x), grad_b))
        if upper:
            grad_a = F.triu(grad_a, int(unitriangular))
        else:
            grad_a = F.tril(grad_a, -int(unitriangular))
    return grad_a, grad_b


derivative(
    "linalg_solve_triangular",
    jointly={
        ("self", "B"): lambda grad, self, result, upper, left, unitriangular, needs: (
            solve_triangular_backward(grad, self, result, upper, left, unitriangular, needs)
        )
    },
)


def pinv_backward(grad, inverse, A):
    """Return the gradient of the pseudo-inverse (Golub and Pereyra, 1973)."""
    turned, grad_turned = _mH(inverse), _mH(grad)
    result = -F.matmul(turned, F.matmul(grad, turned))
    # What A does not reach, and what it does not see.
    left = F.matmul(F.matmul(grad_turned, inverse), turned)
    result = result + left - F.matmul(A, F.matmul(inverse, left))
    right = F.matmul(turned, F.matmul(inverse, grad_turned))
    return result + right - F.matmul(F.matmul(right, inverse), A)


derivative(
    "linalg_pinv.atol_rtol_tensor",
    self=lambda grad, result, self: pinv_backward(grad, result, self),
)


def lstsq_backward(grads, A, b, x, needs):
    grad_x, grad_residuals = grads[0], grads[1]
    vector = A.dim() - 1 == b.dim()
    if vector:
        b, x = F.unsqueeze(b, -1), F.unsqueeze(x, -1)
        grad_x = None if grad_x is None else F.unsqueeze(grad_x, -1)
    grad_a = grad_b = None
    if grad_x is not None:
        inverse = F.linalg_pinv(A)
        grad_b = F.matmul(_mH(inverse), grad_x)
        if needs[0]:
            grad_a = pinv_backward(F.matmul(grad_x, _mH(b)), inverse, A)
    if grad_residuals is not None and grad_residuals.numel():
        gap = (F.matmul(A, x) - b) * (F.unsqueeze(grad_residuals, -2) * 2.0)
        part = F.matmul(gap, _mH(x))
        grad_a = part if grad_a is None else grad_a + part
        grad_b = -gap if grad_b is None else grad_b - gap
    if vector and grad_b is not None:
        grad_b = F.squeeze(grad_b, -1)
    return grad_a, grad_b


derivative(
    "_linalg_lstsq",
    jointly={
        ("self", "b"): lambda grads, self, b, solution, needs: lstsq_backward(
            grads, self, b, solution, needs
        )
    },
)


def matrix_exp_backward(grad, A):
    """Read the gradient off the exponential of a block matrix (Najfeld and Havel, 1995)."""
    n = A.shape[-1]
    if A.numel() == 0:
        return F.zeros_like(A)
    turned = _mH(A)
    top = F.cat([turned, grad], -1)
    bottom = F.cat([F.zeros_like(turned), turned], -1)
    whole = F.linalg_matrix_exp(F.cat([top, bottom], -2))
    return F.narrow(F.narrow(whole, -2, 0, n), -1, n, n)


derivative("linalg_matrix_exp", self=lambda grad, self: matrix_exp_backward(grad, self))
