"""`profile`: the scope that records, its schedule and its results."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any

from minitorch.backends.device_modules import get_device_module
from minitorch.core.device import known_device_types
from minitorch.profiler.chrome_trace import trace_of, write_trace
from minitorch.profiler.events import EventList
from minitorch.profiler.recorder import Options, Recorder

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity(Enum):
    """What is recorded: CPU is what this thread does, XPU the kernels of OpenCL devices."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a profiler does in one step: nothing, get ready, record, or record and hand over what it has."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities() -> set[ProfilerActivity]:
    """Return CPU, and XPU where there is an OpenCL device."""
    found = {ProfilerActivity.CPU}
    if "opencl" in known_device_types() and get_device_module("opencl").is_available():
        found.add(ProfilerActivity.XPU)
    return found


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable:
    """Return what a profiler does in each step: skip the first ones, then wait, warm up and record, in turn.

    Parameters
    ----------
    wait, warmup, active : int
        Steps of one cycle: without the profiler; with it, but kept out of the result; recorded.
    repeat : int
        How many cycles; 0 for as many as there are.
    skip_first : int
        Steps before the first cycle.
    skip_first_wait : int
        If not 0, the first cycle does not wait.

    Raises
    ------
    AssertionError
        If a number is negative, or `active` is 0.

    Examples
    --------
    >>> plan = schedule(wait=1, warmup=1, active=2, repeat=1)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise AssertionError(
            f"schedule(): wait, warmup, repeat and skip_first must be at least 0 and active at least 1, not wait={wait}, "
            f"warmup={warmup}, active={active}, repeat={repeat}, skip_first={skip_first}"
        )
    if warmup == 0:
        warnings.warn(
            "schedule(): without a step of warm-up the first recorded step is slower than others", stacklevel=2
        )

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"the number of a step must not be negative: {step}")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait != 0:
            step += wait
        length = wait + warmup + active
        if repeat > 0 and step / length >= repeat:
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[profile], None]:
    """Return an ``on_trace_ready`` that writes each trace to a file of its own in `dir_name`.

    Parameters
    ----------
    worker_name : str, optional
        How the files' names begin; by default host and process.
    use_gzip : bool
        Whether they are compressed.
    use_python_export : bool
        Accepted as in PyTorch; there is one way to write them.

    Raises
    ------
    RuntimeError
        If the folder cannot be made.
    """
    try:
        os.makedirs(dir_name, exist_ok=True)
    except OSError as error:
        raise RuntimeError(f"tensorboard_trace_handler: cannot make the folder {dir_name}: {error}") from error
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handler(prof: profile) -> None:
        name = f"{worker}.{time.time_ns()}.pt.trace.json"
        prof.export_chrome_trace(os.path.join(dir_name, name + (".gz" if use_gzip else "")))

    return handler


class profile:
    """Scope in which the operator calls of this thread are recorded, each with what it took.

    Backward runs in the calling thread and is recorded too.  A profiled call takes every hop through the dispatcher, where
    others have shortcuts, and each hop costs some microseconds more: compare the times of a profile with one another.

    Parameters
    ----------
    activities : iterable of ProfilerActivity, optional
        By default all of `supported_activities`, XPU only if an OpenCL device is in use already.
    schedule : callable, optional
        Returns a `ProfilerAction` for the number of a step, as `schedule` makes it; call `step` after each step.
    on_trace_ready : callable, optional
        Called with the profiler when a cycle is complete.
    record_shapes : bool
        Keep shapes, dtypes and plain values of arguments.
    profile_memory : bool
        Keep the bytes of tensors' memory that each call made and freed. What a kernel uses while it runs is not seen.
    with_stack : bool
        Keep Python's stack of each call.
    with_flops : bool
        Count floating point operations (`minitorch.utils.flop_counter` has the formulas).
    with_modules : bool
        Keep the name of the module that was running.
    acc_events : bool
        Keep the events of all cycles, not only the last one's.
    execution_trace_observer, experimental_config, use_cuda, custom_trace_id_callback
        Accepted if not given or None.

    Raises
    ------
    RuntimeError
        On entry, if another profiler runs in this thread.

    Examples
    --------
    >>> with profile(record_shapes=True) as prof:
    ...     y = minitorch.ones(2, 3) @ minitorch.ones(3, 4)
    >>> [(event.key, event.count) for event in prof.key_averages() if event.key in ("aten::ones", "aten::matmul")]
    [('aten::ones', 2), ('aten::matmul', 1)]
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
    ):
        if execution_trace_observer is not None:
            raise NotImplementedError(
                "profile(): execution_trace_observer is not supported; use fx traces (docs/tracing.md)"
            )
        if experimental_config is not None:
            raise NotImplementedError(
                "profile(): experimental_config configures Kineto, which is not used here; leave it out"
            )
        self.activities = set(activities) if activities is not None else _default_activities()
        if not self.activities:
            raise AssertionError("profile(): no activities given; pass [ProfilerActivity.CPU], say")
        unknown = [a for a in self.activities if not isinstance(a, ProfilerActivity)]
        if unknown:
            raise TypeError(f"profile(): activities are of ProfilerActivity, and not {unknown[0]!r}; ProfilerActivity.CPU, say")
        for activity in sorted(self.activities - {ProfilerActivity.CPU, ProfilerActivity.XPU}, key=lambda a: a.value):
            warnings.warn(f"profile(): {activity.name} is not recorded here; only CPU and XPU are", stacklevel=2)
        if ProfilerActivity.XPU in self.activities and ProfilerActivity.XPU not in supported_activities():
            warnings.warn("profile(): there is no OpenCL device, so that XPU is not recorded", stacklevel=2)
            self.activities.discard(ProfilerActivity.XPU)
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.record_shapes, self.profile_memory, self.with_stack = record_shapes, profile_memory, with_stack
        self.with_flops, self.with_modules, self.acc_events = with_flops, with_modules, acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._runs = False
        self._recorder: Recorder | None = None
        self._began = 0
        self._events: EventList | None = None
        self._step_token: Any = None
        self._metadata: dict[str, Any] = {}

    # -- running -------------------------------------------------------------------------

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin, with what the schedule says of the current step."""
        if _records(self.current_action):
            self._start_recording()
        self._runs = True

    def stop(self) -> None:
        """End; what was recorded last is handed to ``on_trace_ready``."""
        self._runs = False
        if self._recorder is not None:
            self._stop_recording()
            self._hand_over()

    def step(self) -> None:
        """Say that the next step begins; before `start` and after `stop` that is nobody's, and warned of."""
        if not self._runs:
            warnings.warn("profile.step(): the profiler does not run; call start(), or use it as a context manager", stacklevel=2)
            return
        before = self.current_action
        if self._recorder is not None and self._step_token is not None:
            self._recorder.annotation_ended(self._step_token)
            self._step_token = None
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if self._recorder is not None and (
            before is ProfilerAction.RECORD_AND_SAVE or not _records(self.current_action)
        ):
            if before is ProfilerAction.RECORD:
                warnings.warn("profile(): the schedule ends recording without RECORD_AND_SAVE", stacklevel=2)
            self._stop_recording()
            if before is ProfilerAction.RECORD_AND_SAVE:
                self._hand_over()
        if _records(self.current_action):
            if self._recorder is None:
                self._start_recording()
            else:
                self._begin_step()

    def _start_recording(self) -> None:
        options = Options(
            shapes=self.record_shapes, memory=self.profile_memory, stack=self.with_stack, flops=self.with_flops,
            modules=self.with_modules, devices=ProfilerActivity.XPU in self.activities,
        )  # fmt: skip
        recorder = Recorder(options)
        recorder.start()
        self._recorder = recorder
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps and self._recorder is not None:
            # One row in the averages, as in PyTorch, and each by its number in the trace.
            self._step_token = self._recorder.annotation_begins("ProfilerStep*")
            self._recorder.events[-1].trace_name = f"ProfilerStep#{self.step_num}"

    def _stop_recording(self) -> None:
        recorder, self._recorder = self._recorder, None
        assert recorder is not None
        recorder.stop()
        self._step_token = None
        events = recorder.events
        if self.acc_events and self._events is not None:
            shift = (recorder.began - self._began) / 1e3
            for event in events:
                event.id += len(self._events)
                event.time_range.start += shift
                event.time_range.end += shift
                event.kernels = [kernel._replace(start=kernel.start + shift) for kernel in event.kernels]
            events = [*self._events, *events]
        else:
            self._began = recorder.began
        used = any(event.kernels for event in events)
        self._events = EventList(
            events, profile_memory=self.profile_memory, with_flops=self.with_flops, use_device="xpu" if used else None
        )

    def _hand_over(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # -- results -------------------------------------------------------------------------

    def events(self) -> EventList:
        """Return all events, in the order in which they began.

        Raises
        ------
        AssertionError
            If nothing was recorded yet.
        """
        if self._events is None:
            raise AssertionError(
                "profile: there are no results yet: the profiler was not started, is still recording, or its schedule did "
                "not come to a recorded step"
            )
        return self._events

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
        *,
        group_by_dispatch_keys: bool = False,
        group_by_module: bool = False,
    ) -> EventList:
        """Return averages over the events of the same name.

        Parameters
        ----------
        group_by_input_shape : bool
            Keep those of other shapes apart; needs ``record_shapes=True``.
        group_by_stack_n : int
            Keep those apart whose innermost so many frames differ; needs ``with_stack=True``.
        group_by_overload_name, group_by_dispatch_keys : bool
            Keep overloads apart, or calls that went through other dispatch keys.
        group_by_module : bool
            Keep the modules apart; needs ``with_modules=True``.
        """
        return self.events().key_averages(
            group_by_input_shape,
            group_by_stack_n,
            group_by_overload_name,
            group_by_dispatch_keys=group_by_dispatch_keys,
            group_by_module=group_by_module,
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write the events as JSON for ``chrome://tracing`` and Perfetto; compressed if `path` ends in ``.gz``."""
        details = {
            "record_shapes": int(self.record_shapes), "profile_memory": int(self.profile_memory),
            "with_stack": int(self.with_stack), "with_flops": int(self.with_flops), "with_modules": int(self.with_modules),
        }  # fmt: skip
        write_trace(os.fspath(path), trace_of(self.events(), self._began, {**details, **self._metadata}))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their times, for flame graphs: see `EventList.export_stacks`.

        Raises
        ------
        RuntimeError
            If stacks were not recorded.
        """
        if not self.with_stack:
            raise RuntimeError("export_stacks(): stacks were not recorded; pass with_stack=True to profile()")
        self.events().export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace file."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put what a JSON text says into the trace file."""
        self._metadata[key] = json.loads(value)


def _records(action: ProfilerAction) -> bool:
    return action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def _default_activities() -> set[ProfilerActivity]:
    activities = {ProfilerActivity.CPU}
    if "minitorch.backends.opencl.runtime" in sys.modules:
        activities.add(ProfilerActivity.XPU)
    return activities
