"""The inverses of views: how a base looks after a view of it was changed.

One function a view operator, ``(step, base, changed) -> new base``, written with out-of-place
operators.  `step` has the view's arguments (`views.ViewStep`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.functionalize import layout
from minitorch.functionalize.views import ViewStep, make_view
from minitorch.ops import functions as F

INVERSES: dict[str, Callable[[ViewStep, Any, Any], Any]] = {}


def inverse(*names: str) -> Callable:
    """Register the inverse of the view operators `names`."""

    def register(fn: Callable) -> Callable:
        for name in names:
            INVERSES[name] = fn
        return fn

    return register


# -- the whole base is seen --------------------------------------------------------------------


@inverse("view")
def view_inverse(step, base, changed):
    return layout.reshaped(changed, base.shape, step.copies)


@inverse("view.dtype")
def view_dtype_inverse(step, base, changed):
    return make_view("view.dtype", step.copies, changed, base.dtype)


@inverse("transpose.int", "t", "alias", "_conj", "_neg_view")
def same_view_inverse(step, base, changed):
    return make_view(step.name, step.copies, changed, *step.args)


@inverse("detach")
def detach_inverse(step, base, changed):
    return changed


@inverse("permute")
def permute_inverse(step, base, changed):
    (dims,) = step.args
    order = [d % len(dims) for d in dims]
    return make_view("permute", step.copies, changed, [order.index(d) for d in range(len(order))])


@inverse("squeeze", "squeeze.dim", "squeeze.dims")
def squeeze_inverse(step, base, changed):
    ndim = base.ndim
    if step.name == "squeeze":
        dims = list(range(ndim))
    else:
        given = step.args[0]
        dims = sorted({d % ndim for d in (given if isinstance(given, (list, tuple)) else [given])}) if ndim else []
    for d in dims:
        if base.shape[d] == 1:
            changed = make_view("unsqueeze", step.copies, changed, d)
    return changed


@inverse("unsqueeze")
def unsqueeze_inverse(step, base, changed):
    dim = step.args[0]
    return make_view("squeeze.dim", step.copies, changed, dim % changed.ndim)


@inverse("view_as_real")
def view_as_real_inverse(step, base, changed):
    return make_view("view_as_complex", step.copies, changed)


@inverse("view_as_complex")
def view_as_complex_inverse(step, base, changed):
    return make_view("view_as_real", step.copies, changed)


# -- a part of the base is seen ----------------------------------------------------------------


@inverse("select.int")
def select_inverse(step, base, changed):
    return F.select_scatter(base, changed, *step.args)


@inverse("slice.Tensor")
def slice_inverse(step, base, changed):
    return F.slice_scatter(base, changed, *step.args)


@inverse("diagonal")
def diagonal_inverse(step, base, changed):
    return F.diagonal_scatter(base, changed, *step.args)


@inverse("unbind.int")
def unbind_inverse(step, base, changed):
    dim = step.args[0] if step.args else 0
    return F.select_scatter(base, changed, dim, step.output)


@inverse("split.Tensor")
def split_inverse(step, base, changed):
    size, dim = step.args[0], step.args[1] if len(step.args) > 1 else 0
    start = step.output * size
    return F.slice_scatter(base, changed, dim, start, start + changed.shape[dim])


@inverse("split_with_sizes")
def split_with_sizes_inverse(step, base, changed):
    sizes, dim = step.args[0], step.args[1] if len(step.args) > 1 else 0
    start = sum(sizes[: step.output])
    return F.slice_scatter(base, changed, dim, start, start + sizes[step.output])


# -- elements of the base may be seen more than once, or not at all ------------------------------


def check_changeable(step: ViewStep) -> None:
    """Raise RuntimeError if a view cannot be changed: elements of it stand for the same element of the base.

    (Those of an expanded tensor may be: the operators that write there write one value everywhere.)
    """
    if step.name == "unfold":
        dim, size, width = step.args
        ndim = len(step.source.shape)
        overlaps = ndim > 0 and width < size and step.geometry.shape[dim % ndim] > 1
    elif step.name == "as_strided":
        size, stride, _ = step.args
        overlaps, reach = False, 0  # how far apart the elements of the dimensions so far are, at most
        for n, s in sorted(zip(size, stride, strict=True), key=lambda pair: pair[1]):
            if n > 1:
                overlaps = overlaps or s <= reach
                reach += (n - 1) * s
    else:
        return
    if overlaps:
        raise RuntimeError(
            f"{step.name.partition('.')[0]}: functionalization met a tensor that is changed in place and whose elements "
            f"overlap in memory (shape {list(step.geometry.shape)}, strides in bytes {list(step.geometry.strides)}); what "
            "the result would be is not defined. Clone the view before changing it."
        )


@inverse("as_strided")
def as_strided_inverse(step, base, changed):
    size, stride, offset = step.args
    base, shift = layout.laid_out(base, step.source)
    return F.as_strided_scatter(base, changed, size, stride, offset + shift)


@inverse("unfold")
def unfold_inverse(step, base, changed):
    dim, size, width = step.args
    count = changed.shape[dim % max(base.ndim, 1)]
    if base.ndim == 0:
        return F.reshape(changed, [])
    # The windows side by side are slices of the base; elements between and after them are not seen.
    dim %= base.ndim
    flat = list(base.shape)
    flat[dim] = count * size
    source = F.reshape(F.movedim(changed, -1, dim + 1), flat)
    starts = F.arange(0, count * width, width, device=base.device)
    places = F.add(F.reshape(starts, [count, 1]), F.arange(size, device=base.device))
    return F.index_copy(base, dim, F.reshape(places, [-1]), source)


@inverse("expand")
def expand_inverse(step, base, changed):
    # Only operators that write one value everywhere change a tensor whose elements overlap; so
    # of the elements that stand for one of the base, any that is changed has the new value.
    lead = changed.ndim - base.ndim
    copies = [changed.shape[d] for d in range(lead)]
    stretched = [lead + d for d in range(base.ndim) if base.shape[d] != changed.shape[lead + d]]
    total = 1
    for n in copies:
        total *= n
    for d in stretched:
        total *= changed.shape[d]
    if total == 0:
        return base
    if total == 1:
        return layout.reshaped(changed, base.shape, step.copies)
    dims = [*range(lead), *stretched]
    rest = [d for d in range(changed.ndim) if d not in dims]
    flat = F.reshape(F.permute(changed, [*dims, *rest]), [total, *[changed.shape[d] for d in rest]])
    old = F.reshape(base, [1, *[changed.shape[d] for d in rest]])
    nan_stays_nan = F.logical_and(F.ne(flat, flat), F.ne(old, old))
    differs = F.logical_and(F.ne(flat, old), F.logical_not(nan_stays_nan))
    which = F.argmax(F._to_copy(differs, dtype=_int8()), 0, True)
    return F.reshape(F.gather(flat, 0, which), list(base.shape))


def _int8():
    from minitorch.core.dtype import int8

    return int8
