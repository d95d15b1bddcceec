"""Transforms from unconstrained values to those that a constraint allows: `biject_to` and `transform_to`.

Both map real numbers onto the values of a constraint.  `biject_to` gives one-to-one maps with a Jacobian, for densities;
`transform_to` may give any map, often a cheaper one, for optimization.

Examples
--------
>>> import minitorch
>>> from minitorch.distributions import constraints, transform_to
>>> transform_to(constraints.simplex)(minitorch.zeros(4))
tensor([0.2500, 0.2500, 0.2500, 0.2500])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.distributions import constraints, transforms
from minitorch.distributions.utils import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """Functions that make a transform for a constraint, by the class of the constraint."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], transforms.Transform]] = {}

    def register(self, constraint: Any, factory: Callable | None = None) -> Callable:
        """Register a function of a constraint that returns a transform; without `factory`, a decorator that does.

        Parameters
        ----------
        constraint : Constraint, or a class of them

        Raises
        ------
        TypeError
            If `constraint` is neither.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: constraints.Constraint) -> transforms.Transform:
        """Return the transform from real numbers to the values of a constraint.

        Raises
        ------
        NotImplementedError
            If none is registered for its class.
        """
        try:
            factory = self._registry[type(constraint)]
        except KeyError:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints") from None
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _both(*kinds: Any) -> Callable:
    """Decorator: the same transform for both registries; the function gets the registry too."""

    def register(factory: Callable) -> Callable:
        for registry in (biject_to, transform_to):
            for kind in kinds:
                registry.register(kind, lambda constraint, registry=registry: factory(constraint, registry))
        return factory

    return register


@_both(constraints.real)
def _real(constraint, registry):
    return transforms.identity_transform


@_both(constraints.independent)
def _independent(constraint, registry):
    return transforms.IndependentTransform(registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims)


@_both(constraints.greater_than, constraints.greater_than_eq)
def _greater_than(constraint, registry):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    )


@_both(constraints.less_than)
def _less_than(constraint, registry):
    return transforms.ComposeTransform(
        [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    )


@_both(constraints.interval, constraints.half_open_interval)
def _interval(constraint, registry):
    lower, upper = constraint.lower_bound, constraint.upper_bound
    if is_number(lower) and lower == 0 and is_number(upper) and upper == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform(
        [transforms.SigmoidTransform(), transforms.AffineTransform(lower, upper - lower)]
    )


@_both(constraints.corr_cholesky)
def _corr_cholesky(constraint, registry):
    return transforms.CorrCholeskyTransform()


@_both(constraints.cat)
def _cat(constraint, registry):
    return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)


@_both(constraints.stack)
def _stack(constraint, registry):
    return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


biject_to.register(constraints.simplex, lambda constraint: transforms.StickBreakingTransform())
transform_to.register(constraints.simplex, lambda constraint: transforms.SoftmaxTransform())
transform_to.register(constraints.lower_cholesky, lambda constraint: transforms.LowerCholeskyTransform())
transform_to.register(constraints.positive_definite, lambda constraint: transforms.PositiveDefiniteTransform())
transform_to.register(constraints.positive_semidefinite, lambda constraint: transforms.PositiveDefiniteTransform())
