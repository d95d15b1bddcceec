"""How views lie in memory: shapes, strides (bytes) and offsets, computed without touching elements."""

from __future__ import annotations

from minitorch.core.meta_array import contiguous_strides
from minitorch.core.symbolic import is_symbolic


def infer_size(shape, numel: int) -> tuple:
    """Return `shape` with its -1 replaced by what makes it hold `numel` elements.

    Raises
    ------
    RuntimeError
        If there is no such size, or several -1.
    """
    shape = tuple(shape)
    known = 1
    unknown = -1
    for i, n in enumerate(shape):
        if n == -1:
            if unknown >= 0:
                raise RuntimeError("only one dimension can be inferred")
            unknown = i
        elif n < 0:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
        else:
            known *= n
    if unknown < 0:
        if known != numel:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        return shape
    if known == 0:
        if numel != 0:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if numel % known:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {numel}")
    return (*shape[:unknown], numel // known, *shape[unknown + 1 :])


def view_strides(shape: tuple, strides: tuple, new_shape: tuple, itemsize: int):
    """Return the strides that show an array as `new_shape` without a copy, or None.

    Dimensions are taken together from the last on as long as they lie evenly in memory;
    each such run must split into dimensions of the new shape.
    """
    numel = 1
    for n in shape:
        numel *= n
    if numel == 0:
        return tuple(strides) if tuple(shape) == tuple(new_shape) else contiguous_strides(new_shape, itemsize)
    if not shape:
        return contiguous_strides(new_shape, itemsize)
    result = [0] * len(new_shape)
    place = len(new_shape) - 1
    run_base = strides[-1]
    run = 1
    seen = 1
    for d in range(len(shape) - 1, -1, -1):
        run *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != run * run_base):
            while place >= 0 and (seen < run or new_shape[place] == 1):
                result[place] = seen * run_base
                seen *= new_shape[place]
                place -= 1
            if seen != run:
                return None
            if d > 0:
                run_base = strides[d - 1]
                run = 1
                seen = 1
    return tuple(result) if place < 0 else None


def expand_geometry(shape: tuple, strides: tuple, size) -> tuple[tuple, tuple]:
    """Return shape and strides of an array expanded to `size` (-1 keeps a dimension).

    Raises
    ------
    RuntimeError
        If a dimension that is not 1 would change.
    """
    size = tuple(size)
    lead = len(size) - len(shape)
    if lead < 0:
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    new_shape, new_strides = [], []
    for i, n in enumerate(size):
        if i < lead:
            if n == -1:
                raise RuntimeError(
                    f"expand: the size -1 at dimension {i} of {list(size)} is not allowed in a leading, non-existing "
                    "dimension"
                )
            new_shape.append(n)
            new_strides.append(0)
            continue
        old = shape[i - lead]
        if n in (-1, old):
            new_shape.append(old)
            new_strides.append(strides[i - lead])
        elif old == 1:
            new_shape.append(n)
            new_strides.append(0)
        else:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({old}) at non-singleton "
                f"dimension {i}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return tuple(new_shape), tuple(new_strides)


def slice_bounds(start, end, step: int, size: int) -> tuple[int, int, int]:
    """Return ``(first, count, step)`` of a slice, Python's rules; a negative step counts back.

    Raises
    ------
    ValueError
        If `step` is 0.
    """
    if step == 0:
        raise ValueError("slice step must not be zero")
    if is_symbolic(size) or is_symbolic(start) or is_symbolic(end):
        return _symbolic_slice_bounds(start, end, step, size)
    first, last, step = slice(start, end, step).indices(size)
    count = len(range(first, last, step))
    return first, count, step


def _symbolic_slice_bounds(start, end, step: int, size):
    """Return what `slice_bounds` does, for sizes that are not known yet."""
    lowest, highest = (0, size) if step > 0 else (-1, size - 1)

    def clamped(bound, otherwise):
        if bound is None:
            return otherwise
        if bound < 0:
            bound = bound + size
            return lowest if bound < lowest else bound
        return highest if bound > highest else bound

    first = clamped(start, 0 if step > 0 else highest)
    last = clamped(end, size if step > 0 else lowest)
    distance = last - first if step > 0 else first - last
    if distance <= 0:
        return first, 0, step
    return first, (distance + abs(step) - 1) // abs(step), step
