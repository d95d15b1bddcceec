"""Derivatives of the Fourier transforms: the adjoint transforms."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F

derivative(
    "_fft_c2c",
    self=lambda grad, dim, normalization, forward: F._fft_c2c(
        grad, dim, normalization, not forward
    ),
    result="linear",
)


def r2c_backward(grad, shape, dim, normalization, onesided):
    if onesided:
        last = dim[-1]
        missing = shape[last] - grad.shape[last]
        if missing:
            filler = list(grad.shape)
            filler[last] = missing
            grad = F.cat([grad, F.new_zeros(grad, filler)], last)
    return F.real(F._fft_c2c(grad, dim, normalization, False))


derivative(
    "_fft_r2c",
    self=lambda grad, self_shape, dim, normalization, onesided: r2c_backward(
        grad, self_shape, dim, normalization, onesided
    ),
    result="linear",
)


def c2r_backward(grad, dim, normalization):
    """Transform back; what the half spectrum left out came in as its mirror image."""
    result = F._fft_r2c(grad, dim, normalization, True)
    last = dim[-1]
    doubled = grad.shape[last] - result.shape[last]
    if doubled <= 0:
        return result
    first = F.narrow(result, last, 0, 1)
    middle = F.narrow(result, last, 1, doubled) * 2
    rest = result.shape[last] - 1 - doubled
    return F.cat([first, middle, F.narrow(result, last, 1 + doubled, rest)], last)


derivative(
    "_fft_c2r",
    self=lambda grad, dim, normalization: c2r_backward(grad, dim, normalization),
    result="linear",
)
