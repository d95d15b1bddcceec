"""Kullback-Leibler divergences.  PyTorch's ``torch.distributions.kl``."""

from minitorch.distributions.kl import one_family, two_families
from minitorch.distributions.kl.registry import _KL_MEMOIZE, _KL_REGISTRY, kl_divergence, register_kl

__all__ = ["kl_divergence", "register_kl"]
