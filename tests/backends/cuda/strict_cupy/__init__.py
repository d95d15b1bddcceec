"""A NumPy stand-in for CuPy: CUDA *logic* on a machine without a GPU.  It is no CUDA, and no test on it counts as one.

It is as unforgiving as CuPy: only the recorded names of a real CuPy are there (``cupy_names.json``), calls must fit the
recorded signatures, device arrays do not mix with NumPy's, nothing is converted implicitly, and what CuPy refuses to
reduce or accumulate is refused.  Kernels from sources run on the CPU (``shim.py``).
"""

from __future__ import annotations

import sys

from strict_cupy.module import make

__all__ = ["install"]


def install(devices: int = 1):
    """Make ``import cupy`` return the stand-in; return it."""
    cupy = make(devices)
    for name, module in cupy._modules.items():
        sys.modules[name] = module
    return cupy
