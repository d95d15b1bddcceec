"""The table of Kullback-Leibler divergences: which function computes that of two distributions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from minitorch.distributions.distribution import Distribution
from minitorch.tensor.tensor import Tensor

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}
# What was found for types that are not in the table themselves.
_KL_MEMOIZE: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorator: register a function of (p, q) that returns their divergence.

    Parameters
    ----------
    type_p, type_q : type
        Classes of distributions; the function is also for their subclasses, where nothing closer is registered.

    Raises
    ------
    TypeError
        If one is no class of distributions.

    Examples
    --------
    >>> import minitorch
    >>> from minitorch.distributions import Normal, kl_divergence, register_kl
    >>> class Standard(Normal):
    ...     pass
    >>> @register_kl(Standard, Standard)
    ... def kl_standard(p, q):
    ...     return minitorch.zeros(())
    >>> kl_divergence(Standard(0.0, 1.0), Standard(0.0, 1.0))
    tensor(0.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type) or not issubclass(kind, Distribution):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def register(function: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _distance(kind: type, base: type) -> int:
    return kind.__mro__.index(base)


def _found(type_p: type, type_q: type) -> Callable | None:
    """Return the function of the closest pair of base classes, the first one's closeness first.

    Warns where the closeness of the second one would choose another function.
    """
    pairs = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not pairs:
        return None
    by_first = min(pairs, key=lambda pair: (_distance(type_p, pair[0]), _distance(type_q, pair[1])))
    by_second = min(pairs, key=lambda pair: (_distance(type_q, pair[1]), _distance(type_p, pair[0])))
    if _KL_REGISTRY[by_first] is not _KL_REGISTRY[by_second]:
        names = [f"({p.__name__}, {q.__name__})" for p, q in (by_first, by_second)]
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}): registered for {names[0]} and for "
            f"{names[1]}; the first is taken.  Please register_kl({type_p.__name__}, {type_q.__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[by_first]


def kl_divergence(p: Any, q: Any) -> Tensor:
    """Return the Kullback-Leibler divergence of `q` from `p`, the mean of ``log(p(x) / q(x))`` under p, of shape `batch_shape`.

    Raises
    ------
    NotImplementedError
        If nothing is registered for the two.

    Examples
    --------
    >>> from minitorch.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(1.0, 1.0), Normal(0.0, 1.0))
    tensor(0.5000)
    """
    kinds = type(p), type(q)
    function = _KL_REGISTRY.get(kinds) or _KL_MEMOIZE.get(kinds) or _found(*kinds)
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {kinds[0].__name__} and q type {kinds[1].__name__}"
        )
    _KL_MEMOIZE[kinds] = function
    return function(p, q)
