"""`auto_functionalized`: a call of a custom operator that changes arguments, as one that returns their new values (spec F7).

Nothing is known of a custom operator but its schema, so no functional form of it exists.  Where a trace wants graphs
that change nothing, `functionalization(custom_operators=True)` puts this higher-order operator in the place of the
call: it clones what is changed, calls the operator on the clones, and returns these behind the operator's results.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.higher_order import HigherOrderOperator
from minitorch.dispatch.local_state import below_autograd
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase


class AutoFunctionalized(HigherOrderOperator):
    """``auto_functionalized(op, **arguments) -> (*results, *new values)``; None stands for no results."""

    is_functional = True

    def __init__(self) -> None:
        super().__init__("auto_functionalized", cacheable=True)

    def __call__(self, /, _mutable_op: Any, **kwargs: Any) -> tuple:
        return super().__call__(_mutable_op, **kwargs)


auto_functionalized = AutoFunctionalized()


def written_names(op: Any) -> list[str]:
    """Return the names of the arguments that an operator changes."""
    return [argument.name for argument in op._schema.arguments if argument.is_write]


def can_be_functionalized(op: Any) -> bool:
    """Return whether an operator changes arguments, and returns nothing that shares memory with one."""
    schema = op._schema
    reads = [a for a in schema.arguments if a.alias_info is not None and not a.is_write]
    return bool(written_names(op)) and not reads and all(r.alias_info is None for r in schema.returns)


@auto_functionalized.py_impl("CompositeExplicitAutograd")
def call_on_clones(_mutable_op: Any, **kwargs: Any) -> tuple:
    """Call the operator on clones of what it changes."""
    for name in written_names(_mutable_op):
        value = kwargs.get(name)
        if isinstance(value, TensorBase):
            kwargs[name] = F.clone(value)
        elif isinstance(value, (list, tuple)):
            kwargs[name] = [F.clone(item) if isinstance(item, TensorBase) else item for item in value]
    result = _mutable_op(**kwargs)
    results = tuple(result) if isinstance(result, (tuple, list)) and len(_mutable_op._schema.returns) > 1 else (result,)
    return (*results, *[kwargs.get(name) for name in written_names(_mutable_op)])


@auto_functionalized.py_autograd_impl
def call_below_autograd(_mutable_op: Any, **kwargs: Any) -> tuple:
    """Call it below: operators that change arguments have no derivative."""
    with below_autograd():
        return auto_functionalized(_mutable_op, **kwargs)
