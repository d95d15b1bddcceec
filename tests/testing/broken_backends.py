"""Toy backends, each broken in one way: what the conformance kit has to find."""

from __future__ import annotations

import numpy as np
from toy_backend import ToyArray, made, register_toy

import minitorch
from minitorch.backends import NoKernel

KEPT: list = []  # a library takes its kernels back when nobody holds it


def _of_floats(function):
    """Return a kernel of one float32 array; the CPU does the rest."""

    def kernel(x, *args):
        if x.dtype != np.float32:
            raise NoKernel("float32 alone")
        return function(x, *args)

    return kernel


def wrong_value_of_permuted():
    """``exp`` takes memory for row by row, whatever the strides."""

    def exp(x):
        values = np.exp(x._memory)
        if x.ndim == 2 and abs(x.strides[0]) < abs(x.strides[1]) and x.strides[0]:
            values = values.T.reshape(x.shape)
        return made(values, x)

    register_toy().kernel("exp")(_of_floats(exp))


def wrong_value_of_sliced():
    """``exp`` reads on where its argument begins, without the gaps."""

    def exp(x):
        values = x._memory
        if x.ndim == 1 and x.size > 1 and x.strides[0] > x.itemsize:
            values = np.lib.stride_tricks.as_strided(values, x.shape, (x.itemsize,))
        return made(np.exp(values), x)

    register_toy().kernel("exp")(_of_floats(exp))


def wrong_dtype():
    """``exp`` computes in double precision and leaves it at that."""
    register_toy().kernel("exp")(_of_floats(lambda x: made(np.exp(x._memory.astype(np.float64)), x)))


def wrong_shape():
    """``exp`` of no dimensions has one."""
    register_toy().kernel("exp")(_of_floats(lambda x: made(np.atleast_1d(np.exp(x._memory)), x)))


def raises_for_empty():
    """``exp`` looks at the first element."""

    def exp(x):
        x._memory.reshape(-1)[0]
        return made(np.exp(x._memory), x)

    register_toy().kernel("exp")(_of_floats(exp))


def forgets_to_write():
    """``exp_`` computes, and writes nothing."""
    register_toy().kernel("exp_")(lambda x: None)


def writes_too_much():
    """``exp_`` writes the memory between the elements of its target too."""

    def exp_(x):
        if x.dtype != np.float32 or x.ndim != 1:
            raise NoKernel("a row of float32 alone")
        values = np.exp(x._memory)
        step = x.strides[0] // x.itemsize if x.size > 1 else 1
        np.lib.stride_tricks.as_strided(x._memory, ((x.size - 1) * step + 1,), (x.itemsize,))[...] = 3
        x._memory[...] = values

    register_toy().kernel("exp_")(exp_)


def shares_memory():
    """``abs`` of what cannot be negative is the argument's own memory."""

    def absolute(x):
        if x.dtype.kind != "u":
            raise NoKernel("unsigned integers alone")
        return ToyArray(x._memory[...]) if x._memory.flags.c_contiguous else made(x._memory, x)

    register_toy().kernel("abs")(absolute)


def changes_its_argument():
    """``exp`` uses its argument's memory for itself."""

    def exp(x):
        result = made(np.exp(x._memory), x)
        x._memory[...] = 0
        return result

    register_toy().kernel("exp")(_of_floats(exp))


def result_on_the_cpu():
    """``exp`` is a kernel of tensors that forgets to bring its result back."""
    library = minitorch.library.Library("aten", "IMPL", register_toy().key)
    library.impl("exp", lambda x: x.cpu().exp())
    KEPT.append(library)


def wrong_gradient():
    """``tanh_backward`` forgets the factor that comes from above."""

    def tanh_backward(grad, output):
        return made(1 - output._memory**2, output)

    register_toy().kernel("tanh_backward")(_of_floats(tanh_backward))


def ignores_out():
    """``exp`` with out= computes, and writes nothing."""
    register_toy().kernel("exp.out")(lambda x, *, out: None)


def ignores_the_seed():
    """``rand`` draws from elsewhere."""

    def rand(size, **kwargs):
        if kwargs.get("dtype") is None or kwargs["dtype"].name != "float32":
            raise NoKernel("float32 alone")
        return ToyArray(np.random.default_rng().random(tuple(size), np.float32))

    register_toy().kernel("rand")(rand)


def refuses_nothing():
    """``mm`` takes matrices whose inner sizes differ."""

    def mm(x, y):
        if x.dtype != np.float32 or y.dtype != np.float32 or y.ndim != 2:
            raise NoKernel("matrices of float32 alone")
        n = min(x.shape[1], y.shape[0])
        return made(x._memory[:, :n] @ y._memory[:n], x)

    register_toy().kernel("mm")(mm)
