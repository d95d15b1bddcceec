"""The prepared run for a machine with a GPU: what can be tried without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import shim

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "benchmarks" / "cuda_report.py"


def run(code: str) -> subprocess.CompletedProcess:
    path = os.pathsep.join(
        [str(ROOT), str(Path(__file__).parent), str(SCRIPT.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )


def test_a_dry_run_says_what_would_be_run_and_runs_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--dry-run", "--out", tmp_path / "results"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    for part in ("environment", "kernels", "suite", "workloads", "memory", "streams"):
        assert f"\n  {part} " in done.stdout
    assert not list(tmp_path.iterdir())


def test_the_parts_fit_into_eight_minutes():
    done = run("import cuda_report as r; print(sum(limit for _, limit in r.PARTS.values()), r.LIMIT)")
    total, limit = map(int, done.stdout.split())
    assert total == limit < 480


def test_without_a_device_it_says_so(tmp_path):
    done = run(
        "import sys; sys.modules['cupy'] = None\n"
        f"import cuda_report; sys.argv = ['x', '--out', {str(tmp_path / 'results')!r}]; sys.exit(cuda_report.main())"
    )
    assert done.returncode == 2
    assert "no CUDA device: CuPy cannot be imported" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(shim.COMPILER is None, reason="g++ is not here")
@pytest.mark.parametrize(
    "call", ["environment()", "kernels('softmax')", "memory()", "streams()", "workloads('mlp_adam', 0.01)"]
)
def test_the_parts_run_on_the_stand_in(call):
    """Their logic; what they say of a stand-in is worth nothing."""
    done = run(f"""
import json, strict_cupy
cupy = strict_cupy.install()
cupy.cuda.pool.set_limit(1 << 34)
import cuda_report
print("RESULT " + json.dumps(cuda_report.{call}, default=str))
""")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout.splitlines()[-1].removeprefix("RESULT "))
    assert not result.get("failed"), result
    if call.startswith("workloads"):
        assert all(row["minitorch, us a step"] > 0 for row in result["rows"].values())
    if call.startswith("kernels"):
        assert result["passed"] == 8 * 6


def test_the_page(tmp_path):
    results = {
        "environment": {"device": {"name": "A device"}, "seconds": 1.0},
        "suite": {"passed": 12, "failed": {"test_x": "it is wrong"}, "seconds": 2.0},
        "workloads": {
            "rows": {"mlp": {"minitorch, us a step": 200, "torch, us a step": 100, "loss gap": 1e-6}},
            "seconds": 3.0,
        },
    }
    done = run(f"import cuda_report; print(cuda_report.markdown({results!r}))")
    assert "# minitorch on CUDA: A device" in done.stdout
    assert "| mlp | 200 | 100 | 2.00 | 1.0e-06 |" in done.stdout
    assert "- `test_x`: it is wrong" in done.stdout
