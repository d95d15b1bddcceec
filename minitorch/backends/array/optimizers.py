"""Kernels of whole optimizer steps over lists of parameters.

They write into the parameters and the state. One call updates all parameters of a group: where
these are small, the calls of the operators would cost more than the arithmetic.
"""

from __future__ import annotations

from math import sqrt

from minitorch.backends.array.registry import array_kernel


def _unscaled(xp, grads, grad_scale):
    """Return gradients divided by the scale of mixed precision."""
    if grad_scale is None:
        return grads
    return [g / grad_scale for g in grads]


@array_kernel("_fused_sgd_")
def fused_sgd_kernel(
    xp, self, grads, momentum_buffer_list, *, weight_decay, momentum, lr, dampening, nesterov,
    maximize, is_first_step, grad_scale=None, found_inf=None,
):  # fmt: skip
    if found_inf is not None and float(found_inf.reshape(-1)[0]) != 0.0:
        return
    grads = _unscaled(xp, grads, grad_scale)
    multiply, add, subtract = xp.multiply, xp.add, xp.subtract
    for i, parameter in enumerate(self):
        grad = grads[i]
        if maximize:
            grad = -grad
        if weight_decay != 0.0:
            grad = grad + parameter * weight_decay
        if momentum != 0.0:
            buffer = momentum_buffer_list[i]
            if is_first_step:
                buffer[...] = grad
            else:
                multiply(buffer, momentum, out=buffer)
                add(buffer, grad if dampening == 0.0 else grad * (1.0 - dampening), out=buffer)
            grad = grad + buffer * momentum if nesterov else buffer
        subtract(parameter, multiply(grad, lr), out=parameter)


def _adam(
    xp, parameters, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
    weight_decay, eps, amsgrad, maximize, grad_scale, found_inf, decoupled,
):  # fmt: skip
    if found_inf is not None and float(found_inf.reshape(-1)[0]) != 0.0:
        return
    grads = _unscaled(xp, grads, grad_scale)
    multiply, add, subtract, divide = xp.multiply, xp.add, xp.subtract, xp.divide
    root, maximum = xp.sqrt, xp.maximum
    rest1, rest2 = 1.0 - beta1, 1.0 - beta2
    last_step = None
    for i, parameter in enumerate(parameters):
        grad, mean, square = grads[i], exp_avgs[i], exp_avg_sqs[i]
        counter = state_steps[i]
        add(counter, 1, out=counter)
        step = float(counter)
        if step != last_step:
            last_step = step
            # p -= lr / c1 * m / (sqrt(v) / c2 + eps), with c2 moved into the numerator
            correction1 = 1.0 - beta1**step
            correction2 = sqrt(1.0 - beta2**step)
            factor = lr * correction2 / correction1
            epsilon = eps * correction2
        if maximize:
            grad = -grad
        if weight_decay != 0.0:
            if decoupled:
                multiply(parameter, 1.0 - lr * weight_decay, out=parameter)
            else:
                grad = grad + parameter * weight_decay
        part = subtract(grad, mean)
        if part.ndim == 0:  # ufuncs return scalars of 0-d arrays, which cannot be written to
            part = xp.asarray(part)
        multiply(part, rest1, out=part)
        add(mean, part, out=mean)
        multiply(square, beta2, out=square)
        multiply(grad, grad, out=part)
        multiply(part, rest2, out=part)
        add(square, part, out=square)
        if amsgrad:
            largest = max_exp_avg_sqs[i]
            maximum(largest, square, out=largest)
            square = largest
        root(square, out=part)
        add(part, epsilon, out=part)
        divide(mean, part, out=part)
        multiply(part, factor, out=part)
        subtract(parameter, part, out=parameter)


@array_kernel("_fused_adam_")
def fused_adam_kernel(
    xp, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, *, lr, beta1, beta2,
    weight_decay, eps, amsgrad, maximize, grad_scale=None, found_inf=None,
):  # fmt: skip
    _adam(
        xp, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
        weight_decay, eps, amsgrad, maximize, grad_scale, found_inf, False,
    )  # fmt: skip


@array_kernel("_fused_adamw_")
def fused_adamw_kernel(
    xp, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, *, lr, beta1, beta2,
    weight_decay, eps, amsgrad, maximize, grad_scale=None, found_inf=None,
):  # fmt: skip
    _adam(
        xp, self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,
        weight_decay, eps, amsgrad, maximize, grad_scale, found_inf, True,
    )  # fmt: skip
