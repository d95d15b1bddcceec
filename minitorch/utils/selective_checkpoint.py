"""Selective activation checkpointing: which operators' results are kept, and which are computed again.

Note [How results are kept]
    A checkpointed function runs twice, each time in a dispatch mode, below autograd.  In the first run the mode keeps the results
    of the operators that the policy chooses, by operator and in the order of calls; in the second it hands them out
    instead of calling.  Autograd, above, sees the same calls twice.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.core.pytree import tree_map
from minitorch.dispatch.namespace import OpOverload
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.tensor.base import TensorBase


class CheckpointPolicy(enum.Enum):
    """What a policy answers for an operator call."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4


_SAVED = (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE, CheckpointPolicy.MUST_CPU_OFFLOAD)


class SelectiveCheckpointContext:
    """The first argument of a policy.

    Attributes
    ----------
    is_recompute : bool
        Whether it is asked in the second run.
    """

    def __init__(self, *, is_recompute: bool):
        self.is_recompute = is_recompute


# Results of these are never kept: they are the tensor itself, and cost nothing.
SAC_IGNORED_OPS = frozenset(("aten::detach", "aten::lift_fresh"))


class _Kept:
    """A kept result: a tensor without history, and the version it had."""

    def __init__(self, value: Any, offload: bool):
        self.device = value.device if isinstance(value, TensorBase) else None
        self.value = value
        if isinstance(value, TensorBase):
            self.value = value.detach()
            self.version = None if value.is_inference() else value._version
            if offload:
                self.value = self.value.to("cpu")
        self.offload = offload

    def get(self, func: Any, allow_mutation: bool) -> Any:
        value = self.value
        if not isinstance(value, TensorBase):
            return value
        if not self.offload and not allow_mutation and self.version is not None and value._version != self.version:
            raise RuntimeError(
                f"minitorch.utils.checkpoint: the result of {func} that was kept for the second run, of shape "
                f"{list(value.shape)}, was changed in place after the first. Clone it before, let the policy recompute it, or "
                "pass allow_cache_entry_mutation=True."
            )
        return value.to(self.device) if self.offload else value


def _answer(policy_fn: Callable, is_recompute: bool, func: Any, args: tuple, kwargs: dict) -> CheckpointPolicy:
    found = policy_fn(SelectiveCheckpointContext(is_recompute=is_recompute), func, *args, **kwargs)
    if isinstance(found, bool):
        return CheckpointPolicy.MUST_SAVE if found else CheckpointPolicy.PREFER_RECOMPUTE
    if not isinstance(found, CheckpointPolicy):
        raise TypeError(f"a checkpoint policy returns a CheckpointPolicy or a bool, but returned {found!r} for {func}")
    return found


class _KeepingMode(TorchDispatchMode):
    """The mode of the first run."""

    def __init__(self, policy_fn: Callable, kept: dict):
        super().__init__()
        self.policy_fn = policy_fn
        self.kept = kept

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.qualname in SAC_IGNORED_OPS:
            return func(*args, **kwargs)
        policy = _answer(self.policy_fn, False, func, args, kwargs)
        out = func(*args, **kwargs)
        if policy in _SAVED:
            offload = policy is CheckpointPolicy.MUST_CPU_OFFLOAD
            self.kept[func].append(tree_map(lambda value: _Kept(value, offload), out))
        return out


class _HandingOutMode(TorchDispatchMode):
    """The mode of the second run."""

    def __init__(self, policy_fn: Callable, kept: dict, allow_mutation: bool):
        super().__init__()
        self.policy_fn = policy_fn
        self.kept = kept
        self.allow_mutation = allow_mutation
        self.position: dict = defaultdict(int)

    def __enter__(self) -> Any:
        self.position.clear()
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func.qualname in SAC_IGNORED_OPS or _answer(self.policy_fn, True, func, args, kwargs) not in _SAVED:
            return func(*args, **kwargs)
        results, place = self.kept.get(func, ()), self.position[func]
        self.position[func] += 1
        if place >= len(results):
            raise RuntimeError(
                f"{func} is called in the second run of a checkpointed function for the {place + 1}. time, but was kept "
                f"{len(results)} times in the first: the function, or the policy, does not do the same in both."
            )
        return tree_map(lambda item: item.get(func, self.allow_mutation), results[place])


def _policy_of_list(operators: Sequence[Any]) -> Callable:
    for item in operators:
        if not isinstance(item, OpOverload):
            raise ValueError(
                "create_selective_checkpoint_contexts: a list holds operators such as minitorch.ops.aten.mm.default, not "
                f"{item!r}"
            )
    wanted = frozenset(operators)

    def policy(ctx: Any, func: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        return CheckpointPolicy.MUST_SAVE if func in wanted else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable | Sequence[Any], allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Return the two scopes that ``checkpoint(..., context_fn=)`` runs a function in, to keep some of its results.

    Parameters
    ----------
    policy_fn_or_list : callable or list of operators
        ``policy(ctx, operator, *args, **kwargs)`` returns a `CheckpointPolicy` (or a bool, whether to keep the result); or the
        operators whose results are kept.
    allow_cache_entry_mutation : bool
        Whether a kept result may be changed in place between the runs.

    Examples
    --------
    >>> from functools import partial
    >>> from minitorch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> keep = partial(create_selective_checkpoint_contexts, [minitorch.ops.aten.mm.default])
    >>> w = minitorch.eye(2, requires_grad=True)
    >>> checkpoint(lambda t: (t @ t).tanh(), w, use_reentrant=False, context_fn=keep).sum().backward()
    """
    policy_fn = policy_fn_or_list if callable(policy_fn_or_list) else _policy_of_list(policy_fn_or_list)
    kept: dict = defaultdict(list)
    return _KeepingMode(policy_fn, kept), _HandingOutMode(policy_fn, kept, allow_cache_entry_mutation)
