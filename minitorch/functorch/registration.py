"""Registers what the FuncTorchBatched key runs for each declared operator."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.dispatcher import register_fallback
from minitorch.dispatch.operator import OPERATORS, Operator
from minitorch.functorch import interpreters, randomness
from minitorch.functorch.loop import LoopKernel
from minitorch.functorch.rules import INPLACE_RULES, RULES, DecompositionKernel, InplaceRuleKernel, RuleKernel
from minitorch.ops.families import load_families

BATCHED = "FuncTorchBatched"
DECOMPOSED = "FuncTorchBatchedDecomposition"
RANDOM_MODE = "FuncTorchVmapMode"


def register() -> None:
    """Load the batch rules, and register a kernel for every operator that has a rule or is a composite."""
    interpreters.register()
    load_families("minitorch.functorch.batch_rules")
    for op in list(OPERATORS.values()):
        if op.namespace == "aten" and op.declaration is not None:
            _register_operator(op)
    register_fallback(BATCHED, LoopKernel())
    randomness.register()


def _register_operator(op: Operator) -> None:
    name = op.unqualified
    if BATCHED in op.kernels:
        return  # a user's own
    if name in RULES:
        op.register(BATCHED, RuleKernel(op, RULES[name]))
    elif name in INPLACE_RULES:
        op.register(BATCHED, InplaceRuleKernel(op, INPLACE_RULES[name]))
    elif op.declaration.kind != "out":  # type: ignore[attr-defined]
        body = _composite_of(op)
        if body is not None:
            op.register(DECOMPOSED, DecompositionKernel(body))


def _composite_of(op: Operator) -> Any:
    return op.active("CompositeImplicitAutograd") or op.active("CompositeExplicitAutograd")


def has_batch_rule(op: Operator) -> bool:
    """Return whether vmap calls an operator once for all examples, as it is or as the operators it consists of."""
    return any(key in op.kernels for key in (BATCHED, DECOMPOSED, RANDOM_MODE))
