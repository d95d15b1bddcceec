"""The Autograd kernel of operators that have a formula written in Python.

Note [From a call to an autograd function]
    Autograd functions take tensors one by one, operators also lists of them.  So a call is
    taken apart: the tensors of list arguments become arguments of their own (`_Call`
    remembers the structure), and outputs likewise.  The formula sees neither: it gets
    inputs, outputs and gradients in the operator's own structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from minitorch.autograd.function import Function
from minitorch.autograd.node import requires_grad
from minitorch.dispatch.key_set import DispatchKeySet, after_autograd
from minitorch.dispatch.local_state import below_autograd, current
from minitorch.dispatch.namespace import OpOverload
from minitorch.dispatch.schema import Schema
from minitorch.dispatch.schema_matching import with_defaults
from minitorch.tensor.base import TensorBase


def check_differentiable(op: OpOverload, shown: Any, allow_views: bool) -> None:
    """Check that an operator may have an autograd formula.

    Parameters
    ----------
    shown : object
        What messages call the operator.
    allow_views : bool
        Whether a view of one tensor argument, as one tensor, may have one.

    Raises
    ------
    RuntimeError
        If its schema writes arguments or returns views.
    NotImplementedError
        If a tensor is keyword-only.
    """
    schema = op._schema
    if not _is_functional(schema) and not (allow_views and _is_plain_view(schema)):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown} with schema "
            f"{schema}. Please create a functional operator and register an autograd formula "
            "for that."
        )
    if any(a.kwarg_only and a.type.base == "Tensor" for a in schema.arguments):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, "
            f"please make your tensors not kwarg-only. Got: {schema}"
        )


def _is_functional(schema: Schema) -> bool:
    return not schema.is_mutable and all(
        item.alias_info is None for item in (*schema.arguments, *schema.returns)
    )


def _is_plain_view(schema: Schema) -> bool:
    tensors = [a for a in schema.arguments if a.type.base == "Tensor"]
    return (
        schema.is_view
        and len(tensors) == 1
        and tensors[0].type.text == "Tensor"
        and [item.type.text for item in schema.returns] == ["Tensor"]
    )


class _Call:
    """One call on its way through an autograd function."""

    def __init__(
        self, rule: AutogradRule, key_set: DispatchKeySet, args: tuple[Any, ...], kwargs: Any
    ):
        self.rule = rule
        self.key_set = key_set
        self.kwargs = kwargs
        # Per argument None, or the length of a list that was taken apart.
        self.input_lengths = [_length(argument) for argument in args]
        self.output_lengths: list[int | None] = []
        self.returns_one = True

    def run(self, args: list[Any]) -> Any:
        """Run the levels below, with autograd off."""
        with below_autograd():
            below = self.key_set & after_autograd
            return self.rule.op.redispatch_boxed(below.bits, tuple(args), self.kwargs)

    def flat_outputs(self, result: Any) -> Any:
        """Take the result apart: a tuple of values that are no lists, or one such value."""
        self.returns_one = not isinstance(result, tuple)
        results = (result,) if self.returns_one else result
        self.output_lengths = [_length(item) for item in results]
        flat = tuple(_flat(results))
        return flat[0] if len(flat) == 1 and not self._has_lists() else flat

    def outputs(self, flat: Any) -> Any:
        """Undo `flat_outputs`."""
        items = flat if isinstance(flat, tuple) else (flat,)
        results = _structured(items, self.output_lengths)
        return results[0] if self.returns_one else tuple(results)

    def _has_lists(self) -> bool:
        return any(length is not None for length in self.output_lengths)


def _length(value: Any) -> int | None:
    """Return the length of a list that holds a tensor, None for everything else."""
    if isinstance(value, (list, tuple)) and any(isinstance(v, TensorBase) for v in value):
        return len(value)
    return None


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        if _length(value) is None:
            yield value
        else:
            yield from value


def _structured(flat: Any, lengths: list[int | None]) -> list[Any]:
    items = iter(flat)
    return [
        next(items) if length is None else [next(items) for _ in range(length)]
        for length in lengths
    ]


class AutogradRule:
    """The Autograd kernel of an operator: a formula, or an error in its place.

    It records the call as an autograd function when grad mode is on and an argument
    requires a gradient; otherwise it only passes the call on.
    """

    def __init__(self, op: OpOverload):
        self.op = op
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self._function = _make_function(self)
        self._has_keyword_only = op._schema.kwarg_only_start < len(op._schema.arguments)

    def set_formula(
        self, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
    ) -> None:
        """Give the operator its formula, in place of the one it had."""
        self.backward = backward
        self.setup_context = setup_context

    def __call__(self, key_set: DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        call = _Call(self, key_set, args, kwargs)
        flat = list(_flat(args))
        if not current().grad_enabled or not any(
            isinstance(value, TensorBase) and requires_grad(value) for value in flat
        ):
            return call.run(list(args))
        return call.outputs(self._function.apply(call, *flat))

    def set_up(self, ctx: Any, call: _Call, args: list[Any], result: Any) -> None:
        """Run the user's `setup_context`, if there is one."""
        if self.setup_context is None:
            return
        inputs, keywords = with_defaults(self.op._schema, tuple(args), call.kwargs)
        arguments = {"ctx": ctx, "inputs": inputs, "output": result}
        if self._has_keyword_only:
            arguments["keyword_only_inputs"] = keywords
        with _OperatorNeeds(ctx, call):
            self.setup_context(**arguments)

    def gradients(self, ctx: Any, call: _Call, grads: tuple[Any, ...]) -> list[Any]:
        """Run the formula; return one gradient per flat argument."""
        if self.backward is None:
            raise RuntimeError(
                f"Trying to backward through {self.op} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        with _OperatorNeeds(ctx, call):
            result = self.backward(ctx, *_structured(grads, call.output_lengths))
        items = list(result) if isinstance(result, tuple) else [result]
        count = len(call.input_lengths)
        if len(items) < count or any(item is not None for item in items[count:]):
            raise RuntimeError(
                f"{self.op}: the autograd formula returned {len(items)} gradients for the "
                f"{count} arguments of the call; it must return one for each, None where there "
                "is none"
            )
        flat: list[Any] = []
        for index, (item, length) in enumerate(zip(items, call.input_lengths, strict=False)):
            if length is None:
                flat.append(item)
                continue
            if item is None:
                item = [None] * length
            if not isinstance(item, (list, tuple)) or len(item) != length:
                raise RuntimeError(
                    "Expected the return from backward to be of the same structure as the inputs. "
                    f"{self.op} got a list of {length} tensors as argument {index}, and its "
                    f"gradient is {type(item).__name__}"
                )
            flat.extend(item)
        return flat


class _OperatorNeeds:
    """Scope in which ``ctx.needs_input_grad`` has the structure of the operator's arguments."""

    def __init__(self, ctx: Any, call: _Call):
        self._ctx = ctx
        self._call = call
        self._flat: Any = None

    def __enter__(self) -> None:
        self._flat = self._ctx.needs_input_grad
        # The first argument of the autograd function is the call.
        needs = _structured(self._flat[1:], self._call.input_lengths)
        self._ctx.needs_input_grad = tuple(needs)

    def __exit__(self, *exc_info: Any) -> None:
        self._ctx.needs_input_grad = self._flat


def _make_function(rule: AutogradRule) -> type[Function]:
    """Return the autograd function of an operator; its name is what the graph shows."""

    def forward(ctx: Any, call: _Call, *flat: Any) -> Any:
        args = _structured(flat, call.input_lengths)
        result = call.run(args)
        outputs = call.flat_outputs(result)
        ctx.operator_call = call
        rule.set_up(ctx, call, args, result)
        return outputs

    def backward(ctx: Any, *grads: Any) -> Any:
        return (None, *rule.gradients(ctx, ctx.operator_call, grads))

    op = rule.op
    return type(
        f"GeneratedBackwardFor_{op.namespace}_{op.basename}_{op._overloadname}",
        (Function,),
        {"forward": staticmethod(forward), "backward": staticmethod(backward)},
    )
