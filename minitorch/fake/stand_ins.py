"""The meta tensors that the Meta kernels get in place of fake ones.

Note [Stand-ins]
    A stand-in has the handle, the storage and the version counter of its fake tensor.  So views of it share the
    fake tensor's storage, what an operator returns unchanged is found again by identity, and what
    it does to the geometry of an argument, as ``resize_`` does, is carried over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.device import device as device_class
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW
from minitorch.dispatch.tensor_keys import inference_keys, tensor_keys
from minitorch.fake.fake_tensor import LAZY_BITS, FakeArray, wrapped
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.components import ComponentHandle, tensor_of

_META = tensor_keys("Dense", "Meta")
_INFERENCE = inference_keys(_META)
META_DEVICE = device_class("meta")


class StandIns:
    """The stand-ins of one call."""

    def __init__(self, mode: Any):
        self.mode = mode
        self._pairs: dict[int, tuple[Any, Any]] = {}  # id of the fake tensor -> (it, its stand-in)
        self._fake_of: dict[int, Any] = {}  # id of the stand-in -> the fake tensor

    def enter(self, value: Any) -> Any:
        """Return an argument with stand-ins for its fake tensors."""
        if isinstance(value, TensorBase):
            return self._of(value)
        if type(value) is list or type(value) is tuple:
            return type(value)([self.enter(item) for item in value])
        return value

    def keywords(self, kwargs: dict) -> dict | None:
        """Return keyword arguments with stand-ins, on the meta device."""
        found = {name: self.enter(value) for name, value in kwargs.items()}
        if found.get("device") is not None:
            found["device"] = META_DEVICE
        found.pop("pin_memory", None)
        return found or None

    def _of(self, fake: Any) -> Any:
        pair = self._pairs.get(id(fake))
        if pair is None and isinstance(fake.handle, ComponentHandle):
            inside = tuple([self._of(part) for part in fake.handle.components()])
            stand_in = tensor_of(fake.handle.with_components(inside))
            stand_in.version_counter = fake.version_counter
            pair = self._pairs[id(fake)] = fake, stand_in
            self._fake_of[id(stand_in)] = fake
        elif pair is None:
            keys = _META if fake.key_set & AD_INPLACE_OR_VIEW else _INFERENCE
            stand_in = new_tensor(fake.handle, keys | (fake.key_set & LAZY_BITS))
            stand_in.storage_cell = fake.storage_cell
            stand_in.version_counter = fake.version_counter
            pair = self._pairs[id(fake)] = fake, stand_in
            self._fake_of[id(stand_in)] = fake
        return pair[1]

    def settle(self) -> None:
        """Carry over to the fake tensors what the call did to their stand-ins."""
        for fake, stand_in in tuple(self._pairs.values()):
            if isinstance(fake.handle, ComponentHandle):
                self._settle_components(fake, stand_in)
                continue
            if stand_in.handle is not fake.handle:
                fake.handle = FakeArray.of(stand_in.handle, fake.handle.device, self.mode)
                fake.shape_cache = None
            if stand_in.storage_cell is not fake.storage_cell:
                fake.storage_cell = stand_in.storage_cell
            if fake.version_counter is None and stand_in.version_counter is not None:
                fake.version_counter = stand_in.version_counter

    def _settle_components(self, fake: Any, stand_in: Any) -> None:
        """Carry over what the call made of a tensor of components: others, perhaps of another size."""
        fake.handle.assign(self._components_left(stand_in.handle, fake.device))
        fake.shape_cache = None
        if fake.version_counter is None and stand_in.version_counter is not None:
            fake.version_counter = stand_in.version_counter

    def _components_left(self, handle: Any, device: Any) -> Any:
        return handle.with_components(tuple([self._leave_one(part, device) for part in handle.components()]))

    def leave(self, result: Any, device_of: Callable[[int], Any]) -> Any:
        """Return a result with fake tensors for the meta tensors in it."""
        if type(result) is list or type(result) is tuple:
            return type(result)([self._leave_one(item, device_of(i)) for i, item in enumerate(result)])
        return self._leave_one(result, device_of(0))

    def _leave_one(self, value: Any, device: Any) -> Any:
        if type(value) is list:  # an operator that returns several lists
            return [self._leave_one(item, device) for item in value]
        if not isinstance(value, TensorBase):
            return value
        found = self._fake_of.get(id(value))
        if found is not None:
            return found
        if isinstance(value.handle, ComponentHandle):
            return tensor_of(self._components_left(value.handle, device))
        if not isinstance(value.handle, MetaArray):
            return self.mode.converter.from_real_tensor(self.mode, value, remember=False)
        return wrapped(value, device, self.mode)
