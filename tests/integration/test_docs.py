"""Every python block in the documentation runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_python_blocks_run(path):
    namespace: dict = {"__name__": f"docs_{path.stem}"}
    for match in re.finditer(r"^```python\n(.*?)^```", path.read_text(), re.S | re.M):
        line = path.read_text()[: match.start()].count("\n") + 2
        code = compile("\n" * (line - 1) + match.group(1), str(path), "exec")
        exec(code, namespace)
