"""The CUDA backend, on CuPy: NVIDIA's GPUs as the device type ``cuda``.

It is written against the public API for backends (`minitorch.backends`) alone.  CuPy is imported when the device is
first used.
"""


def register():
    """Register the backend; what loads it at the first use of the device."""
    from minitorch.backends.cuda.registration import register as register_now

    return register_now()


__all__ = ["register"]
