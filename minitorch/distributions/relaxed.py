"""Continuous relaxations of discrete distributions, for gradients through draws (Maddison et al., 2017; Jang et al., 2017)."""

from __future__ import annotations

from typing import Any

from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.categorical import Categorical, _OfCategorical
from minitorch.distributions.derived import TransformedDistribution
from minitorch.distributions.parameters import BinaryParameter
from minitorch.distributions.transforms import ExpTransform, SigmoidTransform
from minitorch.distributions.utils import broadcast_all, clamp_probs, uniforms
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["ExpRelaxedCategorical", "LogitRelaxedBernoulli", "RelaxedBernoulli", "RelaxedOneHotCategorical"]

_BINARY = {"probs": constraints.unit_interval, "logits": constraints.real}
_CATEGORICAL = {"probs": constraints.simplex, "logits": constraints.real_vector}


class LogitRelaxedBernoulli(BinaryParameter):
    """The log odds of `RelaxedBernoulli`: logistic noise added to the logits, over the temperature.

    Parameters
    ----------
    temperature : Tensor
    probs, logits : Tensor or float, optional
        As of `Bernoulli`.
    validate_args : bool, optional
    """

    arg_constraints = _BINARY
    support = constraints.real
    has_rsample = True
    _not_expanded = frozenset({"temperature"})

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._set_parameter(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws."""
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(uniforms(shape, probs))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class _Relaxed(TransformedDistribution):
    """A distribution that is made of its logarithm, or its odds', and has the parameters of that one."""

    @property
    def temperature(self) -> Any:
        """How far from discrete."""
        return self.base_dist.temperature  # type: ignore[attr-defined]

    @property
    def logits(self) -> Tensor:
        """The logarithms of the odds, or of the probabilities where there are several classes."""
        return self.base_dist.logits  # type: ignore[attr-defined]

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs  # type: ignore[attr-defined]


class RelaxedBernoulli(_Relaxed):
    """A distribution on (0, 1) that tends to the Bernoulli distribution as the temperature tends to 0.

    Parameters
    ----------
    temperature : Tensor
    probs, logits : Tensor or float, optional
        As of `Bernoulli`.
    validate_args : bool, optional
    """

    arg_constraints = _BINARY
    support = constraints.unit_interval  # type: ignore[assignment]
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(_OfCategorical):
    """The logarithm of `RelaxedOneHotCategorical`.

    Parameters
    ----------
    temperature : Tensor
    probs, logits : Tensor, shape (..., n), optional
        As of `Categorical`.
    validate_args : bool, optional
    """

    arg_constraints = _CATEGORICAL
    # The logarithms of probabilities; only that they are real is checked.
    support = constraints.real_vector
    has_rsample = True
    _not_expanded = frozenset({"temperature"})

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws: the log softmax of logits with Gumbel noise, over the temperature."""
        u = clamp_probs(uniforms(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-(u.log())).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value):
        """Return the logarithm of the density."""
        size: int = self._event_shape[0]  # type: ignore[assignment]
        self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        constant = filled_lgamma(self.temperature, size) + (size - 1) * self.temperature.log()
        score = logits - value * self.temperature
        return (score - score.logsumexp(-1, keepdim=True)).sum(-1) + constant


def filled_lgamma(like: Tensor, count: int) -> Tensor:
    """Return log((count - 1)!) as a tensor like another one."""
    return F.lgamma(F.full_like(like, float(count)))


class RelaxedOneHotCategorical(_Relaxed):
    """A distribution of probabilities that tends to one-hot vectors as the temperature tends to 0.

    Parameters
    ----------
    temperature : Tensor
    probs, logits : Tensor, shape (..., n), optional
        As of `Categorical`.
    validate_args : bool, optional
    """

    arg_constraints = _CATEGORICAL
    support = constraints.simplex  # type: ignore[assignment]
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
