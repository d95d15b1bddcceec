"""Tangents on tensors: where forward mode keeps them, and the levels that they belong to.

Note [Levels]
    A level is one run of forward mode.  PyTorch's public interface has one at a time; nothing
    here depends on that: levels stack, and a tensor may have a tangent at each.  The kernels
    take the innermost level that a thread can see, and compute its tangents as functions of
    which the outer levels are taken (`below`).  A level that ends takes its tangents along.

Note [Tangents of views]
    A view op applied to a tensor with a tangent is applied to the tangent as well, so that the
    tangent of a view is a view of the tangent.  The other way round, a base gets its tangent
    when one of its views is written to, and views made before that find theirs by the base:
    `tangent_of` makes the same view of the base's tangent.  For that a tangent lies in memory as
    its tensor does.  A tensor whose place for a level holds None has no tangent whatever its
    base has: the primal of a dual tensor.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from typing import Any

from minitorch.autograd import kernel as kernels
from minitorch.core.layout import strided
from minitorch.dispatch.keys import FUNCTORCH_BATCHED, FUNCTORCH_KEYS
from minitorch.dispatch.local_state import current
from minitorch.ops import functions as F
from minitorch.tensor.wrapper import WrapperHandle

_LEVELS = "forward levels"  # in the thread's `extra`
# How many levels there are in all threads, under a lock: the kernels ask whether there is one at all.
_total = 0
_total_lock = threading.Lock()


def levels() -> list[list[weakref.ref]]:
    """Return, for each level of this thread, the tensors that have a place for it; the outermost first."""
    return current().extra.get(_LEVELS, [])


def share_levels(of: Any) -> None:
    """Make the levels of another thread those of this one, which works in its place; `of` is that one's state."""
    if _LEVELS in of.extra:
        current().extra[_LEVELS] = of.extra[_LEVELS]


class _Limit(threading.local):
    """How many of the levels the formulas that run now may see."""

    count = 1 << 30


_limit = _Limit()


def get_visible() -> int:
    """Return how many levels, outermost first, the operators called now may see."""
    return _limit.count


def set_visible(count: int) -> int:
    """Say how many levels the operators called from now on may see; return how many they could."""
    before, _limit.count = _limit.count, count
    return before


def _count(change: int) -> None:
    global _total
    with _total_lock:
        _total += change
        kernels.set_forward_levels(_total)


def enter_level() -> int:
    """Begin a level inside those that there are in this thread; return its number."""
    from minitorch.autograd import forward_kernel  # noqa: F401 - tells the kernels what to run

    found = current().extra.setdefault(_LEVELS, [])
    found.append([])
    _count(1)
    return len(found) - 1


def exit_level() -> None:
    """End the innermost level: its tangents are dropped."""
    found = levels()
    level = len(found) - 1
    ended = found.pop()
    if not found:
        del current().extra[_LEVELS]
    for reference in ended:
        tensor = reference()
        if tensor is not None and tensor.autograd_meta is not None:
            tensor.autograd_meta.get("tangents", {}).pop(level, None)
            tensor.autograd_meta.get("tangents of base", {}).pop(level, None)
    _count(-1)


def level_count() -> int:
    """Return how many levels there are in this thread."""
    return len(levels())


def visible_count() -> int:
    """Return how many levels the operators called now have to care for."""
    return min(level_count(), _limit.count) if current().forward_grad_enabled else 0


@contextmanager
def below(level: int):
    """Hide a level and those inside it from the operators called."""
    before = _limit.count
    _limit.count = level
    try:
        yield
    finally:
        _limit.count = before


def tangent_of(tensor: Any, level: int) -> Any:
    """Return a tensor's tangent at a level, None if it has none (Note [Tangents of views])."""
    meta = tensor.autograd_meta
    if meta is not None and level in meta.get("tangents", ()):
        seen = meta.get("tangents of base", {}).get(level)
        if seen is None or tangent_of(tensor.view_info.base, level) is seen:
            return meta["tangents"][level]
    info = tensor.view_info
    if info is None:
        return None
    of_base = tangent_of(info.base, level)
    if of_base is None:
        return None
    with below(level):
        tangent = info.replay(of_base)
    _keep(tensor, level, tangent)
    return tangent


def is_hidden(tensor: Any, level: int) -> bool:
    """Return whether a tensor has no tangent at a level even if its base has one."""
    meta = tensor.autograd_meta
    return meta is not None and meta.get("tangents", {}).get(level, False) is None


def hide_tangent(tensor: Any, level: int) -> None:
    """Say that a tensor has no tangent at a level, whatever its base has."""
    _keep(tensor, level, None)


def set_tangent(tensor: Any, level: int, tangent: Any) -> None:
    """Give a new tensor its tangent, in the tensor's layout."""
    _keep(tensor, level, in_layout_of(tensor, tangent, level))


def change_tangent(tensor: Any, level: int, tangent: Any) -> None:
    """Change the tangent of a tensor that was changed in place, also for its base and views."""
    own = tangent_of(tensor, level)
    info = tensor.view_info
    if own is None:
        if info is None or is_hidden(tensor, level):
            set_tangent(tensor, level, tangent)
            return
        with below(level):
            of_base = F.zeros_like(info.base)
        set_tangent(info.base, level, of_base)
        own = tangent_of(tensor, level)
    if (tensor.key_set | tangent.key_set) & FUNCTORCH_KEYS:
        # The old one may lack a mapped dimension that the new one has.  Views find the new one by their base.
        if info is None:
            set_tangent(tensor, level, tangent)
            return
        of_base = tangent_of(info.base, level)
        if of_base is not None and _mapped(tangent) - _mapped(own):
            with below(level):
                of_base = F.add(of_base, F.sum(F.zeros_like(tangent)))
            set_tangent(info.base, level, of_base)
            own = tangent_of(tensor, level)
    with below(level):
        own.copy_(tangent)


def _mapped(tensor: Any) -> set:
    """Return the transforms that count examples along a dimension of a tensor."""
    found = set()
    while tensor.key_set & FUNCTORCH_KEYS:
        if tensor.key_set & FUNCTORCH_BATCHED:
            found.add(tensor.handle.owner)
        tensor = tensor.handle.value
    return found


def owned(tangent: Any, others: Any, level: int) -> Any:
    """Return a tangent in memory of its own: a copy if it shares the memory of one of `others`."""
    memory = _memory_of(tangent)
    if any(_memory_of(other) is memory for other in others):
        with below(level):
            return F.clone(tangent)
    return tangent


def _memory_of(tensor: Any) -> Any:
    while isinstance(tensor.handle, WrapperHandle):
        tensor = tensor.handle.value
    return tensor.storage_of()


def in_layout_of(tensor: Any, tangent: Any, level: int) -> Any:
    """Return a tangent with the strides and lazy bits of its tensor: itself where it has them.

    Inside transforms either may have a mapped dimension that the other has not, and strides are those of what is
    inside: there the tangent has the order of strides that makes every view of the tensor possible.
    """
    if tangent._is_zerotensor():
        with below(level):
            tangent = F.clone(tangent)  # it may have to be changed
    if tangent.is_conj() != tensor.is_conj() or tangent.is_neg() != tensor.is_neg():
        with below(level):
            tangent = read_alike(tensor, tangent)
    if tensor.numel() == 0 or tensor.layout is not strided or tangent.layout is not strided:
        return tangent
    shape, strides = tensor.shape, tensor.stride()
    if (tensor.key_set | tangent.key_set) & FUNCTORCH_KEYS:
        if _joined(shape, strides) <= _joined(shape, tangent.stride()) and not _is_expanded(shape, tangent.stride()):
            return tangent
        strides = _dense(shape, strides)
        with below(level):
            return _read_as(tensor, F.new_empty_strided(tangent, list(shape), strides)).copy_(tangent)
    pairs = zip(shape, strides, tangent.stride(), strict=True)
    if all(have == wanted or n == 1 for n, wanted, have in pairs):
        return tangent
    with below(level):
        if _is_expanded(shape, strides):
            return tangent  # nothing can be written to it
        return _read_as(tensor, F.empty_strided(shape, strides, dtype=tangent.dtype, device=tangent.device)).copy_(tangent)


def _read_as(tensor: Any, placed: Any) -> Any:
    """Return a new tensor as a view with the lazy bits of another."""
    if tensor.is_conj():
        placed = F._conj(placed)
    return F._neg_view(placed) if tensor.is_neg() else placed


def _is_expanded(shape: tuple, strides: tuple) -> bool:
    return any(step == 0 and n > 1 for n, step in zip(shape, strides, strict=True))


def _joined(shape: tuple, strides: tuple) -> set:
    """Return the pairs of dimensions, one after the other, that a view can make one of."""
    places = [i for i, n in enumerate(shape) if n != 1]
    return {(i, k) for i, k in zip(places, places[1:], strict=False) if strides[i] == strides[k] * shape[k]}


def _dense(shape: tuple, strides: tuple) -> list:
    """Return strides without gaps, in the order of given ones."""
    found, step = [0] * len(shape), 1
    for i in sorted(range(len(shape)), key=lambda i: (strides[i], -i)):
        found[i] = step
        step *= shape[i]
    return found


def _keep(tensor: Any, level: int, tangent: Any) -> None:
    if tensor.autograd_meta is None:
        tensor.autograd_meta = {}
    meta = tensor.autograd_meta
    places = meta.setdefault("tangents", {})
    if level not in places:
        levels()[level].append(weakref.ref(tensor))
    places[level] = tangent
    if tensor.view_info is not None and tensor.key_set & FUNCTORCH_KEYS:
        # Outside of transforms the base's tangent is written to, and never another.
        meta.setdefault("tangents of base", {})[level] = None if tangent is None else tangent_of(tensor.view_info.base, level)
    tensor.tracked = True  # Note [Untracked calls]


def read_alike(tensor: Any, tangent: Any) -> Any:
    """Return a tangent as a conjugate or negative view exactly where its tensor is one.

    Operators that ask for the bits, as `imag` does, ask the tensor, and go on with both in the same way.
    """
    if tangent.is_conj() != tensor.is_conj():
        tangent = F._conj(F.conj_physical(tangent)) if tensor.is_conj() else F.resolve_conj(tangent)
    if tangent.is_neg() != tensor.is_neg():
        tangent = F._neg_view(F.neg(tangent)) if tensor.is_neg() else F.resolve_neg(tangent)
    return tangent
