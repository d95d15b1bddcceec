"""Kernels of an OpenCL device in a profile."""

from __future__ import annotations

import json
import threading

import pytest

import minitorch
from minitorch.profiler import ProfilerActivity, profile, record_function


@pytest.fixture(scope="module", autouse=True)
def device():
    if not minitorch.opencl.is_available():
        pytest.skip("there is no OpenCL device")


def test_kernels_belong_to_the_calls_that_started_them(tmp_path):
    x = minitorch.ones(1000, device="opencl")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.XPU], profile_memory=True) as prof:
        y = x.softmax(-1)
        minitorch.ones(4).exp()
    rows = {event.key: event for event in prof.key_averages()}
    assert rows["aten::_softmax"].self_device_time_total > 0
    assert rows["aten::softmax"].self_device_time_total == 0
    assert rows["aten::softmax"].device_time_total == rows["aten::_softmax"].device_time_total
    assert rows["aten::exp"].device_time_total == 0
    assert rows["aten::_softmax"].self_device_memory_usage == y.nbytes
    assert rows["aten::_softmax"].self_cpu_memory_usage == 0
    softmax = next(e for e in prof.events() if e.key == "aten::_softmax")
    assert softmax.dispatch_keys == ("AutogradXPU", "XPU")
    assert softmax.kernels[0].start >= softmax.time_range.start
    text = prof.key_averages().table(sort_by="self_xpu_time_total", row_limit=1)
    assert "Self XPU" in text
    assert "aten::_softmax" in text
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    kernels = [r for r in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if r.get("cat") == "kernel"]
    assert [r["pid"] for r in kernels] == ["opencl:0"] * len(softmax.kernels)


def test_launches_of_other_threads_are_not_counted():
    x = minitorch.ones(10, device="opencl")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.XPU]) as prof, record_function("all"):
        other = threading.Thread(target=lambda: x.softmax(-1).cpu())
        other.start()
        other.join()
        x.log_softmax(-1)
    assert all("log_softmax" in event.key for event in prof.events() if event.kernels)
    assert any(event.kernels for event in prof.events())


def test_without_the_activity_no_device_is_waited_for():
    x = minitorch.ones(10, device="opencl")
    with profile(activities=[ProfilerActivity.CPU]) as prof:
        x.softmax(-1)
    assert all(not event.kernels for event in prof.events())
    assert "XPU" not in prof.key_averages().table()
