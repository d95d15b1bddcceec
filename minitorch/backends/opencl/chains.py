"""Writing chains of lazy operations with numbers among the operands."""

from __future__ import annotations

from minitorch.backends.opencl.array import CLArray, contiguous_strides, empty
from minitorch.backends.opencl.ctypes import BOOL
from minitorch.backends.opencl.expression import Scalar, lazy
from minitorch.backends.opencl.pointwise import assign


def op(name: str, *args) -> CLArray:
    """Return a pointwise operation of arrays of one dtype, and of Python numbers, not computed yet."""
    first = next(a for a in args if type(a) is CLArray)
    dtype = first.dtype
    return lazy(name, tuple([a if type(a) is CLArray else Scalar(a, dtype) for a in args]), dtype, first.device)


def predicate(name: str, *args) -> CLArray:
    """Return a pointwise operation whose result is bool."""
    first = next(a for a in args if type(a) is CLArray)
    return lazy(name, tuple([a if type(a) is CLArray else Scalar(a, first.dtype) for a in args]), BOOL, first.device)


def shaped(array: CLArray, shape: tuple) -> CLArray:
    """Return a row-major array under another shape."""
    return array.view_of(shape, contiguous_strides(shape, array.dtype.itemsize), 0)


def along(vector: CLArray, ndim: int, axis: int) -> CLArray:
    """Return a view of a vector that lies along one of `ndim` dimensions."""
    shape, strides = [1] * ndim, [0] * ndim
    shape[axis], strides[axis] = vector.shape[0], vector.settle().strides[0]
    return vector.view_of(tuple(shape), tuple(strides), 0)


def computed(chain: CLArray, dtype=None, strides=None) -> CLArray:
    """Return a chain's elements in new memory: row-major unless `strides` say otherwise."""
    result = empty(chain.shape, chain.dtype if dtype is None else dtype, chain.device)
    if strides is not None:
        result.strides = strides
    if 0 not in chain.shape:
        assign(result, chain)
    return result.settle()
