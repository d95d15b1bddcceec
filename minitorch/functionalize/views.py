"""Views as data: the steps by which a functional tensor is reached from its base.

Each step knows its way forward, from the value of what it is a view of to its own, and its way
back, from a changed value to the base that this makes (`inverses`).
"""

from __future__ import annotations

from typing import Any

from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.operator import OPERATORS, Operator
from minitorch.functionalize import layout

# The operators whose results stand for views where views are not made again (F5).
COPY_OF = {
    "_conj": "_conj_copy",
    "_neg_view": "_neg_view_copy",
    "alias": "alias_copy",
    "as_strided": "as_strided_copy",
    "detach": "detach_copy",
    "diagonal": "diagonal_copy",
    "expand": "expand_copy",
    "permute": "permute_copy",
    "select.int": "select_copy.int",
    "slice.Tensor": "slice_copy.Tensor",
    "split.Tensor": "split_copy.Tensor",
    "split_with_sizes": "split_with_sizes_copy",
    "squeeze": "squeeze_copy",
    "squeeze.dim": "squeeze_copy.dim",
    "squeeze.dims": "squeeze_copy.dims",
    "t": "t_copy",
    "transpose.int": "transpose_copy.int",
    "unbind.int": "unbind_copy.int",
    "unfold": "unfold_copy",
    "unsqueeze": "unsqueeze_copy",
    "view": "view_copy",
    "view.dtype": "view_copy.dtype",
    "view_as_complex": "view_as_complex_copy",
    "view_as_real": "view_as_real_copy",
}
# They ask how the value lies in memory (layout, Note [Two layouts]).
_READ_MEMORY = frozenset(("view", "view.dtype", "view_as_complex"))


def make_view(name: str, copies: bool, value: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the view that a view operator makes of a value, or a copy of the view."""
    if name in _READ_MEMORY and not (copies and name == "view"):
        value = layout.for_view(name, value, args)
    op = OPERATORS["aten::" + (COPY_OF[name] if copies else name)]
    return op.call((value, *args), kwargs or None)


class ViewStep:
    """One view in the chain of a functional tensor.

    Attributes
    ----------
    name : str
        The view operator, ``"select.int"``.
    args, kwargs
        Its arguments after the first.
    output : int
        Which output it is; -1 for the only one.
    copies : bool
        Whether it is made with a ``*_copy`` operator.
    source, geometry : MetaArray
        How what it is a view of lies in the memory that the program knows, and how it does itself.
    """

    __slots__ = ("args", "copies", "geometry", "kwargs", "name", "output", "source")

    def __init__(
        self,
        op: Operator,
        args: tuple,
        kwargs: dict | None,
        output: int,
        copies: bool,
        source: MetaArray,
        geometry: MetaArray,
    ):
        self.name = op.unqualified
        self.args = args
        self.kwargs = kwargs or {}
        self.output = output
        self.copies = copies
        self.source = source
        self.geometry = geometry

    def make_all(self, value: Any) -> Any:
        """Return what the operator makes of the value of its source: a view, or a list of them."""
        if self.name == "as_strided":
            value, shift = layout.laid_out(value, self.source)
            size, stride, offset = self.args
            return make_view(self.name, self.copies, value, size, stride, offset + shift)
        return make_view(self.name, self.copies, value, *self.args, **self.kwargs)

    def forward(self, value: Any) -> Any:
        """Return this view of the value of its source."""
        made = self.make_all(value)
        return made if self.output < 0 else made[self.output]

    def check_changeable(self) -> None:
        """Raise RuntimeError if this view has no inverse: its elements overlap."""
        from minitorch.functionalize.inverses import check_changeable

        check_changeable(self)

    def inverse(self, base: Any, changed: Any) -> Any:
        """Return the value of the source after this view of it, whose old value is `base`, became `changed`."""
        from minitorch.functionalize.inverses import INVERSES

        return INVERSES[self.name](self, base, changed)
