"""`minitorch.profiler`: what a program spends its time on, under the names of ``torch.profiler``.

`profile` records each operator call of a thread: its time, the dispatch keys that it went through and what each
took, shapes, memory, modules, stacks, and the kernels of an OpenCL device.  It sees calls through the dispatch trace
(`minitorch.dispatch.trace`), which costs nothing while no profiler runs.  ``docs/seeing.md`` shows it at work.
"""

from minitorch.profiler.annotations import record_function
from minitorch.profiler.events import DeviceType, EventList, FunctionEvent, FunctionEventAvg
from minitorch.profiler.profiler import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "ProfilerAction", "ProfilerActivity", "kineto_available",
    "profile", "record_function", "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


def kineto_available() -> bool:
    """Return False: the recorder is this package's own, and needs no Kineto."""
    return False
