"""What of PyTorch programs use, read from their source without running it."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from minitorch.as_torch.aliases import _module_for


class MissingName(NamedTuple):
    """A name of PyTorch that a program uses and minitorch does not have."""

    name: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}"


_ABSENT: Any = object()


def _member(owner: Any, name: str) -> Any:
    """Return an attribute of an object, or the submodule of a module, or `_ABSENT`."""
    try:
        return getattr(owner, name)
    except AttributeError:
        pass
    if hasattr(owner, "__path__") or owner.__name__ == "minitorch":
        module = _module_for(f"{owner.__name__}.{name}")
        if module is not None:
            return module
    return _ABSENT


class _Reader(ast.NodeVisitor):
    """Follows the names that torch and its parts have in one module."""

    def __init__(self, file: str):
        self.file = file
        self.names: dict[str, Any] = {}
        self.missing: list[MissingName] = []

    def note(self, name: str, node: ast.AST) -> None:
        self.missing.append(MissingName(name, self.file, getattr(node, "lineno", 0)))

    def find(self, dotted: str, node: ast.AST) -> Any:
        """Return what ``torch.a.b`` is here; notes the first part that is missing, and returns `_ABSENT`."""
        value: Any = importlib.import_module("minitorch")
        parts = dotted.split(".")
        for i, part in enumerate(parts[1:], 2):
            if isinstance(value, type) or not hasattr(value, "__name__"):
                return value
            value = _member(value, part)
            if value is _ABSENT:
                self.note(".".join(parts[:i]), node)
                return _ABSENT
        return value

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.partition(".")[0] != "torch":
                continue
            self.find(alias.name, node)
            if alias.asname:
                self.names[alias.asname] = alias.name
            else:
                self.names["torch"] = "torch"

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level or module.partition(".")[0] != "torch" or self.find(module, node) is _ABSENT:
            return
        for alias in node.names:
            if alias.name != "*" and self.find(f"{module}.{alias.name}", node) is not _ABSENT:
                self.names[alias.asname or alias.name] = f"{module}.{alias.name}"

    def visit_Attribute(self, node: ast.Attribute) -> None:
        dotted = self.dotted(node)
        if dotted is None:
            self.generic_visit(node)
        elif not isinstance(node.ctx, ast.Store):
            self.find(dotted, node)

    def dotted(self, node: ast.expr) -> str | None:
        """Return the full name of ``torch.a.b``, however torch or its part is called here; None for anything else."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.names:
            return None
        return ".".join([self.names[node.id], *reversed(parts)])


def _sources(paths: Iterable[Any]) -> Iterator[Path]:
    for path in map(Path, paths):
        yield from sorted(path.rglob("*.py")) if path.is_dir() else [path]


def missing_names(*paths: Any) -> list[MissingName]:
    """Return what of PyTorch some programs use that minitorch does not have.

    Parameters
    ----------
    *paths : str or path
        Python files, or folders of these.

    Returns
    -------
    list of MissingName
        In the order of files and lines.  Modules, functions and classes are looked at, and what modules
        have; methods of tensors are not, as it takes a run to know what is a tensor.

    Raises
    ------
    SyntaxError
        If a file is no Python.
    """
    found: list[MissingName] = []
    for path in _sources(paths):
        reader = _Reader(str(path))
        reader.visit(ast.parse(path.read_bytes(), filename=str(path)))
        found += sorted(set(reader.missing), key=lambda missing: (missing.line, missing.name))
    return found
