"""What a profiler recorded: events, and averages of those alike.

Note [Times of an event]
    An operator call is an event; the hops that it takes through the dispatcher are no events of their own, but the event
    knows each with its key.  An event's total time reaches from begin to end, its self time is that without the events
    inside of it, and the self times of its keys add up to its self time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Hop", "Interval", "Kernel"]


class DeviceType(Enum):
    """Where an event's time was spent."""

    CPU = 0
    XPU = 12


class Interval:
    """A stretch of time.

    Attributes
    ----------
    start, end : float
        Microseconds since the profiler started.
    """

    __slots__ = ("end", "start")

    def __init__(self, start: float, end: float):
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Return the length in microseconds."""
        return self.end - self.start


class Kernel(NamedTuple):
    """What a device ran for an event; times in microseconds on the profiler's clock."""

    name: str
    device: int
    duration: float
    start: float
    stream: int


class Hop(NamedTuple):
    """One level of a call: the key whose kernel ran, and when, in nanoseconds of the clock."""

    key: str
    start: int
    end: int


def _text_of(name: str) -> Any:
    """Return a property that shows the time of that name as text."""
    return property(lambda event: time_text(getattr(event, name)))


class _Times:
    """The times of an event as text."""

    cpu_time_str = _text_of("cpu_time")
    cpu_time_total_str = _text_of("cpu_time_total")
    self_cpu_time_total_str = _text_of("self_cpu_time_total")
    device_time_str = _text_of("device_time")
    device_time_total_str = _text_of("device_time_total")
    self_device_time_total_str = _text_of("self_device_time_total")


class FunctionEvent(_Times):
    """One operator call, one annotation, or one node of a backward pass.

    Attributes
    ----------
    id : int
    name, trace_name : str
        ``"aten::add"``; the second, which trace files show, tells steps apart by their number.
    overload_name : str
        ``"Tensor"``, empty for the default overload and for what is no operator.
    scope : int
        0 operators, 1 nodes of backward, 7 annotations.
    time_range : Interval
    cpu_parent, cpu_children
        The event around this one, and those directly inside.
    dispatch_keys : tuple of str
        The keys that the call went through, outermost first.
    key_times : dict of str to float
        Microseconds that the kernels of each key took themselves (Note [Times of an event]).
    input_shapes, input_dtypes : list
        One entry an argument of the schema, ``[]`` or ``""`` for those that are no tensors; with ``record_shapes``.
    concrete_inputs : list
        The arguments that are no tensors, None in place of tensors; with ``record_shapes``.
    stack : list of str
        Python's frames, innermost first; with ``with_stack``.
    module : str
        The innermost module that was running; with ``with_modules``.
    flops : int
        With ``with_flops``; 0 where no formula is known.
    cpu_memory_usage : int
        Bytes of tensors' memory that the call made minus those it freed, with all events inside; with ``profile_memory``.
        ``device_memory_usage`` is the same of devices.
    kernels : list of Kernel
    sequence_nr : int
        The number of the node that the call recorded, or for a node of backward its own; -1 for none.
    """

    def __init__(self, id: int, name: str, overload_name: str, scope: int, start: int, thread: int):
        self.id = id
        self.name = self.trace_name = name
        self.overload_name = overload_name
        self.scope = scope
        self.thread = self.fwd_thread = thread
        self.time_range = Interval(0.0, 0.0)
        self.started = start
        self.ended = start
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.hops: list[Hop] = []
        self.key_times: dict[str, float] = {}
        self.input_shapes: list = []
        self.input_dtypes: list[str] = []
        self.concrete_inputs: list = []
        self.stack: list[str] = []
        self.module = ""
        self.flops = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.kernels: list[Kernel] = []
        self.sequence_nr = -1
        self.args: str | None = None
        self.count = 1
        self.node_id = -1
        self.is_async = self.is_remote = False
        self.device_type = DeviceType.CPU

    @property
    def key(self) -> str:
        """The name that events are averaged under."""
        return self.name

    @property
    def is_user_annotation(self) -> bool:
        """Whether it is an annotation: `record_function`, a step, an optimizer."""
        return self.scope == ANNOTATION

    @property
    def dispatch_keys(self) -> tuple[str, ...]:
        """The keys that the call went through, outermost first."""
        return tuple(hop.key for hop in sorted(self.hops, key=lambda hop: (hop.start, -hop.end)))

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from begin to end."""
        return self.time_range.elapsed_us()

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds without the events inside."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    def _with_those_inside(self) -> Iterator[FunctionEvent]:
        """Yield the event and all inside of it, however deep they are."""
        waiting = [self]
        while waiting:
            event = waiting.pop()
            yield event
            waiting += event.cpu_children

    @property
    def self_device_time_total(self) -> float:
        """Microseconds that a device took for kernels that the event itself started."""
        return sum(kernel.duration for kernel in self.kernels)

    @property
    def device_time_total(self) -> float:
        """Microseconds that a device took for this event and those inside."""
        return sum(event.self_device_time_total for event in self._with_those_inside())

    device_time = device_time_total

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes made minus bytes freed, events inside included."""
        return sum(event.self_cpu_memory_usage for event in self._with_those_inside())

    @property
    def device_memory_usage(self) -> int:
        """The same of memory of devices."""
        return sum(event.self_device_memory_usage for event in self._with_those_inside())

    def add_memory(self, nbytes: int, on_host: bool) -> None:
        """Count bytes that were made, or negative ones that were freed."""
        if on_host:
            self.self_cpu_memory_usage += nbytes
        else:
            self.self_device_memory_usage += nbytes

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"keys={','.join(self.dispatch_keys)} cpu_time={time_text(self.cpu_time_total)} "
            f"start_us={self.time_range.start:.3f} end_us={self.time_range.end:.3f} "
            f"cpu_children={[child.id for child in self.cpu_children]} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} seq_nr={self.sequence_nr}>"
        )


# What `FunctionEvent.scope` says, with PyTorch's numbers.
OPERATOR, BACKWARD, ANNOTATION = 0, 1, 7
_SUMS = (
    "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total", "cpu_memory_usage",
    "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage", "flops", "count",
)  # fmt: skip


class FunctionEventAvg(_Times):
    """The sum over events that are alike; the attributes are theirs, ``count`` their number.

    Attributes
    ----------
    key : str
    cpu_time, device_time : float
        Microseconds a call.
    key_times : dict of str to float
        Microseconds that the kernels of each dispatch key took themselves.
    """

    def __init__(self) -> None:
        self.key = ""
        self.overload_name = ""
        self.input_shapes: list = []
        self.stack: list[str] = []
        self.module = ""
        self.dispatch_keys: tuple[str, ...] = ()
        self.scope = 0
        self.is_user_annotation = False
        self.device_type = DeviceType.CPU
        self.key_times: dict[str, float] = {}
        self.count = 0
        self.flops = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0

    @property
    def cpu_time(self) -> float:
        """Microseconds a call."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """Microseconds on a device a call."""
        return self.device_time_total / self.count if self.count else 0.0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Add an event, or another average; return this one."""
        if not self.count:
            for name in ("key", "overload_name", "input_shapes", "stack", "module", "dispatch_keys", "scope",
                         "is_user_annotation", "device_type"):  # fmt: skip
                setattr(self, name, getattr(other, name))
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for key, time in other.key_times.items():
            self.key_times[key] = self.key_times.get(key, 0.0) + time
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={time_text(self.self_cpu_time_total)} "
            f"cpu_time={time_text(self.cpu_time)} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage}>"
        )


class EventList(list):
    """A list of events or of averages, with what can be asked of them."""

    def __init__(
        self,
        events: Iterable = (),
        *,
        profile_memory: bool = False,
        with_flops: bool = False,
        use_device: str | None = None,
    ):
        super().__init__(events)
        self.profile_memory = profile_memory
        self.with_flops = with_flops
        self.use_device = use_device

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def table(self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
              max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
              top_level_events_only: bool = False, time_unit: str | None = None) -> str:  # fmt: skip
        """Return the events as text, a row each.

        Parameters
        ----------
        sort_by : str, optional
            An attribute, the largest first: ``"self_cpu_time_total"``, ``"cpu_time_total"``, ``"cpu_memory_usage"``,
            ``"count"``, ``"flops"``, ``"device_time_total"``, ...; by default the order of first occurrence.
        row_limit : int
            -1 for all rows.
        header : str, optional
            A line above.
        top_level_events_only : bool
            Leave out what happened inside of another event; only of `events()`.
        time_unit : {"s", "ms", "us"}, optional
            By default the one that fits each number.
        """
        from minitorch.profiler.table import build_table

        return build_table(self, sort_by, row_limit, max_src_column_width, max_name_column_width, max_shapes_column_width,
                           header, top_level_events_only, time_unit)  # fmt: skip

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False,
                     *, group_by_dispatch_keys: bool = False, group_by_module: bool = False) -> EventList:  # fmt: skip
        """Return averages over the events of the same name: see `profile.key_averages`."""
        groups: dict[tuple, FunctionEventAvg] = {}
        for event in self:
            route = event.dispatch_keys if group_by_dispatch_keys else ()
            shapes = event.input_shapes if group_by_input_shapes else []
            stack = event.stack[:group_by_stack_n] if group_by_stack_n > 0 else []
            overload = event.overload_name if group_by_overload_name else ""
            module = event.module if group_by_module else ""
            key = (event.key, event.is_user_annotation, str(shapes), tuple(stack), overload, route, module)
            average = groups.setdefault(key, FunctionEventAvg()).add(event)
            # What they have not in common is not shown of the first.
            average.input_shapes, average.stack, average.overload_name = shapes, stack, overload
            average.dispatch_keys, average.module = route, module
        return EventList(
            groups.values(), profile_memory=self.profile_memory, with_flops=self.with_flops, use_device=self.use_device
        )

    def total_average(self) -> FunctionEventAvg:
        """Return the sum of all events; each counts with what is inside, as in PyTorch."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
            total.key = "Total"
        return total

    def export_stacks(self, path: str, metric: str) -> None:
        """Write one line a stack, as flame graph tools read: ``outer;inner;operator number``.

        Raises
        ------
        ValueError
            If `metric` is not ``self_cpu_time_total`` or ``self_device_time_total`` (or ``self_xpu_time_total``).
        """
        from minitorch.profiler.table import device_neutral

        attribute = device_neutral(metric)
        if attribute not in ("self_cpu_time_total", "self_device_time_total"):
            raise ValueError(
                f"export_stacks(): metric should be one of self_cpu_time_total, self_device_time_total, not {metric!r}"
            )
        changed = str.maketrans(" ;\t\n", "____")
        with open(path, "w", encoding="utf-8") as file:
            for event in self:
                value = int(getattr(event, attribute))
                if event.stack and value > 0:
                    frames = ";".join(frame.translate(changed) for frame in reversed(event.stack))
                    file.write(f"{frames} {value}\n")


def time_text(microseconds: float) -> str:
    """Return a time with the unit that fits it."""
    if abs(microseconds) >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    if abs(microseconds) >= 1e3:
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"
