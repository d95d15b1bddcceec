"""Kernels from the sources in ``kernels/``: compiled for the types of a call, kept, launched.

Note [Sources]
    A source is plain CUDA C++ without includes, after ``prelude.cuh``.  Macros say what it is compiled for: ``T`` and further
    storage types, and ``A``, the type that they are computed in (double for double, else float).  Nothing in a source
    is out of reach of the C++ compiler of a machine without a GPU, where the tests run it (``tests/backends/cuda/shim.py``).
"""

from __future__ import annotations

from functools import cache
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.cuda.library import library

KERNELS = Path(__file__).parent / "kernels"
OPTIONS = ("-std=c++17",)
THREADS = 256
GRID = 1 << 20  # blocks of a launch at most; what is left they take in turn
_STORAGE = {
    "float32": "float", "float64": "double", "float16": "half_t", "bfloat16": "bfloat16_t", "int64": "i64", "int32": "int",
    "uint8": "unsigned char", "int8": "signed char", "int16": "short", "bool": "bool", "uint32": "unsigned",
}  # fmt: skip
# What the sources are compiled for by the checks without a GPU; each override takes some of these.
FLOATS = ("float32", "float64", "float16", "bfloat16")


@cache
def text(name: str) -> str:
    """Return a file of ``kernels/``."""
    return (KERNELS / name).read_text(encoding="utf-8")


def names() -> list[str]:
    """Return the sources, without their suffix."""
    return sorted(path.stem for path in KERNELS.glob("*.cu"))


def source(name: str, types: dict[str, str]) -> str:
    """Return a source with its types, as NVRTC gets it.

    Parameters
    ----------
    types : dict of str to str
        Macro -> name of a NumPy type; ``A`` follows from ``T``.
    """
    wide = "double" if types.get("T") == "float64" else "float"
    macros = {"A": wide, **{macro: _STORAGE[kind] for macro, kind in types.items()}}
    typed = "".join(f"#define {macro} {kind}\n" for macro, kind in macros.items())
    return f"{text('prelude.cuh')}\n{typed}{text('reduce.cuh')}\n{text('philox.cuh')}\n{text(name + '.cu')}"


_modules: dict[tuple, Any] = {}


def kernel(name: str, function: str, **types: Any) -> Any:
    """Return a kernel of a source, compiled for NumPy dtypes by macro name."""
    key = (name, function, *[(macro, dtype.num, dtype.char) for macro, dtype in types.items()])
    found = _modules.get(key)
    if found is None:
        whole = ("module", name, *key[2:])
        module = _modules.get(whole)
        if module is None:
            spelled = {macro: type_name(dtype) for macro, dtype in types.items()}
            module = _modules[whole] = library().RawModule(code=source(name, spelled), options=OPTIONS)
        found = _modules[key] = module.get_function(function)
    return found


def type_name(dtype: np.dtype) -> str:
    """Return the name of a type that sources can be compiled for.

    Raises
    ------
    NoKernel
        For others.
    """
    name = np.dtype(dtype).name
    if name not in _STORAGE:
        raise NoKernel(f"no CUDA source is written for {name}")
    return name


def floating(first: Any, *others: Any) -> None:
    """Refuse operands that are not all of one floating type; None is none.

    Raises
    ------
    NoKernel
        The kernel for any array library takes them.
    """
    if first.dtype.name not in FLOATS:
        raise NoKernel(f"no CUDA source is written for {first.dtype.name}")
    for array in others:
        if array is not None and array.dtype != first.dtype:
            raise NoKernel("operands of several types")


def wide(dtype: np.dtype) -> np.dtype:
    """Return what a type is computed in."""
    return np.dtype(np.float64 if dtype == np.float64 else np.float32)


def rows(array: Any) -> Any:
    """Return an array in row-major order."""
    return array if array.flags.c_contiguous else library().ascontiguousarray(array)


def launch(function: Any, blocks: int, threads: int, *args: Any) -> None:
    """Launch a kernel; Python's integers become ``i64``, its floats ``double``, booleans ``int``, None a null pointer."""
    function((blocks,), (threads,), tuple([_argument(a) for a in args]))


def over(function: Any, count: int, *args: Any) -> None:
    """Launch a kernel over `count` elements, one a thread."""
    if count:
        launch(function, min(-(-count // THREADS), GRID), THREADS, *args)


def block_for(n: int) -> int:
    """Return the threads of a block that walks rows of `n` elements."""
    threads = 32
    while threads < n and threads < 512:
        threads *= 2
    return threads


def _argument(value: Any) -> Any:
    kind = type(value)
    if kind is int:
        return np.int64(value)
    if kind is float:
        return np.float64(value)
    if kind is bool:
        return np.int32(value)
    return np.uint64(0) if value is None else value


def empty(shape: tuple, dtype: Any) -> Any:
    """Return a new row-major array, uninitialised."""
    return library().empty(shape, dtype)


def outer_inner(shape: tuple, dim: int) -> tuple[int, int, int]:
    """Return (elements before, along, after) a dimension."""
    if not -max(len(shape), 1) <= dim < max(len(shape), 1):
        raise NoKernel(f"there is no dimension {dim}")
    if not shape:
        return 1, 1, 1
    dim %= len(shape)
    return prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])
