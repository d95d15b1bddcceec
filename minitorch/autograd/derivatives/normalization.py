r"""Derivatives of normalization.

Note [Derivatives of normalization]
    With m the mean over the normalized elements, z = (x - m(x)) r and r = 1 / std, the gradient
    of x is T(g) = r (g - m(g) - z m(g z)), where g is the gradient of z.  T is symmetric, which
    gives its derivative in g.  Its derivative in x, with cotangent v, is

        -r^2 (c - a b) z - r T(b g + a v),    a = m(g z), b = m(v z), c = m(g v) - m(g) m(v).

    Root mean square normalization is the same without m(x), m(g) and m(v).
"""

from __future__ import annotations

from typing import Any

from minitorch.autograd.derivatives.registry import derivative
from minitorch.core.dtype import finfo
from minitorch.ops import functions as F


class Normalized:
    """A normalized tensor, with the maps of note [Derivatives of normalization]."""

    def __init__(self, z, r, dims, centered=True):
        self.z = z
        self.r = r
        self.dims = dims
        self.centered = centered

    def mean(self, tensor):
        return tensor.mean(self.dims, True)

    def pull(self, g):
        """Return T(g): the gradient of x, given that of z."""
        result = g - self.z * self.mean(g * self.z)
        if self.centered:
            result = result - self.mean(g)
        return result * self.r

    def pull_of_x(self, g, v):
        """Return the gradient of x through T(g), given the cotangent `v` of T(g)."""
        a, b, c = self.mean(g * self.z), self.mean(v * self.z), self.mean(g * v)
        if self.centered:
            c = c - self.mean(g) * self.mean(v)
        return -(self.r * self.r * (c - a * b) * self.z) - self.r * self.pull(b * g + a * v)


def affine_double_gradients(normal, grad_out, weight, v, v_weight, v_bias, reduced, needs):
    """Return gradients of (grad_out, x, weight) through an affine normalization's backward.

    Parameters
    ----------
    normal : Normalized
    weight : Tensor or None
        Shaped to broadcast against `grad_out`, as `v_weight` and `v_bias` are.
    v, v_weight, v_bias : Tensor or None
        Cotangents of the gradients of the input, weight and bias.
    reduced : list of int
        The dimensions that `weight` is broadcast over.
    """
    through_grad = through_x = through_weight = None
    need_grad, need_x, need_weight = needs

    def plus(total, part):
        return part if total is None else total + part

    g = grad_out if weight is None else grad_out * weight
    if v is not None:
        if need_grad or need_weight:
            pulled = normal.pull(v)
        if need_grad:
            through_grad = pulled if weight is None else pulled * weight
        if need_weight and weight is not None:
            through_weight = grad_out * pulled
            if reduced:
                through_weight = through_weight.sum(reduced, True)
        if need_x:
            through_x = normal.pull_of_x(g, v)
    if v_weight is not None:
        if need_grad:
            through_grad = plus(through_grad, v_weight * normal.z)
        if need_x:
            through_x = plus(through_x, normal.pull(v_weight * grad_out))
    if v_bias is not None and need_grad:
        through_grad = plus(through_grad, v_bias.expand(grad_out.shape))
    return through_grad, through_x, through_weight


def with_statistics(found, grads, x, mean, r, shape, dims, needs):
    """Return gradients to which those that reached mean and 1 / std, which are outputs too, are added.

    Nothing but the derivatives of the gradient uses the two, so that third derivatives come by here.

    Parameters
    ----------
    found : tuple
        The gradients by the normalized result: of the input first. None for all if that has no gradient.
    grads : sequence of (Tensor or None)
        The gradients of mean and 1 / std; of 1 / std alone if `mean` is None.
    shape : sequence of int
        That of `x` with one dimension for each group of normalized elements, and `dims`, which they have.
    """
    if not needs[0] or all(g is None for g in grads):
        return found
    values = x.reshape(shape)
    kept = [1 if d in dims or d - len(shape) in dims else n for d, n in enumerate(values.shape)]
    r = r.reshape(kept)
    count = values.numel() // max(r.numel(), 1)
    z = values * r if mean is None else (values - mean.reshape(kept)) * r
    total: Any = 0
    if grads[-1] is not None:
        total = -(grads[-1].reshape(kept) * r * r) * z / count
    if mean is not None and grads[0] is not None:
        total = total + (grads[0].reshape(kept) / count).expand(values.shape)
    total = F.to(total.reshape(x.shape), x.dtype)
    return (total if found[0] is None else found[0] + total, *found[1:])


# ---------------------------------------------------------------- layer norm


def layer_norm_gradients(
    grads, input, normalized_shape, weight, bias, result1, result2, needs
):
    found = (None, None, None)
    if grads[0] is not None:
        found = F.native_layer_norm_backward(
            grads[0], input, normalized_shape, result1, result2, weight, bias, list(needs)
        )
    dims = list(range(-len(normalized_shape), 0))
    return with_statistics(found, grads[1:], input, result1, result2, input.shape, dims, needs)


def layer_norm_double_gradients(
    grads, grad_out, input, normalized_shape, mean, rstd, weight, needs
):
    v, v_weight, v_bias = grads
    count = len(normalized_shape)
    dims = list(range(-count, 0))
    normal = Normalized((input - mean) * rstd, rstd, dims)
    reduced = list(range(input.dim() - count))
    result = affine_double_gradients(
        normal, grad_out, weight, v, v_weight, v_bias, reduced, needs
    )
    if result[2] is not None:
        result = (*result[:2], result[2].reshape(weight.shape))
    return result


def normalized_tangents(x, t, dims, eps, weight, weight_t, bias_t, centered=True):
    """Return the tangents of an affine normalization's result, of the mean and of 1 / std.

    Mean and deviation are computed again, as functions of `x`, so that the tangents can be
    differentiated.  Weight and tangents broadcast against `x`; they may be None.
    """
    mean = x.mean(dims, True) if centered else None
    middle = x - mean if centered else x
    r = F.rsqrt((middle * middle).mean(dims, True) + eps)
    normal = Normalized(middle * r, r, dims, centered)
    tangent = affine_tangent(normal.pull(t), normal.z, weight, weight_t, bias_t)
    return tangent, t.mean(dims, True) if centered else None, -(r * r) * normal.mean(normal.z * t)


def affine_tangent(z_t, z, weight, weight_t, bias_t):
    """Return the tangent of ``z * weight + bias``."""
    tangent = z_t
    if weight is not None:
        tangent = tangent * weight + z * weight_t
    return tangent if bias_t is None else tangent + bias_t


def _shaped(shape, *tensors):
    """Return tensors, or None, in a shape that broadcasts against the input."""
    return [None if t is None else t.reshape(shape) for t in tensors]


def layer_norm_tangents(input_p, input_t, normalized_shape, weight_p, weight_t, bias_t, eps):
    dims = list(range(-len(normalized_shape), 0))
    return normalized_tangents(input_p, input_t, dims, eps, weight_p, weight_t, bias_t)


def batch_norm_tangents(input_p, input_t, weight_p, weight_t, bias_t, running_mean, running_var, training, eps):
    shape = [1, -1] + [1] * (input_p.dim() - 2)
    weight, weight_t, bias_t = _shaped(shape, weight_p, weight_t, bias_t)
    if training:
        dims = [d for d in range(input_p.dim()) if d != 1]
        tangent, *facts = normalized_tangents(input_p, input_t, dims, eps, weight, weight_t, bias_t)
        return tangent, *[fact.reshape([-1]) for fact in facts]
    mean, r = _shaped(shape, running_mean, F.rsqrt(running_var + eps))
    return affine_tangent(input_t * r, (input_p - mean) * r, weight, weight_t, bias_t), None, None


def group_norm_tangents(input_p, input_t, weight_p, weight_t, bias_t, N, C, HxW, group, eps):
    shape = [N, group, -1]
    x, t = _shaped(shape, input_p, input_t)
    channels = [_of_channels(v, x, N, C, HxW, group) for v in (weight_p, weight_t, bias_t)]
    tangent, mean_t, r_t = normalized_tangents(x, t, [2], eps, *channels)
    return tangent.reshape(input_p.shape), mean_t.reshape([N, group]), r_t.reshape([N, group])


def _of_channels(values, x, N, C, HxW, group):
    """Return a value for each channel as one for each element of a group."""
    if values is None:
        return None
    return values.reshape([1, C, 1]).expand(N, C, HxW).reshape(x.shape)


def rms_norm_tangents(input_p, input_t, normalized_shape, weight_p, weight_t, eps):
    eps = finfo(input_p.dtype).eps if eps is None else eps
    dims = list(range(-len(normalized_shape), 0))
    tangent, _, r_t = normalized_tangents(input_p, input_t, dims, eps, weight_p, weight_t, None, False)
    return tangent, r_t


derivative(
    "native_layer_norm",
    jointly={("input", "weight", "bias"): layer_norm_gradients},
    result=layer_norm_tangents,
)
derivative(
    "native_layer_norm_backward",
    jointly={("grad_out", "input", "weight"): layer_norm_double_gradients},
)


# ---------------------------------------------------------------- batch norm


def batch_norm_gradients(
    grads, input, weight, running_mean, running_var, training, eps, result1, result2, needs
):
    found = (None, None, None)
    if grads[0] is not None:
        found = F.native_batch_norm_backward(
            grads[0], input, weight, running_mean, running_var, result1, result2, training, eps,
            list(needs),
        )  # fmt: skip
    if not training:
        return found
    dims = [0, *range(2, input.dim())]
    return with_statistics(found, grads[1:], input, result1, result2, input.shape, dims, needs)


def batch_norm_double_gradients(
    grads, grad_out, input, weight, running_mean, running_var, save_mean, save_invstd, train, eps,
    needs,
):  # fmt: skip
    shape = [1, -1] + [1] * (input.dim() - 2)
    dims = [0, *range(2, input.dim())]
    v, v_weight, v_bias = (
        t if t is None or i == 0 else t.reshape(shape) for i, t in enumerate(grads)
    )
    factor = None if weight is None else weight.reshape(shape)
    if train:
        r = save_invstd.reshape(shape)
        normal = Normalized((input - save_mean.reshape(shape)) * r, r, dims)
    else:
        r = (running_var + eps).rsqrt().reshape(shape)
        normal = _Fixed((input - running_mean.reshape(shape)) * r, r)
    result = affine_double_gradients(normal, grad_out, factor, v, v_weight, v_bias, dims, needs)
    if result[2] is not None:
        result = (*result[:2], result[2].reshape(weight.shape))
    return result


class _Fixed(Normalized):
    """Normalization by given statistics: a multiplication."""

    def __init__(self, z, r):
        super().__init__(z, r, None)

    def pull(self, g):
        return g * self.r

    def pull_of_x(self, g, v):
        return None


derivative(
    "native_batch_norm",
    jointly={("input", "weight", "bias"): batch_norm_gradients},
    result=batch_norm_tangents,
)


def functional_batch_norm_gradients(
    grads, input, weight, running_mean, running_var, training, eps, result1, result2, needs
):
    return batch_norm_gradients(
        grads[:3], input, weight, running_mean, running_var, training, eps, result1, result2, needs
    )


derivative(
    "_native_batch_norm_legit_functional",
    jointly={("input", "weight", "bias"): functional_batch_norm_gradients},
)
derivative(
    "native_batch_norm_backward",
    jointly={("grad_out", "input", "weight"): batch_norm_double_gradients},
)


# ---------------------------------------------------------------- group norm


def group_norm_gradients(grads, input, weight, N, C, HxW, group, result1, result2, needs):
    found = (None, None, None)
    if grads[0] is not None:
        found = F.native_group_norm_backward(
            grads[0], input, result1, result2, weight, N, C, HxW, group, list(needs)
        )
    return with_statistics(found, grads[1:], input, result1, result2, [N, group, -1], [2], needs)


def group_norm_double_gradients(
    grads, grad_out, input, mean, rstd, weight, N, C, HxW, group, needs
):
    v, v_weight, v_bias = grads
    shape = [N, group, C // group, HxW]
    per_channel = [1, group, C // group, 1]
    r = rstd.reshape(N, group, 1, 1)
    z = (input.reshape(shape) - mean.reshape(N, group, 1, 1)) * r
    normal = Normalized(z, r, [2, 3])
    through_grad, through_x, through_weight = affine_double_gradients(
        normal,
        grad_out.reshape(shape),
        None if weight is None else weight.reshape(per_channel),
        None if v is None else v.reshape(shape),
        None if v_weight is None else v_weight.reshape(per_channel),
        None if v_bias is None else v_bias.reshape(per_channel),
        [0, 3],
        needs,
    )
    return (
        None if through_grad is None else through_grad.reshape(input.shape),
        None if through_x is None else through_x.reshape(input.shape),
        None if through_weight is None else through_weight.reshape(C),
    )


derivative(
    "native_group_norm",
    jointly={("input", "weight", "bias"): group_norm_gradients},
    result=group_norm_tangents,
)
derivative(
    "native_group_norm_backward",
    jointly={("grad_out", "input", "weight"): group_norm_double_gradients},
)


# ---------------------------------------------------------------- root mean square


def rms_norm_gradients(grads, input, normalized_shape, weight, result1, needs):
    found = (None, None)
    if grads[0] is not None:
        found = F._fused_rms_norm_backward(
            grads[0], input, normalized_shape, result1, weight, list(needs)
        )
    dims = list(range(-len(normalized_shape), 0))
    return with_statistics(found, grads[1:], input, None, result1, input.shape, dims, needs)


def rms_norm_double_gradients(grads, grad_out, input, normalized_shape, rstd, weight, needs):
    v, v_weight = grads
    count = len(normalized_shape)
    normal = Normalized(input * rstd, rstd, list(range(-count, 0)), centered=False)
    reduced = list(range(input.dim() - count))
    result = affine_double_gradients(normal, grad_out, weight, v, v_weight, None, reduced, needs)
    if result[2] is not None:
        result = (*result[:2], result[2].reshape(weight.shape))
    return result


derivative("_fused_rms_norm", jointly={("input", "weight"): rms_norm_gradients}, result=rms_norm_tangents)
derivative(
    "_fused_rms_norm_backward",
    jointly={("grad_out", "input", "weight"): rms_norm_double_gradients},
)
