"""Where the tensors of one call are: all on one device, but for those that may come from the CPU.

Note [Tensors of the CPU among those of a device]
    As in PyTorch: a 0-dim CPU tensor may stand beside a device's in pointwise operators, indices may be on the CPU, and so
    may the step counts of fused optimizers.  They are moved.  Only a call whose key set has two backends, or a device
    type of several devices, comes here at all.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.keys import BACKEND_MASK
from minitorch.tensor.base import TensorBase

_CPU_BIT = 1
# Operators besides the pointwise ones that take 0-dim CPU tensors for values.
_TAKE_NUMBERS = frozenset(
    (
        "fill", "fill_", "masked_fill", "masked_fill_", "index_fill", "index_fill_", "index_put", "index_put_",
        "_index_put_impl_", "clamp", "clamp_", "where", "lerp", "lerp_",
    )
)
# Operators whose lists of tensors may be on the CPU whatever their shapes.
_TAKE_LISTS = frozenset(
    (
        "index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_fused_sgd_", "_fused_adam_", "_fused_adamw_",
        "_fused_adagrad_",
    )
)


def tensors_of(args: Any, kwargs: Any) -> list:
    """Return the tensors among the arguments of a call, those in lists included."""
    found = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        if isinstance(value, TensorBase):
            found.append(value)
        elif type(value) is list or type(value) is tuple:
            found += [item for item in value if isinstance(item, TensorBase)]
    return found


def index_of_call(backend: Any, args: Any, kwargs: Any) -> int:
    """Return the number of the device that a call is for: its ``device`` argument's, its first tensor's, the current."""
    device = kwargs.get("device") if kwargs else None
    if device is not None and device.type == backend.name:
        return backend.index_of(device)
    if not backend.several:
        return 0
    for tensor in tensors_of(args, kwargs):
        if tensor.key_set & backend.backend_bit:
            return backend.device_of(tensor.handle).index or 0
    return backend.current_device()


def place(backend: Any, op: Any, args: tuple, kwargs: dict | None) -> tuple:
    """Return the arguments with the CPU's tensors moved that may be; raise for all other mixtures.

    Raises
    ------
    RuntimeError
        If the tensors are on several devices.
    """
    tensors = tensors_of(args, kwargs)
    bit = backend.backend_bit
    home = next((backend.device_of(t.handle) for t in tensors if t.key_set & BACKEND_MASK == bit), None)
    if home is None:
        return args, kwargs
    number_ok = "pointwise" in (op.tags or ()) or op.basename in _TAKE_NUMBERS
    list_ok = op.basename in _TAKE_LISTS
    written = {a.name for a in op.schema.arguments if a.is_write}
    moved: dict[int, Any] = {}

    def settle(value: Any, name: str, in_list: bool) -> Any:
        if not isinstance(value, TensorBase):
            return value
        if value.key_set & BACKEND_MASK == bit:
            here = backend.device_of(value.handle)
            if here is not home:
                raise _mixed(home, here)
            return value
        if value.key_set & BACKEND_MASK == _CPU_BIT and (name not in written or in_list):
            if (number_ok and value.handle.ndim == 0) or (list_ok and in_list and name not in written):
                if id(value) not in moved:
                    moved[id(value)] = backend.tensor_from_host(value.handle, home.index or 0)
                return moved[id(value)]
        raise _mixed(value.device, home)

    def settle_all(value: Any, name: str) -> Any:
        if type(value) is list or type(value) is tuple:
            return [settle(item, name, True) for item in value]
        return settle(value, name, False)

    names = [a.name for a in op.schema.arguments]
    args = tuple([settle_all(value, names[i]) for i, value in enumerate(args)])
    if kwargs:
        kwargs = {name: settle_all(value, name) for name, value in kwargs.items()}
    return args, kwargs


def _mixed(first: Any, second: Any) -> RuntimeError:
    if second.type == "cpu":
        first, second = second, first
    return RuntimeError(
        f"Expected all tensors to be on the same device, but found at least two devices, {first} and {second}! "
        f"Move them with .to({str(second)!r})."
    )
