"""What a backend can do, as a question that is asked of each node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitorch.fx.naming import qualified_name
from minitorch.fx.node import Node
from minitorch.fx.passes.shape_prop import TensorMetadata

__all__ = ["OpSupports", "OperatorSupport", "OperatorSupportBase", "any_chain", "chain", "create_op_support"]

_CALLS = ("call_module", "call_function", "call_method")


class OperatorSupportBase(ABC):
    """Says of each node whether a backend can run it."""

    @abstractmethod
    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        """Return whether the backend can run a node.

        Parameters
        ----------
        submodules : mapping of str to Module
            ``dict(module.named_modules())``
        """


class OperatorSupport(OperatorSupportBase):
    """Says so by a table.

    Parameters
    ----------
    support_dict : dict
        By target (``"torch.relu"``, a module's class as ``"minitorch.nn.modules.linear.Linear"``, a method's name): None
        where all dtypes will do, or ``([dtypes of args[0], ...], {"name": [dtypes]})`` with None for what is not asked.
        Dtypes are those that `ShapeProp` noted.
    """

    _support_dict: Mapping[str, Any] = {}

    def __init__(self, support_dict: Mapping[str, Any] | None = None):
        if support_dict is not None:
            self._support_dict = support_dict

    def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
        if node.op not in _CALLS:
            return True
        target = node_target(submodules, node)
        if target not in self._support_dict:
            return False
        dtypes = self._support_dict[target]
        if dtypes is None:
            return True
        positional, named = dtypes
        asked = [*zip(node.args, positional, strict=False), *((node.kwargs.get(name), d) for name, d in named.items())]
        return all(d is None or not isinstance(value, Node) or _dtype_of(value) in d for value, d in asked)


def node_target(submodules: Mapping[str, Any], node: Node) -> str:
    """Return what a node calls, as a name: a function's, a method's, or that of a module's class."""
    if node.op == "call_module":
        cls = type(submodules[node.target])
        return f"{cls.__module__}.{cls.__qualname__}"
    if node.op == "call_function":
        return qualified_name(node.target)
    return str(node.target)


def _dtype_of(node: Node) -> Any:
    meta = node.meta.get("tensor_meta")
    return meta.dtype if isinstance(meta, TensorMetadata) else node.meta.get("type")


def create_op_support(is_node_supported: Callable[[Mapping[str, Any], Node], bool]) -> OperatorSupportBase:
    """Return an object that says what a function says."""

    class FunctionalOperatorSupport(OperatorSupportBase):
        def is_node_supported(self, submodules: Mapping[str, Any], node: Node) -> bool:
            return is_node_supported(submodules, node)

    return FunctionalOperatorSupport()


def chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Return an object that says yes where all of some do."""
    return create_op_support(lambda submodules, node: all(s.is_node_supported(submodules, node) for s in op_support))


def any_chain(*op_support: OperatorSupportBase) -> OperatorSupportBase:
    """Return an object that says yes where any of some does."""
    return create_op_support(lambda submodules, node: any(s.is_node_supported(submodules, node) for s in op_support))


class OpSupports:
    """Questions to put together with `chain`."""

    @classmethod
    def decline_if_input_dtype(cls, dtype: Any) -> OperatorSupportBase:
        """Say no where an input is of a dtype."""
        return create_op_support(lambda _, node: all(_dtype_of(arg) != dtype for arg in node.all_input_nodes))

    @classmethod
    def decline_if_node_in_names(cls, disallow_set: Sequence[str] | set[str]) -> OperatorSupportBase:
        """Say no to nodes with certain names."""
        return create_op_support(lambda _, node: node.name not in disallow_set)
