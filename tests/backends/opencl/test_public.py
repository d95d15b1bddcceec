"""`minitorch.opencl` as a program sees it: tensors, seeds, streams, memory and forks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import minitorch
from minitorch import opencl

ROOT = Path(__file__).parents[3]


def run(code: str, **environment) -> str:
    """Return what code prints that finds minitorch imported, in a process of its own."""
    kept = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    ran = subprocess.run(
        [sys.executable, "-c", "import os, sys, minitorch\n" + code],
        env=kept,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip()


def test_the_module_has_the_functions_of_the_backend():
    from minitorch.backends.opencl import device_module

    for name in device_module.__all__:
        assert callable(getattr(opencl, name)), name
    assert opencl.is_available()
    assert opencl.device_count() >= 1
    assert isinstance(opencl.get_device_name(0), str)
    assert minitorch.get_device_module("opencl") is opencl


def test_tensors_know_their_device():
    x = minitorch.zeros(3, device="opencl")
    assert x.device == minitorch.device("opencl", 0)
    assert x.is_opencl
    last = opencl.device_count() - 1
    with opencl.device(last):
        assert minitorch.zeros(3, device="opencl").device.index == last
    y = x.to(f"opencl:{last}")
    assert y.device.index == last
    with opencl.device_of(y):
        assert opencl.current_device() == last
    assert opencl.current_device() == 0
    assert (y + 1).cpu().tolist() == [1.0, 1.0, 1.0]


def test_a_device_that_is_not_there():
    with pytest.raises(RuntimeError, match=f"opencl:{opencl.device_count()}"):
        minitorch.zeros(1, device=f"opencl:{opencl.device_count()}")


def test_seeds():
    def draw(n=4):
        return minitorch.rand(n, device="opencl").cpu().tolist()

    opencl.manual_seed(7)
    first = draw()
    assert opencl.initial_seed() == 7
    state = opencl.get_rng_state()
    assert state.dtype == minitorch.uint8
    assert state.device.type == "cpu"
    second = draw()
    assert second != first
    opencl.set_rng_state(state)
    assert draw() == second
    states = opencl.get_rng_state_all()
    assert len(states) == opencl.device_count()
    third = draw()
    opencl.set_rng_state_all(states)
    assert draw() == third
    minitorch.manual_seed(7)
    assert draw() == first
    opencl.manual_seed_all(7)
    assert draw() == first
    opencl.seed()
    assert draw() != first


def test_streams_order_the_work_on_tensors():
    x = minitorch.zeros(1 << 14, device="opencl")
    side = opencl.Stream()
    side.wait_stream(opencl.current_stream())
    with opencl.stream(side):
        for _ in range(20):
            x = x + 1
    opencl.current_stream().wait_stream(side)
    y = x * 2
    assert y.cpu().eq(40).all()
    start, end = opencl.Event(enable_timing=True), opencl.Event(enable_timing=True)
    start.record()
    y = y + 1
    end.record()
    opencl.synchronize()
    assert start.elapsed_time(end) > 0


def test_memory_of_tensors_is_counted():
    opencl.empty_cache()
    before = opencl.memory_allocated()
    x = minitorch.empty(1 << 20, dtype=minitorch.uint8, device="opencl")
    assert opencl.memory_allocated() - before == 1 << 20
    view = x[10:20]
    del x
    assert opencl.memory_allocated() - before == 1 << 20
    del view
    assert opencl.memory_allocated() == before
    assert opencl.memory_reserved() >= before + (1 << 20)
    opencl.empty_cache()
    assert opencl.memory_reserved() == opencl.memory_allocated()


def test_running_out_of_memory():
    opencl.empty_cache()
    free = opencl.mem_get_info()[1]
    opencl.set_per_process_memory_fraction((opencl.memory_reserved() + (1 << 22)) / free)
    try:
        with pytest.raises(opencl.OutOfMemoryError, match="out of memory: tried to allocate"):
            minitorch.empty(1 << 23, dtype=minitorch.uint8, device="opencl")
        x = minitorch.ones(1 << 10, device="opencl")
        assert (x + x).cpu().eq(2).all()
    finally:
        opencl.set_per_process_memory_fraction(1.0)


def test_what_is_read_by_a_kernel_outlives_its_numpy_array():
    for _ in range(20):
        x = minitorch.ones(1 << 20, device="opencl")
        x.cpu()
        y = x
        for _ in range(4):
            y = y + x
        del x
        assert y.cpu().eq(5).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_worker_may_seed_and_must_not_compute():
    said = run("""
import warnings
warnings.simplefilter("ignore")
x = minitorch.ones(3, device="opencl")
child = os.fork()
if child == 0:
    minitorch.manual_seed(3)
    assert minitorch.rand(2).shape == (2,)
    assert minitorch.opencl._is_in_bad_fork()
    assert not minitorch.opencl.is_available()
    made = lambda: minitorch.ones(2, device="opencl")
    for use in (lambda: x + 1, lambda: x.cpu(), made, lambda: minitorch.ones(2).to("opencl")):
        try:
            use()
        except RuntimeError as error:
            assert "Cannot re-initialize OpenCL in forked subprocess" in str(error), error
        else:
            raise AssertionError("let through")
    print("refused", flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(x.tolist())
""")
    assert said.splitlines() == ["refused", "[1.0, 1.0, 1.0]"]


def test_nothing_is_imported_before_the_first_use():
    said = run("""
minitorch.device("opencl"), minitorch.opencl, minitorch.manual_seed(0), minitorch.ones(2) + 1
print([m for m in sys.modules if m == "pyopencl" or m.startswith("minitorch.backends.opencl")])
""")
    assert said == "[]"


@pytest.mark.without_device
def test_no_device_to_use():
    said = run(
        """
print(minitorch.opencl.is_available(), minitorch.opencl.device_count())
for use in (lambda: minitorch.zeros(2, device="opencl"), lambda: minitorch.ones(2).to("opencl:0")):
    try:
        use()
    except RuntimeError as error:
        assert len(str(error).splitlines()) <= 6, error
        print(type(error).__name__)
minitorch.opencl.diagnose()
""",
        MINITORCH_OPENCL_DEVICES="no such device",
    )
    lines = said.splitlines()
    assert lines[:3] == ["False 0", "OpenCLUnavailable", "OpenCLUnavailable"]
    assert "Devices: none" in lines
