"""Lazy conjugation, negation and zeros: tensors whose key sets say how their memory is to be read.

``x.conj()`` of a complex tensor shows the memory of `x`, and its key set has the key Conjugate; the imaginary part of
such a view has the key Negative.  Views of these have the same keys, results of arithmetic have none.  Calls with
such tensors meet the kernels of the two keys, which stand below autograd and above functionalization: most operators
get copies in which the work is done (`fallback`), a few understand the keys (`kernels`).

Tensors with the key ZeroTensor are zero, and have no memory at all (`zero_tensor`).

Whoever reads memory without a call of an operator asks `Tensor.is_conj`, `Tensor.is_neg` and `Tensor._is_zerotensor` first.
"""

from minitorch.math_bits import kernels, zero_tensor


def register() -> None:
    """Register the kernels and fallbacks of Conjugate, Negative and ZeroTensor."""
    kernels.register()
    zero_tensor.register()


__all__ = ["register"]
