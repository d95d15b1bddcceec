"""Runs CUDA sources on the CPU: a small C++ header, g++ and ctypes.

Blocks run one after another.  The threads of a block are fibers, in an order that the caller chooses; each warp runs as far
as it can before the next one, so that a missing barrier shows in the results.  One that not all threads reach is an error.
This checks indices, shared memory, reductions and atomics.  It says nothing about races between blocks, the memory
model, alignment, limits of a launch, or speed.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

HEADER = r"""
#include <cmath>
#include <cstdint>
#include <cstring>
#include <algorithm>
#include <vector>
#include <ucontext.h>
using std::min; using std::max; using std::exp; using std::log; using std::sqrt; using std::tanh; using std::erf;
using std::fmax; using std::expm1;
struct dim3 { unsigned x = 1, y = 1, z = 1; };
static dim3 threadIdx, blockIdx, blockDim, gridDim;
#define __global__
#define __device__
#define __shared__ static
enum State { READY, AT_BLOCK, AT_WARP, DONE };
struct Fiber { ucontext_t context; std::vector<char> stack; State state; dim3 index; };
static std::vector<Fiber> fibers;
static ucontext_t scheduler;
static unsigned running;
static double lanes[1024];
static void (*body)();
static void wait_for(State s) { unsigned me = running; fibers[me].state = s; swapcontext(&fibers[me].context, &scheduler); }
static inline void __syncthreads() { wait_for(AT_BLOCK); }
static inline void __syncwarp(unsigned = ~0u) { wait_for(AT_WARP); }
template <class T> static T exchange(T v, unsigned from) {
  const unsigned t = running, base = t / 32 * 32;
  memcpy(&lanes[t], &v, sizeof v);
  __syncwarp();
  T r;
  memcpy(&r, &lanes[base + (from & 31)], sizeof r);
  __syncwarp();
  return r;
}
template <class T> static T __shfl_xor_sync(unsigned, T v, unsigned m) { return exchange(v, (running & 31) ^ m); }
template <class T> static T atomicAdd(T* p, T v) { T o = *p; *p = o + v; return o; }
static inline unsigned __float_as_uint(float x) { unsigned r; memcpy(&r, &x, 4); return r; }
static inline float __uint_as_float(unsigned x) { float r; memcpy(&r, &x, 4); return r; }
static void enter() { body(); fibers[running].state = DONE; swapcontext(&fibers[running].context, &scheduler); }

// 0: done; 1: threads wait for each other forever, or some ended while others wait at __syncthreads.
static int run_block(unsigned n, int backwards) {
  for (unsigned t = 0; t < n; t++) {
    Fiber& f = fibers[t];
    getcontext(&f.context);
    f.stack.resize(1 << 16);
    f.context.uc_stack.ss_sp = f.stack.data();
    f.context.uc_stack.ss_size = f.stack.size();
    f.context.uc_link = &scheduler;
    f.state = READY;
    makecontext(&f.context, enter, 0);
  }
  const unsigned warps = (n + 31) / 32;
  for (;;) {
    // Each warp goes as far as it can alone: what only a barrier of the block holds back comes out of turn.
    for (unsigned k = 0; k < warps; k++) {
      const unsigned first = (backwards ? warps - 1 - k : k) * 32, end = min(first + 32, n);
      for (bool moved = true; moved;) {
        moved = false;
        for (unsigned j = first; j < end; j++) {
          const unsigned t = backwards ? end - 1 - (j - first) : j;
          if (fibers[t].state != READY) continue;
          moved = true;
          running = t;
          threadIdx = fibers[t].index;
          swapcontext(&scheduler, &fibers[t].context);
        }
        bool all = true;
        for (unsigned t = first; t < end; t++) all = all && fibers[t].state == AT_WARP;
        if (all) { for (unsigned t = first; t < end; t++) fibers[t].state = READY; moved = true; }
      }
    }
    unsigned done = 0, at_block = 0;
    for (unsigned t = 0; t < n; t++) { done += fibers[t].state == DONE; at_block += fibers[t].state == AT_BLOCK; }
    if (done == n) return 0;
    if (at_block != n) return 1;
    for (unsigned t = 0; t < n; t++) fibers[t].state = READY;
  }
}

static int run_all(const unsigned* d, bool waits, int backwards, void (*f)()) {
  gridDim = {d[0], d[1], d[2]}; blockDim = {d[3], d[4], d[5]};
  const unsigned n = d[3] * d[4] * d[5];
  body = f;
  auto index = [&](unsigned t) { return dim3{t % d[3], t / d[3] % d[4], t / (d[3] * d[4])}; };
  if (waits) { fibers.resize(n); for (unsigned t = 0; t < n; t++) fibers[t].index = index(t); }
  for (unsigned z = 0; z < d[2]; z++) for (unsigned y = 0; y < d[1]; y++) for (unsigned x = 0; x < d[0]; x++) {
    blockIdx = {x, y, z};
    if (waits) { if (run_block(n, backwards)) return 1; }
    else for (unsigned k = 0; k < n; k++) { threadIdx = index(backwards ? n - 1 - k : k); f(); }
  }
  return 0;
}
"""
_KERNEL = re.compile(r'extern\s+"C"\s+__global__\s+void\s+(\w+)\s*\(([^)]*)\)\s*\{')
_WAITS = re.compile(r"__sync|_sync\(|block_sum|block_max|ByBlock")
COMPILER = shutil.which("g++")


def _gxx(arguments: list[str], text: str) -> str:
    done = subprocess.run([COMPILER or "g++", *arguments], input=text, text=True, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"g++ refuses the source:\n{done.stderr[:4000]}")
    return done.stdout


def kernels_of(source: str) -> dict[str, tuple[list[str], bool]]:
    """Return the kernels of a preprocessed source by name: their parameters, and whether threads wait for each other."""
    found = {}
    for match in _KERNEL.finditer(source):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(source[end], 0)
            end += 1
        parameters = [" ".join(p.split()) for p in match.group(2).split(",") if p.strip()]
        found[match.group(1)] = parameters, bool(_WAITS.search(source[match.end() : end]))
    return found


@cache
def preprocess(source: str) -> str:
    """Return a source with its macros expanded; what the CUDA compiler knows stays as it is."""
    return _gxx(["-std=c++17", "-E", "-P", "-x", "c++", "-"], source)


@cache
def build(source: str) -> tuple[ctypes.CDLL, dict]:
    """Return a source compiled for the CPU, and its kernels; results are kept between runs."""
    plain = preprocess(source)
    kernels = kernels_of(plain)
    text = HEADER + plain
    for name, (parameters, waits) in kernels.items():
        types = [re.sub(r"\w+$", "", p).strip() for p in parameters]
        values = ", ".join(f"*({kind}*)args_of_{name}[{i}]" for i, kind in enumerate(types))
        text += (
            f"\nstatic void** args_of_{name};\nstatic void call_{name}() {{ {name}({values}); }}\n"
            f'extern "C" int run_{name}(const unsigned* d, void** args, int backwards) {{\n'
            f"  args_of_{name} = args;\n  return run_all(d, {str(waits).lower()}, backwards, call_{name});\n}}\n"
        )
    folder = Path(tempfile.gettempdir()) / f"minitorch-cuda-shim-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / (hashlib.sha256(text.encode()).hexdigest()[:32] + ".so")
    if not target.exists():
        part = target.with_suffix(f".{os.getpid()}")
        _gxx(["-std=c++17", "-O1", "-shared", "-fPIC", "-w", "-x", "c++", "-", "-o", str(part)], text)
        part.replace(target)
    return ctypes.CDLL(str(target)), kernels


class Kernel:
    """A kernel: called as CuPy's, with a grid, a block and arguments (NumPy arrays and scalars)."""

    order = 0  # 1: threads run from the last to the first

    def __init__(self, source: str, name: str):
        self.library, kernels = build(source)
        if name not in kernels:
            raise KeyError(f"there is no kernel {name!r}: {', '.join(kernels)}")
        self.name = name
        self.parameters = kernels[name][0]

    def __call__(self, grid: tuple, block: tuple, args: tuple) -> None:
        if len(args) != len(self.parameters):
            raise TypeError(f"{self.name} takes {len(self.parameters)} arguments, and got {len(args)}")
        if np.prod(block) > 1024 or min(*grid, *block) < 1:
            raise ValueError(f"{self.name}: no device launches blocks of {block} in a grid of {grid}")
        kept: list = []
        pointers = (ctypes.c_void_p * len(args))()
        for i, (parameter, value) in enumerate(zip(self.parameters, args, strict=True)):
            if isinstance(value, np.ndarray):
                cell = np.array([value.__array_interface__["data"][0]], np.uint64)
                self._check_pointer(parameter, value)
            else:
                cell = np.array([value])
                self._check_scalar(parameter, value)
            kept.append(cell)
            pointers[i] = cell.ctypes.data
        dims = (ctypes.c_uint * 6)(*(tuple(grid) + (1, 1))[:3], *(tuple(block) + (1, 1))[:3])
        if getattr(self.library, "run_" + self.name)(dims, pointers, Kernel.order):
            raise RuntimeError(f"{self.name}: not all threads of a block come to the same barrier")

    def _check_pointer(self, parameter: str, value: np.ndarray) -> None:
        if "*" not in parameter:
            raise TypeError(f"{self.name}: {parameter} got an array")
        kind = parameter.replace("const", "").split("*")[0].strip()
        expected = _NAMES.get(kind)
        if expected is not None and value.dtype.name != expected:
            raise TypeError(f"{self.name}: {parameter} got an array of {value.dtype.name}")

    def _check_scalar(self, parameter: str, value: np.generic) -> None:
        if "*" in parameter:
            if value != 0 or value.dtype != np.uint64:
                raise TypeError(f"{self.name}: {parameter} got the number {value!r}")
            return
        expected = _NAMES[parameter.replace("const", "").strip().rsplit(" ", 1)[0]]
        if value.dtype.name != expected:
            raise TypeError(
                f"{self.name}: {parameter} got {value.dtype.name} {value!r}; the device would read other bytes"
            )


_NAMES = {
    "float": "float32", "double": "float64", "int": "int32", "i64": "int64", "long long": "int64", "unsigned": "uint32",
    "half_t": "float16", "bfloat16_t": "bfloat16", "bool": "bool", "u64": "uint64", "unsigned char": "uint8",
    "signed char": "int8", "short": "int16",
}  # fmt: skip
