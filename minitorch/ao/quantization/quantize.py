"""Quantization by modules: `prepare` puts observers into a model, `convert` puts quantized modules in the place of float ones.

Note [Observers of modules]
    What a module returns goes through a forward hook to its ``activation_post_process``, an observer, or a module of
    fake quantization, whose result then is the module's.  `convert` asks it for scale and zero point, and takes it away.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import minitorch
from minitorch import nn
from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn import quantized as nnq
from minitorch.ao.nn.intrinsic.qat.modules.batch_norm import FrozenBatchNorm
from minitorch.ao.quantization import qconfig as qc
from minitorch.ao.quantization.quantization_mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    get_default_dynamic_quant_module_mappings,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
    get_default_static_quant_module_mappings,
)
from minitorch.ao.quantization.stubs import DeQuantStub, QuantWrapper
from minitorch.nn.modules.module import Module

__all__ = [
    "add_quant_dequant", "convert", "default_eval_fn", "prepare", "prepare_qat", "propagate_qconfig_", "quantize",
    "quantize_dynamic", "quantize_qat", "swap_module",
]  # fmt: skip

_FUNCTIONALS = (nnq.FloatFunctional, nnq.QFunctional)


# ---------------------------------------------------------------- qconfigs


def propagate_qconfig_(
    module: Module, qconfig_dict: dict | None = None, prepare_custom_config_dict: dict | None = None
) -> None:
    """Give each module inside of a model the `QConfig` that holds for it, as its attribute ``qconfig``.

    The first of: one for its name or its class in `qconfig_dict`, its own, that of the module around it.

    Parameters
    ----------
    module : Module
    qconfig_dict : dict, optional
        By name (``"features.0"``; ``""`` is the model) or by class.
    prepare_custom_config_dict : dict, optional
        ``{"non_traceable_module_name": [...], "non_traceable_module_class": [...]}``: modules that are left alone.
    """
    _propagate(module, qconfig_dict or {}, (qconfig_dict or {}).get("", None), "", prepare_custom_config_dict or {})


def _propagate(module: Module, rules: dict, around: Any, name: str, custom: dict) -> None:
    found = rules.get(type(module), around)
    found = rules.get(name, found)
    found = getattr(module, "qconfig", found)
    qc.assert_valid_qconfig(found, module)
    placed = qc.add_module_to_qconfig_obs_ctr(found, module)
    module.qconfig = placed
    for child_name, child in module.named_children():
        full = f"{name}.{child_name}" if name else child_name
        skipped = full in custom.get("non_traceable_module_name", ()) or type(child) in custom.get(
            "non_traceable_module_class", ()
        )
        if not skipped:
            _propagate(child, rules, found, full, custom)


# ---------------------------------------------------------------- observers


def _observe_result(self: Any, input: Any, output: Any) -> Any:
    return self.activation_post_process(output)


def _observe_input(self: Any, input: Any) -> Any:
    return self.activation_post_process(input[0])


def _insert_observer(module: Module, constructor: Any = None) -> None:
    if getattr(module, "qconfig", None) is None or isinstance(module, DeQuantStub):
        return
    observer = (module.qconfig.activation if constructor is None else constructor)()
    devices = {t.device for t in (*module.parameters(), *module.buffers())}
    if len(devices) == 1 and isinstance(observer, Module):
        observer.to(next(iter(devices)))
    module.add_module("activation_post_process", observer)
    # Of a dynamic one the input is what counts.
    if getattr(observer, "is_dynamic", False) and not isinstance(observer, qc.ob.PlaceholderObserver):
        module._observing_hook = module.register_forward_pre_hook(_observe_input, prepend=True)  # type: ignore[assignment]
    else:
        module._observing_hook = module.register_forward_hook(_observe_result, prepend=True)  # type: ignore[assignment]


def _add_observers(module: Module, classes: set, non_leaves: set, custom: dict) -> None:
    for _, child in module.named_children():
        if type(child) is nn.Dropout:
            continue
        if isinstance(child, _FUNCTIONALS):
            if getattr(child, "qconfig", None) is not None:
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, nni._FusedModule) or type(child) in non_leaves:
            _insert_observer(child)
        elif type(child) in DEFAULT_MODULE_TO_ACT_POST_PROCESS:
            _insert_observer(child, DEFAULT_MODULE_TO_ACT_POST_PROCESS[type(child)])
        else:
            _add_observers(child, classes, non_leaves, custom)
    if not list(module.children()) and not isinstance(module, nn.Sequential) and type(module) in classes:
        _insert_observer(module)


def prepare(
    model: Module,
    inplace: bool = False,
    allow_list: set | None = None,
    observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: dict | None = None,
) -> Module:
    """Return a model whose modules observe what they return.

    Run it on examples, then `convert` it.

    Parameters
    ----------
    model : Module
        With a ``qconfig``, or modules inside that have one; `QuantStub` and `DeQuantStub` where quantization begins and ends.
    inplace : bool
        Change the model itself.
    allow_list : set of classes, optional
        What is observed, if it has a `QConfig`.
    observer_non_leaf_module_list : collection of classes, optional
        Modules that are observed although there are modules inside.

    Examples
    --------
    >>> from minitorch.ao.quantization import QuantWrapper, convert, get_default_qconfig, prepare
    >>> model = QuantWrapper(minitorch.nn.Linear(4, 2)).eval()
    >>> model.qconfig = get_default_qconfig()
    >>> prepared = prepare(model)
    >>> _ = prepared(minitorch.randn(8, 4))
    >>> quantized = convert(prepared)
    """
    custom = prepare_custom_config_dict or {}
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model, None, custom)
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` or by "
            "assigning the `.qconfig` attribute directly on submodules",
            stacklevel=2,
        )
    classes = get_default_qconfig_propagation_list() if allow_list is None else allow_list
    _add_observers(model, set(classes), set(observer_non_leaf_module_list or ()), custom)
    return model


def prepare_qat(model: Module, mapping: dict | None = None, inplace: bool = False) -> Module:
    """Return a model whose weights and results are fake quantized, to be trained.

    Parameters
    ----------
    model : Module
        In training mode, with a ``qconfig`` such as `get_default_qat_qconfig` returns.
    mapping : dict, optional
        Which class becomes which.
    inplace : bool

    Raises
    ------
    AssertionError
        If the model is not in training mode.
    """
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode; call model.train()")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model, None)
    convert(model, mapping=mapping, inplace=True, remove_qconfig=False)
    prepare(model, observer_non_leaf_module_list=set(mapping.values()), inplace=True)
    return model


def add_quant_dequant(module: Module) -> Module:
    """Return the module with a `QuantWrapper` around each leaf that has a `QConfig`."""
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


# ---------------------------------------------------------------- conversion


def swap_module(
    mod: Module,
    mapping: dict,
    custom_module_class_mapping: dict | None = None,
    use_precomputed_fake_quant: bool = False,
) -> Module:
    """Return what a module becomes by a mapping of classes, or the module itself; hooks and device go along."""
    if getattr(mod, "qconfig", None) is None:
        return mod
    custom = custom_module_class_mapping or {}
    if type(mod) in custom:
        new = custom[type(mod)].from_observed(mod)
    elif type(mod) in mapping:
        new = mapping[type(mod)].from_float(mod)
    else:
        return mod
    for hook in mod._forward_pre_hooks.values():
        if hook is not _observe_input:
            new.register_forward_pre_hook(hook)
    for hook in mod._forward_hooks.values():
        if hook is not _observe_result:
            new.register_forward_hook(hook)
    devices = {t.device for t in (*mod.parameters(), *mod.buffers())}
    if len(devices) == 1:
        new.to(next(iter(devices)))
    return new


def _convert(module: Module, mapping: dict, custom: dict) -> None:
    for name, child in list(module.named_children()):
        # Parts of what becomes one quantized module are not converted themselves.
        if not isinstance(child, (nni._FusedModule, FrozenBatchNorm)) and type(child) not in custom:
            _convert(child, mapping, custom)
        module._modules[name] = swap_module(child, mapping, custom)


def _remove_traces(module: Module) -> None:
    """Take away qconfigs, observers and their hooks."""
    for child in module.children():
        _remove_traces(child)
    if "qconfig" in module.__dict__:
        del module.qconfig
    if "activation_post_process" in module._modules and not isinstance(module, _FUNCTIONALS):
        del module.activation_post_process
    if "_observing_hook" in module.__dict__:
        module._observing_hook.remove()  # type: ignore[union-attr, operator]
        del module._observing_hook


def convert(
    module: Module,
    mapping: dict | None = None,
    inplace: bool = False,
    remove_qconfig: bool = True,
    is_reference: bool = False,
    convert_custom_config_dict: dict | None = None,
    use_precomputed_fake_quant: bool = False,
) -> Module:
    """Return a prepared model with quantized modules in the place of float ones.

    Parameters
    ----------
    module : Module
        From `prepare` or `prepare_qat`, after it has seen examples or was trained.
    mapping : dict, optional
        Which class becomes which.
    inplace : bool
        Change the model itself.
    remove_qconfig : bool
        Take away qconfigs and observers.
    """
    if is_reference:
        raise NotImplementedError(
            "convert: modules that are quantized by reference are not supported; use is_reference=False"
        )
    custom = (convert_custom_config_dict or {}).get("observed_to_quantized_custom_module_class", {})
    mapping = get_default_static_quant_module_mappings() if mapping is None else mapping
    if not inplace:
        module = copy.deepcopy(module)
    _convert(module, mapping, custom)
    if remove_qconfig:
        _remove_traces(module)
    return module


# ---------------------------------------------------------------- in one call


def default_eval_fn(model: Module, calib_data: Any) -> None:
    """Run a model on pairs of inputs and targets."""
    for data, _target in calib_data:
        model(data)


def quantize(
    model: Module, run_fn: Callable, run_args: Any, mapping: dict | None = None, inplace: bool = False
) -> Module:
    """Return a model quantized after training: prepared, run by ``run_fn(model, *run_args)``, converted."""
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    prepare(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, mapping, inplace=True)
    return model


def quantize_qat(model: Module, run_fn: Callable, run_args: Any, inplace: bool = False) -> Module:
    """Return a model quantized by training: prepared, trained by ``run_fn(model, *run_args)``, converted."""
    if not inplace:
        model = copy.deepcopy(model)
    model.train()
    prepare_qat(model, inplace=True)
    run_fn(model, *run_args)
    convert(model, inplace=True)
    return model


def _dynamic_rules(dtype: Any) -> dict:
    if dtype is minitorch.qint8:
        chosen, classes = qc.default_dynamic_qconfig, (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
    elif dtype is minitorch.float16:
        chosen, classes = qc.float16_dynamic_qconfig, (nn.Linear, nn.LSTM, nn.GRU, nn.LSTMCell, nn.RNNCell, nn.GRUCell)
    elif dtype is minitorch.quint8:
        chosen, classes = qc.float_qparams_weight_only_qconfig, (nn.EmbeddingBag, nn.Embedding)
    elif dtype is minitorch.quint4x2:
        chosen, classes = qc.float_qparams_weight_only_qconfig_4bit, (nn.EmbeddingBag, nn.Embedding)
    else:
        raise ValueError(
            f"quantize_dynamic: Don't know how to quantize with default settings for {dtype}. Provide full qconfig please"
        )
    return dict.fromkeys(classes, chosen)


def quantize_dynamic(
    model: Module, qconfig_spec: Any = None, dtype: Any = None, mapping: dict | None = None, inplace: bool = False
) -> Module:
    """Return a model with quantized weights, whose inputs are quantized by their own range as they come.

    Needs no examples: for linear maps and recurrent networks.

    Parameters
    ----------
    model : Module
    qconfig_spec : set or dict, optional
        Classes or names of modules; as a dict, with a `QConfig` for each.
    dtype : dtype
        qint8 (the default) or float16; quint8 or quint4x2 for embeddings.
    mapping : dict, optional
        Which class becomes which.
    inplace : bool

    Examples
    --------
    >>> from minitorch.ao.quantization import quantize_dynamic
    >>> quantized = quantize_dynamic(minitorch.nn.Sequential(minitorch.nn.Linear(4, 2)))
    >>> quantized
    Sequential(
      (0): DynamicQuantizedLinear(in_features=4, out_features=2, dtype=torch.qint8, qscheme=torch.per_tensor_affine)
    )
    """
    dtype = minitorch.qint8 if dtype is None else dtype
    if qconfig_spec is None:
        qconfig_spec = _dynamic_rules(dtype)
    elif isinstance(qconfig_spec, set):
        chosen = next(iter(_dynamic_rules(dtype).values()))
        qconfig_spec = dict.fromkeys(qconfig_spec, chosen)
    mapping = get_default_dynamic_quant_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    model.eval()
    propagate_qconfig_(model, qconfig_spec)
    convert(model, mapping, inplace=True)
    return model
