"""Kernels of the CPU key that have another form for large arrays.

Compiled where a compiler exists (`large.pxd`): small operands pay for one comparison, and only
where numba is installed; see `minitorch.backends.cpu.fast`.
"""

from __future__ import annotations

from minitorch.backends.array.binding import ArrayKernel, handle_of
from minitorch.tensor.base import TensorBase


class LargeKernel(ArrayKernel):
    """Runs a kernel, or another function of arrays in its place where an argument is large.

    Parameters
    ----------
    small : ArrayKernel
    find : callable
        Returns the function for large arrays, or None; called once.  The function returns
        `NotImplemented` for operands that are not for it, wrong ones included.
    position : int
        The argument whose size decides.
    minimum : int
        The number of elements from which it is large.
    writes : bool
        The operator changes its first argument and returns it.
    """

    __slots__ = ("find", "large", "minimum", "position", "small", "writes")

    def __init__(self, small, find, position, minimum, writes):
        ArrayKernel.__init__(self, small.fn, small.xp, small.array_type, small.keys)
        self.small = small
        # This kernel asks the loop for small operands itself, so that it is not asked twice.
        self.loop, small.loop = small.loop, None
        self.find = find
        self.large = None
        self.position = position
        self.minimum = minimum
        self.writes = writes

    def run(self, op, entry, args, kwargs):
        if self.loop is not None:
            result = self.loop.run(args, kwargs)
            if result is not None:
                return args[0] if self.writes else self.wrap(result)
        if len(args) > self.position:
            a = args[self.position]
            if isinstance(a, TensorBase):
                tensor: TensorBase = a
                if tensor.handle.size >= self.minimum:
                    result = self.run_large(args, kwargs)
                    if result is not NotImplemented:
                        if self.writes:
                            return args[0]
                        return self.wrap(result)
        small: ArrayKernel = self.small
        return small.run(op, entry, args, kwargs)

    def run_large(self, args, kwargs):
        if self.large is None:
            if self.find is None:
                return NotImplemented
            find, self.find = self.find, None
            self.large = find()
            if self.large is None:
                return NotImplemented
        converted = self.convert(args)
        if kwargs:
            keywords = {}
            for name, value in kwargs.items():
                keywords[name] = handle_of(value)
            return self.large(*converted, **keywords)
        return self.large(*converted)
