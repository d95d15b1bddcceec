"""Shapes, types and argument errors of embedding bags."""

from __future__ import annotations

from minitorch.core.dtype import from_numpy_dtype
from minitorch.ops.shapes.common import MetaArray, check
from minitorch.ops.shapes.registry import shape


def _check_integers(array, name, what):
    check(
        array.dtype.kind == "i" and array.dtype.itemsize >= 4,
        f"{name}(): expected '{what}' to be Long or Int, but got {from_numpy_dtype(array.dtype).scalar_name}",
    )


@shape("embedding_renorm_")
def embedding_renorm_shape(self, indices, max_norm, norm_type):
    check(self.ndim == 2, f"embedding_renorm_(): expected a matrix, got shape {list(self.shape)}")
    _check_integers(indices, "embedding_renorm_", "indices")
    return MetaArray(self.shape, self.dtype, self.strides)


@shape("_embedding_bag")
def embedding_bag_shape(
    weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
    include_last_offset=False, padding_idx=-1,
):  # fmt: skip
    name = "embedding_bag"
    check(weight.ndim == 2, f"{name}(): 'weight' must be 2-D, got shape {list(weight.shape)}")
    check(
        indices.ndim == 1 and offsets.ndim == 1,
        f"{name}(): 'indices' and 'offsets' must be 1-D, got shapes {list(indices.shape)} and {list(offsets.shape)}",
    )
    _check_integers(indices, name, "indices")
    _check_integers(offsets, name, "offsets")
    check(mode in (0, 1, 2), f"{name}(): mode must be 0 (sum), 1 (mean) or 2 (max), got {mode}")
    if per_sample_weights is not None:
        check(mode == 0, f"{name}(): per_sample_weights is only supported with mode 'sum'")
        check(
            per_sample_weights.shape == indices.shape and per_sample_weights.dtype == weight.dtype,
            f"{name}(): expected per_sample_weights of the shape of 'indices' and the dtype of 'weight', got "
            f"{list(per_sample_weights.shape)} of {from_numpy_dtype(per_sample_weights.dtype).scalar_name}",
        )
    check(
        offsets.size > 0 or not include_last_offset,
        f"{name}(): with include_last_offset there must be at least one offset",
    )
    bags = offsets.size - bool(include_last_offset)
    columns = weight.shape[1]
    return (
        MetaArray((bags, columns), weight.dtype),
        MetaArray(indices.shape, indices.dtype),
        MetaArray((bags,), indices.dtype),
        MetaArray((bags, columns) if mode == 2 else (bags,), indices.dtype),
    )
