"""`load`: files written by `save` or by PyTorch, read without running anything that they say.

Note [Safe loading]
    A pickle is a program.  The default reader runs only the instructions that build
    containers, numbers and texts, looks names up in a list (`restoring.allowed_globals`, and
    what the user allowed with `add_safe_globals`), and calls only functions of that list, which
    check their arguments.  ``weights_only=False`` reads any pickle, and so runs whatever the
    file's author wanted; it is for files one has written oneself.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from minitorch.core.device import device
from minitorch.serialization.archive import ArchiveReader
from minitorch.serialization.names import StorageKind
from minitorch.serialization.restoring import DamagedFile, LoadedStorage, UnusableDevice, allowed_globals
from minitorch.serialization.safe_globals import user_globals
from minitorch.tensor.storage import UntypedStorage

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_NOT_SAFE = (
    "load(): the file was not read because it wants more than weights_only=True allows: {why}\n"
    "If you trust who wrote it, allow the name with minitorch.serialization.add_safe_globals, or read the file with "
    "weights_only=False, which runs whatever code is in it."
)


def _refuse(why: str) -> pickle.UnpicklingError:
    return pickle.UnpicklingError(_NOT_SAFE.format(why=why))


_PythonUnpickler: Any = pickle._Unpickler  # type: ignore[attr-defined]  # the one whose instructions can be chosen


class SafeUnpickler(_PythonUnpickler):
    """Reads a pickle by Note [Safe loading]."""

    def __init__(self, file: Any, read_storage: Callable[..., LoadedStorage], **options: Any):
        super().__init__(file, **options)
        self._read_storage = read_storage
        self._storage_error: Exception | None = None
        self._names = {**allowed_globals(), **user_globals()}
        self._classes = set(user_globals().values())
        kept = self._names.values()
        self._functions = [v for v in kept if callable(v)]

    def find_class(self, module: str, name: str) -> Any:
        found = self._names.get((module, name))
        if found is None:
            raise _refuse(f"the name {module}.{name} is not allowed.")
        return found

    def persistent_load(self, pid: Any) -> Any:
        try:
            return self._read_storage(pid).untyped()
        except Exception as error:
            self._storage_error = error  # of map_location, or clear already
            raise

    def _allowed(self, function: Any) -> bool:
        return any(function is f for f in self._functions)

    def load_reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        if not self._allowed(function) or not isinstance(args, tuple):
            raise _refuse("it calls something that is no allowed function.")
        self.stack[-1] = function(*args)

    def load_newobj(self) -> None:
        args = self.stack.pop()
        cls = self.stack.pop()
        if cls is OrderedDict or cls in self._classes:
            self.append(cls.__new__(cls, *args))
        else:
            raise _refuse(f"it makes an instance of {cls!r:.80}.")

    def load_build(self) -> None:
        state = self.stack.pop()
        target = self.stack[-1]
        if type(target) is OrderedDict and isinstance(state, dict):
            target.__dict__.update(state)  # `_metadata` of a state_dict
        elif type(target) in self._classes:
            self._set_state(target, state)
        else:
            raise _refuse(f"it sets the state of {type(target).__name__}.")

    def _set_state(self, target: Any, state: Any) -> None:
        if hasattr(target, "__setstate__"):
            target.__setstate__(state)
        elif isinstance(state, dict):
            target.__dict__.update(state)
        elif isinstance(state, tuple) and len(state) == 2:
            target.__dict__.update(state[0] or {})
            for name, value in (state[1] or {}).items():
                setattr(target, name, value)
        else:
            raise _refuse(f"it sets the state of {type(target).__name__} in no known way.")

    def load_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self._expect(self.stack[-1], dict)[key] = value

    def load_setitems(self) -> None:
        items = self.pop_mark()
        target = self._expect(self.stack[-1], dict)
        for at in range(0, len(items) - 1, 2):
            target[items[at]] = items[at + 1]

    def load_append(self) -> None:
        value = self.stack.pop()
        self._expect(self.stack[-1], list).append(value)

    def load_appends(self) -> None:
        items = self.pop_mark()
        self._expect(self.stack[-1], list).extend(items)

    def load_additems(self) -> None:
        items = self.pop_mark()
        self._expect(self.stack[-1], set).update(items)

    @staticmethod
    def _expect(target: Any, kind: type) -> Any:
        if not isinstance(target, kind):
            raise _refuse(f"it adds to a {type(target).__name__} as if it were a {kind.__name__}.")
        return target

    def load(self) -> Any:
        try:
            return super().load()
        except (pickle.UnpicklingError, DamagedFile):
            raise
        except KeyError as error:
            if error is self._storage_error:
                raise
            raise _refuse(f"its pickle has an instruction or a reference that is not allowed ({error}).") from error
        except (
            EOFError, IndexError, ValueError, TypeError, AttributeError, UnicodeError, OverflowError, RecursionError,
            MemoryError, RuntimeError, struct.error,
        ) as error:
            if error is self._storage_error:
                raise
            raise DamagedFile(f"load(): the file's pickle is damaged ({type(error).__name__}: {error})") from error


_INHERITED = (
    "PROTO FRAME MARK STOP POP POP_MARK NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT "
    "BINFLOAT STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 BINBYTES "
    "SHORT_BINBYTES BINBYTES8 BYTEARRAY8 TUPLE EMPTY_TUPLE TUPLE1 TUPLE2 TUPLE3 LIST EMPTY_LIST DICT EMPTY_DICT "
    "EMPTY_SET FROZENSET GET BINGET LONG_BINGET PUT BINPUT LONG_BINPUT MEMOIZE GLOBAL STACK_GLOBAL BINPERSID"
)


def _instructions() -> dict[int, Any]:
    """Return the instructions that `SafeUnpickler` runs."""
    base = _PythonUnpickler.dispatch
    found = {getattr(pickle, name)[0]: base[getattr(pickle, name)[0]] for name in _INHERITED.split()}
    for name in ("REDUCE", "NEWOBJ", "BUILD", "SETITEM", "SETITEMS", "APPEND", "APPENDS", "ADDITEMS"):
        found[getattr(pickle, name)[0]] = getattr(SafeUnpickler, f"load_{name.lower()}")
    return found


SafeUnpickler.dispatch = _instructions()


class _FullUnpickler(pickle.Unpickler):
    """Reads any pickle; names of PyTorch become ours."""

    def __init__(self, file: Any, read_storage: Callable[..., LoadedStorage], **options: Any):
        super().__init__(file, **options)
        self._read_storage = read_storage
        self._names = allowed_globals()

    def find_class(self, module: str, name: str) -> Any:
        found = self._names.get((module, name))
        if found is not None:
            return found
        if module.partition(".")[0] == "torch":
            module = "minitorch" + module.removeprefix("torch")
        return super().find_class(module, name)

    def persistent_load(self, pid: Any) -> Any:
        return self._read_storage(pid).untyped()


class _Storages:
    """Finds the storages that a pickle refers to."""

    def __init__(self, place: Callable[[LoadedStorage, str], None]):
        self._place = place
        self.known: dict[str, LoadedStorage] = {}

    def parse(self, pid: Any) -> tuple[StorageKind, str, str, int]:
        if (
            not isinstance(pid, tuple) or len(pid) < 5 or pid[0] not in ("storage", b"storage")
            or not isinstance(pid[1], StorageKind) or type(pid[4]) is not int or pid[4] < 0
        ):
            raise DamagedFile(f"load(): the file refers to a storage in no known way: {pid!r:.80}")
        return pid[1], str(pid[2]), str(pid[3]), pid[4]

    def add(self, key: str, storage: LoadedStorage, location: str) -> LoadedStorage:
        self._place(storage, location)
        self.known[key] = storage
        return storage


def _read_archive(reader: ArchiveReader, place: Any, unpickler: Any, mapped: bool, options: dict) -> Any:
    storages = _Storages(place)
    order = sys.byteorder
    if reader.has("byteorder"):
        order = reader.read("byteorder").tobytes().decode(errors="replace")
        if order not in ("little", "big"):
            raise DamagedFile(f"load(): the file has byte order {order!r:.20}, which is none")

    def read_storage(pid: Any) -> LoadedStorage:
        kind, key, location, count = storages.parse(pid)
        found = storages.known.get(key)
        if found is not None:
            return found
        data = reader.map(f"data/{key}") if mapped else reader.read(f"data/{key}")
        if data.size < count * kind.itemsize:
            raise DamagedFile(
                f"load(): storage {key} has {data.size} bytes, and {count} elements of {kind.itemsize} were saved"
            )
        if order != sys.byteorder:
            data = _swapped(data, kind)
        return storages.add(key, LoadedStorage(data, kind.element), location)

    pickled = io.BytesIO(reader.read("data.pkl").tobytes())
    return unpickler(pickled, read_storage, **options).load()


def _swapped(data: np.ndarray, kind: StorageKind) -> np.ndarray:
    """Return the bytes of a storage in the other order."""
    width = kind.itemsize // 2 if kind.element is not None and kind.element.is_complex else kind.itemsize
    if width == 1:
        return data
    whole = data.size // width * width
    out = data.copy()
    out[:whole] = data[:whole].view(f"u{width}").byteswap().view(np.uint8)
    return out


def _read_old(file: Any, place: Any, unpickler: Any, options: dict) -> Any:
    """Read the format from before PyTorch 1.6: pickles one after the other, then the storages."""

    def none(pid: Any) -> LoadedStorage:
        raise DamagedFile("load(): the file refers to a storage before it has any")

    try:
        if SafeUnpickler(file, none).load() != _MAGIC:
            raise DamagedFile(_NO_FILE)
        protocol = SafeUnpickler(file, none).load()
    except (DamagedFile, pickle.UnpicklingError) as error:
        raise DamagedFile(_NO_FILE) from error
    if protocol != _PROTOCOL:
        raise DamagedFile(f"load(): the file has protocol version {protocol!r:.20}; {_PROTOCOL} is known")
    SafeUnpickler(file, none).load()  # facts about the machine
    start = file.tell()
    available = file.seek(0, os.SEEK_END) - start
    file.seek(start)

    def read(place: Any, contents: dict[str, np.ndarray] | None) -> tuple[Any, _Storages]:
        storages = _Storages(place)

        def read_storage(pid: Any) -> LoadedStorage:
            kind, key, location, count = storages.parse(pid)
            if len(pid) > 5 and pid[5] is not None:
                raise DamagedFile("load(): the file has views of storages, as PyTorch wrote before 0.4; save it anew")
            if key not in storages.known:
                if count * kind.itemsize > available:
                    raise DamagedFile(f"load(): storage {key} is longer than the file")
                data = np.empty(count * kind.itemsize, np.uint8) if contents is None else contents[key]
                storages.add(key, LoadedStorage(data, kind.element), location)
            return storages.known[key]

        file.seek(start)
        return unpickler(file, read_storage, **options).load(), storages

    # Once to learn what storages there are, once more when they are read and can be moved.
    _, storages = read(lambda storage, location: None, None)
    keys = SafeUnpickler(file, none).load()
    if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(storages.known):
        raise DamagedFile("load(): the file's list of storages is not that of its tensors")
    contents: dict[str, np.ndarray] = {}
    for key in keys:
        storage = storages.known[str(key)]
        width = 1 if storage.element is None else storage.element.itemsize
        count = int.from_bytes(file.read(8), "little")
        if count * width != storage.data.size:
            raise DamagedFile(f"load(): storage {key} has {count} elements, and {storage.data.size // width} were saved")
        data = file.read(storage.data.size)
        if len(data) != storage.data.size:
            raise DamagedFile("load(): the file is truncated")
        storage.data[:] = np.frombuffer(data, np.uint8)
        contents[str(key)] = storage.data
    result, _ = read(place, contents)
    return result


_NO_FILE = "load(): this is no file that save() or PyTorch wrote, or it is damaged at its beginning."


def _placing(map_location: Any) -> Callable[[LoadedStorage, str], None]:
    """Return the function that puts a storage where ``map_location`` says."""

    def move(storage: LoadedStorage, location: str, asked: bool) -> None:
        try:
            target = device(location)
            storage.move(target)
        except (RuntimeError, NotImplementedError, ImportError) as error:
            what = "map_location asks for" if asked else "the file has storages of"
            raise UnusableDevice(
                f"load(): {what} device {location!r}, which cannot be used here. Pass map_location='cpu', or another "
                "device that is there."
            ) from error

    if map_location is None:
        return lambda storage, location: move(storage, location, False)
    if isinstance(map_location, (str, bytes, device)):
        name = map_location.decode("ascii") if isinstance(map_location, bytes) else str(map_location)
        return lambda storage, location: move(storage, name, True)
    if isinstance(map_location, dict):
        return lambda storage, location: move(storage, str(map_location.get(location, location)), location in map_location)
    if not callable(map_location):
        raise TypeError(
            f"load(): map_location must be a device, its name, a dict or a function, not {type(map_location).__name__}"
        )

    def call(storage: LoadedStorage, location: str) -> None:
        chosen = map_location(storage.untyped(), location)
        if chosen is None:
            move(storage, location, False)
        elif isinstance(chosen, UntypedStorage):
            storage.replace(chosen)
        else:
            raise TypeError(f"load(): map_location must return a storage or None, not {type(chosen).__name__}")

    return call


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Return what a file written by `save`, or by PyTorch, holds.

    By default nothing in the file is run: it may hold tensors, parameters, containers, numbers, texts, dtypes,
    devices and sizes, and classes allowed by `minitorch.serialization.add_safe_globals`.

    Parameters
    ----------
    f : str, path, or file with ``read``, ``seek`` and ``tell``
    map_location : device, str, dict or callable, optional
        Where storages go: a device for all; a dict from saved to wanted device names; a function of an
        `UntypedStorage` on the CPU and its saved location, which returns a storage or None.
    weights_only : bool, optional
        False reads any pickle, which runs code that the file names.  True by default.
    mmap : bool, optional
        Map the storages into memory instead of reading them (`f` must be a path).  Writing to
        the tensors does not change the file.

    Raises
    ------
    RuntimeError
        If the file is damaged or truncated, or names a device that is not there.
    pickle.UnpicklingError
        If it wants more than ``weights_only`` allows.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> import io
    >>> file = io.BytesIO()
    >>> minitorch.save(minitorch.arange(3), file)
    >>> file.seek(0)
    0
    >>> minitorch.load(file)
    tensor([0, 1, 2])
    """
    safe = True if weights_only is None else weights_only
    if safe and pickle_module is not None:
        raise RuntimeError("load(): pickle_module cannot be given with weights_only=True")
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("load(): mmap=True needs the path of a file")
    unpickler: Any = SafeUnpickler if safe else _FullUnpickler
    options = {"encoding": "utf-8", **pickle_load_args}
    place = _placing(map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, place, unpickler, os.fspath(f) if mmap else None, bool(mmap), options)
    if not all(hasattr(f, name) for name in ("read", "seek", "tell")):
        raise AttributeError(
            f"load(): expected 'f' to be a path or a file that can be read and sought, not {type(f).__name__}"
        )
    return _read(f, place, unpickler, None, False, options)


def _read(file: Any, place: Any, unpickler: Any, path: Any, mapped: bool, options: dict) -> Any:
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not head:
        raise EOFError("load(): the file is empty")
    if head == b"PK\x03\x04":
        if start:
            file = io.BytesIO(file.read())
        return _read_archive(ArchiveReader(file, path), place, unpickler, mapped, options)
    if mapped:
        raise RuntimeError("load(): mmap=True needs a file in the zip format; load it without, and save it anew")
    return _read_old(file, place, unpickler, options)
