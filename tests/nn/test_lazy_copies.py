"""Copies and pickles of modules whose parameters have no shape yet."""

from __future__ import annotations

import copy
import pickle

import pytest

import minitorch as mt
from minitorch import nn


@pytest.mark.parametrize("make", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))])
@pytest.mark.parametrize("layer", [lambda: nn.LazyLinear(3, dtype=mt.float64), lambda: nn.LazyBatchNorm1d(dtype=mt.float64)])
def test_copies_are_lazy_too(make, layer):
    original = layer()
    original.weight.requires_grad_(False)
    made = make(original)
    assert made.has_uninitialized_params()
    assert (made.weight.dtype, made.weight.requires_grad) == (mt.float64, False)
    assert made(mt.ones(2, 4, dtype=mt.float64)).shape[0] == 2
    assert type(made) is type(original).cls_to_become
    assert original.has_uninitialized_params()
    assert type(original) is type(layer())


def test_what_is_shared_stays_shared():
    layer = nn.LazyLinear(3)
    first, second = copy.deepcopy(nn.ModuleList([layer, nn.ModuleList([layer])]))
    assert first is second[0]
    parameter, again = copy.deepcopy([layer.weight, layer.weight])
    assert parameter is again
