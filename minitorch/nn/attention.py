"""``torch.nn.attention``: which kernels attention may use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from minitorch.ops.composite.attention import fused_attention

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(IntEnum):
    """The ways to compute `nn.functional.scaled_dot_product_attention`.

    Here there are two: ``MATH`` is made of products and a softmax, ``FLASH_ATTENTION`` is one operator that never
    holds all weights at once.  Those of other libraries mean the second.
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """Scope in which attention is computed in some ways alone, in this thread.

    Parameters
    ----------
    backends : SDPBackend or list of SDPBackend
    set_priority : bool
        Whether the first is preferred; the fused operator is, if it is among them.

    Raises
    ------
    AssertionError
        If `backends` are none.

    Examples
    --------
    >>> from minitorch.nn.attention import SDPBackend, sdpa_kernel
    >>> x = minitorch.ones(1, 1, 2, 4)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     y = minitorch.nn.functional.scaled_dot_product_attention(x, x, x)
    """
    given = [backends] if isinstance(backends, SDPBackend) else backends
    if not isinstance(given, (list, tuple)) or not all(isinstance(b, SDPBackend) for b in given):
        raise AssertionError(f"sdpa_kernel(): expected an SDPBackend or a list of these, got {backends!r}")
    with fused_attention(any(b not in (SDPBackend.MATH, SDPBackend.ERROR) for b in given)):
        yield
