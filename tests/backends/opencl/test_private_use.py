"""The opencl backend needs no place of its own in the package: under PrivateUse1 it does the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]


def run(*arguments: str, folder: Path) -> str:
    """Return what Python prints in a fresh process that finds the package and this folder."""
    path = os.pathsep.join([str(ROOT), str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": path},
        timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_its_tensors_have_the_private_key(tmp_path):
    code = """
import minitorch, private_opencl
from minitorch.dispatch.keys import key_set_text
private_opencl.register()
x = minitorch.ones(2, 3, device="mycl")
print(x.device, (x @ x.t()).sum().item(), minitorch.mycl.get_device_name() != "", key_set_text(x.key_set))
"""
    said = run("-c", code, folder=tmp_path)
    assert said.startswith("mycl:0 12.0 True DispatchKeySet(PrivateUse1, ")


def test_the_conformance_kit_finds_nothing(tmp_path):
    said = run(
        "-m", "minitorch.testing.conformance", "--device", "mycl", "--import", "private_opencl:register", "--quick",
        "-p", "no:cacheprovider", folder=tmp_path,
    )  # fmt: skip
    assert "mycl:0 does what the CPU does in all of" in said
    row = next(line for line in said.splitlines() if line.startswith("all "))
    native, _, fallback, failing, total = (0 if n == "." else int(n) for n in row.split()[1:])
    assert failing == 0
    assert native >= 0.95 * total
    assert fallback <= 4
