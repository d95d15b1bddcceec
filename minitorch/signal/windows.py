"""Windows: functions to multiply a piece of a signal with, as torch.signal.windows.

``sym=True`` gives a window whose last sample mirrors its first, for the design of filters;
``sym=False`` gives one period of it, for spectra.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import Any

from minitorch.core.dtype import float32, float64, get_default_dtype
from minitorch.core.layout import strided
from minitorch.ops import functions as F

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


class _Options:
    """Where and as what a window is made; checks what all windows check."""

    def __init__(self, name: str, M: int, dtype: Any, layout: Any, device: Any, requires_grad: bool):
        dtype = get_default_dtype() if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if dtype is not float32 and dtype is not float64:
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        self.size = M
        self.keywords = {"dtype": dtype, "device": device}
        self.requires_grad = requires_grad

    def steps(self, start: float, step: float) -> Any:
        """Return ``start + step * n`` for the window's samples ``n``."""
        return F.linspace(start, start + step * (self.size - 1), self.size, **self.keywords)

    def finish(self, window: Any) -> Any:
        return window.requires_grad_() if self.requires_grad else window

    def trivial(self) -> Any:
        """Return the window of no sample, or of one."""
        return self.finish(F.ones([self.size], **self.keywords))


def general_cosine(
    M: int, *, a: Sequence[float], sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``a[0] - a[1] cos(t) + a[2] cos(2 t) - ...``, `t` from 0 to 2 pi.

    Parameters
    ----------
    M : int
        Number of samples.
    a : sequence of float
    sym : bool
        Whether the last sample mirrors the first.
    """
    options = _Options("general_cosine", M, dtype, layout, device, requires_grad)
    return _cosine_sum(options, a, sym)


def _cosine_sum(options: _Options, a: Sequence[float], sym: bool) -> Any:
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"Coefficients must be a list/tuple, got {type(a).__name__}")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    if options.size <= 1:
        return options.trivial()
    angle = options.steps(0.0, 2 * pi / (options.size - 1 if sym else options.size))
    window = F.full([options.size], float(a[0]), **options.keywords)
    for order, coefficient in enumerate(a[1:], 1):
        signed = -coefficient if order % 2 else coefficient
        window = window + signed * F.cos(angle * order)
    return options.finish(window)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``alpha - (1 - alpha) cos(t)``."""
    options = _Options("general_hamming", M, dtype, layout, device, requires_grad)
    return _cosine_sum(options, [alpha, 1.0 - alpha], sym)


def hamming(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``0.54 - 0.46 cos(t)``."""
    options = _Options("hamming", M, dtype, layout, device, requires_grad)
    return _cosine_sum(options, [0.54, 0.46], sym)


def hann(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``0.5 - 0.5 cos(t)``."""
    options = _Options("hann", M, dtype, layout, device, requires_grad)
    return _cosine_sum(options, [0.5, 0.5], sym)


def blackman(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``0.42 - 0.5 cos(t) + 0.08 cos(2 t)``."""
    options = _Options("blackman", M, dtype, layout, device, requires_grad)
    return _cosine_sum(options, [0.42, 0.5, 0.08], sym)


def nuttall(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return the four-term window with the lowest side lobes (Nuttall, 1981)."""
    options = _Options("nuttall", M, dtype, layout, device, requires_grad)
    return _cosine_sum(options, [0.3635819, 0.4891775, 0.1365995, 0.0106411], sym)


def bartlett(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return a triangle from 0 up to 1 and back."""
    options = _Options("bartlett", M, dtype, layout, device, requires_grad)
    if M <= 1:
        return options.trivial()
    return options.finish(1.0 - F.abs(options.steps(-1.0, 2.0 / (M - 1 if sym else M))))


def cosine(
    M: int, *, sym: bool = True, dtype: Any = None, layout: Any = strided, device: Any = None,
    requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return half a period of a sine, its samples taken at the middle of each step."""
    options = _Options("cosine", M, dtype, layout, device, requires_grad)
    if M == 0:
        return options.trivial()
    step = pi / (M if sym or M == 1 else M + 1)
    return options.finish(F.sin(options.steps(0.5 * step, step)))


def _center(M: int, sym: bool) -> float:
    return (M - 1 if sym or M == 1 else M) / 2.0


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None,
    layout: Any = strided, device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``exp(-|n - center| / tau)``.

    Parameters
    ----------
    center : float, optional
        In samples; the middle of the window by default, and always where it is symmetric.
    tau : float
        The decay, in samples; positive.
    """
    options = _Options("exponential", M, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return options.trivial()
    center = _center(M, sym) if center is None else center
    return options.finish(F.exp(-F.abs(options.steps(-center / tau, 1.0 / tau))))


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``exp(-(n - middle)^2 / (2 std^2))``, `std` in samples."""
    options = _Options("gaussian", M, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return options.trivial()
    step = 1.0 / (std * sqrt(2.0))
    return options.finish(F.exp(-(options.steps(-_center(M, sym) * step, step) ** 2)))


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, layout: Any = strided,
    device: Any = None, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """Return ``I0(beta sqrt(1 - t^2)) / I0(beta)``, `t` from -1 to 1.

    Parameters
    ----------
    beta : float
        The larger, the narrower the window and the lower its side lobes; not negative.
    """
    options = _Options("kaiser", M, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M <= 1:
        return options.trivial()
    place = options.steps(-1.0, 2.0 / (M - 1 if sym else M))
    # Rounding may put the last place beyond 1.  I0 scaled by exp(-x) does not overflow.
    argument = beta * F.sqrt(F.clamp_min(1.0 - place * place, 0.0))
    height = F.special_i0e(argument) * F.exp(argument - beta)
    return options.finish(height / F.special_i0e(F.full([], float(beta), **options.keywords)))
