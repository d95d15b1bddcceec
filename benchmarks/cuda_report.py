"""One run on a machine with a GPU, prepared so that it takes less than eight minutes: what was right, and how fast it was.

    python benchmarks/cuda_report.py --out DIR        needs CuPy, a driver and a GPU; compares with torch where it has CUDA
    python benchmarks/cuda_report.py --dry-run        says what would be run, and runs nothing

Writes ``cuda.md`` and ``cuda.json`` into DIR.  Each part runs in a process of its own with a time limit, and a part that
fails leaves the others alone.  The exit status is 0 if all passed, 1 if some did not, 2 if there is no device.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests" / "backends" / "cuda"
LIMIT = 470  # seconds of all parts together
MARK = "RESULT "


# ---------------------------------------------------------------- parts


def environment() -> dict:
    """The device, the driver and the libraries."""
    import minitorch as mt
    from minitorch.backends.cuda.library import library

    cupy = library()
    found = {"cupy": cupy.__version__, "devices": mt.cuda.device_count()}
    for name in ("runtimeGetVersion", "driverGetVersion"):
        version = getattr(cupy.cuda.runtime, name, None)
        found[name.removesuffix("GetVersion")] = version() if version else None
    found["device"] = vars(mt.cuda.get_device_properties(0))
    start = time.perf_counter()
    mt.ones(8, device="cuda").sum().item()
    found["first use, seconds"] = round(time.perf_counter() - start, 2)
    return found


def kernels(only: str = "") -> dict:
    """Every kernel of every source on the device, against NumPy: the tests of the shim, with the device in its place."""
    sys.path.insert(0, str(TESTS))
    import numpy as np
    from compilation import variants
    from test_sources import CASES, Maker

    import minitorch as mt
    from minitorch.backends.cuda.library import library
    from minitorch.backends.cuda.programs import OPTIONS, source

    mt.cuda.init()
    cupy = library()

    def launcher(function):
        def run(blocks, threads, *args):
            moved = [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
            function((blocks,), (threads,), tuple(moved))
            for host, device in zip(args, moved, strict=True):
                if isinstance(host, np.ndarray):
                    host[...] = device.get().reshape(host.shape)

        return run

    passed, failed = 0, {}
    for (name, kernel), case in CASES.items():
        for types in variants(name) if only in ("", name) else ():
            try:
                module = cupy.RawModule(code=source(name, types), options=OPTIONS)
                case(launcher(module.get_function(kernel)), Maker(types), kernel)
                passed += 1
            except Exception as error:
                failed[f"{name}.{kernel} {' '.join(types.values())}"] = f"{type(error).__name__}: {error}"[:300]
    return {"passed": passed, "failed": failed}


def suite() -> dict:
    """The operators and the device's own tests, as they run on the stand-in."""
    environment = {**os.environ, "MINITORCH_STRICT_CUPY": "1", "MINITORCH_REAL_CUPY": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", str(TESTS / "standin")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    lines = done.stdout.splitlines()
    failed = {
        line.removeprefix("FAILED ").split("::")[-1]: "" for line in lines if line.startswith(("FAILED", "ERROR"))
    }
    if done.returncode not in (0, 1) and not failed:
        failed["pytest"] = (done.stdout + done.stderr)[-500:]
    return {
        "passed": sum(line.count(".") for line in lines if set(line.split("[")[0].strip()) <= set(".FsE")),
        "failed": failed,
    }


def workloads(only: str = "", seconds: float = 1.0) -> dict:
    """Eight models: losses against the CPU's, and the time of a step against torch's CUDA eager mode."""
    sys.path.insert(0, str(Path(__file__).parent))
    from cuda_models import WORKLOADS, Run

    try:
        import torch

        peer = torch.cuda.is_available()
    except ImportError:
        peer = False
    rows, failed = {}, {}
    for name in WORKLOADS:
        if only and name != only:
            continue
        try:
            ours = Run("minitorch", name, "cuda")
            expected = Run("minitorch", name, "cpu").losses(3)
            gap = max(abs(a - b) for a, b in zip(ours.losses(3), expected, strict=True))
            row = {"loss gap": gap}
            others = {"minitorch": ours, **({"torch": Run("torch", name, "cuda")} if peer else {})}
            for run in others.values():
                run.seconds(3)
            times = dict.fromkeys(others, math.inf)
            count = max(1, int(seconds / 4 / max(ours.seconds(1), 1e-5)))
            for _ in range(3):  # in turn
                for library, run in others.items():
                    times[library] = min(times[library], run.seconds(count))
            row.update({f"{library}, us a step": round(1e6 * t) for library, t in times.items()})
            rows[name] = row
            if not gap < 2e-3:
                failed[name] = f"the losses differ from the CPU's by {gap:.1e}"
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"[:300]
    return {"rows": rows, "torch": peer, "failed": failed}


def memory() -> dict:
    """What the pool says, and whether the device goes on after memory was short."""
    import minitorch as mt

    failed = {}
    mt.cuda.init()
    mt.cuda.empty_cache()
    before = mt.cuda.memory_allocated()
    x = mt.zeros(64 << 20, dtype=mt.uint8, device="cuda")
    held = mt.cuda.memory_allocated() - before
    del x
    after, kept = mt.cuda.memory_allocated(), mt.cuda.memory_reserved()
    mt.cuda.empty_cache()
    if held < 64 << 20 or after != before or kept < 64 << 20 or mt.cuda.memory_reserved() >= kept:
        failed["statistics"] = (
            f"held {held}, after {after} of {before}, kept {kept}, emptied {mt.cuda.memory_reserved()}"
        )
    total = mt.cuda.mem_get_info()[1]
    try:
        mt.empty(2 * total, dtype=mt.uint8, device="cuda")
        failed["out of memory"] = "twice the memory of the device was allocated"
    except mt.cuda.OutOfMemoryError as error:
        text = str(error)[:120]
    if mt.ones(4, device="cuda").sum().item() != 4:
        failed["afterwards"] = "the device computes no more"
    times = {}
    for size in (1 << 10, 1 << 20, 1 << 26):
        start = time.perf_counter()
        for _ in range(100):
            mt.empty(size, dtype=mt.uint8, device="cuda")
        times[str(size)] = round(1e4 * (time.perf_counter() - start), 2)
    return {"held": held, "message": text, "allocate, us by size": times, "failed": failed}


def streams() -> dict:
    """Whether work in streams is ordered by events, and whether copies of pinned memory go on beside the program."""
    import minitorch as mt

    failed = {}
    mt.cuda.init()
    first, second = mt.cuda.Stream(), mt.cuda.Stream()
    x = mt.randn(1024, 1024, device="cuda")
    mt.cuda.synchronize()
    expected = x
    for _ in range(8):
        expected = expected @ x / 32
    expected = expected.sum().item()
    mt.cuda.synchronize()
    for attempt in range(10):
        with mt.cuda.stream(first):
            y = x
            for _ in range(8):
                y = y @ x / 32
        second.wait_stream(first)
        with mt.cuda.stream(second):
            total = y.sum().item()
        if not math.isclose(total, expected, rel_tol=1e-3, abs_tol=1e-2):
            failed["order"] = f"attempt {attempt}: {total} in place of {expected}"
    start, end = mt.cuda.Event(enable_timing=True), mt.cuda.Event(enable_timing=True)
    times = {}
    for label, make in (("pageable", lambda t: t), ("pinned", lambda t: t.pin_memory())):
        host = make(mt.ones(1 << 24))
        host.to("cuda", non_blocking=True)
        mt.cuda.synchronize()
        begin = time.perf_counter()
        start.record()
        moved = host.to("cuda", non_blocking=True)
        returned = time.perf_counter() - begin
        end.record()
        end.synchronize()
        times[label] = {
            "returned after, ms": round(1e3 * returned, 3),
            "done after, ms": round(start.elapsed_time(end), 3),
        }
        if moved.sum().item() != 1 << 24:
            failed[label] = "the copy is wrong"
    return {"64 MiB to the device": times, "failed": failed}


# name -> (what is run, seconds that it may take)
PARTS = {
    "environment": (environment, 40),
    "kernels": (kernels, 100),
    "suite": (suite, 160),
    "workloads": (workloads, 110),
    "memory": (memory, 30),
    "streams": (streams, 30),
}


# ---------------------------------------------------------------- the report


def run_part(name: str, limit: float) -> dict:
    """Run a part in a process of its own."""
    start = time.perf_counter()
    command = [sys.executable, str(Path(__file__).resolve()), "--part", name]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=limit, cwd=ROOT, env=environment, check=False
        )
        line = next((text for text in reversed(done.stdout.splitlines()) if text.startswith(MARK)), None)
        result = json.loads(line[len(MARK) :]) if line else {"failed": {name: (done.stdout + done.stderr)[-1000:]}}
    except subprocess.TimeoutExpired:
        result = {"failed": {name: f"it took more than {limit:.0f} seconds"}}
    result["seconds"] = round(time.perf_counter() - start, 1)
    return result


def markdown(results: dict) -> str:
    """Return the report as a page."""
    device = results.get("environment", {}).get("device", {})
    lines = [f"# minitorch on CUDA: {device.get('name', 'an unknown device')}", "", time.strftime("%Y-%m-%d"), ""]
    lines += ["| part | seconds | passed | failed |", "| --- | --- | --- | --- |"]
    for name, result in results.items():
        lines.append(f"| {name} | {result['seconds']} | {result.get('passed', '')} | {len(result.get('failed', {}))} |")
    rows = results.get("workloads", {}).get("rows", {})
    if rows:
        lines += [
            "",
            "## Training steps",
            "",
            "| model | minitorch, us | torch, us | ratio | loss gap to the CPU |",
            "| --- | --- | --- | --- | --- |",
        ]
        for name, row in rows.items():
            ours, theirs = row["minitorch, us a step"], row.get("torch, us a step")
            ratio = f"{ours / theirs:.2f}" if theirs else ""
            lines.append(f"| {name} | {ours} | {theirs or ''} | {ratio} | {row['loss gap']:.1e} |")
    for name, result in results.items():
        rest = {k: v for k, v in result.items() if k not in ("failed", "rows", "seconds", "passed")}
        if rest:
            lines += ["", f"## {name}", "", "```", json.dumps(rest, indent=1, default=str), "```"]
        if result.get("failed"):
            lines += ["", f"## Failures of {name}", ""]
            lines += [f"- `{what}`: {str(why).strip()[:300]}" for what, why in result["failed"].items()]
    return "\n".join(lines) + "\n"


def dry_run() -> None:
    total = sum(limit for _, limit in PARTS.values())
    print(f"would run {len(PARTS)} parts, {total} seconds at most, and write cuda.md and cuda.json:")
    for name, (function, limit) in PARTS.items():
        print(f"  {name:12s} {limit:4d} s  {(function.__doc__ or '').strip()}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results"))
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--part", choices=PARTS, help="run one part here, and print its result")
    args = parser.parse_args()
    if args.dry_run:
        dry_run()
        return 0
    if args.part:
        try:
            result = PARTS[args.part][0]()
        except Exception:
            result = {"failed": {args.part: traceback.format_exc()[-1000:]}}
        print(MARK + json.dumps(result, default=str))
        return 0
    import minitorch as mt

    if not mt.cuda.is_available():
        from minitorch.backends.cuda.library import why_unavailable

        print(f"no CUDA device: {why_unavailable()}", file=sys.stderr)
        return 2
    results, left = {}, float(LIMIT)
    for name, (_, limit) in PARTS.items():
        results[name] = run_part(name, max(min(limit, left), 1))
        left -= results[name]["seconds"]
        print(f"{name}: {results[name]['seconds']} s, {len(results[name].get('failed', {}))} failed", flush=True)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "cuda.json").write_text(json.dumps(results, indent=1, default=str) + "\n", encoding="utf-8")
    (args.out / "cuda.md").write_text(markdown(results), encoding="utf-8")
    print(args.out / "cuda.md")
    return int(any(result.get("failed") for result in results.values()))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
