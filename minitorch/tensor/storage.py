"""`UntypedStorage`: the memory behind a tensor and its views, as bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.tensor.base import Storage, TensorBase
from minitorch.tensor.memory import memory_of

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
    """The memory that a tensor shares with its views.

    Two storages are equal when they are the same memory.

    Examples
    --------
    >>> x = minitorch.zeros(4)
    >>> x[1:].untyped_storage() == x.untyped_storage()
    True
    >>> x.untyped_storage().nbytes()
    16
    """

    def __init__(self, tensor: TensorBase):
        self._cell = tensor.storage_of()
        self._memory = memory_of(tensor)

    def nbytes(self) -> int:
        """Return its size in bytes."""
        return self._memory.nbytes(self._cell.root)

    size = nbytes
    __len__ = nbytes

    def resizable(self) -> bool:
        """Return whether it can grow: it belongs to its tensors, and to nobody else."""
        return not isinstance(self._cell, BorrowedStorage)

    @property
    def device(self) -> Any:
        return self._memory.device_of(self._cell.root)

    def data_ptr(self) -> int:
        """Return the address of its first byte; 0 where there is none."""
        return self._memory.address(self._bytes()) if self.nbytes() else 0

    def _bytes(self) -> Any:
        return self._memory.strided(self._cell.root, (self.nbytes(),), (1,), 0, _BYTE)

    def tolist(self) -> list[int]:
        """Return its bytes as integers."""
        return self._bytes().tolist()

    def __getitem__(self, index: Any) -> Any:
        return self._bytes()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._cell is other._cell

    def __hash__(self) -> int:
        return id(self._cell)

    def __repr__(self) -> str:
        return f"[minitorch.UntypedStorage(device={self.device}) of size {self.nbytes()}]"
