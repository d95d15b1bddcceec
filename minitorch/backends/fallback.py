"""The CPU fallback: runs an operator on the CPU for a device that has no kernel for it (spec E13)."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends.generators import drawing_from, host_stream
from minitorch.backends.placement import index_of_call, place
from minitorch.backends.storage_kernels import resize
from minitorch.core.device import cpu
from minitorch.core.device import device as device_class
from minitorch.core.generator import Generator
from minitorch.core.memory_format import preserved_strides
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS, BACKEND_MASK, key_set_text, parse_key
from minitorch.dispatch.local_state import ExcludeKeysGuard
from minitorch.dispatch.operator import Kernel
from minitorch.dispatch.policy import current_policy, note_fallback
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import wrap

_CPU_BITS = parse_key("CPU").bits
_ABOVE = AUTOGRAD_KEYS | AD_INPLACE_OR_VIEW
NO_KERNEL = "it has no kernel for this operator"
# What operators write although their schemas, PyTorch's, do not say so.
_UNDECLARED = {"native_batch_norm": frozenset(("running_mean", "running_var"))}


class Plan:
    """What the fallback needs of a schema.

    Attributes
    ----------
    names : list of str
        The arguments' names in order.
    written : frozenset of str
    is_view : bool
        Whether a result shows the memory of an argument that is not written.
    draws : bool
        Whether it takes random numbers.
    """

    __slots__ = ("draws", "is_view", "names", "written")

    def __init__(self, op: Any):
        schema = op.schema
        self.names = [a.name for a in schema.arguments]
        self.written = frozenset(a.name for a in schema.arguments if a.is_write) | _UNDECLARED.get(op.unqualified, frozenset())
        self.is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        self.draws = "nondeterministic_seeded" in (op.tags or ()) or "Generator" in str(op.schema_text)


def _plan(op: Any, plans: dict) -> Plan:
    found = plans.get(op)
    if found is None or found[0] != op.schema_text:
        found = plans[op] = (op.schema_text, Plan(op))
    return found[1]


class CpuFallback(Kernel):
    """Runs at a backend's key for every operator that has no kernel there."""

    __slots__ = ("backend",)

    def __init__(self, backend: Any):
        Kernel.__init__(self, None)
        self.backend = backend

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        return fall_back(self.backend, op, entry.key_set, args, kwargs, NO_KERNEL)


def fall_back(backend: Any, op: Any, key_set: int, args: tuple, kwargs: dict | None, reason: str) -> Any:
    """Run an operator on the CPU, and return its results on the device.

    Raises
    ------
    NotImplementedError
        For an operator that returns views, and under the policy ``"error"``.
    """
    plan = _plan(op, backend.__dict__.setdefault("_plans", {}))
    index = index_of_call(backend, args, kwargs)
    where = device_class(backend.name, index)
    if plan.is_view:
        raise NotImplementedError(
            f"{op.qualname} returns a view, which cannot be computed on the CPU for {where}: the result must show the "
            f"memory of its argument ({reason}). {hint(backend, op)}"
        )
    if current_policy() == "error":
        raise NotImplementedError(refusal(backend, op, key_set, where, reason))
    if key_set & BACKEND_MASK != backend.backend_bit or backend.several:
        args, kwargs = place(backend, op, args, kwargs)
    call = _Call(backend, op, plan, index)
    result = call.run(args, kwargs)
    note_fallback(op.qualname, str(where), reason, call.moved_bytes, hint(backend, op))
    return result


def hint(backend: Any, op: Any) -> str:
    """Return the line that adds a kernel, or the place of the one that does not do these operands."""
    own = op.active(backend.key)
    if own is not None:
        return f"Its kernel for {backend.name}, at {own.location()}, does not do these operands."
    return (
        f'Write a kernel with @backend.kernel("{op.unqualified if op.namespace == "aten" else op.qualname}"), or register '
        f'one of tensors with Library("{op.namespace}", "IMPL", "{backend.key}").impl("{op.unqualified}", fn).'
    )


def refusal(backend: Any, op: Any, key_set: int, where: Any, reason: str) -> str:
    """Return the text of the error under the policy ``"error"``."""
    return (
        f"Could not run '{op.qualname}' on the device {where}: {reason}, and the fallback policy is 'error'. The key set "
        f"of the call was {key_set_text(key_set)}. '{op.qualname}' is only available for these backends: "
        f"[{', '.join(_keys_with_kernels(op)) or 'none'}]. {hint(backend, op)}"
    )


def _keys_with_kernels(op: Any) -> list[str]:
    above = ("Autograd", "ADInplaceOrView", "BackendSelect")
    return [name for name, stack in op.kernels.items() if not name.startswith(above) and not stack[-1].is_fallthrough]


class _Call:
    """One call on its way over the CPU."""

    def __init__(self, backend: Any, op: Any, plan: Plan, index: int):
        self.backend = backend
        self.op = op
        self.plan = plan
        self.index = index
        self.moved_bytes = 0
        self.on_host: dict[int, Any] = {}  # id of a tensor -> (it, its copy on the CPU, the copy's array, is shared)
        self.originals: dict[int, Any] = {}  # id of a copy -> the tensor
        self.written: set[int] = set()  # ids of the tensors that the operator writes
        # Of these only the geometry is read.
        self.geometry_only = op.basename.endswith("_like")

    def run(self, args: tuple, kwargs: dict | None) -> Any:
        backend, plan = self.backend, self.plan
        if plan.written:
            for name, value in self.named(args, kwargs):
                if name in plan.written:
                    self.written.update(map(id, value if type(value) in (list, tuple) else (value,)))
        args = tuple([self.to_host(value) for value in args])
        kwargs = {name: self.to_host(value) for name, value in kwargs.items()} if kwargs else None
        with ExcludeKeysGuard(_ABOVE), cpu:
            if plan.draws:
                with drawing_from(backend.default_generator(self.index)):
                    result = self.op.redispatch_boxed(_CPU_BITS, args, kwargs)
            else:
                result = self.op.redispatch_boxed(_CPU_BITS, args, kwargs)
        self.write_back()
        return self.to_device(result)

    # -- there -------------------------------------------------------------------------

    def named(self, args: tuple, kwargs: dict | None) -> list:
        """Return the arguments of the call with their names."""
        return [(self.plan.names[i], value) for i, value in enumerate(args)] + list((kwargs or {}).items())

    def to_host(self, value: Any) -> Any:
        if isinstance(value, TensorBase):
            return self.tensor_to_host(value)
        if type(value) is list or type(value) is tuple:
            return [self.to_host(item) for item in value]
        if isinstance(value, device_class):
            return cpu
        if isinstance(value, Generator):
            if value.device.type != self.backend.name:
                raise RuntimeError(
                    f"Expected a '{self.backend.name}' device type for generator but found '{value.device.type}' "
                    f"({self.op.qualname})"
                )
            return host_stream(value)
        return value

    def tensor_to_host(self, tensor: Any) -> Any:
        if not tensor.key_set & self.backend.backend_bit:
            return tensor
        found = self.on_host.get(id(tensor))
        if found is not None:
            return found[1]
        backend, handle = self.backend, tensor.handle
        # The order of dimensions is kept, so that results lie in memory as they would on the CPU.
        strides = preserved_strides(tuple(handle.shape), tuple(handle.strides), handle.itemsize, handle.itemsize)
        array = backend.share_with_host(handle)
        shared = array is not None
        if self.geometry_only:
            shared, array = False, _empty(handle, strides)
        elif array is None:
            if id(tensor) in self.written:
                array = backend.host_array(handle, strides)
            else:
                array = _laid_out(backend.to_host(handle), strides)
            self.moved_bytes += array.nbytes
        copy: Any = wrap(array)
        self.on_host[id(tensor)] = (tensor, copy, array, shared)
        self.originals[id(copy)] = tensor
        return copy

    # -- and back ----------------------------------------------------------------------

    def write_back(self) -> None:
        """Copy the arguments that the operator wrote into the originals."""
        for tensor, copy, _, _ in list(self.on_host.values()):
            if id(tensor) in self.written:
                self.write_into(tensor, copy)

    def write_into(self, original: Any, copy: Any) -> None:
        _, _, array, shared = self.on_host[id(original)]
        result = copy.handle
        if tuple(result.shape) != tuple(original.handle.shape):
            resize(original, tuple(result.shape))
        elif shared and result is array:
            return  # it was written where it is
        self.backend.copy_(original.handle, self.send(result).handle)

    def send(self, array: np.ndarray) -> Any:
        self.moved_bytes += array.nbytes
        return self.backend.tensor_from_host(array, self.index)

    def to_device(self, result: Any) -> Any:
        if isinstance(result, TensorBase):
            original = self.originals.get(id(result))
            if original is not None and id(original) in self.written:
                return original
            return self.send(result.handle) if result.key_set & _CPU_BITS & BACKEND_MASK else result
        if type(result) is tuple:
            return tuple([self.to_device(item) for item in result])
        if type(result) is list:
            return [self.to_device(item) for item in result]
        return result


def _empty(handle: Any, strides: tuple) -> np.ndarray:
    shape = tuple(handle.shape)
    if 0 in shape:
        return np.empty(shape, handle.dtype)
    return np.ndarray(shape, handle.dtype, np.empty(handle.size * handle.itemsize, np.uint8), 0, strides)


def _laid_out(array: np.ndarray, strides: tuple) -> np.ndarray:
    """Return `array` with the strides of its tensor, so that results get those that they would have on the CPU."""
    if array.strides == strides or array.size < 2:
        return array
    block = np.empty(array.size * array.itemsize, np.uint8)
    result = np.ndarray(array.shape, array.dtype, block, 0, strides)
    np.copyto(result, array)
    return result
