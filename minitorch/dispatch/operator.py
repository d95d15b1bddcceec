"""Operators: their kernels, their dispatch tables, and the road of one call.

This is the heart of the library and on the path of every call: it is compiled where a
compiler exists, with its types in `operator.pxd`, and the same file runs interpreted
elsewhere.

Note [The road of one call]
    ``op.call(args, kwargs)`` gets arguments that are normalized already (schema order,
    trailing defaults dropped, keyword-only ones by name).  It joins the key sets of the
    tensors among them with the thread's ambient sets, finds the entry for that set (one
    comparison when the set is that of the last call, else one dictionary probe) and runs
    the entry's kernel.  A kernel that passes the call on does so with `redispatch_boxed`
    or, without a look-up, with the entry below its own (`entry_below`).

Note [Entries]
    An entry is what a key set means to one operator: the set without the keys that fall
    through, and the kernel of the highest key left.  Entries are made on first use from
    the registrations, by the rules of `_resolve`, and dropped by every registration.

Note [Untracked calls]
    The autograd kernel of most operators does nothing when no tensor among the arguments
    requires a gradient, is a view (whose base may come to require one) or carries a
    tangent: `KeyedObject.tracked` says so of each tensor.  Then the entry below it runs at
    once (`Entry.untracked`, filled in by `Kernel.untracked` where that is right).  A traced
    call takes every hop.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch import schema_matching
from minitorch.dispatch.keys import (
    ALIAS_SLOTS,
    AUTOGRADOTHER_BACKEND_SLOTS,
    BACKEND_MASK,
    FUNCTIONALITY_MASK,
    KEY_OF_SLOT,
    DispatchKey,
    backend_slots_of_autograd,
    highest_slot,
    key_set_text,
)
from minitorch.dispatch.local_state import LocalState, current
from minitorch.dispatch.schema import dispatch_positions
from minitorch.dispatch.schema_matching import match
from minitorch.dispatch.schema_parser import parse_schema
from minitorch.errors import MissingKernelError

# A C integer when compiled (operator.pxd), so that no Python integer is made on the call path.
_FUNCTIONALITY = FUNCTIONALITY_MASK
COMPILED = not __file__.endswith(".py")
# Above all keys: what `Operator._extract` adds to a key set when an argument is tracked.
_TRACKED = 1 << 63
_AUTOGRAD_OTHER_SLOT = DispatchKey.AutogradOther.slot  # type: ignore[attr-defined]
_META_SLOT = DispatchKey.Meta.slot  # type: ignore[attr-defined]

# Takes calls without any tensor where the operator has no kernel for them: (op, args, kwargs) -> result.
without_tensors: Any = None
# Number of a functionality -> what takes calls at its keys where the operator has no kernel: (op, entry, args, kwargs) -> result.
# No kernel, so that the tables say that there is none: it raises, or does what a policy allows.
missing_handlers: dict[int, Any] = {}
# slot -> the kernel that runs where an operator has none (spec T1, step 8)
BACKEND_FALLBACKS: dict[int, Kernel] = {}
# every operator that exists, by qualified name
OPERATORS: dict[str, Operator] = {}
# Called before each traced hop, when a thread's `trace` is set: (label, op, entry, args, kwargs, depth).  What it returns, if
# anything, is called when the hop has ended, with the result; with None if that raised.
trace_hook: Any = None


class KeyedObject:
    """What the dispatcher knows of a tensor: its key set, and whether autograd may care about it.

    Attributes
    ----------
    key_set : int
    tracked : bool
        False only while the Autograd kernels would surely do nothing but pass this tensor on
        (Note [Untracked calls]).
    """

    __slots__ = ("key_set",)


if not COMPILED:
    KeyedObject.tracked = False  # type: ignore[attr-defined]  # compiled, a C field


schema_matching.TENSOR_TYPE = KeyedObject


class Entry:
    """What one key set means to one operator (Note [Entries])."""

    __slots__ = ("below", "cached", "kernel", "key_set", "leaf", "lookup_set", "untracked")

    def __init__(self, lookup_set, key_set, kernel):
        self.lookup_set = lookup_set
        self.key_set = key_set
        self.kernel = kernel
        self.below = None
        self.leaf = False
        self.untracked = None
        self.cached = None


class Kernel:
    """Something that runs an operator at a key.

    Attributes
    ----------
    fn : callable or None
        The function that does the work, where there is one.
    key_name : str
        The key it was registered for.
    origin : tuple of (str, int) or None
        File and line of `fn`, found on demand by `location`.
    is_fallthrough : bool
        The dispatcher skips keys whose kernel says so.
    """

    __slots__ = ("fn", "is_fallthrough", "key_name", "origin", "owner")

    def __init__(self, fn=None):
        self.fn: Any = fn
        self.key_name = ""
        self.origin: Any = None
        self.is_fallthrough = False
        self.owner = None

    def run(self, op, entry, args, kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no run method")

    def is_leaf(self, op, entry):
        """Return whether it surely calls no operator, so that nobody sees what keys are excluded while it runs."""
        return False

    def untracked(self, op, entry):
        """Return the entry that may run in this one's place when no argument is tracked, or None."""
        return None

    def location(self) -> str:
        """Return ``file:line`` of the function that does the work."""
        fn = self.fn
        while hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        code = getattr(fn, "__code__", None)
        if code is not None:
            return f"{code.co_filename}:{code.co_firstlineno}"
        if self.origin is not None:
            return f"{self.origin[0]}:{self.origin[1]}"
        return f"{type(self).__module__}.{type(self).__name__}"


class PythonKernel(Kernel):
    """A Python function called with the normalized arguments (spec X1, X2, X6)."""

    __slots__ = ("with_keyset",)

    def __init__(self, fn, with_keyset=False):
        Kernel.__init__(self, fn)
        self.with_keyset = with_keyset

    def run(self, op, entry, args, kwargs):
        if self.with_keyset:
            args = (key_set_object(entry.key_set), *args)
        if kwargs:
            return self.fn(*args, **kwargs)
        return self.fn(*args)


class FallbackKernel(Kernel):
    """A boxed function for every operator of a key: ``fn(op, *args, **kwargs)`` (spec X9)."""

    __slots__ = ("with_keyset",)

    def __init__(self, fn, with_keyset=False):
        Kernel.__init__(self, fn)
        self.with_keyset = with_keyset

    def run(self, op, entry, args, kwargs):
        if kwargs is None:
            kwargs = {}
        if self.with_keyset:
            return self.fn(key_set_object(entry.key_set), op, *args, **kwargs)
        return self.fn(op, *args, **kwargs)


class FallthroughKernel(Kernel):
    """Marks a key that the dispatcher skips."""

    __slots__ = ()

    def __init__(self):
        Kernel.__init__(self, None)
        self.is_fallthrough = True


class MissingKernel(Kernel):
    """Stands where no kernel is: raises the error of spec T11."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        slot = highest_slot(entry.key_set)
        if slot == 0:
            if without_tensors is not None:
                return without_tensors(op, args, kwargs)
        elif missing_handlers:
            handler = missing_handlers.get(KEY_OF_SLOT[slot].functionality)
            if handler is not None:
                return handler(op, entry, args, kwargs)
        raise_missing(op, entry.key_set)


class AmbiguousKernel(Kernel):
    """Stands at AutogradOther where a composite and a backend kernel compete (spec T3)."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        raise RuntimeError(
            f"{op.qualname}: CompositeImplicitAutograd and a kernel of a backend that maps to AutogradOther are both "
            "registered, so what AutogradOther should run is ambiguous. Register a kernel for AutogradOther, or call "
            "the operator in inference mode, where autograd keys do not take part."
        )


MISSING = MissingKernel()
AMBIGUOUS = AmbiguousKernel()
_NO_ENTRY = Entry(0xFFFFFFFFFFFFFFFF, 0, MISSING)

# How `with_keyset` kernels see a key set; `dispatch.key_set` sets it to DispatchKeySet.
key_set_object: Any = int

# Device names that replace the PrivateUse keys' names in messages: {"PrivateUse1": "npu"}
renamed_backends: dict[str, str] = {}


def shown_key_name(name: str) -> str:
    """Return a key's name as messages show it: with the name given to a PrivateUse backend."""
    for key, device_name in renamed_backends.items():
        if name.endswith(key):
            return name[: -len(key)] + device_name
    return name


def raise_missing(op: Operator, key_set: int) -> None:
    """Raise the error for an operator without a kernel for the highest key of `key_set`."""
    slot = highest_slot(key_set)
    name = op.qualname
    if slot == 0:
        raise NotImplementedError(
            f"There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), but no "
            f"fallback function is registered for schema {name}. Pass at least one tensor, or register a "
            f"composite or BackendSelect kernel for it. Kernels: {', '.join(op.available_keys()) or 'none'}."
        )
    key = KEY_OF_SLOT[slot]
    if slot == _META_SLOT:
        error = MissingKernelError(
            f"{name}: attempted to run this operator with Meta tensors, but there was no fake impl or Meta kernel "
            f"registered for this operator. Add one with minitorch.library.register_fake({name!r}, fn)."
        )
        error.qualname = name
        raise error
    shown = shown_key_name(key.name)
    available = op.available_keys()
    lines = "\n".join(f"{shown_key_name(k)}: {where}" for k, where in available.items())
    raise NotImplementedError(
        f"Could not run '{name}' with arguments from the '{shown}' backend. The key set of the call was "
        f"{key_set_text(key_set)}. '{name}' is only available for these backends: "
        f"[{', '.join(shown_key_name(k) for k in available)}].\n\n{lines}\n\n"
        f'Register a kernel with Library("{op.namespace}", "IMPL", "{key.name}").impl("{op.unqualified}", fn), '
        'or move the arguments with .to("cpu").'
    )


class Operator:
    """One overload of an operator: schema, kernels, and the table computed from them.

    Parameters
    ----------
    qualname : str
        ``"aten::add.Tensor"``; no dot for the default overload.
    """

    __slots__ = (
        "__weakref__",
        "_parsed",
        "allow_numbers",
        "basename",
        "cache",
        "declaration",
        "hooks",
        "kernels",
        "last",
        "namespace",
        "overload",
        "positions",
        "qualname",
        "raw_cache",
        "return_count",
        "schema_text",
        "simple",
        "tags",
    )

    def __init__(self, qualname: str):
        self.qualname = qualname
        namespace, _, rest = qualname.partition("::")
        self.namespace = namespace
        self.basename, _, self.overload = rest.partition(".")
        self.schema_text = None
        self._parsed = None
        self.kernels = {}  # key name -> stack of kernels, the active one last
        self.cache = {}
        self.raw_cache = {}
        self.last = _NO_ENTRY
        self.simple = -2  # not prepared
        self.positions = ()
        self.allow_numbers = False
        self.tags: Any = ()
        self.declaration = None
        self.hooks: Any = None
        self.return_count = 1

    # -- what it is ------------------------------------------------------------

    @property
    def unqualified(self) -> str:
        """``"add.Tensor"``: the name within its namespace."""
        return f"{self.basename}.{self.overload}" if self.overload else self.basename

    @property
    def schema(self) -> Any:
        """The parsed schema (parsed on first use); None for a name that was never defined."""
        if self._parsed is None and self.schema_text is not None:
            parsed = parse_schema(self.schema_text)
            if "::" not in parsed.name:
                parsed.name = f"{self.namespace}::{parsed.name}"
            self._parsed = parsed
        return self._parsed

    def set_schema(self, text: str | None) -> None:
        """Give the operator its schema, or take it away with None."""
        self.schema_text = text
        self._parsed = None
        self.simple = -2
        self.invalidate()

    def prepare(self) -> None:
        """Work out, from the schema, where the tensors stand that take part in dispatch.

        `simple` becomes their number when they are all leading positional arguments of
        type ``Tensor`` or ``Tensor?``; -1 when a look at `positions` is needed.
        """
        schema = self.schema
        if schema is None:
            raise RuntimeError(f"operator {self.qualname} is not defined")
        indices = dispatch_positions(schema)
        positions = []
        simple = True
        for place, index in enumerate(indices):
            argument = schema.arguments[index]
            if argument.type.is_list or argument.kwarg_only or index != place:
                simple = False
            positions.append((index, argument.name, argument.kwarg_only, argument.type.is_list))
        self.positions = tuple(positions)
        self.return_count = len(schema.returns)
        self.simple = len(positions) if simple else -1

    # -- registrations ---------------------------------------------------------

    def register(self, key_name: str, kernel: Kernel) -> None:
        """Put `kernel` on top of the stack of a key (a runtime key or an alias)."""
        kernel.key_name = key_name
        self.kernels.setdefault(key_name, []).append(kernel)
        self.invalidate()

    def unregister(self, key_name: str, kernel: Kernel) -> None:
        """Take `kernel` out of the stack of a key."""
        stack = self.kernels[key_name]
        stack.remove(kernel)
        if not stack:
            del self.kernels[key_name]
        self.invalidate()

    def invalidate(self) -> None:
        """Forget the computed entries."""
        self.cache = {}
        self.raw_cache = {}
        self.last = _NO_ENTRY

    def active(self, key_name: str):
        """Return the kernel registered last for a key or alias, or None."""
        stack = self.kernels.get(key_name)
        return stack[-1] if stack else None

    # -- the table -------------------------------------------------------------

    def resolve(self, slot: int):
        """Return ``(kernel, reason)`` for a table slot; the rules are spec T1 to T5, in order."""
        key = KEY_OF_SLOT[slot]
        direct = self.active(key.name)
        if direct is not None and slot != 0:
            return direct, "kernel"
        explicit = self.active("CompositeExplicitAutograd")
        non_functional = self.active("CompositeExplicitAutogradNonFunctional")
        if non_functional is not None and (
            slot == 0 or slot in ALIAS_SLOTS["CompositeExplicitAutogradNonFunctional"]
        ):
            return non_functional, "default backend kernel"
        if explicit is not None and (slot == 0 or slot in ALIAS_SLOTS["CompositeExplicitAutograd"]):
            return explicit, "default backend kernel"
        nested = self.active("CompositeImplicitAutogradNestedTensor")
        if nested is not None and slot in ALIAS_SLOTS["CompositeImplicitAutogradNestedTensor"]:
            return nested, "nested kernel"
        implicit = self.active("CompositeImplicitAutograd")
        if implicit is not None and (slot == 0 or slot in ALIAS_SLOTS["CompositeImplicitAutograd"]):
            if slot == _AUTOGRAD_OTHER_SLOT and self._has_direct(AUTOGRADOTHER_BACKEND_SLOTS):
                return AMBIGUOUS, "ambiguous autogradother"
            if explicit is None and not self._has_direct(backend_slots_of_autograd(slot)):
                return implicit, "math kernel"
        autograd = self.active("Autograd")
        if autograd is not None and slot in ALIAS_SLOTS["Autograd"]:
            return autograd, "autograd kernel"
        batched = self.active("FuncTorchBatchedDecomposition")
        if batched is not None and slot in ALIAS_SLOTS["FuncTorchBatchedDecomposition"]:
            return batched, "batched kernel"
        fallback = BACKEND_FALLBACKS.get(slot)
        if fallback is not None:
            return fallback, "backend fallback"
        return None, "missing"

    def _has_direct(self, slots) -> bool:
        return any(KEY_OF_SLOT[slot].name in self.kernels for slot in slots)

    def available_keys(self) -> dict[str, str]:
        """Return the runtime keys that have a kernel, each with where the kernel stands."""
        found = {}
        for slot, key in KEY_OF_SLOT.items():
            if slot == 0:
                continue
            kernel, _ = self.resolve(slot)
            if kernel is not None and not kernel.is_fallthrough:
                found[key.name] = kernel.location()
        return found

    def masked(self, key_set: int) -> int:
        """Return `key_set` without the keys whose kernel falls through (spec R2)."""
        backend = max((key_set & BACKEND_MASK).bit_length() - 1, 0)
        remaining = key_set & FUNCTIONALITY_MASK
        result = key_set
        while remaining:
            bit = remaining & -remaining
            remaining ^= bit
            slot = highest_slot(bit | 1 << backend)
            kernel, _ = self.resolve(slot)
            if kernel is not None and kernel.is_fallthrough:
                result ^= bit
        return result

    def _kernel_for(self, key_set: int):
        kernel, _ = self.resolve(highest_slot(key_set))
        return MISSING if kernel is None else kernel

    def lookup(self, key_set):
        """Return the entry of a call's key set, and remember it as the last."""
        entry: Entry = self.cache.get(key_set)
        if entry is None:
            if self.simple == -2:
                self.prepare()
            masked = self.masked(key_set)
            entry = Entry(key_set, masked, self._kernel_for(masked))
            entry.leaf = entry.kernel.is_leaf(self, entry)
            entry.untracked = entry.kernel.untracked(self, entry)
            self.cache[key_set] = entry
        self.last = entry
        return entry

    def lookup_raw(self, key_set):
        """Return the entry for a redispatch with `key_set`, which the kernel gets as it is."""
        entry: Entry = self.raw_cache.get(key_set)
        if entry is None:
            entry = Entry(key_set, key_set, self._kernel_for(self.masked(key_set)))
            entry.leaf = entry.kernel.is_leaf(self, entry)
            self.raw_cache[key_set] = entry
        return entry

    def entry_below(self, entry, after):
        """Return the entry for ``entry.key_set & after``, kept in `entry.below`."""
        below: Entry = entry.below
        if below is None:
            below = self.lookup_raw(entry.key_set & after)
            entry.below = below
        return below

    # -- calls -----------------------------------------------------------------

    def call(self, args, kwargs):
        """Run the operator on normalized arguments (Note [The road of one call])."""
        key_set = 0
        tracked = False
        count = self.simple
        if count >= 0:
            if count > len(args):
                count = len(args)
            for i in range(count):
                a = args[i]
                if isinstance(a, KeyedObject):
                    keyed: KeyedObject = a
                    key_set |= keyed.key_set
                    if keyed.tracked:
                        tracked = True
        else:
            key_set = self._extract(args, kwargs)
            if key_set & _TRACKED:
                tracked = True
                key_set ^= _TRACKED
        state: LocalState = current()
        key_set = (key_set | state.included) & ~(state.excluded & _FUNCTIONALITY)
        entry: Entry = self.last
        if entry.lookup_set != key_set:
            entry = self.lookup(key_set)
        if state.trace:
            return self._traced("call", entry, args, kwargs)
        if not tracked and entry.untracked is not None:
            entry = entry.untracked
        return entry.kernel.run(self, entry, args, kwargs)

    def call1(self, a):
        """Run an operator of one tensor."""
        state: LocalState = current()
        key_set = (a.key_set | state.included) & ~(state.excluded & _FUNCTIONALITY)
        entry: Entry = self.last
        if entry.lookup_set != key_set:
            entry = self.lookup(key_set)
        if state.trace:
            return self._traced("call", entry, (a,), None)
        if not a.tracked and entry.untracked is not None:
            entry = entry.untracked
        return entry.kernel.run(self, entry, (a,), None)

    def call2(self, a, b):
        """Run an operator of two tensors, either of which may be a Python number."""
        key_set = 0
        tracked = False
        if isinstance(a, KeyedObject):
            first: KeyedObject = a
            key_set = first.key_set
            tracked = first.tracked
        if isinstance(b, KeyedObject):
            second: KeyedObject = b
            key_set |= second.key_set
            if second.tracked:
                tracked = True
        state: LocalState = current()
        key_set = (key_set | state.included) & ~(state.excluded & _FUNCTIONALITY)
        entry: Entry = self.last
        if entry.lookup_set != key_set:
            entry = self.lookup(key_set)
        if state.trace:
            return self._traced("call", entry, (a, b), None)
        if not tracked and entry.untracked is not None:
            entry = entry.untracked
        return entry.kernel.run(self, entry, (a, b), None)

    def _extract(self, args, kwargs):
        """Return the union of the key sets of all arguments that take part, and `_TRACKED` if one is."""
        if self.simple == -2:
            self.prepare()
        key_set = 0
        count = len(args)
        for index, name, kwarg_only, is_list in self.positions:
            if kwarg_only:
                value = kwargs.get(name) if kwargs else None
            elif index < count:
                value = args[index]
            else:
                value = None
            if value is None:
                continue
            if is_list:
                for item in value:
                    if isinstance(item, KeyedObject):
                        keyed: KeyedObject = item
                        key_set |= keyed.key_set
                        if keyed.tracked:
                            key_set |= _TRACKED
            elif isinstance(value, KeyedObject):
                keyed = value
                key_set |= keyed.key_set
                if keyed.tracked:
                    key_set |= _TRACKED
        return key_set

    def redispatch_boxed(self, key_set, args, kwargs):
        """Run the kernel of the highest key of `key_set`: no arguments are looked at (spec R4)."""
        entry = self.lookup_raw(key_set)
        if current().trace:
            return self._traced("redispatch", entry, args, kwargs)
        return entry.kernel.run(self, entry, args, kwargs)

    def run_below(self, entry, args, kwargs):
        """Run an entry from `entry_below`: a redispatch without a look-up."""
        if current().trace:
            return self._traced("redispatch", entry, args, kwargs)
        return entry.kernel.run(self, entry, args, kwargs)

    def _traced(self, label, entry, args, kwargs):
        state = current()
        ended = trace_hook(label, self, entry, args, kwargs, state.trace)
        state.trace += 1
        result = None
        try:
            result = entry.kernel.run(self, entry, args, kwargs)
            return result
        finally:
            state.trace -= 1
            if ended is not None:
                ended(result)

    def key_set_of(self, args, kwargs) -> int:
        """Return the key set that a call with these arguments would compute, before masking."""
        state = current()
        bits = self._extract(args, kwargs) & ~_TRACKED
        return (bits | state.included) & ~(state.excluded & _FUNCTIONALITY)

    def __call__(self, /, *args, **kwargs):
        """Match the arguments against the schema, convert them, and call.

        Raises
        ------
        RuntimeError
            If they do not match.
        """
        if self.simple == -2:
            self.prepare()
        matched, keywords = match(self.schema, self.qualname, args, kwargs, self.allow_numbers)
        return self.call(matched, keywords)

    def redispatch(self, key_set, /, *args, **kwargs):
        """Match the arguments and run the kernel of the highest key of `key_set`."""
        bits = key_set if isinstance(key_set, int) else key_set.bits
        matched, keywords = match(self.schema, self.qualname, args, kwargs, self.allow_numbers)
        return self.redispatch_boxed(bits, matched, keywords)

    def __repr__(self) -> str:
        return f"<Operator {self.qualname}>"

    def __reduce__(self):
        return (find_operator, (self.qualname,))


def find_operator(qualname: str) -> Operator:
    """Return a defined operator by its qualified name.

    Raises
    ------
    RuntimeError
        If no such operator is defined.
    """
    op = OPERATORS.get(qualname)
    if op is None or op.schema_text is None:
        raise RuntimeError(f"operator {qualname} does not exist")
    return op
