"""`Timer`: how long a statement takes."""

from __future__ import annotations

import textwrap
import timeit
from collections.abc import Callable
from enum import Enum
from time import perf_counter
from typing import Any

import minitorch
from minitorch.backends.lazy import BACKENDS_BY_TYPE
from minitorch.utils.benchmark.measurement import Measurement, TaskSpec

__all__ = ["Language", "Timer", "timer"]

_LONGEST_BLOCK = 100  # blocks this many times shorter than the whole are long enough
_OVERHEAD = 1e-4  # of the timer itself, as a part of what it measures


class Language(Enum):
    """What a statement is written in; only Python is run."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Return the clock in seconds, after all devices that are in use have done what they were given."""
    for kind, backend in list(BACKENDS_BY_TYPE.items()):
        if kind not in ("cpu", "meta"):
            backend.synchronize()
    return perf_counter()


class Timer:
    """Measures a statement, as `timeit.Timer` does, on a set number of threads and with devices waited for.

    Parameters
    ----------
    stmt, setup : str
        What is measured, and what runs before.
    global_setup : str
        Of statements in C++; must be empty.
    timer : callable
        Returns seconds.
    globals : dict, optional
        The names that the statements see; ``minitorch`` is there in any case, and as ``torch`` too for programs that call it so.
    label, sub_label, description, env : str, optional
        How results are named: `Compare` makes a table of each label, a row of each sub-label, a column of each description.
    num_threads : int
        Of the kernels, while the statement runs.
    language : Language or str
        Python.

    Raises
    ------
    NotImplementedError
        For statements in C++.

    Examples
    --------
    >>> found = Timer("x + x", globals={"x": minitorch.ones(4)}, label="add").timeit(100)
    >>> found.number_per_run, found.title
    (100, 'add')
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ):
        if not isinstance(stmt, str):
            raise ValueError(f"Timer: stmt must be a string of Python, not {type(stmt).__name__}")
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError(f"Timer: statements in {language} are not compiled; write them in Python")
        if global_setup:
            raise ValueError("Timer: global_setup is for statements in C++; put it into setup")
        # Statements of several lines may be indented as the program around them is.
        stmt, setup = (textwrap.dedent(text).strip() for text in (stmt, setup))
        names = dict(globals or {})
        for name in ("minitorch", "torch"):
            names.setdefault(name, minitorch)
        self._globals = names
        self._clock = timer
        self._timer = timeit.Timer(stmt, setup, timer=timer, globals=names)
        self._task = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _run(self, number: int) -> float:
        """Return the seconds of `number` runs."""
        return max(self._timer.timeit(number), 1e-9)

    def _with_threads(self, measure: Callable[[], Measurement]) -> Measurement:
        threads = minitorch.get_num_threads()
        minitorch.set_num_threads(self._task.num_threads)
        try:
            return measure()
        finally:
            minitorch.set_num_threads(threads)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Return one measurement of `number` runs, after some that are not measured."""

        def measure() -> Measurement:
            self._run(max(number // 100, 2))
            return Measurement(number, [self._run(number)], self._task)

        return self._with_threads(measure)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Refuse, as PyTorch does.

        Raises
        ------
        NotImplementedError
            Always: `blocked_autorange` repeats.
        """
        raise NotImplementedError("Timer.repeat: use blocked_autorange(), which repeats blocks of runs")

    def autorange(self, callback: Callable[[int, float], None] | None = None) -> None:
        """Refuse, as PyTorch does.

        Raises
        ------
        NotImplementedError
            Always: see `blocked_autorange`.
        """
        raise NotImplementedError("Timer.autorange: use blocked_autorange()")

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> None:
        """Refuse: instructions are not counted.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "Timer.collect_callgrind: instructions are not counted here; use blocked_autorange() for times"
        )

    def blocked_autorange(
        self, callback: Callable[[int, float], None] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Return measurements of blocks of runs, until they have taken `min_run_time` seconds.

        A block is as long as it takes for the clock's own cost not to count.

        Parameters
        ----------
        callback : callable, optional
            Called with (number of runs, seconds) of each block.
        """

        def measure() -> Measurement:
            number = self._block_size(min_run_time)
            times: list[float] = []
            total = 0.0
            while not times or total < min_run_time:
                times.append(self._run(number))
                total += times[-1]
                if callback is not None:
                    callback(number, times[-1])
            return Measurement(number, times, self._task)

        return self._with_threads(measure)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], None] | None = None,
    ) -> Measurement:
        """Return measurements of blocks of runs, until their spread is below `threshold`, or `max_run_time` is over.

        Parameters
        ----------
        threshold : float
            Of the interquartile range, as a part of the median.
        """

        def measure() -> Measurement:
            number = self._block_size(0.05)
            found = Measurement(number, [], self._task)
            total = 0.0
            while total < max_run_time:
                time = self._run(number)
                found.raw_times.append(time)
                total += time
                if callback is not None:
                    callback(number, time)
                if total >= min_run_time and found.meets_confidence(threshold):
                    break
            return found

        return self._with_threads(measure)

    def _block_size(self, min_run_time: float) -> int:
        """Return how many runs a block has: enough for the cost of the clock to be a small part of it."""
        overhead = sorted(self._empty() for _ in range(5))[2]
        number = 1
        while True:
            time = self._run(number)
            if (overhead / time <= _OVERHEAD and time >= min_run_time / 1000) or time > min_run_time / _LONGEST_BLOCK:
                return number
            number *= 10

    def _empty(self) -> float:
        begin = self._clock()
        return max(self._clock() - begin, 0.0)
