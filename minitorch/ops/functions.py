"""Every declared operator as a function by its base name: ``functions.add(x, y)``.

Filled in by `ops.assemble`.  The functions choose among overloads as the public ones do,
and go through the dispatcher.
"""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    from minitorch.ops.assemble import make_public_function

    function = make_public_function(name)
    if function is None:
        raise AttributeError(f"no operator is called {name!r}")
    globals()[name] = function
    return function
