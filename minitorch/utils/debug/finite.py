"""`FiniteCheckMode`: stop at the first operator that makes a NaN or an infinity out of finite values."""

from __future__ import annotations

import math
from typing import Any

from minitorch.dispatch.mode_stack import disable_all_modes
from minitorch.dispatch.namespace import OpOverload
from minitorch.modes.dispatch_mode import TorchDispatchMode
from minitorch.ops import functions as F
from minitorch.tensor.wrapper import has_elements
from minitorch.utils.debug.text import call_text
from minitorch.utils.debug.values import tensors_in
from minitorch.utils.module_tracker import ModuleTracker

__all__ = ["FiniteCheckMode", "NonFiniteError"]

# Their results are uninitialised memory.
_UNINITIALISED = frozenset(
    ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided", "resize_", "set_")
)


class NonFiniteError(RuntimeError):
    """An operator made a NaN or an infinity.

    Attributes
    ----------
    op : OpOverload
    args, kwargs
        The call's.
    result
    module : str
        The module that was running, ``"Global"`` for none.
    in_backward : bool
    """

    def __init__(self, message: str, op: Any, args: tuple, kwargs: Any, result: Any, module: str, in_backward: bool):
        super().__init__(message)
        self.op, self.args_of_call, self.kwargs = op, args, kwargs
        self.result, self.module, self.in_backward = result, module, in_backward


class FiniteCheckMode(TorchDispatchMode):
    """Scope in which the first operator that makes a NaN or an infinity out of finite values is an error.

    It looks at every operator, in forward and backward, so the error stands where the value came up and not
    where it was noticed.

    Parameters
    ----------
    nan, inf : bool
        What to look for.
    ignore : sequence of OpOverload or OpOverloadPacket
        Operators that may do it.

    Raises
    ------
    NonFiniteError
        A RuntimeError that knows the operator, its arguments, and the module.

    Examples
    --------
    >>> x = minitorch.tensor([1.0, -1.0])
    >>> with FiniteCheckMode():
    ...     y = (x * 2).log().sum()
    Traceback (most recent call last):
    ...
    minitorch.utils.debug.finite.NonFiniteError: aten.log.default made 1 NaN out of finite values: aten.log.default(f32[2])
    """

    def __init__(self, *, nan: bool = True, inf: bool = True, ignore: Any = ()):
        super().__init__()
        self.nan = nan
        self.inf = inf
        self.ignore = frozenset(str(op) for op in ignore)
        self._tracker = ModuleTracker()

    def __enter__(self) -> Any:
        self._tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        self._tracker.__exit__(*exc_info)

    def __torch_dispatch__(self, func: OpOverload, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        keywords = kwargs or {}
        if func.basename in _UNINITIALISED or str(func) in self.ignore or str(func.overloadpacket) in self.ignore:
            return func(*args, **keywords)
        writes = func._schema.is_mutable
        with disable_all_modes():
            # What is written must be looked at before.
            finite = self._finite_arguments(func, args, keywords) if writes else None
        result = func(*args, **keywords)
        with disable_all_modes():
            found = self._found(result)
            if found and (finite if finite is not None else self._finite_arguments(func, args, keywords)):
                self._report(func, args, keywords, result, found)
        return result

    def _finite_arguments(self, func: OpOverload, args: tuple, kwargs: dict[str, Any]) -> bool:
        if func._schema.arguments and any(isinstance(v, float) and not math.isfinite(v) for v in (*args, *kwargs.values())):
            return False  # as in masked_fill(mask, -inf): it was asked for
        skipped = {"out"} if "out" in kwargs else set()
        values = [*args, *(v for name, v in kwargs.items() if name not in skipped)]
        return not any(_count(tensor, "isfinite", negate=True) for tensor in tensors_in(values))

    def _found(self, result: Any) -> dict[str, int]:
        found: dict[str, int] = {}
        for tensor in tensors_in(result):
            for name, wanted, predicate in (("NaN", self.nan, "isnan"), ("infinity", self.inf, "isinf")):
                count = _count(tensor, predicate) if wanted else 0
                if count:
                    found[name] = found.get(name, 0) + count
        return found

    def _report(self, func: Any, args: tuple, kwargs: dict[str, Any], result: Any, found: dict[str, int]) -> None:
        tracker = self._tracker
        module = tracker.innermost
        where = "" if module == "Global" else f" in {module}"
        when = " (in backward)" if tracker.is_bw else ""
        what = ", ".join(f"{count} {name}" for name, count in found.items())
        raise NonFiniteError(
            f"{func} made {what} out of finite values{where}{when}: {call_text(func, args, kwargs)}",
            func, args, kwargs, result, module, tracker.is_bw,
        )  # fmt: skip


def _count(tensor: Any, predicate: str, negate: bool = False) -> int:
    """Return of how many elements a predicate holds; 0 for dtypes that have finite values alone, and without elements."""
    if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex) or tensor.is_meta or not tensor.numel():
        return 0
    if not has_elements(tensor):
        return 0
    holds = getattr(F, predicate)(tensor.detach())
    count = int(F.sum(holds).item())
    return tensor.numel() - count if negate else count
