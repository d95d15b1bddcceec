"""`TypedStorage`, and the old classes of storages."""

from __future__ import annotations

import pytest

import minitorch as mt


def test_a_storage_shows_the_whole_memory():
    x = mt.arange(6.0).reshape(2, 3)
    storage = x[1].storage()
    assert len(storage) == storage.size() == 6
    assert storage.tolist() == list(storage) == [0, 1, 2, 3, 4, 5]
    assert (storage.nbytes(), storage.element_size(), storage.dtype) == (24, 4, mt.float32)
    assert storage.data_ptr() == x.data_ptr()
    storage[-1] = 9.0
    assert x[1, 2] == 9
    assert storage[5] == 9.0
    assert storage == x.storage()
    assert storage != mt.ones(6).storage()
    assert mt.is_storage(storage)
    assert storage.untyped() == x.untyped_storage()
    storage.fill_(2)
    assert x.sum() == 12


def test_bad_indices():
    storage = mt.ones(3).storage()
    with pytest.raises(IndexError, match="index 3 out of range for storage of size 3"):
        storage[3]
    with pytest.raises(RuntimeError, match="slices"):
        storage[0:1]
    with pytest.raises(TypeError, match="can't index a torch.FloatStorage with str"):
        storage["a"]


def test_copies_and_casts():
    storage = mt.FloatStorage([1.5, 2.5])
    assert storage.int().tolist() == [1, 2]
    assert storage.double().dtype is mt.float64
    assert storage.type("torch.LongStorage").tolist() == [1, 2]
    assert storage.float() is storage
    other = storage.clone()
    other.copy_(mt.DoubleStorage([7, 8]))
    assert other.tolist() == [7.0, 8.0]
    assert storage.tolist() == [1.5, 2.5]
    storage.resize_(4)
    assert storage.size() == 4
    assert storage.tolist()[:2] == [1.5, 2.5]
    assert storage.to("meta").device == mt.device("meta")
    with pytest.raises(RuntimeError, match="no storage is called 'WrongStorage'"):
        storage.type("WrongStorage")


def test_old_classes():
    assert mt.LongStorage(3).size() == 3
    assert mt.BoolStorage([True]).tolist() == [True]
    assert isinstance(mt.ones(2).storage(), mt.FloatStorage)
    assert not isinstance(mt.ones(2).storage(), mt.LongStorage)
    assert mt.ones(1, dtype=mt.int16).storage_type() is mt.ShortStorage
    assert mt.ones(1).storage().pickle_storage_type() == "FloatStorage"
    assert repr(mt.FloatStorage([1, 2])) == " 1.0\n 2.0\n[torch.storage.TypedStorage(dtype=torch.float32, device=cpu) of size 2]"


def test_set_takes_one():
    x = mt.arange(4.0)
    y = mt.empty(0).set_(x.storage(), 1, (2,))
    y.zero_()
    assert x.tolist() == [0, 0, 0, 3]
