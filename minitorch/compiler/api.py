"""`compile`: PyTorch's ``torch.compile``, by AOT autograd, and what belongs to it.

There is no generator of machine code here.  The default backend leaves programs as they are, and so is as fast as they are;
what `compile` adds is the way to a compiler of one's own: the graphs of `minitorch.compiler.aot_function`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.compiler.aot import aot_function
from minitorch.compiler.compilers import nop
from minitorch.compiler.modules import aot_module
from minitorch.nn.modules.module import Module

__all__ = [
    "OptimizedModule", "allow_in_graph", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling", "is_dynamo_compiling",
    "is_exporting", "list_backends", "register_backend", "reset",
]  # fmt: skip

# None: programs run as they are.
_BACKENDS: dict[str, Callable[..., Any] | None] = {"inductor": None, "eager": None, "aot_eager": nop}


class OptimizedModule(Module):
    """What `compile` makes of a module; names of parameters begin with ``_orig_mod.``, as files have them.

    Attributes
    ----------
    _orig_mod : Module
        The module.
    """

    def __init__(self, module: Module, call: Callable[..., Any]):
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_call", call)  # no part of this module of its own
        self.training = module.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def train(self, mode: bool = True) -> OptimizedModule:
        """Set the training mode of the module."""
        super().train(mode)
        return self

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "_orig_mod":
                raise
            return getattr(self._orig_mod, name)


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] = "inductor",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
) -> Any:
    """Return a function or module that does the same, by graphs that a backend compiles.

    Parameters
    ----------
    model : callable or Module, optional
        Left out, a decorator is returned.
    fullgraph, mode, options
        Accepted for PyTorch's sake.
    dynamic : bool, optional
        Whether one graph serves several sizes.
    backend : str or callable
        ``"inductor"``, the default, and ``"eager"`` leave the program as it is: there is no code generator here.
        ``"aot_eager"`` runs the graphs of its forward and backward passes.  A function ``(GraphModule, example inputs) ->
        callable`` gets these graphs, as `minitorch.compiler.aot_function` makes them; `register_backend` gives it a name.
    disable : bool
        Leave the program as it is.

    Raises
    ------
    RuntimeError
        For an unknown name of a backend; and at a call, where a program needs elements of a tensor to decide how to go on, unless
        the backend leaves it as it is.

    Examples
    --------
    >>> seen = []
    >>> def backend(graph, inputs):
    ...     seen.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
    ...     return graph
    >>> f = minitorch.compile(lambda x: (x * 2).sin(), backend=backend)
    >>> f(minitorch.zeros(2))
    tensor([0., 0.])
    >>> seen
    [['aten.mul.Tensor', 'aten.sin.default']]
    """
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable
        )
    if not callable(model):
        raise RuntimeError(f"compile(): expected a function or a module, not a {type(model).__name__}")
    compiler = _compiler_of(backend)
    if disable:
        return model
    is_module = isinstance(model, Module)
    call: Callable[..., Any] = model
    if compiler is not None:
        make: Callable[..., Any] = aot_module if is_module else aot_function
        call = make(model, fw_compiler=compiler, dynamic=bool(dynamic))
    if is_module:
        return OptimizedModule(model, call)

    @functools.wraps(model)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return call(*args, **kwargs)

    compiled._torchdynamo_orig_callable = model  # type: ignore[attr-defined]
    return compiled


def _compiler_of(backend: str | Callable[..., Any]) -> Callable[..., Any] | None:
    if callable(backend):
        return backend
    if backend not in _BACKENDS:
        raise RuntimeError(
            f"compile(): {backend!r} is no known backend; there are {', '.join(sorted(_BACKENDS))}, and "
            "minitorch.compiler.register_backend adds others"
        )
    return _BACKENDS[backend]


def register_backend(compiler: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Give a compiler of graphs a name that `compile` knows, and return the compiler."""
    _BACKENDS[name] = compiler
    return compiler


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """Return the names of backends."""
    return sorted(_BACKENDS)


def reset() -> None:
    """Do nothing: what was compiled belongs to the functions that `compile` returned."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Return a function as it is; it is never compiled unless it is given to `compile`."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """Return a function as it is: its operators are in the graph."""
    return fn


def is_compiling() -> bool:
    """Return whether a function is being turned into machine code: False, also while it is traced."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def cudagraph_mark_step_begin() -> None:
    """Do nothing: there are no CUDA graphs."""
