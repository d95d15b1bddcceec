"""`FakeTensorProp`: notes fake values of all nodes, without computing anything."""

from __future__ import annotations

from typing import Any

from minitorch.fx.passes.shape_prop import ShapeProp

__all__ = ["FakeTensorProp"]


class FakeTensorProp(ShapeProp):
    """Runs a graph on fake tensors, and notes each node's in ``meta["val"]``.

    Parameters
    ----------
    module : GraphModule
    mode : FakeTensorMode, optional
        By default one of its own.
    """

    def __init__(self, module: Any, mode: Any = None):
        if mode is None:
            from minitorch._subclasses.fake_tensor import FakeTensorMode

            mode = FakeTensorMode(allow_non_fake_inputs=True)
        super().__init__(module, mode)
