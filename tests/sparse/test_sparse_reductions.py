"""Reductions and softmax of sparse tensors, in every layout and over any dimensions, against dense ones."""

from __future__ import annotations

import itertools

import pytest
from sparse_layouts import LAYOUTS, dense_of, full, in_layout, matrix

import minitorch as mt
from minitorch.sparse.functions import with_values
from minitorch.testing import assert_close

check_sparse = mt.sparse.as_sparse_gradcheck(mt.autograd.gradcheck)
check_sparse_twice = mt.sparse.as_sparse_gradcheck(mt.autograd.gradgradcheck)

X = matrix(3, 4, 5, density=0.4)
X[2] = full(4, 5)  # places to which no zero is reduced, too
MATRIX = matrix(4, 6)
MATRIX[3] = full(6, seed=9)
REDUCTIONS = ("sum", "mean", "amax", "amin", "any", "all", "prod", "norm", "norm inf", "norm 3")


def reduce(name, tensor, dims=None, keepdim=False):
    """Call a reduction; without dims over everything."""
    if name.startswith("norm"):
        order = {"norm": 2, "norm inf": float("inf"), "norm 3": 3}[name]
        return mt.linalg.vector_norm(tensor, order, dims, keepdim)
    if dims is None:
        return getattr(mt, name)(tensor)
    if name == "prod":
        return mt.prod(tensor, dims[0], keepdim)
    return getattr(mt, name)(tensor, list(dims), keepdim)


def all_dims(ndim, name):
    for count in range(1, ndim + 1):
        for dims in itertools.combinations(range(ndim), count):
            if name != "prod" or count == 1:
                yield dims


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_any_dimensions_of_coordinates(name, sparse_dim):
    sparse = X.to_sparse(sparse_dim)
    twice = mt.sparse_coo_tensor(
        mt.cat([sparse.indices(), sparse.indices()], 1), mt.cat([sparse.values() / 4, sparse.values() * 0.75]), X.shape
    )
    for tensor in (sparse, twice):
        found = reduce(name, tensor)
        assert found.layout is mt.strided
        assert_close(found, reduce(name, X))
        for dims in all_dims(3, name):
            for keepdim in (False, True):
                found = reduce(name, tensor, dims, keepdim)
                wanted = reduce(name, X, dims, keepdim)
                assert found.dtype is wanted.dtype
                assert (found.layout is mt.strided) == (set(range(sparse_dim)) <= set(dims))
                assert_close(dense_of(found), wanted)


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "bsc"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_compressed_layouts_keep_the_dimension(name, layout):
    sparse = in_layout(MATRIX, layout)
    assert_close(reduce(name, sparse), reduce(name, MATRIX))
    for dims in all_dims(2, name):
        found = reduce(name, sparse, dims, True)
        assert found.layout is (mt.sparse_csc if layout in ("csc", "bsc") else mt.sparse_csr)
        assert_close(found.to_dense(), reduce(name, MATRIX, dims, True))
    with pytest.raises(RuntimeError, match="keepdim=True"):
        reduce(name, sparse, (0,), False)


@pytest.mark.parametrize("dtype", [mt.int64, mt.int32, mt.float32, mt.bfloat16, mt.complex64, mt.bool])
def test_types(dtype):
    dense = (MATRIX * 3).round().to(dtype)
    for layout in ("coo", "csr"):
        sparse = in_layout(dense, layout)
        for name in ("sum", "prod", "mean", "amax"):
            if (name == "mean" and not (dtype.is_floating_point or dtype.is_complex)) or (name == "amax" and dtype.is_complex):
                continue
            found, wanted = reduce(name, sparse, (0,), True), reduce(name, dense, (0,), True)
            assert found.dtype is wanted.dtype
            assert_close(dense_of(found), wanted)
    assert mt.sum(dense.to_sparse(), dtype=mt.float64).dtype is mt.float64
    assert mt.sparse.sum(dense.to_sparse(), 0, dtype=mt.float64).dtype is mt.float64


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (3, 4)])
def test_nothing_is_stored(shape):
    dense = mt.zeros(shape)
    for name in ("sum", "prod", "any", "all"):
        assert_close(reduce(name, dense.to_sparse()), reduce(name, dense))
        for dims in ((0,), (1,)):
            assert_close(dense_of(reduce(name, dense.to_sparse(), dims)), reduce(name, dense, dims))


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
@pytest.mark.parametrize("name", [n for n in REDUCTIONS if n not in ("any", "all")])
def test_gradients(name, layout):
    sparse = in_layout(MATRIX, layout).requires_grad_()
    assert check_sparse(lambda s: reduce(name, s), [sparse])
    for dims in ((0,), (1,)):
        assert check_sparse(lambda s, dims=dims: reduce(name, s, dims, True), [sparse])
    if name in ("sum", "norm", "prod", "mean"):
        assert check_sparse_twice(lambda s: reduce(name, s, (0,), True), [sparse])


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "prod", "norm"])
@pytest.mark.parametrize("sparse_dim", [2, 3])
def test_gradients_of_hybrids(name, sparse_dim):
    sparse = X.to_sparse(sparse_dim).requires_grad_()
    for dims in ((0,), (2,), (1, 2), (0, 1)):
        if name == "prod" and len(dims) > 1:
            continue
        for keepdim in (False, True):
            leaf = sparse.detach().requires_grad_()
            result = dense_of(reduce(name, leaf, dims, keepdim))
            weights = full(*result.shape, seed=4)
            result.backward(weights)
            dense = X.clone().requires_grad_()
            reduce(name, dense, dims, keepdim).backward(weights)
            mask = with_values(leaf.detach(), mt.ones_like(leaf.detach().values())).to_dense() != 0
            assert leaf.grad.layout is mt.sparse_coo
            assert_close(leaf.grad.to_dense(), mt.where(mask, dense.grad, 0))


def test_the_gradient_of_sparse_sum_has_the_entries():
    leaf = MATRIX.to_sparse().requires_grad_()
    mt.sparse.sum(leaf).backward()
    assert leaf.grad.layout is mt.sparse_coo
    assert leaf.grad._nnz() == leaf._nnz()
    for dims in (0, [1], [0, 1]):
        assert check_sparse(lambda s, dims=dims: mt.sparse.sum(s, dims), [leaf])
    # That of the other is PyTorch's: dense.
    other = MATRIX.to_sparse().requires_grad_()
    other.sum().backward()
    assert_close(other.grad, mt.ones_like(MATRIX))


def masked_softmax(dense, mask, dim, log=False):
    """Return the softmax of the entries alone."""
    filled = mt.where(mask, dense, -float("inf"))
    found = mt.log_softmax(filled, dim) if log else mt.softmax(filled, dim)
    return mt.where(mask, found, 0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_softmax_of_matrices(layout):
    sparse = in_layout(MATRIX, layout)
    pattern = sparse.coalesce() if layout in ("coo", "uncoalesced") else sparse
    mask = with_values(pattern, mt.ones_like(pattern.values())).to_dense() != 0
    for dim in (0, 1, -1):
        for function, log in ((mt.sparse.softmax, False), (mt.sparse.log_softmax, True)):
            found = function(sparse, dim)
            assert found.layout is sparse.layout
            assert_close(found.to_dense(), masked_softmax(MATRIX, mask, dim, log))
            if layout != "uncoalesced":
                assert check_sparse(lambda s, f=function, d=dim: f(s, d), [sparse.detach().requires_grad_()])
    if layout in ("coo", "csr"):
        assert check_sparse_twice(lambda s: mt.sparse.softmax(s, 1), [sparse.detach().requires_grad_()])
        assert check_sparse_twice(lambda s: mt.sparse.log_softmax(s, 0), [sparse.detach().requires_grad_()])
    assert mt.sparse.softmax(sparse.float(), 1, dtype=mt.float64).dtype is mt.float64


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_softmax_of_hybrids(sparse_dim):
    sparse = X.to_sparse(sparse_dim)
    mask = with_values(sparse, mt.ones_like(sparse.values())).to_dense() != 0
    for dim in range(3):
        assert_close(mt.sparse.softmax(sparse, dim).to_dense(), masked_softmax(X, mask, dim))
        assert_close(mt.sparse.log_softmax(sparse, dim).to_dense(), masked_softmax(X, mask, dim, True))
        assert check_sparse(lambda s, d=dim: mt.sparse.softmax(s, d), [sparse.detach().requires_grad_()])


def test_softmax_of_batches():
    batch = mt.stack([MATRIX, 2 * MATRIX])
    sparse = batch.to_sparse_csr()
    for dim in (1, 2):
        assert_close(mt.sparse.softmax(sparse, dim).to_dense(), masked_softmax(batch, batch != 0, dim))
    with pytest.raises(NotImplementedError, match="to_sparse"):
        mt.sparse.softmax(sparse, 0)
    with pytest.raises(NotImplementedError, match="dtype="):
        mt.sparse.softmax(MATRIX.long().to_sparse(), 0)
