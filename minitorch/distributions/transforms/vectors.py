"""Transforms of vectors and matrices."""

from __future__ import annotations

import math

from minitorch.core.size import Size
from minitorch.distributions import constraints
from minitorch.distributions.transforms.base import Transform
from minitorch.distributions.transforms.elementwise import inside_unit
from minitorch.distributions.utils import eps, tiny, tril_matrix_to_vec, vec_to_tril_matrix
from minitorch.ops import functions as F
from minitorch.tensor.tensor import Tensor


def _needs_dims(shape, count: int) -> None:
    if len(shape) < count:
        raise ValueError(f"Too few dimensions on input: events have {count}, and the shape is {tuple(shape)}")


def _shifted(value: Tensor) -> Tensor:
    """Return the last dimension moved up by one, with a 1 in front."""
    return F.cat([F.ones_like(value[..., :1]), value[..., :-1]], -1)


class SoftmaxTransform(Transform):
    """Vectors of real numbers to probabilities; of the inverse images it takes the logarithms. It is not bijective."""

    domain = constraints.real_vector
    codomain = constraints.simplex
    _compared = ()

    def _call(self, x):
        return F.softmax(x, -1)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        """Return the shape itself."""
        _needs_dims(shape, 1)
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(Transform):
    """n real numbers to n + 1 probabilities: each takes a share of what the ones before it have left over.

    The shares are logistic functions, shifted such that zeros become equal probabilities.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True
    _compared = ()

    @staticmethod
    def _offset(like: Tensor, count: int) -> Tensor:
        """Return the logarithms of how many parts are still to be given a share."""
        return F.arange(count, 0, -1, dtype=like.dtype, device=like.device).log()

    def _call(self, x):
        shares = inside_unit(F.sigmoid(x - self._offset(x, x.shape[-1])))
        left = (1 - shares).cumprod(-1)
        one = F.ones_like(x[..., :1])
        return F.cat([shares, one], -1) * F.cat([one, left], -1)

    def _inverse(self, y):
        first = y[..., :-1]
        left = F.clamp(1 - first.cumsum(-1), min=tiny(y))
        return first.log() - left.log() + self._offset(y, first.shape[-1])

    def log_abs_det_jacobian(self, x, y):
        """Return the sum of the logarithms of what is left over times the share's slope."""
        x = x - self._offset(x, x.shape[-1])
        return (-x + F.log_sigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        """Return the shape with one more element in the last dimension."""
        _needs_dims(shape, 1)
        return Size((*shape[:-1], shape[-1] + 1))

    def inverse_shape(self, shape):
        """Return the shape with one element less in the last dimension."""
        _needs_dims(shape, 1)
        return Size((*shape[:-1], shape[-1] - 1))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 real numbers to the Cholesky factor of an n x n correlation matrix.

    The hyperbolic tangents of the numbers are partial correlations (Lewandowski, Kurowicka & Joe, 2009): each element of a
    row takes that share, squared, of what the ones before it have left of the row's norm, which is 1.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = x.tanh()
        step = eps(x)
        shares = vec_to_tril_matrix(F.clamp(x, min=-1 + step, max=1 - step), diag=-1)
        left = (1 - shares.square()).sqrt().cumprod(-1)
        return (shares + F.eye(shares.shape[-1], dtype=x.dtype, device=x.device)) * _shifted(left)

    def _inverse(self, y):
        left = _shifted(1 - y.square().cumsum(-1))
        shares = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (shares.log1p() - (-shares).log1p()) / 2

    def log_abs_det_jacobian(self, x, y):
        """Return the sum over elements of the logarithms of what is left of the row, and of the tangent's slope."""
        # Nothing is taken in front of the first column, so its elements have no such factor.
        left = tril_matrix_to_vec(1 - y.square().cumsum(-1), diag=-2)
        slopes = 2 * (math.log(2.0) - x - F.softplus(-2 * x))
        return 0.5 * left.log().sum(-1) + slopes.sum(-1)

    def forward_shape(self, shape):
        """Return the shape of the matrices."""
        _needs_dims(shape, 1)
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError(f"Input is not a flattened lower-diagonal number: {count} is n (n - 1) / 2 for no n")
        return Size((*shape[:-1], size, size))

    def inverse_shape(self, shape):
        """Return the shape of the vectors."""
        _needs_dims(shape, 2)
        if shape[-1] != shape[-2]:
            raise ValueError(f"Input is not square: {tuple(shape)}")
        size = shape[-1]
        return Size((*shape[:-2], size * (size - 1) // 2))


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones: the upper triangle is dropped, the diagonal exponentiated."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky
    _compared = ()

    def _call(self, x):
        return x.tril(-1) + x.diagonal(0, -2, -1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(0, -2, -1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones: the product of the lower Cholesky factor with its transpose."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite
    _compared = ()

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(F.linalg_cholesky(y))
