"""Modules as functions of their parameters: `functional_call`, `stack_module_state`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers in place of its own.

    Parameters
    ----------
    module : Module
    parameter_and_buffer_dicts : dict of str to Tensor, or a sequence of such dicts with different names
        By the names of ``named_parameters()`` and ``named_buffers()``; what is not named stays, and a name that a module
        has no parameter or buffer for is passed over.
    args : object, tuple or None
        The positional arguments; one that is no tuple is the only one.
    kwargs : dict, optional
        The keyword arguments.
    tie_weights : bool
        A tensor that the module has under several names is replaced under all of them if it is under one.
    strict : bool
        Raise if a name is missing or unknown.

    Raises
    ------
    ValueError
        If a name is in several dicts, or tied names are given different tensors.
    RuntimeError
        With `strict`, for missing and unknown names.
    AttributeError
        If a name is of a module that is not there.

    Examples
    --------
    >>> layer = minitorch.nn.Linear(2, 1)
    >>> functional_call(layer, {"weight": minitorch.ones(1, 2), "bias": minitorch.zeros(1)}, minitorch.ones(2))
    tensor([2.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        given = dict(parameter_and_buffer_dicts)
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(d, dict) for d in parameter_and_buffer_dicts):
            raise ValueError("functional_call: expected all elements of parameter_and_buffer_dicts to be dictionaries")
        given = {}
        for d in parameter_and_buffer_dicts:
            repeated = given.keys() & d.keys()
            if repeated:
                raise ValueError(f"functional_call: {sorted(repeated)} appeared in multiple dictionaries; behavior is ambiguous")
            given.update(d)
    else:
        raise ValueError(
            "functional_call: expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    with replaced_state(module, given, tie_weights, strict):
        return module(*positional, **(kwargs or {}))


@contextmanager
def replaced_state(module: Any, given: dict[str, Any], tie_weights: bool = True, strict: bool = False) -> Iterator[None]:
    """Scope: a module has other tensors in the places of some of its parameters and buffers.

    What the module itself puts into such a place meanwhile (running statistics) is written back to `given`.
    """
    places = _places_of(module)
    if strict:
        missing, unknown = sorted(places.keys() - given.keys()), sorted(given.keys() - places.keys())
        if missing or unknown:
            raise RuntimeError(
                f"functional_call: with strict=True every parameter and buffer is given once. Missing key(s): {missing}. "
                f"Unexpected key(s): {unknown}."
            )
    tensors = _with_tied(places, given) if tie_weights else dict(given)
    for name in [name for name in tensors if name not in places]:
        module.get_submodule(name.rpartition(".")[0])  # a part that is not there is a mistake
        del tensors[name]
    originals = {name: places[name][0][places[name][1]] for name in tensors}
    try:
        for name, tensor in tensors.items():
            if not isinstance(tensor, TensorBase) and tensor is not None:
                raise TypeError(f"functional_call: {name!r} is to be a Tensor, and is {type(tensor).__name__}")
            table, key = places[name]
            table[key] = tensor
        yield
    finally:
        for name, original in originals.items():
            table, key = places[name]
            now = table.get(key)
            if name in given and now is not given[name] and now is not None:
                given[name] = now
            table[key] = original


def _places_of(module: Any) -> dict[str, tuple[dict, str]]:
    """Return, by full name, the dictionary and key of each parameter and buffer."""
    places: dict[str, tuple[dict, str]] = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for table in (part._parameters, part._buffers):
            for key, value in table.items():
                if value is not None:
                    places[f"{prefix}.{key}" if prefix else key] = (table, key)
    return places


def _with_tied(places: dict[str, tuple[dict, str]], given: dict[str, Any]) -> dict[str, Any]:
    """Return what is given, also under the other names of the tensors that it takes the place of."""
    groups: dict[int, list[str]] = {}
    for name, (table, key) in places.items():
        groups.setdefault(id(table[key]), []).append(name)
    found = dict(given)
    for names in groups.values():
        named = [name for name in names if name in given]
        if not named:
            continue
        if any(given[name] is not given[named[0]] for name in named):
            raise ValueError(
                f"functional_call: got different values for {named}, which are the same tensor in the module. Pass "
                "tie_weights=False to treat them as different ones."
            )
        for name in names:
            found.setdefault(name, given[named[0]])
    return found


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters and the buffers of several modules of one architecture, stacked by name.

    Together with `functional_call` and `vmap` this runs an ensemble as one.  The stacked parameters require a
    gradient where those of the modules do, and are leaves.

    Parameters
    ----------
    models : sequence of Module
        All of one class, and all in training or all in evaluation mode.

    Raises
    ------
    RuntimeError
        If there is none, or they are not alike.
    """
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(m.named_parameters()) for m in models]
    buffers = [dict(m.named_buffers()) for m in models]
    stacked = {name: _stacked(name, [p[name] for p in parameters]) for name in parameters[0]}
    return stacked, {name: _stacked(name, [b[name] for b in buffers]) for name in buffers[0]}


def _stacked(name: str, tensors: list[Any]) -> Any:
    needs = [t.requires_grad for t in tensors]
    if any(needs) and not all(needs):
        raise RuntimeError(
            f"stack_module_state: expected {name!r} to have the same requires_grad in all models, and it is {needs}"
        )
    result = F.stack([t.detach() for t in tensors])
    return result.requires_grad_() if all(needs) else result


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Make the batch norms of a module use the statistics of the batch at hand, and keep none; return the module.

    Training changes running statistics in place, which `vmap` refuses where they are the same for all examples.

    Parameters
    ----------
    root : Module
        It and its submodules are changed.
    """
    from minitorch.nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = None
            module.running_var = None
            module.num_batches_tracked = None
            module.track_running_stats = False
    return root
