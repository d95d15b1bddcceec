"""Binds the array kernels to NumPy and registers them for the CPU key."""

from __future__ import annotations

from functools import partial

import numpy as np

from minitorch.backends import storage_kernels
from minitorch.backends.array import binding, registry
from minitorch.backends.cpu import small, sparse
from minitorch.backends.cpu.allocator import keep_freed_memory
from minitorch.backends.cpu.fast import table
from minitorch.backends.cpu.memory import NumpyMemory
from minitorch.dispatch.local_state import on_thread_start
from minitorch.dispatch.operator import OPERATORS
from minitorch.dispatch.tensor_keys import tensor_keys
from minitorch.ops.families import load_families
from minitorch.ops.registry import DECLARATIONS
from minitorch.tensor.memory import register_memory

CPU_KEYS = tensor_keys("Dense", "CPU")

_KINDS = {
    "f": ("float32", "float64"),
    "i": ("int8", "int16", "int32", "int64"),
    "u": ("uint8", "uint16", "uint32", "uint64"),
    "c": ("complex64", "complex128"),
    "b": ("bool",),
}


def fast_dtypes(kinds: str) -> dict:
    """Return the NumPy dtypes of the given kinds, as keys."""
    return {np.dtype(name): True for kind in kinds for name in _KINDS[kind]}


def _silence_warnings() -> None:
    # PyTorch says nothing of a division by zero; NumPy's warnings cost and would surprise.
    np.seterr(all="ignore")


def register() -> None:
    """Register memory and kernels of the CPU backend."""
    keep_freed_memory()
    register_memory("CPU", NumpyMemory())
    on_thread_start(_silence_warnings)
    load_families("minitorch.backends.array")
    storage_kernels.register("CPU")
    fast = {}
    for name, fn in registry.ARRAY_KERNELS.items():
        op = OPERATORS["aten::" + name]
        declaration = DECLARATIONS[name]
        if declaration.kind == "inplace" and declaration.functional in registry.DIRECT_UFUNCS:
            continue  # below
        if name in registry.DIRECT_UFUNCS:
            make, kinds = registry.DIRECT_UFUNCS[name]
            if kinds not in fast:
                fast[kinds] = fast_dtypes(kinds)
            kernel = binding.PointwiseKernel(fn, np, np.ndarray, CPU_KEYS, make(np), fast[kinds])
        elif declaration.kind == "inplace":
            kernel = binding.WritingKernel(fn, np, np.ndarray, CPU_KEYS)
        else:
            kernel = binding.ArrayKernel(fn, np, np.ndarray, CPU_KEYS)
        op.register("CPU", kernel)
    for name, fn in registry.VIEW_KERNELS.items():
        OPERATORS["aten::" + name].register("CPU", binding.ViewArrayKernel(fn, np, np.ndarray, CPU_KEYS))
    for name, declaration in DECLARATIONS.items():
        if declaration.kind == "inplace" and declaration.functional in registry.DIRECT_UFUNCS:
            make, kinds = registry.DIRECT_UFUNCS[declaration.functional]
            ufunc = make(np)
            if not keeps_dtype(ufunc):
                continue
            # What the ufunc itself may write; else its result is copied.
            direct = {} if ufunc is np.negative and not negates_strided() else fast[kinds]
            fn = registry.ARRAY_KERNELS.get(name) or registry.ARRAY_KERNELS[declaration.functional]
            kernel = binding.InplacePointwiseKernel(fn, np, np.ndarray, CPU_KEYS, ufunc, direct)
            OPERATORS["aten::" + name].register("CPU", kernel)
    small.register()
    sparse.register(CPU_KEYS)
    register_fast()


def register_fast() -> None:
    """Put the kernels for large arrays in front of those that have one, where this installation has them."""
    from minitorch.backends.cpu.large import LargeKernel

    minimum = table.minimum()
    for name in table.available():
        position = table.FAST_KERNELS[name][1]
        op = OPERATORS["aten::" + name]
        kernel = op.active("CPU")
        op.unregister("CPU", kernel)
        if hasattr(kernel.loop, "limit"):
            kernel.loop.limit = min(kernel.loop.limit, minimum - 1)  # larger operands are for the other form
        writes = DECLARATIONS[name].kind == "inplace"
        op.register("CPU", LargeKernel(kernel, partial(table.find, name), position, minimum, writes))


def negates_strided() -> bool:
    """Return whether NumPy negates into strided arrays as it should.

    NumPy 2.4.6 reads neighbours in memory instead, where the step is 16 or 32 bytes.
    """
    numbers = np.arange(1.0, 13.0, dtype=np.float32)
    np.negative(numbers[::4], numbers[::4])
    return numbers[4] == -5.0


def keeps_dtype(ufunc) -> bool:
    """Return whether a ufunc's result has the dtype of its operands (comparisons' do not)."""
    types = getattr(ufunc, "types", None)
    if types is None:
        return False
    return any(t in ("d->d", "dd->d", "l->l", "ll->l") for t in types)


