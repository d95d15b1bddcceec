"""PyTorch's file format: a zip archive of one pickle and the bytes of each storage.

Entries are stored, not compressed, and their data start at multiples of 64 bytes, so that a
storage can be mapped into memory where it lies.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ALIGNMENT = 64
_ROOT = "archive"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same object makes the same file
_LOCAL_HEADER = 30


class ArchiveWriter:
    """Writes the entries of an archive to a binary file that can be sought."""

    def __init__(self, file: Any):
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self._digest = hashlib.sha256()

    def write(self, name: str, data: Any) -> None:
        """Append an entry of bytes or of a contiguous uint8 array."""
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        info = zipfile.ZipInfo(f"{_ROOT}/{name}", _DATE)
        info.file_size = len(view)
        assert self._zip.fp is not None
        start = self._zip.fp.tell() + _LOCAL_HEADER + len(info.filename) + 4
        padding = -start % ALIGNMENT
        info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
        self._digest.update(name.encode() + b"\0")
        with self._zip.open(info, "w") as entry:
            for at in range(0, len(view), 1 << 24):
                part = view[at : at + (1 << 24)]
                self._digest.update(part)
                entry.write(part)

    def close(self) -> None:
        """Write what ends an archive."""
        self.write("version", b"3\n")
        number = int.from_bytes(self._digest.digest(), "little")
        self.write(".data/serialization_id", f"{number:040d}"[:40].encode())
        self._zip.close()


def write_archive(file: Any, pickled: bytes, storages: dict[str, Any]) -> None:
    """Write an archive.

    Parameters
    ----------
    storages : dict of str to uint8 array
        By key, as the pickle names them.
    """
    writer = ArchiveWriter(file)
    writer.write("data.pkl", pickled)
    writer.write(".format_version", b"1")
    writer.write(".storage_alignment", str(ALIGNMENT).encode())
    writer.write("byteorder", sys.byteorder.encode())
    for key, data in storages.items():
        writer.write(f"data/{key}", data)
    writer.close()


def replace_file(path: str | os.PathLike, write: Callable[[Any], None]) -> None:
    """Write a file as a whole or not at all: a crash leaves what was there before.

    The new file is written beside the old one, flushed to the disk, and takes its name.
    """
    target = Path(os.path.realpath(path))
    try:
        mode: int | None = target.stat().st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(f"save(): {str(path)!r} is a directory")
        with open(target, "wb") as device:
            write(device)
        return
    if not target.parent.is_dir():
        raise RuntimeError(f"Parent directory {target.parent} does not exist.")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(mode) if mode is not None else 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    value = os.umask(0)
    os.umask(value)
    return value


class ArchiveReader:
    """Reads the entries of an archive.

    Parameters
    ----------
    file : binary file that can be sought
    path : str or None
        Where it lies, if it is to be mapped into memory.

    Raises
    ------
    RuntimeError
        If it is no archive of PyTorch's, is damaged, or was compressed.
    """

    def __init__(self, file: Any, path: str | None = None):
        self._file = file
        self._path = path
        self._size = file.seek(0, os.SEEK_END)
        try:
            self._zip = zipfile.ZipFile(file)
            names = self._zip.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, EOFError, NotImplementedError, UnicodeDecodeError) as error:
            raise RuntimeError(f"load(): this is a damaged or truncated zip archive ({error}). {_HINT}") from error
        pickles = [name for name in names if name.count("/") == 1 and name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise RuntimeError(f"load(): this zip archive has no data.pkl, so PyTorch did not write it. {_HINT}")
        self._root = pickles[0].partition("/")[0]
        if f"{self._root}/constants.pkl" in names:
            raise RuntimeError(
                "load(): this is a TorchScript program, not saved data. Save the model's state_dict() instead."
            )

    def has(self, name: str) -> bool:
        """Return whether there is an entry called `name`."""
        return f"{self._root}/{name}" in self._zip.NameToInfo

    def _info(self, name: str) -> zipfile.ZipInfo:
        info = self._zip.NameToInfo.get(f"{self._root}/{name}")
        if info is None:
            raise RuntimeError(f"load(): the archive has no entry {name!r}. {_HINT}")
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > self._size:
            raise RuntimeError(f"load(): entry {name!r} is compressed or longer than the file. {_HINT}")
        return info

    def read(self, name: str) -> np.ndarray:
        """Return an entry as a new uint8 array, its checksum verified."""
        info = self._info(name)
        data = np.empty(info.file_size, np.uint8)
        try:
            with self._zip.open(info) as entry:
                view = memoryview(data)  # type: ignore[arg-type]
                at = 0
                while at < len(view):
                    count = entry.readinto(view[at : at + (1 << 24)])  # type: ignore[attr-defined]
                    if not count:
                        raise EOFError("the entry ends early")
                    at += count
                entry.read(1)  # the checksum is compared at the end
        except (zipfile.BadZipFile, OSError, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
            raise RuntimeError(f"load(): entry {name!r} is damaged ({error}). {_HINT}") from error
        return data

    def map(self, name: str) -> np.ndarray:
        """Return an entry as an array over the file's own memory; writing to it does not change the file."""
        info = self._info(name)
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
            raise RuntimeError(f"load(): entry {name!r} has no header. {_HINT}")
        names, extra = int.from_bytes(header[26:28], "little"), int.from_bytes(header[28:30], "little")
        start = info.header_offset + _LOCAL_HEADER + names + extra
        if start + info.file_size > self._size:
            raise RuntimeError(f"load(): entry {name!r} is longer than the file. {_HINT}")
        if not info.file_size or self._path is None:
            return np.empty(0, np.uint8) if not info.file_size else self.read(name)
        return np.memmap(self._path, np.uint8, "c", start, (info.file_size,)).view(np.ndarray)


_HINT = "Save or download it again."
