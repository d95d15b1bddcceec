"""A tensor's values where a sparse one has entries: `sparse_mask`."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.sparse.handles import coo, is_compressed, is_coo, is_sparse, same_pattern
from minitorch.sparse.lookup import element_positions, pick, sorted_elements, values_at
from minitorch.sparse.refusal import Unsupported
from minitorch.sparse.registration import COO, sparse_kernel


def has_pattern_of(tensor, mask):
    """Return whether a tensor has the very indices of another, so that their values stand side by side."""
    if type(tensor.handle) is not type(mask.handle) or tensor.layout is not mask.layout:
        return False
    own, other = tensor.handle.components()[:-1], mask.handle.components()[:-1]
    return all(a is b for a, b in zip(own, other, strict=True))


@sparse_kernel("sparse_mask")
def sparse_mask(self, mask):
    if not is_sparse(mask):
        raise Unsupported("the mask must be sparse, but is dense; convert it with to_sparse()")
    if has_pattern_of(self, mask) and (is_compressed(mask) or mask.handle.coalesced):
        return same_pattern(mask, F.clone(self.handle.values))
    return same_pattern(mask, values_at(self, mask))


@sparse_kernel("_sparse_mask_projection", layouts=(COO,))
def sparse_mask_projection(self, mask, accumulate_matches=False):
    if not (is_coo(self) and is_coo(mask)):
        raise Unsupported("both tensors must be of layout sparse_coo")
    positions, _ = sorted_elements(mask)
    own = element_positions(self)
    ones = F.ones([positions.shape[0]], dtype=own.dtype, device=own.device)
    kept = F.squeeze(F.nonzero(pick(positions, ones, own)), 1)
    handle = self.handle
    return coo(handle.shape, F.index_select(handle.indices, 1, kept), F.index_select(handle.values, 0, kept), handle.coalesced)
