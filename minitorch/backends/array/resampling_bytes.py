"""Smooth resampling of uint8 images in integers: weights of 15 bits, each pass rounded to a byte.

PyTorch does the same, as image libraries do; the rounding after the first pass is part of the result.
"""

from __future__ import annotations


def _matrix(xp, size, count, taps):
    """Return the map from `size` elements to `count` of them, in float64."""
    matrix = xp.zeros((count, size))
    rows = xp.arange(count)
    for index, weight in taps:
        xp.add.at(matrix, (rows, index), 1.0 if weight is None else weight)
    return matrix


def _quantized(xp, matrix):
    """Return the weights as integers, and by how many bits they were shifted."""
    largest = float(matrix.max())
    precision = 0
    while precision < 22 and int(0.5 + largest * (1 << (precision + 1))) < 1 << 15:
        precision += 1
    scaled = matrix * (1 << precision)
    return xp.trunc(scaled + xp.where(scaled < 0, -0.5, 0.5)), precision


def resample_bytes(xp, image, taps_of_axes):
    """Return a uint8 array with its last dimensions resampled, the last one first.

    Parameters
    ----------
    taps_of_axes : list of (count, taps)
        One for each dimension, the taps as (index, weight) pairs in float64.
    """
    result = image
    first = image.ndim - len(taps_of_axes)
    for place in reversed(range(len(taps_of_axes))):
        count, taps = taps_of_axes[place]
        axis = first + place
        size = result.shape[axis]
        if size == count and all(weight is None for _, weight in taps):
            continue
        weights, precision = _quantized(xp, _matrix(xp, size, count, taps))
        # Sums of bytes times 15 bits are exact in float64.
        moved = xp.moveaxis(result, axis, -1).astype(xp.float64)
        total = xp.matmul(moved, weights.T)
        total += float(1 << (precision - 1))
        total = xp.floor(total / (1 << precision))
        result = xp.moveaxis(xp.clip(total, 0, 255).astype(xp.uint8), -1, axis)
    return xp.ascontiguousarray(result)
