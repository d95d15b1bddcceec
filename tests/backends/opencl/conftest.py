"""The tests of this folder need an OpenCL device, but for those marked `without_device`.

Where there is none they are skipped; with MINITORCH_REQUIRE_OPENCL=1 (as .ci/run sets it once it has
installed a driver) they fail, so that a driver that broke is not passed over.
"""

from __future__ import annotations

import os

import pytest

from minitorch.backends.opencl import drivers


@pytest.fixture(scope="session")
def opencl_devices() -> list:
    """The descriptions of the devices that work, in the order of their index."""
    try:
        return drivers.usable()
    except drivers.OpenCLUnavailable as error:
        if os.environ.get("MINITORCH_REQUIRE_OPENCL", "0") not in ("", "0"):
            raise
        pytest.skip(str(error).partition("\n")[0])


@pytest.fixture(autouse=True)
def needs_a_device(request):
    if "without_device" not in request.keywords:
        request.getfixturevalue("opencl_devices")
