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
from minitorch.core.device import dispatch_key_name, use_device_type
from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS, CONJUGATE, NEGATIVE, ZERO_TENSOR
from minitorch.dispatch.local_state import ExcludeKeysGuard, current
from minitorch.dispatch.tensor_keys import inference_keys, tensor_keys
from minitorch.tensor.base import Storage, make_storage, new_tensor
from minitorch.tensor.components import ComponentHandle, rebuild_of_components
from minitorch.tensor.creation import wrap
from minitorch.tensor.memory import Memory, memory_of, memory_of_backend, memory_of_root
from minitorch.tensor.operators import F
from minitorch.tensor.storage import BorrowedStorage
from minitorch.tensor.subclass import is_wrapper_subclass, make_wrapper_subclass

# Part of the pickle format, and no positions of keys, which are the library's own business.
_NUMBERED_BITS = ((1, CONJUGATE), (2, NEGATIVE))
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


def _bytes_of(memory: Memory, root: Any) -> Any:
    """Return the memory of a storage as a row of bytes, a handle of its backend."""
    return memory.strided(root, (memory.nbytes(root),), (1,), 0, _UINT8)


def _storage_of_bytes(data: Any) -> Storage:
    """Return a storage of the CPU that owns `data`, a uint8 array (or what pickle made of one)."""
    data = np.asarray(data)
    return make_storage(data if data.flags.writeable else data.copy())


def _reduce_storage(storage: Storage) -> tuple:
    root = storage.root
    if isinstance(root, np.ndarray):
        return _storage_of_bytes, (np.ascontiguousarray(_bytes_of(memory_of_backend("CPU"), root)),)
    if isinstance(root, MetaArray):
        return _storage_of_meta, (root.storage_size,)
    memory = memory_of_root(root)
    values = np.ascontiguousarray(memory.to_host(_bytes_of(memory, root)))
    return _storage_on_device, (values, memory.device_of(root))


def _storage_on_device(values: Any, device: device_class) -> Storage:
    """Return a storage on a device that owns a copy of bytes."""
    use_device_type(device.type)
    memory = memory_of_backend(dispatch_key_name(device.type))
    return make_storage(memory.from_host(np.ascontiguousarray(values), device.index or 0))


def _storage_of_meta(nbytes: int) -> Storage:
    return make_storage(MetaArray((nbytes,), "uint8"))


copyreg.pickle(Storage, _reduce_storage)  # type: ignore[arg-type]
copyreg.pickle(BorrowedStorage, _reduce_storage)  # type: ignore[arg-type]


def _copy_storage(storage: Storage, memo: dict) -> Storage:
    found = memo.get(id(storage))
    if found is None:
        root = storage.root
        if isinstance(root, MetaArray):
            found = _storage_of_meta(root.storage_size)
        else:
            memory = memory_of_root(root)
            new = memory.allocate_beside(root, memory.nbytes(root))
            if memory.nbytes(root):
                memory.copy_(_bytes_of(memory, new), _bytes_of(memory, root))
            found = make_storage(new)
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
    return memory_of_root(root).strided(root, shape, strides, offset, dtype.np)


def rebuild_tensor(
    storage: Storage,
    dtype: dtype_class,
    offset: int,
    shape: tuple,
    strides: tuple,
    requires_grad: bool,
    bits: int = 0,
) -> Any:
    """Return a tensor that shows memory of `storage`; offset and strides in bytes.

    `bits` is 1 for a conjugate view, 2 for a negative one, 3 for both.
    """
    handle = _handle_at(storage, dtype, offset, tuple(shape), tuple(strides))
    if isinstance(handle, np.ndarray):
        result = wrap(handle)
    else:
        keys = tensor_keys("Dense", memory_of_root(storage.root).key)
        result = new_tensor(handle, inference_keys(keys) if current().inference_mode else keys)
    result.storage_cell = storage
    if result.key_set & AD_INPLACE_OR_VIEW:
        result.version_counter = storage  # one for all that show it
    for number, bit in _NUMBERED_BITS:
        if bits & number:
            result.key_set |= bit
    if requires_grad:
        result.requires_grad_(True)
    return result


def _parts(tensor: Any) -> tuple:
    """Return the arguments of `rebuild_tensor` that describe a tensor."""
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
        *((bits,) if (bits := sum([number for number, bit in _NUMBERED_BITS if tensor.key_set & bit])) else ()),
    )


def _is_registered(tensor: Any) -> bool:
    """Return whether the tensor's memory is that of a backend which is known by its handles."""
    return isinstance(tensor.handle, memory_of(tensor).array_type)


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


def refuse_zeros(tensor: Any) -> None:
    """Raise for a tensor that has no memory to be copied or written."""
    if tensor.key_set & ZERO_TENSOR:
        raise RuntimeError("ZeroTensors are not serializable, and have no memory to copy: use tensor.clone()")


def reduce_tensor(tensor: Any) -> tuple:
    """Return how `pickle` and `copy` make the tensor again."""
    refuse_zeros(tensor)
    if is_wrapper_subclass(tensor):
        declared = (
            tuple(tensor.shape), tensor.stride(), tensor.storage_offset(), None, tensor.dtype, tensor.layout, tensor.device,
            False, tensor.requires_grad,
        )  # fmt: skip
        return rebuild_subclass, (make_wrapper_subclass, type(tensor), (type(tensor), *declared), attributes_of(tensor))
    if isinstance(tensor.handle, ComponentHandle):
        rebuild, args = rebuild_of_components, (tensor.handle,)  # type: ignore[assignment]
    elif _is_registered(tensor):
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


def _clone_of_wrapper(tensor: Any) -> Any:
    """Return a copy of an instance of a wrapper subclass: only its class knows what is inside."""
    with ExcludeKeysGuard(AUTOGRAD_KEYS):
        result = F.clone(tensor)
    if type(result) is not type(tensor):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that properly "
            f"implement clone(): that of {type(tensor).__name__} returned a {type(result).__name__}. Return an instance of the "
            "same class there, or override __deepcopy__()."
        )
    return result.requires_grad_(tensor.requires_grad)


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
    refuse_zeros(tensor)
    if is_wrapper_subclass(tensor):
        result = _clone_of_wrapper(tensor)
    elif isinstance(tensor.handle, ComponentHandle):
        copies = tuple([deepcopy_tensor(part, memo) for part in tensor.handle.components()])
        result = tensor.handle.with_components(copies).tensor()
    elif _is_registered(tensor):
        storage, *rest = _parts(tensor)
        result = rebuild_tensor(_copy_storage(storage, memo), *rest)
    else:
        result = F.clone(tensor.detach()).requires_grad_(tensor.requires_grad)
    if type(tensor).__name__ != "Tensor" and type(result) is not type(tensor):
        result = result.as_subclass(type(tensor))
        result.requires_grad_(tensor.requires_grad)
    memo[id(tensor)] = result
    if tensor.grad is not None:
        result.grad = deepcopy_tensor(tensor.grad, memo)
    for name, value in attributes_of(tensor).items():
        setattr(result, name, deepcopy(value, memo))
    return result
