"""``torch.backends.cudnn``: settings of a library of convolutions that is not used here; programs set them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = False
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = False


def is_available() -> bool:
    """Return whether the library is used: False."""
    return False


def version() -> int | None:
    """Return the library's version: None."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """Return whether the library takes a tensor: False."""
    return False


@contextmanager
def flags(**settings: Any) -> Iterator[None]:
    """Scope with other settings, which decide nothing here."""
    yield
