"""Derivatives of the indefinite factorization: there are none, as in PyTorch."""

from minitorch.autograd.derivatives.registry import derivative

derivative("linalg_ldl_factor_ex")
derivative("linalg_ldl_solve")
