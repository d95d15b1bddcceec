"""`swap_tensors`: exchange what two tensors are, class included, so that whoever holds one holds the other."""

from __future__ import annotations

import weakref
from typing import Any

_FIELDS = (
    "autograd_meta", "extra", "grad_slot", "handle", "key_set", "node", "output_nr", "requires_grad_flag", "shape_cache",
    "storage_cell", "tracked", "version_counter", "view_info",
)  # fmt: skip


def swap_tensors(t1: Any, t2: Any) -> None:
    """Exchange two tensors in place: memory, class, attributes, gradient and history.

    Whoever holds `t1` sees from then on what `t2` was, and the other way around.

    Raises
    ------
    RuntimeError
        If there are weak references to one of them, whose callbacks would be those of the other; or if one is of
        a class with slots that the other's has not.

    Examples
    --------
    >>> a, b = minitorch.ones(2), minitorch.zeros(3)
    >>> minitorch.utils.swap_tensors(a, b)
    >>> a, b
    (tensor([0., 0., 0.]), tensor([1., 1.]))
    """
    for tensor in (t1, t2):
        if weakref.getweakrefs(tensor):
            raise RuntimeError(f"Cannot swap {type(tensor).__name__}: there are weak references to it")
    if _slots(type(t1)) != _slots(type(t2)):
        raise RuntimeError(
            f"Cannot swap t1 and t2 if they have different slots: {type(t1).__name__} and {type(t2).__name__}"
        )
    # Where the core runs interpreted, most fields are in the dictionary.
    names = [name for name in (*_FIELDS, *_slots(type(t1))) if name not in t1.__dict__ and name not in t2.__dict__]
    values = [(name, getattr(t1, name, None), getattr(t2, name, None)) for name in names]
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    t1.__dict__, t2.__dict__ = t2.__dict__, t1.__dict__
    for name, first, second in values:
        setattr(t1, name, second)
        setattr(t2, name, first)


def _slots(cls: type) -> tuple[str, ...]:
    """Return the slots that a subclass of Tensor adds."""
    from minitorch.tensor.tensor import Tensor

    names = [name for base in cls.__mro__ if base not in Tensor.__mro__ for name in base.__dict__.get("__slots__", ())]
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))
