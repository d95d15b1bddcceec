"""Derivatives of the random operators: draws do not depend on what they replace."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.autograd.derivatives.special_functions import not_implemented
from minitorch.ops import functions as F


def _zeros(grad):
    return F.zeros_like(grad)


for name in (
    "uniform_",
    "normal_",
    "random_",
    "random_.to",
    "random_.from",
    "exponential_",
    "cauchy_",
    "geometric_",
    "log_normal_",
    "bernoulli_.float",
    "bernoulli",
    "bernoulli.p",
    "poisson",
    "uniform",
    "normal_functional",
    "random",
    "random.to",
    "random.from",
    "exponential",
    "cauchy",
    "geometric",
    "log_normal",
):
    derivative(name, self=_zeros, result="zero")

derivative(
    "bernoulli_.Tensor",
    self=_zeros,
    p=lambda grad, p: F.zeros(p.shape, dtype=p.dtype, device=p.device),
    result="zero",
)
derivative(
    "bernoulli.Tensor",
    self=_zeros,
    p=lambda grad, p: F.zeros(p.shape, dtype=p.dtype, device=p.device),
    result="zero",
)


def _binomial_without_formula(grad):
    raise RuntimeError("derivative for aten::binomial is not implemented: detach the parameters, or draw under no_grad")


derivative("binomial", prob=_binomial_without_formula)


def _dirichlet_share(self, result):
    return F._dirichlet_grad(result, self, F.sum(self, -1, keepdim=True).expand_as(self))


def _dirichlet_backward(grad, self, result):
    """A component grows with its own concentration at the cost of the others, in proportion."""
    return _dirichlet_share(self, result) * (grad - F.sum(grad * result, -1, keepdim=True))


def _dirichlet_forward(self_p, self_t, result):
    moved = _dirichlet_share(self_p, result) * self_t
    return moved - result * F.sum(moved, -1, keepdim=True)


derivative(
    "_standard_gamma",
    self=lambda grad, self, result: grad * F._standard_gamma_grad(self, result),
    result=lambda self_p, self_t, result: self_t * F._standard_gamma_grad(self_p, result),
)
derivative("_sample_dirichlet", self=_dirichlet_backward, result=_dirichlet_forward)
derivative(
    "_standard_gamma_grad",
    self=not_implemented("_standard_gamma_grad", "self"),
    output=not_implemented("_standard_gamma_grad", "output"),
)
derivative(
    "_dirichlet_grad",
    x=not_implemented("_dirichlet_grad", "x"),
    alpha=not_implemented("_dirichlet_grad", "alpha"),
    total=not_implemented("_dirichlet_grad", "total"),
)
derivative("normal.Tensor_float", mean=_zeros, result="zero")
derivative("normal.float_Tensor", std=_zeros, result="zero")
derivative("normal.Tensor_Tensor", mean=_zeros, std=_zeros, result="zero")
derivative("multinomial")
for name in (
    "rand_like",
    "rand_like.generator",
    "randn_like",
    "randn_like.generator",
    "randint_like",
    "randint_like.generator",
    "randint_like.low_dtype",
    "randint_like.low_generator_dtype",
    "randint_like.Tensor",
    "randint_like.Tensor_generator",
):
    derivative(name)


def _dropout_scale(p, train):
    if train is False:
        return 1.0
    return 0.0 if p == 1 else 1 / (1 - p)


derivative(
    "native_dropout",
    input=lambda grad, p, train, result1: F.native_dropout_backward(
        grad, result1, _dropout_scale(p, train)
    ),
    result=lambda input_t, p, train, result1: F.native_dropout_backward(
        input_t, result1, _dropout_scale(p, train)
    ),
)
derivative(
    "native_dropout_backward",
    grad_output=lambda grad, mask, scale: F.native_dropout_backward(grad, mask, scale),
    result=lambda grad_output_t, mask, scale: F.native_dropout_backward(grad_output_t, mask, scale),
)
