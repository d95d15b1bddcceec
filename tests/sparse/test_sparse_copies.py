"""Copies, moves, sizes changed in place, and what a tensor without a storage of its own answers."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from sparse_samples import KINDS, LAYOUTS, dense_of, in_layout, parts_of, sample

import minitorch
from minitorch.testing import assert_close

UNCOALESCED = [[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (4, 4)


@pytest.fixture(params=["cpu", "opencl", "meta"])
def place(request):
    if request.param == "opencl":
        pytest.importorskip("pyopencl")
        try:
            minitorch.ones(1, device="opencl")
        except minitorch.AcceleratorError as error:
            pytest.skip(f"no OpenCL device: {error}")
    return request.param


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_moves_keep_layout_and_values(kind, layout, place):
    x = sample(kind, layout, minitorch.float32)
    moved = x.to(place)
    assert moved.device.type == place
    assert moved.layout is x.layout
    assert moved._nnz() == x._nnz()
    assert minitorch.zeros_like(x, device=place).device == moved.device
    assert minitorch.empty_like(x, device=place).layout is x.layout
    for tensor in (moved.to_dense(), in_layout(moved, "sparse_csr")):
        assert tensor.device == moved.device
    if place == "meta":
        return
    assert_close(moved.cpu().to_dense(), x.to_dense())
    assert_close(moved.to_dense().cpu(), x.to_dense())
    assert parts_of(in_layout(moved, "sparse_csc").cpu()) == parts_of(in_layout(x, "sparse_csc"))
    leaf = x.clone().requires_grad_()
    (leaf.to(place).to_dense() ** 2).sum().backward()
    assert leaf.grad.device.type == "cpu"
    assert leaf.grad.layout is x.layout
    assert_close(leaf.grad.to_dense(), 2 * x.to_dense())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_copies_share_nothing(layout):
    x = sample("plain", layout).requires_grad_()
    x.grad = sample("plain", layout)
    expected = parts_of(x)
    for made in (x.detach().clone(), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.to(minitorch.float64, copy=True)):
        assert parts_of(made) == expected
        made.detach().coalesce() if layout == "sparse_coo" else None
        made.detach().values().zero_()
        assert parts_of(x) == expected
    deep = copy.deepcopy(x)
    assert deep.requires_grad
    assert parts_of(deep.grad) == expected
    assert pickle.loads(pickle.dumps(x)).requires_grad
    assert parts_of(copy.copy(x)) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tensors_that_share_see_changes(layout):
    x = sample("plain", layout)
    same, data = x.detach(), x.data
    values = x.values()
    values.mul_(2)
    for tensor in (x, same, data):
        assert_close(tensor.to_dense(), 2 * dense_of("plain"))
    x.zero_()
    assert x._nnz() == same._nnz() == 0
    assert x._version > 0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_casts(layout):
    x = sample("plain", layout)
    assert x.to("cpu") is x
    assert x.to(x.dtype) is x
    assert x.double() is x
    for made in (x.float(), x.to(minitorch.float32), x.type(minitorch.float32), x.to(minitorch.ones(1))):
        assert made.dtype is minitorch.float32
        assert made.layout is x.layout
    leaf = x.clone().requires_grad_()
    leaf.float().to_dense().sum().backward()
    assert leaf.grad.dtype is minitorch.float64


_CHANGES = {
    "zero_": lambda t, c, u: c.zero_(),
    "zero_ uncoalesced": lambda t, c, u: u.zero_(),
    "zero_ csr": lambda t, c, u: c.to_sparse_csr().zero_(),
    "zero_ bsr": lambda t, c, u: c.to_dense().to_sparse_bsr((2, 2)).zero_(),
    "grow": lambda t, c, u: c.sparse_resize_((5, 5), 2, 0),
    "shrink": lambda t, c, u: c.sparse_resize_((3, 3), 2, 0),
    "more dense dimensions": lambda t, c, u: c.sparse_resize_((4, 4, 2), 2, 1),
    "other sparse dimensions": lambda t, c, u: c.sparse_resize_((5, 5), 1, 1),
    "wrong rank": lambda t, c, u: c.sparse_resize_((4, 4, 2), 2, 0),
    "resize an empty one": lambda t, c, u: t.sparse_coo_tensor((3, 4)).sparse_resize_((2, 3), 1, 1),
    "clear": lambda t, c, u: c.sparse_resize_and_clear_((3, 3), 1, 1),
    "resize_ coo": lambda t, c, u: c.resize_(2, 2),
    "resize_as_": lambda t, c, u: c.resize_as_(u),
    "resize_as_sparse_": lambda t, c, u: c.resize_as_sparse_(t.sparse_coo_tensor((3, 4))),
    "csr rows": lambda t, c, u: c.to_sparse_csr().resize_(6, 4),
    "csr columns": lambda t, c, u: c.to_sparse_csr().resize_(4, 6),
    "csr fewer columns": lambda t, c, u: c.to_sparse_csr().resize_(4, 3),
    "copy_": lambda t, c, u: c.copy_(u),
    "copy_ casts": lambda t, c, u: c.copy_(u.double()),
    "copy_ smaller": lambda t, c, u: c.copy_(t.zeros(3, 3).to_sparse()),
    "copy_ into an empty one": lambda t, c, u: t.sparse_coo_tensor((3, 4)).copy_(c),
    "copy_ of dense": lambda t, c, u: c.copy_(t.ones(4, 4)),
    "copy_ into dense": lambda t, c, u: t.ones(4, 4).copy_(c),
    "copy_ csr": lambda t, c, u: c.to_sparse_csr().copy_((c.to_dense() * 2).to_sparse_csr()),
    "copy_ between layouts": lambda t, c, u: c.to_sparse_csr().copy_(c),
    "_coalesced_": lambda t, c, u: c._coalesced_(False),
    "clone": lambda t, c, u: u.clone(),
    "detach": lambda t, c, u: u.detach(),
    "cast": lambda t, c, u: u.to(t.int64),
    "zero_ of a leaf": lambda t, c, u: c.requires_grad_().zero_(),
    "ones_like coo": lambda t, c, u: t.ones_like(c),
}  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("case", _CHANGES)
def test_changes_in_place_are_those_of_pytorch(case, torch):
    def outcome(library):
        c = library.tensor(KINDS["plain"][0].tolist()).to_sparse()
        u = library.sparse_coo_tensor(*UNCOALESCED)
        try:
            return parts_of(_CHANGES[case](library, c, u))
        except RuntimeError:
            return "RuntimeError"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(torch)
    assert outcome(minitorch) == expected


def test_dense_dimensions_grow_by_zeros():
    x = sample("dense dimension", "sparse_coo")
    expected = minitorch.nn.functional.pad(x.to_dense(), (0, 1, 0, 1))
    assert_close(x.sparse_resize_((4, 5, 3), 2, 1).to_dense(), expected)


def test_rows_that_are_cut_off_go_with_their_entries():
    x = sample("plain", "sparse_csr").resize_(2, 4)
    assert_close(x.to_dense(), dense_of("plain")[:2])


_QUESTIONS = {
    "stride": lambda x: x.stride(),
    "is_contiguous": lambda x: x.is_contiguous(),
    "storage_offset": lambda x: x.storage_offset(),
    "data_ptr": lambda x: x.data_ptr(),
    "untyped_storage": lambda x: x.untyped_storage(),
    "numpy": lambda x: x.numpy(),
    "numpy by force": lambda x: x.numpy(force=True),
    "array": lambda x: np.asarray(x),
    "tolist": lambda x: x.tolist(),
    "dlpack": lambda x: x.__dlpack__(),
    "nbytes": lambda x: x.nbytes,
    "type": lambda x: x.type(),
    "item": lambda x: x.item(),
    "is_sparse": lambda x: (x.is_sparse, x.is_sparse_csr),
    "dims": lambda x: (x.sparse_dim(), x.dense_dim()),
    "nnz": lambda x: x._nnz(),
    "numel": lambda x: (x.numel(), len(x), x.dim(), x.element_size()),
    "is_same_size": lambda x: x.is_same_size(x),
    "as_strided": lambda x: x.as_strided((2, 2), (1, 1)),
    "values are a view": lambda x: x.values()._is_view(),
    "views with gradients": lambda x: x.requires_grad_().values().requires_grad,
}


@pytest.mark.oracle
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("question", _QUESTIONS)
def test_answers_are_those_of_pytorch(layout, question, torch):
    def outcome(library):
        try:
            return _QUESTIONS[question](in_layout(library.tensor(KINDS["plain"][0].tolist()), layout, 0, library))
        except (RuntimeError, TypeError, BufferError) as error:
            return next(kind.__name__ for kind in (RuntimeError, TypeError, BufferError) if isinstance(error, kind))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(torch)
    assert outcome(minitorch) == expected


def test_errors_name_what_works():
    x = sample("plain", "sparse_csr")
    for call, error, text in (
        (x.numpy, TypeError, r"to_dense\(\)"),
        (x.__dlpack__, BufferError, r"to_dense\(\)"),
        (x.data_ptr, NotImplementedError, r"values\(\)"),
        (lambda: x.view(16), NotImplementedError, r"to_dense\(\)"),
        (lambda: minitorch.ones(2, 2, layout=minitorch.sparse_coo), NotImplementedError, "sparse_coo"),
        (lambda: x.to_sparse().resize_(2, 2), NotImplementedError, r"to_sparse_csr\(\)"),
    ):
        with pytest.raises(error, match=text):
            call()


@pytest.mark.oracle
@pytest.mark.parametrize("leaf", ["strided", *LAYOUTS])
@pytest.mark.parametrize("of", ["strided", *LAYOUTS])
def test_which_gradients_a_tensor_takes(leaf, of, torch):
    def outcome(library):
        def make(layout):
            dense = library.tensor(KINDS["plain"][0].tolist())
            return dense if layout == "strided" else in_layout(dense, layout, 0, library)

        tensor, grad = make(leaf).requires_grad_(), make(of)
        try:
            tensor.grad = grad
        except RuntimeError:
            return False
        return tensor.grad is grad

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(torch)
    assert outcome(minitorch) is expected
