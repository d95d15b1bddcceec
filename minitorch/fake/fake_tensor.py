"""`FakeTensor`: shape, strides, dtype, device, history and aliasing of a tensor, without its elements.

Note [Handles of fake tensors]
    The handle is a `FakeArray`: a `MetaArray` that also knows the device that is claimed and the mode it belongs
    to.  Whoever shows the same handle again (views, ``.data``, autograd's saved outputs) thereby has both.  The key
    set is that of dense tensors of the claimed device and the Python keys, so calls pass autograd, autocast and
    transforms as they would on that device, and reach the handler instead of its backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minitorch.core.device import device as device_class
from minitorch.core.device import dispatch_key_name
from minitorch.core.dtype import get_default_dtype
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, CONJUGATE, NEGATIVE, ZERO_TENSOR
from minitorch.dispatch.mode_stack import disable_all_modes
from minitorch.dispatch.tensor_keys import inference_keys, python_keys, tensor_keys
from minitorch.ops.overriding import disabled_torch_function_impl
from minitorch.tensor.base import TensorBase
from minitorch.tensor.components import ComponentHandle, tensor_of
from minitorch.tensor.copying import _copy_storage, attributes_of, deepcopy
from minitorch.tensor.tensor import Tensor

if TYPE_CHECKING:
    from minitorch.fake.mode import FakeTensorMode

# Attributes that say what is known of the elements, and are not copied as others are.
_OF_ELEMENTS = ("constant", "found")
LAZY_BITS = CONJUGATE | NEGATIVE | ZERO_TENSOR


class FakeArray(MetaArray):
    """The handle of a fake tensor (Note [Handles of fake tensors]).

    Attributes
    ----------
    device : device
    mode : FakeTensorMode
    """

    __slots__ = ("device", "mode")

    @classmethod
    def of(cls, array: MetaArray, device: device_class, mode: FakeTensorMode) -> FakeArray:
        """Return the same geometry as the handle of a fake tensor on `device`."""
        made = cls.__new__(cls)
        made.shape, made.dtype, made.strides = array.shape, array.dtype, array.strides
        made.offset, made._storage_size = array.offset, array._storage_size
        made.device, made.mode = device, mode
        return made

    def with_geometry(self, other: MetaArray) -> FakeArray:
        return FakeArray.of(other, self.device, self.mode)


def claimed(device: Any) -> device_class:
    """Return a device as fake tensors claim it: an accelerator has a number (spec M5)."""
    found = device_class(device)
    if found.index is None and found.type not in ("cpu", "meta"):
        return device_class(found.type, 0)
    return found


class FakeTensor(Tensor):
    """A tensor without elements.

    Operators on it compute shapes, dtypes, strides and devices alone, whether or not its mode is active; history,
    views and versions are those of real tensors.

    Parameters
    ----------
    fake_mode : FakeTensorMode
    elem : Tensor
        A meta tensor of the same geometry, whose storage it shares.
    device : device or str
        Where it claims to be; the device need not exist.
    constant : Tensor, optional
        Its elements, where they are known.

    Attributes
    ----------
    fake_mode : FakeTensorMode
    fake_device : device
    constant : Tensor or None

    Examples
    --------
    >>> from minitorch._subclasses import FakeTensorMode
    >>> with FakeTensorMode():
    ...     x = minitorch.empty(2, 3, device="cuda")
    >>> x @ x.t()
    FakeTensor(..., device='cuda:0', size=(2, 2))
    """

    constant: Any = None
    # What was found of the elements, for each version (`dynamic_shapes.remembered`).
    found: Any = None
    _is_param = False
    _handle_is_all = True

    __torch_function__ = disabled_torch_function_impl

    def __new__(cls, fake_mode: FakeTensorMode, elem: Any, device: Any, constant: Any = None) -> FakeTensor:
        if type(elem.handle) not in (MetaArray, FakeArray):
            raise TypeError(
                f"FakeTensor: elem must be a meta tensor, and is on {elem.device}; use FakeTensorMode.from_tensor"
            )
        result = wrapped(elem, claimed(device), fake_mode)
        if constant is not None:
            fake_mode.constants.set(result, constant)
        return result

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        # Outside of its mode (spec M9).
        mode = next(t.handle.mode for t in _tensors((*args, *(kwargs or {}).values())) if isinstance(t, FakeTensor))
        return mode.__torch_dispatch__(func, types, args, kwargs)

    @staticmethod
    def from_tensor(t: Any, fake_mode: FakeTensorMode) -> FakeTensor:
        """Return the fake counterpart of a real tensor."""
        return fake_mode.from_tensor(t)

    @property
    def fake_mode(self) -> FakeTensorMode:
        return self.handle.mode

    @property
    def fake_device(self) -> device_class:
        return self.handle.device

    @property
    def device(self) -> device_class:  # type: ignore[override]
        return self.handle.device

    @property
    def names(self) -> Any:
        raise NotImplementedError("FakeTensor does not have support for names")

    @property
    def data(self) -> Any:
        result = Tensor.data.fget(self)  # type: ignore[attr-defined]
        if self.constant is not None:
            self.fake_mode.constants.set(result, self.constant)
        return result

    @data.setter
    def data(self, value: Any) -> None:
        if not isinstance(value, FakeTensor):
            raise TypeError(
                f"FakeTensor.data = {type(value).__name__}: convert the value with fake_mode.from_tensor first"
            )
        self.fake_mode.constants.forget(self)
        Tensor.data.fset(self, value)  # type: ignore[attr-defined]
        if value.constant is not None:
            self.fake_mode.constants.set(self, value.constant)

    def set_(self, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Any:
        """Show the memory of another fake tensor or storage; see `Tensor.set_`."""
        if isinstance(source, TensorBase) and not isinstance(source, FakeTensor):
            raise AssertionError(f"{CONVERT_FIRST} Found in set_()")
        device, mode = self.handle.device, self.handle.mode
        mode.constants.forget(self)
        Tensor.set_(self, source, storage_offset, size, stride)
        self.handle = FakeArray.of(self.handle, device, mode)
        return self

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(
            ".numpy() is not supported for tensor subclasses. A FakeTensor has no elements: call it on the real tensor."
        )

    def pin_memory(self, device: Any = None) -> Any:
        """Return a copy: what is not there is nowhere in particular."""
        return self.clone()

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise BufferError("a FakeTensor has no elements, so it cannot be exported by DLPack")

    def __deepcopy__(self, memo: dict) -> FakeTensor:
        found = memo.get(id(self))
        if found is not None:
            return found
        if not self.is_leaf:
            raise RuntimeError(
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment: "
                "copy tensor.detach() instead"
            )
        if isinstance(self.handle, ComponentHandle):
            parts = [part.__deepcopy__(memo) for part in self.handle.components()]
            result = tensor_of(self.handle.with_components(tuple(parts)))
        else:
            result = TensorBase.__new__(FakeTensor)
            result.handle, result.key_set = self.handle, self.key_set
            result.storage_cell = _copy_storage(self.storage_of(), memo)
        if self.requires_grad:
            result._set_requires_grad(True)
        memo[id(self)] = result
        if self.constant is not None:
            with disable_all_modes():
                self.fake_mode.constants.set(result, self.constant.clone())
        if self.grad is not None:
            result.grad = deepcopy(self.grad, memo)
        for name, value in attributes_of(self).items():
            if name not in _OF_ELEMENTS:
                setattr(result, name, deepcopy(value, memo))
        return result

    def __copy__(self) -> FakeTensor:
        result = self.data
        if self.requires_grad:
            result._set_requires_grad(True)
        for name, value in attributes_of(self).items():
            if name not in _OF_ELEMENTS:
                setattr(result, name, value)
        return result

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RuntimeError(
            f"{self!r} cannot be pickled or saved: it has no elements, and belongs to a FakeTensorMode of this process. Save "
            "the real tensor."
        )

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        from minitorch.tensor.printing import _history, tensor_text

        if isinstance(self.handle, ComponentHandle):
            return f"Parameter({tensor_text(self)})" if self._is_param else tensor_text(self)
        parts = ["..."]
        if self.device.type != "cpu":
            parts.append(f"device='{self.device}'")
        parts.append(f"size=({', '.join(str(n) for n in self.shape)}{',' if self.ndim == 1 else ''})")
        if self.dtype is not get_default_dtype():
            parts.append(f"dtype={self.dtype}")
        history = _history(self)
        if history is not None:
            parts.append(history)
        text = f"FakeTensor({', '.join(parts)})"
        return f"Parameter({text})" if self._is_param else text


CONVERT_FIRST = (
    "Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with 'allow_non_fake_inputs'."
)


def _tensors(values: Any) -> list:
    """Return the tensors among values, those in lists included."""
    found = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += [item for item in value if isinstance(item, TensorBase)]
    return found


def is_fake(value: Any) -> bool:
    """Return whether a tensor is fake: itself, or the one inside of the wrappers of transforms."""
    from minitorch.tensor.wrapper import innermost

    return isinstance(value, TensorBase) and isinstance(innermost(value), FakeTensor)


_keys_of: dict[str, tuple[int, int]] = {}


def keys_of(device: device_class) -> tuple[int, int]:
    """Return the key sets of fake tensors on a device: ordinary ones, and those made in inference mode."""
    found = _keys_of.get(device.type)
    if found is None:
        keys = tensor_keys("Dense", dispatch_key_name(device.type))
        found = _keys_of[device.type] = python_keys(keys), python_keys(inference_keys(keys))
    return found


def wrapped(elem: Any, device: device_class, mode: FakeTensorMode) -> FakeTensor:
    """Return a fake tensor on `device` of the geometry of a meta tensor, whose storage it shares."""
    made = TensorBase.__new__(FakeTensor)
    normal, inference = keys_of(device)
    made.handle = FakeArray.of(elem.handle, device, mode)
    made.key_set = (normal if elem.key_set & AD_INPLACE_OR_VIEW else inference) | (elem.key_set & LAZY_BITS)
    made.storage_cell = elem.storage_cell
    made.version_counter = elem.version_counter
    return made
