"""Helpers for tests of programs that use minitorch, and of minitorch itself."""

from minitorch.testing.comparison import assert_allclose, assert_close
from minitorch.testing.creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
