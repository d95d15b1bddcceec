"""Imports point down: the table of layers in pyproject.toml holds for every module."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "minitorch"
LAYERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["minitorch"]["layers"]
RANK = {name: rank for rank, names in enumerate(reversed(LAYERS)) for name in names}
FILES = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def layer_of(path: Path) -> str:
    part = path.relative_to(PACKAGE).parts[0]
    return part.removesuffix(".py")


def top_level_imports(path: Path):
    """Yield (line, layer) for each import of this package that runs when the module is imported."""
    tree = ast.parse(path.read_text())
    nodes = list(tree.body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("minitorch"):
            parts = node.module.split(".")
            for name in [parts[1]] if len(parts) > 1 else [a.name for a in node.names]:
                yield node.lineno, name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                if parts[0] == "minitorch" and len(parts) > 1:
                    yield node.lineno, parts[1]
        nodes.extend(ast.iter_child_nodes(node))


def test_every_module_has_a_layer():
    unknown = {layer_of(p) for p in FILES} - set(RANK)
    assert not unknown, f"add to [tool.minitorch] layers in pyproject.toml: {sorted(unknown)}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    own = layer_of(path)
    wrong = [
        f"line {line}: {own} imports {name}"
        for line, name in top_level_imports(path)
        if name in RANK and RANK[name] > RANK[own]
    ]
    assert not wrong, wrong


def test_functionality_packages_do_not_import_each_other():
    group = next(names for names in LAYERS if "backends" in names)
    wrong = []
    for path in FILES:
        own = layer_of(path)
        if own in group:
            wrong += [
                f"{path.relative_to(PACKAGE)}:{line} imports {name}"
                for line, name in top_level_imports(path)
                if name in group and name != own
            ]
    assert not wrong, wrong


def test_only_their_backends_import_cupy_and_pyopencl():
    wrong = []
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                home = {"cupy": "cuda", "pyopencl": "opencl"}.get(name.split(".")[0])
                if home and f"backends/{home}/" not in path.as_posix():
                    wrong.append(f"{path.relative_to(PACKAGE)}:{node.lineno} imports {name}")
    assert not wrong, wrong


def test_array_kernels_import_no_array_library():
    wrong = []
    for path in (PACKAGE / "backends" / "array").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = []
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            wrong += [f"{path.name}:{node.lineno} imports {n}" for n in names if n.split(".")[0] in ("numpy", "cupy")]
    assert not wrong, wrong


def test_import_loads_no_optional_library():
    code = (
        "import sys, minitorch; "
        "print([m for m in ('scipy', 'cupy', 'pyopencl', 'numba', 'torch', 'matplotlib', 'pytest') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == "[]"
