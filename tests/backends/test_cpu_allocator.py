"""Freed memory stays with the process, unless it is told not to."""

import os
import subprocess
import sys

import pytest

from minitorch.backends.cpu import allocator

PROGRAM = """
import sys
import numpy as np
import minitorch
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
blocks = [minitorch.ones(1 << 20) for _ in range(32)]  # 4 MiB each
full = resident()
del blocks
kept = resident()
minitorch.cpu.empty_cache()
print(full - kept, full - resident())
"""


def released(switch):
    """Return bytes given back when tensors died, and after `empty_cache`, in a fresh process."""
    environment = {**os.environ, allocator.SWITCH: switch}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    return [int(n) for n in done.stdout.split()]


needs_glibc = pytest.mark.skipif(
    not sys.platform.startswith("linux") or allocator._glibc() is None, reason="the C library is not glibc"
)


@needs_glibc
def test_memory_is_kept_until_empty_cache():
    at_once, after_empty_cache = released("1")
    assert at_once < 8 << 20
    assert after_empty_cache > 96 << 20


@needs_glibc
def test_the_switch_leaves_the_allocator_alone():
    at_once, _ = released("0")
    assert at_once > 96 << 20


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(allocator, "_glibc", lambda: None)
    assert not allocator.keep_freed_memory()
    assert not allocator.release_freed_memory()
