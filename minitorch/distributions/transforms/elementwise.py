"""Transforms of numbers, and different ones of the parts of a tensor."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from minitorch.distributions import constraints
from minitorch.distributions.transforms.base import Transform
from minitorch.distributions.utils import broadcast_all, eps, filled, is_number, sum_rightmost, tiny
from minitorch.functional import broadcast_shapes
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor


class ExpTransform(Transform):
    """y = exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1
    _compared = ()

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        """Return x."""
        return x


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    Parameters
    ----------
    exponent : Tensor or float
    cache_size : int
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _compared = ("exponent",)

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _with_cache(self, cache_size):
        return PowerTransform(self.exponent, cache_size=cache_size)

    @property
    def sign(self) -> Any:
        """The sign of the exponent."""
        return self.exponent.sign()

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        """Return log |exponent * y / x|."""
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        """Return the shape broadcast with the exponent's."""
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape):
        """Return the shape broadcast with the exponent's."""
        return broadcast_shapes(shape, self.exponent.shape)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), kept inside of the open interval (0, 1); the inverse is the logit."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1
    _compared = ()

    def _call(self, x):
        return inside_unit(F.sigmoid(x))

    def _inverse(self, y):
        y = inside_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        """Return log(y (1 - y)), from x."""
        return -F.softplus(-x) - F.softplus(x)


def inside_unit(y: Tensor) -> Tensor:
    """Return numbers of [0, 1] moved into the open interval."""
    return F.clamp(y, min=tiny(y), max=1.0 - eps(y))


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)); x itself above 20, where the two agree."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1
    _compared = ()

    def _call(self, x):
        return F.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        """Return the logarithm of the logistic function of x."""
        return -F.softplus(-x)


class TanhTransform(Transform):
    """y = tanh(x).

    Notes
    -----
    The inverse of a value that has been rounded to 1 is infinite: with ``cache_size=1`` it is the value it came from.
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1
    _compared = ()

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        """Return log(1 - y ** 2), from x."""
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(Transform):
    """y = |x|; the inverse takes the positive one of two values."""

    domain = constraints.real
    codomain = constraints.positive
    _compared = ()

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    Parameters
    ----------
    loc, scale : Tensor or float
    event_dim : int
        The number of dimensions of an event: 0 for numbers, 1 for vectors.
    cache_size : int
    """

    bijective = True
    _compared = ("loc", "scale")

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    def _with_cache(self, cache_size):
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event."""
        return self._event_dim

    @property
    def domain(self) -> Any:
        """Real numbers, or events of them."""
        return constraints.independent(constraints.real, self._event_dim) if self._event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        """The sign of the scale."""
        if is_number(self.scale):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        """Return log |scale|, summed over the event."""
        if is_number(self.scale):
            logarithm = filled(x, math.log(abs(self.scale)))
        else:
            logarithm = self.scale.abs().log()
        if self._event_dim:
            # an element counts as often as it is broadcast within the event
            event = tuple(x.shape[x.dim() - self._event_dim :])
            logarithm = logarithm.expand(broadcast_shapes(tuple(logarithm.shape), event))
        return sum_rightmost(logarithm, self._event_dim).expand(x.shape[: x.dim() - self._event_dim])

    def forward_shape(self, shape):
        """Return the shape broadcast with the parameters'."""
        return broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = F(x), the distribution function of a distribution; the inverse are its quantiles.

    Parameters
    ----------
    distribution : Distribution
        Of numbers, with `cdf` and `icdf`.
    cache_size : int
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    def _with_cache(self, cache_size):
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)

    @property
    def domain(self) -> Any:
        """The support of the distribution."""
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        """Return the logarithm of the density at x."""
        return self.distribution.log_prob(x)


# ---------------------------------------------------------------- different ones for parts


class _PartsTransform(Transform):
    """One transform for each part of a tensor along a dimension; subclasses say how a tensor is cut and joined."""

    def _set_parts(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be transforms")
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _cut(self, value: Tensor) -> list[Tensor]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _call(self, x):
        return self._joined([t(part) for t, part in zip(self.transforms, self._cut(x), strict=True)])

    def _inverse(self, y):
        return self._joined([t.inv(part) for t, part in zip(self.transforms, self._cut(y), strict=True)])

    def _jacobians(self, x: Tensor, y: Tensor) -> list[Tensor]:
        return [
            t.log_abs_det_jacobian(a, b) for t, a, b in zip(self.transforms, self._cut(x), self._cut(y), strict=True)
        ]

    @property
    def bijective(self) -> bool:
        """Whether all parts are."""
        return all(t.bijective for t in self.transforms)


class CatTransform(_PartsTransform):
    """Transforms of the pieces that `minitorch.cat` would join.

    Parameters
    ----------
    tseq : sequence of Transform
    dim : int
    lengths : sequence of int, optional
        The length of each piece along `dim`; 1 where not given.
    cache_size : int
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self._set_parts(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"{len(self.lengths)} lengths for {len(self.transforms)} transforms")

    def _with_cache(self, cache_size):
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    @property
    def event_dim(self) -> int:
        """The largest of the parts'."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        """The length of all pieces."""
        return sum(self.lengths)

    @property
    def domain(self) -> Any:
        """The parts' domains."""
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        """The parts' codomains."""
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _cut(self, value):
        if not -value.dim() <= self.dim < value.dim() or value.shape[self.dim] != self.length:
            raise AssertionError(
                f"dim {self.dim} of a value of shape {tuple(value.shape)} must have length {self.length}"
            )
        return list(F.split(value, self.lengths, self.dim))

    def _joined(self, parts):
        return F.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        """Return the parts' logarithms, joined, or summed where `dim` is the event's."""
        event_dim = self.event_dim
        logarithms = [
            sum_rightmost(value, event_dim - t.event_dim)
            for value, t in zip(self._jacobians(x, y), self.transforms, strict=True)
        ]
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim = dim + event_dim
        return F.cat(logarithms, dim) if dim < 0 else sum(logarithms[1:], logarithms[0])


class StackTransform(_PartsTransform):
    """Transforms of the slices that `minitorch.stack` would join.

    Parameters
    ----------
    tseq : sequence of Transform
    dim : int
    cache_size : int
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self._set_parts(tseq, dim, cache_size)

    def _with_cache(self, cache_size):
        return StackTransform(self.transforms, self.dim, cache_size)

    @property
    def domain(self) -> Any:
        """The parts' domains."""
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        """The parts' codomains."""
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _cut(self, value):
        if not -value.dim() <= self.dim < value.dim() or value.shape[self.dim] != len(self.transforms):
            raise AssertionError(
                f"dim {self.dim} of a value of shape {tuple(value.shape)} must have length {len(self.transforms)}"
            )
        return list(value.unbind(self.dim))

    def _joined(self, parts):
        return F.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x, y):
        """Return the parts' logarithms, stacked."""
        return F.stack(self._jacobians(x, y), self.dim)
