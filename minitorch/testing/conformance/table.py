"""The table in which a run of the kit ends."""

from __future__ import annotations

from dataclasses import dataclass, field

from minitorch.ops.families import FAMILIES
from minitorch.testing.conformance.outcome import Outcome

STATES = ("native", "partly", "fallback", "failing")
HEAD = ("family", *STATES, "operators")


@dataclass
class Other:
    """A test of what is no operator's: copies, views, files, ...

    Attributes
    ----------
    state : {"passed", "failed", "skipped"}
    """

    name: str
    family: str
    state: str
    message: str = ""


@dataclass
class Results:
    """All that a run found out about a device."""

    device: str
    operators: list[Outcome] = field(default_factory=list)
    others: list[Other] = field(default_factory=list)

    def families(self) -> dict[str, list[Outcome]]:
        """Return the outcomes by family, in the order of the package's families."""
        found: dict[str, list[Outcome]] = {family: [] for family in FAMILIES}
        for outcome in self.operators:
            found.setdefault(outcome.family, []).append(outcome)
        return {family: outcomes for family, outcomes in found.items() if outcomes}

    def count(self, state: str) -> int:
        """Return how many operators are in a state."""
        return sum(outcome.state == state for outcome in self.operators)


def aligned(rows: list[tuple]) -> list[str]:
    """Return rows of texts as lines with columns, the first to the left and the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [c.rjust(w) if i else c.ljust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append("  ".join(cells).rstrip())
    return lines


def _totals(name: str, outcomes: list[Outcome]) -> tuple:
    counts = [sum(outcome.state == state for outcome in outcomes) for state in STATES]
    return (name, *[str(n) if n else "." for n in counts], str(len(outcomes)))


def table(results: Results) -> str:
    """Return operators by state and family, what is wrong with those that fail, and the other tests, as text."""
    lines: list[str] = []
    families = results.families()
    for state, says in (
        ("failing", "differ from the CPU"),
        ("fallback", "ran on the CPU"),
        ("partly", "ran on the CPU for some of their operands"),
    ):
        chosen = {f: [o for o in found if o.state == state] for f, found in families.items()}
        if any(chosen.values()):
            lines.append(f"these {says}:")
        for family, found in chosen.items():
            if state == "failing":
                lines += [f"  {o.name}: {', '.join(o.kinds())}" for o in found]
            elif found:
                lines += _wrapped(f"  {family}: ", [o.name for o in found])
    if results.operators:
        totals: list[tuple] = [HEAD, *[_totals(*item) for item in families.items()], _totals("all", results.operators)]
        lines += ["", *aligned(totals)]
    if results.others:
        by_family: dict[str, list[Other]] = {}
        for other in results.others:
            by_family.setdefault(other.family, []).append(other)
        states = ("passed", "skipped", "failed")
        rows: list[tuple] = [("besides operators", *states)]
        for family, found in by_family.items():
            rows.append((family, *[str(sum(o.state == s for o in found) or ".") for s in states]))
        lines += ["", *aligned(rows)]
        lines += [f"  failed: {o.family}, {o.name}: {o.message}" for o in results.others if o.state == "failed"]
        skipped: dict[str, list[str]] = {}
        for other in results.others:
            if other.state == "skipped":
                skipped.setdefault(other.message, []).append(other.name.removeprefix("test_"))
        for message, names in skipped.items():
            lines += _wrapped(f"  skipped ({message}): ", names)
    wrong = results.count("failing") + sum(o.state == "failed" for o in results.others)
    verdict = f"{results.device} differs from the CPU in {wrong}" if wrong else f"{results.device} does what the CPU does in all"
    lines += ["", f"{verdict} of {len(results.operators) + len(results.others)} operators and tests"]
    return "\n".join(lines)


def _wrapped(head: str, names: list[str], width: int = 118) -> list[str]:
    lines, line = [], head
    for i, name in enumerate(names):
        piece = name + (", " if i + 1 < len(names) else "")
        if len(line) + len(piece.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line = "    "
        line += piece
    return [*lines, line.rstrip()]
