"""The BackendSelect kernels: operators without tensor arguments go where ``device=`` and ``layout=`` say (spec R19)."""

from __future__ import annotations

from typing import Any

from minitorch.core.device import default_device, dispatch_key_name, use_device_type
from minitorch.core.layout import strided
from minitorch.dispatch.keys import AUTOGRAD_KEYS, BACKEND_MASK, parse_key
from minitorch.dispatch.local_state import ExcludeKeysGuard
from minitorch.dispatch.operator import OPERATORS, Kernel
from minitorch.ops.registry import DECLARATIONS
from minitorch.tensor.components import load_kernels

_bits_of_type: dict[str, int] = {}
# Names of layouts -> the prefix of their backend keys.
_PREFIX_OF_LAYOUT = {
    "sparse_coo": "Sparse",
    "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsr", "sparse_bsr": "SparseCsr", "sparse_bsc": "SparseCsr",
}


def bits_of(device: Any) -> int:
    """Return the key set of a device's backend key."""
    found = _bits_of_type.get(device.type)
    if found is None:
        name = dispatch_key_name(device.type)
        if not name:
            raise RuntimeError(f"no dispatch key stands for device type {device.type!r}")
        use_device_type(device.type)
        found = parse_key(name).bits
        _bits_of_type[device.type] = found
    return found


def bits_of_layout(device: Any, layout: Any) -> int:
    """Return the key set of a device's backend key for a layout that is not strided."""
    bits_of(device)  # checks the device
    load_kernels(_PREFIX_OF_LAYOUT[layout.name])
    return parse_key(_PREFIX_OF_LAYOUT[layout.name] + dispatch_key_name(device.type)).bits


class BackendSelectKernel(Kernel):
    """Redispatches to the backend of the ``device`` argument, or of the default device."""

    __slots__ = ("cpu_bits",)

    def __init__(self, cpu_bits):
        Kernel.__init__(self, None)
        self.cpu_bits = cpu_bits

    def run(self, op, entry, args, kwargs):
        if kwargs is None:
            device = layout = None
        else:
            device = kwargs.get("device")
            layout = kwargs.get("layout")
        if device is None:
            device = default_device()
            if device.type == "cpu" and (layout is None or layout is strided):
                return op.redispatch_boxed(self.cpu_bits, args, kwargs)
            kwargs = {**(kwargs or {}), "device": device}
        if layout is None or layout is strided:
            return op.redispatch_boxed(bits_of(device), args, kwargs)
        return op.redispatch_boxed(bits_of_layout(device, layout), args, kwargs)


class LikeSelectKernel(Kernel):
    """Redispatches ``*_like`` to the backend of the ``device`` and ``layout`` arguments, else to the tensor's."""

    __slots__ = ("below",)

    def __init__(self, below):
        Kernel.__init__(self, None)
        self.below = below

    def is_leaf(self, op, entry):
        return op.entry_below(entry, self.below).leaf

    def run(self, op, entry, args, kwargs):
        device = layout = None
        if kwargs is not None:
            device = kwargs.get("device")
            layout = kwargs.get("layout")
        if layout is None and device is not None:
            layout = args[0].layout
        if layout is not None and layout is not strided:
            bits = bits_of_layout(device or args[0].device, layout)
        elif device is None and (layout is None or args[0].layout is strided):
            return op.run_below(op.entry_below(entry, self.below), args, kwargs)
        else:
            bits = bits_of(device or args[0].device)
        with ExcludeKeysGuard(AUTOGRAD_KEYS):  # the kernel of the other device may be no leaf
            return op.redispatch_boxed(bits, args, kwargs)


class ToCopySelectKernel(LikeSelectKernel):
    """Redispatches ``_to_copy`` to where it copies to, or to the CPU from: that backend knows the other memory.

    Meta tensors have nothing to copy elsewhere.
    """

    __slots__ = ("cpu_bit",)

    def __init__(self, below):
        LikeSelectKernel.__init__(self, below)
        self.cpu_bit = parse_key("CPU").bits & BACKEND_MASK

    def run(self, op, entry, args, kwargs):
        device = kwargs.get("device") if kwargs is not None else None
        if device is not None and device.type != "meta" and args[0].device.type == "meta":
            raise NotImplementedError(
                "Cannot copy out of meta tensor; no data! Use Module.to_empty() instead of Module.to() to move a "
                f"module, or empty_like(tensor, device='{device}') for memory without values."
            )
        if device is not None and device.type == "cpu" and not args[0].key_set & self.cpu_bit:
            return op.run_below(op.entry_below(entry, self.below), args, kwargs)
        return LikeSelectKernel.run(self, op, entry, args, kwargs)


def register() -> None:
    """Register the kernels.

    An operator with a ``device`` argument gets one if it has no tensor arguments, or is named
    ``*_like`` and reads nothing of its tensor but the geometry, or is ``_to_copy``.
    """
    below = (1 << 64) - 1 & ~parse_key("BackendSelect").bits
    for name, declaration in DECLARATIONS.items():
        schema = declaration.schema
        head = schema[: schema.rindex("->")]
        if "Device? device" not in head:
            continue
        if "Tensor" not in head:
            OPERATORS["aten::" + name].register("BackendSelect", BackendSelectKernel(parse_key("CPU").bits))
        elif name == "_to_copy":
            OPERATORS["aten::" + name].register("BackendSelect", ToCopySelectKernel(below))
        elif name.partition(".")[0].endswith("_like") and head.count("Tensor") == 1:
            OPERATORS["aten::" + name].register("BackendSelect", LikeSelectKernel(below))
