"""Softmax over the last dimension, its logarithm, and their gradients; see `minitorch.backends.cpu.loops`."""

from __future__ import annotations

from minitorch.backends.cpu.fast.loops_in_use import LOOPS, fits


def is_last(dim, array) -> bool:
    """Return whether `dim` is the last dimension of an array with something in it."""
    return array.ndim > 0 and array.size > 0 and dim in (-1, array.ndim - 1)


def as_rows(array):
    """Return a matrix whose rows are the last dimension."""
    return array.reshape(-1, array.shape[-1])


def _forward(run):
    def row_kernel(xp, self, dim, half_to_float=False):
        if half_to_float or not is_last(dim, self) or not fits(self):
            return NotImplemented
        out = xp.empty(self.shape, self.dtype)
        run(as_rows(self), as_rows(out))
        return out

    return row_kernel


def _backward(run):
    def row_backward_kernel(xp, grad_output, output, dim, input_dtype):
        if (
            not is_last(dim, output)
            or not fits(grad_output, output)
            or grad_output.shape != output.shape
            or input_dtype.np != output.dtype
        ):
            return NotImplemented
        out = xp.empty(output.shape, output.dtype)
        run(as_rows(grad_output), as_rows(output), as_rows(out))
        return out

    return row_backward_kernel


KERNELS = {
    "_softmax": _forward(LOOPS.softmax_loop),
    "_log_softmax": _forward(LOOPS.log_softmax_loop),
    "_softmax_backward_data": _backward(LOOPS.softmax_backward_loop),
    "_log_softmax_backward_data": _backward(LOOPS.log_softmax_backward_loop),
}
