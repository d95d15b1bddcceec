"""Streams and events: PyTorch's ``torch.cuda.Stream`` and ``Event`` on CuPy's.

What one stream computes and another one reads is ordered by the program alone (`Stream.wait_stream`, `Event.wait`).  CuPy's
memory pools are per stream: memory is used again only by the stream that it was taken in.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from minitorch.backends.cuda import library as loader
from minitorch.backends.cuda.library import library
from minitorch.backends.cuda.places import current_index, device_at, index_of, set_index

__all__ = ["Event", "Stream", "current_stream", "default_stream", "set_stream", "stream"]


class Event:
    """A point in a stream that others can wait for, and whose time can be told.

    Parameters
    ----------
    enable_timing : bool
        Whether `elapsed_time` may be asked.
    blocking : bool
        Whether the host sleeps while it waits, instead of spinning.
    interprocess : bool
        Whether other processes may wait for it; it cannot tell the time then.
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False):
        self.enable_timing = enable_timing
        self.blocking = blocking
        self.interprocess = interprocess
        self.raw: Any = None  # made on the device that it is recorded on
        self.device_index = -1

    def record(self, stream: Stream | None = None) -> None:
        """Stand for all that a stream (the current one by default) was given so far."""
        stream = current_stream() if stream is None else stream
        with library().cuda.Device(stream.device_index):
            if self.raw is None:
                timed = self.enable_timing and not self.interprocess
                self.raw = library().cuda.Event(
                    block=self.blocking, disable_timing=not timed, interprocess=self.interprocess
                )
                self.device_index = stream.device_index
            self.raw.record(stream.raw)

    def wait(self, stream: Stream | None = None) -> None:
        """Make a stream (the current one by default) wait for this event before it does anything more."""
        if self.raw is not None:
            (current_stream() if stream is None else stream).raw.wait_event(self.raw)

    def query(self) -> bool:
        """Return whether all that the event stands for is done; True before it is recorded."""
        return self.raw is None or bool(self.raw.done)

    def synchronize(self) -> None:
        """Wait on the host until all that the event stands for is done."""
        if self.raw is not None:
            self.raw.synchronize()

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
        if self.raw is None or end_event.raw is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if self.device_index != end_event.device_index:
            raise RuntimeError("elapsed_time: the events are on different devices, whose clocks cannot be compared")
        if not (self.query() and end_event.query()):
            raise RuntimeError("elapsed_time: both events must have happened; call end_event.synchronize() first")
        return float(library().cuda.get_elapsed_time(self.raw, end_event.raw))

    def __repr__(self) -> str:
        return f"<minitorch.cuda.Event {'not recorded' if self.raw is None else f'{self.raw.ptr:#x}'}>"


class Stream:
    """A queue of a device, whose work is done in order and beside that of other streams.

    Parameters
    ----------
    device : device, int or str, optional
        The current device by default.
    priority : int
        Lower numbers go first.
    """

    def __init__(self, device: Any = None, priority: int = 0, *, _raw: Any = None):
        loader.require()
        self.device_index = index_of(device)
        self.priority = priority
        if _raw is None:
            loader.note_use()
            with library().cuda.Device(self.device_index):
                _raw = library().cuda.Stream(non_blocking=True, priority=priority)
        self.raw = _raw

    @property
    def device(self) -> Any:
        """The device, with its index."""
        return device_at(self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The address of CUDA's stream."""
        return int(self.raw.ptr)

    stream_id = cuda_stream

    def synchronize(self) -> None:
        """Wait on the host until everything in this stream is done."""
        self.raw.synchronize()

    def query(self) -> bool:
        """Return whether everything in this stream is done."""
        return bool(self.raw.done)

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
        return isinstance(other, Stream) and (self.device_index, self.cuda_stream) == (
            other.device_index,
            other.cuda_stream,
        )

    def __hash__(self) -> int:
        return hash((self.device_index, self.cuda_stream))

    def __repr__(self) -> str:
        return f"<minitorch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        self.__dict__.setdefault("_scopes", []).append(scope := stream(self))
        scope.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.__dict__["_scopes"].pop().__exit__(*raised)


def default_stream(device: Any = None) -> Stream:
    """Return the stream that a device's work goes to where no other was chosen."""
    return Stream(device, _raw=library().cuda.Stream.null)


def current_stream(device: Any = None) -> Stream:
    """Return the stream that the calling thread's work on a device goes to."""
    index = index_of(device)
    return Stream(index, _raw=library().cuda.get_current_stream(index))


def set_stream(stream: Stream) -> None:
    """Send the calling thread's work to a stream, and make the stream's device the current one."""
    if stream is not None:
        set_index(stream.device_index)
        stream.raw.use()


@contextmanager
def stream(stream: Stream | None) -> Iterator[None]:
    """Scope: the calling thread's work goes to a stream; None changes nothing."""
    if stream is None:
        yield
        return
    index, before = current_index(), current_stream(stream.device_index)
    set_stream(stream)
    try:
        yield
    finally:
        set_stream(before)
        set_index(index)
