"""How the tools show a call: tensors by dtype and shape, everything else as it is."""

from __future__ import annotations

from typing import Any

from minitorch.tensor.tensor import Tensor

SHORT_DTYPES = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "complex128": "c128",
    "complex64": "c64",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint64": "u64",
    "uint32": "u32",
    "uint16": "u16",
    "uint8": "u8",
    "bool": "b8",
}


def tensor_text(tensor: Any) -> str:
    """Return a tensor as ``f32[2, 3]``; its device in front where that is not the CPU."""
    dtype = SHORT_DTYPES.get(tensor.dtype.name, tensor.dtype.name)
    device = "" if tensor.device.type == "cpu" else f"{tensor.device}:"
    return f"{device}{dtype}[{', '.join(str(n) for n in tensor.shape)}]"


def value_text(value: Any) -> str:
    """Return an argument or result as text."""
    if isinstance(value, Tensor):
        return tensor_text(value)
    if isinstance(value, (list, tuple)):
        inner = ", ".join(value_text(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return repr(value)


def call_text(func: Any, args: tuple, kwargs: dict[str, Any] | None) -> str:
    """Return a call as text: ``aten.add.Tensor(f32[2], 1)``."""
    shown = [value_text(value) for value in args]
    shown += [f"{name}={value_text(value)}" for name, value in (kwargs or {}).items()]
    return f"{func}({', '.join(shown)})"
