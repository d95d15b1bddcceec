"""`Size`: the shape of a tensor, a tuple of int."""

from __future__ import annotations

from operator import index as as_index

from minitorch.core.symbolic import SymInt

_new_tuple = tuple.__new__


class Size(tuple):
    """The shape of a tensor: a tuple of int that knows its number of elements.

    Parameters
    ----------
    sizes : iterable of int
    """

    __slots__ = ()

    def __new__(cls, sizes=()) -> Size:
        items = []
        for i, n in enumerate(sizes):
            try:
                items.append(n if isinstance(n, SymInt) else as_index(n))
            except TypeError:
                raise TypeError(
                    f"torch.Size() takes an iterable of 'int' (item {i} is '{type(n).__name__}')"
                ) from None
        return _new_tuple(cls, items)

    def numel(self) -> int:
        """Return the number of elements: the product of the sizes."""
        count = 1
        for n in self:
            count *= n
        return count

    def __getitem__(self, key):
        item = tuple.__getitem__(self, key)
        return _new_tuple(Size, item) if isinstance(key, slice) else item

    def __add__(self, other) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return Size(tuple.__add__(self, other))

    def __radd__(self, other) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(
                f"can only concatenate tuple (not {type(other).__name__}) to torch.Size"
            )
        return Size(tuple.__add__(other, self))

    def __mul__(self, count) -> Size:
        return _new_tuple(Size, tuple.__mul__(self, count))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(repr, self))}])"

    def __reduce__(self):
        return Size, (tuple(self),)


class _Interned(dict):
    """Sizes by the plain tuple they were made of; a bounded cache."""

    __slots__ = ()
    limit = 4096

    def __missing__(self, shape: tuple) -> Size:
        if len(self) >= self.limit:
            self.clear()
        self[shape] = size = Size(shape)
        return size


make_size = _Interned().__getitem__
"""``make_size(shape)`` returns the `Size` of a tuple of int, at the cost of one dict probe."""
