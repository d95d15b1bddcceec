"""The kernels of the autocast keys, one class for each policy.

Note [The way of a call under autocast]
    A kernel excludes its own key and no other, casts the arguments, and makes the call anew (spec C1).  It stands
    above autograd, which records the casts as it does any operator: gradients come back in the dtype of the
    argument.  The casts are ordinary calls of ``_to_copy``: transforms and modes see them.
"""

from __future__ import annotations

from typing import Any

from minitorch.autocast_mode.devices import autocast_dtype
from minitorch.autocast_mode.state import autocast_state, find_cast, keep_cast
from minitorch.core.dtype import dtype, float32, float64
from minitorch.dispatch.keys import FUNCTIONALIZE, FUNCTORCH_KEYS, DispatchKey
from minitorch.dispatch.local_state import current
from minitorch.dispatch.operator import OPERATORS, Kernel, Operator
from minitorch.tensor.base import TensorBase

__all__ = ["KERNELS", "AutocastKernel", "cast", "is_eligible"]

_TO_COPY = OPERATORS["aten::_to_copy"]
# Wrappers belong to a level of a transform, which ends before the scope does.
_NOT_CACHED = FUNCTORCH_KEYS | FUNCTIONALIZE


def is_eligible(value: Any, device_type: str) -> bool:
    """Return whether autocast of a device may cast an argument: floating, not float64, on the device (spec C2)."""
    return (
        isinstance(value, TensorBase)
        and value.dtype.is_floating_point
        and value.dtype is not float64
        and value.device.type == device_type
    )


def cast(value: Any, target: dtype, device_type: str) -> Any:
    """Return an argument with its eligible tensors cast, the elements of lists too."""
    if isinstance(value, TensorBase):
        if value.dtype is target or not is_eligible(value, device_type):
            return value
        return _cast_tensor(value, target, device_type)
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)):
        return type(value)([cast(item, target, device_type) for item in value])
    return value


def _cast_tensor(tensor: Any, target: dtype, device_type: str) -> Any:
    state = autocast_state()
    is_cacheable = (
        state.cache_enabled
        and state.nesting > 0  # outside of scopes nothing would ever empty the cache
        and tensor.dtype is float32
        and tensor.requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
        and not tensor.key_set & _NOT_CACHED
        and target is autocast_dtype(device_type)
    )
    if not is_cacheable:
        return _TO_COPY.call((tensor,), {"dtype": target})
    found = find_cast(state, tensor, target)
    if found is None:
        found = _TO_COPY.call((tensor,), {"dtype": target})
        keep_cast(state, tensor, found)
    return found


class AutocastKernel(Kernel):
    """What runs an operator under autocast of one device type; each policy is a subclass.

    Attributes
    ----------
    policy : str
        The name of the policy.
    """

    __slots__ = ("_bits", "_device_type")

    policy = ""

    def __init__(self, op: Operator, device_type: str, key: DispatchKey):
        Kernel.__init__(self)
        self._device_type = device_type
        self._bits = key.bits

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        state = current()
        added = self._bits & ~state.excluded
        state.excluded |= added
        try:
            return self.call(op, args, kwargs)
        finally:
            state.excluded &= ~added

    def call(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        """Cast the arguments and call the operator; this key is excluded."""
        raise NotImplementedError

    def _call_in(self, target: dtype, op: Any, args: tuple, kwargs: dict | None) -> Any:
        kind = self._device_type
        args = tuple([cast(value, target, kind) for value in args])
        if kwargs:
            kwargs = {name: cast(value, target, kind) for name, value in kwargs.items()}
        return op.call(args, kwargs)


class LowerPrecisionKernel(AutocastKernel):
    """``lower_precision_fp``: in autocast's dtype."""

    __slots__ = ()
    policy = "lower_precision_fp"

    def call(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        return self._call_in(autocast_dtype(self._device_type), op, args, kwargs)


class Float32Kernel(AutocastKernel):
    """``fp32``: in float32."""

    __slots__ = ()
    policy = "fp32"

    def call(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        return self._call_in(float32, op, args, kwargs)


class SetDtypeKernel(AutocastKernel):
    """``fp32_set_opt_dtype``: the argument ``dtype`` is float32, unless it is given."""

    __slots__ = ("_defaults", "_place")
    policy = "fp32_set_opt_dtype"

    def __init__(self, op: Operator, device_type: str, key: DispatchKey):
        super().__init__(op, device_type, key)
        arguments = op.schema.arguments
        names = [argument.name for argument in arguments]
        if "dtype" not in names:
            raise ValueError(f"autocast policy of {op.qualname}: fp32_set_opt_dtype is for operators with an argument dtype")
        place = names.index("dtype")
        self._place = None if arguments[place].kwarg_only else place
        self._defaults = [argument.default for argument in arguments[: place + 1]]

    def call(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        if not is_eligible(args[0] if args else None, self._device_type):
            return op.call(args, kwargs)
        place = self._place
        if place is None:
            if not kwargs or kwargs.get("dtype") is None:
                kwargs = {**(kwargs or {}), "dtype": float32}
        else:
            args = (*args, *self._defaults[len(args) :])
            if args[place] is None:
                args = (*args[:place], float32, *args[place + 1 :])
        return op.call(args, kwargs)


# The overloads that take a dtype; they have it as a keyword, and no default before it.
_WITH_DTYPE = {
    "aten::norm.Scalar": "aten::norm.ScalarOpt_dtype",
    "aten::norm.ScalarOpt_dim": "aten::norm.ScalarOpt_dim_dtype",
}


class AppendDtypeKernel(AutocastKernel):
    """``fp32_append_dtype``: the overload that takes a dtype, with float32 or the first argument's own."""

    __slots__ = ("_defaults", "_overload")
    policy = "fp32_append_dtype"

    def __init__(self, op: Operator, device_type: str, key: DispatchKey):
        super().__init__(op, device_type, key)
        if op.qualname not in _WITH_DTYPE:
            raise ValueError(
                f"autocast policy of {op.qualname}: fp32_append_dtype is for operators whose overload with a dtype is known: "
                f"{', '.join(_WITH_DTYPE)}"
            )
        self._overload = OPERATORS[_WITH_DTYPE[op.qualname]]
        self._defaults = [(argument.name, argument.default) for argument in op.schema.arguments]

    def call(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        # The other overload has no defaults: what was left out of this call is said in that one.
        given = dict(kwargs or {})
        args = tuple(args) + tuple(
            [given.pop(name) if name in given else default for name, default in self._defaults[len(args) :]]
        )
        own = args[0].dtype
        return self._overload.call(args, {"dtype": float32 if is_eligible(args[0], self._device_type) else own})


class PromoteKernel(AutocastKernel):
    """``promote``: in the widest dtype among the arguments and autocast's."""

    __slots__ = ()
    policy = "promote"

    def call(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        lower = autocast_dtype(self._device_type)
        widest = self._widest((*args, *(kwargs or {}).values()), lower, lower, op)
        return self._call_in(widest, op, args, kwargs)

    def _widest(self, values: Any, widest: dtype, lower: dtype, op: Any) -> dtype:
        for value in values:
            if isinstance(value, (list, tuple)):
                widest = self._widest(value, widest, lower, op)
            elif is_eligible(value, self._device_type) and widest is not float32:
                # In order, as PyTorch does it: after a float32 argument any dtype is taken.
                if value.dtype not in (float32, lower):
                    raise RuntimeError(
                        f"Unexpected floating ScalarType in autocast of {op.basename}(): {value.dtype}. It promotes {lower} and "
                        f"float32 only; convert the argument to one of them, or call it under "
                        f"autocast({self._device_type!r}, enabled=False)"
                    )
                widest = value.dtype
        return widest


_INSTEAD = {
    "aten::binary_cross_entropy": (
        "Many models use a sigmoid layer right before the binary cross entropy layer. In this case, combine the two "
        "layers using minitorch.nn.functional.binary_cross_entropy_with_logits or minitorch.nn.BCEWithLogitsLoss: these are "
        "safe to autocast."
    ),
}


class BannedKernel(AutocastKernel):
    """``banned``: an error."""

    __slots__ = ()
    policy = "banned"

    def call(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        kind = self._device_type
        instead = _INSTEAD.get(op.qualname) or f"Call it under autocast({kind!r}, enabled=False) with float32 arguments."
        raise RuntimeError(
            f"{op.basename}() is unsafe to autocast: its values may not fit {autocast_dtype(kind)}. {instead}"
        )


class DerivedFormKernel(AutocastKernel):
    """No policy: for in-place and ``out=`` forms that call an operator of the table, which must not see autocast then."""

    __slots__ = ()

    def call(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        return op.call(args, kwargs)


KERNELS: dict[str, type[AutocastKernel]] = {
    kernel.policy: kernel
    for kernel in (LowerPrecisionKernel, Float32Kernel, SetDtypeKernel, AppendDtypeKernel, PromoteKernel, BannedKernel)
}
