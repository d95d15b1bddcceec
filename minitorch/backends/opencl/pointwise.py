"""Pointwise kernels: one template, which walks arrays of any strides row by row.

Note [Rows]
    The dimensions are sorted by the result's strides and merged where all operands allow it.  The
    innermost one that is left is a run; a work-item walks a chunk of a run in vectors of 16 with
    a scalar tail, and finds the start of its run with one division per outer dimension.  How an
    operand moves along the run is part of the program (``c``: neighbours, ``b``: it stands still,
    ``s``: it has a stride); sizes, strides and offsets are arguments.  On a GPU each work-item has
    one element, and the run lies along the first axis of the grid.

    So a program depends on the operations, the dtypes, the kinds of the runs and the number of
    outer dimensions, not on shapes; what follows from shapes and strides is kept in `_plans`.
"""

from __future__ import annotations

from threading import get_ident

import numpy as np

from minitorch.backends.opencl.array import CLArray, contiguous_strides, empty
from minitorch.backends.opencl.ctypes import (
    BFLOAT16,
    BFLOAT_SOURCE,
    BOOL,
    INT32,
    INT64,
    compute_type,
    convert,
    load,
    storage_type,
    store,
    vector,
)
from minitorch.backends.opencl.expression import Scalar, before_write, lazy
from minitorch.backends.opencl.operations import (
    OPERATIONS,
    PREDICATES,
    Form,
    helper_source,
    needs_scalars,
    where_expression,
)

CHUNK = 4096
_WIDTH = 16


# ---------------------------------------------------------------- from arrays to a code


class Code:
    """A chain of operations without its arrays: what a program is made from.

    Attributes
    ----------
    steps : tuple
        For each value (op, dtype, *operands): op "leaf" and "scalar" read, the others compute.
    """

    __slots__ = ("leaf_dtypes", "scalar_dtypes", "steps")

    def __init__(self, steps, leaf_dtypes, scalar_dtypes):
        self.steps = steps
        self.leaf_dtypes = leaf_dtypes
        self.scalar_dtypes = scalar_dtypes


def linearize(root: CLArray):
    """Return (steps, leaves, scalars) of a lazy array: its operations in an order in which they can be computed."""
    steps: list = []
    leaves: list = []
    scalars: list = []
    places: dict = {}

    def visit(value):
        key = id(value)
        found = places.get(key)
        if found is not None:
            return found
        if type(value) is Scalar:
            step = ("scalar", value.dtype)
            scalars.append(value.value)
        elif value.node is None:
            for _place, (number, leaf) in enumerate(leaf_places):
                if leaf is value or (
                    leaf._block is value._block
                    and leaf.offset == value.offset
                    and leaf.strides == value.strides
                    and leaf.shape == value.shape
                    and leaf.dtype is value.dtype
                ):
                    places[key] = number
                    return number
            step = ("leaf", value.dtype)
            leaves.append(value)
            leaf_places.append((len(steps), value))
        elif value.node.op == "constant":
            step = ("scalar", value.dtype)
            scalars.append(value.node.args[0].value)
        else:
            step = (value.node.op, value.dtype, *[visit(a) for a in value.node.args])
        places[key] = len(steps)
        steps.append(step)
        return len(steps) - 1

    leaf_places: list = []
    if root.node is not None and root.node.op == "constant":
        return (("scalar", root.dtype),), [], [root.node.args[0].value]
    visit(root)
    return tuple(steps), leaves, scalars


# ---------------------------------------------------------------- from shapes to a plan


def element_strides(array, shape) -> tuple:
    """Return the strides of an array in elements, broadcast to `shape`."""
    itemsize = array.dtype.itemsize
    skip = len(shape) - len(array.shape)
    return tuple([0] * skip + [0 if n == 1 else s // itemsize for n, s in zip(array.shape, array.strides, strict=True)])


def collapse(shape, rows):
    """Return (sizes, rows) with fewer dimensions: outer ones first, the run last.

    Parameters
    ----------
    shape : tuple of int
        No length is 0.
    rows : list of tuple
        The strides of each operand in elements; the first decides the order.
    """
    axes = [a for a, n in enumerate(shape) if n != 1]
    axes.sort(key=lambda a: (-abs(rows[0][a]), -max([abs(r[a]) for r in rows])))
    sizes = [shape[a] for a in axes]
    rows = [[r[a] for a in axes] for r in rows]
    at = len(sizes) - 1
    while at > 0:
        n = sizes[at]
        if all([r[at - 1] == r[at] * n for r in rows]):
            sizes[at] *= sizes[at - 1]
            del sizes[at - 1]
            for r in rows:
                del r[at - 1]
        at -= 1
    if not sizes:
        sizes, rows = [1], [[1] for _ in rows]
    if len(sizes) > 1 and sizes[-1] < _WIDTH:
        longest = max(range(len(sizes)), key=lambda a: sizes[a])
        if sizes[longest] >= 4 * sizes[-1]:
            for row in (sizes, *rows):
                row.append(row.pop(longest))
    return sizes, rows


def run_kind(stride: int, n: int) -> str:
    """Return how an operand moves along the run."""
    if stride == 1 or n == 1:
        return "c"
    return "b" if stride == 0 else "s"


class Plan:
    """What a launch needs besides the memory: the kernel's name in the cache, the grid, the numbers.

    Attributes
    ----------
    kernels : dict
        The kernel object of each thread, by (device, thread).
    """

    __slots__ = ("global_size", "kernels", "key", "make_source", "numbers", "scalar_types")

    def kernel(self, device):
        """Return the calling thread's kernel object."""
        who = (device.index, get_ident())
        found = self.kernels.get(who)
        if found is None:
            found = self.kernels[who] = device.kernel(self.key, self.make_source, "run", self.scalar_types)
        return found


_plans: dict = {}
_outputs: dict = {}


def make_plan(steps, leaf_dtypes, scalar_dtypes, target_dtype, shape, rows, extents, is_cpu) -> Plan:
    """Return the plan for operands of these strides; `rows` has the target first."""
    sizes, rows = collapse(shape, rows)
    wide = max(extents, default=0) >= 1 << 31
    n = sizes[-1]
    kinds = "".join([run_kind(r[-1], n) for r in rows])
    outer = len(sizes) - 1
    count = 1
    for s in sizes[:-1]:
        count *= s
    plan = Plan()
    plan.kernels = {}
    plan.key = ("pointwise", steps, target_dtype, kinds, outer, wide, is_cpu)
    index = INT64 if wide else INT32
    plan.scalar_types = tuple(
        [None, index, *[t for _ in leaf_dtypes for t in (None, index)]]
        + [scalar_type(d) for d in scalar_dtypes]
        + [index] * (1 + outer + outer * len(rows) + kinds.count("s"))
    )
    numbers = [n, *sizes[:-1]]
    for row, kind in zip(rows, kinds, strict=True):
        numbers.extend(row if kind == "s" else row[:-1])
    plan.numbers = numbers
    plan.global_size = (-(-n // CHUNK) if is_cpu else n, count)
    plan.make_source = lambda: pointwise_source(
        steps, leaf_dtypes, scalar_dtypes, target_dtype, kinds, outer, wide, is_cpu
    )
    return plan


def scalar_type(dtype: np.dtype) -> np.dtype:
    """Return the dtype in which a number of `dtype` is handed to a kernel."""
    if dtype == BOOL:
        return np.dtype(np.uint8)
    if dtype.kind == "V" or dtype == np.float16:
        return np.dtype(np.float32)
    return dtype


def pointwise_source(steps, leaf_dtypes, scalar_dtypes, target_dtype, kinds, outer, wide, is_cpu) -> str:
    """Return the OpenCL C of a chain of operations (Note [Rows])."""
    helpers = {(s[0], steps[s[2]][1]) for s in steps if s[0] not in ("leaf", "scalar", "cast", "where")}
    scalar_only = not is_cpu or target_dtype.kind == "c"
    for step in steps:
        if step[1].kind == "c" or (step[0] in OPERATIONS and needs_scalars(step[0], steps[step[2]][1])):
            scalar_only = True
    operands = len(kinds)
    index = "long" if wide else "int"
    parameters = [f"__global {storage_type(target_dtype)} *p0", "I f0"]
    for place, dtype in enumerate(leaf_dtypes, 1):
        parameters += [f"__global const {storage_type(dtype)} *p{place}", f"I f{place}"]
    parameters += [f"{scalar_parameter(d)} q{place}" for place, d in enumerate(scalar_dtypes)]
    parameters += ["I n", *[f"I n{k}" for k in range(outer)]]
    parameters += [
        f"I s{place}_{k}" for place in range(operands) for k in range(outer + 1) if k < outer or kinds[place] == "s"
    ]
    lines = [f"typedef {index} I;"]
    if BFLOAT16 in (target_dtype, *leaf_dtypes):
        lines.append(BFLOAT_SOURCE)
    lines.append(helper_source(helpers))
    lines.append(f"__kernel void run({', '.join(parameters)}) {{")
    lines.append("  I r = get_global_id(1);")
    for k in range(outer - 1, -1, -1):
        last = k == 0
        lines.append(f"  {{ I o = {'r' if last else f'r % n{k}'};{'' if last else f' r /= n{k};'}")
        lines.append("   " + "".join([f" f{p} += o * s{p}_{k};" for p in range(operands)]) + " }")
    lines.append("".join([f"  p{p} += f{p};" for p in range(operands)]))
    if is_cpu:
        lines.append(f"  I i = (I)get_global_id(0) * {CHUNK}; const I e = min(i + {CHUNK}, n);")
        if not scalar_only:
            lines.append(f"  for (; i + {_WIDTH} <= e; i += {_WIDTH}) {{")
            lines.extend(body(steps, target_dtype, kinds, outer, _WIDTH))
            lines.append("  }")
        lines.append("  for (; i < e; i++) {")
    else:
        lines.append("  I i = get_global_id(0); {")
    lines.extend(body(steps, target_dtype, kinds, outer, 1))
    lines.append("  }\n}")
    return "\n".join(lines)


def scalar_parameter(dtype: np.dtype) -> str:
    """Return the C type of a number among the arguments."""
    return compute_type(dtype)


def body(steps, target_dtype, kinds, outer, width) -> list[str]:
    """Return the statements that compute and store `width` elements at ``i``."""
    lines = []
    leaf = 1
    number = 0
    for place, step in enumerate(steps):
        op, dtype = step[0], step[1]
        ctype = vector(compute_type(dtype), width)
        if op == "leaf":
            value = read(dtype, leaf, kinds[leaf], outer, width)
            leaf += 1
        elif op == "scalar":
            value = f"q{number}" if width == 1 else f"({ctype})(q{number})"
            number += 1
        else:
            value = compute(op, dtype, steps, step[2:], width)
        lines.append(f"    const {ctype} v{place} = {value};")
    last = len(steps) - 1
    value = convert(f"v{last}", steps[last][1], target_dtype, width)
    stride = f"s0_{outer}"
    if kinds[0] == "c":
        lines.append("    " + store(target_dtype, "p0", "i", value, width))
    elif width == 1:
        lines.append("    " + store(target_dtype, "p0", f"i * {stride}", value, 1))
    else:
        ctype = vector(compute_type(target_dtype), width)
        lines.append(f"    const {ctype} w = {value};")
        for lane in range(width):
            lines.append("    " + store(target_dtype, "p0", f"(i + {lane}) * {stride}", f"w.s{lane:x}", 1))
    return lines


def read(dtype, leaf, kind, outer, width) -> str:
    """Return the expression of `width` elements of an operand along the run."""
    pointer = f"p{leaf}"
    if kind == "c":
        return load(dtype, pointer, "i", width)
    if kind == "b":
        value = load(dtype, pointer, "0", 1)
        return value if width == 1 else f"({vector(compute_type(dtype), width)})({value})"
    stride = f"s{leaf}_{outer}"
    if width == 1:
        return load(dtype, pointer, f"i * {stride}", 1)
    lanes = [load(dtype, pointer, f"(i + {lane}) * {stride}", 1) for lane in range(width)]
    return f"({vector(compute_type(dtype), width)})({', '.join(lanes)})"


def compute(op, dtype, steps, operands, width) -> str:
    """Return the expression of one operation."""
    names = [f"v{o}" for o in operands]
    source = steps[operands[0]][1]
    if op == "cast":
        return convert(names[0], source, dtype, width)
    if op == "where":
        return where_expression(dtype, width, *names)
    form = Form(source, width, dtype)
    value = OPERATIONS[op](form, *names)
    if op in PREDICATES or width > 1 or dtype.kind not in "iu":
        return value
    return f"({compute_type(dtype)})({value})"  # C widens small integers


# ---------------------------------------------------------------- computing


def realise(array: CLArray) -> None:
    """Compute a lazy array into new memory."""
    node = array.node
    shape = array.shape
    if 0 in shape:
        array._block = array.device.allocate(0)
        array.node = array.readers = None
        return
    steps, leaves, scalars = linearize(array)
    strides = result_strides(shape, leaves, array.dtype.itemsize)
    target = CLArray(array.device.allocate(array.nbytes), 0, shape, strides, array.dtype, array.device)
    try:
        run(target, steps, leaves, scalars)
    except BaseException:
        array.node = node
        raise
    array.strides = strides
    array._block = target._block
    array._block.readers = array.readers
    array.readers = None
    array.node = None


def result_strides(shape, leaves, itemsize) -> tuple:
    """Return strides in the order of the operands' dimensions; row-major where they differ."""
    order = None
    for leaf in leaves:
        if leaf.shape == shape and len(shape) > 1:
            if leaf.flags.c_contiguous:
                return contiguous_strides(shape, itemsize)
            if order is None and 0 not in leaf.strides:
                order = sorted(range(len(shape)), key=lambda a, leaf=leaf: -abs(leaf.strides[a]) if shape[a] > 1 else 0)
    if order is None or order == list(range(len(shape))):
        return contiguous_strides(shape, itemsize)
    strides = [0] * len(shape)
    step = itemsize
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def run(target: CLArray, steps, leaves, scalars) -> None:
    """Compute a chain of operations into an array that has memory."""
    shape = target.shape
    device = target.device
    key = (steps, target.dtype, shape, target.strides, tuple([(a.shape, a.strides) for a in leaves]), device.is_cpu)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) > 4096:
            _plans.clear()
        rows = [element_strides(target, shape), *[element_strides(a, shape) for a in leaves]]
        extents = [target._block.capacity, *[a.block.capacity for a in leaves]]
        plan = _plans[key] = make_plan(
            steps, [a.dtype for a in leaves], [s[1] for s in steps if s[0] == "scalar"], target.dtype, shape, rows,
            extents, device.is_cpu,
        )  # fmt: skip
    args = [target._block.buffer, target.offset // target.dtype.itemsize]
    for a in leaves:
        args.append(a._block.buffer)
        args.append(a.offset // a.dtype.itemsize)
    args.extend(scalars)
    args.extend(plan.numbers)
    device.launch(plan.kernel(device), plan.global_size, args, (target._block,))
    recorder = device.recorder
    if recorder is not None and recorder.thread == get_ident():
        recorder.runs.append((target, plan, leaves, scalars))


def assign(target: CLArray, value) -> None:
    """Write an array or `Scalar`, broadcast and cast, into the elements of `target`."""
    if 0 in target.shape:
        return
    block = target.block
    if type(value) is Scalar:
        before_write(block)
        run(target, (("scalar", value.dtype),), [], [value.value])
        return
    before_write(block, value)
    if value.node is not None:
        steps, leaves, scalars = linearize(value)
    else:
        steps, leaves, scalars = (("leaf", value.dtype),), [value], []
    for leaf in leaves:
        if leaf._block is block and not (
            leaf.offset == target.offset and leaf.strides == target.strides and leaf.shape == target.shape
        ):
            # The elements may be overwritten before they are read.
            if value.node is not None:
                value.settle()
            else:
                value = copy(value)
            steps, leaves, scalars = (("leaf", value.dtype),), [value], []
            break
    run(target, steps, leaves, scalars)


def copy(array: CLArray, order: str = "C") -> CLArray:
    """Return a copy: row-major, or with "K" in the array's own order of dimensions."""
    result = empty(array.shape, array.dtype, array.device)
    if order == "K":
        result.strides = result_strides(array.shape, [array], array.dtype.itemsize)
    assign(result, array)
    return result.settle()


def cast(array: CLArray, dtype: np.dtype) -> CLArray:
    """Return the elements as `dtype`, computed when somebody needs them."""
    if array.dtype == dtype:
        return array
    compute_type(dtype), compute_type(array.dtype)
    return lazy("cast", (array,), dtype, array.device)


def constant(shape, value, dtype, device) -> CLArray:
    """Return an array of one value, which takes no memory while it is only read by chains."""
    result = CLArray(None, 0, shape, contiguous_strides(shape, dtype.itemsize), dtype, device)
    compute_type(dtype)
    from minitorch.backends.opencl.expression import Node

    result.node = Node("constant", (Scalar(value, dtype),), 1, 0)
    return result
