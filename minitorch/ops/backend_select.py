"""The BackendSelect kernels: operators without tensor arguments go where ``device=`` says (spec R19)."""

from __future__ import annotations

from typing import Any

from minitorch.core.device import default_device, dispatch_key_name
from minitorch.dispatch.keys import parse_key
from minitorch.dispatch.operator import OPERATORS, Kernel
from minitorch.ops.registry import DECLARATIONS

_bits_of_type: dict[str, int] = {}


def bits_of(device: Any) -> int:
    """Return the key set of a device's backend key."""
    found = _bits_of_type.get(device.type)
    if found is None:
        name = dispatch_key_name(device.type)
        if not name:
            raise RuntimeError(f"no dispatch key stands for device type {device.type!r}")
        found = parse_key(name).bits
        _bits_of_type[device.type] = found
    return found


class BackendSelectKernel(Kernel):
    """Redispatches to the backend of the ``device`` argument, or of the default device."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        device = kwargs.get("device") if kwargs else None
        if device is None:
            device = default_device()
            if device.type != "cpu":
                kwargs = {**(kwargs or {}), "device": device}
        return op.redispatch_boxed(bits_of(device), args, kwargs)


def register() -> None:
    """Register the kernel for every operator that has a ``device`` argument and no tensor arguments."""
    for name, declaration in DECLARATIONS.items():
        schema = declaration.schema
        head = schema[: schema.rindex("->")]
        if "Device? device" in head and "Tensor" not in head:
            OPERATORS["aten::" + name].register("BackendSelect", BackendSelectKernel(None))
