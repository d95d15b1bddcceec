"""From real tensors to fake ones: geometry, aliasing, history as far as a leaf has one."""

from __future__ import annotations

import weakref
from typing import Any

from minitorch.autograd.grad_mode import enable_grad
from minitorch.core.layout import strided
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, PYTHON_KEYS, ZERO_TENSOR
from minitorch.dispatch.tensor_keys import inference_keys, tensor_keys
from minitorch.fake.exceptions import UnsupportedFakeTensorException
from minitorch.fake.fake_tensor import LAZY_BITS, FakeTensor, claimed, wrapped
from minitorch.tensor.base import TensorBase, is_plain, make_storage, new_tensor
from minitorch.tensor.memory import memory_of
from minitorch.tensor.tensor import Tensor
from minitorch.tensor.wrapper import WrapperHandle

_META = tensor_keys("Dense", "Meta")


class FakeTensorConverter:
    """Makes fake tensors of real ones, the same one each time while both live.

    Tensors that share memory become fake tensors that share a storage.  Nothing is kept alive.
    """

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref, weakref.ref]] = {}  # id of the real tensor -> (it, its fake)
        # id of the real storage -> (the real tensors converted that show it, the fake storage)
        self._storages: dict[int, tuple[list[weakref.ref], Any]] = {}

    def from_real_tensor(
        self,
        mode: Any,
        real: Any,
        *,
        make_constant: bool = False,
        remember: bool = True,
        sizes: Any = None,
        grad: bool = True,
    ) -> FakeTensor:
        """Return the fake counterpart of a tensor.

        Parameters
        ----------
        mode : FakeTensorMode
            What it belongs to.
        real : Tensor
        make_constant : bool
            The elements are known (constants, Note [Known elements]); `real` is not to be changed by others.
        remember : bool
            Whether a second call with this tensor returns the same.
        sizes : callable, optional
            ``(shape, strides, offset) -> (shape, strides, offset)``, in elements: what stands in their place.
        grad : bool
            Whether ``.grad`` is converted too.

        Raises
        ------
        UnsupportedFakeTensorException
            If it is of a class with handlers of its own, sparse, or belongs to a transform.
        """
        _check(real)
        if real.is_quantized:
            parts = [self.from_real_tensor(mode, part, remember=remember) for part in real.handle.components()]
            return real.handle.with_components(tuple(parts)).tensor()
        found = self._made.get(id(real)) if remember else None
        if found is not None and found[0]() is real:
            fake = found[1]()
            if fake is not None and fake.handle.mode is mode:
                return fake
        view = real.view_info is not None and real.storage_cell is not None and not real.is_inference()
        base = self.from_real_tensor(mode, real._base, sizes=sizes, grad=False) if view and remember else None
        fake = self._made_of(mode, real, sizes, remember)
        if base is not None and sizes is None:
            fake = _as_view(base, fake)
        self._give_history(fake, real)
        if remember:
            self._remember(real, fake)
        if make_constant:
            mode.constants.set(fake, real)
        if grad and real.is_leaf and real.grad is not None:
            fake.grad_slot = self.from_real_tensor(mode, real.grad, sizes=sizes)
        return fake

    def _made_of(self, mode: Any, real: Any, sizes: Any, remember: bool) -> FakeTensor:
        handle = real.handle
        zero = bool(real.key_set & ZERO_TENSOR)
        offset, nbytes = 0, None
        shares = not zero and (remember or real.storage_cell is not None)
        if shares:
            memory = memory_of(real)
            root = real.storage_of().root
            offset, nbytes = memory.offset(root, handle), memory.nbytes(root)
        shape, strides = tuple(handle.shape), tuple(s * handle.itemsize for s in real.stride())
        if sizes is not None:
            step = handle.itemsize
            shape, steps, start = sizes(shape, real.stride(), offset // step)
            strides, offset, nbytes = tuple(s * step for s in steps), start * step, None
        array = MetaArray(shape, handle.dtype, strides, offset, nbytes)
        keys = _META if real.key_set & AD_INPLACE_OR_VIEW else inference_keys(_META)
        elem = new_tensor(array, keys | (real.key_set & LAZY_BITS))
        if shares and remember:
            elem.storage_cell = self._storage_for(real, nbytes, array)
        return wrapped(elem, claimed(real.device), mode)

    def _storage_for(self, real: Any, nbytes: Any, array: MetaArray) -> Any:
        """Return the fake storage of a real tensor's storage."""
        cell = real.storage_of()
        entry = self._storages.get(id(cell))
        if entry is not None:
            alive = [ref for ref in entry[0] if (other := ref()) is not None and other.storage_cell is cell]
            if alive:
                entry[0][:] = [*alive, weakref.ref(real)]
                return entry[1]
        made = make_storage(array if nbytes is None else MetaArray((nbytes,), "uint8"))
        key = id(cell)
        self._storages[key] = ([weakref.ref(real, lambda _: self._drop(key))], made)
        return made

    def _drop(self, key: int) -> None:
        entry = self._storages.get(key)
        if entry is not None and all(ref() is None for ref in entry[0]):
            del self._storages[key]

    def _remember(self, real: Any, fake: FakeTensor) -> None:
        key = id(real)
        self._made[key] = weakref.ref(real, lambda _: self._made.pop(key, None)), weakref.ref(fake)

    def _give_history(self, fake: FakeTensor, real: Any) -> None:
        if real.requires_grad and not fake.requires_grad:
            fake._set_requires_grad(True)
            if not real.is_leaf and real.view_info is None:
                # What computed it is not known here: that something did is.
                with enable_grad():
                    recorded = fake.clone()
                fake.node, fake.output_nr = recorded.node, recorded.output_nr
        if is_plain(real) and type(real) is not Tensor:  # a Parameter
            fake._is_param = True
        for name in ("_is_buffer", "persistent"):
            if name in getattr(real, "__dict__", {}):
                setattr(fake, name, real.__dict__[name])


def _check(real: Any) -> None:
    """Raise for tensors that have no fake counterpart."""
    if not isinstance(real, TensorBase):
        raise TypeError(f"from_tensor(): expected a Tensor, but got {type(real).__name__}")
    if real.key_set & PYTHON_KEYS:
        raise UnsupportedFakeTensorException(
            f"from_tensor(): {type(real).__name__} defines __torch_dispatch__, so its tensors have no fake counterpart. "
            "Convert the tensors inside."
        )
    if isinstance(real.handle, WrapperHandle):
        raise UnsupportedFakeTensorException(
            "from_tensor(): the tensor belongs to a transform or to functionalization. Convert it before."
        )
    if real.layout is not strided:
        raise UnsupportedFakeTensorException(f"from_tensor(): there are no fake tensors of layout {real.layout}")


def _as_view(base: FakeTensor, fake: FakeTensor) -> FakeTensor:
    """Return `fake` as a view of `base` that autograd knows."""
    if fake.dtype is not base.dtype or (fake.key_set ^ base.key_set) & LAZY_BITS:
        return fake  # the memory is shared nevertheless
    return base.as_strided(fake.shape, fake.stride(), fake.storage_offset())
