"""`GradScaler`: the loss is multiplied before the backward pass, and gradients are divided before the step.

Note [What a scaler goes through]
    An optimizer is READY until `unscale_` (UNSCALED) and `step` (STEPPED); `update` makes all of them READY again.
    Whether a gradient was infinite or NaN is known for each optimizer and device: a step is left out if any
    was, and `update` makes the scale smaller then, or larger after `growth_interval` times without.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

from minitorch.autograd.grad_mode import no_grad
from minitorch.core.device import device as device_class
from minitorch.core.dtype import float16, float32, int32
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase
from minitorch.tensor.tensor import Tensor

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """How far an optimizer is between two updates (Note [What a scaler goes through])."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


class _OfOptimizer:
    """What a scaler knows of one optimizer since the last update."""

    __slots__ = ("found_inf", "stage")

    def __init__(self) -> None:
        self.stage = OptState.READY
        self.found_inf: dict[Any, Any] = {}  # by device


class _Copies:
    """A tensor of one element, and its copies on other devices, made when they are asked for."""

    __slots__ = ("_by_device", "_source")

    def __init__(self, source: Any):
        self._source = source
        self._by_device = {source.device: source}

    def on(self, device: Any) -> Any:
        found = self._by_device.get(device)
        if found is None:
            found = self._by_device[device] = self._source.to(device=device)
        return found


class GradScaler:
    """Scales losses so that their gradients fit float16, and skips steps whose gradients do not.

    Parameters
    ----------
    device : str
        Where the scale is kept; tensors that are scaled may be on any device.
    init_scale : float
        The scale to begin with, dimensionless.
    growth_factor, backoff_factor : float
        What the scale is multiplied by after `growth_interval` good steps (more than 1), and after
        a bad one (less than 1).
    growth_interval : int
    enabled : bool
        False makes `scale` return what it gets, and `step` call the optimizer.

    Raises
    ------
    AssertionError
        If a factor or the interval is out of its range.

    Warns
    -----
    UserWarning
        If it is enabled for ``"cuda"`` where there is no such device: it is not, then.

    Examples
    --------
    >>> w = minitorch.ones(2, requires_grad=True)
    >>> optimizer, scaler = minitorch.optim.SGD([w], lr=0.5), GradScaler("cpu", init_scale=8.0)
    >>> scaler.scale(w.sum()).backward()
    >>> w.grad
    tensor([8., 8.])
    >>> _ = scaler.step(optimizer)
    >>> scaler.update()
    >>> w.detach(), scaler.get_scale()
    (tensor([0.5000, 0.5000]), 8.0)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device_class(device).type
        self._enabled = enabled
        if enabled and self._device == "cuda":
            import minitorch

            if not minitorch.cuda.is_available():
                warnings.warn(
                    "minitorch.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", UserWarning, stacklevel=2
                )
                self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError(f"The growth factor must be > 1.0, but is {growth_factor}.")
        if backoff_factor >= 1.0:
            raise AssertionError(f"The backoff factor must be < 1.0, but is {backoff_factor}.")
        self._init_scale = init_scale
        self._scale: Any = None  # a tensor from the first use on
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._init_growth_tracker = 0
        self._growth_tracker: Any = None
        self._per_optimizer: dict[int, _OfOptimizer] = defaultdict(_OfOptimizer)

    # -- scaling ---------------------------------------------------------------

    def scale(self, outputs: Any) -> Any:
        """Return outputs multiplied by the scale.

        Parameters
        ----------
        outputs : Tensor, or iterable of them, nested

        Raises
        ------
        ValueError
            If it is something else.
        """
        if not self._enabled:
            return outputs
        if self._scale is None:
            self._make_tensors()
        return self._scaled(outputs, _Copies(self._scale))

    def _scaled(self, outputs: Any, scales: _Copies) -> Any:
        if isinstance(outputs, TensorBase):
            return F.mul(outputs, scales.on(outputs.device))
        if isinstance(outputs, (list, tuple)):
            items = [self._scaled(value, scales) for value in outputs]
            return type(outputs)(*items) if hasattr(outputs, "_fields") else type(outputs)(items)
        if isinstance(outputs, Iterable):
            return (self._scaled(value, scales) for value in outputs)
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def _make_tensors(self) -> None:
        self._scale = F.full((), self._init_scale, dtype=float32, device=self._device)
        self._growth_tracker = F.full((), self._init_growth_tracker, dtype=int32, device=self._device)

    def _tensors(self, caller: str) -> tuple[Any, Any]:
        if self._scale is None or self._growth_tracker is None:
            raise AssertionError(
                f"Attempted {caller} but the scale is None.  This may indicate your script did not use scaler.scale(loss or "
                f"outputs) earlier in the iteration."
            )
        return self._scale, self._growth_tracker

    # -- unscaling and stepping ------------------------------------------------

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the scale, in place.

        To be called where gradients are clipped or looked at between ``backward`` and `step`; `step` does it
        otherwise.

        Raises
        ------
        RuntimeError
            If it was called for this optimizer since the last `update`, or the optimizer has stepped.
        ValueError
            If a gradient is of float16: it has no room for what division leaves.
        """
        if not self._enabled:
            return
        scale, _ = self._tensors("unscale_")
        state = self._per_optimizer[id(optimizer)]
        if state.stage is OptState.UNSCALED:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        if state.stage is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        # In float64 the reciprocal of any float32 is right; devices may have none, so it is taken on the host.
        inverse = F.full((), 1.0 / scale.item(), dtype=float32, device=self._device)
        state.found_inf = self._unscale(optimizer, inverse, allow_fp16=False)
        state.stage = OptState.UNSCALED

    def _unscale(self, optimizer: Any, inverse: Any, allow_fp16: bool) -> dict[Any, Any]:
        """Multiply the gradients by `inverse`; return, for each device, whether one of them was not finite."""
        inverses = _Copies(inverse)
        groups: dict[Any, dict[Any, list]] = defaultdict(lambda: defaultdict(list))
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    continue
                if grad.dtype is float16 and not allow_fp16:
                    raise ValueError(
                        "Attempting to unscale FP16 gradients. Keep the parameters in float32, and let autocast cast them."
                    )
                groups[grad.device][grad.dtype].append(grad)
        found: dict[Any, Any] = {}
        with no_grad():
            for device, by_dtype in groups.items():
                found[device] = F.zeros((), dtype=float32, device=device)
                for grads in by_dtype.values():
                    F._amp_foreach_non_finite_check_and_unscale_(grads, found[device], inverses.on(device))
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Call ``optimizer.step(*args, **kwargs)``, unless a gradient is infinite or NaN.

        Gradients are unscaled first, if `unscale_` was not called.

        Returns
        -------
        What the optimizer's ``step`` returns; None if it was not called.

        Raises
        ------
        RuntimeError
            If it was called for this optimizer since the last `update`, or with a closure.
        AssertionError
            If the optimizer has no gradients.

        Notes
        -----
        An optimizer whose attribute ``_step_supports_amp_scaling`` is true gets its gradients as they are, and the tensors
        ``grad_scale`` and ``found_inf`` as attributes.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        scale, _ = self._tensors("step")
        state = self._per_optimizer[id(optimizer)]
        if state.stage is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            result = self._step_of_scaling_optimizer(optimizer, state, scale, args, kwargs)
        else:
            if state.stage is OptState.READY:
                self.unscale_(optimizer)
            if not state.found_inf:
                raise AssertionError("No inf checks were recorded for this optimizer: none of its parameters has a gradient.")
            result = None
            if not any(found.item() for found in state.found_inf.values()):
                result = optimizer.step(*args, **kwargs)
        state.stage = OptState.STEPPED
        return result

    def _step_of_scaling_optimizer(self, optimizer: Any, state: _OfOptimizer, scale: Any, args: tuple, kwargs: dict) -> Any:
        if state.stage is OptState.READY:
            self._check_inf_per_device(optimizer)
        if not state.found_inf:
            raise AssertionError("No inf checks were recorded for this optimizer: none of its parameters has a gradient.")
        with no_grad():
            found = sum(value.to(device=self._device) for value in state.found_inf.values())
        optimizer.grad_scale = None if state.stage is OptState.UNSCALED else scale
        optimizer.found_inf = found
        try:
            return optimizer.step(*args, **kwargs)
        finally:
            del optimizer.grad_scale, optimizer.found_inf

    def update(self, new_scale: Any = None) -> None:
        """Make the scale larger or smaller, by what the steps since the last update found; or set it.

        Parameters
        ----------
        new_scale : float or Tensor of one element, float32, optional

        Raises
        ------
        AssertionError
            If nothing was unscaled since the last update, or `new_scale` is not of one float32 element.
        """
        if not self._enabled:
            return
        scale, tracker = self._tensors("update")
        with no_grad():
            if new_scale is None:
                found = [
                    value.to(device=scale.device) for state in self._per_optimizer.values() for value in state.found_inf.values()
                ]
                if not found:
                    raise AssertionError("No inf checks were recorded prior to update.")
                total = found[0]
                for value in found[1:]:
                    total = F.add(total, value)
                F._amp_update_scale_(
                    scale, tracker, total, self._growth_factor, self._backoff_factor, self._growth_interval
                )
            elif isinstance(new_scale, Tensor):
                if new_scale.numel() != 1 or new_scale.dtype is not float32 or new_scale.requires_grad:
                    raise AssertionError(
                        "new_scale should be a float or a tensor of one float32 element with requires_grad=False, not one of "
                        f"{new_scale.numel()} elements of {new_scale.dtype} with requires_grad={new_scale.requires_grad}"
                    )
                scale.copy_(new_scale.reshape(()))
            else:
                scale.fill_(new_scale)
        self._per_optimizer = defaultdict(_OfOptimizer)

    # -- what it is set to -----------------------------------------------------

    def get_scale(self) -> float:
        """Return the scale; 1.0 if not enabled.  Waits for the device."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else self._scale.item()

    def get_growth_factor(self) -> float:
        """Return the growth factor."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the growth factor."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """Return the backoff factor."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the backoff factor."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Return the growth interval."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the growth interval."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        return self._init_growth_tracker if self._growth_tracker is None else self._growth_tracker.item()

    def is_enabled(self) -> bool:
        """Return whether it scales."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """Return the state: ``scale``, ``growth_factor``, ``backoff_factor``, ``growth_interval``, ``_growth_tracker``.

        To be called after `update`.  Empty if not enabled.
        """
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from what `state_dict` returned; does nothing if not enabled.

        Raises
        ------
        RuntimeError
            If it is the state of a scaler that was not enabled.
        """
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        if self._growth_tracker is not None:
            self._growth_tracker.fill_(state_dict["_growth_tracker"])

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or at the end after "
                    "scaler.update()."
                )
            # The tensors are made again at the first use, on a device that may be another one.
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = state["_per_optimizer"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._enabled:
            self._per_optimizer = defaultdict(_OfOptimizer)

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        """Look for infinite and NaN gradients without changing them."""
        self._tensors("_check_inf_per_device")
        one = F.full((), 1.0, dtype=float32, device=self._device)
        state = self._per_optimizer[id(optimizer)]
        state.found_inf = self._unscale(optimizer, one, allow_fp16=True)
        return state.found_inf

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        return self._per_optimizer[id(optimizer)].found_inf
