"""How tensors go to another process: shared memory as a descriptor of its file, other elements as copies."""

from __future__ import annotations

import os
import pickle
from multiprocessing import reduction
from typing import Any

from minitorch.dispatch.keys import CONJUGATE, NEGATIVE
from minitorch.nn.parameter import Parameter
from minitorch.ops.functions import empty
from minitorch.tensor.creation import from_numpy
from minitorch.tensor.shared_memory import attach, buffer_of
from minitorch.tensor.tensor import Tensor


def reduce_tensor(tensor: Any) -> Any:
    """Return how a tensor is rebuilt in another process, for pickle.

    Raises
    ------
    RuntimeError
        If it has a gradient graph.
    """
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            f"A tensor of shape {tuple(tensor.shape)} that requires grad and is not a leaf cannot go to another process, as "
            "autograd does not follow it there. Send tensor.detach()."
        )
    buffer = buffer_of(tensor.handle)
    if buffer is None or tensor.key_set & (CONJUGATE | NEGATIVE):
        return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    return rebuild_tensor, (
        type(tensor), reduction.DupFd(buffer.descriptor), len(buffer), tensor.dtype, tuple(tensor.shape), tensor.stride(),
        tensor.storage_offset(), tensor.requires_grad,
    )  # fmt: skip


def rebuild_tensor(
    kind: type, descriptor: Any, nbytes: int, dtype: Any, shape: tuple, stride: tuple, offset: int, requires_grad: bool
) -> Any:
    """Return a tensor over memory that another process shares."""
    storage = from_numpy(attach(descriptor.detach(), nbytes)).untyped_storage()
    tensor = empty([0], dtype=dtype).set_(storage, offset, shape, stride)
    return Parameter(tensor, requires_grad) if kind is Parameter else tensor.requires_grad_(requires_grad)


def init_reductions() -> None:
    """Let queues, pipes and arguments of processes take tensors so."""
    if os.name == "posix":
        for kind in (Tensor, Parameter):
            reduction.ForkingPickler.register(kind, reduce_tensor)


def get_all_sharing_strategies() -> set[str]:
    """Return the ways in which memory is shared: by descriptors of files without names."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """Return the way in which memory is shared, ``file_descriptor``."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose the way in which memory is shared; there is one.

    Raises
    ------
    ValueError
        If it is another one.
    """
    if new_strategy not in get_all_sharing_strategies():
        raise ValueError(f"set_sharing_strategy(): {new_strategy!r} is none of {sorted(get_all_sharing_strategies())}")
