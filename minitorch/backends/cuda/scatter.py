"""Sums at places by atomics: scatter_add and index_add.  Float sums depend on the order of threads, as on any GPU."""

from __future__ import annotations

from typing import Any

from minitorch.backends import NoKernel
from minitorch.backends.cuda import checks, programs
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import outer_inner, rows

_TYPES = ("float32", "float64", "int32", "int64")


def _typed(target: Any, source: Any) -> None:
    if target.dtype.name not in _TYPES or source.dtype != target.dtype:
        raise NoKernel("no atomic sums of these types")


def _raise_wrong(found: Any, bound: int, dim: int) -> None:
    value = checks.wrong(found)
    if value is not None:
        raise RuntimeError(f"index {value} is out of bounds for dimension {dim} with size {bound}")


def _scatter_add(out: Any, dim: int, index: Any, source: Any) -> None:
    """Add to `out`, row-major; nothing is written where a position does not exist, but what is right is."""
    outer, n, inner = outer_inner(out.shape, dim)
    m = index.shape[dim]
    found = checks.report()
    function = programs.kernel("scatter", "scatter_add", T=out.dtype, I=index.dtype)
    programs.over(function, index.size, out, rows(index), rows(source), found, outer, n, m, inner)
    _raise_wrong(found, n, dim % out.ndim)


def _fits(self: Any, dim: int, index: Any, source: Any) -> None:
    _typed(self, source)
    checks.index_type(index)
    if self.ndim == 0 or index.ndim != self.ndim or index.shape != source.shape or not index.size:
        raise NoKernel("a source of another shape than its positions, or no elements")
    outer_inner(self.shape, dim)
    if any(d != dim % self.ndim and n != self.shape[d] for d, n in enumerate(index.shape)):
        raise NoKernel("positions for a part of the rows")


@override("scatter_add")
def scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    _fits(self, dim, index, src)
    out = rows(self)
    out = out.copy() if out is self else out
    _scatter_add(out, dim, index, src)
    return out


def _index_add(self: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    _typed(self, source)
    kind = checks.index_type(index)
    outer, n, inner = outer_inner(self.shape, dim)
    dim = dim % max(self.ndim, 1)
    fits = self.ndim and index.ndim == 1 and source.shape == (*self.shape[:dim], index.size, *self.shape[dim + 1 :])
    if not fits or not source.size:
        raise NoKernel("a source that does not fit, or no elements")
    if isinstance(alpha, complex) or (self.dtype.kind == "i" and isinstance(alpha, float)):
        raise NoKernel("a factor of another type")
    out = rows(self)
    out = out.copy() if out is self else out
    found = checks.report()
    function = programs.kernel("scatter", "index_add", T=out.dtype, I=kind)
    factor = out.dtype.type(alpha)
    programs.over(function, source.size, out, rows(index), rows(source), found, outer, n, index.size, inner, factor)
    _raise_wrong(found, n, dim)
    return out


@override("index_add")
def index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    return _index_add(self, dim, index, source, alpha)
