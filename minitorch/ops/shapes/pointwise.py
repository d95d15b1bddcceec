"""Shapes, types and argument errors of the pointwise operators.

`RULES` says for each operator what types it takes and what its result is; the kernels
follow the same rules.
"""

from __future__ import annotations

from minitorch.core import dtype as _dtypes
from minitorch.core.dtype import from_numpy_dtype, get_default_dtype, on_default_dtype_change
from minitorch.core.promotion import result_type
from minitorch.ops.shapes.common import MetaArray, broadcast_shapes, check, is_contiguous
from minitorch.ops.shapes.registry import shape

# What the result is, given the type that the operands promote to:
SAME = "same"  # that type
FLOAT = "float"  # the default type where that one is bool or integer
BOOL = "bool"  # bool
REAL = "real"  # the type of the real part
REAL_FLOAT = "real float"  # that, and the default type where it is bool or integer
DOUBLE = "double"  # float64 or complex128

_WIDE = _dtypes.float32.np
_LETTERS = {"b": "b", "i": "i", "u": "i", "f": "f", "V": "f", "c": "c"}


class Refused(ValueError):
    """An operator does not take operands of this type."""


class Rule:
    """How the types of the operands decide the type of the result.

    Attributes
    ----------
    kind : str
        SAME, FLOAT, ...
    takes : str
        What the operands may promote to: b (bool), i (integers), f (floating point), c (complex).
    """

    __slots__ = ("cache", "kind", "takes")

    def __init__(self, kind: str, takes: str):
        self.kind = kind
        self.takes = takes
        self.cache: dict = {}

    def types(self, np_dtype):
        """Return the types to compute in and to return, for operands that promote to `np_dtype`.

        Raises
        ------
        Refused
            If the operator does not take such operands.
        """
        found = self.cache.get(np_dtype)
        if found is None:
            found = self.cache[np_dtype] = self._types(np_dtype)
        return found

    def _types(self, np_dtype):
        letter = _LETTERS[np_dtype.kind]
        if letter not in self.takes:
            raise Refused(np_dtype)
        kind = self.kind
        own = from_numpy_dtype(np_dtype)
        if kind == DOUBLE:
            own = _dtypes.complex128 if own.is_complex else _dtypes.float64
        elif letter in "bi" and kind in (FLOAT, REAL_FLOAT):
            own = get_default_dtype()
        result = own
        if kind == BOOL:
            result = _dtypes.bool_
        elif kind in (REAL, REAL_FLOAT):
            result = own.to_real()
        narrow = own.is_floating_point and own.itemsize < 4
        return (_WIDE if narrow else own.np), result.np


RULES: dict[str, Rule] = {}
"""The rule of each pointwise operator, by its name."""


def _forget(default_dtype) -> None:
    for rule in RULES.values():
        rule.cache.clear()


on_default_dtype_change(_forget)


# ---------------------------------------------------------------- errors

# Texts for types that an operator refuses for a reason of its own.
_BOOL_SUB = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. To invert a mask, use "
    "the `~` or `logical_not()` operator; for the difference of two masks, `^` or `logical_xor()`."
)
_BOOL_NEG = (
    "Negation, the `-` operator, on a bool tensor is not supported. To invert a mask, use the "
    "`~` or `logical_not()` operator instead."
)
_REASONS = {
    ("sub", "b"): _BOOL_SUB,
    ("rsub", "b"): _BOOL_SUB,
    ("neg", "b"): _BOOL_NEG,
    ("sign", "c"): "sign is not meant for complex numbers; use sgn",
    ("maximum", "c"): "maximum not implemented for complex tensors.",
    ("minimum", "c"): "minimum not implemented for complex tensors.",
    ("fmax", "c"): "fmax not implemented for complex tensors.",
    ("fmin", "c"): "fmin not implemented for complex tensors.",
    ("clamp", "c"): "clamp is not supported for complex types",
    ("floor", "c"): "floor is not supported for complex inputs",
    ("ceil", "c"): "ceil is not supported for complex inputs",
    ("trunc", "c"): "trunc is not supported for complex inputs",
    ("isposinf", "c"): "isposinf does not support complex inputs.",
    ("isneginf", "c"): "isneginf does not support complex inputs.",
    ("heaviside", "c"): "heaviside is not yet implemented for complex tensors.",
}


def refuse(name: str, np_dtype) -> None:
    """Raise the error for operands of a type that operator `name` does not take."""
    basename = name.partition(".")[0]
    own = from_numpy_dtype(np_dtype)
    reason = _REASONS.get((basename, _LETTERS[np_dtype.kind]))
    if reason is None:
        raise NotImplementedError(
            f"{basename}(): \"{basename}_cpu\" not implemented for '{own.scalar_name}': the "
            f"operator does not take operands of type {own.name}; convert them with .to(dtype)"
        )
    kind = RuntimeError if own.category == 0 else NotImplementedError
    raise kind(f"{basename}(): {reason}")


# ---------------------------------------------------------------- strides


def elementwise_strides(shape_, arrays, itemsize: int):
    """Return the byte strides of an elementwise result, None for row-major.

    The dimensions are ordered as the operands have them in memory (NumPy's "K" order,
    PyTorch's rule of preserving strides): a dimension lies further out than another where
    its stride is larger in some operand; where operands disagree, row-major wins.
    """
    ndim = len(shape_)
    if ndim < 2 or all([is_contiguous(a) for a in arrays]):
        return None
    aligned = []
    for a in arrays:
        lead = ndim - len(a.shape)
        steps = [abs(s) if n != 1 else 0 for n, s in zip(a.shape, a.strides, strict=True)]
        aligned.append([0] * lead + steps)
    inner_first: list[int] = []
    for d in reversed(range(ndim)):
        place = len(inner_first)
        for at in reversed(range(len(inner_first))):
            order = _order(aligned, d, inner_first[at])
            if order < 0:
                place = at
            elif order > 0:
                break
        inner_first.insert(place, d)
    strides = [0] * ndim
    step = itemsize
    for d in inner_first:
        strides[d] = step
        step *= max(shape_[d], 1)
    return tuple(strides)


def _order(aligned, outer: int, inner: int) -> int:
    """Return 1 if dimension `outer` is to stay outside `inner`, -1 if not, 0 if nothing says."""
    verdict = 0
    for strides in aligned:
        a, b = strides[outer], strides[inner]
        if a and b:
            if b <= a:
                return 1
            verdict = -1
    return verdict


# ---------------------------------------------------------------- the generic shape function


def elementwise_shape(name: str, operands, rule: Rule | None = None) -> MetaArray:
    """Return what the pointwise operator `name` gives for `operands`, arrays and numbers."""
    promoted = result_type(*operands)
    try:
        _, dtype = (rule or RULES[name]).types(promoted)
    except Refused:
        refuse(name, promoted)
    arrays = [o for o in operands if hasattr(o, "strides")]
    shape_ = broadcast_shapes(*[a.shape for a in arrays])
    return MetaArray(shape_, dtype, elementwise_strides(shape_, arrays, dtype.itemsize))


def _pointwise(name: str):
    """Return the shape function of an operator whose positional arguments are operands."""

    def pointwise_shape(*operands):
        return elementwise_shape(name, operands)

    return pointwise_shape


def rules(kind: str, takes: str, *names: str, generic: bool = True) -> None:
    """Give operators their rule and, if `generic`, the generic shape function."""
    for name in names:
        if name in RULES:
            raise ValueError(f"{name} has a rule already")
        RULES[name] = Rule(kind, takes)
        if generic:
            shape(name)(_pointwise(name))


# one operand
rules(
    FLOAT, "bifc",
    "sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "sigmoid", "sinc",
)
rules(FLOAT, "bif", "deg2rad", "rad2deg")
rules(FLOAT, "bif", "logit", generic=False)
rules(REAL, "ifc", "abs")
rules(REAL_FLOAT, "bifc", "angle")
rules(SAME, "ifc", "neg")
rules(SAME, "bif", "sign")
rules(SAME, "bifc", "sgn", "conj_physical")
rules(SAME, "bifc", "nan_to_num", "square", generic=False)
rules(SAME, "if", "floor", "ceil", "trunc", "round")
rules(SAME, "f", "frac")
rules(SAME, "f", "frexp.Tensor", "round.decimals", generic=False)
rules(SAME, "bi", "bitwise_not")
rules(BOOL, "bif", "signbit", "isposinf", "isneginf")
rules(BOOL, "bifc", "logical_not", "isnan", "isinf", "isfinite", "isreal")

# two operands
rules(SAME, "bifc", "mul.Tensor", "mul.Scalar")
rules(SAME, "bifc", "add.Tensor", "add.Scalar", generic=False)
rules(
    SAME, "ifc", "sub.Tensor", "sub.Scalar", "rsub.Tensor", "rsub.Scalar", generic=False
)
rules(FLOAT, "bifc", "div.Tensor", "div.Scalar")
rules(SAME, "if", "div.Tensor_mode", "div.Scalar_mode", generic=False)
rules(
    SAME, "if",
    "floor_divide", "floor_divide.Scalar", "remainder.Tensor", "remainder.Scalar",
    "remainder.Scalar_Tensor", "fmod.Tensor", "fmod.Scalar",
)
rules(SAME, "ifc", "pow.Tensor_Tensor", "pow.Scalar")
rules(SAME, "ifc", "pow.Tensor_Scalar", generic=False)
rules(
    DOUBLE, "bifc",
    "float_power.Tensor_Tensor", "float_power.Tensor_Scalar", "float_power.Scalar",
)
rules(
    FLOAT, "bif",
    "atan2", "xlogy.Tensor", "xlogy.Scalar_Other", "xlogy.Scalar_Self",
    "copysign.Tensor", "copysign.Scalar",
)
rules(SAME, "f", "hypot", "logaddexp2", "nextafter")
rules(SAME, "fc", "logaddexp")
rules(SAME, "bif", "maximum", "minimum", "fmax", "fmin")
rules(SAME, "bif", "heaviside", generic=False)
rules(SAME, "i", "gcd", "lcm")
rules(
    BOOL, "bifc",
    "eq.Tensor", "eq.Scalar", "ne.Tensor", "ne.Scalar",
    "logical_and", "logical_or", "logical_xor",
)
rules(
    BOOL, "bif",
    "lt.Tensor", "lt.Scalar", "le.Tensor", "le.Scalar",
    "gt.Tensor", "gt.Scalar", "ge.Tensor", "ge.Scalar",
)
rules(
    SAME, "bi",
    "bitwise_and.Tensor", "bitwise_and.Scalar", "bitwise_and.Scalar_Tensor",
    "bitwise_or.Tensor", "bitwise_or.Scalar", "bitwise_or.Scalar_Tensor",
    "bitwise_xor.Tensor", "bitwise_xor.Scalar", "bitwise_xor.Scalar_Tensor",
)
rules(
    SAME, "i",
    "bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar",
    "bitwise_left_shift.Scalar_Tensor",
    "bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar",
    "bitwise_right_shift.Scalar_Tensor",
)

# more operands
rules(SAME, "if", "clamp", "clamp.Tensor", generic=False)
rules(SAME, "if", "clamp_min", "clamp_max", generic=False)
rules(SAME, "bif", "clamp_min.Tensor", "clamp_max.Tensor")
rules(SAME, "fc", "lerp.Scalar", "lerp.Tensor", generic=False)
rules(SAME, "ifc", "addcmul", generic=False)
rules(SAME, "fc", "addcdiv", generic=False)


# ---------------------------------------------------------------- sums


def check_alpha(name: str, np_dtype, alpha) -> None:
    """Raise unless `alpha` can scale operands of `np_dtype`."""
    kind = np_dtype.kind
    check(
        not isinstance(alpha, bool) or kind == "b",
        f"{name}(): Boolean alpha only supported for Boolean results.",
    )
    check(
        kind not in "biu" or not isinstance(alpha, (float, complex)),
        f"{name}(): For integral input tensors, argument alpha must not be a floating point "
        f"number, but it is {alpha!r}.",
    )
    check(
        kind == "c" or not isinstance(alpha, complex),
        f"{name}(): For non-complex input tensors, argument alpha must not be a complex number, "
        f"but it is {alpha!r}.",
    )


@shape("add.Tensor", "add.Scalar")
def add_shape(self, other, alpha=1):
    check_alpha("add", result_type(self, other), alpha)
    return elementwise_shape("add.Tensor", (self, other))


def is_bool(operand) -> bool:
    """Return whether `operand` is a bool array or a Python bool."""
    dtype = getattr(operand, "dtype", None)
    return isinstance(operand, bool) if dtype is None else dtype.kind == "b"


def _difference_shape(self, other, alpha, name):
    if is_bool(self) or is_bool(other):
        refuse(name, _dtypes.bool_.np)
    check_alpha(name, result_type(self, other), alpha)
    return elementwise_shape(name, (self, other))


@shape("sub.Tensor", "sub.Scalar")
def sub_shape(self, other, alpha=1):
    return _difference_shape(self, other, alpha, "sub.Tensor")


@shape("rsub.Tensor", "rsub.Scalar")
def rsub_shape(self, other, alpha=1):
    return _difference_shape(self, other, alpha, "rsub.Tensor")


# ---------------------------------------------------------------- division and powers


@shape("div.Tensor_mode", "div.Scalar_mode")
def div_mode_shape(self, other, *, rounding_mode):
    if rounding_mode is None:
        return elementwise_shape("div.Tensor", (self, other))
    check(
        rounding_mode in ("trunc", "floor"),
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
        f"{rounding_mode!r}",
    )
    return elementwise_shape("div.Tensor_mode", (self, other))


def check_fits(name: str, np_dtype, *values) -> None:
    """Raise if an integer in `values` is outside the range of integers of `np_dtype`."""
    if np_dtype.kind not in "iu":
        return
    bits = 8 * np_dtype.itemsize
    signed = np_dtype.kind == "i"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    for value in values:
        check(
            value is None or low <= value <= high,
            f"{name}(): value {value} cannot be converted to type {np_dtype.name} without overflow",
        )


@shape("pow.Tensor_Scalar")
def pow_scalar_shape(self, exponent):
    np_dtype = result_type(self, exponent)
    if np_dtype.kind in "iu":
        check(
            exponent >= 0,
            "pow(): Integers to negative integer powers are not allowed; the exponent is "
            f"{exponent}. Convert the base to a floating-point type.",
        )
        check_fits("pow", np_dtype, exponent)
    if np_dtype.kind == "b":
        return elementwise_shape("pow.Tensor_Scalar", (self, exponent), Rule(SAME, "b"))
    return elementwise_shape("pow.Tensor_Scalar", (self, exponent))


@shape("square")
def square_shape(self):
    return elementwise_shape("square", (self, 2))


# ---------------------------------------------------------------- limits


def _clamp_shape(name, self, *limits):
    return elementwise_shape(name, (self, *[v for v in limits if v is not None]))


def _check_limits(min, max) -> None:
    check(
        min is not None or max is not None,
        "clamp(): At least one of 'min' or 'max' must not be None",
    )


@shape("clamp")
def clamp_shape(self, min=None, max=None):
    _check_limits(min, max)
    check_fits("clamp", result_type(self, *[v for v in (min, max) if v is not None]), min, max)
    return _clamp_shape("clamp", self, min, max)


@shape("clamp.Tensor")
def clamp_tensor_shape(self, min=None, max=None):
    _check_limits(min, max)
    return _clamp_shape("clamp.Tensor", self, min, max)


@shape("clamp_min")
def clamp_min_shape(self, min):
    check_fits("clamp_min", result_type(self, min), min)
    return elementwise_shape("clamp_min", (self, min))


@shape("clamp_max")
def clamp_max_shape(self, max):
    check_fits("clamp_max", result_type(self, max), max)
    return elementwise_shape("clamp_max", (self, max))


@shape("nan_to_num")
def nan_to_num_shape(self, nan=None, posinf=None, neginf=None):
    return elementwise_shape("nan_to_num", (self,))


# ---------------------------------------------------------------- one operand and a parameter


@shape("logit")
def logit_shape(self, eps=None):
    return elementwise_shape("logit", (self,))


@shape("round.decimals")
def round_decimals_shape(self, *, decimals):
    return elementwise_shape("round" if decimals == 0 else "round.decimals", (self,))


@shape("frexp.Tensor")
def frexp_shape(self):
    check(
        self.dtype.kind in "fV",
        f"frexp(): only supports floating-point dtypes, not {from_numpy_dtype(self.dtype).name}",
    )
    mantissa = elementwise_shape("frexp.Tensor", (self,))
    strides = elementwise_strides(self.shape, (self,), 4)
    return mantissa, MetaArray(self.shape, _dtypes.int32.np, strides)


@shape("heaviside")
def heaviside_shape(self, values):
    check(
        self.dtype == values.dtype,
        "heaviside is not yet implemented for tensors with different dtypes: self is "
        f"{from_numpy_dtype(self.dtype).name}, values {from_numpy_dtype(values.dtype).name}.",
    )
    return elementwise_shape("heaviside", (self, values))


# ---------------------------------------------------------------- three operands


def _check_lerp(self, other, what: str) -> None:
    check(
        self.dtype == other.dtype,
        f"lerp(): expected dtype {from_numpy_dtype(self.dtype).name} for `{what}` but got dtype "
        f"{from_numpy_dtype(other.dtype).name}",
    )


@shape("lerp.Scalar")
def lerp_scalar_shape(self, end, weight):
    _check_lerp(self, end, "end")
    return elementwise_shape("lerp.Scalar", (self, end))


@shape("lerp.Tensor")
def lerp_tensor_shape(self, end, weight):
    _check_lerp(self, end, "end")
    if weight.ndim:
        _check_lerp(self, weight, "weight")
    return elementwise_shape("lerp.Tensor", (self, end, weight))


@shape("addcmul")
def addcmul_shape(self, tensor1, tensor2, *, value=1):
    return elementwise_shape("addcmul", (self, tensor1, tensor2))


@shape("addcdiv")
def addcdiv_shape(self, tensor1, tensor2, *, value=1):
    check(
        tensor1.dtype.kind not in "biu" or tensor2.dtype.kind not in "biu",
        "addcdiv(): Integer division with addcdiv is not supported; use (self + value * "
        "torch.trunc(tensor1 / tensor2)) for the quotients' integer parts, or convert tensor1 "
        "to a floating-point type for true division",
    )
    return elementwise_shape("addcdiv", (self, tensor1, tensor2))
