"""`Parameter` and `Buffer`: tensors that a module registers when they are assigned to it."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from minitorch.ops.overriding import disabled_torch_function_impl
from minitorch.tensor.base import TensorBase, set_classes
from minitorch.tensor.tensor import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]


class _ParameterClass(type(Tensor)):
    """Makes instances of tensor subclasses parameters, without changing their class."""

    def __instancecheck__(cls, instance: Any) -> bool:
        if super().__instancecheck__(instance):
            return True
        return cls is Parameter and isinstance(instance, TensorBase) and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterClass):
    """A tensor that is a module's parameter once it is assigned as its attribute.

    Parameters
    ----------
    data : Tensor, optional
        The values, which are shared, not copied; empty when omitted.
    requires_grad : bool
        True unless the parameter is frozen.

    Examples
    --------
    >>> Parameter(minitorch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    # Results of operators are plain tensors; so they are for subclasses of this one.
    __torch_function__ = disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = Tensor()
        if requires_grad and data.dtype.category < 2:
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients; pass "
                "requires_grad=False for a parameter of integers"
            )
        if type(data) is Tensor or type(data) is Parameter:
            return Tensor._make_subclass(cls, data.detach(), requires_grad)
        return _of_subclass(data, requires_grad)

    def __deepcopy__(self, memo: dict) -> Parameter:
        found = memo.get(id(self))
        if found is None:
            found = type(self)(self.data.clone(), self.requires_grad)
            memo[id(self)] = found
        return found

    def __repr__(self, **kwargs: Any) -> str:
        return "Parameter containing:\n" + super().__repr__(**kwargs)

    def __reduce_ex__(self, protocol: int) -> Any:
        return _rebuild_parameter, (self.data, self.requires_grad, OrderedDict())


def _of_subclass(data: Any, requires_grad: bool) -> Any:
    """Return an instance of a tensor subclass as a parameter: of its class, and `Parameter` says that it is one."""
    kind = type(data)
    result = data.detach()
    if type(result) is not kind:
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {kind.__name__} requires that detach() returns an instance of the "
            f"same type, but return type {type(result).__name__} was found instead. To use the type as a Parameter, please "
            "correct the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    result.requires_grad_(requires_grad)
    result._is_param = True
    return result


def _rebuild_parameter(data: Tensor, requires_grad: bool, hooks: Any) -> Parameter:
    return Parameter(data, requires_grad)


class UninitializedParameter(Parameter):
    """A parameter whose shape is known only at the first call of its module.

    Until `materialize` gives it a shape it has no elements.
    """

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        from minitorch import empty

        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the parameter memory of `shape`; it becomes an ordinary `Parameter`."""
        from minitorch import empty

        self.data = empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = Parameter  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict) -> UninitializedParameter:
        found = memo.get(id(self))
        if found is None:
            found = memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return found

    def __reduce_ex__(self, protocol: int) -> Any:
        return UninitializedParameter, (self.requires_grad, self.device, self.dtype)

    def __repr__(self, **kwargs: Any) -> str:
        return "<UninitializedParameter>"


class UninitializedBuffer(Tensor):
    """A buffer whose shape is known only at the first call of its module."""

    persistent: bool

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        from minitorch import empty

        result = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Give the buffer memory of `shape`; it becomes an ordinary tensor."""
        from minitorch import empty

        self.data = empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = Tensor  # type: ignore[assignment]

    def __deepcopy__(self, memo: dict) -> UninitializedBuffer:
        found = memo.get(id(self))
        if found is None:
            found = type(self)(self.requires_grad, self.device, self.dtype, self.persistent)
            memo[id(self)] = found
        return found

    def __reduce_ex__(self, protocol: int) -> Any:
        return UninitializedBuffer, (self.requires_grad, self.device, self.dtype, self.persistent)

    def __repr__(self, **kwargs: Any) -> str:
        return "<UninitializedBuffer>"


class _BufferType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TensorBase) and (
            super().__instancecheck__(instance) or bool(getattr(instance, "_is_buffer", False))
        )


class Buffer(Tensor, metaclass=_BufferType):
    """A tensor that is a module's buffer once it is assigned as its attribute.

    It becomes an ordinary tensor marked as a buffer.

    Parameters
    ----------
    data : Tensor, optional
    persistent : bool
        Whether it is part of the module's ``state_dict``.
    """

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = Tensor()
        result = data.detach().requires_grad_(data.requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        return result


set_classes(parameter_class=Parameter)
