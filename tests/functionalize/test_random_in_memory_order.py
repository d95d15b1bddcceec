"""Random in-place operators draw in the order of memory that the program knows, wherever the values lie."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.func import functionalize

DRAWS = {
    "uniform_": (), "normal_": (), "exponential_": (), "random_": (7,), "geometric_": (0.5,), "cauchy_": (),
    "log_normal_": (), "bernoulli_": (0.5,),
}  # fmt: skip


@pytest.mark.parametrize("name", DRAWS)
def test_random_operators_after_a_change_in_place(name):
    def draw(x):
        y = x * 1  # its memory is that of x, column by column
        y.masked_fill_(y < 0, 1.0)  # its value is a new tensor, row by row
        return getattr(y, name)(*DRAWS[name])

    x = mt.empty_strided((4, 3), (1, 4)).copy_(mt.arange(12.0).sin().view(4, 3))
    mt.manual_seed(0)
    expected = draw(x)
    mt.manual_seed(0)
    assert mt.equal(functionalize(draw)(x), expected)
