"""The extension `fft`: discrete Fourier transforms, along `axis` (one) or `axes` (several)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import minitorch as mt


def _one_axis(name: str, kernel: Callable[..., Any], doc: str) -> Callable[..., mt.Tensor]:
    def one_axis(x: mt.Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> mt.Tensor:
        return kernel(x, n=n, dim=axis, norm=norm)

    one_axis.__name__ = one_axis.__qualname__ = name
    one_axis.__doc__ = doc
    return one_axis


def _axes(name: str, kernel: Callable[..., Any], doc: str) -> Callable[..., mt.Tensor]:
    def several_axes(
        x: mt.Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> mt.Tensor:
        return kernel(x, s=s, dim=axes, norm=norm)

    several_axes.__name__ = several_axes.__qualname__ = name
    several_axes.__doc__ = doc
    return several_axes


fft = _one_axis("fft", mt.fft.fft, "Return the Fourier transform along an axis.")
ifft = _one_axis("ifft", mt.fft.ifft, "Return the inverse of `fft`.")
rfft = _one_axis("rfft", mt.fft.rfft, "Return the first half of the Fourier transform of real numbers.")
irfft = _one_axis("irfft", mt.fft.irfft, "Return the inverse of `rfft`.")
hfft = _one_axis("hfft", mt.fft.hfft, "Return the real Fourier transform of the first half of a Hermitian signal.")
ihfft = _one_axis("ihfft", mt.fft.ihfft, "Return the inverse of `hfft`.")
fftn = _axes("fftn", mt.fft.fftn, "Return the Fourier transform along several axes, all if they are not given.")
ifftn = _axes("ifftn", mt.fft.ifftn, "Return the inverse of `fftn`.")
rfftn = _axes(
    "rfftn", mt.fft.rfftn, "Return half of the Fourier transform of real numbers, halved along the last axis."
)
irfftn = _axes("irfftn", mt.fft.irfftn, "Return the inverse of `rfftn`.")


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> mt.Tensor:
    """Return the frequencies of the elements of an `fft` of `n` samples, `d` apart."""
    return mt.fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> mt.Tensor:
    """Return the frequencies of the elements of an `rfft` of `n` samples, `d` apart."""
    return mt.fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: mt.Tensor, /, *, axes: int | Sequence[int] | None = None) -> mt.Tensor:
    """Return `x` with frequency zero moved to the middle along `axes`, all if None."""
    return mt.fft.fftshift(x, axes)


def ifftshift(x: mt.Tensor, /, *, axes: int | Sequence[int] | None = None) -> mt.Tensor:
    """Return the inverse of `fftshift`."""
    return mt.fft.ifftshift(x, axes)
