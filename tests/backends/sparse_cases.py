"""Products of entries and segments on a device, against dense ones: what the tests of each backend run."""

from __future__ import annotations

import numpy as np

import minitorch as mt
from minitorch.ops import functions as F
from minitorch.testing import assert_close

DTYPES = ("float32", "float64", "complex64", "float16", "bfloat16", "int64", "int32", "int8")
WIDTHS = (1, 5, 16, 40)


def integers(rng, shape, dtype):
    """Return small integers, whose sums are exact in every type."""
    return mt.from_numpy(rng.integers(-2, 3, shape).astype(np.float32)).to(dtype)


def wide(tensor):
    return tensor.to(mt.complex128 if tensor.dtype.is_complex else mt.float64)


def check_products(device, dtype_name, k, index_dtype=mt.int64):
    """Compare all products of one matrix with dense ones."""
    rng = np.random.default_rng(k)
    dtype = getattr(mt, dtype_name)
    n, m = 13, 17
    there = rng.random((n, m)) < 0.3
    there[4] = False  # a row without entries
    rows, columns = (mt.from_numpy(i) for i in np.nonzero(there))
    values = integers(rng, (rows.shape[0],), dtype)
    dense = mt.zeros(n, m, dtype=wide(values).dtype)
    dense[rows, columns] = wide(values)
    offsets = mt.searchsorted(rows, mt.arange(n + 1))
    right, left = integers(rng, (m, k), dtype), integers(rng, (n, k), dtype)
    order = mt.from_numpy(rng.permutation(rows.shape[0]))
    d_rows, d_columns, d_offsets = (t.to(index_dtype).to(device) for t in (rows, columns, offsets))
    d_values, d_right, d_left, d_order = (t.to(device) for t in (values, right, left, order))

    def same(found, wanted):
        assert found.dtype is dtype
        assert found.device.type == device
        assert_close(wide(found.cpu()), wanted, rtol=0, atol=0)

    same(F._segment_mm(d_offsets, d_columns, d_values, d_right), dense @ wide(right))
    same(F._segment_mm_transposed(d_offsets, d_columns, d_values, d_left, m), dense.t() @ wide(left))
    mixed = F._entries_mm(d_rows[d_order], d_columns[d_order], d_values[d_order], d_right, n)
    same(mixed, dense @ wide(right))
    # An operand that is not row-major, and one that does not begin where its memory does.
    same(F._segment_mm(d_offsets, d_columns, d_values, d_right.t().contiguous().t()), dense @ wide(right))
    same(F._segment_mm(d_offsets, d_columns, mt.cat([d_values[:1], d_values])[1:], d_right), dense @ wide(right))
    sampled = F._sampled_products(d_rows, d_columns, d_left, d_right)
    same(sampled, (wide(left) @ wide(right).t())[rows, columns])


def check_matmul(device, dtype_name):
    """Compare the product of two sparse matrices with the dense one."""
    rng = np.random.default_rng(3)
    dtype = getattr(mt, dtype_name)
    left = integers(rng, (6, 9), dtype) * integers(rng, (6, 9), dtype)
    right = integers(rng, (9, 5), dtype) * integers(rng, (9, 5), dtype)

    def parts(dense):
        rows, columns = mt.nonzero(dense).t()
        return mt.searchsorted(rows.contiguous(), mt.arange(dense.shape[0] + 1)), columns.contiguous(), dense[rows, columns]

    arguments = [t.to(device) for t in (*parts(left), *parts(right))]
    offsets, columns, values = (t.cpu() for t in F._segment_matmul(*arguments, 5))
    rows = mt.repeat_interleave(mt.arange(6), offsets[1:] - offsets[:-1])
    found = mt.zeros(6, 5, dtype=wide(values).dtype)
    found[rows, columns] = wide(values)
    assert_close(found, wide(left) @ wide(right), rtol=0, atol=0)
    assert bool(((rows * 5 + columns).diff() > 0).all())  # each entry once, in order


def check_bounds(device):
    """Indices that are out of bounds are found, and nothing is read there."""
    values, dense = mt.ones(2, device=device), mt.ones(3, 4, device=device)
    offsets = mt.tensor([0, 1, 2], device=device)
    for columns in ([0, 3], [-1, 0], [0, 1 << 40]):
        wrong = mt.tensor(columns, device=device)
        right = mt.tensor([0, 1], device=device)
        calls = [
            lambda wrong=wrong: F._segment_mm(offsets, wrong, values, dense),
            lambda wrong=wrong: F._segment_mm_transposed(offsets, wrong, values, mt.ones(2, 4, device=device), 3),
            lambda wrong=wrong, right=right: F._entries_mm(wrong, right, values, dense, 3),
            lambda wrong=wrong, right=right: F._entries_mm(right, wrong, values, dense, 3),
            lambda wrong=wrong, right=right: F._sampled_products(wrong, right, dense, dense),
            lambda wrong=wrong, right=right: F._sampled_products(right, wrong, dense, dense),
        ]
        for call in calls:
            try:
                call()
            except IndexError:
                continue
            raise AssertionError(f"columns {columns} are not refused")
