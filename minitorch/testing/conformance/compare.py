"""Results of a device against those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

import minitorch
from minitorch.tensor.base import TensorBase

# By dtype ``(rtol, atol)``: two roads to one value, each with the rounding of the dtype.  Others have to be equal.
TOLERANCES = {
    "float64": (1e-7, 1e-9), "float32": (2e-5, 2e-5), "float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2),
    "complex128": (1e-7, 1e-9), "complex64": (2e-5, 2e-5),
}  # fmt: skip
# Gradients are sums of more terms.
OF_GRADIENTS = 10.0
_WIDE = {"float16": np.float64, "bfloat16": np.float64, "float32": np.float64, "complex64": np.complex128}


class Difference(Exception):
    """Two results differ: `kind` is one of `outcome.KINDS`."""

    def __init__(self, kind: str, text: str):
        super().__init__(text)
        self.kind = kind


def flat(result: Any) -> list:
    """Return the results of a call as a flat list."""
    if isinstance(result, (tuple, list)) and not isinstance(result, minitorch.Size):
        return [item for part in result for item in flat(part)]
    return [result]


def on_cpu(result: Any) -> Any:
    """Return a result with copies on the CPU for its tensors."""
    if isinstance(result, TensorBase):
        tensor: Any = result
        return tensor.detach().cpu()
    if isinstance(result, (tuple, list)) and not isinstance(result, minitorch.Size):
        items = [on_cpu(item) for item in result]
        return items if type(result) is list else tuple(items)
    return result


def check_facts(found: list, wanted: list, device: Any) -> None:
    """Raise `Difference` unless number, types, devices, dtypes and shapes of results agree.

    A result that the CPU gives on the CPU must be on the device, if the call says of no result that it is to be elsewhere.
    """
    if len(found) != len(wanted):
        raise Difference("shape", f"{len(found)} results, and {len(wanted)} on the CPU")
    for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
        which = f"result {i}: " if len(wanted) > 1 else ""
        if isinstance(one, TensorBase) != isinstance(other, TensorBase):
            raise Difference("shape", f"{which}a {type(one).__name__}, and a {type(other).__name__} on the CPU")
        if not isinstance(other, TensorBase):
            continue
        one, other = as_tensor(one), as_tensor(other)
        if device is not None and one.device != device:
            raise Difference("device", f"{which}on {one.device}, not on {device}")
        if one.dtype is not other.dtype:
            raise Difference("dtype", f"{which}{one.dtype}, and {other.dtype} on the CPU")
        if one.shape != other.shape:
            raise Difference("shape", f"{which}shape {tuple(one.shape)}, and {tuple(other.shape)} on the CPU")


def as_tensor(value: Any) -> Any:
    """Return a tensor as what a type checker lets one read everything from."""
    return value


def check_values(found: list, wanted: list, scale: float, kind: str = "value") -> None:
    """Raise `Difference` unless the elements of results on the CPU agree.

    Parameters
    ----------
    scale : float
        Multiplies the tolerances.
    """
    for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
        which = f"result {i}: " if len(wanted) > 1 else ""
        if not isinstance(other, TensorBase):
            if not _same_number(one, other):
                raise Difference(kind, f"{which}{one!r}, and {other!r} on the CPU")
            continue
        text = differing(as_tensor(one), as_tensor(other), scale)
        if text:
            raise Difference(kind, which + text)


def _same_number(one: Any, other: Any) -> bool:
    if one == other or (one != one and other != other):
        return True
    return isinstance(one, (float, complex)) and bool(np.isclose(one, other, rtol=2e-5, atol=2e-5))


def differing(one: Any, other: Any, scale: float) -> str:
    """Return how the elements of two CPU tensors of one dtype differ; empty where they do not."""
    a, b = np.asarray(one.numpy(force=True)), np.asarray(other.numpy(force=True))
    if a.shape != b.shape:
        return f"shape {a.shape}, and {b.shape} on the CPU"
    name = other.dtype.name
    with np.errstate(all="ignore"):
        wide = _WIDE.get(name)
        if wide is not None:
            a, b = a.astype(wide), b.astype(wide)
        close = a == b
        if close.all():
            return ""
        if name in TOLERANCES:
            rtol, atol = TOLERANCES[name]
            close |= (np.abs(a - b) <= scale * (atol + rtol * np.abs(b))) & np.isfinite(b)
            close |= (a != a) & (b != b)
        if close.all():
            return ""
        place = tuple([int(n) for n in np.argwhere(np.logical_not(np.atleast_1d(close)))[0]])
        wrong = int(close.size - np.count_nonzero(close))
    first, second = np.atleast_1d(a)[place], np.atleast_1d(b)[place]
    where = f" at {place}" if b.ndim else ""
    return f"{wrong} of {close.size} elements differ: {first!s}{where}, and {second!s} on the CPU"
