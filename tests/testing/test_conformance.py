"""The conformance kit: it passes what is right, and names the operator and the kind of what is not."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import minitorch
from minitorch.testing.conformance import Options, check_operator
from minitorch.testing.conformance.layouts import LAYOUTS, laid_out
from minitorch.testing.conformance.outcome import KINDS
from minitorch.testing.op_db import Sample, op_db

ROOT = Path(__file__).parents[2]
FOLDERS = [ROOT, Path(__file__).parent, ROOT / "tests" / "backends"]
BY_NAME = {record.name: record for record in op_db}

# A broken backend, the operator that is broken there, the kind, and the layout or form.
BROKEN = [
    ("wrong_value_of_permuted", "exp", "value", "permuted"),
    ("wrong_value_of_sliced", "exp", "value", "as is"),
    ("wrong_dtype", "exp", "dtype", "as is"),
    ("wrong_shape", "exp", "shape", "as is"),
    ("raises_for_empty", "exp", "error", "empty"),
    ("forgets_to_write", "exp", "in-place", "as is"),
    ("writes_too_much", "exp", "in-place", "sliced"),
    ("shares_memory", "abs", "aliasing", "as is"),
    ("changes_its_argument", "exp", "mutation", "as is"),
    ("result_on_the_cpu", "exp", "device", "as is"),
    ("wrong_gradient", "tanh", "gradient", "as is"),
    ("ignores_out", "exp", "out", "out= as is"),
    ("ignores_the_seed", "rand", "random", "as is"),
    ("refuses_nothing", "mm", "no error", "as is"),
]


def run_kit(*arguments: str, folder: Path, through_pytest: bool = False) -> subprocess.CompletedProcess:
    """Run the kit in a process of its own, from a folder outside the tree."""
    path = os.pathsep.join([*map(str, FOLDERS), *filter(None, [os.environ.get("PYTHONPATH")])])
    # Where minitorch is installed, pytest finds the plugin by its entry point, and takes it once only.
    installed = any(point.value == "minitorch_pytest" for point in entry_points(group="pytest11"))
    plugin = [] if installed else ["-p", "minitorch_pytest"]
    start = ["pytest", *plugin, "--pyargs", "minitorch.testing.conformance"]
    start = start if through_pytest else ["minitorch.testing.conformance"]
    return subprocess.run(
        [sys.executable, "-m", *start, *arguments, "-p", "no:cacheprovider"], capture_output=True, text=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"}, timeout=300, check=False,
    )  # fmt: skip


def failing(text: str) -> dict[str, str]:
    """Return the operators that the table names as failing, with their kinds."""
    _, _, rest = text.partition("these differ from the CPU:\n")
    found = {}
    for line in rest.splitlines():
        match = re.fullmatch(r"  (\S+): (.*)", line)
        if match is None:
            break
        found[match[1]] = match[2]
    return found


@pytest.mark.parametrize(("name", "operator", "kind", "layout"), BROKEN, ids=[b[0] for b in BROKEN])
def test_what_is_broken_is_named(tmp_path, name, operator, kind, layout):
    done = run_kit(
        "--device", "toy", "--import", f"broken_backends:{name}", "--ops", "^(exp|abs|tanh|mm|rand|cos|sum)$", folder=tmp_path
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert failing(done.stdout) == {operator: kind}, done.stdout
    dtype = "uint8" if name == "shares_memory" else "float32"
    assert f"{operator}: {kind} ({dtype}, {layout})" in done.stdout
    assert "toy:0 differs from the CPU in 1 of 7 operators and tests" in done.stdout


def test_what_is_right_passes(tmp_path):
    page = tmp_path / "toy.html"
    done = run_kit(
        "--device", "toy", "--import", "toy_backend:register_with_kernels", "--quick", "--html", str(page), folder=tmp_path,
        through_pytest=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    count = len([record for record in op_db if record.family != "special_functions"][::3])
    row = next(line for line in done.stdout.splitlines() if line.startswith("all "))
    native, partly, fallback, wrong, total = (0 if n == "." else int(n) for n in row.split()[1:])
    assert (wrong, total) == (0, count)
    assert native + partly + fallback == count
    assert native > 20
    assert fallback > 100  # most of what the toy device does runs on the CPU
    check_page(page.read_text(encoding="utf-8"), count)


def check_page(text: str, count: int) -> None:
    """A page is well formed, needs no other file, and has a row for each operator."""
    open_tags: list[str] = []
    rows = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            assert "src" not in dict(attrs)
            assert "href" not in dict(attrs)
            if tag not in ("meta", "br", "input"):
                open_tags.append(tag)
            if "data-state" in dict(attrs):
                rows.append(dict(attrs)["data-state"])

        def handle_endtag(self, tag):
            assert open_tags.pop() == tag

    reader = Reader()
    reader.feed(text)
    assert not open_tags
    assert len(rows) == count
    assert {"native", "fallback"} <= set(rows)


def test_options_are_checked(tmp_path):
    assert "there is no dtype 'float17'" in run_kit("--dtypes", "float17", folder=tmp_path).stderr
    done = run_kit("--device", "nothing_of_the_kind", folder=tmp_path)
    assert done.returncode != 0
    assert "nothing_of_the_kind" in done.stderr


@pytest.mark.parametrize("name", ["add", "sum", "cat", "linalg.inv", "Tensor.view", "rand", "sort", "nn.functional.conv2d"])
def test_the_cpu_agrees_with_itself(name):
    outcome = check_operator(BY_NAME[name], Options("cpu"))
    assert not outcome.failures, outcome.text()
    assert outcome.state == "native"
    assert outcome.calls > 0


def test_every_layout_is_what_it_says():
    x = minitorch.arange(24.0).reshape(2, 3, 4)
    strides = {}
    for layout in LAYOUTS:
        host, there, _ = laid_out(Sample(x, [x]), layout, "cpu")
        assert host.args[0] is host.args[1][0]  # one tensor stays one
        assert there.args[0].stride() == host.args[0].stride()
        assert there.args[0].untyped_storage() != host.args[0].untyped_storage()
        if layout not in ("expanded", "empty", "0-dim"):
            assert minitorch.equal(host.args[0], x)
        strides[layout] = host.args[0].stride()
    assert strides["permuted"] == (1, 2, 6)
    assert strides["sliced"][2] == 2
    assert strides["negative steps"] == (12, 4, -1)
    assert strides["expanded"][0] == 0
    assert strides["0-dim"] == ()


def test_kinds_are_those_of_the_table():
    assert {kind for _, _, kind, _ in BROKEN} == set(KINDS)


def test_the_pages_edit_of_the_minimal_backend(tmp_path):
    """What `docs/backends.md` tells a newcomer to do, done to a copy: the operator has a kernel then, and is right."""
    page = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")
    before, added = re.search(r"^```py-edit\n(.*?)^```", page, re.S | re.M)[1].splitlines()
    source = (ROOT / "examples" / "backend_minimal" / "minitorch_minimal" / "__init__.py").read_text(encoding="utf-8")
    assert source.count(before + "\n") == 1
    arguments = ("--device", "minimal", "--import", "minitorch_minimal:announce", "--ops", "^sigmoid$")
    rows = []
    for name, text in (("as_it_is", source), ("edited", source.replace(before + "\n", f"{before}\n{added}\n"))):
        package = tmp_path / name / "minitorch_minimal"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(text, encoding="utf-8")
        done = run_kit(*arguments, folder=package.parent)
        assert done.returncode == 0, done.stdout + done.stderr
        rows.append(next(line.split() for line in done.stdout.splitlines() if line.startswith("all ")))
    assert rows[0] == ["all", ".", ".", "1", ".", "1"]  # on the CPU
    assert rows[1] == ["all", ".", "1", ".", ".", "1"]  # float32 on the device, other dtypes on the CPU


def test_the_minimal_backend_is_short():
    package = ROOT / "examples" / "backend_minimal" / "minitorch_minimal"
    assert sum(len(p.read_text(encoding="utf-8").splitlines()) for p in package.glob("*.py")) < 150


def test_a_pattern_that_finds_no_operator_is_an_error(tmp_path):
    ran = run_kit("--device", "cpu", "--ops", "^leaky_relu$", folder=tmp_path)
    assert ran.returncode != 0
    assert "no operator matches; near it are nn.functional.leaky_relu" in ran.stdout + ran.stderr
