"""Damaged and hostile files give a clear error, and run nothing."""

from __future__ import annotations

import io
import os
import pickle
import random
import struct
import warnings
import zipfile
from collections import OrderedDict

import pytest

import minitorch as mt

CLEAR = (RuntimeError, pickle.UnpicklingError, EOFError)
DAMAGED_FILES = int(os.environ.get("MINITORCH_DAMAGED_FILES", "400"))


def sample():
    x = mt.arange(6.0).reshape(2, 3)
    layer = mt.nn.Linear(2, 2)
    return {"x": [x, x[0], x.t()], "state": layer.state_dict(), "n": [1, "a", (2, b"c"), None], "u": mt.ones(2, dtype=mt.uint16)}


def saved(obj):
    file = io.BytesIO()
    mt.save(obj, file)
    return file.getvalue()


def with_pickle(data, pickled):
    """Return an archive with another pickle, its checksum right."""
    source = zipfile.ZipFile(io.BytesIO(data))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as target:
        for info in source.infolist():
            content = source.read(info) if not info.filename.endswith("data.pkl") else pickled
            target.writestr(info.filename, content)
    return out.getvalue()


def load(data):
    return mt.load(io.BytesIO(data))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_damaged_files():
    rng = random.Random(int(os.environ.get("MINITORCH_SEED", "1")))
    data = saved(sample())
    pickled = zipfile.ZipFile(io.BytesIO(data)).read("archive/data.pkl")
    failures = 0
    for _ in range(DAMAGED_FILES):
        kind = rng.randrange(4)
        damaged = bytearray(pickled if kind >= 2 else data)
        if kind == 0:
            damaged = damaged[: rng.randrange(len(damaged))]
        elif kind == 3 and rng.random() < 0.3:
            at = rng.randrange(len(damaged))
            damaged[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        else:
            for _ in range(rng.randrange(1, 6)):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        whole = with_pickle(data, bytes(damaged)) if kind >= 2 else bytes(damaged)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", ResourceWarning)
                load(whole)
        except CLEAR:
            failures += 1
    assert failures > DAMAGED_FILES // 4


def hostile(*parts):
    return with_pickle(saved([mt.ones(2)]), b"\x80\x02" + b"".join(parts) + b".")


def text(value):
    raw = value.encode()
    return b"X" + struct.pack("<I", len(raw)) + raw


@pytest.mark.parametrize(
    "parts",
    [
        (b"cos\nsystem\n", text("touch hacked"), b"\x85R"),
        (b"cbuiltins\neval\n", text("1"), b"\x85R"),
        (b"cposix\nsystem\n", text("touch hacked"), b"\x85R"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n", text("x"), b"\x85R"),
        (b"ctorch\nTensor\n", b"K\x05", b"\x85R"),
        (b"ctorch\nTensor\n", b"}", text("add"), b"K\x01", b"s", b"b"),
        (b"ccollections\nOrderedDict\n", b"}", text("get"), b"K\x01", b"s", b"b"),
        (b"ctorch._utils\n_rebuild_tensor_v2\n", b"}", text("__code__"), b"K\x01", b"s", b"b"),
        (b"ctorch.nn.modules.linear\nLinear\n", b"K\x02K\x02\x86", b"R"),
        (b"(cos\nsystem\n", text("touch hacked"), b"o"),
        (b"(", text("touch hacked"), b"ios\nsystem\n"),
        (b"ccollections\nOrderedDict\n", b")\x81", b"K\x01", b"a"),
        (text("storage"), b"Q"),
        (b"\x82\x01",),
        (b"h\x09",),
    ],
)
def test_hostile_pickles(parts, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    add = mt.Tensor.add
    with pytest.raises(CLEAR):
        load(hostile(*parts))
    assert os.listdir(tmp_path) == []
    assert mt.Tensor.add is add
    assert OrderedDict(a=1).get("a") == 1


def tensor_pickle(*, count=2, size=b"K\x02", offset=b"K\x00", stride=b"K\x01", key="0", kind=b"ctorch\nFloatStorage\n"):
    pid = b"(" + text("storage") + kind + text(key) + text("cpu") + b"J" + struct.pack("<i", count) + b"tQ"
    rest = offset + b"(" + size + b"t(" + stride + b"t\x89ccollections\nOrderedDict\n)R"
    return b"ctorch._utils\n_rebuild_tensor_v2\n", b"(" + pid + rest + b"tR"


def test_tensors_that_reach_outside_their_storage():
    assert load(hostile(*tensor_pickle())).tolist() == [1, 1]
    large = b"\x8a\x08" + struct.pack("<q", 1 << 61)
    negative = b"J" + struct.pack("<i", -1)
    for change in (
        {"size": b"K\x03"}, {"offset": b"K\x01"}, {"stride": b"K\x02"}, {"size": large}, {"size": negative},
        {"offset": negative}, {"stride": negative}, {"count": 1 << 30}, {"count": -1}, {"key": "7"}, {"key": "../0"},
        {"size": text("a")}, {"kind": b"ccollections\nOrderedDict\n"}, {"kind": b"ctorch\nDoubleStorage\n"},
        {"size": large, "stride": b"K\x00"},
    ):
        with pytest.raises(CLEAR):
            print(change, load(hostile(*tensor_pickle(**change))).shape)


def test_archives_that_are_none():
    for data in (b"PK\x03\x04", b"hello", b"\x80\x02.", pickle.dumps({"a": 1})):
        with pytest.raises(CLEAR, match=r"load\(\)"):
            load(data)
    with pytest.raises(EOFError):
        load(b"")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        source = zipfile.ZipFile(io.BytesIO(saved([mt.ones(9)])))
        for info in source.infolist():
            target.writestr(info.filename, source.read(info))
    with pytest.raises(RuntimeError, match="compressed"):
        load(out.getvalue())
    for names, match in ((("a/b.txt",), "no data.pkl"), (("a/data.pkl", "a/constants.pkl"), "TorchScript")):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as target:
            for name in names:
                target.writestr(name, b"")
        with pytest.raises(RuntimeError, match=match):
            load(out.getvalue())
