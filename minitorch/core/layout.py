"""Layouts: how the elements of a tensor are kept."""

from __future__ import annotations

__all__ = [
    "jagged",
    "layout",
    "sparse_bsc",
    "sparse_bsr",
    "sparse_coo",
    "sparse_csc",
    "sparse_csr",
    "strided",
]

LAYOUTS: dict[str, layout] = {}
"""Every layout by its name."""


class layout:
    """How the elements of a tensor are kept; one object per layout."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name
        LAYOUTS[name] = self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self):
        return _layout_by_name, (self.name,)

    def __copy__(self) -> layout:
        return self

    def __deepcopy__(self, memo) -> layout:
        return self


def _layout_by_name(name: str) -> layout:
    return LAYOUTS[name]


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
