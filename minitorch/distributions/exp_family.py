"""Exponential families."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from minitorch.autograd import grad
from minitorch.distributions.distribution import Distribution
from minitorch.tensor.tensor import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Distributions with the density ``exp(<t(x), theta> - F(theta) + k(x))``.

    Subclasses give the natural parameters ``theta``, the log normaliser ``F`` and the mean of the carrier measure ``k``; the
    entropy follows from the gradient of F (Nielsen & Nock, 2010).
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError(f"{type(self).__name__} does not give its natural parameters")

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError(f"{type(self).__name__} does not give its log normaliser")

    if TYPE_CHECKING:
        _mean_carrier_measure: Any
    else:

        @property
        def _mean_carrier_measure(self) -> Any:
            raise NotImplementedError(f"{type(self).__name__} does not give the mean of its carrier measure")

    def entropy(self) -> Tensor:
        """Return the entropy: F less the product of theta with its gradient, less the mean of k."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        slopes = grad(normalizer.sum(), parameters, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(parameters, slopes, strict=True):
            product = parameter * slope
            event = tuple(range(len(self._batch_shape), product.dim()))
            result = result - (product.sum(event) if event else product)
        return result
