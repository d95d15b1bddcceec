"""Tests that register a device, which is for the whole process, run in one of their own."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess:
    """Run code in a fresh interpreter where warnings are errors; this folder's modules can be imported there."""
    path = os.pathsep.join([str(ROOT), str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path, **environment}, timeout=300, check=False,
    )  # fmt: skip


def in_fresh_process(test=None, **environment: str):
    """Run a test function in a fresh process; keyword arguments are environment variables there."""
    if test is None:
        return functools.partial(in_fresh_process, **environment)

    @functools.wraps(test)
    def run() -> None:
        code = f"import {test.__module__.rpartition('.')[2]} as module; module.{test.__name__}.body()"
        done = run_python(code, **environment)
        assert done.returncode == 0, f"\n{done.stdout}{done.stderr}"

    run.body = test
    return run
