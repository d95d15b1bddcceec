"""Distributions made of others: transformed ones, independent events, mixtures."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.categorical import Categorical
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.transforms import ComposeTransform, Transform
from minitorch.distributions.utils import is_number, sum_rightmost
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["Independent", "MixtureSameFamily", "TransformedDistribution"]


class Independent(Distribution):
    """A distribution whose last batch dimensions count as dimensions of the event.

    Parameters
    ----------
    base_distribution : Distribution
    reinterpreted_batch_ndims : int
        How many of them.
    validate_args : bool, optional

    Examples
    --------
    >>> import minitorch
    >>> from minitorch.distributions import Independent, Normal
    >>> Independent(Normal(minitorch.zeros(5, 3), 1.0), 1).event_shape
    torch.Size([3])
    """

    arg_constraints = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(batch)}"
            )
        kept = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(batch[:kept], batch[kept:] + base_distribution.event_shape, validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:
        """As of the base."""
        return self.base_dist.has_rsample

    @property
    def has_enumerate_support(self) -> bool:
        """As of the base; products of supports are not enumerated."""
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self):
        """The base's, of wider events."""
        inner = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.independent(inner, count) if count else inner

    @property
    def mean(self) -> Tensor:
        """The base's."""
        return self.base_dist.mean

    @property
    def mode(self) -> Tensor:
        """The base's."""
        return self.base_dist.mode

    @property
    def variance(self) -> Tensor:
        """The base's."""
        return self.base_dist.variance

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return the base's draws."""
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return the base's draws."""
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        """Return the base's, summed over the reinterpreted dimensions."""
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self):
        """Return the base's, summed over the reinterpreted dimensions."""
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """Return the base's, where no dimension is reinterpreted."""
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        """Name the base, and how many dimensions are reinterpreted."""
        return f"{type(self).__name__}({self.base_dist!r}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of the image of a random variable.

    Parameters
    ----------
    base_distribution : Distribution
    transforms : Transform or list of Transform
        The first one is applied first.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If `transforms` is something else, or its events have more dimensions than the base.

    Examples
    --------
    >>> import minitorch
    >>> from minitorch.distributions import ExpTransform, Normal, TransformedDistribution
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), [ExpTransform()])
    >>> log_normal.cdf(minitorch.tensor(1.0))
    tensor(0.5000)
    """

    arg_constraints = {}

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        elif not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        elif not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        whole = ComposeTransform(transforms)
        inside, outside = whole.domain.event_dim, whole.codomain.event_dim
        base_event_dim = len(base_distribution.event_shape)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        if len(base_shape) < inside:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {inside}, but got {base_shape}."
            )
        shape = Size(whole.forward_shape(base_shape))
        # Parameters of transforms may widen the batch of the base.
        needed = Size(whole.inverse_shape(shape))
        if tuple(needed) != tuple(base_shape):
            base_distribution = base_distribution.expand(needed[: len(needed) - base_event_dim])
        if inside > base_event_dim:
            base_distribution = Independent(base_distribution, inside - base_event_dim)
        self.base_dist = base_distribution
        cut = len(shape) - max(outside, base_event_dim + outside - inside)
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    @property
    def has_rsample(self) -> bool:
        """As of the base."""
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self):
        """The codomain of the last transform."""
        if not self.transforms:
            return self.base_dist.support
        codomain = self.transforms[-1].codomain
        missing = len(self._event_shape) - codomain.event_dim
        return constraints.independent(codomain, missing) if missing > 0 else codomain

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return images of the base's draws, which are not differentiable."""
        with no_grad():
            return self._image(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return images of the base's draws."""
        return self._image(self.base_dist.rsample(sample_shape))

    def _image(self, x: Tensor) -> Tensor:
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        """Return the base's at the inverse image, less the logarithms of the Jacobians."""
        self._validate_sample(value)
        event_dim = len(self._event_shape)
        total: Any = 0.0
        y = value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event_dim += transform.domain.event_dim - transform.codomain.event_dim
            logarithm = transform.log_abs_det_jacobian(x, y)
            total = total - sum_rightmost(logarithm, event_dim - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), event_dim - len(self.base_dist.event_shape))

    def cdf(self, value):
        """Return the distribution function; all transforms must be monotonous."""
        self._validate_sample(value)
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        return self._turned(self.base_dist.cdf(value))

    def icdf(self, value):
        """Return quantiles; all transforms must be monotonous."""
        return self._image(self.base_dist.icdf(self._turned(value)))

    def _turned(self, probability: Tensor) -> Tensor:
        """Return p for increasing transforms, and 1 - p for decreasing ones."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return probability if is_number(sign) and sign == 1 else sign * (probability - 0.5) + 0.5


class MixtureSameFamily(Distribution):
    """A mixture of distributions of one family.

    Parameters
    ----------
    mixture_distribution : Categorical
        Its categories are the components.
    component_distribution : Distribution
        Its last batch dimension counts the components.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If the first is no `Categorical`, or the two do not fit each other.
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError("The Mixture distribution needs to be an instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        mixture_batch = tuple(mixture_distribution.batch_shape)
        *component_batch, components = component_distribution.batch_shape or (0,)
        for size1, size2 in zip(reversed(mixture_batch), reversed(component_batch), strict=False):
            if size1 != 1 and size2 != 1 and size1 != size2:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture_batch}) is not compatible with "
                    f"`component_distribution.batch_shape`({tuple(component_distribution.batch_shape)})"
                )
        count = mixture_distribution.logits.shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(
            component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args=validate_args
        )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        """Return the mixture with both distributions expanded; the mixture's own batch may be a part of the components'."""
        batch_shape = Size(batch_shape)
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        new.__dict__.update(self.__dict__)
        new._component_distribution = self._component_distribution.expand(batch_shape + Size((self._num_component,)))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._batch_shape = batch_shape
        return new

    @constraints.dependent_property
    def support(self):
        """The components'."""
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the component's number."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The distributions of the components."""
        return self._component_distribution

    def _weights(self) -> Tensor:
        """Return the components' probabilities, with dimensions for the event."""
        probs = self._mixture_distribution.probs
        return probs.reshape(tuple(probs.shape) + (1,) * self._event_ndims)

    def _mixed(self, values: Tensor) -> Tensor:
        return (self._weights() * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        """The mean of the components' means."""
        return self._mixed(self._component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        """The mean of the components' variances, and the variance of their means."""
        means = self._component_distribution.mean
        spread = means - self.mean.unsqueeze(-1 - self._event_ndims)
        return self._mixed(self._component_distribution.variance) + self._mixed(spread.pow(2.0))

    def _for_components(self, value: Tensor) -> Tensor:
        return value.unsqueeze(-1 - self._event_ndims)

    def cdf(self, value):
        """Return the mean of the components' distribution functions."""
        values = self._component_distribution.cdf(self._for_components(value))
        return (values * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value):
        """Return the logarithm of the mean of the components' densities."""
        self._validate_sample(value)
        densities = self._component_distribution.log_prob(self._for_components(value))
        return F.logsumexp(densities + F.log_softmax(self._mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return for each draw that of a component, of which each has made one."""
        with no_grad():
            # Where the mixture's batch broadcasts to that of the components, each element chooses for itself.
            chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
            draws = self._component_distribution.sample(sample_shape)
            at = len(sample_shape) + len(self._batch_shape)
            index = chosen.reshape(tuple(chosen.shape) + (1,) * (self._event_ndims + 1))
            index = index.expand(tuple(chosen.shape) + (1,) + tuple(self._event_shape))
            return draws.gather(at, index).squeeze(at)

    def __repr__(self) -> str:
        """Name both distributions."""
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
