"""The documentation's code runs: python blocks of the pages, examples of the docstrings."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import minitorch

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
# They register devices, which is for the whole process.
OF_THEIR_OWN = ("backends.md",)
# What pages, and examples of modules, need besides the library.
NEEDS = {"func.md": "sklearn", "tracing.md": "sympy", "minitorch.interop.safetensors": "safetensors"}
BLOCK = re.compile(r"^```python\n(.*?)^```", re.S | re.M)


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(path):
    """A page's blocks run in order and share a namespace; tracebacks show the page's lines."""
    if path.name in NEEDS:
        pytest.importorskip(NEEDS[path.name], reason="the page uses its data")
    if path.name in OF_THEIR_OWN:
        code = f"import test_docs; test_docs.run_blocks(test_docs.Path({str(path)!r}))"
        paths = os.pathsep.join([str(ROOT), str(Path(__file__).parent)])
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths}, check=False)
        assert done.returncode == 0, done.stderr
        return
    run_blocks(path)


def run_blocks(path):
    namespace: dict = {"__name__": f"docs_{path.stem}"}
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text[: match.start()].count("\n") + 1
        exec(compile("\n" * line + match.group(1), str(path), "exec"), namespace)


def modules_with_examples() -> list[str]:
    """Return the modules whose source contains a doctest prompt."""
    package = ROOT / "minitorch"
    found = [p for p in sorted(package.rglob("*.py")) if ">>> " in p.read_text(encoding="utf-8")]
    return [".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for p in found]


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstring_examples(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason="the module is made of it")
    module = import_module(name)
    minitorch.backends.clear_fallbacks()  # of the tests before
    finder = doctest.DocTestFinder(exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    report: list[str] = []
    for case in finder.find(module, globs={**vars(module), "minitorch": minitorch}):
        if case.examples:
            runner.run(case, out=report.append)
    assert runner.failures == 0, "".join(report)
