"""``minitorch.ops.quantized``: sums, products, activations, normalization."""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import float32, float64, quantized_limits
from minitorch.ops import functions as F
from minitorch.quantized.handle import PerTensor, is_quantized, wrap
from minitorch.quantized.kernels.construction import dequantize_kernel, quantized
from minitorch.quantized.kernels.pointwise import (
    batch_norm,
    clamp_kernel,
    exact_values,
    mapped,
    quantized_sum,
)
from minitorch.quantized.kernels.selection import single
from minitorch.quantized.library.definitions import quantized_operator
from minitorch.quantized.rounding import float32_of

_OUTPUT = "float scale, int zero_point"


def _floats(*tensors: Any) -> list:
    return [F.dequantize(t) if t.is_quantized else t for t in tensors]


def _to(scale: float, zero_point: int) -> PerTensor:
    return PerTensor(float(scale), int(zero_point))


def _check_pair(name: str, qa: Any, qb: Any) -> None:
    for tensor in (qa, qb):
        if not is_quantized(tensor):
            raise NotImplementedError(f"quantized::{name}: both arguments are quantized tensors; one is {tensor.dtype!r}")
        if not isinstance(tensor.handle.params, PerTensor):
            raise RuntimeError(f"quantized::{name}: Only per tensor quantization is supported in {name.capitalize()}.")
    if qa.dtype is not qb.dtype:
        raise RuntimeError(
            f"quantized::{name}: {name.capitalize()} operands should have same data type: {qa.dtype.name} and {qb.dtype.name}"
        )


def _binary(name: str, combine: Any, counterpart: Any) -> None:
    """Define an operator of two tensors, its form with relu, and those that write into ``out``."""
    for relu in (False, True):
        full = f"{name}_relu" if relu else name

        def values_of(qa: Any, qb: Any, relu: bool = relu, full: str = full) -> Any:
            _check_pair(full, qa, qb)
            made = F.to(combine(exact_values(qa), exact_values(qb)), float32)
            return F.relu(made) if relu else made

        def kernel(qa: Any, qb: Any, scale: Any, zero_point: Any, values_of: Any = values_of) -> Any:
            return quantized(values_of(qa, qb), _to(scale, zero_point), qa.dtype)

        def write(qa: Any, qb: Any, out: Any, values_of: Any = values_of) -> Any:
            made = quantized(values_of(qa, qb), single(out), out.dtype)
            return replace(out, made)

        def gradient(qa: Any, qb: Any, scale: Any, zero_point: Any, relu: bool = relu) -> Any:
            made = counterpart(*_floats(qa, qb))
            return F.relu(made) if relu else made

        quantized_operator(f"{full}(Tensor qa, Tensor qb, {_OUTPUT}) -> Tensor qc", gradient)(kernel)
        quantized_operator(f"{full}.out(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out")(write)
        quantized_operator(f"{full}_out(Tensor qa, Tensor qb, Tensor(a!) out) -> Tensor(a!) out")(write)


_binary("add", F.add, F.add)
_binary("mul", F.mul, F.mul)


def _ranges(qa: Any) -> tuple[float, int, int, int]:
    params = single(qa)
    return params.scale, params.zero_point, *quantized_limits(qa.dtype)


def add_number(qa: Any, number: float, relu: bool) -> Any:
    """Return a quantized tensor plus a number: the zero point moves, or where it cannot the scale grows."""
    scale, zero_point, low, high = _ranges(qa)
    shift = int(round_half_even(number / scale))
    moved = zero_point - shift
    if low <= moved <= high:
        result = wrap(F.clone(qa.handle.ints), PerTensor(scale, moved), qa.dtype)
        return wrap(F.clamp_min(result.handle.ints, moved), PerTensor(scale, moved), qa.dtype) if relu else result
    if moved < low:
        wider = float(high - moved) / float(high - low) * scale
        params = PerTensor(wider, low)
    else:
        wider = float(moved - low) / float(high - low) * scale
        params = PerTensor(wider, high)
    # The integers less the moved zero point stand for the sums.
    sums = F.sub(F.to(qa.handle.ints, float64), float(moved))
    if relu:
        sums = F.clamp_min(sums, 0.0)
    places = F.add(F.round(F.mul(sums, float32_of(scale / wider))), float(params.zero_point))
    return wrap(F.to(F.clamp(places, low, high), qa.handle.ints.dtype), params, qa.dtype)


def round_half_even(value: float) -> float:
    """Return a number rounded to an integer, half to even, as C's ``nearbyint``."""
    return float(round(value))


def multiply_number(qa: Any, number: float, relu: bool) -> Any:
    """Return a quantized tensor times a number: the scale is multiplied, and for a negative one the integers turned around."""
    scale, zero_point, low, high = _ranges(qa)
    ints = qa.handle.ints
    if number > 0:
        params = PerTensor(scale * number, zero_point)
        return wrap(F.clamp_min(ints, zero_point) if relu else F.clone(ints), params, qa.dtype)
    if number < 0:
        params = PerTensor(scale * -number, high + low - zero_point)
        turned = F.rsub(F.to(ints, float64), float(high + low))
        if relu:
            turned = F.clamp_min(turned, float(params.zero_point))
        return wrap(F.to(turned, ints.dtype), params, qa.dtype)
    return wrap(F.zeros_like(ints), PerTensor(1.0, 0), qa.dtype)


def replace(out: Any, made: Any) -> Any:
    """Make `out` the tensor that was computed: its integers and its parameters."""
    if out.dtype is not made.dtype:
        raise RuntimeError(f"out has the dtype {out.dtype.name}, and the result {made.dtype.name}")
    ints = out.handle.ints
    if ints.shape != made.shape:
        ints.resize_(list(made.shape))
        out.shape_cache = None
    ints.copy_(made.handle.ints)
    out.handle.params = made.handle.params
    return out


for _base, _compute, _float in (("add", add_number, F.add), ("mul", multiply_number, F.mul)):
    for _relu in (False, True):

        def _number_kernel(qa: Any, b: Any, _compute: Any = _compute, _relu: bool = _relu) -> Any:
            return _compute(qa, float(b), _relu)

        def _tensor_kernel(qa: Any, b: Any, _compute: Any = _compute, _relu: bool = _relu) -> Any:
            return _compute(qa, float(b.item()), _relu)

        def _turned_kernel(b: Any, qa: Any, _compute: Any = _compute, _relu: bool = _relu) -> Any:
            return _compute(qa, float(b), _relu)

        def _gradient(qa: Any, b: Any, _float: Any = _float, _relu: bool = _relu) -> Any:
            made = _float(F.dequantize(qa), b)
            return F.relu(made) if _relu else made

        def _turned_gradient(b: Any, qa: Any, _gradient: Any = _gradient) -> Any:
            return _gradient(qa, b)

        def _write_number(qa: Any, b: Any, out: Any, _compute: Any = _compute, _relu: bool = _relu) -> Any:
            return replace(out, _compute(qa, float(b), _relu))

        def _write_tensor(qa: Any, b: Any, out: Any, _compute: Any = _compute, _relu: bool = _relu) -> Any:
            return replace(out, _compute(qa, float(b.item()), _relu))

        _end = "_relu" if _relu else ""
        _out = "Tensor(a!) out) -> Tensor(a!) out"
        quantized_operator(f"{_base}_scalar{_end}_out(Tensor qa, Scalar b, {_out}")(_write_number)
        quantized_operator(f"{_base}_scalar{_end}_out.Tensor(Tensor qa, Tensor b, {_out}")(_write_tensor)
        quantized_operator(f"{_base}{_end}.Scalar_out(Tensor qa, Scalar b, {_out}")(_write_number)
        quantized_operator(f"{_base}_scalar{_end}(Tensor qa, Scalar b) -> Tensor qc", _gradient)(_number_kernel)
        quantized_operator(f"{_base}_scalar{_end}.Tensor(Tensor qa, Tensor b) -> Tensor qc", _gradient)(_tensor_kernel)
        quantized_operator(f"{_base}{_end}.Scalar(Tensor qa, Scalar b) -> Tensor qc", _gradient)(_number_kernel)
        quantized_operator(f"{_base}{_end}.Scalar2(Scalar b, Tensor qa) -> Tensor qc", _turned_gradient)(_turned_kernel)


# ---------------------------------------------------------------- joining


def _cat_params(qx: Any, scale: Any, zero_point: Any) -> PerTensor:
    first = single(qx[0])
    return PerTensor(
        first.scale if scale is None else float(scale), first.zero_point if zero_point is None else int(zero_point)
    )


def _cat(qx: Any, dim: int, scale: Any, zero_point: Any, relu: bool) -> Any:
    params = _cat_params(qx, scale, zero_point)
    values = F.cat([dequantize_kernel(t) for t in qx], dim)
    return quantized(F.relu(values) if relu else values, params, qx[0].dtype)


@quantized_operator(
    "cat(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
    lambda qx, dim, scale=None, zero_point=None: F.cat(_floats(*qx), dim),
)
def quantized_cat_kernel(qx, dim, scale=None, zero_point=None):
    return _cat(qx, dim, scale, zero_point, False)


@quantized_operator(
    "cat_relu(Tensor[] qx, int dim, float? scale, int? zero_point) -> Tensor",
    lambda qx, dim, scale=None, zero_point=None: F.relu(F.cat(_floats(*qx), dim)),
)
def quantized_cat_relu_kernel(qx, dim, scale=None, zero_point=None):
    return _cat(qx, dim, scale, zero_point, True)


def _write_cat(name: str, relu: bool) -> None:
    def kernel(qx: Any, dim: int, out: Any) -> Any:
        params = single(out)
        return replace(out, _cat(qx, dim, params.scale, params.zero_point, relu))

    quantized_operator(f"{name}(Tensor[] qx, int dim, Tensor(a!) out) -> Tensor(a!)")(kernel)


_write_cat("cat_out", False)
_write_cat("cat_relu_out", True)


# ---------------------------------------------------------------- activations


def _activation(schema: str, fn: Any) -> None:
    """Define a function of one element with parameters for its result; `fn` gets the other arguments by name."""

    def kernel(qx: Any, *args: Any, **kwargs: Any) -> Any:
        given = _named(schema, args, kwargs)
        params = _to(given.pop("output_scale"), given.pop("output_zero_point"))
        return mapped(qx, lambda x: fn(x, **given), params)

    def gradient(qx: Any, *args: Any, **kwargs: Any) -> Any:
        given = _named(schema, args, kwargs)
        del given["output_scale"], given["output_zero_point"]
        return fn(F.dequantize(qx), **given)

    quantized_operator(schema, gradient)(kernel)


def _named(schema: str, args: tuple, kwargs: dict) -> dict:
    """Return the arguments after the first by name."""
    names = [part.split("=")[0].split()[-1] for part in schema[schema.index("(") + 1 : schema.rindex(") ->")].split(",")]
    return {**dict(zip(names[1:], args, strict=False)), **kwargs}


_RESULT = "float output_scale, int output_zero_point"
_activation(f"sigmoid(Tensor qx, {_RESULT}) -> Tensor", F.sigmoid)
_activation(f"hardswish(Tensor input, {_RESULT}) -> Tensor", F.hardswish)
_activation(
    f"leaky_relu(Tensor qx, Scalar negative_slope, bool inplace, {_RESULT}) -> Tensor",
    lambda x, negative_slope, inplace: F.leaky_relu(x, negative_slope),
)
_activation(
    f"elu(Tensor self, {_RESULT}, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor",
    lambda x, alpha=1, scale=1, input_scale=1: F.elu(x, alpha, scale, input_scale),
)
_activation(f"celu(Tensor self, {_RESULT}, Scalar alpha=1) -> Tensor", lambda x, alpha=1: F.celu(x, alpha))


@quantized_operator(
    "relu6(Tensor qx, bool inplace=False) -> Tensor", lambda qx, inplace=False: F.hardtanh(F.dequantize(qx), 0.0, 6.0)
)
def quantized_relu6_kernel(qx, inplace=False):
    made = clamp_kernel(qx, 0.0, 6.0)
    if inplace:
        qx.handle.ints.copy_(made.handle.ints)
        return qx
    return made


@quantized_operator(
    "clamp(Tensor qx, Scalar? min=None, Scalar? max=None) -> Tensor qy",
    lambda qx, min=None, max=None: F.clamp(F.dequantize(qx), min, max),
)
def quantized_clamp_kernel(qx, min=None, max=None):
    return clamp_kernel(qx, min, max)


@quantized_operator(
    "threshold(Tensor qx, Scalar threshold, Scalar value) -> Tensor qy",
    lambda qx, threshold, value: F.threshold(F.dequantize(qx), threshold, value),
)
def quantized_threshold_kernel(qx, threshold, value):
    return mapped(qx, lambda x: F.threshold(x, threshold, value), single(qx))


@quantized_operator(
    f"prelu(Tensor qx, Tensor weight, {_RESULT}) -> Tensor",
    lambda qx, weight, output_scale, output_zero_point: F.prelu(*_floats(qx, weight)),
)
def quantized_prelu_kernel(qx, weight, output_scale, output_zero_point):
    values = F.prelu(*[dequantize_kernel(t) if is_quantized(t) else t for t in (qx, weight)])
    return quantized(values, _to(output_scale, output_zero_point), qx.dtype)


@quantized_operator(
    f"softmax(Tensor qx, int dim, {_RESULT}) -> Tensor",
    lambda qx, dim, output_scale, output_zero_point: F.softmax(F.dequantize(qx), dim),
)
def quantized_softmax_kernel(qx, dim, output_scale, output_zero_point):
    made = F.softmax(exact_values(qx), dim)
    return quantized_sum(made, _to(output_scale, output_zero_point), qx.dtype)


@quantized_operator(f"dropout(Tensor self, {_RESULT}, Scalar p=0.5, bool training=False) -> Tensor", composite=True)
def quantized_dropout_composite(self, output_scale, output_zero_point, p=0.5, training=False):
    return F.quantize_per_tensor(F.dropout(F.dequantize(self), p, training), output_scale, output_zero_point, self.dtype)


# ---------------------------------------------------------------- normalization


def _normalized(x: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: float, relu: bool) -> Any:
    made = F.batch_norm(F.dequantize(x), weight, bias, mean, var, False, 0.0, eps, False)
    return F.relu(made) if relu else made


for _name, _rank in (("batch_norm1d", (2, 3)), ("batch_norm2d", (4,)), ("batch_norm3d", (5,)), ("batch_norm", (2, 3, 4, 5))):
    for _relu in (False, True):

        def _batch_norm_kernel(
            qx: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: Any, output_scale: Any, output_zero_point: Any,
            _relu: bool = _relu, _rank: Any = _rank, _name: str = _name,
        ) -> Any:  # fmt: skip
            if qx.ndim not in _rank:
                raise RuntimeError(
                    f"quantized::{_name}: Expecting the input tensor of rank {_rank[0]}, got {qx.ndim}: {tuple(qx.shape)}"
                )
            return batch_norm(qx, weight, bias, mean, var, eps, _to(output_scale, output_zero_point), _relu)

        def _batch_norm_gradient(
            qx: Any, weight: Any, bias: Any, mean: Any, var: Any, eps: Any, output_scale: Any, output_zero_point: Any,
            _relu: bool = _relu,
        ) -> Any:  # fmt: skip
            return _normalized(qx, weight, bias, mean, var, eps, _relu)

        quantized_operator(
            f"{_name}{'_relu' if _relu else ''}(Tensor qx, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, "
            f"{_RESULT}) -> Tensor",
            _batch_norm_gradient,
        )(_batch_norm_kernel)


@quantized_operator(
    f"layer_norm(Tensor input, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps, {_RESULT}) -> Tensor",
    lambda input, shape, weight, bias, eps, scale, zero_point: F.layer_norm(F.dequantize(input), shape, weight, bias, eps),
)
def quantized_layer_norm_kernel(input, normalized_shape, weight, bias, eps, output_scale, output_zero_point):
    made = F.layer_norm(exact_values(input), normalized_shape, _double(weight), _double(bias), eps)
    return quantized_sum(made, _to(output_scale, output_zero_point), input.dtype)


@quantized_operator(
    f"group_norm(Tensor input, int num_groups, Tensor? weight, Tensor? bias, float eps, {_RESULT}) -> Tensor",
    lambda input, groups, weight, bias, eps, scale, zero_point: F.group_norm(F.dequantize(input), groups, weight, bias, eps),
)
def quantized_group_norm_kernel(input, num_groups, weight, bias, eps, output_scale, output_zero_point):
    made = F.group_norm(exact_values(input), num_groups, _double(weight), _double(bias), eps)
    return quantized_sum(made, _to(output_scale, output_zero_point), input.dtype)


@quantized_operator(
    f"instance_norm(Tensor input, Tensor? weight, Tensor? bias, float eps, {_RESULT}) -> Tensor",
    lambda input, weight, bias, eps, scale, zero_point: F.group_norm(F.dequantize(input), input.shape[1], weight, bias, eps),
)
def quantized_instance_norm_kernel(input, weight, bias, eps, output_scale, output_zero_point):
    return quantized_group_norm_kernel(input, input.shape[1], weight, bias, eps, output_scale, output_zero_point)


def _double(value: Any) -> Any:
    return None if value is None else F.to(value, float64)
