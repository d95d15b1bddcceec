"""``python -m minitorch.tools where mul.Tensor``, ``coverage``, ``doctor`` and ``stubs``.

    where NAME      the kernels of an operator, or of all overloads of a name, with file and line
    coverage [KEY]  how many operators each key serves; with a key, the operators it lacks
    doctor DEVICE   what the backend of a device has and lacks, what that breaks, and the line to write
    stubs           writes the type stubs (``minitorch.tools.stubs``)
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter

import minitorch
from minitorch.dispatch.introspect import registrations
from minitorch.dispatch.keys import ALIASES, parse_key
from minitorch.dispatch.operator import OPERATORS, Operator

# The keys whose own kernels, or what serves in their place, `coverage` counts.
BACKENDS = ("CPU", "Meta", "CUDA", "XPU", "PrivateUse1")


def find(name: str) -> list[Operator]:
    """Return the operators called ``"mul.Tensor"``, ``"aten::mul.Tensor"``, or all overloads of ``"mul"``."""
    namespace, separator, rest = name.rpartition("::")
    qualname = f"{namespace if separator else 'aten'}::{rest.removesuffix('.default')}"
    if "." not in rest:
        return [op for key, op in sorted(OPERATORS.items()) if key.partition(".")[0] == qualname]
    return [OPERATORS[qualname]] if qualname in OPERATORS else []


def shortened(location: str) -> str:
    """Return a kernel's location with its file relative to the working folder, where it is inside."""
    return location.removeprefix(os.getcwd() + os.sep)


def where(name: str) -> str:
    """Return the kernels of an operator as text.

    Raises
    ------
    LookupError
        If no operator has this name.
    """
    found = find(name)
    if not found:
        base = name.rpartition("::")[2].partition(".")[0]
        others = sorted(op.qualname for op in OPERATORS.values() if base and base in op.basename)[:8]
        hint = f"; similar names: {', '.join(others)}" if others else ""
        raise LookupError(f"there is no operator {name!r}{hint}")
    blocks = []
    for op in found:
        lines = [str(op.schema)]
        for entry in registrations(op):
            marks = " (alias)" * entry.is_alias + " (skips this key)" * entry.is_fallthrough
            marks += " (replaced)" * (not entry.is_active)
            lines.append(f"  {entry.key + marks:36s} {shortened(entry.origin)}")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def served(op: Operator, key: str) -> str:
    """Return how an operator comes to run at a backend key: own kernel, composite, or missing."""
    reason = op.resolve(parse_key(key).slot)[1]
    if key in op.kernels:
        return "own kernel"
    return "missing" if reason in ("missing", "backend fallback") else "composite"  # on the CPU is not on the device


def coverage() -> str:
    """Return how many operators of ``aten`` each key serves, as text."""
    operators = [op for op in OPERATORS.values() if op.namespace == "aten" and op.schema_text is not None]
    registered = Counter(key for op in operators for key in op.kernels)
    lines = [f"{len(operators)} operators in aten", "", f"{'backend':28s} {'own kernel':>10s} {'composite':>10s} {'missing':>8s}"]
    for key in BACKENDS:
        counts = Counter(served(op, key) for op in operators)
        lines.append(f"{key:28s} {counts['own kernel']:10d} {counts['composite']:10d} {counts['missing']:8d}")
    lines += ["", f"{'kernels registered for':28s} {'operators':>10s}"]
    for key, count in sorted(registered.items(), key=lambda item: (-item[1], item[0])):
        lines.append(f"{key + ' (alias)' * (key in ALIASES):28s} {count:10d}")
    return "\n".join(lines)


def missing(key: str) -> list[str]:
    """Return the operators of ``aten`` that nothing runs at a backend key."""
    return sorted(
        op.qualname
        for op in OPERATORS.values()
        if op.namespace == "aten" and op.schema_text is not None and served(op, key) == "missing"
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m minitorch.tools", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("where", help="the kernels of an operator").add_argument("name")
    commands.add_parser("coverage", help="operators per key").add_argument("key", nargs="?")
    doctor = commands.add_parser("doctor", help="what a backend lacks")
    doctor.add_argument("device")
    doctor.add_argument("--import", dest="wanted", default="", metavar="MODULE[:FUNCTION]", help="registers the backend")
    commands.add_parser("stubs", help="write the type stubs").add_argument("--check", action="store_true")
    args = parser.parse_args(arguments)
    try:
        if args.command == "where":
            print(where(args.name))
        elif args.command == "stubs":
            from minitorch.tools import stubs

            return stubs.main(["--check"] if args.check else [])
        elif args.command == "doctor":
            from minitorch.tools import doctor as examination

            findings = examination.examine(args.device, args.wanted)
            print(examination.text_of(args.device, findings))
            return int(any(finding.is_gap for finding in findings))
        else:
            print("\n".join(missing(args.key)) if args.key else coverage())
    except (LookupError, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    assert minitorch.Tensor  # the import above puts the operators into the table
    sys.exit(main())
