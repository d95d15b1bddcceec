"""Storages: what tensors and views share."""

from __future__ import annotations

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
