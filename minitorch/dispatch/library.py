"""`Library`: definitions, kernels and fallbacks that go when the library object goes.

Note [Lifetime of registrations]
    A library keeps a list of how to undo each of its registrations, and nothing else
    keeps the library.  Dropping the last reference, or `_destroy`, undoes them in reverse
    order.  Functions that register without being given a library (`library_functions`)
    use libraries that live as long as the process.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.dispatch import dispatcher
from minitorch.dispatch.dispatcher import caller_location, split_name, target_key
from minitorch.dispatch.fake_impl import FakeImplKernel
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.keys import DispatchKey, parse_key
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket, overload_of
from minitorch.dispatch.operator import (
    OPERATORS,
    Entry,
    FallbackKernel,
    FallthroughKernel,
    Kernel,
    Operator,
    PythonKernel,
)
from minitorch.dispatch.schema import Schema
from minitorch.dispatch.schema_matching import convert_returns, match
from minitorch.dispatch.schema_parser import parse_schema
from minitorch.dispatch.tags import Tag, as_tags, check_tags

_KINDS = ("DEF", "FRAGMENT", "IMPL")
_RESERVED_NAMESPACES = ("prim",)
_ALIAS_ANALYSES = ("", "FROM_SCHEMA", "CONSERVATIVE")
# Namespace -> where the library that defines it was made.
_DEFINERS: dict[str, tuple[str, int] | None] = {"aten": None}
# (operator, key name) -> how many libraries hold a Python kernel for it.
_PYTHON_KERNELS: dict[tuple[str, str], int] = {}


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """Mark a key as one to skip: ``lib.impl(name, fallthrough_kernel, key)``."""
    raise NotImplementedError("fallthrough_kernel marks a key to skip and should never be called")


class LibraryKernel(PythonKernel):
    """A user's function as a kernel: what it returns is checked against the schema."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: Any, kwargs: Any) -> Any:
        result = PythonKernel.run(self, op, entry, args, kwargs)
        return convert_returns(op.schema, op.qualname, result)


class LibraryFallback(FallbackKernel):
    """A user's function as the fallback of a key; checked as `LibraryKernel`."""

    __slots__ = ()

    def run(self, op: Any, entry: Any, args: Any, kwargs: Any) -> Any:
        result = FallbackKernel.run(self, op, entry, args, kwargs)
        return convert_returns(op.schema, op.qualname, result)


def split_qualname(qualname: str) -> tuple[str, str]:
    """Return namespace and name of ``"ns::name"``.

    Raises
    ------
    ValueError
        If `qualname` has another form.
    """
    parts = qualname.split("::")
    if len(parts) != 2 or not all(parts):
        raise ValueError(
            'Expected `qualname` to be of the form "namespace::name", but got '
            f"{qualname}. The qualname must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1]


def _undo_all(undo: list[Callable[[], None]]) -> None:
    while undo:
        undo.pop()()


class Library:
    """A group of registrations in one namespace (Note [Lifetime of registrations]).

    Parameters
    ----------
    ns : str
        The namespace; ``"_"`` is all of them, for fallbacks.
    kind : {"DEF", "FRAGMENT", "IMPL"}
        ``DEF`` defines operators and is the only one of its namespace; ``FRAGMENT`` may
        define too and there may be many; ``IMPL`` only registers kernels.
    dispatch_key : str
        The key of kernels registered without one.

    Raises
    ------
    ValueError
        If the kind is unknown or the namespace reserved.
    RuntimeError
        If the namespace has a ``DEF`` library already, or the key is unknown.

    Examples
    --------
    >>> lib = Library("shop", "DEF")
    >>> lib.define("twice(Tensor x) -> Tensor")
    'twice'
    >>> lib.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}; a library is one of {', '.join(_KINDS)}")
        if ns in _RESERVED_NAMESPACES and kind != "IMPL":
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if ns == "_" and kind != "IMPL":
            raise RuntimeError(
                f'the namespace "_" stands for all and defines nothing: use '
                f'Library("_", "IMPL"), not {kind}'
            )
        if not ns.isidentifier():
            raise ValueError(f"a namespace must be an identifier, not {ns!r}")
        if dispatch_key:
            parse_key(dispatch_key)
            if kind == "DEF":
                raise RuntimeError(
                    "a DEF library has no dispatch key of its own; make an IMPL library for the key"
                )
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self.origin = caller_location()
        self._undo: list[Callable[[], None]] = []
        if kind == "DEF":
            _claim_namespace(ns, self.origin, self._undo)
        self._finalizer = weakref.finalize(self, _undo_all, self._undo)
        self._finalizer.atexit = False

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def _destroy(self) -> None:
        """Undo all registrations now."""
        self._finalizer()

    # -- definitions -----------------------------------------------------------

    def define(
        self, schema: str, alias_analysis: str = "", *, tags: Tag | str | Sequence[Tag | str] = ()
    ) -> str:
        """Define an operator and return its name.

        Parameters
        ----------
        schema : str
            ``"name.overload(Tensor x) -> Tensor"``; a prefix ``ns::`` must be the library's.
        alias_analysis : {"", "FROM_SCHEMA", "CONSERVATIVE"}
            Accepted for compatibility; the schema's alias sets are what counts.
        tags : Tag or sequence of Tag

        Raises
        ------
        RuntimeError
            If the schema is malformed or the operator defined already.
        ValueError
            If the schema breaks the promise of a tag.
        """
        if alias_analysis not in _ALIAS_ANALYSES:
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        parsed = parse_schema(schema)
        self._check_definition(parsed)
        op_tags = as_tags(tags)
        check_tags(parsed, op_tags)
        full = parsed.with_namespace(self.ns)
        op = dispatcher.define(full.full_name, str(full), caller_location())
        op.tags = op_tags
        self._undo.append(lambda: dispatcher.undefine(op))
        return parsed.name

    def _check_definition(self, schema: Schema) -> None:
        if self.kind == "IMPL":
            raise RuntimeError(
                f'define("{schema.name}"): an IMPL library may not define operators; '
                f'do so in a DEF or FRAGMENT library of namespace "{self.ns}"'
            )
        namespace, _, _ = schema.name.rpartition("::")
        if namespace and namespace != self.ns:
            raise RuntimeError(
                f"Explicitly provided namespace ({namespace}) in schema string does not match "
                f"namespace of the enclosing library ({self.ns})"
            )
        for item in (*schema.arguments, *schema.returns):
            if item.type.is_variable:
                raise RuntimeError(
                    f"unknown type {item.type.base!r} in {schema}: operators have no type variables"
                )

    # -- kernels ---------------------------------------------------------------

    def impl(
        self,
        op_name: str | OpOverload | OpOverloadPacket,
        fn: Callable[..., Any],
        dispatch_key: str | DispatchKey = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:
        """Register `fn` as the kernel of an operator at a key.

        The operator need not be defined yet.

        Parameters
        ----------
        op_name : str or operator
            A name without overload means the default overload.
        fn : callable
            Or `fallthrough_kernel`, to skip the key.
        dispatch_key : str or DispatchKey
            Default: the library's key, or else CompositeImplicitAutograd.
        with_keyset : bool
            Whether `fn` gets the call's `DispatchKeySet` as an extra first argument.
        allow_override : bool
            Whether another Python kernel of the same operator and key may be replaced.

        Raises
        ------
        TypeError
            If `fn` is not callable.
        RuntimeError
            If the key is unknown, or not the library's; or the kernel may not be there.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        qualname = self._qualified(op_name)
        key = self._target(qualname, dispatch_key)
        slot = (qualname, key.name)
        if not allow_override and _PYTHON_KERNELS.get(slot):
            raise RuntimeError(
                "This is not allowed since there's already a kernel registered from python "
                f"overriding {qualname.rpartition('::')[2]}'s behavior for {key.name} dispatch "
                f"key and {self.ns} namespace."
            )
        if key.name == "Meta":
            _refuse_meta_of_composite(qualname)
        kernel = _make_kernel(fn, with_keyset)
        self._register(qualname, key, kernel)

    def _register(self, qualname: str, key: DispatchKey, kernel: Kernel) -> None:
        kernel.origin = self.origin
        op = dispatcher.register_kernel(qualname, key, kernel)
        slot = (qualname, key.name)
        _PYTHON_KERNELS[slot] = _PYTHON_KERNELS.get(slot, 0) + 1

        def undo() -> None:
            _PYTHON_KERNELS[slot] -= 1
            if not _PYTHON_KERNELS[slot]:
                del _PYTHON_KERNELS[slot]
            dispatcher.unregister_kernel(op, kernel)

        self._undo.append(undo)

    def _qualified(self, op_name: str | OpOverload | OpOverloadPacket) -> str:
        if isinstance(op_name, Operator):
            name = op_name.qualname
        elif isinstance(op_name, OpOverloadPacket):
            name = op_name._qualified_op_name
        elif isinstance(op_name, str):
            name = split_name(op_name)
        else:
            raise RuntimeError(
                f"impl should be passed either a name or an OpOverload object as the first "
                f"argument, not {type(op_name).__name__}"
            )
        namespace, _, rest = name.rpartition("::")
        if namespace and namespace != self.ns:
            raise RuntimeError(
                f'impl("{name}", ...): Explicitly provided namespace ({namespace}) in operator '
                f"name does not match namespace of the enclosing library ({self.ns})"
            )
        return f"{self.ns}::{rest}"

    def _target(self, qualname: str, dispatch_key: str | DispatchKey) -> DispatchKey:
        if not dispatch_key:
            return target_key(self.dispatch_key or "CompositeImplicitAutograd")
        key = target_key(dispatch_key)
        if self.dispatch_key and key is not target_key(self.dispatch_key):
            raise RuntimeError(
                f'impl("{qualname}", ...): Explicitly provided dispatch key ({key.name}) is '
                f"inconsistent with the dispatch key of the library ({self.dispatch_key}); "
                "use a library of its own for each key, or one without a key"
            )
        return key

    def fallback(
        self,
        fn: Callable[..., Any],
        dispatch_key: str | DispatchKey = "",
        *,
        with_keyset: bool = False,
    ) -> None:
        """Register `fn` as what runs at a key for operators that have no kernel there.

        It is called as ``fn(op, *args, **kwargs)``, or with the key set in front.

        Raises
        ------
        TypeError
            If `fn` is not callable.
        RuntimeError
            If the library's namespace is not ``"_"``, or the key is an alias or taken.
        AssertionError
            If neither the call nor the library names a key.
        """
        key = dispatch_key or self.dispatch_key
        if not key:
            raise AssertionError("dispatch_key must not be empty for fallback")
        if self.ns != "_":
            raise RuntimeError(
                'Fallback can only be registered using a library of the global namespace "_" '
                f"but it is {self.ns}"
            )
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        if fn is fallthrough_kernel:
            kernel: Kernel = FallthroughKernel()
        else:
            kernel = LibraryFallback(fn, with_keyset)
        kernel.origin = caller_location()
        dispatcher.register_fallback(key, kernel)
        self._undo.append(lambda: dispatcher.unregister_fallback(kernel))

    # -- what is consulted beside the table ------------------------------------

    def _register_fake(
        self,
        op_name: str | OpOverload | OpOverloadPacket,
        fn: Callable[..., Any],
        *,
        allow_override: bool = True,
    ) -> None:
        """Register the fake impl of an operator (see `register_fake`)."""
        op = overload_of(self._qualified(op_name))
        if not allow_override and op.fake_impls:
            raise RuntimeError(
                f"register_fake(...): the operator {op.qualname} already has a fake impl, "
                f"{_place_of(op.fake_impls[-1])}"
            )
        _refuse_meta_of_composite(op.qualname)
        self._register(op.qualname, parse_key("Meta"), FakeImplKernel(fn))
        op.fake_impls = (*op.fake_impls, fn)

        def undo() -> None:
            op.fake_impls = _without_last(op.fake_impls, fn)

        self._undo.append(undo)

    def _register_torch_dispatch_rule(
        self,
        op_name: str | OpOverload | OpOverloadPacket,
        torch_dispatch_class: type,
        fn: Callable[..., Any],
        *,
        replace: bool = False,
    ) -> None:
        """Register what runs instead of a class's own ``__torch_dispatch__``."""
        qualname = self._qualified(op_name)
        op = overload_of(qualname)
        if torch_dispatch_class in op.torch_dispatch_rules and not replace:
            raise RuntimeError(
                f"{qualname} already has a torch_dispatch rule for {torch_dispatch_class.__name__}"
            )
        op.torch_dispatch_rules = {**op.torch_dispatch_rules, torch_dispatch_class: fn}

        def undo() -> None:
            if op.torch_dispatch_rules.get(torch_dispatch_class) is fn:
                op.torch_dispatch_rules = {
                    cls: rule
                    for cls, rule in op.torch_dispatch_rules.items()
                    if cls is not torch_dispatch_class
                }

        self._undo.append(undo)


def _claim_namespace(ns: str, origin: tuple[str, int], undo: list[Callable[[], None]]) -> None:
    if ns in _DEFINERS:
        earlier = _DEFINERS[ns]
        place = "minitorch itself" if earlier is None else f"{earlier[0]}:{earlier[1]}"
        raise RuntimeError(
            f"Only a single DEF library can be used to register the namespace {ns}; the "
            f"earlier one was made at {place}. To define further operators, use "
            f'Library("{ns}", "FRAGMENT"); to register kernels, Library("{ns}", "IMPL").'
        )
    _DEFINERS[ns] = origin

    def release() -> None:
        del _DEFINERS[ns]

    undo.append(release)


def _without_last(items: tuple[Any, ...], item: Any) -> tuple[Any, ...]:
    """Return `items` without the last occurrence of `item`."""
    for index in reversed(range(len(items))):
        if items[index] is item:
            return items[:index] + items[index + 1 :]
    return items


def _place_of(fn: Callable[..., Any]) -> str:
    code = getattr(fn, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else repr(fn)


def _make_kernel(fn: Callable[..., Any], with_keyset: bool) -> Kernel:
    if fn is fallthrough_kernel:
        return FallthroughKernel()
    if isinstance(fn, KernelHandle):
        return LibraryKernel(fn, with_keyset=True)
    return LibraryKernel(fn, with_keyset)


def _refuse_meta_of_composite(qualname: str) -> None:
    op = OPERATORS.get(qualname)
    if op is not None and op.active("CompositeImplicitAutograd") is not None:
        raise RuntimeError(
            f"We should not register a meta kernel directly to the operator '{op.unqualified}', "
            "because it has a CompositeImplicitAutograd kernel. Instead we should let the operator "
            "decompose, and ensure that we have meta kernels for the operators that it "
            "decomposes into."
        )


# -- kernels as objects --------------------------------------------------------------------


class KernelHandle:
    """What an operator runs at a key, as it was when the handle was made.

    Called as ``handle(key_set, *args, **kwargs)``.  It stays what it is after a kernel that
    replaces it was registered, so that the new kernel may call it.
    """

    __slots__ = ("_kernel", "_op", "key")

    def __init__(self, op: OpOverload, key: DispatchKey, kernel: Kernel):
        self._op = op
        self._kernel = kernel
        self.key = key

    def call_boxed(self, key_set: DispatchKeySet, /, *args: Any, **kwargs: Any) -> Any:
        """Run the kernel; it sees `key_set` as the key set of the call."""
        op = self._op
        matched, keywords = match(op._schema, op.qualname, args, kwargs, op.allow_numbers)
        entry = Entry(key_set.bits, key_set.bits, self._kernel)
        return self._kernel.run(op, entry, matched, keywords)

    __call__ = call_boxed

    def __repr__(self) -> str:
        where = self._kernel.location()
        return f"<KernelHandle {self._op.qualname} at {self.key.name}: {where}>"


def get_kernel(
    op: str | OpOverload | OpOverloadPacket, dispatch_key: str | DispatchKey
) -> KernelHandle:
    """Return what the table of `op` has for a key: a direct kernel, or what is computed.

    Raises
    ------
    RuntimeError
        If the operator does not exist, or nothing runs there.
    ValueError
        If the key is unknown.
    """
    found = overload_of(op)
    try:
        key = dispatch_key if isinstance(dispatch_key, DispatchKey) else parse_key(dispatch_key)
    except RuntimeError:
        raise ValueError(f"Invalid dispatch key: {dispatch_key}") from None
    kernel = found.active(key.name) if key.is_alias else found.resolve(key.slot)[0]
    if kernel is None or kernel.is_fallthrough:
        raise RuntimeError(
            f"{found.qualname} has no kernel for {key.name}. Kernels: "
            f"{', '.join(found.available_keys()) or 'none'}"
        )
    return KernelHandle(found, key, kernel)
