"""Operators on lists of tensors, PyTorch's ``_foreach_*``: each does to every tensor what the operator of that name does to one.

They are defined when the first of them is named (`dispatch.namespace.late_definitions`), as composites of those
operators: autograd, modes and transforms see these.  A list must not be empty, and lists in one call must be of one length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.library import Library
from minitorch.ops import functions as F

_TEXT = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal "
    "round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
)
UNARY = tuple(_TEXT.split())
# Name -> whether there is an `alpha`, and an overload for a tensor of one element.
BINARY = {
    "add": (True, True), "sub": (True, False), "mul": (False, True), "div": (False, True), "clamp_max": (False, False),
    "clamp_min": (False, False), "maximum": (False, False), "minimum": (False, False), "pow": (False, False),
}  # fmt: skip
# What takes a number or a tensor alike, for a number or a list of numbers.
_OF_NUMBER = {"maximum": "clamp_min", "minimum": "clamp_max"}

_library = Library("aten", "FRAGMENT")


def _check(name: str, *lists: Any) -> None:
    if not len(lists[0]):
        raise RuntimeError(f"{name}(): Tensor list must have at least one tensor.")
    for other in lists[1:]:
        if len(other) != len(lists[0]):
            raise RuntimeError(
                f"{name}(): Tensor lists must have the same number of tensors, got {len(lists[0])} and {len(other)}"
            )


def _define(schema: str, fn: Callable[..., Any]) -> None:
    name = schema[: schema.index("(")]
    _library.define(schema)
    _library.impl(name, fn, "CompositeImplicitAutograd")


def _both(name: str, arguments: str, operator: str, make: Callable[[str, Callable], Callable]) -> None:
    """Define an operator and its in-place form.

    Parameters
    ----------
    name : str
        ``"add.List"``
    arguments : str
        The schema's, after the first.
    operator : str
        The name of the operator on one tensor.
    make : callable
        ``(name, function of one tensor) -> kernel``
    """
    base, _, overload = name.partition(".")
    overload = f".{overload}" if overload else ""
    _define(
        f"_foreach_{base}{overload}(Tensor[] self{arguments}) -> Tensor[]",
        make(f"_foreach_{base}", getattr(F, operator)),
    )
    inplace = make(f"_foreach_{base}_", _inplace(operator))
    _define(f"_foreach_{base}_{overload}(Tensor(a!)[] self{arguments}) -> ()", _returns_nothing(inplace))


def _inplace(operator: str) -> Callable:
    """Return the in-place form of an operator on one tensor."""
    if operator in ("maximum", "minimum"):  # which have none
        return lambda tensor, other: tensor.copy_(getattr(F, operator)(tensor, other))
    return getattr(F, f"{operator}_")


def _returns_nothing(kernel: Callable) -> Callable:
    def run(*args: Any, **kwargs: Any) -> None:
        kernel(*args, **kwargs)

    return run


# -- kernels: of the name, for messages, and the operator on one tensor ------------------------------


def _unary(name: str, one: Callable) -> Callable:
    def kernel(self: Any) -> list:
        _check(name, self)
        return [one(t) for t in self]

    return kernel


def _with_value(name: str, one: Callable) -> Callable:
    def kernel(self: Any, value: Any, **alpha: Any) -> list:
        _check(name, self)
        return [one(t, value, **alpha) for t in self]

    return kernel


def _with_list(name: str, one: Callable) -> Callable:
    def kernel(self: Any, other: Any, **alpha: Any) -> list:
        _check(name, self, other)
        return [one(t, o, **alpha) for t, o in zip(self, other, strict=True)]

    return kernel


def _with_three_values(name: str, one: Callable) -> Callable:
    def kernel(self: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> list:
        _check(name, self, tensor1, tensor2)
        return [one(t, a, b, value=value) for t, a, b in zip(self, tensor1, tensor2, strict=True)]

    return kernel


def _with_three_lists(name: str, one: Callable) -> Callable:
    def kernel(self: Any, tensor1: Any, tensor2: Any, scalars: Any) -> list:
        _check(name, self, tensor1, tensor2, scalars)
        rows = zip(self, tensor1, tensor2, scalars, strict=True)
        return [one(t, a, b, value=v) for t, a, b, v in rows]

    return kernel


def _with_three_and_tensor(name: str, one: Callable) -> Callable:
    def kernel(self: Any, tensor1: Any, tensor2: Any, scalars: Any) -> list:
        if scalars.ndim != 1 or scalars.shape[0] != len(self):
            raise RuntimeError(
                f"{name}(): scalars must be a vector with one element a tensor, {len(self)}, not of shape {list(scalars.shape)}"
            )
        return _with_three_lists(name, one)(self, tensor1, tensor2, scalars.tolist())

    return kernel


def _lerp_value(name: str, one: Callable) -> Callable:
    def kernel(self: Any, tensors1: Any, weight: Any) -> list:
        _check(name, self, tensors1)
        return [one(t, e, weight) for t, e in zip(self, tensors1, strict=True)]

    return kernel


def _lerp_list(name: str, one: Callable) -> Callable:
    def kernel(self: Any, tensors1: Any, weights: Any) -> list:
        _check(name, self, tensors1, weights)
        return [one(t, e, w) for t, e, w in zip(self, tensors1, weights, strict=True)]

    return kernel


# -- those that are one of a kind --------------------------------------------------------------------


def _clone(self: Any, *, memory_format: Any = None) -> list:
    _check("_foreach_clone", self)
    return [F.clone(t, memory_format=memory_format) for t in self]


def _copy_(self: Any, src: Any, non_blocking: bool = False) -> None:
    _check("_foreach_copy_", self, src)
    for target, source in zip(self, src, strict=True):
        F.copy_(target, source, non_blocking)


def _zero_(self: Any) -> None:
    _check("_foreach_zero_", self)
    for target in self:
        F.zero_(target)


def _norm(self: Any, ord: Any = 2, dtype: Any = None) -> list:
    _check("_foreach_norm", self)
    return [F.linalg_vector_norm(t, ord, dtype=dtype) for t in self]


def _powsum(self: Any, ord: Any = 2, dtype: Any = None) -> list:
    _check("_foreach_powsum", self)
    return [F.sum(F.pow(F.abs(t if dtype is None else t.to(dtype)), ord)) for t in self]


def _max(self: Any) -> list:
    _check("_foreach_max", self)
    return [F.max(t) for t in self]


def _mm(self: Any, mat2: Any) -> list:
    _check("_foreach_mm", self, mat2)
    return [F.mm(a, b) for a, b in zip(self, mat2, strict=True)]


def _pow_of_number(self: Any, exponent: Any) -> list:
    _check("_foreach_pow", exponent)
    return [F.pow(self, e) for e in exponent]


def _define_all() -> None:
    for name in UNARY:
        _both(name, "", name, _unary)
    for name, (has_alpha, has_tensor) in BINARY.items():
        other = "exponent" if name == "pow" else "other"
        number, numbers = ("exponent", "exponent") if name == "pow" else ("scalar", "scalars")
        alpha = ", *, Scalar alpha=1" if has_alpha else ""
        of_number = _OF_NUMBER.get(name, name)
        _both(f"{name}.Scalar", f", Scalar {number}", of_number, _with_value)
        _both(f"{name}.List", f", Tensor[] {other}{alpha}", name, _with_list)
        _both(f"{name}.ScalarList", f", Scalar[] {numbers}", of_number, _with_list)
        if has_tensor:
            _both(f"{name}.Tensor", f", Tensor other{alpha}", name, _with_value)
    for name in ("addcdiv", "addcmul"):
        lists = ", Tensor[] tensor1, Tensor[] tensor2"
        _both(f"{name}.Scalar", f"{lists}, Scalar value=1", name, _with_three_values)
        _both(f"{name}.ScalarList", f"{lists}, Scalar[] scalars", name, _with_three_lists)
        _both(f"{name}.Tensor", f"{lists}, Tensor scalars", name, _with_three_and_tensor)
    _both("lerp.Scalar", ", Tensor[] tensors1, Scalar weight", "lerp", _lerp_value)
    _both("lerp.List", ", Tensor[] tensors1, Tensor[] weights", "lerp", _lerp_list)
    _both("lerp.ScalarList", ", Tensor[] tensors1, Scalar[] weight", "lerp", _lerp_list)
    _define("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", _clone)
    _define("_foreach_copy_(Tensor(a!)[] self, Tensor[] src, bool non_blocking=False) -> ()", _copy_)
    _define("_foreach_zero_(Tensor(a!)[] self) -> ()", _zero_)
    _define("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", _norm)
    _define("_foreach_powsum.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", _powsum)
    _define("_foreach_max(Tensor[] self) -> Tensor[]", _max)
    _define("_foreach_mm(Tensor[] self, Tensor[] mat2) -> Tensor[]", _mm)
    _define("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", _pow_of_number)


_define_all()
