"""``cupy.ndarray``, and the calls between its arrays and NumPy's functions."""

from __future__ import annotations

import numpy as np

from strict_cupy import arrays
from strict_cupy.arrays import Device, Flags, MemoryPointer

_METHODS = {
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "compress", "conj", "conjugate", "cumprod",
    "cumsum", "diagonal", "dot", "flatten", "max", "mean", "min", "nonzero", "prod", "ptp", "ravel", "repeat", "reshape",
    "round", "searchsorted", "squeeze", "std", "sum", "swapaxes", "take", "trace", "transpose", "var", "view",
}  # fmt: skip


class ndarray:
    """An array on the stand-in's device."""

    __array_priority__ = 100
    __slots__ = ("__weakref__", "_a", "_index")
    __hash__ = None

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        dtype = arrays.check_dtype(dtype)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if memptr is None:
            if strides is not None:
                raise ValueError("strides need memory")
            self._a, self._index = arrays.allocate(shape, dtype, order), arrays.current()
        else:
            if strides is None:
                strides = (
                    np.ndarray(shape, dtype, np.empty(0, np.uint8).data, 0).strides
                    if 0 in shape
                    else _strides(shape, dtype)
                )
            self._a, self._index = arrays.show(memptr, shape, dtype, tuple(strides)), memptr.device_id

    # ------------------------------------------------------------ what it is

    shape = property(lambda self: self._a.shape)
    strides = property(lambda self: self._a.strides)
    dtype = property(lambda self: self._a.dtype)
    ndim = property(lambda self: self._a.ndim)
    size = property(lambda self: self._a.size)
    itemsize = property(lambda self: self._a.itemsize)
    nbytes = property(lambda self: self._a.nbytes)
    flags = property(lambda self: Flags(self._a.flags))
    device = property(lambda self: Device(self._index))
    T = property(lambda self: wrap(self._a.T, self._index))
    real = property(
        lambda self: wrap(self._a.real, self._index), lambda self, v: self._a.real.__setitem__(..., plain(v))
    )
    imag = property(
        lambda self: wrap(self._a.imag, self._index), lambda self, v: self._a.imag.__setitem__(..., plain(v))
    )

    @property
    def base(self):
        return None if self._a.base is None or isinstance(self._a.base, (bytes, memoryview)) else self

    @property
    def data(self):
        return MemoryPointer(arrays.owner_of(self._a), self._a.__array_interface__["data"][0], self._index)

    @property
    def __cuda_array_interface__(self):
        typestr = self._a.dtype.str
        return {"shape": self.shape, "typestr": typestr, "data": (self.data.ptr, False), "version": 3,
                "strides": None if self._a.flags.c_contiguous else self.strides, "stream": 1}  # fmt: skip

    def __dlpack_device__(self):
        return 2, self._index

    def __dlpack__(self, stream=None, max_version=None, dl_device=None, copy=None):
        raise NotImplementedError("the stand-in has no capsules")

    # ------------------------------------------------------------ to the host

    def __array__(self, *args, **kwargs):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct a NumPy array explicitly."
        )

    def get(self, stream=None, order="C", out=None, blocking=True):
        return self._a.copy(order)

    def set(self, arr, stream=None):
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        if arr.dtype != self.dtype or arr.shape != self.shape:
            raise (TypeError if arr.dtype != self.dtype else ValueError)("an array of another type or shape")
        self._a[...] = arr

    def item(self, *args):
        return self._a.item(*args)

    def tolist(self):
        return self._a.tolist()

    def __bool__(self):
        return bool(self._a)

    def __int__(self):
        return int(self._a)

    def __index__(self):
        raise TypeError("only integer scalar arrays can be converted to a scalar index")

    def __float__(self):
        return float(self._a)

    def __complex__(self):
        return complex(self._a)

    def __len__(self):
        return len(self._a)

    def __iter__(self):
        return iter([wrap(self._a[i], self._index) for i in range(len(self._a))])

    # ------------------------------------------------------------ elements

    def __getitem__(self, index):
        index = plain_index(index)
        try:
            return wrap(self._a[index], self._index)
        except IndexError as error:
            return wrap(self._a[wrapped(index, self._a.shape, error)], self._index)

    def __setitem__(self, index, value):
        if isinstance(value, (list, tuple)):
            raise TypeError("CuPy does not take sequences for values")
        with np.errstate(all="ignore"):
            index, value = plain_index(index), plain(value)
            try:
                self._a[index] = value
            except IndexError as error:
                self._a[wrapped(index, self._a.shape, error)] = value

    # ------------------------------------------------------------ methods

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True):
        with np.errstate(all="ignore"):
            return (
                self
                if not copy and self.dtype == dtype
                else wrap(self._a.astype(arrays.check_dtype(dtype), order), self._index)
            )

    def copy(self, order="C"):
        return wrap(self._a.copy(order), self._index)

    def fill(self, value):
        self._a.fill(plain(value))

    def sort(self, axis=-1, kind=None):
        _check_kind(kind)
        self._a.sort(axis)

    def partition(self, kth, axis=-1):
        self._a.sort(axis)  # as CuPy does

    def put(self, indices, values, mode="wrap"):
        self._a.put(plain(indices), plain(values), mode="wrap")

    def __getattr__(self, name):
        if name not in _METHODS:
            raise AttributeError(f"'cupy.ndarray' object has no attribute {name!r}", name=name, obj=self)
        method = getattr(self._a, name)

        def run(*args, **kwargs):
            if name in ("argsort",):
                _check_kind(kwargs.get("kind"))
            return call(method, args, kwargs)

        return run

    def __copy__(self):
        return self.copy()

    def __repr__(self):
        return f"strict_cupy.{self._a!r}"


def _strides(shape, dtype):
    found, step = [], dtype.itemsize
    for n in reversed(shape):
        found.append(step)
        step *= n
    return tuple(reversed(found))


def _check_kind(kind):
    if kind not in (None, "stable"):
        raise ValueError(f"CuPy sorts stably, and not as {kind!r}")


def wrap(value, index=None):
    """Return a result: arrays and NumPy's scalars as device arrays."""
    if isinstance(value, (np.ndarray, np.generic)):
        made = ndarray.__new__(ndarray)
        made._a = np.asarray(value)
        made._index = arrays.current() if index is None else index
        return made
    if type(value) in (tuple, list):
        return type(value)([wrap(v, index) for v in value])
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[wrap(v, index) for v in value])
    return value


def plain(value):
    """Return an operand for NumPy.

    Raises
    ------
    TypeError
        If it is, or contains, an array of NumPy.
    """
    if isinstance(value, ndarray):
        return value._a
    if type(value) in (tuple, list):
        return type(value)([plain(v) for v in value])
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {type(value)}")
    return value


def plain_index(index):
    if isinstance(index, tuple):
        return tuple([plain_index(i) for i in index])
    return index._a if isinstance(index, ndarray) else index


def wrapped(index, shape, error):
    """Return an index with positions beyond the ends wrapped around, as CuPy has them."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if not any(isinstance(p, np.ndarray) and p.dtype.kind in "iu" for p in parts) or 0 in shape:
        raise error
    if any(p is None or (isinstance(p, np.ndarray) and p.dtype.kind == "b") for p in parts) or Ellipsis in [
        p for p in parts if not isinstance(p, np.ndarray)
    ]:
        raise error
    return tuple([p % shape[d] if isinstance(p, np.ndarray) else p for d, p in enumerate(parts)])


def devices_of(values):
    found = set()
    for v in values:
        if isinstance(v, ndarray):
            found.add(v._index)
        elif type(v) in (tuple, list):
            found |= devices_of(v)
    return found


def call(function, args, kwargs):
    """Call a function of NumPy on device arrays; one that writes returns the array it was given."""
    on = devices_of((*args, *kwargs.values()))
    if len(on) > 1:
        raise ValueError(f"Array device must be same as the current device: arrays of devices {sorted(on)}")
    out = kwargs.get("out")
    with np.errstate(all="ignore"):
        result = function(*[plain(a) for a in args], **{k: plain(v) for k, v in kwargs.items()})
    if isinstance(out, ndarray):
        return out
    return wrap(result, on.pop() if on else None)


def _operator(name):
    method = getattr(np.ndarray, name)

    def run(self, *others):
        for other in others:
            if isinstance(other, np.ndarray):
                raise TypeError(f"Unsupported type {type(other)}")
            if other is not None and not isinstance(other, (ndarray, np.generic, bool, int, float, complex)):
                return NotImplemented
        in_place = name.startswith("__i") and name not in ("__invert__",)
        with np.errstate(all="ignore"):
            result = method(self._a, *[plain(o) for o in others])
            if in_place:
                self._a = result if result is self._a else self._a
                return self
        return NotImplemented if result is NotImplemented else wrap(result, self._index)

    return run


for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "radd",
    "rsub",
    "rmul",
    "rtruediv",
    "rfloordiv",
    "rmod",
    "rpow",
    "rmatmul",
    "rand",
    "ror",
    "rxor",
    "rlshift",
    "rrshift",
    "iadd",
    "isub",
    "imul",
    "itruediv",
    "ifloordiv",
    "imod",
    "ipow",
    "iand",
    "ior",
    "ixor",
    "ilshift",
    "irshift",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "neg",
    "pos",
    "invert",
    "abs",
    "divmod",
]:
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
