"""Questions about a tensor as operators: what wrapper subclasses are asked, and what tracers write down.

Ordinary tensors answer by their methods, without a call.  These operators stand for the question where
``__torch_dispatch__`` is to give the answer (`tensor.subclass`, dispatch policies).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.dispatch.dispatcher import OPERATORS, define, register_kernel
from minitorch.dispatch.operator import PythonKernel

_QUESTIONS: tuple[tuple[str, Callable[..., Any]], ...] = (
    ("aten::dim(Tensor self) -> int", lambda x: x.ndim),
    ("aten::size(Tensor self) -> int[]", lambda x: list(x.shape)),
    ("aten::size.int(Tensor self, int dim) -> int", lambda x, dim: x.shape[dim]),
    ("aten::stride(Tensor self) -> int[]", lambda x: list(x.stride())),
    ("aten::stride.int(Tensor self, int dim) -> int", lambda x, dim: x.stride(dim)),
    ("aten::sym_size(Tensor self) -> SymInt[]", lambda x: list(x.shape)),
    ("aten::sym_size.int(Tensor self, int dim) -> SymInt", lambda x, dim: x.shape[dim]),
    ("aten::sym_stride(Tensor self) -> SymInt[]", lambda x: list(x.stride())),
    ("aten::sym_stride.int(Tensor self, int dim) -> SymInt", lambda x, dim: x.stride(dim)),
    ("aten::sym_numel(Tensor self) -> SymInt", lambda x: x.numel()),
    ("aten::sym_storage_offset(Tensor self) -> SymInt", lambda x: x.storage_offset()),
    ("aten::is_contiguous(Tensor self) -> bool", lambda x: x.is_contiguous()),
    (
        "aten::is_contiguous.memory_format(Tensor self, MemoryFormat memory_format) -> bool",
        lambda x, memory_format: x.is_contiguous(memory_format),
    ),
    ("prim::device(Tensor a) -> Device", lambda x: x.device),
    ("prim::layout(Tensor a) -> Layout", lambda x: x.layout),
)


def register() -> None:
    """Define the operators, as composites."""
    for schema, answer in _QUESTIONS:
        name = schema.partition("(")[0]
        if name not in OPERATORS:
            define(name, schema)
            register_kernel(name, "CompositeImplicitAutograd", PythonKernel(answer))
