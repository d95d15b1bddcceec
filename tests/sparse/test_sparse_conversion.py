"""Conversions between all layouts: batches, dense dimensions, blocks; and their gradients."""

from __future__ import annotations

import itertools
import warnings

import pytest
from sparse_samples import BLOCKED, COMPRESSED, KINDS, LAYOUTS, dense_of, in_layout, parts_of, sample

import minitorch
from minitorch.autograd import forward_ad
from minitorch.autograd.dual import tangent_of
from minitorch.testing import assert_close
from minitorch.testing.gradcheck import gradcheck, gradgradcheck

PAIRS = [(a, b) for a in LAYOUTS for b in LAYOUTS]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_every_layout_becomes_every_other(kind, source, target):
    x = sample(kind, source)
    y = in_layout(x, target)
    assert y.layout is getattr(minitorch, target)
    assert_close(y.to_dense(), dense_of(kind))
    for tensor in (x, y):
        if tensor.layout is not minitorch.sparse_coo:
            _check(tensor)


def _check(tensor):
    layout = tensor.layout
    by_rows = layout in (minitorch.sparse_csr, minitorch.sparse_bsr)
    outer = tensor.crow_indices() if by_rows else tensor.ccol_indices()
    inner = tensor.col_indices() if by_rows else tensor.row_indices()
    minitorch._validate_sparse_compressed_tensor_args(outer, inner, tensor.values(), list(tensor.shape), layout)


@pytest.mark.parametrize("source", ["sparse_bsr", "sparse_bsc"])
def test_blocks_of_another_size(source):
    x = sample("plain", source)
    y = x.to_sparse_bsr((1, 4))
    assert y.values().shape[1:] == (1, 4)
    assert_close(y.to_dense(), dense_of("plain"))


def test_leading_sparse_dimensions_are_batches():
    x = dense_of("batches").to_sparse().to_sparse_csr()
    assert x.crow_indices().shape == (2, 5)
    with pytest.raises(RuntimeError, match="same number of specified elements"):
        minitorch.stack([dense_of("plain"), dense_of("plain") * 0]).to_sparse().to_sparse_csr()


def test_types_of_indices_are_kept():
    plain = sample("plain", "sparse_csr")
    x = minitorch.sparse_csr_tensor(plain.crow_indices().int(), plain.col_indices().int(), plain.values(), plain.shape)
    for layout in COMPRESSED:
        parts = parts_of(in_layout(x, layout))
        assert parts["types"] == ("torch.int32", "torch.int32")
    assert x.to_sparse()._indices().dtype is minitorch.int64


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dtypes(layout, dtype):
    dtype = getattr(minitorch, dtype)
    dense = dense_of("plain").to(dtype)
    x = in_layout(dense, layout)
    assert x.dtype is dtype
    assert minitorch.equal(x.to_dense(), dense)
    assert minitorch.equal(x.to_dense(minitorch.complex128), dense.to(minitorch.complex128))
    assert minitorch.equal(minitorch.cat([x.to_sparse()._values()] * 2).reshape(2, -1)[0], x.to_sparse()._values())


def test_what_is_that_already_is_returned():
    coo, csr, bsr = (sample("plain", layout) for layout in ("sparse_coo", "sparse_csr", "sparse_bsr"))
    assert coo.to_sparse() is coo
    assert coo.to_sparse(2) is coo
    assert coo.coalesce() is coo
    assert csr.to_sparse_csr() is csr
    assert bsr.to_sparse_bsr((2, 2)) is bsr
    dense = dense_of("plain")
    assert dense.to_dense() is dense


_CALLS = {
    "hybrid": lambda t, d: t.stack([d, d * 0], -1).to_sparse(2),
    "one sparse dimension": lambda t, d: d.to_sparse(1),
    "dense_dim": lambda t, d: d.to_sparse(layout=t.sparse_coo, dense_dim=1),
    "scalar": lambda t, d: t.tensor(3.0).to_sparse(),
    "zero scalar": lambda t, d: t.tensor(0.0).to_sparse(),
    "no elements": lambda t, d: t.zeros(0, 3).to_sparse(),
    "nans": lambda t, d: t.tensor([0.0, float("nan"), -0.0]).to_sparse(),
    "uncoalesced to csr": lambda t, d: t.sparse_coo_tensor([[0, 0, 1], [2, 2, 0]], [1.0, 2.0, 3.0], (2, 3)).to_sparse_csr(),
    "coalesce": lambda t, d: t.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (4,)).coalesce(),
    "coalesce bool": lambda t, d: t.sparse_coo_tensor([[0, 0, 1]], [True, True, False], (4,)).coalesce(),
    "coalesce half": lambda t, d: t.sparse_coo_tensor([[0, 0, 1]], [1.0, 2.0, 3.0], (4,), dtype=t.half).coalesce(),
    "coalesce hybrid": lambda t, d: t.sparse_coo_tensor([[0, 0]], t.ones(2, 3), (2, 3)).coalesce(),
    "csr to coo": lambda t, d: d.to_sparse_csr().to_sparse(),
    "csc to coo": lambda t, d: d.to_sparse_csc().to_sparse(),
    "bsr to coo": lambda t, d: d.to_sparse_bsr((2, 2)).to_sparse(),
    "bsc to coo": lambda t, d: d.to_sparse_bsc((2, 2)).to_sparse(),
    "csr to bsc": lambda t, d: d.to_sparse_csr().to_sparse_bsc((2, 2)),
    "batches": lambda t, d: t.stack([d, d.t()]).to_sparse_csc(),
    "batched csr to coo": lambda t, d: t.stack([d, d.t()]).to_sparse_csr().to_sparse(),
    "strided": lambda t, d: d.to_sparse(layout=t.strided),
    "mask": lambda t, d: t.ones(4, 4).sparse_mask(d.to_sparse()),
    "mask csr": lambda t, d: t.ones(4, 4).sparse_mask(d.to_sparse_csr()),
    "mask of sparse": lambda t, d: (d.t().contiguous()).to_sparse().sparse_mask(d.to_sparse()),
    "mask of another layout": lambda t, d: d.t().to_sparse().sparse_mask(d.to_sparse_csr()),
    "mask uncoalesced": lambda t, d: d.to_sparse().sparse_mask(t.sparse_coo_tensor([[0, 0], [2, 2]], [1.0, 1.0], (4, 4))),
    "mask of a dtype": lambda t, d: d.double().sparse_mask(d.to_sparse()),
    "projection": lambda t, d: d.to_sparse()._sparse_mask_projection(d.t().to_sparse()),
    "rows to offsets": lambda t, d: t._convert_indices_from_coo_to_csr(t.tensor([0, 0, 2]), 4, out_int32=True),
    "offsets to rows": lambda t, d: t._convert_indices_from_csr_to_coo(t.tensor([0, 2, 3]), t.tensor([0, 1, 0])),
    "offsets to columns": lambda t, d: t._convert_indices_from_csr_to_coo(
        t.tensor([0, 2, 3]), t.tensor([0, 1, 0]), transpose=True
    ),
    "offsets of batches": lambda t, d: t._convert_indices_from_csr_to_coo(
        t.tensor([[0, 2, 3], [0, 1, 3]]), t.tensor([[0, 1, 0], [1, 0, 1]])
    ),
    "dimensions of dense": lambda t, d: t.tensor([d.sparse_dim(), d.dense_dim()]),
    "item": lambda t, d: t.tensor(t.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (1,)).item()),
    # errors
    "sparse_dim 0": lambda t, d: d.to_sparse(0),
    "sparse_dim 3": lambda t, d: d.to_sparse(3),
    "sparse_dim -1": lambda t, d: d.to_sparse(-1),
    "sparse_dim of sparse": lambda t, d: d.to_sparse().to_sparse(1),
    "block too large": lambda t, d: d.to_sparse_bsr((3, 2)),
    "block of nothing": lambda t, d: d.to_sparse_bsr((0, 2)),
    "blocksize for csr": lambda t, d: d.to_sparse(layout=t.sparse_csr, blocksize=(2, 2)),
    "dense_dim of sparse": lambda t, d: d.to_sparse_csr().to_sparse_csr(dense_dim=1),
    "dense_dim too large": lambda t, d: d.to_sparse_csr(dense_dim=1),
    "batches differ": lambda t, d: t.stack([d, d * 0]).to_sparse_csr(),
    "mask of another size": lambda t, d: t.ones(3, 3).sparse_mask(d.to_sparse()),
    "values of dense": lambda t, d: d.values(),
    "is_coalesced of dense": lambda t, d: d.is_coalesced(),
    "indices of csr": lambda t, d: d.to_sparse_csr().indices(),
    "crow_indices of csc": lambda t, d: d.to_sparse_csc().crow_indices(),
    "crow_indices of coo": lambda t, d: d.to_sparse().crow_indices(),
    "coalesce csr": lambda t, d: d.to_sparse_csr().coalesce(),
}


@pytest.mark.oracle
@pytest.mark.parametrize("case", _CALLS)
def test_conversions_are_those_of_pytorch(case, torch):
    def outcome(library):
        try:
            return parts_of(_CALLS[case](library, library.tensor(KINDS["plain"][0].tolist())))
        except RuntimeError:
            return "RuntimeError"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(torch)
    found = outcome(minitorch)
    assert repr(found) == repr(expected)  # NaN is not equal to itself


# -- gradients ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "batches", "dense dimension"])
@pytest.mark.parametrize("source", LAYOUTS)
def test_gradients_of_conversions(kind, source):
    x = sample(kind, source).requires_grad_()
    for target in LAYOUTS:
        assert gradcheck(lambda t, to=target: in_layout(t, to).to_dense(), (x,), masked=True, fast_mode=True)
    assert gradcheck(lambda t: t.to_dense(), (x,), masked=True)
    assert gradgradcheck(lambda t: t.to_dense() ** 2, (x,), masked=True, fast_mode=True)
    values = lambda t: (t.coalesce() if source == "sparse_coo" else t).values() ** 2  # noqa: E731
    assert gradcheck(values, (x,), masked=True)
    mask = sample(kind, source)
    assert gradcheck(lambda t: t.sparse_mask(mask).to_dense(), (x,), masked=True, fast_mode=True)
    dense = dense_of(kind).requires_grad_()
    assert gradcheck(lambda t: t.sparse_mask(mask).to_dense() ** 2, (dense,), fast_mode=True)
    assert gradgradcheck(lambda t: t.sparse_mask(mask).to_dense() ** 2, (dense,), fast_mode=True)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_gradients_of_uncoalesced_tensors(order):
    indices = minitorch.tensor([[0, 1, 0], [2, 0, 2]])[:, list(order)]
    x = minitorch.sparse_coo_tensor(indices, [1.0, 2.0, 3.0], (2, 3), dtype=minitorch.float64, requires_grad=True)
    assert gradcheck(lambda t: t.coalesce().values() ** 2, (x,), masked=True)
    assert gradcheck(lambda t: t.to_dense() ** 2, (x,), masked=True)
    values = minitorch.rand(3, dtype=minitorch.float64, requires_grad=True)
    make = lambda v: minitorch.sparse_coo_tensor(indices, v, (2, 3))  # noqa: E731
    assert gradcheck(lambda v: make(v).to_dense() ** 2, (values,))
    assert gradcheck(lambda v: make(v).coalesce().values() ** 2, (values,))
    assert gradgradcheck(lambda v: make(v).to_dense() ** 2, (values,))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_specified_has_a_gradient_if_it_is_asked_for(layout):
    x = sample("plain", layout).requires_grad_()
    weights = minitorch.arange(1.0, 17.0).double().reshape(4, 4)
    for masked in (None, True, False):
        (grad,) = minitorch.autograd.grad((x.to_dense(masked_grad=masked) * weights).sum(), x)
        assert grad.layout is x.layout
        expected = weights if masked is False else weights * x.detach().sparse_mask(x.detach()).to_dense().ne(0)
        if layout in BLOCKED and masked is not False:  # a block is specified as a whole
            expected = weights.sparse_mask(x.detach()).to_dense()
        assert_close(grad.to_dense(), expected)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("of", LAYOUTS)
def test_gradients_arrive_in_the_layout_of_the_leaf(layout, of):
    dense = dense_of("plain").requires_grad_()
    in_layout(dense, layout).backward(in_layout(dense_of("plain"), of))
    assert dense.grad.layout is minitorch.strided
    assert_close(dense.grad, dense_of("plain"))
    x = sample("plain", of).requires_grad_()
    in_layout(x, layout).to_dense().backward(dense_of("plain"))
    assert x.grad.layout is x.layout
    assert_close(x.grad.to_dense(), dense_of("plain"))


@pytest.mark.parametrize("kind", ["plain", "batches", "dense dimension"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_tangents_have_the_places_of_the_tensor(kind, layout):
    dense, tangent = dense_of(kind), minitorch.arange(1.0, 1 + dense_of(kind).numel()).double().reshape(dense_of(kind).shape)
    mask = sample(kind, layout)
    expected = tangent.sparse_mask(mask)
    with forward_ad.dual_level() as level:
        dual = forward_ad.make_dual(dense, tangent)
        made = in_layout(dual, layout, KINDS[kind][1])
        for found in (made, dual.sparse_mask(mask)):
            assert parts_of(tangent_of(found, level)) == parts_of(expected)
        values = tangent_of(made.values(), level)
        assert_close(values, expected.values())
        assert_close(tangent_of(made.to_dense(), level), expected.to_dense())
        back = tangent_of(in_layout(made, "sparse_csr").to_dense(), level)
        assert_close(back, expected.to_dense())


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_tangents_of_constructors(layout):
    values = minitorch.tensor([1.0, 2.0, 3.0], dtype=minitorch.float64, requires_grad=True)
    if layout == "sparse_coo":
        make = lambda v: minitorch.sparse_coo_tensor([[1, 0, 1], [2, 0, 2]], v, (2, 3)).to_dense()  # noqa: E731
    else:
        make = lambda v: minitorch.sparse_csr_tensor([0, 1, 3], [2, 0, 2], v, (2, 3)).to_dense()  # noqa: E731
    assert gradcheck(make, (values,), check_forward_ad=True)
