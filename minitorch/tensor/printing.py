"""How tensors print: PyTorch's ``repr``, line for line.

All elements of a tensor share one format, chosen from the values that are shown: integers
when every value is whole, scientific notation when the values are far apart or tiny, fixed
point otherwise.  Above `threshold` elements only the edges are shown.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from minitorch.core.dtype import (
    bool_,
    from_numpy_dtype,
    get_default_complex_dtype,
    get_default_dtype,
    int64,
)
from minitorch.core.layout import strided
from minitorch.core.meta_array import MetaArray
from minitorch.tensor.wrapper import host_array


class _Options:
    """What `set_printoptions` sets."""

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(self):
        self.precision = 4
        self.threshold = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


options = _Options()

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print.

    Parameters
    ----------
    precision : int
        Digits after the decimal point.
    threshold : int
        Tensors with more elements show their edges only.
    edgeitems : int
        How many elements an edge shows, at either end of each dimension.
    linewidth : int
        Characters per line.
    profile : {"default", "short", "full"}
        Values for the options above that are not given.
    sci_mode : bool, optional
        Always or never use scientific notation; None lets the values decide.
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(f"there is no profile {profile!r}; there are {', '.join(_PROFILES)}")
        for name, value in _PROFILES[profile].items():
            setattr(options, name, value)
    if precision is not None:
        options.precision = precision
    if threshold is not None:
        options.threshold = threshold  # type: ignore[assignment]
    if edgeitems is not None:
        options.edgeitems = edgeitems
    if linewidth is not None:
        options.linewidth = linewidth
    options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Return the print options by name."""
    return {
        name: getattr(options, name)
        for name in ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")
    }


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Scope: print options as `set_printoptions` sets them, put back on exit."""
    saved = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**saved)


class _Formatter:
    """One format for all elements of a real array."""

    __slots__ = ("floating", "precision", "scientific", "whole", "width")

    def __init__(self, array: np.ndarray):
        self.floating = array.dtype.kind == "f"
        self.precision = options.precision
        self.whole = True
        self.scientific = False
        self.width = 1
        if self.floating:
            self._fit_floats(array)
        else:
            self.width = max((len(str(v)) for v in array.ravel().tolist()), default=1)

    def _fit_floats(self, array: np.ndarray) -> None:
        values = array[np.isfinite(array) & (array != 0)].astype(np.float64)
        if not values.size:
            return
        sizes = np.abs(values)
        smallest, largest = float(sizes.min()), float(sizes.max())
        self.whole = bool((values == np.ceil(values)).all())
        self.scientific = (
            largest / smallest > 1000.0 or largest > 1.0e8 or (not self.whole and smallest < 1.0e-4)
        )
        if options.sci_mode is not None:
            self.scientific = options.sci_mode
        if self.scientific:
            spec, extra = f".{self.precision}e", 0
        elif self.whole:
            spec, extra = ".0f", 1  # and the point that says it is no int
        else:
            spec, extra = f".{self.precision}f", 0
        self.width = max(1, max(len(format(v, spec)) for v in values.tolist()) + extra)

    def __call__(self, value: Any) -> str:
        if not self.floating:
            text = str(value)
        elif self.scientific:
            text = format(value, f".{self.precision}e")
        elif self.whole:
            text = format(value, ".0f")
            if math.isfinite(value):
                text += "."
        else:
            text = format(value, f".{self.precision}f")
        return text.rjust(self.width)


class _ComplexFormatter:
    """One format for the real parts and one for the imaginary parts."""

    __slots__ = ("imag", "real", "width")

    def __init__(self, array: np.ndarray):
        self.real = _Formatter(array.real)
        self.imag = _Formatter(array.imag)
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip() + "j"
        sign = "" if imag[0] in "+-" else "+"
        return self.real(value.real) + sign + imag


def _edges(array: np.ndarray) -> np.ndarray:
    """Return the elements that a summary shows."""
    edge = options.edgeitems
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            keep = [*range(edge), *range(size - edge, size)]
            array = array.take(keep, axis)
    return array


def _vector(values: np.ndarray, indent: int, summarize: bool, formatter: Any) -> str:
    edge = options.edgeitems
    per_line = max(1, math.floor((options.linewidth - indent) / (formatter.width + 2)))
    if summarize and not edge:
        texts = ["..."]
    elif summarize and len(values) > 2 * edge:
        texts = [
            *map(formatter, values[:edge].tolist()),
            " ...",
            *map(formatter, values[-edge:].tolist()),
        ]
    else:
        texts = list(map(formatter, values.tolist()))
    lines = [", ".join(texts[i : i + per_line]) for i in range(0, len(texts), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _block(array: np.ndarray, indent: int, summarize: bool, formatter: Any) -> str:
    if array.ndim == 0:
        return formatter(array.item())
    if array.ndim == 1:
        return _vector(array, indent, summarize, formatter)
    edge = options.edgeitems
    size = array.shape[0]
    if summarize and size > 2 * edge:
        rows = [
            *(_block(array[i], indent + 1, summarize, formatter) for i in range(edge)),
            "...",
            *(_block(array[i], indent + 1, summarize, formatter) for i in range(size - edge, size)),
        ]
    else:
        rows = [_block(row, indent + 1, summarize, formatter) for row in array]
    separator = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(rows) + "]"


def array_text(array: np.ndarray, indent: int = 0) -> str:
    """Return the elements of an array as text, lines after the first indented by `indent`."""
    if array.size == 0:
        return "[]"
    summarize = array.size > options.threshold
    if array.dtype.kind == "V" or array.dtype == np.float16:
        array = array.astype(np.float32)
    shown = _edges(array) if summarize else array
    formatter = _ComplexFormatter(shown) if array.dtype.kind == "c" else _Formatter(shown)
    return _block(array, indent, summarize, formatter)


def _with_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    parts = [text]
    # What PyTorch counts as the length of the last line is 2 more when there are several.
    length = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if length + len(suffix) + 2 > options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            length = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(parts) + ")"


def _history(tensor: Any) -> str | None:
    """Return what is said of a tensor's gradient."""
    try:
        node = tensor.grad_fn
    except RuntimeError:  # a view whose base was changed under no_grad
        return "grad_fn=<Invalid>"
    if node is not None:
        return f"grad_fn=<{node.name().rsplit('::', 1)[-1]}>"
    return "requires_grad=True" if tensor.requires_grad else None


def tensor_text(tensor: Any, contents: str | None = None) -> str:
    """Return ``repr(tensor)``.

    Parameters
    ----------
    tensor : Tensor
    contents : str, optional
        Printed in place of the elements.
    """
    if tensor.is_quantized:
        return _quantized_text(tensor)
    name = type(tensor).__name__
    prefix = "tensor(" if name in ("Tensor", "Parameter") else f"{name}("
    indent = len(prefix)
    dtype = tensor.dtype
    default = get_default_dtype()
    suffixes = []
    device = tensor.device
    if device.type != "cpu":
        suffixes.append(f"device='{device}'")
    if device.type == "meta":
        suffixes.append(f"size={tuple(tensor.shape)}")
        if dtype is not default:
            suffixes.append(f"dtype={dtype}")
        text = "..."
    elif tensor.numel() == 0:
        if tensor.ndim != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if dtype is not default:
            suffixes.append(f"dtype={dtype}")
        text = "[]"
    else:
        if not options.edgeitems:  # a summary shows nothing, so the shape cannot be seen
            suffixes.append(f"size={tuple(tensor.shape)}")
        if dtype not in (default, get_default_complex_dtype(), int64, bool_):
            suffixes.append(f"dtype={dtype}")
        text = contents if contents is not None else array_text(_elements(tensor), indent)
    if contents is not None:
        text = contents
    if tensor.layout is not strided:
        suffixes.append(f"layout={tensor.layout}")
    history = _history(tensor)
    if history is not None:
        suffixes.append(history)
    tangents = [t for t in (tensor.autograd_meta or {}).get("tangents", {}).values() if t is not None]
    if tangents:
        suffixes.append(f"tangent={tangents[-1]!r}")
    return _with_suffixes(prefix + text, suffixes, indent)


def _quantized_text(tensor: Any) -> str:
    """Return ``repr`` of a quantized tensor: the numbers that its integers stand for, and how they do."""
    scheme = tensor.qscheme()
    device = tensor.device
    suffixes = [f"device='{device}'"] if device.type != "cpu" else []
    suffixes += [f"size={tuple(tensor.shape)}", f"dtype={tensor.dtype}", f"quantization_scheme={scheme}"]
    if scheme.name.startswith("per_tensor"):
        suffixes += [f"scale={tensor.q_scale()}", f"zero_point={tensor.q_zero_point()}"]
    else:
        suffixes += [
            f"scale={tensor.q_per_channel_scales()}", f"zero_point={tensor.q_per_channel_zero_points()}",
            f"axis={tensor.q_per_channel_axis()}",
        ]  # fmt: skip
    history = _history(tensor)
    if history is not None:
        suffixes.append(history)
    values = tensor.detach()
    without = device.type == "meta" or isinstance(values.handle.ints.handle, MetaArray)  # of fake integers, too
    text = "..." if without else array_text(_elements(values.dequantize()), len("tensor("))
    return _with_suffixes("tensor(" + text, suffixes, len("tensor("))


def wrapper_text(tensor: Any) -> str:
    """Return the text of a tensor that stands for another: what it is, and the tensor inside."""
    handle = tensor.handle
    if handle.printed_inline:
        history = _history(tensor)
        return f"{handle.heading()}{handle.readable()!r}{'' if history is None else f', {history}'})"
    return f"{handle.heading()}, value=\n{textwrap.indent(repr(handle.value), '    ')}\n)"


def _elements(tensor: Any) -> np.ndarray:
    """Return the elements as a NumPy array."""
    handle = tensor.handle
    if not isinstance(handle, np.ndarray) or tensor.is_conj() or tensor.is_neg():
        handle = host_array(tensor)
    from_numpy_dtype(handle.dtype)
    return handle
