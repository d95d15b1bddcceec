"""Views of arrays under other shapes: no element moves, except where `reshape` has to copy."""

from __future__ import annotations

from minitorch.backends.opencl.array import CLArray, contiguous_strides
from minitorch.backends.opencl.expression import broadcast_shape


def normal_axis(axis: int, ndim: int) -> int:
    """Return an axis counted from the front.

    Raises
    ------
    ValueError
        If there is no such axis (of the class that NumPy raises, a kind of IndexError too).
    """
    axis = axis.__index__()
    if not -ndim <= axis < ndim:
        from numpy.exceptions import AxisError

        raise AxisError(axis, ndim)
    return axis + ndim if axis < 0 else axis


def count(shape) -> int:
    """Return how many elements a shape has."""
    total = 1
    for n in shape:
        total *= n
    return total


def merged_strides(shape, strides, new_shape) -> tuple | None:
    """Return the strides under which the same memory reads as `new_shape`, in row-major order; None if there are none."""
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    result = []
    at = 0
    place = 0
    new_shape = list(new_shape)
    while place < len(new_shape):
        if new_shape[place] == 1:
            result.append(0)
            place += 1
            continue
        # A group of new dimensions covers a group of old ones of the same count.
        new_count, first = new_shape[place], place
        old_count, start = old[at][0], at
        while new_count != old_count:
            if new_count < old_count:
                place += 1
                new_count *= new_shape[place]
            else:
                at += 1
                if old[at - 1][1] != old[at][1] * old[at][0]:
                    return None
                old_count *= old[at][0]
        if any(old[k][1] != old[k + 1][1] * old[k + 1][0] for k in range(start, at)):
            return None
        step = old[at][1]
        group = []
        for n in reversed(new_shape[first : place + 1]):
            group.append(step)
            step *= n
        result.extend(reversed(group))
        at += 1
        place += 1
    return tuple(result)


def reshape(array: CLArray, shape) -> CLArray:
    """Return the elements in row-major order as another shape: a view where the strides allow, else a copy."""
    shape = (shape.__index__(),) if hasattr(shape, "__index__") else tuple([n.__index__() for n in shape])
    if -1 in shape:
        rest = count([n for n in shape if n != -1])
        if shape.count(-1) > 1 or (array.size % rest if rest else array.size):
            raise ValueError(f"cannot reshape array of size {array.size} into shape {shape}")
        shape = tuple([(array.size // rest if rest else 0) if n == -1 else n for n in shape])
    if count(shape) != array.size:
        raise ValueError(f"cannot reshape array of size {array.size} into shape {shape}")
    array.settle()
    if array.size == 0 or array.flags.c_contiguous:
        return array.view_of(shape, contiguous_strides(shape, array.dtype.itemsize), 0)
    strides = merged_strides(array.shape, array.strides, shape)
    if strides is None:
        from minitorch.backends.opencl.pointwise import copy

        return copy(array).view_of(shape, contiguous_strides(shape, array.dtype.itemsize), 0)
    return array.view_of(shape, strides, 0)


def ravel(array: CLArray) -> CLArray:
    """Return the elements as a vector in row-major order: a view where the strides allow."""
    return reshape(array, (array.size,))


def dense(array: CLArray) -> CLArray:
    """Return the array, or a copy in row-major order if it is not in that already."""
    array.settle()
    if array.flags.c_contiguous:
        return array
    from minitorch.backends.opencl.pointwise import copy

    return copy(array)


def broadcast_to(array: CLArray, shape) -> CLArray:
    """Return a view of a larger shape in which dimensions stand still."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    skip = len(shape) - array.ndim
    if skip < 0 or any(n not in (1, m) for n, m in zip(array.shape, shape[skip:], strict=True)):
        raise ValueError(f"operands could not be broadcast together with remapped shapes {array.shape} and {shape}")
    array.settle()
    if array.shape == shape:
        return array.view_of(shape, array.strides, 0)
    strides = [0 if n == 1 and m != 1 else s for n, s, m in zip(array.shape, array.strides, shape[skip:], strict=True)]
    return array.view_of(shape, (0,) * skip + tuple(strides), 0)


def broadcast_arrays(*arrays: CLArray) -> tuple:
    """Return views of one shape."""
    shape = broadcast_shape([a.shape for a in arrays])
    return tuple([broadcast_to(a, shape) for a in arrays])


def permute(array: CLArray, order) -> CLArray:
    """Return a view whose dimensions are those of `array` in another order."""
    array.settle()
    return array.view_of(tuple([array.shape[d] for d in order]), tuple([array.strides[d] for d in order]), 0)


def moveaxis(array: CLArray, source, destination) -> CLArray:
    """Return a view with dimensions moved to other places; the others keep their order."""
    ndim = array.ndim
    source = [source] if hasattr(source, "__index__") else list(source)
    destination = [destination] if hasattr(destination, "__index__") else list(destination)
    source = [normal_axis(s, ndim) for s in source]
    destination = [normal_axis(d, ndim) for d in destination]
    if len(source) != len(destination) or len(set(source)) != len(source) or len(set(destination)) != len(source):
        raise ValueError("`source` and `destination` must have as many axes, each of them once")
    order = [d for d in range(ndim) if d not in source]
    for to, axis in sorted(zip(destination, source, strict=True)):
        order.insert(to, axis)
    return permute(array, order)


def swapaxes(array: CLArray, axis1: int, axis2: int) -> CLArray:
    """Return a view with two dimensions exchanged."""
    axis1, axis2 = normal_axis(axis1, array.ndim), normal_axis(axis2, array.ndim)
    order = list(range(array.ndim))
    order[axis1], order[axis2] = axis2, axis1
    return permute(array, order)


def expand_dims(array: CLArray, axis) -> CLArray:
    """Return a view with new dimensions of size 1 at the places `axis` of the result."""
    axes = [axis] if hasattr(axis, "__index__") else list(axis)
    ndim = array.ndim + len(axes)
    axes = [normal_axis(a, ndim) for a in axes]
    if len(set(axes)) != len(axes):
        raise ValueError("repeated axis")
    array.settle()
    shape, strides = list(array.shape), list(array.strides)
    for a in sorted(axes):
        shape.insert(a, 1)
        strides.insert(a, 0)
    return array.view_of(tuple(shape), tuple(strides), 0)


def flip(array: CLArray, axis=None) -> CLArray:
    """Return a view that runs backwards along `axis` (one, several, or None: all)."""
    ndim = array.ndim
    axes = range(ndim) if axis is None else [axis] if hasattr(axis, "__index__") else list(axis)
    array.settle()
    strides = list(array.strides)
    offset = 0
    for a in {normal_axis(a, ndim) for a in axes}:
        if array.shape[a] > 1:
            offset += strides[a] * (array.shape[a] - 1)
        strides[a] = -strides[a]
    return array.view_of(array.shape, tuple(strides), offset if array.size else 0)


def fliplr(array: CLArray) -> CLArray:
    """Return a view that runs backwards along the second dimension."""
    return flip(array, 1)


def flipud(array: CLArray) -> CLArray:
    """Return a view that runs backwards along the first dimension."""
    return flip(array, 0)


def diagonal(array: CLArray, offset: int = 0, axis1: int = 0, axis2: int = 1) -> CLArray:
    """Return a view of a diagonal, its dimension last."""
    ndim = array.ndim
    if ndim < 2:
        raise ValueError("diagonal() needs an array of at least two dimensions")
    axis1, axis2 = normal_axis(axis1, ndim), normal_axis(axis2, ndim)
    if axis1 == axis2:
        raise ValueError("axis1 and axis2 cannot be the same")
    array.settle()
    rows, columns = array.shape[axis1], array.shape[axis2]
    row, column = array.strides[axis1], array.strides[axis2]
    if offset >= 0:
        length, start = min(rows, columns - offset), offset * column
    else:
        length, start = min(rows + offset, columns), -offset * row
    length = max(length, 0)
    rest = [d for d in range(ndim) if d not in (axis1, axis2)]
    shape = (*[array.shape[d] for d in rest], length)
    strides = (*[array.strides[d] for d in rest], row + column)
    return array.view_of(shape, strides, start if length and array.size else 0)


def sliced(array: CLArray, axis: int, start: int, stop: int, step: int = 1) -> CLArray:
    """Return the view ``start:stop:step`` along one dimension; limits as ``slice.indices`` gives them."""
    array.settle()
    n = len(range(start, stop, step))
    shape, strides = list(array.shape), list(array.strides)
    offset = start * strides[axis] if n and array.size else 0
    shape[axis] = n
    strides[axis] *= step
    return array.view_of(tuple(shape), tuple(strides), offset)
