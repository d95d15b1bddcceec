"""Batch rules of what works on the values of sparse tensors; element-wise operators have theirs in `pointwise`."""

from __future__ import annotations

from minitorch.functorch.batch_rules.pointwise import pointwise
from minitorch.functorch.rules import structure

# The mapped dimension is a dimension of the sparse tensor like the others, and stays where it is.
structure(pointwise, "_to_dense", "_coalesce")
