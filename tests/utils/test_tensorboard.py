"""`SummaryWriter` on whichever library is installed."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import minitorch
from minitorch.utils.tensorboard import SummaryWriter


class Recorder:
    """Stands for a library's writer: keeps what it is told."""

    made: list[Recorder] = []

    def __init__(self, logdir=None, **options):
        self.logdir = logdir
        self.options = options
        self.calls = []
        Recorder.made.append(self)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.calls.append((name, args, kwargs))


@pytest.fixture
def recorder(monkeypatch):
    Recorder.made = []
    monkeypatch.setitem(sys.modules, "tensorboardX", SimpleNamespace(SummaryWriter=Recorder))
    return Recorder


def test_tensors_reach_tensorboardx_as_arrays(recorder):
    with SummaryWriter("folder", purge_step=3) as writer:
        writer.add_scalar("loss", minitorch.tensor(1.5, requires_grad=True), 7)
        writer.add_scalars("both", {"a": minitorch.tensor(1), "b": 2.0})
        writer.add_histogram("weights", minitorch.ones(3, dtype=minitorch.bfloat16), bins="auto")
        writer.add_image("image", img_tensor=minitorch.zeros(3, 2, 2))
    (made,) = recorder.made
    assert (made.logdir, made.options["purge_step"]) == ("folder", 3)
    assert writer.get_logdir() == "folder"
    names = [name for name, _, _ in made.calls]
    assert names == ["add_scalar", "add_scalars", "add_histogram", "add_image", "close"]
    value = made.calls[0][1][1]
    assert isinstance(value, np.ndarray)
    assert value == 1.5
    assert made.calls[1][1][1] == {"a": np.array(1), "b": 2.0}
    assert made.calls[2][1][1].dtype == np.float32
    assert made.calls[2][2] == {"bins": "auto"}
    assert made.calls[3][2]["img_tensor"].shape == (3, 2, 2)


def test_what_is_not_there(recorder):
    writer = SummaryWriter("folder")
    with pytest.raises(AttributeError, match="add_colour"):
        _ = writer.add_colour
    with pytest.raises(NotImplementedError, match="viz"):
        writer.add_graph(None)
    with pytest.raises(NotImplementedError, match="add_histogram"):
        writer.add_tensor("t", None)


def test_tensorboard_alone_writes_scalars(monkeypatch):
    Recorder.made = []
    summary = SimpleNamespace(Writer=Recorder)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)  # as if it were not installed
    monkeypatch.setitem(sys.modules, "tensorboard", SimpleNamespace(summary=summary))
    with SummaryWriter("folder") as writer:
        writer.add_scalar("loss", minitorch.tensor(1.5), 7)
        writer.add_scalars("main/tag", {"a": 1, "b": 2}, 1)
        with pytest.raises(NotImplementedError, match="add_image.*tensorboardX"):
            writer.add_image("x", minitorch.zeros(1))
    assert [made.logdir for made in Recorder.made] == ["folder", "folder/main_tag_a", "folder/main_tag_b"]
    assert Recorder.made[0].calls[0] == ("add_scalar", ("loss", 1.5, 7), {"wall_time": None})
    assert all(made.calls[-1][0] == "close" for made in Recorder.made)
    with pytest.raises(ImportError, match="purge_step"):
        SummaryWriter("folder", purge_step=1)


def test_without_a_library_the_error_says_which(monkeypatch):
    for name in ("tensorboardX", "tensorboard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install tensorboardX"):
        SummaryWriter("folder")


def test_the_real_library_writes_events(tmp_path):
    pytest.importorskip("tensorboardX", reason="writes the files")
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", minitorch.tensor(1.5), 7)
        writer.add_histogram("weights", minitorch.randn(100))
        writer.add_text("note", "some words")
        writer.add_embedding(minitorch.randn(4, 3), metadata=list("abcd"))
        writer.add_pr_curve("curve", minitorch.tensor([0, 1, 1]), minitorch.tensor([0.1, 0.6, 0.9]))
        writer.add_images("images", minitorch.rand(2, 3, 4, 4))
    (file,) = tmp_path.glob("events.out.tfevents.*")
    written = file.read_bytes()
    for word in (b"loss", b"weights", b"some words", b"curve", b"images"):
        assert word in written
