"""Every variable of the loops that are compiled ahead of time has a C type: one without makes an object of each element."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import minitorch

CPU = Path(minitorch.__file__).parent / "backends" / "cpu"
FUNCTIONS = {f.name: f for f in ast.parse((CPU / "loops.py").read_text()).body if isinstance(f, ast.FunctionDef)}


def declared():
    """Return the names that have a type in loops.pxd, by function."""
    found, types = {}, ""
    for line in (CPU / "loops.pxd").read_text().splitlines():
        if line.startswith("@cython.locals("):
            types = line
        elif match := re.match(r"c(?:p)?def .*?(\w+)\((.*)\)", line):
            arguments = {part.split()[-1] for part in match[2].split(",") if part.strip()}
            found[match[1]] = set(re.findall(r"(\w+)=", types)) | arguments
            types = ""
    return found


TYPES = declared()


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name in TYPES])
def test_every_variable_has_a_type(name):
    stored = {n.id for n in ast.walk(FUNCTIONS[name]) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert stored <= TYPES[name], f"loops.pxd gives no type to {sorted(stored - TYPES[name])} of {name}"


def test_the_loops_are_found():
    assert "g" in TYPES["threshold_backward_loop"]
    assert len([name for name in FUNCTIONS if name in TYPES]) > 20
