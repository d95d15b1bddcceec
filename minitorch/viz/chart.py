"""`Chart`: series of numbers, stacked on one another."""

from __future__ import annotations

import os
from typing import Any
from xml.sax.saxutils import escape

__all__ = ["Chart"]

_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#edc948", "#b07aa1", "#9c755f")
_WIDTH, _HEIGHT, _LEFT, _TOP, _LEGEND = 720, 320, 70, 30, 130
_MOST_POINTS = 2000  # of a series; an image has no room for more


class Chart:
    """Series over the same steps, as areas one above the other.

    Attributes
    ----------
    title : str
    series : dict of str to list of int
        All of one length.
    marks : list of (int, str)
        Steps that are marked, with a text.
    """

    def __init__(
        self, title: str, series: dict[str, list[int]], unit: str = "", marks: list[tuple[int, str]] | None = None
    ):
        lengths = {len(values) for values in series.values()}
        if len(lengths) > 1:
            raise ValueError(f"Chart: the series are of different lengths: {sorted(lengths)}")
        self.title = title
        self.unit = unit
        self.series = {name: values for name, values in series.items() if any(values)}
        self.steps = lengths.pop() if lengths else 0
        self.marks = marks or []

    @property
    def totals(self) -> list[int]:
        """The sum of all series at each step."""
        return [sum(values) for values in zip(*self.series.values(), strict=True)] or [0] * self.steps

    def text(self, rows: int = 20, width: int = 60) -> str:
        """Return a bar a line, of the largest sum in each of `rows` stretches of the steps."""
        totals = self.totals
        highest = max(totals, default=0)
        lines = [self.title] if self.title else []
        rows = min(rows, self.steps)
        for row in range(rows):
            begin, end = row * self.steps // rows, (row + 1) * self.steps // rows
            value = max(totals[begin:end])
            bar = "#" * (round(value / highest * width) if highest else 0)
            lines.append(f"{begin:>8} {value:>16,} {bar}")
        lines += [f"{text} (step {step})" for step, text in self.marks]
        return "\n".join(lines)

    def svg(self) -> str:
        """Return an SVG image."""
        highest = max(self.totals, default=0) or 1
        steps = self._shown_steps()
        span = max(self.steps - 1, 1)

        def x(step: int) -> float:
            return _LEFT + step / span * _WIDTH

        def y(value: float) -> float:
            return _TOP + (1 - value / highest) * _HEIGHT

        lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_LEFT + _WIDTH + _LEGEND}" height="{_TOP + _HEIGHT + 40}" '
            f'font-family="Helvetica, Arial, sans-serif" font-size="11">',
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{_LEFT}" y="16">{escape(self.title)}</text>',
        ]
        below = [0] * self.steps
        for i, (name, values) in enumerate(self.series.items()):
            above = [a + b for a, b in zip(below, values, strict=True)]
            points = [f"{x(s):.1f},{y(above[s]):.1f}" for s in steps] + [
                f"{x(s):.1f},{y(below[s]):.1f}" for s in reversed(steps)
            ]
            colour = _COLOURS[i % len(_COLOURS)]
            lines.append(
                f'<polygon points="{" ".join(points)}" fill="{colour}"><title>{escape(name)}</title></polygon>'
            )
            lines.append(
                f'<rect x="{_LEFT + _WIDTH + 12}" y="{_TOP + 18 * i}" width="10" height="10" fill="{colour}"/>'
            )
            lines.append(f'<text x="{_LEFT + _WIDTH + 28}" y="{_TOP + 18 * i + 9}">{escape(name)}</text>')
            below = above
        for part in range(5):
            value = highest * part / 4
            lines.append(
                f'<text x="{_LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{self._value_text(value)}</text>'
            )
            lines.append(
                f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ddd"/>'
            )
        for step, text in self.marks:
            place = x(step)
            lines.append(
                f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{_TOP + _HEIGHT}" stroke="#333" '
                'stroke-dasharray="4 3"/>'
            )
            anchor = "end" if step > self.steps / 2 else "start"
            lines.append(
                f'<text x="{place:.1f}" y="{_TOP - 4}" text-anchor="{anchor}" font-size="9">{escape(text)}</text>'
            )
        lines.append(
            f'<text x="{_LEFT + _WIDTH / 2}" y="{_TOP + _HEIGHT + 24}" text-anchor="middle">'
            f"operator calls ({self.steps:,})</text>"
        )
        return "\n".join([*lines, "</svg>"]) + "\n"

    def _shown_steps(self) -> list[int]:
        """Return the steps that are drawn: all, or of each stretch the one with the largest sum, so that no peak is lost."""
        if self.steps <= _MOST_POINTS:
            return list(range(self.steps))
        totals = self.totals
        bounds = [i * self.steps // _MOST_POINTS for i in range(_MOST_POINTS + 1)]
        inner = [max(range(a, b), key=totals.__getitem__) for a, b in zip(bounds, bounds[1:], strict=False)]
        return sorted({0, *inner, self.steps - 1})

    def _value_text(self, value: float) -> str:
        if self.unit != "B":
            return f"{value:,.0f}"
        for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
            if value >= size:
                return f"{value / size:.1f} {unit}"
        return f"{value:.0f} B"

    def figure(self, ax: Any = None) -> Any:
        """Return matplotlib's axes with the chart drawn.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            try:
                from matplotlib.figure import Figure  # pyright: ignore[reportMissingImports]
            except ImportError as error:
                raise ImportError(
                    "Chart.figure() needs matplotlib: pip install matplotlib; svg() needs nothing"
                ) from error
            ax = Figure(figsize=(9, 4)).add_subplot()
        ax.stackplot(range(self.steps), *self.series.values(), labels=list(self.series))
        for step, _ in self.marks:
            ax.axvline(step, linestyle="--", color="black", linewidth=0.8)
        ax.set_title(self.title)
        ax.set_xlabel("operator calls")
        if self.series:
            ax.legend(loc="upper left", fontsize="small")
        return ax

    def save(self, path: Any) -> None:
        """Write the chart: ``.svg`` and ``.txt`` as they are, ``.png`` and ``.pdf`` by matplotlib.

        Raises
        ------
        ValueError
            If the name ends in something else.
        ImportError
            If matplotlib is needed and not installed.
        """
        path = os.fspath(path)
        kind = os.path.splitext(path)[1].lower()
        if kind in (".png", ".pdf"):
            self.figure().figure.savefig(path)
            return
        if kind not in (".svg", ".txt"):
            raise ValueError(f"save(): {path} must end in .svg, .txt, .png or .pdf")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg() if kind == ".svg" else self.text())

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<Chart {self.title!r} of {len(self.series)} series over {self.steps} steps>"
