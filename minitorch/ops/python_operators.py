"""Python's operators on tensors, and ``__torch_function__`` of `Tensor` itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.core.symbolic import Symbolic
from minitorch.dispatch.local_state import current
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops import functions as F
from minitorch.ops import overriding
from minitorch.ops.assemble import make_public_method
from minitorch.ops.overridable import hook_class, hook_of
from minitorch.ops.overriding import DisableTorchFunction, call_handlers, overloaded_arguments
from minitorch.tensor import indexing
from minitorch.tensor.base import TensorBase, install_operators
from minitorch.tensor.creation import as_tensor as as_tensor_of
from minitorch.tensor.creation import tensor as make_tensor
from minitorch.tensor.tensor import Tensor


def torch_function(cls, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None) -> Any:
    """Run a public function on subclasses: results become instances of the subclass."""
    if not all(issubclass(cls, t) for t in types):
        return NotImplemented
    with DisableTorchFunction():
        result = func(*args, **(kwargs or {}))
    if func in nowrap_functions():
        return result
    return _as_class(result, cls)


def nowrap_functions() -> frozenset[Any]:
    """Return what is asked of tensors for the tensor that was put there, of whatever class it is."""
    return frozenset(hook_of(name).get for name in ("_base", "grad"))


def _as_class(result: Any, cls: Any) -> Any:
    if cls is Tensor:
        return result
    if isinstance(result, Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        items = [_as_class(r, cls) for r in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


def _make_reflected(name: str, function: str) -> Any:
    def operate(self: Tensor, other: Any) -> Any:
        if not isinstance(self, TensorBase):
            raise TypeError(f"descriptor {name!r} for 'Tensor' objects doesn't apply to a {type(self).__name__!r} object")
        return slow_binary(function, self, other)

    operate.__name__ = operate.__qualname__ = name
    return operate


def slow_binary(name: str, a: Any, b: Any) -> Any:
    """Run a binary operator on operands that the fast road does not take."""
    if b is None and name == "neg":
        return F.neg(a)
    if isinstance(b, np.ndarray):
        b = as_tensor_of(b)
    if not isinstance(b, (TensorBase, bool, int, float, complex, np.generic, Symbolic)) and not hasattr(
        type(b), "__torch_function__"
    ):
        return NotImplemented
    try:
        return _functions[name](a, b)
    except TypeError:
        if isinstance(b, TensorBase) or name in ("eq", "ne"):
            raise
        return NotImplemented


_functions: dict[str, Any] = {}
_BINARY = (
    "add", "sub", "rsub", "mul", "div", "matmul", "lt", "le", "gt", "ge", "eq", "ne", "floor_divide", "remainder", "pow",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
)
_INPLACE = {
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
    "__ifloordiv__": "floor_divide_", "__imod__": "remainder_", "__ipow__": "pow_", "__iand__": "bitwise_and_",
    "__ior__": "bitwise_or_", "__ixor__": "bitwise_xor_", "__ilshift__": "bitwise_left_shift_",
    "__irshift__": "bitwise_right_shift_",
}


def _make_inplace(name: str, function: str) -> Any:
    def operate(self: Tensor, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            other = as_tensor_of(other)
        return getattr(self, function)(other)

    operate.__name__ = operate.__qualname__ = name
    return operate


def install_python_operators() -> None:
    """Attach the operators of Python that `TensorBase` does not define itself."""
    direct = {
        "add": "add.Tensor", "sub": "sub.Tensor", "mul": "mul.Tensor", "div": "div.Tensor", "neg": "neg", "lt": "lt.Tensor",
        "matmul": "matmul", "le": "le.Tensor", "gt": "gt.Tensor", "ge": "ge.Tensor", "eq": "eq.Tensor", "ne": "ne.Tensor",
    }
    operators = {name: OPERATORS["aten::" + op] for name, op in direct.items()}
    install_operators(operators, slow_binary, _getitem, make_public_method("item"))
    for name in _BINARY:
        _functions[name] = getattr(F, name)
    for dunder, name in (
        ("__floordiv__", "floor_divide"), ("__mod__", "remainder"), ("__pow__", "pow"), ("__and__", "bitwise_and"),
        ("__rand__", "bitwise_and"), ("__or__", "bitwise_or"), ("__ror__", "bitwise_or"), ("__xor__", "bitwise_xor"),
        ("__rxor__", "bitwise_xor"), ("__lshift__", "bitwise_left_shift"), ("__rshift__", "bitwise_right_shift"),
    ):
        setattr(Tensor, dunder, _make_reflected(dunder, name))
    for dunder, name in _INPLACE.items():
        setattr(Tensor, dunder, _make_inplace(dunder, name))
    Tensor.__torch_function__ = classmethod(torch_function)  # type: ignore[attr-defined]
    overriding.default_handler = Tensor.__torch_function__  # type: ignore[attr-defined]
    Tensor.__init_subclass__ = classmethod(_init_subclass)  # type: ignore[assignment]
    Tensor.__rtruediv__ = _rtruediv  # type: ignore[attr-defined]
    Tensor.__rdiv__ = _rtruediv  # type: ignore[attr-defined]
    Tensor.__div__ = TensorBase.__truediv__  # type: ignore[attr-defined]
    Tensor.__rpow__ = _rpow  # type: ignore[attr-defined]
    Tensor.__rmod__ = _reflected("remainder")  # type: ignore[attr-defined]
    Tensor.__rfloordiv__ = _reflected("floor_divide")  # type: ignore[attr-defined]
    Tensor.__rlshift__ = _reflected("bitwise_left_shift")  # type: ignore[attr-defined]
    Tensor.__rrshift__ = _reflected("bitwise_right_shift")  # type: ignore[attr-defined]
    Tensor.__rmatmul__ = _reflected("matmul")  # type: ignore[attr-defined]
    Tensor.__invert__ = lambda self: F.bitwise_not(self)  # type: ignore[attr-defined]
    Tensor.__pos__ = lambda self: F.positive(self)  # type: ignore[attr-defined]
    Tensor.__abs__ = lambda self: F.abs(self)  # type: ignore[attr-defined]
    # Handlers see these functions, and go by their names.
    for dunder in (
        "__rdiv__", "__rpow__", "__rmod__", "__rfloordiv__", "__rlshift__", "__rrshift__", "__rmatmul__", "__invert__",
    ):
        function = Tensor.__dict__[dunder]
        function.__name__, function.__qualname__ = dunder, f"Tensor.{dunder}"


def _init_subclass(cls: type, **kwargs: Any) -> None:
    super(Tensor, cls).__init_subclass__(**kwargs)
    hook_class(cls)


def _getitem(tensor: Any, index: Any) -> Any:
    if type(tensor) is Tensor or not indexing.overridden(tensor, index):
        return indexing.getitem(tensor, index)
    if current().function_disabled or not overloaded_arguments((tensor, index), {}):
        return indexing.getitem(tensor, index)
    return call_handlers(Tensor.__getitem__, (tensor, index), {})


def _rtruediv(self: Tensor, other: Any) -> Any:
    if not isinstance(self, TensorBase):
        raise AttributeError(f"'{type(self).__name__}' object has no attribute 'reciprocal': Tensor.__rdiv__ needs a Tensor")
    if isinstance(other, (bool, int, float, complex, np.generic)):
        return F.reciprocal(self) * other
    return slow_binary_reflected("div", self, other)


def _rpow(self: Tensor, other: Any) -> Any:
    return slow_binary_reflected("pow", self, other)


def _reflected(name: str) -> Any:
    def operate(self: Tensor, other: Any) -> Any:
        return slow_binary_reflected(name, self, other)

    return operate


def slow_binary_reflected(name: str, self: Tensor, other: Any) -> Any:
    """Run ``other <op> self`` where `other` is a number or array."""
    if isinstance(other, np.ndarray):
        other = as_tensor_of(other)
    if not isinstance(other, (TensorBase, bool, int, float, complex, np.generic)):
        return NotImplemented
    try:
        return _functions[name](other, self)
    except TypeError:
        return _functions[name](make_tensor(other, device=self.device), self)
