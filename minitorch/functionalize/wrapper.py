"""Functional tensors: wrappers whose changes are kept as values, and reach their aliases when those are asked.

Note [Updates]
    Every functional tensor belongs to a `FunctionalStorage`, which holds the value of the base and
    a queue of updates, and is reached from that base by a chain of views.  Whoever changes a tensor
    queues ``(new value, chain)`` and raises the storage's generation.  A tensor whose own generation
    is behind is stale: before it is read, the queued updates are put back into the base, in order,
    each through the inverses of its chain, and the tensor's value is made anew from the base.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.dtype import from_numpy_dtype
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, FUNCTIONALIZE
from minitorch.dispatch.operator import OPERATORS
from minitorch.dispatch.tensor_keys import functional_wrapper_keys
from minitorch.functionalize.layout import geometry_of, view_geometry
from minitorch.functionalize.levels import DEAD, below, level_of, reapplies_views, transform_at
from minitorch.functionalize.views import ViewStep
from minitorch.ops import functions as F
from minitorch.tensor.base import Storage, TensorBase, new_tensor
from minitorch.tensor.memory import MetaMemory
from minitorch.tensor.wrapper import WrapperHandle

Chain = tuple[ViewStep, ...]


class FunctionalStorage(Storage):
    """What all aliases of one functional tensor share (Note [Updates]).

    Attributes
    ----------
    base : TensorBase
        The value of the base, as of the updates that were applied.
    geometry : MetaArray
        How the base lies in memory, as the program knows it.
    original : TensorBase
        The tensor that was wrapped.
    owner : Interpreter or None
        The transform whose level it belongs to; None for level 0.
    level : int
        `levels.DEAD` if the transform has ended.
    generation : int
        How many updates were queued, ever.
    updates : list of (TensorBase, tuple of ViewStep)
        Those that are not in `base` yet.
    """

    __slots__ = ("base", "generation", "geometry", "original", "owner", "updates")

    def __init__(self, base: TensorBase, level: int):
        self.version = 0
        self.original = base
        self.owner = transform_at(level)
        self.generation = 0
        self.replace_base(base)

    @property
    def level(self) -> int:
        return level_of(self.owner)

    def replace_base(self, base: TensorBase) -> None:
        """Make `base`, which may be of another size, the base in place of the old one."""
        self.base = base
        self.geometry = self.root = geometry_of(base)
        self.updates: list[tuple[TensorBase, Chain]] = []

    def commit(self, value: TensorBase, chain: Chain) -> None:
        """Queue the update that the alias reached by `chain` is `value` now."""
        self.updates.append((value, chain))
        self.generation += 1

    def apply_updates(self) -> None:
        """Put the queued updates into the base, in order."""
        for value, chain in self.updates:
            sources = [self.base]
            for step in chain[:-1]:
                sources.append(step.forward(sources[-1]))
            for step, source in zip(reversed(chain), reversed(sources[: len(chain)]), strict=True):
                value = step.inverse(source, value)
            self.base = value
        self.updates = []


class FunctionalMemory(MetaMemory):
    """The memory that a program thinks a functional storage has: its size, and where it would be."""

    def __init__(self, device: Any):
        self.device = device

    def device_of(self, handle: Any) -> Any:
        return self.device


class FunctionalHandle(WrapperHandle):
    """The handle of a functional tensor.

    Attributes
    ----------
    value : TensorBase
        The tensor inside; stale while `generation` is behind the storage's.
    storage : FunctionalStorage
    chain : tuple of ViewStep
        The views by which it is reached from the base of the storage.
    geometry : MetaArray
        How it lies in memory, as the program knows it.
    generation : int
        The storage's when `value` was right.
    level : int
        The level of functionalization that it belongs to.
    """

    __slots__ = ("chain", "generation", "geometry", "storage")

    printed_inline = True

    def __init__(self, value: TensorBase, storage: FunctionalStorage, chain: Chain, geometry: MetaArray):
        self.value = value
        self.storage = storage
        self.chain = chain
        self.geometry = geometry
        self.generation = storage.generation

    @property
    def level(self) -> int:
        return self.storage.level

    @property
    def shape(self) -> tuple:
        return self.geometry.shape

    @property
    def strides(self) -> tuple:
        return self.geometry.strides

    @property
    def dtype(self) -> np.dtype:
        return self.geometry.dtype

    @property
    def itemsize(self) -> int:
        return self.geometry.itemsize

    @property
    def storage_offset(self) -> int:
        return self.geometry.offset // max(self.itemsize, 1)

    def heading(self) -> str:
        return "_to_functional_tensor("

    def readable(self) -> TensorBase:
        """Return the value, synced: losses and splits take sizes from tensors."""
        self.sync()
        return self.value

    def storage_memory(self) -> FunctionalMemory:
        return FunctionalMemory(self.value.device)

    def sync(self) -> None:
        """Make the value right (Note [Updates])."""
        storage = self.storage
        if self.generation == storage.generation:
            return
        with below(storage.level):
            storage.apply_updates()
            value = storage.base
            for step in self.chain:
                value = step.forward(value)
        self.value = value
        self.generation = storage.generation

    def replace(self, value: TensorBase) -> None:
        """Make `value`, of the same shape, the tensor's value: what an in-place operator comes to."""
        for step in self.chain:
            step.check_changeable()
        self.storage.commit(self.fitted(value), self.chain)
        self.sync()

    def fitted(self, value: TensorBase) -> TensorBase:
        """Return a value in the dtype of this tensor."""
        if value.handle.dtype == self.dtype:
            return value
        with below(self.level):
            return F._to_copy(value, dtype=from_numpy_dtype(self.dtype))

    def set_from(self, tensor: Any, source: Any, storage_offset: int, size: Any, stride: Any) -> Any:
        """Do what `Tensor.set_` does to `tensor`, whose handle this is."""
        from minitorch.functionalize.kernels import set_functional

        return set_functional(tensor, source, storage_offset, size, stride)


def handle_at(tensor: Any, level: int) -> FunctionalHandle | None:
    """Return the handle of a functional tensor of `level`; None for all other values.

    A wrapper of a level that has ended stands for the tensor inside.
    """
    while isinstance(tensor, TensorBase) and tensor.key_set & FUNCTIONALIZE:
        handle = tensor.handle
        if not isinstance(handle, FunctionalHandle):
            return None
        found = handle.level
        if found == level:
            return handle
        if DEAD < found < level:
            return None
        tensor = handle.value
    return None


def value_at(tensor: Any, level: int) -> Any:
    """Return the value, synced, of a functional tensor of `level`; all others as they are."""
    while tensor.key_set & FUNCTIONALIZE:
        handle = tensor.handle
        if not isinstance(handle, FunctionalHandle) or DEAD < handle.level < level:
            break
        handle.sync()
        tensor = handle.value
        if handle.level == level:
            break
    return tensor


def wrap_value(value: TensorBase, level: int, geometry: MetaArray | None = None) -> TensorBase:
    """Return a functional tensor of its own around a value; `geometry` is how the program thinks that it lies."""
    storage = FunctionalStorage(value, level)
    if geometry is not None and geometry.shape == storage.geometry.shape and geometry.dtype == storage.geometry.dtype:
        storage.geometry = storage.root = geometry
    return _around(FunctionalHandle(value, storage, (), storage.geometry), value, storage)


def _around(handle: FunctionalHandle, value: TensorBase, counter: Any) -> TensorBase:
    result = new_tensor(handle, functional_wrapper_keys(value.key_set))
    result.storage_cell = handle.storage
    if result.key_set & AD_INPLACE_OR_VIEW:
        result.version_counter = counter
    return result


def view_handles(handle: FunctionalHandle, op: Any, args: tuple, kwargs: dict[str, Any] | None) -> Any:
    """Return the handle of the view that `op` makes of a synced one, or the list of them if it makes several."""
    if op.unqualified == "as_strided":
        size, stride, *rest = args
        offset = rest[0] if rest else None
        args = (list(size), list(stride), handle.storage_offset if offset is None else offset)
        handle = _base_as(handle)
    chain, source = handle.chain, handle.geometry
    geometry = view_geometry(op, source, args, kwargs)
    several = isinstance(geometry, list)
    copies = not reapplies_views()
    steps = [
        ViewStep(op, args, kwargs, i if several else -1, copies, source, g)
        for i, g in enumerate(geometry if several else [geometry])
    ]
    if not steps:
        return []
    with below(handle.level):
        made = steps[0].make_all(handle.value)
    values = list(made) if several else [made]
    handles = [
        FunctionalHandle(v, handle.storage, (*chain, step), step.geometry) for v, step in zip(values, steps, strict=True)
    ]
    return handles if several else handles[0]


def _base_as(handle: FunctionalHandle) -> FunctionalHandle:
    """Return the base of a synced handle, seen in its dtype: `as_strided` starts there, whatever view it is called on."""
    storage = handle.storage
    base = FunctionalHandle(storage.base, storage, (), storage.geometry)
    if base.dtype == handle.dtype:
        return base
    if base.dtype.kind == "c" and handle.dtype.kind == "f" and base.itemsize == 2 * handle.itemsize:
        return view_handles(base, OPERATORS["aten::view_as_real"], (), None)
    return view_handles(base, OPERATORS["aten::view.dtype"], (from_numpy_dtype(handle.dtype),), None)


def wrap_view(source: TensorBase, handle: FunctionalHandle) -> TensorBase:
    """Return the view of a functional tensor that has `handle`: it counts changes with its source."""
    counter = source.counter_of() if source.key_set & AD_INPLACE_OR_VIEW else None
    return _around(handle, handle.value, counter)


# -- for users and transforms ----------------------------------------------------------------------


def is_functional(tensor: Any) -> bool:
    """Return whether a value is a functional tensor, of whatever level."""
    return isinstance(tensor, TensorBase) and isinstance(tensor.handle, FunctionalHandle)


def wrap(tensor: TensorBase, level: int = 0) -> TensorBase:
    """Return a functional tensor whose value is `tensor`.

    Parameters
    ----------
    tensor : Tensor
        Of any shape and dtype; it is never changed.
    level : int
        The level of the transform that wraps, which must be active; 0 outside of transforms.

    Raises
    ------
    TypeError
        If it is no tensor.
    RuntimeError
        If it is a functional tensor of this level, or of one further in, already; or there is no such level.

    Examples
    --------
    >>> from minitorch.functionalize import unwrap, wrap
    >>> plain = minitorch.ones(2)
    >>> x = wrap(plain)
    >>> x.add_(1)
    _to_functional_tensor(tensor([2., 2.]))
    >>> plain, unwrap(x)
    (tensor([1., 1.]), tensor([2., 2.]))
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"_to_functional_tensor(): expected a Tensor, but got {type(tensor).__name__}")
    if is_functional(tensor) and tensor.handle.level >= level:
        raise RuntimeError(
            f"_to_functional_tensor(): the tensor, of shape {list(tensor.shape)}, is a functional tensor already. Wrap a "
            "plain tensor, or take the plain one out with _from_functional_tensor()."
        )
    return wrap_value(tensor, level)


def unwrap(tensor: TensorBase) -> TensorBase:
    """Return the value of a functional tensor, with the changes of its aliases in it.

    Raises
    ------
    RuntimeError
        If it is no functional tensor.
    """
    sync(tensor)
    return tensor.handle.value


def sync(tensor: TensorBase) -> None:
    """Bring the value of a functional tensor up to date with the changes of its aliases.

    Raises
    ------
    RuntimeError
        If it is no functional tensor.
    """
    _handle_of(tensor, "_sync").sync()


def value_without_sync(tensor: TensorBase) -> TensorBase:
    """Return the value of a functional tensor as it is: stale if an alias was changed since.

    Raises
    ------
    RuntimeError
        If it is no functional tensor.
    """
    return _handle_of(tensor, "_from_functional_tensor").value


def _handle_of(tensor: TensorBase, name: str) -> FunctionalHandle:
    """Return the handle of a functional tensor; the public function `name` was given it."""
    if not is_functional(tensor):
        raise RuntimeError(
            f"{name}(): expected a functional tensor, but got {_described(tensor)}. Wrap tensors with _to_functional_tensor()."
        )
    return tensor.handle


def write_back(wrapper_storage: FunctionalStorage) -> bool:
    """Copy what was written to a functional tensor into the tensor that was wrapped; return whether anything was.

    Parameters
    ----------
    wrapper_storage : FunctionalStorage
        ``wrapper.storage_cell`` as it was when `wrap` made the wrapper; `Tensor.set_` may have given
        the wrapper another since.
    """
    if not wrapper_storage.generation:
        return False
    with below(wrapper_storage.level):
        wrapper_storage.apply_updates()
        original, base = wrapper_storage.original, wrapper_storage.base
        if original.shape != base.shape:
            original.resize_(base.shape)
        original.copy_(base)
    return True


def _described(value: Any) -> str:
    if isinstance(value, TensorBase):
        return f"a plain tensor of shape {list(value.shape)}"
    return f"a {type(value).__name__}"
