"""On which device the results of an operator are (spec M7)."""

from __future__ import annotations

from typing import Any

from minitorch.core.device import cpu, default_device
from minitorch.fake.exceptions import FakeTensorDeviceMismatchError
from minitorch.fake.fake_tensor import claimed
from minitorch.tensor.base import TensorBase

# These move their other tensors, or read them where they are; the results are where the first tensor is.
_MIXED = frozenset(
    ("copy_", "copy", "index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_", "slice_scatter")
)


def _defers(tensor: Any) -> bool:
    """Return whether a tensor may stand among those of any other device."""
    return tensor.device.type == "cpu" and tensor.ndim == 0


def common_device(func: Any, tensors: list) -> Any:
    """Return the device of a call's tensors; the CPU where there are none.

    Raises
    ------
    FakeTensorDeviceMismatchError
        If there are several, other than for 0-dim CPU tensors.
    """
    if not tensors:
        return cpu
    if func.basename in _MIXED:
        return tensors[0].device
    found = tensors[0]
    for tensor in tensors[1:]:
        if tensor.device is found.device or _defers(tensor):
            continue
        if not _defers(found):
            raise FakeTensorDeviceMismatchError(func, found.device, tensor.device)
        found = tensor
    return found.device


class Placement:
    """Where the results of one call are.

    Parameters
    ----------
    func : OpOverload
    args, kwargs
        With fake tensors.
    tensors : list of FakeTensor
        All of them.
    """

    def __init__(self, func: Any, args: tuple, kwargs: dict, tensors: list):
        self.each: list | None = None
        asked = kwargs.get("device")
        if asked is not None:
            self.device = claimed(asked)
        elif not tensors:
            self.device = claimed(default_device()) if _makes_tensors(func) else cpu
        elif func.basename.startswith(("_foreach", "_fused", "_amp_foreach")):
            lists = [
                value
                for value in args
                if isinstance(value, (list, tuple)) and value and isinstance(value[0], TensorBase)
            ]
            self.each = [tensor.device for tensor in lists[0]] if lists else None
            self.device = tensors[0].device
        else:
            self.device = common_device(func, tensors)
            if func.schema.is_mutable and func.basename not in _MIXED:
                self._check_written(func, args, kwargs)

    def _check_written(self, func: Any, args: tuple, kwargs: dict) -> None:
        """Raise for a 0-dim CPU tensor that results on another device would be written to."""
        for index, argument in enumerate(func.schema.arguments):
            if argument.is_write:
                value = args[index] if index < len(args) else kwargs.get(argument.name)
                if isinstance(value, TensorBase) and value.device is not self.device:
                    raise FakeTensorDeviceMismatchError(func, value.device, self.device)

    def of(self, number: int) -> Any:
        """Return the device of result `number`."""
        if self.each is not None and number < len(self.each):
            return self.each[number]
        return self.device


def _makes_tensors(func: Any) -> bool:
    return any(argument.name == "device" for argument in func.schema.arguments)
