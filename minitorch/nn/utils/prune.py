"""Pruning: parameters some of whose elements are held at zero by a mask.

A pruned parameter ``weight`` becomes a parameter ``weight_orig`` and a buffer ``weight_mask``; ``weight`` is their product,
computed anew before each call of the module.  Pruning a parameter again works on what is left of it.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from minitorch.ops.functions import cat, ones_like, rand, rand_like, topk
from minitorch.tensor.tensor import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer", "RandomStructured",
    "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip


def _check_amount(amount: Any) -> None:
    """Raise unless an amount is a number of elements, or a fraction."""
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _count(amount: Any, available: int) -> int:
    """Return how many of `available` elements, or slices, an amount is."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * available)
    if amount > available:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={available}")
    return int(amount)


def _without_smallest(mask: Tensor, scores: Tensor, amount: Any) -> Tensor:
    """Return a mask with zeros also where the scores are lowest."""
    result = mask.clone().contiguous()
    count = _count(amount, scores.numel())
    if count:
        result.view(-1)[topk(scores.reshape(-1), count, largest=False).indices] = 0
    return result


def _without_slices(mask: Tensor, scores: Tensor, amount: Any, dim: int) -> Tensor:
    """Return a mask with zeros also in the slices along `dim` whose scores, a vector, are lowest."""
    count = _count(amount, scores.numel())
    kept = ones_like(scores, dtype=mask.dtype)
    if count:
        kept[topk(scores, count, largest=False).indices] = 0
    shape = [1] * mask.dim()
    shape[dim] = -1
    return mask * kept.reshape(shape)


def _check_slices(t: Tensor, dim: int) -> None:
    if t.dim() <= 1:
        raise ValueError(
            f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with "
            f"{t.dim()} dims"
        )
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


class BasePruningMethod(ABC):
    """How elements to prune are chosen; a pre-forward hook of the modules that it was applied to.

    A subclass says what it chooses from, `PRUNING_TYPE`: ``"unstructured"`` elements, ``"structured"`` slices along
    its ``dim``, or ``"global"``, and defines `compute_mask`.
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str | None = None

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` with zeros also at what is to be pruned of `t`."""

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))  # type: ignore[arg-type]

    def apply_mask(self, module: Any) -> Tensor:
        """Return the product of the module's parameter and its mask."""
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prune a module's parameter with a method of this class, made with the other arguments.

        Parameters
        ----------
        module : Module
        name : str
        importance_scores : Tensor, optional
            Of the parameter's shape: what to choose by; the parameter's own values unless given.

        Returns
        -------
        BasePruningMethod
            The hook; a `PruningContainer` if the parameter was pruned before.
        """
        current = getattr(module, name)
        scores = current if importance_scores is None else importance_scores
        if scores.shape != current.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got {scores.shape} vs "
                f"{current.shape}"
            )
        new = cls(*args, **kwargs)
        new._tensor_name = name
        old_key, old = _hook_of(module, name) or (None, None)
        if old is None:
            method: BasePruningMethod = new
            mask = new.compute_mask(scores, default_mask=ones_like(current))
            module.register_parameter(f"{name}_orig", current)
            del module._parameters[name]
        else:
            method = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container: Any = method
            container.add_pruning_method(new)
            mask = container.compute_mask(scores, default_mask=getattr(module, f"{name}_mask").detach().clone())
            del module._forward_pre_hooks[old_key]
        module.register_buffer(f"{name}_mask", mask.detach())
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return a tensor with zeros at what this method prunes of it; no module takes part."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {scores.shape} vs {t.shape}"
            )
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned values the parameter, without mask; the hook stays for the caller to remove."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        values = self.apply_mask(module)
        parameter = module._parameters.pop(f"{name}_orig")
        del module._buffers[f"{name}_mask"]
        if name in module.__dict__:
            delattr(module, name)
        parameter.data = values.detach()
        module.register_parameter(name, parameter)


class PruningContainer(BasePruningMethod):
    """Several prunings of one parameter, in their order."""

    def __init__(self, *methods: BasePruningMethod):
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in methods:
            if self._tensor_name is None:
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a pruning of the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer "
                f"{self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask after the last method has pruned what the earlier ones left."""
        method: Any = self._pruning_methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            places: Any = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            _check_slices(t, method.dim)
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            places = (*[slice(None)] * dim, default_mask.sum(others) != 0)
        elif method.PRUNING_TYPE == "global":
            places = ...
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        result = default_mask.to(t.dtype).clone()
        result[places] = method.compute_mask(t[places], default_mask=default_mask[places]).to(result.dtype)
        return result


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the parameter a pruned one."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random.

    Parameters
    ----------
    amount : int or float
        How many, or the fraction of those that are left.
    """

    def __init__(self, amount: float):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without_smallest(default_mask, -rand_like(t), self.amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of the least absolute values.

    Parameters
    ----------
    amount : int or float
    """

    def __init__(self, amount: float):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without_smallest(default_mask, t.abs(), self.amount)


class RandomStructured(BasePruningMethod):
    """Prunes slices along a dimension, such as channels, at random.

    Parameters
    ----------
    amount : int or float
    dim : int
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1):
        _check_amount(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        _check_slices(t, self.dim)
        return _without_slices(default_mask, -rand(t.shape[self.dim], device=t.device), self.amount, self.dim)


class LnStructured(BasePruningMethod):
    """Prunes the slices along a dimension, such as channels, of the least norms.

    Parameters
    ----------
    amount : int or float
    n : int, float or str
        The norm's order, as in `minitorch.norm`.
    dim : int
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1):
        _check_amount(amount)
        self.amount = amount
        self.n = n
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        from minitorch.functional import norm

        _check_slices(t, self.dim)
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        return _without_slices(default_mask, norm(t, p=self.n, dim=others), self.amount, self.dim)


class CustomFromMask(BasePruningMethod):
    """Prunes where a mask is 0.

    Parameters
    ----------
    mask : Tensor
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor):
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"the mask must have the parameter's shape {default_mask.shape}, but has {self.mask.shape}")
        return default_mask * self.mask.to(default_mask.dtype)


# -- functions: prune, and return the module ---------------------------------------------------


def identity(module: Any, name: str) -> Any:
    """Make a parameter a pruned one of which nothing is pruned."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune elements of a parameter at random.

    Parameters
    ----------
    module : Module
    name : str
        ``"weight"``, ``"bias"``, ...
    amount : int or float
        How many, or which fraction.
    """
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prune the elements of a parameter that have the least absolute values.

    Examples
    --------
    >>> layer = minitorch.nn.utils.prune.l1_unstructured(minitorch.nn.Linear(4, 2), "weight", amount=3)
    >>> (layer.weight == 0).sum()
    tensor(3)
    >>> sorted(layer.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune slices of a parameter along a dimension at random."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prune the slices of a parameter along a dimension that have the least norms."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Any, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Any, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters, chosen among all of them together.

    Parameters
    ----------
    parameters : sequence of (Module, str)
    pruning_method : type
        A class of unstructured pruning.
    importance_scores : dict, optional
        For some of the parameters, what to choose by.
    **kwargs
        What `pruning_method` is made with: ``amount=0.2``.
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    given = {} if importance_scores is None else importance_scores
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores should be of type dict")
    values = [getattr(module, name) for module, name in parameters]
    scores = cat([given.get(key, value).reshape(-1) for key, value in zip(parameters, values, strict=True)])
    masks = [
        getattr(module, f"{name}_mask", ones_like(value)) for (module, name), value in zip(parameters, values, strict=True)
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method: Any = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    final = container.compute_mask(scores, cat([mask.reshape(-1) for mask in masks]))
    for (module, name), value, part in zip(parameters, values, final.split([v.numel() for v in values]), strict=True):
        custom_from_mask(module, name, part.reshape(value.shape))


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter where a mask is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Any, name: str) -> Any:
    """Make the pruned values of a parameter the parameter itself; nothing holds them at zero from then on.

    Raises
    ------
    ValueError
        If it is not pruned.
    """
    found = _hook_of(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    key, method = found
    method.remove(module)
    del module._forward_pre_hooks[key]
    return module


def is_pruned(module: Any) -> bool:
    """Return whether any parameter in a module is pruned."""
    return any(
        isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values()
    )


def _hook_of(module: Any, name: str) -> tuple[int, BasePruningMethod] | None:
    """Return the hook that prunes a parameter, and its number."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key, hook
    return None
