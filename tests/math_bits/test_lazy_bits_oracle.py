"""Which results are conjugate or negative views, and their strides, as PyTorch has them."""

from __future__ import annotations

import warnings

import pytest

import minitorch as mt

pytestmark = pytest.mark.oracle


def _made(f):
    x = f.arange(12.0).reshape(3, 4)
    c = f.complex(x, x + 1)
    return x, c, c.conj()


# name: function of (module, x, c, v): x real, c complex, v the conjugate view of c
CHAINS = {
    "conj conj": lambda f, x, c, v: v.conj(),
    "adjoint": lambda f, x, c, v: v.adjoint(),
    "mH": lambda f, x, c, v: c.mH,
    "imag": lambda f, x, c, v: v.imag,
    "imag t": lambda f, x, c, v: v.imag.t(),
    "imag of a part": lambda f, x, c, v: v.t()[1:].imag,
    "real": lambda f, x, c, v: v.real,
    "neg": lambda f, x, c, v: -v,
    "neg imag": lambda f, x, c, v: -v.imag,
    "conj imag": lambda f, x, c, v: v.imag.conj(),
    "neg view": lambda f, x, c, v: v._neg_view(),
    "neg view real": lambda f, x, c, v: v._neg_view().real,
    "neg view imag": lambda f, x, c, v: v._neg_view().imag,
    "neg view conj": lambda f, x, c, v: v._neg_view().conj(),
    "view_as_complex": lambda f, x, c, v: f.view_as_complex(f._neg_view(x.reshape(3, 2, 2))),
    "view_as_real of neg": lambda f, x, c, v: f.view_as_real(f._neg_view(c)),
    "view": lambda f, x, c, v: v.view(4, 3),
    "view_as": lambda f, x, c, v: v.view_as(c),
    "reshape": lambda f, x, c, v: v.reshape(-1),
    "reshape copy": lambda f, x, c, v: v.t().reshape(-1),
    "flatten copy": lambda f, x, c, v: v.t().flatten(),
    "ravel": lambda f, x, c, v: v.ravel(),
    "as_strided": lambda f, x, c, v: v.as_strided((2, 2), (1, 2), 1),
    "expand": lambda f, x, c, v: v[0].expand_as(c),
    "expand clone": lambda f, x, c, v: v[0].expand(3, 4).clone(),
    "diagonal": lambda f, x, c, v: v.diagonal(),
    "unfold": lambda f, x, c, v: v.unfold(0, 2, 1),
    "movedim": lambda f, x, c, v: v.movedim(0, 1),
    "chunk": lambda f, x, c, v: v.chunk(2)[1],
    "tensor_split": lambda f, x, c, v: v.tensor_split(2)[1],
    "unbind": lambda f, x, c, v: v.unbind(1)[1],
    "slice": lambda f, x, c, v: v[1:, ::2],
    "index": lambda f, x, c, v: v[[0, 1]],
    "detach": lambda f, x, c, v: v.detach(),
    "data": lambda f, x, c, v: v.data,
    "contiguous": lambda f, x, c, v: v.contiguous(),
    "contiguous copy": lambda f, x, c, v: v.t().contiguous(),
    "clone": lambda f, x, c, v: v.t().clone(),
    "clone of gaps": lambda f, x, c, v: v[:, ::2].clone(),
    "resolve": lambda f, x, c, v: v.t().resolve_conj(),
    "resolve the other": lambda f, x, c, v: v.resolve_neg(),
    "conj_physical": lambda f, x, c, v: v.t().conj_physical(),
    "_conj_physical": lambda f, x, c, v: f._conj_physical(v.t()),
    "positive": lambda f, x, c, v: v.positive(),
    "to": lambda f, x, c, v: v.to(f.complex128),
    "to real": lambda f, x, c, v: v.imag.to(f.float64),
    "type": lambda f, x, c, v: v.type(f.complex64),
    "zeros_like": lambda f, x, c, v: f.zeros_like(v.t()),
    "empty_like": lambda f, x, c, v: f.empty_like(v.t()),
    "add": lambda f, x, c, v: v.t() + 1,
    "mm": lambda f, x, c, v: v.t() @ c,
    "sum": lambda f, x, c, v: v.sum(0),
    "cat": lambda f, x, c, v: f.cat([v, v]),
    "where": lambda f, x, c, v: f.where(x > 3, v, c),
    "ihfft": lambda f, x, c, v: f.fft.ihfft(x),
    "meshgrid": lambda f, x, c, v: f.meshgrid(v[0], v[1], indexing="ij")[0],
    "t_": lambda f, x, c, v: c.conj().t_(),
    "as_strided_": lambda f, x, c, v: c.conj().as_strided_((2, 2), (1, 2), 1),
    "zero_": lambda f, x, c, v: c.clone().conj().zero_(),
    "add_": lambda f, x, c, v: c.clone().conj().add_(1),
    "conj_physical_": lambda f, x, c, v: c.clone().conj().conj_physical_(),
    "copy_": lambda f, x, c, v: c.clone().conj().copy_(v),
    "out": lambda f, x, c, v: f.add(c, 1, out=c.clone().conj()),
    "out resized": lambda f, x, c, v: f.add(c, 1, out=f.empty(0, dtype=f.complex64).conj()),
    "_conj_copy": lambda f, x, c, v: f._conj_copy(v),
    "_neg_view_copy": lambda f, x, c, v: f._neg_view_copy(v),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(torch, name):
    ours, theirs = (CHAINS[name](f, *_made(f)) for f in (mt, torch))
    assert (ours.is_conj(), ours.is_neg()) == (theirs.is_conj(), theirs.is_neg())
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.stride() == theirs.stride()
    if name != "empty_like":
        assert mt.testing.assert_close(ours.resolve_conj().resolve_neg(), mt.tensor(theirs.numpy(force=True))) is None


REFUSED = {
    "numpy": lambda f, x, c, v: v.numpy(),
    "numpy of neg": lambda f, x, c, v: v.imag.numpy(),
    "view_as_real": lambda f, x, c, v: f.view_as_real(v),
    "other dtype": lambda f, x, c, v: v.view(f.float32),
    "other dtype of neg": lambda f, x, c, v: v.imag.view(f.int32),
    "adjoint of a row": lambda f, x, c, v: v[0].adjoint(),
    "dlpack": lambda f, x, c, v: v.__dlpack__(),
    "_conj of real": lambda f, x, c, v: f._conj(x),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors(torch, name):
    raised = []
    for f in (mt, torch):
        with pytest.raises(Exception) as caught:
            REFUSED[name](f, *_made(f))
        raised.append(caught.type)
    assert raised[0] is raised[1]


def test_files_are_exchanged(torch, tmp_path):
    for writer, reader in ((mt, torch), (torch, mt)):
        c = writer.tensor([1 + 2j, 3 - 1j], dtype=writer.complex64)
        writer.save([c, c.conj()], tmp_path / "views.pt")
        plain, view = reader.load(tmp_path / "views.pt")
        assert not plain.is_conj()
        assert view.is_conj()
        assert view.tolist() == [1 - 2j, 3 + 1j]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            writer.save(c.conj()._neg_view(), tmp_path / "view.pt")
            both = reader.load(tmp_path / "view.pt")
        assert both.is_conj()
        assert both.is_neg()
        assert both.tolist() == [-1 + 2j, -3 - 1j]
