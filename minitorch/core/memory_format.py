"""Memory formats: the order in which the dimensions of a strided tensor lie in memory."""

from __future__ import annotations

MEMORY_FORMATS: dict[str, memory_format] = {}
"""Every memory format by its name."""


class memory_format:
    """The order of dimensions in memory; one object per format."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name
        MEMORY_FORMATS[name] = self

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self):
        return _memory_format_by_name, (self.name,)

    def __copy__(self) -> memory_format:
        return self

    def __deepcopy__(self, memo) -> memory_format:
        return self


def _memory_format_by_name(name: str) -> memory_format:
    return MEMORY_FORMATS[name]


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last")
channels_last_3d = memory_format("channels_last_3d")

_AXES = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def format_strides(shape: tuple, itemsize: int, fmt: memory_format) -> tuple:
    """Return the byte strides of a dense array of `shape` kept in `fmt`.

    Raises
    ------
    RuntimeError
        If `fmt` needs another number of dimensions, or is ``preserve_format``.
    """
    if fmt is contiguous_format:
        axes = tuple(range(len(shape)))
    else:
        axes = _AXES.get(fmt, ())
        if not axes:
            raise RuntimeError(f"unsupported memory format option {fmt.name}")
        if len(axes) != len(shape):
            raise RuntimeError(
                f"required rank {len(axes)} tensor to use {fmt.name} format, "
                f"but got one of shape {tuple(shape)}"
            )
    strides = [0] * len(shape)
    step = itemsize
    for axis in reversed(axes):
        strides[axis] = step
        step *= max(shape[axis], 1)
    return tuple(strides)


_FASTEST_FIRST = {4: ((1, 3, 2, 0), channels_last), 5: ((1, 4, 3, 2, 0), channels_last_3d)}


def suggested_format(shape: tuple, strides: tuple) -> memory_format:
    """Return the memory format that results of an operator on such an array are kept in.

    An array of one channel, or of one pixel, may be read both ways; it is channels-last only
    where its strides can be nothing else.
    """
    found = _FASTEST_FIRST.get(len(shape))
    if found is None or strides[1] == 0:
        return contiguous_format
    axes, fmt = found
    least = 0
    for axis in axes:
        if shape[axis] == 0 or strides[axis] < least or (axis == 0 and least == strides[1]):
            return contiguous_format
        least = strides[axis] * shape[axis]
    return fmt


def iteration_axes(shape: tuple, strides: tuple) -> tuple:
    """Return the axes of an array from the slowest to the fastest, as it lies in memory.

    Broadcast axes (of stride 0) stay where they are.  This is the order in which PyTorch
    walks an array, fills it with random numbers, and lays out the result of an elementwise
    operator.
    """
    axes = list(range(len(shape) - 1, -1, -1))  # fastest first
    # An insertion sort.  The order is partial: stride 0 compares with nothing.
    for i in range(1, len(axes)):
        place = i
        for faster in range(i - 1, -1, -1):
            a, b = axes[faster], axes[place]
            stride_a, stride_b = abs(strides[a]), abs(strides[b])
            if stride_a == 0 or stride_b == 0:
                continue
            if stride_a > stride_b or (stride_a == stride_b and shape[a] > shape[b]):
                axes[faster], axes[place] = b, a
                place = faster
            elif stride_a < stride_b:
                break
    return tuple(reversed(axes))


def is_dense(shape: tuple, strides: tuple, itemsize: int) -> bool:
    """Return whether elements fill their memory: no gaps, no element twice, in any order."""
    step = itemsize
    for stride, size in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if stride != step:
            return 0 in shape
        step *= size
    return True


def preserved_strides(shape: tuple, strides: tuple, itemsize: int, new_itemsize: int) -> tuple:
    """Return the byte strides of a dense array in the order of dimensions of another."""
    if is_dense(shape, strides, itemsize):
        return tuple(s // itemsize * new_itemsize for s in strides)
    result = [0] * len(shape)
    step = new_itemsize
    for axis in reversed(iteration_axes(shape, strides)):
        result[axis] = step
        step *= max(shape[axis], 1)
    return tuple(result)
