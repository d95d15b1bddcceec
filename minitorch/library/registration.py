"""Rules for operators however they were made: custom ones, and those of raw libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from minitorch.core.dtype import dtype
from minitorch.dispatch.library import Library
from minitorch.dispatch.library_functions import library_for
from minitorch.dispatch.library_functions import register_kernel as register_raw_kernel
from minitorch.dispatch.namespace import OpOverload, OpOverloadPacket, overload_of
from minitorch.library.autocast_rule import add_autocast_rule
from minitorch.library.autograd_rule import AutogradRule, check_differentiable
from minitorch.library.custom_op import CustomOpDef, definition_of
from minitorch.library.vmap_rule import BATCHED_KEY, VmapRule, check_batchable

Op = str | OpOverload | OpOverloadPacket | CustomOpDef


def _overload(op: Op) -> OpOverload:
    return op._opoverload if isinstance(op, CustomOpDef) else overload_of(op)


def register_kernel(
    op: Op,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Register `func` for device types, all of them with None; as a decorator without `func`.

    Of a custom operator it becomes the kernel for those devices, checked as its first one.
    """
    definition = definition_of(op)
    if definition is not None:
        return definition.register_kernel(device_types, func)
    return register_raw_kernel(_overload(op), device_types, func, lib=lib)


def register_autograd(
    op: Op,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Register the autograd formula of an operator.

    Parameters
    ----------
    backward : callable
        ``backward(ctx, *grads)`` gets one gradient per output and returns one per argument
        of the call, None where there is none; further Nones are tolerated.
    setup_context : callable, optional
        ``setup_context(ctx, inputs, output)`` saves what `backward` needs.  `inputs` are
        the arguments with their defaults.  For operators with keyword-only arguments,
        ``setup_context(ctx, inputs, keyword_only_inputs, output)``.
    lib : Library, optional
        What the formula lives as long as; forever if there is none.

    Raises
    ------
    RuntimeError
        If the operator writes arguments or returns views.
    NotImplementedError
        If a tensor is keyword-only.

    Examples
    --------
    >>> @minitorch.library.custom_op("shop::triple", mutates_args=())
    ... def triple(x: minitorch.Tensor) -> minitorch.Tensor:
    ...     return x * 3
    >>> def backward(ctx, grad):
    ...     return grad * 3
    >>> register_autograd("shop::triple", backward)
    >>> x = minitorch.ones(2, requires_grad=True)
    >>> triple(x).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    definition = definition_of(op)
    if definition is not None:
        definition.register_autograd(backward, setup_context=setup_context)
        return
    overload = _overload(op)
    check_differentiable(overload, overload, allow_views=False)
    rule = AutogradRule(overload)
    rule.set_formula(backward, setup_context)
    library_for(overload, lib).impl(overload, rule, "Autograd", with_keyset=True)


def register_autocast(
    op: Op, device_type: str, cast_inputs: dtype, /, *, lib: Library | None = None
) -> None:
    """Let an operator run in `cast_inputs` under autocast of a device type.

    Its floating tensors of that device, except float64, are cast, and the operator runs
    with that autocast off.  Keyword-only arguments are not supported.

    Raises
    ------
    ValueError
        If the device type has no autocast, or `cast_inputs` is no dtype.
    """
    definition = definition_of(op)
    overload = _overload(op)
    target = definition._lib if definition is not None else library_for(overload, lib)
    add_autocast_rule(target, overload, device_type, cast_inputs)


def register_vmap(
    op: Op, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register how an operator maps over a dimension; as a decorator without `func`.

    Parameters
    ----------
    func : callable
        ``func(info, in_dims, *args, **kwargs) -> (output, out_dims)``.  `info` has ``batch_size``
        and ``randomness``.  The arguments are those of one level of ``vmap`` unwrapped; `in_dims` has
        an entry for each, the dimension that is mapped or None.  `out_dims` says the same of the
        output.  Where no argument is mapped the rule is not called.
    lib : Library, optional
        What the rule lives as long as; forever if there is none.

    Raises
    ------
    NotImplementedError
        If a tensor is keyword-only.

    Examples
    --------
    >>> @minitorch.library.custom_op("shop::cube", mutates_args=())
    ... def cube(x: minitorch.Tensor) -> minitorch.Tensor:
    ...     return x**3
    >>> @register_vmap("shop::cube")
    ... def cube_rule(info, in_dims, x):
    ...     return x**3, in_dims[0]
    """

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        definition = definition_of(op)
        if definition is not None:
            return definition.register_vmap(fn)
        overload = _overload(op)
        check_batchable(overload)
        rule = VmapRule(overload, fn)
        library_for(overload, lib).impl(overload, rule, BATCHED_KEY, with_keyset=True)
        return fn

    return register if func is None else register(func)
