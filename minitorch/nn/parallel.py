"""Modules on several devices: `DataParallel` and what it is made of.

`DataParallel` runs a module on the device that it is on; the functions do what they say, on the devices that are named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any

from minitorch.autograd.grad_mode import set_grad_enabled
from minitorch.core.device import device
from minitorch.dispatch.local_state import current
from minitorch.nn.modules.module import Module
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase

__all__ = ["DataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


class DataParallel(Module):
    """Runs a module on the device that it is on; names of parameters begin with ``module.``, as files have them.

    Parameters
    ----------
    module : Module
    device_ids, output_device, dim
        Accepted for PyTorch's sake: batches are not split over devices.

    Attributes
    ----------
    module : Module
    """

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Return what the module computes."""
        return self.module(*inputs, **kwargs)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> Any:
    """Cut each tensor in `inputs` into chunks along `dim`, and move one to each device.

    Parameters
    ----------
    inputs : Tensor, or tuples, lists and dictionaries of them
        What is no tensor is repeated.
    target_gpus : sequence of device or int

    Returns
    -------
    tuple or list
        One item of the structure of `inputs` a device; fewer where a tensor has fewer rows than there are devices.
    """
    places = [_device(place) for place in target_gpus]
    if isinstance(inputs, TensorBase):
        return tuple([part.to(place) for part, place in zip(F.chunk(inputs, len(places), dim), places, strict=False)])
    if isinstance(inputs, (tuple, list)) and inputs:
        rows = list(zip(*[scatter(item, places, dim) for item in inputs], strict=False))
        return [type(inputs)(row) if not hasattr(inputs, "_fields") else type(inputs)(*row) for row in rows]
    if isinstance(inputs, Mapping) and inputs:
        return [type(inputs)(row) for row in zip(*[scatter(item, places, dim) for item in inputs.items()], strict=False)]
    return [inputs for _ in places]


def _device(place: Any) -> device:
    if not isinstance(place, int):
        return device(place)
    return device("cuda", place)


def gather(outputs: Sequence[Any], target_device: Any, dim: int = 0) -> Any:
    """Join the results of several devices along `dim` on one: the inverse of `scatter`.

    Results without dimensions become a vector.
    """
    first = outputs[0]
    place = _device(target_device)
    if isinstance(first, TensorBase):
        parts = [F.unsqueeze(part, 0) if part.ndim == 0 else part for part in outputs]
        return F.cat([part.to(place) for part in parts], 0 if first.ndim == 0 else dim)
    if first is None:
        return None
    if isinstance(first, Mapping):
        return type(first)((key, gather([item[key] for item in outputs], place, dim)) for key in first)
    items = [gather(list(row), place, dim) for row in zip(*outputs, strict=True)]
    return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)


def replicate(network: Module, devices: Sequence[Any], detach: bool = False) -> list[Module]:
    """Return a copy of a module on each device, whose parameters are computed from the module's, so that gradients arrive there.

    Parameters
    ----------
    detach : bool
        Make copies without history.
    """
    replicas = []
    for place in map(_device, devices):
        replica = deepcopy(network)
        for (_, source), target in zip(network.named_modules(), replica.modules(), strict=True):
            for name, parameter in source._parameters.items():
                if parameter is not None:
                    copied = parameter.to(place)
                    target._parameters[name] = copied.detach() if detach else copied
            for name, buffer in source._buffers.items():
                if buffer is not None:
                    target._buffers[name] = buffer.to(place)
        replicas.append(replica)
    return replicas


def parallel_apply(
    modules: Sequence[Module], inputs: Sequence[Any], kwargs_tup: Sequence[dict] | None = None, devices: Any = None
) -> list[Any]:
    """Call each module with its inputs, each in a thread of its own, and return the results.

    An error in a thread is raised here; grad mode is that of the caller.
    """
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    keywords = [{}] * len(modules) if kwargs_tup is None else kwargs_tup
    recorded = current().grad_enabled

    def call(module: Module, given: Any, named: dict) -> Any:
        with set_grad_enabled(recorded):
            return module(*(given if isinstance(given, (list, tuple)) else (given,)), **named)

    if len(modules) == 1:
        return [call(modules[0], inputs[0], keywords[0])]
    with ThreadPoolExecutor(len(modules)) as pool:
        return list(pool.map(call, modules, inputs, keywords))


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None, dim: int = 0,
    module_kwargs: dict | None = None,
) -> Any:  # fmt: skip
    """Run a module on several devices, each with a part of the batch, and return the whole result.

    Parameters
    ----------
    device_ids : sequence of device or int, optional
        Where they are missing, the module runs as it is.
    output_device : device or int, optional
        The first of `device_ids` where it is missing.
    """
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    named = module_kwargs or {}
    if not device_ids:
        return module(*given, **named)
    parts = scatter(given, device_ids, dim)
    keywords = scatter(named, device_ids, dim)[: len(parts)] if named else None
    used = device_ids[: len(parts)]
    results = parallel_apply(replicate(module, used), parts, keywords, used)
    return gather(results, device_ids[0] if output_device is None else output_device, dim)
