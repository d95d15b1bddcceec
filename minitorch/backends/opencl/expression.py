"""Lazy arrays: what pointwise operations build before anything is computed.

Note [Lazy arrays]
    A kernel written for any array library is a chain of pointwise operations, each of which would
    read and write whole arrays.  Here such an operation returns a `CLArray` without memory that
    holds a `Node`: the operation and its operands.  When somebody needs the elements (a reduction,
    a view, the end of the operator), the chain is compiled into one kernel.

    An operand may be overwritten in the meantime.  So each block of memory knows the lazy arrays
    that read it (`Block.readers`), and whoever writes to it lets them be computed first
    (`before_write`).  A lazy array that is read by others knows them too, and its memory gets the
    list when it is computed.  The result of an operator is always computed before the user has it, so
    chains never reach from one operator into the next.
"""

from __future__ import annotations

from weakref import ref

import numpy as np

from minitorch.backends.opencl.array import CLArray, contiguous_strides
from minitorch.backends.opencl.ctypes import is_narrow

# A chain longer than this is computed: programs stay small, and so does the work done twice.
MAX_WEIGHT = 48
MAX_LEAVES = 10


class Scalar:
    """A number as an operand: an argument of the kernel, not a part of its source."""

    __slots__ = ("dtype", "value")
    shape = ()

    def __init__(self, value, dtype: np.dtype):
        self.value = value
        self.dtype = dtype


class Node:
    """A pointwise operation and its operands (`CLArray` or `Scalar`).

    Attributes
    ----------
    op : str
        A row of `operations`, or "cast", "where", "constant".
    args : tuple
    weight : int
        How many operations the chain has.
    leaves : int
        At most how many arrays it reads.
    """

    __slots__ = ("args", "leaves", "op", "weight")

    def __init__(self, op: str, args: tuple, weight: int, leaves: int):
        self.op = op
        self.args = args
        self.weight = weight
        self.leaves = leaves


def broadcast_shape(shapes: list) -> tuple:
    """Return the shape that shapes broadcast to.

    Raises
    ------
    ValueError
        If they do not.
    """
    first = shapes[0]
    for shape in shapes:
        if shape != first and shape != ():
            break
    else:
        return first
    ndim = max([len(s) for s in shapes])
    result = [1] * ndim
    for shape in shapes:
        skip = ndim - len(shape)
        for axis, n in enumerate(shape, skip):
            if n != 1 and n != result[axis]:
                if result[axis] != 1:
                    raise ValueError(
                        f"operands could not be broadcast together with shapes {' '.join([str(s) for s in shapes])}"
                    )
                result[axis] = n
    return tuple(result)


def lazy(op: str, args: tuple, dtype: np.dtype, device, into: CLArray | None = None) -> CLArray:
    """Return the array that ``op(*args)`` will be, computed when somebody needs it.

    Parameters
    ----------
    op : str
        A row of `operations`, "cast" or "where".
    args : tuple of CLArray or Scalar
    dtype : numpy.dtype
        Of the result.
    device : runtime.Device
    into : CLArray, optional
        An array of the result's shape and dtype without memory, which becomes the result.
    """
    shapes = [a.shape for a in args]
    if len(shapes) == 1 or (len(shapes) == 2 and shapes[0] == shapes[1]):
        shape = shapes[0]
    else:
        shape = broadcast_shape(shapes)
    weight, leaves = 1, 0
    for a in args:
        if type(a) is CLArray:
            node = a.node
            if node is None:
                leaves += 1
            elif is_narrow(a.dtype) and node.op != "constant":
                a.settle()  # rounded by way of memory
                leaves += 1
            else:
                weight += node.weight
                leaves += node.leaves
    if weight > MAX_WEIGHT or leaves > MAX_LEAVES:
        for a in args:
            if type(a) is CLArray and a.node is not None and a.node.weight > 1:
                a.settle()
        weight, leaves = 1, len(args)
    if into is None:
        result = CLArray(None, 0, shape, contiguous_strides(shape, dtype.itemsize), dtype, device)
    else:
        result = into
    link = None
    for a in args:
        if type(a) is CLArray:
            owner = a.block if a.node is None else a
            readers = owner.readers
            if link is None:
                link = ref(result)
            if readers is None:
                owner.readers = [link]
            else:
                if len(readers) > 32:
                    readers[:] = [r for r in readers if is_waiting(r)]
                readers.append(link)
    result.node = Node(op, args, weight, leaves)
    return result


def is_waiting(link) -> bool:
    """Return whether a reader still has to be computed."""
    array = link()
    return array is not None and array.node is not None


def before_write(block, but=None) -> None:
    """Compute the arrays that read a block, except `but`, before the block is changed."""
    readers = block.readers
    if readers:
        block.readers = None
        for link in readers:
            array = link()
            if array is not None and array.node is not None and array is not but:
                array.settle()
