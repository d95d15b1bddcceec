"""Operators that sort, search and count.

Where the host shares the device's memory they are NumPy's: the array kernels run on views of it.
Elsewhere the same kernels run on this package's array namespace, whose sorts and searches are in
`sorting`.
"""

from __future__ import annotations

import numpy as np

from minitorch.backends import NoKernel, array_kernels
from minitorch.backends.opencl.array import CLArray, from_host
from minitorch.backends.opencl.ctypes import INT32
from minitorch.backends.opencl.geometry import permute
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.pointwise import cast
from minitorch.backends.opencl.positions import host
from minitorch.backends.opencl.sorting import search_rows

_kernels = array_kernels()


def to_device(result, device):
    """Return a kernel's result, its arrays copied to the device in their order of dimensions."""
    if isinstance(result, (tuple, list)):
        return type(result)([to_device(r, device) for r in result])
    array = np.asarray(result)
    if array.ndim < 2 or array.flags.c_contiguous:
        return from_host(array, device)
    order = sorted(range(array.ndim), key=lambda d: -array.strides[d])
    memory = from_host(array.transpose(order), device)
    return permute(memory, [order.index(d) for d in range(array.ndim)])


def on_host(kernel):
    """Return an array kernel as an override: it runs in NumPy on the memory that the host shares."""

    def host_kernel(*args, **kwargs):
        device = None

        def shared(value):
            nonlocal device
            if isinstance(value, CLArray):
                device = value.device
                view = host(value)
                if view is None:
                    raise NoKernel("the host does not share the device's memory")
                return view
            return value

        args = [shared(a) for a in args]
        kwargs = {name: shared(value) for name, value in kwargs.items()}
        with np.errstate(all="ignore"):
            return to_device(kernel(np, *args, **kwargs), device)

    host_kernel.__name__ = kernel.__name__
    return host_kernel


for _name in (
    "sort", "sort.stable", "argsort", "argsort.stable", "topk", "_unique2", "unique_dim", "unique_consecutive", "bincount",
    "histc", "histogram.bin_ct", "histogram.bins_tensor", "isin.Tensor_Tensor",
):  # fmt: skip
    override(_name)(on_host(_kernels[_name]))


def _search(sequence, values, right, side, sorter, out_int32):
    if side is not None:
        if side not in ("left", "right") or (right and side == "left"):
            raise ValueError
        right = side == "right"
    if sorter is not None:
        raise NoKernel("an order of the sequence")
    if sequence.ndim != 1 and (sequence.shape[:-1] != values.shape[:-1] or sequence.ndim != values.ndim):
        raise ValueError
    result = search_rows(sequence, values, right)
    return cast(result, INT32).settle() if out_int32 else result


@override("searchsorted.Tensor")
def searchsorted_kernel(sorted_sequence, self, *, out_int32=False, right=False, side=None, sorter=None):
    return _search(sorted_sequence, self, right, side, sorter, out_int32)


@override("bucketize.Tensor")
def bucketize_kernel(self, boundaries, *, out_int32=False, right=False):
    if boundaries.ndim != 1:
        raise ValueError
    return _search(boundaries, self, right, None, None, out_int32)


