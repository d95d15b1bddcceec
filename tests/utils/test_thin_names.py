"""Names of PyTorch that have little behind them, and those that are refused."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import OrderedDict

import pytest

import minitorch
from minitorch import hub, nn
from minitorch.nn.modules import utils
from minitorch.testing import assert_close


@pytest.fixture
def repository(tmp_path):
    (tmp_path / "helper_of_this_test.py").write_text("WIDTH = 3\n")
    (tmp_path / "hubconf.py").write_text(
        "dependencies = ['torch', 'numpy']\n"
        "from helper_of_this_test import WIDTH\n"
        "import minitorch\n"
        "def net(height, bias=True):\n"
        "    'A layer.'\n"
        "    return minitorch.nn.Linear(WIDTH, height, bias=bias)\n"
        "_hidden = net\n"
    )
    yield tmp_path
    sys.modules.pop("helper_of_this_test", None)


@pytest.fixture
def weights(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_directory", str(tmp_path / "hub"))
    path = tmp_path / "net.pth"
    minitorch.save({"w": minitorch.ones(2)}, path)
    return path


def test_hub_loads_from_a_folder(repository):
    model = hub.load(repository, "net", 5, source="local", bias=False)
    assert (model.in_features, model.out_features, model.bias) == (3, 5, None)
    assert hub.list(repository, source="local") == ["net"]
    assert hub.help(repository, "net", source="local") == "A layer."
    assert str(repository) not in sys.path
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        hub.load(repository, "other", source="local")
    (repository / "hubconf.py").write_text("dependencies = ['no_such_package_at_all']\n")
    with pytest.raises(RuntimeError, match="no_such_package_at_all"):
        hub.load(repository, "net", source="local")


def test_hub_refuses_the_network():
    with pytest.raises(RuntimeError, match=r'source="local"'):
        hub.load("someone/repository", "net")
    with pytest.raises(ValueError, match="Unknown source"):
        hub.load("x", "net", source="gitlab")
    with pytest.raises(FileNotFoundError, match=r"hubconf\.py"):
        hub.load("/nonexistent", "net", source="local")
    with pytest.raises(RuntimeError, match="does not use the network"):
        hub.download_url_to_file("https://example.com/x.pth", "x.pth")


def test_weights_that_are_there_already(weights, tmp_path):
    url = "https://example.com/models/net.pth?x=1"
    with pytest.raises(RuntimeError, match=r"checkpoints.net\.pth"):
        hub.load_state_dict_from_url(url)
    (tmp_path / "hub" / "checkpoints").mkdir(parents=True)
    weights.rename(tmp_path / "hub" / "checkpoints" / "net.pth")
    assert_close(hub.load_state_dict_from_url(url)["w"], minitorch.ones(2))
    assert minitorch.utils.model_zoo.load_url is hub.load_state_dict_from_url


def test_files_by_url(weights, tmp_path):
    assert_close(hub.load_state_dict_from_url(weights.as_uri())["w"], minitorch.ones(2))
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    hub.download_url_to_file(weights.as_uri(), tmp_path / "copy.pth", hash_prefix=digest[:8])
    assert (tmp_path / "copy.pth").read_bytes() == weights.read_bytes()
    with pytest.raises(RuntimeError, match="hash"):
        hub.download_url_to_file(
            weights.as_uri(), tmp_path / "copy.pth", hash_prefix="0" * 8 if digest[0] != "0" else "1"
        )


def test_the_folder_of_weights(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "_directory", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")
    hub.set_dir(tmp_path / "other")
    assert hub.get_dir() == str(tmp_path / "other")


def test_return_types():
    x = minitorch.ones(3, 2)
    assert type(x.max(0)) is minitorch.return_types.max
    assert isinstance(minitorch.linalg.slogdet(minitorch.eye(2)), minitorch.return_types.linalg_slogdet)
    assert minitorch.return_types.topk._fields == ("values", "indices")
    with pytest.raises(AttributeError, match="no operator"):
        _ = minitorch.return_types.add


def test_nested_tensors_are_refused():
    with pytest.raises(NotImplementedError, match=r"nested_tensor.*pad_sequence"):
        minitorch.nested.nested_tensor([minitorch.ones(1)])
    assert minitorch.nested.to_padded_tensor.__name__ == "to_padded_tensor"


def test_collect_env(monkeypatch):
    monkeypatch.setenv("MINITORCH_SOME_SETTING", "seven")
    text = minitorch.utils.collect_env.get_pretty_env_info()
    assert f"minitorch version: {minitorch.__version__}" in text
    assert "numpy: " in text
    assert "MINITORCH_SOME_SETTING: seven" in text
    found = minitorch.utils.collect_env.get_env_info()
    assert set(found.devices) >= {"cuda", "opencl"}


@pytest.mark.slow
def test_collect_env_is_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "minitorch.utils.collect_env"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("minitorch version")


def test_state_dicts_lose_a_prefix():
    state = OrderedDict(nn.DataParallel(nn.Sequential(nn.Linear(1, 1))).state_dict())
    state._metadata = OrderedDict([("", {}), ("module", {"version": 1}), ("module.0", {"version": 2})])
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"]
    assert state._metadata == {"": {"version": 1}, "0": {"version": 2}}


@pytest.mark.oracle
def test_module_utils_are_those_of_torch(torch):
    theirs = torch.nn.modules.utils
    for value in (3, (1, 2), [1, 2, 3], "ab"):
        for name in ("_single", "_pair", "_triple", "_quadruple"):
            assert getattr(utils, name)(value) == getattr(theirs, name)(value)
            assert getattr(utils, name).__name__ == getattr(theirs, name).__name__
    assert utils._reverse_repeat_tuple((1, 2, 3), 2) == theirs._reverse_repeat_tuple((1, 2, 3), 2)
    for sizes, defaults in (([None, 2], [4, 5, 6]), (3, [1])):
        assert utils._list_with_default(sizes, defaults) == theirs._list_with_default(sizes, defaults)
    for library in (utils, theirs):
        with pytest.raises(ValueError, match="at least 4"):
            library._list_with_default([1, 2, 3], [4, 5])
    states = []
    for library in (utils, theirs):
        state = OrderedDict([("module.a", 1), ("b", 2), ("module.c.d", 3)])
        state._metadata = OrderedDict([("", 0), ("module", 1), ("module.c", 2)])
        library.consume_prefix_in_state_dict_if_present(state, "module.")
        states.append((dict(state), dict(state._metadata)))
    assert states[0] == states[1]


@pytest.mark.oracle
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions_are_those_of_torch(torch, dims):
    def gradients(library):
        library.manual_seed(0)
        sides = (7, 6, 5)[:dims]
        x, w = library.randn(2, 4, *sides), library.randn(6, 2, *(3,) * dims)
        options = dict(stride=2, padding=1, dilation=1, groups=2)
        y = getattr(library.nn.functional, f"conv{dims}d")(x, w, **options)
        grad = library.ones_like(y) * library.arange(y.shape[-1])
        grads = library.nn.grad
        return (
            getattr(grads, f"conv{dims}d_input")(x.shape, w, grad, **options),
            getattr(grads, f"conv{dims}d_weight")(x, w.shape, grad, **options),
        )

    for ours, theirs in zip(gradients(minitorch), gradients(torch), strict=True):
        assert_close(ours, minitorch.from_numpy(theirs.numpy()), rtol=1e-4, atol=1e-4)
