"""Derivatives of look-ups whose size is given, and of hashes: there are none."""

from minitorch.autograd.derivatives.registry import derivative

derivative("nonzero_static")
derivative("hash_tensor")
