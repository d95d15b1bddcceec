"""Handles of tensors that stand for another tensor: what transforms and functionalization wrap with.

A wrapper is an ordinary `Tensor` whose handle shows no memory of its own but the tensor inside.  Sizes,
strides, dtype and device are those of the tensor inside, as far as the wrapper does not say otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.meta_array import Geometry, MetaArray
from minitorch.dispatch.keys import CONJUGATE, NEGATIVE, PYTHON_KEYS, ZERO_TENSOR
from minitorch.tensor.base import TensorBase
from minitorch.tensor.components import ComponentHandle
from minitorch.tensor.operators import F


def host_array(tensor: Any) -> Any:
    """Return the elements of a tensor as a NumPy array, copied from its device where that is another.

    Raises
    ------
    RuntimeError
        If it has no elements of its own: one example of many, under ``vmap``.
    """
    if type(tensor.handle) is np.ndarray and not tensor.key_set & (CONJUGATE | NEGATIVE | ZERO_TENSOR):
        return tensor.handle
    tensor = tensor.detach().cpu()
    while isinstance(tensor.handle, WrapperHandle):
        tensor = tensor.handle.readable()
    if tensor.key_set & PYTHON_KEYS and isinstance(tensor.handle, MetaArray):
        return _elements_by_handlers(tensor)
    if isinstance(tensor.handle, ComponentHandle):
        raise RuntimeError(
            f"Cannot read the elements of a {tensor.layout} tensor one after the other: it has no memory of its own. Use "
            "to_dense() first."
        )
    return (F.clone(tensor) if tensor.key_set & (CONJUGATE | NEGATIVE | ZERO_TENSOR) else tensor).handle


def _elements_by_handlers(tensor: Any) -> np.ndarray:
    """Return the elements of a tensor that has no memory: its class, or a mode, may know them one by one."""
    flat = F.reshape(tensor, [-1])
    values = [F._local_scalar_dense(F.select(flat, 0, i)) for i in range(tensor.numel())]
    return np.array(values, tensor.handle.dtype).reshape(tuple(tensor.shape))


def has_elements(tensor: Any) -> bool:
    """Return whether a tensor's elements can be read: not if it is one example of many, under ``vmap``."""
    handle = tensor.handle
    while isinstance(handle, WrapperHandle):
        try:
            handle = handle.readable().handle
        except RuntimeError:
            return False
    return True


def has_values(tensor: Any) -> bool:
    """Return whether there are elements behind a tensor, in memory, to decide by how to compute: not of meta and fake ones."""
    tensor = innermost(tensor)
    if isinstance(tensor.handle, ComponentHandle):
        return has_values(tensor.handle.components()[-1])
    return not isinstance(tensor.handle, MetaArray) or bool(tensor.key_set & ZERO_TENSOR)


def innermost(tensor: Any) -> Any:
    """Return the tensor inside of all wrappers: of a batched one all examples.

    For looks at values that decide how to compute, not what: the decision is one for all examples.
    """
    while isinstance(tensor.handle, WrapperHandle):
        tensor = tensor.handle.value
    return tensor


def is_followed(tensor: Any) -> bool:
    """Return whether a derivative by a tensor may be asked for, in reverse or forward mode, at any level."""
    while True:
        handle = tensor.handle
        is_wrapper = isinstance(handle, WrapperHandle)
        if not (is_wrapper and handle.ended):
            bases = [tensor] if tensor.view_info is None else [tensor, tensor.view_info.base]
            if tensor.requires_grad or any((t.autograd_meta or {}).get("tangents") for t in bases):
                return True
        if not is_wrapper:
            return False
        tensor = handle.value


class WrapperHandle(Geometry):
    """The handle of a wrapper.

    Attributes
    ----------
    value : TensorBase
        The tensor inside.
    """

    __slots__ = ("__weakref__", "value")

    # Whether it is printed as a call with the tensor inside as its argument, and not as a block.
    printed_inline = False

    # NumPy must refuse a wrapper that reaches a kernel by mistake, not take it for an object.
    __array_ufunc__ = None

    def __init__(self, value: TensorBase):
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.readable().__array__(dtype, copy)

    @property
    def ended(self) -> bool:
        """Whether what it was made for is over: it is taken off where it is next used."""
        return False

    def readable(self) -> TensorBase:
        """Return the tensor whose elements are this one's.

        Raises
        ------
        RuntimeError
            If it has no elements of its own to be read.
        """
        raise RuntimeError(
            "Cannot access the data of a tensor that doesn't have storage: it belongs to a transform. Return it from the "
            "function that is being transformed, and read it there."
        )

    def storage_memory(self) -> Any:
        """Return the `memory.Memory` of the storage that it shares with its views."""
        raise NotImplementedError(
            "Cannot access storage of a tensor that doesn't have storage: it belongs to a transform. Return it from the "
            "function that is being transformed first."
        )

    def set_from(self, tensor: TensorBase, source: Any, storage_offset: int, size: Any, stride: Any) -> Any:
        """Do what `Tensor.set_` does to `tensor`, whose handle this is."""
        raise RuntimeError(
            f"set_(): a tensor inside of a transform (shape {list(self.shape)}) has no storage of its own that could be "
            "replaced. Call set_() outside of the transformed function."
        )

    @property
    def storage_offset(self) -> int:
        """Where its first element stands in the memory of the tensor inside, in elements."""
        return self.value.storage_offset()

    def heading(self) -> str:
        """Return the beginning of what is printed: the kind of wrapper and what belongs to it, an open parenthesis."""
        return f"{type(self).__name__.removesuffix('Handle')}Tensor(shape={list(self.shape)}"

    @property
    def shape(self) -> tuple:
        return tuple(self.value.handle.shape)

    @property
    def strides(self) -> tuple:
        """Steps in bytes."""
        return tuple(self.value.handle.strides)

    @property
    def dtype(self) -> Any:
        """The NumPy dtype."""
        return self.value.handle.dtype
