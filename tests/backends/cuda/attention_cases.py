"""The tests of ``attention.cu`` for `test_sources.py`: (launcher, maker of arrays, name of the kernel)."""

from __future__ import annotations

import numpy as np

NULL = np.uint64(0)
i64, i32, f64 = np.int64, np.int32, np.float64
# batch, heads, queries, keys, size, size of values, causal, mask, operands by position (bits), blocks
FORMS = (
    (1, 2, 37, 21, 5, 9, False, None, 0, 3),
    (2, 3, 20, 35, 8, 8, True, None, 31, 100),
    (1, 1, 35, 18, 12, 4, True, None, 6, 2),
    (2, 2, 17, 33, 3, 6, False, "bool", 8, 5),
    (2, 2, 16, 16, 16, 16, False, "float", 17, 4),
    (1, 1, 1, 40, 128, 128, False, None, 0, 1),
    (1, 2, 3, 1, 1, 1, False, None, 0, 1),
    (1, 2, 5, 0, 4, 3, False, None, 0, 2),
)


class Form:
    """Operands, what the kernels take beside them, and the answers of NumPy in float64."""

    def __init__(self, make, form):
        self.make = make
        batch, heads, queries, keys, size, value_size, causal, mask, self.layout, self.blocks = form
        lead = batch, heads
        self.q, self.k = make(*lead, queries, size), make(*lead, keys, size)
        self.v, self.g = make(*lead, keys, value_size), make(*lead, queries, value_size)
        self.allowed = self.bias = None
        steps = 0, 0, 0, 0
        if mask == "bool":  # one for each batch, and a query that sees nothing
            self.allowed = make.random.random((batch, 1, queries, keys)) < 0.7
            self.allowed[0, 0, 2] = False
            steps = queries * keys, 0, keys, 1
        elif mask == "float":  # one for each head and key
            self.bias = make.random.uniform(-2, 2, (heads, 1, keys)).astype(make.A)
            self.bias[:, 0, 3] = -np.inf
            steps = 0, keys, 0, 1
        self.scale = 0.37
        sizes = batch * heads, heads, queries, keys, size, value_size, *steps
        self.rest = (*map(i64, sizes), f64(self.scale), i32(causal), i32(self.layout))
        self.masks = tuple(NULL if m is None else m for m in (self.allowed, self.bias))
        self.threads = 64 if make.T.itemsize == 8 else 128
        self.answer(causal)

    def answer(self, causal):
        q, k, v, g = (a.astype(np.float64) for a in (self.q, self.k, self.v, self.g))
        scores = q @ k.swapaxes(-1, -2) * self.scale
        if self.bias is not None:
            scores = scores + self.bias.astype(np.float64)
        if self.allowed is not None:
            scores = np.where(self.allowed, scores, -np.inf)
        if causal:
            scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
        top = scores.max(-1, keepdims=True, initial=-1e30)
        e = np.exp(scores - top)
        total = e.sum(-1, keepdims=True)
        self.empty = total[..., 0] == 0
        p = e / np.where(total == 0, 1, total)
        self.out = (p @ v).astype(self.make.T)
        self.logsumexp = np.where(self.empty, np.inf, np.log(np.where(total == 0, 1, total))[..., 0] + top[..., 0])
        # The kernels get the rounded result.
        self.delta = (g * self.out.astype(np.float64)).sum(-1)
        s = p * (g @ v.swapaxes(-1, -2) - self.delta[..., None])
        self.dq, self.dk = s @ k * self.scale, s.swapaxes(-1, -2) @ q * self.scale
        self.dv = p.swapaxes(-1, -2) @ g

    def laid(self, array, bit):
        """Return memory with an operand in it, by position where the form says so."""
        return np.ascontiguousarray(array.swapaxes(1, 2)) if self.layout & bit else array

    def operands(self):
        return self.laid(self.q, 1), self.laid(self.k, 2), self.laid(self.v, 4)

    def by_position(self, array):
        batch, heads, length, size = array.shape
        return self.make.out(batch, length, heads, size)


def attention(run, make, name):
    for form in FORMS:
        f = Form(make, form)
        out = f.by_position(f.out) if f.layout & 8 else make.out(*f.out.shape)
        logsumexp = make.out(*f.logsumexp.shape, dtype=make.A)
        run(f.blocks, f.threads, *f.operands(), *f.masks, out, logsumexp, *f.rest)
        make.close(out.swapaxes(1, 2) if f.layout & 8 else out, f.out.astype(np.float64), 4)
        assert np.array_equal(np.isposinf(logsumexp), f.empty)
        make.close(logsumexp[~f.empty], f.logsumexp[~f.empty], 8)


def backward_query(run, make, name):
    for form in FORMS:
        f = Form(make, form)
        dq, delta = f.by_position(f.dq), make.out(*f.delta.shape, dtype=make.A)
        operands = f.laid(f.g, 16), *f.operands(), f.laid(f.out, 8), f.logsumexp.astype(make.A), *f.masks
        run(f.blocks, f.threads, *operands, dq, delta, *f.rest)
        make.close(dq.swapaxes(1, 2), f.dq, 16)
        make.close(delta, f.delta, 8)


def backward_key_value(run, make, name):
    for form in FORMS:
        f = Form(make, form)
        if not f.k.size:
            continue
        dk, dv = f.by_position(f.dk), f.by_position(f.dv)
        operands = f.laid(f.g, 16), *f.operands(), f.logsumexp.astype(make.A), f.delta.astype(make.A), *f.masks
        run(f.blocks, f.threads, *operands, dk, dv, *f.rest)
        make.close(dk.swapaxes(1, 2), f.dk, 16)
        make.close(dv.swapaxes(1, 2), f.dv, 16)


CASES = {
    "attention": attention,
    "attention_backward_query": backward_query,
    "attention_backward_key_value": backward_key_value,
}
