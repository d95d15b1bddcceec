"""What the tests of functionalization share: running a function functionalized, and what was called below."""

from __future__ import annotations

from minitorch.functionalize import functionalization, is_functional, sync, unwrap, wrap
from minitorch.modes import TorchDispatchMode


class Below(TorchDispatchMode):
    """Notes the operators that are called below functionalization."""

    def __init__(self):
        super().__init__()
        self.called = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.called.append(func)
        return func(*args, **(kwargs or {}))

    @property
    def names(self):
        return [str(op).removeprefix("aten.").removesuffix(".default") for op in self.called]

    @property
    def mutating(self):
        return [str(op) for op in self.called if op._schema.is_mutable]


def plain(result):
    """Return a result with functional tensors replaced by their values."""
    if isinstance(result, (list, tuple)):
        return [plain(item) for item in result]
    return unwrap(result) if is_functional(result) else result


def functionalized(function, *inputs, reapply_views=True):
    """Run a function on wrapped tensors; return the operators below, its plain result, and the wrappers."""
    wrappers = [wrap(t) for t in inputs]
    with functionalization(reapply_views=reapply_views), Below() as below:
        result = plain(function(*wrappers))
        for wrapper in wrappers:
            sync(wrapper)
    return below, result, wrappers
