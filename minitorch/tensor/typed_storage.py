"""`TypedStorage`: the memory of a tensor read as elements of one dtype; and ``FloatStorage`` and its kind, which make some."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import DTYPES, dtype, get_default_dtype
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.creation import tensor
from minitorch.tensor.operators import F
from minitorch.tensor.storage import UntypedStorage, bytes_tensor

_WORDS = {
    d.scalar_name: d
    for d in (
        DTYPES[name]
        for name in (
            "float32", "float64", "float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64",
            "complex128",
        )
    )
}  # fmt: skip
NAMES = frozenset(f"{word}Storage" for word in _WORDS)


class TypedStorage:
    """The memory that a tensor shares with its views, as a row of elements of one dtype.

    Parameters
    ----------
    *args
        A number of elements, which are uninitialised; a sequence of their values; or nothing.
    wrap_storage : UntypedStorage, optional
        The memory to be shown, instead.
    dtype : dtype, optional
        The default dtype where it is missing.
    device : device, optional

    Examples
    --------
    >>> x = minitorch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> x[1].storage().tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    is_sparse = False

    def __init__(self, *args: Any, wrap_storage: UntypedStorage | None = None, dtype: Any = None, device: Any = None):
        self.dtype: dtype = get_default_dtype() if dtype is None else dtype
        if wrap_storage is not None:
            if args or device is not None:
                raise RuntimeError("TypedStorage(): wrap_storage comes with a dtype and nothing else")
            self._untyped_storage = wrap_storage
        elif len(args) > 1:
            raise RuntimeError(f"TypedStorage(): takes a number of elements or a sequence, not {len(args)} arguments")
        elif args and not isinstance(args[0], int):
            self._untyped_storage = tensor(list(args[0]), dtype=self.dtype, device=device).untyped_storage()
        else:
            self._untyped_storage = F.empty(list(args) or [0], dtype=self.dtype, device=device).untyped_storage()

    # -- what it is --------------------------------------------------------------------

    def untyped(self) -> UntypedStorage:
        """Return the same memory as bytes."""
        return self._untyped_storage

    @property
    def device(self) -> Any:
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """Return the number of its device, -1 on the CPU."""
        return -1 if self.device.index is None else self.device.index

    def size(self) -> int:
        """Return how many elements fit into it."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """Return its size in bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Return the bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Return the address of its first element; 0 where there is none."""
        return self._untyped_storage.data_ptr()

    def resizable(self) -> bool:
        """Return whether it can grow."""
        return self._untyped_storage.resizable()

    def is_shared(self) -> bool:
        return False

    def is_pinned(self, device: Any = None) -> bool:
        """Return whether it is in memory of the host that a CUDA device reads by itself."""
        return self._elements().is_pinned()

    def pickle_storage_type(self) -> str:
        """Return the name of the old class of such storages, ``"FloatStorage"``."""
        return f"{self.dtype.scalar_name}Storage"

    def type(self, dtype: Any = None) -> Any:
        """Return the name of its type (``"torch.FloatStorage"``), or its elements cast to a dtype or such a name."""
        if dtype is None:
            place = "" if self.device.type == "cpu" else f"{self.device.type}."
            return f"torch.{place}{self.pickle_storage_type()}"
        if isinstance(dtype, str):
            word = dtype.rsplit(".", 1)[-1].removesuffix("Storage")
            if word not in _WORDS:
                raise RuntimeError(f"TypedStorage.type(): no storage is called {dtype!r}")
            dtype = _WORDS[word]
        return self._cast(dtype)

    # -- its elements ------------------------------------------------------------------

    def _elements(self) -> Any:
        """Return a tensor over the whole of it."""
        whole = bytes_tensor(self._untyped_storage)
        count = self.size() * self.dtype.itemsize
        return F.view(F.slice(whole, 0, 0, count), dtype=self.dtype)

    def _place(self, index: Any) -> int:
        if not isinstance(index, int):
            raise TypeError(f"can't index a {self.type()} with {type(index).__name__}")
        if not -self.size() <= index < self.size():
            raise IndexError(f"index {index} out of range for storage of size {self.size()}")
        return index % self.size()

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        return self._elements()[self._place(index)].item()

    def __setitem__(self, index: Any, value: Any) -> None:
        place = index if isinstance(index, slice) else self._place(index)
        self._elements()[place] = tensor(value, dtype=self.dtype) if isinstance(value, (list, tuple)) else value

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def tolist(self) -> list:
        """Return its elements as Python numbers."""
        return self._elements().tolist()

    def fill_(self, value: Any) -> TypedStorage:
        """Set every element, and return the storage."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> TypedStorage:
        """Copy the elements of a storage of the same size, cast, into this one, and return it."""
        other = source._elements() if isinstance(source, TypedStorage) else bytes_tensor(source)
        self._elements().copy_(other, non_blocking)
        return self

    def resize_(self, size: int) -> TypedStorage:
        """Give it room for `size` elements; the first ones stay."""
        stand_in = new_tensor(self._elements().handle, bytes_tensor(self._untyped_storage).key_set)
        stand_in.storage_cell = self._untyped_storage._cell
        F.resize_(stand_in, [size])
        return self

    # -- copies ------------------------------------------------------------------------

    def _cast(self, wanted: dtype) -> TypedStorage:
        if wanted is self.dtype:
            return self
        return TypedStorage(wrap_storage=self._elements().to(wanted).untyped_storage(), dtype=wanted)

    def to(self, device: Any) -> TypedStorage:
        """Return its elements on a device: itself if it is there already."""
        moved = self._untyped_storage.to(device)
        return self if moved is self._untyped_storage else TypedStorage(wrap_storage=moved, dtype=self.dtype)

    def cpu(self) -> TypedStorage:
        """Return its elements on the CPU."""
        return self.to("cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> TypedStorage:
        """Return its elements on a CUDA device."""
        return self.to("cuda" if device is None else device)

    def clone(self) -> TypedStorage:
        """Return a copy on the same device."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TypedStorage) and self.dtype is other.dtype and self._untyped_storage == other._untyped_storage
        )

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        lines = "".join(f" {value}\n" for value in self.tolist()) if self.device.type != "meta" else "...\n"
        return f"{lines}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {self.size()}]"


def _caster(word: str) -> Any:
    def method(self: TypedStorage) -> TypedStorage:
        return self._cast(_WORDS[word])

    method.__doc__ = f"Return its elements as {_WORDS[word].name}."
    return method


for _name, _word in (
    ("float", "Float"), ("double", "Double"), ("half", "Half"), ("bfloat16", "BFloat16"), ("byte", "Byte"), ("char", "Char"),
    ("short", "Short"), ("int", "Int"), ("long", "Long"), ("bool", "Bool"), ("complex_float", "ComplexFloat"),
    ("complex_double", "ComplexDouble"),
):  # fmt: skip
    setattr(TypedStorage, _name, _caster(_word))


class StorageType(type):
    """The class of ``FloatStorage`` and its kind: calling one makes a `TypedStorage` of its dtype.

    Attributes
    ----------
    dtype : dtype
    """

    dtype: dtype

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return TypedStorage(*args, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, TypedStorage) and value.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.{cls.__name__}'>"


_types: dict[str, StorageType] = {}


def storage_type(name: str) -> StorageType:
    """Return ``FloatStorage``, ``LongStorage``, ... by its name."""
    found = _types.get(name)
    if found is None:
        element = _WORDS[name.removesuffix("Storage")]
        found = _types[name] = StorageType(name, (), {"__doc__": f"Storages of {element.name}.", "dtype": element})
    return found


def storage_of(self: TensorBase) -> TypedStorage:
    """Return the memory that it shares with its views, as elements of its dtype."""
    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)  # type: ignore[attr-defined]


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return storage_type(name)
    raise AttributeError(f"module 'minitorch.tensor.typed_storage' has no attribute {name!r}")
