"""Tensors from Python data and from foreign memory: `tensor`, `as_tensor`, `from_numpy`, ...

What has no type of its own (Python numbers) gets PyTorch's: int64, the default dtype, bool.
What has one (NumPy arrays and scalars, tensors) keeps it; in a list they promote.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from minitorch.core.device import cpu, default_device
from minitorch.core.device import device as device_class
from minitorch.core.dtype import (
    bool_,
    dtype,
    float64,
    from_numpy_dtype,
    get_default_complex_dtype,
    get_default_dtype,
    int64,
)
from minitorch.core.promotion import promote_types
from minitorch.core.symbolic import is_symbolic, python_type
from minitorch.dispatch.keys import (
    AD_INPLACE_OR_VIEW,
    AUTOGRAD_KEYS,
    FUNCTIONALIZE,
    FUNCTORCH_LAYERS,
    PRE_DISPATCH,
    PYTHON_KEYS,
    parse_key,
)
from minitorch.dispatch.local_state import current
from minitorch.dispatch.mode_stack import InfraSlot, infra_mode
from minitorch.dispatch.transforms import TransformType, interpreter_stack
from minitorch.tensor import exchange
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.operators import F
from minitorch.tensor.storage import borrow
from minitorch.tensor.wrapper import WrapperHandle, host_array

_PYTHON_DTYPES = {float: float64, int: int64, bool: bool_}
_NUMBERS = (bool, int, float, complex)
_NUMBER_SET = frozenset(_NUMBERS)
_CPU_KEYS = (
    parse_key("CPU").bits
    | parse_key("AutogradCPU").bits
    | parse_key("AutocastCPU").bits
    | AD_INPLACE_OR_VIEW
)
_INFERENCE_KEYS = _CPU_KEYS & ~(AD_INPLACE_OR_VIEW | AUTOGRAD_KEYS)
# What is included where modes want to know of tensors that come into being, and where a level may wrap them.
_SEEING = PYTHON_KEYS | PRE_DISPATCH
_WRAPPING = FUNCTIONALIZE | FUNCTORCH_LAYERS | _SEEING

_COPY_WARNING = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than tensor(sourceTensor)."
)
_READ_ONLY_WARNING = (
    "The given {what} is not writable, and minitorch does not support non-writable tensors: "
    "writing to this tensor is undefined behaviour. Copy the data first, or make it writable."
)


def wrap(array) -> Any:
    """Return a CPU tensor around a NumPy array whose dtype is known to be one of ours."""
    return new_tensor(array, _INFERENCE_KEYS if current().inference_mode else _CPU_KEYS)


def _finish(result: Any, device: Any, requires_grad: bool) -> Any:
    """Move a new CPU tensor to where it was asked for."""
    target = default_device() if device is None else device_class(device)
    moves = target is not cpu and (target.type != "cpu" or target.index)
    fakes = current().dispatch_modes is not None and infra_mode(InfraSlot.FAKE) is not None
    if fakes:
        result = _lifted(result)  # the device that it goes to need not be there
    if moves:
        result = result.to(target)
    if not fakes:
        result = _lifted(result)
    if requires_grad:
        result._set_requires_grad(True)
    return result


def _lifted(result: Any) -> Any:
    """Return a new tensor as levels and modes want it: no factory made it, so they have not seen it yet (spec P13)."""
    state = current()
    if not state.included & _WRAPPING:
        return result
    functionalizes = state.included & ~state.excluded & (FUNCTIONALIZE | _SEEING) or any(
        level.transform is TransformType.Functionalize for level in interpreter_stack()
    )
    return F.lift_fresh(result) if functionalizes else result


def _checked_dtype(value: Any, name: str) -> dtype | None:
    if value is None or type(value) is dtype:
        return value
    if isinstance(value, type) and value in _PYTHON_DTYPES:
        return _PYTHON_DTYPES[value]
    raise TypeError(f"{name}(): argument 'dtype' must be torch.dtype, not {type(value).__name__}")


# ---------------------------------------------------------------- Python data


class _Leaves:
    """What the leaves of nested sequences are: Python numbers, typed values, others."""

    __slots__ = ("arrays", "dtypes", "numbers")

    def __init__(self):
        self.numbers: set[type] = set()
        self.dtypes: set[dtype] = set()
        self.arrays = False  # some leaf is no plain number: convert one by one

    def dtype(self) -> dtype:
        result = None
        for kind in self.numbers:
            if issubclass(kind, bool):
                own = bool_
            elif issubclass(kind, int):
                own = int64
            elif issubclass(kind, float):
                own = get_default_dtype()
            else:
                own = get_default_complex_dtype()
            result = own if result is None else promote_types(result, own)
        for own in self.dtypes:
            result = own if result is None else promote_types(result, own)
        return get_default_dtype() if result is None else result


def _is_sequence(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (
        hasattr(value, "__len__")
        and hasattr(value, "__getitem__")
        and not isinstance(value, (str, bytes, dict, TensorBase, np.ndarray, np.generic))
    )


def _survey(sequence: Any, leaves: _Leaves) -> None:
    """Note in `leaves` what the leaves of nested sequences are."""
    kinds = set(map(type, sequence))
    plain = kinds & _NUMBER_SET
    leaves.numbers |= plain
    if kinds == plain:
        return
    for kind in kinds - plain:
        for item in sequence:
            if type(item) is not kind:
                continue
            if kind is list or kind is tuple:
                _survey(item, leaves)
            elif isinstance(item, TensorBase):
                leaves.dtypes.add(item.dtype)
                leaves.arrays = True
            elif isinstance(item, (np.ndarray, np.generic)):
                leaves.dtypes.add(from_numpy_dtype(item.dtype))
                leaves.arrays = True
            elif isinstance(item, _NUMBERS):
                leaves.numbers.add(kind)
            elif _is_sequence(item):
                leaves.arrays = True
                _survey(list(item), leaves)
            elif is_symbolic(item):
                leaves.numbers.add(python_type(item))
                leaves.arrays = True
            else:
                raise _no_dtype(item, inside=True)


def _no_dtype(value: Any, inside: bool = False) -> Exception:
    word = type(value).__name__
    if isinstance(value, (str, bytes)):
        if inside:
            return ValueError(f"tensor(): too many dimensions '{word}': text is no number")
        return TypeError(f"new(): invalid data type '{word}'")
    return RuntimeError(f"Could not infer dtype of {word}")


def _plain(value: Any) -> Any:
    """Return nested sequences with tensors, arrays and odd sequences as lists and numbers."""
    if isinstance(value, TensorBase):
        tensor: Any = value
        if isinstance(tensor.handle, WrapperHandle):  # inside of a transform, say: it knows whether it has values
            return tensor.item() if tensor.numel() == 1 else tensor.tolist()
        array: Any = host_array(tensor)
        if array.dtype.kind == "V":
            array = array.astype(np.float32)
        return array.item() if array.size == 1 else array.tolist()
    if isinstance(value, (np.ndarray, np.generic)):
        return value.astype(np.float32).tolist() if value.dtype.kind == "V" else value.tolist()
    if isinstance(value, _NUMBERS):
        return value
    if is_symbolic(value):
        return python_type(value)(value)
    return [_plain(item) for item in value]


def _ragged(value: Any, depth: int = 0) -> None:
    """Raise what is wrong with nested sequences that do not form an array."""
    if not isinstance(value, (list, tuple)) or not value:
        return
    first = value[0]
    for item in value:
        if isinstance(first, (list, tuple)) != isinstance(item, (list, tuple)):
            if isinstance(first, (list, tuple)):
                raise TypeError(
                    f"tensor(): not a sequence: {item!r} stands beside sequences at dim {depth + 1}"
                )
            raise TypeError(
                f"tensor(): a sequence stands beside the number {first!r} at dim {depth + 1}"
            )
        if isinstance(first, (list, tuple)) and len(item) != len(first):
            raise ValueError(
                f"expected sequence of length {len(first)} at dim {depth + 1} (got {len(item)})"
            )
    for item in value:
        _ragged(item, depth + 1)


def _unrepresentable(value: Any, np_dtype: Any) -> Exception:
    """Return the error for numbers that `np_dtype` cannot hold."""
    if np_dtype.kind != "c":
        flat = np.array(value, dtype=object).ravel().tolist()
        for item in flat:
            if isinstance(item, complex):
                word = "must be real number" if np_dtype.kind in "fV" else "must be an integer"
                return TypeError(f"tensor(): {word}, not complex")
        if np_dtype == np.int64 and all(isinstance(i, int) for i in flat):
            return ValueError(
                "tensor(): Overflow when unpacking long long: an int needs over 64 bits"
            )
    name = from_numpy_dtype(np_dtype).name
    return RuntimeError(f"tensor(): value cannot be converted to type {name} without overflow")


def _array_of(data: Any, np_dtype: Any) -> np.ndarray:
    """Return nested lists of Python numbers as an array; raise PyTorch's errors."""
    try:
        if np_dtype.kind == "V" or np_dtype.char == "e":  # narrow types round from float32
            return np.array(data, np.float32).astype(np_dtype)
        return np.array(data, np_dtype)
    except (ValueError, TypeError, OverflowError):
        _ragged(data)
        if np_dtype.kind == "u":  # negative numbers wrap
            wide = np.array(data, object)
            bits = np_dtype.itemsize * 8
            numbers = [int(v) if math.isfinite(v) else 1 << 70 for v in wide.ravel().tolist()]
            if all(-(1 << bits) < v < 1 << bits for v in numbers):
                flat = np.array([v % (1 << bits) for v in numbers], np_dtype)
                return flat.reshape(wide.shape)
        if np_dtype.kind == "b":
            wide = np.array(data, object)
            return np.array([v != 0 for v in wide.ravel().tolist()], bool).reshape(wide.shape)
        raise _unrepresentable(data, np_dtype) from None


def array_from_data(data: Any, wanted: dtype | None) -> np.ndarray:
    """Return a new array of Python data, NumPy data, or tensors in lists.

    Parameters
    ----------
    data : number, sequence of numbers, array
    wanted : dtype, optional
        Found from `data` when omitted.
    """
    kind = type(data)
    if kind in _NUMBER_SET:
        if wanted is None:
            if kind is float:
                wanted = get_default_dtype()
            elif kind is int:
                wanted = int64
            elif kind is bool:
                wanted = bool_
            else:
                wanted = get_default_complex_dtype()
        return _array_of(data, wanted.np)
    if isinstance(data, (np.ndarray, np.generic)):
        return _foreign_array(data, wanted).copy()
    if isinstance(data, _NUMBERS):
        return array_from_data(next(k for k in _NUMBERS if isinstance(data, k))(data), wanted)
    if not _is_sequence(data):
        if hasattr(data, "__array__"):
            return _foreign_array(np.asarray(data), wanted).copy()
        if is_symbolic(data):
            return array_from_data(python_type(data)(data), wanted)
        raise _no_dtype(data)
    if not isinstance(data, (list, tuple)):
        data = list(data)
    leaves = _Leaves()
    _survey(data, leaves)
    if wanted is None:
        wanted = leaves.dtype()
    if leaves.arrays:
        data = _plain(data)
    return _array_of(data, wanted.np)


def _foreign_array(array: Any, wanted: dtype | None) -> np.ndarray:
    """Return a NumPy array or scalar as an array of one of our types; shares memory if it can."""
    array = np.asarray(array)
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion "
            "between byte orders is currently not supported."
        )
    from_numpy_dtype(array.dtype)
    if wanted is None:
        return array
    if array.dtype.kind == "c" and not wanted.is_complex and wanted is not bool_:
        array = array.real
    return array.astype(wanted.np, copy=False)


def tensor(
    data: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Return a new tensor with a copy of `data`, and no history.

    Parameters
    ----------
    data : number, nested sequences of numbers, ndarray, NumPy scalar, or Tensor
    dtype : dtype, optional
        Found from `data` when omitted: ints are int64, floats the default dtype.
    device : device or str, optional
    requires_grad : bool
    pin_memory : bool
        Accepted and without effect.

    Raises
    ------
    ValueError
        If the sequences are of unequal lengths.
    TypeError, RuntimeError
        If something in `data` is no number, or does not fit the dtype.

    Examples
    --------
    >>> import minitorch
    >>> minitorch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    wanted = _checked_dtype(dtype, "tensor")
    if isinstance(data, TensorBase):
        warnings.warn(_COPY_WARNING, UserWarning, stacklevel=2)
        target = data.device if device is None else device_class(device)
        result = data.detach().to(device=target, dtype=wanted or data.dtype, copy=True)
        return result._set_requires_grad(True) if requires_grad else result
    if type(data) not in _NUMBER_SET and is_symbolic(data):
        if wanted is None:
            wanted = {int: int64, float: get_default_dtype(), bool: bool_}[python_type(data)]
        result = F.scalar_tensor(data, dtype=wanted, device=default_device() if device is None else device)
        return result._set_requires_grad(True) if requires_grad else result
    return _finish(wrap(array_from_data(data, wanted)), device, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """Return `data` as a tensor; without a copy where type and device allow.

    Parameters
    ----------
    data : Tensor, ndarray, number or nested sequences of numbers
    dtype : dtype, optional
    device : device or str, optional
    """
    wanted = _checked_dtype(dtype, "as_tensor")
    if isinstance(data, TensorBase):
        target = data.device if device is None else device_class(device)
        wanted = data.dtype if wanted is None else wanted
        if target is data.device and wanted is data.dtype:
            return data
        return data.to(device=target, dtype=wanted)
    if isinstance(data, np.ndarray):
        array = _foreign_array(data, wanted)
        if np.may_share_memory(array, data):
            _warn_read_only(array, "NumPy array", 3)
            return _finish(borrow(wrap(array)), device, False)
        return _finish(wrap(array), device, False)
    if hasattr(type(data), "__cuda_array_interface__"):
        return _adopted(data, wanted, device, None)
    if is_symbolic(data):
        return tensor(data, dtype=wanted, device=device)
    return _finish(wrap(array_from_data(data, wanted)), device, False)


def _warn_read_only(array: np.ndarray, what: str, stacklevel: int) -> None:
    if not array.flags.writeable:
        warnings.warn(_READ_ONLY_WARNING.format(what=what), UserWarning, stacklevel=stacklevel + 1)


def from_numpy(array: np.ndarray) -> Any:
    """Return a tensor that shares the memory of a NumPy array.

    Raises
    ------
    TypeError
        If it is no array, or of a type that tensors do not have.
    ValueError
        If its byte order is not this machine's.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(
            f"expected np.ndarray (got {type(array).__module__}.{type(array).__name__})"
        )
    result = _foreign_array(array, None)
    _warn_read_only(result, "NumPy array", 2)
    if result is array:  # a header of its own: resizing a tensor must not change the caller's array
        result = result.view()
    return _lifted(borrow(wrap(result)))


class _OfCapsule:
    """An object that gives out a capsule which was taken from another one, of memory that the CPU sees."""

    def __init__(self, capsule: Any):
        self._capsule = capsule

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Any:
    """Return a tensor that shares the memory of an object that exports DLPack."""
    if isinstance(ext_tensor, TensorBase):
        ext_tensor._refuse_export()
        same = ext_tensor.detach()
        return same.to(device=same.device if device is None else device_class(device), copy=bool(copy))
    if exchange.is_on_cuda(ext_tensor):
        return _adopted(ext_tensor, None, device, copy)
    array = np.from_dlpack(_OfCapsule(ext_tensor) if type(ext_tensor).__name__ == "PyCapsule" else ext_tensor)
    result = wrap(_foreign_array(array.copy() if copy else array, None))
    return _finish(result if copy else borrow(result), device, False)


def _adopted(foreign: Any, wanted: Any, device: Any, copy: bool | None) -> Any:
    """Return a tensor of another library's array on a CUDA device: where it is, unless `device` says otherwise."""
    result = exchange.of_cuda().adopt(foreign)
    target = result.device if device is None else device_class(device)
    kind = result.dtype if wanted is None else wanted
    if copy is False and not (kind is result.dtype and target.type == "cuda" and target.index in (None, result.device.index)):
        raise ValueError(f"can't alias an array on {result.device} of {result.dtype} as one on {target} of {kind}.")
    return result.to(device=target, dtype=kind, copy=bool(copy))


def frombuffer(
    buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """Return a 1-dim tensor that shares the memory of an object with the buffer protocol.

    Parameters
    ----------
    buffer : bytes-like
    dtype : dtype
    count : int
        Elements to show; all when negative.
    offset : int
        Bytes to skip.

    Raises
    ------
    ValueError
        If the buffer is too short, or its length no multiple of the element size.
    """
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length = view.nbytes
    size = dtype.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    rest = length - offset
    if count < 0:
        if rest % size:
            raise ValueError(
                f"buffer length ({rest} bytes) after offset ({offset} bytes) must be a multiple "
                f"of element size ({size})"
            )
        count = rest // size
    if count * size > rest:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must "
            f"not be greater than actual buffer length ({length} bytes)"
        )
    array = np.frombuffer(view, dtype.np, count, offset)
    _warn_read_only(array, "buffer", 2)
    result = borrow(wrap(array))
    return result._set_requires_grad(True) if requires_grad else result


def asarray(
    obj: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Any:
    """Return `obj` as a tensor, sharing its memory unless `copy` or the arguments forbid.

    Parameters
    ----------
    obj : Tensor, ndarray, DLPack exporter, buffer, number, or sequence
    dtype : dtype, optional
    device : device or str, optional
    copy : bool, optional
        True always copies; False raises where a copy would be needed.
    requires_grad : bool
        A tensor that shares memory with a leaf keeps its history only if this is true.

    Raises
    ------
    ValueError
        If ``copy=False`` cannot be kept.
    """
    wanted = _checked_dtype(dtype, "asarray")
    if isinstance(obj, TensorBase):
        return _as_array_of_tensor(obj, wanted, device, copy, requires_grad)
    if isinstance(obj, (np.ndarray, np.generic)):
        source = _foreign_array(obj, None)
        kind = from_numpy_dtype(source.dtype)
        if copy is False and wanted not in (None, kind):
            raise ValueError(
                f"can't alias tensor with dtype '{kind.scalar_name}' into dtype "
                f"'{wanted.scalar_name}'."  # type: ignore[union-attr]
            )
        array = source.astype((wanted or kind).np, copy=bool(copy))
        result = borrow(wrap(array)) if array is source else wrap(array)
    elif hasattr(type(obj), "__cuda_array_interface__"):
        return _adopted(obj, wanted, device, copy).requires_grad_(requires_grad)
    elif hasattr(obj, "__dlpack__"):
        return asarray(
            from_dlpack(obj), dtype=dtype, device=device, copy=copy, requires_grad=requires_grad
        )
    elif isinstance(obj, (bytes, bytearray, memoryview)) or type(obj).__module__ == "array":
        result = frombuffer(obj, dtype=wanted or get_default_dtype())
        if copy:
            result = result.clone()
    else:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        result = wrap(array_from_data(obj, wanted))
    return _finish(result, device, requires_grad)


def _as_array_of_tensor(obj, wanted, device, copy, requires_grad) -> Any:
    target = obj.device if device is None else device_class(device)
    wanted = obj.dtype if wanted is None else wanted
    if copy is False:
        if target is not obj.device:
            raise ValueError(f"can't alias tensor from device '{obj.device}' to '{target}'.")
        if wanted is not obj.dtype:
            raise ValueError(
                f"can't alias tensor with dtype '{obj.dtype.scalar_name}' into dtype "
                f"'{wanted.scalar_name}'."
            )
    result = obj
    if copy:
        result = obj.clone()
    if target is not obj.device or wanted is not obj.dtype:
        result = result.to(device=target, dtype=wanted)
    if result is obj:
        return (
            obj
            if requires_grad == obj.requires_grad or obj.requires_grad
            else obj.detach().requires_grad_(requires_grad)
        )
    if requires_grad and not result.requires_grad:
        result._set_requires_grad(True)
    return result
