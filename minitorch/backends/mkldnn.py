"""``torch.backends.mkldnn``: settings of a library of neural network kernels that is not used here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

enabled = False
deterministic = False
allow_tf32 = False


def is_available() -> bool:
    """Return whether the library is used: False."""
    return False


@contextmanager
def flags(**settings: Any) -> Iterator[None]:
    """Scope with other settings, which decide nothing here."""
    yield
