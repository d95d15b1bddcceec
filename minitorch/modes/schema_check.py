"""`SchemaCheckMode`: does each operator write and alias what its schema says, and nothing else?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from minitorch.core.meta_array import MetaArray
from minitorch.dispatch.mode_stack import disable_all_modes
from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.schema import AliasInfo
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.tensor.base import TensorBase
from minitorch.tensor.operators import F
from minitorch.tensor.wrapper import host_array


class Mutation(NamedTuple):
    """A write that a schema announces."""

    op_name: str
    arg_name: str


class Aliasing(NamedTuple):
    """An argument whose memory a result shows, as a schema announces."""

    op_name: str
    arg_name: str
    output_number: str


class SchemaCheckMode(TorchDispatchMode):
    """Scope in which operators are held to their schemas: what they write, and whose memory their results show.

    Attributes
    ----------
    ops : list of str
        What was called.
    mutated : list of Mutation
    aliasing : list of Aliasing

    Raises
    ------
    RuntimeError
        By the first call that writes an argument, or returns memory, of which the schema says nothing.

    Notes
    -----
    Elements are compared before and after each call, so it is slow.  Tensors without elements (meta) are looked
    at for their geometry and memory alone.

    Examples
    --------
    >>> x = minitorch.zeros(2)
    >>> with SchemaCheckMode() as mode:
    ...     y = x.add_(1).view(2, 1)
    >>> mode.mutated
    [Mutation(op_name='aten::add_.Tensor', arg_name='self')]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reset_cache()

    def reset_cache(self) -> None:
        """Forget what was seen."""
        self.ops: list[str] = []
        self.mutated: list[Mutation] = []
        self.aliasing: list[Aliasing] = []

    def display_ops(self) -> None:
        """Print what was called."""
        print(*self.ops, sep=",")

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        schema = func._schema
        given = [*zip(schema.arguments, args, strict=False)]
        given += [(a, keywords[a.name]) for a in schema.arguments if a.name in keywords]
        with disable_all_modes():
            before = [[_state(tensor) for tensor in _tensors(value)] for _, value in given]
        result = func(*args, **keywords)
        name = func.qualname
        self.ops.append(name)
        results = result if len(schema.returns) > 1 else (result,)
        with disable_all_modes():
            for (argument, value), old in zip(given, before, strict=True):
                changed = [_state(tensor) for tensor in _tensors(value)] != old
                if changed and (argument.is_write or _writes_in_training(func, argument.name, args, keywords)):
                    self.mutated.append(Mutation(name, argument.name))
                elif changed:
                    raise RuntimeError(
                        f"{func}: Argument {argument.name} is not defined as mutable but was mutated. Schema: {schema}"
                    )
        self._check_aliases(func, given, results)
        return result

    def _check_aliases(self, func: OpOverload, given: list[Any], results: Any) -> None:
        schema = func._schema
        outputs = [{_memory(tensor) for tensor in _tensors(result)} - {None} for result in results]
        for argument, value in given:
            memory = {_memory(tensor) for tensor in _tensors(value)}
            for number, (item, output) in enumerate(zip(schema.returns, outputs, strict=False)):
                if not memory & output:
                    continue
                if not _may_alias(argument.alias_info, item.alias_info):
                    raise RuntimeError(
                        f"{func}: Argument {argument.name} is not defined to alias output but was aliasing. Schema: {schema}"
                    )
                self.aliasing.append(Aliasing(func.qualname, argument.name, f"output_{number}"))
        for number, output in enumerate(outputs):
            for other in range(number + 1, len(outputs)):
                shared = output & outputs[other]
                if shared and not _may_alias(schema.returns[number].alias_info, schema.returns[other].alias_info):
                    raise RuntimeError(f"{func}: Outputs {number} and {other} alias unexpectedly. Schema: {schema}")


# Running statistics, which are written in training without PyTorch's schemas saying so.
_RUNNING = {"native_batch_norm": "training", "batch_norm": "training", "instance_norm": "use_input_stats"}


def _writes_in_training(func: OpOverload, name: str, args: tuple, kwargs: dict[str, Any]) -> bool:
    switch = _RUNNING.get(func.basename)
    if switch is None or name not in ("running_mean", "running_var"):
        return False
    places = [argument.name for argument in func._schema.arguments]
    index = places.index(switch)
    return bool(kwargs[switch] if switch in kwargs else args[index])


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, TensorBase):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _state(tensor: Any) -> tuple:
    """Return what an operator might change of a tensor: its geometry, and its elements as bytes."""
    geometry = (tuple(tensor.shape), tensor.stride(), tensor.dtype)
    if isinstance(tensor.handle, MetaArray):
        return geometry
    array = host_array(F.clone(tensor))
    return (*geometry, array.tobytes())


def _memory(tensor: Any) -> int | None:
    """Return a number that tensors of the same memory have in common; None where there are no elements to share."""
    if not tensor.numel():
        return None
    cell = tensor.storage_cell
    return id(tensor.handle if cell is None else cell)


def _may_alias(one: AliasInfo | None, other: AliasInfo | None) -> bool:
    if one is None or other is None:
        return False
    first, second = _sets(one), _sets(other)
    return bool(first & second) or "*" in first | second


def _sets(info: AliasInfo) -> frozenset[str]:
    found = info.before_set | info.after_set
    return found if info.element is None else found | _sets(info.element)
