"""Batch rules that users write in Python, as kernels of the FuncTorchBatched key (`dispatch.batching`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from minitorch.dispatch.batching import BATCHED_KEY, any_mapped, rewrapped, unwrapped
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.transforms import TransformType, VmapInfo, VmapLevel, current_interpreter

__all__ = ["BATCHED_KEY", "VmapRule", "check_batchable"]


def check_batchable(op: OpOverload) -> None:
    """Raise NotImplementedError if a tensor of `op` is keyword-only: rules get those unwrapped nowhere."""
    if any(a.kwarg_only and a.type.base == "Tensor" for a in op._schema.arguments):
        raise NotImplementedError(
            "register_vmap with kwarg-only Tensor args. In the original definition of the op, please make your "
            f"tensors not kwarg-only. Got: {op._schema}"
        )


class VmapRule:
    """The FuncTorchBatched kernel of an operator: its rule, between unwrapping and wrapping."""

    def __init__(self, op: OpOverload, fn: Callable[..., Any]):
        self.op = op
        self.fn = fn

    def __call__(self, key_set: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        interpreter = current_interpreter()
        if interpreter.transform is not TransformType.Vmap:
            raise RuntimeError(
                f"{self.op}: the call reached the batched level, but the innermost transform is "
                f"{interpreter.transform.name} and not Vmap"
            )
        level = cast(VmapLevel, interpreter)
        values, dims = unwrapped(level, args)
        if not any_mapped(dims):
            with level.lower():
                return self.op(*args, **kwargs)
        with level.lower():
            result = self.fn(VmapInfo(level.batch_size, level.randomness), tuple(dims), *values, **kwargs)
        return rewrapped(level, self.op, result)
