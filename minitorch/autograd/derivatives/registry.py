"""The table of derivative formulas."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from minitorch.autograd.grad_mode import is_grad_enabled
from minitorch.tensor.wrapper import is_followed

Formula = Callable[..., Any]


def is_differentiated_again(*tensors: Any) -> bool:
    """Return whether what a formula makes of these tensors may be differentiated itself, by operators with derivatives."""
    return is_grad_enabled() and any(t is not None and is_followed(t) for t in tensors)


class Derivative:
    """The formulas of one operator, by the argument each is the gradient of."""

    __slots__ = ("formulas", "forward", "jointly", "name")

    def __init__(self, name: str, formulas: dict[str, Formula], jointly: dict[tuple[str, ...], Formula], forward):
        self.name = name
        self.formulas = formulas
        self.jointly = jointly
        self.forward = forward



class Multilinear:
    """Forward formula of a product: the sum of the products with one factor's tangent in its place.

    Parameters
    ----------
    *factors : str
        Arguments in each of which the operator is linear.
    additive : tuple of str
        Arguments that are added: they are zero in all products but one, which has their tangents.
    """

    __slots__ = ("additive", "factors")

    def __init__(self, *factors: str, additive: tuple[str, ...] = ()):
        self.factors = factors
        self.additive = additive


DERIVATIVES: dict[str, Derivative] = {}

# PyTorch numbers the nodes of an operator's overloads in the order of its own table; 0 is left out here.
NODE_NUMBERS = {
    "add.Scalar": 1, "sub.Scalar": 1, "rsub.Scalar": 1, "mul.Scalar": 1, "div.Scalar": 1, "div.Tensor_mode": 2,
    "div.Scalar_mode": 3, "remainder.Tensor": 1, "fmod.Tensor": 1, "copysign.Scalar": 1, "pow.Tensor_Tensor": 1,
    "pow.Scalar": 2, "xlogy.Scalar_Self": 1, "xlogy.Scalar_Other": 2, "round.decimals": 1, "clamp": 1,
    "clamp_min.Tensor": 1, "clamp_max.Tensor": 1, "lerp.Tensor": 1, "fill.Tensor": 1,
    "special_xlog1py.self_scalar": 1, "special_xlog1py.other_scalar": 2, "special_zeta.self_scalar": 1,
    "special_zeta.other_scalar": 2, "sum.dim_IntList": 1, "mean.dim": 1, "prod.dim_int": 1, "max": 1, "min": 1,
    "median.dim": 1, "nanmedian.dim": 1, "sort.stable": 1, "scatter.value": 1, "index_fill.int_Tensor": 1,
    "masked_fill.Tensor": 1, "normal.Tensor_float": 1, "normal.float_Tensor": 2, "normal.Tensor_Tensor": 3,
    "_to_sparse": 1, "norm.ScalarOpt_dim": 1, "norm.ScalarOpt_dim_dtype": 3, "squeeze.dim": 1, "squeeze.dims": 2,
}


def derivative(
    operator_name: str,
    /,
    *,
    result: Formula | str | Multilinear | None = None,
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


# Element-wise operators whose formulas do for sparse tensors what they do for dense ones.
WORK_ON_SPARSE = frozenset((
    "add.Tensor", "add.Scalar", "alias", "conj_physical", "_conj_physical", "div.Scalar", "div.Tensor", "div.Tensor_mode",
    "floor_divide", "fmod.Tensor", "masked_fill.Scalar", "masked_fill.Tensor", "mul.Scalar", "mul.Tensor", "neg",
    "remainder.Tensor", "rsub.Scalar", "rsub.Tensor", "sub.Scalar", "sub.Tensor", "where.self",
))  # fmt: skip
# Formulas in place of those above for an argument that is a sparse tensor, by operator and argument.
SPARSE_FORMULAS: dict[tuple[str, str], Formula] = {}


def sparse_derivative(operator_name: str, /, **formulas: Formula) -> None:
    """Register formulas that are used where the argument is a sparse tensor, of any layout."""
    for argument, formula in formulas.items():
        if (operator_name, argument) in SPARSE_FORMULAS:
            raise ValueError(f"{operator_name} has a derivative for a sparse {argument} already")
        SPARSE_FORMULAS[operator_name, argument] = formula


def sparse_formula(op: Any, argument: str, formula: Formula) -> Formula:
    """Return the formula of an operator for an argument that is a sparse tensor; `formula` is that for all others.

    An element-wise operator has its formula applied to the values (`derivatives.sparse_values`): one of one tensor at the
    entries of that, one of several at those of the result.  Formulas of sums and products work on the tensors as they are.
    """
    declaration = getattr(op, "declaration", None)
    name = (declaration and declaration.functional) or op.unqualified
    found = SPARSE_FORMULAS.get((name, argument))
    if found is None:
        tensors = [a for a in op.schema.arguments if a.type.base == "Tensor" and not a.is_out]
        if "pointwise" not in op.tags or name in WORK_ON_SPARSE:
            return formula
        from minitorch.autograd.derivatives.sparse_values import on_values

        found = SPARSE_FORMULAS[name, argument] = on_values(formula, argument if len(tensors) == 1 else "result")
    return found


def parameter_names(formula: Formula) -> tuple[str, ...]:
    """Return the names of a formula's parameters: what it needs."""
    return tuple(inspect.signature(formula).parameters)
