"""How the kernels are compiled: twice, serially and in parallel, and kept in the user's cache.

OpenMP (or TBB) runs the parallel form; numba's own pool of threads aborts the process when two
Python threads enter it at once, so without the former two the serial form is all there is.  The
serial form also runs in a child process after a fork, which OpenMP does not survive, and for one
thread.  It is other machine code than the parallel one, and may round otherwise in the last place.
"""

from __future__ import annotations

import hashlib
import os
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from minitorch.backends.cpu import threads

config: Any = numba.config  # its values are set at run time
FLAGS = {"reassoc", "nsz", "contract", "arcp"}  # NaN and infinity keep their meaning
_EXACT_ORDER = {"nsz", "contract", "arcp"}  # reassociation would undo the splitting of constants


def _cache_dir() -> str:
    """Return the folder for compiled kernels of this very source: numba looks only at a kernel's own file."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")) + [Path(__file__).parent.parent / "loops.py"]:
        digest.update(path.read_bytes())
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "minitorch", "numba-" + digest.hexdigest()[:16])


def _set_threading_layer() -> bool:
    """Choose a layer that concurrent Python threads may use; return whether there is one."""
    if config.THREADING_LAYER in ("omp", "tbb", "workqueue"):  # the user's choice
        return config.THREADING_LAYER != "workqueue"
    try:
        from numba.np.ufunc import omppool  # noqa: F401
    except ImportError:
        try:
            from numba.np.ufunc import tbbpool  # noqa: F401
        except ImportError:
            return False
        config.THREADING_LAYER = "tbb"
        return True
    config.THREADING_LAYER = "omp"
    return True


_parallel = _set_threading_layer()


def _forget_threads() -> None:
    global _parallel
    _parallel = False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_threads)


def _compiled(fn: Any, **options: Any) -> Any:
    if options:  # numba's files of compiled code are told apart by the function's name alone
        fn = FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
        fn.__qualname__ += "_parallel"
    before = config.CACHE_DIR
    if not before:
        config.CACHE_DIR = _cache_dir()
    try:
        return njit(cache=True, fastmath=FLAGS, error_model="numpy", nogil=True, **options)(fn)
    except RuntimeError:  # no folder to write to
        return njit(fastmath=FLAGS, error_model="numpy", nogil=True, **options)(fn)
    finally:
        config.CACHE_DIR = before


class Loop:
    """A function of arrays, compiled when it is first called; `prange` in it may run in parallel.

    Parameters
    ----------
    fn : callable
        Writes into its arguments.
    parallel : bool
        False for loops that have only the serial form.
    """

    def __init__(self, fn: Any, parallel: bool = True):
        self.fn = fn
        self.has_parallel = parallel
        self.serial: Any = None
        self.parallel: Any = None

    def __call__(self, *args: Any) -> Any:
        if self.has_parallel and _parallel:
            count = min(threads.get_num_threads(), config.NUMBA_NUM_THREADS)
            if count > 1:
                if self.parallel is None:
                    self.parallel = _compiled(self.fn, parallel=True)
                if numba.get_num_threads() != count:
                    numba.set_num_threads(count)
                return self.parallel(*args)
        if self.serial is None:
            self.serial = _compiled(self.fn)
        return self.serial(*args)


def loop(fn: Any) -> Loop:
    """Make a `Loop` of a function."""
    return Loop(fn)


def serial_loop(fn: Any) -> Loop:
    """Make a `Loop` without a parallel form of a function."""
    return Loop(fn, parallel=False)


# ---------------------------------------------------------------- functions of a number

f = np.float32
ZERO, HALF, ONE = f(0), f(0.5), f(1)
_helper = njit(fastmath=_EXACT_ORDER, error_model="numpy", forceinline=True)


@intrinsic
def _float_of_bits(typingctx, bits):
    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.FloatType())

    return types.float32(types.int32), build


@intrinsic
def _bits_of_float(typingctx, value):
    def build(context, builder, signature, args):
        return builder.bitcast(args[0], ir.IntType(32))

    return types.int32(types.float32), build


# Cephes' single precision polynomials: plain arithmetic is vectorized, calls of the C library are not.
_LOG2E, _LN2_HIGH, _LN2_LOW = f(1.44269504), f(0.693359375), f(-2.12194440e-4)
_EXP_LOW, _EXP_HIGH = f(-104.0), f(89.0)  # beyond, the result is 0 or infinity
_E0, _E1, _E2 = f(1.9875691500e-4), f(1.3981999507e-3), f(8.3334519073e-3)
_E3, _E4, _E5 = f(4.1665795894e-2), f(1.6666665459e-1), f(5.0000001201e-1)
_BIAS, _MANTISSA_BITS, _I1 = np.int32(127), np.int32(23), np.int32(1)


@_helper
def exp32(x):
    """Return ``exp(x)``, within 2 units of the last place; the power of two is applied in halves, for subnormal results."""
    x = _EXP_LOW if x < _EXP_LOW else x
    x = _EXP_HIGH if x > _EXP_HIGH else x
    k = np.floor(x * _LOG2E + HALF)
    r = x - k * _LN2_HIGH
    r = r - k * _LN2_LOW
    p = ((((_E0 * r + _E1) * r + _E2) * r + _E3) * r + _E4) * r + _E5
    p = p * (r * r) + r + ONE
    n = np.int32(k)
    half = np.int32(n >> _I1)
    rest = np.int32(n - half)
    p = p * _float_of_bits(np.int32(np.int32(half + _BIAS) << _MANTISSA_BITS))
    return p * _float_of_bits(np.int32(np.int32(rest + _BIAS) << _MANTISSA_BITS))


_TINY, _SCALE, _SCALE_LOG2 = f(1.17549435e-38), f(2.0**25), f(25.0)
_INF, _NAN = f(np.inf), f(np.nan)
_SQRT_HALF = f(0.707106781186547524)
_HALF_BITS, _MANTISSA = np.int32(0x3F000000), np.int32(0x7FFFFF)
_EXPONENT, _BIAS_OF_HALF = np.int32(0xFF), np.int32(126)
_L0, _L1, _L2 = f(7.0376836292e-2), f(-1.1514610310e-1), f(1.1676998740e-1)
_L3, _L4, _L5 = f(-1.2420140846e-1), f(1.4249322787e-1), f(-1.6668057665e-1)
_L6, _L7, _L8 = f(2.0000714765e-1), f(-2.4999993993e-1), f(3.3333331174e-1)


@_helper
def log32(x):
    """Return ``log(x)``."""
    small = x < _TINY
    scaled = x * _SCALE if small else x
    bits = _bits_of_float(scaled)
    e = f(np.int32(np.int32(np.int32(bits >> _MANTISSA_BITS) & _EXPONENT) - _BIAS_OF_HALF))
    e = e - _SCALE_LOG2 if small else e
    m = _float_of_bits(np.int32(np.int32(bits & _MANTISSA) | _HALF_BITS))
    low = m < _SQRT_HALF
    e = e - ONE if low else e
    m = (m - ONE) + m if low else m - ONE
    z = m * m
    p = (((((((_L0 * m + _L1) * m + _L2) * m + _L3) * m + _L4) * m + _L5) * m + _L6) * m + _L7) * m + _L8
    y = p * m * z + e * _LN2_LOW
    y = y - HALF * z
    y = (m + y) + e * _LN2_HIGH
    y = -_INF if x == ZERO else y
    y = _INF if x == _INF else y
    return y if x >= ZERO else _NAN


@_helper
def sqrt32(x):
    """Return the square root of `x`."""
    return np.sqrt(x)


@_helper
def narrow32(x):
    """Return `x` rounded to float32."""
    return np.float32(x)


# ---------------------------------------------------------------- the loops that the build compiles too


def _source() -> Any:
    """Return the module `loops` as interpreted code, which numba needs, with numba's functions of a number."""
    name, path = "minitorch.backends.cpu.fast.loops_source", Path(__file__).parent.parent / "loops.py"
    loader = SourceFileLoader(name, str(path))
    spec = spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module  # where numba's cache finds it again
    loader.exec_module(module)
    found = vars(module)
    # LLVM vectorizes the maximum only where it may pass over NaN.
    row_max = njit(fastmath={"nnan", "nsz", "reassoc"}, error_model="numpy", forceinline=True)(found["row_max"])
    found.update(
        exp32=exp32, log32=log32, sqrt32=sqrt32, narrow32=narrow32, row_max=row_max,
        prange=numba.prange,
    )  # fmt: skip
    return module


_module = _source()
LOOPS = SimpleNamespace(**{name: Loop(fn) for name, fn in vars(_module).items() if name.endswith("_loop")})
