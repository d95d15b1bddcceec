"""The arguments that a trace runs on: as they are, as fake tensors, or as fake tensors of symbolic sizes."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from minitorch.core.pytree import tree_flatten, tree_unflatten
from minitorch.core.symbolic import is_symbolic
from minitorch.dispatch.mode_stack import InfraSlot, infra_mode
from minitorch.fake.fake_tensor import FakeArray
from minitorch.fake.mode import FakeTensorMode
from minitorch.tensor.base import TensorBase


def prepare(args: tuple, names: list[str], tracing_mode: str, scopes: ExitStack, allow_non_fake_inputs: bool) -> tuple:
    """Return the arguments for a trace in a mode, and enter the scopes that it needs.

    Parameters
    ----------
    names : list of str
        Of the arguments; messages about symbolic sizes use them.
    """
    if tracing_mode == "real":
        return args
    symbolic = tracing_mode == "symbolic"
    fake_mode = _mode_of(args) or _new_mode(symbolic, allow_non_fake_inputs)
    scopes.enter_context(fake_mode)
    prepared = []
    for name, arg in zip(names, args, strict=True):
        leaves, spec = tree_flatten(arg)
        sources = [name] if spec.is_leaf() else [f"{name}[{i}]" for i in range(len(leaves))]
        fakes = [_fake(leaf, source, fake_mode, symbolic) for leaf, source in zip(leaves, sources, strict=True)]
        prepared.append(tree_unflatten(fakes, spec))
    return tuple(prepared)


def _mode_of(args: tuple) -> FakeTensorMode | None:
    """Return the fake mode that is active, or that an argument belongs to."""
    for leaf in tree_flatten(args)[0]:
        if isinstance(leaf, TensorBase) and isinstance(leaf.handle, FakeArray):
            return leaf.handle.mode
    return infra_mode(InfraSlot.FAKE)


def _new_mode(symbolic: bool, allow_non_fake_inputs: bool) -> FakeTensorMode:
    try:
        from minitorch.fake.shape_env import ShapeEnv
    except ModuleNotFoundError:
        if symbolic:
            raise
        return FakeTensorMode(allow_non_fake_inputs=allow_non_fake_inputs)  # values that data decides are then errors
    return FakeTensorMode(allow_non_fake_inputs=allow_non_fake_inputs, shape_env=ShapeEnv(), static_shapes=not symbolic)


def _fake(leaf: Any, source: str, mode: FakeTensorMode, symbolic: bool) -> Any:
    if isinstance(leaf, TensorBase):
        return (
            leaf
            if isinstance(leaf.handle, FakeArray)
            else mode.from_tensor(leaf, static_shapes=not symbolic, source=source)
        )
    if symbolic and type(leaf) is int and mode.shape_env is not None and not is_symbolic(leaf):
        # Not a size: that it equals one now means nothing.
        shared, mode.shape_env.duck_shape = mode.shape_env.duck_shape, False
        try:
            return mode.shape_env.create_symbol(leaf, source)
        finally:
            mode.shape_env.duck_shape = shared
    return leaf
