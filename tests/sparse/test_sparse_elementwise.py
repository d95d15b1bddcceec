"""Element-wise operators on sparse tensors in place, with out=, under vmap; what is refused, and what a policy allows."""

from __future__ import annotations

import numpy as np
import pytest
from sparse_exam_table import LAYOUTS, arrays, sparse

import minitorch
from minitorch.backends import densify_policy

MATRIX = [[0.0, 1.0, 0.0, 0.0], [2.0, 0.0, -3.0, 0.0]]


def made(layout="coo"):
    dense = minitorch.tensor(MATRIX)
    if layout in ("bsr", "bsc"):
        return getattr(dense, f"to_sparse_{layout}")((2, 2))
    return dense.to_sparse() if layout == "coo" else getattr(dense, f"to_sparse_{layout}")()


def same(tensor, expected):
    np.testing.assert_allclose(tensor.to_dense().numpy(), np.asarray(expected), rtol=1e-6)


@pytest.mark.parametrize("layout", ["coo", "csr", "bsc"])
def test_operators_in_place_keep_the_tensor_and_its_layout(layout):
    tensor = made(layout)
    alias = tensor.detach()
    assert tensor.mul_(2) is tensor
    assert tensor.layout is made(layout).layout
    same(tensor, 2 * np.array(MATRIX))
    same(alias, 2 * np.array(MATRIX))  # one handle
    tensor.add_(made(layout), alpha=-1).relu_()
    same(tensor, np.maximum(MATRIX, 0))
    same(tensor.sin_(), np.sin(np.maximum(MATRIX, 0)))


def test_dense_tensors_take_sparse_ones_in_place():
    dense = minitorch.ones(2, 4)
    memory = dense.data_ptr()
    same(dense.add_(made(), alpha=2), 1 + 2 * np.array(MATRIX))
    same(dense.sub_(made("csr")), 1 + np.array(MATRIX))
    same(dense.mul_(made()), (1 + np.array(MATRIX)) * MATRIX)
    assert dense.data_ptr() == memory
    with pytest.raises(RuntimeError, match="can't be cast"):
        minitorch.ones(2, 4, dtype=minitorch.int64).add_(made())


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_out_takes_sparse_results(layout):
    out = made(layout)
    assert minitorch.sin(made(layout), out=out) is out
    same(out, np.sin(MATRIX))
    minitorch.add(made(layout), made(layout), out=out)
    same(out, 2 * np.array(MATRIX))


def test_a_transposition_in_place_stays_in_its_layout():
    same(made().t_(), np.transpose(MATRIX))
    with pytest.raises(RuntimeError, match=r"use t\(\)"):
        made("csr").t_()


def test_steps_of_gradients_do_not_grow_on():
    total = made()
    for _ in range(20):
        total.add_(minitorch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 1.0], (2, 4)))
    assert total._nnz() <= total.numel() + 2
    assert total.to_dense()[0, 1] == 41


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "fn",
    [lambda x: x.cos(), lambda x: x.exp(), lambda x: x == 0, lambda x: x >= -1, lambda x: x**0, lambda x: x.clamp(0.5, 1),
     lambda x: x / x, lambda x: 1 / x, lambda x: x.logical_not(),
     lambda x: x.masked_fill(minitorch.ones(4, 4, dtype=minitorch.bool), 1)],
    ids=["cos", "exp", "eq", "ge", "pow0", "clamp", "div", "rdiv", "not", "fill"],
)  # fmt: skip
def test_what_would_be_dense_is_refused_or_done_by_policy(layout, fn):
    x = sparse(minitorch, arrays(layout)[0], layout)
    with pytest.raises(NotImplementedError, match="to_dense"):
        fn(x)
    with densify_policy("allow"):
        got = fn(x)
    assert got.layout is minitorch.strided
    np.testing.assert_allclose(got.numpy(), fn(x.to_dense()).numpy())


def test_sums_with_dense_tensors():
    dense = minitorch.ones(2, 4)
    with pytest.raises(RuntimeError, match=r"add\(dense, sparse\)"):
        made() + dense
    with pytest.raises(RuntimeError, match="dense"):
        made() + 1
    same(made("csr") + dense, 1 + np.array(MATRIX))
    same(minitorch.ones(3, 2, 4) + made(), 1 + np.array([MATRIX] * 3))


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_a_broadcast_dense_tensor_is_never_written_out(layout):
    n = 1_000_000  # a dense tensor of this shape has 4 TB
    x = minitorch.sparse_coo_tensor([[0, 7, n - 1], [3, n - 2, 0]], [1.0, 2.0, 3.0], (n, n))
    x = x.coalesce() if layout == "coo" else x.to_sparse_csr()
    row = minitorch.arange(float(n))
    assert (x * row).values().tolist() == [3.0, 2.0 * (n - 2), 0.0]
    assert (row[:, None] * x).values().tolist() == [0.0, 14.0, 3.0 * (n - 1)]
    assert (x + x.mT.mT * 2)[7, n - 2].item() == 6.0
    assert x[7:].sum().item() == 5.0


def test_shapes_that_do_not_fit():
    with pytest.raises(RuntimeError, match=r"\[2, 4\] != \[1, 4\]"):
        made() + minitorch.ones(1, 4).to_sparse()
    with pytest.raises(RuntimeError, match="broadcast shape"):
        minitorch.ones(4).mul_(made())


def test_layouts_are_mixed_into_that_of_the_first():
    total = made("csr") + made("csc").mul(2)
    assert total.layout is minitorch.sparse_csr
    same(total, 3 * np.array(MATRIX))
    product = made() * made("bsr")
    assert product.layout is minitorch.sparse_coo
    same(product, np.square(MATRIX))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int32", "bool", "complex64"])
def test_dtypes(dtype):
    x = made().to(getattr(minitorch, dtype))
    assert (x * x).dtype is x.dtype
    assert (x + made().double()).dtype is (minitorch.complex128 if dtype == "complex64" else minitorch.float64)
    np.testing.assert_array_equal((x + x).to_dense().to(minitorch.complex64).numpy(),
                                  (x.to_dense() + x.to_dense()).to(minitorch.complex64).numpy())  # fmt: skip


def test_single_elements_are_checked():
    x = made()
    assert x[1, 2].item() == -3
    assert x[0, 0].layout is minitorch.strided
    with pytest.raises(IndexError, match="out of range"):
        x[2]
    with pytest.raises(IndexError, match="out of range"):
        x.index_select(1, minitorch.tensor([4]))
    with pytest.raises(IndexError, match="too many indices"):
        x[0, 0, 0]
    for index in (0, (0, 1), slice(0, 1), ..., minitorch.tensor([0])):
        with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
            x[index] = 5.0


# ---------------------------------------------------------------- vmap


@pytest.mark.parametrize("sparse_dim", [1, 2, 3])
def test_vmap_maps_sparse_tensors(sparse_dim):
    dense = minitorch.arange(24.0).reshape(2, 3, 4)
    dense = dense * (dense % 3 == 0)
    factors = minitorch.tensor([2.0, 3.0])
    x = dense.to_sparse(sparse_dim)
    vmap = minitorch.vmap
    same(vmap(minitorch.sin)(x), np.sin(dense.numpy()))
    same(vmap(lambda a, b: a * b + a)(x, factors), (dense * factors[:, None, None] + dense).numpy())
    same(vmap(minitorch.mul, in_dims=(0, None))(x, dense[0]), (dense * dense[0]).numpy())
    same(vmap(minitorch.add)(dense, x), 2 * dense.numpy())
    same(vmap(lambda a: a.to_dense())(x), dense.numpy())
    if sparse_dim == 3:
        same(vmap(minitorch.relu, in_dims=1)(x), dense.transpose(0, 1).numpy())
        same(vmap(lambda a: a.t())(x), dense.transpose(1, 2).numpy())


def test_vmap_maps_batches_of_a_compressed_layout():
    dense = minitorch.tensor([MATRIX, MATRIX]) * minitorch.tensor([1.0, 2.0])[:, None, None]
    x = dense.to_sparse_csr()
    got = minitorch.vmap(lambda a: (a * 2).tanh() * a)(x)
    assert got.layout is minitorch.sparse_csr
    same(got, (minitorch.tanh(dense * 2) * dense).numpy())


@pytest.mark.parametrize("convert", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
def test_matrices_without_rows(convert):
    x = minitorch.zeros(0, 4)
    s = getattr(x, convert)()
    assert (s * minitorch.ones(0, 4)).to_dense().shape == (0, 4)
    assert x.sparse_mask(s).to_dense().shape == (0, 4)
    assert (s + s).to_dense().shape == (0, 4)
