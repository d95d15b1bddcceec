"""``torch.autograd.profiler``'s names: the older way to `minitorch.profiler`, which does the work."""

from __future__ import annotations

from typing import Any

_ELSEWHERE = ("EventList", "FunctionEvent", "FunctionEventAvg", "kineto_available", "record_function")
__all__ = [*_ELSEWHERE, "emit_itt", "emit_nvtx", "load_nvprof", "profile"]
_NO_MARKS = (
    "{name}: there is no {library} here that could take marks of operators. minitorch.profiler.profile records them itself; its "
    "export_chrome_trace() writes a file for chrome://tracing and Perfetto."
)


def __getattr__(name: str) -> Any:
    # The profiler stands above this package: it is imported when first named.
    if name in _ELSEWHERE:
        from minitorch import profiler

        return getattr(profiler, name)
    raise AttributeError(f"module 'minitorch.autograd.profiler' has no attribute {name!r}")


class profile:
    """Scope in which operator calls are recorded; ask this object for the results.

    The arguments are those of `minitorch.profiler.profile`.

    Parameters
    ----------
    enabled : bool
        If False, nothing happens.
    use_device : str, optional
        ``"xpu"`` or ``"opencl"`` for the kernels of OpenCL devices.
    use_cpu, use_kineto : bool
        Accepted as in PyTorch; this thread's calls are recorded in either case.

    Examples
    --------
    >>> with minitorch.autograd.profiler.profile() as prof:
    ...     y = minitorch.ones(2) + 1
    >>> [event.key for event in prof.key_averages()][-1]
    'aten::add'
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
    ):
        from minitorch.profiler import ProfilerActivity
        from minitorch.profiler import profile as recording

        activities = {ProfilerActivity.CPU}
        if use_cuda or use_device == "cuda":
            activities.add(ProfilerActivity.CUDA)  # refused with a warning
        elif use_device in ("xpu", "opencl"):
            activities.add(ProfilerActivity.XPU)
        elif use_device is not None:
            raise ValueError(f"profile(): use_device must be 'xpu', 'opencl', 'cuda' or None, not {use_device!r}")
        self.enabled = enabled
        self._profile = recording(
            activities=activities, record_shapes=record_shapes, with_flops=with_flops, profile_memory=profile_memory,
            with_stack=with_stack, with_modules=with_modules, experimental_config=experimental_config, acc_events=acc_events,
        )  # fmt: skip

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        self._profile.start()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        if self.enabled:
            self._profile.stop()

    @property
    def function_events(self) -> Any:
        """The events, in the order in which they began."""
        return self._profile.events()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each counted once."""
        return self.function_events.self_cpu_time_total

    def key_averages(self, *args: Any, **kwargs: Any) -> Any:
        """Return averages: see `minitorch.profiler.profile.key_averages`."""
        return self._profile.key_averages(*args, **kwargs)

    def total_average(self) -> Any:
        """Return the sum of all events."""
        return self.function_events.total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Return the events as text: see `minitorch.profiler.EventList.table`."""
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for ``chrome://tracing`` and Perfetto."""
        self._profile.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks with their times, for flame graphs."""
        self._profile.export_stacks(path, metric)

    def __str__(self) -> str:
        return "<unfinished minitorch.autograd.profiler.profile>" if self._profile._events is None else self.table()


def emit_nvtx(enabled: bool = True, record_shapes: bool = False) -> None:
    """Refuse: marks for Nvidia's tools are not written.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(_NO_MARKS.format(name="emit_nvtx", library="NVTX"))


def emit_itt(enabled: bool = True, record_shapes: bool = False) -> None:
    """Refuse: marks for Intel's tools are not written.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(_NO_MARKS.format(name="emit_itt", library="ITT"))


def load_nvprof(path: str) -> None:
    """Refuse: files of nvprof are not read.

    Raises
    ------
    NotImplementedError
        Always.
    """
    raise NotImplementedError(f"load_nvprof: {path} cannot be read; there is no reader of nvprof's files")
