"""`ops`: operators as users reach them, ``ops.<namespace>.<operator>.<overload>``.

An *overload* is an `Operator` with the rest of its public face.  A *packet* holds the
overloads of one name, and a call of it runs the first that the arguments fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from minitorch.dispatch import dispatcher
from minitorch.dispatch.dispatcher import OVERLOADS
from minitorch.dispatch.keys import DispatchKey, parse_key
from minitorch.dispatch.operator import (
    OPERATORS,
    Entry,
    Kernel,
    Operator,
    PythonKernel,
)
from minitorch.dispatch.schema import Schema
from minitorch.dispatch.schema_matching import match
from minitorch.dispatch.transforms import TransformType

# ``(func, args, kwargs) -> result``, or NotImplemented when no argument overrides calls:
# the ``__torch_function__`` protocol, set by the layer that knows tensors.  A fourth argument are
# the values that may override the call, where they are not the arguments and what is in lists of them.
function_handler: Callable[..., Any] | None = None
# Namespace -> what defines its operators, called when one that is not defined yet is asked for.
namespace_loaders: dict[str, Callable[[], None]] = {}


class OpOverload(Operator):
    """One overload of an operator.

    Called, it matches the arguments against the schema and dispatches.

    Attributes
    ----------
    namespace, qualname : str
        ``"aten"``, ``"aten::add.Tensor"``.
    tags : tuple of Tag
    """

    # Replaced in the instance by the first registration of its kind, as most have none.
    py_kernels: Mapping[str | type | TransformType, Callable[..., Any]] = MappingProxyType({})
    """`py_impl` functions, by key name, by the class of a mode or tensor, or by transform."""
    torch_dispatch_rules: Mapping[type, Callable[..., Any]] = MappingProxyType({})
    """Rules consulted before a class's own ``__torch_dispatch__``, by class."""
    fake_impls: tuple[Callable[..., Any], ...] = ()
    """What computes results on tensors without elements; the newest last."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if function_handler is not None:
            result = function_handler(self, args, kwargs)
            if result is not NotImplemented:
                return result
        matched, keywords = match(self._schema, self.qualname, args, kwargs, self.allow_numbers)
        return self.call(matched, keywords)

    # -- names -----------------------------------------------------------------

    def name(self) -> str:
        """Return ``"aten::add.Tensor"``."""
        return self.qualname

    @property
    def _overloadname(self) -> str:
        return self.overload or "default"

    @property
    def _opname(self) -> str:
        return self.basename

    @property
    def __name__(self) -> str:
        return f"{self.basename}.{self._overloadname}"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.basename}.{self._overloadname}"

    def __repr__(self) -> str:
        packet = f"{self.namespace}.{self.basename}"
        return f"<OpOverload(op='{packet}', overload='{self._overloadname}')>"

    # -- what it is ------------------------------------------------------------

    @property
    def _schema(self) -> Schema:
        schema = self.schema
        if schema is None:
            raise RuntimeError(f"operator {self.qualname} does not exist")
        return schema

    @property
    def is_view(self) -> bool:
        """Whether the schema says that outputs share memory with arguments, unwritten."""
        return self._schema.is_view

    @property
    def overloadpacket(self) -> OpOverloadPacket:
        """The packet that this overload belongs to."""
        return getattr(getattr(ops, self.namespace), self.basename)

    def __copy__(self) -> OpOverload:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverload:
        return self

    def __hash__(self) -> int:
        return hash(self.qualname)

    def __eq__(self, other: object) -> bool:
        return self is other

    # -- kernels ---------------------------------------------------------------

    def has_kernel_for_dispatch_key(self, key: DispatchKey | str) -> bool:
        """Return whether a kernel or py_impl was registered for a key or alias itself."""
        name = _key_name(key)
        return name in self.kernels or name in self.py_kernels

    def py_impl(self, key: DispatchKey | str | type | TransformType) -> Callable[[Any], Any]:
        """Register the decorated function for calls while the Python dispatcher is on.

        Parameters
        ----------
        key : DispatchKey, str, type or TransformType
            A key or alias: the function gets the operator's arguments.  The class of a mode: it
            stands for the handler of the active mode of that very class, and gets the mode in front,
            which is off meanwhile.  The class of a tensor, where no mode is active: it stands for the
            handler of the class.  A transform: it gets the interpreter in front.

        Raises
        ------
        RuntimeError
            If the key has such a function already, or is Python (register by class there).
        """
        slot = key if isinstance(key, (type, TransformType)) else parse_key(_key_name(key)).name
        if slot == "Python":
            raise RuntimeError(
                f"{self}: py_impl takes no function for the Python key as a whole; register "
                "one for the class of each mode or tensor"
            )

        def register(fn: Any) -> Any:
            if slot in self.py_kernels:
                raise RuntimeError(
                    f"Trying to override a python impl for {slot} on operator {self.qualname}"
                )
            self.py_kernels = {**self.py_kernels, slot: fn}
            self.invalidate()
            return fn

        return register

    def _decomposition(self) -> Kernel | None:
        fn = self.py_kernels.get("CompositeImplicitAutograd")
        if fn is not None:
            return PythonKernel(fn)
        return self.active("CompositeImplicitAutograd")

    def _can_decompose(self) -> bool:
        return self._decomposition() is not None

    def decompose(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the implicit composite kernel; return NotImplemented if there is none."""
        kernel = self._decomposition()
        return NotImplemented if kernel is None else self._run(kernel, 0, args, kwargs)

    def _op_dk(self, key: DispatchKey | str, /, *args: Any, **kwargs: Any) -> Any:
        """Run what the table has for a runtime key, or what is registered for an alias."""
        target = parse_key(_key_name(key))
        kernel = self.active(target.name) if target.is_alias else self.resolve(target.slot)[0]
        if kernel is None or kernel.is_fallthrough:
            raise NotImplementedError(
                f"{self.qualname} has no kernel for {target.name}. Kernels: "
                f"{', '.join(self.available_keys()) or 'none'}"
            )
        return self._run(kernel, target.bits, args, kwargs)

    def _run(self, kernel: Kernel, key_set: int, args: tuple[Any, ...], kwargs: Any) -> Any:
        matched, keywords = match(self._schema, self.qualname, args, kwargs, self.allow_numbers)
        return kernel.run(self, Entry(key_set, key_set, kernel), matched, keywords)


def _key_name(key: DispatchKey | str) -> str:
    return key if isinstance(key, str) else key.name


class OpOverloadPacket:
    """The overloads of one operator name, as attributes; ``packet.default`` is the unnamed one.

    A call runs the first overload, in order of definition, that the arguments fit.
    """

    def __init__(self, qualified_name: str):
        self._qualified_op_name = qualified_name
        namespace, _, name = qualified_name.partition("::")
        self._text = f"{namespace}.{name}"
        self.__name__ = name
        self._overloads: tuple[OpOverload, ...] = ()
        self._refresh()

    def _refresh(self) -> None:
        """Follow definitions that came or went."""
        for op in self._overloads:
            self.__dict__.pop(op._overloadname, None)
        names = OVERLOADS.get(self._qualified_op_name, ())
        self._overloads = tuple(
            overload_of(f"{self._qualified_op_name}.{name}" if name else self._qualified_op_name)
            for name in names
        )
        for op in self._overloads:
            self.__dict__.setdefault(op._overloadname, op)

    def overloads(self) -> list[str]:
        """Return the names of the overloads in order of definition, ``default`` for the unnamed."""
        return [op._overloadname for op in self._overloads]

    @property
    def op(self) -> OpOverloadPacket:
        """The packet itself: what to call when any overload will do."""
        return self

    def __iter__(self) -> Iterator[str]:
        return iter(self.overloads())

    def __getattr__(self, name: str) -> Any:
        # Overloads are in the instance's dict; what arrives here is not one.
        if name.startswith("__"):
            raise AttributeError(f"'{self._text}' has no attribute '{name}'")
        raise AttributeError(
            f"The underlying op of '{self._text}' has no overload name '{name}'; "
            f"it has {', '.join(self.overloads())}"
        )

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if function_handler is not None:
            result = function_handler(self, args, kwargs)
            if result is not NotImplemented:
                return result
        overloads = self._overloads
        if len(overloads) == 1:
            op = overloads[0]
            return op.call(*match(op._schema, op.qualname, args, kwargs, op.allow_numbers))
        errors = []
        for op in overloads:
            try:
                matched, keywords = match(op._schema, op.qualname, args, kwargs, op.allow_numbers)
            except RuntimeError as error:
                errors.append(str(error))
                continue
            return op.call(matched, keywords)
        raise RuntimeError(
            "Overloaded torch operator invoked from Python failed to match any schema:\n"
            + "\n\n".join(errors)
        )

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._text}')>"

    def __copy__(self) -> OpOverloadPacket:
        return self

    def __deepcopy__(self, memo: Any) -> OpOverloadPacket:
        return self

    def __reduce__(self):
        return _find_packet, (self._qualified_op_name,)


def _find_packet(qualified_name: str) -> OpOverloadPacket:
    namespace, _, name = qualified_name.partition("::")
    return getattr(getattr(ops, namespace), name)


class OpNamespace:
    """The operators of one namespace, as attributes."""

    def __init__(self, name: str):
        self.name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        qualified_name = f"{self.name}::{name}"
        if qualified_name not in OVERLOADS and self.name in namespace_loaders and not name.startswith("__"):
            namespace_loaders[self.name]()
        if qualified_name not in OVERLOADS:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
        packet = OpOverloadPacket(qualified_name)
        self.__dict__[name] = packet
        return packet

    def __dir__(self) -> list[str]:
        prefix = f"{self.name}::"
        return sorted(name.removeprefix(prefix) for name in OVERLOADS if name.startswith(prefix))

    def __repr__(self) -> str:
        return f"<OpNamespace '{self.name}'>"


class _Ops:
    """The namespaces, made on demand under any name."""

    def __getattr__(self, name: str) -> OpNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = OpNamespace(name)
        self.__dict__[name] = namespace
        return namespace

    def __repr__(self) -> str:
        return "<minitorch.ops>"


ops = _Ops()


def _follow_definition(op: Operator) -> None:
    """Refresh or drop the cached packet of an operator that was defined or undefined."""
    namespace = ops.__dict__.get(op.namespace)
    packet = namespace.__dict__.get(op.basename) if namespace is not None else None
    if packet is None:
        return
    if packet._qualified_op_name in OVERLOADS:
        packet._refresh()
    else:
        del namespace.__dict__[op.basename]


def overload_of(op: Operator | OpOverloadPacket | str) -> OpOverload:
    """Return the operator that `op` names: an overload, a packet's default, a qualified name.

    Raises
    ------
    RuntimeError
        If it is not defined.
    """
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, OpOverloadPacket):
        return op.default
    found = OPERATORS.get(dispatcher.split_name(str(op)))
    if not isinstance(found, OpOverload) or found.schema_text is None:
        raise RuntimeError(f"operator {op} does not exist")
    return found


dispatcher.operator_class = OpOverload
dispatcher.definition_listeners.append(_follow_definition)
