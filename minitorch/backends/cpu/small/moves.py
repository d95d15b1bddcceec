# cython: nonecheck=True
"""Loops that move elements of small arrays (Note [Loops for small operands] in `small`); types in `moves.pxd`."""
# ruff: noqa: F821 (elements are declared in the .pxd files)

from __future__ import annotations

from minitorch.backends.array.binding import Loop
from minitorch.core.dtype import float32, float64, get_default_dtype

loops_import()

_MOVED = 2048


class GatherLoop(Loop):
    """``gather(x, dim, index)`` along the last of two dimensions."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 3:
            return None
        first, second = args[0], args[2]
        p = loops_float(first.handle, _MOVED)
        q = loops_int64(second.handle, _MOVED)
        if not p or not q or loops_ndim(first.handle) != 2 or loops_ndim(second.handle) != 2:
            return None
        if args[1] != 1 and args[1] != -1:
            return None
        n = loops_dim(first.handle, 1)
        m = loops_dim(second.handle, 1)
        rows = loops_dim(second.handle, 0)
        if rows > loops_dim(first.handle, 0):
            return None
        result = loops_new_float(second.handle)
        r = loops_float_of(result)
        for _ in range(rows):
            for j in range(m):
                at = q[j]
                if at < 0 or at >= n:
                    return None
                r[j] = p[at]
            p += n
            q += m
            r += m
        return result


class EmbeddingLoop(Loop):
    """``embedding(weight, indices)`` of a vector of indices."""

    def run(self, args, kwargs):
        if kwargs or len(args) < 2:
            return None
        first, second = args[0], args[1]
        p = loops_float(first.handle, _MOVED)
        q = loops_int64(second.handle, _MOVED)
        if not p or not q or loops_ndim(first.handle) != 2 or loops_ndim(second.handle) != 1:
            return None
        m = loops_dim(first.handle, 0)
        n = loops_dim(first.handle, 1)
        rows = loops_size(second.handle)
        if rows * n > _MOVED:
            return None
        result = loops_new_matrix(rows, n)
        r = loops_float_of(result)
        for i in range(rows):
            at = q[i]
            if at < 0 or at >= m:
                return None
            for j in range(n):
                r[j] = p[at * n + j]
            r += n
        return result


class JoinLoop(Loop):
    """``cat(tensors)`` and ``stack(tensors)`` along the first dimension."""

    def __init__(self, stacks):
        self.stacks = stacks

    def run(self, args, kwargs):
        if kwargs or len(args) > 2 or (len(args) == 2 and args[1] != 0) or type(args[0]) is not list:
            return None
        tensors = args[0]
        count = len(tensors)
        if not count:
            return None
        first = tensors[0]
        size = 0
        n = 0
        for i in range(count):
            second = tensors[i]
            if not loops_float(second.handle, _MOVED):
                return None
            if self.stacks:
                if not loops_same_shape(first.handle, second.handle):
                    return None
            else:
                if not loops_ndim(second.handle) or not loops_same_rows(first.handle, second.handle):
                    return None
                n += loops_dim(second.handle, 0)
            size += loops_size(second.handle)
        if size > _MOVED:
            return None
        result = loops_new_joined(first.handle, count if self.stacks else n, self.stacks)
        r = loops_float_of(result)
        for i in range(count):
            second = tensors[i]
            p = loops_float_of(second.handle)
            n = loops_size(second.handle)
            for j in range(n):
                r[j] = p[j]
            r += n
        return result


class FactoryLoop(Loop):
    """``zeros(sizes)``, ``ones(sizes)`` or ``empty(sizes)`` of the default dtype."""

    def __init__(self, value, filled=True):
        self.value = value
        self.filled = filled

    def run(self, args, kwargs):
        if kwargs or len(args) != 1 or type(args[0]) is not list or get_default_dtype() is not float32:
            return None
        result = loops_new_sized(args[0], _MOVED)
        if result is not None and self.filled:
            r = loops_float_of(result)
            for i in range(loops_size(result)):
                r[i] = self.value
        return result


class LikeLoop(FactoryLoop):
    """``zeros_like(x)``, ``ones_like(x)`` or ``empty_like(x)``."""

    def run(self, args, kwargs):
        if kwargs or len(args) != 1:
            return None
        first = args[0]
        if not loops_float(first.handle, _MOVED):
            return None
        result = loops_new_float(first.handle)
        if self.filled:
            r = loops_float_of(result)
            for i in range(loops_size(result)):
                r[i] = self.value
        return result


class CastLoop(Loop):
    """``_to_copy(x, dtype=...)`` between float32 and float64, and from int64 and bool to float32."""

    def run(self, args, kwargs):
        if kwargs is None or len(kwargs) != 1 or len(args) != 1:
            return None
        dtype = kwargs.get("dtype")
        first = args[0]
        if dtype is float64:
            p = loops_float(first.handle, _MOVED)
            if not p:
                return None
            n = loops_size(first.handle)
            result = loops_new_double(first.handle)
            s = loops_double_of(result)
            for i in range(n):
                s[i] = p[i]
            return result
        if dtype is not float32:
            return None
        result = None
        d = loops_double(first.handle, _MOVED)
        if d:
            n = loops_size(first.handle)
            result = loops_new_float(first.handle)
            r = loops_float_of(result)
            for i in range(n):
                r[i] = d[i]
            return result
        q = loops_int64(first.handle, _MOVED)
        if q:
            n = loops_size(first.handle)
            result = loops_new_float(first.handle)
            r = loops_float_of(result)
            for i in range(n):
                r[i] = q[i]
            return result
        c = loops_bool(first.handle, _MOVED)
        if c:
            n = loops_size(first.handle)
            result = loops_new_float(first.handle)
            r = loops_float_of(result)
            for i in range(n):
                r[i] = c[i]
        return result


LOOPS = {
    "gather": GatherLoop(), "embedding": EmbeddingLoop(), "cat": JoinLoop(False), "stack": JoinLoop(True),
    "zeros": FactoryLoop(0.0), "ones": FactoryLoop(1.0), "empty.memory_format": FactoryLoop(0.0, False),
    "zeros_like": LikeLoop(0.0), "ones_like": LikeLoop(1.0), "empty_like": LikeLoop(0.0, False),
    "_to_copy": CastLoop(),
}
