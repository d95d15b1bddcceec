"""Fake impls: functions that compute an operator's results on tensors without elements.

The same function serves meta tensors, through a kernel of the Meta key, and fake tensors,
whose mode calls `run_fake_impl` with a context of its own.  A fake impl asks for that
context with `get_ctx` when the shape of a result depends on data.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from minitorch.dispatch.operator import Operator, PythonKernel
from minitorch.dispatch.schema_matching import convert_returns


class FakeContext(Protocol):
    """What `get_ctx` returns under fake mode."""

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Return a size that is known only when the operator runs on real data."""


class _Local(threading.local):
    # The context of the fake impl that runs; or the text of the error for asking.
    context: FakeContext | str | None = None


_local = _Local()


def get_ctx() -> FakeContext | None:
    """Return the context of the fake impl that is running; None outside of fake impls.

    Raises
    ------
    RuntimeError
        If the fake impl runs for meta tensors, where no size can depend on data.
    """
    context = _local.context
    if isinstance(context, str):
        raise RuntimeError(context)
    return context


def run_fake_impl(
    fn: Callable[..., Any],
    context: FakeContext | str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
) -> Any:
    """Call a fake impl, with `context` as what `get_ctx` returns inside.

    A string is the text of the error that `get_ctx` raises instead.
    """
    saved = _local.context
    _local.context = context
    try:
        return fn(*args, **(kwargs or {}))
    finally:
        _local.context = saved


class FakeImplKernel(PythonKernel):
    """A fake impl as the Meta kernel of its operator."""

    __slots__ = ()

    def run(self, op: Operator, entry: Any, args: Any, kwargs: Any) -> Any:
        refusal = (
            f"{op.qualname} ({self.location()}): You're trying to run this operator with meta "
            "Tensors (as opposed to FakeTensors), but this operator may return an output Tensor "
            "with data-dependent shape, which meta Tensors cannot have. If it does not, make "
            "sure that its fake impl does not call get_ctx(); otherwise use FakeTensors."
        )
        result = run_fake_impl(self.fn, refusal, args, kwargs)
        return convert_returns(op.schema, op.qualname, result)
