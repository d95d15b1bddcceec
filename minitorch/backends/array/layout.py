"""Results in the memory format of the input: channels-last in, channels-last out."""

from __future__ import annotations

from functools import wraps

from minitorch.core.memory_format import channels_last, channels_last_3d, suggested_format

# Axes from the slowest to the fastest, and the way back.
_AXES = {
    channels_last: ((0, 2, 3, 1), (0, 3, 1, 2)),
    channels_last_3d: ((0, 2, 3, 4, 1), (0, 4, 1, 2, 3)),
}


def may_be_formatted(array):
    """Return False for most row-major arrays, which have no format to keep.

    NumPy takes any stride of a length of 1 for row-major: images of one column are looked at.
    """
    return array.ndim >= 4 and not (array.flags.c_contiguous and array.shape[-1] != 1)


def in_format_of(xp, like, result):
    """Return `result` with its dimensions in memory as the format of `like` has them."""
    if result.ndim != like.ndim:
        return result
    axes = _AXES.get(suggested_format(like.shape, like.strides))
    if axes is None:
        return result
    turned = result.transpose(axes[0])
    if not turned.flags.c_contiguous or 1 in turned.shape:  # the stride of a length of 1 is not looked at
        memory = xp.empty(turned.shape, turned.dtype)
        memory[...] = turned
        turned = memory
    return turned.transpose(axes[1])


def keeps_format(kernel):
    """Make the results of a kernel follow the memory format of its first array."""

    @wraps(kernel)
    def formatted_kernel(xp, self, *args, **kwargs):
        result = kernel(xp, self, *args, **kwargs)
        if not may_be_formatted(self):
            return result
        if type(result) is tuple:
            return tuple([in_format_of(xp, self, r) for r in result])
        return in_format_of(xp, self, result)

    return formatted_kernel


def with_strides(xp, result, strides):
    """Return `result`, copied where its dimensions do not lie in the order that dense `strides` say."""
    if strides == result.strides:
        return result
    inner_last = sorted(range(result.ndim), key=lambda d: -strides[d])
    memory = xp.empty([result.shape[d] for d in inner_last], result.dtype)
    ordered = memory.transpose([inner_last.index(d) for d in range(result.ndim)])
    ordered[...] = result
    return ordered
