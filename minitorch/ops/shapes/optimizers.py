"""Meta kernels of whole optimizer steps: they write, and return nothing."""

from __future__ import annotations

from minitorch.ops.shapes.registry import shape


@shape("_fused_sgd_", "_fused_adam_", "_fused_adamw_")
def fused_step_shape(self, grads, *args, **kwargs):
    for parameter, grad in zip(self, grads, strict=True):
        if parameter.shape != grad.shape:
            raise RuntimeError(
                f"optimizer step: a parameter of shape {parameter.shape} has a gradient of shape "
                f"{grad.shape}"
            )
    return None
