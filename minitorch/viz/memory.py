"""Memory over time, as a chart."""

from __future__ import annotations

from minitorch.utils.memory_tracker import MemoryTracker
from minitorch.viz.chart import Chart

__all__ = ["memory_timeline"]


def memory_timeline(tracker: MemoryTracker) -> Chart:
    """Return the bytes of tensors alive after each operator call, by what they are; the peak is marked.

    Parameters
    ----------
    tracker : MemoryTracker
        After its scope, or inside.

    Examples
    --------
    >>> from minitorch.utils.memory_tracker import MemoryTracker
    >>> with MemoryTracker() as tracker:
    ...     x = minitorch.ones(256)
    ...     y = x.exp()
    >>> memory_timeline(tracker).totals[-1]
    2048
    """
    marks = []
    if tracker.peak is not None:
        step = next(i for i, event in enumerate(tracker.timeline) if event is tracker.peak)
        where = f" in {tracker.peak.module}" if tracker.peak.module != "Global" else ""
        marks.append((step, f"peak {tracker.peak_bytes:,} B: {tracker.peak.op}{where}"))
    return Chart("memory of tensors", tracker.series(), "B", marks)
