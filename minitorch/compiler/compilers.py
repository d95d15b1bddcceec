"""Simple compilers: what `aot_function` may be given to look at graphs, or to run them as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.fx.graph_module import GraphModule
from minitorch.fx.interpreter import Interpreter

__all__ = ["interpret", "nop", "print_compile"]


def nop(module: GraphModule, example_inputs: Sequence[Any]) -> GraphModule:
    """Run a graph by its generated code: a compiler that does nothing."""
    return module


def print_compile(module: GraphModule, example_inputs: Sequence[Any]) -> GraphModule:
    """Print the code of a graph, and run it as it is."""
    print(module.code)
    return module


def interpret(module: GraphModule, example_inputs: Sequence[Any]) -> Callable[[list[Any]], Any]:
    """Run a graph node by node; inputs and values are let go after their last use."""

    def run(args: list[Any]) -> Any:
        return Interpreter(module).boxed_run(args)  # one for each run: several may be under way

    run._boxed_call = True  # type: ignore[attr-defined]
    return run
