"""`backward` and `grad`: the ways into the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from minitorch.autograd.engine import Task
from minitorch.autograd.node import Node, gradient_target
from minitorch.dispatch.local_state import current
from minitorch.tensor.base import TensorBase
from minitorch.tensor.operators import F


def _as_tuple(value: Any) -> tuple:
    if value is None:
        return ()
    if isinstance(value, TensorBase) or (isinstance(value, tuple) and hasattr(value, "node")):
        return (value,)
    return tuple(value)


def _root_gradient(output: Any, grad: Any, create_graph: bool) -> Any:
    """Return the gradient to start from at `output`.

    Raises
    ------
    RuntimeError
        If it is missing and the output is no scalar, or its shape is wrong.
    """
    if grad is None:
        if output.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if output.dtype.category != 2:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        return F.ones_like(output)
    if not isinstance(grad, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if grad.shape != output.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output has a shape of {list(grad.shape)} and output has a shape of "
            f"{list(output.shape)}."
        )
    if output.dtype.is_complex != grad.dtype.is_complex:
        raise RuntimeError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. grad_output has "
            f"{grad.dtype} and output has {output.dtype}."
        )
    return grad


def _run(
    outputs: tuple, grads: tuple, keep_graph: bool, create_graph: bool, captures: Any, needed: Any, count: int,
    accumulate: bool,
) -> list:
    roots, numbers, starts = [], [], []
    for i, output in enumerate(outputs):
        grad = grads[i] if i < len(grads) else None
        if isinstance(output, tuple):
            roots.append(getattr(output.node, "variable", output.node))
            numbers.append(output.output_nr)
            starts.append(grad)
            continue
        if not output.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        starts.append(_root_gradient(output, grad, create_graph))
        roots.append(gradient_target(output))
        numbers.append(output.output_nr if isinstance(roots[-1], Node) else 0)
    task = Task(captures, needed, count, keep_graph, create_graph)
    task.accumulate = accumulate
    state = current()
    enabled, evaluating, hooks = state.grad_enabled, state.evaluating_node, state.saved_tensor_hooks
    state.grad_enabled = create_graph
    try:
        return task.run(roots, numbers, starts)
    finally:
        state.grad_enabled, state.evaluating_node, state.saved_tensor_hooks = enabled, evaluating, hooks


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Compute the gradients of `tensors` and add them to the ``.grad`` of the leaves.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor
    grad_tensors : Tensor or sequence of (Tensor or None), optional
        Gradients to start from; ones for scalars when omitted.
    retain_graph : bool, optional
        Keep what is saved, for another backward; as `create_graph` when omitted.
    create_graph : bool
        Record the backward pass itself.
    inputs : Tensor or sequence of Tensor, optional
        Accumulate into these only.

    Raises
    ------
    RuntimeError
        If an output has no history, or a gradient is missing for a non-scalar.
    """
    outputs = _as_tuple(tensors)
    grads = _as_tuple(grad_tensors if grad_tensors is not None else grad_variables)
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        _run(outputs, grads, keep, create_graph, None, None, 0, True)
        return
    wanted = _as_tuple(inputs)
    if not wanted:
        raise RuntimeError("'inputs' argument to 'backward' cannot be empty.")
    results = _gradients(outputs, wanted, grads, keep, create_graph)
    for leaf, grad in zip(wanted, results, strict=True):
        if grad is None:
            continue
        if leaf.grad_slot is None:
            leaf.grad_slot = F.clone(grad) if create_graph else F.detach(F.clone(grad))
        elif create_graph:
            leaf.grad_slot = leaf.grad_slot + grad
        else:
            leaf.grad_slot.add_(grad)


def _gradients(outputs: tuple, inputs: tuple, grads: tuple, keep_graph: bool, create_graph: bool) -> list:
    """Return the gradients of `inputs`, None where an output does not depend on one."""
    captures: dict = {}
    wanted: list = []
    duplicates: list = []
    for i, tensor in enumerate(inputs):
        if isinstance(tensor, tuple):
            target, number = getattr(tensor.node, "variable", tensor.node), tensor.output_nr
        else:
            if not tensor.requires_grad:
                raise RuntimeError("One of the differentiated Tensors does not require grad")
            target, number = gradient_target(tensor), tensor.output_nr
        if not isinstance(target, Node):
            number = 0
        key = (id(target), number)
        if key in captures:
            duplicates.append((i, captures[key]))
            continue
        captures[key] = i
        wanted.append(target)
    roots = [gradient_target(o) if isinstance(o, TensorBase) else getattr(o.node, "variable", o.node) for o in outputs]
    needed = nodes_towards(roots, wanted)
    results = _run(outputs, grads, keep_graph, create_graph, captures, needed, len(inputs), False)
    for i, first in duplicates:
        results[i] = results[first]
    return results


def nodes_towards(roots: Sequence, wanted: Sequence) -> set:
    """Return the nodes that lie on a way from a root to one of the `wanted` nodes or leaves (those excluded)."""
    goals = {id(w) for w in wanted}
    parents: dict[int, list] = {}
    reached: list = []
    seen: set = set()
    stack = [r for r in roots if isinstance(r, Node)]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        for target in node.targets:
            if target is None:
                continue
            if id(target) in goals:
                reached.append(node)
            if isinstance(target, Node):
                parents.setdefault(id(target), []).append(node)
                if target not in seen:
                    stack.append(target)
    needed: set = set()
    stack = reached
    while stack:
        node = stack.pop()
        if node in needed:
            continue
        needed.add(node)
        stack += parents.get(id(node), ())
    return needed


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple:
    """Return the gradients of the sum of `outputs` with respect to `inputs`, leaving every ``.grad`` alone.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
    grad_outputs : Tensor or sequence of (Tensor or None), optional
        Gradients to start from; ones for scalars when omitted.
    retain_graph, create_graph : bool, optional
        As for `backward`.
    allow_unused : bool, optional
        Return None for an input that no output depends on, instead of raising.
    is_grads_batched : bool
        The first dimension of each grad_output is a batch; the result has it too.
    materialize_grads : bool
        Return zeros instead of None.

    Raises
    ------
    RuntimeError
        If an input does not require grad, or was not used and `allow_unused` is not set.

    Examples
    --------
    >>> x = minitorch.tensor(3.0, requires_grad=True)
    >>> minitorch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    outputs, inputs = _as_tuple(outputs), _as_tuple(inputs)
    if not inputs:
        raise ValueError("grad requires non-empty inputs.")
    grads = _as_tuple(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        count = grads[0].shape[0]
        rows = [
            _gradients(outputs, inputs, tuple(g[i] for g in grads), keep or i < count - 1, create_graph)
            for i in range(count)
        ]
        results: list = [
            None if any(r[j] is None for r in rows) else F.stack([r[j] for r in rows]) for j in range(len(inputs))
        ]
    else:
        results = _gradients(outputs, inputs, grads, keep, create_graph)
    for i, result in enumerate(results):
        if result is None:
            if materialize_grads:
                results[i] = F.zeros_like(inputs[i])
            elif not allow_unused:
                raise RuntimeError(
                    "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True "
                    "if this is the desired behavior."
                )
    return tuple(results)


def tensor_backward(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Compute the gradients of this tensor and add them to the ``.grad`` of the leaves (see `autograd.backward`)."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)
