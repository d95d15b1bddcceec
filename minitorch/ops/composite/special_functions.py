"""Special functions written with other operators."""

from __future__ import annotations

import math

from minitorch.ops import functions as F
from minitorch.ops.composite.pointwise import second_names
from minitorch.ops.composite.registry import composite_implicit

second_names(
    ("erf", "special_erf"),
    ("erfc", "special_erfc"),
    ("erfinv", "special_erfinv"),
    ("exp2", "special_exp2"),
    ("expm1", "special_expm1"),
    ("log1p", "special_log1p"),
    ("sigmoid", "special_expit"),
    ("logit", "special_logit"),
    ("sinc", "special_sinc"),
    ("round", "special_round"),
    ("xlogy", "special_xlogy", "special_xlogy.other_scalar", "special_xlogy.self_scalar"),
    ("i0", "special_i0"),
    ("digamma", "special_digamma", "special_psi"),
    ("polygamma", "special_polygamma"),
    ("lgamma", "special_gammaln"),
    ("mvlgamma", "special_multigammaln"),
    ("igamma", "special_gammainc"),
    ("igammac", "special_gammaincc"),
    ("softmax", "special_softmax"),
    ("log_softmax", "special_log_softmax"),
)


@composite_implicit("special_ndtr")
def special_ndtr_composite(self):
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        self = F.true_divide(self, 1)
    return F.erfc(self * -math.sqrt(0.5)) * 0.5


@composite_implicit("polygamma_")
def polygamma_inplace_composite(self, n):
    if not self.dtype.is_floating_point:
        raise RuntimeError(
            f"polygamma_(): result type Float can't be cast to the desired output type "
            f"{self.dtype.scalar_name}; use the out-of-place polygamma"
        )
    return self.copy_(F.polygamma(n, self))


@composite_implicit("mvlgamma")
def mvlgamma_composite(self, p):
    """Sum the logarithms of p gamma functions, half a unit apart."""
    if p < 1:
        raise RuntimeError(f"mvlgamma(): p has to be greater than or equal to 1, but is {p}")
    if not (self.dtype.is_floating_point or self.dtype.is_complex):
        self = F.true_divide(self, 1)
    steps = F.arange(0, p, dtype=self.dtype, device=self.device) * -0.5
    terms = F.lgamma(F.unsqueeze(self, -1) + steps)
    return F.sum(terms, [-1]) + 0.25 * p * (p - 1) * math.log(math.pi)
