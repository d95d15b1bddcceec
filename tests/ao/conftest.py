"""Puts this folder on the path, for `quantization_cases`; the OpenCL device, as in the folder of its own tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def opencl():
    """The name of an OpenCL device; skips where there is none, or fails if MINITORCH_REQUIRE_OPENCL asks for one."""
    from minitorch.backends.opencl import drivers

    try:
        drivers.usable()
    except drivers.OpenCLUnavailable as error:
        if os.environ.get("MINITORCH_REQUIRE_OPENCL", "0") not in ("", "0"):
            raise
        pytest.skip(str(error).partition("\n")[0])
    return "opencl"
