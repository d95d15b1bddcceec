"""Pooling of quantized images: of the integers, with the parameters kept."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float64
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.quantized.handle import like
from minitorch.quantized.kernels.pointwise import averaged
from minitorch.quantized.kernels.selection import as_floats, single
from minitorch.quantized.registry import NoQuantizedKernel, quantized_kernel


def _max_pool(name: str) -> None:
    op = OPERATORS["aten::" + name]

    def max_pool_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not single(self).scale > 0:
            raise NoQuantizedKernel
        ints = self.handle.ints
        values, places = op.call((as_floats(ints), *args), kwargs or None)
        return like(self, F.to(values, ints.dtype)), places

    quantized_kernel(name)(max_pool_kernel)


for _name in ("max_pool2d_with_indices", "max_pool3d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool3d"):
    _max_pool(_name)


@quantized_kernel("max_pool2d", "quantized_max_pool2d")
def quantized_max_pool2d_kernel(self, kernel_size, stride=(), padding=(0, 0), dilation=(1, 1), ceil_mode=False):
    return F.max_pool2d_with_indices(self, list(kernel_size), list(stride), list(padding), list(dilation), ceil_mode)[0]


@quantized_kernel("quantized_max_pool1d")
def quantized_max_pool1d_kernel(self, kernel_size, stride=(), padding=(0,), dilation=(1,), ceil_mode=False):
    def two(values: Any, other: int) -> list[int]:
        return [other, *values] if values else []

    made = quantized_max_pool2d_kernel(
        F.unsqueeze(self, -2), two(kernel_size, 1), two(stride or kernel_size, 1), two(padding, 0), two(dilation, 1), ceil_mode
    )
    return F.squeeze(made, -2)


def _average_pool(name: str) -> None:
    op = OPERATORS["aten::" + name]

    def average_pool_kernel(self: Any, *args: Any, **kwargs: Any) -> Any:
        zero_point = float(single(self).zero_point)
        centred = F.sub(F.to(self.handle.ints, float64), zero_point)  # what is padded stands for 0
        return averaged(self, F.add(op.call((centred, *args), kwargs or None), zero_point), 1.0)

    quantized_kernel(name)(average_pool_kernel)


for _name in ("avg_pool2d", "avg_pool3d"):
    _average_pool(_name)


def _adaptive(name: str) -> None:
    op = OPERATORS["aten::" + name]

    def adaptive_average_pool_kernel(self: Any, output_size: Any) -> Any:
        single(self)
        means = op.call((F.to(self.handle.ints, float64), output_size), None)
        return averaged(self, means, 1.0)

    quantized_kernel(name)(adaptive_average_pool_kernel)


for _name in ("_adaptive_avg_pool2d", "_adaptive_avg_pool3d"):
    _adaptive(_name)
