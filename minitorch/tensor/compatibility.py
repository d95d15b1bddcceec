"""Methods of `Tensor` that PyTorch programs call, and that are here for them alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.device import device as device_class
from minitorch.core.layout import sparse_csr
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import tensor
from minitorch.tensor.operators import F


def apply_(self: Any, callable: Callable) -> Any:
    """Replace each element by what a Python function makes of it; slow, and for the CPU alone."""
    return _replaced(self, [self], callable, "apply_")


def map_(self: Any, tensor: Any, callable: Callable) -> Any:
    """Replace each element by a Python function of it and of the element of another tensor."""
    return _replaced(self, [self, tensor.expand_as(self)], callable, "map_")


def map2_(self: Any, x: Any, y: Any, callable: Callable) -> Any:
    """Replace each element by a Python function of it and of the elements of two other tensors."""
    return _replaced(self, [self, x.expand_as(self), y.expand_as(self)], callable, "map2_")


def _replaced(target: Any, sources: list[Any], function: Callable, name: str) -> Any:
    if target.device.type != "cpu":
        raise TypeError(f"{name} is only implemented on CPU tensors, and this one is on {target.device}")
    if any(source.requires_grad for source in sources):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    columns = [source.reshape(-1).tolist() for source in sources]
    values = [function(*row) for row in zip(*columns, strict=True)]
    return target.copy_(tensor(values, dtype=target.dtype).reshape(target.shape))


def new(self: Any, *args: Any, device: Any = None) -> Any:
    """Return a tensor of this one's dtype: uninitialized memory of some sizes, or the values of a sequence."""
    where = self.device if device is None else device
    if len(args) == 1 and isinstance(args[0], TensorBase):
        return F.alias(args[0])
    if len(args) == 1 and not isinstance(args[0], int):
        return tensor(args[0], dtype=self.dtype, device=where)
    return F.empty(list(args) or [0], dtype=self.dtype, device=where)


def share_memory_(self: Any) -> Any:
    """Move its memory to where other processes see it, and return the tensor; of other devices than the CPU nothing moves.

    `minitorch.multiprocessing` then sends it without a copy. Raises RuntimeError if other tensors show the same memory.
    """
    from minitorch.tensor.shared_memory import share

    return share(self)


def dim_order(self: Any, *, ambiguity_check: bool = False) -> tuple[int, ...]:
    """Return the dimensions in the order in which they lie in memory, outermost first."""
    strides = self.stride()
    return tuple(sorted(range(self.ndim), key=lambda d: (-strides[d], d)))


def const_data_ptr(self: Any) -> int:
    """Return the address of the first element."""
    return self.data_ptr()


def storage(self: Any) -> Any:
    """Return the memory that it shares with its views, as elements of its dtype."""
    from minitorch.tensor.typed_storage import storage_of

    return storage_of(self)


def storage_type(self: Any) -> Any:
    """Return the class of its `storage`: ``FloatStorage``, ..."""
    from minitorch.tensor.typed_storage import storage_type as by_name

    return by_name(f"{self.dtype.scalar_name}Storage")


def _is_all_true(self: Any) -> Any:
    """Return whether all elements of a bool tensor are true, as a tensor."""
    return F.all(self)


def _is_any_true(self: Any) -> Any:
    """Return whether any element of a bool tensor is true, as a tensor."""
    return F.any(self)


def xpu(self: Any, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    """Return it on the device type ``opencl``, which ``xpu`` is another name of."""
    return self.to(device_class("xpu") if device is None else device_class(device))


def __array_namespace__(self: Any, /, *, api_version: str | None = None) -> Any:
    """Return the namespace of the Python array API standard, `minitorch.array_api`."""
    from minitorch import array_api

    if api_version is not None and api_version not in array_api.API_VERSIONS:
        raise ValueError(
            f"__array_namespace__(): no version {api_version!r} of the array API; there are {', '.join(array_api.API_VERSIONS)}"
        )
    return array_api


def to_device(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    """Return it on a device, as the array API standard calls that; `stream` must be None."""
    if stream is not None:
        raise ValueError(f"to_device(): stream must be None, got {stream!r}; make the stream current instead")
    return self.to(device=device_class(device))


def _never(what: str) -> property:
    return property(lambda self: False, doc=f"Whether it is {what}: False, as there are none.")


METHODS: dict[str, Any] = {
    f.__name__: f
    for f in (apply_, map_, map2_, new, share_memory_, dim_order, const_data_ptr, storage, storage_type, _is_all_true,
              _is_any_true, xpu, __array_namespace__, to_device)
}
PROPERTIES: dict[str, property] = {
    "is_xpu": property(lambda self: self.device.type == device_class("xpu").type, doc="Whether it is on the device type `xpu`."),
    "is_mps": _never("on Apple's GPU"),
    "is_mkldnn": _never("in MKL-DNN's layout"),
    "is_nested": _never("a nested tensor"),
    "is_vulkan": _never("on a Vulkan device"),
    "is_xla": _never("on an XLA device"),
    "is_ipu": _never("on an IPU"),
    "is_maia": _never("on a MAIA device"),
    "is_mtia": _never("on an MTIA device"),
    "is_sparse_csr": property(lambda self: self.layout is sparse_csr, doc="Whether its layout is compressed rows."),
    "name": property(lambda self: None, doc="None: tensors have no names."),
}


def attach(cls: type) -> None:
    """Give the class of tensors these methods and properties."""
    for name, member in {**METHODS, **PROPERTIES}.items():
        if name not in cls.__dict__:
            setattr(cls, name, member)
