"""The OpenCL device against NumPy and against the `cpu` device, in one run.

    python benchmarks/opencl.py [--threads 1]

A row: the best time of each in microseconds, waits included, and NumPy's time divided by the device's.  The last
rows are the price of one operator on four numbers, and of the first use in a new process with warm caches.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--rounds", type=int, default=30)
options = parser.parse_args()
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CL_CONFIG_CPU_TBB_NUM_WORKERS", "POCL_MAX_PTHREAD_COUNT"):
    os.environ[name] = str(options.threads)
if options.threads == 1 and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # Intel's driver has as many threads as it may use cores

import numpy as np

import minitorch as mt
from minitorch.nn import functional as F


def numpy_softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def numpy_layer_norm(x):
    d = x - x.mean(1, keepdims=True)
    return d / np.sqrt((d * d).mean(1, keepdims=True) + np.float32(1e-5))


CASES = {
    "add 1e6": ((1_000_000,), lambda x: x + x, lambda t: t + t),
    "exp 1e6": ((1_000_000,), np.exp, mt.exp),
    "x * sigmoid(x) + x 1e6": ((1_000_000,), lambda x: x / (1 + np.exp(-x)) + x, lambda t: F.silu(t) + t),
    "softmax 1024x1024": ((1024, 1024), numpy_softmax, lambda t: F.softmax(t, 1)),
    "layer norm 1024x1024": ((1024, 1024), numpy_layer_norm, lambda t: F.layer_norm(t, (1024,))),
    "sum over rows 1024x1024": ((1024, 1024), lambda x: x.sum(1), lambda t: t.sum(1)),
    "sum over columns 1024x1024": ((1024, 1024), lambda x: x.sum(0), lambda t: t.sum(0)),
    "transposed copy 1024x1024": ((1024, 1024), lambda x: x.T.copy(), lambda t: t.t().contiguous()),
    "cumsum 1024x1024": ((1024, 1024), lambda x: x.cumsum(1), lambda t: t.cumsum(1)),
}


def best(functions: list, rounds: int) -> list[float]:
    """Return the best time of each function, visited in turn, in microseconds."""
    times = [float("inf")] * len(functions)
    for function in functions:
        function()
        function()
    for _ in range(rounds):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            times[i] = min(times[i], (time.perf_counter() - start) * 1e6)
    return times


def waiting(function):
    def run():
        function()
        mt.opencl.synchronize()

    return run


def main() -> None:
    print(f"{mt.opencl.get_device_name(0)}, {options.threads} thread(s); us: numpy, minitorch cpu, opencl; numpy / opencl")
    rng = np.random.default_rng(0)
    for name, (shape, reference, function) in CASES.items():
        x = rng.standard_normal(shape, np.float32)
        host = mt.from_numpy(x)
        there = host.to("opencl")
        np.testing.assert_allclose(function(there).cpu().numpy(), reference(x), rtol=2e-3, atol=2e-3)
        runs = [lambda: reference(x), lambda: function(host), waiting(lambda: function(there))]
        a, b, c = best(runs, options.rounds)
        print(f"{name:30s} {a:9.0f} {b:9.0f} {c:9.0f}   {a / c:5.2f}")
    tiny = mt.ones(4, device="opencl")
    for name, function in {"x + x of 4 numbers": lambda: tiny + tiny, "relu of 4 numbers": lambda: F.relu(tiny)}.items():
        times = []
        for _ in range(10):
            start = time.perf_counter()
            for _ in range(200):
                function()
            times.append((time.perf_counter() - start) / 200 * 1e6)
            mt.opencl.synchronize()
        print(f"{name:30s} {min(times):9.1f} us from Python")
    code = "import minitorch as mt; x = mt.ones(4, device='opencl'); assert (x + x).tolist() == [2, 2, 2, 2]"
    times = []
    for _ in range(6):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    print(f"{'first use in a new process':30s} {min(times):9.2f} s, with the interpreter's start and the import")


if __name__ == "__main__":
    main()
