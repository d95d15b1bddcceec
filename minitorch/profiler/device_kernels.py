"""Kernels of OpenCL devices in a profile: what was launched for which event, and when the device ran it."""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from time import perf_counter_ns
from typing import Any, NamedTuple

from minitorch.profiler.events import FunctionEvent, Kernel


class _Launch(NamedTuple):
    """One kernel in a queue."""

    device: Any
    name: str
    completion: Any
    event: FunctionEvent
    at: int


class DeviceKernels:
    """Collects launches between `start` and `stop`.

    The queues keep times by the devices' clocks.  A kernel is placed by the moment that the host handed it over, and how long
    it then waited in the queue.
    """

    def __init__(self) -> None:
        self._launches: list[_Launch] = []
        self._innermost: Callable[[], FunctionEvent | None] = lambda: None
        self._now: Callable[[], int] = perf_counter_ns
        self._thread = 0

    def start(self, innermost: Callable[[], FunctionEvent | None], now: Callable[[], int]) -> None:
        """Collect from now on; `innermost` returns the event that a launch is for, `now` the nanoseconds of its clock."""
        from minitorch.backends.opencl import runtime

        self._innermost = innermost
        self._now = now
        self._thread = get_ident()
        runtime.launch_observers.append(self._launched)

    def stop(self, began: int) -> None:
        """Wait for the devices, and give each event its kernels; `began` is the zero of their times."""
        from minitorch.backends.opencl import runtime

        runtime.launch_observers.remove(self._launched)
        for device in {id(launch.device): launch.device for launch in self._launches}.values():
            device.synchronize()
        for launch in self._launches:
            completion = launch.completion
            times = completion.profile
            start = (launch.at + times.start - times.queued - began) / 1e3
            stream = completion.command_queue.int_ptr
            duration = (times.end - times.start) / 1e3
            launch.event.kernels.append(Kernel(launch.name, launch.device.index, duration, start, stream))
        self._launches.clear()

    def _launched(self, device: Any, name: str, completion: Any) -> None:
        event = self._innermost() if get_ident() == self._thread else None
        if event is not None:
            self._launches.append(_Launch(device, name, completion, event, self._now()))
