"""Parametrizations: weight norm, spectral norm, orthogonality."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.nn import functional as F
from minitorch.nn.modules.module import Module
from minitorch.nn.utils import parametrize
from minitorch.ops import functions as operators
from minitorch.tensor.tensor import Tensor

__all__ = ["spectral_norm", "weight_norm"]


def norm_except_dim(v: Tensor, p: float, dim: int) -> Tensor:
    """Return the norms of the slices along `dim` (-1: of the whole), kept as dimensions."""
    if dim == -1:
        return v.norm(p)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(p, others, keepdim=True)


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
