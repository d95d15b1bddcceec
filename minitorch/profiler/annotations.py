"""`record_function`: a name for a part of a program."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from minitorch.dispatch.trace import observer

__all__ = ["record_function"]


class record_function:
    """Scope or decorator: what happens inside is shown under `name` by a profiler that is running.

    Without one it does nothing.

    Parameters
    ----------
    name : str
    args : str, optional
        Anything that tells one occasion from another; it is kept with the event.

    Examples
    --------
    >>> from minitorch.profiler import profile, record_function
    >>> with profile() as prof:
    ...     with record_function("twice"):
    ...         y = minitorch.ones(3) * 2
    >>> [event.key for event in prof.key_averages()][:2]
    ['twice', 'aten::ones']
    """

    def __init__(self, name: str, args: str | None = None):
        self.name = name
        self.args = args
        self._open: list[tuple[Any, Any]] = []

    def __enter__(self) -> record_function:
        watching = observer()
        self._open.append((watching, None if watching is None else watching.annotation_begins(self.name, self.args)))
        return self

    def __exit__(self, *exc_info: Any) -> None:
        watching, token = self._open.pop()
        if watching is not None:
            watching.annotation_ended(token)

    def __call__(self, function: Callable) -> Callable:
        """Return `function` with all of it in such a scope."""

        @wraps(function)
        def annotated(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return annotated
