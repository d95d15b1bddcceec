"""Distributions of matrices: Wishart's, and Lewandowski, Kurowicka and Joe's of correlations."""

from __future__ import annotations

import math
import warnings
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution, all_true
from minitorch.distributions.exp_family import ExponentialFamily
from minitorch.distributions.gamma import Beta, Chi2
from minitorch.distributions.multivariate_normal import _ByCovariance, log_diagonal, the_one_given
from minitorch.distributions.utils import broadcast_all, eps, is_number, lower_indices, tiny, with_elements
from minitorch.functional import broadcast_shapes
from minitorch.ops import functions as F
from minitorch.tensor.creation import tensor
from minitorch.tensor.tensor import Tensor
from minitorch.tensor.wrapper import has_values

__all__ = ["LKJCholesky", "Wishart"]


class LKJCholesky(Distribution):
    """The distribution of the Cholesky factor of a correlation matrix of density ``det(matrix) ** (concentration - 1)``.

    Parameters
    ----------
    dim : int
        The number of rows.
    concentration : Tensor or float
        1 makes all correlation matrices as likely; larger values favour the identity.
    validate_args : bool, optional

    Notes
    -----
    Lewandowski, Kurowicka & Joe (2009).
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # What row k, with k elements below the diagonal, leaves of its norm to the diagonal has a beta distribution; row 0, which
        # has none, is drawn too, like row 1.
        halves = 0.5 * F.clamp(F.arange(dim, dtype=self.concentration.dtype, device=self.concentration.device), min=1)
        first = halves
        second = (self.concentration + 0.5 * (dim - 1)).unsqueeze(-1) - halves
        self._beta = Beta(first, second, validate_args=validate_args)
        super().__init__(self.concentration.shape, (dim, dim), validate_args=validate_args)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws by the onion method: each row a direction, uniform on the sphere, and a length."""
        with no_grad():
            squares = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = tuple(self._extended_shape(sample_shape))
            normals = F.randn(shape, dtype=squares.dtype, device=squares.device).tril(-1)
            norms = normals.square().sum(-1, keepdim=True).sqrt()
            rows = squares.sqrt() * normals / F.where(norms == 0, 1.0, norms)
            left = F.clamp(1 - rows.square().sum(-1), min=tiny(rows)).sqrt()
            return rows + left.diag_embed()

    def log_prob(self, value):
        """Return the logarithm of the density of the factor."""
        self._validate_sample(value)
        n = self.dim
        diagonal = value.diagonal(0, -2, -1)[..., 1:]
        # The determinant's power, and the Jacobian of the factor's product with its transpose.
        rows = F.arange(n - 2, -1, -1, dtype=self.concentration.dtype, device=self.concentration.device)
        powers = 2 * (self.concentration - 1).unsqueeze(-1) + rows
        alpha = self.concentration + 0.5 * (n - 1)
        constant = 0.5 * (n - 1) * math.log(math.pi) + F.mvlgamma(alpha - 0.5, n - 1) - alpha.lgamma() * (n - 1)
        return (powers * diagonal.log()).sum(-1) - constant


class Wishart(_ByCovariance, ExponentialFamily):
    """The Wishart distribution: of ``df`` times the empirical covariance matrix of normal vectors of mean 0.

    Parameters
    ----------
    df : Tensor or float
        The degrees of freedom, more than n - 1.
    covariance_matrix : Tensor, shape (..., n, n), optional
        Of the vectors.
    precision_matrix : Tensor, shape (..., n, n), optional
        Its inverse.
    scale_tril : Tensor, shape (..., n, n), optional
        Its lower Cholesky factor.  Exactly one of the three is given.
    validate_args : bool, optional
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        df: Any,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = the_one_given(
            AssertionError,
            covariance_matrix=covariance_matrix,
            precision_matrix=precision_matrix,
            scale_tril=scale_tril,
        )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        size = matrix.shape[-1]
        if is_number(df):
            df = tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = broadcast_shapes(tuple(matrix.shape[:-2]), tuple(df.shape))
        self.df = df.expand(batch_shape)
        if not all_true(self.df > size - 1):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        if not all_true(self.df >= size):
            warnings.warn(
                f"Wishart: df={df} is below {size}, the number of rows: draws are likely to be singular.", stacklevel=2
            )
        self._set_matrix(given, batch_shape)
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)
        self._set_factor(matrix)
        places = F.arange(size, dtype=matrix.dtype, device=matrix.device)
        self._chi2 = Chi2(self.df.unsqueeze(-1) - places, validate_args=False)

    @property
    def arg_constraints(self):
        """The degrees of freedom are bounded by the number of rows."""
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def _times(self, factor: Tensor) -> Tensor:
        return factor.reshape((*factor.shape, 1, 1)) * self.covariance_matrix

    @property
    def mean(self) -> Tensor:
        """The degrees of freedom times the covariance matrix."""
        return self._times(self.df)

    @property
    def mode(self) -> Tensor:
        """NaN for `df` up to n + 1."""
        factor = self.df - self._event_shape[-1] - 1
        return self._times(F.where(factor > 0, factor, math.nan))

    @property
    def variance(self) -> Tensor:
        """The variances of the elements."""
        matrix = self.covariance_matrix
        diagonal = matrix.diagonal(0, -2, -1)
        products = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.reshape((*self._batch_shape, 1, 1)) * (matrix.pow(2) + products)

    def _draw(self, sample_shape: Any) -> Tensor:
        """Return draws by Bartlett's decomposition."""
        size = self._event_shape[-1]
        roots = self._chi2.rsample(sample_shape).sqrt()
        # A root that rounds to 0 would make the matrix singular.
        roots = roots + (F.clamp(roots, min=eps(roots)) - roots).detach()
        below = (*sample_shape, *self._batch_shape, size * (size - 1) // 2)
        normals = F.randn(below, dtype=roots.dtype, device=roots.device)
        rows, columns = lower_indices(size, -1, roots)
        lower = with_elements(roots.diag_embed(), rows, columns, normals)
        factor = self._unbroadcasted_scale_tril @ lower
        return factor @ factor.mT

    def rsample(self, sample_shape: Any = Size(), max_try_correction: int | None = None) -> Tensor:
        """Return draws; singular ones, by rounding, are drawn again.

        Parameters
        ----------
        sample_shape : Size
        max_try_correction : int, optional
            How many times; 10 where not given.
        """
        draws = self._draw(tuple(sample_shape))
        for _ in range(10 if max_try_correction is None else max_try_correction):
            regular = self.support.check(draws)
            if not has_values(regular) or all_true(regular):
                return draws
            draws = F.where(regular.unsqueeze(-1).unsqueeze(-1), draws, self._draw(tuple(sample_shape)))
        if not all_true(self.support.check(draws)):
            warnings.warn("Wishart: some draws are singular; their log_prob is -inf or NaN.", stacklevel=2)
        return draws

    def _multivariate_digamma(self, value: Tensor) -> Tensor:
        size = self._event_shape[-1]
        places = F.arange(size, dtype=value.dtype, device=value.device) / 2
        return F.digamma(value.unsqueeze(-1) - places).sum(-1)

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        nu, size = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        shape = broadcast_shapes(tuple(factor.shape), tuple(value.shape))
        trace = F.cholesky_solve(value.expand(shape), factor.expand(shape)).diagonal(0, -2, -1).sum(-1)
        return (
            -nu * (size * math.log(2) / 2 + log_diagonal(factor))
            - F.mvlgamma(nu / 2, size)
            + (nu - size - 1) / 2 * F.linalg_slogdet(value)[1]
            - trace / 2
        )

    def entropy(self):
        """Return the entropy."""
        nu, size = self.df, self._event_shape[-1]
        return (
            (size + 1) * (size * math.log(2) / 2 + log_diagonal(self._unbroadcasted_scale_tril))
            + F.mvlgamma(nu / 2, size)
            - (nu - size - 1) / 2 * self._multivariate_digamma(nu / 2)
            + nu * size / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        size = self._event_shape[-1]
        half = y + (size + 1) / 2
        return half * (size * math.log(2) - F.linalg_slogdet(-2 * x)[1]) + F.mvlgamma(half, size)
