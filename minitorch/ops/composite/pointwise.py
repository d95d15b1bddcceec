"""Pointwise operators written with other operators: second names, and a few compositions."""

from __future__ import annotations

from minitorch.core.dtype import complex128, float64
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit


def second_names(*rows: tuple[str, ...]) -> None:
    """Make operators second names of another.

    Parameters
    ----------
    *rows : (base name, *operators)
        The operators take the arguments that the base name's overloads take.
    """
    for base, *names in rows:
        composite_implicit(*names)(_calls(base))


def _calls(base: str):
    def second_name_composite(*args, **kwargs):
        return getattr(F, base)(*args, **kwargs)

    return second_name_composite


second_names(
    ("abs", "absolute"),
    ("neg", "negative"),
    ("trunc", "fix"),
    ("sub", "subtract.Tensor", "subtract.Scalar"),
    ("mul", "multiply.Tensor", "multiply.Scalar"),
    (
        "div",
        "divide.Tensor", "divide.Scalar", "divide.Tensor_mode", "divide.Scalar_mode",
        "true_divide.Tensor", "true_divide.Scalar",
    ),
    ("asin", "arcsin"),
    ("acos", "arccos"),
    ("atan", "arctan"),
    ("asinh", "arcsinh"),
    ("acosh", "arccosh"),
    ("atanh", "arctanh"),
    ("atan2", "arctan2"),
    ("clamp", "clip", "clip.Tensor"),
    ("ne", "not_equal.Tensor", "not_equal.Scalar"),
    ("lt", "less.Tensor", "less.Scalar"),
    ("le", "less_equal.Tensor", "less_equal.Scalar"),
    ("gt", "greater.Tensor", "greater.Scalar"),
    ("ge", "greater_equal.Tensor", "greater_equal.Scalar"),
)


@composite_implicit("positive")
def positive_composite(self):
    if self.dtype.category == 0:
        raise RuntimeError(
            "positive(): The `+` operator, on a bool tensor is not supported; convert it with "
            ".to(dtype)"
        )
    return self


@composite_implicit("ldexp.Tensor")
def ldexp_composite(self, other):
    return F.mul(self, F.pow(2.0, other))


@composite_implicit("dist")
def dist_composite(self, other, p=2):
    return F.norm(F.sub(self, other), p)


@composite_implicit("float_power_.Tensor", "float_power_.Scalar")
def float_power_inplace_composite(self, exponent):
    is_complex = self.dtype.is_complex or (
        isinstance(exponent, complex) or getattr(exponent, "dtype", self.dtype).is_complex
    )
    expected = complex128 if is_complex else float64
    if self.dtype is not expected:
        raise RuntimeError(
            f"float_power_(): the base has dtype {self.dtype.name} but the operation's result "
            f"has dtype {expected.name}; use the out-of-place float_power"
        )
    return self.copy_(F.float_power(self, exponent))
