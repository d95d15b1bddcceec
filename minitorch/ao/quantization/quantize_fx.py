"""Quantization of graphs: `prepare_fx` and `convert_fx`; models need no stubs and no list of what to fuse.

Which operators are quantized, and how, is said in `fx.patterns`; which values are observed in `fx.prepare`.
"""

from __future__ import annotations

import copy
from typing import Any

from minitorch.ao.nn import quantized as nnq
from minitorch.ao.quantization.fx.convert import convert
from minitorch.ao.quantization.fx.fuse import fuse
from minitorch.ao.quantization.fx.prepare import insert_observers, swap_for_training
from minitorch.ao.quantization.fx.qconfigs import qconfigs_of_nodes
from minitorch.ao.quantization.fx.tracer import QuantizationTracer, traced_module
from minitorch.ao.quantization.qconfig_mapping import QConfigMapping
from minitorch.fx import GraphModule
from minitorch.nn.modules.module import Module

__all__ = ["QuantizationTracer", "convert_fx", "fuse_fx", "prepare_fx", "prepare_qat_fx"]


def _with_functionals(model: Module) -> Module:
    """Return a copy of a model in which `FloatFunctional` leaves observing to the graph."""
    model = copy.deepcopy(model)
    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is nnq.FloatFunctional:
                setattr(module, name, nnq.FXFloatFunctional())
    return model


def _as_dict(config: Any, name: str) -> dict[str, Any]:
    if config is None:
        return {}
    if not isinstance(config, dict):
        raise TypeError(f"{name} must be a dict, not {type(config).__name__}")
    return config


def _mapping(qconfig_mapping: Any) -> QConfigMapping:
    return QConfigMapping.from_dict(qconfig_mapping) if isinstance(qconfig_mapping, dict) else qconfig_mapping


def _only_native(backend_config: Any, name: str) -> None:
    if backend_config is not None:
        raise NotImplementedError(
            f"{name}: backend_config is not supported; what can be quantized is the table in fx.patterns"
        )


def _prepare(
    model: Module, qconfig_mapping: Any, is_qat: bool, example_inputs: Any, custom: dict[str, Any]
) -> GraphModule:
    inputs = example_inputs if isinstance(example_inputs, tuple) else (example_inputs,)
    module = traced_module(_with_functionals(model), custom)
    fuse(module, is_qat)
    qconfigs = qconfigs_of_nodes(module, _mapping(qconfig_mapping))
    if is_qat:
        swap_for_training(module, qconfigs)
    insert_observers(module, qconfigs, inputs)
    return module


def fuse_fx(model: Module, fuse_custom_config: dict | None = None, backend_config: Any = None) -> GraphModule:
    """Return a model as a graph module with convolutions or linear maps, batch norms and `ReLU` fused.

    Parameters
    ----------
    model : Module
        In evaluation mode.
    fuse_custom_config : dict, optional
        ``{"preserved_attributes": [names]}``.
    """
    _only_native(backend_config, "fuse_fx")
    module = traced_module(_with_functionals(model), _as_dict(fuse_custom_config, "fuse_custom_config"))
    fuse(module, is_qat=False)
    return module


def prepare_fx(
    model: Module,
    qconfig_mapping: QConfigMapping | dict[str, Any],
    example_inputs: Any,
    prepare_custom_config: dict | None = None,
    _equalization_config: Any = None,
    backend_config: Any = None,
) -> GraphModule:
    """Return a model as a graph module with observers, for quantization after training.

    Run it on examples, then call `convert_fx`.

    Parameters
    ----------
    model : Module
        In evaluation mode; it is copied.
    qconfig_mapping : QConfigMapping or dict
        Such as `get_default_qconfig_mapping` returns.
    example_inputs : tuple
        Arguments of the model: it is run with them once, to see which values are floating tensors.
    prepare_custom_config : dict, optional
        ``non_traceable_module_name``, ``non_traceable_module_class``: modules that are not looked into;
        ``preserved_attributes``: attributes of the model that the result shall have too.

    Examples
    --------
    >>> from minitorch.ao.quantization import get_default_qconfig_mapping
    >>> from minitorch.ao.quantization.quantize_fx import convert_fx, prepare_fx
    >>> model = minitorch.nn.Sequential(minitorch.nn.Linear(4, 8), minitorch.nn.ReLU(), minitorch.nn.Linear(8, 2)).eval()
    >>> inputs = minitorch.randn(16, 4)
    >>> prepared = prepare_fx(model, get_default_qconfig_mapping(), (inputs,))
    >>> _ = prepared(inputs)
    >>> convert_fx(prepared)(inputs).shape
    torch.Size([16, 2])
    """
    _only_native(backend_config, "prepare_fx")
    return _prepare(
        model, qconfig_mapping, False, example_inputs, _as_dict(prepare_custom_config, "prepare_custom_config")
    )


def prepare_qat_fx(
    model: Module,
    qconfig_mapping: QConfigMapping | dict[str, Any],
    example_inputs: Any,
    prepare_custom_config: dict | None = None,
    backend_config: Any = None,
) -> GraphModule:
    """Return a model as a graph module whose weights and values are fake quantized, to be trained.

    Train it, call ``eval()``, then `convert_fx`.

    Parameters
    ----------
    model : Module
        In training mode; it is copied.
    qconfig_mapping : QConfigMapping or dict
        Such as `get_default_qat_qconfig_mapping` returns.
    example_inputs : tuple
    prepare_custom_config : dict, optional
        As of `prepare_fx`.
    """
    _only_native(backend_config, "prepare_qat_fx")
    return _prepare(
        model, qconfig_mapping, True, example_inputs, _as_dict(prepare_custom_config, "prepare_custom_config")
    )


def convert_fx(
    graph_module: GraphModule,
    convert_custom_config: dict | None = None,
    _remove_qconfig: bool = True,
    qconfig_mapping: Any = None,
    backend_config: Any = None,
    keep_original_weights: bool = False,
) -> GraphModule:
    """Return a prepared graph module with quantized operators; its inputs and results are in floating point.

    Parameters
    ----------
    graph_module : GraphModule
        From `prepare_fx`, after it has seen examples, or `prepare_qat_fx`, after it was trained.  It is copied.

    Raises
    ------
    TypeError
        If it is no graph module.
    """
    _only_native(backend_config, "convert_fx")
    if not isinstance(graph_module, GraphModule):
        raise TypeError(
            f"convert_fx: the input model must be a GraphModule from prepare_fx, not {type(graph_module).__name__}"
        )
    result = convert(copy.deepcopy(graph_module))
    if _remove_qconfig:
        for module in result.modules():
            module.__dict__.pop("qconfig", None)
    return result
