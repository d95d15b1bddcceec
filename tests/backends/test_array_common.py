"""What array kernels share: kept constants belong to one array library."""

from __future__ import annotations

import types

import numpy as np

from minitorch.backends.array.common import constant, ones_vector


def test_kept_arrays_are_not_shared_between_array_libraries():
    made = []

    def note(array):
        made.append(array)
        return array

    other = types.SimpleNamespace(
        array=lambda value, dtype: note(np.array(value, dtype)), ones=lambda n, dtype: note(np.ones(n, dtype))
    )
    other = _Hashable(other)
    dtype = np.dtype("float32")
    for xp in (np, other):
        assert constant(xp, 2.5, dtype) is constant(xp, 2.5, dtype)
        assert ones_vector(xp, 3, dtype) is ones_vector(xp, 3, dtype)
    assert constant(np, 2.5, dtype) is not constant(other, 2.5, dtype)
    assert ones_vector(np, 3, dtype) is not ones_vector(other, 3, dtype)
    assert len(made) == 2


class _Hashable:
    """An array namespace that can be a key, as modules are."""

    def __init__(self, functions):
        self.array, self.ones = functions.array, functions.ones
