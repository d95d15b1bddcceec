"""CuPy, as the array kernels want it: NumPy's names and meanings where CuPy's differ.

Note [What CuPy lacks]
    ``ufunc.reduce`` and ``accumulate`` of anything but add and multiply, ``at`` on 8-, 16- and 64-bit integers, ``vecdot``,
    arrays that are read-only, and a class ``ndarray`` that takes a buffer.  What is not here either raises
    `AttributeError` or `NoKernel`, and the CPU computes it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda.library import library


class Ufunc:
    """A ufunc of CuPy with the methods that NumPy's has.

    Attributes
    ----------
    eager : callable
        CuPy's own: what is called where nothing but the call is wanted.
    """

    def __init__(self, name: str, reduction: Callable | None = None):
        self.name = name
        self.eager = getattr(library(), name)
        self.reduction = reduction

    def __call__(self, *operands: Any, **keywords: Any) -> Any:
        return self.eager(*operands, **keywords)

    @property
    def types(self) -> Any:
        return self.eager.types

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        """Combine the elements along dimensions."""
        if self.reduction is None:
            return self._fold(array, axis, keepdims)
        keywords = {} if dtype is None else {"dtype": dtype}
        return self.reduction(array, axis=axis, out=out, keepdims=keepdims, **keywords)

    def _fold(self, array: Any, axis: Any, keepdims: bool) -> Any:
        """Reduce by halves: log2(n) calls, for operations that CuPy has no reduction of."""
        axes = range(array.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
        for d in axes:
            d %= array.ndim
            if not array.shape[d]:
                raise NoKernel(f"{self.name} of no elements")
            while array.shape[d] > 1:
                n = array.shape[d]
                half, lead = n // 2, (slice(None),) * d
                folded = self.eager(array[(*lead, slice(0, half))], array[(*lead, slice(half, 2 * half))])
                if n % 2:
                    first = (*lead, slice(0, 1))
                    folded[first] = self.eager(folded[first], array[(*lead, slice(n - 1, n))])
                array = folded
        if keepdims:
            return array.copy()
        kept = [n for d, n in enumerate(array.shape) if d not in {d % array.ndim for d in axes}]
        return array.reshape(kept).copy()

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        """Combine each element with all before it, in log2(n) passes (Hillis and Steele 1986)."""
        if self.name in ("add", "multiply"):
            return self.eager.accumulate(array, axis, dtype, out)
        result = array.astype(array.dtype if dtype is None else dtype)
        lead, step = (slice(None),) * (axis % max(array.ndim, 1)), 1
        while step < array.shape[axis]:
            moved = result.copy()
            later, earlier = (*lead, slice(step, None)), (*lead, slice(None, -step))
            moved[later] = self.eager(result[later], result[earlier])
            result, step = moved, 2 * step
        if out is not None:
            out[...] = result
            return out
        return result

    def at(self, array: Any, indices: Any, values: Any = None) -> None:
        """Combine elements with values in place, one after another where places repeat."""
        if self.name not in ("add", "maximum", "minimum"):
            raise NoKernel(f"CuPy has no {self.name}.at")
        dtype = array.dtype
        values = library().asarray(values, dtype=dtype)
        if dtype.kind in "iub" and dtype.itemsize < 4:
            wide = array.astype(np.int32)
            self.eager.at(wide, indices, values.astype(np.int32))
            array[...] = wide.astype(dtype)
        elif dtype == np.int64:
            # Sums of two's complement are those of unsigned integers; their order is, with the sign bit turned.
            turned = np.uint64(0 if self.name == "add" else 1 << 63)
            bits = array.view(np.uint64) ^ turned
            self.eager.at(bits, indices, values.view(np.uint64) ^ turned)
            array[...] = (bits ^ turned).view(np.int64)
        elif dtype.kind in "fc" and dtype.itemsize < 4 and self.name != "add":
            wide = array.astype(np.float32)
            self.eager.at(wide, indices, values.astype(np.float32))
            array[...] = wide.astype(dtype)
        elif dtype.kind == "c" and self.name != "add":
            raise NoKernel(f"complex numbers have no {self.name}")
        else:
            self.eager.at(array, indices, values)

    def outer(self, a: Any, b: Any) -> Any:
        """Combine all pairs."""
        return self.eager(a.reshape(a.shape + (1,) * b.ndim), b)


def _vecdot(a: Any, b: Any, axis: int = -1) -> Any:
    cupy = library()
    a = a.conj() if a.dtype.kind == "c" else a
    if axis not in (-1, max(a.ndim, b.ndim) - 1):
        a, b = cupy.moveaxis(a, axis, -1), cupy.moveaxis(b, axis, -1)
    return cupy.matmul(a[..., None, :], b[..., :, None])[..., 0, 0]


def _ndarray(shape: Any, dtype: Any = float, buffer: Any = None, offset: int = 0, strides: Any = None) -> Any:
    """Return an array as NumPy's class makes it: over the memory of another one."""
    cupy = library()
    return cupy.ndarray(shape, dtype) if buffer is None else cupy.ndarray(shape, dtype, buffer.data + offset, strides)


class CudaNamespace(ModuleType):
    """The namespace: functions of its own first, then CuPy's.

    Note [Constants of several devices]
        Array kernels keep constants by namespace, and an array is of one device: so in a dictionary the namespace is
        another key for each current device.
    """

    def __init__(self) -> None:
        super().__init__("minitorch.backends.cuda.namespace.xp", "CuPy with NumPy's meanings.")
        cupy = library()
        self.vecdot = _vecdot
        self.ndarray = _ndarray
        self.default_generator: Any = None  # the backend's, once it is registered
        sums = {"add": cupy.sum, "multiply": cupy.prod, "maximum": cupy.amax, "minimum": cupy.amin,
                "logical_and": cupy.all, "logical_or": cupy.any}  # fmt: skip
        for name in (*sums, "subtract", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "logaddexp"):
            setattr(self, name, Ufunc(name, sums.get(name)))

    def __hash__(self) -> int:
        return hash((id(self), library().cuda.runtime.getDevice()))

    def __eq__(self, other: object) -> bool:
        return self is other

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = getattr(library(), name, None)
        if found is None:
            raise AttributeError(f"CuPy has no {name!r}", name=name, obj=self)
        setattr(self, name, found)  # the next time it is found without a call
        return found


def namespace() -> CudaNamespace:
    """Return a new namespace."""
    return CudaNamespace()
