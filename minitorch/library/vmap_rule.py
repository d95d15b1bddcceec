"""Batch rules written in Python, as kernels of the FuncTorchBatched key.

Note [What a batch rule gets]
    ``rule(info, in_dims, *args, **kwargs) -> (output, out_dims)``.  The arguments are those of the
    call with the tensors of the innermost ``vmap`` unwrapped; ``in_dims`` has one entry for each
    positional argument: which dimension is mapped, None where nothing is, and for a list with a
    batched tensor a list of such entries.  The rule runs with that ``vmap`` out of the way and says in
    ``out_dims``, of the structure of the output or one for all of it, which dimension of each output
    is mapped; None for one that is the same for all examples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.operator import KeyedObject
from minitorch.dispatch.transforms import TransformType, VmapInfo, VmapLevel, current_interpreter

BATCHED_KEY = "FuncTorchBatched"


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
        values, dims = _unwrapped(level, args)
        if not _any_mapped(dims):
            with level.lower():
                return self.op(*args, **kwargs)
        with level.lower():
            result = self.fn(VmapInfo(level.batch_size, level.randomness), tuple(dims), *values, **kwargs)
        if not isinstance(result, tuple) or len(result) != 2:
            found = f"{len(result)} values" if isinstance(result, tuple) else f"a {type(result).__name__}"
            raise RuntimeError(
                f"{self.op}: a vmap rule must return two values, the output and out_dims, and returned {found}"
            )
        return self._wrapped(level, *result)

    def _wrapped(self, level: VmapLevel, output: Any, dims: Any) -> Any:
        if isinstance(output, (list, tuple)):
            if dims is None or isinstance(dims, int):
                dims = [dims] * len(output)
            if not isinstance(dims, (list, tuple)) or len(dims) != len(output):
                raise RuntimeError(
                    f"{self.op}: out_dims of the vmap rule must have the structure of the output: there are "
                    f"{len(output)} outputs, and out_dims is {dims!r}"
                )
            return type(output)(self._wrapped(level, item, dim) for item, dim in zip(output, dims, strict=True))
        if not isinstance(output, KeyedObject) or dims is None:
            return output
        if not isinstance(dims, int):
            raise RuntimeError(
                f"{self.op}: out_dims of the vmap rule must be an int or None for each tensor, not {dims!r}"
            )
        return level.wrap(output, dims)


def _unwrapped(level: VmapLevel, values: Any) -> tuple[list[Any], list[Any]]:
    """Return the values without this level's wrappers, and for each which dimension is mapped."""
    inner: list[Any] = []
    dims: list[Any] = []
    for value in values:
        dim: Any = None
        if isinstance(value, KeyedObject):
            value, dim = level.unwrap(value)
        elif isinstance(value, (list, tuple)):
            items, item_dims = _unwrapped(level, value)
            if _any_mapped(item_dims):
                value, dim = items, item_dims
        inner.append(value)
        dims.append(dim)
    return inner, dims


def _any_mapped(dims: list[Any]) -> bool:
    return any(_any_mapped(dim) if isinstance(dim, list) else dim is not None for dim in dims)
