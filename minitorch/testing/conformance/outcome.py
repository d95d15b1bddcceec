"""What the kit finds out of one operator."""

from __future__ import annotations

from dataclasses import dataclass, field

# What can be wrong, in the order in which the table shows it.
KINDS = {
    "error": "raises where the CPU does not, or another error than the CPU",
    "no error": "does not raise where the CPU does",
    "device": "a result is on another device",
    "shape": "a result has another shape, or there are more or fewer results",
    "dtype": "a result has another dtype",
    "value": "elements differ",
    "mutation": "an argument changed that the operator does not write",
    "aliasing": "a result shares memory with an argument where the CPU's does not, or does not where it does",
    "in-place": "an argument that is to be written holds something else",
    "out": "an out= argument holds something else",
    "gradient": "a gradient differs",
    "random": "a seed does not give the same numbers again",
}


@dataclass
class Failure:
    """One way in which an operator of the device differs from the CPU's.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    layout : str
        How the arguments lay in memory: ``"as is"``, ``"permuted"``, ...
    dtype : str
    message : str
        The call, and what differed.
    """

    kind: str
    layout: str
    dtype: str
    message: str

    def __str__(self) -> str:
        return f"{self.kind} ({self.dtype}, {self.layout}): {self.message}"


@dataclass
class Outcome:
    """What became of the checks of one operator.

    Attributes
    ----------
    calls, calls_on_cpu : int
        Forward calls, and those of them in which something ran on the CPU instead.
    fallbacks : dict of str to str
        The operators that ran on the CPU, gradients included, and why.
    """

    name: str
    family: str
    calls: int = 0
    calls_on_cpu: int = 0
    failures: list[Failure] = field(default_factory=list)
    fallbacks: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def state(self) -> str:
        """``"failing"``, ``"native"``, ``"fallback"``, or ``"partly"``: some calls ran on the device and some did not."""
        if self.failures:
            return "failing"
        if not self.calls_on_cpu:
            return "native"
        return "fallback" if self.calls_on_cpu == self.calls else "partly"

    def kinds(self) -> list[str]:
        """Return what is wrong, each kind once, in the order of `KINDS`."""
        found = {failure.kind for failure in self.failures}
        return [kind for kind in KINDS if kind in found]

    def text(self) -> str:
        """Return the first failure of each kind and layout."""
        lines, seen = [], set()
        for failure in self.failures:
            if (failure.kind, failure.layout) not in seen:
                seen.add((failure.kind, failure.layout))
                lines.append(f"{self.name}: {failure}")
        more = len(self.failures) - len(lines)
        return "\n".join(lines) + (f"\n(and {more} more like these)" if more else "")
