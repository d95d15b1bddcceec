"""The operators of ``minitorch.ops.quantized``: defined when quantized tensors are first used, or the namespace first named.

Note [Gradients of quantized operators]
    Where an argument requires a gradient, the operator's float counterpart runs on the dequantized arguments and is
    recorded; its result is quantized, which passes gradients straight through, and gets the integers of the quantized kernel.
    So it is in forward mode.
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
from minitorch.quantized.packed import ConvPackedParams, EmbeddingPackedParams, Float16PackedParams, LinearPackedParams
from minitorch.quantized.registry import BACKENDS, ExactKernel
from minitorch.tensor.base import TensorBase

# Part of an operator's name -> what its prepack operator returns; the first that is found counts.
_PACKED = {
    "fp16": Float16PackedParams, "embedding": EmbeddingPackedParams, "conv": ConvPackedParams, "linear": LinearPackedParams,
}  # fmt: skip
# Where autograd keeps the levels of forward mode, in the thread's `extra`: there, any argument may have a tangent.
_FORWARD_LEVELS = "forward levels"
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
        recorded = current().grad_enabled and any([_requires_grad(v) for v in (*args, *kwargs.values())])
        if not recorded and not (current().extra.get(_FORWARD_LEVELS) and current().forward_grad_enabled):
            return result
        with ExcludeKeysGuard(AUTOCAST_KEYS):
            values = counterpart(*args, **kwargs)
        if not is_quantized(result):
            with ExcludeKeysGuard(_BELOW_AUTOGRAD):
                F.copy_(values, result)
            return values
        requantized = F.quantize_per_tensor(values, F.q_scale(result), F.q_zero_point(result), result.dtype)
        with ExcludeKeysGuard(_BELOW_AUTOGRAD):
            F.copy_(requantized, result)  # of the same parameters: the integers
        return requantized

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


def _checking_packed(op: Any, fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that gets packed parameters of the right kind, or is not called."""
    places = [(i, a.name) for i, a in enumerate(op.schema.arguments) if a.type.base == "Any" and not a.type.is_list]
    kinds = [kind for part, kind in _PACKED.items() if part in op.basename]
    if not places or not kinds:
        return fn
    place, argument = places[0]
    kind = kinds[0]

    def checked_kernel(*args: Any, **kwargs: Any) -> Any:
        value = kwargs[argument] if argument in kwargs else args[place]
        if not isinstance(value, kind):
            raise RuntimeError(
                f"{op.qualname}(): Expected a value of type {kind.__name__} for argument '{argument}' but instead found type "
                f"{type(value).__name__}: it is what the prepack operator of the layer returns"
            )
        return fn(*args, **kwargs)

    return checked_kernel


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
            op.register(key, ExactKernel(_checking_packed(op, fn)))
        outer = _with_gradient(op, counterpart) if counterpart is not None else _no_gradient(op, "(a!)" in schema)
        op.register("Autograd", PythonKernel(outer))
        return fn

    return register
