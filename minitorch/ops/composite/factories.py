"""Factories written with other factories."""

from __future__ import annotations

from minitorch.core.device import device as as_device
from minitorch.dispatch.keys import ZERO_TENSOR
from minitorch.dispatch.local_state import current
from minitorch.dispatch.tensor_keys import inference_keys, tensor_keys
from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_explicit
from minitorch.ops.shapes.common import check
from minitorch.tensor.base import new_tensor


@composite_explicit("_efficientzerotensor")
def efficientzerotensor_composite(size, *, dtype=None, layout=None, device=None, pin_memory=None):
    place = as_device("cpu" if device is None else device)
    if place.type not in ("cpu", "meta"):
        # A handle without memory would not say which device of several it is on.
        return F.zeros(size, dtype=dtype, layout=layout, device=place, pin_memory=pin_memory)
    meta = F.empty(size, dtype=dtype, layout=layout, device="meta")
    keys = tensor_keys("Dense", place.key_name) | ZERO_TENSOR
    return new_tensor(meta.handle, inference_keys(keys) if current().inference_mode else keys)


# ---------------------------------------------------------------- new_*: like a tensor


@composite_explicit("new_empty")
def new_empty_composite(self, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return F.empty(
        size,
        dtype=dtype or self.dtype,
        layout=layout or self.layout,
        device=device or self.device,
        pin_memory=pin_memory,
    )


@composite_explicit("new_empty_strided")
def new_empty_strided_composite(
    self, size, stride, *, dtype=None, layout=None, device=None, pin_memory=None
):
    return F.empty_strided(
        size,
        stride,
        dtype=dtype or self.dtype,
        layout=layout or self.layout,
        device=device or self.device,
        pin_memory=pin_memory,
    )


@composite_explicit("new_zeros")
def new_zeros_composite(self, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return F.zeros(
        size,
        dtype=dtype or self.dtype,
        layout=layout or self.layout,
        device=device or self.device,
        pin_memory=pin_memory,
    )


@composite_explicit("new_ones")
def new_ones_composite(self, size, *, dtype=None, layout=None, device=None, pin_memory=None):
    return F.ones(
        size,
        dtype=dtype or self.dtype,
        layout=layout or self.layout,
        device=device or self.device,
        pin_memory=pin_memory,
    )


@composite_explicit("new_full")
def new_full_composite(
    self, size, fill_value, *, dtype=None, layout=None, device=None, pin_memory=None
):
    return F.full(
        size,
        fill_value,
        dtype=dtype or self.dtype,
        layout=layout or self.layout,
        device=device or self.device,
        pin_memory=pin_memory,
    )


# ---------------------------------------------------------------- bounds that are tensors


def _bounds(name: str, start, end) -> list:
    """Return the numbers that the bounds of a range, some of them 0-dim tensors, stand for."""
    result = []
    for word, bound in (("start", start), ("end", end)):
        if hasattr(bound, "item"):
            check(
                bound.ndim == 0,
                f"{name} only supports 0-dimensional start and end tensors, but got {word} "
                f"with {bound.ndim} dimension(s).",
            )
            bound = bound.item()
        result.append(bound)
    return result


def _without_values(start, end) -> list | None:
    """Return stand-ins for bounds of which one is a meta tensor: only their types can count."""
    bounds = (start, end)
    if not any(hasattr(b, "is_meta") and b.is_meta for b in bounds):
        return None
    return [(1j if b.is_complex() else 0.0) if hasattr(b, "is_meta") else b for b in bounds]


@composite_explicit("linspace.Tensor_Tensor", "linspace.Tensor_Scalar", "linspace.Scalar_Tensor")
def linspace_tensor_composite(
    start, end, steps, *, dtype=None, layout=None, device=None, pin_memory=None
):
    numbers = _without_values(start, end)
    if numbers is not None:
        device = device or "meta"
    start, end = numbers or _bounds("linspace", start, end)
    return F.linspace(
        start, end, steps, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory
    )


@composite_explicit("logspace.Tensor_Tensor", "logspace.Tensor_Scalar", "logspace.Scalar_Tensor")
def logspace_tensor_composite(
    start, end, steps, base=10.0, *, dtype=None, layout=None, device=None, pin_memory=None
):
    numbers = _without_values(start, end)
    if numbers is not None:
        device = device or "meta"
    start, end = numbers or _bounds("logspace", start, end)
    return F.logspace(
        start, end, steps, base, dtype=dtype, layout=layout, device=device, pin_memory=pin_memory
    )


# ---------------------------------------------------------------- out=
#
# These compute in the type of `out`: a range of float64 is not a range of float32, cast.


def sized(out, size):
    """Return `out`, resized to `size` unless it has it."""
    if list(out.shape) != list(size):
        out.resize_(size)
    return out


def _store(out, values):
    return sized(out, values.shape).copy_(values)


@composite_explicit("empty.out")
def empty_out_composite(size, *, memory_format=None, out):
    return sized(out, size)


@composite_explicit("zeros.out")
def zeros_out_composite(size, *, out):
    return sized(out, size).zero_()


@composite_explicit("ones.out")
def ones_out_composite(size, *, out):
    return sized(out, size).fill_(1)


@composite_explicit("full.out")
def full_out_composite(size, fill_value, *, out):
    return sized(out, size).fill_(fill_value)


@composite_explicit("arange.out")
def arange_out_composite(end, *, out):
    return _store(out, F.arange(end, dtype=out.dtype, device=out.device))


@composite_explicit("arange.start_out")
def arange_start_out_composite(start, end, step=1, *, out):
    return _store(out, F.arange(start, end, step, dtype=out.dtype, device=out.device))


@composite_explicit("range.out")
def range_out_composite(start, end, step=1, *, out):
    return _store(out, F.range(start, end, step, dtype=out.dtype, device=out.device))


@composite_explicit(
    "linspace.out",
    "linspace.Tensor_Tensor_out",
    "linspace.Tensor_Scalar_out",
    "linspace.Scalar_Tensor_out",
)
def linspace_out_composite(start, end, steps, *, out):
    start, end = _bounds("linspace", start, end)
    return _store(out, F.linspace(start, end, steps, dtype=out.dtype, device=out.device))


@composite_explicit(
    "logspace.out",
    "logspace.Tensor_Tensor_out",
    "logspace.Tensor_Scalar_out",
    "logspace.Scalar_Tensor_out",
)
def logspace_out_composite(start, end, steps, base=10.0, *, out):
    start, end = _bounds("logspace", start, end)
    return _store(out, F.logspace(start, end, steps, base, dtype=out.dtype, device=out.device))


@composite_explicit("eye.out")
def eye_out_composite(n, *, out):
    return _store(out, F.eye(n, dtype=out.dtype, device=out.device))


@composite_explicit("eye.m_out")
def eye_m_out_composite(n, m, *, out):
    return _store(out, F.eye(n, m, dtype=out.dtype, device=out.device))


def store_exactly(name, out, values):
    """Return `out` with `values` stored in it; raise unless it is of their dtype."""
    check(
        out.dtype is values.dtype,
        f"{name}(): Expected object of scalar type {values.dtype.scalar_name} but got scalar type "
        f"{out.dtype.scalar_name} for argument 'out'",
    )
    return _store(out, values)


@composite_explicit("complex.out")
def complex_out_composite(real, imag, *, out):
    return store_exactly("complex", out, F.complex(real, imag))


@composite_explicit("polar.out")
def polar_out_composite(abs, angle, *, out):
    return store_exactly("polar", out, F.polar(abs, angle))
