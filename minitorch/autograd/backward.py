"""`backward` and `grad`: the ways into the engine."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from minitorch.autograd.dual import get_visible, set_visible, share_levels
from minitorch.autograd.engine import Task
from minitorch.autograd.graph import GradientEdge, edge_of
from minitorch.autograd.node import Node, gradient_target, requires_grad
from minitorch.dispatch.local_state import current
from minitorch.dispatch.transforms import inside_transforms, interpreter_stack, set_interpreter_stack
from minitorch.ops.overriding import handle_operator_call
from minitorch.tensor.base import TensorBase, is_plain, modes_active
from minitorch.tensor.operators import F


def _as_tuple(value: Any) -> tuple:
    if value is None:
        return ()
    if isinstance(value, (TensorBase, GradientEdge)):
        return (value,)
    return tuple(value)


def _root_gradient(output: Any, grad: Any, index: int) -> Any:
    """Return the gradient to start from at `output`.

    Raises
    ------
    RuntimeError
        If it is missing and the output is no scalar, or its shape is wrong.
    """
    if grad is None:
        handle = output.handle
        if handle.size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if handle.dtype.kind != "f" and output.dtype.category != 2:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {output.dtype}")
        return F.ones_like(output)
    if not isinstance(grad, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
    if grad.shape != output.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {grad.shape} and output[{index}] has a shape of "
            f"{output.shape}."
        )
    if output.dtype.is_complex != grad.dtype.is_complex:
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            f"grad_output[{index}] has {grad.dtype} and output[{index}] has {output.dtype}."
        )
    return grad


def _starts(outputs: tuple, grads: tuple) -> tuple[list, list, list]:
    """Return the targets, their output numbers and the gradients that a pass starts from."""
    if grads and len(grads) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    roots, numbers, starts = [], [], []
    for i, output in enumerate(outputs):
        grad = grads[i] if grads else None
        if isinstance(output, tuple):
            if grad is None:
                raise RuntimeError("grad can be implicitly created only for scalar outputs, not for a GradientEdge")
            starts.append(grad)
        else:
            if not requires_grad(output):
                raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
            starts.append(_root_gradient(output, grad, i))
        target, number = edge_of(output)
        roots.append(target)
        numbers.append(number)
    return roots, numbers, starts


# A backward pass that is started within a backward pass runs in the same thread, up to this
# depth; then in a fresh one, whose stack is empty.
_MAX_DEPTH = 20

_STATE_OF_THREAD = (
    "included", "excluded", "inference_mode", "forward_grad_enabled", "view_replay", "trace", "anomaly",
    "anomaly_check_nan", "function_disabled", "saved_tensor_hooks", "saved_tensor_hooks_disabled", "function_modes",
    "dispatch_modes", "default_device",
)


def _run(task: Task, roots: list, numbers: list, starts: list) -> list:
    """Run a pass, and leave the state of the thread as it was."""
    state = current()
    extra = state.extra
    outer, depth = extra.get("backward pass"), extra.get("backward depth", 0)
    if depth >= _MAX_DEPTH:
        return _run_in_new_thread(task, roots, numbers, starts)
    enabled, evaluating, hooks = state.grad_enabled, state.evaluating_node, state.saved_tensor_hooks
    extra["backward pass"], extra["backward depth"] = task, depth + 1
    state.grad_enabled = task.create_graph
    try:
        return task.run(roots, numbers, starts)
    finally:
        state.grad_enabled, state.evaluating_node, state.saved_tensor_hooks = enabled, evaluating, hooks
        extra["backward pass"], extra["backward depth"] = outer, depth


def _run_in_new_thread(task: Task, roots: list, numbers: list, starts: list) -> list:
    outer, transforms, visible = current(), interpreter_stack(), get_visible()
    outcome: list = []

    def work() -> None:
        state = current()
        for name in _STATE_OF_THREAD:
            setattr(state, name, getattr(outer, name))
        set_interpreter_stack(transforms)
        share_levels(outer)
        set_visible(visible)
        try:
            outcome.append((_run(task, roots, numbers, starts), None))
        except BaseException as error:
            outcome.append((None, error))

    thread = threading.Thread(target=work, name="minitorch backward")
    thread.start()
    thread.join()
    captured, error = outcome[0]
    if error is not None:
        raise error
    return captured


def queue_callback(callback: Callable[[], None]) -> None:
    """Call `callback` when the backward pass that is running in this thread is complete.

    Raises
    ------
    RuntimeError
        If none is running.
    """
    task = current().extra.get("backward pass")
    if task is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    task.callbacks.append(callback)


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
    refuse_inside_transforms("backward()")
    outputs = _as_tuple(tensors)
    if modes_active():
        options = {
            "grad_tensors": grad_tensors, "retain_graph": retain_graph, "create_graph": create_graph,
            "grad_variables": grad_variables, "inputs": inputs,
        }
        handled = handle_operator_call(backward, (outputs,), options)
        if handled is not NotImplemented:
            return
    grads = _as_tuple(grad_tensors if grad_tensors is not None else grad_variables)
    keep = create_graph if retain_graph is None else retain_graph
    roots, numbers, starts = _starts(outputs, grads)
    if inputs is None:
        _run(Task(None, None, None, 0, keep, create_graph), roots, numbers, starts)
        return
    wanted = _as_tuple(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    captures, leaves, targets = {}, set(), []
    for tensor in wanted:
        target, number = edge_of(tensor)
        if isinstance(target, Node):
            # The gradients that come to it are kept in its `.grad`; nobody asks for the captured ones.
            tensor.retain_grad()
            captures[id(target), number] = 0
        elif target is None or not target.requires_grad_flag:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        else:
            leaves.add(id(target))
        targets.append(target)
    needed = nodes_towards(roots, targets)
    _run(Task(captures, needed, leaves, 1, keep, create_graph), roots, numbers, starts)


def gradients_at(outputs: tuple, inputs: tuple, grads: tuple, keep_graph: bool, create_graph: bool) -> list:
    """Return the gradients of `inputs`, None where no output depends on one.

    `outputs` are tensors that require a gradient, or edges.
    """
    roots, numbers, starts = _starts(outputs, grads)
    captures: dict = {}
    wanted: list = []
    duplicates: list = []
    for i, tensor in enumerate(inputs):
        if not isinstance(tensor, tuple) and not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        target, number = edge_of(tensor)
        key = (id(target), number)
        if key in captures:
            duplicates.append((i, captures[key]))
            continue
        captures[key] = i
        wanted.append(target)
    needed = nodes_towards(roots, wanted)
    task = Task(captures, needed, set(), len(inputs), keep_graph, create_graph)
    results = _run(task, roots, numbers, starts)
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
    only_inputs: bool = True,
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
    only_inputs : bool
        Ignored, but for a warning: gradients go to `inputs` alone, as in PyTorch.
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
    if modes_active():
        options = {
            "grad_outputs": grad_outputs, "retain_graph": retain_graph, "create_graph": create_graph,
            "only_inputs": only_inputs, "allow_unused": allow_unused, "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }
        handled = handle_operator_call(grad, (outputs, inputs), options)
        if handled is not NotImplemented:
            return handled
    if not only_inputs:
        warnings.warn(
            "grad(): only_inputs=False is ignored, gradients go to the inputs alone. To accumulate them in other leaves too, "
            "call minitorch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if not inputs:
        raise ValueError("grad requires non-empty inputs.")
    grads = _as_tuple(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        from minitorch.functorch.vmap import vmap

        used: list[int] = []

        def pull_back(*rows: Any) -> list:
            found = gradients_at(outputs, inputs, rows, keep, create_graph)
            used[:] = [i for i, gradient in enumerate(found) if gradient is not None]  # vmap returns tensors alone
            return [found[i] for i in used]

        mapped = vmap(pull_back, randomness="different")(*grads)
        results: list = [None] * len(inputs)
        for i, gradient in zip(used, mapped, strict=True):
            results[i] = gradient
    else:
        results = gradients_at(outputs, inputs, grads, keep, create_graph)
    for i, result in enumerate(results):
        if result is None:
            if materialize_grads:
                results[i] = F.zeros_like(inputs[i])
            elif not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
    return tuple(results)


def refuse_inside_transforms(what: str) -> None:
    """Raise if a call that writes to ``.grad`` or asks for it is made inside of a function that is being transformed."""
    if inside_transforms():
        raise RuntimeError(
            f"{what} called inside a functorch transform. This is not supported: use minitorch.func.grad or vjp there, or call "
            f"{what} outside of the function that is being transformed."
        )


def tensor_backward(
    self: Any, gradient: Any = None, retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None
) -> None:
    """Compute the gradients of this tensor and add them to the ``.grad`` of the leaves (see `autograd.backward`)."""
    if modes_active() or not is_plain(self):
        handled = handle_operator_call(
            tensor_backward,
            (self,),
            {"gradient": gradient, "retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs},
        )
        if handled is not NotImplemented:
            return handled
    if inputs is None and requires_grad(self) and not inside_transforms():
        start = _root_gradient(self, gradient, 0)
        keep = create_graph if retain_graph is None else retain_graph
        target = gradient_target(self)
        number = self.output_nr if isinstance(target, Node) else 0
        _run(Task(None, None, None, 0, keep, create_graph), [target], [number], [start])
    else:
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)


# What ``__torch_function__`` handlers see the method as; the functions go by their own names.
tensor_backward.__name__ = "backward"
tensor_backward.__qualname__ = "Tensor.backward"
