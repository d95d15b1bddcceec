"""`ProxyableClassMeta`: classes whose construction is recorded."""

from __future__ import annotations

from typing import Any

from minitorch.fx.proxy import find_proxy

__all__ = ["ProxyableClassMeta", "is_proxyable"]

_classes: set[type] = set()


def is_proxyable(value: Any) -> bool:
    """Return whether a value is of a class with this metaclass."""
    return type(value) in _classes


class ProxyableClassMeta(type):
    """Metaclass of classes that hold values: made of proxies, an instance is recorded as a call of the class.

    Examples
    --------
    >>> from minitorch import fx
    >>> class Pair(metaclass=fx.ProxyableClassMeta):
    ...     def __init__(self, left, right):
    ...         self.left, self.right = left, right
    >>> graph = fx.symbolic_trace(lambda x: Pair(x, 1).left).graph
    >>> len(graph.find_nodes(op="call_function", target=Pair))
    1
    """

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]):
        _classes.add(cls)
        super().__init__(name, bases, attributes)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return super().__call__(*args, **kwargs)
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)
