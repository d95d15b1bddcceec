"""Named tuples for operators with several results: ``torch.return_types.max(values=..., indices=...)``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def make_return_type(name: str, fields: tuple[str, ...]) -> Any:
    """Return a named tuple type that prints as PyTorch's do."""
    cls = namedtuple(name, fields)

    def shown(self) -> str:
        body = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{body})"

    cls.__repr__ = shown  # type: ignore[method-assign]
    cls.__module__ = __name__
    globals()[name] = cls
    return cls
