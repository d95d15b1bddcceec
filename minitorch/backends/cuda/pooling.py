"""Pooling of images; gradients are gathered, so that sums are the same each time."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.array.pooling import pooled_size
from minitorch.backends.cuda import programs
from minitorch.backends.cuda.overrides import override
from minitorch.backends.cuda.programs import floating, rows


def _pair(values: Any) -> tuple:
    values = tuple(values)
    if len(values) not in (1, 2):
        raise NoKernel("bad window")
    return values * 2 if len(values) == 1 else values


class _Windows:
    """The windows over the last two dimensions of a row-major array.

    Raises
    ------
    NoKernel
        If they do not fit; the kernel for any array library says why.
    """

    def __init__(self, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool):
        floating(x)
        if x.ndim not in (3, 4) or not x.flags.c_contiguous or x.shape[-1] == 1 or not x.size:
            raise NoKernel("another memory format, or no images")
        self.kernel = _pair(kernel_size)
        self.stride = _pair(stride) if len(stride) else self.kernel
        self.padding, self.dilation = _pair(padding), _pair(dilation)
        self.lead, self.size = x.shape[:-2], x.shape[-2:]
        sides = list(zip(self.size, self.kernel, self.stride, self.padding, self.dilation, strict=True))
        if any(k <= 0 or s <= 0 or t <= 0 or p < 0 or 2 * p > t * (k - 1) + 1 for _, k, s, p, t in sides):
            raise NoKernel("bad window")
        self.out = tuple([pooled_size(n, k, s, p, t, ceil_mode) for n, k, s, p, t in sides])
        if min(self.out) <= 0:
            raise NoKernel("windows larger than the images")

    @property
    def numbers(self) -> tuple:
        """What the macro WINDOW declares."""
        return (prod(self.lead), *self.size, *self.out, *self.kernel, *self.stride, *self.padding, *self.dilation)

    @property
    def shape(self) -> tuple:
        return (*self.lead, *self.out)


def _max(x: Any, windows: _Windows, with_index: bool) -> tuple:
    result = programs.empty(windows.shape, x.dtype)
    index = programs.empty(windows.shape, np.dtype(np.int64)) if with_index else None
    function = programs.kernel("pooling", "max_pool", T=x.dtype)
    programs.over(function, result.size, x, result, index, *windows.numbers)
    return result, index


def _gathered(name: str, grad: Any, x: Any, windows: _Windows, *between: Any, after: tuple = ()) -> Any:
    floating(x, grad)
    if grad.shape != windows.shape:
        raise NoKernel("a gradient of another shape")
    result = programs.empty(x.shape, x.dtype)
    function = programs.kernel("pooling", name, T=x.dtype)
    programs.over(function, result.size, rows(grad), *between, result, *windows.numbers, *after)
    return result


@override("max_pool2d")
def max_pool2d(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = (0,), dilation: Any = (1,), ceil_mode: bool = False
) -> Any:
    return _max(self, _Windows(self, kernel_size, stride, padding, dilation, ceil_mode), False)[0]


@override("max_pool2d_with_indices")
def max_pool2d_with_indices(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = (0,), dilation: Any = (1,), ceil_mode: bool = False
) -> tuple:
    return _max(self, _Windows(self, kernel_size, stride, padding, dilation, ceil_mode), True)


@override("max_pool2d_backward")
def max_pool2d_backward(
    grad_output: Any,
    self: Any,
    kernel_size: Any,
    stride: Any = (),
    padding: Any = (0,),
    dilation: Any = (1,),
    ceil_mode: bool = False,
) -> Any:
    windows = _Windows(self, kernel_size, stride, padding, dilation, ceil_mode)
    floating(self, grad_output)
    index = _max(self, windows, True)[1]
    return _gathered("max_pool_backward", grad_output, self, windows, index)


@override("max_pool2d_with_indices_backward")
def max_pool2d_with_indices_backward(
    grad_output: Any,
    self: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Any,
) -> Any:
    windows = _Windows(self, kernel_size, stride, padding, dilation, ceil_mode)
    if indices.dtype != np.int64 or indices.shape != windows.shape or not indices.flags.c_contiguous:
        raise NoKernel("positions of another type or shape")
    return _gathered("max_pool_backward", grad_output, self, windows, indices)


@override("avg_pool2d")
def avg_pool2d(
    self: Any, kernel_size: Any, stride: Any = (), padding: Any = (0,), ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:  # fmt: skip
    if divisor_override == 0:
        raise NoKernel("a divisor of 0")
    windows = _Windows(self, kernel_size, stride, padding, (1,), ceil_mode)
    result = programs.empty(windows.shape, self.dtype)
    function = programs.kernel("pooling", "avg_pool", T=self.dtype)
    programs.over(function, result.size, self, result, *windows.numbers, bool(count_include_pad), divisor_override or 0)
    return result


@override("avg_pool2d_backward")
def avg_pool2d_backward(
    grad_output: Any, self: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None,
) -> Any:  # fmt: skip
    if divisor_override == 0:
        raise NoKernel("a divisor of 0")
    windows = _Windows(self, kernel_size, stride, padding, (1,), ceil_mode)
    after = (bool(count_include_pad), divisor_override or 0)
    return _gathered("avg_pool_backward", grad_output, self, windows, after=after)
