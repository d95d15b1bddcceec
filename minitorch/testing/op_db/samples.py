"""Samples and records that operators of one kind share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from minitorch.testing.op_db.record import ANY, FLOATS_AND_COMPLEX, ErrorSample, Maker, OpRecord, Sample

# ---------------------------------------------------------------- elementwise, one operand


def unary_samples(low: float | None = None, high: float | None = None, avoid: tuple = (), **kwargs: Any) -> Callable:
    """Return a generator of operands of all shapes and layouts, with elements in a domain."""

    def samples(make: Maker) -> Iterator[Sample]:
        domain: dict = {"low": low, "high": high, "avoid": avoid}
        yield Sample(make(2, 3, **domain), **kwargs)
        yield Sample(make(3, 2, layout="columns", **domain), **kwargs)
        yield Sample(make(5, layout="gaps", **domain), **kwargs)
        yield Sample(make(**domain), **kwargs)
        yield Sample(make(0, 3, **domain), **kwargs)
        yield Sample(make(2, 3, layout="expanded", **domain), **kwargs)

    return samples


def no_tensor_errors(make: Maker) -> Iterator[ErrorSample]:
    yield ErrorSample(TypeError, "", "text")
    yield ErrorSample(TypeError, "")


def unary(
    name: str,
    reference: Callable | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    avoid: tuple = (),
    dtypes: tuple = FLOATS_AND_COMPLEX,
    errors: Callable | None = no_tensor_errors,
    **fields: Any,
) -> OpRecord:
    """Return the record of an elementwise function of one tensor."""
    return OpRecord(name, unary_samples(low, high, avoid), reference=reference, dtypes=dtypes, errors=errors, **fields)


# ---------------------------------------------------------------- elementwise, two operands


def binary_samples(
    low: float | None = None,
    high: float | None = None,
    other_low: Any = "same",
    other_high: Any = "same",
    avoid: tuple = (),
    number: Any = None,
    kwargs: tuple = ({},),
) -> Callable:
    """Return a generator of pairs that broadcast in different ways."""

    def samples(make: Maker) -> Iterator[Sample]:
        first: dict = {"low": low, "high": high, "avoid": avoid}
        second: dict = {
            "low": low if other_low == "same" else other_low,
            "high": high if other_high == "same" else other_high,
            "avoid": avoid,
        }
        yield Sample(make(2, 3, **first), make(2, 3, **second))
        yield Sample(make(2, 1, **first), make(3, **second))
        yield Sample(make(3, 2, layout="columns", **first), make(3, 2, layout="gaps", **second))
        yield Sample(make(**first), make(2, **second))
        yield Sample(make(**first), make(**second))
        yield Sample(make(0, 2, **first), make(2, **second))
        yield Sample(make(2, 3, **first), make(2, 3, layout="expanded", **second))
        if number is not None:
            yield Sample(make(2, 2, **first), number)
        for extra in kwargs:
            if extra:
                yield Sample(make(2, 2, **first), make(2, **second), **extra)

    return samples


def broadcast_errors(make: Maker) -> Iterator[ErrorSample]:
    yield ErrorSample(RuntimeError, "size|shape", make(2, 3), make(4))
    yield ErrorSample(TypeError, "", make(2), "text")


def binary(
    name: str,
    reference: Callable | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
    other_low: Any = "same",
    other_high: Any = "same",
    avoid: tuple = (),
    number: Any = None,
    kwargs: tuple = ({},),
    dtypes: tuple = FLOATS_AND_COMPLEX,
    errors: Callable = broadcast_errors,
    **fields: Any,
) -> OpRecord:
    """Return the record of an elementwise function of two operands."""
    return OpRecord(
        name,
        binary_samples(low, high, other_low, other_high, avoid, number, kwargs),
        reference=reference,
        dtypes=dtypes,
        errors=errors,
        **fields,
    )


# ---------------------------------------------------------------- reductions


def reduction_samples(
    full: bool = True,
    dims: str = "many",
    empty: bool = True,
    keepdim: bool = True,
    low: float | None = None,
    high: float | None = None,
    avoid: tuple = (),
    **kwargs: Any,
) -> Callable:
    """Return a generator of reductions over all, some or one of the dimensions.

    Parameters
    ----------
    full : bool
        Whether it may be called without a dim.
    dims : {"many", "one", "none"}
        Whether the dim may be a list, must be one number, or does not exist.
    empty : bool
        Whether nothing can be reduced (a sum can, a maximum cannot).
    """

    def samples(make: Maker) -> Iterator[Sample]:
        domain: dict = {"low": low, "high": high, "avoid": avoid}
        if full:
            yield Sample(make(2, 3, **domain), **kwargs)
            yield Sample(make(3, 2, layout="columns", **domain), **kwargs)
            yield Sample(make(**domain), **kwargs)
            if empty:
                yield Sample(make(0, 2, **domain), **kwargs)
        if dims == "none":
            return
        yield Sample(make(2, 3, **domain), 1, **kwargs)
        yield Sample(make(3, 2, layout="columns", **domain), -2, **kwargs)
        yield Sample(make(2, 3, 2, layout="gaps", **domain), 1, **kwargs)
        yield Sample(make(0, 2, **domain), 1, **kwargs)
        yield Sample(make(2, 3, layout="expanded", **domain), 0, **kwargs)
        if empty:
            yield Sample(make(0, 2, **domain), 0, **kwargs)
        if keepdim:
            yield Sample(make(2, 3, **domain), 0, True, **kwargs)
            yield Sample(make(**domain), -1, keepdim=True, **kwargs)
        if dims == "many":
            yield Sample(make(2, 2, 3, **domain), [0, 2], **kwargs)
            yield Sample(make(2, 3, 2, **domain), (-1, 1), True, **kwargs)

    return samples


def dim_errors(make: Maker) -> Iterator[ErrorSample]:
    yield ErrorSample(IndexError, "out of range", make(2, 3), 2)
    yield ErrorSample(IndexError, "out of range", make(2, 3), -3)


def dim_list_errors(make: Maker) -> Iterator[ErrorSample]:
    yield from dim_errors(make)
    yield ErrorSample(RuntimeError, "dim", make(2, 3), [0, 0])


def axis(dim: Any) -> Any:
    """Return a dim as NumPy's axis."""
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


def numpy_reduction(function: Callable) -> Callable:
    """Return the reference of a reduction from NumPy's function."""

    def reference(x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
        if x.ndim == 0:
            dim = None
        return function(x, axis=axis(dim), keepdims=keepdim)

    return reference


def reduction(
    name: str,
    function: Callable | None = None,
    *,
    reference: Callable | None = None,
    dtypes: tuple = ANY,
    errors: Callable | None = None,
    samples: Callable | None = None,
    dims: str = "many",
    **fields: Any,
) -> OpRecord:
    """Return the record of a reduction; `function` is NumPy's."""
    own = {k: fields.pop(k) for k in ("full", "empty", "keepdim", "low", "high", "avoid") if k in fields}
    if reference is None and function is not None:
        reference = numpy_reduction(function)
    if errors is None:
        errors = dim_list_errors if dims == "many" else dim_errors
    if samples is None:
        samples = reduction_samples(dims=dims, **own)
    return OpRecord(name, samples, reference=reference, dtypes=dtypes, errors=errors, **fields)


# ---------------------------------------------------------------- calls written out


def calls(function: Callable) -> Callable:
    """Return a generator of samples from a function that returns tuples of arguments.

    ``calls(lambda make: [(make(2, 3), 1), (make(3), {"dim": 0})])``: a dict in last place
    holds the keyword arguments.
    """

    def samples(make: Maker) -> Iterator[Sample]:
        for arguments in function(make):
            if arguments and isinstance(arguments[-1], dict):
                yield Sample(*arguments[:-1], **arguments[-1])
            else:
                yield Sample(*arguments)

    return samples


def fails(function: Callable) -> Callable:
    """Return a generator of errors from a function that returns tuples of error, text and arguments."""

    def errors(make: Maker) -> Iterator[ErrorSample]:
        for error, match, *arguments in function(make):
            if arguments and isinstance(arguments[-1], dict):
                yield ErrorSample(error, match, *arguments[:-1], **arguments[-1])
            else:
                yield ErrorSample(error, match, *arguments)

    return errors


def record(
    name: str, samples: Callable, reference: Callable | None = None, *, errors: Callable | None = None, **fields: Any
) -> OpRecord:
    """Return a record whose samples and errors are written out: see `calls` and `fails`."""
    return OpRecord(
        name, calls(samples), reference=reference, errors=None if errors is None else fails(errors), **fields
    )


def elementwise(function: Callable) -> Callable:
    """Return a function of one number as one of arrays, in double precision."""
    vectorized = np.vectorize(function, otypes=[np.float64])

    def reference(*arrays: Any) -> Any:
        shape = np.broadcast_shapes(*[np.shape(a) for a in arrays])
        return vectorized(*arrays) if np.prod(shape) else np.zeros(shape)

    return reference
