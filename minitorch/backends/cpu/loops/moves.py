"""Loops that move elements of small arrays (Note [Loops for small operands] in `loops`); types in `moves.pxd`."""
# ruff: noqa: F821 (elements are declared in the .pxd files)

from __future__ import annotations

from minitorch.backends.array.binding import Loop
from minitorch.tensor.base import TensorBase

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
        for i in range(rows):
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


LOOPS = {"gather": GatherLoop(), "embedding": EmbeddingLoop(), "cat": JoinLoop(False), "stack": JoinLoop(True)}
