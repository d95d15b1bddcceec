"""`custom_op`: make an operator of a Python function.

Note [What a custom operator consists of]
    Its schema, from the type hints; the function as backend kernel (of all backends, or of
    the devices named); a Meta kernel that runs the fake impl; an Autograd kernel that runs
    the autograd formula or, without one, makes backward say so; for schemas that write
    arguments or return views an ADInplaceOrView kernel that counts the changes.  They live
    in a library of their own.  Making an operator of the same name again replaces it all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch.core.device import device, dispatch_key_name
from minitorch.dispatch.key_set import DispatchKeySet, after_ADInplaceOrView
from minitorch.dispatch.library import Library, split_qualname
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket, overload_of
from minitorch.dispatch.schema import Schema
from minitorch.dispatch.schema_matching import with_defaults
from minitorch.dispatch.schema_parser import parse_schema
from minitorch.dispatch.tags import Tag, as_tags
from minitorch.library.autocast_rule import add_autocast_rule
from minitorch.library.autograd_rule import AutogradRule, check_differentiable
from minitorch.library.infer_schema import infer_schema
from minitorch.library.vmap_rule import BATCHED_KEY, VmapRule, check_batchable
from minitorch.tensor.base import TensorBase

_DEFINED: dict[str, CustomOpDef] = {}


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
) -> Any:
    """Make an operator of `fn`; as a decorator without `fn`.

    Parameters
    ----------
    name : str
        ``"namespace::name"``.
    fn : callable
        Gets and returns tensors.  What it returns must be no input and share no memory
        with one, unless the schema is that of a view or the tag ``inplace`` or ``out``.
    mutates_args : iterable of str, or "unknown"
        The names of the arguments that `fn` writes.
    device_types : str or sequence of str, optional
        The devices that `fn` is for; all of them by default.
    schema : str, optional
        ``"(Tensor x) -> Tensor"``, in place of the one that the type hints give.
    tags : Tag or sequence of Tag, optional

    Returns
    -------
    CustomOpDef

    Raises
    ------
    ValueError
        If name, hints, schema and `mutates_args` do not agree.
    NotImplementedError
        If a tensor is keyword-only (the tag ``out`` allows it).

    Examples
    --------
    >>> @custom_op("shop::double", mutates_args=())
    ... def double(x: minitorch.Tensor) -> minitorch.Tensor:
    ...     return x * 2
    >>> double(minitorch.tensor([1.0]))
    tensor([2.])
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        namespace, base = split_qualname(name)
        text = schema
        if text is None:
            text = infer_schema(function, mutates_args=mutates_args)
        parsed = parse_schema(f"{namespace}::{base}{text}")
        if schema is not None:
            _check_mutated(parsed, schema, mutates_args)
        if device_types is not None and not _has_tensors(parsed):
            _device_position(parsed)  # before anything is defined
        definition = CustomOpDef(parsed, function, as_tags(tags or ()))
        definition.register_kernel(device_types)(function)
        return definition

    return make if fn is None else make(fn)


def _check_mutated(parsed: Schema, schema: str, mutates_args: str | Iterable[str]) -> None:
    if mutates_args == "unknown":
        return
    written = {a.name for a in parsed.arguments if a.is_write}
    if written != set(mutates_args):
        raise ValueError(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and "
            f"`schema={schema}`. The schema says that the op mutates {sorted(written)}, which is "
            "different from `mutates_args`. Please make these consistent."
        )


class CustomOpDef:
    """A custom operator: call it, and register more of what it consists of.

    Note [What a custom operator consists of].
    """

    def __init__(self, schema: Schema, fn: Callable[..., Any], tags: tuple[Tag, ...]):
        self._namespace, _, self._name = schema.name.partition("::")
        self._qualname = schema.name
        self._schema = schema
        self._init_fn = fn
        self._tags = tags
        self._backend_fns: dict[str | None, Callable[..., Any]] = {}
        self._disabled: set[str] = set()
        self._fake_fn: Callable[..., Any] | None = None
        self._keeps_memory = schema.is_view or Tag.inplace in tags or Tag.out in tags
        self._written = [
            (index, argument.name)
            for index, argument in enumerate(schema.arguments)
            if argument.is_write
        ]
        if Tag.out not in tags:
            _refuse_keyword_only_tensors(schema)
        replaced = _DEFINED.get(self._qualname)
        if replaced is not None:
            replaced._lib._destroy()
        self._lib = Library(self._namespace, "FRAGMENT")
        self._lib.define(str(schema).partition("::")[2], tags=(Tag.pt2_compliant_tag, *tags))
        _DEFINED[self._qualname] = self
        self._autograd_rule = AutogradRule(self._opoverload)
        self._vmap_rule: VmapRule | None = None
        self._lib.impl(self._name, self._autograd_rule, "Autograd", with_keyset=True)
        self._lib._register_fake(self._name, self._run_fake)
        if schema.is_mutable or schema.is_view:
            self._lib.impl(self._name, self._count_changes, "ADInplaceOrView", with_keyset=True)

    @property
    def _opoverload(self) -> OpOverload:
        return overload_of(self._qualname)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    # -- kernels ---------------------------------------------------------------

    def register_kernel(
        self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Register `fn` for device types, for all with None; as a decorator without `fn`."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            names: Sequence[str | None]
            names = (
                (device_types,)
                if isinstance(device_types, str) or device_types is None
                else (tuple(device_types))
            )
            for name in names:
                known = name in self._backend_fns
                self._backend_fns[name] = function
                if not known:
                    self._register_backend(name)
            if not _has_tensors(self._schema) and None not in names:
                self._route_by_device()
            return function

        return register if fn is None else register(fn)

    def _register_backend(self, device_type: str | None) -> None:
        key = "CompositeExplicitAutograd" if device_type is None else dispatch_key_name(device_type)

        def run(*args: Any, **kwargs: Any) -> Any:
            fn = self._backend_fns[device_type]
            if device_type in self._disabled:
                fn = self._init_fn
            result = fn(*args, **kwargs)
            if not self._keeps_memory:
                self._check_aliasing(fn, args, kwargs, result)
            return result

        self._lib.impl(self._name, run, key)

    def _check_aliasing(
        self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        seen = {_memory_identity(t) for t in _tensors_in((*args, *kwargs.values()))}
        for tensor in _tensors_in((result,)):
            identity = _memory_identity(tensor)
            if identity in seen:
                raise RuntimeError(
                    f"{self._name} (implemented in {getattr(fn, '__module__', fn)}): The output of "
                    "this custom operator (1) must not also be an input to this custom operator "
                    "and (2) may not alias any inputs to this custom operator or other returns. "
                    "The most common way to trigger this error is if we have y = custom_op(x) and "
                    "y and x are the same Tensor. Please instead return a clone of the offending "
                    "output tensor(s) (e.g. return x.clone()) or refactor the custom operator to "
                    "not return y."
                )
            seen.add(identity)

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Scope: use, or do not use, the kernel registered for a device type.

        Without it the operator's first function runs in its place.
        """
        if device_type not in self._backend_fns:
            raise RuntimeError(
                f"{self._qualname} has no kernel registered for {device_type}; there are kernels "
                f"for {', '.join(name or 'all devices' for name in self._backend_fns)}"
            )
        was_disabled = device_type in self._disabled
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if was_disabled else self._disabled.discard)(device_type)

    def _route_by_device(self) -> None:
        """Let the argument `device` choose the kernel, as there are no tensors to choose it."""
        position = _device_position(self._schema)
        if self._opoverload.has_kernel_for_dispatch_key("BackendSelect"):
            return

        def select(key_set: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
            filled, keywords = with_defaults(self._schema, args, kwargs)
            target: device = filled[position] if position < len(filled) else keywords["device"]
            if target.type not in self._backend_fns:
                raise RuntimeError(
                    f"{self._name} does not have a kernel registered for {target.type}. "
                    "Please use register_kernel to do so."
                )
            return self._opoverload.redispatch(
                DispatchKeySet(dispatch_key_name(target.type)), *args, **kwargs
            )

        self._lib.impl(self._name, select, "BackendSelect", with_keyset=True)

    def _count_changes(self, key_set: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        """Run the levels below, then bump the version of each written argument."""
        result = self._opoverload.redispatch(key_set & after_ADInplaceOrView, *args, **kwargs)
        for index, name in self._written:
            value = args[index] if index < len(args) else kwargs.get(name)
            for tensor in _tensors_in((value,)):
                tensor.bump_version()
        return result

    # -- fake impl -------------------------------------------------------------

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Register what computes the results on meta and fake tensors; the newest counts."""
        self._fake_fn = fn
        return fn

    def _run_fake(self, *args: Any, **kwargs: Any) -> Any:
        if self._fake_fn is not None:
            return self._fake_fn(*args, **kwargs)
        if Tag.inplace in self._tags:
            return args[0]
        if Tag.out in self._tags:
            outs = tuple(kwargs[name] for _, name in self._written)
            return outs[0] if len(outs) == 1 else outs
        if self._schema.is_mutable and not self._schema.returns:
            return None
        raise RuntimeError(
            f"There was no fake impl registered for {self}. It is necessary for meta tensors, "
            "fake tensors and tracing. Please use "
            f"`{self._init_fn.__name__}.register_fake` to add a fake impl."
        )

    # -- transforms ------------------------------------------------------------

    def register_autograd(
        self,
        backward: Callable[..., Any],
        /,
        *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        """Register the autograd formula (see `minitorch.library.register_autograd`)."""
        check_differentiable(self._opoverload, self, allow_views=True)
        self._autograd_rule.set_formula(backward, setup_context)

    def register_vmap(self, fn: Callable[..., Any] | None = None, /) -> Any:
        """Register the batch rule (see `minitorch.library.register_vmap`); the newest counts."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            if self._vmap_rule is not None:
                self._vmap_rule.fn = function
                return function
            check_batchable(self._opoverload)
            self._vmap_rule = VmapRule(self._opoverload, function)
            self._lib.impl(self._name, self._vmap_rule, BATCHED_KEY, with_keyset=True)
            return function

        return register if fn is None else register(fn)

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Cast floating tensors under autocast (see `minitorch.library.register_autocast`)."""
        add_autocast_rule(self._lib, self._opoverload, device_type, cast_inputs)

    def register_torch_dispatch(
        self, torch_dispatch_class: type, fn: Callable[..., Any] | None = None, /
    ) -> Any:
        """Register what runs instead of a class's own ``__torch_dispatch__``; the newest counts."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            self._lib._register_torch_dispatch_rule(
                self._name, torch_dispatch_class, function, replace=True
            )
            return function

        return register if fn is None else register(fn)


def _device_position(schema: Schema) -> int:
    """Return the index of the argument ``Device device``; raise ValueError if there is none."""
    for index, argument in enumerate(schema.arguments):
        if argument.name == "device" and argument.type.text == "Device":
            return index
    raise ValueError(
        "Functions without tensor inputs are required to have a `device: torch.device` argument, "
        f"which {schema} has not"
    )


def _refuse_keyword_only_tensors(schema: Schema) -> None:
    if any(a.kwarg_only and a.type.base == "Tensor" for a in schema.arguments):
        raise NotImplementedError(
            "custom_op with kwarg-only Tensor args. Please make your tensors not kwarg-only. "
            f"Got: {schema}"
        )


def _has_tensors(schema: Schema) -> bool:
    return any(a.type.base == "Tensor" for a in schema.arguments)


def _tensors_in(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the tensors among `values`, those in lists and tuples too."""
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _memory_identity(tensor: Any) -> int:
    """Return a number that tensors of the same memory have in common."""
    cell = tensor.storage_cell
    return id(tensor.handle if cell is None else cell)


def definition_of(op: Any) -> CustomOpDef | None:
    """Return the custom operator that `op` (definition, overload, packet, name) is, or None."""
    if isinstance(op, CustomOpDef):
        return op
    if isinstance(op, OpOverloadPacket):
        name = op._qualified_op_name
    else:
        name = op.qualname if isinstance(op, OpOverload) else str(op)
    found = _DEFINED.get(name.removesuffix(".default"))
    # A destroyed one may share its name with an operator defined since; it is not that operator.
    return found if found is not None and found._lib._finalizer.alive else None
