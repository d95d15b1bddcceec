"""Registers the shape functions as the kernels of the Meta key."""

from __future__ import annotations

from minitorch.backends import storage_kernels
from minitorch.backends.array.binding import handle_of
from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW
from minitorch.dispatch.local_state import current
from minitorch.dispatch.operator import OPERATORS, Kernel
from minitorch.dispatch.tensor_keys import inference_keys, tensor_keys
from minitorch.ops.registry import DECLARATIONS
from minitorch.ops.shapes.registry import SHAPES
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.memory import MetaMemory, register_memory

META_KEYS = tensor_keys("Dense", "Meta")


def wrap(result):
    """Return meta tensors around the meta arrays in a result."""
    if isinstance(result, MetaArray):
        keys = inference_keys(META_KEYS) if current().inference_mode else META_KEYS
        return new_tensor(result, keys)
    if isinstance(result, tuple):
        return tuple(wrap(r) for r in result)
    if isinstance(result, list):
        return [wrap(r) for r in result]
    return result


# Operators whose lists of indices may be on another device.
_INDICES_ANYWHERE = frozenset(("index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_"))


def handles_of(op, args, kwargs):
    """Return the arguments with handles for tensors.

    An operator with a ``device`` argument makes a tensor here after one that may be anywhere.

    Raises
    ------
    RuntimeError
        If one is a tensor of another device, other than a 0-dim one or an index (spec M4).
    """
    if not kwargs or "device" not in kwargs:
        for value in (*args, *kwargs.values()) if kwargs else args:
            if isinstance(value, TensorBase):
                _check_device(value)
            elif (type(value) is list or type(value) is tuple) and op.basename not in _INDICES_ANYWHERE:
                for item in value:
                    if isinstance(item, TensorBase):
                        _check_device(item)
    keywords = {name: handle_of(value) for name, value in kwargs.items()} if kwargs else {}
    return [handle_of(value) for value in args], keywords


def _check_device(tensor):
    handle = tensor.handle
    if not isinstance(handle, MetaArray) and handle.ndim:
        raise RuntimeError(
            f"Tensor on device {tensor.device} is not on the expected device meta! It has shape {list(tensor.shape)}; only a "
            'number may stand among meta tensors. Move it with .to("meta").'
        )


class MetaKernel(Kernel):
    """Runs a shape function; the result is fresh."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        handles, keywords = handles_of(op, args, kwargs)
        return wrap(self.fn(*handles, **keywords))


class MetaViewKernel(Kernel):
    """Runs a shape function whose results are views of the first argument."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        source = args[0]
        handles, keywords = handles_of(op, args, kwargs)
        result = self.fn(*handles, **keywords)
        return [share(source, r) for r in result] if isinstance(result, list) else share(source, result)


def share(source, result):
    """Return a tensor around a view, sharing the storage of its source."""
    tensor = new_tensor(result, source.key_set)
    tensor.storage_cell = source.storage_of()
    if source.key_set & AD_INPLACE_OR_VIEW:
        tensor.version_counter = source.counter_of()
    return tensor


class MetaWritingKernel(Kernel):
    """Checks an in-place operator's arguments with its shape function; there is nothing to write."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        if self.fn is not None:
            handles, keywords = handles_of(op, args, kwargs)
            self.fn(*handles, **keywords)
        return args[0] if op.return_count else None


def register() -> None:
    """Register memory and kernels of the Meta backend."""
    register_memory("Meta", MetaMemory())
    storage_kernels.register("Meta")
    for name, fn in SHAPES.items():
        op = OPERATORS.get("aten::" + name)
        if op is None:
            raise LookupError(f"{fn.__module__}: {name} has a shape function and no declaration")
        if "CompositeImplicitAutograd" in op.kernels or "CompositeExplicitAutograd" in op.kernels:
            continue
        declaration = DECLARATIONS[name]
        if name == "copy_":
            op.register("Meta", storage_kernels.MetaCopyKernel(fn))
        elif declaration.kind == "inplace":
            op.register("Meta", MetaWritingKernel(fn))
        elif "(Tensor(a) self" in declaration.schema or "(Tensor(a -> *) self" in declaration.schema:
            op.register("Meta", MetaViewKernel(fn))
        else:
            op.register("Meta", MetaKernel(fn))
