"""`xp`: the array namespace of OpenCL arrays, NumPy's names for what the array kernels use.

What has no kernel is not there; an array kernel that asks for it makes its operator fall back
under the user's policy (`minitorch.backends.fallback_policy`).
"""

from __future__ import annotations

import types
from importlib import import_module

import numpy as np

from minitorch.backends.opencl import runtime, ufuncs
from minitorch.backends.opencl.array import CLArray, from_host
from minitorch.backends.opencl.array import empty as empty_on
from minitorch.backends.opencl.expression import lazy
from minitorch.backends.opencl.host import HostFunctions
from minitorch.backends.opencl.pointwise import assign, cast, constant

_PACKAGE = "minitorch.backends.opencl."


def _dtype(value, default=float):
    return np.dtype(default if value is None else value)


def _shape(shape):
    if isinstance(shape, (int, np.integer)):
        shape = (shape,)
    shape = tuple([int(n) for n in shape])
    if shape and min(shape) < 0:
        raise ValueError(f"negative size in {shape}")
    return shape


def empty(shape, dtype=None, order="C"):
    """Return an uninitialised array on the current device."""
    return empty_on(_shape(shape), _dtype(dtype))


def full(shape, value, dtype=None):
    """Return an array of one number."""
    if type(value) is CLArray:
        result = empty(shape, value.dtype if dtype is None else dtype)
        assign(result, value)
        return result
    dtype = np.dtype(dtype) if dtype is not None else np.asarray(value).dtype
    return constant(_shape(shape), ufuncs.number(value, dtype), dtype, runtime.device())


def zeros(shape, dtype=None, order="C"):
    """Return an array of zeros."""
    return full(shape, 0, _dtype(dtype))


def ones(shape, dtype=None):
    """Return an array of ones."""
    return full(shape, 1, _dtype(dtype))


def empty_like(a, dtype=None, order="K", subok=True, shape=None):
    """Return an uninitialised array of the shape of `a`, in its order of dimensions."""
    from minitorch.backends.opencl.pointwise import result_strides

    a.settle()
    result = empty_on(a.shape if shape is None else shape, a.dtype if dtype is None else dtype, a.device)
    if shape is None and order == "K":
        result.strides = result_strides(a.shape, [a], result.itemsize)
    return result


def zeros_like(a, dtype=None, order="K", subok=True, shape=None):
    """Return zeros of the shape of `a`, in its order of dimensions."""
    result = empty_like(a, dtype, order, shape=shape)
    result.fill(0)
    return result


def ones_like(a, dtype=None, order="K", subok=True, shape=None):
    """Return ones of the shape of `a`, in its order of dimensions."""
    result = empty_like(a, dtype, order, shape=shape)
    result.fill(1)
    return result


def full_like(a, value, dtype=None, order="K", subok=True, shape=None):
    """Return one number in the shape of `a`, in its order of dimensions."""
    result = empty_like(a, dtype, order, shape=shape)
    assign(result, value if type(value) is CLArray else ufuncs.typed(value, result.dtype, result.device))
    return result


def asarray(value, dtype=None, copy=None, order=None):
    """Return a value as an array on the current device; arrays of the device stay what they are."""
    if type(value) is CLArray:
        return value if dtype is None or value.dtype == dtype else cast(value, np.dtype(dtype))
    if isinstance(value, (list, tuple)) and any([type(v) is CLArray for v in value]):
        from minitorch.backends.opencl import indexing

        result = indexing.stack([asarray(v) for v in value])
        return result if dtype is None else cast(result, np.dtype(dtype))
    host = np.asarray(value, dtype)
    if host.ndim == 0:
        return constant((), ufuncs.number(host[()], host.dtype), host.dtype, runtime.device())
    return from_host(host)


def array(value, dtype=None, copy=True, order="K", ndmin=0):
    """Return a new array of a value's elements."""
    return asarray(value, dtype).copy() if type(value) is CLArray else asarray(value, dtype)


def ascontiguousarray(a, dtype=None):
    """Return an array in row-major order, copied only where it is not."""
    a = asarray(a, dtype)
    a.settle()
    return a if a.flags.c_contiguous else a.copy()


def transpose(a, axes=None):
    """Return a view with the axes in another order."""
    return a.transpose() if axes is None else a.transpose(axes)


def isposinf(a, out=None):
    """Return whether elements are positive infinity."""
    return ufuncs.UFUNCS["equal"](a, np.inf)


def isneginf(a, out=None):
    """Return whether elements are negative infinity."""
    return ufuncs.UFUNCS["equal"](a, -np.inf)


def angle(a):
    """Return the angle of complex elements."""
    return lazy("complex_angle", (a,), ufuncs._REAL[a.dtype], a.device)


def may_share_memory(a, b):
    """Return whether two arrays lie in one block."""
    return type(a) is CLArray and type(b) is CLArray and a._block is not None and a._block is b._block


def as_strided(a, shape=None, strides=None, subok=False, writeable=True):
    """Return an array over the same memory with other strides, in bytes; unchecked."""
    a.settle()
    return a.view_of(a.shape if shape is None else tuple(shape), a.strides if strides is None else tuple(strides), 0)


def ndarray(shape, dtype=float, buffer=None, offset=0, strides=None):
    """Return an array over the memory of `buffer`, as NumPy's constructor."""
    from minitorch.backends.opencl.array import contiguous_strides

    if buffer is None:
        return empty(shape, dtype)
    buffer.settle()
    dtype = np.dtype(dtype)
    strides = contiguous_strides(shape, dtype.itemsize) if strides is None else tuple(strides)
    return buffer.view_of(tuple(shape), strides, offset, dtype)


def broadcast_to(a, shape, subok=False):
    """Return a view of `a` in a larger shape; repeated axes have stride 0."""
    shape = _shape(shape)
    a = asarray(a)
    if a.shape == shape:
        return a
    node = a.node
    if node is not None and node.op == "constant":
        return constant(shape, node.args[0].value, a.dtype, a.device)
    skip = len(shape) - len(a.shape)
    if skip < 0 or any([n != 1 and n != m for n, m in zip(a.shape, shape[skip:], strict=True)]):
        raise ValueError(f"operands could not be broadcast together with remapped shapes {a.shape} and {shape}")
    a.settle()
    strides = [0] * skip + [
        0 if n == 1 and m != 1 else s for n, m, s in zip(a.shape, shape[skip:], a.strides, strict=True)
    ]
    return a.view_of(shape, tuple(strides), 0)


def broadcast_arrays(*arrays):
    """Return views of arrays in their common shape."""
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    return tuple([broadcast_to(a, shape) for a in arrays])


def moveaxis(a, source, destination):
    """Return a view with axes moved to other places."""
    ndim = a.ndim
    source = [s % ndim for s in (source if isinstance(source, (tuple, list)) else [source])]
    destination = [d % ndim for d in (destination if isinstance(destination, (tuple, list)) else [destination])]
    order = [n for n in range(ndim) if n not in source]
    for d, s in sorted(zip(destination, source, strict=True)):
        order.insert(d, s)
    return a.transpose(order) if ndim else a


def swapaxes(a, first, second):
    """Return a view with two axes exchanged."""
    return a.swapaxes(first, second)


def expand_dims(a, axis):
    """Return a view with new axes of length 1."""
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    ndim = a.ndim + len(axes)
    places = {x % ndim for x in axes}
    return a[tuple([None if i in places else slice(None) for i in range(ndim)])]


def vecdot(a, b, axis=-1):
    """Return sums of products along an axis; the first operand is conjugated."""
    from minitorch.backends.opencl import reductions

    return reductions.sum(ufuncs.UFUNCS["multiply"](a.conj(), b), axis=axis, dtype=np.result_type(a.dtype, b.dtype))


def einsum(subscripts, *operands):
    """Return a sum of products, as NumPy's ``einsum`` of explicit subscripts: a matrix product where it is one."""
    from minitorch.backends.opencl import reductions

    inputs, _, output = subscripts.replace(" ", "").partition("->")
    terms = inputs.split(",")
    free = max(
        [op.ndim - len(t.replace("...", "")) for t, op in zip(terms, operands, strict=True) if "..." in t], default=0
    )
    dots = "ABCDEFGH"[:free]
    terms = [
        t.replace("...", dots[free - (op.ndim - len(t.replace("...", ""))) :] if "..." in t else "")
        for t, op in zip(terms, operands, strict=True)
    ]
    output = output.replace("...", dots)
    letters = list(output) + [c for c in dict.fromkeys("".join(terms)) if c not in output]
    product = None
    for term, operand in zip(terms, operands, strict=True):
        while len(set(term)) < len(term):  # a diagonal
            repeated = next(c for c in term if term.count(c) > 1)
            i, j = [k for k, c in enumerate(term) if c == repeated][:2]
            operand.settle()
            keep = [k for k in range(len(term)) if k != j]
            strides = list(operand.strides)
            strides[i] += strides[j]
            operand = operand.view_of(tuple([operand.shape[k] for k in keep]), tuple([strides[k] for k in keep]), 0)
            term = "".join([term[k] for k in keep])
        order = [term.index(c) for c in letters if c in term]
        view = operand.transpose(order) if order != list(range(operand.ndim)) else operand
        view = view[tuple([slice(None) if c in term else None for c in letters])]
        product = view if product is None else ufuncs.UFUNCS["multiply"](product, view)
    summed = tuple(range(len(output), len(letters)))
    return reductions.sum(product, axis=summed, dtype=product.dtype) if summed else product


def _of_numbers_too(function, reference):
    """Return a function of arrays that leaves NumPy's scalars, which chains of numbers end in, to NumPy."""
    if reference is None:
        return function

    def called(a, *args, **kwargs):
        if isinstance(a, np.generic):
            return reference(a, *args, **kwargs)
        return function(a, *args, **kwargs)

    called.__name__, called.__doc__ = function.__name__, function.__doc__
    return called


class Namespace:
    """The namespace; functions of other modules are imported when they are first asked for."""

    __name__ = "minitorch.opencl.xp"
    ndarray = staticmethod(ndarray)

    def __getattr__(self, name):
        if not name.startswith("__"):
            for module in ("reductions", "indexing", "positions", "joining", "geometry", "access", "sorting", "linalg"):
                try:
                    found = getattr(import_module(_PACKAGE + module), name, None)
                except ModuleNotFoundError as error:
                    if error.name != _PACKAGE + module:
                        raise
                    continue
                if isinstance(found, types.FunctionType) and found.__module__.startswith(_PACKAGE):
                    found = _of_numbers_too(found, getattr(np, name, None))
                    setattr(self, name, found)
                    return found
        raise AttributeError(f"the OpenCL backend's array namespace has no {name!r}")


xp = Namespace()
for _name, _ufunc in ufuncs.UFUNCS.items():
    setattr(xp, _name, _ufunc)
for _function in (
    empty, full, zeros, ones, empty_like, zeros_like, ones_like, full_like, asarray, array, ascontiguousarray, transpose,
    isposinf, isneginf, angle, may_share_memory, broadcast_to, broadcast_arrays, moveaxis, swapaxes, expand_dims, vecdot,
    einsum,
):  # fmt: skip
    setattr(xp, _function.__name__, _function)
for _function in (ufuncs.where, ufuncs.clip, ufuncs.copyto, ufuncs.frexp, ufuncs.real, ufuncs.imag):
    setattr(xp, _function.__name__, _function)
for _name in (
    "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_",
    "complex64", "complex128", "dtype", "finfo", "iinfo", "inf", "nan", "pi", "newaxis", "broadcast_shapes", "ndindex",
    "promote_types", "result_type", "intp", "integer", "floating", "e",
):  # fmt: skip
    setattr(xp, _name, getattr(np, _name))
xp.bool = np.bool_  # type: ignore[attr-defined]
xp.linalg = HostFunctions(np.linalg)  # type: ignore[attr-defined]
xp.fft = HostFunctions(np.fft)  # type: ignore[attr-defined]
xp.lib = types.SimpleNamespace(stride_tricks=types.SimpleNamespace(as_strided=as_strided))  # type: ignore[attr-defined]
