"""The tests of this folder need an OpenCL device, but for those marked `without_device`.

Where there is none they are skipped; with MINITORCH_REQUIRE_OPENCL=1 (as .ci/run sets it once it has
installed a driver) they fail, so that a driver that broke is not passed over.
"""

from __future__ import annotations

import os
from pathlib import Path

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


# Files whose tests are many, each with kernels that a driver compiles (PoCL takes half a second for one).
_MANY = (
    "test_convolution", "test_fused_optimizers", "test_index_operators", "test_opencl_indexing", "test_opencl_linalg",
    "test_opencl_pointwise", "test_opencl_reductions", "test_opencl_sorting", "test_rows",
)  # fmt: skip


def pytest_collection_modifyitems(config, items):
    """Keep one in MINITORCH_OPENCL_TESTS (16) of the many; "all", as `make test-full` sets it, keeps every one."""
    wanted = os.environ.get("MINITORCH_OPENCL_TESTS", "16")
    if wanted == "all":
        return
    folder = Path(__file__).parent
    many = [item for item in items if item.path.parent == folder and item.path.stem in _MANY]
    left_out = {id(item) for i, item in enumerate(many) if i % int(wanted)}
    # The conformance kit in a process of its own takes minutes where kernels are slow to compile.
    left_out |= {id(item) for item in items if item.path.parent == folder and item.path.stem == "test_private_use"}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
        items[:] = [item for item in items if id(item) not in left_out]
