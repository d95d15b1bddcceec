"""Parametrizations: weight norm, spectral norm, orthogonality."""

from __future__ import annotations

from typing import Any

from minitorch import linalg
from minitorch.autograd.grad_mode import no_grad
from minitorch.core.dtype import finfo
from minitorch.functional import norm_except_dim
from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.nn.utils import parametrize
from minitorch.ops import functions as operators
from minitorch.tensor.base import TensorBase
from minitorch.tensor.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """Return the direction of `weight_v` with the length `weight_g`."""
        return weight_v * (weight_g / norm_except_dim(weight_v, 2, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """Return length and direction of `weight`."""
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Store a parameter as length and direction (Salimans & Kingma, 2016).

    Parameters
    ----------
    module : Module
    name : str
    dim : int or None
        The dimension along which lengths are apart; None for one length.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    return module


class _SpectralNorm(Module):
    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._matrix(weight)
            rows, columns = matrix.shape
            u = matrix.new_empty([rows]).normal_(0, 1)
            v = matrix.new_empty([columns]).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            order = [self.dim, *(d for d in range(weight.dim()) if d != self.dim)]
            weight = weight.permute(*order)
        return weight.flatten(1)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        with no_grad():
            for _ in range(count):
                self._u.copy_(F.normalize(operators.mv(matrix, self._v), dim=0, eps=self.eps))
                self._v.copy_(F.normalize(operators.mv(matrix.t(), self._u), dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        """Return `weight` divided by its largest singular value."""
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / u.dot(operators.mv(matrix, v))

    def right_inverse(self, value: Tensor) -> Tensor:
        """Return `value`, taken as normalized already."""
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a parameter by its largest singular value (Miyato et al., 2018)."""
    weight: Any = getattr(module, name, None)
    if weight is None:
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        transposed = type(module).__name__.startswith("ConvTranspose")
        dim = 1 if transposed else 0
    parametrize.register_parametrization(
        module, name, _SpectralNorm(weight, n_power_iterations, dim, eps)
    )
    return module


_ORTHOGONAL_MAPS = ("matrix_exp", "cayley", "householder")


class _Orthogonal(Module):
    """Maps matrices to ones with orthonormal columns (of wide matrices: rows).

    With a *base* the map starts from there: its result is multiplied with the base, which an assignment to the
    parameter sets (Lezcano-Casado, "Trivializations for gradient-based optimization on manifolds", 2019).
    """

    base: Any

    def __init__(self, shape: Any, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape = shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        """Return the orthogonal matrix of a matrix."""
        is_wide = X.shape[-2] < X.shape[-1]
        tall = X.mT if is_wide else X
        rows, columns = tall.shape[-2:]
        if self.orthogonal_map == "householder":
            vectors = tall.tril(-1)
            scales = 2.0 / (1.0 + (vectors * vectors).sum(-2))
            result = linalg.householder_product(vectors, scales)
            # Signs, which are no parameters: the cast cuts the gradient off.
            result = result * tall.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            lower = tall.tril()
            if rows != columns:
                lower = operators.cat([lower, lower.new_zeros((*lower.shape[:-1], rows - columns))], -1)
            skew = lower - lower.mH
            if self.orthogonal_map == "matrix_exp":
                result = operators.matrix_exp(skew)
            else:
                identity = operators.eye(rows, dtype=skew.dtype, device=skew.device)
                result = linalg.solve(identity - skew / 2, identity + skew / 2)
            result = result[..., :columns]
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if is_wide else result

    def right_inverse(self, Q: Tensor) -> Tensor:
        """Return a matrix that is mapped to `Q`, or to the orthogonal matrix near it."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {Q.shape}."
            )
        with no_grad():
            is_wide = Q.shape[-2] < Q.shape[-1]
            tall = Q.mT if is_wide else Q
            if hasattr(self, "base"):
                self.base = _completed(tall)
                start = operators.zeros_like(Q)
                start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # what each map takes to the identity
                return start
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            vectors, scales = operators.geqrf(tall)
            signs = vectors.diagonal(dim1=-2, dim2=-1)
            signs.sign_()
            signs[scales == 0.0] *= -1  # LAPACK left a reflection out
            return vectors.mT if is_wide else vectors


def _completed(tall: Tensor) -> Tensor:
    """Return a square matrix with orthonormal columns, the first of which span what those of `tall` do."""
    rows, columns = tall.shape[-2:]
    if rows == columns and _is_orthogonal(tall):
        return tall.clone()
    if rows != columns:
        more = operators.randn((*tall.shape[:-2], rows, rows - columns), dtype=tall.dtype, device=tall.device)
        tall = operators.cat([tall, more], -1)
    vectors, scales = operators.geqrf(tall)
    result = linalg.householder_product(vectors, scales)
    # Of the two signs of each column the one that it had: the diagonal of R is positive.
    return result * vectors.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(matrix: Tensor) -> bool:
    count = matrix.shape[-1]
    error = matrix.mH @ matrix - operators.eye(count, dtype=matrix.dtype, device=matrix.device)
    return bool((error.abs() < 10.0 * count * finfo(matrix.dtype).eps).all())


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep a matrix, or a batch of matrices, orthogonal (of complex ones: unitary).

    Parameters
    ----------
    module : Module
    name : str
    orthogonal_map : {"matrix_exp", "cayley", "householder"}, optional
        How an orthogonal matrix is made: ``exp(A)`` or ``(I + A/2) (I - A/2)^-1`` of a skew matrix, or a product of
        reflections.  The first for square and complex matrices, else the last.
    use_trivialization : bool
        Start from the matrix that the parameter is, or is set to.  Costs a matrix of memory; without it only
        ``"householder"`` can be set.

    Raises
    ------
    ValueError
        If there is no such parameter, it has less than two dimensions, or the map is none of the three.

    Examples
    --------
    >>> layer = minitorch.nn.utils.parametrizations.orthogonal(minitorch.nn.Linear(3, 5))
    >>> minitorch.allclose(layer.weight.T @ layer.weight, minitorch.eye(3), atol=1e-5)
    True
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, TensorBase):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    is_complex = weight.dtype.is_complex
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] or is_complex else "householder"
    if orthogonal_map not in _ORTHOGONAL_MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    if is_complex and orthogonal_map == "householder":
        raise ValueError("The householder parametrization does not support complex tensors.")
    parametrization = _Orthogonal(weight.shape, orthogonal_map, use_trivialization)
    parametrize.register_parametrization(module, name, parametrization, unsafe=True)
    return module
