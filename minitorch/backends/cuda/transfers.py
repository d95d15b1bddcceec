"""Copies between the host and the device that need not wait (``non_blocking=True``)."""

from __future__ import annotations

from typing import Any

from minitorch.backends.transfer import CopyKernel, ToCopyKernel
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops.shapes.registry import SHAPES


class _Scope:
    """Scope: copies from pinned memory return before they are done, in this thread."""

    def __init__(self, backend: Any, wanted: bool):
        self.local = backend._local
        self.wanted = wanted

    def __enter__(self) -> None:
        self.before = getattr(self.local, "non_blocking", False)
        self.local.non_blocking = self.wanted

    def __exit__(self, *raised: Any) -> None:
        self.local.non_blocking = self.before


class CudaToCopyKernel(ToCopyKernel):
    """``_to_copy``; what is pinned is copied while the program goes on if it asked for that."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        with _Scope(self.backend, bool((kwargs or {}).get("non_blocking"))):
            return ToCopyKernel.run(self, op, entry, args, kwargs)


class CudaCopyKernel(CopyKernel):
    """``copy_``, likewise."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        asked = args[2] if len(args) > 2 else (kwargs or {}).get("non_blocking")
        with _Scope(self.backend, bool(asked)):
            return CopyKernel.run(self, op, entry, args, kwargs)


def register_copies(backend: Any) -> None:
    """Register both, in place of those of any backend."""
    for name, kind in (("_to_copy", CudaToCopyKernel), ("copy_", CudaCopyKernel)):
        OPERATORS["aten::" + name].register(backend.key, kind(backend, SHAPES.get(name)))
