"""Handles of tensors that stand for another tensor: what transforms and functionalization wrap with.

A wrapper is an ordinary `Tensor` whose handle shows no memory of its own but the tensor inside.  Sizes,
strides, dtype and device are those of the tensor inside, as far as the wrapper does not say otherwise.
"""

from __future__ import annotations

from typing import Any

from minitorch.tensor.base import TensorBase


class WrapperHandle:
    """The handle of a wrapper.

    Attributes
    ----------
    value : TensorBase
        The tensor inside.
    """

    __slots__ = ("__weakref__", "value")

    # What the tensor is called where it is printed.
    printed_name = "WrappedTensor"

    # NumPy must refuse a wrapper that reaches a kernel by mistake, not take it for an object.
    __array_ufunc__ = None

    def __init__(self, value: TensorBase):
        self.value = value

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise RuntimeError(
            f"{type(self).__name__}: a tensor inside of a transform has no memory to read. Return it from the transformed "
            "function, and read it there."
        )

    def tolist(self) -> Any:
        """Return the elements as nested lists, where the tensor inside is one with elements."""
        return self.__array__()

    def text(self) -> str:
        """Return what is printed inside of the tensor's name."""
        return repr(self.value)

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

    @property
    def itemsize(self) -> int:
        return self.value.handle.itemsize

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        count = 1
        for n in self.shape:
            count *= n
        return count

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize
