"""Symbolic numbers in a trace: which nodes compute them.

Note [Sizes as nodes]
    A symbol is a size of some tracked tensor (or a stride, or a number that an operator returned).  Nothing is recorded
    until a symbolic number stands among the arguments of a node.  Then its expression is computed by nodes: ``sym_size``
    for each symbol, and Python's operators between them; each expression once.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from minitorch.core.layout import strided
from minitorch.core.symbolic import Symbolic, is_symbolic
from minitorch.dispatch.namespace import OpOverload, ops
from minitorch.fx.proxy import Proxy
from minitorch.tensor.base import TensorBase


class Symbols:
    """The symbols of one trace, and the proxies of expressions of them (Note [Sizes as nodes]).

    As a mapping it gives the proxy of a symbol or of a number that an operator returned, by expression.
    """

    def __init__(self, tracer: Any):
        self.tracer = tracer
        self._proxies: dict[Any, Proxy] = {}
        self._sources: dict[Any, tuple[Proxy, OpOverload, tuple]] = {}
        self._computed: dict[Any, Any] = {}

    def note_tensor(self, tensor: TensorBase, proxy: Proxy) -> None:
        """Note which symbols are sizes, strides or the offset of a tracked tensor."""
        handle = tensor.handle
        for dim, size in enumerate(handle.shape):
            self._note(size, proxy, ops.aten.sym_size.int, (dim,))
        if tensor.layout is strided and any(is_symbolic(step) for step in handle.strides):  # type: ignore[attr-defined]
            for dim, step in enumerate(tensor.stride()):
                self._note(step, proxy, ops.aten.sym_stride.int, (dim,))
            self._note(tensor.storage_offset(), proxy, ops.aten.sym_storage_offset.default, ())

    def _note(self, number: Any, proxy: Proxy, question: OpOverload, args: tuple) -> None:
        if is_symbolic(number) and number.node.expr.is_Symbol:
            self._sources.setdefault(number.node.expr, (proxy, question, args))

    def note_number(self, number: Symbolic, proxy: Proxy) -> None:
        """Note that a proxy stands for a symbolic number: an input, or what an operator returned."""
        self._proxies[number.node.expr] = proxy

    def __contains__(self, expr: Any) -> bool:
        return expr in self._proxies or expr in self._sources

    def __getitem__(self, expr: Any) -> Proxy:
        proxy = self._proxies.get(expr)
        if proxy is None:
            tensor, question, args = self._sources[expr]
            proxy = self._proxies[expr] = self.tracer.create_call(question, (tensor, *args), {}, name=_name(question))
            value = tensor.node.meta["val"]
            proxy.node.meta["val"] = question(value, *args) if isinstance(value, TensorBase) else None
        return proxy

    def proxy_of(self, number: Symbolic) -> Any:
        """Return the proxy of a symbolic number, recorded where it is new; a Python number if it is known by now.

        Raises
        ------
        RuntimeError
            If it depends on a symbol that is no size of a tensor in the trace.
        """
        from minitorch.fake.size_expressions import compute

        try:
            return compute(number.node.expr, self, self._record, self._computed)  # type: ignore[arg-type]
        except KeyError as error:
            raise RuntimeError(
                f"the trace has no node for {error.args[0]}, on which the symbolic number {number} depends: it is a size of "
                "another trace, or of a tensor that was no argument"
            ) from error

    def _record(self, function: Callable[..., Any], *args: Any) -> Any:
        if not any(isinstance(arg, Proxy) for arg in args):
            return function(*args)
        if function in (operator.add, operator.mul) and not isinstance(args[0], Proxy):
            args = args[::-1]  # a number stands behind, as whoever writes such a sum puts it
        proxy = self.tracer.create_call(function, args, {})
        proxy.node.meta["val"] = function(*[arg.node.meta["val"] if isinstance(arg, Proxy) else arg for arg in args])
        return proxy


def _name(question: OpOverload) -> str:
    """Return the name of a node that asks a size: ``sym_size_int``, as PyTorch's."""
    return f"{question.basename}_{question.overload}" if question.overload else question.basename
