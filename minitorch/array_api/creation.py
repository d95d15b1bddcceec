"""Creation functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import minitorch as mt


def _shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _filled(name: str, make: Callable[..., Any], doc: str) -> Callable[..., mt.Tensor]:
    def filled(shape: int | tuple[int, ...], *, dtype: Any = None, device: Any = None) -> mt.Tensor:
        return make(_shape(shape), dtype=dtype, device=device)

    filled.__name__ = filled.__qualname__ = name
    filled.__doc__ = doc
    return filled


def _like(name: str, make: Callable[..., Any], doc: str) -> Callable[..., mt.Tensor]:
    def like(x: mt.Tensor, /, *, dtype: Any = None, device: Any = None) -> mt.Tensor:
        return make(x, dtype=dtype, device=device)

    like.__name__ = like.__qualname__ = name
    like.__doc__ = doc
    return like


empty = _filled("empty", mt.empty, "Return an array of a shape (an int or a tuple), whose elements are not set.")
ones = _filled("ones", mt.ones, "Return an array of ones, of a shape (an int or a tuple).")
zeros = _filled("zeros", mt.zeros, "Return an array of zeros, of a shape (an int or a tuple).")
empty_like = _like("empty_like", mt.empty_like, "Return an array as `x`, whose elements are not set.")
ones_like = _like("ones_like", mt.ones_like, "Return an array of ones as `x`.")
zeros_like = _like("zeros_like", mt.zeros_like, "Return an array of zeros as `x`.")


def full(shape: int | tuple[int, ...], fill_value: complex, *, dtype: Any = None, device: Any = None) -> mt.Tensor:
    """Return an array of a shape (an int or a tuple), each element `fill_value`."""
    return mt.full(_shape(shape), fill_value, dtype=dtype, device=device)


def full_like(x: mt.Tensor, /, fill_value: complex, *, dtype: Any = None, device: Any = None) -> mt.Tensor:
    """Return an array as `x`, each element `fill_value`."""
    return mt.full_like(x, fill_value, dtype=dtype, device=device)


def arange(
    start: float, /, stop: float | None = None, step: float = 1, *, dtype: Any = None, device: Any = None
) -> mt.Tensor:
    """Return ``start, start + step, ...`` up to `stop`, which is not among them; from 0 if `stop` is None.

    Empty where `stop` does not lie in the direction of `step` (PyTorch refuses that).

    Raises
    ------
    ValueError
        If `step` is zero.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange(): step must not be zero")
    if (stop <= start) if step > 0 else (stop >= start):
        if dtype is None and any(isinstance(number, float) for number in (start, stop, step)):
            dtype = mt.get_default_dtype()
        return mt.empty(0, dtype=dtype or mt.int64, device=device)
    return mt.arange(start, stop, step, dtype=dtype, device=device)


def linspace(
    start: complex, stop: complex, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
) -> mt.Tensor:
    """Return `num` numbers in equal steps from `start` to `stop`, which is the last unless `endpoint` is false."""
    if endpoint or num == 0:
        return mt.linspace(start, stop, num, dtype=dtype, device=device)
    return mt.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def eye(n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> mt.Tensor:
    """Return a matrix with ones on its `k`-th diagonal (above the main one when positive), and zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    result = mt.zeros((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        result.diagonal(k).fill_(1)
    return result


def tril(x: mt.Tensor, /, *, k: int = 0) -> mt.Tensor:
    """Return the matrices of `x` with zeros above the `k`-th diagonal."""
    return mt.tril(x, k)


def triu(x: mt.Tensor, /, *, k: int = 0) -> mt.Tensor:
    """Return the matrices of `x` with zeros below the `k`-th diagonal."""
    return mt.triu(x, k)


def meshgrid(*arrays: mt.Tensor, indexing: str = "xy") -> tuple[mt.Tensor, ...]:
    """Return coordinates of a grid from the coordinates along each axis; `indexing` is "xy" (columns first) or "ij".

    Raises
    ------
    ValueError
        If `indexing` is neither.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid(): indexing must be 'xy' or 'ij', got {indexing!r}")
    return tuple(mt.meshgrid(*arrays, indexing=indexing)) if arrays else ()


def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> mt.Tensor:
    """Return `obj` as an array: a number, sequences of them, an array of another library, a buffer.

    Parameters
    ----------
    dtype : dtype, optional
    device : device or str, optional
        Where `obj` is when it is a Tensor, otherwise the default device.
    copy : bool, optional
        True always copies; False raises ValueError where a copy would be needed.
    """
    if device is None and isinstance(obj, mt.Tensor):
        device = obj.device
    if copy is False and not hasattr(obj, "__array__") and not hasattr(obj, "__dlpack__") and not _is_buffer(obj):
        raise ValueError(f"asarray(): copy=False, but a {type(obj).__name__} has no memory that an array could share")
    return mt.asarray(obj, dtype=dtype, device=device, copy=copy)


def _is_buffer(obj: Any) -> bool:
    try:
        memoryview(obj)
    except TypeError:
        return False
    return True


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> mt.Tensor:
    """Return an array that shares the memory of an object with ``__dlpack__``, or a copy of it.

    Raises
    ------
    ValueError
        If ``copy=False`` and `device` is another than that of `x`.
    """
    result = mt.from_dlpack(x)
    return mt.asarray(result, device=result.device if device is None else device, copy=copy)
