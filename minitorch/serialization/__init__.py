"""Files: `save` and `load` in PyTorch's format, safe by default."""

from __future__ import annotations

from minitorch.serialization.reading import load
from minitorch.serialization.safe_globals import (
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    safe_globals,
)
from minitorch.serialization.writing import save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]
