"""CuPy is the stand-in here, with two devices; started by ``tests/backends/cuda/test_standin.py``.

On a machine with a GPU ``benchmarks/cuda_report.py`` runs the same tests with MINITORCH_REAL_CUPY=1, on CuPy itself.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
for path in (FOLDER, FOLDER.parents[1] / "ops"):
    sys.path.insert(0, str(path))

IS_REAL = bool(os.environ.get("MINITORCH_REAL_CUPY"))
if not IS_REAL:
    if "cupy" in sys.modules:
        raise RuntimeError("the stand-in must come before CuPy")
    import strict_cupy

    strict_cupy.install(devices=2)

import minitorch as mt
from minitorch.backends import fallback_policy


@pytest.fixture(autouse=True)
def on_the_first_device():
    """Nothing falls back unseen, and each test starts on the first device."""
    fallback_policy("error")
    mt.cuda.set_device(0)
    yield
    mt.cuda.set_device(0)


@pytest.fixture
def standin():
    """For tests that look into the stand-in, or need its two devices."""
    if IS_REAL:
        pytest.skip("about the stand-in")
