"""The arguments that a trace runs on: as they are, as fake tensors, or as fake tensors of symbolic sizes."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from minitorch.core.pytree import tree_leaves, tree_map_only
from minitorch.dispatch.mode_stack import InfraSlot, infra_mode
from minitorch.tensor.base import TensorBase


def prepare(args: tuple, mode: Any, scopes: ExitStack, allow_non_fake_inputs: bool) -> tuple:
    """Return the arguments for a trace by `mode`, and enter the scopes that it needs."""
    if mode.tracing_mode == "real":
        return args
    return _fake(args, mode, scopes, allow_non_fake_inputs)


def _fake(args: tuple, mode: Any, scopes: ExitStack, allow_non_fake_inputs: bool) -> tuple:
    from minitorch.fake.mode import FakeTensorMode

    symbolic = mode.tracing_mode == "symbolic"
    fake_mode = infra_mode(InfraSlot.FAKE)
    for leaf in tree_leaves(args):
        fake_mode = fake_mode or getattr(leaf, "fake_mode", None)
    if fake_mode is None:
        options: dict[str, Any] = {"allow_non_fake_inputs": allow_non_fake_inputs}
        if symbolic:
            from minitorch.fake.shape_env import ShapeEnv

            options["shape_env"] = ShapeEnv()
        fake_mode = FakeTensorMode(**options)
    if symbolic:
        from minitorch.fx.experimental.symbolic_nodes import Symbols

        mode.tracer.symbols = Symbols(mode.tracer)
    scopes.enter_context(fake_mode)

    def as_fake(tensor: Any) -> Any:
        return fake_mode.from_tensor(tensor, static_shapes=not symbolic)

    return tree_map_only(TensorBase, as_fake, args)
