"""What happens where a backend has no kernel: the policy, and the ledger of what ran on the CPU instead.

Note [Fallbacks are never silent]
    An operator without a kernel on a device moves its arguments to the CPU, runs there, and moves the results
    back.  That is right and slow, so each one is written down with what it moved and the user's line; the policy says
    whether it also warns (once for an operator and a device), or is refused.

Note [Three policies]
    `fallback_policy` is of operators that a device lacks.  Two more are of operators that a kind of tensor lacks, and
    write into the same ledger: `densify_policy` (a sparse tensor is made dense) and `requantize_policy` (a quantized
    tensor is dequantized, and the result quantized again).

Note [Two lives of a policy]
    ``fallback_policy("error")`` as a statement is for the process.  As ``with fallback_policy("error"):`` it is for
    the block, in the thread (or asyncio task) that runs it: entering takes back what the call set for the process.
"""

from __future__ import annotations

import os
import sys
import threading
import warnings
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

POLICIES = ("allow", "warn", "error")
_PACKAGE = str(Path(__file__).parents[1]) + os.sep


class NoKernel(NotImplementedError):
    """Raised by a backend's kernel for operands that it cannot do: the operator then runs on the CPU, if the policy lets it.

    Parameters
    ----------
    reason : str
        What it is about the operands; the ledger shows it.  Raise before anything is written.
    """


class FallbackWarning(UserWarning):
    """An operator without a kernel on a device ran on the CPU."""


def _policy_of_environment() -> str:
    value = os.environ.get("MINITORCH_FALLBACK", "warn")
    if value not in POLICIES:
        warnings.warn(f"MINITORCH_FALLBACK is one of {', '.join(POLICIES)}, not {value!r}; taken as 'warn'", stacklevel=2)
        return "warn"
    return value


_lock = threading.Lock()


class _Switch:
    """The state of one policy: the process's, and that of each scope."""

    def __init__(self, name: str, value: str):
        self.process = value
        self.scoped: ContextVar[str | None] = ContextVar(f"minitorch {name}", default=None)

    def current(self) -> str:
        """Return the policy in force here: the scope's, else the process's."""
        return self.scoped.get() or self.process


class _Policy:
    """What the policies share: a statement, and a context manager (Note [Two lives of a policy])."""

    _switch: _Switch

    def __init__(self, policy: str):
        if policy not in POLICIES:
            raise ValueError(f"{type(self).__name__}: the policy is one of {', '.join(POLICIES)}, not {policy!r}")
        self.policy = policy
        self._tokens: list[Token] = []
        with _lock:
            self._before = self._switch.process
            self._applied = True
            self._switch.process = policy

    @classmethod
    def current(cls) -> str:
        """Return the policy in force here: the scope's, else the process's."""
        return cls._switch.current()

    def __enter__(self) -> Any:
        switch = self._switch
        with _lock:
            if self._applied:
                self._applied = False
                if switch.process == self.policy:
                    switch.process = self._before
        self._tokens.append(switch.scoped.set(self.policy))
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self._switch.scoped.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.policy!r})"


class fallback_policy(_Policy):
    """Choose what happens where a backend has no kernel; also a context manager.

    Parameters
    ----------
    policy : {"allow", "warn", "error"}
        Run on the CPU; the same with a `FallbackWarning`, once for each operator and device (the default); or
        raise NotImplementedError, with the line that would add the kernel.

    Examples
    --------
    >>> from minitorch.backends import fallback_policy
    >>> with fallback_policy("error"):
    ...     fallback_policy.current()
    'error'
    >>> fallback_policy.current()
    'warn'
    """

    _switch = _Switch("fallback policy", _policy_of_environment())


class densify_policy(_Policy):
    """Choose what happens where a sparse layout has no kernel for an operator; also a context manager.

    Parameters
    ----------
    policy : {"allow", "warn", "error"}
        Make the sparse arguments dense and compute with those; the same with a `FallbackWarning`, once for each operator and
        layout; or raise NotImplementedError, which names the layouts that have a kernel (the default).

    Examples
    --------
    >>> from minitorch.backends import densify_policy
    >>> densify_policy.current()
    'error'
    """

    _switch = _Switch("densify policy", "error")


class requantize_policy(_Policy):
    """Choose what happens where there is no quantized kernel for an operator; also a context manager.

    Parameters
    ----------
    policy : {"allow", "warn", "error"}
        Dequantize, compute, and quantize the result again; the same with a `FallbackWarning`, once for each operator (the
        default); or raise NotImplementedError.

    Examples
    --------
    >>> from minitorch.backends import requantize_policy
    >>> requantize_policy.current()
    'warn'
    """

    _switch = _Switch("requantize policy", "warn")


current_policy = fallback_policy.current


# ---------------------------------------------------------------- the ledger


@dataclass
class FallbackRow:
    """Calls of one operator that ran on the CPU, from one line of the user's program.

    Attributes
    ----------
    operator, device : str
        ``"aten::erfinv"``, ``"npu:0"``.
    caller : str
        ``"file:line"``: the nearest frame outside the package.
    reason : str
        Why the backend did not run it.
    count : int
    nbytes : int
        Bytes moved, both ways together.
    """

    operator: str
    device: str
    caller: str
    reason: str
    count: int = 0
    nbytes: int = 0


@dataclass
class FallbackReport:
    """What ran on the CPU for other devices; printed, a table."""

    rows: list[FallbackRow] = field(default_factory=list)

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def count(self) -> int:
        """All calls together."""
        return sum(row.count for row in self.rows)

    @property
    def nbytes(self) -> int:
        """All bytes moved together."""
        return sum(row.nbytes for row in self.rows)

    def operators(self) -> list[str]:
        """Return the operators, each once, in alphabetical order."""
        return sorted({row.operator for row in self.rows})

    def clear(self) -> None:
        """Empty the ledger, and this report; every operator warns again."""
        clear_fallbacks()
        self.rows.clear()

    def __str__(self) -> str:
        if not self.rows:
            return "no operator fell back to the CPU"
        head = ("operator", "device", "count", "bytes moved", "caller", "reason")
        body = [
            (row.operator, row.device, str(row.count), f"{row.nbytes:,}", _shortened(row.caller), row.reason)
            for row in sorted(self.rows, key=lambda row: (-row.nbytes, -row.count, row.operator, row.caller))
        ]
        total = ("total", "", str(self.count), f"{self.nbytes:,}", "", "")
        table = [head, *body, total]
        widths = [max(len(line[i]) for line in table) for i in range(len(head))]
        lines = []
        for line in table:
            cells = [c.rjust(w) if i in (2, 3) else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)

    __repr__ = __str__


_rows: dict[tuple, FallbackRow] = {}
_warned: set[tuple[str, str]] = set()


def _shortened(caller: str) -> str:
    return caller.removeprefix(os.getcwd() + os.sep)


def calling_line() -> tuple[str, int]:
    """Return file and line of the nearest frame that is not of this package."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if (not name.startswith(_PACKAGE) and os.path.isabs(name)) or name.startswith("<"):
            if not name.startswith("<frozen"):
                return name, frame.f_lineno
        frame = frame.f_back
    return "unknown", 0


def note_fallback(
    operator: str, device: str, reason: str, nbytes: int, hint: str,
    policy: type[_Policy] = fallback_policy, what: str = "ran on the CPU",
) -> None:  # fmt: skip
    """Write one fallback down, and warn of it if `policy` says so and it is the first.

    `device` is what lacks the kernel: a device, or a kind of tensors such as ``"sparse_coo"``; `what` happened instead.
    """
    place = calling_line()
    caller = f"{place[0]}:{place[1]}"
    warn = policy.current() == "warn"
    with _lock:
        key = (operator, device, caller, reason)
        row = _rows.get(key)
        if row is None:
            row = _rows[key] = FallbackRow(operator, device, caller, reason)
        row.count += 1
        row.nbytes += nbytes
        if warn:
            warn = (operator, device) not in _warned
            _warned.add((operator, device))
    if warn:
        warnings.warn_explicit(
            f"{operator} {what} for {device}: {reason} ({nbytes} bytes moved). {hint} "
            f"minitorch.backends.fallback_report() lists all such calls; {policy.__name__}('allow') says nothing of them, "
            "'error' refuses them.",
            FallbackWarning, place[0], place[1],
        )


def fallback_report() -> FallbackReport:
    """Return what ran on the CPU for other devices so far.

    Examples
    --------
    >>> from minitorch.backends import fallback_report
    >>> print(fallback_report())
    no operator fell back to the CPU
    """
    with _lock:
        return FallbackReport([FallbackRow(**vars(row)) for row in _rows.values()])


def clear_fallbacks() -> None:
    """Empty the ledger; every operator warns again."""
    with _lock:
        _rows.clear()
        _warned.clear()
