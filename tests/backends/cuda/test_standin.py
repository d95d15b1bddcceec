"""Runs ``standin/``, where CuPy is replaced, in a process of its own: CUDA logic on a stand-in, and no CUDA coverage."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import shim

ROOT = Path(__file__).parents[3]
FILES = sorted(path.name for path in (Path(__file__).parent / "standin").glob("test_*.py"))


@pytest.mark.skipif(shim.COMPILER is None, reason="kernels of the stand-in are compiled by g++, which is not here")
@pytest.mark.parametrize("name", FILES)
def test_cuda_logic_on_a_stand_in(name):
    environment = {
        **os.environ,
        "MINITORCH_STRICT_CUPY": "1",
        "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")])),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", f"tests/backends/cuda/standin/{name}"],
        capture_output=True, text=True, cwd=ROOT, env=environment, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"\n{done.stdout[-20000:]}{done.stderr[-5000:]}"
