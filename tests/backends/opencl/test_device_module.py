"""`minitorch.opencl`: devices, properties, streams and events, memory statistics, running out of memory, forks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import minitorch
from minitorch.backends.opencl import array, indices, runtime
from minitorch.backends.opencl import device_module as opencl

ROOT = Path(__file__).parents[3]
MIB = 1 << 20


@pytest.fixture
def made():
    """The runtime of the current device, with nothing kept for tensors to come."""
    found = runtime.device()
    found.empty_cache()
    opencl.reset_peak_memory_stats()
    yield found
    found.limit = found.total_memory
    found.empty_cache()


def chain(x, steps: int):
    """Return x + steps, one kernel for each step."""
    one = array.from_host(np.ones(1, x.dtype), x.device)
    for _ in range(steps):
        x = (x + one).settle()
    return x


def test_devices_are_counted_and_named(opencl_devices):
    assert opencl.is_available()
    assert opencl.device_count() == len(opencl_devices)
    assert opencl.is_initialized()
    assert not opencl._is_in_bad_fork()
    for i, found in enumerate(opencl_devices):
        assert opencl.get_device_name(i) == found.name
        assert opencl.get_device_name(indices.device_at(i)) == found.name
        p = opencl.get_device_properties(i)
        assert (p.name, p.type, p.driver_version) == (found.name, found.type, found.driver_version)
        assert p.total_memory >= p.max_alloc > 0
        assert p.max_work_group_size >= 1
        assert p.multi_processor_count == p.max_compute_units >= 1
        major, minor = opencl.get_device_capability(i)
        assert (major, minor) >= (1, 1)
        assert p.version.startswith(f"OpenCL {major}.{minor}")


def test_properties_agree_with_the_driver(opencl_devices):
    for i, found in enumerate(opencl_devices):
        p = opencl.get_device_properties(i)
        assert p.has_fp64 == ("cl_khr_fp64" in found.device.extensions)
        if "pocl" in found.vendor.lower() and "3.0" in found.driver_version:
            assert (p.has_fp16, p.has_float_atomics, p.has_subgroups) == (False, False, False)
        if "intel" in found.vendor.lower() and found.type == "cpu":
            assert (p.has_fp16, p.has_float_atomics, p.has_subgroups, p.host_unified) == (True, True, True, True)


def test_current_device_belongs_to_the_thread():
    last = opencl.device_count() - 1
    assert opencl.current_device() == 0
    with opencl.device(last):
        assert opencl.current_device() == last
        seen = []
        thread = threading.Thread(target=lambda: seen.append(opencl.current_device()))
        thread.start()
        thread.join()
        assert seen == [0]
        with opencl.device(None), opencl.device(-1):
            assert opencl.current_device() == last
    assert opencl.current_device() == 0
    opencl.set_device(f"opencl:{last}")
    assert opencl.current_device() == last
    opencl.set_device(-1)
    assert opencl.current_device() == last
    opencl.set_device(0)


def test_device_scope_ends_with_an_exception():
    with pytest.raises(KeyError), opencl.device(opencl.device_count() - 1):
        raise KeyError
    assert opencl.current_device() == 0


def test_devices_that_are_not_there():
    count = opencl.device_count()
    with pytest.raises(RuntimeError, match=f"opencl:{count}: there is no such device; {count} can be used"):
        opencl.set_device(count)
    with pytest.raises(ValueError, match="Expected a device of type opencl, but got: cpu"):
        opencl.get_device_name(minitorch.device("cpu"))
    with pytest.raises(RuntimeError, match="there is no such device"):
        runtime.device(count)
    with opencl.device_of(minitorch.ones(1)):  # a tensor elsewhere changes nothing
        assert opencl.current_device() == 0


def test_streams_are_chosen_by_thread_and_device():
    default = opencl.default_stream()
    assert opencl.current_stream() == default
    new = opencl.Stream()
    assert new != default
    assert len({new, default, opencl.default_stream()}) == 2
    with opencl.stream(new):
        assert opencl.current_stream() == new
        assert runtime.device().queue is new.queue
        with new, opencl.stream(None):
            assert opencl.current_stream() == new
        seen = []
        thread = threading.Thread(target=lambda: seen.append(opencl.current_stream()))
        thread.start()
        thread.join()
        assert seen == [default]
    assert opencl.current_stream() == default
    opencl.set_stream(new)
    assert opencl.current_stream() == new
    opencl.set_stream(default)
    last = opencl.device_count() - 1
    with opencl.stream(opencl.Stream(last)):
        assert opencl.current_device() == last
    assert opencl.current_device() == 0


def test_streams_wait_for_each_other(made):
    x = array.from_host(np.zeros(1 << 16, np.float32))
    first, second = opencl.Stream(), opencl.Stream()
    with opencl.stream(first):
        x = chain(x, 50)
    second.wait_stream(first)
    with opencl.stream(second):
        y = chain(x, 50)
        result = y.to_host()
    assert (result == 100).all()
    event = second.record_event()
    first.wait_event(event)
    first.synchronize()
    assert event.query()
    opencl.synchronize()
    assert first.query()
    assert second.query()


def test_streams_beyond_the_number_of_queues_share_them():
    streams = [opencl.Stream() for _ in range(40)]
    assert 30 <= len(set(streams)) <= 32
    assert opencl.default_stream() not in streams


def test_events_tell_times(made):
    start, middle, end = (opencl.Event(enable_timing=True) for _ in range(3))
    assert start.query()
    start.synchronize()
    with pytest.raises(ValueError, match="must be recorded"):
        start.elapsed_time(end)
    x = array.from_host(np.zeros(1 << 18, np.float32))
    chain(x, 1)  # compiled before the clock runs
    opencl.synchronize()
    start.record()
    chain(x, 20)
    middle.record()
    chain(x, 200)
    end.record()
    end.synchronize()
    assert end.query()
    short, long = start.elapsed_time(middle), middle.elapsed_time(end)
    assert 0 < short < long
    assert start.elapsed_time(end) == pytest.approx(short + long)
    silent = opencl.Event()
    silent.record()
    with pytest.raises(ValueError, match="enable_timing=True"):
        silent.elapsed_time(end)
    with pytest.raises(RuntimeError, match="another process"):
        opencl.Event(interprocess=True)


def test_memory_is_counted(made):
    before = opencl.memory_allocated()
    x = array.empty(MIB, np.float32).settle()
    assert opencl.memory_allocated() - before == 4 * MIB
    assert opencl.max_memory_allocated() == before + 4 * MIB
    assert opencl.memory_reserved() >= opencl.memory_allocated()
    y = array.empty(MIB, np.float32).settle()
    del y
    assert opencl.memory_allocated() - before == 4 * MIB
    assert opencl.max_memory_allocated() - before == 8 * MIB
    kept = opencl.memory_reserved() - opencl.memory_allocated()
    assert kept >= 4 * MIB
    stats = opencl.memory_stats()
    assert stats["allocated_bytes.all.current"] == opencl.memory_allocated()
    assert stats["inactive_bytes.all.current"] == kept
    opencl.reset_peak_memory_stats()
    assert opencl.max_memory_allocated() - before == 4 * MIB
    opencl.empty_cache()
    assert opencl.memory_reserved() == opencl.memory_allocated()
    del x
    free, total = opencl.mem_get_info()
    assert 0 < free <= total == opencl.get_device_properties().total_memory
    summary = opencl.memory_summary()
    assert opencl.get_device_name() in summary
    assert "failed" not in opencl.memory_summary(abbreviated=True)
    assert "failed" in summary


def test_running_out_of_memory_is_an_error_after_which_the_device_works(made):
    used = opencl.memory_allocated()
    kept = array.empty(2 * MIB, np.uint8).settle()
    failures = made.failures
    made.limit = used + 8 * MIB
    with pytest.raises(RuntimeError, match=r"opencl:0 out of memory: tried to allocate 8388608 bytes, with \d+ in use") as caught:
        array.empty(8 * MIB, np.uint8).settle()
    assert type(caught.value) is opencl.OutOfMemoryError
    assert "Free tensors" in str(caught.value)
    assert opencl.memory_stats()["num_ooms"] == failures + 1
    assert opencl.memory_allocated() == used + 2 * MIB
    del kept
    assert (chain(array.from_host(np.zeros(2 * MIB, np.uint8)), 2).to_host() == 2).all()


def test_what_is_kept_is_given_up_before_memory_runs_out(made):
    used = opencl.memory_allocated()
    made.limit = used + 8 * MIB
    array.empty(5 * MIB, np.uint8).settle()
    retries = made.retries
    assert opencl.memory_reserved() - used == 5 * MIB  # in the pool, and of no use to what follows
    array.empty(6 * MIB, np.uint8).settle()
    assert made.retries == retries + 1
    assert opencl.memory_reserved() - used == 6 * MIB


def test_more_than_the_driver_allows_at_once(made):
    with pytest.raises(opencl.OutOfMemoryError, match="in one allocation"):
        array.empty(2 * opencl.get_device_properties().max_alloc, np.uint8).settle()
    assert (chain(array.from_host(np.zeros(5, np.int32)), 2).to_host() == 2).all()


def test_memory_fraction(made):
    opencl.set_per_process_memory_fraction(0.5)
    assert made.limit == made.total_memory // 2
    with pytest.raises(ValueError, match="0~1"):
        opencl.set_per_process_memory_fraction(1.5)
    with pytest.raises(TypeError, match="float"):
        opencl.set_per_process_memory_fraction(1)


def test_float64_where_the_driver_has_none_is_an_error(made, monkeypatch):
    monkeypatch.setattr(made, "has_fp64", False)
    with pytest.raises(RuntimeError, match=r"has no float64: its driver lacks cl_khr_fp64. Convert to float32 with .float\(\)"):
        made.kernel(("test", "double"), lambda: "__kernel void f(__global double2 *a) { a[0] = 0; }", "f", (None,))
    made.kernel(("test", "float"), lambda: "__kernel void f(__global float *redouble) { redouble[0] = 0; }", "f", (None,))


def test_diagnose_prints_each_device(capsys, opencl_devices):
    opencl.diagnose()
    said = capsys.readouterr().out
    for i, found in enumerate(opencl_devices):
        assert f"opencl:{i}: {found.name}" in said


def test_every_public_name_is_there():
    table = opencl.functions()
    assert set(opencl.__all__) <= set(table)
    for name in ("Stream", "Event", "memory_allocated", "diagnose", "OutOfMemoryError"):
        assert table[name] is getattr(opencl, name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_is_refused_and_ends():
    code = """
import os, warnings
import numpy as np
from minitorch.backends.opencl import array, device_module as opencl, runtime
warnings.simplefilter("ignore")
devices = range(opencl.device_count())
kept = [array.from_host(np.arange(8.0, dtype=np.float32), runtime.device(i)) for i in devices]
kept = [(a + a).settle() for a in kept]
stream = opencl.Stream()
uses = [
    lambda: array.from_host(np.zeros(3)), lambda: runtime.device(0), lambda: (kept[0] + kept[0]).settle(),
    lambda: (kept[0] * kept[0]).settle(), lambda: kept[-1].to_host(), lambda: opencl.current_device(),
    lambda: opencl.synchronize(), lambda: opencl.Stream(), lambda: runtime.device(0).empty_cache(),
    lambda: opencl.set_device(0),
]
child = os.fork()
if child == 0:
    assert opencl._is_in_bad_fork()
    assert (opencl.is_available(), opencl.device_count(), opencl.is_initialized()) == (False, 0, False)
    for i, use in enumerate(uses):
        try:
            use()
        except RuntimeError as error:
            assert "Cannot re-initialize OpenCL in forked subprocess" in str(error), (i, error)
        else:
            raise AssertionError(f"use {i} was let through")
    print("refused", flush=True)
    kept.clear()
    raise SystemExit(0)  # with the usual teardown, which must not hang
assert os.waitpid(child, 0)[1] == 0
print([float(a.to_host().sum()) for a in kept] == [56.0] * len(kept))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.split() == ["refused", "True"]
