"""`Recorder`: turns the hops of calls into events while a profiler runs.

Note [Frames]
    What is open is a stack: a hop, an annotation or a node of backward each.  A frame that ends takes those above it along:
    they were left by an exception.  The time of a frame without that of the frames in it is the self time of its key.

Note [The recorder's clock]
    The clock stands still while the recorder works, so that what it does for one call is not taken for what the call around
    it does: looking at stacks takes longer than many an operator.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from functools import lru_cache
from time import perf_counter_ns
from typing import Any, NamedTuple

from minitorch.compiled import MODULES
from minitorch.dispatch.keys import KEY_OF_SLOT, highest_slot
from minitorch.dispatch.operator import Entry, KeyedObject, Operator
from minitorch.dispatch.trace import start_observing, stop_observing
from minitorch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from minitorch.profiler.device_kernels import DeviceKernels
from minitorch.profiler.events import ANNOTATION, BACKWARD, OPERATOR, FunctionEvent, Hop
from minitorch.profiler.flops import count_flops
from minitorch.tensor.base import TensorBase
from minitorch.utils.debug.values import tensors_in
from minitorch.utils.memory_tracker import memory_owner
from minitorch.utils.module_tracker import ModuleTracker

__all__ = ["Options", "Recorder"]

_ENGINE = "autograd::engine::evaluate_function: "
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
# Frames of how calls are seen, and of the core, which has none where it is compiled.
_OWN = tuple(os.path.join(_ROOT, "minitorch", part, "") for part in ("profiler", "dispatch"))
_CORE = frozenset(os.path.join(_ROOT, *module.split(".")) + ".py" for module in MODULES)


class Options(NamedTuple):
    """What is recorded beside times."""

    shapes: bool = False
    memory: bool = False
    stack: bool = False
    flops: bool = False
    modules: bool = False
    devices: bool = False


class _Clock:
    """Nanoseconds, without the time in pauses (Note [The recorder's clock])."""

    __slots__ = ("_lost", "_stopped")

    def __init__(self) -> None:
        self._lost = 0
        self._stopped: int | None = None

    def now(self) -> int:
        return (perf_counter_ns() if self._stopped is None else self._stopped) - self._lost

    def pause(self) -> bool:
        """Stop; return whether it ran, which `resume` is to be told."""
        if self._stopped is not None:
            return False
        self._stopped = perf_counter_ns()
        return True

    def resume(self, ran: bool) -> None:
        if ran and self._stopped is not None:
            self._lost += perf_counter_ns() - self._stopped
            self._stopped = None


class _Frame:
    """Something open (Note [Frames])."""

    __slots__ = ("event", "inner", "is_call", "key", "start")

    def __init__(self, event: FunctionEvent, key: str | None, start: int, is_call: bool):
        self.event = event
        self.key = key
        self.start = start
        self.inner = 0
        self.is_call = is_call


class Recorder:
    """What one thread does between `start` and `stop`, as events in the order they began."""

    def __init__(self, options: Options):
        self.options = options
        self.events: list[FunctionEvent] = []
        self.began = 0
        self._clock = _Clock()
        self._frames: list[_Frame] = []
        self._thread = threading.get_ident()
        self._modules = ModuleTracker() if options.modules else None
        self._devices = DeviceKernels() if options.devices else None
        self._blocks: dict[int, Any] = {}
        self._numbered: set[int] = set()
        self._handles: list[Any] = []
        self._steps: list[Any] = []
        self._running = False

    # -- the scope -----------------------------------------------------------------------

    def start(self) -> None:
        """Begin to record this thread's calls.

        Raises
        ------
        RuntimeError
            If another profiler does.
        """
        start_observing(self)
        self._handles = [
            register_optimizer_step_pre_hook(self._step_begins),
            register_optimizer_step_post_hook(self._step_ended),
        ]
        if self._modules is not None:
            self._modules.__enter__()
        if self._devices is not None:
            self._devices.start(self._innermost, self._clock.now)
        self._running = True
        self.began = self._clock.now()

    def stop(self) -> None:
        """End recording, and close what is open."""
        stop_observing()
        if self._frames:
            self._end(self._frames[0])
        self._running = False
        for handle in self._handles:
            handle.remove()
        if self._modules is not None:
            self._modules.__exit__(None, None, None)
        self._blocks.clear()
        if self._devices is not None:
            self._devices.stop(self.began)
        for event in self.events:
            event.time_range.start = (event.started - self.began) / 1e3
            event.time_range.end = (event.ended - self.began) / 1e3

    # -- what the dispatcher and the engine tell (`CallObserver`) ------------------------

    def hop_begins(
        self, label: str, op: Operator, entry: Entry, args: tuple, kwargs: dict[str, Any] | None
    ) -> Callable[[Any], None] | None:
        """Note a hop of a call."""
        ran = self._clock.pause()
        try:
            return self._note_hop(label, op, entry, args, kwargs)
        finally:
            self._clock.resume(ran)

    def _note_hop(
        self, label: str, op: Operator, entry: Entry, args: tuple, kwargs: dict[str, Any] | None
    ) -> Callable[[Any], None] | None:
        key = _key_name(entry.key_set)
        frames = self._frames
        if label != "call":
            if not frames:
                return None  # the call began before the profiler
            frame = self._open(frames[-1].event, key, False)
            return lambda result: self._end(frame)
        event = self._new_event(op.qualname.partition(".")[0], op.overload, OPERATOR)
        options = self.options
        if options.shapes:
            _note_inputs(event, args, kwargs)
        if options.memory:
            for tensor in tensors_in((args, kwargs or {})):
                self._note_memory(tensor, None)
        if options.stack:
            event.stack = _python_stack()
        frame = self._open(event, key, True)

        def ended(result: Any) -> None:
            ran = self._clock.pause()
            self._end(frame)
            self._note_result(event, op, args, kwargs, result)
            self._clock.resume(ran)

        return ended

    def node_begins(self, name: str, sequence: int) -> Any:
        """Note that the engine runs a node, or accumulates a gradient."""
        around = self._new_event(_ENGINE + name, "", BACKWARD)
        frame = self._open(around, None, True)
        event = self._new_event(name, "", BACKWARD)
        around.sequence_nr = event.sequence_nr = sequence
        self._open(event, None, True)
        return frame

    def node_ended(self, token: Any) -> None:
        """Note that it has run."""
        self._end(token)

    def annotation_begins(self, name: str, args: str | None = None) -> Any:
        """Open a part of the program that has a name; return what `annotation_ended` gets."""
        event = self._new_event(name, "", ANNOTATION)
        event.args = args
        return self._open(event, None, True)

    def annotation_ended(self, token: Any) -> None:
        """Close it."""
        self._end(token)

    # -- frames --------------------------------------------------------------------------

    def _new_event(self, name: str, overload: str, scope: int) -> FunctionEvent:
        event = FunctionEvent(len(self.events), name, overload, scope, self._clock.now(), self._thread)
        if self._frames:
            parent = self._frames[-1].event
            event.cpu_parent = parent
            parent.cpu_children.append(event)
        if self._modules is not None:
            module = self._modules.innermost
            event.module = "" if module == "Global" else module
        self.events.append(event)
        return event

    def _open(self, event: FunctionEvent, key: str | None, is_call: bool) -> _Frame:
        now = self._clock.now()
        if is_call:
            event.started = now
        frame = _Frame(event, key, now, is_call)
        self._frames.append(frame)
        return frame

    def _end(self, frame: _Frame) -> None:
        now = self._clock.now()
        frames = self._frames
        if frame not in frames:
            return  # the profiler was stopped, or another frame ended around it
        while True:
            top = frames.pop()
            took = now - top.start
            if top.key is not None:
                times = top.event.key_times
                times[top.key] = times.get(top.key, 0.0) + (took - top.inner) / 1e3
                top.event.hops.append(Hop(top.key, top.start, now))
            if top.is_call:
                top.event.ended = now
            if frames:
                frames[-1].inner += took
            if top is frame:
                return

    def _innermost(self) -> FunctionEvent | None:
        return self._frames[-1].event if self._frames else None

    # -- beside times --------------------------------------------------------------------

    def _note_result(
        self, event: FunctionEvent, op: Operator, args: tuple, kwargs: dict[str, Any] | None, result: Any
    ) -> None:
        first = result[0] if type(result) in (tuple, list) and result else result
        node: Any = getattr(first, "node", None) if isinstance(first, TensorBase) else None
        if node is not None and node.sequence not in self._numbered:
            # The innermost call that returns a node's output is the one that made it.
            self._numbered.add(node.sequence)
            event.sequence_nr = node.sequence
        if self.options.memory:
            for tensor in tensors_in(result):
                self._note_memory(tensor, event)
        if self.options.flops and result is not None and not any(map(_has_flops, event.cpu_children)):
            event.flops = count_flops(op, args, kwargs, result)

    def _note_memory(self, tensor: Any, event: FunctionEvent | None) -> None:
        """Follow a tensor's memory; it is of `event` if it is new, and was there before if that is None."""
        owner, nbytes = memory_owner(tensor)
        if owner is None or id(owner) in self._blocks:
            return
        key = id(owner)
        on_host = tensor.device.type == "cpu"
        self._blocks[key] = weakref.ref(owner, lambda _: self._freed(key, nbytes, on_host))
        if event is not None:
            event.add_memory(nbytes, on_host)

    def _freed(self, key: int, nbytes: int, on_host: bool) -> None:
        if self._blocks.pop(key, None) is None or not self._running:
            return
        event = self._innermost()
        if event is None:
            event = self._new_event("[memory]", "", ANNOTATION)
            event.ended = event.started
        event.add_memory(-nbytes, on_host)

    def _step_begins(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._steps.append(self.annotation_begins(f"Optimizer.step#{type(optimizer).__name__}.step"))

    def _step_ended(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._steps:
            self.annotation_ended(self._steps.pop())


def _has_flops(event: FunctionEvent) -> bool:
    return event.flops > 0 or any(map(_has_flops, event.cpu_children))


def _note_inputs(event: FunctionEvent, args: tuple, kwargs: dict[str, Any] | None) -> None:
    for value in (*args, *(kwargs or {}).values()):
        if isinstance(value, KeyedObject):
            event.input_shapes.append(_shape(value))
            event.input_dtypes.append(_dtype_name(value))
            event.concrete_inputs.append(None)
        elif isinstance(value, (list, tuple)) and value and all(isinstance(item, KeyedObject) for item in value):
            event.input_shapes.append([_shape(item) for item in value])
            event.input_dtypes.append("TensorList")
            event.concrete_inputs.append(None)
        else:
            event.input_shapes.append([])
            event.input_dtypes.append("Scalar" if isinstance(value, (bool, int, float, complex)) else "")
            event.concrete_inputs.append(value if _is_plain(value) else str(value))


def _shape(tensor: Any) -> list[Any]:
    return list(tensor.handle.shape)


def _dtype_name(tensor: Any) -> str:
    return _name_of_dtype(tensor.handle.dtype)


# Found out once: this is on the way of each profiled call.
@lru_cache(maxsize=256)
def _name_of_dtype(dtype: Any) -> str:
    return str(dtype)


@lru_cache(maxsize=4096)
def _key_name(key_set: int) -> str:
    return KEY_OF_SLOT[highest_slot(key_set)].name


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, (bool, int, float, str))


def _python_stack() -> list[str]:
    """Return the frames that led to a call, innermost first."""
    found = []
    frame = sys._getframe(3)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(_OWN) and file not in _CORE and not file.endswith("contextlib.py"):
            found.append(f"{file.removeprefix(_ROOT)}({frame.f_lineno}): {frame.f_code.co_name}")
        frame = frame.f_back
    return found
