"""``python -m minitorch.as_torch script.py arguments``: run a PyTorch program on minitorch."""

from __future__ import annotations

import argparse
import re
import runpy
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from minitorch.as_torch import install, missing_names


def main(arguments: list[str] | None = None) -> int:
    """Run the command, and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m minitorch.as_torch",
        description="Run a PyTorch program unchanged: import torch gives minitorch.",
    )
    parser.add_argument("--check", action="store_true", help="do not run; list what of PyTorch the files use and minitorch lacks")
    parser.add_argument("-m", dest="module", action="store_true", help="PROGRAM is the name of a module")
    parser.add_argument("program", metavar="PROGRAM", help="a Python file (with --check also a folder)")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the program's own arguments")
    options = parser.parse_args(arguments)
    if options.check:
        missing = missing_names(options.program, *options.arguments)
        for name in missing:
            print(name)
        print(f"{len(missing)} name(s) missing" if missing else "nothing is missing, as far as the source tells")
        return 1 if missing else 0
    install()
    sys.argv = [options.program, *options.arguments]
    try:
        if options.module:
            sys.path.insert(0, "")
            runpy.run_module(options.program, run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(options.program).resolve().parent))
            runpy.run_path(options.program, run_name="__main__")
    except (AttributeError, ImportError) as error:
        name = _missing_in(error)
        if name is None:
            raise
        traceback.print_exc()
        frame = _place(error)
        print(f"\nminitorch does not have {name} (used at {frame.filename}:{frame.lineno}).", file=sys.stderr)
        print(f"All that is missing: python -m minitorch.as_torch --check {options.program}", file=sys.stderr)
        return 1
    return 0


def _place(error: BaseException) -> traceback.FrameSummary:
    """Return where an error comes from: the innermost place outside of this package."""
    frames = traceback.extract_tb(error.__traceback__)
    package = str(Path(__file__).resolve().parent.parent)
    outside = [f for f in frames if not f.filename.startswith((package, "<frozen"))]
    return (outside or frames)[-1]


def _missing_in(error: Any) -> str | None:
    """Return PyTorch's name of what minitorch lacks, if that is what an error is about."""
    if isinstance(error, ImportError):
        module = error.name or ""
        name = getattr(error, "name_from", None)
        if name is None and (match := re.match(r"cannot import name '(\w+)'", str(error))):  # Python 3.11
            name = match[1]
        if module.partition(".")[0] not in ("torch", "minitorch"):
            return None
        return ".".join(["torch", *module.split(".")[1:], *([name] if name else [])])
    owner = error.obj
    if isinstance(owner, ModuleType) and owner.__name__.partition(".")[0] in ("torch", "minitorch"):
        return ".".join(["torch", *owner.__name__.split(".")[1:], error.name])
    cls = owner if isinstance(owner, type) else type(owner)
    if cls.__module__.partition(".")[0] == "minitorch":
        return f"{cls.__name__}.{error.name}"
    return None


if __name__ == "__main__":
    sys.exit(main())
