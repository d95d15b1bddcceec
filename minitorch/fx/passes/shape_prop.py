"""`ShapeProp`: runs a graph and notes shapes and dtypes."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import Any, NamedTuple

from minitorch.core.dtype import dtype as dtype_class
from minitorch.core.layout import strided
from minitorch.core.memory_format import channels_last, channels_last_3d, contiguous_format, memory_format
from minitorch.core.size import Size
from minitorch.core.symbolic import is_symbolic
from minitorch.functorch.module_state import functional_call
from minitorch.fx.graph_module import GraphModule
from minitorch.fx.interpreter import Interpreter
from minitorch.fx.node import Node, map_aggregate
from minitorch.tensor.tensor import Tensor

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor without its elements."""

    shape: Size
    dtype: dtype_class
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: memory_format | None
    is_quantized: bool
    qparams: dict[str, Any]


def extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """Return what is known of a tensor without its elements.

    Parameters
    ----------
    include_contiguity : bool
        Say the memory format too; it stays open for a tensor with symbolic sizes, as asking would decide these.
    """
    found = None
    if result.layout is not strided:
        return TensorMetadata(result.shape, result.dtype, result.requires_grad, (), None, False, {})
    if include_contiguity and not any(map(is_symbolic, (*result.shape, *result.stride()))):
        for layout, rank in ((contiguous_format, None), (channels_last, 4), (channels_last_3d, 5)):
            if rank in (None, result.ndim) and result.is_contiguous(memory_format=layout):
                found = layout
                break
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, tuple(result.stride()), found, False, {})


_extract_tensor_metadata = extract_tensor_metadata  # PyTorch's name


class ShapeProp(Interpreter):
    """Runs a graph and notes in ``node.meta["tensor_meta"]`` what each value is; ``meta["type"]`` is its class.

    Parameters
    ----------
    gm : GraphModule
    fake_mode : FakeTensorMode, optional
        Run with fake inputs under this mode; ``meta["val"]`` is the fake value then.

    Examples
    --------
    >>> from minitorch import fx
    >>> from minitorch.fx.passes.shape_prop import ShapeProp
    >>> module = fx.symbolic_trace(lambda x: minitorch.relu(x).sum(0))
    >>> ShapeProp(module).propagate(minitorch.ones(2, 3))
    tensor([2., 2., 2.])
    >>> [node.meta["tensor_meta"].shape for node in module.graph.nodes]
    [torch.Size([2, 3]), torch.Size([2, 3]), torch.Size([3]), torch.Size([3])]
    """

    def __init__(self, gm: GraphModule, fake_mode: Any = None):
        super().__init__(gm)
        self.fake_mode = fake_mode

    def fetch_attr(self, target: str) -> Any:
        value = super().fetch_attr(target)
        if self.fake_mode is not None and isinstance(value, Tensor):
            return self.fake_mode.from_tensor(value)
        return value

    def call_module(self, target: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        module = super().fetch_attr(target)
        if self.fake_mode is None:
            return module(*args, **kwargs)
        # The module's own tensors stay as they are: running statistics, too.
        state = dict(itertools.chain(module.named_parameters(), module.named_buffers()))
        return functional_call(module, {n: self.fake_mode.from_tensor(t) for n, t in state.items()}, args, kwargs)

    def run_node(self, n: Node) -> Any:
        """Run a node, and note what its value is."""
        try:
            with self.fake_mode if self.fake_mode is not None else nullcontext():
                result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        tensors = False

        def describe(value: Any) -> Any:
            nonlocal tensors
            if not isinstance(value, Tensor):
                return value
            tensors = True
            return extract_tensor_metadata(value)

        meta = map_aggregate(result, describe)
        if tensors:
            n.meta["tensor_meta"] = meta
        if self.fake_mode is not None:
            n.meta["val"] = result
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph with these arguments; return its result."""
        if self.fake_mode is not None:
            args = tuple(self.fake_mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args)
        return super().run(*args)
