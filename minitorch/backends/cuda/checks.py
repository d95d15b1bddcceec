"""What kernels report of positions that do not exist: a kernel cannot raise, so the host looks afterwards, and waits."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda.library import library

INDICES = ("int64", "int32")


def report() -> Any:
    """Return two integers for a kernel to write: whether there is something wrong, and what."""
    return library().zeros((2,), np.int64)


def wrong(found: Any) -> int | None:
    """Return what is wrong, None if nothing; waits for the kernel."""
    is_wrong, value = found.get().tolist()
    return int(value) if is_wrong else None


def index_type(index: Any) -> np.dtype:
    """Return the type of positions.

    Raises
    ------
    NoKernel
        If sources are not compiled for it.
    """
    if index.dtype.name not in INDICES:
        raise NoKernel(f"positions of type {index.dtype.name}")
    return index.dtype
