"""``__torch_function__`` of what is no operator: properties of tensors, questions about them, and Python's protocols.

Note [Hooks]
    Plain tensors answer without a detour.  A *hook* stands for an attribute of `Tensor` in classes that define
    ``__torch_function__`` (`hook_class`, when the class is made), and in `Tensor` itself while a mode is
    active (`hook_tensor`).  Asked of the class, a hook gives the attribute that it stands for, so that
    ``Tensor.shape.__get__`` and ``Tensor.size`` are what handlers compare with.  What the library itself asks of tensors
    while it works, no handler sees.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

from minitorch.dispatch.local_state import current
from minitorch.ops import overriding
from minitorch.tensor.base import TensorBase
from minitorch.tensor.tensor import Tensor

PROPERTIES = (
    "H", "T", "__cuda_array_interface__", "_base", "_version", "data", "device", "dtype", "grad", "grad_fn", "imag", "is_cpu",
    "is_cuda", "is_leaf", "is_meta", "is_quantized", "is_sparse", "itemsize", "layout", "mH", "mT", "nbytes", "ndim",
    "real", "requires_grad", "retains_grad", "shape",
)  # fmt: skip
METHODS = (
    "__and__", "__array__", "__bool__", "__complex__", "__contains__", "__deepcopy__", "__dir__", "__dlpack__",
    "__dlpack_device__", "__eq__", "__float__", "__floordiv__", "__format__", "__getitem__", "__index__", "__int__",
    "__invert__", "__len__", "__lshift__", "__or__", "__rand__", "__rdiv__", "__reduce_ex__", "__repr__", "__reversed__",
    "__rfloordiv__", "__rlshift__", "__rmatmul__", "__rmod__", "__ror__", "__rpow__", "__rrshift__", "__rshift__",
    "__rsub__", "__rtruediv__", "__rxor__", "__setitem__", "__xor__", "_is_view", "bfloat16", "bool", "byte", "cdouble",
    "cfloat", "char", "cpu", "cuda", "data_ptr", "dim", "double", "element_size", "float", "get_device", "half", "int",
    "is_complex", "is_conj", "is_contiguous", "is_floating_point", "is_inference", "is_neg", "is_pinned", "is_same_size",
    "is_set_to", "is_shared", "is_signed", "long", "ndimension", "nelement", "numel", "numpy", "pin_memory", "register_hook",
    "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad", "set_", "short", "size", "storage_offset",
    "stride", "tolist", "type", "untyped_storage",
)  # fmt: skip

_hooks: dict[str, Hook] = {}
_lock = threading.Lock()
_hooked = 0  # how many modes hold the hooks of `Tensor`


class _Default:
    """A field of tensors where the core runs interpreted: in the instance's dictionary, or as the class has it."""

    def __init__(self, name: str, value: Any):
        self.name = name
        self.value = value

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        return tensor.__dict__.get(self.name, self.value)

    def __set__(self, tensor: Any, value: Any) -> None:
        tensor.__dict__[self.name] = value

    def __delete__(self, tensor: Any) -> None:
        tensor.__dict__.pop(self.name, None)


class Hook:
    """Stands for an attribute of `Tensor` in a class (Note [Hooks]).

    Attributes
    ----------
    name : str
    original : function or descriptor
    is_method : bool
    """

    __slots__ = ("delete", "get", "is_method", "name", "original", "set")

    def __init__(self, name: str, original: Any, is_method: bool):
        self.name = name
        self.original = original
        self.is_method = is_method
        if not is_method and not hasattr(original, "__get__"):
            original = _Default(name, original)
        self.get: Any = original if is_method else original.__get__
        self.set: Any = getattr(original, "__set__", None)
        self.delete: Any = getattr(original, "__delete__", None)

    def __get__(self, tensor: Any, owner: Any = None) -> Any:
        if tensor is None:
            return self.original
        if self.is_method:
            bound = self.original.__get__(tensor, type(tensor))
            if _passes(sys._getframe(1), tensor):
                return bound
            return _Method(self.original, tensor)
        if _passes(sys._getframe(1), tensor):
            return self.get(tensor)
        return _ask(self.get, (tensor,), {})

    def __set__(self, tensor: Any, value: Any) -> None:
        if self.is_method:  # as any attribute of an instance
            tensor.__dict__[self.name] = value
        elif self.set is None:
            raise AttributeError(f"attribute {self.name!r} of 'Tensor' objects is not writable")
        elif _passes(sys._getframe(1), tensor):
            self.set(tensor, value)
        else:
            _ask(self.set, (tensor, value), {})

    def __delete__(self, tensor: Any) -> None:
        if self.is_method:
            tensor.__dict__.pop(self.name)
        elif self.delete is None:
            raise AttributeError(f"attribute {self.name!r} of 'Tensor' objects cannot be deleted")
        elif _passes(sys._getframe(1), tensor):
            self.delete(tensor)
        else:
            _ask(self.delete, (tensor,), {})


class _Method:
    """A hooked method of one tensor."""

    __slots__ = ("__self__", "function")

    def __init__(self, function: Any, tensor: Any):
        self.function = function
        self.__self__ = tensor

    @property
    def __name__(self) -> str:
        return self.function.__name__

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _ask(self.function, (self.__self__, *args), kwargs)


class _Again:
    """A hooked function as handlers of the inner modes get it: called, it goes on to the mode around; else it is the function."""

    __slots__ = ("function",)

    def __init__(self, function: Any):
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _ask(self.function, args, kwargs)

    def __eq__(self, other: object) -> bool:
        return self.function == (other.function if isinstance(other, _Again) else other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


def _passes(frame: Any, tensor: Any) -> bool:
    """Return whether an access is none of any handler's business."""
    state = current()
    if state.function_disabled:
        return True
    if not state.function_modes and not overriding.overrides_calls(tensor):
        return True
    return frame.f_globals.get("__name__", "").startswith("minitorch.")


def _ask(function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
    """Let modes and the arguments' classes handle a call of a hooked function; else make it."""
    state = current()
    if state.function_disabled:
        return function(*args, **kwargs)
    modes = state.function_modes
    if modes:
        public = _Again(function) if len(modes) > 1 or overriding.overloaded_arguments(args, kwargs) else function
        return overriding.ask_mode(public, args, kwargs)
    if not overriding.overloaded_arguments(args, kwargs):
        return function(*args, **kwargs)
    return overriding.call_handlers(function, args, kwargs)


def hook_of(name: str) -> Hook:
    """Return the hook of an attribute of `Tensor`."""
    found = _hooks.get(name)
    if found is None:
        original = next(c.__dict__[name] for c in (Tensor, TensorBase) if name in c.__dict__)
        found = _hooks[name] = Hook(name, original, name in METHODS)
    return found


def hook_class(cls: type) -> None:
    """Install the hooks in a new subclass that has a ``__torch_function__`` of its own."""
    if not overriding.defines_function(cls):
        return
    for name in (*PROPERTIES, *METHODS):
        owner = next((c for c in cls.__mro__ if name in c.__dict__), None)
        if owner is Tensor or owner is TensorBase:
            setattr(cls, name, hook_of(name))


def hook_tensor(change: int) -> None:
    """Install the hooks in `Tensor` for a mode that is entered (+1), and take them out after the last that is left (-1)."""
    global _hooked
    with _lock:
        before, _hooked = _hooked, _hooked + change
        if bool(before) == bool(_hooked):
            return
        for name in (*PROPERTIES, *METHODS):
            hook = hook_of(name)
            if _hooked:
                setattr(Tensor, name, hook)
            elif name in TensorBase.__dict__ and TensorBase.__dict__[name] is hook.original:
                delattr(Tensor, name)
            else:
                setattr(Tensor, name, hook.original)
