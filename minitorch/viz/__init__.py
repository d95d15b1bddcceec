"""`minitorch.viz`: pictures of graphs, of the way of a call through the dispatcher, and of memory over time.

Each function returns a `Picture` or a `Chart`, which knows itself as text, as SVG, and a `Picture` as DOT; notebooks show them.
No library is needed. ``docs/seeing.md`` shows them all.
"""

from minitorch.viz.autograd import autograd_graph
from minitorch.viz.chart import Chart
from minitorch.viz.dispatch import dispatch_route
from minitorch.viz.fx import fx_graph
from minitorch.viz.memory import memory_timeline
from minitorch.viz.picture import Edge, Picture, PictureNode

__all__ = [
    "Chart", "Edge", "Picture", "PictureNode", "autograd_graph", "dispatch_route", "fx_graph", "memory_timeline",
]  # fmt: skip
