"""Kernels of the Fourier transforms.

``normalization`` counts as in PyTorch's operators: 0 leaves the sums as they are, 1 divides
by the square root of the number of terms, 2 by that number.  The transformed axes are brought
to the end first: the transforms work on rows, and their results stay in that order in memory.
"""

from __future__ import annotations

from minitorch.backends.array.registry import array_kernel
from minitorch.ops.shapes.fft import axis_order

# NumPy's names of what is scaled, for sums with a minus in the exponent and with a plus.
_FORWARD = ("backward", "ortho", "forward")
_INVERSE = ("forward", "ortho", "backward")


def _back(array, order):
    """Return the array whose axes were put in `order`, with its axes as they were."""
    if order == list(range(len(order))):
        return array
    return array.transpose([order.index(d) for d in range(len(order))])


def _c2c(xp, self, dims, norm, forward):
    order = axis_order(self.strides, dims)
    rows = self.transpose(order)
    if len(dims) == 1:
        result = (xp.fft.fft if forward else xp.fft.ifft)(rows, None, -1, norm)
    else:
        axes = tuple(range(self.ndim - len(dims), self.ndim))
        result = (xp.fft.fftn if forward else xp.fft.ifftn)(rows, axes=axes, norm=norm)
    result = xp.ascontiguousarray(result.astype(self.dtype, copy=False))
    return _back(result, order)


@array_kernel("_fft_c2c")
def fft_c2c_kernel(xp, self, dim, normalization, forward):
    if self.dtype.kind != "c":
        raise ValueError
    if not dim:
        return self.copy()
    dims = [d % self.ndim for d in dim]
    return _c2c(xp, self, dims, (_FORWARD if forward else _INVERSE)[normalization], forward)


@array_kernel("_fft_r2c")
def fft_r2c_kernel(xp, self, dim, normalization, onesided):
    if self.dtype.char not in "fd":
        raise ValueError
    dims = [d % self.ndim for d in dim]
    order = axis_order(self.strides, dims, dims[-1])
    axes = tuple(range(self.ndim - len(dims), self.ndim))
    transform = xp.fft.rfftn if onesided else xp.fft.fftn
    result = transform(self.transpose(order), axes=axes, norm=_FORWARD[normalization])
    kind = xp.complex64 if self.dtype.char == "f" else xp.complex128
    return _back(xp.ascontiguousarray(result.astype(kind, copy=False)), order)


@array_kernel("_fft_c2r")
def fft_c2r_kernel(xp, self, dim, normalization, last_dim_size):
    if self.dtype.kind != "c":
        raise ValueError
    norm = _INVERSE[normalization]
    dims = [d % self.ndim for d in dim]
    real = self.real.dtype
    if len(dims) > 1:
        self = _c2c(xp, self, dims[:-1], norm, False)
    order = axis_order(self.strides, dims[-1:], dims[-1])
    result = xp.fft.irfft(self.transpose(order), last_dim_size, -1, norm)
    return _back(xp.ascontiguousarray(result.astype(real, copy=False)), order)
