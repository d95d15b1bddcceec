"""Streams and events: PyTorch's ``torch.cuda.Stream`` and ``Event`` on OpenCL's queues and markers.

Every stream is an in-order queue.  What one stream computes and another one reads is ordered by the
program alone (`Stream.wait_stream`, `Event.wait`), and so is the reuse of memory: a tensor that a stream
other than its own reads must live until that stream is done.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.backends.opencl import runtime
from minitorch.backends.opencl.indices import index_of

__all__ = ["Event", "Stream", "current_stream", "default_stream", "set_stream", "stream"]


class Event:
    """A point in a stream that others can wait for, and whose time can be told.

    Parameters
    ----------
    enable_timing : bool
        Whether `elapsed_time` may be asked.
    blocking, interprocess : bool
        Accepted as in PyTorch; the host always waits without spinning, and an event belongs to its process.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        if interprocess:
            raise RuntimeError("an event of the opencl device cannot be shared with another process")
        self.enable_timing = enable_timing
        self.blocking = blocking
        self._marker: Any = None
        self._device: Any = None

    def record(self, stream: Stream | None = None) -> None:
        """Stand for all that a stream (the current one by default) was given so far."""
        stream = current_stream() if stream is None else stream
        made = runtime.device(stream.device_index)
        self._marker = made.cl.enqueue_marker(stream.queue)
        self._device = made
        stream.queue.flush()  # another queue, or another thread, may wait for it without an end of its own in sight

    def wait(self, stream: Stream | None = None) -> None:
        """Make a stream (the current one by default) wait for this event before it does anything more."""
        stream = current_stream() if stream is None else stream
        if self._marker is None:
            return
        made = runtime.device(stream.device_index)
        if made is self._device:
            made.cl.enqueue_barrier(stream.queue, wait_for=[self._marker])
        else:  # devices need not share a context, so that the host has to stand between them
            self.synchronize()

    def query(self) -> bool:
        """Return whether all that the event stands for is done; True before it is recorded."""
        if self._marker is None:
            return True
        return _reached(self._device.cl, self._marker)

    def synchronize(self) -> None:
        """Wait on the host until all that the event stands for is done."""
        if self._marker is not None:
            self._marker.wait()

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another one, by the device's clock.

        Raises
        ------
        ValueError
            If an event was made without ``enable_timing=True``, or was not recorded.
        RuntimeError
            If an event has not happened yet, or they are on different devices.
        """
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._marker is None or end_event._marker is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if self._device is not end_event._device:
            raise RuntimeError("elapsed_time: the events are on different devices, whose clocks cannot be compared")
        if not (self.query() and end_event.query()):
            raise RuntimeError("elapsed_time: both events must have happened; call end_event.synchronize() first")
        return (end_event._marker.profile.end - self._marker.profile.end) * 1e-6

    def __repr__(self) -> str:
        return f"<minitorch.opencl.Event {'not recorded' if self._marker is None else f'{id(self._marker):#x}'}>"


class Stream:
    """A queue of a device, whose work is done in order and beside that of other streams.

    Parameters
    ----------
    device : device, int or str, optional
        The current device by default.
    priority : int
        Accepted; OpenCL 1.2 knows of none.

    Notes
    -----
    A device has 32 queues besides its default one; further streams share them, as in PyTorch.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, _queue: Any = None):
        self.device_index = index_of(device)
        self.priority = priority
        made = runtime.device(self.device_index)
        self.queue = made.new_queue() if _queue is None else _queue

    @property
    def device(self) -> Any:
        """The device, with its index."""
        from minitorch.backends.opencl.indices import device_at

        return device_at(self.device_index)

    @property
    def stream_id(self) -> int:
        """A number that tells the device's streams apart."""
        return self.queue.int_ptr

    def synchronize(self) -> None:
        """Wait on the host until everything in this stream is done."""
        self.queue.finish()

    def query(self) -> bool:
        """Return whether everything in this stream is done."""
        cl = runtime.device(self.device_index).cl
        marker = cl.enqueue_marker(self.queue)
        self.queue.flush()
        return _reached(cl, marker)

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event (a new one by default) in this stream, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let everything that follows in this stream wait for an event."""
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Let everything that follows in this stream wait for what another stream was given so far."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.device_index, self.queue) == (other.device_index, other.queue)

    def __hash__(self) -> int:
        return hash((self.device_index, self.stream_id))

    def __repr__(self) -> str:
        return f"<minitorch.opencl.Stream device={self.device} queue={self.stream_id:#x}>"

    def __enter__(self) -> Stream:
        self.__dict__.setdefault("_scopes", []).append(scope := stream(self))
        scope.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.__dict__["_scopes"].pop().__exit__(*raised)


def _reached(cl: Any, marker: Any) -> bool:
    """Return whether a marker has been passed; one that nothing stands before is given the time to be."""
    deadline = time.perf_counter() + 1e-3
    while marker.command_execution_status > cl.command_execution_status.COMPLETE:  # errors are negative
        if time.perf_counter() > deadline:
            return False
        time.sleep(0)
    return True


def default_stream(device: Any = None) -> Stream:
    """Return the stream that a device's work goes to where no other was chosen."""
    index = index_of(device)
    return Stream(index, _queue=runtime.device(index).default_queue)


def current_stream(device: Any = None) -> Stream:
    """Return the stream that the calling thread's work on a device goes to."""
    index = index_of(device)
    return Stream(index, _queue=runtime.device(index).queue)


def set_stream(stream: Stream) -> None:
    """Send the calling thread's work to a stream, and make the stream's device the current one."""
    if stream is None:
        return
    made = runtime.device(stream.device_index)
    made.local.queue = None if stream.queue is made.default_queue else stream.queue
    runtime.set_index(stream.device_index)


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Scope: the calling thread's work goes to a stream; None changes nothing."""
    if stream is None:
        yield
        return
    index, before = runtime.current_index(), current_stream(stream.device_index)
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)
        runtime.set_index(index)
