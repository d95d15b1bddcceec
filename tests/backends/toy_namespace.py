"""A NumPy-like namespace of the toy device's arrays: what `bind_array_kernels` makes kernels of.

It lacks some of NumPy on purpose (`MISSING`): kernels that ask for it must find the way to the CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from toy_backend import ToyArray, ToyBackend

from minitorch.backends import bind_array_kernels, register_backend
from minitorch.backends.cpu.memory import NumpyMemory

MISSING = ("linalg", "fft", "lib", "einsum", "argsort", "sort")
_OPERATORS = (
    "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv", "mod", "pow", "rpow", "matmul", "neg", "abs",
    "invert", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "lshift", "rshift", "iadd", "isub", "imul", "itruediv",
    "getitem",
)


class ToyNDArray(ToyArray):
    """A handle that computes, with the methods of a NumPy array."""

    flags = property(lambda self: self._memory.flags)
    T = property(lambda self: from_host(self._memory.T))
    real = property(lambda self: from_host(self._memory.real), lambda self, value: self._set("real", value))
    imag = property(lambda self: from_host(self._memory.imag), lambda self, value: self._set("imag", value))
    __hash__ = object.__hash__
    __array_ufunc__ = None  # ``np.float64(2) * array`` asks the array

    def _set(self, name, value):
        setattr(self._memory, name, to_host(value))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return on_device(getattr(self._memory, name))

    def __setitem__(self, index, value):
        self._memory[to_host(index)] = to_host(value)

    def __len__(self):
        return len(self._memory)

    def __bool__(self):
        return bool(self._memory)

    def __int__(self):
        return int(self._memory)

    def __float__(self):
        return float(self._memory)


def from_host(value: Any) -> Any:
    """Return NumPy's arrays in a result as the device's."""
    if isinstance(value, (np.ndarray, np.generic)):
        return ToyNDArray(np.asarray(value))
    if type(value) in (tuple, list):
        return type(value)(map(from_host, value))
    return value


def to_host(value: Any) -> Any:
    """Return the device's arrays among arguments as NumPy's."""
    if isinstance(value, ToyArray):
        return value._memory
    if type(value) in (tuple, list):
        return type(value)(map(to_host, value))
    if isinstance(value, slice):
        return slice(to_host(value.start), to_host(value.stop), to_host(value.step))
    return value


def on_device(fn: Any) -> Any:
    """Return a function of NumPy's arrays as one of the device's."""

    def call(*args: Any, **kwargs: Any) -> Any:
        with np.errstate(all="ignore"):
            return from_host(fn(*to_host(args), **{name: to_host(value) for name, value in kwargs.items()}))

    return call


def _method(name: str) -> Any:
    operation = getattr(np.ndarray, f"__{name}__")

    def method(self, *args):
        with np.errstate(all="ignore"):
            result = operation(self._memory, *to_host(args))
        return self if result is self._memory else result if result is NotImplemented else from_host(result)

    return method


for _name in _OPERATORS:
    setattr(ToyNDArray, f"__{_name}__", _method(_name))


class _Ufunc:
    """A ufunc with its methods: ``xp.add.reduce``."""

    def __init__(self, ufunc: np.ufunc):
        self._ufunc = ufunc

    def __call__(self, *args, **kwargs):
        return on_device(self._ufunc)(*args, **kwargs)

    def __getattr__(self, name):
        value = getattr(self._ufunc, name)
        return on_device(value) if callable(value) else value


class ToyNamespace:
    """NumPy's functions, but for `MISSING`."""

    __name__ = "toy"

    def __getattr__(self, name: str) -> Any:
        if name in MISSING:
            raise AttributeError(f"the toy namespace has no {name}", name=name, obj=self)
        value = getattr(np, name)
        if isinstance(value, np.ufunc):
            return _Ufunc(value)
        if (isinstance(value, type) and issubclass(value, (np.generic, np.dtype))) or not callable(value):
            return value
        return on_device(value)


class NamespaceBackend(ToyBackend):
    """The toy device with arrays that compute."""

    array_type = ToyNDArray
    namespace = ToyNamespace()
    namespace_writes = True

    # Results of kernels are roots of storages, and may lie transposed.
    memory = NumpyMemory()

    def nbytes(self, root):
        return self.memory.nbytes(root._memory)

    def offset(self, root, handle):
        return self.memory.offset(root._memory, handle._memory)

    def strided(self, root, shape, strides, offset, dtype):
        return from_host(self.memory.strided(root._memory, shape, strides, offset, dtype))

    def allocate(self, nbytes):
        return from_host(super().allocate(nbytes)._memory)

    def from_host(self, array, index):
        return from_host(array.copy())

    def copy_(self, target, source):
        if target.dtype != source.dtype:
            return super().copy_(target, source)
        np.copyto(target._memory, source._memory)
        return None


def register_namespace_toy(name: str = "toy") -> NamespaceBackend:
    """Register the backend with the array kernels bound to its namespace."""
    backend = register_backend(name, NamespaceBackend())
    bind_array_kernels(backend)
    return backend
