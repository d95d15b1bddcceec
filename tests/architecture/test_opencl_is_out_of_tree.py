"""The OpenCL backend stands on what anybody's backend stands on: public names of the package, and nothing else."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import minitorch
import minitorch.backends

PACKAGE = Path(minitorch.__file__).parent / "backends" / "opencl"
OWN = "minitorch.backends.opencl"
PUBLIC_MODULES = ("minitorch", "minitorch.backends", "minitorch.backends.helpers", "minitorch.library")


def imports(path: Path):
    """Yield (line, module, name) for each name of this package that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "minitorch":
            for alias in node.names:
                yield node.lineno, node.module, alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "minitorch":
                    yield node.lineno, alias.name, None


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: p.stem)
def test_imports_are_public(path):
    for line, module, name in imports(path):
        if module == OWN or module.startswith(OWN + "."):
            continue
        assert module in PUBLIC_MODULES, f"{path.name}:{line} imports {module}"
        assert name is None or not name.startswith("_"), f"{path.name}:{line} imports {module}.{name}"
        if module == "minitorch.backends" and name is not None:
            assert name in (*minitorch.backends.__all__, "helpers"), f"{path.name}:{line} imports {module}.{name}"
