"""Derivatives of the factories that take tensors: `complex` and `polar`."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F

derivative(
    "complex",
    real=lambda grad: F.real(grad),
    imag=lambda grad: F.imag(grad),
    result="linear",
)
derivative(
    "polar",
    abs=lambda grad, angle: F.real(grad.conj() * F.polar(F.ones_like(angle), angle)),
    angle=lambda grad, result: F.real(grad.conj() * (result * 1j)),
    result=lambda abs_p, abs_t, angle_p, angle_t: (
        F.complex(abs_t, abs_p * angle_t) * F.polar(F.ones_like(angle_p), angle_p)
    ),
)
# That they have no gradient is said, and does not follow from their parts: a transform must see the tensor they
# are asked of, to which `zeros` has no relation.
for name in (
    "empty_like", "zeros_like", "ones_like", "full_like", "new_empty", "new_empty_strided", "new_zeros", "new_ones", "new_full",
):  # fmt: skip
    derivative(name)
