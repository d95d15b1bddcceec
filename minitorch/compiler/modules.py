"""Modules compiled: their parameters and buffers are inputs of the graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minitorch.compiler.aot import AotFunction, Compiler, Options, Partition, make_options
from minitorch.compiler.partition import default_partition
from minitorch.functorch.module_state import functional_call
from minitorch.nn.modules.module import Module

__all__ = ["aot_module", "aot_module_simplified", "state_of"]


def state_of(module: Module) -> dict[str, Any]:
    """Return the parameters and buffers of a module by name; one that it has several times under its first name alone."""
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def as_function(module: Module) -> Callable[..., Any]:
    """Return a module as a function ``(state, args, kwargs)`` of its parameters and buffers."""

    def call(state: dict[str, Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        return functional_call(module, state, args, kwargs)

    return call


class AotModule(Module):
    """A module that does what another does, compiled; made by `aot_module`.

    It has the other's parameters, buffers and training mode, not copies of them.
    """

    def __init__(self, module: Module, options: Options):
        super().__init__()
        self.orig_module = module
        self._compiled = AotFunction(as_function(module), options, self._modes)

    def _modes(self) -> tuple[bool, ...]:
        """Return what a graph depends on beside the arguments: which parts are training."""
        return tuple([part.training for part in self.orig_module.modules()])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(state_of(self.orig_module), args, kwargs)


def aot_module(mod: Module, *args: Any, **kwargs: Any) -> AotModule:
    """Return a module that does what `mod` does, by compiled graphs of its forward and backward pass.

    Parameters
    ----------
    mod : Module
        Its parameters and buffers become inputs of the graphs; buffers that it changes (running statistics) are written back.
    *args, **kwargs
        As for `aot_function`.

    Raises
    ------
    ValueError
        If `mod` is no module.

    Examples
    --------
    >>> from minitorch.compiler import aot_module, nop
    >>> layer = minitorch.nn.Linear(2, 3)
    >>> compiled = aot_module(layer, nop)
    >>> x = minitorch.ones(4, 2)
    >>> bool((compiled(x) == layer(x)).all())
    True
    """
    if not isinstance(mod, Module):
        raise ValueError(f"aot_module expects a Module, got {type(mod).__name__}; use aot_function for functions")
    return AotModule(mod, make_options(*args, **kwargs))


def aot_module_simplified(
    mod: Module,
    args: Sequence[Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: Partition = default_partition,
    decompositions: Mapping[Any, Callable[..., Any]] | None = None,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
) -> Callable[..., Any]:
    """Return a function of a module's positional arguments, compiled at once for arguments like `args`.

    Parameters
    ----------
    mod : Module
    args : sequence
        The arguments that it is traced with. A call with other kinds of arguments is compiled when it comes.
    fw_compiler, ...
        As for `aot_function`.
    """
    compiled = AotModule(
        mod,
        make_options(
            fw_compiler,
            bw_compiler,
            partition_fn,
            decompositions,
            0,
            keep_inference_input_mutations,
            inference_compiler,
        ),
    )
    compiled._compiled.prepare(state_of(mod), tuple(args), {})

    def forward(*runtime_args: Any) -> Any:
        return compiled(*runtime_args)

    forward.zero_grad = mod.zero_grad  # type: ignore[attr-defined]
    forward.named_parameters = mod.named_parameters  # type: ignore[attr-defined]
    forward.named_buffers = mod.named_buffers  # type: ignore[attr-defined]
    return forward
