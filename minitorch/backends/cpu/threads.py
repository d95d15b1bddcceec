"""How many threads an operator of the CPU may use."""

from __future__ import annotations

import os

_limit: int | None = None  # what set_num_threads was given
_interop: int | None = None


def _available() -> int:
    """Return how many threads this process may run, by the environment or the system."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        value = os.environ.get(name, "").split(",")[0]
        if value.isdigit() and int(value) > 0:
            return int(value)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_default = _available()


def get_num_threads() -> int:
    """Return how many threads one operator may use on the CPU."""
    return _default if _limit is None else _limit


def set_num_threads(num: int) -> None:
    """Limit the threads of one operator on the CPU.

    Parameters
    ----------
    num : int
        Positive.  The compiled kernels of ``minitorch[fast]`` obey; matrix products do where
        threadpoolctl is installed (it comes with that extra), since NumPy has no such call.
    """
    global _limit
    if type(num) is not int:
        raise TypeError(f"set_num_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, but got {num}")
    _limit = num
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return
    threadpool_limits(num, user_api="blas")


def get_num_interop_threads() -> int:
    """Return the number that `set_num_interop_threads` was given."""
    return _default if _interop is None else _interop


def set_num_interop_threads(num: int) -> None:
    """Accept a number of threads that run operators side by side; there are none: calls run in their own thread."""
    global _interop
    if type(num) is not int:
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, but got {num}")
    _interop = num
