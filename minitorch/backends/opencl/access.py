"""Kernels that read and write elements by position: one template for gathering, one for scattering.

Note [Access by position]
    Every indexing operation walks a shape.  At each place one operand lies by strides, as in
    `pointwise`; the other is found by strides too, and in addition by positions that are read
    from index arrays, each multiplied by the step of the dimension it indexes.  An index array
    has strides along the shape as well, 0 where it does not change.

    `gather` and, on GPUs, `scatter` treat all places alike.  On CPU devices there are no atomic
    operations, and the order matters: the last of several values for one place stays, and sums
    must not depend on threads.  So the dimensions of the shape are of two sorts.  Along an
    *owned* dimension different places are different elements; these are shared out between
    work-items.  Along the others positions may repeat: a work-item walks all of them in order.
    Where owned dimensions do not give enough work-items, each of them also takes only one range
    of the positions in the first index array.

    A kernel cannot raise.  Before anything is written, positions are checked (`positions.limits`).
    Gathering writes to new memory only, so there the kernel itself looks at the positions it reads
    and leaves word in a flag, which is cheaper than to go over them twice.
"""

from __future__ import annotations

import numpy as np

from minitorch.backends.opencl.array import CLArray
from minitorch.backends.opencl.ctypes import (
    BFLOAT16,
    BFLOAT_SOURCE,
    INT32,
    INT64,
    compute_type,
    load,
    storage_type,
    store,
)
from minitorch.backends.opencl.expression import Scalar, before_write
from minitorch.backends.opencl.geometry import count
from minitorch.backends.opencl.operations import OPERATIONS, Form, helper_source, needs_scalars
from minitorch.backends.opencl.pointwise import CHUNK, assign, collapse, constant, run_kind

_WIDTH = 16
_MOVED = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}
# Below this many elements a scatter is not worth several work-items.
_SMALL = 8192
_LISTED = 512
_WIDE = 1 << 31


class Places:
    """Positions along one dimension of an array, for each place of the shape that is walked.

    Attributes
    ----------
    index : CLArray
        Of int32 or int64.
    strides : tuple of int
        Bytes from one position to the next along each dimension of the shape.
    bound : int
        How long the dimension is; negative positions count from there.
    step : int
        Its stride in bytes.
    """

    __slots__ = ("bound", "index", "step", "strides")

    def __init__(self, index: CLArray, strides: tuple, bound: int, step: int):
        self.index = index
        self.strides = strides
        self.bound = bound
        self.step = step


class _Plan:
    __slots__ = ("global_size", "key", "local_size", "make_source", "numbers", "scalar_types")


_plans: dict = {}


NEGATIVE, OUTSIDE = 1, 2


def gather_checked(source: CLArray, offset: int, strides: tuple, places: list, target: CLArray) -> int:
    """Do `gather`; return `NEGATIVE` if a position counted from the end, or `OUTSIDE` if one was out of bounds; waits.

    Both may be set; what is gathered for positions out of bounds is no matter.
    """
    if 0 in target.shape:
        return 0
    if any(p.bound == 0 for p in places) or 0 in source.shape:
        return OUTSIDE
    device = target.device
    flag = getattr(device.local, "flag", None)
    if flag is None:
        flag = device.local.flag = constant((1,), 0, INT32, device).settle()
    _everywhere("gather", target, source, offset, strides, places, flag)
    view = flag.host_view()
    found = int((flag.to_host() if view is None else view)[0])
    if found:
        assign(flag, Scalar(0, INT32))
        device.finish()  # the next call may go to another queue
    return found


def gather(source: CLArray, offset: int, strides: tuple, places: list, target: CLArray) -> CLArray:
    """Fill `target` with elements of `source`, positions being within bounds; return it.

    Parameters
    ----------
    source : CLArray
        With memory.
    offset : int
        Bytes from its first element.
    strides : tuple of int
        Bytes along each dimension of the target.
    places : list of Places
        What is added to that.
    target : CLArray
        Its memory is not that of `source`.
    """
    return _everywhere("gather", target, source, offset, strides, places)


def scatter(op: str, target: CLArray, offset: int, strides: tuple, owned: tuple, places: list, value: CLArray) -> None:
    """Write the elements of `value` into `target`, or combine them with what stands there.

    Parameters
    ----------
    op : str
        "set", or a row of `operations` with two operands of one type.
    target : CLArray
    offset, strides, places
        Where each element of `value` goes (Note [Access by position]).
    owned : tuple of bool
        Along which dimensions of `value` different places are different elements of `target`.
    value : CLArray
        Of the target's dtype and of the shape that is walked.
    """
    if 0 in value.shape:
        return
    before_write(target.block, value)
    value.settle()
    device = target.device
    if not device.is_cpu and (op == "set" or _can_swap(op, target.dtype, device)):
        _everywhere(op, value, target, offset, strides, places)
        return
    itemsize = target.dtype.itemsize
    key = (
        op, target.dtype.itemsize if op == "set" else target.dtype, value.shape, value.strides, strides, owned,
        tuple([(p.index.dtype, p.strides, p.bound, p.step) for p in places]), device.is_cpu, device.units,
        _extent([target, value, *[p.index for p in places]]),
    )  # fmt: skip
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) > 4096:
            _plans.clear()
        rows = [
            [s // itemsize for s in strides], [s // itemsize for s in value.strides],
            *[[s // p.index.dtype.itemsize for s in p.strides] for p in places],
        ]  # fmt: skip
        plan = _plans[key] = _owner_plan(op, target.dtype, value.shape, rows, owned, places, key[-1], device)
    kernel = device.kernel(plan.key, plan.make_source, "run", plan.scalar_types)
    args = [target.block.buffer, (target.offset + offset) // itemsize, value.block.buffer, value.offset // itemsize]
    for p in places:
        args += [p.index.block.buffer, p.index.offset // p.index.dtype.itemsize]
    device.launch(kernel, plan.global_size, (*args, *plan.numbers), (target.block,), plan.local_size)


def _grid(columns, rows, device):
    """Return (global size, local size) for rows that a CPU device does one by one.

    Left alone, drivers make groups of one row where there are few columns, and each group costs as
    much as a hundred elements.  The last group may have rows too many: kernels look at their number.
    """
    if not device.is_cpu or columns > 8 or rows < 64:
        return (columns, rows), None
    group = 1
    while group < 256 and group * 16 * device.units < rows:
        group *= 2
    return (columns, -(-rows // group) * group), (1, group)


def _extent(arrays) -> bool:
    """Return whether positions in memory need 64 bits."""
    return max([a.block.capacity for a in arrays]) >= _WIDE


# ---------------------------------------------------------------- all places alike


def _everywhere(op, plain, other, offset, strides, places, flag=None):
    """Gather from `other` into `plain`, or scatter the elements of `plain` into `other`."""
    if 0 in plain.shape:
        return plain
    device = plain.device
    itemsize = plain.dtype.itemsize
    blocks = [plain, other, *[p.index for p in places]]
    moved = op in ("gather", "set")
    key = (
        op, itemsize if moved else plain.dtype, plain.shape, plain.strides, strides,
        tuple([(p.index.dtype, p.strides, p.bound, p.step) for p in places]), device.is_cpu, _extent(blocks),
        flag is not None,
    )  # fmt: skip
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) > 4096:
            _plans.clear()
        plan = _plans[key] = _everywhere_plan(key, op, plain, strides, places, device)
    kernel = device.kernel(plan.key, plan.make_source, "run", plan.scalar_types)
    args = [plain.block.buffer, plain.offset // itemsize, other.block.buffer, (other.offset + offset) // itemsize]
    for p in places:
        args += [p.index.block.buffer, p.index.offset // p.index.dtype.itemsize]
    if flag is not None:
        args.append(flag.block.buffer)
    written = plain.block if op == "gather" else other.block
    device.launch(kernel, plan.global_size, (*args, *plan.numbers), (written,), plan.local_size)
    return plain


def _everywhere_plan(key, op, plain, strides, places, device):
    itemsize = plain.dtype.itemsize
    wide = key[-2]
    rows = [
        [s // itemsize for s in plain.strides], [s // itemsize for s in strides],
        *[[s // p.index.dtype.itemsize for s in p.strides] for p in places],
    ]  # fmt: skip
    sizes, rows = collapse(plain.shape, rows)
    n = sizes[-1]
    kinds = "".join([run_kind(r[-1], n) if k < 2 else ("b" if r[-1] == 0 or n == 1 else "s") for k, r in enumerate(rows)])
    outer = len(sizes) - 1
    types = tuple([p.index.dtype for p in places])
    plan = _Plan()
    checks = key[-1]
    plan.key = ("access", op, key[1], kinds, outer, types, wide, device.is_cpu, checks)
    dtype = plain.dtype
    is_cpu = device.is_cpu
    plan.make_source = lambda: everywhere_source(op, dtype, kinds, outer, types, wide, is_cpu, checks)
    index = INT64 if wide else INT32
    numbers = [n, *sizes[:-1]]
    for row in rows:
        numbers += row
    for p in places:
        numbers += [p.bound, p.step // itemsize]
    plan.numbers = numbers
    plan.scalar_types = (*[None, index] * (2 + len(places)), *[None] * checks, *[index] * len(numbers))
    plan.global_size, plan.local_size = _grid(-(-n // CHUNK) if is_cpu else n, count(sizes[:-1]), device)
    return plan


def _head(ctype, types, wide, first="p0", second="p1", constant=(False, True)):
    """Return the lines before the body that both templates share, and the start of the parameters."""
    lines = [f"typedef {'long' if wide else 'int'} I;", "#define FIX(x, n) ((I)(x) < 0 ? (I)(x) + (n) : (I)(x))"]
    marks = ["const " if c else "" for c in constant]
    parameters = [f"__global {marks[0]}{ctype} *{first}", "I f0", f"__global {marks[1]}{ctype} *{second}", "I f1"]
    for k, t in enumerate(types):
        parameters += [f"__global const {compute_type(t)} *x{k}", f"I g{k}"]
    return lines, parameters


def _position(k, dtype, place):
    """Return the statements that read position ``z{k}``, compare it with its bound and note what is wrong."""
    ctype = compute_type(dtype)
    return (
        f"    {ctype} y{k} = x{k}[{place}]; bad |= y{k} < 0; y{k} += y{k} < 0 ? b{k} : 0;"
        f" const int o{k} = (u{ctype})y{k} >= (u{ctype})b{k}; bad |= o{k} << 1; const I z{k} = o{k} ? 0 : (I)y{k};"
    )


def everywhere_source(op, dtype, kinds, outer, types, wide, is_cpu, checks=False) -> str:
    """Return the OpenCL C that handles all places alike (Note [Access by position])."""
    moved = op in ("gather", "set")
    ctype = _MOVED[dtype.itemsize] if moved else storage_type(dtype)
    lines, parameters = _head(ctype, types, wide, constant=(op != "gather", op == "gather"))
    if not moved:
        lines.append(_swap_source(op, dtype))
    if checks:
        parameters.append("volatile __global int *flag")
    operands = 2 + len(types)
    parameters += ["I n", *[f"I n{k}" for k in range(outer)]]
    parameters += [f"I s{p}_{k}" for p in range(operands) for k in range(outer + 1)]
    parameters += [f"I {letter}{k}" for k in range(len(types)) for letter in "bm"]
    lines.append(f"__kernel void run({', '.join(parameters)}) {{")
    if checks:
        lines.append("  int bad = 0;")
    lines.append("  I r = get_global_id(1);")
    offsets = ["f0", "f1", *[f"g{k}" for k in range(len(types))]]
    for k in range(outer - 1, -1, -1):
        last = k == 0
        lines.append(f"  {{ const I o = {'r' if last else f'r % n{k}'};{' if (o >= n0) return;' if last else f' r /= n{k};'}")
        lines.append("   " + "".join([f" {offsets[p]} += o * s{p}_{k};" for p in range(operands)]) + " }")
    still = [k for k in range(len(types)) if kinds[2 + k] == "b"]
    for k in still:
        if checks:
            lines.append("  {" + _position(k, types[k], f"g{k}"))
            lines.append(f"  f1 += z{k} * m{k}; }}")
        else:
            lines.append(f"  f1 += FIX(x{k}[g{k}], b{k}) * m{k};")
    lines.append("  p0 += f0; p1 += f1;")
    moving = [k for k in range(len(types)) if kinds[2 + k] != "b"]
    for k in moving:
        lines.append(f"  x{k} += g{k};")
    if is_cpu:
        lines.append(f"  I i = (I)get_global_id(0) * {CHUNK}; const I e = min(i + {CHUNK}, n);")
        if not moving and kinds[:2] == "cc" and op == "gather" and dtype.itemsize < 16:
            lines.append(f"  for (; i + {_WIDTH} <= e; i += {_WIDTH}) vstore16(vload16(0, p1 + i), 0, p0 + i);")
        lines.append("  for (; i < e; i++) {")
    else:
        lines.append("  const I i = get_global_id(0); {")
    plain = "i" if kinds[0] == "c" else f"i * s0_{outer}"
    where = {"c": "i", "b": "0", "s": f"i * s1_{outer}"}[kinds[1]]
    for k in moving:
        if checks:
            lines.append(_position(k, types[k], f"i * s{2 + k}_{outer}"))
            where += f" + z{k} * m{k}"
        else:
            lines.append(f"    const I y{k} = x{k}[i * s{2 + k}_{outer}];")
            where += f" + FIX(y{k}, b{k}) * m{k}"
    if op == "gather":
        lines.append(f"    p0[{plain}] = p1[{where}];")
    elif op == "set":
        lines.append(f"    p1[{where}] = p0[{plain}];")
    else:
        lines.append(f"    combine(p1, {where}, {load(dtype, 'p0', plain)});")
    lines.append("  }")
    if checks:
        lines.append("  if (bad) atomic_or(flag, bad);")
    lines.append("}")
    return "\n".join(lines)


# ---------------------------------------------------------------- atomic combination, for GPUs


def _can_swap(op: str, dtype: np.dtype, device) -> bool:
    """Return whether an element can be combined by compare-and-swap."""
    if dtype == np.complex128 and op != "add":
        return False
    return dtype.itemsize <= 4 or "cl_khr_int64_base_atomics" in device.cl_device.extensions


def _swap_source(op, dtype):
    """Return the C function ``combine``, which replaces an element while nobody else changed it."""
    parts = []
    if dtype == BFLOAT16:
        parts.append(BFLOAT_SOURCE)
    if dtype == np.complex128:
        # Its parts are added one by one.
        real = np.dtype(np.float64)
        return _swap_source(op, real).replace("combine", "combine_part") + (
            "inline void combine(__global double2 *p, long i, double2 v) {\n"
            "  combine_part((__global double *)(p + i), 0, v.x); combine_part((__global double *)(p + i), 1, v.y); }\n"
        )
    parts.append(helper_source({(op, dtype)}))
    ctype = storage_type(dtype)
    value = compute_type(dtype)
    itemsize = dtype.itemsize
    expression = OPERATIONS[op](Form(dtype, 1), "a", "v")
    word = "ulong" if itemsize == 8 else "uint"
    swap = "atom_cmpxchg" if itemsize == 8 else "atomic_cmpxchg"
    if itemsize == 8:
        parts.append("#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable")
    kind = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}[itemsize]
    if dtype == np.float16:
        decode, encode = "vload_half(0, (half *)&now)", "vstore_half_rte(w, 0, (half *)&next);"
    elif dtype == BFLOAT16:
        decode, encode = "as_float((uint)now << 16)", "next = to_bfloat(w);"
    else:
        decode, encode = f"as_{ctype}(now)", f"next = as_{kind}(w);"
    # A narrow element is replaced together with its neighbours in the same word.
    if itemsize < 4:
        place = (
            f"  const size_t at = (size_t)(p + i); volatile __global uint *word = (volatile __global uint *)(at & ~(size_t)3);\n"
            f"  const uint shift = (uint)(at & 3) * 8, mask = {'0xffu' if itemsize == 1 else '0xffffu'} << shift;\n"
        )
        now = f"({kind})((old & mask) >> shift)"
        put = "(old & ~mask) | ((uint)next << shift)"
    else:
        place = f"  volatile __global {word} *word = (volatile __global {word} *)(p + i);\n"
        now, put = "old", "next"
    parts.append(
        f"inline void combine(__global {ctype} *p, long i, {value} v) {{\n{place}"
        f"  {word} old = *word, seen;\n"
        f"  while (true) {{\n"
        f"    const {kind} now = {now}; {kind} next; const {value} a = {decode}; const {value} w = {expression};\n"
        f"    {encode}\n"
        f"    seen = {swap}(word, old, {put}); if (seen == old) break; old = seen;\n"
        f"  }} }}"
    )
    return "\n".join(parts)


# ---------------------------------------------------------------- places shared out between owners


def _merge(sizes, rows):
    """Merge neighbouring dimensions where all rows allow."""
    at = len(sizes) - 1
    while at > 0:
        n = sizes[at]
        if all(r[at - 1] == r[at] * n for r in rows):
            sizes[at] *= sizes[at - 1]
            del sizes[at - 1]
            for r in rows:
                del r[at - 1]
        at -= 1
    return sizes, rows


def _owner_plan(op, dtype, shape, rows, owned, places, wide, device):
    axes = [d for d, n in enumerate(shape) if n != 1 and owned[d]]
    axes.sort(key=lambda d: -abs(rows[0][d]))
    mine, mine_rows = _merge([shape[d] for d in axes], [[r[d] for d in axes] for r in rows])
    axes = [d for d, n in enumerate(shape) if n != 1 and not owned[d]]
    walked, walked_rows = _merge([shape[d] for d in axes], [[r[d] for d in axes] for r in rows])
    steps = [abs(p.step // dtype.itemsize) for p in places]
    # The innermost loop goes where the target's neighbours are.
    if mine and (not walked or abs(mine_rows[0][-1]) <= min(steps, default=0)):
        n, run = mine.pop(), [r.pop() for r in mine_rows]
    elif walked:
        n, run = walked.pop(), [r.pop() for r in walked_rows]
    else:
        n, run = 1, [0] * len(rows)
    total = count(shape)
    ranges = 1
    if places and total > _SMALL and count(mine) < 4 * device.units:
        ranges = max(1, min(device.units if device.is_cpu else 256, places[0].bound, 256))
    first = places[0].bound
    kinds = "".join([run_kind(r, n) if k < 2 else ("b" if r == 0 or n == 1 else "s") for k, r in enumerate(run)])
    types = tuple([p.index.dtype for p in places])
    form = (len(mine), len(walked), kinds, types, wide)
    plan = _Plan()
    plan.key = ("owners", op, dtype.itemsize if op == "set" else dtype, *form)
    plan.make_source = lambda: owner_source(op, dtype, *form)
    numbers = [n, first, *mine, *walked]
    for k in range(len(rows)):
        numbers += [*mine_rows[k], *walked_rows[k], run[k]]
    for p in places:
        numbers += [p.bound, p.step // dtype.itemsize]
    plan.numbers = numbers
    index = INT64 if wide else INT32
    plan.scalar_types = (*[None, index] * (2 + len(places)), *[index] * len(numbers))
    plan.global_size, plan.local_size = _grid(ranges, count(mine), device)
    return plan


def owner_source(op, dtype, mine, walked, kinds, types, wide) -> str:
    """Return the OpenCL C in which a work-item owns the elements that it writes (Note [Access by position])."""
    moved = op == "set"
    ctype = _MOVED[dtype.itemsize] if moved else storage_type(dtype)
    lines, parameters = _head(ctype, types, wide, constant=(False, True))
    if not moved:
        if dtype == BFLOAT16:
            lines.append(BFLOAT_SOURCE)
        lines.append(helper_source({(op, dtype)}))
    operands = 2 + len(types)
    dims = mine + walked
    parameters += ["I n", "I first", *[f"I n{k}" for k in range(dims)]]
    parameters += [f"I s{p}_{k}" for p in range(operands) for k in range(dims + 1)]
    parameters += [f"I {letter}{k}" for k in range(len(types)) for letter in "bm"]
    lines.append(f"__kernel void run({', '.join(parameters)}) {{")
    lines.append("  const I low = (I)((long)first * (long)get_global_id(0) / (long)get_global_size(0));")
    lines.append("  const I high = (I)((long)first * ((long)get_global_id(0) + 1) / (long)get_global_size(0));")
    lines.append("  I r = get_global_id(1);")
    offsets = ["f0", "f1", *[f"g{k}" for k in range(len(types))]]
    for k in range(mine - 1, -1, -1):
        last = k == 0
        lines.append(f"  {{ const I o = {'r' if last else f'r % n{k}'};{' if (o >= n0) return;' if last else f' r /= n{k};'}")
        lines.append("   " + "".join([f" {offsets[p]} += o * s{p}_{k};" for p in range(operands)]) + " }")
    names = offsets
    for k in range(mine, dims):
        inner = [f"{name}_{k}" for name in offsets]
        lines.append(f"  for (I a{k} = 0; a{k} < n{k}; a{k}++) {{")
        parts = [f"{new} = {old} + a{k} * s{p}_{k}" for p, (new, old) in enumerate(zip(inner, names, strict=True))]
        lines.append(f"    const I {', '.join(parts)};")
        names = inner
    still = [k for k in range(len(types)) if kinds[2 + k] == "b"]
    moving = [k for k in range(len(types)) if kinds[2 + k] != "b"]
    for k in still:
        lines.append(f"    const I y{k} = FIX(x{k}[{names[2 + k]}], b{k});")
        if k == 0:
            lines.append("    if (y0 >= low && y0 < high) {")
    if not still or still[0] != 0:
        lines.append("    {")
    start = names[0] + "".join([f" + y{k} * m{k}" for k in still])
    lines.append(f"    __global {ctype} *p = p0 + ({start}); __global const {ctype} *q = p1 + {names[1]};")
    lines.append("    I i = 0;")
    vectors = not moving and kinds[0] == "c" and kinds[1] in "cb" and dtype.itemsize < 16
    if vectors and not moved:
        vectors = not needs_scalars(op, dtype)
    if vectors:
        lines.append(f"    for (; i + {_WIDTH} <= n; i += {_WIDTH}) {{ {_combined(op, dtype, 'i', 'i', kinds[1], _WIDTH)} }}")
    listed = 0 in moving
    if listed:
        # First the list of what lies in the range, without a branch, then the list.
        lines.append(f"    I list[{_LISTED}];")
        lines.append(f"    for (I c = 0; c < n; c += {_LISTED}) {{ const I e = min(c + {_LISTED}, n); int m = 0;")
        lines.append("    for (I j = c; j < e; j++) {")
        lines.append(f"      const I y = FIX(x0[{names[2]} + j * s2_{dims}], b0); list[m] = j; m += (y >= low) & (y < high); }}")
        lines.append("    for (int t = 0; t < m; t++) { i = list[t];")
    else:
        lines.append("    for (; i < n; i++) {")
    target, value = {"c": "i", "b": "0", "s": f"i * s0_{dims}"}[kinds[0]], f"i * s1_{dims}"
    for k in moving:
        lines.append(f"      const I y{k} = FIX(x{k}[{names[2 + k]} + i * s{2 + k}_{dims}], b{k});")
        target += f" + y{k} * m{k}"
    lines.append("      " + _combined(op, dtype, target, value, kinds[1], 1))
    lines.append("    }" + " }" * listed)
    lines.append("    }" + "  }" * walked + "\n}")
    return "\n".join(lines)


def _combined(op, dtype, target, value, kind, width):
    """Return the statement that writes `width` elements of ``q`` over, or into, those of ``p``."""
    if kind == "c":
        value = "i"
    elif kind == "b":
        value = "0"
    if op == "set":
        if width == 1:
            return f"p[{target}] = q[{value}];"
        ctype = _MOVED[dtype.itemsize]
        read = f"({ctype}{width})(q[0])" if kind == "b" else f"vload{width}(0, q + i)"
        return f"vstore{width}({read}, 0, p + i);"
    ctype = compute_type(dtype) + ("" if width == 1 else str(width))
    read = load(dtype, "q", value) if width == 1 or kind == "b" else load(dtype, "q", "i", width)
    if width > 1 and kind == "b":
        read = f"({ctype})({read})"
    expression = OPERATIONS[op](Form(dtype, width), "a", "v")
    if width == 1 and dtype.kind in "iu":
        expression = f"({ctype})({expression})"
    return (
        f"{{ const {ctype} a = {load(dtype, 'p', target, width)}, v = {read}; "
        f"{store(dtype, 'p', target, expression, width)} }}"
    )
