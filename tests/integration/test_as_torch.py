"""PyTorch programs as they are, on minitorch: scripts, the aliases, and what is said of missing names."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from minitorch import as_torch

SCRIPTS = sorted((Path(__file__).parent / "torch_scripts").glob("*.py"), key=lambda path: path.stem)
ROOT = Path(__file__).parents[2]
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?|-?\d+")


def run(*arguments, folder=None):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=300, env=environment, cwd=folder,
        check=False,
    )  # fmt: skip


def numbers(text):
    return [float(number) for number in _NUMBER.findall(text)]


def words(text):
    return _NUMBER.sub("#", text)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_run_unchanged(script, tmp_path):
    result = run("-m", "minitorch.as_torch", script, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert "nan" not in result.stdout.lower()
    assert len(numbers(result.stdout)) >= 5
    assert all(map(math.isfinite, numbers(result.stdout)))


@pytest.mark.oracle
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_print_what_they_print_with_torch(torch, script, tmp_path):
    ours, theirs = run("-m", "minitorch.as_torch", script, folder=tmp_path), run(script, folder=tmp_path)
    assert (ours.returncode, theirs.returncode) == (0, 0), ours.stderr + theirs.stderr
    assert words(ours.stdout) == words(theirs.stdout)
    assert numbers(ours.stdout) == pytest.approx(numbers(theirs.stdout), rel=2e-3, abs=2e-4)


def test_the_scripts_use_nothing_that_is_missing():
    assert as_torch.missing_names(Path(__file__).parent / "torch_scripts") == []


PROGRAM = """
import torch, torch.nn as nn
from torch.optim import SGD as Optimizer
import torch.nn.functional as F

print(nn is torch.nn, torch.__version__, torch.version.cuda, torch.typename(torch.ones(1)), __name__)
print(torch.nn.__spec__.name, hasattr(torch, "nothing"), isinstance(torch.ones(1), torch.FloatTensor))
if WHAT == "attribute":
    torch.nothing.at_all
elif WHAT == "name":
    from torch.nn import Nothing
elif WHAT == "module":
    import torch.nothing
elif WHAT == "method":
    torch.ones(1).nothing()
elif WHAT == "own":
    WHAT.nothing
"""


@pytest.mark.parametrize(
    ("what", "missing"),
    [
        ("none", None), ("attribute", "torch.nothing"), ("name", "torch.nn.Nothing"), ("module", "torch.nothing"),
        ("method", "Tensor.nothing"), ("own", None),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_with_its_place(tmp_path, what, missing):
    script = tmp_path / "program.py"
    script.write_text(f"WHAT = {what!r}{PROGRAM}")
    result = run("-m", "minitorch.as_torch", script)
    assert result.stdout.startswith("True 2.13.0+minitorch None torch.FloatTensor __main__\nminitorch.nn False True\n")
    assert result.returncode == (0 if what == "none" else 1)
    line = next((n for n, text in enumerate(script.read_text().split("\n"), 1) if text.lstrip().startswith(
        {"attribute": "torch.nothing", "name": "from torch.nn", "module": "import torch.nothing", "method": "torch.ones(1).n"}
        .get(what, "\0"))), None)  # fmt: skip
    if missing is None:
        assert "minitorch does not have" not in result.stderr
    else:
        assert f"minitorch does not have {missing} (used at {script}:{line})." in result.stderr


def test_modules_run_with_their_arguments(tmp_path):
    (tmp_path / "program.py").write_text("import sys, torch\nprint(torch.arange(2).tolist(), sys.argv[1:], __name__)\n")
    result = run("-m", "minitorch.as_torch", "-m", "program", "--epochs", "3", folder=tmp_path)
    assert result.stdout == "[0, 1] ['--epochs', '3'] __main__\n", result.stderr


SOURCE = """
import torch
import torch.nn as nn, torch.nowhere
from torch.nn import functional as F, Nowhere as N
from torch import optim
from os import path

torch.backends.cudnn.benchmark = True
x = torch.nothing.at.all
y = nn.Linear(3, 4).nothing
z = F.relu(x) + F.nothing(x)
optim.lr_scheduler.Never(y)
path.nothing
"""


def test_names_are_looked_up_without_running(tmp_path):
    (tmp_path / "a").mkdir()
    file = tmp_path / "a" / "program.py"
    file.write_text(SOURCE)
    found = as_torch.missing_names(tmp_path)
    assert [(m.line, m.name) for m in found] == [
        (3, "torch.nowhere"), (4, "torch.nn.Nowhere"), (9, "torch.nothing"), (11, "torch.nn.functional.nothing"),
        (12, "torch.optim.lr_scheduler.Never"),
    ]  # fmt: skip
    assert str(found[0]) == f"{file}:3: torch.nowhere"
    result = run("-m", "minitorch.as_torch", "--check", file)
    assert result.returncode == 1
    assert result.stdout.endswith("5 name(s) missing\n")
    file.write_text("import torch\n")
    assert run("-m", "minitorch.as_torch", "--check", file).returncode == 0


ALIASES = """
import sys
from minitorch import as_torch
import minitorch
as_torch.install()
as_torch.install()
import torch, torch.utils.data
assert torch.nn.Linear is minitorch.nn.Linear and torch.utils.data is minitorch.utils.data
assert as_torch.is_installed() and minitorch.nn.__spec__.name == "minitorch.nn"
try:
    import torch.nowhere
except ModuleNotFoundError as error:
    assert error.name == "torch.nowhere"
as_torch.uninstall()
assert "torch" not in sys.modules and "torch.nn" not in sys.modules
import types
sys.modules["torch"] = types.ModuleType("torch")
try:
    as_torch.install()
except RuntimeError as error:
    print(error)
"""


def test_installing_and_uninstalling():
    result = run("-c", ALIASES)
    assert result.returncode == 0, result.stderr
    assert "imported in this process already" in result.stdout
