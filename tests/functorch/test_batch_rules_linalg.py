"""Batch rules of products, factorizations, solvers and Fourier transforms."""

from __future__ import annotations

import pytest
from loop_oracle import check, check_all, random, stacked

import minitorch as mt
from minitorch.func import vmap

PRODUCTS = {
    "mm": (mt.mm, (2, 3), (3, 4)),
    "mv": (mt.mv, (2, 3), (3,)),
    "dot": (mt.dot, (3,), (3,)),
    "vdot": (mt.vdot, (3,), (3,)),
    "bmm": (mt.bmm, (5, 2, 3), (5, 3, 4)),
    "outer": (mt.outer, (2,), (3,)),
    "matmul": (mt.matmul, (5, 2, 3), (3, 4)),
    "matmul vector": (mt.matmul, (3,), (5, 3, 4)),
    "einsum": (lambda a, b: mt.einsum("ij,kj->ki", a, b), (2, 3), (4, 3)),
    "tensordot": (lambda a, b: mt.tensordot(a, b, 2), (2, 3, 4), (3, 4, 5)),
    "kron": (mt.kron, (2, 3), (3, 2)),
    "inner": (mt.inner, (2, 3), (4, 3)),
    "linear": (mt.nn.functional.linear, (2, 5, 3), (4, 3)),
    "linear vector": (mt.nn.functional.linear, (3,), (4, 3)),
    "cross": (lambda a, b: mt.linalg.cross(a, b, dim=0), (3, 2), (3, 2)),
}
SUMS = {
    "addmm": (mt.addmm, (4,), (2, 3), (3, 4)),
    "addmm row": (mt.addmm, (1, 4), (2, 3), (3, 4)),
    "addmm column": (mt.addmm, (2, 1), (2, 3), (3, 4)),
    "addmv": (mt.addmv, (2,), (2, 3), (3,)),
    "addmv number": (mt.addmv, (), (2, 3), (3,)),
    "addbmm": (mt.addbmm, (2, 4), (5, 2, 3), (5, 3, 4)),
    "baddbmm": (mt.baddbmm, (2, 4), (5, 2, 3), (5, 3, 4)),
    "addr": (mt.addr, (2, 3), (2,), (3,)),
    "addr vector": (mt.addr, (3,), (2,), (3,)),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    function, *shapes = PRODUCTS[name]
    check_all(function, shapes)


def test_a_product_with_the_mapped_dimension_anywhere():
    for a_dim in (None, 0, 1, 2):
        for b_dim in (None, 0, 1, 2):
            if (a_dim, b_dim) != (None, None):
                check(mt.mm, stacked([(2, 3), (3, 4)], (a_dim, b_dim), 5), (a_dim, b_dim), 5)
    for b_dim in (0, 1, 2, 3):
        check(mt.bmm, stacked([(5, 2, 3), (5, 3, 4)], (None, b_dim), 2), (None, b_dim), 2)


@pytest.mark.parametrize("name", SUMS)
def test_products_that_are_added(name):
    function, *shapes = SUMS[name]
    check_all(lambda *t: function(*t, beta=0.5, alpha=2), shapes)


def test_what_is_multiplied_by_zero_is_not_looked_at():
    self = mt.full([3, 2, 4], mt.nan)
    for name, (a, b) in {"addmm": ((2, 3), (3, 4)), "addbmm": ((5, 2, 3), (5, 3, 4)), "addr": ((2,), (4,))}.items():
        a, b = random(*a, dtype=mt.float32), random(*b, dtype=mt.float32)
        found = vmap(lambda s, name=name, a=a, b=b: getattr(mt, name)(s, a, b, beta=0))(self)
        assert found.shape == (3, 2, 4)
        assert found.isfinite().all()


@pytest.mark.parametrize("dtype", [mt.int64, mt.complex128, mt.float16])
def test_products_of_other_dtypes(dtype):
    def make(*shape):
        return (mt.randn(*shape) * 3).to(dtype)

    for name in ("mm", "mv", "dot", "vdot", "linear"):
        function, *shapes = PRODUCTS[name]
        for dims in ((0, 0), (0, None), (None, 0)):
            check(function, stacked(shapes, dims, 3, make), dims, tolerance=1e-2 if dtype is mt.float16 else 1e-9)


def test_addr_promotes_as_one_example_does():
    dims = (0, None, 0)
    for dtypes in ((mt.float32, mt.int64, mt.int64), (mt.int32, mt.float64, mt.int32), (mt.bool, mt.bool, mt.bool)):
        tensors = [
            (mt.randn(*shape) * 3).to(dtype)
            for shape, dtype in zip(((3, 2, 4), (2,), (3, 4)), dtypes, strict=True)
        ]  # fmt: skip
        check(mt.addr, tensors, dims)


def test_a_linear_map_with_a_bias():
    linear = mt.nn.functional.linear
    check_all(linear, [(2, 3), (4, 3), (4,)])
    check_all(linear, [(3,), (4, 3), (4,)])


def test_empty_products():
    for function, *shapes in PRODUCTS.values():
        check(function, stacked(shapes, (0, 0), 1), (0, 0), count=1)
    assert vmap(mt.mm)(random(0, 2, 3), random(0, 3, 4)).shape == (0, 2, 4)
    assert vmap(mt.mm, in_dims=(0, None))(random(3, 2, 0), random(0, 4)).abs().sum() == 0
    assert vmap(mt.linalg.inv)(random(0, 2, 2)).shape == (0, 2, 2)


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (mt.mm, [(3, 2), (3, 2)]),
        (mt.mm, [(3, 2, 3), (3, 4, 5)]),
        (mt.mv, [(3, 2, 3), (3, 3, 1)]),
        (mt.dot, [(3, 2), (3, 3)]),
        (mt.bmm, [(3, 2, 2), (3, 2, 2)]),
        (mt.linalg.inv, [(3, 3)]),
        (mt.linalg.det, [(3, 2, 3)]),
        (mt.linalg.solve, [(3, 2), (3, 2)]),
        (mt.linalg.solve_triangular, [(3, 2, 2), (3, 2)]),
        (mt.fft.fft, [(3,)]),
    ],
)
def test_what_one_example_is_refused_for(function, shapes):
    options = {"upper": True} if function is mt.linalg.solve_triangular else {}
    tensors = [random(*shape) for shape in shapes]
    with pytest.raises(Exception) as one:
        function(*[t[0] for t in tensors], **options)
    with pytest.raises(one.type) as mapped:
        vmap(lambda *t: function(*t, **options))(*tensors)
    assert str(mapped.value) == str(one.value)


def symmetric(a):
    return a @ a.mT + 3 * mt.eye(a.shape[-1], dtype=a.dtype)


MATRICES = {
    "inv": lambda a: mt.linalg.inv(symmetric(a)),
    "det": mt.linalg.det,
    "slogdet": lambda a: mt.linalg.slogdet(a)[1],
    "logdet": lambda a: mt.logdet(symmetric(a)),
    "cholesky": lambda a: mt.linalg.cholesky(symmetric(a)),
    "cholesky_inverse": lambda a: mt.cholesky_inverse(mt.linalg.cholesky(symmetric(a))),
    "qr": lambda a: mt.linalg.qr(symmetric(a)),
    "eigvalsh": lambda a: mt.linalg.eigvalsh(symmetric(a)),
    "eigh": lambda a: mt.linalg.eigh(symmetric(a))[1].abs(),
    "svdvals": mt.linalg.svdvals,
    "svd": lambda a: mt.linalg.svd(a)[0].abs(),
    "lu_factor": lambda a: mt.linalg.lu_factor(symmetric(a))[0],
    "lu": lambda a: mt.linalg.lu(a)[1:],
    "matrix_exp": mt.linalg.matrix_exp,
    "matrix_power": lambda a: mt.linalg.matrix_power(a, 3),
    "pinv": mt.linalg.pinv,
    "nuclear": lambda a: mt.linalg.matrix_norm(a, "nuc"),
    "spectral": lambda a: mt.linalg.matrix_norm(a, 2),
    "fft": lambda a: mt.view_as_real(mt.fft.fft(a, dim=0)),
    "rfft2": lambda a: mt.view_as_real(mt.fft.rfft2(a)),
    "irfft": lambda a: mt.fft.irfft(mt.complex(a, a), n=5),
    "hfft": lambda a: mt.fft.hfft(a),
    "fftshift": lambda a: mt.fft.fftshift(a, dim=-1),
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name):
    check_all(MATRICES[name], [(3, 3)])
    check_all(MATRICES[name], [(2, 3, 3)], backward=False)


def test_matrices_without_gradients():
    check_all(lambda a: mt.linalg.matrix_rank(a), [(3, 2)], backward=False)
    check_all(lambda a: mt.linalg.qr(a, mode="r")[1], [(3, 2)], backward=False)
    check_all(lambda a: mt.geqrf(a), [(3, 2)], backward=False)
    check_all(lambda a: mt.linalg.eigvals(a).abs().sum(), [(3, 3)], backward=False)
    check_all(lambda a: mt.linalg.ldl_factor(symmetric(a))[0], [(3, 3)], backward=False)


SOLVERS = {
    "solve": lambda a, b: mt.linalg.solve(symmetric(a), b),
    "solve from the right": lambda a, b: mt.linalg.solve(symmetric(a), b.mT, left=False),
    "triangular": lambda a, b: mt.linalg.solve_triangular(symmetric(a), b, upper=True),
    "cholesky": lambda a, b: mt.cholesky_solve(b, mt.linalg.cholesky(symmetric(a))),
    "lu": lambda a, b: mt.linalg.lu_solve(*mt.linalg.lu_factor(symmetric(a)), b),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers(name):
    check_all(SOLVERS[name], [(3, 3), (3, 2)])
    check_all(SOLVERS[name], [(3, 3), (2, 3, 2)], backward=False)
    check_all(SOLVERS[name], [(4, 3, 3), (3, 2)], backward=False)
    check_all(SOLVERS[name], [(3, 3), (3, 3)], backward=False)  # the batch is of 3 too


def test_vectors_to_solve_for():
    check_all(SOLVERS["solve"], [(3, 3), (3,)])
    check_all(SOLVERS["solve"], [(2, 3, 3), (2, 3)], backward=False)
    check_all(SOLVERS["solve"], [(3, 3), (3, 3)], backward=False)


def test_other_solvers():
    check_all(lambda a, b: mt.linalg.lstsq(a, b).solution, [(4, 3), (4, 2)], backward=False)
    check_all(lambda a, b: mt.linalg.lstsq(a, b, driver="gelsd")[1:], [(4, 3), (4, 2)], backward=False)
    check_all(
        lambda a, b: mt.linalg.ldl_solve(*mt.linalg.ldl_factor(symmetric(a)), b), [(3, 3), (3, 2)], backward=False
    )
    check_all(lambda a, t: mt.linalg.householder_product(a, t), [(4, 3), (3,)], backward=False)
    check_all(lambda a, t, b: mt.ormqr(a, t, b), [(4, 3), (3,), (4, 2)], backward=False)


def test_one_singular_example_is_an_error():
    a = mt.stack([mt.eye(2), mt.zeros(2, 2), mt.eye(2)])
    with pytest.raises(mt.linalg.LinAlgError, match="element 1.*singular"):
        vmap(mt.linalg.inv)(a)
    with pytest.raises(mt.linalg.LinAlgError, match="positive-definite"):
        vmap(vmap(mt.linalg.cholesky))(a[None] - 0.5)
    assert [bool(i) for i in vmap(lambda a: mt.linalg.inv_ex(a)[1])(a)] == [False, True, False]


def test_windows_of_each_example():
    def back(x, window):
        return mt.istft(mt.stft(x, 8, window=window, return_complex=True), 8, window=window)

    check(back, [random(3, 24), random(3, 8).abs() + 0.5], (0, 0))
    with pytest.raises(RuntimeError, match="overlap"):
        vmap(back)(random(2, 24), mt.zeros(2, 8, dtype=mt.float64))


def test_products_write_into_batched_results_only_by_place():
    x, y = random(3, 2, 2), random(3, 2, 2)
    expected = mt.baddbmm(x, y, y)
    vmap(lambda x, y: x.addmm_(y, y))(x, y)
    assert mt.allclose(x, expected)
    with pytest.raises(RuntimeError, match="vmap"):
        vmap(lambda y: mt.zeros(2, 2, dtype=mt.float64).addmm_(y, y))(y)
    with pytest.raises(RuntimeError, match="out"):
        vmap(lambda y: mt.mm(y, y, out=mt.zeros(2, 2, dtype=mt.float64)))(y)
