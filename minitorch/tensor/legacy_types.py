"""``FloatTensor`` and its kind: old names of tensors by dtype and device, which make tensors and are asked about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.device import device
from minitorch.core.dtype import DTYPES, dtype, set_default_dtype
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import tensor
from minitorch.tensor.operators import F

_WORDS = {
    d.scalar_name: d
    for d in (
        DTYPES[name]
        for name in ("float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool")
    )
}
NAMES = frozenset(f"{word}Tensor" for word in _WORDS)


class TensorType(type):
    """The class of these names.

    Attributes
    ----------
    dtype : dtype
    device_type : str
    is_cuda : bool
    """

    dtype: dtype
    device_type: str

    def __call__(cls, *args: Any, device: Any = None) -> Any:
        """Return uninitialized memory for sizes, the values of a sequence or an array, or a tensor of this type itself."""
        where = cls.device_type if device is None else device
        if len(args) == 1 and isinstance(args[0], TensorBase):
            if args[0].dtype is not cls.dtype or args[0].device.type != cls.device_type:
                raise TypeError(
                    f"{cls.__name__}(): expected a tensor of {cls.dtype} on {cls.device_type}, got one of {args[0].dtype} on "
                    f"{args[0].device}; use .to()"
                )
            return F.alias(args[0])
        if len(args) == 1 and isinstance(args[0], (list, tuple, np.ndarray)) and not hasattr(args[0], "numel"):
            return tensor(args[0], dtype=cls.dtype, device=where)
        sizes = list(args[0]) if len(args) == 1 and isinstance(args[0], tuple) else list(args)
        return F.empty(sizes or [0], dtype=cls.dtype, device=where)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, TensorBase) and value.dtype is cls.dtype and value.device.type == cls.device_type

    @property
    def is_cuda(cls) -> bool:
        return cls.device_type == "cuda"

    def __repr__(cls) -> str:
        return f"<class 'torch.{'' if cls.device_type == 'cpu' else cls.device_type + '.'}{cls.__name__}'>"


_types: dict[tuple[str, str], TensorType] = {}


def tensor_type(name: str, device_type: str = "cpu") -> TensorType:
    """Return ``FloatTensor``, ``LongTensor``, ... of a device."""
    found = _types.get((name, device_type))
    if found is None:
        word = name.removesuffix("Tensor")
        found = TensorType(name, (), {"__doc__": f"Tensors of {_WORDS[word].name} on {device_type}."})
        found.dtype, found.device_type = _WORDS[word], device_type
        _types[name, device_type] = found
    return found


def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by an old name: ``FloatTensor``, or ``"torch.DoubleTensor"``.

    Raises
    ------
    TypeError
        If it is no type of floating-point tensors of the CPU.
    """
    if isinstance(t, str):
        name = t.rsplit(".", 1)[-1]
        t = tensor_type(name, "cuda" if ".cuda." in t else "cpu") if name in NAMES else None
    if not isinstance(t, TensorType) or not t.dtype.is_floating_point:
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    if t.device_type != "cpu":
        raise TypeError(f"set_default_tensor_type(): {t!r}; use set_default_dtype() and set_default_device({t.device_type!r})")
    set_default_dtype(t.dtype)


def typename(obj: Any) -> str:
    """Return the name of an object's type; of a tensor that of its dtype and device, ``"torch.FloatTensor"``."""
    if isinstance(obj, TensorBase):
        return obj.type()  # type: ignore[attr-defined]
    cls = obj if isinstance(obj, type) else type(obj)
    name = cls.__qualname__
    if cls.__module__ in ("builtins", "__builtin__"):
        return name
    module = cls.__module__.replace("minitorch", "torch", 1) if cls.__module__.startswith("minitorch") else cls.__module__
    return f"{'torch' if cls in (dtype, device) else module}.{name}"


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return tensor_type(name)
    raise AttributeError(f"module 'minitorch.tensor.legacy_types' has no attribute {name!r}")
