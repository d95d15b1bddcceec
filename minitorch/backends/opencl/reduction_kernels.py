"""Kernels that reduce dimensions of a chain of pointwise operations.

Note [Reductions]
    The dimensions are split into kept and reduced ones, and neighbours merge where all operands
    allow it.  Two forms are left.  In rows the innermost reduced dimension is a run: on a CPU a
    work-item walks it in vectors of 16, on a GPU a group does and combines by a tree in local
    memory.  In columns a kept dimension is innermost: a work-item owns 16 neighbours (one on a
    GPU) and walks down.  Long reductions are split into blocks, whose results a second launch
    combines.  Partial sums are added up in two levels, so that the error of float32 sums does not
    grow with the length.

    What is reduced need not be in memory: the lazy operations that lead to it are part of the
    kernel (Note [Lazy arrays] in `expression`).
"""

from __future__ import annotations

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
from minitorch.backends.opencl.operations import OPERATIONS, Form, helper_source, needs_scalars
from minitorch.backends.opencl.pointwise import compute, element_strides, run_kind, scalar_parameter, scalar_type

WIDTH = 16
GROUP = 64  # work-items of a group that reduces a row on a GPU
_LEVEL = 4096  # elements summed before they are added to what came before
_COLUMN_LEVEL = 256
_UNROLLED = 6  # operations in a chain of which four copies are written out
_SPLIT = 16384  # elements that are worth a work-item of their own

POSTS = {"": "r", "mean": "r / q", "root": "sqrt(r)", "root_mean": "sqrt(r / q)"}


# ---------------------------------------------------------------- operations


def combine(op: str, dtype: np.dtype, width: int, a: str, b: str) -> str:
    """Return the C expression that joins two values of a reduction."""
    form = Form(dtype, width)
    if op in ("maximum", "minimum") and form.kind == "f":
        sign = ">" if op == "maximum" else "<"
        return form.select(form.either(f"{b} {sign} {a}", f"{b} != {b}"), b, a)
    if op.startswith("logical_"):
        op = "bitwise_" + op[8:]
    value = OPERATIONS[op](form, a, b)
    return value if width > 1 or form.kind in "fc" else f"({form.ctype})({value})"


_LIMITS = {
    "char": "CHAR", "uchar": "UCHAR", "short": "SHRT", "ushort": "USHRT", "int": "INT", "uint": "UINT", "long": "LONG",
    "ulong": "ULONG",
}  # fmt: skip


def identity(op: str, dtype: np.dtype) -> str:
    """Return the C expression of the value with which a reduction starts."""
    ctype = compute_type(dtype)
    kind = "f" if dtype.kind == "V" else dtype.kind
    if op in ("multiply", "logical_and"):
        return f"({ctype})(1, 0)" if kind == "c" else f"({ctype})1"
    if op == "bitwise_and":
        return "(uchar)1" if kind == "b" else f"({ctype})(~({ctype})0)"
    if op in ("maximum", "fmax", "minimum", "fmin", "logaddexp"):
        lowest = op in ("maximum", "fmax", "logaddexp")
        if kind == "b":
            return "(uchar)0" if lowest else "(uchar)1"
        if kind in "iu":
            if lowest and kind == "u":
                return f"({ctype})0"
            return f"({ctype}){_LIMITS[ctype]}_{'MIN' if lowest else 'MAX'}"
        if op in ("fmax", "fmin"):
            return f"({ctype})(NAN)"
        return f"({ctype})({'-' if lowest else ''}INFINITY)"
    return f"({ctype})0"


def fold(op: str, dtype: np.dtype, name: str) -> list[str]:
    """Return the statements that define ``{name}1``, the lanes of the vector ``name`` joined."""
    ctype = compute_type(dtype)
    lines = []
    width, source = 8, name
    while width:
        target = f"{name}{width}"
        lines.append(f"  {vector(ctype, width)} {target} = {combine(op, dtype, width, f'{source}.lo', f'{source}.hi')};")
        source = target
        width //= 2
    return lines


# ---------------------------------------------------------------- from shapes to a plan


def merge(dims: list) -> list:
    """Merge neighbouring dimensions, given as rows of a size and strides, where all strides allow it."""
    merged: list = []
    for dim in dims:
        if merged:
            before = merged[-1]
            n = dim[0]
            if all([before[k] == dim[k] * n for k in range(1, len(dim))]):
                merged[-1] = (before[0] * n, *dim[1:])
                continue
        merged.append(dim)
    return merged


class Plan:
    """What a launch needs besides the memory."""

    __slots__ = ("blocks", "global_size", "kept", "key", "local_size", "make_source", "numbers", "scalar_types")


_plans: dict = {}


def _main(shape, rows) -> int:
    """Return the operand that decides the walk: the one with the most elements."""
    best, most = 0, -1
    for place, row in enumerate(rows):
        count = 1
        for n, step in zip(shape, row, strict=True):
            if step:
                count *= n
        if count > most:
            best, most = place, count
    return best


def make_plan(op, steps, leaf_dtypes, scalar_dtypes, acc, out, post, shape, axes, rows, wide, device, ordered) -> Plan:
    """Return the plan of one launch; `rows` are the operands' strides in elements."""
    is_cpu = device.is_cpu
    kept_axes = [a for a in range(len(shape)) if a not in axes]
    out_strides = contiguous_strides([shape[a] for a in kept_axes], 1)
    kept = merge([
        (shape[a], step, *[r[a] for r in rows]) for a, step in zip(kept_axes, out_strides, strict=True) if shape[a] != 1
    ])
    reduced = [(shape[a], *[r[a] for r in rows]) for a in axes if shape[a] != 1]
    main = _main(shape, rows) if rows else None
    if not ordered and main is not None:
        reduced.sort(key=lambda dim: (-abs(dim[1 + main]), -max([abs(s) for s in dim[1:]])))
    reduced = merge(reduced)
    count = total = 1
    for dim in kept:
        count *= dim[0]
    for dim in reduced:
        total *= dim[0]
    inner = reduced.pop() if reduced else (1, *[0] * len(rows))
    n, m = inner[0], total // inner[0]
    columns, at = _choose_columns(kept, count, inner, main, is_cpu)
    if columns:
        kept.append(kept.pop(at))
        chunk_dim = kept.pop()
        wide_columns = chunk_dim[0]
        lanes = count // wide_columns
    else:
        chunk_dim = (1, 0, *[0] * len(rows))
        wide_columns, lanes = 1, count
    # Enough work-items, but none with too little to do.
    if columns:
        chunk = 64 if is_cpu else 1
        if is_cpu and total < 64:
            chunk = max(64, 4096 // total // WIDTH * WIDTH)
        chunks = max(1, wide_columns // chunk) if is_cpu else wide_columns
        items = chunks * lanes
        per_item = total * (min(chunk, wide_columns) if is_cpu else 1)
    else:
        chunk, chunks = 1, 1
        items, per_item = lanes, total
    blocks = 1
    target = 4 * device.units if is_cpu else 64 * device.units
    if items < target and per_item >= 2 * _SPLIT:
        blocks = min(-(-target // items), per_item // _SPLIT)
    if m >= blocks:
        per_outer, per_inner, inner_blocks = -(-m // blocks), n, 1
        blocks = -(-m // per_outer)
    else:
        blocks = min(blocks, n)
        per_outer = 1
        per_inner = -(-n // max(1, blocks // m))
        if not columns:
            per_inner = -(-per_inner // WIDTH) * WIDTH
        inner_blocks = -(-n // per_inner)
        blocks = inner_blocks * m
    if blocks > 1:
        out, post = acc, ""
    # Lengths of 1 make the number of dimensions odd or even, so that fewer programs are built.
    if len(kept) % 2 == 0:
        kept.insert(0, (1, *[0] * (len(rows) + 1)))
    if len(reduced) % 2:
        reduced.insert(0, (1, *[0] * len(rows)))
    run = chunk_dim if columns else inner
    kinds = "".join([run_kind(s, run[0]) for s in run[(2 if columns else 1) :]])
    out_kind = run_kind(chunk_dim[1], wide_columns) if columns else "c"
    plan = Plan()
    plan.blocks = blocks
    plan.kept = count
    index = INT64 if wide else INT32
    shape_key = (op, steps, acc, out, post, columns, kinds, out_kind, len(kept), len(reduced), wide, is_cpu)
    plan.key = ("reduce", *shape_key)
    plan.make_source = lambda: source(leaf_dtypes, scalar_dtypes, *shape_key)
    numbers = [n, m, per_inner, per_outer, inner_blocks, count, wide_columns, chunk]
    numbers += [d[0] for d in kept] + [d[0] for d in reduced]
    numbers += [d[1] for d in kept]
    numbers.append(chunk_dim[1])
    for place in range(len(rows)):
        numbers += [d[2 + place] for d in kept]
        numbers += [d[1 + place] for d in reduced]
        numbers += [inner[1 + place], chunk_dim[2 + place]]
    plan.numbers = numbers
    plan.scalar_types = tuple(
        [None, index, *[t for _ in leaf_dtypes for t in (None, index)]]
        + [scalar_type(d) for d in scalar_dtypes]
        + ([_real(acc)] if "mean" in post else [])
        + [index] * len(numbers)
    )
    if columns:
        plan.global_size, plan.local_size = (chunks, lanes, blocks), None
    elif is_cpu:
        plan.global_size, plan.local_size = (lanes, blocks), None
    else:
        plan.global_size, plan.local_size = (lanes * GROUP, blocks), (GROUP, 1)
    return plan


def _choose_columns(kept, count, inner, main, is_cpu):
    """Return whether to walk columns, and which kept dimension is innermost then."""
    if not kept:
        return False, 0
    if main is None:
        return True, len(kept) - 1
    stands = [place for place, dim in enumerate(kept) if abs(dim[2 + main]) == 1]
    runs = inner[1 + main] == 1
    if runs and inner[0] >= (WIDTH if is_cpu else GROUP):
        return False, 0
    if stands and kept[stands[0]][0] >= (WIDTH if is_cpu or not runs else 1):
        return True, stands[0]
    longest = max(range(len(kept)), key=lambda place: kept[place][0])
    if not is_cpu:
        return inner[0] < GROUP, longest
    return kept[longest][0] >= WIDTH, longest


def _real(dtype):
    return np.dtype(dtype.type(0).real.dtype) if dtype.kind == "c" else dtype


# ---------------------------------------------------------------- sources


def source(leaf_dtypes, scalar_dtypes, op, steps, acc, out, post, columns, kinds, out_kind, kept, reduced, wide, is_cpu) -> str:
    """Return the OpenCL C of a reduction (Note [Reductions])."""
    helpers = {(s[0], steps[s[2]][1]) for s in steps if len(s) > 2 and s[0] not in ("cast", "where")}
    helpers.add((op, acc))
    scalar_only = not is_cpu or acc.kind == "c"
    for step in steps:
        if step[1].kind == "c" or (len(step) > 2 and step[0] in OPERATIONS and needs_scalars(step[0], steps[step[2]][1])):
            scalar_only = True
    leaves = range(1, len(leaf_dtypes) + 1)
    parameters = [f"__global {storage_type(out)} *p0", "I f0"]
    for place, dtype in zip(leaves, leaf_dtypes, strict=True):
        parameters += [f"__global const {storage_type(dtype)} *p{place}", f"I f{place}"]
    parameters += [f"{scalar_parameter(d)} q{place}" for place, d in enumerate(scalar_dtypes)]
    if "mean" in post:
        parameters.append(f"{compute_type(_real(acc))} q")
    parameters += [f"I {name}" for name in ("n", "m", "per_inner", "per_outer", "inner_blocks", "count", "width", "chunk")]
    parameters += [f"I n{k}" for k in range(kept)] + [f"I m{k}" for k in range(reduced)]
    parameters += [f"I s0_{k}" for k in range(kept)] + ["I s0_c"]
    for place in leaves:
        parameters += [f"I s{place}_{k}" for k in range(kept)] + [f"I t{place}_{k}" for k in range(reduced)]
        parameters += [f"I t{place}", f"I c{place}"]
    lines = [f"typedef {'long' if wide else 'int'} I;"]
    if BFLOAT16 in (out, *leaf_dtypes):
        lines.append(BFLOAT_SOURCE)
    lines.append(helper_source(helpers))
    tree = not is_cpu and not columns
    if tree:
        lines.append(f"__attribute__((reqd_work_group_size({GROUP}, 1, 1)))")
    lines.append(f"__kernel void run({', '.join(parameters)}) {{")
    if columns:
        lines.append("  I k = get_global_id(1), b = get_global_id(2);")
    elif tree:
        lines.append("  I k = get_group_id(0), b = get_global_id(1), lane = get_local_id(0);")
        lines.append(f"  __local {compute_type(acc)} shared[{GROUP}];")
    else:
        lines.append("  I k = get_global_id(0), b = get_global_id(1);")
    lines.append("  f0 += b * count;")
    for d in range(kept - 1, -1, -1):
        part = "k" if d == 0 else f"k % n{d}"
        lines.append(f"  {{ I o = {part};{'' if d == 0 else f' k /= n{d};'}")
        lines.append("   " + "".join([f" f{p} += o * s{p}_{d};" for p in (0, *leaves)]) + " }")
    lines.append("  const I i0 = (b % inner_blocks) * per_inner, i1 = min(i0 + per_inner, n);")
    lines.append("  const I o0 = (b / inner_blocks) * per_outer, o1 = min(o0 + per_outer, m);")
    write = Writer(op, steps, acc, out, post, columns, kinds, out_kind, reduced, leaves)
    if columns:
        lines.extend(_columns(write, scalar_only, is_cpu))
    else:
        lines.extend(write.row(scalar_only, tree))
    lines.append("}")
    return "\n".join(lines)


def _columns(write, scalar_only, is_cpu):
    if not is_cpu:
        return ["  const I c = get_global_id(0); {", *write.column(1), "  }"]
    lines = ["  I c = (I)get_global_id(0) * chunk; const I ce = get_global_id(0) + 1 == get_global_size(0) ? width : c + chunk;"]
    if not scalar_only:
        if len(write.steps) <= _UNROLLED:  # whole lines of the cache at a time
            lines.append(f"  for (; c + {4 * WIDTH} <= ce; c += {4 * WIDTH}) {{")
            lines.extend(write.column(WIDTH, 4))
            lines.append("  }")
            lines.append("  if (c >= ce) return;")
        # The last vector overlaps the one before: it is the same work-item's.
        lines.append(f"  if (ce - c >= {WIDTH}) for (;;) {{")
        lines.extend(write.column(WIDTH))
        lines.append(f"    c += {WIDTH}; if (c >= ce) return; c = min(c, ce - {WIDTH}); }}")
    lines.append("  for (; c < ce; c++) {")
    lines.extend(write.column(1))
    lines.append("  }")
    return lines


class Writer:
    """Writes the loops of one kernel."""

    def __init__(self, op, steps, acc, out, post, columns, kinds, out_kind, reduced, leaves):
        self.op = op
        self.steps = steps
        self.acc = acc
        self.out = out
        self.post = post
        self.columns = columns
        self.kinds = kinds
        self.out_kind = out_kind
        self.reduced = reduced
        self.leaves = leaves
        self.ctype = compute_type(acc)

    def outer(self) -> list[str]:
        """Open the loop over the outer reduced dimensions, which finds the operands' starts ``g``."""
        lines = ["  for (I o = o0; o < o1; o++) {"]
        dtypes = [s[1] for s in self.steps if s[0] == "leaf"]
        starts = [f"__global const {storage_type(d)} *g{p} = p{p} + f{p};" for p, d in zip(self.leaves, dtypes, strict=True)]
        lines.append("    " + " ".join(starts))
        if self.reduced:
            lines.append("    I rest = o;")
        for d in range(self.reduced - 1, -1, -1):
            part = "rest" if d == 0 else f"rest % m{d}"
            lines.append(f"    {{ const I at = {part};{'' if d == 0 else f' rest /= m{d};'}")
            lines.append("     " + "".join([f" g{p} += at * t{p}_{d};" for p in self.leaves]) + " }")
        return lines

    def step(self, target: str, width: int) -> list[str]:
        """Join the elements at ``i`` (of column ``d``) to an accumulator."""
        lines = []
        leaf = number = 0
        for place, step in enumerate(self.steps):
            op, dtype = step[0], step[1]
            ctype = vector(compute_type(dtype), width)
            if op == "leaf":
                leaf += 1
                value = self.read(dtype, leaf, width)
            elif op == "scalar":
                value = f"q{number}" if width == 1 else f"({ctype})(q{number})"
                number += 1
            elif op == "position":
                value = f"({ctype})(o * n + i)"
                if width > 1 and not self.columns:
                    value += f" + ({ctype})({', '.join(str(lane) for lane in range(width))})"
            else:
                value = compute(op, dtype, self.steps, step[2:], width)
            lines.append(f"      const {ctype} v{place} = {value};")
        last = len(self.steps) - 1
        value = convert(f"v{last}", self.steps[last][1], self.acc, width)
        lines.append(f"      const {vector(self.ctype, width)} x = {value};")
        lines.append(f"      {target} = {combine(self.op, self.acc, width, target, 'x')};")
        return lines

    def read(self, dtype, leaf, width) -> str:
        kind = self.kinds[leaf - 1]
        if self.columns:
            pointer, at, stride = f"(g{leaf} + i * t{leaf})", "d", f"c{leaf}"
        else:
            pointer, at, stride = f"g{leaf}", "i", f"t{leaf}"
        if kind == "c":
            return load(dtype, pointer, at, width)
        if kind == "b":
            value = load(dtype, pointer, "0", 1)
            return value if width == 1 else f"({vector(compute_type(dtype), width)})({value})"
        if width == 1:
            return load(dtype, pointer, f"{at} * {stride}", 1)
        lanes = [load(dtype, pointer, f"({at} + {lane}) * {stride}", 1) for lane in range(width)]
        return f"({vector(compute_type(dtype), width)})({', '.join(lanes)})"

    def finish(self, value: str, width: int) -> list[str]:
        """Write a result."""
        lines = [f"    const {vector(self.ctype, width)} r = {value};"]
        lines.append(f"    const {vector(self.ctype, width)} w = {POSTS[self.post]};")
        value = convert("w", self.acc, self.out, width)
        if not self.columns:
            lines.append("    " + store(self.out, "p0", "f0", value, 1))
        elif self.out_kind == "c":
            lines.append("    " + store(self.out, "(p0 + f0)", "d", value, width))
        elif width == 1:
            lines.append("    " + store(self.out, "(p0 + f0)", "d * s0_c", value, 1))
        else:
            lines.append(f"    const {vector(compute_type(self.out), width)} u = {value};")
            for lane in range(width):
                lines.append("    " + store(self.out, "(p0 + f0)", f"(d + {lane}) * s0_c", f"u.s{lane:x}", 1))
        return lines

    def column(self, width, copies=1) -> list[str]:
        """Reduce `copies` times `width` columns from ``c`` on."""
        ctype = vector(self.ctype, width)
        start = f"({ctype})({identity(self.op, self.acc)})"
        which = range(copies)
        lines = ["    " + "".join([f"{ctype} total{u} = {start}; " for u in which]), *self.outer()]
        lines.append(f"    for (I j = i0; j < i1; j += {_COLUMN_LEVEL}) {{ const I e = min(j + {_COLUMN_LEVEL}, i1);")
        lines.append("     " + "".join([f"{ctype} part{u} = {start}; " for u in which]))
        lines.append("     for (I i = j; i < e; i++) {")
        for u in which:
            lines.append(f"     {{ const I d = c + {u * width};")
            lines.extend(self.step(f"part{u}", width))
            lines.append("     }")
        lines.append("     }")
        lines += [f"     total{u} = {combine(self.op, self.acc, width, f'total{u}', f'part{u}')};" for u in which]
        lines.append("    } }")
        for u in which:
            lines += [f"    {{ const I d = c + {u * width};", *self.finish(f"total{u}", width), "    }"]
        return lines

    def row(self, scalar_only, tree) -> list[str]:
        ctype = self.ctype
        start = identity(self.op, self.acc)
        lines = [f"  {ctype} total = {start};"]
        if not scalar_only:
            lines.append(f"  {ctype}{WIDTH} lanes = ({ctype}{WIDTH})({start});")
        lines.extend(self.outer())
        if tree:
            lines.append(f"    for (I i = i0 + lane; i < i1; i += {GROUP}) {{")
            lines.extend(self.step("total", 1))
            lines.append("    } }")
            lines.append("  shared[lane] = total; barrier(CLK_LOCAL_MEM_FENCE);")
            lines.append(f"  for (I hop = {GROUP // 2}; hop > 0; hop /= 2) {{")
            joined = combine(self.op, self.acc, 1, "shared[lane]", "shared[lane + hop]")
            lines.append(f"    if (lane < hop) shared[lane] = {joined};")
            lines.append("    barrier(CLK_LOCAL_MEM_FENCE); }")
            lines.append("  if (lane == 0) {")
            return lines + self.finish("shared[0]", 1) + ["  }"]
        lines.append(f"    for (I j = i0; j < i1; j += {_LEVEL}) {{ const I e = min(j + {_LEVEL}, i1); I i = j;")
        if not scalar_only:
            lines.append(f"     {ctype}{WIDTH} part = ({ctype}{WIDTH})({start});")
            lines.append(f"     for (; i + {WIDTH} <= e; i += {WIDTH}) {{")
            lines.extend(self.step("part", WIDTH))
            lines.append(f"     }} lanes = {combine(self.op, self.acc, WIDTH, 'lanes', 'part')};")
        lines.append(f"     {{ {ctype} part = {start}; for (; i < e; i++) {{")
        lines.extend(self.step("part", 1))
        lines.append(f"     }} total = {combine(self.op, self.acc, 1, 'total', 'part')}; }} }}")
        lines.append("    }")
        if not scalar_only:
            lines.extend(fold(self.op, self.acc, "lanes"))
            lines.append(f"  total = {combine(self.op, self.acc, 1, 'total', 'lanes1')};")
        return lines + self.finish("total", 1)


# ---------------------------------------------------------------- computing


def reduce_chain(
    op, steps, leaves, scalars, shape, axes, acc, out, result_shape, device, post="", number=1, ordered=False
) -> CLArray:
    """Reduce `axes` of a chain of operations over `shape`; no length is 0.

    Parameters
    ----------
    op : str
    steps, leaves, scalars
        The chain (`pointwise.linearize`); a step "position" stands for the place in the row-major
        order of the reduced dimensions, which needs `ordered`.
    acc, out : numpy.dtype
        Of the accumulator and the result.
    post : str
        What is done with the result: "", "mean" (divided by `number`), "root", "root_mean".
    """
    wide = False
    for leaf in leaves:
        if leaf.block.capacity >= 1 << 31:
            wide = True
    key = (op, steps, acc, out, post, shape, axes, tuple([(a.shape, a.strides) for a in leaves]), ordered, wide, device.is_cpu)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) > 4096:
            _plans.clear()
        rows = [element_strides(a, shape) for a in leaves]
        plan = _plans[key] = make_plan(
            op, steps, [a.dtype for a in leaves], [s[1] for s in steps if s[0] == "scalar"], acc, out, post, shape, axes,
            rows, wide, device, ordered,
        )  # fmt: skip
    split = plan.blocks > 1
    result = empty((plan.blocks, plan.kept), acc, device) if split else empty(result_shape, out, device)
    kernel = device.kernel(plan.key, plan.make_source, "run", plan.scalar_types)
    args = [result.block.buffer, 0]
    for a in leaves:
        args.append(a._block.buffer)
        args.append(a.offset // a.dtype.itemsize)
    args.extend(scalars)
    if "mean" in post and not split:
        args.append(number)
    args.extend(plan.numbers)
    device.launch(kernel, plan.global_size, args, (), plan.local_size)
    if not split:
        return result
    return reduce_chain(
        op, (("leaf", acc),), [result], [], result.shape, (0,), acc, out, result_shape, device, post, number
    )


__all__ = ["BOOL", "combine", "fold", "identity", "reduce_chain"]
