"""``torch.jit`` as PyTorch has it with ``PYTORCH_JIT=0``: functions and modules run in Python, as they are.

`save` and `load` of compiled programs are not here: `minitorch.save` a ``state_dict``, or see `minitorch.fx`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any


def script(obj: Any, *args: Any, **kwargs: Any) -> Any:
    """Return a function, class or module as it is."""
    return obj


def trace(func: Any, example_inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Return a function or module as it is; the example is not needed."""
    return func


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Return a function as it is; also ``@ignore(drop=...)``."""
    return drop if callable(drop) else lambda function: function


def export(fn: Callable) -> Callable:
    """Return a method as it is."""
    return fn


def unused(fn: Callable) -> Callable:
    """Return a function as it is."""
    return fn


def script_if_tracing(fn: Callable) -> Callable:
    """Return a function as it is."""
    return fn


def interface(obj: Any) -> Any:
    """Return a class as it is."""
    return obj


def optimized_execution(should_optimize: bool) -> Any:
    """Return a scope that changes nothing."""
    return nullcontext()


def is_scripting() -> bool:
    """Return whether compiled code runs: False."""
    return False


def is_tracing() -> bool:
    """Return whether a function is being traced by `trace`: False."""
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    """Return a value; the type is for compilers."""
    return the_value


Final = Any
