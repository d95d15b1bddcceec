"""Universal functions on `CLArray`s, called as NumPy's: promotion by NumPy's rules, ``out=``, ``where=``, ``reduce``, ``at``."""

from __future__ import annotations

from typing import Any

import numpy as np

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray, from_host
from minitorch.backends.opencl.ctypes import BOOL, compute_type
from minitorch.backends.opencl.expression import Scalar, before_write, broadcast_shape, is_waiting, lazy
from minitorch.backends.opencl.operations import PREDICATES
from minitorch.backends.opencl.pointwise import assign, cast, copy, element_strides, make_plan, result_strides

_WEAK = {bool: BOOL, int: int, float: float, complex: complex}
_REAL = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}
_NUMBERS = (bool, int, float, complex, np.generic)


def device_of(*values):
    """Return the device of the first array among `values`; None where there is none."""
    for value in values:
        if type(value) is CLArray:
            return value.device
    return None


def as_operand(value, device):
    """Return a value as a `CLArray`; numbers and NumPy arrays are put on `device`."""
    if type(value) is CLArray:
        return value
    return from_host(np.asarray(value), device)


def number(value, dtype: np.dtype):
    """Return a Python number or NumPy scalar as an argument of type `dtype` for a kernel."""
    if dtype.kind in "fV":
        return float(value)
    if dtype.kind == "c":
        return dtype.type(value)
    if dtype.kind == "b":
        return int(bool(value))
    value = int(value)
    bits = dtype.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def typed(value, dtype: np.dtype, device):
    """Return an operand as an array or `Scalar` of type `dtype`."""
    if type(value) is CLArray:
        return value if value.dtype == dtype else cast(value, dtype)
    if isinstance(value, _NUMBERS):
        return Scalar(number(value, dtype), dtype)
    if type(value) is Scalar:
        return value
    return cast(as_operand(value, device), dtype)


def store_into(out: CLArray, result: CLArray) -> CLArray:
    """Write a result into an array that a caller gave as ``out``."""
    if not out.flags.writeable:
        raise ValueError("output array is read-only")
    if result.shape != out.shape and broadcast_shape([result.shape, out.shape]) != out.shape:
        raise ValueError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the broadcast shape {result.shape}"
        )
    assign(out, result)
    return out


def can_become(out: CLArray, shape: tuple, dtype: np.dtype) -> bool:
    """Return whether `out` has no memory and no reader, so that a lazy result can take its place."""
    if out._block is not None or out.dtype != dtype or out.shape != shape:
        return False
    return not out.readers or not any([is_waiting(r) for r in out.readers])


class UFunc:
    """A pointwise function with NumPy's calling convention.

    Parameters
    ----------
    name : str
        Its row in `operations` and, unless `rule` is given, the NumPy function whose types it has.
    """

    def __init__(self, name: str, numpy_name: str | None = None):
        self.__name__ = name
        self.reference: Any = getattr(np, numpy_name or name, None)
        self.nin = self.reference.nin
        self.predicate = name in PREDICATES
        self._types: dict = {}
        self._singles: dict = {}

    def resolve(self, operands) -> tuple:
        """Return (dtypes of the operands, dtype of the result) as NumPy promotes."""
        key = tuple([o.dtype if hasattr(o, "dtype") else type(o) for o in operands])
        found = self._types.get(key)
        if found is None:
            asked = tuple([_WEAK[k] if k in _WEAK else k for k in key])
            *inputs, result = self.reference.resolve_dtypes((*asked, *[None] * self.reference.nout))[: self.nin + 1]
            found = self._types[key] = (tuple(inputs), result)
        return found

    def operation(self, dtype):
        """Return the row for operands of a type."""
        name = self.__name__
        if dtype.kind == "c":
            if name in ("absolute", "abs"):
                return "complex_absolute"
        return name

    def __call__(self, *args, out=None, where=True, dtype=None, casting=None, order=None):
        nin = self.nin
        if len(args) > nin:
            out = args[nin]
            args = args[:nin]
        if type(out) is tuple:
            out = out[0]
        device = device_of(*args, out)
        if device is None:
            return self.reference(*args)
        operands = [a if type(a) is CLArray or isinstance(a, _NUMBERS) else as_operand(a, device) for a in args]
        if dtype is None:
            inputs, result = self.resolve(operands)
        else:
            dtype = np.dtype(dtype)
            inputs, result = (dtype,) * nin, BOOL if self.predicate else dtype
        typed_args = tuple([typed(o, d, device) for o, d in zip(operands, inputs, strict=True)])
        compute_type(inputs[0])
        if where is not True:
            if out is None:
                raise NoKernel(f"{self.__name__}: where= without out=")
            value = lazy(self.operation(inputs[0]), typed_args, result, device)
            value = lazy("where", (as_operand(where, device), cast(value, out.dtype), out), out.dtype, device)
            return store_into(out, value)
        if out is not None:
            shape = broadcast_shape([a.shape for a in typed_args])
            if can_become(out, shape, result):
                if out.node is not None or any([a is out for a in typed_args]):
                    typed_args = tuple([replaced(a, out) for a in typed_args])
                return lazy(self.operation(inputs[0]), typed_args, result, device, out)
            return store_into(out, lazy(self.operation(inputs[0]), typed_args, result, device))
        return lazy(self.operation(inputs[0]), typed_args, result, device)

    def eager(self, a, b=None, out=None):
        """Do what a call does for one or two arrays of one dtype (or an array and a number), and compute it now.

        The plan of such a call is kept by the operands' shapes and strides, which spares the way through lazy arrays.
        """
        if self.nin == 1 and b is not None:
            b, out = None, b
        if a._block is None or (type(b) is CLArray and b._block is None) or (out is not None and out._block is None):
            return self._late(a, b, out)
        whole = type(b) is CLArray
        key = (
            a.dtype,
            a.shape,
            a.strides,
            *((b.shape, b.strides) if whole else (type(b),)),
            *(() if out is None else (out.dtype, out.shape, out.strides)),
        )
        record = self._singles.get(key)
        if record is None:
            record = self._single(key, a, b, out)
        if record is False:
            return self._late(a, b, out)
        plan, dtype, shape, strides, nbytes, itemsize = record
        device = a.device
        if out is None:
            target = CLArray(device.allocate(nbytes), 0, shape, strides, dtype, device)
            block = target._block
        else:
            target, block = out, out._block
            if block.readers:
                before_write(block)
            if (block is a._block and a.offset != out.offset) or (
                whole and block is b._block and (b.offset != out.offset or b.shape != shape or b.strides != strides)
            ):
                return self._late(a, b, out)
        if whole:
            args = (
                block.buffer, target.offset // dtype.itemsize, a._block.buffer, a.offset // itemsize, b._block.buffer,
                b.offset // itemsize, *plan.numbers,
            )  # fmt: skip
        elif b is None:
            args = (block.buffer, target.offset // dtype.itemsize, a._block.buffer, a.offset // itemsize, *plan.numbers)
        else:
            args = (
                block.buffer, target.offset // dtype.itemsize, a._block.buffer, a.offset // itemsize, number(b, a.dtype),
                *plan.numbers,
            )  # fmt: skip
        device.launch(plan.kernel(device), plan.global_size, args, (block,))
        return target

    def _late(self, a, b, out):
        result = self(a, out=out) if b is None else self(a, b, out=out)
        return result.settle()

    def _single(self, key, a, b, out):
        """Return what `eager` keeps for operands like these: False where they need the general way."""
        if len(self._singles) > 4096:
            self._singles.clear()
        operands = [a] if b is None else [a, b]
        inputs, dtype = self.resolve(operands)
        arrays = [o for o in operands if type(o) is CLArray]
        shape = broadcast_shape([o.shape for o in arrays])
        narrow = a.itemsize * max([o.block.capacity for o in arrays]) < 1 << 31
        record = False
        if (
            inputs[0] == a.dtype and all([o.dtype == a.dtype for o in arrays]) and a.dtype.kind in "fiub" and narrow
            and 0 not in shape and (out is None or (out.shape == shape and out.dtype == dtype))
        ):  # fmt: skip
            strides = result_strides(shape, arrays, dtype.itemsize) if out is None else out.strides
            steps = tuple([("leaf" if type(o) is CLArray else "scalar", a.dtype) for o in operands])
            steps = (*steps, (self.operation(a.dtype), dtype, *range(len(operands))))
            rows = [tuple([s // dtype.itemsize if n != 1 else 0 for n, s in zip(shape, strides, strict=True)])]
            rows += [element_strides(o, shape) for o in arrays]
            plan = make_plan(
                steps,
                [o.dtype for o in arrays],
                [a.dtype] * (len(operands) - len(arrays)),
                dtype,
                shape,
                rows,
                [],
                a.device.is_cpu,
            )
            count = dtype.itemsize
            for n in shape:
                count *= n
            record = (plan, dtype, shape, strides, count, a.itemsize)
        self._singles[key] = record
        return record

    def reduce(self, a, axis=0, dtype=None, out=None, keepdims=False, initial=None, where=True):
        """Reduce over axes, as NumPy's ``ufunc.reduce``."""
        from minitorch.backends.opencl import reductions

        if where is not True:
            raise NoKernel(f"{self.__name__}.reduce: where=")
        result = reductions.reduce(self.__name__, a, axis, dtype, keepdims, initial)
        return result if out is None else store_into(out, result)

    def accumulate(self, a, axis=0, dtype=None, out=None):
        """Combine running elements along an axis, as NumPy's ``ufunc.accumulate``."""
        from minitorch.backends.opencl import reductions

        result = reductions.accumulate(self.__name__, a, axis, dtype)
        return result if out is None else store_into(out, result)

    def at(self, a, indices, b=None):
        """Combine `b` into elements of `a`, each as often as its index occurs."""
        from minitorch.backends.opencl import indexing

        indices = indices if type(indices) is tuple else (indices,)
        name = {"add": "add_at", "maximum": "maximum_at", "minimum": "minimum_at", "multiply": "multiply_at"}.get(
            self.__name__
        )
        if name is None:
            raise NoKernel(f"{self.__name__}.at")
        getattr(indexing, name)(a, indices, b)

    def outer(self, a, b):
        """Return the function of all pairs."""
        return self(a.reshape(a.shape + (1,) * b.ndim), b)

    def __repr__(self):
        return f"<ufunc {self.__name__!r} of minitorch.opencl>"


def replaced(operand, out: CLArray):
    """Return an operand that keeps the value that `out` has now, if it is `out`."""
    if operand is not out:
        if type(operand) is not CLArray or operand.node is None or not reads(operand, out):
            return operand
        return operand.settle()
    moved = CLArray(None, 0, out.shape, out.strides, out.dtype, out.device)
    moved.node = out.node
    return moved


def reads(array: CLArray, other: CLArray) -> bool:
    """Return whether a lazy array's chain reads another lazy array."""
    stack = [array]
    while stack:
        node = stack.pop().node
        if node is not None and node.op != "constant":
            for a in node.args:
                if a is other:
                    return True
                if type(a) is CLArray and a.node is not None:
                    stack.append(a)
    return False


def unary(op: str, a: CLArray, result: np.dtype | None = None) -> CLArray:
    """Return a row of `operations` of one array, lazily."""
    return lazy(op, (a,), result or a.dtype, a.device)


def where(condition, *choices):
    """Return elements of two arrays as a condition says, or without arrays the indices where it holds."""
    if not choices:
        from minitorch.backends.opencl import indexing

        return indexing.nonzero(condition)
    a, b = choices
    device = device_of(condition, a, b)
    if device is None:
        return np.where(condition, a, b)
    if type(condition) is not CLArray:
        condition = as_operand(np.asarray(condition), device)
    dtype = np.result_type(*[c.dtype if hasattr(c, "dtype") else c for c in choices])
    mask = condition if condition.dtype == BOOL else cast(condition, BOOL)
    return lazy("where", (mask, typed(a, dtype, device), typed(b, dtype, device)), dtype, device)


def clip(a, low=None, high=None, out=None, *, min=None, max=None):
    """Return an array limited to an interval, as NumPy's ``clip``."""
    low = min if low is None else low
    high = max if high is None else high
    result = a
    if low is not None:
        result = maximum(result, low)
    if high is not None:
        result = minimum(result, high)
    if result is a:
        result = copy(a, "K")
    return result if out is None else store_into(out, result)


def copyto(target: CLArray, source, casting="same_kind", where=True):
    """Write `source` into `target`, only where a mask holds if one is given.

    Raises
    ------
    ValueError
        If several elements of `target` stand in one place.
    """
    if not target.flags.writeable:
        raise ValueError("assignment destination is read-only")
    device = target.device
    value = typed(source, target.dtype, device) if not isinstance(source, CLArray) else source
    if broadcast_shape([value.shape, target.shape]) != target.shape:
        raise ValueError(f"could not broadcast input array from shape {value.shape} into shape {target.shape}")
    if where is not True:
        mask = as_operand(where, device)
        value = cast(value, target.dtype) if type(value) is CLArray else value
        value = lazy("where", (mask, value, target), target.dtype, device)
        if value.shape != target.shape:
            raise ValueError(f"could not broadcast where mask from shape {mask.shape} into shape {target.shape}")
    assign(target, value)


UFUNCS: dict[str, UFunc] = {}
for _name in (
    "add", "subtract", "multiply", "divide", "true_divide", "negative", "positive", "reciprocal", "square", "absolute",
    "conjugate", "sign", "floor_divide", "remainder", "fmod", "power", "maximum", "minimum", "fmax", "fmin", "gcd", "lcm",
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
    "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "floor", "ceil", "trunc", "rint", "arctan2", "hypot", "copysign",
    "nextafter", "fabs", "logaddexp", "logaddexp2", "deg2rad", "rad2deg", "heaviside", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "isnan", "isinf",
    "isfinite", "signbit", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
):  # fmt: skip
    UFUNCS[_name] = UFunc(_name)
for _alias, _name in {
    "abs": "absolute", "conj": "conjugate", "mod": "remainder", "bitwise_not": "invert", "pow": "power", "radians": "deg2rad",
    "degrees": "rad2deg",
}.items():  # fmt: skip
    UFUNCS[_alias] = UFUNCS[_name]
maximum = UFUNCS["maximum"]
minimum = UFUNCS["minimum"]


def frexp(a):
    """Return mantissa and exponent."""
    return unary("frexp_mantissa", a), unary("frexp_exponent", a, np.dtype(np.int32))


def real(a: CLArray) -> CLArray:
    """Return the real part: a view of complex arrays."""
    if a.dtype.kind != "c":
        return a
    a.settle()
    return a.view_of(a.shape, a.strides, 0, _REAL[a.dtype])


def imag(a: CLArray) -> CLArray:
    """Return the imaginary part: a view of complex arrays, zeros of others."""
    if a.dtype.kind != "c":
        from minitorch.backends.opencl.pointwise import constant

        return constant(a.shape, number(0, a.dtype), a.dtype, a.device)
    a.settle()
    part = _REAL[a.dtype]
    return a.view_of(a.shape, a.strides, part.itemsize, part)
