"""`save`: objects with tensors in them as files that PyTorch reads."""

from __future__ import annotations

import io
import os
import pickle
from collections import OrderedDict
from types import FunctionType
from typing import Any

import numpy as np

from minitorch.core.device import device
from minitorch.core.dtype import dtype
from minitorch.core.layout import layout
from minitorch.core.meta_array import MetaArray
from minitorch.core.qscheme import qscheme
from minitorch.core.size import Size
from minitorch.dispatch.keys import CONJUGATE, NEGATIVE
from minitorch.serialization.archive import replace_file, write_archive
from minitorch.serialization.names import DTYPE_GLOBALS, QSCHEME_GLOBALS, STORAGE_GLOBALS, UNTYPED, Global
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.copying import attributes_of, refuse_zeros
from minitorch.tensor.memory import memory_of
from minitorch.tensor.storage import UntypedStorage

_REBUILD_V2 = Global("torch._utils", "_rebuild_tensor_v2")
_REBUILD_V3 = Global("torch._utils", "_rebuild_tensor_v3")
_REBUILD_META = Global("torch._utils", "_rebuild_meta_tensor_no_storage")
_REBUILD_QUANTIZED = Global("torch._utils", "_rebuild_qtensor")
_REBUILD_PARAMETER = Global("torch._utils", "_rebuild_parameter")
_REBUILD_PARAMETER_STATE = Global("torch._utils", "_rebuild_parameter_with_state")
_REBUILD_TYPE = Global("torch._tensor", "_rebuild_from_type_v2")
_TENSOR = Global("torch", "Tensor")
_DEVICE = Global("torch", "device")
_SIZE = Global("torch", "Size")
_LAYOUT = Global("torch.serialization", "_get_layout")
_GRAIN = 16  # no element is larger, so storages cut at multiples keep offsets whole


class _SavedStorage:
    """A storage on its way into a file: which bytes of it are needed, and under what name."""

    def __init__(self, key: str, cell: Any, memory: Any, key_set: int):
        self.key = key
        self.cell = cell
        self.memory = memory
        self.key_set = key_set
        self.used = False
        self.nbytes = memory.nbytes(cell.root)
        self.low, self.high = self.nbytes, 0
        self.element: dtype | None = None

    def need(self, low: int, high: int) -> None:
        """Note that the bytes from `low` to `high` are needed."""
        self.low, self.high = min(self.low, low // _GRAIN * _GRAIN), max(self.high, high)

    def contents(self) -> np.ndarray:
        """Return the needed bytes as an array on the CPU."""
        length = max(self.high - self.low, 0)
        if not length:
            return np.empty(0, np.uint8)
        part = self.memory.strided(self.cell.root, (length,), (1,), self.low, np.dtype(np.uint8))
        if isinstance(part, np.ndarray):
            return np.ascontiguousarray(part)
        tensor: Any = new_tensor(part, self.key_set)
        return tensor.cpu().handle


class _Reference:
    """Stands for a storage where a tensor's parts are pickled."""

    def __init__(self, saved: _SavedStorage, kind: Global, itemsize: int):
        self.saved = saved
        self.kind = kind
        self.itemsize = itemsize


_PythonPickler: Any = pickle._Pickler  # type: ignore[attr-defined]  # the one that can write names of its own


class _Pickler(_PythonPickler):
    """Pickles tensors as PyTorch does, their storages apart."""

    def __init__(self, file: Any, protocol: int, storages: dict[int, _SavedStorage], copies: dict, final: bool):
        super().__init__(file, protocol)
        self._storages = storages
        self._copies = copies
        self._final = final

    def saved(self, cell: Any, memory: Any, key_set: int) -> _SavedStorage:
        """Return the storage that `cell` is, known by the first pass or new."""
        found = self._storages.get(id(cell))
        if found is None:
            found = self._storages[id(cell)] = _SavedStorage(str(len(self._storages)), cell, memory, key_set)
            if self._final:
                found.need(0, found.nbytes)  # an object gave other tensors this time
        found.used = True
        return found

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is UntypedStorage:
            saved = self.saved(obj._cell, obj._memory, 0)
            saved.need(0, saved.nbytes)
            obj = _Reference(saved, UNTYPED, 1)
        if type(obj) is not _Reference:
            return None
        saved = obj.saved
        count = max(saved.high - saved.low, 0) // obj.itemsize
        return ("storage", obj.kind, saved.key, str(saved.memory.device_of(saved.cell.root)), count)

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if isinstance(obj, dtype):
            obj = DTYPE_GLOBALS[obj.name]
        elif isinstance(obj, qscheme):
            obj = QSCHEME_GLOBALS[obj.name]
        if type(obj) is Global:
            known = self.memo.get(id(obj))
            if known is not None:
                self.write(self.get(known[0]))
                return None
            self.write(b"c" + f"{obj.module}\n{obj.name}\n".encode())
            self.memoize(obj)
            return None
        return super().save(obj, save_persistent_id)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = getattr(obj, "__module__", None) or ""
        if module.partition(".")[0] == "minitorch":
            qualname = getattr(obj, "__qualname__", obj.__name__)
            self.write(b"c" + f"torch{module.removeprefix('minitorch')}\n{qualname}\n".encode())
            self.memoize(obj)
            return
        super().save_global(obj, name)

    dispatch = dict(_PythonPickler.dispatch)
    dispatch[type] = lambda self, obj: self.save_type(obj) if obj in _SINGLETONS else self.save_global(obj)
    dispatch[FunctionType] = save_global

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, TensorBase):
            return self.reduce_tensor(obj)
        if isinstance(obj, device):
            return _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, Size):
            return _SIZE, (tuple(obj),)
        if isinstance(obj, layout):
            return _LAYOUT, (f"torch.{obj.name}",)
        return NotImplemented

    def reduce_tensor(self, tensor: Any) -> tuple:
        """Return what makes the tensor again, in PyTorch's terms."""
        from minitorch.nn.parameter import Parameter

        if tensor._handle_is_all:
            return tensor.__reduce_ex__(2)  # there are no elements to be saved, and it says so
        state = {name: value for name, value in attributes_of(tensor).items() if name != "_backward_hooks"}
        if type(tensor) is Parameter:
            parts = (tensor.data, tensor.requires_grad, OrderedDict())
            return (_REBUILD_PARAMETER_STATE, (*parts, state)) if state else (_REBUILD_PARAMETER, parts)
        function, parts = self.parts(tensor)
        cls = type(tensor)
        if cls.__module__ == "minitorch.tensor.tensor" and not state:
            return function, parts
        kind = _TENSOR if cls.__module__ == "minitorch.tensor.tensor" else cls
        return _REBUILD_TYPE, (function, kind, parts, state)

    def parts(self, tensor: Any) -> tuple:
        """Return the function and arguments that rebuild a plain tensor over its storage."""
        refuse_zeros(tensor)
        if tensor.is_quantized:
            return self.quantized_parts(tensor)
        handle = tensor.handle
        shape, itemsize = tuple(handle.shape), handle.itemsize
        requires_grad = bool(tensor.requires_grad)
        if isinstance(handle, MetaArray):
            return _REBUILD_META, (tensor.dtype, shape, tuple(tensor.stride()), requires_grad)
        if any(step < 0 for step in handle.strides):
            # PyTorch has no negative strides: the values go in order, in memory of their own.
            if id(tensor) not in self._copies:
                self._copies[id(tensor)] = tensor, tensor.detach().clone().requires_grad_(requires_grad)
            return self.parts(self._copies[id(tensor)][1])
        memory = memory_of(tensor)
        bits = {name: True for name, is_set in (("conj", tensor.is_conj()), ("neg", tensor.is_neg())) if is_set}
        saved = self.saved(tensor.storage_of(), memory, tensor.key_set & ~(CONJUGATE | NEGATIVE))
        offset = memory.offset(saved.cell.root, handle) if handle.size else 0
        if handle.size:
            reach = sum((n - 1) * step for n, step in zip(shape, handle.strides, strict=True))
            saved.need(offset, offset + reach + itemsize)
        element = tensor.dtype
        typed = element.name in STORAGE_GLOBALS
        if saved.element is None:
            saved.element = element
        strides = tuple(tensor.stride())
        start = (offset - saved.low) // itemsize if handle.size and self._final else 0
        rest = (start, shape, strides, requires_grad, OrderedDict())
        if typed and saved.element is element:
            metadata = (bits,) if bits else ()
            return _REBUILD_V2, (_Reference(saved, STORAGE_GLOBALS[element.name], itemsize), *rest, *metadata)
        # Elements that have no storage class, or a second view of the same bytes.
        return _REBUILD_V3, (_Reference(saved, UNTYPED, 1), *rest, element, *((bits,) if bits else ()))


    def quantized_parts(self, tensor: Any) -> tuple:
        """Return the function and arguments that rebuild a quantized tensor over the storage of its integers."""
        handle = tensor.handle
        ints = handle.ints
        memory = memory_of(ints)
        saved = self.saved(ints.storage_of(), memory, ints.key_set)
        array, itemsize = ints.handle, handle.itemsize
        if isinstance(array, MetaArray):
            raise NotImplementedError("save(): a quantized tensor of the meta device has no integers to be saved")
        offset = memory.offset(saved.cell.root, array) if array.size else 0
        if array.size:
            reach = sum((n - 1) * step for n, step in zip(array.shape, array.strides, strict=True))
            saved.need(offset, offset + reach + itemsize)
        start = (offset - saved.low) // itemsize if array.size and self._final else 0
        if tensor.qscheme().name == "per_tensor_affine":
            params: tuple = (tensor.qscheme(), tensor.q_scale(), tensor.q_zero_point())
        else:  # floating point parameters are known by their dtype
            params = (QSCHEME_GLOBALS["per_channel_affine"], *handle.params.tensors(), handle.params.axis)
        reference = _Reference(saved, STORAGE_GLOBALS[tensor.dtype.name], itemsize)
        strides = tuple(tensor.stride())
        return _REBUILD_QUANTIZED, (reference, start, tuple(tensor.shape), strides, params, False, OrderedDict())


_SINGLETONS = (type(None), type(NotImplemented), type(...))


def _pickled(obj: Any, protocol: int) -> tuple[bytes, dict[str, np.ndarray]]:
    """Return the pickle and the storages by key.

    The first pass finds which bytes of each storage are needed, the second writes.
    """
    storages: dict[int, _SavedStorage] = {}
    copies: dict[int, tuple] = {}
    with io.BytesIO() as scratch:
        _Pickler(scratch, protocol, storages, copies, False).dump(obj)
    for saved in storages.values():
        saved.used = False
    with io.BytesIO() as buffer:
        _Pickler(buffer, protocol, storages, copies, True).dump(obj)
        data = buffer.getvalue()
    return data, {saved.key: saved.contents() for saved in storages.values() if saved.used}


def save(
    obj: Any,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Write an object and the tensors in it to a file that `load`, and PyTorch, read.

    Tensors that share memory share it again after loading.  Of a storage only the bytes that
    saved tensors show are written.  A path is written as a whole or not at all: after a crash
    the file is the old one or the new one.

    Parameters
    ----------
    obj : object
        Tensors, parameters, ``state_dict()``, containers of them, or anything that can be pickled.
    f : str, path, or file with a ``write`` method
    pickle_module : module
        Only `pickle` itself.
    pickle_protocol : int
        Protocol of the pickle; PyTorch's default is 2.

    Raises
    ------
    RuntimeError
        If the folder does not exist, or the old format is asked for.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> minitorch.save({"weight": minitorch.ones(2)}, file)
    >>> minitorch.load(io.BytesIO(file.getvalue()))
    {'weight': tensor([1., 1.])}
    """
    if pickle_module is not pickle:
        raise RuntimeError("save(): pickle_module must be pickle: storages are written apart from the pickle")
    if not _use_new_zipfile_serialization:
        raise RuntimeError("save(): only the zip format is written; load() reads the old one too")
    pickled, storages = _pickled(obj, pickle_protocol)
    if isinstance(f, (str, os.PathLike)):
        replace_file(f, lambda file: write_archive(file, pickled, storages))
        return
    if not hasattr(f, "write"):
        raise AttributeError(f"save(): expected 'f' to be a path or a file with a write method, not {type(f).__name__}")
    with io.BytesIO() as whole:
        write_archive(whole, pickled, storages)
        f.write(whole.getbuffer())
