"""Files of PyTorch load here, and ours load there."""

from __future__ import annotations

import io
import warnings
from collections import OrderedDict

import pytest

import minitorch as mt

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

DTYPES = (
    "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
)


def trained(m):
    m.manual_seed(0)
    layer = m.nn.Linear(3, 2)
    optimizer = m.optim.Adam(layer.parameters(), lr=0.1)
    layer(m.ones(1, 3)).sum().backward()
    optimizer.step()
    return layer, optimizer


def tagged(m):
    p = m.nn.Parameter(m.ones(2))
    p.tag = "kept"
    return p


KINDS = {
    "tensor": lambda m: m.arange(12.0).reshape(3, 4),
    "view": lambda m: m.arange(12.0).reshape(3, 4)[1:, 2:],
    "transposed": lambda m: m.arange(12.0).reshape(3, 4).t(),
    "expanded": lambda m: m.ones(1, 3).expand(4, 3),
    "shared": lambda m: (lambda x: [x, x[0], x[:, 1]])(m.arange(12.0).reshape(3, 4)),
    "empty": lambda m: m.ones(0, 3),
    "scalar": lambda m: m.tensor(3.5),
    "channels last": lambda m: m.ones(2, 3, 4, 5).to(memory_format=m.channels_last),
    "dtypes": lambda m: {name: m.ones(3).to(getattr(m, name)) for name in DTYPES},
    "requires grad": lambda m: m.ones(2, requires_grad=True),
    "parameter": lambda m: m.nn.Parameter(m.ones(2, 3)),
    "parameter with attributes": tagged,
    "buffer": lambda m: m.nn.Buffer(m.ones(2)),
    "state_dict": lambda m: trained(m)[0].state_dict(),
    "batch norm": lambda m: m.nn.BatchNorm2d(3).state_dict(),
    "optimizer": lambda m: trained(m)[1].state_dict(),
    "dtype": lambda m: m.float16,
    "device": lambda m: m.device("cpu"),
    "size": lambda m: m.Size([1, 2]),
    "layout": lambda m: m.strided,
    "meta": lambda m: m.ones(2, 3, device="meta"),
    "values": lambda m: {"a": [1, 2.5, "x", None, True, (1, 2), {1, 2}, b"abc", 2**70, complex(1, 2), bytearray(b"x")]},
    "ordered": lambda m: OrderedDict(a=m.ones(1), b=[m.zeros(2)]),
    "conjugate": lambda m: m.tensor([1 + 2j]).conj(),
}


def same(a, b):
    """Assert that a value of torch and one of ours are the same."""
    if isinstance(a, torch.Tensor):
        assert isinstance(b, mt.Tensor)
        assert tuple(a.shape) == tuple(b.shape)
        assert str(a.dtype) == str(b.dtype)
        assert a.requires_grad == b.requires_grad
        assert type(a).__name__ == type(b).__name__
        assert getattr(a, "tag", None) == getattr(b, "tag", None)
        assert 0 in a.shape or a.stride() == b.stride()
        if a.device.type != "meta":
            wide = "complex128" if a.is_complex() else "float64"
            expected = a.detach().to(getattr(torch, wide)).reshape(-1).tolist()
            assert b.detach().to(getattr(mt, wide)).reshape(-1).tolist() == pytest.approx(expected, rel=1e-5)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for x, y in zip(a.values(), b.values(), strict=True):
            same(x, y)
    elif isinstance(a, (list, tuple)) and not isinstance(a, torch.Size):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert str(a) == str(b)


def file_of(m, obj, **options):
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m.save(obj, file, **options)
    file.seek(0)
    return file


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways(kind):
    theirs, ours = KINDS[kind](torch), KINDS[kind](mt)
    same(theirs, mt.load(file_of(torch, theirs)))
    same(torch.load(file_of(mt, ours)), ours)


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in ("meta", "dtypes")])
def test_the_old_format(kind):
    theirs = KINDS[kind](torch)
    same(theirs, mt.load(file_of(torch, theirs, _use_new_zipfile_serialization=False)))


def test_sharing_in_the_old_format():
    x = torch.arange(12.0).reshape(3, 4)
    all_, row = mt.load(file_of(torch, [x, x[0]], _use_new_zipfile_serialization=False))
    all_[0, 0] = 9
    assert row[0] == 9


def test_whole_modules():
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.LayerNorm(3))
    file = file_of(torch, theirs)
    with pytest.raises(Exception, match="add_safe_globals"):
        mt.load(file)
    file.seek(0)
    ours = mt.load(file, weights_only=False)
    same(theirs(torch.ones(1, 2)).detach(), ours(mt.ones(1, 2)).detach())
    back = torch.load(file_of(mt, ours), weights_only=False)
    same(back(torch.ones(1, 2)).detach(), ours(mt.ones(1, 2)).detach())


def test_mapped(tmp_path):
    path = str(tmp_path / "x.pt")
    mt.save({"x": mt.arange(1000.0)}, path)
    same(torch.load(path, mmap=True)["x"], mt.load(path, mmap=True)["x"])
    torch.save({"x": torch.arange(1000.0)}, path)
    same(torch.load(path, mmap=True)["x"], mt.load(path, mmap=True)["x"])
