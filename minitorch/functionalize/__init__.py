"""Functionalization: programs that change tensors in place, run as programs that change nothing.

Inputs are wrapped; a wrapper keeps its value, and a change gives it another one that reaches its aliases when
they are read.  The level is the Functionalize key: modes, and everything else below, see out-of-place operators only.

For a transform: `wrap` the inputs at its `level`, run the function inside of `functionalization`, then
`write_back` the storages of the input wrappers (outside of its level, or with the interpreter innermost),
and `unwrap` the outputs.  Kernels leave the level by ``interpreter.lower()`` where the innermost interpreter is one
of `TransformType.Functionalize`, and by excluding the key otherwise (`levels`, Note [Levels]).

Modules: `levels` (where in the stack, and how to call below), `wrapper` (functional tensors, their storages and
updates), `views` and `inverses` (the chain of views, forward and back), `layout` (strides as the program knows them),
`kernels` (one for each kind of operator).
"""

from minitorch.dispatch.dispatcher import register_fallback
from minitorch.functionalize.kernels import Fallback
from minitorch.functionalize.levels import below, disable, enable, functionalization
from minitorch.functionalize.wrapper import (
    FunctionalHandle,
    FunctionalStorage,
    is_functional,
    sync,
    unwrap,
    value_without_sync,
    wrap,
    write_back,
)

__all__ = [
    "FunctionalHandle",
    "FunctionalStorage",
    "below",
    "disable",
    "enable",
    "functionalization",
    "is_functional",
    "sync",
    "unwrap",
    "value_without_sync",
    "wrap",
    "write_back",
]

register_fallback("Functionalize", Fallback())
