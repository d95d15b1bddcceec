"""`Compare`: measurements laid out as tables."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from minitorch.utils.benchmark.measurement import Measurement, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]

_INDENT = " " * 6
_BEST, _GOOD, _BAD, _WORST, _BOLD, _END = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"


class Colorize(Enum):
    """Which times of a table are compared by colour: none, those of a column, or those of a row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Tables of measurements: one a label, with a row for each sub-label and a column for each description.

    Rows are grouped by the number of threads; environments have rows of their own. What was measured several times is
    merged.

    Parameters
    ----------
    results : list of Measurement

    Examples
    --------
    >>> from minitorch.utils.benchmark import Measurement, TaskSpec
    >>> spec = TaskSpec("x + y", "pass", label="add", sub_label="4 x 4", description="eager")
    >>> print(Compare([Measurement(1, [2e-6], spec)]))
    [------- add -------]
                 |  eager
    1 threads: ----------
          4 x 4  |   2.0
    <BLANKLINE>
    Times are in microseconds (us).
    <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]):
        self._results: list[Measurement] = []
        self.extend_results(results)
        self._trims = False
        self._colorize = Colorize.NONE
        self._highlights = False

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add measurements.

        Raises
        ------
        ValueError
            If something else is among them.
        """
        results = list(results)
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Compare: expected measurements, got a {type(result).__name__}")
        self._results += results

    def trim_significant_figures(self) -> None:
        """Show only the digits that the spread of the times supports."""
        self._trims = True

    def colorize(self, rowwise: bool = False) -> None:
        """Colour the best and the worst times of each column, or of each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Mark the times whose spread is too wide for them to be relied on."""
        self._highlights = True

    def print(self) -> None:
        """Print the tables."""
        print(self)

    def __str__(self) -> str:
        tables: dict[str, list[Measurement]] = {}
        for result in Measurement.merge(self._results):
            tables.setdefault(result.task_spec.label or result.task_spec.stmt, []).append(result)
        return "\n".join(self._table(label, results) for label, results in tables.items())

    def _table(self, label: str, results: list[Measurement]) -> str:
        unit, scale = select_unit(min(result.median for result in results))
        columns = list(dict.fromkeys(result.task_spec.description for result in results))
        several = len({result.env for result in results}) > 1
        rows: dict[tuple, dict[Any, Measurement]] = {}
        for result in sorted(results, key=lambda r: r.task_spec.num_threads):
            key = (result.task_spec.num_threads, result.env if several else "", result.as_row_name)
            rows.setdefault(key, {})[result.task_spec.description] = result
        cells = {key: [self._text(row.get(column), scale) for column in columns] for key, row in rows.items()}
        titles = [column or "" for column in columns]
        widths = [max(len(title), *[len(row[i]) for row in cells.values()]) for i, title in enumerate(titles)]
        names = {key: f"{f'({key[1]}) ' if key[1] else ''}{key[2]}" for key in rows}
        name_width = max(map(len, names.values())) + len(_INDENT)
        header = " " * name_width + "".join(f"  |  {title:^{w}}" for title, w in zip(titles, widths, strict=True))
        lines = [f"[{f' {label} ':-^{len(header) - 2}}]", header.rstrip()]
        threads = None
        for key, row in rows.items():
            if key[0] != threads:
                threads = key[0]
                start = f"{threads} threads: "
                lines.append(start + "-" * (len(header) - len(start)))
            line = f"{_INDENT}{names[key]:<{name_width - len(_INDENT)}}"
            for i, column in enumerate(columns):
                text = f"{cells[key][i]:^{widths[i]}}"
                line += "  |  " + self._coloured(text, row.get(column), self._rivals(rows, key, column))
            lines.append(line.rstrip())
        note = f"\nTimes are in {unit_to_english(unit)}s ({unit}).\n"
        if self._highlights and any(result.has_warnings for result in results):
            note += "(!) the times spread too widely to be relied on.\n"
        return "\n".join(lines) + "\n" + note

    def _text(self, result: Measurement | None, scale: float) -> str:
        if result is None:
            return ""
        value = result.median / scale
        mark = "(!) " if self._highlights and result.has_warnings else ""
        if not self._trims:
            return f"{mark}{value:.1f}"
        digits = result.significant_figures
        trimmed = trim_sigfig(value, digits)
        whole = len(str(int(trimmed))) if trimmed >= 1 else 0
        return f"{mark}{trimmed:.{max(digits - whole, 0)}f}"

    def _rivals(self, rows: dict[tuple, dict[Any, Measurement]], key: tuple, column: Any) -> list[float]:
        if self._colorize is Colorize.ROWWISE:
            found = list(rows[key].values())
        else:
            found = [row[column] for other, row in rows.items() if column in row and other[0] == key[0]]
        return [result.median for result in found]

    def _coloured(self, text: str, result: Measurement | None, rivals: list[float]) -> str:
        if self._colorize is Colorize.NONE or result is None or len(rivals) < 2:
            return text
        best = min(rivals)
        ratio = result.median / best
        if ratio <= 1.05:
            return f"{_BEST}{_BOLD}{text}{_END}"
        colour = _GOOD if ratio <= 1.2 else "" if ratio <= 2 else _BAD if ratio <= 5 else _WORST
        return f"{colour}{text}{_END}" if colour else text
