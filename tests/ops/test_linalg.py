"""Matrix products, factorizations and solvers: NumPy references, edge rules, gradients."""

import math

import numpy as np
import pytest

import minitorch as mt

RNG = np.random.default_rng(0)
KINDS = [np.float64, np.complex128]


def array(*shape, kind=np.float64):
    values = RNG.standard_normal(shape)
    if np.dtype(kind).kind == "c":
        values = values + 1j * RNG.standard_normal(shape)
    return values.astype(kind)


def positive(n, kind=np.float64):
    a = array(n, n, kind=kind)
    return a @ a.conj().T + np.eye(n)


def same(tensor, expected, tolerance=1e-8):
    expected = np.asarray(expected)
    assert tuple(tensor.shape) == expected.shape
    np.testing.assert_allclose(tensor.detach().numpy(), expected, rtol=tolerance, atol=tolerance)


def directional(fn, value, step=1e-6):
    """Assert that the gradient of ``real(sum(w * fn(x)))`` is the slope along random directions."""
    leaf = mt.from_numpy(value.copy()).requires_grad_()
    weights = None

    def scalar(tensor):
        nonlocal weights
        out = fn(tensor)
        if weights is None:
            weights = mt.from_numpy(np.asarray(array(*out.shape, kind=out.detach().numpy().dtype)))
        total = (out * weights).sum()
        return total.real if total.is_complex() else total

    scalar(leaf).backward()
    direction = array(*value.shape, kind=value.dtype)
    up = scalar(mt.from_numpy(value + step * direction)).item()
    down = scalar(mt.from_numpy(value - step * direction)).item()
    slope = np.real(np.sum(leaf.grad.numpy().conj() * direction))
    np.testing.assert_allclose(slope, (up - down) / (2 * step), rtol=2e-5, atol=1e-6)


# ---------------------------------------------------------------- products


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3,)),
        ((5, 2, 3), (3, 4)), ((3,), (5, 3, 4)), ((2, 3), (5, 3, 4)), ((5, 2, 3), (5, 3, 4)),
        ((5, 1, 2, 3), (6, 3, 4)), ((0, 2, 3), (3, 4)), ((2, 0), (0, 4)),
    ],
)  # fmt: skip
def test_matmul_broadcasts_as_numpy(a, b):
    a, b = array(*a), array(*b)
    same(mt.from_numpy(a) @ mt.from_numpy(b), a @ b)


@pytest.mark.parametrize("dtype", [mt.int64, mt.uint8, mt.bfloat16, mt.float16])
def test_products_keep_their_type(dtype):
    x = mt.ones(2, 300, dtype=dtype)
    result = x @ x.t()
    assert result.dtype is dtype
    assert result.float()[0, 0] == (300 % 256 if dtype is mt.uint8 else 300)


def test_product_errors():
    x = mt.ones(3, 4)
    with pytest.raises(RuntimeError, match="3x4 and 5x4"):
        x @ mt.ones(5, 4)
    with pytest.raises(RuntimeError, match="same dtype"):
        x.mm(mt.ones(4, 2, dtype=mt.float64))
    with pytest.raises(RuntimeError, match="matrix"):
        x.mm(mt.ones(4))
    with pytest.raises(RuntimeError, match="at least 1D"):
        mt.matmul(x, mt.tensor(1.0))
    with pytest.raises(RuntimeError, match="1D tensors expected"):
        mt.dot(x, x)
    with pytest.raises(NotImplementedError, match="Bool"):
        mt.mm(mt.ones(2, 2, dtype=mt.bool), mt.ones(2, 2, dtype=mt.bool))


def test_beta_zero_ignores_the_input():
    nan = mt.full((2, 2), math.nan)
    same(mt.addmm(nan, mt.eye(2), mt.eye(2), beta=0, alpha=2), 2 * np.eye(2))
    same(mt.baddbmm(nan, mt.ones(1, 2, 1), mt.ones(1, 1, 2), beta=0), np.ones((1, 2, 2)))
    same(mt.addmv(mt.ones(1), mt.eye(2), mt.ones(2), beta=3), [4, 4])
    same(mt.addr(mt.zeros(2), mt.tensor([1.0, 2.0]), mt.tensor([3.0, 4.0])), [[3, 4], [6, 8]])


@pytest.mark.parametrize("shape", [(3,), (2, 3), (5, 2, 3), (0, 3), (5, 0, 3)])
@pytest.mark.parametrize("bias", [False, True])
def test_linear(shape, bias):
    x, w, b = array(*shape), array(4, 3), array(4)
    leaves = [mt.from_numpy(v.copy()).requires_grad_() for v in (x, w, b)]
    out = mt.nn.functional.linear(*leaves[: 3 if bias else 2])
    same(out, x @ w.T + (b if bias else 0))
    g = array(*out.shape)
    out.backward(mt.from_numpy(g))
    rows, grads = x.reshape(-1, 3), g.reshape(-1, 4)
    same(leaves[0].grad, g @ w)
    same(leaves[1].grad, grads.T @ rows)
    if bias:
        same(leaves[2].grad, grads.sum(0))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]), ("ij,jk", [(2, 3), (3, 4)]), ("ij->ji", [(2, 3)]),
        ("ii->i", [(3, 3)]), ("ii", [(3, 3)]), ("bij,bjk->bik", [(5, 2, 3), (5, 3, 4)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]), ("i,j->ij", [(2,), (3,)]),
        ("ij,ij->", [(2, 3), (2, 3)]), ("ijk,k,ji->j", [(2, 3, 4), (4,), (3, 2)]),
        ("b...,b...->...", [(2, 3), (2, 3)]), ("ab,cb,dc->ad", [(2, 3), (4, 3), (5, 4)]),
        ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("i j , j -> i", [(2, 3), (3,)]),
    ],
)  # fmt: skip
def test_einsum(equation, shapes):
    arrays = [array(*s) for s in shapes]
    same(mt.einsum(equation, *[mt.from_numpy(a) for a in arrays]), np.einsum(equation, *arrays))


def test_einsum_forms_and_errors():
    a, b = mt.ones(2, 3), mt.ones(3, 4)
    same(mt.einsum(a, [0, 1], b, [1, 2], [2, 0]), np.full((4, 2), 3.0))
    same(mt.einsum("ij,jk", [a, b]), np.full((2, 4), 3.0))
    for equation, text in (("ij,k->ik", "number of subscripts"), ("ij,jk->il", "output subscript"),
                           ("ij", "operands"), ("i1,jk", "invalid subscript")):  # fmt: skip
        with pytest.raises(RuntimeError, match=text):
            mt.einsum(equation, a, b)
    with pytest.raises(RuntimeError, match="broadcast"):
        mt.einsum("ij,ik->jk", a, b)


def test_other_products():
    a, b = array(2, 3, 4), array(4, 3, 5)
    same(mt.tensordot(mt.from_numpy(a), mt.from_numpy(b), dims=([1, 2], [1, 0])),
         np.tensordot(a, b, ([1, 2], [1, 0])))  # fmt: skip
    same(mt.kron(mt.from_numpy(a), mt.from_numpy(a[0])), np.kron(a, a[0]))
    chain = [array(2, 5), array(5, 3), array(3, 4), array(4)]
    same(mt.linalg.multi_dot([mt.from_numpy(c) for c in chain]), np.linalg.multi_dot(chain))
    u, v = array(2, 3), array(2, 3)
    same(mt.linalg.cross(mt.from_numpy(u), mt.from_numpy(v)), np.cross(u, v))
    z = array(3, kind=np.complex128)
    same(mt.vdot(mt.from_numpy(z), mt.from_numpy(z)), np.vdot(z, z))


# ---------------------------------------------------------------- factorizations


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (2, 3, 5), (0, 3), (3, 0), (60, 50)])
def test_factors_multiply_to_the_matrix(shape, kind):
    a = array(*shape, kind=kind)
    x = mt.from_numpy(a)
    p, lower, upper = mt.linalg.lu(x)
    same(p @ lower @ upper, a)
    q, r = mt.linalg.qr(x)
    same(q @ r, a)
    u, s, vh = mt.linalg.svd(x, full_matrices=False)
    same(u * s.unsqueeze(-2) @ vh, a)
    assert q.mT.is_contiguous()
    assert u.mT.is_contiguous()


@pytest.mark.parametrize("kind", KINDS)
def test_factors_of_square_matrices(kind):
    a, h = array(4, 4, kind=kind), positive(4, kind)
    lower = mt.linalg.cholesky(mt.from_numpy(h))
    same(lower @ lower.mH, h)
    same(mt.linalg.cholesky(mt.from_numpy(h), upper=True), lower.mH.numpy(force=True))
    values, vectors = mt.linalg.eigh(mt.from_numpy(h))
    same(vectors * values @ vectors.mH, h)
    values, vectors = mt.linalg.eig(mt.from_numpy(a))
    same(mt.from_numpy(a).to(mt.complex128) @ vectors, (vectors * values).numpy(force=True))
    same(mt.linalg.det(mt.from_numpy(a)), np.linalg.det(a))
    sign, logarithm = mt.linalg.slogdet(mt.from_numpy(a))
    same(sign * logarithm.exp(), np.linalg.det(a))
    same(mt.linalg.inv(mt.from_numpy(a)), np.linalg.inv(a))
    same(mt.linalg.matrix_power(mt.from_numpy(a), -2), np.linalg.matrix_power(a, -2))
    assert mt.linalg.inv(mt.from_numpy(a)).mT.is_contiguous()


def test_householder_vectors():
    a = array(4, 3)
    packed, tau = mt.geqrf(mt.from_numpy(a))
    q = mt.linalg.householder_product(packed, tau)
    same(q @ packed[:3].triu(), a)
    same(mt.ormqr(packed, tau, mt.eye(4, dtype=mt.float64))[:, :3], q.numpy())


# ---------------------------------------------------------------- solvers


@pytest.mark.parametrize("shape", [(3,), (3, 2), (2, 3), (2, 3, 4), (5, 1, 3, 2)])
def test_solve(shape):
    a = array(3, 3) if shape != (2, 3) else array(2, 3, 3)
    b = array(*shape)
    x = mt.linalg.solve(mt.from_numpy(a), mt.from_numpy(b))
    if shape == (2, 3):  # a batch of vectors
        same((mt.from_numpy(a) @ x.unsqueeze(-1)).squeeze(-1), b)
    else:
        same(mt.from_numpy(a) @ x, b)


def test_other_solvers():
    a, b = positive(3), array(3, 2)
    x, y = mt.from_numpy(a), mt.from_numpy(b)
    expected = np.linalg.solve(a, b)
    same(mt.linalg.lu_solve(*mt.linalg.lu_factor(x), y), expected)
    same(mt.cholesky_solve(y, mt.linalg.cholesky(x)), expected)
    same(mt.cholesky_inverse(mt.linalg.cholesky(x)), np.linalg.inv(a))
    same(mt.linalg.solve(x, y.mT, left=False), expected.T)
    same(mt.linalg.solve_triangular(x, y, upper=True), np.linalg.solve(np.triu(a), b))
    tall, rhs = array(5, 3), array(5, 2)
    result = mt.linalg.lstsq(mt.from_numpy(tall), mt.from_numpy(rhs), driver="gelsd")
    solution, residuals, rank, values = np.linalg.lstsq(tall, rhs)
    same(result.solution, solution)
    same(result.residuals, residuals)
    assert result.rank == rank
    same(result.singular_values, values)


def test_a_zero_on_the_diagonal_divides():
    x = mt.linalg.solve_triangular(mt.tensor([[0.0, 1.0], [0.0, 2.0]]), mt.ones(2, 1), upper=True)
    assert x[0, 0] == math.inf
    assert x[1, 0] == 0.5


@pytest.mark.parametrize(
    "call", [mt.linalg.inv, mt.linalg.cholesky, lambda x: mt.linalg.solve(x, mt.ones(2, 2))]
)
def test_singular_matrices_are_named(call):
    bad = mt.tensor([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises(mt.linalg.LinAlgError):
        call(bad)
    with pytest.raises(mt.linalg.LinAlgError, match="Batch element 1"):
        call(mt.stack([mt.eye(2), bad]))


def test_info_instead_of_errors():
    batch = mt.stack([mt.eye(2), mt.tensor([[1.0, 2.0], [2.0, 4.0]])])
    assert mt.linalg.inv_ex(batch).info.tolist() == [0, 2]
    assert mt.linalg.cholesky_ex(batch).info.tolist() == [0, 2]
    same(mt.linalg.inv_ex(batch).inverse[0], np.eye(2))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: mt.linalg.inv(mt.ones(2, 3)), "square"),
        (lambda: mt.linalg.det(mt.ones(2)), "at least 2 dimensions"),
        (lambda: mt.linalg.qr(mt.ones(2, 2, dtype=mt.int64)), "floating point"),
        (lambda: mt.linalg.solve(mt.eye(2), mt.ones(3, 1)), "Incompatible shapes"),
        (lambda: mt.linalg.svd(mt.ones(2, 2), "x"), "must be bool|argument"),
        (lambda: mt.linalg.norm(mt.ones(2, 2), "abc"), "not supported"),
    ],
)
def test_errors(call, text):
    with pytest.raises((RuntimeError, TypeError), match=text):
        call()


# ---------------------------------------------------------------- norms and functions


@pytest.mark.parametrize("ord", ["fro", "nuc", 1, -1, 2, -2, math.inf, -math.inf])
def test_matrix_norms_as_numpy(ord):
    a = array(2, 3, 4)
    same(mt.linalg.matrix_norm(mt.from_numpy(a), ord), np.linalg.norm(a, ord, (1, 2)))
    same(mt.linalg.matrix_norm(mt.from_numpy(a), ord, (0, 2), True),
         np.linalg.norm(a, ord, (0, 2), keepdims=True))  # fmt: skip


def test_ranks_and_pseudo_inverses():
    a = array(4, 2) @ array(2, 5)
    same(mt.linalg.matrix_rank(mt.from_numpy(a)), 2)
    same(mt.linalg.pinv(mt.from_numpy(a)), np.linalg.pinv(a))
    same(mt.linalg.cond(mt.tensor([[2.0, 0.0], [0.0, 1.0]])), 2.0)
    same(mt.linalg.vander(mt.tensor([1, 2, 3])), np.vander([1, 2, 3], increasing=True))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 50.0])
def test_matrix_exp(scale):
    a = np.array([[0.0, -scale], [scale, 0.0]])  # a rotation
    same(mt.linalg.matrix_exp(mt.from_numpy(a)),
         [[math.cos(scale), -math.sin(scale)], [math.sin(scale), math.cos(scale)]])  # fmt: skip


# ---------------------------------------------------------------- gradients

SQUARE = {
    "inv": mt.linalg.inv,
    "det": mt.linalg.det,
    "logabsdet": lambda x: mt.linalg.slogdet(x).logabsdet,
    "solve": lambda x: mt.linalg.solve(x, x * x),
    "matrix_exp": mt.linalg.matrix_exp,
    "cholesky": lambda x: mt.linalg.cholesky(x @ x.mH + mt.eye(3, dtype=x.dtype)),
    "eigvalsh": lambda x: mt.linalg.eigvalsh(x @ x.mH),
    "eigh": lambda x: mt.linalg.eigh(x + x.mH).eigenvectors.abs(),
    "eigvals": lambda x: mt.linalg.eigvals(x).abs().sort().values,
    "lu": lambda x: sum(mt.linalg.lu(x)[1:]),
    "triangular": lambda x: mt.linalg.solve_triangular(x, x * x, upper=False, left=False),
    "matmul": lambda x: x @ x.mT @ x,
}
ANY = {
    "qr": lambda x: mt.linalg.qr(x).R.abs(),
    "svdvals": mt.linalg.svdvals,
    "svd": lambda x: sum(t.abs().sum() for t in mt.linalg.svd(x, full_matrices=False)),
    "svd phase": lambda x: (lambda u, s, vh: u[..., :1] @ vh[:1])(*mt.linalg.svd(x)),
    "pinv": mt.linalg.pinv,
    "lstsq": lambda x: mt.linalg.lstsq(x, x * x).solution,
    "nuclear norm": lambda x: mt.linalg.matrix_norm(x, "nuc"),
    "einsum": lambda x: mt.einsum("ij,kj,k->i", x, x, x[:, 0]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", SQUARE)
def test_gradient_of_square(name, kind):
    directional(SQUARE[name], array(3, 3, kind=kind) + 2 * np.eye(3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 3), (4, 3), (3, 4)])
@pytest.mark.parametrize("name", ANY)
def test_gradient_of_any_shape(name, shape, kind):
    directional(ANY[name], array(*shape, kind=kind))


def test_determinant_gradient_of_singular_matrices():
    x = mt.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=mt.float64, requires_grad=True)
    mt.linalg.det(x).backward()
    same(x.grad, [[4, -2], [-2, 1]])


def test_second_derivatives():
    def first(x):
        leaf = x if x.requires_grad else x.detach().requires_grad_()
        y = mt.linalg.slogdet(leaf).logabsdet + mt.linalg.inv(leaf).sum()
        return mt.autograd.grad(y, leaf, create_graph=True)[0]

    directional(first, array(3, 3) + 3 * np.eye(3), 1e-5)


@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("zero_diagonal", [False, True])
def test_ldl_factors_rebuild_and_solve(hermitian, zero_diagonal):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3, 5, 5)) + 1j * rng.standard_normal((3, 5, 5))
    a = a + (a.conj() if hermitian else a).swapaxes(-1, -2)
    if zero_diagonal:  # the first block then has two rows
        a[:, range(5), range(5)] = 0
    factors, pivots = mt.linalg.ldl_factor(mt.from_numpy(a), hermitian=hermitian)
    assert (pivots < 0).any().item() or not zero_diagonal
    b = rng.standard_normal((5, 2)) + 0j
    x = mt.linalg.ldl_solve(factors, pivots, mt.from_numpy(b).expand(3, 5, 2), hermitian=hermitian)
    np.testing.assert_allclose(a @ x.numpy(), np.broadcast_to(b, (3, 5, 2)), atol=1e-10)


def test_ldl_pivots_are_those_of_lapack():
    a = mt.tensor([[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [2.0, 3.0, 0.0]], dtype=mt.float64)
    factors, pivots, info = mt.linalg.ldl_factor_ex(a)
    assert pivots.tolist() == [-3, -3, 3]
    assert info.item() == 0
    np.testing.assert_allclose(factors.numpy(), [[0, 0, 0], [2, 0, 0], [1.5, 0.5, -3]])
    assert mt.linalg.ldl_factor_ex(mt.zeros(2, 2)).info.item() == 1
    with pytest.raises(mt.linalg.LinAlgError, match="is zero"):
        mt.linalg.ldl_factor(mt.zeros(2, 2))
