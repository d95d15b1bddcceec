"""What was measured, of which program."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import pstdev
from typing import Any

__all__ = ["Measurement", "TaskSpec", "select_unit", "trim_sigfig", "unit_to_english"]

_UNITS = ((1e-9, "ns", "nanosecond"), (1e-6, "us", "microsecond"), (1e-3, "ms", "millisecond"), (1.0, "s", "second"))
# Fewer repeats, or a wider spread than these, and the result is not to be relied on.
_FEW_REPEATS = 5
_WARN_SPREAD = 0.1
_BAD_SPREAD = 0.25
_FINEST = 25e-9  # seconds


def select_unit(seconds: float) -> tuple[str, float]:
    """Return the unit that fits a time, and how many seconds it is.

    Examples
    --------
    >>> select_unit(3e-5)
    ('us', 1e-06)
    """
    unit = next((unit for unit in reversed(_UNITS) if seconds >= unit[0]), _UNITS[0])
    return unit[1], unit[0]


def unit_to_english(unit: str) -> str:
    """Return the name of a unit: ``"microsecond"`` for ``"us"``."""
    return {short: name for _, short, name in _UNITS}[unit]


def trim_sigfig(value: float, digits: int) -> float:
    """Return `value` rounded to so many significant digits."""
    if value == 0:
        return 0.0
    magnitude = 10.0 ** (math.floor(math.log10(abs(value))) + 1 - digits)
    return round(value / magnitude) * magnitude


@dataclass(frozen=True)
class TaskSpec:
    """What is measured: the statement, and how results name it."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement; with the sub-label."""
        label = self.label or self.stmt
        if self.sub_label:
            return f"{label}: {self.sub_label}"
        return label if "\n" not in label else f"stmt:\n{_indented(label)}"

    def setup_str(self) -> str:
        """Return the set-up as messages show it."""
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup:\n{_indented(self.setup)}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self) -> str:
        """Return title, description and set-up as text."""
        return "\n".join(part for part in (self.title, self.description or "", self.setup_str()) if part)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip().splitlines())


@dataclass(repr=False)
class Measurement:
    """Times of a statement, and statistics of them.

    Attributes
    ----------
    number_per_run : int
        How often the statement ran for each of `raw_times`.
    raw_times : list of float
        Seconds.
    task_spec : TaskSpec
        ``label``, ``sub_label``, ``description``, ``num_threads`` and its other attributes can be asked of the measurement too.
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None)

    def __getattr__(self, name: str) -> Any:
        if name == "task_spec":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self) -> list[float]:
        """Seconds of one run of the statement, one number a measurement."""
        return [time / self.number_per_run for time in self.raw_times]

    def _quantile(self, place: float) -> float:
        times = sorted(self.times)
        if not times:
            raise ValueError("this measurement holds no times")
        at = place * (len(times) - 1)
        low = math.floor(at)
        high = min(low + 1, len(times) - 1)
        return times[low] + (times[high] - times[low]) * (at - low)

    @property
    def mean(self) -> float:
        """Seconds, on average."""
        return sum(self.times) / len(self.times)

    @property
    def median(self) -> float:
        """Seconds; half of the times are below."""
        return self._quantile(0.5)

    @property
    def iqr(self) -> float:
        """Seconds between the first quarter of the times and the last one."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread of the times supports, 1 to 5.

        Notes
        -----
        The 95 % bound of the mean of the middle half of the times, whose errors are taken for normal; no narrower than 25 ns,
        what clocks can tell apart.
        """
        count = len(self.raw_times)
        middle = sorted(self.times)[count // 4 : math.ceil(3 * count / 4)]
        bound = max(1.645 * pstdev(middle) / math.sqrt(len(middle)), _FINEST)
        return min(max(1, math.floor(-math.log10(bound / self.median))), 5)

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread too widely, or there are too few."""
        return bool(self._warnings())

    def meets_confidence(self, threshold: float = _WARN_SPREAD) -> bool:
        """Return whether the interquartile range is below `threshold` times the median, of at least some repeats."""
        return len(self.raw_times) >= _FEW_REPEATS and self.iqr / self.median < threshold

    def _warnings(self) -> list[str]:
        if len(self.raw_times) < 2 or self.median <= 0:
            return []
        spread = self.iqr / self.median
        if spread > _WARN_SPREAD:
            advice = "can be relied on less" if spread < _BAD_SPREAD else "should not be relied on"
            return [
                f"WARNING: the middle half of the times spreads over {spread:.1%} of the median; the result {advice}."
            ]
        return []

    @property
    def title(self) -> str:
        """The label and sub-label, or the statement."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The environment that the times belong to, as they are told apart by `Compare`."""
        return self.task_spec.env or "Unspecified env"

    @property
    def as_row_name(self) -> str:
        """How `Compare` names its row."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        unit, scale = select_unit(self.median)
        count = len(self.raw_times)
        lines = [
            f"<{type(self).__module__}.{type(self).__name__} object at {hex(id(self))}>",
            self.task_spec.summarize(),
        ]
        if count == 1:
            lines.append(f"  {self.median / scale:.2f} {unit}")
        else:
            low, high = (self._quantile(place) / scale for place in (0.25, 0.75))
            lines.append(f"  Median: {self.median / scale:.2f} {unit}")
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        runs = "runs per measurement" if count > 1 else "runs"
        threads = self.task_spec.num_threads
        lines.append(
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} {runs}, {threads} "
            f"thread{'s' if threads > 1 else ''}"
        )
        return "\n".join([*lines, *[f"  {line}" for line in self._warnings()]])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Return the measurements with those of the same task joined; their times are those of single runs."""
        groups: dict[TaskSpec, list[Measurement]] = {}
        for measurement in measurements:
            groups.setdefault(measurement.task_spec, []).append(measurement)
        return [Measurement(1, [time for m in group for time in m.times], spec) for spec, group in groups.items()]
