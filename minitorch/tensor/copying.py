"""`copy`, `deepcopy` and `pickle` of tensors: memory that is shared stays shared.

Both go by the `Storage` behind the tensors (`base`, Note [Storage and versions]).  `deepcopy`
copies each storage once for each memo, `pickle` writes each once for each file, and the
tensors are made anew as views of the copies.  A storage is bytes; dtype, shape and strides
belong to the tensors.

History is not copied: `deepcopy` refuses tensors that have one, the others forget it.
"""

from __future__ import annotations

import copyreg
from copy import deepcopy
from typing import Any

import numpy as np

from minitorch.core.device import device as device_class
from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS, parse_key
from minitorch.dispatch.local_state import current
from minitorch.tensor.base import Storage, make_storage, new_tensor
from minitorch.tensor.creation import wrap
from minitorch.tensor.memory import memory_of, memory_of_backend
from minitorch.tensor.operators import F
from minitorch.tensor.storage import BorrowedStorage

_UINT8 = np.dtype(np.uint8)
# What TensorBase keeps on each object; where it runs interpreted these stand in __dict__.
_FIELDS = frozenset(
    (
        "autograd_meta",
        "extra",
        "grad_slot",
        "handle",
        "key_set",
        "node",
        "output_nr",
        "requires_grad_flag",
        "shape_cache",
        "storage_cell",
        "tracked",
        "version_counter",
        "view_info",
    )
)


def attributes_of(tensor: Any) -> dict[str, Any]:
    """Return the attributes that users gave a tensor."""
    return {k: v for k, v in getattr(tensor, "__dict__", {}).items() if k not in _FIELDS}


# ---------------------------------------------------------------- storages


def _bytes_of(root: np.ndarray) -> np.ndarray:
    """Return the memory of a CPU storage as a row of bytes."""
    memory = memory_of_backend("CPU")
    return memory.strided(root, (memory.nbytes(root),), (1,), 0, _UINT8)


def _storage_of_bytes(data: Any) -> Storage:
    """Return a storage of the CPU that owns `data`, a uint8 array (or what pickle made of one)."""
    data = np.asarray(data)
    return make_storage(data if data.flags.writeable else data.copy())


def _reduce_storage(storage: Storage) -> tuple:
    root = storage.root
    if isinstance(root, np.ndarray):
        return _storage_of_bytes, (np.ascontiguousarray(_bytes_of(root)),)
    if isinstance(root, MetaArray):
        return _storage_of_meta, (root.storage_size,)
    raise TypeError(
        f"cannot pickle memory of type {type(root).__name__}; move the tensor to the CPU"
    )


def _storage_of_meta(nbytes: int) -> Storage:
    return make_storage(MetaArray((nbytes,), "uint8"))


copyreg.pickle(Storage, _reduce_storage)  # type: ignore[arg-type]
copyreg.pickle(BorrowedStorage, _reduce_storage)  # type: ignore[arg-type]


def _copy_storage(storage: Storage, memo: dict) -> Storage:
    found = memo.get(id(storage))
    if found is None:
        root = storage.root
        if isinstance(root, np.ndarray):
            found = _storage_of_bytes(_bytes_of(root).copy())
        else:
            found = _reduce_storage(storage)[0](*_reduce_storage(storage)[1])
        memo[id(storage)] = found
        memo.setdefault(id(memo), []).append(storage)  # the id is used while the memo lives
    return found


# ---------------------------------------------------------------- tensors


def _handle_at(
    storage: Storage, dtype: dtype_class, offset: int, shape: tuple, strides: tuple
) -> Any:
    """Return an array over `storage`; offset and strides in bytes."""
    root = storage.root
    if isinstance(root, MetaArray):
        return MetaArray(shape, dtype.np, strides, offset, root.storage_size)
    return memory_of_backend("CPU").strided(root, shape, strides, offset, dtype.np)


def rebuild_tensor(
    storage: Storage,
    dtype: dtype_class,
    offset: int,
    shape: tuple,
    strides: tuple,
    requires_grad: bool,
) -> Any:
    """Return a tensor that shows memory of `storage`; offset and strides in bytes."""
    handle = _handle_at(storage, dtype, offset, tuple(shape), tuple(strides))
    result = wrap(handle) if isinstance(handle, np.ndarray) else _wrap_meta(handle)
    result.storage_cell = storage
    if requires_grad:
        result.requires_grad_(True)
    return result


def _wrap_meta(handle: MetaArray) -> Any:
    keys = parse_key("Meta").bits | parse_key("AutogradMeta").bits | AD_INPLACE_OR_VIEW
    if current().inference_mode:
        keys &= ~(AD_INPLACE_OR_VIEW | AUTOGRAD_KEYS)
    return new_tensor(handle, keys)


def _parts(tensor: Any) -> tuple:
    """Return the arguments of `rebuild_tensor` that describe a CPU or meta tensor."""
    storage = tensor.storage_of()
    handle = tensor.handle
    offset = memory_of(tensor).offset(storage.root, handle) if handle.size else 0
    return (
        storage,
        tensor.dtype,
        offset,
        tuple(handle.shape),
        tuple(handle.strides),
        tensor.requires_grad,
    )


def rebuild_on_device(values: Any, device: str, requires_grad: bool) -> Any:
    """Return a CPU tensor moved to a device."""
    result = values.to(device_class(device))
    return result.requires_grad_(True) if requires_grad else result


def rebuild_subclass(rebuild: Any, cls: type, args: tuple, state: dict) -> Any:
    """Return what ``rebuild(*args)`` does, as an instance of `cls` with the attributes `state`."""
    result = rebuild(*args)
    if type(result) is not cls:
        result = result.as_subclass(cls)
    for name, value in state.items():
        setattr(result, name, value)
    return result


def reduce_tensor(tensor: Any) -> tuple:
    """Return how `pickle` and `copy` make the tensor again."""
    if isinstance(tensor.handle, (np.ndarray, MetaArray)):
        rebuild, args = rebuild_tensor, _parts(tensor)
    else:
        rebuild, args = (
            rebuild_on_device,
            (tensor.detach().cpu(), str(tensor.device), tensor.requires_grad),
        )  # type: ignore[assignment]
    cls = type(tensor)
    state = attributes_of(tensor)
    if cls.__name__ == "Tensor" and not state:
        return rebuild, args
    return rebuild_subclass, (rebuild, cls, args, state)


def deepcopy_tensor(tensor: Any, memo: dict) -> Any:
    """Return a copy whose memory, gradient and attributes are copies.

    Raises
    ------
    RuntimeError
        If the tensor was computed from others that require grad.
    """
    found = memo.get(id(tensor))
    if found is not None:
        return found
    if not tensor.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment: copy tensor.detach() instead"
        )
    if isinstance(tensor.handle, (np.ndarray, MetaArray)):
        storage, dtype, offset, shape, strides, requires_grad = _parts(tensor)
        result = rebuild_tensor(
            _copy_storage(storage, memo), dtype, offset, shape, strides, requires_grad
        )
    else:
        result = F.clone(tensor.detach()).requires_grad_(tensor.requires_grad)
    if type(tensor).__name__ != "Tensor":
        result = result.as_subclass(type(tensor))
        result.requires_grad_(tensor.requires_grad)
    memo[id(tensor)] = result
    if tensor.grad is not None:
        result.grad = deepcopy_tensor(tensor.grad, memo)
    for name, value in attributes_of(tensor).items():
        setattr(result, name, deepcopy(value, memo))
    return result
