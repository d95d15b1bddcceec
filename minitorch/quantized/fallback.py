"""What runs at the Quantized keys for operators without a kernel there.

Note [Requantizing]
    The quantized arguments are dequantized, the operator computes with floats, and what it returns is

    - as it is, if it is no float32 tensor (indices, comparisons, numbers), or if a floating point tensor stood among the
      arguments: a quantized tensor and a float tensor give a float tensor;
    - else quantized again: with the parameters of the first quantized argument, if that has one scale and no value leaves its
      range; else with parameters chosen from the result (`qparams.choose_qparams`, all bits), of the same dtype.

    An operator that writes into a quantized tensor keeps that tensor's parameters: what leaves the range saturates.
    Under ``requantize_policy("error")`` it is refused.  In a backward pass, and in operators that compute gradients, the
    formulas of the operators meet saved quantized tensors: there they are dequantized without a word, as gradients are floats.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float32, quantized_limits
from minitorch.dispatch.keys import BACKEND_MASK, BACKENDS, QUANTIZED
from minitorch.dispatch.local_state import current
from minitorch.dispatch.operator import KeyedObject, raise_missing
from minitorch.dispatch.policy import note_fallback, requantize_policy
from minitorch.ops import functions as F
from minitorch.ops.assemble import is_view
from minitorch.quantized.handle import PerTensor, is_quantized
from minitorch.quantized.kernels.construction import dequantize_kernel, has_values, quantized
from minitorch.quantized.qparams import choose_qparams
from minitorch.tensor.base import TensorBase


def _flat(values: Any) -> Any:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _flat(value)
        elif isinstance(value, KeyedObject):
            yield value


def _mapped(value: Any, fn: Any) -> Any:
    if isinstance(value, list):
        return [_mapped(item, fn) for item in value]
    if isinstance(value, tuple):
        return tuple(_mapped(item, fn) for item in value)
    return fn(value) if isinstance(value, TensorBase) else value


def _dequantized(tensor: Any) -> Any:
    return dequantize_kernel(tensor) if is_quantized(tensor) else tensor


def _refuse(op: Any, tensors: list) -> None:
    backend = next(BACKENDS[(t.key_set & BACKEND_MASK).bit_length() - 1] for t in tensors if t.key_set & QUANTIZED)
    raise NotImplementedError(
        f"Could not run '{op.qualname}' with arguments from the 'Quantized{backend}' backend: there is no quantized kernel for "
        "it, and requantize_policy('error') refuses to dequantize, compute and quantize again. dequantize() the arguments, or "
        "use the quantized operator where there is one (minitorch.ops.quantized). It is available for: "
        f"{', '.join(op.available_keys())}."
    )


def requantized(name: str, value: Any, first: Any) -> Any:
    """Return a float32 result of an operator quantized again (Note [Requantizing])."""
    handle = first.handle
    dtype = handle.qdtype
    params = handle.params
    if isinstance(params, PerTensor) and fits(value, params, dtype):
        return quantized(value, params, dtype)
    return quantized(value, choose_qparams(name, value, dtype, False), dtype)


def fits(value: Any, params: PerTensor, dtype: Any) -> bool:
    """Return whether no value saturates; where there are no values, nothing says that one does."""
    if not value.numel() or not has_values(value):
        return True
    low, high = quantized_limits(dtype)
    least, greatest = (float(v.item()) for v in F.aminmax(value))
    return (low - params.zero_point - 0.5) * params.scale <= least and greatest <= (high - params.zero_point + 0.5) * params.scale


def without_kernel(op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
    """Take a call of an operator that has no kernel at a Quantized key (`operator.missing_handlers`)."""
    keywords = kwargs or {}
    if not any(is_quantized(t) for t in _flat((*args, *keywords.values()))):
        raise_missing(op, entry.key_set)
    return quantized_fallback(op, *args, **keywords)


def quantized_fallback(op: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operator that has no quantized kernel (Note [Requantizing])."""
    tensors = list(_flat((*args, *kwargs.values())))
    if op.declaration is not None and op.declaration.kind == "functional" and is_view(op.declaration):
        raise RuntimeError(
            f"{op.basename}: a quantized tensor has no such view ({op.qualname}): its memory is integers, which int_repr() "
            "gives. dequantize() first"
        )
    of_gradients = current().evaluating_node is not None or op.basename.endswith("_backward")
    if not of_gradients:
        if requantize_policy.current() == "error":
            _refuse(op, tensors)
        note_fallback(
            op.qualname, "quantized", "there is no quantized kernel", sum([t.nbytes for t in tensors if is_quantized(t)]),
            "dequantize() before it, or use an operator of minitorch.ops.quantized.", requantize_policy,
            "dequantized its arguments and quantized its result again",
        )  # fmt: skip
    written = [a.name for a in op.schema.arguments if a.is_write]
    plain = [_mapped(value, _dequantized) for value in args]
    plain_keywords = {name: _mapped(value, _dequantized) for name, value in kwargs.items()}
    result = op.call(tuple(plain), plain_keywords or None)
    if written:
        names = [a.name for a in op.schema.arguments]
        for name in written:
            place = names.index(name)
            target = kwargs[name] if name in kwargs else args[place]
            value = plain_keywords[name] if name in kwargs else plain[place]
            if is_quantized(target):
                target.copy_(value)
        return args[0] if names[0] in written else result
    mixed = any([t.dtype.is_floating_point or t.dtype.is_complex for t in tensors if not is_quantized(t)])
    dtype = kwargs.get("dtype")
    if of_gradients or mixed or (dtype is not None and dtype.category != 4):
        return result
    first = next(t for t in tensors if is_quantized(t))
    return _mapped(result, lambda t: requantized(op.qualname, t, first) if t.dtype is float32 and not is_quantized(t) else t)
