"""Lazy conjugation and negation: views that say how their memory is to be read.

``x.conj()`` of a complex tensor shows the memory of `x`, and its key set has the key Conjugate; the imaginary part of
such a view has the key Negative.  Views of these have the same keys, results of arithmetic have none.  Calls with
such tensors meet the kernels of the two keys, which stand below autograd and above functionalization: most operators
get copies in which the work is done (`fallback`), a few understand the keys (`kernels`).

Whoever reads memory without a call of an operator asks `Tensor.is_conj` and `Tensor.is_neg` first.
"""

from minitorch.math_bits.kernels import register

__all__ = ["register"]
