"""`__array_namespace_info__`: what a program may ask about this namespace."""

from __future__ import annotations

from typing import Any

import minitorch as mt
from minitorch.array_api.data_types import KINDS


class Inspection:
    """Answers about the namespace: what it can do, its dtypes and devices."""

    def capabilities(self) -> dict[str, Any]:
        """Return whether there are boolean indexing and shapes that depend on data, and how many dimensions at most."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> Any:
        """Return the device where arrays are made."""
        return mt.get_default_device()

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the dtypes that arrays of each kind are made with. They are the same on all devices."""
        default = mt.get_default_dtype()
        return {
            "real floating": default,
            "complex floating": default.to_complex(),
            "integral": mt.int64,
            "indexing": mt.int64,
        }

    def dtypes(self, *, device: Any = None, kind: str | tuple[str, ...] | None = None) -> dict[str, Any]:
        """Return the standard's dtypes of a kind, or of several, by their names; of all when `kind` is None.

        Raises
        ------
        ValueError
            If there is no kind of that name.
        """
        if kind is None:
            kind = ("bool", "numeric")
        found: dict[str, Any] = {}
        for one in (kind,) if isinstance(kind, str) else kind:
            if one not in KINDS:
                raise ValueError(f"dtypes(): unknown kind {one!r}; there are {', '.join(KINDS)}")
            found.update((dtype.name, dtype) for dtype in KINDS[one])
        return found

    def devices(self) -> tuple[Any, ...]:
        """Return the devices that hold values: the CPU and the accelerators found."""
        accelerator = mt.accelerator.current_accelerator(check_available=True)
        if accelerator is None:
            return (mt.device("cpu"),)
        count = mt.accelerator.device_count()
        return (mt.device("cpu"), *(mt.device(accelerator.type, index) for index in range(count)))


def __array_namespace_info__() -> Inspection:
    """Return an object that answers about the namespace: ``capabilities()``, ``dtypes()``, ``devices()`` and so on.

    Examples
    --------
    >>> import minitorch.array_api as xp
    >>> sorted(xp.__array_namespace_info__().dtypes(kind="real floating"))
    ['float32', 'float64']
    """
    return Inspection()
