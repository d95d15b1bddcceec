"""Distances."""

from __future__ import annotations

from minitorch.ops import functions as F

__all__ = ["cosine_similarity", "pairwise_distance", "pdist"]

cosine_similarity = F.cosine_similarity
pairwise_distance = F.pairwise_distance
pdist = F.pdist
