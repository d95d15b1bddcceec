"""Records of decompositions, determinants, solvers and norms; `linalg_products` has the products."""

from __future__ import annotations

import math

import numpy as np

import minitorch
from minitorch.testing.op_db.linalg_products import PRODUCTS
from minitorch.testing.op_db.record import COMPLEX, FLOATS
from minitorch.testing.op_db.samples import record

DOUBLE_OR_SINGLE = FLOATS + COMPLEX
MATRICES: dict = dict(dtypes=DOUBLE_OR_SINGLE)


def _h(x):
    """Return the conjugate transpose of a tensor."""
    return x.mH


def hermitian(x, *rest, **kwargs):
    """Make a matrix Hermitian inside a function whose gradient is checked: only one triangle is read."""
    return ((x + x.mH) / 2, *rest)


def _triangular(x, upper=False, **kwargs):
    return (x.triu() if upper else x.tril(), upper)


def _triangular_second(b, x, upper=False, **kwargs):
    return (b, x.triu() if upper else x.tril(), upper)


def _hermitian_if_said(x, hermitian=False, **kwargs):
    return ((x + x.mH) / 2 if hermitian else x,)


def _not_square(make):
    return [(RuntimeError, "square", make(2, 3))]


def _not_square_or_matrix(make):
    return [(RuntimeError, "square", make(2, 3)), (RuntimeError, "2", make(3))]


def _square_matrices(make):
    return [
        (make.well_conditioned(3, 3),),
        (make.well_conditioned(2, 2, 2),),
        (make.well_conditioned(1, 1),),
        (make.well_conditioned(2, 3, 3).mT,),
    ]


def _with_empty(samples):
    return lambda make: [*samples(make), (make(0, 0),), (make(2, 0, 0),)]


def _definite(make):
    return [(make.positive_definite(3, 3),), (make.positive_definite(2, 2, 2),), (make.positive_definite(1, 1),)]


def _rectangles(make):
    return [(make(3, 3),), (make(4, 2),), (make(2, 3, layout="columns"),), (make(2, 3, 2),)]


def _systems(make):
    return [
        (make.well_conditioned(3, 3), make(3, 2)),
        (make.well_conditioned(2, 2), make(2)),
        (make.well_conditioned(2, 3, 3), make(2, 3, 1)),
        (make.well_conditioned(2, 2), make(3, 2, 2)),
        (make.well_conditioned(3, 3).mT, make(3, 2, layout="columns")),
    ]


def _solve(a, b, left=True):
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        return np.linalg.solve(a, b[..., None])[..., 0]
    return np.linalg.solve(a, b)


def _np_h(x):
    return np.conj(np.swapaxes(x, -1, -2))


def _cholesky(x, upper=False):
    factor = np.linalg.cholesky(x)
    return _np_h(factor) if upper else factor


def _triangle(make):
    return (make(3, 3) * 0.3 + minitorch.eye(3, dtype=make.dtype) * 2).detach().requires_grad_(make.requires_grad)


def _solve_triangular(a, b, upper, left=True, unitriangular=False):
    a = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        n = a.shape[-1]
        a = a * (1 - np.eye(n)) + np.eye(n)
    if left:
        return np.linalg.solve(a, b)
    return np.swapaxes(np.linalg.solve(np.swapaxes(a, -1, -2), np.swapaxes(b, -1, -2)), -1, -2)


def _matrix_power(x, n):
    return np.linalg.matrix_power(x, n)


def _matrix_exp(x):
    result = term = np.broadcast_to(np.eye(x.shape[-1], dtype=x.dtype), x.shape)
    for k in range(1, 40):
        term = term @ x / k
        result = result + term
    return result


def _matrix_norm(x, ord="fro", dim=(-2, -1), keepdim=False):
    return np.linalg.norm(x, ord, dim, keepdim)


def _norm(x, ord=None, dim=None, keepdim=False):
    dim = tuple(dim) if isinstance(dim, (list, tuple)) else dim
    if ord is None and dim is None:
        return np.linalg.norm(x.ravel()).reshape([1] * x.ndim if keepdim else [])
    if ord is None and isinstance(dim, tuple) and len(dim) > 1:
        return np.sqrt((np.abs(x) ** 2).sum(dim, keepdims=keepdim))
    return np.linalg.norm(x, ord, dim[0] if isinstance(dim, tuple) and len(dim) == 1 else dim, keepdim)


def _lu_rebuilt(result):
    """Return what P, L and U make together: they are unique only for a given pivoting."""
    p, lower, upper = result
    return (p.to(lower.dtype) @ lower @ upper, lower, upper)


def _svd_parts(result):
    """Return the singular values, and the product that does not depend on the phases of the vectors."""
    u, s, vh = result
    k = min(u.shape[-1], vh.shape[-2])
    return (s, u[..., :, :k] @ vh[..., :k, :])


def _old_svd_parts(result):
    u, s, v = result
    return (s, u @ _h(v))


def _eigh_parts(result):
    """Return the eigenvalues, and the sizes of the vectors' elements: phases are free."""
    values, vectors = result
    return (values, vectors.abs())


def _eig_parts(result):
    values, vectors = result
    return (values, vectors.abs())


def _qr_rebuilt(result):
    """Return Q Q^H and R^H R: the signs of the columns are free."""
    q, r = result
    return (q @ _h(q), _h(r) @ r)


def _r_only(result):
    return [part for part in result if part.numel()]


def _by_size(values):
    """Return eigenvalues in one order, for the comparison of values."""
    return values


def _householder(make):
    return [(make(3, 2) * 0.5, make(2, low=0.5, high=1.5)), (make(2, 3, 3) * 0.5, make(2, 2, low=0.5, high=1.5))]


def _compact_lu(make):
    factors, pivots = minitorch.linalg.lu_factor(make.well_conditioned(3, 3, grad=False))
    return factors.detach().requires_grad_(make.requires_grad), pivots


def _determinant_sign_positive(make):
    return [(make.positive_definite(3, 3),), (make.positive_definite(2, 2, 2),)]


DETERMINANTS = [
    record(
        "linalg.det",
        _with_empty(_square_matrices),
        np.linalg.det,
        aliases=("det",),
        operators=("linalg_det", "det"),
        errors=_not_square_or_matrix,
        **MATRICES,
    ),
    record(
        "linalg.slogdet",
        _square_matrices,
        np.linalg.slogdet,
        aliases=("slogdet",),
        operators=("linalg_slogdet", "slogdet"),
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "logdet",
        _determinant_sign_positive,
        lambda x: np.linalg.slogdet(x)[1] + (0j if np.iscomplexobj(x) else 0),
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "linalg.inv",
        _with_empty(_square_matrices),
        np.linalg.inv,
        aliases=("inverse",),
        operators=("linalg_inv", "inverse"),
        errors=lambda make: [*_not_square(make), (RuntimeError, "singular", minitorch.zeros(2, 2))],
        **MATRICES,
    ),
    record(
        "linalg.inv_ex",
        _square_matrices,
        lambda x: (np.linalg.inv(x), np.zeros(x.shape[:-2], np.int32)),
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "linalg.matrix_power",
        lambda make: [
            (make.well_conditioned(3, 3), 3),
            (make.well_conditioned(2, 2, 2), -2),
            (make.well_conditioned(2, 2), 0),
            (make.well_conditioned(2, 2), 1),
            (make.well_conditioned(2, 2).mT, 5),
        ],
        _matrix_power,
        aliases=("matrix_power",),
        operators=("linalg_matrix_power", "matrix_power"),
        errors=lambda make: [(RuntimeError, "square", make(2, 3), 2)],
        **MATRICES,
    ),
    record(
        "matrix_exp",
        lambda make: [(make(2, 2),), (make(2, 3, 3),), (make(2, 2, layout="columns"),)],
        _matrix_exp,
        aliases=("linalg.matrix_exp",),
        operators=("matrix_exp", "linalg_matrix_exp"),
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "linalg.matrix_rank",
        lambda make: [
            (make(3, 3),),
            (minitorch.ones(3, 3, dtype=make.dtype),),
            (make(2, 3, 2),),
            (make.positive_definite(3, 3), {"hermitian": True}),
            (make(3, 3), {"tol": 0.1}),
        ],
        lambda x, tol=None, hermitian=False: np.linalg.matrix_rank(x, tol, hermitian),
        autograd=False,
        **MATRICES,
        errors=lambda make: [(RuntimeError, "2", make(3))],
    ),
    record(
        "linalg.cond",
        lambda make: [
            (make.well_conditioned(3, 3),),
            (make.well_conditioned(2, 2, 2), 2),
            (make.well_conditioned(2, 2), "fro"),
            (make.well_conditioned(3, 3), 1),
            (make.well_conditioned(3, 3), float("inf")),
            (make.well_conditioned(3, 3), -2),
        ],
        np.linalg.cond,
        errors=lambda make: [(RuntimeError, "", make(3))],
        **MATRICES,
    ),
]

DECOMPOSITIONS = [
    record(
        "linalg.cholesky",
        lambda make: [*_definite(make), (make.positive_definite(2, 2), {"upper": True})],
        _cholesky,
        aliases=("cholesky",),
        operators=("linalg_cholesky", "cholesky"),
        prepare=hermitian,
        errors=lambda make: [*_not_square(make), (RuntimeError, "positive", -minitorch.eye(2))],
        **MATRICES,
    ),
    record(
        "linalg.cholesky_ex",
        _definite,
        lambda x: (np.linalg.cholesky(x), np.zeros(x.shape[:-2], np.int32)),
        prepare=hermitian,
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "cholesky_inverse",
        lambda make: [(_triangle(make).tril(),), (_triangle(make).triu(), True)],
        lambda x, upper=False: np.linalg.inv(_np_h(x) @ x if upper else x @ _np_h(x)),
        prepare=_triangular,
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "cholesky_solve",
        lambda make: [(make(3, 2), _triangle(make).tril()), (make(3, 1), _triangle(make).triu(), True)],
        lambda b, x, upper=False: np.linalg.solve(_np_h(x) @ x if upper else x @ _np_h(x), b),
        prepare=_triangular_second,
        errors=lambda make: [(RuntimeError, "", make(3, 2), make(2, 2))],
        **MATRICES,
    ),
    record(
        "linalg.eigh",
        lambda make: [*_definite(make), (make.positive_definite(3, 3), "U")],
        lambda x, uplo="L": (np.linalg.eigh(x)[0], np.abs(np.linalg.eigh(x)[1])),
        prepare=hermitian,
        project=_eigh_parts,
        errors=lambda make: [*_not_square(make), (RuntimeError, "", make(2, 2), "X")],
        **MATRICES,
    ),
    record(
        "linalg.eigvalsh",
        lambda make: [*_definite(make), (make.positive_definite(3, 3), "U")],
        lambda x, uplo="L": np.linalg.eigvalsh(x),
        prepare=hermitian,
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "linalg.eig",
        lambda make: [(make.well_conditioned(3, 3),), (make.well_conditioned(2, 2, 2),)],
        lambda x: (np.linalg.eig(x)[0], np.abs(np.linalg.eig(x)[1])),
        project=_eig_parts,
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "linalg.eigvals",
        lambda make: [(make.well_conditioned(3, 3),), (make.well_conditioned(2, 2, 2),)],
        np.linalg.eigvals,
        errors=_not_square,
        **MATRICES,
    ),
    record(
        "linalg.qr",
        lambda make: [(make(3, 3),), (make(4, 2),), (make(2, 3, 2),), (make(3, 2, layout="columns"), "reduced")],
        lambda x, mode="reduced": _qr_reference(x),
        project=_qr_rebuilt,
        errors=lambda make: [(RuntimeError, "", make(3)), (RuntimeError, "mode", make(2, 2), "x")],
        **MATRICES,
    ),
    record(
        "qr",
        lambda make: [(make(3, 3),), (make(4, 2),), (make(2, 3, 2),)],
        lambda x: _qr_reference(x),
        project=_qr_rebuilt,
        errors=lambda make: [(RuntimeError, "", make(3))],
        **MATRICES,
    ),
    record(
        "linalg.svd",
        lambda make: [(a[0], False) for a in _rectangles(make)],
        lambda x, full: _svd_reference(x),
        project=_svd_parts,
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **MATRICES,
    ),
    record(
        "svd",
        _rectangles,
        lambda x: _svd_reference(x),
        project=_old_svd_parts,
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **MATRICES,
    ),
    record(
        "linalg.svdvals",
        _rectangles,
        lambda x: np.linalg.svd(x, compute_uv=False),
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **MATRICES,
    ),
    record(
        "linalg.lu",
        lambda make: [(make(3, 3),), (make(4, 2),), (make(2, 2, 3),)],
        project=_lu_rebuilt,
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **MATRICES,
    ),
    record(
        "linalg.lu_factor",
        lambda make: [(make(3, 3),), (make(4, 2),), (make(2, 2, 3),)],
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **MATRICES,
    ),
    record(
        "linalg.lu_factor_ex",
        lambda make: [(make(3, 3),), (make(4, 2),), (make(2, 2, 3),)],
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **MATRICES,
    ),
    record(
        "lu_unpack",
        lambda make: [_compact_lu(make), (*_compact_lu(make), {"unpack_pivots": False})],
        errors=lambda make: [(RuntimeError, "int32", make(3, 3), make(3))],
        **MATRICES,
    ),
    record(
        "lu_solve",
        lambda make: [(make(3, 2), *_compact_lu(make))],
        errors=lambda make: [(RuntimeError, "", make(2, 2), *_compact_lu(make))],
        **MATRICES,
    ),
    record(
        "linalg.lu_solve",
        lambda make: [
            (*_compact_lu(make), make(3, 2)),
            (*_compact_lu(make), make(2, 3), {"left": False}),
            (*_compact_lu(make), make(3, 1), {"adjoint": True}),
        ],
        errors=lambda make: [(RuntimeError, "", *_compact_lu(make), make(2, 2))],
        **MATRICES,
    ),
    record(
        "geqrf",
        lambda make: [(make(3, 2),), (make(2, 3, 3),)],
        autograd=False,
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **MATRICES,
    ),
    record(
        "linalg.householder_product",
        _householder,
        aliases=("orgqr",),
        operators=("linalg_householder_product", "orgqr"),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2))],
        **MATRICES,
    ),
    record(
        "ormqr",
        lambda make: [
            (make(3, 2) * 0.5, make(2, low=0.5, high=1.5), make(3, 4)),
            (make(3, 2) * 0.5, make(2, low=0.5, high=1.5), make(4, 3), {"left": False}),
        ],
        errors=lambda make: [(RuntimeError, "", make(3, 2), make(2), make(2, 2))],
        **MATRICES,
    ),
]


def _qr_reference(x):
    q, r = np.linalg.qr(x)
    return q @ _np_h(q), _np_h(r) @ r


def _svd_reference(x):
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return s, u @ vh


SOLVERS = [
    record(
        "linalg.solve",
        _systems,
        _solve,
        errors=lambda make: [
            (RuntimeError, "", make(3, 3), make(2, 2)),
            (RuntimeError, "singular", minitorch.zeros(2, 2), minitorch.ones(2)),
        ],
        **MATRICES,
    ),
    record(
        "linalg.solve_ex",
        _systems,
        lambda a, b: (_solve(a, b), np.zeros(a.shape[:-2], np.int32)),
        errors=lambda make: [(RuntimeError, "", make(3, 3), make(2, 2))],
        **MATRICES,
    ),
    record(
        "linalg.solve_triangular",
        lambda make: [
            (_triangle(make), make(3, 2), {"upper": True}),
            (_triangle(make), make(3, 2), {"upper": False}),
            (_triangle(make), make(2, 3), {"upper": True, "left": False}),
            (_triangle(make), make(3, 1), {"upper": False, "unitriangular": True}),
        ],
        _solve_triangular,
        errors=lambda make: [(RuntimeError, "", make(3, 3), make(2, 2), {"upper": True})],
        **MATRICES,
    ),
    record(
        "triangular_solve",
        lambda make: [(make(3, 2), _triangle(make)), (make(3, 1), _triangle(make), False)],
        lambda b, a, upper=True: (np.linalg.solve(np.triu(a) if upper else np.tril(a), b), a),
        errors=lambda make: [(RuntimeError, "", make(2, 2), make(3, 3))],
        **MATRICES,
    ),
    record(
        "linalg.lstsq",
        lambda make: [(make(4, 2), make(4, 1)), (make(3, 3), make(3, 2)), (make(2, 4, 2), make(2, 4, 1))],
        project=lambda result: result[0],
        reference=lambda a, b: np.linalg.pinv(a) @ b,
        errors=lambda make: [(RuntimeError, "", make(3, 2), make(2, 2))],
        **MATRICES,
    ),
    record(
        "linalg.pinv",
        lambda make: [
            (make(3, 2),),
            (make(2, 3, layout="columns"),),
            (make(2, 3, 3),),
            (make.positive_definite(3, 3), {"hermitian": True}),
        ],
        lambda x, hermitian=False: np.linalg.pinv(x, hermitian=hermitian),
        prepare=_hermitian_if_said,
        errors=lambda make: [(RuntimeError, "2", make(3))],
        aliases=("pinverse",),
        operators=("linalg_pinv", "pinverse"),
        **MATRICES,
    ),
    record(
        "linalg.tensorinv",
        lambda make: [
            (make(4, 2, 2), {"ind": 1}),
            (make(2, 2, 4) + minitorch.eye(4, dtype=make.dtype).reshape(2, 2, 4) * 3,),
        ],
        lambda x, ind=2: np.linalg.tensorinv(x, ind),
        errors=lambda make: [(RuntimeError, "", make(2, 3, 4))],
        **MATRICES,
    ),
    record(
        "linalg.tensorsolve",
        lambda make: [(make(2, 2, 4) + minitorch.eye(4, dtype=make.dtype).reshape(2, 2, 4) * 3, make(2, 2))],
        np.linalg.tensorsolve,
        errors=lambda make: [(RuntimeError, "", make(2, 3, 4), make(2, 3))],
        **MATRICES,
    ),
]

NORMS = [
    record(
        "linalg.matrix_norm",
        lambda make: [
            (make(3, 3),),
            (make(2, 3), 1),
            (make(2, 3, 2), float("inf")),
            (make(3, 2, layout="columns"), -1),
            (make(3, 2), 2),
            (make(2, 3, 2), "nuc"),
            (make(3, 3), -2),
            (make(2, 3, 2), "fro", (0, 1), True),
        ],
        _matrix_norm,
        errors=lambda make: [(RuntimeError, "", make(3)), (RuntimeError, "", make(2, 2), 3)],
        **MATRICES,
    ),
    record(
        "linalg.norm",
        lambda make: [
            (make(2, 3),),
            (make(4), 3),
            (make(2, 3), 1, 1),
            (make(2, 3, layout="columns"), "fro"),
            (make(3, 2), "nuc"),
            (make(2, 3, 2), None, [0, 1]),
            (make(2, 3), {"dim": 1, "keepdim": True}),
        ],
        _norm,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 2, 2)],
        **MATRICES,
    ),
    record(
        "norm",
        lambda make: [
            (make(2, 3),),
            (make(2, 3), 1, 1),
            (make(3, 2, layout="columns"), "nuc"),
            (make(2, 3), "fro", 0, True),
            (make(4), float("inf")),
        ],
        lambda x, p="fro", dim=None, keepdim=False: _old_norm(x, p, dim, keepdim),
        operators=(),
        dtypes=FLOATS,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 2, 2)],
    ),
    record(
        "frobenius_norm",
        lambda make: [(make(2, 3), [1]), (make(2, 3), [0, 1], True)],
        lambda x, dim, keepdim=False: np.sqrt((np.abs(x) ** 2).sum(tuple(dim), keepdims=keepdim)),
        dtypes=FLOATS,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), [2])],
    ),
    record(
        "nuclear_norm",
        lambda make: [(make(2, 3),), (make(2, 3, 2), [0, 2])],
        lambda x, dim=(-2, -1): np.linalg.norm(x, "nuc", tuple(dim)),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "", make(3))],
    ),
]


def _old_norm(x, p, dim, keepdim):
    if p == "nuc":
        return np.linalg.norm(x, "nuc")
    axes = tuple(range(x.ndim)) if dim is None else dim
    size = np.abs(x)
    if p == math.inf:
        return size.max(axes, keepdims=keepdim)
    p = 2 if p == "fro" else p
    return (size**p).sum(axes, keepdims=keepdim) ** (1 / p)


LOW_RANK = [
    record(
        "svd_lowrank",
        lambda make: [(make(4, 3), 3), (make(3, 5), {"q": 3, "niter": 3})],
        operators=(),
        random=True,
        project=_old_svd_parts,
        dtypes=FLOATS,
        no_gradgrad="the random projection has no smooth second derivative here",
        no_forward="uses decompositions whose gauge depends on the projection",
    ),
    record(
        "pca_lowrank",
        lambda make: [(make(4, 3), 3)],
        operators=(),
        random=True,
        project=_old_svd_parts,
        dtypes=FLOATS,
        no_gradgrad="centering makes a singular value zero, whose vectors are free",
        no_forward="centering makes a singular value zero, whose vectors are free",
    ),
]

RECORDS = [*PRODUCTS, *DETERMINANTS, *DECOMPOSITIONS, *SOLVERS, *NORMS, *LOW_RANK]
