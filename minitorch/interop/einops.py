"""Tensors in einops: once this module is imported, ``einops.rearrange`` and its kind take them.

    import einops
    import minitorch.interop.einops

    einops.rearrange(minitorch.ones(2, 3, 4), "a b c -> (a b) c")
"""

from __future__ import annotations

from typing import Any

from einops import _backends as backends

import minitorch


class MinitorchBackend(backends.TorchBackend):
    """What einops calls for tensors: what it calls of PyTorch, of minitorch.

    It is found as a subclass of einops' own, by the type of the tensor.
    """

    framework_name = "minitorch"

    def __init__(self) -> None:
        # Not the inherited one: it imports torch, and registers operators with its compiler.
        self.torch = minitorch

    def layers(self) -> Any:
        raise NotImplementedError("einops has no layers for minitorch; call its functions in a module's forward()")
