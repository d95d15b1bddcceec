"""Sorting written with other operators."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.composite.registry import composite_implicit


@composite_implicit("msort")
def msort_composite(self):
    return F.sort(self, 0)[0]
