"""The kernels of the ADInplaceOrView key: versions of what is written, and where views come from.

Compiled where a compiler exists (`bookkeeping.pxd`).
"""

from __future__ import annotations

from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AFTER_AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS, PYTHON
from minitorch.dispatch.local_state import LocalState, current
from minitorch.dispatch.operator import Entry, Kernel
from minitorch.tensor.base import TensorBase, VersionCounter, ViewInfo, make_view_info

# C integers when compiled.
_AFTER_AD_INPLACE_OR_VIEW = AFTER_AD_INPLACE_OR_VIEW
_AD_INPLACE_OR_VIEW = AD_INPLACE_OR_VIEW
_BOTH = AUTOGRAD_KEYS | AD_INPLACE_OR_VIEW
_PYTHON = PYTHON


def follow_view(target, info):
    """Note how a view comes from its base after its geometry was changed."""
    counter: VersionCounter = target.version_counter
    info.attr_version = counter.version
    target.view_info = info
    target.tracked = True


def mark_moved(target):
    """Note that the geometry of a base changed: its views cannot be made again as they were made."""
    if target.autograd_meta is None:
        target.autograd_meta = {}
    target.autograd_meta["moved"] = True


class InplaceBookkeeping(Kernel):
    """The ADInplaceOrView kernel of in-place operators: counts the change (spec A6)."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        below: Entry = entry.below
        if below is None:
            below = op.entry_below(entry, _AFTER_AD_INPLACE_OR_VIEW)
        target: TensorBase = args[0]
        state: LocalState = current()
        if not target.key_set & _AD_INPLACE_OR_VIEW and not state.inference_mode:
            raise RuntimeError(
                "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to "
                f"get a normal tensor before doing inplace update ({op.basename})."
            )
        if below.leaf and not state.trace:
            below.kernel.run(op, below, args, kwargs)
        else:
            added = _BOTH & ~state.excluded
            state.excluded |= added
            try:
                op.run_below(below, args, kwargs)
            finally:
                state.excluded &= ~added
        target.bump_version()
        return target


class InplaceViewBookkeeping(InplaceBookkeeping):
    """The ADInplaceOrView kernel of operators such as `t_`: also notes what kind of view it is now."""

    __slots__ = ("functional",)

    def __init__(self, functional):
        InplaceBookkeeping.__init__(self, None)
        self.functional = functional

    def run(self, op, entry, args, kwargs):
        target: TensorBase = args[0]
        InplaceBookkeeping.run(self, op, entry, args, kwargs)
        info: ViewInfo = target.view_info
        if info is not None:
            follow_view(target, make_view_info(info.base, info, self.functional, args[1:], kwargs, -1, info.creation))
        else:
            mark_moved(target)
        return target


def shared_counter(view, source):
    """Return the counter of a view; what a handler made without one counts changes with its source from now on."""
    counter: VersionCounter = view.version_counter
    if counter is None or view.key_set & _PYTHON:
        counter = source.counter_of()
        view.version_counter = counter
    return counter


class InplaceListBookkeeping(Kernel):
    """The ADInplaceOrView kernel of operators that write into lists of tensors, or into several tensors."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        below: Entry = entry.below
        if below is None:
            below = op.entry_below(entry, _AFTER_AD_INPLACE_OR_VIEW)
        state: LocalState = current()
        added = _BOTH & ~state.excluded
        state.excluded |= added
        try:
            result = op.run_below(below, args, kwargs)
        finally:
            state.excluded &= ~added
        for index, argument in enumerate(op.schema.arguments):
            if argument.is_write and index < len(args):
                value = args[index]
                for item in [value] if isinstance(value, TensorBase) else value:
                    written: TensorBase = item
                    written.bump_version()
        return result


class ViewBookkeeping(Kernel):
    """The ADInplaceOrView kernel of view operators: notes base and circumstances (spec A6, A7)."""

    __slots__ = ()

    def is_leaf(self, op, entry):
        below = op.entry_below(entry, _AFTER_AD_INPLACE_OR_VIEW)
        return below.leaf

    def run(self, op, entry, args, kwargs):
        below: Entry = entry.below
        if below is None:
            below = op.entry_below(entry, _AFTER_AD_INPLACE_OR_VIEW)
        result = op.run_below(below, args, kwargs)
        source: TensorBase = args[0]
        if not source.key_set & _AD_INPLACE_OR_VIEW:
            return result
        state: LocalState = current()
        parent: ViewInfo = source.view_info
        base = source if parent is None else parent.base
        single = isinstance(result, TensorBase)
        # Several views of one memory refuse in-place changes.
        if parent is not None and parent.creation != 0:
            creation = parent.creation
        elif state.inference_mode:
            creation = 2
        elif state.grad_enabled:
            creation = 0 if single else 3
        else:
            creation = 1 if single else 4
        if single:
            tensor: TensorBase = result
            info = make_view_info(base, parent, op, args[1:], kwargs, -1, creation)
            info.attr_version = shared_counter(tensor, source).version
            tensor.view_info = info
            tensor.tracked = True
        elif result is not None:
            for index, item in enumerate(result):
                output: TensorBase = item
                info = make_view_info(base, parent, op, args[1:], kwargs, index, creation)
                info.attr_version = shared_counter(output, source).version
                output.view_info = info
                output.tracked = True
        return result
