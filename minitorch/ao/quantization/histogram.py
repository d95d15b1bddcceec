"""The observer that chooses a range by the error that quantization to it makes.

Note [The search for a range]
    Starting from all that was seen, the bins at the ends are left out step by step: at each step those at the end that has
    fewer numbers left for the next 1/100,000 of all.  The search ends when the mean squared error grows.  The error is
    that of numbers that are spread evenly within each bin of the histogram: an integral of a parabola between
    the ends of the bins and the boundaries between steps of the grid.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import minitorch
from minitorch.ao.quantization.observer import EPS, UniformQuantizationObserverBase
from minitorch.ao.quantization.partial import with_args
from minitorch.ao.quantization.utils import bits_of, has_valid_range, is_per_channel

__all__ = ["HistogramObserver", "default_histogram_observer"]

QUANTILE_STEP = 1e-5


class HistogramObserver(UniformQuantizationObserverBase):
    """Keeps a histogram of the numbers that it has seen, and chooses the range of the least squared error.

    Parameters
    ----------
    bins : int
    dtype, qscheme, ...
        As of `UniformQuantizationObserverBase`.

    Notes
    -----
    State: ``histogram``, shape (bins,); ``min_val`` and ``max_val``, its ends.
    """

    histogram: Any
    min_val: Any
    max_val: Any

    def __init__(
        self,
        bins: int = 2048,
        dtype: Any = None,
        qscheme: Any = None,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: dict | None = None,
        eps: float = EPS,
        is_dynamic: bool = False,
        **kwargs: Any,
    ):
        if is_per_channel(qscheme):
            raise NotImplementedError(
                f"HistogramObserver has one histogram for the whole tensor, but the scheme is {qscheme}; use "
                "PerChannelMinMaxObserver"
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver gathers what it sees, so its parameters cannot be dynamic")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", minitorch.zeros(bins, **self._made_with))
        self.register_buffer("min_val", minitorch.tensor(float("inf"), **self._made_with))
        self.register_buffer("max_val", minitorch.tensor(float("-inf"), **self._made_with))
        self.dst_nbins = 2 ** bits_of(self.dtype)
        self.upsample_rate = 16  # of bins that are distributed to those of a wider range

    # -- seeing ----------------------------------------------------------------------------

    def forward(self, x_orig: Any) -> Any:
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().to(self.histogram.dtype)
        low, high = minitorch.aminmax(x)
        if minitorch.isinf(low) or minitorch.isinf(high):
            warnings.warn("HistogramObserver: infinite values are left out", stacklevel=2)
            x = x[x.abs() != float("inf")]
            if x.numel() == 0:
                return x_orig
            low, high = minitorch.aminmax(x)
        with minitorch.no_grad():
            self._add(x, low, high)
        return x_orig

    def _add(self, x: Any, low: Any, high: Any) -> None:
        if self.min_val == float("inf") or self.max_val == float("-inf"):
            self.reset_histogram(x, low, high)
            return
        new_low, new_high = minitorch.minimum(self.min_val, low), minitorch.maximum(self.max_val, high)
        counts = self._count(x, new_low, new_high)
        counts = counts + self._spread(self.min_val, self.max_val, new_low, new_high)
        self.histogram.resize_(counts.shape).copy_(counts)
        self.min_val.copy_(new_low)
        self.max_val.copy_(new_high)

    def _count(self, x: Any, low: Any, high: Any) -> Any:
        return minitorch.histc(x, self.bins, min=low.item(), max=high.item()).to(self.histogram.dtype)

    def reset_histogram(self, x: Any, min_val: Any, max_val: Any) -> None:
        """Forget what was seen, and begin with a tensor whose least and greatest numbers are given."""
        self.min_val.resize_(min_val.shape).copy_(min_val)
        self.max_val.resize_(max_val.shape).copy_(max_val)
        counts = self._count(x, min_val, max_val)
        self.histogram.resize_(counts.shape).copy_(counts)

    def _spread(self, low: Any, high: Any, new_low: Any, new_high: Any) -> Any:
        """Return the histogram as one of a wider range."""
        if new_low == low and new_high == high:
            return self.histogram
        if low == high:  # all that was seen is one number
            return self._count(low.reshape([1]), new_low, new_high) * self.histogram.sum()
        count = self.bins * self.upsample_rate
        made = {"dtype": self.histogram.dtype, "device": self.histogram.device}
        parts = minitorch.repeat_interleave(self.histogram, self.upsample_rate) / self.upsample_rate
        width = (high - low) / count
        middles = minitorch.linspace(low.item(), high.item(), count + 1, **made)[:-1] + 0.5 * width
        boundaries = minitorch.linspace(new_low.item(), new_high.item(), self.bins + 1, **made)
        places = minitorch.bucketize(middles, boundaries, right=True) - 1
        places = places.clamp(0, self.bins - 1)
        return minitorch.bincount(places, weights=parts, minlength=self.bins).to(self.histogram.dtype)

    # -- choosing --------------------------------------------------------------------------

    def calculate_qparams(self, **kwargs: Any) -> Any:
        """Return scale and zero point, tensors of shape (1,)."""
        if not has_valid_range(self.min_val, self.max_val):
            return self._default()
        low, high = self._non_linear_param_search()
        return self._calculate_qparams(low, high)

    def _default(self) -> tuple[Any, Any]:
        device = self.min_val.device
        return minitorch.tensor([1.0], device=device), minitorch.tensor([0], device=device)

    def _non_linear_param_search(self) -> tuple[Any, Any]:
        """Return the ends of the range of the least error: Note [The search for a range]."""
        histogram = self.histogram.cpu().numpy()
        low, high = self.min_val.cpu().numpy(), self.max_val.cpu().numpy()
        width = (high - low) / np.float32(self.bins)
        total = float(histogram.sum())
        sums = np.cumsum(histogram)
        error_of = _QuantizationError(histogram, float(high - low) / self.bins, self.dst_nbins)
        below, above = 0.0, 1.0
        first, last = 0, self.bins - 1
        least = float("inf")
        while below < above:
            next_below, next_above = below + QUANTILE_STEP, above - QUANTILE_STEP
            left, right = first, last
            while left < last and sums[left] < np.float32(next_below * total):
                left += 1
            while right > first and sums[right] > np.float32(next_above * total):
                right -= 1
            next_first, next_last = first, last
            if left - first > last - right:
                next_first, below = left, next_below
            else:
                next_last, above = right, next_above
            if (next_first, next_last) == (first, last):
                continue
            error = error_of(next_first, next_last)
            if error > least:
                break
            least, first, last = error, next_first, next_last
        made = {"dtype": self.min_val.dtype, "device": self.min_val.device}
        new_low = low + width * np.float32(first)
        new_high = low + width * np.float32(last + 1)
        return minitorch.tensor(float(new_low), **made), minitorch.tensor(float(new_high), **made)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        for name in ("histogram", "min_val", "max_val"):
            value = state_dict.get(prefix + name)
            if value is not None:
                getattr(self, name).resize_(value.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    with_args = classmethod(with_args)


class _QuantizationError:
    """The sum of squared errors if a range of a histogram's bins is quantized to a number of steps."""

    def __init__(self, histogram: np.ndarray, width: float, steps: int):
        self.bins = np.arange(len(histogram), dtype=np.int64)
        self.width = width
        self.steps = steps
        with np.errstate(all="ignore"):
            self.density = histogram / np.float32(width)

    def __call__(self, first: int, last: int) -> float:
        step = self.width * (last - first + 1) / self.steps
        if step == 0.0:
            return 0.0
        begins = (self.bins - first).astype(np.float32) * np.float32(self.width)
        ends = begins + np.float32(self.width)
        begin_steps = np.clip(np.floor(begins / np.float32(step)), 0, self.steps - 1)
        end_steps = np.clip(np.floor(ends / np.float32(step)), 0, self.steps - 1)
        half = np.float32(step / 2)
        from_begin = self._integral(begins - (begin_steps + np.float32(0.5)) * np.float32(step), half)
        between = (end_steps - begin_steps - 1) * self._integral(-half, half)
        to_end = self._integral(-half, ends - (end_steps * np.float32(step) + half))
        return float(((from_begin + between) + to_end).sum())

    def _integral(self, begin: Any, end: Any) -> np.ndarray:
        """Return the integral of ``density * x * x`` for each bin."""
        return self.density * ((end * end * end - begin * begin * begin) / 3).astype(np.float32)


default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
