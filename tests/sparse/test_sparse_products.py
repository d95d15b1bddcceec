"""Products with sparse factors in every layout: against dense ones, their derivatives, and PyTorch's answers."""

from __future__ import annotations

import numpy as np
import pytest
from sparse_layouts import LAYOUTS, dense_of, full, in_layout, matrix, pairs

import minitorch as mt
from minitorch._subclasses import DynamicOutputShapeException, FakeTensor, FakeTensorMode
from minitorch.ops import functions as F
from minitorch.sparse.functions import with_values
from minitorch.testing import assert_close

check_sparse = mt.sparse.as_sparse_gradcheck(mt.autograd.gradcheck)
check_sparse_twice = mt.sparse.as_sparse_gradcheck(mt.autograd.gradgradcheck)

A, B = matrix(4, 6), matrix(6, 6, seed=1)  # multiples of the block size
RIGHT, LEFT = full(6, 3), full(5, 4)
VECTOR, ROW = full(6), full(4)

# name -> (function of the sparse matrix and dense ones, the dense ones)
PRODUCTS = {
    "mm": (mt.mm, [RIGHT]),
    "rmm": (lambda s, d: mt.mm(d, s), [LEFT]),
    "matmul": (lambda s, d: s @ d, [RIGHT]),
    "vector @": (lambda s, d: d @ s, [ROW]),
    "mv": (mt.mv, [VECTOR]),
    "addmm": (lambda s, d, c: mt.addmm(c, s, d, beta=2, alpha=-3), [RIGHT, full(4, 3, seed=2)]),
    "addmm broadcast": (lambda s, d, c: mt.addmm(c, s, d), [RIGHT, full(3)]),
    "raddmm": (lambda s, d, c: mt.addmm(c, d, s, beta=0.5), [LEFT, full(5, 6)]),
    "addmv": (lambda s, d, c: mt.addmv(c, s, d, beta=2, alpha=-3), [VECTOR, full(4, seed=2)]),
    "linear weight": (lambda s, d, c: mt.nn.functional.linear(d, s, c), [full(2, 5, 6), full(4)]),
    "linear input": (lambda s, d, c: mt.nn.functional.linear(s, d, c), [full(3, 6), full(3)]),
    "sparse.mm": (mt.sparse.mm, [RIGHT]),
    "sparse.rmm": (lambda s, d: mt.sparse.mm(d, s), [LEFT]),
    "sparse.addmm": (lambda s, d, c: mt.sparse.addmm(c, s, d, beta=2, alpha=-3), [RIGHT, full(4, 3, seed=2)]),
    "mean": (lambda s, d: mt.sparse.mm(s, d, "mean"), [RIGHT]),
    "amax": (lambda s, d: mt.sparse.mm(s, d, "amax"), [RIGHT]),
    "amin": (lambda s, d: mt.sparse.mm(s, d, "amin"), [RIGHT]),
}
OF_ENTRIES = ("mean", "amax", "amin")  # not functions of the dense matrix
# Whose gradient has the entries of the sparse argument.
MASKED = ("sparse.mm", "sparse.rmm", "sparse.addmm", *OF_ENTRIES)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [n for n in PRODUCTS if n not in OF_ENTRIES])
def test_values(name, layout):
    function, others = PRODUCTS[name]
    for dtype in (mt.float64, mt.float32, mt.complex64):
        operands = [t.to(dtype) for t in (A, *others)]
        found = function(in_layout(operands[0], layout), *operands[1:])
        assert found.layout is mt.strided
        assert found.dtype is dtype
        wanted = function(*operands) if not name.startswith("sparse.") else _dense_function(name)(*operands)
        assert_close(found, wanted)


def _dense_function(name):
    return PRODUCTS[name.removeprefix("sparse.")][0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients(name, layout):
    function, others = PRODUCTS[name]
    pattern = in_layout(A, layout)
    sparse = pattern.detach().requires_grad_()
    others = [t.detach().clone().requires_grad_() for t in others]
    result = function(sparse, *others)
    weights = full(*result.shape, seed=7)
    result.backward(weights)
    if name not in OF_ENTRIES:
        dense = A.clone().requires_grad_()
        copies = [t.detach().clone().requires_grad_() for t in others]
        reference = _dense_function(name) if name.startswith("sparse.") else function
        reference(dense, *copies).backward(weights)
        wanted = dense.grad
        if name in MASKED:
            assert sparse.grad.layout is sparse.layout
            wanted = mt.where(in_layout_mask(pattern), wanted, 0)
        assert_close(dense_of(sparse.grad), wanted)
        for ours, theirs in zip(others, copies, strict=True):
            assert_close(ours.grad, theirs.grad)
    else:
        assert sparse.grad.layout is sparse.layout


def in_layout_mask(pattern):
    """Return where a sparse tensor has entries."""
    pattern = pattern.coalesce() if pattern.layout is mt.sparse_coo else pattern
    ones = mt.ones_like(pattern.values())
    return with_values(pattern, ones).to_dense() != 0


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_gradcheck(name, layout):
    function, others = PRODUCTS[name]
    if layout == "bsr" and name in ("amax", "amin"):
        pytest.skip("the zeros of blocks are attained together: no derivative")
    inputs = [in_layout(A, layout).requires_grad_(), *[t.clone().requires_grad_() for t in others]]
    assert check_sparse(function, inputs)
    if layout in ("coo", "csr") and name in ("mm", "rmm", "sparse.mm", "sparse.addmm", "mean", "amax", "linear weight"):
        assert check_sparse_twice(function, inputs)


@pytest.mark.parametrize("layout", ["coo", "csr"])
@pytest.mark.parametrize("name", MASKED)
def test_gradcheck_of_tensors(name, layout):
    function, others = PRODUCTS[name]
    sparse = in_layout(A, layout).requires_grad_()
    assert mt.autograd.gradcheck(lambda s: function(s, *others), [sparse], masked=True)


@pytest.mark.parametrize(("left", "right"), pairs())
def test_two_matrices(left, right):
    a, b = in_layout(A, left), in_layout(B, right)
    for function in (mt.mm, mt.sparse.mm):
        found = function(a, b)
        assert_close(dense_of(found), A @ B)
        if left != "dense" and right != "dense":
            assert found.layout is not mt.strided
            coo = left in ("coo", "uncoalesced")
            assert (found.layout is mt.sparse_coo) == coo
            assert not coo or found.is_coalesced()
    assert_close(dense_of(mt.addmm(full(4, 6), a, b, beta=2)), mt.addmm(full(4, 6), A, B, beta=2))


@pytest.mark.parametrize(("left", "right"), [("coo", "coo"), ("csr", "csr"), ("csc", "csc"), ("csr", "csc"), ("coo", "csr")])
def test_gradients_of_two_sparse_matrices(left, right):
    a, b = in_layout(A, left).requires_grad_(), in_layout(B, right).requires_grad_()
    assert check_sparse(mt.sparse.mm, [a, b])
    assert check_sparse(mt.mm, [a, b])
    x, y = a.detach().requires_grad_(), b.detach().requires_grad_()
    mt.sparse.mm(x, y).to_dense().sum().backward()
    assert x.grad.layout is x.layout
    assert y.grad.layout is y.layout
    assert x.grad._nnz() <= x._nnz()


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_sparse_sum_with_a_sparse_product(layout):
    c = matrix(4, 6, seed=5)
    found = mt.addmm(in_layout(c, layout), in_layout(A, layout), in_layout(B, layout), beta=2, alpha=3)
    assert found.layout is in_layout(c, layout).layout
    assert_close(found.to_dense(), mt.addmm(c, A, B, beta=2, alpha=3))
    wrong = in_layout(c * float("nan"), layout)
    assert_close(mt.addmm(wrong, in_layout(A, layout), in_layout(B, layout), beta=0).to_dense(), A @ B)


BATCH = mt.stack([matrix(4, 6, seed=s) for s in (3, 3)]) * mt.tensor([1.0, -2.0], dtype=mt.float64).reshape(2, 1, 1)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_batches(layout):
    right, left = full(2, 6, 3), full(2, 5, 4)
    sparse = in_layout(BATCH, layout)
    assert_close(mt.bmm(sparse, right), mt.bmm(BATCH, right))
    assert_close(mt.bmm(left, sparse), mt.bmm(left, BATCH))
    assert_close(mt.baddbmm(full(2, 4, 3), sparse, right, beta=2), mt.baddbmm(full(2, 4, 3), BATCH, right, beta=2))
    assert_close(mt.sparse.sampled_addmm(sparse, full(2, 4, 2), full(2, 2, 6), alpha=2).to_dense(), mt.where(
        in_layout_mask(sparse), BATCH + 2 * full(2, 4, 2) @ full(2, 2, 6), 0
    ))  # fmt: skip
    other = matrix(2, 6, 5, seed=4).to_sparse()
    product = mt.bmm(sparse, other)
    assert product.layout is mt.sparse_coo
    assert product.is_coalesced()
    assert_close(product.to_dense(), mt.bmm(BATCH, other.to_dense()))
    if layout in ("coo", "csr"):
        assert check_sparse(mt.bmm, [sparse.requires_grad_(), right.requires_grad_()])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_matmul_of_batches(layout):
    one, batch = in_layout(A, layout), in_layout(BATCH, layout)
    right, left = full(2, 6, 3), full(2, 5, 4)
    for sparse, dense, other in ((batch, BATCH, right), (batch, BATCH, right[0]), (batch, BATCH, VECTOR), (one, A, right),
                                 (one, A, full(2, 3, 6, 2))):  # fmt: skip
        assert_close(sparse @ other, dense @ other)
    for other, sparse, dense in ((left, batch, BATCH), (left[0], batch, BATCH), (ROW, batch, BATCH), (left, one, A)):
        assert_close(other @ sparse, other @ dense)
    assert_close((batch @ batch.transpose(1, 2)).to_dense(), BATCH @ BATCH.mT)
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        batch @ full(2, 5, 3)
    with pytest.raises(RuntimeError, match="three dimensions"):
        batch @ full(4, 2, 6, 3)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_forward_mode(layout):
    sparse = in_layout(A, layout)
    for function in (mt.mm, mt.sparse.mm, lambda s, d: mt.addmm(full(3), s, d)):
        with mt.autograd.forward_ad.dual_level():
            s = mt.autograd.forward_ad.make_dual(sparse, in_layout(2 * A, layout))
            d = mt.autograd.forward_ad.make_dual(RIGHT, RIGHT * 3)
            tangent = mt.autograd.forward_ad.unpack_dual(function(s, d)).tangent
        assert_close(tangent, 5 * A @ RIGHT)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sampled_addmm(layout):
    pattern = in_layout(A, layout)
    left, right = full(4, 2), full(2, 6)
    found = mt.sparse.sampled_addmm(pattern, left, right, beta=3, alpha=-2)
    assert found.layout is pattern.layout
    mask = in_layout_mask(pattern)
    assert_close(found.to_dense(), mt.where(mask, 3 * A - 2 * left @ right, 0))
    out = mt.sparse.sampled_addmm(pattern, left, right)
    assert mt.sparse.sampled_addmm(pattern, left, right, beta=0, out=out) is out
    assert_close(out.to_dense(), mt.where(mask, left @ right, 0))
    inputs = [pattern.requires_grad_(), left.requires_grad_(), right.requires_grad_()]
    assert check_sparse(mt.sparse.sampled_addmm, inputs)
    if layout in ("coo", "csr"):
        assert check_sparse_twice(lambda *a: mt.sparse.sampled_addmm(*a, beta=2.0), inputs)


@pytest.mark.parametrize("layout", ["coo", "uncoalesced"])
def test_products_that_stay_sparse(layout):
    s = in_layout(A, layout)
    product = mt.hspmm(s, RIGHT)
    assert (product.sparse_dim(), product.dense_dim()) == (1, 1)
    assert_close(product.to_dense(), A @ RIGHT)
    assert_close(mt.smm(s, RIGHT).to_dense(), A @ RIGHT)
    own = matrix(4, 3, seed=6)
    assert_close(mt.sspaddmm(own.to_sparse(), s, RIGHT, beta=2, alpha=3).to_dense(), 2 * own + 3 * (A @ RIGHT))
    for function in (mt.hspmm, mt.smm):
        assert check_sparse(function, [A.to_sparse().requires_grad_(), RIGHT.clone().requires_grad_()])


def test_vectors():
    a, b = matrix(9, seed=1), matrix(9, seed=2)
    c = a.to(mt.complex64) * (1 + 2j)
    for x, y in ((a.to_sparse(), b), (a, b.to_sparse()), (a.to_sparse(), b.to_sparse())):
        assert_close(mt.dot(x, y), mt.dot(a, b))
        assert_close(x @ y, a @ b)
    d = b.to(mt.complex64)
    assert_close(mt.vdot(c.to_sparse(), d.to_sparse()), mt.vdot(c, d))
    assert_close(mt.vdot(c.to_sparse(), d), mt.vdot(c, d))
    assert_close(mt.mv(full(4, 9), a.to_sparse()), mt.mv(full(4, 9), a))
    assert_close(mt.dot(a.to_sparse() * 0, b.to_sparse()), mt.zeros((), dtype=a.dtype))


def test_rows_without_entries_and_nothing_at_all():
    for n, m, k in ((0, 3, 2), (3, 0, 2), (3, 2, 0), (4, 5, 2)):
        empty = mt.zeros(n, m)
        for layout in ("coo", "csr", "csc"):
            assert_close(in_layout(empty, layout) @ mt.ones(m, k), mt.zeros(n, k))
            assert_close(mt.ones(k, n) @ in_layout(empty, layout), mt.zeros(k, m))
            assert dense_of(in_layout(empty, layout) @ in_layout(mt.zeros(m, k), layout)).shape == (n, k)


@pytest.mark.parametrize("dtype", [mt.int64, mt.int32, mt.int8, mt.float16, mt.bfloat16])
@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_other_types(layout, dtype):
    a, b = (A * 2).round().to(dtype), (RIGHT * 2).round().to(dtype)
    assert_close(in_layout(a, layout) @ b, (a.double() @ b.double()).to(dtype))
    other = (B * 2).round().to(dtype)
    found = in_layout(a, layout) @ in_layout(other, layout)
    assert found.dtype is dtype
    assert_close(found.to_dense(), (a.double() @ other.double()).to(dtype))


def test_errors_say_what_to_do():
    csr, coo = A.to_sparse_csr(), A.to_sparse()
    cases = [
        (lambda: mt.mm(csr, full(4, 3)), RuntimeError, "shapes cannot be multiplied"),
        (lambda: mt.mm(coo, RIGHT.float()), RuntimeError, "same dtype"),
        (lambda: mt.mv(csr, full(4)), RuntimeError, "mv"),
        (lambda: mt.mm(csr.to(mt.bool), RIGHT.to(mt.bool)), NotImplementedError, "Bool"),
        (lambda: mt.mm(A.to_sparse(1), RIGHT), RuntimeError, "scalar values expected"),
        (lambda: mt.addmm(coo, coo, full(6, 6)), NotImplementedError, "must be dense"),
        (lambda: mt.hspmm(csr, RIGHT), RuntimeError, "to_sparse"),
        (lambda: mt.sspaddmm(coo, csr, full(6, 6)), RuntimeError, "to_sparse"),
        (lambda: mt.sparse.mm(csr, RIGHT, "median"), RuntimeError, "must be one of"),
        (lambda: mt.sparse.sampled_addmm(csr, full(4, 2), full(3, 6)), RuntimeError, "shapes cannot be multiplied"),
        (lambda: mt.softmax(csr, 1), NotImplementedError, "minitorch.sparse.softmax"),
        (lambda: mt.mv(csr, VECTOR.to_sparse()), NotImplementedError, r"mm\(\)"),
    ]
    for call, kind, text in cases:
        with pytest.raises(kind, match=text):
            call()


def test_indices_out_of_bounds_are_found_in_products():
    indices, offsets = mt.tensor([0, 9]), mt.tensor([0, 1, 2])
    wrong = F._sparse_compressed_tensor_unsafe(offsets, indices, mt.ones(2), [2, 3], layout=mt.sparse_csr)
    with pytest.raises(IndexError, match="out of bounds"):
        wrong @ mt.ones(3, 2)
    with pytest.raises(IndexError, match="out of bounds"):
        mt.ones(2, 2) @ wrong


@pytest.mark.parametrize("layout", LAYOUTS)
def test_systems_of_equations(layout):
    pytest.importorskip("scipy")
    a = matrix(6, 6, seed=3) * 0.2 + mt.eye(6, dtype=mt.float64)
    b = full(6, 2)
    sparse = in_layout(a, layout)
    assert_close(a @ mt.sparse.spsolve(sparse, b), b)
    assert_close(a @ mt.sparse.spsolve(sparse, b[:, 0]), b[:, 0])
    for flags in np.ndindex(2, 2, 2):
        upper, transposed, unit = (bool(f) for f in flags)
        wanted = mt.triangular_solve(b, a, upper, transposed, unit)[0]
        assert_close(mt.triangular_solve(b, sparse, upper, transposed, unit)[0], wanted)
    if layout in ("coo", "csr"):
        assert check_sparse(mt.sparse.spsolve, [sparse.requires_grad_(), b.requires_grad_()])
    with pytest.raises(mt.linalg.LinAlgError, match="singular"):
        mt.sparse.spsolve(in_layout(mt.zeros(6, 6), "csr"), b.detach().float())


@pytest.mark.parametrize("layout", [None, mt.sparse_coo, mt.sparse_csr, mt.sparse_csc])
def test_spdiags(layout):
    rows, offsets = full(3, 4), mt.tensor([0, 2, -1])
    found = mt.sparse.spdiags(rows, offsets, (4, 5), layout)
    assert found.layout is (layout or mt.sparse_coo)
    wanted = mt.zeros(4, 5, dtype=rows.dtype)
    for row, offset in zip(rows, offsets.tolist(), strict=True):
        for j in range(4):
            if 0 <= j - offset < 4:
                wanted[j - offset, j] = row[j]
    assert_close(found.to_dense(), wanted)
    assert check_sparse(lambda d: mt.sparse.spdiags(d, offsets, (4, 5), layout), [rows.requires_grad_()])


def test_meta():
    """Shapes of dense results follow without elements."""
    for layout in ("coo", "csr", "csc"):
        sparse = in_layout(A, layout).to("meta")
        assert (sparse @ RIGHT.to("meta")).shape == (4, 3)
        assert mt.mv(sparse, VECTOR.to("meta")).device.type == "meta"
        assert mt.sparse.sampled_addmm(sparse, full(4, 2).to("meta"), full(2, 6).to("meta")).layout is sparse.layout


def test_fake_tensors():
    """What a result is like follows without elements, but for patterns that depend on them."""
    mode = FakeTensorMode()
    for layout in LAYOUTS:
        sparse, dense = mode.from_tensor(in_layout(A, layout)), mode.from_tensor(RIGHT)
        with mode:
            for found, shape in (
                (sparse @ dense, (4, 3)), (dense.t() @ sparse.transpose(0, 1), (3, 4)), (mt.sparse.mm(sparse, dense), (4, 3)),
                (mt.sparse.softmax(sparse, 1), (4, 6)), (sparse.sum(), ()), (sparse.norm(), ()),
            ):  # fmt: skip
                assert isinstance(found, FakeTensor)
                assert found.shape == shape
            for unknown in (lambda s: s @ s.transpose(0, 1), lambda s: s.sum(0, keepdim=True)):
                with pytest.raises(DynamicOutputShapeException):
                    unknown(sparse)


# ---------------------------------------------------------------- PyTorch's answers


def outcome(function, module):
    try:
        result = function()
    except Exception as error:
        return type(error).__name__, None
    if result.layout == module.strided:
        return str(result.layout), result.numpy()
    flags = result.is_coalesced() if result.layout == module.sparse_coo else None
    return f"{result.layout} {flags}", result.to_dense().numpy()


ORACLE = {
    "mm": lambda m, s, d, c: m.mm(s, d),
    "mm of two": lambda m, s, d, c: m.mm(s, s.transpose(0, 1)),
    "sparse.mm": lambda m, s, d, c: m.sparse.mm(s, d),
    "sparse.mm of two": lambda m, s, d, c: m.sparse.mm(s, s.transpose(0, 1)),
    "rmm": lambda m, s, d, c: m.mm(c.t(), s),
    "mv": lambda m, s, d, c: m.mv(s, d[:, 0]),
    "addmm": lambda m, s, d, c: m.addmm(c, s, d, beta=2, alpha=3),
    "sparse.addmm": lambda m, s, d, c: m.sparse.addmm(c, s, d, beta=2, alpha=3),
    "linear": lambda m, s, d, c: m.nn.functional.linear(d.t(), s),
    "smm": lambda m, s, d, c: m.smm(s, d),
    "hspmm": lambda m, s, d, c: m.hspmm(s, d),
    "sspaddmm": lambda m, s, d, c: m.sspaddmm(s, s, m.ones(6, 6, dtype=m.float64)),
    "sampled": lambda m, s, d, c: m.sparse.sampled_addmm(s, c, d.t(), beta=2),
    "mean": lambda m, s, d, c: m.sparse.mm(s, d, "mean"),
    "amin": lambda m, s, d, c: m.sparse.mm(s, d, "amin"),
    "sum": lambda m, s, d, c: m.sparse.mm(s, d, "sum"),
    "softmax": lambda m, s, d, c: m.sparse.softmax(s, 0),
    "log_softmax": lambda m, s, d, c: m.sparse.log_softmax(s, 1),
    "sparse.sum": lambda m, s, d, c: m.sparse.sum(s, 0),
    "sparse.sum of all": lambda m, s, d, c: m.sparse.sum(s),
    "sum keepdim": lambda m, s, d, c: m.sum(s, 1, True),
    "sum dim": lambda m, s, d, c: m.sum(s, 0),
    "sum both": lambda m, s, d, c: m.sum(s, (0, 1)),
    "norm": lambda m, s, d, c: m.norm(s),
}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("layout", ["coo", "uncoalesced", "csr", "csc"])
@pytest.mark.parametrize("name", ORACLE)
def test_answers_are_those_of_torch(name, layout, torch):
    function = ORACLE[name]
    answers = []
    for module in (mt, torch):
        convert = (lambda t: t) if module is mt else (lambda t: torch.from_numpy(t.numpy()))
        s = in_layout(convert(A), layout, module)
        answers.append(outcome(lambda: function(module, s, convert(RIGHT), convert(full(4, 3))), module))
    (ours, our_value), (theirs, their_value) = answers
    if their_value is None:
        return  # where PyTorch has no answer, the dense one is ours
    assert ours == theirs
    np.testing.assert_allclose(our_value, their_value, rtol=1e-10)
