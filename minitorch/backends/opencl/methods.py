"""Operators and methods of `CLArray`, as NumPy's arrays have them."""

from __future__ import annotations

import builtins

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.opencl import ufuncs
from minitorch.backends.opencl.array import CLArray, contiguous_strides
from minitorch.backends.opencl.ctypes import compute_type
from minitorch.backends.opencl.expression import Node, Scalar, is_waiting
from minitorch.backends.opencl.pointwise import assign, cast, copy
from minitorch.backends.opencl.ufuncs import UFUNCS, number


def _binary(name):
    function = UFUNCS[name]

    def method(self, other):
        if not isinstance(other, (CLArray, builtins.bool, int, float, complex, np.generic, np.ndarray)):
            return NotImplemented
        return function(self, other)

    def reflected(self, other):
        if not isinstance(other, (CLArray, builtins.bool, int, float, complex, np.generic, np.ndarray)):
            return NotImplemented
        return function(other, self)

    def inplace(self, other):
        return function(self, other, out=self)

    return method, reflected, inplace


for _sign, _name in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide", "mod": "remainder",
    "pow": "power", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "lshift": "left_shift",
    "rshift": "right_shift",
}.items():  # fmt: skip
    _plain, _reflected, _inplace = _binary(_name)
    setattr(CLArray, f"__{_sign}__", _plain)
    setattr(CLArray, f"__r{_sign}__", _reflected)
    setattr(CLArray, f"__i{_sign}__", _inplace)
for _sign, _name in {
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal",
}.items():  # fmt: skip
    setattr(CLArray, f"__{_sign}__", _binary(_name)[0])
CLArray.__hash__ = object.__hash__  # type: ignore[method-assign]
for _sign, _name in {"neg": "negative", "invert": "invert", "abs": "absolute", "pos": "positive"}.items():
    setattr(CLArray, f"__{_sign}__", lambda self, _f=UFUNCS[_name]: _f(self))


def method(fn):
    """Attach a function to `CLArray` under its own name."""
    setattr(CLArray, fn.__name__, fn)
    return fn


# ---------------------------------------------------------------- types and copies


@method
def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """Return the elements as `dtype`."""
    dtype = np.dtype(dtype)
    if dtype == self.dtype:
        return duplicate(self, order) if copy else self
    if order == "C" and self.node is None and not self.flags.c_contiguous:
        result = CLArray(None, 0, self.shape, contiguous_strides(self.shape, dtype.itemsize), dtype, self.device)
        compute_type(dtype), compute_type(self.dtype)
        assign(result, self)
        return result
    return cast(self, dtype)


def duplicate(array, order="K"):
    return copy(array, "C" if order == "C" else "K")


def _copy(self, order="C"):
    """Return a copy of its own memory."""
    return duplicate(self, order)


CLArray.copy = _copy  # type: ignore[attr-defined]


@method
def fill(self, value):
    """Write one number everywhere: a Python number, or the only element of an array of this device."""
    if 0 in self.strides and self.size > 1:  # elements that are one: written once
        once = tuple([slice(1) if step == 0 else slice(None) for step in self.strides])
        if any([n > 1 and step == 0 for n, step in zip(self.shape, self.strides, strict=True)]):
            self[once].fill(value)
            return
    if type(value) is CLArray:
        assign(self, value)
        return
    number_ = Scalar(number(self.dtype.type(value) if self.dtype.kind != "V" else float(value), self.dtype), self.dtype)
    if self._block is None and not (self.readers and any([is_waiting(r) for r in self.readers])):
        compute_type(self.dtype)
        self.node = Node("constant", (number_,), 1, 0)
        return
    assign(self, number_)


@method
def tolist(self):
    """Return the elements as nested lists of Python numbers."""
    return self.to_host().tolist()


@method
def item(self, *index):
    """Return the only element, or the one at an index, as a Python number."""
    if index:
        return self[tuple(index)].item()
    if self.size != 1:
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    return self.to_host().item()


@method
def tobytes(self):
    """Return the elements' bytes in row-major order."""
    return self.to_host().tobytes()


def _scalar(convert):
    return lambda self: convert(self.item())


CLArray.__bool__ = lambda self: builtins.bool(self.item())  # type: ignore[attr-defined]
CLArray.__int__ = _scalar(int)  # type: ignore[attr-defined]
CLArray.__float__ = _scalar(float)  # type: ignore[attr-defined]
CLArray.__complex__ = _scalar(complex)  # type: ignore[attr-defined]


def _index(self):
    value = self.item()
    if not isinstance(value, int):
        raise TypeError("only integer arrays of one element can be converted to an index")
    return value


CLArray.__index__ = _index  # type: ignore[attr-defined]


def _array(self, dtype=None, copy=None):
    raise TypeError("an array on an OpenCL device becomes a NumPy array by to_host() only")


CLArray.__array__ = _array  # type: ignore[attr-defined]


def _len(self):
    if not self.shape:
        raise TypeError("len() of unsized object")
    return self.shape[0]


CLArray.__len__ = _len  # type: ignore[attr-defined]
CLArray.__iter__ = lambda self: (self[i] for i in range(len(self)))  # type: ignore[attr-defined]
CLArray.__repr__ = lambda self: f"CLArray({self.to_host()!r}, device=opencl:{self.device.index})"  # type: ignore[method-assign]


# ---------------------------------------------------------------- views


@method
def transpose(self, *axes):
    """Return a view with the axes in another order; reversed by default."""
    if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)):
        axes = axes[0]
    ndim = len(self.shape)
    if not axes:
        if axes is not None and ndim == 0:
            return self.view_of((), (), 0)
        axes = range(ndim - 1, -1, -1)
    axes = [a + ndim if a < 0 else a for a in axes]
    if sorted(axes) != list(range(ndim)):
        raise ValueError("axes don't match array")
    self.settle()
    return self.view_of(tuple([self.shape[a] for a in axes]), tuple([self.strides[a] for a in axes]), 0)


CLArray.T = property(lambda self: transpose(self))  # type: ignore[attr-defined]
CLArray.mT = property(lambda self: swapaxes(self, -1, -2))  # type: ignore[attr-defined]


@method
def swapaxes(self, a, b):
    """Return a view with two axes exchanged."""
    axes = list(range(len(self.shape)))
    axes[a], axes[b] = axes[b], axes[a]
    return transpose(self, axes) if axes else self


def view_strides(shape, strides, itemsize, target):
    """Return the strides of an array seen with another shape, or None where that needs a copy."""
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result: list = []
    at = 0
    position = 0
    target = list(target)
    while at < len(target):
        if position >= len(old):
            if any([n != 1 for n in target[at:]]):
                return None
            result.extend([itemsize] * (len(target) - at))
            break
        # the smallest groups of old and new axes with the same number of elements
        olds, news = [old[position]], [target[at]]
        position += 1
        at += 1
        have, want = olds[0][0], news[0]
        while have != want:
            if have < want:
                if position >= len(old):
                    return None
                olds.append(old[position])
                have *= old[position][0]
                position += 1
            else:
                if at >= len(target):
                    return None
                news.append(target[at])
                want *= target[at]
                at += 1
        for (_, s), (n, t) in zip(olds, olds[1:], strict=False):
            if s != n * t:
                return None
        step = olds[-1][1]
        steps = []
        for n in reversed(news):
            steps.append(step)
            step *= n
        result.extend(reversed(steps))
    if position < len(old):
        return None
    return tuple(result)


@method
def reshape(self, *shape, order="C", copy=None):
    """Return the elements in another shape: a view where the strides allow, else a copy."""
    if len(shape) == 1 and not isinstance(shape[0], (int, np.integer)):
        shape = shape[0]
    shape = tuple([int(n) for n in shape])
    size = self.size
    if -1 in shape:
        known = 1
        for n in shape:
            if n != -1:
                known *= n
        if shape.count(-1) > 1 or known == 0 or size % known:
            raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
        shape = tuple([size // known if n == -1 else n for n in shape])
    count = 1
    for n in shape:
        count *= n
    if count != size or min(shape, default=0) < 0:
        raise ValueError(f"cannot reshape array of size {size} into shape {shape}")
    if order == "F":
        return transpose(reshape(transpose(self), shape[::-1]))
    self.settle()  # also of a constant: who writes to the view expects to change the array
    if size == 0:
        return self.view_of(shape, contiguous_strides(shape, self.itemsize), 0)
    strides = view_strides(self.shape, self.strides, self.itemsize, shape)
    if strides is None:
        dense = duplicate(self, "C")
        return dense.view_of(shape, contiguous_strides(shape, self.itemsize), 0)
    return self.view_of(shape, strides, 0)


@method
def ravel(self, order="C"):
    """Return the elements in one row: a view where the strides allow."""
    return reshape(self, -1) if self.size else reshape(self, 0)


@method
def flatten(self, order="C"):
    """Return a copy of the elements in one row."""
    return reshape(duplicate(self, "C"), self.size)


@method
def squeeze(self, axis=None):
    """Return a view without axes of length 1."""
    ndim = len(self.shape)
    if axis is None:
        drop = {a for a, n in enumerate(self.shape) if n == 1}
    else:
        axes = axis if isinstance(axis, (tuple, list)) else (axis,)
        drop = {a % ndim for a in axes}
        if any([self.shape[a] != 1 for a in drop]):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    self.settle()
    keep = [a for a in range(ndim) if a not in drop]
    return self.view_of(tuple([self.shape[a] for a in keep]), tuple([self.strides[a] for a in keep]), 0)


@method
def view(self, dtype=None):
    """Return the same bytes as another type."""
    self.settle()
    if dtype is None:
        return self.view_of(self.shape, self.strides, 0)
    dtype = np.dtype(dtype)
    old, new = self.itemsize, dtype.itemsize
    if old == new:
        return self.view_of(self.shape, self.strides, 0, dtype)
    if not self.shape or (self.strides[-1] != old and self.shape[-1] != 1):
        raise ValueError("To change to a dtype of a different size, the last axis must be contiguous")
    length = self.shape[-1] * old
    if length % new:
        raise ValueError("When changing to a larger dtype, its size must be a divisor of the total size in bytes")
    return self.view_of((*self.shape[:-1], length // new), (*self.strides[:-1], new), 0, dtype)


CLArray.real = property(ufuncs.real, lambda self, value: ufuncs.copyto(ufuncs.real(self), value, "unsafe"))  # type: ignore[attr-defined]
CLArray.imag = property(ufuncs.imag, lambda self, value: ufuncs.copyto(ufuncs.imag(self), value, "unsafe"))  # type: ignore[attr-defined]
CLArray.base = property(lambda self: self._block if self.is_view else None)  # type: ignore[attr-defined]


@method
def conj(self):
    """Return the complex conjugate."""
    return UFUNCS["conjugate"](self) if self.dtype.kind == "c" else self


CLArray.conjugate = conj  # type: ignore[attr-defined]

# ---------------------------------------------------------------- indexing


def is_basic(key) -> builtins.bool:
    """Return whether an index makes a view: integers, slices, None and Ellipsis."""
    for k in key:
        if k is None or k is Ellipsis or isinstance(k, slice):
            continue
        if isinstance(k, (int, np.integer)) and not isinstance(k, builtins.bool):
            continue
        return False
    return True


def basic_view(self, key: tuple) -> CLArray:
    """Return the view that a basic index makes.

    Raises
    ------
    IndexError
    """
    ndim = len(self.shape)
    used = sum([k is not None and k is not Ellipsis for k in key])
    if used > ndim:
        raise IndexError(f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed")
    self.settle()
    shape: list = []
    strides: list = []
    offset = 0
    axis = 0
    seen = False
    for k in key:
        if k is None:
            shape.append(1)
            strides.append(0)
        elif k is Ellipsis:
            if seen:
                raise IndexError("an index can only have a single ellipsis ('...')")
            seen = True
            more = ndim - used
            shape.extend(self.shape[axis : axis + more])
            strides.extend(self.strides[axis : axis + more])
            axis += more
        elif isinstance(k, slice):
            start, stop, step = k.indices(self.shape[axis])
            n = len(range(start, stop, step))
            if n:
                offset += start * self.strides[axis]
            shape.append(n)
            strides.append(step * self.strides[axis])
            axis += 1
        else:
            n = self.shape[axis]
            i = int(k)
            if not -n <= i < n:
                raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
            offset += (i + n if i < 0 else i) * self.strides[axis]
            axis += 1
    shape.extend(self.shape[axis:])
    strides.extend(self.strides[axis:])
    return self.view_of(tuple(shape), tuple(strides), offset if 0 not in shape else 0)


def _getitem(self, key):
    key = key if type(key) is tuple else (key,)
    if is_basic(key):
        return basic_view(self, key)
    from minitorch.backends.opencl import indexing

    return indexing.get_items(self, key)


def _setitem(self, key, value):
    key = key if type(key) is tuple else (key,)
    if is_basic(key):
        whole = all([k is Ellipsis or (isinstance(k, slice) and k == slice(None)) for k in key])
        target = self if whole else basic_view(self, key)
        if type(value) is CLArray and len(value.shape) > len(target.shape):
            while len(value.shape) > len(target.shape) and value.shape[0] == 1:
                value = value[0]
        elif isinstance(value, (list, tuple)):
            value = np.asarray(value)
        ufuncs.copyto(target, value, "unsafe")
        return
    from minitorch.backends.opencl import indexing

    indexing.set_items(self, key, value)


CLArray.__getitem__ = _getitem  # type: ignore[attr-defined]
CLArray.__setitem__ = _setitem  # type: ignore[attr-defined]


# ---------------------------------------------------------------- what other modules compute


def _forward(name, module, function=None):
    function = function or name

    def forwarded(self, *args, **kwargs):
        import importlib

        found = getattr(importlib.import_module("minitorch.backends.opencl." + module), function, None)
        if found is None:
            raise NoKernel(f"arrays on OpenCL devices have no method {name}")
        return found(self, *args, **kwargs)

    forwarded.__name__ = name
    setattr(CLArray, name, forwarded)


for _name in ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin", "cumsum", "cumprod"):
    _forward(_name, "reductions")
for _name in ("take", "nonzero", "repeat", "diagonal"):
    _forward(_name, "indexing")
_forward("argsort", "sorting")
_forward("argpartition", "sorting")
_forward("__matmul__", "linalg", "matmul")
_forward("dot", "linalg", "dot")
_forward("trace", "linalg", "trace")


@method
def sort(self, axis=-1, kind=None, order=None, stable=None):
    """Sort in place."""
    from minitorch.backends.opencl import sorting

    assign(self, sorting.sort(self, axis))


@method
def clip(self, min=None, max=None, out=None):
    """Return the elements limited to an interval."""
    return ufuncs.clip(self, min, max, out)


class _Flat:
    """The elements in row-major order, to be read and written by position."""

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    def __getitem__(self, key):
        return self.array.ravel()[key]

    def __setitem__(self, key, value):
        flat = self.array.ravel()
        flat[key] = value
        if flat.block is not self.array.block:
            assign(self.array, flat.reshape(self.array.shape))


CLArray.flat = property(_Flat)  # type: ignore[attr-defined]
