"""Reductions with NumPy's names, arguments and result types, and those of operators that are more than one."""

from __future__ import annotations

import numpy as np

from minitorch.backends.opencl.array import CLArray, contiguous_strides, empty
from minitorch.backends.opencl.ctypes import BOOL, FLOAT32, FLOAT64, INT32, INT64, is_narrow
from minitorch.backends.opencl.expression import Scalar, lazy
from minitorch.backends.opencl.pointwise import cast, constant, linearize
from minitorch.backends.opencl.reduction_kernels import reduce_chain

_UINT64 = np.dtype(np.uint64)
_WIDENED = {
    **{np.dtype(t): INT64 for t in ("?", "i1", "i2", "i4", "i8")},
    **{np.dtype(t): _UINT64 for t in ("u1", "u2", "u4", "u8")},
}
_IDENTITIES = {
    "add": 0, "multiply": 1, "logical_and": True, "logical_or": False, "logical_xor": False, "bitwise_and": -1, "bitwise_or": 0,
    "bitwise_xor": 0, "logaddexp": -np.inf,
}  # fmt: skip


def normal_axes(axis, ndim: int) -> tuple[int, ...]:
    """Return an ``axis`` argument as sorted places.

    Raises
    ------
    numpy.exceptions.AxisError
        If there is no such axis.
    ValueError
        If one is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    axes = []
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        place = int(a)
        if ndim == 0 and place in (0, -1):
            continue
        if not -ndim <= place < ndim:
            raise np.exceptions.AxisError(place, ndim)
        axes.append(place % ndim)
    if len(set(axes)) != len(axes):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(axes))


def reduced_shape(shape, axes, keepdims: bool) -> tuple:
    """Return the shape that is left."""
    if keepdims:
        return tuple([1 if a in axes else n for a, n in enumerate(shape)])
    return tuple([n for a, n in enumerate(shape) if a not in axes])


def sum_dtype(op: str, dtype: np.dtype) -> np.dtype:
    """Return NumPy's result type of a reduction."""
    if op.startswith("logical_"):
        return BOOL
    return _WIDENED.get(dtype, dtype) if op in ("add", "multiply") else dtype


def wide_type(dtype: np.dtype) -> np.dtype:
    """Return the type to compute in: float32 for float16 and bfloat16, else the type itself."""
    return FLOAT32 if is_narrow(dtype) else dtype


def chain_of(a: CLArray, exact: bool = False):
    """Return (steps, leaves, scalars) of what is to be reduced."""
    if a.node is not None and (exact or is_narrow(a.dtype)) and a.node.op != "constant":
        a.settle()  # rounded by way of memory
    if a.node is None:
        return (("leaf", a.dtype),), [a], []
    return linearize(a)


def reduce(op, a, axis=None, dtype=None, keepdims=False, initial=None, post="", number=1) -> CLArray:
    """Return the reduction of `axis` (None: all axes) by the operation `op`.

    Parameters
    ----------
    op : str
        add, multiply, maximum, minimum (both pass NaN on), fmax, fmin, logical_and, logical_or,
        logical_xor, bitwise_and, bitwise_or, bitwise_xor, logaddexp.
    dtype : numpy.dtype, optional
        Of the result; elements are cast to it first.
    initial : number, optional
    post, number
        As for `reduction_kernels.reduce_chain`.

    Raises
    ------
    ValueError
        If there is nothing to reduce and no identity.
    """
    axes = normal_axes(axis, len(a.shape))
    out = sum_dtype(op, a.dtype) if dtype is None else np.dtype(dtype)
    shape = reduced_shape(a.shape, axes, keepdims)
    if 0 in a.shape:
        if 0 in shape:
            return empty(shape, out, a.device).settle()
        if initial is None and op not in _IDENTITIES:
            raise ValueError(f"zero-size array to reduction operation {op} which has no identity")
        value = initial if initial is not None else _IDENTITIES[op]
        if value == -1 and out.kind in "ub":
            value = True if out.kind == "b" else np.iinfo(out).max
        if "mean" in post:
            value = np.nan
        return constant(shape, value, out, a.device).settle()
    acc = BOOL if op.startswith("logical_") else wide_type(out)
    steps, leaves, scalars = chain_of(a)
    result = reduce_chain(op, steps, leaves, scalars, a.shape, axes, acc, out, shape, a.device, post, number)
    if initial is not None:
        joint = lazy(op, (result, Scalar(initial, out)), out, a.device)
        return joint.settle()
    return result


def sum(a, axis=None, dtype=None, keepdims=False, initial=None):  # noqa: A001 - NumPy's names
    """Return the sum over axes; small integers are added in 64 bits, narrow floating types in float32."""
    return reduce("add", a, axis, dtype, keepdims, initial)


def prod(a, axis=None, dtype=None, keepdims=False, initial=None):
    """Return the product over axes."""
    return reduce("multiply", a, axis, dtype, keepdims, initial)


def max(a, axis=None, keepdims=False, initial=None):  # noqa: A001
    """Return the maximum over axes; NaN where there is one."""
    return reduce("maximum", a, axis, None, keepdims, initial)


def min(a, axis=None, keepdims=False, initial=None):  # noqa: A001
    """Return the minimum over axes; NaN where there is one."""
    return reduce("minimum", a, axis, None, keepdims, initial)


def any(a, axis=None, keepdims=False):  # noqa: A001
    """Return whether elements are not zero anywhere along axes."""
    return reduce("logical_or", a, axis, None, keepdims)


def all(a, axis=None, keepdims=False):  # noqa: A001
    """Return whether elements are not zero everywhere along axes."""
    return reduce("logical_and", a, axis, None, keepdims)


def count_nonzero(a, axis=None, keepdims=False):
    """Return how many elements are not zero along axes."""
    return reduce("add", cast(a, BOOL), axis, INT64, keepdims)


def mean(a, axis=None, dtype=None, keepdims=False):
    """Return the mean over axes, of integers in float64."""
    if dtype is None:
        dtype = FLOAT64 if a.dtype.kind in "biu" else a.dtype
    axes = normal_axes(axis, len(a.shape))
    return reduce("add", a, axis, dtype, keepdims, post="mean", number=_length(a.shape, axes))


def _length(shape, axes) -> int:
    count = 1
    for a in axes:
        count *= shape[a]
    return count


def deviations(a, axis, dtype):
    """Return the squares of the deviations from the mean (not computed yet), and the mean with its axes kept."""
    x = cast(a, dtype)
    centre = mean(x, axis, None, True)
    d = lazy("subtract", (x, centre), dtype, a.device)
    if dtype.kind != "c":
        return lazy("multiply", (d, d), dtype, a.device), centre
    real = np.dtype(dtype.type(0).real.dtype)
    parts = [lazy(name, (d,), real, a.device) for name in ("real", "imag")]
    squares = [lazy("multiply", (p, p), real, a.device) for p in parts]
    return lazy("add", tuple(squares), real, a.device), centre


def _moment(a, axis, dtype, ddof, keepdims, post):
    if dtype is None:
        dtype = FLOAT64 if a.dtype.kind in "biu" else a.dtype
    dtype = np.dtype(dtype)
    squares, _ = deviations(a, axis, wide_type(dtype))
    out = dtype if dtype.kind != "c" else squares.dtype
    divisor = _length(a.shape, normal_axes(axis, len(a.shape))) - ddof
    return reduce("add", squares, axis, out, keepdims, post=post, number=divisor if divisor > 0 else 0)


def var(a, axis=None, dtype=None, ddof=0, keepdims=False):
    """Return the variance over axes, from the deviations from the mean."""
    return _moment(a, axis, dtype, ddof, keepdims, "mean")


def std(a, axis=None, dtype=None, ddof=0, keepdims=False):
    """Return the standard deviation over axes."""
    return _moment(a, axis, dtype, ddof, keepdims, "root_mean")


# ---------------------------------------------------------------- places


def _place(a, extremes, axes, shape):
    """Return where along `axes` elements equal their extreme first; `extremes` has the axes kept."""
    steps, leaves, scalars = chain_of(a, exact=True)
    length = _length(a.shape, axes)
    index = INT32 if length < 1 << 31 else INT64
    steps = [*steps, ("leaf", extremes.dtype)]
    x, e = len(steps) - 2, len(steps) - 1
    steps.append(("equal", BOOL, x, e))
    if a.dtype.kind in "fV":
        steps += [("isnan", BOOL, x), ("logical_or", BOOL, e + 1, e + 2)]
    found = len(steps) - 1
    steps += [("position", index), ("scalar", index), ("where", index, found, found + 1, found + 2)]
    return reduce_chain(
        "minimum", tuple(steps), [*leaves, extremes], [*scalars, length - 1], a.shape, axes, index, INT64, shape, a.device,
        ordered=True,
    )  # fmt: skip


def extremes(op, a, axis=None, keepdims=False):
    """Return the maxima or minima over axes and where they are first; NaN counts as both.

    Parameters
    ----------
    op : str
        maximum or minimum.
    axis : int or None
        With None, places count all elements in row-major order.
    """
    axes = normal_axes(axis, len(a.shape))
    a.settle()
    shape = reduced_shape(a.shape, axes, keepdims)
    kept = reduce(op, a, axis, keepdims=True)
    values = kept.view_of(shape, contiguous_strides(shape, kept.dtype.itemsize), 0)
    if 0 in a.shape:
        return values, empty(shape, INT64, a.device).settle()
    return values, _place(a, kept, axes, shape)


def argreduce(op, a, axis=None, keepdims=False) -> CLArray:
    """Return where along `axis` (None: in the row-major order of all elements) the extreme stands first.

    Parameters
    ----------
    op : str
        argmax or argmin; NaN counts as the extreme.
    """
    if 0 in a.shape and (axis is None or a.shape[normal_axes(axis, len(a.shape))[0]] == 0):
        raise ValueError(f"attempt to get {op} of an empty sequence")
    return extremes("maximum" if op == "argmax" else "minimum", a, axis, keepdims)[1]


def argmax(a, axis=None, keepdims=False):
    """Return the places of the maxima."""
    return argreduce("argmax", a, axis, keepdims)


def argmin(a, axis=None, keepdims=False):
    """Return the places of the minima."""
    return argreduce("argmin", a, axis, keepdims)
