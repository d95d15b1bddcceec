"""`opcheck`: does an operator do what its schema and registrations say?

Note [The checks]
    ``test_schema``: the operator writes and aliases what its schema says, nothing else.
    ``test_autograd_registration``: an operator whose results require a gradient has an
    autograd kernel (or is a composite), and does not hide autograd in a backend's kernel.
    ``test_faketensor``: on tensors without elements it gives results of the shape, strides
    and dtype that it gives on real ones.
    ``test_aot_dispatch_dynamic``: the same for the gradients, so that forward and backward
    can be traced without data.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minitorch.autograd.backward import grad as gradients_of
from minitorch.autograd.fallback import fallback_mode, set_fallback_mode
from minitorch.autograd.node import requires_grad
from minitorch.core.device import device
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket
from minitorch.dispatch.schema import AliasInfo, Schema
from minitorch.dispatch.schema_matching import match
from minitorch.library.custom_op import CustomOpDef
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

DEFAULT_TEST_UTILS = (
    "test_schema",
    "test_autograd_registration",
    "test_faketensor",
    "test_aot_dispatch_dynamic",
)


class OpCheckError(Exception):
    """An operator failed a check."""


def opcheck(
    op: OpOverload | OpOverloadPacket | CustomOpDef,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = DEFAULT_TEST_UTILS,
    raise_exception: bool = True,
) -> dict[str, Any]:
    """Check an operator on sample arguments (Note [The checks]).

    Parameters
    ----------
    op : operator
        A custom operator, an overload, or a packet of one overload.
    args, kwargs
        What it is called with.  Let some tensors require gradients if it has a formula.
    test_utils : str or sequence of str
        Names of the checks to run.
    raise_exception : bool
        Whether the first failure raises.

    Returns
    -------
    dict of str to object
        By the name of the check ``"SUCCESS"``, or the exception that says what failed.

    Raises
    ------
    OpCheckError
        If a check fails and `raise_exception` is set.
    ValueError
        If `op` is no operator or a check is unknown.
    """
    overload = _overload(op)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [name for name in names if name not in _CHECKS]
    if unknown:
        raise ValueError(
            f"opcheck(op, ..., test_utils={names}): there is no {', '.join(unknown)}; the checks "
            f"are {', '.join(_CHECKS)}"
        )
    results: dict[str, Any] = {}
    for name in names:
        try:
            _CHECKS[name](overload, args, kwargs or {})
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            results[name] = error
        else:
            results[name] = "SUCCESS"
    return results


def _overload(op: Any) -> OpOverload:
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        names = op.overloads()
        if len(names) != 1:
            raise RuntimeError(
                f"opcheck can only test operators without overloads. {op} has {', '.join(names)}; "
                "pass one of them"
            )
        return getattr(op, names[0])
    if not isinstance(op, OpOverload):
        raise ValueError(
            f"opcheck(op, ...): op must be an operator, such as minitorch.ops.aten.sin.default, "
            f"not {type(op).__name__}"
        )
    return op


# -- tensors in arguments and results --------------------------------------------------


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


def _mapped(change: Callable[[Any], Any], value: Any) -> Any:
    """Return `value` with `change` applied to what is in its lists, tuples and dictionaries."""
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(change, item) for item in value)
    if isinstance(value, dict):
        return {key: _mapped(change, item) for key, item in value.items()}
    return change(value)


def _copy(value: Any) -> Any:
    """Return a leaf of equal elements for a tensor, anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    copied = F.clone(F.detach(value))
    return copied.requires_grad_() if requires_grad(value) else copied


def _without_elements(value: Any) -> Any:
    """Return a meta tensor of equal shape, strides and dtype for a tensor; meta for a device."""
    if isinstance(value, device):
        return device("meta")
    if not isinstance(value, Tensor):
        return value
    bare = F.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=device("meta"))
    return bare.requires_grad_() if requires_grad(value) else bare


def _bytes(tensor: Any) -> bytes:
    return tensor.numpy(force=True).tobytes()


def _memory(tensor: Any) -> int:
    """Return a number that tensors of the same memory have in common."""
    cell = tensor.storage_cell
    return id(tensor.handle if cell is None else cell)


# -- the checks ------------------------------------------------------------------------


def _matched(op: OpOverload, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return match(op._schema, op.qualname, args, kwargs, op.allow_numbers)


def _check_schema(op: OpOverload, args: Any, kwargs: Any) -> None:
    # Histories are beside the point, and leaves that require gradients may not be written.
    def plain(value: Any) -> Any:
        return F.clone(F.detach(value)) if isinstance(value, Tensor) else value

    matched, keywords = _matched(op, _mapped(plain, args), _mapped(plain, kwargs))
    schema = op._schema
    given = [*zip(schema.arguments, matched, strict=False)]
    given += [(a, keywords[a.name]) for a in schema.arguments if a.name in keywords]
    before = [[_bytes(tensor) for tensor in _tensors(value)] for _, value in given]
    result = op.call(matched, keywords)
    for (argument, value), old in zip(given, before, strict=True):
        changed = [_bytes(tensor) for tensor in _tensors(value)] != old
        if changed and not argument.is_write:
            raise RuntimeError(
                f"Argument {argument.name} is not defined as mutable but was mutated"
            )
    _check_aliases(schema, given, result if isinstance(result, tuple) else (result,))


def _check_aliases(schema: Schema, given: list[Any], results: tuple[Any, ...]) -> None:
    outputs = [{_memory(tensor) for tensor in _tensors(result)} for result in results]
    for argument, value in given:
        memory = {_memory(tensor) for tensor in _tensors(value)}
        for item, output in zip(schema.returns, outputs, strict=False):
            if memory & output and not _may_alias(argument.alias_info, item.alias_info):
                raise RuntimeError(
                    f"Argument {argument.name} is not defined to alias output but was aliasing"
                )
    pairs = itertools.combinations(enumerate(zip(schema.returns, outputs, strict=False)), 2)
    for (i, (one, memory)), (j, (other, memory_of_other)) in pairs:
        if memory & memory_of_other and not _may_alias(one.alias_info, other.alias_info):
            raise RuntimeError(f"Outputs {i} and {j} alias unexpectedly")


def _may_alias(one: AliasInfo | None, other: AliasInfo | None) -> bool:
    if one is None or other is None:
        return False
    reached = one.sets | one.after_set
    return bool(reached & other.sets) or "*" in reached or "*" in other.sets


def _check_autograd_registration(op: OpOverload, args: Any, kwargs: Any) -> None:
    own_args, own_kwargs = _mapped(_copy, args), _mapped(_copy, kwargs)
    inputs = [t for t in _tensors([own_args, own_kwargs]) if requires_grad(t)]
    if not inputs or _has_autograd_kernel(op, inputs):
        return
    mode = fallback_mode()
    set_fallback_mode("nothing")
    try:
        result = op(*own_args, **own_kwargs)
    finally:
        set_fallback_mode(mode)
    given = {id(t) for t in inputs}
    if any(requires_grad(t) and id(t) not in given for t in _tensors(result)):
        raise AssertionError(
            f"{op.qualname}: at least one output of this operator has requires_grad=True but the "
            "operator does not have an autograd kernel registered at an autograd key. The "
            "operator's backend kernel seems to record autograd itself, which transforms cannot "
            "see. Register the formula with minitorch.library.register_autograd, or the kernel at "
            "CompositeImplicitAutograd if it consists of differentiable operators."
        )


def _has_autograd_kernel(op: OpOverload, inputs: list[Any]) -> bool:
    if "CompositeImplicitAutograd" in op.kernels or "Autograd" in op.kernels:
        return True
    keys = {f"Autograd{tensor.device.key_name}" for tensor in inputs}
    return any(key in op.kernels for key in keys)


def _check_fake(op: OpOverload, args: Any, kwargs: Any) -> None:
    real = op(*_mapped(_copy, args), **_mapped(_copy, kwargs))
    fake = _call_without_elements(op, args, kwargs)[1]
    _compare(op, "output", list(_tensors(real)), list(_tensors(fake)))


def _call_without_elements(op: OpOverload, args: Any, kwargs: Any) -> tuple[list[Any], Any]:
    """Call on meta tensors; return those, and the result."""
    matched, keywords = _matched(op, args, kwargs)
    matched = _mapped(_without_elements, matched)
    keywords = _mapped(_without_elements, keywords)
    return list(_tensors([matched, keywords])), op.call(matched, keywords)


def _compare(op: OpOverload, what: str, real: Sequence[Any], fake: Sequence[Any]) -> None:
    if len(real) != len(fake):
        raise AssertionError(
            f"{op}: there are {len(real)} tensors in the {what} on real tensors, and {len(fake)} "
            "on meta tensors"
        )
    for index, (one, other) in enumerate(zip(real, fake, strict=True)):
        if one is None or other is None:
            if one is not other:
                raise AssertionError(f"{op}: {what} {index} is None on real or meta tensors only")
            continue
        for fact, of in (
            ("shape", lambda t: tuple(t.shape)),
            ("dtype", lambda t: t.dtype),
            ("strides", lambda t: t.stride()),
        ):
            if of(one) != of(other):
                raise AssertionError(
                    f"When comparing the {what} of {op} on meta and concrete Tensors, found "
                    f"mismatched tensor metadata: {what} {index} has {fact} {of(one)} on concrete "
                    f"and {of(other)} on meta Tensors"
                )


def _check_gradients(op: OpOverload, args: Any, kwargs: Any) -> None:
    own_args, own_kwargs = _mapped(_copy, args), _mapped(_copy, kwargs)
    real_inputs = list(_tensors([own_args, own_kwargs]))
    real = op(*own_args, **own_kwargs)
    fake_inputs, fake = _call_without_elements(op, args, kwargs)
    _compare(op, "output", list(_tensors(real)), list(_tensors(fake)))
    _compare(op, "gradient", _gradients(real_inputs, real), _gradients(fake_inputs, fake))


def _gradients(inputs: list[Any], result: Any) -> list[Any]:
    """Return the gradients of those inputs that ask for one, from ones for all outputs."""
    wanted = [tensor for tensor in inputs if requires_grad(tensor)]
    outputs = [tensor for tensor in _tensors(result) if requires_grad(tensor)]
    if not wanted or not outputs:
        return []
    ones = [F.ones_like(tensor) for tensor in outputs]
    return list(gradients_of(outputs, wanted, ones, allow_unused=True))


_CHECKS: dict[str, Callable[[OpOverload, Any, Any], None]] = {
    "test_schema": _check_schema,
    "test_autograd_registration": _check_autograd_registration,
    "test_faketensor": _check_fake,
    "test_aot_dispatch_dynamic": _check_gradients,
}
