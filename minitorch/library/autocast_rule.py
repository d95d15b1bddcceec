"""`register_autocast`: cast the floating tensors of an operator under autocast."""

from __future__ import annotations

from typing import Any

from minitorch.core.device import device
from minitorch.core.dtype import dtype, float64
from minitorch.dispatch.keys import parse_key
from minitorch.dispatch.library import Library
from minitorch.dispatch.local_state import ExcludeKeysGuard
from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.scopes import autocast_key
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor


def add_autocast_rule(lib: Library, op: OpOverload, device_type: str, cast_inputs: dtype) -> None:
    """Register, in `lib`, the autocast kernel of `op` for one device type.

    It casts the floating tensors of that device, lists included, to `cast_inputs`, except
    those of float64, and runs the operator with that device's autocast off.

    Raises
    ------
    ValueError
        If the device type has no autocast, or `cast_inputs` is no dtype.
    """
    if not isinstance(cast_inputs, dtype):
        raise ValueError(f"register_autocast: expected a dtype, not {cast_inputs!r}")
    key = autocast_key(device_type)
    kind = device(device_type).type

    def cast(value: Any) -> Any:
        if isinstance(value, Tensor):
            is_eligible = (
                value.dtype.is_floating_point
                and value.dtype not in (float64, cast_inputs)
                and value.device.type == kind
            )
            return F._to_copy(value, dtype=cast_inputs) if is_eligible else value
        if isinstance(value, (list, tuple)):
            return type(value)(cast(item) for item in value)
        return value

    def run(key_set: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise RuntimeError(
                f"{op}: register_autocast does not support keyword-only arguments, but got "
                f"{', '.join(kwargs)}"
            )
        with ExcludeKeysGuard(parse_key(key.name)):
            return op(*(cast(value) for value in args))

    lib.impl(op, run, key, with_keyset=True)
