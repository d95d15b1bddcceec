"""What CuPy says that it cannot compute, and what it has to be told to say.

The types that a function of CuPy does not take are known to CuPy alone: such calls run on the CPU.  Of singular matrices it
says nothing unless asked, and the array kernels wait for an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import Any

from minitorch.backends import NoKernel


def raised_by_cupy(traceback: TracebackType | None) -> bool:
    """Return whether an error comes from CuPy's own code, and not from what calls it."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None:
        return False
    return traceback.tb_frame.f_globals.get("__name__", "").partition(".")[0] in ("cupy", "cupyx", "cupy_backends")


def refusing(fn: Callable) -> Callable:
    """Return a kernel that says `NoKernel` for what CuPy has no loop or routine of."""

    @wraps(fn)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        try:
            return fn(*args, **kwargs)
        except (NotImplementedError, TypeError) as error:
            if not isinstance(error, NoKernel) and raised_by_cupy(error.__traceback__):
                raise NoKernel(f"CuPy refuses: {error}") from error
            raise

    return kernel


_OF_MATRICES = ("minitorch.backends.array.linalg", "minitorch.backends.array.factorizations")


def told(fn: Callable) -> Callable:
    """Return a kernel that is `refusing`, and in which singular matrices raise ``LinAlgError``, as NumPy's do."""
    if fn.__module__ not in _OF_MATRICES:
        return refusing(fn)

    @wraps(fn)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        from cupyx import errstate  # type: ignore[import-not-found]

        with errstate(linalg="raise"):
            return fn(*args, **kwargs)

    return refusing(kernel)
