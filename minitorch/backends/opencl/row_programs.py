"""Programs over rows: a few loops over each row of an array, of which some add up and some write.

Softmax, normalizations and their derivatives are of this shape.  A program is written once, as a
list of `Loop` and `Let`; `run` makes a kernel of it for rows whose elements are neighbours (a work-item
for each on a CPU, in vectors of 16; a group for each on a GPU), or for rows that stand side by
side (16 of them for a work-item on a CPU, one on a GPU).
"""

from __future__ import annotations

import re

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray
from minitorch.backends.opencl.axes import wide_type
from minitorch.backends.opencl.ctypes import (
    BFLOAT16,
    BFLOAT_SOURCE,
    INT32,
    INT64,
    compute_type,
    load,
    storage_type,
    store,
    vector,
)
from minitorch.backends.opencl.pointwise import copy
from minitorch.backends.opencl.reduction_kernels import GROUP, WIDTH, combine, fold, identity

_LEVEL = 4096  # elements added up before they are added to what came before

FULL = "full"  # one element for each of the array
ALONG = "along"  # one for each place of a row, the same for all rows
ROW = "row"  # one for each row
ONE = "one"  # a single number


class Loop:
    """A walk along the row.

    Parameters
    ----------
    lets : dict of str to str
        Names for expressions, of this loop.
    store : dict of str to str
        What is written to arrays at each place.
    **reductions : dict of str to str
        For an operation (``add``, ``maximum``), the names of its results, known afterwards, and what is
        reduced.

    Notes
    -----
    In expressions ``$x`` stands for the element of array ``x``, ``T`` for the type that is computed in.
    """

    def __init__(self, lets=None, store=None, **reductions):
        self.lets = lets or {}
        self.store = store or {}
        self.reductions = [(op, name, text) for op, row in reductions.items() for name, text in row.items()]


class Let:
    """A value of the whole row, kept under a name or written to an array of kind `ROW`."""

    def __init__(self, name: str, text: str, stored: bool = False):
        self.name = name
        self.text = text
        self.stored = stored


def contiguous(array: CLArray) -> CLArray:
    """Return the array, in a row-major copy unless it is row-major already."""
    array.settle()
    return array if array.flags.c_contiguous else copy(array)


def run(name, program, arrays, numbers, dtype, outer, n, inner, device) -> None:
    """Run a program over the rows of arrays.

    Parameters
    ----------
    name : str
        Names the program; the same name must always come with the same program.
    arrays : dict
        (kind, row-major array, whether it is written) for each array of the program; one may be None.
    numbers : dict
        Python numbers for names of the program.
    dtype : numpy.dtype
        float32 or float64, to compute in.
    outer, n, inner : int
        Arrays of kind `FULL` have shape (outer, n, inner); a row lies along ``n``.

    Raises
    ------
    NoKernel
        If there are too few rows for one to be a work-item's.
    """
    if outer * inner < (device.units if device.is_cpu else 8) and n >= 1 << 18:
        raise NoKernel("the rows are few and long")
    given = {k: v for k, v in arrays.items() if v is not None}
    columns = inner > 1
    wide = any([a.block.capacity >= 1 << 31 for _, a, _ in given.values()])
    described = {k: (v[0], v[1].dtype, v[2]) for k, v in given.items()}
    kernel = kernel_of(name, program, described, numbers, dtype, columns, wide, device)
    args = []
    for _, array, _ in given.values():
        args.append(array.block.buffer)
        args.append(array.offset // array.dtype.itemsize)
    args.extend(numbers.values())
    args += [n, inner, outer]
    written = tuple([a.block for _, a, is_written in given.values() if is_written])
    if columns:
        device.launch(kernel, (max(1, inner // WIDTH) if device.is_cpu else inner, outer), args, written)
    else:
        size, local = ((outer,), None) if device.is_cpu else ((outer * GROUP,), (GROUP,))
        device.launch(kernel, size, args, written, local)


def kernel_of(name, program, arrays, numbers, dtype, columns, wide, device):
    """Return a program's kernel; `arrays` has (kind, dtype, whether it is written).

    Its arguments are a buffer and an offset in elements for each array, the numbers, ``n``, ``inner`` and ``outer``.
    """
    key = ("rows", name, tuple([(k, v[1]) for k, v in arrays.items()]), dtype, columns, wide, device.is_cpu)
    index = INT64 if wide else INT32
    types = (*[t for _ in arrays for t in (None, index)], *[dtype for _ in numbers], index, index, index)
    return device.kernel(
        key, lambda: source(program, arrays, list(numbers), dtype, columns, wide, device.is_cpu), "run", types
    )


def source(program, arrays, numbers, dtype, columns, wide, is_cpu) -> str:
    """Return the OpenCL C of a program; `arrays` has (kind, dtype, whether it is written)."""
    ctype = compute_type(dtype)
    parameters = []
    for name, (_, array_dtype, written) in arrays.items():
        parameters += [f"__global {'' if written else 'const '}{storage_type(array_dtype)} *{name}", f"I f_{name}"]
    parameters += [f"{ctype} {name}" for name in numbers]
    parameters += ["I n", "I inner", "I outer"]
    lines = [f"typedef {'long' if wide else 'int'} I; typedef {ctype} T;"]
    if any([d == BFLOAT16 for _, d, _ in arrays.values()]):
        lines.append(BFLOAT_SOURCE)
    tree = not is_cpu and not columns
    if tree:
        lines.append(f"__attribute__((reqd_work_group_size({GROUP}, 1, 1)))")
    lines.append(f"__kernel void run({', '.join(parameters)}) {{")
    if tree:
        lines.append(f"  __local {ctype} shared[{GROUP}]; const I lane = get_local_id(0);")
    row = "get_global_id(1)" if columns else "get_group_id(0)" if tree else "get_global_id(0)"
    lines.append(f"  const I row = {row};")
    for name, (kind, _, _) in arrays.items():
        step = {FULL: " + row * n * inner", ROW: " + row * inner", ALONG: "", ONE: ""}[kind]
        lines.append(f"  {name} += f_{name}{step};")
    writer = Writer(arrays, dtype, columns, tree)
    if not columns:
        lines.extend(writer.body(program, 1))
    elif not is_cpu:
        lines += ["  const I column = get_global_id(0);", *writer.body(program, 1)]
    else:
        lines.append(f"  I c = (I)get_global_id(0) * {WIDTH};")
        lines.append(f"  const I ce = get_global_id(0) + 1 == get_global_size(0) ? inner : c + {WIDTH};")
        # The last vector overlaps the one before: it is the same work-item's.
        lines.append(f"  if (ce - c >= {WIDTH}) for (;;) {{ const I column = c;")
        lines.extend(writer.body(program, WIDTH))
        lines.append(f"    c += {WIDTH}; if (c >= ce) return; c = min(c, ce - {WIDTH}); }}")
        lines.append("  for (; c < ce; c++) { const I column = c;")
        lines.extend(writer.body(program, 1))
        lines.append("  }")
    lines.append("}")
    return "\n".join(lines)


class Writer:
    """Writes a program's statements for one form."""

    def __init__(self, arrays, dtype, columns, tree):
        self.arrays = arrays
        self.dtype = dtype
        self.ctype = compute_type(dtype)
        self.columns = columns
        self.tree = tree

    def at(self, text: str, width: int) -> str:
        """Replace ``$x`` by the element, or elements, of array ``x``."""

        def element(match):
            name = match.group(1)
            kind, dtype, _ = self.arrays[name]
            if kind == ONE:
                return load(dtype, name, "0", 1)
            if self.columns:
                if kind == ALONG:
                    return load(dtype, name, "i", 1)
                return load(dtype, name, "i * inner + column" if kind == FULL else "column", width)
            return load(dtype, name, "0", 1) if kind == ROW else load(dtype, name, "i", width)

        return re.sub(r"\$(\w+)", element, text)

    def put(self, name: str, value: str, width: int) -> str:
        kind, dtype, _ = self.arrays[name]
        if kind == ROW:
            return store(dtype, name, "column", value, width) if self.columns else store(dtype, name, "0", value, 1)
        return store(dtype, name, "i * inner + column" if self.columns else "i", value, width)

    def body(self, program, width: int) -> list[str]:
        """Return the statements of a program; `width` counts rows side by side."""
        lines = []
        for part in program:
            if isinstance(part, Loop):
                if self.columns:
                    lines.extend(self.column_loop(part, width))
                else:
                    lines.extend(self.tree_loop(part) if self.tree else self.row_loop(part))
                continue
            value = self.at(part.text, width)
            if part.stored:
                if part.name in self.arrays:
                    guard = "if (lane == 0) " if self.tree else ""
                    lines.append(f"  {guard}{{ {self.put(part.name, value, width)} }}")
            else:
                lines.append(f"  const {vector(self.ctype, width)} {part.name} = {value};")
        return lines

    def steps(self, loop, width, target) -> list[str]:
        """Return the statements for the elements at ``i``."""
        ctype = vector(self.ctype, width)
        lines = [f"    const {ctype} {name} = {self.at(text, width)};" for name, text in loop.lets.items()]
        for op, name, text in loop.reductions:
            into = target.format(name)
            joined = combine(op, self.dtype, width, into, "value")
            lines.append(f"    {{ const {ctype} value = {self.at(text, width)}; {into} = {joined}; }}")
        for name, text in loop.store.items():
            if name in self.arrays:
                lines.append(f"    {{ const {ctype} value = {self.at(text, width)}; {self.put(name, 'value', width)} }}")
        return lines

    def declare(self, loop, ctype, target) -> str:
        names = [(op, target.format(name)) for op, name, _ in loop.reductions]
        return "  " + " ".join([f"{ctype} {name} = ({ctype})({identity(op, self.dtype)});" for op, name in names])

    def join(self, loop, width, into, part) -> str:
        names = [(op, into.format(k), part.format(k)) for op, k, _ in loop.reductions]
        return "  " + " ".join([f"{a} = {combine(op, self.dtype, width, a, b)};" for op, a, b in names])

    def column_loop(self, loop, width) -> list[str]:
        ctype = vector(self.ctype, width)
        lines = [self.declare(loop, ctype, "{}")]
        lines.append(f"  for (I from = 0; from < n; from += {_LEVEL}) {{ const I to = min(from + {_LEVEL}, n);")
        lines.append(self.declare(loop, ctype, "{}_part"))
        lines.append("   for (I i = from; i < to; i++) {")
        lines.extend(self.steps(loop, width, "{}_part"))
        return [*lines, "   }", self.join(loop, width, "{}", "{}_part"), "  }"]

    def row_loop(self, loop) -> list[str]:
        wide = vector(self.ctype, WIDTH)
        lines = [self.declare(loop, self.ctype, "{}"), self.declare(loop, wide, "{}_lanes")]
        lines.append(f"  for (I from = 0; from < n; from += {_LEVEL}) {{ const I to = min(from + {_LEVEL}, n); I i = from;")
        lines.append(self.declare(loop, wide, "{}_part"))
        lines.append(f"   for (; i + {WIDTH} <= to; i += {WIDTH}) {{")
        lines.extend(self.steps(loop, WIDTH, "{}_part"))
        lines += ["   }", self.join(loop, WIDTH, "{}_lanes", "{}_part"), "   for (; i < to; i++) {"]
        lines.extend(self.steps(loop, 1, "{}"))
        lines += ["   }", "  }"]
        for op, name, _ in loop.reductions:
            lines.extend(fold(op, self.dtype, f"{name}_lanes"))
        lines.append(self.join(loop, 1, "{}", "{}_lanes1"))
        return lines

    def tree_loop(self, loop) -> list[str]:
        lines = [self.declare(loop, self.ctype, "{}"), f"  for (I i = lane; i < n; i += {GROUP}) {{"]
        lines.extend(self.steps(loop, 1, "{}"))
        lines.append("  }")
        for op, name, _ in loop.reductions:
            lines.append(f"  shared[lane] = {name}; barrier(CLK_LOCAL_MEM_FENCE);")
            lines.append(f"  for (I hop = {GROUP // 2}; hop > 0; hop /= 2) {{")
            joined = combine(op, self.dtype, 1, "shared[lane]", "shared[lane + hop]")
            lines.append(f"    if (lane < hop) shared[lane] = {joined};")
            lines.append("    barrier(CLK_LOCAL_MEM_FENCE); }")
            lines.append(f"  {name} = shared[0]; barrier(CLK_LOCAL_MEM_FENCE);")
        return lines


def result_dtype(array: CLArray) -> np.dtype:
    """Return the floating dtype to compute an array's rows in.

    Raises
    ------
    NoKernel
        If the array is not floating.
    """
    dtype = wide_type(array.dtype)
    if dtype.char not in "fd":
        raise NoKernel(f"rows of {array.dtype} are not normalized")
    return dtype
