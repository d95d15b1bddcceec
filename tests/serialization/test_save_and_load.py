"""`save` and `load`: what is saved comes back, sharing and all."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest

import minitorch as mt
from minitorch import serialization


def round_trip(obj, **options):
    file = io.BytesIO()
    mt.save(obj, file)
    file.seek(0)
    return mt.load(file, **options)


def entries(obj):
    file = io.BytesIO()
    mt.save(obj, file)
    return {info.filename: info for info in zipfile.ZipFile(file).infolist()}


@pytest.mark.parametrize(
    "name",
    [
        "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "bool", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2",
    ],
)
def test_every_dtype(name):
    dtype = getattr(mt, name)
    x = mt.tensor([0.0, 1.0, 2.0]).to(dtype)
    y = round_trip(x)
    assert y.dtype is dtype
    assert y.view(mt.uint8).tolist() == x.view(mt.uint8).tolist() if name != "bool" else y.tolist() == x.tolist()


def test_geometry_and_sharing_survive():
    x = mt.arange(24.0).reshape(4, 6)
    saved = {"all": x, "rows": x[1:3], "columns": x[:, ::2], "t": x.t(), "wide": x[:1].expand(5, 6), "flat": x.view(-1)}
    loaded = round_trip(saved)
    for key, value in saved.items():
        assert loaded[key].stride() == value.stride()
        np.testing.assert_array_equal(loaded[key].numpy(), value.numpy())
    loaded["all"][1, 0] = -1
    assert loaded["rows"][0, 0] == -1
    assert loaded["flat"][6] == -1
    for empty in (mt.ones(0, 3), mt.tensor(2.5)):
        assert round_trip(empty).shape == empty.shape
    flipped = mt.arange(4)[::-1]
    assert round_trip(flipped).tolist() == [3, 2, 1, 0]


def test_only_the_bytes_that_are_shown_are_written():
    big = mt.arange(100_000.0)
    assert entries(big[500:502])["archive/data/0"].file_size <= 32
    both = entries([big[:2], big[5:7]])
    assert both["archive/data/0"].file_size <= 32
    assert "archive/data/1" not in both
    a, b = round_trip([big[10:20], big[15:30]])
    assert a.tolist() == list(range(10, 20))
    a[5] = -7
    assert b[0] == -7
    assert round_trip([big[10:20], big.untyped_storage()])[1].nbytes() == 400_000


def test_two_views_of_different_dtype_share():
    x = mt.tensor([1.0, 2.0])
    y, z = round_trip([x, x.view(mt.int32)])
    y[0] = 0
    assert z[0] == 0


def test_parameters_modules_and_attributes():
    layer = mt.nn.Linear(3, 2)
    state = round_trip(layer.state_dict())
    assert type(state) is OrderedDict
    assert state._metadata == layer.state_dict()._metadata
    other = mt.nn.Linear(3, 2)
    other.load_state_dict(state)
    assert mt.equal(other.weight, layer.weight)
    parameter = mt.nn.Parameter(mt.ones(2))
    parameter.tag = "kept"
    again = round_trip(parameter)
    assert type(again) is mt.nn.Parameter
    assert again.tag == "kept"
    assert again.requires_grad
    frozen = round_trip(mt.nn.Parameter(mt.ones(2), requires_grad=False))
    assert not frozen.requires_grad
    assert round_trip(mt.ones(2, requires_grad=True)).requires_grad
    optimizer = mt.optim.Adam(layer.parameters())
    layer(mt.ones(1, 3)).sum().backward()
    optimizer.step()
    loaded = round_trip(optimizer.state_dict())
    mt.optim.Adam(layer.parameters()).load_state_dict(loaded)
    assert mt.equal(loaded["state"][0]["exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"])


def test_plain_values():
    values = {
        "a": [1, 2.5, "x", None, True, (1, 2), {1, 2}, b"abc", 2**70, complex(1, 2), bytearray(b"x"), frozenset([1])],
        "dtype": mt.float16, "device": mt.device("cpu"), "size": mt.Size([1, 2]), "layout": mt.strided,
    }
    assert round_trip(values) == values
    meta = round_trip(mt.ones(2, 3, device="meta"))
    assert (meta.device.type, meta.shape) == ("meta", (2, 3))


class Point:
    def __init__(self, x):
        self.x = x


def test_objects_need_permission():
    file = io.BytesIO()
    mt.save(Point(mt.ones(2)), file)
    file.seek(0)
    with pytest.raises(Exception, match="add_safe_globals"):
        mt.load(file)
    file.seek(0)
    with serialization.safe_globals([Point]):
        assert mt.load(file).x.tolist() == [1, 1]
        file.seek(0)
    with pytest.raises(Exception, match="Point is not allowed"):
        mt.load(file)
    file.seek(0)
    assert mt.load(file, weights_only=False).x.tolist() == [1, 1]
    model = mt.nn.Sequential(mt.nn.Linear(2, 2), mt.nn.ReLU())
    again = round_trip(model, weights_only=False)
    assert mt.equal(again(mt.ones(1, 2)), model(mt.ones(1, 2)))


def test_modules_of_this_package_can_be_permitted():
    """Files name them as PyTorch does, the user names the classes."""
    model = mt.nn.Sequential(mt.nn.Linear(2, 2), mt.nn.ReLU())
    with pytest.raises(Exception, match=r"torch\.nn\.modules\.container\.Sequential is not allowed"):
        round_trip(model)
    with serialization.safe_globals([mt.nn.Sequential, mt.nn.Linear, mt.nn.ReLU]):
        again = round_trip(model)
    assert mt.equal(again(mt.ones(1, 2)), model(mt.ones(1, 2)))


def test_where_storages_go():
    x = mt.ones(2, 3)
    file = io.BytesIO()
    mt.save([x, x[0]], file)

    def load(**options):
        file.seek(0)
        return mt.load(file, **options)

    assert load(map_location="meta")[1].device.type == "meta"
    assert load(map_location=mt.device("cpu"))[0].tolist() == x.tolist()
    assert load(map_location={"cpu": "meta"})[0].shape == (2, 3)
    seen = []
    result = load(map_location=lambda storage, location: seen.append((storage.nbytes(), location)))
    assert seen == [(24, "cpu")]
    result[0][0, 0] = 5
    assert result[1][0] == 5
    assert load(map_location=lambda storage, location: storage)[0].tolist() == x.tolist()
    with pytest.raises(RuntimeError, match="map_location"):
        load(map_location={"cpu": "cuda:7"})
    with pytest.raises(TypeError, match="map_location must be"):
        load(map_location=3)
    with pytest.raises(TypeError, match="must return a storage"):
        load(map_location=lambda storage, location: 3)


def test_mapped_files_are_not_written(tmp_path):
    path = tmp_path / "x.pt"
    mt.save({"x": mt.arange(1000.0), "y": mt.ones(3, dtype=mt.int64)}, path)
    loaded = mt.load(path, mmap=True)
    assert loaded["x"].data_ptr() % 64 == 0
    loaded["x"][0] = 9
    assert loaded["x"][0] == 9
    assert mt.load(str(path))["x"][0] == 0
    assert loaded["y"].tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="path"):
        mt.load(io.BytesIO(path.read_bytes()), mmap=True)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "model.pt"
    mt.save(mt.ones(3), path)
    before = path.read_bytes()

    class Breaks:
        def __reduce__(self):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        mt.save([mt.zeros(3), Breaks()], path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.pt"]
    path.chmod(0o640)
    mt.save(mt.zeros(3), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    link = tmp_path / "latest.pt"
    link.symlink_to(path)
    mt.save(mt.ones(1), link)
    assert link.is_symlink()
    assert mt.load(path).tolist() == [1]
    with pytest.raises(RuntimeError, match="Parent directory"):
        mt.save(1, tmp_path / "none" / "x.pt")
    with pytest.raises(IsADirectoryError):
        mt.save(1, tmp_path)
    with pytest.raises(FileNotFoundError):
        mt.load(tmp_path / "none.pt")
    with pytest.raises(AttributeError, match="write"):
        mt.save(1, 3)
    with pytest.raises(AttributeError, match="read"):
        mt.load(3)


def test_the_same_object_makes_the_same_file():
    def bytes_of():
        file = io.BytesIO()
        mt.save({"a": mt.ones(3), "b": [mt.zeros(2)]}, file)
        return file.getvalue()

    assert bytes_of() == bytes_of()


def test_in_the_middle_of_a_file():
    file = io.BytesIO()
    file.write(b"header")
    mt.save([1, mt.ones(2)], file)
    file.seek(6)
    assert mt.load(file)[1].tolist() == [1, 1]


def test_counters_and_memory_formats():
    saved = {"counts": Counter("aab"), "format": mt.channels_last}
    loaded = round_trip(saved)
    assert type(loaded["counts"]) is Counter
    assert loaded["counts"] == saved["counts"]
    assert loaded["format"] is mt.channels_last
