"""What a program asks of the package before it does anything."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import minitorch as mt
from minitorch import lazy_names

ROOT = Path(__file__).parents[2]


def test_version_is_that_of_the_distribution():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert mt.__version__ == project["version"]


def test_a_name_that_is_not_there_is_an_attribute_error(monkeypatch):
    monkeypatch.setattr(lazy_names, "SUBMODULES", lazy_names.SUBMODULES | {"planned"})
    assert not hasattr(mt, "planned")  # in the table, but no such folder
    with pytest.raises(AttributeError, match="module 'minitorch' has no attribute 'nowhere'"):
        mt.nowhere  # noqa: B018


def test_a_missing_dependency_of_a_submodule_is_not_hidden(monkeypatch):
    monkeypatch.setattr(lazy_names, "SUBMODULES", lazy_names.SUBMODULES | {"planned.below"})
    with pytest.raises(ModuleNotFoundError, match=r"minitorch\.planned"):
        getattr(mt, "planned.below")


def test_cuda_is_not_available_until_its_kernels_are():
    assert not mt.cuda.is_available()
    assert mt.cuda.device_count() == 0
    assert not mt.cuda.is_initialized()
    before = mt.get_rng_state()
    mt.cuda.manual_seed(1)
    mt.cuda.manual_seed_all(1)
    mt.cuda.empty_cache()
    assert mt.equal(before, mt.get_rng_state())
    backend = mt.library.Library("aten", "IMPL", "CUDA")
    try:
        backend.impl("empty.memory_format", lambda *args, **kwargs: None)
        assert mt.cuda.is_available()
        assert mt.cuda.device_count() == 1
    finally:
        backend._destroy()
    assert not mt.cuda.is_available()


@pytest.mark.parametrize(("key", "name"), [("PrivateUse1", "privateuseone"), ("CUDA", "cuda")])
def test_accelerator_is_the_device_that_has_kernels(key, name):
    """In a process of its own: another test may have used a device by now."""
    code = f"""
import minitorch as mt
assert mt.accelerator.current_accelerator() is None
assert (mt.accelerator.is_available(), mt.accelerator.device_count()) == (False, 0)
backend = mt.library.Library("aten", "IMPL", "{key}")
backend.impl("empty.memory_format", lambda *args, **kwargs: None)
assert mt.accelerator.current_accelerator() == mt.device("{name}")
assert mt.accelerator.current_accelerator(check_available=True) == mt.device("{name}")
assert (mt.accelerator.is_available(), mt.accelerator.device_count()) == (True, 1)
backend._destroy()
assert mt.accelerator.current_accelerator() is None
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr


def test_memory_format_is_a_public_type():
    assert isinstance(mt.channels_last, mt.memory_format)
