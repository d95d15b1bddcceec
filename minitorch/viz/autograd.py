"""The autograd graph of tensors, as a picture."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minitorch.autograd.graph import AccumulateGrad
from minitorch.nn.modules.module import Module
from minitorch.tensor.tensor import Tensor
from minitorch.viz.picture import Picture

__all__ = ["autograd_graph"]


def autograd_graph(outputs: Any, params: Any = None) -> Picture:
    """Return the graph that backward would follow from `outputs`, drawn the way the values went: leaves first, outputs last.

    Parameters
    ----------
    outputs : Tensor, or iterable or dict of such
        They must require a gradient.
    params : Module, dict of str to Tensor, or iterable of (str, Tensor), optional
        Names for leaves; ``model.named_parameters()``, say.

    Returns
    -------
    Picture
        A box a node, with its name; blue boxes are named leaves, green ones others. The labels of arrows are shapes.

    Raises
    ------
    RuntimeError
        If an output does not require a gradient.

    Examples
    --------
    >>> w = minitorch.ones(3, requires_grad=True)
    >>> print(autograd_graph((w * 2).sum(), {"w": w}))
    output, ()
      <- SumBackward0  ()
        <- MulBackward0  (3,)
          <- w, (3,)  (3,)
    """
    names = _names_of(params)
    picture = Picture()
    known: dict[int, str] = {}
    kept: list[Any] = []  # nodes are made when asked for: as long as they are held, no other one has their id
    stack: list[Any] = []

    def box_of(node: Any) -> str:
        name = known.get(id(node))
        if name is not None:
            return name
        name = known[id(node)] = f"node{len(known)}"
        kept.append(node)
        if isinstance(node, AccumulateGrad):
            leaf = node.variable
            label = names.get(id(leaf))
            picture.node(name, label or "leaf", str(tuple(leaf.shape)), kind="parameter" if label else "input")
        else:
            picture.node(name, node.name())
            stack.append(node)
        return name

    for i, (label, tensor) in enumerate(_outputs_of(outputs)):
        if not _requires_grad(tensor):
            raise RuntimeError(f"autograd_graph(): {label} does not require a gradient, so that no graph leads to it")
        shape = str(tuple(tensor.shape))
        picture.node(f"output{i}", label, shape, kind="output")
        node = tensor.grad_fn if tensor.grad_fn is not None else _accumulator(tensor)
        picture.edge(box_of(node), f"output{i}", shape)
    while stack:
        node = stack.pop()
        metas = node.input_meta or []
        for i, (source, _) in enumerate(node.next_functions):
            if source is not None:
                meta = metas[i] if i < len(metas) else None
                shape = "" if meta is None else str(tuple(meta[0]))
                picture.edge(box_of(source), known[id(node)], shape)
    return picture


def _accumulator(leaf: Any) -> Any:
    from minitorch.autograd.graph import accumulator_of

    return accumulator_of(leaf)


def _names_of(params: Any) -> dict[int, str]:
    if params is None:
        return {}
    if isinstance(params, Module):
        params = params.named_parameters()
    items: Iterable[Any] = params.items() if isinstance(params, dict) else params
    return {id(tensor): name for name, tensor in items}


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _outputs_of(outputs: Any) -> list[tuple[str, Any]]:
    if isinstance(outputs, dict):
        return [(str(name), tensor) for name, tensor in outputs.items()]
    if isinstance(outputs, (tuple, list)):
        return [(f"output {i}", tensor) for i, tensor in enumerate(outputs)]
    return [("output", outputs)]
