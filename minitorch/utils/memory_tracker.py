"""`MemoryTracker`: how many bytes of tensors are alive, over time, by what they are and which module made them."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.nn.modules.module import Module, register_module_forward_pre_hook
from minitorch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from minitorch.tensor.base import TensorBase
from minitorch.tensor.memory import memory_of
from minitorch.tensor.wrapper import innermost
from minitorch.utils.debug.values import tensors_in
from minitorch.utils.module_tracker import ModuleTracker

__all__ = ["CATEGORIES", "MemoryEvent", "MemoryTracker"]

CATEGORIES = ("parameters", "buffers", "gradients", "optimizer state", "activations", "temporary", "other")


class MemoryEvent(NamedTuple):
    """The state after one operator call.

    Attributes
    ----------
    op : str
    module : str
        The module that was running, ``"Global"`` for none.
    in_backward : bool
    live : int
        Bytes alive.
    by_category : tuple of int
        The same, in the order of `CATEGORIES`.
    """

    op: str
    module: str
    in_backward: bool
    live: int
    by_category: tuple[int, ...]


class _Block:
    """Memory that tensors share."""

    __slots__ = ("category", "nbytes", "reference")

    def __init__(self, nbytes: int, category: str, reference: Any):
        self.nbytes = nbytes
        self.category = category
        self.reference = reference


class MemoryTracker(TorchDispatchMode):
    """Scope in which the memory of tensors is followed: what is alive after each operator call, and the peak.

    Memory counts once, however many tensors show it, from the first operator that makes or reads it until nobody
    holds it any more; what autograd saved counts. Modules and optimizers are recognised when they run:
    parameters, buffers, gradients and optimizer state are told apart from activations (what is made outside
    of backward and optimizer steps) and temporary tensors (what is made in there). ``"other"`` are tensors that were
    there before.

    Attributes
    ----------
    live_bytes, peak_bytes : int
    peak : MemoryEvent or None
        The state when the peak was reached.
    timeline : list of MemoryEvent
        One event an operator call.
    allocated_by_module, allocated_by_op : Counter of str
        Bytes that were made in all, freed or not; a call counts for its innermost module.
    peak_by_module : dict of str to int
        The most that was alive while the module, or a part of it, was running.

    Examples
    --------
    >>> model = minitorch.nn.Linear(256, 256, bias=False)
    >>> with MemoryTracker() as tracker:
    ...     model(minitorch.ones(4, 256)).sum().backward()
    >>> tracker.by_category()["parameters"], tracker.by_category()["gradients"]
    (262144, 262144)
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.live_bytes = 0
        self.peak_bytes = 0
        self.peak: MemoryEvent | None = None
        self.timeline: list[MemoryEvent] = []
        self.allocated_by_module: Counter[str] = Counter()
        self.allocated_by_op: Counter[str] = Counter()
        self.peak_by_module: dict[str, int] = {}
        self._live: Counter[str] = Counter()
        self._blocks: dict[int, _Block] = {}
        self._modules: weakref.WeakSet[Module] = weakref.WeakSet()
        self._in_step = False
        self._tracker = ModuleTracker()
        self._handles: list[Any] = []

    # -- results -------------------------------------------------------------------------

    def by_category(self) -> dict[str, int]:
        """Return the bytes that are alive, by `CATEGORIES`."""
        return {category: self._live[category] for category in CATEGORIES}

    def series(self) -> dict[str, list[int]]:
        """Return the timeline as one list of bytes a category: what a stacked plot is made of.

        Examples
        --------
        With matplotlib: ``plt.stackplot(range(len(tracker.timeline)), *tracker.series().values())``.
        """
        return {category: [event.by_category[i] for event in self.timeline] for i, category in enumerate(CATEGORIES)}

    def summary(self) -> str:
        """Return the peak, what it consisted of, and the modules that allocated most, as text."""
        lines = [f"live {self.live_bytes:,} bytes, peak {self.peak_bytes:,} bytes"]
        if self.peak is not None:
            where = f"{self.peak.op} in {self.peak.module}{' (backward)' if self.peak.in_backward else ''}"
            lines.append(f"peak at {where}:")
            lines += [f"  {name:<16}{size:>16,}" for name, size in zip(CATEGORIES, self.peak.by_category, strict=True) if size]
        lines.append("allocated by module:")
        lines += [f"  {name:<32}{size:>16,}" for name, size in self.allocated_by_module.most_common(10)]
        return "\n".join(lines)

    # -- the scope -----------------------------------------------------------------------

    def __enter__(self) -> Any:
        self._tracker.__enter__()
        self._handles = [
            register_module_forward_pre_hook(self._meet_module),
            register_optimizer_step_pre_hook(self._begin_step),
            register_optimizer_step_post_hook(self._end_step),
        ]
        return super().__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        for handle in self._handles:
            handle.remove()
        self._in_step = False
        self._tracker.__exit__(*exc_info)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        for tensor in tensors_in((args, kwargs or {})):
            self._note(tensor, "other")
        result = func(*args, **(kwargs or {}))
        tracker = self._tracker
        made = 0
        category = "temporary" if tracker.is_bw or self._in_step else "activations"
        for tensor in tensors_in(result):
            made += self._note(tensor, category)
        name = str(func)
        module = tracker.innermost
        self.allocated_by_op[name] += made
        self.allocated_by_module[module] += made
        event = MemoryEvent(name, module, tracker.is_bw, self.live_bytes, tuple(self._live[c] for c in CATEGORIES))
        self.timeline.append(event)
        if self.live_bytes >= self.peak_bytes:
            self.peak_bytes, self.peak = self.live_bytes, event
        for running in (*tracker.path, *tracker.backward_path):
            self.peak_by_module[running] = max(self.peak_by_module.get(running, 0), self.live_bytes)
        return result

    # -- blocks --------------------------------------------------------------------------

    def _note(self, tensor: TensorBase, category: str, move: bool = False) -> int:
        """Follow a tensor's memory; return its bytes if it is new. `move` says that a known block is of `category`."""
        owner, nbytes = memory_owner(tensor)
        if owner is None:
            return 0
        key = id(owner)
        block = self._blocks.get(key)
        if block is not None:
            if move and block.category != category:
                self._live[block.category] -= block.nbytes
                self._live[category] += block.nbytes
                block.category = category
            return 0
        self._blocks[key] = _Block(nbytes, category, weakref.ref(owner, lambda _: self._freed(key)))
        self._live[category] += nbytes
        self.live_bytes += nbytes
        return nbytes

    def _freed(self, key: int) -> None:
        block = self._blocks.pop(key, None)
        if block is not None:
            self._live[block.category] -= block.nbytes
            self.live_bytes -= block.nbytes

    def _meet_module(self, module: Module, inputs: Any) -> None:
        if module in self._modules:
            return
        self._modules.add(module)
        for parameter in module.parameters(recurse=False):
            self._note(parameter, "parameters", move=True)
            if parameter.grad is not None:
                self._note(parameter.grad, "gradients", move=True)
            if parameter.requires_grad and parameter.is_leaf:
                self._handles.append(parameter.register_post_accumulate_grad_hook(self._has_gradient))
        for buffer in module.buffers(recurse=False):
            self._note(buffer, "buffers", move=True)

    def _has_gradient(self, parameter: Any) -> None:
        if parameter.grad is not None:
            self._note(parameter.grad, "gradients", move=True)

    def _begin_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._in_step = True

    def _end_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self._in_step = False
        for state in optimizer.state.values():
            for tensor in tensors_in(state):
                self._note(tensor, "optimizer state", move=True)


def memory_owner(tensor: Any) -> tuple[Any, int]:
    """Return the object whose life is that of a tensor's memory, and its bytes; None for tensors without elements."""
    tensor = innermost(tensor)
    cell = tensor.storage_cell
    root = tensor.handle if cell is None else cell.root
    if isinstance(root, np.ndarray):
        while isinstance(root.base, np.ndarray):  # what a kernel computed in another shape
            root = root.base
        return root, root.nbytes
    if tensor.is_meta or not tensor.numel():
        return None, 0
    try:
        memory = memory_of(tensor)
        if not isinstance(root, memory.array_type):
            return None, 0  # its elements are in other tensors, which are followed themselves
        nbytes = memory.nbytes(root)
        weakref.ref(root)
    except (NotImplementedError, TypeError):  # a wrapper, or handles of a backend that cannot be followed
        return None, 0
    return root, nbytes
