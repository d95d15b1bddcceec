"""`CLArray`: an array in a device's memory: buffer, offset, shape and signed strides.

Attributes are named and counted as NumPy's (strides in bytes), so that the kernels that were
written for any array library read either.  Views are views.  The result of a pointwise
operation is not computed until somebody looks at it (Note [Lazy arrays] in `expression`).
"""

from __future__ import annotations

import numpy as np

from minitorch.backends.opencl import runtime
from minitorch.backends.opencl.runtime import Block

_NO_NODE = None


def contiguous_strides(shape, itemsize: int) -> tuple:
    """Return row-major strides in bytes."""
    strides, step = [], itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n if n > 1 else 1
    strides.reverse()
    return tuple(strides)


class Flags:
    """The part of NumPy's ``flags`` that kernels ask for."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    @property
    def c_contiguous(self) -> bool:
        array = self.array
        step = array.dtype.itemsize
        shape = array.shape
        for axis in range(len(shape) - 1, -1, -1):
            n = shape[axis]
            if n == 0:
                return True
            if n != 1:
                if array.strides[axis] != step:
                    return 0 in shape
                step *= n
        return True

    @property
    def f_contiguous(self) -> bool:
        array = self.array
        step = array.dtype.itemsize
        for n, stride in zip(array.shape, array.strides, strict=True):
            if n == 0:
                return True
            if n != 1:
                if stride != step:
                    return 0 in array.shape
                step *= n
        return True

    @property
    def writeable(self) -> bool:
        """Whether no two elements stand in one place (or somebody took responsibility)."""
        array = self.array
        if array.may_overlap:
            return True
        return all(not (step == 0 and n > 1) for n, step in zip(array.shape, array.strides, strict=True))

    contiguous = c_contiguous


class CLArray:
    """An array in the memory of an OpenCL device.

    Parameters
    ----------
    block : Block or None
        The memory; None until it is needed.
    offset : int
        Bytes from the start of the block to the first element.
    shape : tuple of int
    strides : tuple of int
        In bytes; may be 0 and negative.
    dtype : numpy.dtype
    device : runtime.Device
    """

    __slots__ = (
        "__weakref__",
        "_block",
        "device",
        "dtype",
        "is_view",
        "may_overlap",
        "node",
        "offset",
        "readers",
        "shape",
        "strides",
    )
    __array_priority__ = 1000
    __array_ufunc__ = None  # NumPy's scalars and arrays leave the operators to this class

    def __init__(self, block: Block | None, offset, shape, strides, dtype, device):
        self._block = block
        self.offset = offset
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.device = device
        self.node = None
        self.readers = None
        self.may_overlap = False
        self.is_view = False

    # ------------------------------------------------------------ geometry

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def flags(self) -> Flags:
        return Flags(self)

    @property
    def block(self) -> Block:
        """The memory; computes what is to stand there first."""
        if self._block is None:
            if self.node is not None:
                from minitorch.backends.opencl.pointwise import realise

                realise(self)
            else:
                self._block = self.device.allocate(self.nbytes)
        return self._block

    def settle(self) -> CLArray:
        """Compute the elements now, if they are not yet there; return the array itself."""
        if self._block is None:
            self.block  # noqa: B018 - computes
        return self

    # ------------------------------------------------------------ views

    def view_of(self, shape: tuple, strides: tuple, offset: int, dtype=None) -> CLArray:
        """Return another array over the same memory; offset in bytes from this array's first element."""
        block = self.block
        result = CLArray(
            block, self.offset + offset, shape, strides, self.dtype if dtype is None else dtype, self.device
        )
        result.is_view = True
        return result

    # ------------------------------------------------------------ the host

    def host_view(self) -> np.ndarray | None:
        """Return a NumPy array over the same memory, where host and device share it; None elsewhere.

        Waits for the device.  The caller must be done with it before the next kernel writes there.
        """
        block = self.block
        if block.host is None:
            return None
        self.device.finish()
        return np.ndarray(self.shape, self.dtype, block.host, self.offset, self.strides)

    def to_host(self) -> np.ndarray:
        """Return the elements in a NumPy array of its own."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        shared = self.host_view()
        if shared is not None:
            return shared.copy(order="K") if shared.ndim else shared.copy()
        dense = self
        if not self.flags.c_contiguous:
            from minitorch.backends.opencl.pointwise import copy

            dense = copy(self)
        result = np.empty(self.shape, self.dtype)
        self.device.note_transfer()
        cl = self.device.cl
        cl.enqueue_copy(
            self.device.queue, result.reshape(-1).view(np.uint8), dense.block.buffer, src_offset=dense.offset
        )
        return result


def empty(shape, dtype, device: runtime.Device | None = None) -> CLArray:
    """Return an uninitialised row-major array; memory is taken when it is first needed."""
    dtype = np.dtype(dtype)
    shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple([int(n) for n in shape])
    return CLArray(None, 0, shape, contiguous_strides(shape, dtype.itemsize), dtype, device or runtime.device())


def from_host(array: np.ndarray, device: runtime.Device | None = None) -> CLArray:
    """Return a row-major copy of a NumPy array on a device."""
    device = device or runtime.device()
    array = np.asarray(array)
    result = empty(array.shape, array.dtype, device)
    if array.size == 0:
        return result.settle()
    block = result.block
    if block.host is not None:
        # Memory from the pool may still be read by a kernel in the queue.
        device.finish()
        np.copyto(np.ndarray(array.shape, array.dtype, block.host, 0), array)
    else:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        device.note_transfer()
        device.cl.enqueue_copy(device.queue, block.buffer, flat, is_blocking=True)
    return result
