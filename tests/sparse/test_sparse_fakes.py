"""Sparse tensors without elements: on the meta device, and fake ones."""

from __future__ import annotations

import copy

import pytest
from sparse_samples import KINDS, LAYOUTS, dense_of, in_layout, sample

import minitorch
from minitorch._subclasses import FakeTensorMode
from minitorch.fake.fake_tensor import FakeTensor


@pytest.fixture
def mode():
    return FakeTensorMode()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_counterpart_of_a_sparse_tensor(mode, layout, kind):
    real = sample(kind, layout).requires_grad_()
    fake = mode.from_tensor(real)
    assert type(fake) is FakeTensor
    assert fake is mode.from_tensor(real)
    assert fake.fake_mode is mode
    assert fake.device == fake.fake_device == real.device
    assert fake.requires_grad
    for ask in (lambda t: (t.layout, t.shape, t.dtype, t._nnz(), t.sparse_dim(), t.dense_dim()),):
        assert ask(fake) == ask(real)
    assert "..." in repr(fake)
    assert repr(fake).startswith("FakeTensor(")
    values = (fake.detach().coalesce() if layout == "sparse_coo" else fake.detach()).values()
    assert isinstance(values, FakeTensor)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_conversions_and_their_gradients(mode, layout, inside):
    fake = mode.from_tensor(sample("plain", layout).requires_grad_())
    dense = mode.from_tensor(dense_of("plain").requires_grad_())

    def steps():
        out = fake.to_dense()
        out.backward(mode.from_tensor(dense_of("plain")))
        made = in_layout(dense, layout)
        made.to_dense().backward(mode.from_tensor(dense_of("plain")))
        others = [in_layout(fake.detach(), other) for other in LAYOUTS]
        return out, made, others, fake.detach().clone().to(minitorch.float32), copy.deepcopy(fake)

    if inside:
        with mode:
            out, made, others, cast, deep = steps()
    else:
        out, made, others, cast, deep = steps()
    assert isinstance(out, FakeTensor)
    assert out.shape == (4, 4)
    assert fake.grad.layout is fake.layout
    assert isinstance(fake.grad, FakeTensor)
    assert made.layout is fake.layout
    assert made._nnz() == 0  # how many there are is not known
    assert dense.grad.layout is minitorch.strided
    assert [str(t.layout).removeprefix("torch.") for t in others] == list(LAYOUTS)
    assert cast.dtype is minitorch.float32
    assert type(deep) is FakeTensor
    assert deep.layout is fake.layout


def test_constructors_under_the_mode(mode):
    with mode:
        x = minitorch.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 2.0], (2, 2))
        y = minitorch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), device="cuda")
        z = minitorch.zeros(2, 3, layout=minitorch.sparse_coo)
        values = minitorch.ones(2, requires_grad=True)
        minitorch.sparse_coo_tensor([[0, 1], [0, 1]], values, (2, 2)).to_dense().sum().backward()
    assert [type(t) for t in (x, y, z, values.grad)] == [FakeTensor] * 4
    assert (x._nnz(), y._nnz(), z._nnz()) == (2, 2, 0)
    assert y.device.type == "cuda"
    assert y.values().device.type == "cuda"


def test_changes_in_place_are_seen(mode):
    fake = mode.from_tensor(sample("plain", "sparse_coo"))
    before = fake._version
    fake.sparse_resize_((5, 6), 2, 0)
    assert fake.shape == (5, 6)
    assert fake._version > before
    fake.zero_()
    assert fake._nnz() == 0


def test_real_tensors_are_refused_beside_fake_ones(mode):
    real = sample("plain", "sparse_csr")
    with mode, pytest.raises(AssertionError, match="from_tensor"):
        real.to_dense()
    with FakeTensorMode(allow_non_fake_inputs=True):
        assert type(real.to_dense()) is FakeTensor


@pytest.mark.parametrize("layout", LAYOUTS)
def test_meta_tensors_keep_the_number_of_values(layout):
    meta = sample("plain", layout).to("meta")
    assert meta._nnz() == sample("plain", layout)._nnz()
    assert meta.to_dense().is_meta
    assert dense_of("plain").to("meta").sparse_mask(meta).layout is meta.layout
    assert dense_of("plain").to("meta").to_sparse()._nnz() == 0
    with pytest.raises(NotImplementedError, match="no data"):
        meta.cpu()
