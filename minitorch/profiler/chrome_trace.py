"""The file that ``chrome://tracing`` and Perfetto read."""

from __future__ import annotations

import gzip
import json
import os
from typing import Any

from minitorch.profiler.events import ANNOTATION, BACKWARD, FunctionEvent

_CATEGORIES = {ANNOTATION: "user_annotation"}


def trace_of(events: list[FunctionEvent], began: int, metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the trace as what the JSON file holds.

    Operators, annotations and nodes of backward are slices of their thread, the hops of a call slices inside of its own; kernels
    are slices of their device. An arrow leads from a call to the node of backward that it recorded.
    """
    pid = os.getpid()
    rows: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": "python"}},
    ]
    forward = {event.sequence_nr: event for event in events if event.scope != BACKWARD and event.sequence_nr >= 0}
    for event in events:
        rows += _slices(event, began, pid)
        # Of a node there are two events, the engine's and its own inside: the arrow leads to the outer one.
        origin = forward.get(event.sequence_nr) if event.scope == BACKWARD else None
        parent = event.cpu_parent
        if origin is not None and (parent is None or parent.sequence_nr != event.sequence_nr):
            flow = {"cat": "fwdbwd", "name": "fwdbwd", "id": event.sequence_nr, "pid": pid}
            rows.append({**flow, "ph": "s", "tid": origin.thread, "ts": origin.time_range.start})
            rows.append({**flow, "ph": "f", "bp": "e", "tid": event.thread, "ts": event.time_range.start})
    devices = {kernel.device for event in events for kernel in event.kernels}
    rows += [
        {"ph": "M", "name": "process_name", "pid": _device_pid(device), "tid": 0, "args": {"name": f"opencl:{device}"}}
        for device in sorted(devices)
    ]
    return {"schemaVersion": 1, "displayTimeUnit": "ms", **metadata, "traceEvents": rows}


def _device_pid(device: int) -> str:
    return f"opencl:{device}"


def _slices(event: FunctionEvent, began: int, pid: int) -> list[dict[str, Any]]:
    time = event.time_range
    args: dict[str, Any] = {"External id": event.id}
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
    if event.overload_name:
        args["Overload"] = event.overload_name
    if event.input_shapes:
        args |= {
            "Input Dims": event.input_shapes,
            "Input type": event.input_dtypes,
            "Concrete Inputs": [str(value) if value is not None else "" for value in event.concrete_inputs],
        }
    for name, value in (
        ("Call stack", ";".join(event.stack)), ("Module", event.module), ("Args", event.args), ("Flops", event.flops),
        ("Memory", event.cpu_memory_usage), ("Dispatch keys", ", ".join(event.dispatch_keys)),
    ):  # fmt: skip
        if value:
            args[name] = value
    here = {"ph": "X", "pid": pid, "tid": event.thread}
    category = _CATEGORIES.get(event.scope, "cpu_op")
    rows: list[dict[str, Any]] = [
        {**here, "cat": category, "name": event.trace_name, "ts": time.start, "dur": time.elapsed_us(), "args": args}
    ]
    for hop in event.hops:
        start = (hop.start - began) / 1e3
        rows.append({**here, "cat": "dispatch_key", "name": hop.key, "ts": start, "dur": (hop.end - hop.start) / 1e3})
    for kernel in event.kernels:
        rows.append(
            {
                "ph": "X", "cat": "kernel", "name": kernel.name, "pid": _device_pid(kernel.device), "tid": kernel.stream,
                "ts": kernel.start, "dur": kernel.duration, "args": {"External id": event.id},
            }
        )  # fmt: skip
    return rows


def write_trace(path: str, trace: dict[str, Any]) -> None:
    """Write a trace as JSON, compressed if the name ends in ``.gz``."""
    if path.endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            json.dump(trace, file, default=str)  # sizes may be symbols
    else:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(trace, file, default=str)  # sizes may be symbols
