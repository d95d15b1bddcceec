"""The kernels of the Functionalize key, one for each kind of operator.

Which kind an operator is of follows from its declaration (`kernel_of`), so that one fallback
serves all (`Fallback`).  Each kernel takes the wrappers of its level apart, calls operators that
change nothing on the level below, and wraps what comes back or gives it to the wrapper that was
to be changed (spec F2, F3).

Note [Operators without a kind]
    ``copy_``, ``zero_``, ``embedding_renorm_`` and the random in-place operators have functional
    forms by names of their own (`FUNCTIONAL_FORMS`).  The fused optimizer steps write into lists;
    their functional forms return the new lists (`MutatingKernel`), and so does that of
    ``native_batch_norm``, whose schema does not say that it updates the running statistics.
    ``resize_`` changes the storage, or is a view (`ResizeKernel`).  ``out=`` forms of factories
    and composites run their own kernel on the wrappers: it resizes and copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minitorch.core.memory_format import contiguous_format, format_strides
from minitorch.core.meta_array import MetaArray, contiguous_strides
from minitorch.dispatch.keys import FUNCTIONALIZE
from minitorch.dispatch.operator import OPERATORS, Kernel, Operator
from minitorch.functionalize.auto import auto_functionalized, can_be_functionalized, written_names
from minitorch.functionalize.layout import copied_in_order, dense_order, result_geometries, same_layout, tensors_in
from minitorch.functionalize.levels import below, current_level, takes_custom_operators
from minitorch.functionalize.wrapper import (
    FunctionalHandle,
    FunctionalStorage,
    handle_at,
    is_functional,
    value_at,
    view_handles,
    wrap_value,
    wrap_view,
)
from minitorch.ops import functions as F
from minitorch.ops.assemble import is_view
from minitorch.ops.derived import DerivedOut, check_cast, check_out, warn_resize
from minitorch.ops.registry import DECLARATIONS
from minitorch.tensor.base import TensorBase
from minitorch.tensor.memory import WRITES_ONE_VALUE, refuse_overlap

# Operators that write, and those that return what would be written (Note [Operators without a kind]).
FUNCTIONAL_FORMS = {
    "bernoulli_.Tensor": "bernoulli.Tensor",
    "cauchy_": "cauchy",
    "copy_": "copy",
    "embedding_renorm_": "embedding_renorm",
    "exponential_": "exponential",
    "geometric_": "geometric",
    "log_normal_": "log_normal",
    "normal_": "normal_functional",
    "random_": "random",
    "random_.from": "random.from",
    "random_.to": "random.to",
    "uniform_": "uniform",
    "zero_": "zero",
}
# Those that draw numbers; `BernoulliKernel` has an order of its own.
_RANDOM_FORMS = frozenset(
    ("cauchy", "exponential", "geometric", "log_normal", "normal_functional", "random", "uniform")
)
# Views in name of what a sparse tensor consists of.
PARTS = frozenset(
    (
        "_indices", "_values", "_sparse_broadcast_to", "ccol_indices", "col_indices", "crow_indices", "indices", "row_indices",
        "values",
    )
)  # fmt: skip
MUTATING_FORMS = {
    "_amp_foreach_non_finite_check_and_unscale_": "_amp_foreach_non_finite_check_and_unscale",
    "_amp_update_scale_": "_amp_update_scale",
    "_fused_adam_": "_fused_adam",
    "_fused_adamw_": "_fused_adamw",
    "_fused_sgd_": "_fused_sgd",
}


def any_functional(tensors: Any, level: int) -> bool:
    """Return whether one of some tensors is a functional one of `level`."""
    return any(t.key_set & FUNCTIONALIZE and handle_at(t, level) is not None for t in tensors)


def unwrapped(value: Any, level: int) -> Any:
    """Return an argument with the values of functional tensors in their place."""
    if isinstance(value, TensorBase):
        return value_at(value, level)
    if isinstance(value, (list, tuple)) and value and not isinstance(value[0], (int, float)):
        return [unwrapped(item, level) for item in value]
    return value


def unwrapped_call(args: tuple, kwargs: dict | None, level: int) -> tuple[tuple, dict | None]:
    """Return arguments with the values of functional tensors in their place."""
    keywords = {name: unwrapped(value, level) for name, value in kwargs.items()} if kwargs else None
    return tuple([unwrapped(a, level) for a in args]), keywords


def wrapped(result: Any, level: int, geometries: Iterator[MetaArray] = iter(())) -> Any:
    """Return a result with its tensors wrapped; `geometries`, if any, are theirs in order."""
    if isinstance(result, TensorBase):
        return wrap_value(result, level, next(geometries, None))
    if isinstance(result, (list, tuple)):
        return type(result)([wrapped(item, level, geometries) for item in result])
    return result


def lies_elsewhere(tensor: TensorBase, level: int) -> bool:
    """Return whether a functional tensor's value has other strides than the program knows."""
    handle = handle_at(tensor, level)
    return handle is not None and not same_layout(handle.value.handle, handle.geometry)


def call_below(op: Operator, args: tuple, kwargs: dict | None, level: int) -> Any:
    """Call an operator below `level`, on the values of functional tensors."""
    args, kwargs = unwrapped_call(args, kwargs, level)
    with below(level):
        return op.call(args, kwargs)


def refuse_mixture(op: Operator, written: list, others: list, level: int) -> None:
    """Raise if a plain tensor is to be written where functional tensors are among the arguments."""
    plain = [t for t in written if handle_at(t, level) is None]
    if plain and any_functional([*written, *others], level):
        raise RuntimeError(
            f"{op.basename}: mutating a non-functional tensor (of shape {list(plain[0].shape)}) with a functional tensor is "
            "not allowed. Please ensure that all of your inputs are wrapped: pass them to the functionalized function as "
            "arguments, or wrap them with _to_functional_tensor()."
        )


def fit_result(op: Operator, result: TensorBase, target: TensorBase) -> None:
    """Raise unless what a functional operator returned can be what the in-place one leaves in `target`."""
    if tuple(result.handle.shape) != tuple(target.handle.shape):
        raise RuntimeError(
            f"{op.basename}: output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}; an in-place operator cannot change the shape of its first argument"
        )
    check_cast(op, result, target)


class OutOfPlaceKernel(Kernel):
    """Operators that change nothing: called below, what comes back is wrapped."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        tensors = tensors_in((*args, *(kwargs or {}).values()))
        result = call_below(op, args, kwargs, level)
        if tensors and not any_functional(tensors, level):
            return result
        if any(lies_elsewhere(t, level) for t in tensors):
            return wrapped(result, level, iter(result_geometries(op, args, kwargs)))
        return wrapped(result, level)


class PartKernel(OutOfPlaceKernel):
    """What returns a part of a sparse tensor, its values or indices: a new value, as nothing says how to put it back."""

    __slots__ = ()


class UnwritableKernel(Kernel):
    """Operators that change what a sparse tensor consists of, and have no functional form."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        if not any_functional(tensors_in((*args, *(kwargs or {}).values())), level):
            return call_below(op, args, kwargs, level)
        raise RuntimeError(
            f"{op.qualname}: it changes what a sparse tensor consists of, which functionalization cannot follow. Make a new "
            "tensor with a constructor, such as sparse_coo_tensor()."
        )


class ViewKernel(Kernel):
    """View operators: the view of a functional tensor shares its storage."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        source = args[0]
        handle = handle_at(source, level)
        if handle is None:
            return call_below(op, args, kwargs, level)
        handle.sync()
        views = view_handles(handle, op, args[1:], kwargs)
        if isinstance(views, list):
            return [wrap_view(source, view) for view in views]
        return wrap_view(source, views)


class InplaceViewKernel(Kernel):
    """Operators such as `t_`: the tensor becomes a view of what it was; no elements change."""

    __slots__ = ("functional",)

    def __init__(self, functional: Operator):
        Kernel.__init__(self, None)
        self.functional = functional

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        target = args[0]
        handle = handle_at(target, level)
        if handle is None:
            call_below(op, args, kwargs, level)
            return target
        handle.sync()
        show(target, view_handles(handle, self.functional, args[1:], kwargs))
        return target


def show(tensor: Any, handle: FunctionalHandle) -> None:
    """Make a tensor show what `handle` does, from now on."""
    tensor.handle = handle
    tensor.storage_cell = handle.storage
    tensor.shape_cache = None


class InplaceKernel(Kernel):
    """In-place operators: the functional form is called, and its result becomes the tensor's value."""

    __slots__ = ("functional", "is_random")

    def __init__(self, functional: Operator):
        Kernel.__init__(self, None)
        self.functional = functional
        self.is_random = functional.basename in _RANDOM_FORMS

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        target = args[0]
        handle = handle_at(target, level)
        if handle is None:
            refuse_mixture(op, [target], tensors_in((*args, *(kwargs or {}).values())), level)
            call_below(op, args, kwargs, level)
            return target
        if op.basename not in WRITES_ONE_VALUE:
            refuse_overlap(op.basename, handle)
        result = self.compute(handle, self.completed(op, args), kwargs, level)
        fit_result(op, result, target)
        handle.replace(result)
        return target

    def compute(self, handle: FunctionalHandle, args: tuple, kwargs: dict | None, level: int) -> Any:
        """Return what the functional form makes of the arguments; `handle` is that of the first."""
        if self.is_random and not same_layout(handle.value.handle, handle.geometry):
            # Numbers are drawn in the order of memory.
            order = dense_order(handle.geometry)
            if order is not None:
                with below(level):
                    args = (copied_in_order(handle.value, order), *args[1:])
        return call_below(self.functional, args, kwargs, level)

    def completed(self, op: Operator, args: tuple) -> tuple:
        """Return the arguments with defaults that the functional form does not have."""
        theirs = self.functional.schema.arguments
        ours = op.schema.arguments
        while len(args) < len(theirs) and not theirs[len(args)].kwarg_only and not theirs[len(args)].has_default:
            args = (*args, ours[len(args)].default)
        return args


class BernoulliKernel(InplaceKernel):
    """``bernoulli_``: numbers are drawn in the order of memory, where the functional form draws row by row."""

    __slots__ = ()

    def compute(self, handle: FunctionalHandle, args: tuple, kwargs: dict | None, level: int) -> Any:
        strides = handle.strides
        order = sorted(range(len(strides)), key=lambda d: (-strides[d], d))
        if order == list(range(len(strides))):
            return call_below(self.functional, args, kwargs, level)
        (first, *rest), kwargs = unwrapped_call(args, kwargs, level)
        with below(level):
            drawn = self.functional.call((F.permute(first, order), *rest), kwargs)
            return F.permute(drawn, [order.index(d) for d in range(len(order))])


class OutKernel(Kernel):
    """``out=`` operators: the functional form is called, and its results become the values of the ``out`` arguments."""

    __slots__ = ("derived",)

    def __init__(self, derived: DerivedOut):
        Kernel.__init__(self, None)
        self.derived = derived

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        rest = dict(kwargs or {})
        outs = [rest.pop(name) for name in self.derived.names]
        refuse_mixture(op, outs, tensors_in((*args, *rest.values())), level)
        handles = [handle_at(out, level) for out in outs]
        if None in handles:
            call_below(op, args, kwargs, level)
            return outs[0] if len(outs) == 1 else tuple(outs)
        self.derived.rules.check_memory(op, outs, args, rest)
        result = call_below(self.derived.functional, args, rest or None, level)
        results = (result,) if isinstance(result, TensorBase) else tuple(result)
        for out, value in zip(outs, results, strict=True):
            check_out(op, value, out, self.derived.rules)
        for out, value in zip(outs, results, strict=True):
            if tuple(out.handle.shape) != tuple(value.handle.shape):
                warn_resize(op, out, value)
                resize_functional(out, tuple(value.shape), contiguous_format, level, value)
            out.handle.replace(value)
            out.bump_version()
        return outs[0] if len(outs) == 1 else tuple(outs)


class LiftKernel(Kernel):
    """``lift_fresh``: a tensor made of Python data comes into functionalization."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        return args[0] if handle_at(args[0], level) else wrapped(call_below(op, args, kwargs, level), level)


class CompositeKernel(Kernel):
    """Operators whose kernel is made of other operators: it runs above, on the wrappers."""

    __slots__ = ("kernel",)

    def __init__(self, kernel: Kernel):
        Kernel.__init__(self, kernel.fn)
        self.kernel = kernel

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        return self.kernel.run(op, entry, args, kwargs)


class MutatingKernel(Kernel):
    """Operators that write into several arguments, or into lists.

    The functional form returns, after what the operator returns, the new values of the written
    arguments: one value or list for each that is not None.  An operator that returns an argument which it writes
    has nothing else to return.

    Parameters
    ----------
    functional : Operator
    written : tuple of int
        The positions of the written arguments.
    """

    __slots__ = ("functional", "written")

    def __init__(self, functional: Operator, written: tuple[int, ...]):
        Kernel.__init__(self, None)
        self.functional = functional
        self.written = written

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        targets = [args[i] for i in self.written if i < len(args) and args[i] is not None]
        flat = tensors_in(targets)
        refuse_mixture(op, flat, tensors_in((*args, *(kwargs or {}).values())), level)
        if not any_functional(flat, level):
            result = call_below(op, args, kwargs, level)
            tensors = tensors_in((*args, *(kwargs or {}).values()))
            return wrapped(result, level) if any_functional(tensors, level) else result
        result = call_below(self.functional, args, kwargs, level)
        outputs = result if isinstance(result, (list, tuple)) else (result,)
        returns_target = any(item.alias_info is not None for item in op.schema.returns)
        count = 0 if returns_target else len(op.schema.returns)
        for target, value in zip(flat, tensors_in(outputs[count:]), strict=True):
            fit_result(op, value, target)
            target.handle.replace(value)
        if not count:
            return targets[0] if returns_target else None
        return wrapped(outputs[0], level) if count == 1 else wrapped(tuple(outputs[:count]), level)


class BatchNormKernel(MutatingKernel):
    """``native_batch_norm``: writes the running statistics, where it is given some, in training."""

    __slots__ = ("plain",)

    def __init__(self):
        MutatingKernel.__init__(self, OPERATORS["aten::_native_batch_norm_legit_functional"], (3, 4))
        self.plain = OutOfPlaceKernel()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        if args[5] and args[3] is not None and args[4] is not None:
            return MutatingKernel.run(self, op, entry, args, kwargs)
        return self.plain.run(op, entry, args, kwargs)


class ResizeKernel(Kernel):
    """``resize_``: a larger storage for a tensor that is no view, or another view of the storage (spec F6)."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        level = current_level()
        target = args[0]
        if handle_at(target, level) is None:
            call_below(op, args, kwargs, level)
            return target
        target.handle.sync()
        memory_format = (kwargs or {}).get("memory_format") or contiguous_format
        resize_functional(target, tuple(args[1]), memory_format, level)
        return target


def resize_functional(
    tensor: TensorBase, size: tuple, memory_format: Any, level: int, value: TensorBase | None = None
) -> None:
    """Give a functional tensor another size; elements that its storage has no place for are not initialised.

    A `value` of that size, if one is given, is what will be written to it next.

    Raises
    ------
    RuntimeError
        If it is a view, and its storage too small.
    """
    for n in size:
        if n < 0:
            raise RuntimeError(f"resize_: negative dimension {n} in size {list(size)}")
    handle = tensor.handle
    if tuple(handle.shape) == size:
        return
    storage = handle.storage
    if memory_format is contiguous_format:
        strides = contiguous_strides(size, handle.itemsize)
    else:
        strides = format_strides(size, handle.itemsize, memory_format)
    wanted = MetaArray(size, handle.dtype, strides, handle.geometry.offset)
    if wanted.storage_size <= storage.geometry.storage_size:
        steps = [s // handle.itemsize for s in strides]
        as_strided = OPERATORS["aten::as_strided"]
        show(tensor, view_handles(handle, as_strided, (list(size), steps, handle.storage_offset), None))
        return
    if handle.chain:
        raise RuntimeError(
            f"resize_: attempted to resize a view, of shape {list(handle.shape)}, to the larger size {list(size)}. This is not "
            "allowed under functionalization, since its base would have to grow; resize the base, or clone the view first."
        )
    if value is None:
        with below(level):
            value = OPERATORS["aten::resize"].call((handle.value, list(size)), {"memory_format": memory_format})
    else:
        value = handle.fitted(value)
    storage.replace_base(value)
    storage.generation += 1
    show(tensor, FunctionalHandle(value, storage, (), storage.geometry))


def set_functional(tensor: TensorBase, source: Any, storage_offset: int, size: Any, stride: Any) -> Any:
    """Make a functional tensor show the storage of another: the values stay what they are.

    Raises
    ------
    RuntimeError
        If the source is plain, or of another dtype.
    TypeError
        If it is neither a tensor nor a storage.
    """
    from minitorch.tensor.storage import UntypedStorage

    if source is None:
        with below(tensor.handle.level):
            source = tensor.handle.value.new_empty([0])
        source = wrap_value(source, tensor.handle.level)
    if not isinstance(source, (TensorBase, UntypedStorage)):
        raise TypeError(f"set_(): expected a Tensor or an UntypedStorage, but got {type(source).__name__}")
    cell = source.storage_cell if isinstance(source, TensorBase) else source._cell
    if not isinstance(cell, FunctionalStorage):
        raise RuntimeError(
            "set_(): cannot make a functional tensor show the memory of a plain one. Wrap the source with "
            "_to_functional_tensor() first."
        )
    if cell.geometry.dtype != tensor.handle.dtype:
        raise RuntimeError(
            f"Could not set tensor of type {tensor.dtype} to a storage of elements of type {cell.geometry.dtype}"
        )
    itemsize = max(cell.geometry.itemsize, 1)
    handle: Any
    if isinstance(source, TensorBase) and is_functional(source):
        handle = source.handle
        handle.sync()
        if size is not None:
            stride = contiguous_strides(size, 1) if stride is None else stride
            handle = view_handles(handle, OPERATORS["aten::as_strided"], (list(size), list(stride), storage_offset), None)
    else:
        cell.apply_updates()
        whole = FunctionalHandle(cell.base, cell, (), cell.geometry)
        size = [cell.geometry.storage_size // itemsize - storage_offset] if size is None else list(size)
        stride = contiguous_strides(size, 1) if stride is None else list(stride)
        handle = view_handles(whole, OPERATORS["aten::as_strided"], (size, list(stride), storage_offset), None)
    show(tensor, FunctionalHandle(handle.value, cell, handle.chain, handle.geometry))
    tensor.bump_version()
    return tensor


class CustomKernel(OutOfPlaceKernel):
    """Operators that are not declared here: only those without aliases can be called below (spec F2)."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        schema = op.schema
        if any(item.alias_info is not None for item in (*schema.arguments, *schema.returns)):
            if takes_custom_operators() and can_be_functionalized(op):
                return self.run_on_clones(op, args, kwargs)
            raise RuntimeError(
                f"Found a custom (non-ATen) operator whose schema has alias annotations: {schema}. What it changes or "
                "shares cannot be known from outside, so functionalization needs a kernel of its own for it: register one "
                f"to the Functionalize key of {op.qualname}, or call an operator whose schema has no aliases."
            )
        return OutOfPlaceKernel.run(self, op, entry, args, kwargs)

    @staticmethod
    def run_on_clones(op: Any, args: tuple, kwargs: dict | None) -> Any:
        """Call `auto_functionalized` below, and give what is changed its new values."""
        level = current_level()
        given = dict(zip([a.name for a in op.schema.arguments], args, strict=False)) | (kwargs or {})
        targets = [given.get(name) for name in written_names(op)]
        flat = tensors_in(targets)
        refuse_mixture(op, flat, tensors_in(tuple(given.values())), level)
        storages = [t.handle.storage for t in flat if handle_at(t, level) is not None]
        if len({id(s) for s in storages}) != len(storages):
            raise RuntimeError(
                f"{op.qualname}: two arguments that the operator changes share memory, so that its new values cannot be told "
                "apart. Clone one of them before the call."
            )
        with below(level):
            results = auto_functionalized(op, **{name: unwrapped(value, level) for name, value in given.items()})
        count = max(len(op.schema.returns), 1)
        for target, value in zip(flat, tensors_in(results[count:]), strict=True):
            if handle_at(target, level) is not None:
                target.handle.replace(value)
                target.bump_version()
        found = tuple([wrapped(result, level) for result in results[:count]])
        return found if len(op.schema.returns) > 1 else found[0]


def kernel_of(op: Operator) -> Kernel:
    """Return the kernel for a declared operator, by its kind."""
    declaration: Any = op.declaration
    name = declaration.name
    implicit = op.active("CompositeImplicitAutograd")
    if name == "resize_":
        return ResizeKernel()
    if name == "lift_fresh":
        return LiftKernel()
    if name == "native_batch_norm":
        return BatchNormKernel()
    if name == "bernoulli_.float":
        return BernoulliKernel(OPERATORS["aten::bernoulli.p"])
    if name in FUNCTIONAL_FORMS:
        return InplaceKernel(OPERATORS["aten::" + FUNCTIONAL_FORMS[name]])
    if name in MUTATING_FORMS:
        written = tuple(i for i, a in enumerate(op.schema.arguments) if a.is_write)
        return MutatingKernel(OPERATORS["aten::" + MUTATING_FORMS[name]], written)
    if implicit is not None:
        return CompositeKernel(implicit)
    explicit: Any = op.active("CompositeExplicitAutograd")
    if declaration.kind == "out":
        return OutKernel(explicit) if isinstance(explicit, DerivedOut) else CompositeKernel(explicit)
    if declaration.kind == "inplace":
        if declaration.functional is None:
            # With a composite it is detach_, whose work is done above.
            return UnwritableKernel() if explicit is None else CompositeKernel(explicit)
        functional = OPERATORS["aten::" + declaration.functional]
        return InplaceViewKernel(functional) if is_view(DECLARATIONS[declaration.functional]) else InplaceKernel(functional)
    if name in PARTS:
        return PartKernel()
    return ViewKernel() if is_view(declaration) else OutOfPlaceKernel()


class Fallback(Kernel):
    """What runs at the Functionalize key for every operator that has no kernel registered there."""

    __slots__ = ("custom", "kernels")

    def __init__(self):
        Kernel.__init__(self, None)
        self.custom = CustomKernel()
        self.kernels: dict[str, Kernel] = {}

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        if op.declaration is None:
            return self.custom.run(op, entry, args, kwargs)
        kernel = self.kernels.get(op.qualname)
        if kernel is None:
            kernel = self.kernels[op.qualname] = kernel_of(op)
        return kernel.run(op, entry, args, kwargs)
