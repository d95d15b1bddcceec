"""The table of derivative formulas."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Formula = Callable[..., Any]


class Derivative:
    """The formulas of one operator, by the argument each is the gradient of."""

    __slots__ = ("formulas", "forward", "jointly", "name")

    def __init__(self, name: str, formulas: dict[str, Formula], jointly: dict[tuple[str, ...], Formula], forward):
        self.name = name
        self.formulas = formulas
        self.jointly = jointly
        self.forward = forward


DERIVATIVES: dict[str, Derivative] = {}


def derivative(
    operator_name: str,
    /,
    *,
    result: Formula | str | None = None,
    jointly: dict[tuple[str, ...], Formula] | None = None,
    **formulas: Formula,
) -> None:
    """Register the derivative formulas of an operator (docs/internals.md, "Derivatives").

    Parameters
    ----------
    operator_name : str
        ``"mul.Tensor"``: base name and overload.
    result : callable or {"linear", "elementwise"}, optional
        The forward-mode formula.
    jointly : dict, optional
        One formula for several arguments; it gets `needs` and returns a tuple.
    **formulas : callable
        One formula per differentiable argument.
    """
    if operator_name in DERIVATIVES:
        raise ValueError(f"{operator_name} has a derivative already")
    for argument, formula in formulas.items():
        if not callable(formula):
            raise TypeError(f"{operator_name}: the formula of {argument!r} is not callable")
    DERIVATIVES[operator_name] = Derivative(operator_name, formulas, jointly or {}, result)


def parameter_names(formula: Formula) -> tuple[str, ...]:
    """Return the names of a formula's parameters: what it needs."""
    return tuple(inspect.signature(formula).parameters)
