"""The table of a profile, in the look of PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.profiler.events import time_text

_COLUMN = 12
_GAP = "  "
_UNITS = {"s": 1e-6, "ms": 1e-3, "us": 1.0}


def memory_text(nbytes: int) -> str:
    """Return bytes with the unit that fits them: ``1.50 KB``."""
    for unit, size in (("GB", 1024**3), ("MB", 1024**2), ("KB", 1024)):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} B"


def device_neutral(attribute: str) -> str:
    """Return the name of an attribute that was asked for by a device's name: ``self_device_time_total``."""
    for name in ("cuda", "xpu", "opencl"):
        attribute = attribute.replace(name, "device")
    return attribute


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.2%}" if whole else "NaN"


def _scaled_flops(largest: int) -> tuple[str, float]:
    """Return what a column of counts is called, and what they are divided by."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("K", 1e3)):
        if largest >= size:
            return f"Total {unit}FLOPs", size
    return "Total FLOPs", 1.0


def build_table(
    events: Any,
    sort_by: str | None,
    row_limit: int,
    max_src_width: int,
    max_name_width: int,
    max_shapes_width: int,
    header: str | None,
    top_level_only: bool,
    time_unit: str | None,
) -> str:
    """Return the text of `EventList.table`.

    Raises
    ------
    AttributeError
        If events have no `sort_by`.
    ValueError
        If there is no such unit.
    """
    if time_unit is not None and time_unit not in _UNITS:
        raise ValueError(f"table(): time_unit must be one of s, ms, us, not {time_unit!r}")
    if not events:
        return ""
    rows = [event for event in events if not (top_level_only and getattr(event, "cpu_parent", None) is not None)]
    if sort_by is not None:
        attribute = device_neutral(sort_by)
        rows.sort(key=lambda event: getattr(event, attribute), reverse=True)

    def time(value: float) -> str:
        return time_text(value) if time_unit is None else f"{value * _UNITS[time_unit]:.3f}{time_unit}"

    total = sum(event.self_cpu_time_total for event in events)
    device_total = sum(event.self_device_time_total for event in events)
    columns = _columns(events, time, total, device_total, max_src_width, max_name_width, max_shapes_width)
    shown = rows if row_limit < 0 else rows[:row_limit]
    cells = [[text(event) for _, _, text in columns] for event in shown]
    widths = [
        _COLUMN if width is None else min(max([len(title), *[len(row[i]) + 4 for row in cells]]), width)
        for i, (title, width, _) in enumerate(columns)
    ]
    rule = _GAP.join("-" * width for width in widths) + _GAP
    lines = [] if header is None else ["=" * len(rule), header]
    lines += [rule, _line([title for title, _, _ in columns], widths), rule]
    lines += [_line(row, widths) for row in cells]
    lines += [rule, f"Self CPU time total: {time(total)}"]
    if events.use_device:
        lines.append(f"Self {events.use_device.upper()} time total: {time(device_total)}")
    return "\n".join(lines) + "\n"


def _line(cells: list[str], widths: list[int]) -> str:
    return "".join(f"{_shortened(cell, width):>{width}}{_GAP}" for cell, width in zip(cells, widths, strict=True))


def _columns(
    events: Any,
    time: Callable[[float], str],
    total: float,
    device_total: float,
    max_src_width: int,
    max_name_width: int,
    max_shapes_width: int,
) -> list[tuple[str, int | None, Callable[[Any], str]]]:
    """Return title, largest width (None: the common one) and text of each column that the events fill."""
    columns: list[tuple[str, int | None, Callable[[Any], str]]] = [("Name", max_name_width, lambda e: e.key)]
    if any(e.overload_name for e in events):
        columns.append(("Overload Name", max_name_width, lambda e: e.overload_name))
    if any(e.dispatch_keys for e in events):
        columns.append(("Dispatch Keys", max_name_width, lambda e: ", ".join(e.dispatch_keys)))
    if any(e.module for e in events):
        columns.append(("Module", max_name_width, lambda e: e.module))
    columns += [
        ("Self CPU %", None, lambda e: _share(e.self_cpu_time_total, total)),
        ("Self CPU", None, lambda e: time(e.self_cpu_time_total)),
        ("CPU total %", None, lambda e: _share(e.cpu_time_total, total)),
        ("CPU total", None, lambda e: time(e.cpu_time_total)),
        ("CPU time avg", None, lambda e: time(e.cpu_time)),
    ]
    if events.use_device:
        name = events.use_device.upper()
        columns += [
            (f"Self {name}", None, lambda e: time(e.self_device_time_total)),
            (f"Self {name} %", None, lambda e: _share(e.self_device_time_total, device_total)),
            (f"{name} total", None, lambda e: time(e.device_time_total)),
            (f"{name} time avg", None, lambda e: time(e.device_time)),
        ]
    if events.profile_memory:
        columns += [
            ("CPU Mem", None, lambda e: memory_text(e.cpu_memory_usage)),
            ("Self CPU Mem", None, lambda e: memory_text(e.self_cpu_memory_usage)),
        ]
        if events.use_device:
            name = events.use_device.upper()
            columns += [
                (f"{name} Mem", None, lambda e: memory_text(e.device_memory_usage)),
                (f"Self {name} Mem", None, lambda e: memory_text(e.self_device_memory_usage)),
            ]
    columns.append(("# of Calls", None, lambda e: str(e.count)))
    if any(e.input_shapes for e in events):
        columns.append(("Input Shapes", max_shapes_width, lambda e: str(e.input_shapes)))
    if any(e.stack for e in events):
        columns.append(("Source Location", max_src_width, lambda e: e.stack[0] if e.stack else ""))
    if events.with_flops:
        title, size = _scaled_flops(max(e.flops for e in events))
        columns.append((title, None, lambda e: f"{e.flops / size:.3f}" if e.flops > 0 else "--"))
    return columns
