"""Derivatives of convolutions, unfold and fold."""

from __future__ import annotations

from minitorch.autograd.derivatives.registry import derivative
from minitorch.ops import functions as F


def _conj(tensor):
    return tensor.conj() if tensor.is_complex() else tensor


def convolution_gradients(
    grad, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, needs
):
    return F.convolution_backward(
        grad, _conj(input), _conj(weight), [weight.shape[0]], stride, padding, dilation,
        transposed, output_padding, groups, list(needs),
    )  # fmt: skip


def convolution_tangent(
    input_p, input_t, weight_p, weight_t, bias_p, bias_t, stride, padding, dilation, transposed,
    output_padding, groups,
):  # fmt: skip
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    result = None
    if input_t is not None:
        result = F.convolution(input_t, weight_p, bias_t, *rest)
    if weight_t is not None:
        part = F.convolution(input_p, weight_t, None if result is not None else bias_t, *rest)
        result = part if result is None else result + part
    if result is None:
        count = len(input_p.shape) - 2
        spatial = F.convolution(input_p, weight_p, None, *rest).shape
        result = bias_t.reshape(-1, *[1] * count).expand(spatial)
    return result


derivative(
    "convolution",
    jointly={("input", "weight", "bias"): convolution_gradients},
    result=convolution_tangent,
)


def convolution_double_gradients(
    grads, grad_output, input, weight, stride, padding, dilation, transposed, output_padding,
    groups, needs,
):  # fmt: skip
    """Return gradients of `convolution_backward`: convolutions with one operand exchanged."""
    for_input, for_weight, for_bias = grads
    rest = (stride, padding, dilation, transposed, output_padding, groups)
    need_grad, need_input, need_weight = needs
    through_grad = through_input = through_weight = None
    if need_grad:
        if for_input is not None:
            through_grad = F.convolution(for_input, _conj(weight), for_bias, *rest)
        if for_weight is not None:
            bias = for_bias if through_grad is None else None
            part = F.convolution(_conj(input), for_weight, bias, *rest)
            through_grad = part if through_grad is None else through_grad + part
        if through_grad is None and for_bias is not None:
            shape = [-1] + [1] * (grad_output.dim() - 2)
            through_grad = for_bias.reshape(shape).expand(grad_output.shape)
    if need_input and for_weight is not None:
        through_input = F.convolution_backward(
            _conj(grad_output), input, for_weight, None, *rest, [True, False, False]
        )[0]
    if need_weight and for_input is not None:
        through_weight = F.convolution_backward(
            _conj(grad_output), for_input, weight, None, *rest, [False, True, False]
        )[1]
    return through_grad, through_input, through_weight


derivative(
    "convolution_backward",
    jointly={("grad_output", "input", "weight"): convolution_double_gradients},
)
derivative(
    "im2col",
    self=lambda grad, self, kernel_size, dilation, padding, stride: F.col2im(
        grad, list(self.shape[-2:]), kernel_size, dilation, padding, stride
    ),
    result="linear",
)
derivative(
    "col2im",
    self=lambda grad, kernel_size, dilation, padding, stride: F.im2col(
        grad, kernel_size, dilation, padding, stride
    ),
    result="linear",
)
