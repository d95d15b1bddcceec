"""`UntypedStorage`: the memory behind a tensor and its views, as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.device import device as device_class
from minitorch.core.dtype import uint8
from minitorch.core.meta_array import contiguous_strides
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, ZERO_TENSOR
from minitorch.dispatch.tensor_keys import tensor_keys
from minitorch.tensor.base import Storage, TensorBase, new_tensor
from minitorch.tensor.memory import memory_of, strided_handle
from minitorch.tensor.wrapper import WrapperHandle

_BYTE = np.dtype("uint8")


class BorrowedStorage(Storage):
    """Memory that another object lent: a NumPy array, a buffer, an array of another library. It cannot grow."""

    __slots__ = ()


def borrow(tensor: TensorBase) -> TensorBase:
    """Note that a new tensor's memory belongs to another object, and return the tensor."""
    cell = BorrowedStorage()
    cell.root = tensor.handle
    tensor.storage_cell = cell
    return tensor


class UntypedStorage:
    """The memory that a tensor shares with its views, or memory of its own: so many bytes, or those of a sequence of numbers.

    Two storages are equal when they are the same memory.

    Examples
    --------
    >>> x = minitorch.zeros(4)
    >>> x[1:].untyped_storage() == x.untyped_storage()
    True
    >>> x.untyped_storage().nbytes()
    16
    >>> minitorch.UntypedStorage([1, 2, 3]).tolist()
    [1, 2, 3]
    """

    def __init__(self, source: Any = 0, *, device: Any = None):
        tensor = source if isinstance(source, TensorBase) else _memory_of_its_own(source, device)
        self._cell = tensor.storage_of()
        handle = tensor.handle
        self._memory = handle.storage_memory() if isinstance(handle, WrapperHandle) else memory_of(tensor)

    def nbytes(self) -> int:
        """Return its size in bytes."""
        return self._memory.nbytes(self._cell.root)

    size = nbytes
    __len__ = nbytes

    def resizable(self) -> bool:
        """Return whether it can grow: it belongs to its tensors, and to nobody else."""
        return not isinstance(self._cell, BorrowedStorage)

    @property
    def _cdata(self) -> int:
        """A number that is the storage's while it lives."""
        return id(self._cell)

    @property
    def device(self) -> Any:
        return self._memory.device_of(self._cell.root)

    def data_ptr(self) -> int:
        """Return the address of its first byte; 0 where there is none."""
        return self._memory.address(self._bytes()) if self.nbytes() else 0

    def _bytes(self) -> Any:
        return self._memory.strided(self._cell.root, (self.nbytes(),), (1,), 0, _BYTE)

    def _on_host(self) -> Any:
        """Return its bytes as a NumPy array, shared where the CPU sees the memory."""
        handle = self._bytes()
        shared = self._memory.share_with_host(handle)
        return self._memory.to_host(handle) if shared is None else shared

    def tolist(self) -> list[int]:
        """Return its bytes as integers."""
        return self._on_host().tolist()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._on_host()[index]
        self._check_index(index)
        return int(self._on_host()[index])

    def __setitem__(self, index: Any, value: int) -> None:
        if not isinstance(index, slice):
            self._check_index(index)
        bytes_tensor(self)[index] = int(value) & 0xFF  # a byte wraps, as in PyTorch

    def _check_index(self, index: int) -> None:
        size = self.nbytes()
        if not -size <= index < size:
            raise IndexError(f"index {index} out of range for storage of size {size}")

    def to(self, device: Any) -> UntypedStorage:
        """Return its bytes on a device: itself if it is there already."""
        target = device_class(device)
        here = self.device
        if target.type == here.type and target.index in (None, here.index):
            return self
        return UntypedStorage(bytes_tensor(self).to(target))

    def cpu(self) -> UntypedStorage:
        """Return its bytes on the CPU: itself if it is there already."""
        return self.to("cpu")

    def clone(self) -> UntypedStorage:
        """Return a copy on the same device."""
        return UntypedStorage(bytes_tensor(self).clone())

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Copy the bytes of a storage of the same size, on any device, into this one, and return it."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes")
        bytes_tensor(self).copy_(bytes_tensor(source))
        return self

    def fill_(self, value: int) -> UntypedStorage:
        """Set every byte, and return the storage."""
        bytes_tensor(self).fill_(value)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._cell is other._cell

    def __hash__(self) -> int:
        return id(self._cell)

    def __repr__(self) -> str:
        return f"[minitorch.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _memory_of_its_own(source: Any, device: Any) -> Any:
    """Return a new tensor of uint8: of so many bytes, which are not set, or of a sequence of numbers."""
    from minitorch.tensor.creation import tensor
    from minitorch.tensor.operators import F

    if isinstance(source, int):
        if source < 0:
            raise RuntimeError(f"UntypedStorage(): the size is a number of bytes, 0 or more, and not {source}")
        return F.empty([source], dtype=uint8, device=device)
    if isinstance(source, str) or not all([isinstance(item, int) for item in source]):
        raise TypeError(f"UntypedStorage(): expected a size or a sequence of integers, but got {source!r}")
    return tensor([item & 0xFF for item in source], dtype=uint8, device=device)


def bytes_tensor(storage: UntypedStorage) -> Any:
    """Return a tensor of uint8 that shows a whole storage."""
    result = new_tensor(storage._bytes(), tensor_keys("Dense", storage._memory.key))
    result.storage_cell = storage._cell
    return result


def set_storage(tensor: Any, source: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """Do what `Tensor.set_` does.

    Raises
    ------
    RuntimeError
        If the source is on another device, of another dtype, or too small.
    """
    if isinstance(tensor.handle, WrapperHandle):
        return tensor.handle.set_from(tensor, source, storage_offset, size, stride)
    if any([isinstance(t, TensorBase) and t.key_set & ZERO_TENSOR for t in (source, tensor)]):
        raise RuntimeError("set_(): a ZeroTensor has no memory to show, and shows none; use its clone()")
    if source is None:
        source, size, stride = tensor.new_empty([0]), (0,), (1,)
    source = getattr(source, "_untyped_storage", source)
    if isinstance(source, TensorBase):
        if source.dtype is not tensor.dtype:
            raise RuntimeError(
                f"Could not set tensor of type {source.dtype} to a tensor of type {tensor.dtype}"
            )
        cell = source.storage_of()
        if size is None:
            size, stride, storage_offset = source.shape, source.stride(), storage_offset + source.storage_offset()
        where = source.device
    elif isinstance(source, UntypedStorage):
        cell, where = source._cell, source.device
    else:
        raise TypeError(f"set_(): expected a Tensor or an UntypedStorage, but got {type(source).__name__}")
    if where is not tensor.device:
        raise RuntimeError(
            f"Attempted to set the storage of a tensor on device \"{tensor.device}\" to a storage on different device "
            f'"{where}". This is no longer allowed; the devices must match.'
        )
    itemsize = tensor.handle.itemsize
    if size is None:
        size = (memory_of(tensor).nbytes(cell.root) // itemsize - storage_offset,)
    if stride is None:
        stride = contiguous_strides(size, 1)
    stand_in = new_tensor(tensor.handle, tensor.key_set)
    stand_in.storage_cell = cell
    handle = strided_handle(stand_in, tuple(size), tuple(stride), storage_offset)
    if tensor.key_set & AD_INPLACE_OR_VIEW:
        tensor.version_counter = tensor.counter_of()  # it stays the tensor's own
    tensor.storage_cell, tensor.handle, tensor.shape_cache = cell, handle, None
    tensor.bump_version()
    return tensor


def is_storage(obj: Any) -> bool:
    """Return whether an object is the memory of tensors."""
    if isinstance(obj, UntypedStorage):
        return True
    from minitorch.tensor.typed_storage import TypedStorage

    return isinstance(obj, TypedStorage)
