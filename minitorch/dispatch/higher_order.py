"""`HigherOrderOperator`: operators whose arguments may be functions and containers, resolved in Python alone (spec D3).

Note [What differs from an operator]
    A higher-order operator has no schema: its arguments go to a rule as they were given, and the key
    set of a call is that of all tensors in them, at any depth.  It has no native kernels and takes
    part in no backend fallback: each level that a call meets needs a rule (`py_impl`), or must be
    passed by (`HigherOrderOperator.fallthrough`).  Who leaves a level does so by a scope that excludes
    its keys, such as `local_state.below_autograd`, and another call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.core.pytree import tree_leaves
from minitorch.dispatch import namespace
from minitorch.dispatch.keys import (
    FUNCTIONALITY_MASK,
    KEY_OF_SLOT,
    PRE_DISPATCH,
    PYTHON,
    DispatchKey,
    highest_slot,
    parse_key,
)
from minitorch.dispatch.local_state import current
from minitorch.dispatch.mode_stack import mode_stack, set_mode_stack
from minitorch.dispatch.operator import KeyedObject, Operator, PythonKernel
from minitorch.dispatch.pre_dispatch import handled_by, pre_dispatch_modes
from minitorch.dispatch.transforms import TransformType, current_interpreter

# Levels that have nothing to do with a function as an argument.
FALLTHROUGH_BY_DEFAULT = (
    "PythonDispatcher",
    "PythonTLSSnapshot",
    "ADInplaceOrView",
    "BackendSelect",
    "AutocastCPU",
    "AutocastCUDA",
    "AutocastXPU",
)


class HigherOrderOperator:
    """An operator that takes functions or containers; subclass it, and define ``__call__``.

    Parameters
    ----------
    name : str
        Unique; the operator is ``minitorch.ops.higher_order.<name>`` from then on.

    Examples
    --------
    >>> class Twice(HigherOrderOperator):
    ...     def __init__(self):
    ...         super().__init__("twice")
    ...     def __call__(self, fn, x):
    ...         return super().__call__(fn, x)
    >>> twice = Twice()
    >>> twice.fallthrough("AutogradCPU")
    >>> @twice.py_impl("CompositeExplicitAutograd")
    ... def _(fn, x):
    ...     return fn(fn(x))
    >>> twice(minitorch.sin, minitorch.zeros(2))
    tensor([0., 0.])
    """

    _supports_training_input_mutation = False

    def __init__(self, name: str, *, cacheable: bool = False):
        if type(self) is HigherOrderOperator:
            raise TypeError("HigherOrderOperator is not to be instantiated itself: subclass it, and define __call__")
        self._name = name
        self._cacheable = cacheable
        self.__name__ = name
        self.__module__ = "torch.ops.higher_order"
        # By key name.  Those of classes and transforms are apart: no table knows them.
        self.py_kernels: dict[str, Callable[..., Any]] = {}
        self.python_key_table: dict[type, Callable[..., Any]] = {}
        self.functorch_table: dict[TransformType, Callable[..., Any]] = {}
        self._table = Operator(f"higher_order::{name}")
        self._passed_by = 0
        for key in FALLTHROUGH_BY_DEFAULT:
            self.fallthrough(key)
        setattr(namespace.ops.higher_order, name, self)

    # -- registration ------------------------------------------------------------------

    def py_impl(self, key: DispatchKey | str | type | TransformType) -> Callable[[Any], Any]:
        """Register the decorated function as the rule of one level.

        Parameters
        ----------
        key : DispatchKey, str, type or TransformType
            A key or alias: the rule gets the arguments of the call.  The class of a mode: it gets the
            mode in front, which is off meanwhile.  The class of a tensor: the arguments.  A transform:
            it gets the interpreter in front, which is still the innermost one.

        Raises
        ------
        RuntimeError
            If there is such a rule already, or the key is Python (register by class there).
        """
        if isinstance(key, TransformType):
            return self._register(self.functorch_table, key)
        if isinstance(key, type):
            return self._register(self.python_key_table, key)
        name = parse_key(key if isinstance(key, str) else key.name).name
        if name == "Python":
            raise RuntimeError(
                f"{self._name}: py_impl takes no rule for the Python key as a whole; register one for the class of "
                "each mode or tensor"
            )

        def register(fn: Any) -> Any:
            self._register(self.py_kernels, name)(fn)
            self._passed_by &= ~parse_key(name).bits & FUNCTIONALITY_MASK
            self._table.register(name, PythonKernel(fn))
            return fn

        return register

    def _register(self, table: dict, slot: Any) -> Callable[[Any], Any]:
        def register(fn: Any) -> Any:
            if slot in table:
                raise RuntimeError(f"Trying to override a python impl for {slot} on operator {self._name}")
            table[slot] = fn
            return fn

        return register

    def py_autograd_impl(self, fn: Any) -> Any:
        """Register the decorated function as the rule of autograd, on every backend."""
        return self.py_impl("Autograd")(fn)

    def py_functionalize_impl(self, fn: Any) -> Any:
        """Register the decorated function, called as ``fn(context, *args, **kwargs)``, for functionalization.

        The context (`functorch.functionalize_context.FunctionalizeContext`) unwraps and wraps tensors, makes
        functions functional, and leads below; it is the same for the mode and for the transform.
        """

        def at_key(*args: Any, **kwargs: Any) -> Any:
            return fn(_context(), *args, **kwargs)

        def at_transform(interpreter: Any, *args: Any, **kwargs: Any) -> Any:
            return fn(_context(), *args, **kwargs)

        self.py_impl("Functionalize")(at_key)
        self.py_impl(TransformType.Functionalize)(at_transform)
        return fn

    def fallthrough(self, key: DispatchKey | str) -> None:
        """Let calls pass by a level, on every backend, until a rule is registered for it."""
        name = key if isinstance(key, str) else key.name
        self._passed_by |= parse_key(name).bits & FUNCTIONALITY_MASK

    def has_kernel_for_dispatch_key(self, key: DispatchKey | str) -> bool:
        """Return whether a rule was registered for a key or alias itself."""
        return (key if isinstance(key, str) else key.name) in self.py_kernels

    # -- calls -------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        leaves = tuple(tree_leaves((args, kwargs)))
        if namespace.function_handler is not None:
            result = namespace.function_handler(self, args, kwargs, leaves)
            if result is not NotImplemented:
                return result
        key_set = 0
        for leaf in leaves:
            if isinstance(leaf, KeyedObject):
                key_set |= leaf.key_set
        state = current()
        key_set = (key_set | state.included) & ~(state.excluded & FUNCTIONALITY_MASK) & ~self._passed_by
        if key_set & PRE_DISPATCH and not pre_dispatch_modes():
            key_set &= ~PRE_DISPATCH
        return self._run(KEY_OF_SLOT[highest_slot(key_set)], leaves, args, kwargs)

    def dispatch(self, key: DispatchKey | str, /, *args: Any, **kwargs: Any) -> Any:
        """Run the rule of a runtime key, whatever the arguments are."""
        key = parse_key(key) if isinstance(key, str) else key
        return self._run(key, tuple(tree_leaves((args, kwargs))), args, kwargs)

    def _run(self, key: DispatchKey, leaves: tuple, args: tuple, kwargs: dict[str, Any]) -> Any:
        if key.name == "FuncTorchDynamicLayerFrontMode":
            return self._run_transform(args, kwargs)
        if key.name == "Python":
            return self._run_in_python(leaves, args, kwargs)
        if key.name == "PreDispatch":
            with handled_by() as mode:
                return self._ask_mode(mode, args, kwargs)
        # A fallback is a boxed kernel for operators with a schema, and no rule.
        kernel, reason = self._table.resolve(key.slot)
        if kernel is None or reason == "backend fallback":
            known = ", ".join(sorted(self.py_kernels)) or "none"
            raise NotImplementedError(
                f"could not find kernel for HigherOrderOperator {self._name} at dispatch key {key}. Register one with "
                f"@{self._name}.py_impl({key.name!r}), or let calls pass by that level with {self._name}.fallthrough"
                f"({key.name!r}). There are rules for: {known}."
            )
        return kernel.fn(*args, **kwargs)

    def _run_transform(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        interpreter = current_interpreter()
        fn = self.functorch_table.get(interpreter.transform)
        if fn is None:
            name = interpreter.transform.name
            raise NotImplementedError(
                f"could not find a rule of HigherOrderOperator {self._name} for the transform {name}. Register one with "
                f"@{self._name}.py_impl(TransformType.{name}), which gets the interpreter in front of the arguments, or call "
                "the operator outside of the transform."
            )
        return fn(interpreter, *args, **kwargs)

    def _run_in_python(self, leaves: tuple, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Ask the innermost mode, which must know the operator, then the classes of the tensors."""
        modes = mode_stack()
        if modes:
            set_mode_stack(modes[:-1])
            try:
                result = self._ask_mode(modes[-1], args, kwargs)
            finally:
                set_mode_stack(modes)
            if result is not NotImplemented:
                return result
        kinds: list[type] = []
        for leaf in leaves:
            kind = type(leaf)
            if isinstance(leaf, KeyedObject) and leaf.key_set & PYTHON and kind not in kinds:
                place = next((i for i, other in enumerate(kinds) if issubclass(kind, other)), len(kinds))
                kinds.insert(place, kind)
        for kind in kinds:
            if kind in self.python_key_table:
                result = self.python_key_table[kind](*args, **kwargs)
            else:
                result = kind.__torch_dispatch__(self, tuple(kinds), args, kwargs)  # type: ignore[attr-defined]
            if result is not NotImplemented:
                return result
        names = [type(modes[-1]).__name__] if modes else []
        names += [kind.__name__ for kind in kinds]
        raise NotImplementedError(
            f"There was no rule registered for HigherOrderOperator {self._name} and {', '.join(names)}: all handlers returned "
            f"NotImplemented. Register one with @{self._name}.py_impl({names[-1]})."
        )

    def _ask_mode(self, mode: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        kind = type(mode)
        fn = self.python_key_table.get(kind)
        if fn is not None:
            return fn(mode, *args, **kwargs)
        if not getattr(mode, "supports_higher_order_operators", False):
            raise NotImplementedError(
                f"There was no rule registered for HigherOrderOperator {self._name} and mode {kind.__name__}. Register one with "
                f"@{self._name}.py_impl({kind.__name__}), or set {kind.__name__}.supports_higher_order_operators = True, and "
                f"handle {self._name} in its __torch_dispatch__ (or return NotImplemented there)."
            )
        return mode.__torch_dispatch__(self, (), args, kwargs)

    # -- names -------------------------------------------------------------------------

    def cacheable(self) -> bool:
        """Return whether results on fake tensors may be kept for equal arguments."""
        return self._cacheable

    def name(self) -> str:
        """Return its name."""
        return self._name

    @property
    def namespace(self) -> str:
        return "higher_order"

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<HigherOrderOperator(op='{self._name}')>"

    def __copy__(self) -> HigherOrderOperator:
        return self

    def __deepcopy__(self, memo: Any) -> HigherOrderOperator:
        return self

    def __reduce__(self) -> Any:
        return _find, (self._name,)


def _find(name: str) -> HigherOrderOperator:
    return getattr(namespace.ops.higher_order, name)


def _context() -> Any:
    # Its level stands above this one, and is imported when a rule first runs.
    from minitorch.functorch.functionalize_context import current_context

    return current_context()
