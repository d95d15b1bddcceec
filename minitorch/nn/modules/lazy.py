"""Modules that learn the sizes of their inputs at the first call."""

from __future__ import annotations

from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.dtype import int64
from minitorch.nn.modules import batchnorm, conv, instancenorm
from minitorch.nn.modules.linear import Linear
from minitorch.nn.parameter import UninitializedBuffer, UninitializedParameter
from minitorch.ops.functions import zeros
from minitorch.tensor.tensor import Tensor

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d",
    "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear",
]  # fmt: skip

_UNKNOWN = (UninitializedParameter, UninitializedBuffer)


def is_lazy(value: Any) -> bool:
    """Return whether a parameter or buffer has no shape yet."""
    return isinstance(value, _UNKNOWN)


class LazyModuleMixin:
    """Gives a module parameters without shape until its first call, and then its ordinary class.

    A subclass defines `initialize_parameters`, which gets the arguments of the first call.
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        module: Any = self
        self._initialize_handle = module.register_forward_pre_hook(_infer_parameters, with_kwargs=True)
        self._load_handle = module.register_load_state_dict_pre_hook(_materialize_for_state)

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer has no shape yet."""
        module: Any = self
        return any(map(is_lazy, (*module._parameters.values(), *module._buffers.values())))

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes, given the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        module: Any = self
        for table in (module._parameters, module._buffers):
            for name, value in table.items():
                if value is None or name in module._non_persistent_buffers_set:
                    continue
                kept = keep_vars or is_lazy(value)
                destination[prefix + name] = value if kept else value.detach()


def _infer_parameters(module: Any, args: tuple, kwargs: dict) -> None:
    """Initialize a lazy module, and make it an ordinary one."""
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_handle.remove()
    module._load_handle.remove()
    del module._initialize_handle, module._load_handle
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


def _materialize_for_state(module: Any, state_dict: dict, prefix: str, *rest: Any) -> None:
    """Give the parameters the shapes that a state to be loaded has."""
    for table in (module._parameters, module._buffers):
        for name, own in table.items():
            given = state_dict.get(prefix + name)
            if is_lazy(own) and given is not None and not is_lazy(given):
                with no_grad():
                    own.materialize(given.shape)


class LazyLinear(LazyModuleMixin, Linear):
    """`Linear` whose `in_features` is the last size of the first input."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `in_features` from the input."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        elif self.in_features == 0:
            self.in_features = self.weight.shape[-1]


class _LazyConv(LazyModuleMixin):
    """What lazy convolutions share: the number of input channels comes from the first input."""

    _dimensions: int

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        bias = kwargs.pop("bias", True)
        device, dtype = kwargs.get("device"), kwargs.get("dtype")
        super().__init__(0, 0, kernel_size, *args, bias=False, **kwargs)
        module: Any = self
        module.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            module.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw the parameters anew, once they have a shape."""
        module: Any = self
        if not self.has_uninitialized_params() and module.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Take `in_channels` from the input."""
        module: Any = self
        if not self.has_uninitialized_params():
            return
        d = self._dimensions
        if input.dim() not in (d + 1, d + 2):
            raise RuntimeError(
                f"Expected {d + 1}D (unbatched) or {d + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {list(input.shape)}"
            )
        channels = input.shape[1 if input.dim() == d + 2 else 0]
        module.in_channels = channels
        if channels % module.groups:
            raise ValueError("in_channels must be divisible by groups")
        if module.transposed:
            shape = (channels, module.out_channels // module.groups, *module.kernel_size)
        else:
            shape = (module.out_channels, channels // module.groups, *module.kernel_size)
        with no_grad():
            module.weight.materialize(shape)
            if module.bias is not None:
                module.bias.materialize((module.out_channels,))
            self.reset_parameters()


class LazyConv1d(_LazyConv, conv.Conv1d):
    """`Conv1d` whose `in_channels` is that of the first input."""

    cls_to_become = conv.Conv1d
    _dimensions = 1


class LazyConv2d(_LazyConv, conv.Conv2d):
    """`Conv2d` whose `in_channels` is that of the first input."""

    cls_to_become = conv.Conv2d
    _dimensions = 2


class LazyConv3d(_LazyConv, conv.Conv3d):
    """`Conv3d` whose `in_channels` is that of the first input."""

    cls_to_become = conv.Conv3d
    _dimensions = 3


class LazyConvTranspose1d(_LazyConv, conv.ConvTranspose1d):
    """`ConvTranspose1d` whose `in_channels` is that of the first input."""

    cls_to_become = conv.ConvTranspose1d
    _dimensions = 1


class LazyConvTranspose2d(_LazyConv, conv.ConvTranspose2d):
    """`ConvTranspose2d` whose `in_channels` is that of the first input."""

    cls_to_become = conv.ConvTranspose2d
    _dimensions = 2


class LazyConvTranspose3d(_LazyConv, conv.ConvTranspose3d):
    """`ConvTranspose3d` whose `in_channels` is that of the first input."""

    cls_to_become = conv.ConvTranspose3d
    _dimensions = 3


class _LazyNorm(LazyModuleMixin):
    """What lazy normalization shares: the number of channels comes from the first input."""

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        module: Any = self
        module.affine = affine
        module.track_running_stats = track_running_stats
        if affine:
            module.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                module.bias = UninitializedParameter(device=device, dtype=dtype)
        if track_running_stats:
            module.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            module.running_var = UninitializedBuffer(device=device, dtype=dtype)
            module.num_batches_tracked = zeros([], dtype=int64, device=device)

    def reset_parameters(self) -> None:
        """Reset parameters and statistics, once they have a shape."""
        module: Any = self
        if not self.has_uninitialized_params() and module.num_features != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor) -> None:
        """Take `num_features` from the input."""
        module: Any = self
        if not self.has_uninitialized_params():
            return
        module.num_features = input.shape[1]
        with no_grad():
            for table in (module._parameters, module._buffers):
                for value in table.values():
                    if is_lazy(value):
                        value.materialize((module.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, batchnorm.BatchNorm1d):
    """`BatchNorm1d` whose `num_features` is that of the first input."""

    cls_to_become = batchnorm.BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, batchnorm.BatchNorm2d):
    """`BatchNorm2d` whose `num_features` is that of the first input."""

    cls_to_become = batchnorm.BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, batchnorm.BatchNorm3d):
    """`BatchNorm3d` whose `num_features` is that of the first input."""

    cls_to_become = batchnorm.BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, instancenorm.InstanceNorm1d):
    """`InstanceNorm1d` whose `num_features` is that of the first input."""

    cls_to_become = instancenorm.InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, instancenorm.InstanceNorm2d):
    """`InstanceNorm2d` whose `num_features` is that of the first input."""

    cls_to_become = instancenorm.InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, instancenorm.InstanceNorm3d):
    """`InstanceNorm3d` whose `num_features` is that of the first input."""

    cls_to_become = instancenorm.InstanceNorm3d
