"""The table of decompositions, by overload.

Composites that the library itself runs, where their derivative is another than that of their parts, are decompositions
as they are; those that autograd and traces take apart anyway need none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping, Sequence
from typing import Any

from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket
from minitorch.dispatch.operator import OPERATORS
from minitorch.ops.composite.registry import EXPLICIT

decomposition_table: dict[OpOverload, Callable[..., Any]] = {}
"""All decompositions there are, by overload."""

_loaded = False


def _load() -> None:
    """Fill the table, when somebody first asks for it."""
    global _loaded
    if _loaded:
        return
    _loaded = True
    from minitorch._decomp import activation, linalg, loss, normalization, pointwise, reductions  # noqa: F401

    for name, fn in EXPLICIT.items():
        op = OPERATORS["aten::" + name]
        # Those that write into their arguments, and views, stand for themselves.
        if isinstance(op, OpOverload) and not any(a.alias_info for a in (*op._schema.arguments, *op._schema.returns)):
            if "nondeterministic_seeded" not in op.tags and name not in _KEPT:
                decomposition_table.setdefault(op, fn)


# Their composite is no plainer, or looks at elements.
_KEPT = frozenset(
    ("_linalg_check_errors", "_efficientzerotensor", "_assert_async.msg", "allclose", "resize", "lift_fresh_copy")
)


def _overloads(ops: Any) -> list[OpOverload]:
    if isinstance(ops, OpOverloadPacket):
        return [getattr(ops, name) for name in ops]
    return [ops] if isinstance(ops, OpOverload) else [op for item in ops for op in _overloads(item)]


def register_decomposition(
    aten_op: Any, registry: MutableMapping[Any, Callable[..., Any]] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated function as what operators are made of.

    Parameters
    ----------
    aten_op : OpOverload, OpOverloadPacket, or sequence of these
        A packet means all of its overloads.
    registry : dict, optional
        The table to add to; that of the library when omitted.

    Raises
    ------
    RuntimeError
        If one of the operators has a decomposition there already.

    Examples
    --------
    >>> from minitorch._decomp import register_decomposition
    >>> table = {}
    >>> @register_decomposition(minitorch.ops.aten.relu.default, table)
    ... def relu(x):
    ...     return minitorch.where(x > 0, x, 0)
    >>> list(table)
    [<OpOverload(op='aten.relu', overload='default')>]
    """
    table = decomposition_table if registry is None else registry

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        for op in _overloads(aten_op):
            if op in table:
                raise RuntimeError(f"duplicate registrations for {op}: it has a decomposition already")
            table[op] = fn
        return fn

    return register


def get_decompositions(aten_ops: Sequence[Any]) -> dict[OpOverload, Callable[..., Any]]:
    """Return the decompositions of some operators, as a table for `make_fx`.

    Parameters
    ----------
    aten_ops : sequence of OpOverload or OpOverloadPacket

    Examples
    --------
    >>> from minitorch._decomp import get_decompositions
    >>> table = get_decompositions([minitorch.ops.aten.addmm])
    >>> from minitorch.fx.experimental.proxy_tensor import make_fx
    >>> x = minitorch.ones(2, 2)
    >>> graph = make_fx(minitorch.addmm, decomposition_table=table)(x, x, x)
    >>> [node.name for node in graph.graph.nodes if node.op == "call_function"]
    ['mm', 'add']
    """
    _load()
    return {op: decomposition_table[op] for op in _overloads(aten_ops) if op in decomposition_table}


def remove_decompositions(decompositions: MutableMapping[Any, Any], aten_ops: Iterable[Any]) -> None:
    """Take operators out of a table."""
    for op in _overloads(aten_ops):
        decompositions.pop(op, None)


def core_aten_decompositions() -> dict[OpOverload, Callable[..., Any]]:
    """Return the decompositions of all operators that have one: what is left are a few simple operators."""
    _load()
    return dict(decomposition_table)
