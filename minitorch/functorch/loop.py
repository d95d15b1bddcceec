"""What vmap does with an operator that has no batch rule: one call for each example (spec V5)."""

from __future__ import annotations

import warnings
from typing import Any

from minitorch.dispatch.batching import any_mapped, unwrapped
from minitorch.dispatch.keys import FUNCTORCH_BATCHED
from minitorch.dispatch.local_state import ExcludeKeysGuard
from minitorch.dispatch.operator import OPERATORS, Entry, Kernel
from minitorch.functorch.layout import to_front
from minitorch.functorch.rules import vmap_level
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase

_POLICIES = ("warn", "allow", "error")
_policy = "warn"


def set_vmap_fallback_policy(policy: str) -> str:
    """Say what happens where vmap has to loop, and return what was said before.

    Parameters
    ----------
    policy : {"warn", "allow", "error"}
        A warning at each call (the default), nothing, or a RuntimeError.
    """
    global _policy
    if policy not in _POLICIES:
        raise ValueError(f"vmap_fallback_policy: expected one of {', '.join(map(repr, _POLICIES))}, and got {policy!r}")
    before, _policy = _policy, policy
    return before


def get_vmap_fallback_policy() -> str:
    """Return the policy: "warn", "allow" or "error"."""
    return _policy


class _PolicyScope:
    """What `vmap_fallback_policy` returns: the policy is set already, and set back at the end of a ``with`` block."""

    def __init__(self, before: str):
        self._before = before

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc_info: Any) -> None:
        set_vmap_fallback_policy(self._before)


def vmap_fallback_policy(policy: str) -> _PolicyScope:
    """Say what happens where `vmap` has no batch rule for an operator and would call it once for each example.

    Used as a statement it holds from now on, in a ``with`` block until its end.

    Parameters
    ----------
    policy : {"warn", "allow", "error"}
        A UserWarning at each call (the default), nothing, or a RuntimeError.

    Examples
    --------
    >>> with vmap_fallback_policy("error"):
    ...     y = minitorch.vmap(minitorch.sin)(minitorch.ones(3))
    """
    return _PolicyScope(set_vmap_fallback_policy(policy))


class LoopKernel(Kernel):
    """The fallback of FuncTorchBatched."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        schema = op.schema
        level = vmap_level(op)
        reason = _unsupported(schema)
        if reason:
            raise RuntimeError(
                f"Batching rule not implemented for {op.qualname}. We could not generate a fallback: {reason}. Give it a rule "
                "with minitorch.library.register_vmap."
            )
        values, dims = unwrapped(level, args)
        names = list(kwargs or {})
        keyword_values, keyword_dims = unwrapped(level, [(kwargs or {})[name] for name in names])
        if not any_mapped(dims) and not any_mapped(keyword_dims):
            with ExcludeKeysGuard(FUNCTORCH_BATCHED):
                return op.call(args, kwargs)
        written = [a for a in schema.arguments if a.is_write]
        in_place = (
            len(written) == 1 and schema.arguments[0].is_write and len(schema.returns) == 1
            and schema.returns[0].alias_info is not None
        )  # fmt: skip
        if in_place and dims[0] is None:
            raise RuntimeError(
                f"vmap: {op.basename}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
                "that has more elements than `self`: `other` is vmapped over and `self` is not. Use the out-of-place operator."
            )
        if not in_place and any(a.alias_info is not None for a in schema.arguments):
            raise RuntimeError(
                f"Batching rule not implemented for {op.qualname}; the fallback path doesn't work on out= or view ops. Give it "
                "a rule with minitorch.library.register_vmap."
            )
        if not schema.returns:
            raise RuntimeError(
                f"Batching rule not implemented for {op.qualname}; the fallback path doesn't support operations with no returns."
            )
        _announce(op)
        if level.batch_size == 0:
            raise RuntimeError(
                f"The fallback path does not support vmap over dims of size 0 ({op.qualname}). Give it a rule with "
                "minitorch.library.register_vmap."
            )
        with level.lower():
            columns = [_examples(v, d, level.batch_size) for v, d in zip(values, dims, strict=True)]
            keyword_columns = [_examples(v, d, level.batch_size) for v, d in zip(keyword_values, keyword_dims, strict=True)]
            results = []
            for i in range(level.batch_size):
                keywords = {n: column[i] for n, column in zip(names, keyword_columns, strict=True)}
                results.append(op.call(tuple([column[i] for column in columns]), keywords or None))
            if in_place:
                return args[0]
            if isinstance(results[0], TensorBase):
                stacked: Any = F.stack(results)
            else:
                stacked = [F.stack(list(parts)) for parts in zip(*results, strict=True)]
        if isinstance(stacked, TensorBase):
            return level.wrap(stacked, 0)
        return tuple([level.wrap(part, 0) for part in stacked])


def _examples(value: Any, dim: Any, count: int) -> list[Any]:
    """Return what the calls get of one argument."""
    if dim is None:
        return [value] * count
    return list(F.unbind(to_front(value, dim)))


def _unsupported(schema: Any) -> str:
    """Return why no loop can be made of calls of this schema, "" if it can (spec V5, step 1)."""
    for returned in schema.returns:
        if returned.type.base != "Tensor" or returned.type.is_list:
            return f"it returns {returned.type}, not a Tensor"
    for argument in schema.arguments:
        if argument.type.base == "Tensor" and argument.type.is_list:
            return f"its argument {argument.name!r} is a list of tensors"
    return ""


def _announce(op: Any) -> None:
    if _policy == "error":
        raise RuntimeError(
            f"vmap has no batching rule for {op.qualname}, and falling back to a loop is forbidden by "
            'vmap_fallback_policy("error"). Give it a rule with minitorch.library.register_vmap.'
        )
    if _policy == "warn":
        warnings.warn(
            f"There is a performance drop because we have not yet implemented the batching rule for {op.qualname}: it is "
            "called once for each example. Give it a rule with minitorch.library.register_vmap, or say "
            'minitorch.func.vmap_fallback_policy("allow").',
            UserWarning,
            stacklevel=2,
        )


def vmap_fallbacks() -> list[str]:
    """Return the names of the operators of which vmap makes a loop, or which it refuses because it cannot.

    In-place and ``out=`` overloads are not counted apart.

    Examples
    --------
    >>> "aten::add.Tensor" in vmap_fallbacks()
    False
    """
    from minitorch.functorch.registration import has_batch_rule

    return sorted(
        name for name, op in OPERATORS.items()
        if op.namespace == "aten" and op.declaration is not None and op.declaration.kind == "functional"
        and any(argument.type.base == "Tensor" for argument in op.schema.arguments) and not has_batch_rule(op)
    )  # fmt: skip
