"""Old names of functions, which work and say what the new one is."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def old_name(function: Callable[..., Any], name: str, where: str) -> Callable[..., Any]:
    """Return a function under an older name: it warns (FutureWarning) and calls `function`.

    Parameters
    ----------
    where : str
        What stands before both names in the warning: ``"nn.init"``.
    """

    @functools.wraps(function)
    def deprecated(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`{where}.{name}` is now deprecated in favor of `{where}.{function.__name__}`.", FutureWarning, stacklevel=2
        )
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = name
    deprecated.__doc__ = f"Old name of `{function.__name__}`."
    return deprecated
