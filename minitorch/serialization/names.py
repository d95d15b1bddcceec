"""The names that PyTorch's files use for types, and what they stand for here.

A file names everything by its place in PyTorch (``torch.FloatStorage``), so that either
library reads what the other wrote.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import DTYPES, QUANTIZED_DTYPES, dtype
from minitorch.core.qscheme import QSCHEMES


class Global:
    """A name in a file's pickle: written as it is, without looking it up anywhere.

    Parameters
    ----------
    module, name : str
        ``"torch", "FloatStorage"``.
    """

    def __init__(self, module: str, name: str):
        self.module = module
        self.name = name

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.module}.{self.name} is only a name here")  # pickle asks whether it is callable


class StorageKind:
    """What a file says of a storage's elements: their dtype, or None for bytes (``UntypedStorage``)."""

    def __init__(self, element: dtype | None):
        self.element = element

    @property
    def itemsize(self) -> int:
        return 1 if self.element is None else self.element.itemsize


# dtypes that have a storage class of their own; all others are kept as bytes
TYPED_STORAGES = {
    "float64": "DoubleStorage", "float32": "FloatStorage", "float16": "HalfStorage", "bfloat16": "BFloat16Storage",
    "int64": "LongStorage", "int32": "IntStorage", "int16": "ShortStorage", "int8": "CharStorage",
    "uint8": "ByteStorage", "bool": "BoolStorage", "complex64": "ComplexFloatStorage",
    "complex128": "ComplexDoubleStorage",
}
# those of quantized tensors, which nothing else is kept in
QUANTIZED_STORAGES = {
    "qint8": "QInt8Storage", "quint8": "QUInt8Storage", "qint32": "QInt32Storage", "quint4x2": "QUInt4x2Storage",
    "quint2x4": "QUInt2x4Storage",
}  # fmt: skip

UNTYPED = Global("torch.storage", "UntypedStorage")
STORAGE_GLOBALS = {name: Global("torch", kind) for name, kind in (TYPED_STORAGES | QUANTIZED_STORAGES).items()}
DTYPE_GLOBALS = {name: Global("torch", name) for name in (*DTYPES, *QUANTIZED_DTYPES)}
QSCHEME_GLOBALS = {name: Global("torch", name) for name in QSCHEMES}


def storage_kinds() -> dict[tuple[str, str], StorageKind]:
    """Return what each storage class in a file stands for, by module and name."""
    found = {("torch", kind): StorageKind(DTYPES[name]) for name, kind in TYPED_STORAGES.items()}
    for name, kind in QUANTIZED_STORAGES.items():
        found["torch", kind] = StorageKind(QUANTIZED_DTYPES[name])
    for module in ("torch", "torch.storage"):
        found[module, "UntypedStorage"] = StorageKind(None)
    return found
