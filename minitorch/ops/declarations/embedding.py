"""Embedding bags, and rows kept to a norm: what exists."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)",
    variants=FUNCTION,
)
# What functionalization calls in its place.
operator("embedding_renorm(Tensor self, Tensor indices, float max_norm, float norm_type) -> Tensor", variants=0)
operator(
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int "
    "mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> "
    "(Tensor, Tensor, Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, "
    "int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> "
    "(Tensor, Tensor, Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int "
    "mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, int "
    "padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    out="_embedding_bag.out",
    out_names=("out0", "out1", "out2", "out3"),
    variants=FUNCTION,
)
