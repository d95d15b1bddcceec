"""Defining and extending operators: libraries, custom operators, and rules for transforms."""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.fake_impl import get_ctx
from minitorch.dispatch.library import KernelHandle, Library, fallthrough_kernel, get_kernel
from minitorch.dispatch.library_functions import (
    define,
    impl,
    register_fake,
    register_torch_dispatch,
)
from minitorch.dispatch.tags import Tag
from minitorch.library.custom_op import CustomOpDef, custom_op
from minitorch.library.infer_schema import infer_schema
from minitorch.library.registration import (
    register_autocast,
    register_autograd,
    register_kernel,
    register_vmap,
)

__all__ = [
    "CustomOpDef",
    "KernelHandle",
    "Library",
    "Tag",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "get_kernel",
    "impl",
    "infer_schema",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
]


def __getattr__(name: str) -> Any:
    if name == "opcheck":  # it stands in `testing`, which is above this package
        from minitorch.testing.opcheck import opcheck

        return opcheck
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
