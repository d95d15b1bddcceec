"""Kernels of whole optimizer steps: one launch for a parameter.

The count of steps stays on the device; the corrections that depend on it are computed there, by
``expm1``, so that nothing is lost where ``1 - beta ** step`` is small.
"""

from __future__ import annotations

from math import inf, log

from minitorch.backends import NoKernel
from minitorch.backends.opencl.array import CLArray
from minitorch.backends.opencl.axes import wide_type
from minitorch.backends.opencl.chains import computed
from minitorch.backends.opencl.ctypes import FLOAT32, INT64, is_narrow, storage_type
from minitorch.backends.opencl.expression import before_write
from minitorch.backends.opencl.overrides import override
from minitorch.backends.opencl.reduction_kernels import GROUP
from minitorch.backends.opencl.row_programs import FULL, ONE, Let, Loop, kernel_of, result_dtype

_RUN = 4096
_GPU_RUN = 256
_COUNTERS = 8  # that one launch counts up


def _is_dense(array: CLArray) -> bool:
    """Return whether elements fill the memory between the first and the last."""
    if array.flags.c_contiguous:
        return True
    step = array.dtype.itemsize
    for stride, n in sorted([(s, n) for n, s in zip(array.shape, array.strides, strict=True) if n != 1]):
        if stride != step:
            return False
        step *= n
    return True


def _check(parameters, *rows) -> None:
    """Refuse what a walk over the memory would mix up, before anything is written."""
    for place, p in enumerate(parameters):
        dtype = result_dtype(p)
        if not _is_dense(p.settle()):
            raise NoKernel("a parameter with gaps in its memory")
        for row in rows:
            a = row[place].settle()
            if a.shape != p.shape or a.dtype != p.dtype or not _lie_alike(a, p):
                raise NoKernel("state that lies otherwise in memory than its parameter")
            if a.dtype != dtype and not (is_narrow(a.dtype) and dtype == FLOAT32):
                raise NoKernel("state of another type")


def _lie_alike(a, b) -> bool:
    """Return whether elements of arrays of one shape follow each other alike."""
    return a.strides == b.strides or all([n == 1 or s == t for n, s, t in zip(a.shape, a.strides, b.strides, strict=True)])


def _is_skipped(found_inf) -> bool:
    return found_inf is not None and float(found_inf.to_host().reshape(-1)[0]) != 0.0


def _gradient(parameter, grad) -> CLArray:
    """Return the gradient in the order of the parameter's memory."""
    if grad.shape != parameter.shape:
        raise NoKernel("a gradient of another shape")
    if grad.settle().dtype == parameter.dtype and _lie_alike(grad, parameter):
        return grad
    return computed(grad, parameter.dtype, parameter.strides)


def _apply(name, program, arrays, single, numbers, parameter) -> None:
    """Run a program over the elements of arrays in runs, the last of which may be shorter.

    Parameters
    ----------
    arrays : dict
        (array, whether it is written), all of one layout.
    single : dict
        Arrays of one number, or None.
    """
    device, size = parameter.device, parameter.size
    if size == 0:
        return
    described, starts, written, wide = {}, [], [], False
    for key, (array, is_written) in arrays.items():
        block = array.block
        described[key] = (FULL, array.dtype, is_written)
        starts.append((block.buffer, array.offset // array.dtype.itemsize, 1))
        if is_written:
            written.append(block)
            if block.readers:
                before_write(block)
        if block.capacity >= 1 << 31:
            wide = True
    for key, array in single.items():
        if array is not None:
            described[key] = (ONE, array.dtype, False)
            starts.append((array.block.buffer, array.offset // array.dtype.itemsize, 0))
    kernel = kernel_of(name, program, described, numbers, wide_type(parameter.dtype), False, wide, device)
    values = list(numbers.values())
    length = _RUN if device.is_cpu else _GPU_RUN
    whole = size // length
    for start, outer, n in ((0, whole, length), (whole * length, 1, size - whole * length)):
        if outer and n:
            args = [x for buffer, offset, moves in starts for x in (buffer, offset + start * moves)]
            grid, group = ((outer,), None) if device.is_cpu else ((outer * GROUP,), (GROUP,))
            device.launch(kernel, grid, (*args, *values, n, 1, outer), written, group)


def _direction(maximize, grad_scale) -> str:
    return ("-" if maximize else "") + ("$g" if grad_scale is None else "($g / (T)$scale)")


@override("_fused_sgd_")
def fused_sgd(
    self, grads, momentum_buffer_list, *, weight_decay, momentum, lr, dampening, nesterov, maximize, is_first_step,
    grad_scale=None, found_inf=None,
):  # fmt: skip
    buffers = momentum_buffer_list if momentum != 0.0 else ()
    _check(self, *([buffers] if buffers else []))
    moved = [_gradient(p, g) for p, g in zip(self, grads, strict=True)]
    if _is_skipped(found_inf):
        return
    lets = {"u": _direction(maximize, grad_scale)}
    if weight_decay != 0.0:
        lets["u"] += " + $p * weight_decay"
    stored = {}
    step = "u"
    if buffers:
        lets["k"] = "u" if is_first_step else "$buffer * momentum + u * rest"
        stored["buffer"] = "k"
        step = "(u + k * momentum)" if nesterov else "k"
    program = (Loop(lets, store={**stored, "p": f"$p - {step} * lr"}),)
    numbers = {"weight_decay": weight_decay, "momentum": momentum, "rest": 1.0 - dampening, "lr": lr}
    name = ("sgd", maximize, weight_decay != 0.0, bool(buffers), is_first_step, nesterov)
    for i, (p, g) in enumerate(zip(self, moved, strict=True)):
        arrays = {"p": (p, True), "g": (g, False)}
        if buffers:
            arrays["buffer"] = (buffers[i], True)
        _apply(name, program, arrays, {"scale": grad_scale}, numbers, p)


def _count_up(counters) -> None:
    """Add 1 to counters of the same dtype, several at a time."""
    for start in range(0, len(counters), _COUNTERS):
        some = counters[start : start + _COUNTERS]
        dtype, device = some[0].dtype, some[0].device
        for c in some:
            before_write(c.block)
        types = (*[None, INT64] * _COUNTERS, INT64)
        kernel = device.kernel(("count up", dtype), lambda dtype=dtype: _counter_source(dtype), "run", types)
        args: list = []
        for c in some + [some[0]] * (_COUNTERS - len(some)):
            args += [c.block.buffer, c.offset // dtype.itemsize]
        device.launch(kernel, (1,), (*args, len(some)), tuple([c.block for c in some]))


def _counter_source(dtype) -> str:
    ctype = storage_type(dtype)
    parameters = ", ".join([f"__global {ctype} *p{k}, long f{k}" for k in range(_COUNTERS)])
    body = " ".join([f"if (count > {k}) p{k}[f{k}] += 1;" for k in range(_COUNTERS)])
    return f"__kernel void run({parameters}, long count) {{ {body} }}"


def _adam(
    parameters, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
    maximize, grad_scale, found_inf, decoupled,
):  # fmt: skip
    largest = [max_exp_avg_sqs] if amsgrad else []
    _check(parameters, exp_avgs, exp_avg_sqs, *largest)
    if any([s.size != 1 or s.dtype.char not in "fd" or s.dtype != state_steps[0].dtype for s in state_steps]):
        raise NoKernel("counts of steps that are not floating numbers")
    if any([result_dtype(p).char != result_dtype(parameters[0]).char for p in parameters]):
        raise NoKernel("parameters of several types")
    moved = [_gradient(p, g) for p, g in zip(parameters, grads, strict=True)]
    if _is_skipped(found_inf):
        return
    _count_up([s.settle() for s in state_steps])
    lets = {"u": _direction(maximize, grad_scale)}
    start = "$p"
    if weight_decay != 0.0:
        if decoupled:
            start = "$p * kept"
        else:
            lets["u"] += " + $p * weight_decay"
    lets["mean"] = "$m + (u - $m) * rest1"
    lets["square"] = "$v * beta2 + u * u * rest2"
    stored = {"m": "mean", "v": "square"}
    root = "square"
    if amsgrad:
        lets["most"] = "fmax($top, square)"
        stored["top"] = root = "most"
    # p -= lr / c1 * m / (sqrt(v) / c2 + eps), with c2 moved into the numerator
    stored["p"] = f"{start} - mean / (sqrt({root}) + eps * correction) * factor"
    program = (
        Let("correction", "sqrt(-expm1((T)$steps * rate2))"),
        Let("factor", "lr * correction / -expm1((T)$steps * rate1)"),
        Loop(lets, store=stored),
    )
    numbers = {
        "lr": lr, "beta2": beta2, "rest1": 1.0 - beta1, "rest2": 1.0 - beta2, "eps": eps, "weight_decay": weight_decay,
        "kept": 1.0 - lr * weight_decay, "rate1": log(beta1) if beta1 > 0 else -inf, "rate2": log(beta2) if beta2 > 0 else -inf,
    }  # fmt: skip
    name = ("adam", maximize, weight_decay != 0.0, decoupled, amsgrad)
    for i, (p, g) in enumerate(zip(parameters, moved, strict=True)):
        arrays = {"p": (p, True), "g": (g, False), "m": (exp_avgs[i], True), "v": (exp_avg_sqs[i], True)}
        if amsgrad:
            arrays["top"] = (max_exp_avg_sqs[i], True)
        _apply(name, program, arrays, {"steps": state_steps[i], "scale": grad_scale}, numbers, p)


@override("_fused_adam_")
def fused_adam(
    self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, *, lr, beta1, beta2, weight_decay, eps, amsgrad,
    maximize, grad_scale=None, found_inf=None,
):  # fmt: skip
    _adam(
        self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
        maximize, grad_scale, found_inf, False,
    )  # fmt: skip


@override("_fused_adamw_")
def fused_adamw(
    self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, *, lr, beta1, beta2, weight_decay, eps, amsgrad,
    maximize, grad_scale=None, found_inf=None,
):  # fmt: skip
    _adam(
        self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, weight_decay, eps, amsgrad,
        maximize, grad_scale, found_inf, True,
    )  # fmt: skip
