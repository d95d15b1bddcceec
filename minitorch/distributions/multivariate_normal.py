"""Normal distributions of vectors."""

from __future__ import annotations

import math
from typing import Any

from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.distribution import Distribution
from minitorch.distributions.utils import lazy_property, standard_normal
from minitorch.functional import broadcast_shapes
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor

__all__ = ["LowRankMultivariateNormal", "MultivariateNormal"]


def whitened(lower: Tensor, vectors: Tensor) -> Tensor:
    """Return the solutions of triangular systems for vectors along the last dimension; batches broadcast."""
    return F.linalg_solve_triangular(lower, vectors.unsqueeze(-1), upper=False).squeeze(-1)


def squared_distance(lower: Tensor, vectors: Tensor) -> Tensor:
    """Return the squared Mahalanobis distance of vectors from 0, given the Cholesky factor of the covariance."""
    batch = broadcast_shapes(tuple(lower.shape[:-1]), tuple(vectors.shape))[:-1]
    size = vectors.shape[-1]
    lower = lower.expand((*batch, size, size))
    return whitened(lower, vectors.expand((*batch, size))).square().sum(-1)


def precision_to_scale_tril(precision: Tensor) -> Tensor:
    """Return the Cholesky factor of the inverse of a matrix.

    With the matrix turned by half a turn as ``L L^T``, its own inverse is that of ``L`` turned back, transposed, and squared.
    """
    flipped = F.linalg_cholesky(F.flip(precision, (-2, -1)))
    inverse = F.flip(flipped, (-2, -1)).mT
    identity = F.eye(precision.shape[-1], dtype=precision.dtype, device=precision.device)
    return F.linalg_solve_triangular(inverse, identity.expand(tuple(precision.shape)), upper=False)


class _OfVectors(Distribution):
    """A distribution of vectors, or of square matrices, of one size."""

    @property
    def _size(self) -> int:
        return self._event_shape[-1]  # type: ignore[return-value]


def log_diagonal(lower: Tensor) -> Tensor:
    """Return the sum of the logarithms of the diagonal: half the logarithm of the determinant of the product."""
    return lower.diagonal(0, -2, -1).log().sum(-1)


class _ByCovariance(_OfVectors):
    """A distribution given by a covariance matrix, its inverse, or its Cholesky factor; the others are computed when read."""

    _unbroadcasted_scale_tril: Tensor
    _not_expanded = frozenset({"_unbroadcasted_scale_tril"})

    def _set_matrix(self, given: dict[str, Any], batch_shape: Any) -> None:
        """Keep the matrix that is given, expanded, and its Cholesky factor as it is."""
        ((name, matrix),) = given.items()
        setattr(self, name, matrix.expand((*batch_shape, *matrix.shape[-2:])))
        self._given = name

    def _set_factor(self, matrix: Tensor) -> None:
        # after the check of the arguments, whose message is the better one
        if self._given == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif self._given == "covariance_matrix":
            self._unbroadcasted_scale_tril = F.linalg_cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(matrix)

    def _matrix_shape(self) -> tuple:
        size = self._event_shape[-1]
        return (*self._batch_shape, size, size)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        return F.cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape())


def the_one_given(error: type[Exception], **matrices: Any) -> dict[str, Any]:
    """Return the one of several arguments that is there, by its name; raise if not exactly one is."""
    given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
    if len(given) != 1:
        raise error("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return given


class MultivariateNormal(_ByCovariance):
    """The normal distribution of vectors.

    Parameters
    ----------
    loc : Tensor, shape (..., n)
        The mean.
    covariance_matrix : Tensor, shape (..., n, n), optional
    precision_matrix : Tensor, shape (..., n, n), optional
        Its inverse.
    scale_tril : Tensor, shape (..., n, n), optional
        Its lower Cholesky factor, which saves the decomposition.  Exactly one of the three is given.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If not exactly one matrix is given, or dimensions are missing.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = the_one_given(
            ValueError, covariance_matrix=covariance_matrix, precision_matrix=precision_matrix, scale_tril=scale_tril
        )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch_shape = broadcast_shapes(tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        self._set_matrix(given, batch_shape)
        self.loc = loc.expand((*batch_shape, loc.shape[-1]))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._set_factor(matrix)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._extended_shape())

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return ``loc + L z`` with standard normal z."""
        z = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + F.matmul(self._unbroadcasted_scale_tril, z.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        factor = self._unbroadcasted_scale_tril
        distance = squared_distance(factor, value - self.loc)
        return -0.5 * (self._size * math.log(2 * math.pi) + distance) - log_diagonal(factor)

    def entropy(self):
        """Return the entropy."""
        half = log_diagonal(self._unbroadcasted_scale_tril)
        return (0.5 * self._size * (1.0 + math.log(2 * math.pi)) + half).expand(self._batch_shape)


class LowRankMultivariateNormal(_OfVectors):
    """The normal distribution of vectors whose covariance is ``cov_factor @ cov_factor.mT`` plus a diagonal.

    Parameters
    ----------
    loc : Tensor, shape (..., n)
    cov_factor : Tensor, shape (..., n, m)
        With few columns: systems of m equations are solved instead of n (Woodbury's identity).
    cov_diag : Tensor, shape (..., n)
        Positive.
    validate_args : bool, optional

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True
    _not_expanded = frozenset({"_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"})

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        try:
            batch_shape = broadcast_shapes(
                tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1])
            )
        except RuntimeError as error:
            raise ValueError(
                f"Incompatible batch shapes: loc {tuple(loc.shape)}, cov_factor {tuple(cov_factor.shape)}, "
                f"cov_diag {tuple(cov_diag.shape)}"
            ) from error
        self.loc = loc.expand((*batch_shape, *event_shape))
        self.cov_factor = cov_factor.expand((*batch_shape, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*batch_shape, *event_shape))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_tril(cov_factor, cov_diag)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.loc

    @property
    def mode(self) -> Tensor:
        """The mean."""
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._extended_shape())

    def _matrix_shape(self) -> tuple:
        return (*self._extended_shape(), self._event_shape[0])

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix: of the correlations of the noise, scaled, for precision."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        factor = self._unbroadcasted_cov_factor / root
        identity = F.eye(self._event_shape[0], dtype=factor.dtype, device=factor.device)
        return (root * F.linalg_cholesky(factor @ factor.mT + identity)).expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        factor = self._unbroadcasted_cov_factor
        return (factor @ factor.mT + F.diag_embed(self._unbroadcasted_cov_diag)).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix, by Woodbury's identity."""
        diagonal = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / diagonal.unsqueeze(-2)
        batch = broadcast_shapes(tuple(scaled.shape[:-2]), tuple(self._capacitance_tril.shape[:-2]))
        half = F.linalg_solve_triangular(
            self._capacitance_tril.expand((*batch, *self._capacitance_tril.shape[-2:])),
            scaled.expand((*batch, *scaled.shape[-2:])),
            upper=False,
        )
        return (F.diag_embed(diagonal.reciprocal()) - half.mT @ half).expand(self._matrix_shape())

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        """Return draws: of the few factors, and of the noise of each component."""
        shape = self._extended_shape(sample_shape)
        of_factors = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        noise = standard_normal(shape, self.loc)
        shared = F.matmul(self._unbroadcasted_cov_factor, of_factors.unsqueeze(-1)).squeeze(-1)
        return self.loc + shared + self._unbroadcasted_cov_diag.sqrt() * noise

    def log_prob(self, value):
        """Return the logarithm of the density."""
        self._validate_sample(value)
        distance = low_rank_distance(
            self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag, value - self.loc, self._capacitance_tril
        )
        return -0.5 * (self._size * math.log(2 * math.pi) + self._log_det() + distance)

    def _log_det(self) -> Tensor:
        """Return the logarithm of the determinant of the covariance matrix."""
        return 2 * log_diagonal(self._capacitance_tril) + self._unbroadcasted_cov_diag.log().sum(-1)

    def entropy(self):
        """Return the entropy."""
        entropy = 0.5 * (self._size * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return entropy.expand(self._batch_shape)


def capacitance_tril(factor: Tensor, diagonal: Tensor) -> Tensor:
    """Return the Cholesky factor of ``I + W^T D^-1 W``."""
    products = (factor.mT / diagonal.unsqueeze(-2)) @ factor
    return F.linalg_cholesky(products + F.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device))


def low_rank_distance(factor: Tensor, diagonal: Tensor, vectors: Tensor, capacitance: Tensor) -> Tensor:
    """Return the squared Mahalanobis distance of vectors from 0, by Woodbury's identity."""
    projected = F.matmul(factor.mT / diagonal.unsqueeze(-2), vectors.unsqueeze(-1)).squeeze(-1)
    return (vectors.pow(2) / diagonal).sum(-1) - squared_distance(capacitance, projected)
