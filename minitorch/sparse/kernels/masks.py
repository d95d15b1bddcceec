"""A tensor's values where a sparse one has entries: `sparse_mask`."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.sparse.handles import is_coo, is_sparse, same_pattern
from minitorch.sparse.lookup import element_positions, values_at
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
    if is_sparse(self) and has_pattern_of(self, mask):
        return same_pattern(mask, F.clone(self.handle.values))
    return same_pattern(mask, values_at(self, mask))


@sparse_kernel("_sparse_mask_projection", layouts=(COO,))
def sparse_mask_projection(self, mask, accumulate_matches=False):
    if not (is_coo(self) and is_coo(mask)):
        raise Unsupported("both tensors must be of layout sparse_coo")
    handle = self.handle
    positions = element_positions(mask)
    if not mask.handle.coalesced:
        positions = F.sort(positions)[0]
    own = element_positions(self)
    # How often each of the tensor's places comes in the mask: 0 or 1 if matches are not to be added up.
    found = F.sub(F.searchsorted(positions, own, right=True), F.searchsorted(positions, own))
    if not accumulate_matches:
        found = F.clamp(found, max=1)
    found = F.reshape(found, [handle.nnz, *[1] * (handle.values.ndim - 1)])
    return same_pattern(self, F.mul(handle.values, found.to(handle.values.dtype)))
