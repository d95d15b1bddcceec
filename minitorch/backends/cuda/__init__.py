"""The CUDA backend, on CuPy: NVIDIA's GPUs as the device type ``cuda``.

It is written against the public API for backends (`minitorch.backends`) alone.  CuPy is imported when the device is
first used.
"""

from types import SimpleNamespace


def register():
    """Register the backend; what loads it at the first use of the device."""
    from minitorch.backends.cuda.registration import register as register_now

    return register_now()


# What programs set about products on a GPU (``torch.backends.cuda.matmul``).
matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
)


def is_built():
    """Return whether there is a backend for these devices: True; `minitorch.cuda.is_available` asks for a device."""
    return True


__all__ = ["is_built", "matmul", "register"]
