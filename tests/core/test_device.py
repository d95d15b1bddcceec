"""Devices: parsing, identity, the registry, the default device."""

import copy
import pickle
import threading

import pytest

from minitorch.core import device as module
from minitorch.core.device import default_device, device, dispatch_key_name, set_default_device


@pytest.fixture
def registry(monkeypatch):
    """Let a test change the registry of device types."""
    for name in ("_KEY_NAMES", "_ALIASES", "_INTERNED"):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))


@pytest.mark.parametrize(
    ("arguments", "text", "representation"),
    [
        (("cpu",), "cpu", "device(type='cpu')"),
        (("cpu", 0), "cpu:0", "device(type='cpu', index=0)"),
        (("cuda:1",), "cuda:1", "device(type='cuda', index=1)"),
        (("cuda", 2), "cuda:2", "device(type='cuda', index=2)"),
        (("meta",), "meta", "device(type='meta')"),
        ((device("cuda:3"),), "cuda:3", "device(type='cuda', index=3)"),
        (("xpu:1",), "opencl:1", "device(type='opencl', index=1)"),
    ],
)
def test_parsing(arguments, text, representation):
    d = device(*arguments)
    assert str(d) == text
    assert repr(d) == representation
    assert device(*arguments) is d


def test_keywords():
    assert device(type="cuda", index=1) is device("cuda:1")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("foo",), RuntimeError, "Expected one of cpu, cuda, .* at start of device string: foo"),
        (("CPU",), RuntimeError, "Expected one of"),
        (("cuda:-1",), RuntimeError, "Invalid device string"),
        (("cuda:01",), RuntimeError, "Invalid device string"),
        (("cuda:",), RuntimeError, "Invalid device string"),
        ((":1",), RuntimeError, "Invalid device string"),
        (("",), RuntimeError, "must not be empty"),
        (("cpu:0", 1), RuntimeError, "must not include an index"),
        (("cuda", -1), RuntimeError, "must not be negative"),
        ((1.5,), TypeError, "invalid combination of arguments"),
        ((None,), TypeError, "invalid combination of arguments"),
        ((1,), RuntimeError, "Cannot access accelerator"),
        (("cuda", "1"), TypeError, "index must be an int"),
    ],
)
def test_refusals(arguments, error, text, monkeypatch):
    # Another test may have used an accelerator; devices made of a number are kept.
    monkeypatch.setattr(module, "_accelerator", [])
    monkeypatch.delitem(module._INTERNED, (1, None), raising=False)
    with pytest.raises(error, match=text):
        device(*arguments)


def test_equality_and_hash():
    assert device("cpu") != device("cpu", 0)
    assert device("cpu") != "cpu"
    assert len({device("cuda:1"), device("cuda", 1), device("cuda")}) == 2


def test_is_one_object_however_copied():
    for d in (device("cpu"), device("cuda:1")):
        assert pickle.loads(pickle.dumps(d)) is d
        assert copy.deepcopy(d) is d


def test_does_not_change():
    with pytest.raises(AttributeError):
        device("cpu").index = 3


def test_keys():
    assert dispatch_key_name("cpu") == "CPU"
    assert dispatch_key_name("opencl") == dispatch_key_name("xpu") == "XPU"
    assert device("meta").key_name == "Meta"
    with pytest.raises(RuntimeError, match="no backend for the device type 'ideep'"):
        dispatch_key_name("ideep")


def test_a_backend_adds_a_type(registry):
    module.register_device_type("npu", "PrivateUse2")
    assert device("npu:1").key_name == "PrivateUse2"
    with pytest.raises(RuntimeError, match="identifier"):
        module.register_device_type("a-b", "PrivateUse2")
    with pytest.raises(RuntimeError, match="another name"):
        module.register_device_type("xpu", "PrivateUse2")


def test_a_type_is_renamed(registry):
    before = device("privateuseone:1")
    try:
        module.rename_device_type("privateuseone", "npu")
        assert str(before) == "npu:1"
        assert device("npu:1") is before
        assert device("privateuseone:1") is before
        assert device("npu").key_name == "PrivateUse1"
        with pytest.raises(RuntimeError, match="already"):
            module.rename_device_type("cuda", "npu")
    finally:
        object.__setattr__(before, "type", "privateuseone")


def test_default_device_nests_and_belongs_to_a_thread():
    assert default_device() is device("cpu")
    seen = []
    with device("meta"):
        assert default_device() is device("meta")
        with device("cuda:1"):
            assert default_device() is device("cuda:1")
        assert default_device() is device("meta")
        thread = threading.Thread(target=lambda: seen.append(default_device()))
        thread.start()
        thread.join()
    assert default_device() is device("cpu")
    assert seen == [device("cpu")]


def test_set_default_device():
    set_default_device("meta")
    try:
        assert default_device() is device("meta")
    finally:
        set_default_device(None)
    assert default_device() is device("cpu")
