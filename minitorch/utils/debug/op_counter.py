"""`OpCounterMode`: which operators a program calls, how often, and in which modules."""

from __future__ import annotations

from collections import Counter
from typing import Any

from minitorch.dispatch.introspect import all_op_names
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.utils.module_tracker import ModuleTracker

__all__ = ["OpCounterMode"]


class OpCounterMode(TorchDispatchMode):
    """Scope in which operator calls are counted, in all and for each module.

    Attributes
    ----------
    counts : Counter of str
        Calls by operator, as ``"aten.add.Tensor"``.
    by_module : dict of str to Counter
        The same for each module; a call counts for all modules that are running. ``"Global"`` is all of them.

    Examples
    --------
    >>> with OpCounterMode() as counter:
    ...     y = minitorch.ones(2).exp() + minitorch.ones(2)
    >>> counter.counts["aten.ones.default"], counter.counts["aten.exp.default"]
    (2, 1)
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[str] = Counter()
        self.by_module: dict[str, Counter[str]] = {}
        self._tracker = ModuleTracker()

    def __enter__(self) -> Any:
        self._tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        self._tracker.__exit__(*exc_info)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        name = str(func)
        self.counts[name] += 1
        for module in dict.fromkeys((*self._tracker.path, *self._tracker.backward_path)):
            self.by_module.setdefault(module, Counter())[name] += 1
        return func(*args, **(kwargs or {}))

    def coverage(self, namespace: str = "aten") -> tuple[list[str], list[str]]:
        """Return the operators of a namespace that were called, and those that were not, sorted by name.

        What a test suite has never called, it has not tested.
        """
        known = sorted(_shown(name) for name in all_op_names() if name.startswith(f"{namespace}::"))
        called = [name for name in known if name in self.counts]
        return called, [name for name in known if name not in self.counts]

    def get_table(self, limit: int | None = None) -> str:
        """Return the counts as text, the most frequent first."""
        rows = self.counts.most_common(limit)
        width = max((len(name) for name, _ in rows), default=0)
        return "\n".join(f"{name:<{width}}  {count:>8,}" for name, count in rows)


def _shown(qualname: str) -> str:
    namespace, _, rest = qualname.partition("::")
    name, _, overload = rest.partition(".")
    return f"{namespace}.{name}.{overload or 'default'}"
