"""dtypes: identity, names, limits, the way to NumPy and back."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from minitorch.core import dtype as dt

ALL = list(dt.DTYPES.values())


@pytest.mark.parametrize("d", ALL, ids=str)
def test_is_one_object_however_copied(d):
    assert pickle.loads(pickle.dumps(d)) is d
    assert copy.copy(d) is d
    assert copy.deepcopy([d])[0] is d


@pytest.mark.parametrize("d", ALL, ids=str)
def test_numpy_and_back(d):
    array = np.zeros(2, d.np)
    assert dt.from_numpy_dtype(array.dtype) is d
    assert d.itemsize == array.itemsize


def test_text_is_pytorchs():
    assert repr(dt.float32) == "torch.float32"
    assert str(dt.bool_) == "torch.bool"
    assert f"{dt.bfloat16}" == "torch.bfloat16"


def test_equal_numpy_dtypes_of_another_object():
    assert dt.from_numpy_dtype(np.dtype("longlong")) is dt.int64
    assert dt.from_numpy_dtype(np.float32) is dt.float32
    assert dt.from_numpy_dtype(ml_dtypes.bfloat16) is dt.bfloat16


def test_foreign_byte_order_is_refused():
    with pytest.raises(TypeError, match="byte order"):
        dt.from_numpy_dtype(np.dtype(">f4"))


@pytest.mark.parametrize("name", ["U3", "O", "M8[s]", "f4,i4"])
def test_numpy_types_without_a_dtype(name):
    with pytest.raises(TypeError, match=r"can't convert np.ndarray of type numpy"):
        dt.from_numpy_dtype(np.dtype(name))


def test_kinds():
    assert dt.float8_e5m2.is_floating_point
    assert not dt.complex64.is_floating_point
    assert dt.complex64.is_complex
    assert not dt.bool_.is_signed
    assert not dt.uint64.is_signed
    assert dt.int8.is_signed
    assert (dt.half, dt.long, dt.float, dt.int) == (dt.float16, dt.int64, dt.float32, dt.int32)


def test_real_and_complex_partners():
    assert dt.float64.to_complex() is dt.complex128
    assert dt.bfloat16.to_complex() is dt.complex64
    assert dt.complex64.to_complex() is dt.complex64
    assert dt.complex128.to_real() is dt.float64
    assert dt.int8.to_real() is dt.int8
    for d in (dt.int8, dt.bool_, dt.float8_e5m2):
        with pytest.raises(RuntimeError, match="Unknown Complex ScalarType"):
            d.to_complex()


def test_default_dtype_is_set_and_announced():
    heard = []
    dt.on_default_dtype_change(heard.append)
    try:
        dt.set_default_dtype(dt.float64)
        assert dt.get_default_dtype() is dt.float64
        assert dt.get_default_complex_dtype() is dt.complex128
        assert dt.finfo().bits == 64
    finally:
        dt.set_default_dtype(dt.float32)
        dt._default_listeners.remove(heard.append)
    assert heard == [dt.float64, dt.float32]


@pytest.mark.parametrize("wrong", [dt.int32, dt.complex64, dt.bool_, dt.float8_e5m2, "float32"])
def test_default_dtype_must_be_floating(wrong):
    with pytest.raises(TypeError, match="only floating-point types"):
        dt.set_default_dtype(wrong)
    assert dt.get_default_dtype() is dt.float32


def test_limits():
    assert dt.finfo(dt.bfloat16).max == 3.3895313892515355e38
    assert dt.finfo(dt.complex64) == dt.finfo(dt.float32)
    assert repr(dt.finfo(dt.bfloat16)) == (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
    )
    assert repr(dt.iinfo(dt.uint8)) == "iinfo(min=0, max=255, dtype=uint8)"
    assert (dt.iinfo(dt.int64).min, dt.iinfo(dt.uint64).max) == (-(2**63), 2**64 - 1)
    with pytest.raises(TypeError, match="floating point input type"):
        dt.finfo(dt.int8)
    with pytest.raises(TypeError, match="integer input type"):
        dt.iinfo(dt.float16)
    with pytest.raises(TypeError, match=r"not supported by torch.iinfo"):
        dt.iinfo(dt.bool_)


@pytest.mark.parametrize(
    "d", [d for d in ALL if d.category == 2 and d.name[:6] != "float8"], ids=str
)
def test_limits_agree_with_the_library_that_defines_the_type(d):
    theirs = ml_dtypes.finfo(d.np)
    ours = dt.finfo(d)
    assert ours.max == float(theirs.max)
    assert ours.eps == float(theirs.eps)
    assert ours.tiny == float(theirs.smallest_normal)


@pytest.mark.oracle
@pytest.mark.parametrize("d", ALL, ids=str)
def test_attributes_and_limits_against_torch(d, torch):
    theirs = getattr(torch, d.name)
    assert repr(d) == repr(theirs)
    for name in ("is_floating_point", "is_complex", "is_signed", "itemsize"):
        assert getattr(d, name) == getattr(theirs, name), name
    assert repr(d.to_real()) == repr(theirs.to_real())
    assert d.abbr == theirs.abbr
    if d.category >= 2:
        ours, theirs = dt.finfo(d), torch.finfo(theirs)
        names = ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")
    elif d.category == 1:
        ours, theirs = dt.iinfo(d), torch.iinfo(theirs)
        names = ("bits", "max", "min", "dtype")
    else:
        return
    assert repr(ours) == repr(theirs)
    for name in names:
        assert getattr(ours, name) == getattr(theirs, name), name
