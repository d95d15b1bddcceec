"""Random operators under vmap (spec V7).

Note [Random operators under vmap]
    FuncTorchVmapMode, which is on for each call that a vmap interprets, has a kernel for the random operators
    alone.  With randomness "error" they are refused, whatever they are given.  With "same" every example gets the
    same draws: a call without batched tensors is made once, and its result is the same tensor for all.  With
    "different" each has its own: the draws are made for the whole batch at once.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.generator import DEFAULT_GENERATORS
from minitorch.dispatch.batching import any_mapped, unwrapped
from minitorch.dispatch.keys import full_after_bits, parse_key
from minitorch.dispatch.operator import OPERATORS, Entry, Kernel
from minitorch.functorch.layout import batched, lined_up, padded, sizes, to_front
from minitorch.functorch.rules import refuse_inplace, vmap_level
from minitorch.ops import functions as F
from minitorch.ops.registry import RANDOM
from minitorch.tensor.base import TensorBase

_AFTER = full_after_bits(parse_key("FuncTorchVmapMode"))

MODES = ("error", "different", "same")


def check(randomness: str) -> None:
    """Raise RuntimeError unless it is the name of a mode."""
    if randomness not in MODES:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


class GeneratorStates:
    """The states of the generators of all devices in use, to be restored any number of times."""

    def __init__(self) -> None:
        generators = [default() for default in DEFAULT_GENERATORS.values()]
        self._states = [(generator, generator.state_array()) for generator in generators]

    def restore(self) -> None:
        """Make the generators draw again what they drew after this was made."""
        for generator, state in self._states:
            generator.set_state_array(state)


def lent(level: Any, op: Any, values: tuple | list, kwargs: dict | None) -> Any:
    """Return the results of a call outside of this vmap, as tensors of which the first dimension is mapped."""
    with level.lower():
        result = op.call(tuple(values), kwargs)
    if isinstance(result, TensorBase):
        return level.wrap(result, 0)
    return tuple([level.wrap(part, 0) for part in result])


class RandomKernel(Kernel):
    """Makes the draws of a random operator where the vmap around it has a say in them; what its subclasses differ in."""

    __slots__ = ("places",)

    def __init__(self, op: Any):
        Kernel.__init__(self, None)
        self.places = [i for i, a in enumerate(op.schema.arguments) if a.type.base == "Tensor" and not a.kwarg_only]

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        level = vmap_level(op)
        if level.randomness == "error":
            raise RuntimeError(
                f"vmap: called random operation while in randomness error mode ({op.qualname}). Please either use the "
                "'same' or 'different' randomness flags on vmap or perform the randomness operation out of vmap"
            )
        values, dims = unwrapped(level, args)
        if level.randomness == "same" and not any_mapped(dims):
            return op.run_below(op.entry_below(entry, _AFTER), args, kwargs)
        draw = self.same if level.randomness == "same" else self.different
        return draw(op, level, args, values, dims, kwargs)

    def different(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        """Draw for each example."""
        raise NotImplementedError(f"{type(self).__name__} has no draws for each example")

    def same(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        """Draw once, where a tensor is batched."""
        raise RuntimeError(
            f"vmap: {op.basename}() draws from a distribution that is another one for each example, so there is no same "
            "randomness with a batched tensor input. Use randomness='different', or draw outside of vmap."
        )


class FactoryKernel(RandomKernel):
    """Draws a tensor of a given size."""

    __slots__ = ("size_at",)

    def __init__(self, op: Any):
        RandomKernel.__init__(self, op)
        self.size_at = [a.name for a in op.schema.arguments].index("size")

    def different(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        values[self.size_at] = [level.batch_size, *values[self.size_at]]
        return lent(level, op, values, kwargs)


class PermutationKernel(RandomKernel):
    """Draws a permutation."""

    __slots__ = ()

    def different(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        with level.lower():
            # No operator draws several of them.
            rows = [op.call(tuple(values), kwargs) for _ in range(level.batch_size)]
            result = F.stack(rows) if rows else F.new_empty(op.call(tuple(values), kwargs), [0, values[0]])
        return level.wrap(result, 0)


class LikeKernel(RandomKernel):
    """Draws a tensor of the shape and dtype of another one, the first argument."""

    __slots__ = ()

    def different(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        if any_mapped(dims[1:]):
            raise RuntimeError(
                f"vmap: {op.basename}() needs its bound as a Python number, and a batched tensor has one for each example. Draw "
                "with rand_like, and scale."
            )
        rest = dict(kwargs or {})
        memory_format = rest.pop("memory_format", None)  # that of an example, which has a dimension less
        with level.lower():
            values[0] = batched(values[0], dims[0], level.batch_size)
        result = lent(level, op, values, rest or None)
        return result if memory_format is None else F.clone(result, memory_format=memory_format)

    def same(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        with level.lower():
            example = F.new_empty(values[0], sizes(values[0], dims[0]))
            return op.call((example, *values[1:]), kwargs)


class ElementwiseKernel(RandomKernel):
    """Draws each element from the distribution that the elements of tensors say."""

    __slots__ = ()

    def different(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        with level.lower():
            if not any_mapped(dims):
                first = self.places[0]
                values[first], dims[first] = batched(values[first], None, level.batch_size), 0
            values, _ = lined_up(values, dims)
        return lent(level, op, values, kwargs)


class MultinomialKernel(RandomKernel):
    """Draws indices, from the weights of each row."""

    __slots__ = ()

    def different(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        with level.lower():
            weights = batched(values[0], dims[0], level.batch_size)
            rows = F.flatten(weights, 0, -2) if weights.ndim == 3 else weights
            result = op.call((rows, *values[1:]), kwargs)
            return level.wrap(F.reshape(result, [*weights.shape[:-1], result.shape[-1]]), 0)


class DropoutKernel(ElementwiseKernel):
    """Draws which elements stay."""

    __slots__ = ()

    def same(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        with level.lower():
            x = values[0]
            scale, mask = op.call((F.new_ones(x, sizes(x, dims[0])), *values[1:]), kwargs)
            result = to_front(x, dims[0]) * scale
        return level.wrap(result, 0), mask


class InplaceKernel(RandomKernel):
    """Fills its first argument."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        level = vmap_level(op)
        if level.randomness != "error":
            _, dims = unwrapped(level, args)
            if dims[0] is None and any_mapped(dims):
                refuse_inplace(op)
        return RandomKernel.run(self, op, entry, args, kwargs)

    def different(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        if dims[0] is None:
            raise RuntimeError(
                f"vmap: {op.basename}() cannot draw other numbers for each example in place, because the tensor is not batched: "
                "all examples would get the same ones. Draw into a tensor made with new_empty of a batched one."
            )
        with level.lower():
            target = to_front(values[0], dims[0])
            others = [
                padded(v, d, target.ndim - 1) if isinstance(v, TensorBase) else v
                for v, d in zip(values[1:], dims[1:], strict=True)
            ]
            op.call((target, *others), kwargs)
        return args[0]

    def same(self, op: Any, level: Any, args: tuple, values: list, dims: list, kwargs: dict | None) -> Any:
        if any_mapped(dims[1:]):
            return RandomKernel.same(self, op, level, args, values, dims, kwargs)
        with level.lower():
            drawn = op.call((F.new_empty(values[0], sizes(values[0], dims[0])), *values[1:]), kwargs)
            F.copy_(to_front(values[0], dims[0]), drawn)
        return args[0]


class CompositeKernel(RandomKernel):
    """Runs a composite as what it consists of, also if nothing is batched: the draws are made inside of this vmap.

    The input of one that draws for each element of it is made batched, so that there is a draw for each example.
    """

    __slots__ = ("body", "chance_at", "expands")

    def __init__(self, op: Any, chance_at: int | None, expands: bool):
        RandomKernel.__init__(self, op)
        self.body = op.active("CompositeImplicitAutograd")
        self.chance_at = chance_at
        self.expands = expands

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        at = self.chance_at
        if at is not None:
            argument = op.schema.arguments[at]
            if not (args[at] if at < len(args) else (kwargs or {}).get(argument.name, argument.default)):
                return op.run_below(op.entry_below(entry, _AFTER), args, kwargs)
        level = vmap_level(op)
        if self.expands and level.randomness == "different":
            values, dims = unwrapped(level, args)
            if dims[0] is None:
                with level.lower():
                    whole = batched(values[0], None, level.batch_size)
                args = (level.wrap(whole, 0), *args[1:])
        return self.body.run(op, entry, args, kwargs)


class OutKernel(RandomKernel):
    """Refuses ``out=``: whether it has place for the draws of all examples is not its own to say."""

    __slots__ = ()

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        raise RuntimeError(
            f"vmap: out= of a random operation ({op.qualname}) is not supported inside of vmap. Use the function without out="
        )


# Of the values of its tensor these ask for nothing.
_LIKE = {
    "rand_like", "randn_like", "randint_like", "uniform", "normal_functional", "random", "exponential", "cauchy", "geometric",
    "log_normal",
}  # fmt: skip
# How composites that are not marked as random call the chance that they drop something.
_CHANCES = ("dropout", "dropout_p")


def chance_of(op: Any) -> int | None:
    """Return which argument of an operator is the chance that something is dropped."""
    return next((i for i, a in enumerate(op.schema.arguments) if a.name in _CHANCES), None)


def kernel_for(op: Any) -> RandomKernel | None:
    """Return the kernel of an operator; None for one that draws nothing."""
    is_random, is_composite = RANDOM[0] in op.tags, "CompositeImplicitAutograd" in op.kernels
    chance_at = None if is_random else chance_of(op)
    if not is_random and not (is_composite and (chance_at is not None or op.basename in ("rrelu", "rrelu_"))):
        return None
    if op.declaration.kind == "out":
        return OutKernel(op)
    writes = op.schema.arguments[0].is_write
    if is_composite:
        return CompositeKernel(op, chance_at, expands=chance_at is None and not writes)
    if writes:
        return InplaceKernel(op)
    if op.basename in _LIKE or op.unqualified == "bernoulli.p":
        return LikeKernel(op)
    kernel = RandomKernel(op)
    if kernel.places:
        own = {"multinomial": MultinomialKernel, "native_dropout": DropoutKernel}
        return own.get(op.basename, ElementwiseKernel)(op)
    return PermutationKernel(op) if op.basename == "randperm" else FactoryKernel(op)


def register() -> None:
    """Register the kernel of every operator that draws."""
    for op in OPERATORS.values():
        if op.namespace == "aten" and op.declaration is not None:
            kernel = kernel_for(op)
            if kernel is not None:
                op.register("FuncTorchVmapMode", kernel)
