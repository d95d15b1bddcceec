"""What a file's pickle may call: the functions that rebuild tensors, with every argument checked."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

import numpy as np

from minitorch.core.device import device
from minitorch.core.dtype import DTYPES, QUANTIZED, QUANTIZED_DTYPES, dtype
from minitorch.core.layout import LAYOUTS
from minitorch.core.memory_format import MEMORY_FORMATS
from minitorch.core.qscheme import QSCHEMES, qscheme
from minitorch.core.size import Size
from minitorch.serialization.names import storage_kinds
from minitorch.tensor.base import TensorBase, make_storage, new_tensor
from minitorch.tensor.creation import wrap
from minitorch.tensor.memory import memory_of
from minitorch.tensor.storage import UntypedStorage, bytes_tensor


class DamagedFile(RuntimeError):
    """The file says something that no tensor can be made of."""


class UnusableDevice(RuntimeError):
    """The file's storages belong to a device that this machine, or this build, does not have."""


class LoadedStorage:
    """A storage read from a file, on the device it was asked for.

    Attributes
    ----------
    element : dtype or None
        What the file says that its elements are.
    """

    def __init__(self, data: np.ndarray, element: dtype | None):
        self.element = element
        self.data = data
        self.bytes = wrap(data)
        self.bytes.storage_cell = make_storage(data)

    def move(self, target: Any) -> None:
        """Move it to a device."""
        if target is not None and target.type != "cpu":
            self.bytes = self.bytes.to(target)
            self.bytes.storage_of()

    def replace(self, storage: UntypedStorage) -> None:
        """Take the memory of another storage instead."""
        self.bytes = bytes_tensor(storage)

    def untyped(self) -> UntypedStorage:
        """Return it as users, and the rebuilding functions, get it."""
        result: Any = UntypedStorage(self.bytes)
        result._loaded = self
        return result


def _sizes(values: Any, what: str) -> tuple[int, ...]:
    if not isinstance(values, tuple) or not all(type(v) is int and abs(v) < 1 << 62 for v in values):
        raise DamagedFile(f"load(): a tensor's {what} must be integers, and the file has {values!r:.80}")
    return tuple(values)


def _element(storage: Any) -> Any:
    return getattr(getattr(storage, "_loaded", None), "element", None)


def _view(storage: Any, element: Any, offset: Any, size: Any, stride: Any) -> Any:
    """Return a tensor over a storage, offset and strides in elements."""
    storage = getattr(storage, "_loaded", None)
    if not isinstance(storage, LoadedStorage) or not isinstance(element, dtype):
        raise DamagedFile("load(): a tensor of the file has no storage or no dtype")
    size, stride = _sizes(size, "sizes"), _sizes(stride, "strides")
    (offset,) = _sizes((offset,), "offset")
    if len(size) != len(stride) or any(n < 0 for n in size) or offset < 0:
        raise DamagedFile(f"load(): sizes {size}, strides {stride} and offset {offset} do not fit together")
    memory = memory_of(storage.bytes)
    cell = storage.bytes.storage_of()
    itemsize = element.itemsize
    low = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True) if step < 0)
    high = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True) if step > 0)
    if 0 not in size and (low < 0 or (high + 1) * itemsize > memory.nbytes(cell.root)):
        raise DamagedFile(
            f"load(): sizes {list(size)}, strides {list(stride)} and offset {offset} reach outside a storage of "
            f"{memory.nbytes(cell.root)} bytes"
        )
    try:
        handle = memory.strided(cell.root, size, tuple(s * itemsize for s in stride), offset * itemsize, element.np)
    except (ValueError, OverflowError, MemoryError) as error:
        raise DamagedFile(f"load(): no tensor has sizes {size} and strides {stride} ({error})") from error
    result = new_tensor(handle, storage.bytes.key_set)
    result.storage_cell = cell
    return result


def _with_gradient(tensor: Any, requires_grad: Any) -> Any:
    if requires_grad is True:
        if tensor.dtype.category < 2:
            raise DamagedFile(f"load(): the file asks for gradients of {tensor.dtype}")
        tensor.requires_grad_(True)
    return tensor


def rebuild_tensor_v2(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, metadata: Any = None
) -> Any:
    return _with_gradient(_resolve(_view(storage, _element(storage), offset, size, stride), metadata), requires_grad)


def rebuild_tensor_v3(
    storage: Any, offset: Any, size: Any, stride: Any, requires_grad: Any, hooks: Any, element: Any, metadata: Any = None
) -> Any:
    return _with_gradient(_resolve(_view(storage, element, offset, size, stride), metadata), requires_grad)


def rebuild_tensor(storage: Any, offset: Any, size: Any, stride: Any) -> Any:
    return _view(storage, _element(storage), offset, size, stride)


def _resolve(tensor: Any, metadata: Any) -> Any:
    """Return the memory as a tensor that reads it as the saved one did: conjugated, negated."""
    if isinstance(metadata, dict):
        if metadata.get("conj"):
            tensor = tensor.conj()
        if metadata.get("neg"):
            tensor = tensor._neg_view()
    return tensor


def rebuild_meta_tensor(element: Any, size: Any, stride: Any, requires_grad: Any) -> Any:
    from minitorch import empty_strided

    if not isinstance(element, dtype):
        raise DamagedFile("load(): a meta tensor of the file has no dtype")
    size, stride = _sizes(size, "sizes"), _sizes(stride, "strides")
    if len(size) != len(stride) or any(n < 0 for n in (*size, *stride)):
        raise DamagedFile(f"load(): sizes {size} and strides {stride} do not fit together")
    return _with_gradient(empty_strided(size, stride, dtype=element, device="meta"), requires_grad)


def rebuild_quantized_tensor(
    storage: Any, offset: Any, size: Any, stride: Any, params: Any, requires_grad: Any, hooks: Any
) -> Any:
    from minitorch.quantized.handle import INTEGERS, PACKED, PerTensor, wrap
    from minitorch.quantized.kernels.construction import channel_params

    element = _element(storage)
    if element is None or element.category != QUANTIZED:
        raise DamagedFile("load(): a quantized tensor of the file has a storage of something else")
    if not isinstance(params, tuple) or len(params) not in (3, 4) or not isinstance(params[0], qscheme):
        raise DamagedFile("load(): a quantized tensor of the file does not say how it is quantized")
    size = _sizes(size, "sizes")
    try:
        if len(params) == 3:
            quantizer: Any = PerTensor(float(params[1]), int(params[2]))
        else:
            quantizer = channel_params("load", params[1], params[2], params[3], size)
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        raise DamagedFile(f"load(): a quantized tensor of the file has no scales that fit it ({error})") from error
    if element not in PACKED:
        return wrap(_view(storage, INTEGERS[element], offset, size, stride), quantizer, element)
    count = 1
    for n in size:
        count *= n
    row = _view(storage, INTEGERS[element], offset, (-(-count // PACKED[element]),), (1,))
    return wrap(row, quantizer, element, size)


def rebuild_parameter(data: Any, requires_grad: Any, hooks: Any) -> Any:
    from minitorch.nn.parameter import Parameter

    if not isinstance(data, TensorBase) or (requires_grad and data.dtype.category < 2):
        raise DamagedFile("load(): a parameter of the file has no values that fit it")
    return Parameter(data, bool(requires_grad))


def rebuild_parameter_with_state(data: Any, requires_grad: Any, hooks: Any, state: Any) -> Any:
    return set_attributes(rebuild_parameter(data, requires_grad, hooks), state)


def rebuild_from_type(function: Any, cls: Any, args: Any, state: Any) -> Any:
    if function not in REBUILDERS or not isinstance(args, tuple):
        raise DamagedFile("load(): a tensor of the file is rebuilt by something that rebuilds no tensors")
    result = function(*args)
    if cls is not TENSOR_TYPE and not (isinstance(cls, type) and issubclass(cls, TensorBase)):
        raise DamagedFile("load(): a tensor of the file has a type that is none")
    if cls is not TENSOR_TYPE and type(result) is not cls:
        result = result.as_subclass(cls)
    return set_attributes(result, state)


def set_attributes(tensor: Any, state: Any) -> Any:
    """Give a tensor the attributes that the user gave the one that was saved."""
    if isinstance(state, tuple) and len(state) == 2:
        parts = state
    else:
        parts = (state,)
    for part in parts:
        if part is None:
            continue
        if not isinstance(part, dict):
            raise DamagedFile("load(): a tensor's attributes must be a dictionary")
        for name, value in part.items():
            if not isinstance(name, str) or (hasattr(type(tensor), name) and name not in _SETTABLE):
                raise DamagedFile(f"load(): the file sets {name!r:.60}, which tensors have already")
            setattr(tensor, name, value)
    return tensor


_SETTABLE = ("persistent", "_is_buffer")


def make_device(kind: Any, index: Any = None) -> Any:
    try:
        return device(kind) if index is None else device(kind, index)
    except (RuntimeError, TypeError) as error:
        raise DamagedFile(f"load(): the file names a device that is none ({error})") from error


def get_layout(name: Any) -> Any:
    found = LAYOUTS.get(str(name).removeprefix("torch."))
    if found is None:
        raise DamagedFile(f"load(): the file names a layout that is none: {name!r:.60}")
    return found


def get_memory_format(name: Any) -> Any:
    found = MEMORY_FORMATS.get(name) if isinstance(name, str) else None
    if found is None:
        raise DamagedFile(f"load(): the file names a memory format that is none: {name!r:.60}")
    return found


def make_size(values: Any = ()) -> Any:
    return Size(_sizes(tuple(values), "sizes"))


def encode(text: Any, encoding: Any = "utf-8") -> bytes:
    """Return a text as bytes: how the second protocol of pickle writes them."""
    if encoding not in ("latin1", "latin-1", "utf-8", "ascii") or not isinstance(text, str):
        raise DamagedFile("load(): the file has bytes in no encoding of its format")
    return text.encode(encoding)


class _TensorType:
    """Stands for ``torch.Tensor`` in a file: nothing that could be called."""


TENSOR_TYPE = _TensorType()

REBUILDERS = (
    rebuild_tensor, rebuild_tensor_v2, rebuild_tensor_v3, rebuild_meta_tensor, rebuild_quantized_tensor,
    rebuild_parameter, rebuild_parameter_with_state,
)


def allowed_globals() -> dict[tuple[str, str], Any]:
    """Return every name that a file may use, and what it stands for."""
    utils = "torch._utils"
    found: dict[tuple[str, str], Any] = {
        (utils, "_rebuild_tensor"): rebuild_tensor,
        (utils, "_rebuild_tensor_v2"): rebuild_tensor_v2,
        (utils, "_rebuild_tensor_v3"): rebuild_tensor_v3,
        (utils, "_rebuild_meta_tensor_no_storage"): rebuild_meta_tensor,
        (utils, "_rebuild_qtensor"): rebuild_quantized_tensor,
        (utils, "_rebuild_parameter"): rebuild_parameter,
        (utils, "_rebuild_parameter_with_state"): rebuild_parameter_with_state,
        ("torch._tensor", "_rebuild_from_type_v2"): rebuild_from_type,
        ("torch", "Tensor"): TENSOR_TYPE,
        ("torch", "device"): make_device,
        ("torch", "Size"): make_size,
        ("torch.serialization", "_get_layout"): get_layout,
        ("torch.core.memory_format", "_memory_format_by_name"): get_memory_format,
        ("collections", "OrderedDict"): OrderedDict,
        ("collections", "Counter"): Counter,
        ("_codecs", "encode"): encode,
    }
    for module in ("builtins", "__builtin__"):
        for kind in (set, frozenset, complex, bytearray):
            found[module, kind.__name__] = kind
    for name, element in (*DTYPES.items(), *QUANTIZED_DTYPES.items(), *QSCHEMES.items()):
        found["torch", name] = element
    found.update(storage_kinds())
    return found

