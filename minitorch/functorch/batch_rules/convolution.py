"""Batch rules of convolution, unfold and fold.

Note [Examples as groups]
    A convolution has two places for examples.  Where the weight is the same for all, they are more images: N grows.
    Where it is not, they are groups: the channels of example i meet the weight of example i only, which is what
    groups are.  The gradient of the weight is wanted for each example, so there too they are groups, whether or not
    the weight is batched.  Groups cost one batched product of matrices, no loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.functorch.layout import batched, rank, sizes, to_front
from minitorch.functorch.leading import empty_batch, folded_batch, merged, one_example, regrouped, with_batch_at
from minitorch.functorch.rules import batch_rule, structure
from minitorch.ops import functions as F
from minitorch.ops.assemble import operator_named

_convolution = operator_named("convolution")
_backward = operator_named("convolution_backward")


@batch_rule("convolution")
def convolution_rule(
    info: Any, in_dims: tuple, x: Any, w: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> tuple[Any, Any]:  # fmt: skip
    x_dim, w_dim, bias_dim = in_dims[:3]
    count, w_shape = info.batch_size, sizes(w, w_dim)
    settings = (stride, padding, dilation, transposed, output_padding)
    if (
        rank(x, x_dim) != len(w_shape) or len(w_shape) < 3 or groups <= 0 or w_shape[0] % groups
        or (bias is not None and rank(bias, bias_dim) != 1)
    ):  # fmt: skip
        one_example(_convolution, in_dims, (x, w, bias, *settings, groups))
    if count == 0:
        return empty_batch(_convolution, 0, in_dims, (x, w, bias, *settings, groups))
    if w_dim is None and x_dim is None:
        result, dim = _convolution.call((x, w, None, *settings, groups), None), None
    elif w_dim is None:
        images = to_front(x, x_dim)
        own = bias if bias_dim is None else None
        result = _convolution.call((merged(images, 0), w, own, *settings, groups), None)
        result, dim = regrouped(result, 0, count, images.shape[1]), 0
        bias = bias if own is None else None
    else:
        if x_dim is None and groups == 1 and not transposed:
            # More outputs of one convolution.
            channels, by_group = x, 1
        else:
            channels, by_group = merged(with_batch_at(x, x_dim, count, 1), 1), count * groups
        biases = None if bias is None else merged(batched(bias, bias_dim, count), 0)
        result = _convolution.call((channels, merged(to_front(w, w_dim), 0), biases, *settings, by_group), None)
        return regrouped(result, 1, count, result.shape[1] // count), 1
    if bias is not None:
        result, dim = _plus_bias(result, dim, bias, bias_dim), 0
    return result, dim


def _plus_bias(result: Any, dim: int | None, bias: Any, bias_dim: int | None) -> Any:
    """Return a convolution, its batch first or none, plus a bias for each example."""
    if dim is None:
        result = F.unsqueeze(result, 0)
    bias = to_front(bias, bias_dim)
    return result + F.reshape(bias, [bias.shape[0], 1, bias.shape[1], *[1] * (result.ndim - 3)])


@batch_rule("convolution_backward")
def convolution_backward_rule(
    info: Any, in_dims: tuple, grad: Any, x: Any, w: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, output_mask: Sequence[bool],
) -> tuple[Any, Any]:  # fmt: skip
    """Return each of the gradients by a call of its own: they depend on different operands (Note [Examples as groups])."""
    g_dim, x_dim, w_dim = in_dims[:3]
    count = info.batch_size
    settings = (stride, padding, dilation, transposed, output_padding)
    if not rank(grad, g_dim) == rank(x, x_dim) == rank(w, w_dim):
        one_example(_backward, in_dims, (grad, x, w, bias_sizes, *settings, groups, output_mask))
    if count == 0:
        return empty_batch(_backward, 0, in_dims, (grad, x, w, bias_sizes, *settings, groups, output_mask))

    def part(index: int, g: Any, x: Any, w: Any, groups: int) -> Any:
        mask = [i == index for i in range(3)]
        return _backward.call((g, x, w, None, *settings, groups, mask), None)[index]

    def like(tensor: Any, shape: Sequence[int]) -> Any:
        """Return a tensor of which only the shape matters."""
        return F.empty(shape, dtype=tensor.dtype, device=tensor.device)

    x_shape, w_shape = sizes(x, x_dim), sizes(w, w_dim)
    grads: list[Any] = [None, None, None]
    dims: list[Any] = [None, None, None]
    by_group = count * groups
    channels = [x_shape[0], count * x_shape[1], *x_shape[2:]]
    weights = [count * w_shape[0], *w_shape[1:]]
    if output_mask[0]:
        if w_dim is not None:
            g = merged(with_batch_at(grad, g_dim, count, 1), 1)
            found = part(0, g, like(x, channels), merged(to_front(w, w_dim), 0), by_group)
            grads[0], dims[0] = regrouped(found, 1, count, x_shape[1]), 1
        elif g_dim is not None:
            images = like(x, [count * x_shape[0], *x_shape[1:]])
            found = part(0, merged(to_front(grad, g_dim), 0), images, w, groups)
            grads[0], dims[0] = regrouped(found, 0, count, x_shape[0]), 0
        else:
            grads[0] = part(0, grad, like(x, x_shape), w, groups)
    if output_mask[1]:
        if g_dim is None and x_dim is None:
            grads[1] = part(1, grad, x, like(w, w_shape), groups)
        else:
            g = merged(with_batch_at(grad, g_dim, count, 1), 1)
            found = part(1, g, merged(with_batch_at(x, x_dim, count, 1), 1), like(w, weights), by_group)
            grads[1], dims[1] = regrouped(found, 0, count, w_shape[0]), 0
    if output_mask[2]:
        g = to_front(grad, g_dim)
        offset = 0 if g_dim is None else 1
        grads[2] = F.sum(g, [d for d in range(g.ndim) if d != 1 + offset and d >= offset])
        dims[2] = None if g_dim is None else 0
    return tuple(grads), dims


structure(folded_batch, "im2col", element=3)
structure(folded_batch, "col2im", element=2)
