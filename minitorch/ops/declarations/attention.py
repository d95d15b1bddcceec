"""Attention: what exists."""

from minitorch.ops.registry import FUNCTION, operator

operator(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool "
    "enable_gqa=False) -> Tensor",
    variants=FUNCTION, python_module="nn",
)
operator(
    "_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? "
    "attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
    "float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
    variants=FUNCTION,
)
operator(
    "_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
    "float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) "
    "-> (Tensor output, Tensor logsumexp)",
    variants=FUNCTION,
)
operator(
    "_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, "
    "Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool "
    "is_causal, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor "
    "grad_key, Tensor grad_value)",
    variants=0,
)
operator("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", variants=FUNCTION)
