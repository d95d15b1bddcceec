"""The tensors that transforms work on: a tensor inside, and the transform that it belongs to.

Note [Whose a wrapper is]
    A wrapper knows its interpreter, not its number: numbers are used again.  A wrapper whose
    interpreter has ended is *dead*.  It still looks as before, and is taken off where it is next used.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.keys import (
    AD_INPLACE_OR_VIEW,
    AUTOGRAD,
    CONJUGATE,
    FUNCTIONALIZE,
    FUNCTORCH_BATCHED,
    FUNCTORCH_GRAD_WRAPPER,
    FUNCTORCH_KEYS,
    NEGATIVE,
    PYTHON_KEYS,
    ZERO_TENSOR,
)
from minitorch.dispatch.transforms import Interpreter
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.wrapper import WrapperHandle

# What is inside stays inside: handlers and transforms meet it when it is unwrapped.
_INNER_KEYS = FUNCTORCH_KEYS | PYTHON_KEYS | FUNCTIONALIZE | CONJUGATE | NEGATIVE | ZERO_TENSOR
_NORMAL = AD_INPLACE_OR_VIEW | AUTOGRAD


class BatchedHandle(WrapperHandle):
    """The handle of a tensor that stands for one example of many, of which the tensor inside consists.

    Attributes
    ----------
    dim : int
        The dimension of the tensor inside that counts the examples; not among the wrapper's.
    owner : Interpreter
    """

    __slots__ = ("dim", "owner")

    def __init__(self, value: TensorBase, dim: int, owner: Interpreter):
        self.value = value
        self.dim = dim
        self.owner = owner

    @property
    def ended(self) -> bool:
        return self.owner.level == 0

    def heading(self) -> str:
        return f"BatchedTensor(lvl={self.owner.level or -2}, bdim={self.dim}"

    @property
    def shape(self) -> tuple:
        shape = self.value.handle.shape
        return (*shape[: self.dim], *shape[self.dim + 1 :])

    @property
    def strides(self) -> tuple:
        strides = self.value.handle.strides
        return (*strides[: self.dim], *strides[self.dim + 1 :])


class GradHandle(WrapperHandle):
    """The handle of a tensor that one `grad`, `vjp` or `jvp` follows; gradients and tangents are the wrapper's.

    Attributes
    ----------
    owner : Interpreter
    """

    __slots__ = ("owner",)

    def __init__(self, value: TensorBase, owner: Interpreter):
        self.value = value
        self.owner = owner

    @property
    def ended(self) -> bool:
        return self.owner.level == 0

    def readable(self) -> TensorBase:
        return self.value

    def heading(self) -> str:
        return f"GradTrackingTensor(lvl={self.owner.level or -2}"


def wrap_batched(value: TensorBase, dim: int, owner: Interpreter) -> Any:
    """Return the tensor that stands for one example of `value`, of which `dim` counts the examples."""
    return new_tensor(
        BatchedHandle(value, dim, owner), (value.key_set & ~_INNER_KEYS) | _NORMAL | FUNCTORCH_BATCHED
    )


def wrap_grad(value: TensorBase, owner: Interpreter) -> Any:
    """Return the tensor by which `owner` follows `value`."""
    return new_tensor(GradHandle(value, owner), (value.key_set & ~_INNER_KEYS) | _NORMAL | FUNCTORCH_GRAD_WRAPPER)


def is_grad_tracking(tensor: Any) -> bool:
    """Return whether `grad`, `vjp` or `jvp` follow a tensor."""
    return isinstance(tensor, TensorBase) and isinstance(tensor.handle, GradHandle)


def is_wrapped(tensor: Any) -> bool:
    """Return whether a tensor belongs to a transform."""
    return isinstance(tensor, TensorBase) and bool(tensor.key_set & FUNCTORCH_KEYS)


def level_of(tensor: TensorBase) -> int:
    """Return the level of the transform that a wrapper belongs to; -2 if that has ended."""
    return tensor.handle.owner.level or -2


def unwrap_dead(tensor: Any) -> Any:
    """Return a tensor without the wrappers of transforms that have ended.

    Raises
    ------
    RuntimeError
        If one of them was a vmap: what is inside are all examples, and not the one that the tensor stood for.
    """
    while tensor.key_set & FUNCTORCH_KEYS and tensor.handle.owner.level == 0:
        if tensor.key_set & FUNCTORCH_BATCHED:
            raise RuntimeError(
                f"a tensor of shape {list(tensor.shape)} that stands for one example of a vmap is used outside of the function "
                "that was mapped: it has escaped from it. Return it from that function, and use the result."
            )
        tensor = tensor.handle.value
    return tensor


def map_tensors(fn: Any, args: tuple, kwargs: dict | None) -> tuple[tuple, dict | None]:
    """Return the arguments of a call with ``fn(tensor)`` in place of each tensor."""
    values = []
    for value in args:
        if isinstance(value, TensorBase):
            value = fn(value)
        elif type(value) is list or type(value) is tuple:
            value = [fn(item) if isinstance(item, TensorBase) else item for item in value]
        values.append(value)
    if kwargs:
        kwargs = dict(kwargs)
        for name, value in kwargs.items():
            if isinstance(value, TensorBase):
                kwargs[name] = fn(value)
            elif type(value) is list:
                kwargs[name] = [fn(item) if isinstance(item, TensorBase) else item for item in value]
    return tuple(values), kwargs


def map_results(fn: Any, result: Any) -> Any:
    """Return the result of an operator with ``fn(tensor)`` in place of each tensor."""
    if isinstance(result, TensorBase):
        return fn(result)
    if isinstance(result, (list, tuple)):
        items = [fn(item) if isinstance(item, TensorBase) else item for item in result]
        if type(result) is list:
            return items
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


def debug_unwrap(tensor: Any, *, recurse: bool = True) -> Any:
    """Return what is inside of a tensor of a transform, to look at it: of all wrappers, or of one.

    What is computed from the result is not followed by the transform. For debugging alone.

    Parameters
    ----------
    recurse : bool
        Take all wrappers off, not only the outermost.

    Examples
    --------
    >>> def f(x):
    ...     print(debug_unwrap(x))
    ...     return x
    >>> y = minitorch.vmap(f)(minitorch.ones(2, 3))
    tensor([[1., 1., 1.],
            [1., 1., 1.]])
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"debug_unwrap: expected a Tensor, but got {type(tensor).__name__}")
    while is_wrapped(tensor):
        tensor = tensor.handle.value
        if not recurse:
            break
    return tensor
