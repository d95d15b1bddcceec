"""Kernels of a `Backend`: functions of handles, wrapped as their schemas say."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from minitorch.backends.array import registry
from minitorch.backends.array.binding import check_result_cast, check_result_shape, explain, handle_of
from minitorch.backends.fallback import fall_back, hint
from minitorch.backends.placement import index_of_call, place
from minitorch.backends.storage_kernels import resize
from minitorch.core.dtype import DTYPES
from minitorch.dispatch.dispatcher import register_kernel
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, BACKEND_MASK
from minitorch.dispatch.operator import OPERATORS, Kernel
from minitorch.dispatch.policy import NoKernel
from minitorch.ops.registry import DECLARATIONS
from minitorch.tensor.base import TensorBase, new_tensor
from minitorch.tensor.memory import WRITES_ONE_VALUE, refuse_overlap

_PLAIN = frozenset((bool, int, float, complex, type(None)))
# Made of the backend's memory and copies (`transfer`), which know of several devices.
OF_MEMORY = frozenset(
    (
        "empty.memory_format", "empty_strided", "empty_permuted", "empty_like", "_to_copy", "copy_", "_local_scalar_dense",
        "_unsafe_view", "clone", "resize_", "as_strided",
    )
)
# Their kernels within one device may be the backend's own.
WITHIN_DEVICE = ("_to_copy", "copy_", "clone")


def share(source: TensorBase, handle: Any) -> Any:
    """Return a tensor around a handle that shows memory of `source`: storage and version are the same."""
    result = new_tensor(handle, source.key_set)
    result.storage_cell = source.storage_of()
    if source.key_set & AD_INPLACE_OR_VIEW:
        result.version_counter = source.counter_of()
    return result


class BackendKernel(Kernel):
    """Runs a function of handles; what the results are follows from the schema.

    Attributes
    ----------
    written : tuple of (int, str)
        Position and name of the arguments that the operator writes, in the order of its returns.
    is_view, gives_tensors : bool
        Whether it returns views; whether it returns tensors and nothing else.
    """

    __slots__ = ("backend", "gives_tensors", "is_prepared", "is_view", "written")

    def __init__(self, backend: Any, fn: Callable):
        Kernel.__init__(self, fn)
        self.backend = backend
        self.is_prepared = False
        self.is_view = self.gives_tensors = False
        self.written: tuple = ()

    def prepare(self, op: Any) -> None:
        """Read the schema, at the first call."""
        schema = op.schema
        self.written = tuple([(i, a.name) for i, a in enumerate(schema.arguments) if a.is_write])
        self.is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        self.gives_tensors = all(r.type.base == "Tensor" for r in schema.returns)
        self.is_prepared = True

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        if not self.is_prepared:
            self.prepare(op)
        backend = self.backend
        given = args, kwargs
        if kwargs:
            generator = kwargs.get("generator")
            if generator is not None and generator.device.type != backend.name:
                raise RuntimeError(
                    f"Expected a '{backend.name}' device type for generator but found '{generator.device.type}' ({op.qualname})"
                )
        if entry.key_set & BACKEND_MASK != backend.backend_bit or backend.several:
            args, kwargs = place(backend, op, args, kwargs)
            if backend.several:
                with backend.on_device(index_of_call(backend, args, kwargs)):
                    return self.run_here(op, entry, args, kwargs, given)
        elif kwargs and kwargs.get("device") is not None:
            index_of_call(backend, args, kwargs)  # raises where there is no device of its number
        return self.run_here(op, entry, args, kwargs, given)

    def run_here(self, op: Any, entry: Any, args: tuple, kwargs: dict | None, given: tuple) -> Any:
        targets = None
        if self.written:
            targets = self.targets(args, kwargs)
            if op.basename not in WRITES_ONE_VALUE:
                for target in targets:
                    if isinstance(target, TensorBase):
                        refuse_overlap(op.basename, target.handle)
        handles = [handle_of(a) for a in args]
        keywords = {name: handle_of(value) for name, value in kwargs.items()} if kwargs else {}
        try:
            result = self.compute(op, args, kwargs, handles, keywords)
        except NoKernel as missing:
            if self.is_view:
                raise NotImplementedError(f"{op.qualname}: {missing}. {hint(self.backend, op)}") from missing
            reason = str(missing) or "its kernel does not do these operands"
            return fall_back(self.backend, op, entry.key_set, *given, reason)
        if targets is not None:
            return self.finish_writing(op, targets, result)
        if self.is_view:
            return self.wrap_views(args[0], result)
        return self.wrap_result(op, result, handles)

    def compute(self, op: Any, args: tuple, kwargs: dict | None, handles: list, keywords: dict) -> Any:
        return self.fn(*handles, **keywords)

    def targets(self, args: tuple, kwargs: dict | None) -> list:
        """Return the arguments that are written."""
        found = []
        for position, name in self.written:
            value = args[position] if position < len(args) else (kwargs or {}).get(name)
            found.append(value)
        return found

    def finish_writing(self, op: Any, targets: list, result: Any) -> Any:
        """Store what the function returned instead of writing it; return the written tensors."""
        if result is not None:
            results = result if type(result) is tuple else (result,)
            for target, value in zip(targets, results, strict=False):
                if isinstance(target, TensorBase) and value is not target.handle:
                    self.store(op, target, value)
        if not op.schema.returns:
            return None
        return targets[0] if len(op.schema.returns) == 1 else tuple(targets)

    def store(self, op: Any, target: Any, value: Any) -> None:
        backend = self.backend
        if not isinstance(value, backend.array_type):
            value = backend.finish(value)
            if not isinstance(value, backend.array_type):
                raise self.wrong_result(op, value)
        if op.schema.arguments[0].is_write:
            check_result_shape(op, target.handle, value)
        elif tuple(value.shape) != tuple(target.handle.shape):
            resize(target, tuple(value.shape))
        check_result_cast(op, value.dtype, target.handle.dtype)
        backend.copy_(target.handle, value)

    def wrap_views(self, source: Any, result: Any) -> Any:
        if type(result) is list or type(result) is tuple:
            return [share(source, item) for item in result]
        return share(source, result)

    def wrap_result(self, op: Any, result: Any, handles: list) -> Any:
        if type(result) is tuple:
            return tuple([self.wrap_result(op, item, handles) for item in result])
        if type(result) is list:
            return [self.wrap_result(op, item, handles) for item in result]
        if type(result) in _PLAIN and (result is None or not self.gives_tensors):
            return result
        return self.wrap_handle(op, result, handles)

    def wrap_handle(self, op: Any, result: Any, handles: list) -> Any:
        backend = self.backend
        result = backend.finish(result)
        if not isinstance(result, backend.array_type):
            raise self.wrong_result(op, result)
        for handle in handles:
            if result is handle:  # a result is memory of its own
                made = backend.new_empty(result.shape, result.strides, result.dtype, backend.device_of(result).index or 0)
                backend.copy_(made.handle, result)
                return made
        return backend.wrap(result)

    def wrong_result(self, op: Any, result: Any) -> TypeError:
        backend = self.backend
        return TypeError(
            f"the kernel of {op.qualname} for {backend.name} ({self.location()}) returned a {type(result).__name__}; it must "
            f"return a handle of the device, a {backend.array_type.__name__}"
        )


# ---------------------------------------------------------------- kernels of a namespace


class NamespaceKernel(BackendKernel):
    """An array kernel (`backends.array`) on the arrays of a backend's namespace.

    Attributes
    ----------
    ufunc : callable or None
        Right for one or two operands of one dtype among `fast`; called in the function's place.
    """

    __slots__ = ("fast", "stores", "ufunc", "xp")

    def __init__(self, backend: Any, fn: Callable, xp: Any, ufunc: Any = None, fast: Any = (), stores: bool = False):
        BackendKernel.__init__(self, backend, fn)
        self.xp = xp
        self.ufunc = ufunc
        self.fast = fast
        self.stores = stores

    def compute(self, op: Any, args: tuple, kwargs: dict | None, handles: list, keywords: dict) -> Any:
        try:
            if self.ufunc is not None and not keywords and handles:
                first = handles[0]
                dtype = first.dtype
                if dtype in self.fast:
                    if len(handles) == 1:
                        return self.call_ufunc(first)
                    if len(handles) == 2:
                        other = handles[1]
                        kind = type(other)
                        if (kind is float or kind is int) and dtype.kind == "f":
                            return self.call_ufunc(first, other)
                        if isinstance(other, self.backend.array_type) and other.dtype == dtype:
                            return self.call_ufunc(first, other)
            return self.fn(self.xp, *handles, **keywords)
        except NoKernel:
            raise
        except AttributeError as error:
            if lacks_name(error, self.xp, self.backend.array_type):
                raise NoKernel(f"its namespace has no {error.name or error}") from error
            explain(op, args, kwargs, error)
        except Exception as error:
            explain(op, args, kwargs, error)

    def call_ufunc(self, *operands: Any) -> Any:
        if self.written and self.backend.namespace_writes:
            self.ufunc(*operands, operands[0])
            return None
        return self.ufunc(*operands)

    def finish_writing(self, op: Any, targets: list, result: Any) -> Any:
        # An array kernel that writes returns whatever it likes, unless it is the functional one.
        return BackendKernel.finish_writing(self, op, targets, result if self.stores else None)

    def wrap_handle(self, op: Any, result: Any, handles: list) -> Any:
        if isinstance(result, (np.ndarray, np.generic, *_PLAIN)) and not isinstance(result, self.backend.array_type):
            return self.backend.tensor_from_host(np.asarray(result), self.backend.current_device())
        return BackendKernel.wrap_handle(self, op, result, handles)


def lacks_name(error: AttributeError, xp: Any, array_type: Any) -> bool:
    """Return whether an AttributeError says that a namespace, or its arrays, lack what an array kernel asked for.

    An AttributeError from within the backend's own code is a mistake there, and no sign of a missing kernel.
    """
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    innermost = None if frame is None else frame.tb_frame
    if innermost is not None and innermost.f_code.co_name == "__getattr__":
        own = innermost.f_locals.get("self")
        if own is xp or innermost.f_globals is getattr(xp, "__dict__", None):
            return True
    asked_of = error.obj
    if asked_of is xp:
        return True
    if innermost is None or not innermost.f_globals.get("__name__", "").startswith("minitorch.backends.array"):
        return False
    if isinstance(asked_of, array_type):
        return True
    # A namespace within the namespace: xp.linalg, xp.lib.stride_tricks.
    return type(asked_of) is type(sys) or any(asked_of is value for value in vars(xp).values() if value is not None)


_KINDS = {
    "f": ("float32", "float64"),
    "i": ("int8", "int16", "int32", "int64"),
    "u": ("uint8", "uint16", "uint32", "uint64"),
    "c": ("complex64", "complex128"),
    "b": ("bool",),
}


def _fast_dtypes(kinds: str) -> dict:
    return {DTYPES[name].np: True for kind in kinds for name in _KINDS[kind]}


def bind_array_kernels(
    backend: Any,
    overrides: Mapping[str, Callable] | None = None,
    exclude: Collection[str] = (),
    wrap: Callable[[Callable], Callable] | None = None,
) -> list[str]:
    """Register the array kernels of the package, computing with a backend's `namespace`; return their names.

    A name that the namespace lacks is found out at the call, which then runs on the CPU; so does a kernel that raises
    `NoKernel`.  Random kernels are not bound (their numbers come from the CPU's generator): write them, or let them
    fall back.

    Parameters
    ----------
    backend : Backend
        With a `namespace`; registered already.
    overrides : dict of str to callable, optional
        ``fn(xp, *handles, **keywords)`` for operators by name, in place of the package's kernels or besides them.
    exclude : collection of str, optional
        Operators that are not to be bound.
    wrap : callable, optional
        Applied to each kernel, the package's and the overrides.
    """
    xp = backend.namespace
    if xp is None:
        raise TypeError(f"bind_array_kernels: the backend {backend.name!r} has no namespace; set it to one like NumPy's")
    if not backend.key:
        raise RuntimeError("bind_array_kernels: register the backend first (register_backend)")
    overrides = dict(overrides or {})
    for name in (*overrides, *exclude):
        _qualname(name)  # raises for what is no operator, before anything is bound
    bound = []
    for name, fn in {**registry.ARRAY_KERNELS, **overrides}.items():
        own = name in overrides
        if name in exclude or (not own and (name in OF_MEMORY or fn.__module__ == "minitorch.backends.array.random")):
            continue
        if wrap is not None:
            fn = wrap(fn)
        if own and name in WITHIN_DEVICE:
            within_device(backend, name, lambda *args, fn=fn, **kwargs: fn(xp, *args, **kwargs))
        else:
            _bind(backend, name, fn, xp, own)
        bound.append(name)
    if backend.namespace_writes:
        for name, declaration in DECLARATIONS.items():
            functional = declaration.functional
            if declaration.kind == "inplace" and functional in registry.DIRECT_UFUNCS and name not in bound:
                if functional not in overrides and name not in exclude and _keeps_dtype(functional):
                    _bind(backend, name, registry.ARRAY_KERNELS[functional], xp, False, functional)
                    bound.append(name)
    return bound


def array_kernels() -> dict[str, Callable]:
    """Return the kernels written for any array library, ``fn(xp, *handles, **keywords)``, by operator."""
    return dict(registry.ARRAY_KERNELS)


def _keeps_dtype(functional: str) -> bool:
    ufunc = registry.DIRECT_UFUNCS[functional][0](np)
    return any(t in ("d->d", "dd->d", "l->l", "ll->l") for t in getattr(ufunc, "types", ()))


def _bind(backend: Any, name: str, fn: Callable, xp: Any, own: bool, functional: str | None = None) -> None:
    declaration = DECLARATIONS.get(name)
    source = functional or (declaration.functional if declaration is not None else None)
    direct = registry.DIRECT_UFUNCS.get(functional or name)
    ufunc, fast = None, ()
    if direct is not None and not own:
        try:
            ufunc = direct[0](xp)
            ufunc = getattr(ufunc, "eager", ufunc)  # of a namespace whose results are lazy: a single call is not
            fast = _fast_dtypes(direct[1])
        except AttributeError:
            ufunc = None
    stores = own or functional is not None or source in registry.DIRECT_UFUNCS
    kernel = NamespaceKernel(backend, fn, xp, ufunc, fast, stores)
    register_kernel(_qualname(name), backend.key, kernel, warn_override=False)


# ---------------------------------------------------------------- registration


def _qualname(name: str) -> str:
    qualname = name if "::" in name else f"aten::{name}"
    qualname = qualname.removesuffix(".default")
    op = OPERATORS.get(qualname)
    if op is None or op.schema_text is None:
        base = qualname.partition(".")[0]
        overloads = sorted(key.partition("::")[2] for key in OPERATORS if key.partition(".")[0] == base)
        known = f"its overloads are {', '.join(overloads)}" if overloads else "there is none of this name"
        raise LookupError(f"there is no operator {name!r}: {known}")
    return qualname


def within_device(backend: Any, name: str, fn: Callable) -> None:
    """Let `fn` copy within a device for one of `WITHIN_DEVICE`."""
    backend.__dict__.setdefault("_within_device", {})[name] = fn


def register_kernels(backend: Any, names: tuple, fn: Callable) -> None:
    """Register a function of handles as the kernel of operators `names`."""
    if not names:
        raise TypeError('backend.kernel: name the operators that this is a kernel of, as in @backend.kernel("add.Tensor")')
    for name in names:
        qualname = _qualname(name)
        if name in WITHIN_DEVICE:
            within_device(backend, name, fn)
        else:
            register_kernel(qualname, backend.key, BackendKernel(backend, fn), warn_override=False)
