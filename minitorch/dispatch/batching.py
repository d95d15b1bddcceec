"""What every batch rule needs: the arguments of a call without the wrappers of one ``vmap``, and its results with them.

Note [What a batch rule gets]
    ``rule(info, in_dims, *args, **kwargs) -> (output, out_dims)``.  The arguments are those of the
    call with the tensors of the innermost ``vmap`` unwrapped; ``in_dims`` has one entry for each
    positional argument: which dimension is mapped, None where nothing is, and for a list with a
    batched tensor a list of such entries.  The rule runs with that ``vmap`` out of the way and says in
    ``out_dims``, of the structure of the output or one for all of it, which dimension of each output
    is mapped; None for one that is the same for all examples.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.operator import KeyedObject
from minitorch.dispatch.transforms import VmapLevel

BATCHED_KEY = "FuncTorchBatched"


def unwrapped(level: VmapLevel, values: Any) -> tuple[list[Any], list[Any]]:
    """Return the values without this level's wrappers, and for each which dimension is mapped."""
    inner: list[Any] = []
    dims: list[Any] = []
    for value in values:
        dim: Any = None
        if isinstance(value, KeyedObject):
            value, dim = level.unwrap(value)
        elif isinstance(value, (list, tuple)):
            items, item_dims = unwrapped(level, value)
            if any_mapped(item_dims):
                value, dim = items, item_dims
        inner.append(value)
        dims.append(dim)
    return inner, dims


def any_mapped(dims: list[Any]) -> bool:
    """Return whether one of the arguments, or of the tensors in a list among them, is batched."""
    return any(any_mapped(dim) if isinstance(dim, list) else dim is not None for dim in dims)


def rewrapped(level: VmapLevel, op: Any, result: Any) -> Any:
    """Return what a rule returned, ``(output, out_dims)``, as tensors of this level.

    Raises
    ------
    RuntimeError
        If it is no such pair; the message names the operator.
    """
    if not isinstance(result, tuple) or len(result) != 2:
        found = f"{len(result)} values" if isinstance(result, tuple) else f"a {type(result).__name__}"
        raise RuntimeError(f"{op}: a vmap rule must return two values, the output and out_dims, and returned {found}")
    return _wrapped(level, op, *result)


def _wrapped(level: VmapLevel, op: Any, output: Any, dims: Any) -> Any:
    if isinstance(output, (list, tuple)):
        if dims is None or isinstance(dims, int):
            dims = [dims] * len(output)
        if not isinstance(dims, (list, tuple)) or len(dims) != len(output):
            raise RuntimeError(
                f"{op}: out_dims of the vmap rule must have the structure of the output: there are "
                f"{len(output)} outputs, and out_dims is {dims!r}"
            )
        items = [_wrapped(level, op, item, dim) for item, dim in zip(output, dims, strict=True)]
        return type(output)(*items) if hasattr(output, "_fields") else type(output)(items)
    if not isinstance(output, KeyedObject) or dims is None:
        return output
    if not isinstance(dims, int):
        raise RuntimeError(f"{op}: out_dims of the vmap rule must be an int or None for each tensor, not {dims!r}")
    tensor: Any = output
    shape = tensor.shape
    if not 0 <= dims < len(shape) or shape[dims] != level.batch_size:
        raise RuntimeError(
            f"{op}: out_dims of the vmap rule must say which dimension counts the examples, of which there are "
            f"{level.batch_size}; it is {dims}, and the output has the shape {list(shape)}"
        )
    return level.wrap(output, dims)
