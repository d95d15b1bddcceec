"""The table of batch rules, and the kernels that run them.

Note [Rules by structure]
    Most operators follow one of a few structures: element by element, along dimensions, over the
    last dimensions of a batch ...  `structure` gives the operators of one structure their rules by
    a function of the operator; `batch_rule` is for those that need a rule of their own
    (`dispatch.batching`, Note [What a batch rule gets]).  An operator without a rule that is a composite runs
    as the operators it consists of; of any other a loop is made (`functorch.loop`).  In-place operators
    follow from their functional form, unless `inplace_batch_rule` says otherwise.

Note [Tensors by keyword]
    Of a tensor argument that is keyword-only, ``sorter=``, a rule gets the mapped dimension as the keyword argument
    ``sorter_dim``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.dispatch.batching import any_mapped, rewrapped, unwrapped
from minitorch.dispatch.operator import Entry, Kernel, Operator
from minitorch.dispatch.transforms import TransformType, VmapInfo, current_interpreter, interpreter_stack
from minitorch.functorch.wrappers import map_tensors
from minitorch.ops.assemble import operator_named
from minitorch.ops.registry import DYNAMIC_SHAPE
from minitorch.ops.shapes.common import MetaArray
from minitorch.ops.shapes.registry import SHAPES
from minitorch.tensor.base import TensorBase

Rule = Callable[..., tuple[Any, Any]]

# By the operator's name without namespace, "add.Tensor".
RULES: dict[str, Rule] = {}
INPLACE_RULES: dict[str, Callable[..., None]] = {}


def batch_rule(*names: str) -> Callable[[Rule], Rule]:
    """Register the batch rule of some operators, given by their names without namespace."""

    def register(fn: Rule) -> Rule:
        for name in names:
            _add(RULES, name, fn)
        return fn

    return register


def inplace_batch_rule(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register how in-place operators change the tensor inside: ``rule(info, in_dims, self, *args, **kwargs)``.

    It is called only if the first argument is batched; what it returns does not matter.
    """

    def register(fn: Callable[..., None]) -> Callable[..., None]:
        for name in names:
            _add(INPLACE_RULES, name, fn)
        return fn

    return register


def structure(make: Callable[..., Rule], *names: str, **options: Any) -> None:
    """Register ``make(op, **options)`` as the batch rule of each of some operators."""
    for name in names:
        _add(RULES, name, make(operator_named(name), **options))


def _add(table: dict[str, Any], name: str, fn: Any) -> None:
    operator_named(name)  # a name that is no operator's is an error here
    if name in RULES or name in INPLACE_RULES:
        raise ValueError(f"{name} has a batch rule already")
    table[name] = fn


class RuleKernel(Kernel):
    """The FuncTorchBatched kernel of an operator that has a batch rule."""

    __slots__ = ("keyword_tensors",)

    def __init__(self, op: Operator, fn: Rule):
        Kernel.__init__(self, fn)
        self.keyword_tensors: Any = None

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        level = vmap_level(op)
        values, dims = unwrapped(level, args)
        mapped = any_mapped(dims)
        if kwargs:
            kwargs, keyword_mapped = self.unwrapped_keywords(op, level, kwargs)
            mapped = mapped or keyword_mapped
        if not mapped:
            with level.lower():
                return op.call(args, kwargs)
        info = VmapInfo(level.batch_size, level.randomness)
        return self.run_mapped(op, level, info, dims, args, values, kwargs or {})

    def run_mapped(self, op: Any, level: Any, info: VmapInfo, dims: list, args: tuple, values: list, kwargs: dict) -> Any:
        """Run the rule on unwrapped values of which one is batched."""
        try:
            with level.lower():
                result = self.fn(info, tuple(dims), *values, **kwargs)
        except (RuntimeError, IndexError, ValueError):
            refuse_as_example(op, args, kwargs)
            raise
        return rewrapped(level, op, result)

    def unwrapped_keywords(self, op: Any, level: Any, kwargs: dict) -> tuple[dict, bool]:
        """Return the keyword arguments as the rule gets them, and whether one is batched (Note [Tensors by keyword])."""
        if self.keyword_tensors is None:
            self.keyword_tensors = [a.name for a in op.schema.arguments if a.kwarg_only and a.type.base == "Tensor"]
        mapped = False
        if self.keyword_tensors:
            kwargs = dict(kwargs)
            for name in self.keyword_tensors:
                value = kwargs.get(name)
                if isinstance(value, TensorBase):
                    kwargs[name], dim = level.unwrap(value)
                    if dim is not None:
                        kwargs[name + "_dim"] = dim
                        mapped = True
        return kwargs, mapped


class InplaceRuleKernel(RuleKernel):
    """The FuncTorchBatched kernel of an in-place operator: changes the value, and returns the wrapper."""

    __slots__ = ()

    def run_mapped(self, op: Any, level: Any, info: VmapInfo, dims: list, args: tuple, values: list, kwargs: dict) -> Any:
        if dims[0] is None:
            refuse_inplace(op)
        try:
            with level.lower():
                self.fn(info, tuple(dims), *values, **kwargs)
        except (RuntimeError, IndexError, ValueError):
            refuse_as_example(op, args, kwargs)
            raise
        args[0].shape_cache = None
        return args[0]


class DecompositionKernel(Kernel):
    """The FuncTorchBatched kernel of a composite: runs its body on batched tensors (spec V4)."""

    __slots__ = ("body",)

    def __init__(self, body: Kernel):
        Kernel.__init__(self, body.fn)
        self.body = body

    def run(self, op: Any, entry: Entry, args: tuple, kwargs: dict | None) -> Any:
        return self.body.run(op, entry, args, kwargs)


def vmap_level(op: Any) -> Any:
    """Return the innermost interpreter, which must be one of vmap where a batched tensor is met."""
    if not interpreter_stack():
        raise RuntimeError(
            f"{op.qualname}: a tensor that stands for one example of a vmap is used outside of the function that was mapped: it "
            "has escaped from it, or is in another thread. Return it from that function, and use the result."
        )
    interpreter = current_interpreter()
    if interpreter.transform is not TransformType.Vmap:
        raise RuntimeError(
            f"{op.qualname}: the call reached the batched level, but the innermost transform is "
            f"{interpreter.transform.name} and not Vmap"
        )
    return interpreter


def refuse_as_example(op: Any, args: tuple, kwargs: dict) -> None:
    """Raise what a call with one example raises, if its arguments are wrong: the dimensions in that text are its own."""
    shape = SHAPES.get(op.unqualified)
    if shape is None or DYNAMIC_SHAPE[0] in op.tags:
        return
    try:
        args, given = map_tensors(lambda t: MetaArray(tuple(t.shape), t.dtype.np), args, kwargs)
        shape(*args, **given or {})
    except NotImplementedError:  # a RuntimeError: there is no shape without values
        return
    except (RuntimeError, IndexError, ValueError) as error:
        raise error from None
    except Exception:  # a shape function that asks for more than shapes and dtypes: the rule's own error is raised
        return


def refused(op: Any, *, why: str, call: str = "") -> Rule:
    """Return the rule of an operator that vmap cannot have: one whose result is no tensor, or has a shape that varies."""

    def rule(info: Any, in_dims: tuple, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        raise RuntimeError(
            f"vmap: {call or op.basename + '()'} of a batched tensor ({op.qualname}) is not possible: {why}. Write it with "
            "operators whose results are tensors of a shape that does not depend on values, such as where, or call it outside "
            "of vmap."
        )

    return rule


def refuse_inplace(op: Any) -> None:
    """Raise for an in-place operator whose target is the same for all examples, and whose operands are not."""
    raise RuntimeError(
        f"vmap: {op.basename}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that "
        "has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over "
        f"in a vmap. Please try to use out-of-place operators instead of {op.basename}. If said operator is being called "
        "inside the PyTorch framework, please make `self` batched: create it with new_zeros or the like from a tensor that is."
    )
