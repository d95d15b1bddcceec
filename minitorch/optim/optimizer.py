"""`Optimizer`: parameter groups, state and hooks that all optimizers share."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from minitorch.autograd.grad_mode import enable_grad, no_grad
from minitorch.autograd.hooks import RemovableHandle, add_hook
from minitorch.ops.functions import _sparse_coo_tensor_unsafe
from minitorch.tensor.base import TensorBase
from minitorch.tensor.creation import tensor
from minitorch.tensor.tensor import Tensor

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
]


class _Required:
    """The value of an option that every parameter group must give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_global_pre_hooks: dict[int, Callable] = OrderedDict()
_global_post_hooks: dict[int, Callable] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Run ``hook(optimizer, args, kwargs)`` before the step of every optimizer."""
    return add_hook(_global_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Run ``hook(optimizer, args, kwargs)`` after the step of every optimizer."""
    return add_hook(_global_post_hooks, hook)


def _hooked(step: Callable) -> Callable:
    """Return a subclass's `step` with the hooks before and after it."""

    @functools.wraps(step)
    def run(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not (
            self._optimizer_step_pre_hooks
            or self._optimizer_step_post_hooks
            or _global_pre_hooks
            or _global_post_hooks
        ):
            return step(self, *args, **kwargs)
        for hook in chain(_global_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not isinstance(changed, tuple) or len(changed) != 2:
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{changed}."
                    )
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    run.hooked = True  # type: ignore[attr-defined]
    return run


class Optimizer:
    """The base class of optimizers.

    Parameters
    ----------
    params : iterable of Tensor, of (name, Tensor) or of dict
        The parameters, or groups of them with options of their own.
    defaults : dict
        The options of groups that do not give them.

    Attributes
    ----------
    param_groups : list of dict
        Each with ``"params"`` and the options.
    state : dict of Tensor to dict
        What the optimizer remembers of each parameter.
    """

    _optimizer_step_pre_hooks: dict[int, Callable]
    _optimizer_step_post_hooks: dict[int, Callable]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        if step is not None and not getattr(step, "hooked", False):
            cls.step = _hooked(step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, TensorBase):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {params.type()}"
            )
        self.state: defaultdict[Tensor, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        self._optimizer_step_pre_hooks = OrderedDict()
        self._optimizer_step_post_hooks = OrderedDict()
        self._optimizer_state_dict_pre_hooks: dict[int, Callable] = OrderedDict()
        self._optimizer_state_dict_post_hooks: dict[int, Callable] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: dict[int, Callable] = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: dict[int, Callable] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults, "state": self.state, "param_groups": self.param_groups,
        }  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    # -- hooks -----------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Run ``hook(optimizer, args, kwargs)`` before `step`; it may return both, changed."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Run ``hook(optimizer, args, kwargs)`` after `step`."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer)`` before `state_dict`."""
        return _added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer, state_dict)`` after `state_dict`; it may return another one."""
        return _added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer, state_dict)`` before loading; it may return another state."""
        return _added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable, prepend: bool = False
    ) -> RemovableHandle:
        """Run ``hook(optimizer)`` after loading."""
        return _added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- state -------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the groups, with parameters replaced by their numbers."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            packed = {k: v for k, v in group.items() if k != "params"}
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            numbers[id(k)] if isinstance(k, TensorBase) else k: v for k, v in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that `state_dict` returned; parameters are matched by order.

        Raises
        ------
        ValueError
            If the groups, or their sizes, differ.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        own, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(own) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(a["params"]) != len(b["params"]) for a, b in zip(own, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        by_number = dict(
            zip(
                chain.from_iterable(g["params"] for g in saved),
                chain.from_iterable(g["params"] for g in own),
                strict=True,
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in by_number:
                parameter = by_number[key]
                state[parameter] = _like_parameter(parameter, value)
            else:
                state[key] = value
        groups = []
        for group, new in zip(own, saved, strict=True):
            new["params"] = group["params"]
            if "param_names" in group and "param_names" not in new:
                new["param_names"] = group["param_names"]
            groups.append(new)
        self.__setstate__({"state": state, "param_groups": groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # -- parameters ----------------------------------------------------------------------

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if set_to_none:
                    parameter.grad = None
                elif parameter.grad is not None:
                    if parameter.grad.grad_fn is not None:
                        parameter.grad.detach_()
                    else:
                        parameter.grad.requires_grad_(False)
                    parameter.grad.zero_()

    def step(self, closure: Callable | None = None) -> Any:
        """Update the parameters once.

        Parameters
        ----------
        closure : callable, optional
            Computes the loss anew, with gradients, and returns it.
        """
        raise NotImplementedError

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, a dictionary with ``"params"`` and options."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, TensorBase):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        else:
            params = list(params)
        names = None
        if params and isinstance(params[0], tuple):
            names = [name for name, _ in params]
            params = [parameter for _, parameter in params]
            param_group["param_names"] = names
        param_group["params"] = params
        for parameter in params:
            if not isinstance(parameter, TensorBase):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is "
                    f"{type(parameter).__name__}"
                )
            if not self.defaults.get("differentiable") and not (
                parameter.is_leaf or parameter.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len({id(p) for p in params}):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error",
                stacklevel=3,
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint({id(p) for p in params}):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    # -- for subclasses -----------------------------------------------------------------

    def _loss_of(self, closure: Callable | None) -> Any:
        """Return what `closure` computes, with gradients on; None without one."""
        if closure is None:
            return None
        with enable_grad():
            return closure()


def _added(hooks: Any, hook: Callable, prepend: bool) -> RemovableHandle:
    handle = add_hook(hooks, hook)
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _like_parameter(parameter: Tensor, value: Any, key: Hashable = None) -> Any:
    """Return a parameter's loaded state: tensors copied to its dtype and device."""
    if isinstance(value, TensorBase):
        if key == "step":
            return value.clone()
        if parameter.is_floating_point():
            return value.to(dtype=parameter.dtype, device=parameter.device, copy=True)
        return value.to(device=parameter.device, copy=True)
    if isinstance(value, dict):
        return {k: _like_parameter(parameter, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return type(value)(_like_parameter(parameter, v) for v in value)  # type: ignore[call-arg]
    return value


def number(value: float) -> Any:
    """Return a 0-dim tensor for an optimizer's state, such as its step count, in the default dtype.

    By `tensor`, and no factory, so that a fake tensor has its value too: the update functions read it.
    """
    return tensor(value)


def with_values(sparse: Tensor, values: Tensor) -> Tensor:
    """Return the coalesced tensor with the indices of another, and other values."""
    return _sparse_coo_tensor_unsafe(sparse.indices(), values, sparse.shape, is_coalesced=True)


def per_parameter(optimizer: Optimizer, update: Callable, sparse: bool = False) -> None:
    """Call ``update(parameter, gradient, state, group)`` for each parameter with a gradient.

    The gradient is that of what is minimized: negated for groups with ``maximize``.

    Parameters
    ----------
    sparse : bool
        Whether `update` takes sparse gradients.
    """
    with no_grad():
        for group in optimizer.param_groups:
            maximize = group.get("maximize", False)
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is not None:
                    if not sparse and grad.is_sparse:
                        name = type(optimizer).__name__
                        instead = ", please consider SparseAdam instead" if name in ("Adam", "AdamW") else ""
                        raise RuntimeError(f"{name} does not support sparse gradients{instead}")
                    update(parameter, -grad if maximize else grad, optimizer.state[parameter], group)


def check(condition: bool, text: str) -> None:
    """Raise ``ValueError(text)`` unless `condition` holds."""
    if not condition:
        raise ValueError(text)


def check_lr(lr: Any) -> None:
    """Raise unless a learning rate is a number, or a tensor of one element, that is >= 0."""
    if isinstance(lr, TensorBase) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check(lr >= 0.0, f"Invalid learning rate: {lr}")
