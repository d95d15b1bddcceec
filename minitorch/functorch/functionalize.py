"""`functionalize` as a transform: a level of the stack that owns the Functionalize key."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.core.pytree import tree_map, tree_map_only
from minitorch.dispatch.keys import FUNCTIONALIZE
from minitorch.dispatch.local_state import current
from minitorch.dispatch.transforms import Interpreter, TransformType
from minitorch.functionalize import FunctionalHandle, functionalization, is_functional, sync, unwrap, wrap, write_back
from minitorch.functorch.interpreters import excluded_for
from minitorch.functorch.wrappers import unwrap_dead
from minitorch.tensor.base import TensorBase


class FunctionalizeInterpreter(Interpreter):
    """One `functionalize`.

    Attributes
    ----------
    reapply_views : bool
        Whether views are made with view operators, or with ``*_copy`` operators.
    """

    transform = TransformType.Functionalize
    _excluded = excluded_for(FUNCTIONALIZE)

    def __init__(self, reapply_views: bool):
        super().__init__()
        self.reapply_views = reapply_views

    def process(self, op: Any, args: tuple, kwargs: dict | None) -> Any:
        state = current()
        included, excluded, outer = state.included, state.excluded, self.ambient
        self.ambient = (included, excluded)
        # Its key runs, even if the code around, itself below a functionalization, has it off.
        state.excluded = (excluded | self._excluded) & ~FUNCTIONALIZE
        try:
            with functionalization(reapply_views=self.reapply_views):
                return op.call(args, kwargs)
        finally:
            state.included, state.excluded, self.ambient = included, excluded, outer


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return the function that computes `func` without changing anything in place while it runs.

    In-place and ``out=`` operators become out-of-place ones. What they wrote to the arguments is copied
    into these at the end, so that the function does the same to whoever calls it. Meant for what looks at
    the operators below: dispatch modes, tracers, backends.

    Parameters
    ----------
    func : callable
        Takes and returns tensors in nested containers.
    remove : {"mutations", "mutations_and_views"}
        The second also puts ``view_copy`` in the place of ``view``, and so on: no result shares memory.

    Raises
    ------
    RuntimeError
        For another `remove`; and where `func` changes a tensor that is no argument by one that is.

    Examples
    --------
    >>> def f(x):
    ...     y = x.clone()
    ...     y[0].mul_(2)
    ...     return y
    >>> functionalize(f)(minitorch.ones(2))
    tensor([2., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are: "
            "remove='mutations': in-place and out= operators are replaced by out-of-place ones; "
            "remove='mutations_and_views': operators that return views are replaced by their {view}_copy forms, too."
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with FunctionalizeInterpreter(remove == "mutations") as level:
            known: dict[int, tuple[Any, Any, Any]] = {}

            def enter(tensor: Any) -> Any:
                tensor = unwrap_dead(tensor)
                if id(tensor) not in known:
                    wrapper = wrap(tensor, level.level)
                    known[id(tensor)] = (wrapper, wrapper.storage_cell, tensor)
                return known[id(tensor)][0]

            def leave(value: Any) -> Any:
                if is_functional(value) and value.handle.level == level.level:
                    return unwrap(value)
                return value

            inputs, keywords = tree_map_only(TensorBase, enter, (args, kwargs))
            outputs = func(*inputs, **keywords)
            tree_map(lambda value: sync(value) if _is_of(value, level) else None, outputs)
            for _, storage, _ in known.values():
                write_back(storage)
            return tree_map(leave, outputs)

    return wrapped


def _is_of(value: Any, level: FunctionalizeInterpreter) -> bool:
    return isinstance(value, TensorBase) and isinstance(value.handle, FunctionalHandle) and value.handle.level == level.level
