"""Storages: what tensors and views share."""

from __future__ import annotations

import copy

import pytest

import minitorch


def test_views_share_their_storage_and_clones_do_not():
    x = minitorch.arange(6, dtype=minitorch.float32)
    view = x.view(2, 3)[:, 1:]
    assert view.untyped_storage() == x.untyped_storage()
    assert view.untyped_storage().data_ptr() == x.data_ptr()
    assert view.clone().untyped_storage() != x.untyped_storage()


def test_size_bytes_and_device():
    storage = minitorch.tensor([1, 258], dtype=minitorch.int16).untyped_storage()
    assert storage.nbytes() == len(storage) == 4
    assert storage.tolist() == [1, 0, 2, 1]
    assert storage.device == minitorch.device("cpu")
    meta = minitorch.empty(3, device="meta").untyped_storage()
    assert (meta.nbytes(), meta.data_ptr()) == (12, 0)


def test_storages_of_their_own():
    storage = minitorch.UntypedStorage(8)
    storage.fill_(0)
    storage[3] = 300  # a byte wraps
    storage[-1] = 7
    assert (storage[3], storage.tolist(), len(storage)) == (44, [0, 0, 0, 44, 0, 0, 0, 7], 8)
    x = minitorch.tensor([]).set_(storage)
    x.fill_(1.0)
    assert storage.tolist() == [0, 0, 128, 63] * 2
    assert len(minitorch.TypedStorage(wrap_storage=storage, dtype=minitorch.float32)) == 2
    assert minitorch.UntypedStorage([1, 2, 3]).tolist() == [1, 2, 3]
    assert len(minitorch.UntypedStorage()) == 0
    assert minitorch.UntypedStorage(4, device="meta").device.type == "meta"
    for index in (8, -9):
        with pytest.raises(IndexError, match="storage of size 8"):
            storage[index]
        with pytest.raises(IndexError, match="storage of size 8"):
            storage[index] = 1
    with pytest.raises(RuntimeError, match="not -1"):
        minitorch.UntypedStorage(-1)
    with pytest.raises(TypeError, match="sequence of integers"):
        minitorch.UntypedStorage("a")


def test_a_copy_without_elements_can_grow():
    """Its array lies somewhere else than its storage, which must not count as its offset."""
    for _ in range(50):
        x = copy.deepcopy(minitorch.tensor([]))
        assert x.storage_offset() == 0
        x.resize_(32).fill_(1.0)
        assert x.sum() == 32
