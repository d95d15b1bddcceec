"""`fuse_modules`: modules of a model in a row, given by their names, become one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from minitorch import nn
from minitorch.ao.quantization.fuser_method_mappings import get_fuser_method
from minitorch.nn.modules.module import Module

__all__ = ["fuse_known_modules", "fuse_modules", "fuse_modules_qat"]


def fuse_known_modules(mod_list: list, is_qat: bool, additional_fuser_method_mapping: dict | None = None) -> list:
    """Return the modules with the first replaced by the fused one, and the others by `Identity`; hooks go along."""
    fused = get_fuser_method(tuple(type(m) for m in mod_list), additional_fuser_method_mapping)(is_qat, *mod_list)
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    rest = [nn.Identity() for _ in mod_list[1:]]
    for identity in rest:
        identity.training = mod_list[0].training
    return [fused, *rest]


def _fuse_named(model: Module, names: list[str], is_qat: bool, fuser_func: Callable, mapping: dict | None) -> None:
    parents = [(model.get_submodule(name.rpartition(".")[0]), name.rpartition(".")[2]) for name in names]
    modules = [getattr(parent, last) for parent, last in parents]
    for (parent, last), module in zip(parents, fuser_func(modules, is_qat, mapping), strict=True):
        setattr(parent, last, module)


def _fuse(
    model: Module, modules_to_fuse: list, is_qat: bool, inplace: bool, fuser_func: Callable, config: dict | None
) -> Module:
    if not inplace:
        model = copy.deepcopy(model)
    mapping = (config or {}).get("additional_fuser_method_mapping", {})
    groups = [modules_to_fuse] if all(isinstance(name, str) for name in modules_to_fuse) else modules_to_fuse
    for names in groups:
        _fuse_named(model, names, is_qat, fuser_func, mapping)
    return model


def fuse_modules(
    model: Module,
    modules_to_fuse: list,
    inplace: bool = False,
    fuser_func: Callable = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> Module:
    """Return a model with some of its modules fused, for quantization after training.

    Convolution or linear map with batch norm, with `ReLU`, with both; batch norm with `ReLU`.  The first becomes the fused
    module, the others `Identity`.

    Parameters
    ----------
    model : Module
        In evaluation mode.
    modules_to_fuse : list of str, or list of such lists
        Names in the order in which they are called: ``[["conv1", "bn1", "relu1"], ["fc", "relu2"]]``.
    inplace : bool
        Change the model itself.
    fuser_func : callable
        What fuses a list of modules.
    fuse_custom_config_dict : dict, optional
        ``{"additional_fuser_method_mapping": {(Class, ...): fuser}}``.

    Raises
    ------
    AssertionError
        If modules cannot be fused, or batch norm is in training mode.
    """
    return _fuse(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model: Module,
    modules_to_fuse: list,
    inplace: bool = False,
    fuser_func: Callable = fuse_known_modules,
    fuse_custom_config_dict: dict[str, Any] | None = None,
) -> Module:
    """Return a model with some of its modules fused, to be trained with fake quantization: batch norms stay to be trained.

    Parameters are those of `fuse_modules`; the model is in training mode.
    """
    return _fuse(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
