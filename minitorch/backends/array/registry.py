"""The table of array kernels, bound to a backend key by `binding.register`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

ARRAY_KERNELS: dict[str, Callable[..., Any]] = {}
# name -> (function of xp that returns a ufunc, the dtype kinds it is right for)
DIRECT_UFUNCS: dict[str, tuple[Callable[[Any], Any], str]] = {}
VIEW_KERNELS: dict[str, Callable[..., Any]] = {}


def array_kernel(
    *names: str, ufunc: Callable[[Any], Any] | None = None, fast: str = "f"
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of ``(xp, *arrays, ...)`` as the kernel of operators `names`.

    Parameters
    ----------
    ufunc : callable, optional
        ``lambda xp: xp.add``.  The ufunc is called in the function's place, straight from
        the compiled core, when there are one or two operands of one dtype (or a float array
        and a Python number), whose kind is in `fast`, and no keyword arguments.  It must
        then give PyTorch's result and dtype, and take ``out`` as the next positional argument.
    fast : str
        NumPy dtype kinds: f (float32 and float64 only), i, u, c, b.
    """

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if name in ARRAY_KERNELS:
                raise ValueError(f"{name} has an array kernel already: {ARRAY_KERNELS[name].__qualname__}")
            ARRAY_KERNELS[name] = fn
            if ufunc is not None:
                DIRECT_UFUNCS[name] = (ufunc, fast)
        return fn

    return register


def view_kernel(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of ``(xp, array, ...)`` that returns a view of `array`."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            if name in VIEW_KERNELS:
                raise ValueError(f"{name} has a view kernel already: {VIEW_KERNELS[name].__qualname__}")
            VIEW_KERNELS[name] = fn
        return fn

    return register
