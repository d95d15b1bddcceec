"""Keeps freed memory with the process: glibc would give each large block back to the kernel.

A block that went back is mapped, faulted in page by page and zeroed again at the next result of
that size, which costs more than most kernels.  `docs/decisions/0003-kept-memory.md` has numbers.
"""

from __future__ import annotations

import ctypes
import os

SWITCH = "MINITORCH_KEEP_MEMORY"
"""The environment variable that, set to 0, leaves the C library's allocator as it is."""

_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_LARGEST_THRESHOLD = 32 << 20  # glibc refuses more: larger blocks are mapped one by one
_NEVER = (1 << 31) - 1


def _glibc():
    """Return the C library if it is glibc, else None."""
    try:
        library = ctypes.CDLL(None)
        library.gnu_get_libc_version  # noqa: B018 - other C libraries lack it
        return library
    except (OSError, AttributeError, TypeError):
        return None


def keep_freed_memory() -> bool:
    """Make the C library keep freed blocks of up to 32 MiB for the next ones; return whether it does."""
    if os.environ.get(SWITCH, "1") == "0":
        return False
    library = _glibc()
    if library is None:
        return False
    mapped = library.mallopt(_M_MMAP_THRESHOLD, _LARGEST_THRESHOLD)
    trimmed = library.mallopt(_M_TRIM_THRESHOLD, _NEVER)
    return bool(mapped and trimmed)


def release_freed_memory() -> bool:
    """Give freed memory back to the system; return whether there was any."""
    library = _glibc()
    return library is not None and bool(library.malloc_trim(0))
