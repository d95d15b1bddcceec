"""What the dispatcher knows, as data and as text: tables, queries, explanations.

Note [Registrations and the table]
    `dump` lists what was registered, by key, superseded kernels too.  `dump_table` lists
    what follows from it: for each runtime key the kernel that runs there and the rule that
    put it there.  `explain` follows one call down the table without running it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.keys import (
    ALIAS_SLOTS,
    ALIASES,
    FUNCTIONALITY_MASK,
    KEY_OF_SLOT,
    RUNTIME_KEYS,
    DispatchKey,
    full_after_bits,
    highest_slot,
    key_names,
    parse_key,
)
from minitorch.dispatch.local_state import current
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket, ops
from minitorch.dispatch.operator import (
    BACKEND_FALLBACKS,
    MISSING,
    OPERATORS,
    Kernel,
    Operator,
)
from minitorch.dispatch.schema_matching import match
from minitorch.dispatch.trace import argument_key_sets


def _find(op: Operator | OpOverloadPacket | str) -> Operator:
    """Return the operator, defined or not; a packet means its default overload."""
    if isinstance(op, Operator):
        return op
    name = op._qualified_op_name if isinstance(op, OpOverloadPacket) else op
    found = OPERATORS.get(name.removesuffix(".default"))
    if found is None:
        raise RuntimeError(f"operator {name} does not exist")
    return found


def _key(key: DispatchKey | str) -> DispatchKey:
    return parse_key(key) if isinstance(key, str) else key


def _runtime_key(key: DispatchKey | str) -> DispatchKey:
    found = _key(key)
    if found.slot < 0:
        kind = "an alias" if found.is_alias else "a building block"
        raise RuntimeError(f"{found.name} is {kind}: it has no place in the table of an operator")
    return found


# -- registrations ---------------------------------------------------------------------


@dataclass(frozen=True)
class Registration:
    """One registered kernel."""

    key: str
    is_alias: bool
    origin: str
    is_active: bool
    is_fallthrough: bool

    def __str__(self) -> str:
        text = f"{self.key}{'[alias]' if self.is_alias else ''}: {self.origin}"
        if self.is_fallthrough:
            text += " [fallthrough]"
        return text if self.is_active else f"{text} (inactive)"


def registrations(op: Operator | OpOverloadPacket | str) -> list[Registration]:
    """Return the kernels registered for `op`, by key; of one key, the active one first."""
    found = _find(op)
    order = {key.name: index for index, key in enumerate(RUNTIME_KEYS)}
    order.update({alias: len(order) + index for index, alias in enumerate(ALIASES)})
    return [
        Registration(name, name in ALIASES, kernel.location(), i == 0, kernel.is_fallthrough)
        for name in sorted(found.kernels, key=order.__getitem__)
        for i, kernel in enumerate(reversed(found.kernels[name]))
    ]


def dump(op: Operator | OpOverloadPacket | str) -> str:
    """Return name, schema and registrations of `op` as text, one kernel a line."""
    found = _find(op)
    lines = [f"name: {found.qualname}", f"schema: {found.schema or '(none)'}"]
    lines += [str(registration) for registration in registrations(found)]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class TableEntry:
    """What runs at one runtime key, and by which rule."""

    key: str
    origin: str
    reason: str
    is_fallthrough: bool

    def __str__(self) -> str:
        mark = "fallthrough " if self.is_fallthrough else ""
        return f"{self.key}: {mark}{self.origin} [{self.reason}]"


def table(op: Operator | OpOverloadPacket | str) -> list[TableEntry]:
    """Return the computed table of `op`, Undefined first, without missing entries."""
    found = _find(op)
    entries = []
    for key in RUNTIME_KEYS:
        kernel, reason = found.resolve(key.slot)
        if kernel is not None:
            entries.append(TableEntry(key.name, kernel.location(), reason, kernel.is_fallthrough))
    return entries


def dump_table(op: Operator | OpOverloadPacket | str) -> str:
    """Return the computed table of `op` as text, one runtime key a line."""
    return "".join(f"{entry}\n" for entry in table(op))


# -- queries ---------------------------------------------------------------------------


def has_kernel(op: str) -> bool:
    """Return whether an operator is defined under this qualified name."""
    found = OPERATORS.get(op.removesuffix(".default"))
    return found is not None and found.schema_text is not None


def has_kernel_for_dispatch_key(
    op: Operator | OpOverloadPacket | str, key: DispatchKey | str
) -> bool:
    """Return whether a kernel was registered for this very key or alias."""
    return _key(key).name in _find(op).kernels


def has_computed_kernel_for_dispatch_key(
    op: Operator | OpOverloadPacket | str, key: DispatchKey | str
) -> bool:
    """Return whether anything runs at a runtime key.

    Raises
    ------
    RuntimeError
        If `key` is an alias.
    """
    return _find(op).resolve(_runtime_key(key).slot)[0] is not None


def kernel_is_fallthrough(op: Operator | OpOverloadPacket | str, key: DispatchKey | str) -> bool:
    """Return whether calls of `op` skip a runtime key."""
    kernel = _find(op).resolve(_runtime_key(key).slot)[0]
    return kernel is not None and kernel.is_fallthrough


def has_backend_fallback(key: DispatchKey | str) -> bool:
    """Return whether a key has a fallback (which may say: skip)."""
    return _runtime_key(key).slot in BACKEND_FALLBACKS


def registrations_for_dispatch_key(key: DispatchKey | str | None = None) -> list[str]:
    """Return the operators with a kernel registered for a key or alias; for any, with None."""
    if key is None:
        return sorted(name for name, op in OPERATORS.items() if op.kernels)
    name = _key(key).name
    return sorted(qualname for qualname, op in OPERATORS.items() if name in op.kernels)


def find_dangling_impls() -> list[str]:
    """Return the names that have kernels but no definition."""
    return sorted(name for name, op in OPERATORS.items() if op.schema_text is None and op.kernels)


def all_op_names() -> list[str]:
    """Return the qualified names of all defined operators."""
    return sorted(name for name, op in OPERATORS.items() if op.schema_text is not None)


def is_alias_key(key: DispatchKey | str) -> bool:
    """Return whether a key is an alias."""
    return _key(key).is_alias


def is_included_in_alias(key: DispatchKey | str, alias: DispatchKey | str) -> bool:
    """Return whether `alias` covers the runtime key `key` (spec K7)."""
    return _runtime_key(key).slot in ALIAS_SLOTS.get(_key(alias).name, ())


def tls_included() -> DispatchKeySet:
    """Return the keys that this thread adds to each call."""
    return DispatchKeySet.from_bits(current().included)


def tls_excluded() -> DispatchKeySet:
    """Return the keys that this thread takes out of each call."""
    return DispatchKeySet.from_bits(current().excluded)


def tls_is_included(key: DispatchKey | str) -> bool:
    """Return whether all bits of a key are in `tls_included`."""
    return tls_included().has(key)


def tls_is_excluded(key: DispatchKey | str) -> bool:
    """Return whether all bits of a key are in `tls_excluded`.

    For a per-backend key that compares the backend too, although exclusion has none: ask
    with the functionality (``AutogradFunctionality``).
    """
    return tls_excluded().has(key)


def tls_set_included(key: DispatchKey | str, included: bool) -> None:
    """Put a key into `tls_included`, or take it out."""
    state, bits = current(), _key(key).bits
    state.included = state.included | bits if included else state.included & ~bits


def tls_set_excluded(key: DispatchKey | str, excluded: bool) -> None:
    """Put a key into `tls_excluded`, or take it out."""
    state, bits = current(), _key(key).bits
    state.excluded = state.excluded | bits if excluded else state.excluded & ~bits


def check_invariants() -> None:
    """Raise AssertionError if what the dispatcher keeps contradicts itself."""
    for name, op in OPERATORS.items():
        assert op.qualname == name, f"{op.qualname} is filed under {name}"
        assert op.kernels or op.schema_text is not None, f"{name} is an empty entry"
        for key_name, stack in op.kernels.items():
            assert stack, f"{name}: the stack of {key_name} is empty"
            key = parse_key(key_name)
            assert key.is_alias or key.slot > 0, f"{name} has a kernel at {key_name}"
            assert all(k.key_name == key_name for k in stack), f"{name}: misfiled at {key_name}"
        for lookup_set, entry in op.cache.items():
            assert entry.key_set == op.masked(lookup_set), f"{name}: a stale entry"
            expected = op.resolve(highest_slot(entry.key_set))[0] or MISSING
            assert entry.kernel is expected, f"{name}: a stale kernel"
    for slot, kernel in BACKEND_FALLBACKS.items():
        assert KEY_OF_SLOT[slot].name == kernel.key_name, f"misfiled fallback {kernel.key_name}"


# -- explanations ----------------------------------------------------------------------


@dataclass(frozen=True)
class Hop:
    """One level of a call: the highest key of what is left, and its kernel."""

    key: str
    kernel: str
    reason: str
    key_set: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.key}: {self.kernel} [{self.reason}]"


@dataclass(frozen=True)
class Explanation:
    """How the dispatcher sees a call.

    Attributes
    ----------
    op : str
    arguments : dict of str to list of str
        The keys of each argument that is or holds tensors.
    included, excluded : list of str
        The ambient keys of the thread.
    key_set : list of str
        What comes of them, without the keys that fall through.
    fallthrough : list of str
        The functionalities that this operator skips.
    hops : list of Hop
        The kernels, if each passes the call on to the level below its own, down to the
        first that does not: a composite, a backend's, or a missing one.
    """

    op: str
    arguments: dict[str, list[str]]
    included: list[str]
    excluded: list[str]
    key_set: list[str]
    fallthrough: list[str]
    hops: list[Hop] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [self.op]
        lines += [f"  {name}: {', '.join(keys)}" for name, keys in self.arguments.items()]
        lines.append(f"  included: {', '.join(self.included) or 'nothing'}")
        lines.append(f"  excluded: {', '.join(self.excluded) or 'nothing'}")
        lines.append(f"  key set: {', '.join(self.key_set) or 'empty'}")
        if self.fallthrough:
            lines.append(f"  skipped: {', '.join(self.fallthrough)}")
        lines += [f"  {'-> ' if i else ''}{hop}" for i, hop in enumerate(self.hops)]
        return "\n".join(lines)


# Kernels under these rules do not pass the call on.
_LAST_REASONS = frozenset(
    ("math kernel", "default backend kernel", "nested kernel", "batched kernel", "missing")
)


def explain(op: Operator | OpOverloadPacket | str, /, *args: Any, **kwargs: Any) -> Explanation:
    """Return how a call of `op` with these arguments would be dispatched, without running it.

    Raises
    ------
    RuntimeError
        If the arguments do not fit the schema.
    TypeError
        If `op` is no operator: ``minitorch.mul`` is a function in front of several.
    """
    found, matched, keywords = _match_any(op, args, kwargs)
    state = current()
    before = found.key_set_of(matched, keywords)
    key_set = found.masked(before)
    skipped = DispatchKeySet.from_bits(before & ~key_set & FUNCTIONALITY_MASK).functionalities()
    return Explanation(
        op=found.qualname,
        arguments=argument_key_sets(found, matched, keywords),
        included=key_names(state.included),
        excluded=key_names(state.excluded),
        key_set=key_names(key_set),
        fallthrough=list(skipped),
        hops=_hops(found, key_set),
    )


def _hops(op: Operator, key_set: int) -> list[Hop]:
    hops = []
    while True:
        key = KEY_OF_SLOT[highest_slot(key_set)]
        kernel, reason = op.resolve(key.slot)
        location = "none" if kernel is None else kernel.location()
        hops.append(Hop(key.name, location, reason, tuple(key_names(key_set))))
        if reason in _LAST_REASONS or _is_backend(key):
            return hops
        # PythonDispatcher stays in every set, to be met again; here it is met once.
        below = full_after_bits(key) & ~parse_key("PythonDispatcher").bits
        key_set &= below


def _is_backend(key: DispatchKey) -> bool:
    """Return whether a key is one whose kernels compute and do not pass on."""
    return key.slot in ALIAS_SLOTS["CompositeExplicitAutograd"] or key.name == "Undefined"


def _match_any(
    op: Operator | OpOverloadPacket | str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Operator, tuple[Any, ...], dict[str, Any]]:
    """Return the overload that a call would run, and its normalized arguments."""
    if isinstance(op, str):
        op = _operator_or_packet(op)
    op = getattr(op, "_opoverload", op)  # what custom_op() returns holds its operator
    if not isinstance(op, Operator | OpOverloadPacket):
        raise TypeError(
            f"explain(): expected an operator, got {op!r}. A public function stands in front of several operators; "
            "name one of them, as in minitorch.ops.aten.mul or 'aten::mul.Tensor'."
        )
    candidates = op._overloads if isinstance(op, OpOverloadPacket) else (op,)
    errors = []
    for candidate in candidates:
        try:
            found = match(
                candidate.schema, candidate.qualname, args, kwargs, candidate.allow_numbers
            )
        except RuntimeError as error:
            errors.append(error)
            continue
        return candidate, *found
    if len(errors) == 1:
        raise errors[0]
    raise RuntimeError("no overload fits:\n" + "\n\n".join(map(str, errors)))


def _operator_or_packet(name: str) -> OpOverload | OpOverloadPacket:
    """Return the operator called ``"ns::op.overload"``, or the packet called ``"ns::op"``."""
    namespace, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    packet = getattr(getattr(ops, namespace), base)
    return getattr(packet, overload) if overload else packet


def fallback_of(key: DispatchKey | str) -> Kernel | None:
    """Return the fallback of a key, or None."""
    return BACKEND_FALLBACKS.get(_runtime_key(key).slot)
