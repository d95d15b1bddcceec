"""`PassManager`: runs passes in an order that their constraints allow."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from minitorch.fx.graph_module import GraphModule
from minitorch.fx.passes.infra.pass_base import PassResult

__all__ = ["PassManager", "pass_result_wrapper", "this_before_that_pass_constraint"]

Pass = Callable[[Any], Any]
Constraint = Callable[[Pass, Pass], bool]


def pass_result_wrapper(fn: Pass) -> Pass:
    """Return a function that changes a module in place as a pass with a `PassResult`; it counts as modified."""

    @wraps(fn)
    def run(module: GraphModule) -> PassResult:
        result = fn(module)
        if isinstance(result, PassResult):
            return result
        return PassResult(module if result is None else result, True)

    return run


def this_before_that_pass_constraint(this: Pass, that: Pass) -> Constraint:
    """Return the constraint that one pass comes before another."""
    return lambda first, second: not (first is that and second is this)


class PassManager:
    """Runs passes one after the other.

    Parameters
    ----------
    passes : list of callable
        ``GraphModule -> PassResult or None``.
    constraints : list of callable
        ``(a, b) -> bool``: whether `a` may come before `b`.
    steps : int
        How often all passes are run; it ends earlier when none modifies the module.
    run_checks_after_each_pass : bool
        Call the checks (`add_checks`) after each pass, and not only after all.

    Examples
    --------
    >>> from minitorch import fx
    >>> from minitorch.fx.passes.infra.pass_manager import PassManager, pass_result_wrapper
    >>> def clean(module):
    ...     module.graph.eliminate_dead_code()
    ...     module.recompile()
    >>> module = fx.symbolic_trace(lambda x: (minitorch.relu(x), x)[1])
    >>> result = PassManager([pass_result_wrapper(clean)])(module)
    >>> len(result.graph_module.graph.nodes)
    2
    """

    def __init__(
        self,
        passes: Iterable[Pass] = (),
        constraints: Iterable[Constraint] = (),
        steps: int = 1,
        run_checks_after_each_pass: bool = False,
    ):
        self.passes = list(passes)
        self.constraints = list(constraints)
        self.steps = steps
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self._checks: list[Callable[[GraphModule], None]] = []
        self._in_order = False

    def add_pass(self, _pass: Pass) -> None:
        """Add a pass at the end."""
        self.passes.append(_pass)
        self._in_order = False

    def add_constraint(self, constraint: Constraint) -> None:
        """Add a constraint on the order."""
        self.constraints.append(constraint)
        self._in_order = False

    def add_checks(self, check: Callable[[GraphModule], None]) -> None:
        """Add a function that raises if the module is not as it should be."""
        self._checks.append(check)

    def validate_constraints(self) -> None:
        """Raise RuntimeError if a pass stands before another one that must come first."""
        for constraint in self.constraints:
            for i, first in enumerate(self.passes):
                for second in self.passes[i + 1 :]:
                    if not constraint(first, second):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {_name(second)} before {_name(first)}, but "
                            f"found {_name(first)} at index {i} and {_name(second)} behind it"
                        )

    def solve_constraints(self) -> None:
        """Put the passes in an order that the constraints allow; otherwise they keep theirs.

        Raises
        ------
        RuntimeError
            If there is none.
        """
        waiting, order = list(self.passes), []
        while waiting:
            free = [p for p in waiting if all(c(p, other) for c in self.constraints for other in waiting if other is not p)]
            if not free:
                raise RuntimeError(f"Circular dependency detected within the passes {', '.join(map(_name, waiting))}")
            order.append(free[0])
            waiting.remove(free[0])
        self.passes = order
        self._in_order = True

    def check(self, module: GraphModule) -> None:
        """Call the checks."""
        for check in self._checks:
            check(module)

    def __call__(self, module: GraphModule) -> PassResult:
        """Run the passes.

        Raises
        ------
        RuntimeError
            If a pass or a check fails; the text names the pass.
        """
        if not self._in_order:
            self.solve_constraints()
        self.check(module)
        modified_ever = False
        for _ in range(self.steps):
            modified = False
            for i, run in enumerate(self.passes):
                try:
                    result = run(module)
                    if result is not None and not isinstance(result, PassResult):
                        raise TypeError(f"it must return a PassResult or None, got {type(result).__name__}")
                    if result is not None:
                        module, modified = result.graph_module, modified or result.modified
                        module.recompile()
                    if self.run_checks_after_each_pass:
                        self.check(module)
                except Exception as error:
                    done = ", ".join(map(_name, self.passes[:i]))
                    raise RuntimeError(f"An error occurred when running the pass {_name(run)} after [{done}]: {error}") from error
            self.check(module)
            modified_ever = modified_ever or modified
            if not modified:
                break
        return PassResult(module, modified_ever)


def _name(run: Pass) -> str:
    return getattr(run, "__name__", type(run).__name__)
