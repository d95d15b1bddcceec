"""`FakeCopyMode`: copies of a real model that are fake."""

from __future__ import annotations

from typing import Any

from minitorch.fake.mode import FakeTensorMode
from minitorch.ops.overriding import TorchFunctionMode
from minitorch.tensor.tensor import Tensor


class FakeCopyMode(TorchFunctionMode):
    """Scope in which ``copy.deepcopy`` makes fake tensors of real ones.

    Parameters
    ----------
    fake_mode : FakeTensorMode
        What they belong to.

    Examples
    --------
    >>> import copy
    >>> from minitorch._subclasses import FakeTensorMode
    >>> with FakeCopyMode(FakeTensorMode()):
    ...     layer = copy.deepcopy(minitorch.nn.Linear(3, 2))
    >>> layer.weight
    Parameter(FakeTensor(..., size=(2, 3), requires_grad=True))
    """

    def __init__(self, fake_mode: FakeTensorMode):
        self.fake_mode = fake_mode

    def __torch_function__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is Tensor.clone and len(args) == 1 and not kwargs:
            return func(self.fake_mode.from_tensor(args[0], static_shapes=True))
        if func is Tensor.__deepcopy__:
            tensor, memo = args
            if id(tensor) not in memo:
                memo[id(tensor)] = self.fake_mode.from_tensor(tensor, static_shapes=True)
            return memo[id(tensor)]
        return func(*args, **kwargs)
