"""Functionalization at a level of the stack of transforms: what it is below, whose wrappers are whose, what is written back."""

from __future__ import annotations

import numpy as np
import pytest

import minitorch
from minitorch.dispatch.keys import (
    AD_INPLACE_OR_VIEW,
    AUTOGRAD_KEYS,
    BACKEND_SELECT,
    DEFAULT_EXCLUDED,
    DEFAULT_INCLUDED,
    FUNCTIONALIZE,
)
from minitorch.dispatch.local_state import ForceKeysGuard
from minitorch.dispatch.transforms import Interpreter, TransformType
from minitorch.functionalize import below as below_level
from minitorch.functionalize import functionalization, is_functional, unwrap, wrap, write_back


def equal(tensor, expected):
    np.testing.assert_array_equal(tensor.numpy(), np.asarray(expected, tensor.handle.dtype))


class Level(Interpreter):
    """A level of functionalization, as a transform has one: calls reach the Functionalize key, `lower` leaves it."""

    transform = TransformType.Functionalize

    def __enter__(self):
        self.entered = super().__enter__()
        self.lowered = 0
        return self.entered

    def lower(self):
        self.lowered += 1
        return super().lower()


def with_keys_of(level, function, *args):
    """Call a function as a transform's front would: only the Functionalize key is live."""
    level.ambient = (DEFAULT_INCLUDED, DEFAULT_EXCLUDED)
    keys = ForceKeysGuard(BACKEND_SELECT | FUNCTIONALIZE, DEFAULT_EXCLUDED | AUTOGRAD_KEYS | AD_INPLACE_OR_VIEW)
    with keys, functionalization(reapply_views=True):
        return function(*args)


def test_a_transform_replaces_what_is_below():
    plain = minitorch.ones(2, 2, requires_grad=True)
    base = plain * 3
    with Level() as level:
        x = wrap(base, level.level)
        storage = x.storage_cell

        def program(x):
            y = x[0]
            y.mul_(2)
            return x.sum() + minitorch.ones(())

        result = with_keys_of(level, program, x)
        assert result.handle.level == level.level
        assert level.lowered >= 3
        out = unwrap(result)
    assert write_back(storage)
    assert not is_functional(out)
    equal(base.detach(), [[6, 6], [3, 3]])
    assert out.item() == 19
    out.backward()  # autograd outside of the transform saw the calls
    equal(plain.grad, [[6, 6], [3, 3]])


def test_nothing_is_written_back_that_was_not_written():
    plain = minitorch.ones(2, 2)
    x = wrap(plain)
    storage = x.storage_cell
    x.t_()
    x.sum()
    assert not write_back(storage)
    assert plain._version == 0
    x.add_(1)
    x.set_(wrap(minitorch.zeros(3)))
    assert write_back(storage)
    equal(plain, [[2, 2], [2, 2]])
    x = wrap(plain)
    x.resize_(6).zero_()
    write_back(x.storage_cell)
    equal(plain, [0] * 6)


def test_levels_see_their_own_wrappers_only():
    inner_value = wrap(minitorch.ones(2))  # of level 0
    with Level() as level:
        x = wrap(inner_value, level.level)
        with pytest.raises(RuntimeError, match="already"):
            wrap(x, level.level)
        with_keys_of(level, lambda x: x.add_(1), x)
        assert unwrap(x).handle.level == 0
        equal(unwrap(unwrap(x)), [2, 2])
        with below_level(level.level):
            assert (inner_value + 1).handle.level == 0
    # A wrapper that outlives its level stands for what is inside, also where another has its number.
    assert x.handle.level == -2
    y = x * 2
    assert y.handle.level == 0
    equal(unwrap(y), [4, 4])
    with Level() as other:
        z = with_keys_of(other, lambda x: x + 1, x)
        assert z.handle.level == 0
        equal(unwrap(z), [3, 3])
    with pytest.raises(RuntimeError, match="levels of transforms"):
        wrap(minitorch.ones(1), 1)
