"""The operators of ``minitorch.ops.quantized``: defined when quantized tensors are first used, or the namespace first named.

Note [Gradients of quantized operators]
    Where an argument requires a gradient, the operator's float counterpart runs on the dequantized arguments and is
    recorded; its result is quantized, which passes gradients straight through, and gets the integers of the quantized kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.dispatch.dispatcher import define
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOCAST_KEYS, AUTOGRAD_KEYS
from minitorch.dispatch.local_state import ExcludeKeysGuard, current
from minitorch.dispatch.operator import PythonKernel
from minitorch.ops import functions as F
from minitorch.quantized.handle import is_quantized
from minitorch.quantized.registry import BACKENDS, ExactKernel
from minitorch.tensor.base import TensorBase

_BELOW_AUTOGRAD = AUTOGRAD_KEYS | AD_INPLACE_OR_VIEW


def _requires_grad(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any([_requires_grad(v) for v in value])
    if isinstance(value, TensorBase):
        return value.requires_grad  # type: ignore[attr-defined]
    return any([_requires_grad(v) for v in vars(value).values()]) if hasattr(value, "unpack") else False


def _with_gradient(op: Any, counterpart: Callable[..., Any]) -> Callable[..., Any]:
    def differentiable(*args: Any, **kwargs: Any) -> Any:
        with ExcludeKeysGuard(_BELOW_AUTOGRAD):
            result = op.call(args, kwargs or None)
        if not current().grad_enabled or not any([_requires_grad(v) for v in (*args, *kwargs.values())]):
            return result
        with ExcludeKeysGuard(AUTOCAST_KEYS):
            values = counterpart(*args, **kwargs)
        if not is_quantized(result):
            with ExcludeKeysGuard(_BELOW_AUTOGRAD):
                F.copy_(values, result)
            return values
        params = result.handle.params
        recorded = F.quantize_per_tensor(values, params.scale, params.zero_point, result.dtype)
        with ExcludeKeysGuard(_BELOW_AUTOGRAD):
            F.copy_(recorded.handle.ints, result.handle.ints)
        return recorded

    return differentiable


def _no_gradient(op: Any, writes: bool) -> Callable[..., Any]:
    def undifferentiable(*args: Any, **kwargs: Any) -> Any:
        if writes and current().grad_enabled and any([_requires_grad(v) for v in (*args, *kwargs.values())]):
            raise RuntimeError(
                f"{op.qualname}: functions with out=... arguments don't support automatic differentiation, but one of the "
                "arguments requires grad."
            )
        with ExcludeKeysGuard(_BELOW_AUTOGRAD):
            return op.call(args, kwargs or None)

    return undifferentiable


def quantized_operator(
    schema: str, counterpart: Callable[..., Any] | None = None, dense: bool = False, composite: bool = False
) -> Callable[[Any], Any]:
    """Define an operator of the namespace with the decorated function as its kernel.

    Parameters
    ----------
    schema : str
        Without the namespace.
    counterpart : callable, optional
        What it computes with floats, differentiable: gets the same arguments.
    dense : bool
        Whether its arguments are ordinary tensors, or packed parameters alone.
    composite : bool
        Whether it is written with other operators, which bring their gradients.
    """

    def register(fn: Any) -> Any:
        name = schema[: schema.index("(")]
        op = define(f"quantized::{name}", f"quantized::{schema}")
        if composite:
            op.register("CompositeImplicitAutograd", PythonKernel(fn))
            return fn
        keys = ("CompositeExplicitAutograd",) if dense else tuple(f"Quantized{backend}" for backend in BACKENDS)
        for key in keys:
            op.register(key, ExactKernel(fn))
        outer = _with_gradient(op, counterpart) if counterpart is not None else _no_gradient(op, "(a!)" in schema)
        op.register("Autograd", PythonKernel(outer))
        return fn

    return register
