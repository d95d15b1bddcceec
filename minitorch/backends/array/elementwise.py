"""How pointwise kernels promote, compute and round: `elementwise` and its decorator."""

from __future__ import annotations

from functools import wraps

from minitorch.backends.array.registry import array_kernel
from minitorch.core.dtype import from_numpy_dtype
from minitorch.core.promotion import can_cast, result_type, result_type_of_two
from minitorch.ops.shapes.pointwise import RULES, elementwise_strides


def as_type(xp, operand, dtype):
    """Return `operand`, an array or a Python number, as an array or scalar of `dtype`."""
    own = getattr(operand, "dtype", None)
    if own is None:
        try:
            return dtype.type(operand)
        except OverflowError:  # an integer outside the range wraps
            return xp.asarray(operand).astype(dtype)
    if own == dtype:
        return operand
    return operand.astype(dtype, order=order_of(operand))


def order_of(array) -> str:
    """Return the order of a copy: "K" would make broadcast dimensions the innermost ones."""
    return "C" if 0 in array.strides else "K"


def promoted(operands):
    """Return the type that arrays and Python numbers promote to."""
    count = len(operands)
    if count == 1:
        return operands[0].dtype
    if count == 2:
        return result_type_of_two(operands[0], operands[1])
    return result_type(*operands)


def elementwise(xp, fn, operands, rule):
    """Return ``fn(xp, *arrays)`` of the promoted operands, in the type that `rule` says.

    Narrow floating types are computed in float32 and rounded once.  Python numbers are not
    rounded to the narrow type first, except where the result is bool.
    """
    dtype = promoted(operands)
    compute, result = rule.types(dtype)
    if compute != dtype and result.kind == "b":
        # A float first: ml_dtypes' types take no Python integer beyond a C long.
        operands = [o if hasattr(o, "dtype") else dtype.type(float(o) if type(o) is int else o) for o in operands]
    out = fn(xp, *[as_type(xp, o, compute) for o in operands])
    if out.dtype != result:
        out = out.astype(result)
    return out if out.ndim < 2 else arranged(xp, out, operands)


def arranged(xp, out, operands):
    """Return `out` with its dimensions in the order that the operands have them in memory.

    A chain of ufuncs ends in another order where the operands are transposed or broadcast.
    """
    arrays = [o for o in operands if hasattr(o, "strides")]
    for a in arrays:
        if not a.flags.c_contiguous:
            break
    else:
        return out
    strides = elementwise_strides(out.shape, arrays, out.dtype.itemsize)
    if strides is None or strides == out.strides or out.size == 0:
        return out
    inner_last = sorted(range(out.ndim), key=lambda d: -strides[d])
    memory = xp.empty([out.shape[d] for d in inner_last], out.dtype)
    result = memory.transpose([inner_last.index(d) for d in range(out.ndim)])
    result[...] = out
    return result


def pointwise(*names: str, ufunc=None, fast: str = "f"):
    """Register a function of ``(xp, *arrays)`` of one type as the kernel of operators `names`.

    The arrays have the type that the operators' rule computes in; they may be scalars of
    that type.  See `array_kernel` for `ufunc` and `fast`.
    """
    rule = RULES[names[0]]

    def register(fn):
        @array_kernel(*names, ufunc=ufunc, fast=fast)
        @wraps(fn)
        def pointwise_kernel(xp, *operands):
            return elementwise(xp, fn, operands, rule)

        return pointwise_kernel

    return register


def ufunc_rows(*rows) -> None:
    """Register ufuncs as kernels.

    Parameters
    ----------
    *rows : (ufunc, fast, *names)
        `ufunc` is a function of the namespace, right as it stands for dtype kinds `fast`.
    """
    for ufunc, fast, *names in rows:
        pointwise(*names, ufunc=ufunc, fast=fast)(_calls(ufunc))


def _calls(ufunc):
    def ufunc_kernel(xp, *operands):
        return ufunc(xp)(*operands)

    return ufunc_kernel


def store(xp, name: str, target, result) -> None:
    """Copy an out-of-place result into the array that an in-place operator changes.

    Raises
    ------
    RuntimeError
        If the result has another shape or a type of a higher category.
    """
    if result.shape != target.shape:
        raise RuntimeError(
            f"{name}: output with shape {list(target.shape)} doesn't match the broadcast shape "
            f"{list(result.shape)}; an in-place operator cannot enlarge its first argument"
        )
    source, own = from_numpy_dtype(result.dtype), from_numpy_dtype(target.dtype)
    if source is not own and not can_cast(source, own):
        raise RuntimeError(
            f"{name}: result type {source.scalar_name} can't be cast to the desired output type "
            f"{own.scalar_name}"
        )
    xp.copyto(target, result, casting="unsafe")


def out_of(temporary):
    """Return an array as the ``out`` of the next step, None for a scalar."""
    return temporary if temporary.ndim else None
