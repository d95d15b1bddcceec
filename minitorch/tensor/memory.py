"""What the tensor layer asks of a backend's arrays: where their memory is, and other views of it.

Each backend registers one `Memory` for its backend key.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.device import device
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import BACKEND_MASK, BACKENDS
from minitorch.tensor.base import DEVICE_OF_BACKEND, TensorBase
from minitorch.tensor.components import ComponentHandle
from minitorch.tensor.wrapper import WrapperHandle


class Memory:
    """How a backend's handles lie in memory.  Offsets and sizes are bytes from the start of the storage.

    Attributes
    ----------
    array_type : type or tuple of type
        The class of the handles.
    key : str
        The backend key that it is registered for.
    """

    array_type: Any = ()
    key = ""

    def device_of(self, handle: Any) -> device:
        """Return the device of a handle."""
        raise NotImplementedError

    def nbytes(self, root: Any) -> int:
        """Return the size of the storage that `root` owns."""
        raise NotImplementedError

    def offset(self, root: Any, handle: Any) -> int:
        """Return where the first element of `handle` stands."""
        raise NotImplementedError

    def strided(self, root: Any, shape: tuple, strides: tuple, offset: int, dtype: Any) -> Any:
        """Return an array over the storage of `root` (strides in bytes; checked by the caller)."""
        raise NotImplementedError

    def address(self, handle: Any) -> int:
        """Return the address of the first element; 0 where there is none."""
        raise NotImplementedError

    def writable(self, root: Any, handle: Any) -> Any:
        """Return `handle` without the protection of Note [Memory that overlaps itself]; None where it had none."""
        return None

    def allocate(self, nbytes: int) -> Any:
        """Return a new array of `nbytes` uninitialised bytes, to be the root of a storage."""
        raise NotImplementedError

    def allocate_beside(self, root: Any, nbytes: int) -> Any:
        """Return what `allocate` does, on the device of `root`."""
        return self.allocate(nbytes)

    def copy_(self, target: Any, source: Any) -> None:
        """Copy the elements of one handle into another of the same shape, which is changed."""
        raise NotImplementedError

    def to_host(self, handle: Any) -> Any:
        """Return the elements as a NumPy array, new or shared; waits for the device."""
        raise NotImplementedError

    def from_host(self, array: Any, index: int) -> Any:
        """Return a row-major NumPy array as a handle of its own on device `index`."""
        raise NotImplementedError

    def share_with_host(self, handle: Any) -> Any:
        """Return a NumPy array over the memory of a handle; None where the host cannot see it."""
        return None


class MetaMemory(Memory):
    """Memory of meta tensors: none, but sizes and offsets are kept."""

    array_type = MetaArray

    def device_of(self, handle):
        return device("meta")

    def nbytes(self, root):
        return root.storage_size

    def offset(self, root, handle):
        return handle.offset

    def strided(self, root, shape, strides, offset, dtype):
        return MetaArray(shape, dtype, strides, offset, root.storage_size)

    def address(self, handle):
        return 0

    def allocate(self, nbytes):
        return MetaArray((nbytes,), "uint8")

    def copy_(self, target, source):
        pass  # there is nothing to copy


def overlaps_itself(handle: Any) -> bool:
    """Return whether elements of a handle stand in one place: a dimension of several has stride 0."""
    return any(step == 0 and n > 1 for n, step in zip(handle.shape, handle.strides, strict=True)) and handle.size > 0


def refuse_overlap(op_name: str, handle: Any) -> None:
    """Raise RuntimeError for an in-place operator on memory that overlaps itself.

    What the elements would be depends on the order of writing.
    """
    if overlaps_itself(handle):
        raise RuntimeError(
            f"{op_name}: unsupported operation: more than one element of the written-to tensor refers to a single memory "
            f"location (shape {list(handle.shape)}, strides {[s // max(handle.itemsize, 1) for s in handle.strides]}). "
            "Please clone() the tensor before performing the operation."
        )


# In-place operators that write the same value everywhere, or where an index says: PyTorch lets them.
WRITES_ONE_VALUE = frozenset(
    ("zero_", "fill_", "masked_fill_", "index_fill_", "index_put_", "_index_put_impl_", "tril_", "triu_", "resize_")
)


_MEMORIES: dict[int, Memory] = {}


def register_memory(backend: str, memory: Memory) -> None:
    """Register the memory of a backend by its name in `keys.BACKENDS`."""
    index = BACKENDS.index(backend)
    _MEMORIES[index] = memory
    memory.key = backend
    DEVICE_OF_BACKEND[index] = memory.device_of


def memory_of_backend(backend: str) -> Memory:
    """Return the memory of a backend by its name in `keys.BACKENDS`."""
    return _MEMORIES[BACKENDS.index(backend)]


def memory_of_root(root: Any) -> Memory:
    """Return the memory that a storage's root belongs to.

    Raises
    ------
    TypeError
        If it is the handle of no backend that is loaded.
    """
    for memory in _MEMORIES.values():
        if isinstance(root, memory.array_type):
            return memory
    raise TypeError(f"memory of type {type(root).__name__} belongs to no backend that is loaded")


def memory_of(tensor: TensorBase) -> Memory:
    """Return the memory of a tensor's backend.

    Raises
    ------
    NotImplementedError
        If the tensor stands for another or is made of others, and has no memory of its own.
    """
    if isinstance(tensor.handle, WrapperHandle):
        raise NotImplementedError(
            "Cannot access storage of a tensor that doesn't have storage: it belongs to a transform or to functionalization."
        )
    if isinstance(tensor.handle, ComponentHandle):
        raise NotImplementedError(
            f"Cannot access storage of a {tensor.handle.declared_layout} tensor: it has none of its own, and is made of tensors "
            "that have. Ask those, such as values(), or convert it with to_dense()."
        )
    if isinstance(tensor.handle, MetaArray):  # whatever device it claims to be on
        return memory_of_backend("Meta")
    return _MEMORIES[(tensor.key_set & BACKEND_MASK).bit_length() - 1]


def storage_offset(tensor: TensorBase) -> int:
    """Return where the first element stands in the storage, in elements."""
    if isinstance(tensor.handle, WrapperHandle):
        return tensor.handle.storage_offset
    cell = tensor.storage_cell
    if isinstance(tensor.handle, ComponentHandle):
        return 0
    if cell is None:
        return 0 if not isinstance(tensor.handle, MetaArray) else tensor.handle.offset // tensor.handle.itemsize
    return memory_of(tensor).offset(cell.root, tensor.handle) // max(tensor.handle.itemsize, 1)


def strided_handle(tensor: TensorBase, shape: tuple, strides: tuple, offset: int) -> Any:
    """Return an array over a tensor's storage; strides and offset in elements.

    Raises
    ------
    RuntimeError
        If it would reach outside the storage.
    """
    handle = tensor.handle
    memory = memory_of(tensor)
    root = tensor.storage_of().root
    itemsize = handle.itemsize
    low = high = offset
    for n, step in zip(shape, strides, strict=True):
        if n == 0:
            low = high = offset
            break
        if step < 0:
            low += (n - 1) * step
        else:
            high += (n - 1) * step
    available = memory.nbytes(root)
    if isinstance(handle, MetaArray):
        available = max(available, (high + 1) * itemsize)  # what is not there cannot be overrun
    if low < 0 or ((high + 1) * itemsize > available and 0 not in shape):
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset {offset}, and itemsize {itemsize} "
            f"requiring a storage size of {(high + 1) * itemsize} are out of bounds for storage of size {available}"
        )
    return memory.strided(root, tuple(shape), tuple([s * itemsize for s in strides]), offset * itemsize, handle.dtype)
