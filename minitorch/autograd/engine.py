"""The backward engine: runs the nodes of a graph in the calling thread, without recursion.

Compiled where a compiler exists (`engine.pxd`).

Note [Order of backward]
    A node runs when the gradients of all its outputs that are on the way have arrived.
    Among the nodes that are ready the one made last runs first, so the order depends on
    the forward pass alone and repeated runs give the same bits.

Note [Owning a gradient]
    The first gradient that reaches a leaf becomes its ``.grad`` without a copy when nobody
    else can see its memory: no other reference to the tensor, no view of the storage, and a
    dense handle that owns its elements.  Otherwise it is copied, so that two leaves never
    share a gradient.
"""

from __future__ import annotations

import sys
from heapq import heappop, heappush

from minitorch.autograd.node import Node
from minitorch.dispatch.local_state import LocalState, current
from minitorch.tensor.base import TensorBase, new_tensor

COMPILED = not __file__.endswith(".py")
_getrefcount = sys.getrefcount

# Set by the autograd package: functions of the public operators that the engine needs.
_add = None
_sum_to_shape = None
_cast = None
_clone = None
_detach = None


class Task:
    """One backward pass.

    Parameters
    ----------
    captures : dict or None
        ``(id of target, number)`` to place in the result, for `grad`; None to accumulate into leaves.
    needed : set or None
        Ids of the nodes on the way to a captured input; None for all.
    """

    __slots__ = (
        "accumulate",
        "buffers",
        "callbacks",
        "captured",
        "captures",
        "create_graph",
        "dependencies",
        "keep_graph",
        "leaf_buffers",
        "needed",
        "ready",
    )

    def __init__(self, captures, needed, count, keep_graph, create_graph):
        self.dependencies = {}
        self.buffers = {}
        self.ready = []
        self.captures = captures
        self.needed = needed
        self.accumulate = captures is None
        self.captured = [None] * count
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.leaf_buffers = {}
        self.callbacks = []

    def count_dependencies(self, roots):
        """Count, for each node that can be reached, the edges on which gradients will come."""
        dependencies = self.dependencies
        stack = []
        seen = set()
        for root in roots:
            if root not in seen:
                seen.add(root)
                stack.append(root)
        while stack:
            node: Node = stack.pop()
            for target in node.targets:
                if isinstance(target, Node):
                    dependencies[target] = dependencies.get(target, 0) + 1
                    if target not in seen:
                        seen.add(target)
                        stack.append(target)
                elif target is not None:
                    key = id(target)
                    dependencies[key] = dependencies.get(key, 0) + 1

    def deliver(self, target, number, grad):
        """Bring one gradient to a node or a leaf."""
        if isinstance(target, Node):
            node: Node = target
            buffer = self.buffers.get(node)
            if buffer is None:
                buffer = [None] * node.output_count
                self.buffers[node] = buffer
            if grad is not None:
                old = buffer[number]
                buffer[number] = grad if old is None else _add(old, grad)
        elif grad is not None:
            leaf = self.leaf_buffers.get(id(target))
            if leaf is None:
                self.leaf_buffers[id(target)] = [target, grad]
            else:
                leaf[1] = _add(leaf[1], grad)

    def run_node(self, node, grads):
        """Run hooks and `apply`; return one gradient an edge."""
        if node.pre_hooks is not None:
            for number, hooks in node.pre_hooks:
                if grads[number] is not None:
                    for hook in list(hooks.values()):
                        changed = hook(grads[number])
                        if changed is not None:
                            grads[number] = changed
        if node.extra is not None and "prehooks" in node.extra:
            for hook in list(node.extra["prehooks"].values()):
                changed = hook(tuple(grads))
                if changed is not None:
                    grads = list(changed) if isinstance(changed, (tuple, list)) else [changed]
        if node.retain_hooks is not None:
            for number, reference in node.retain_hooks.items():
                tensor = reference()
                if tensor is not None and grads[number] is not None:
                    kept = grads[number] if self.create_graph else _detach(grads[number])
                    tensor.grad_slot = kept if tensor.grad_slot is None else _add(tensor.grad_slot, kept)
        if self.captures is not None:
            for number in range(len(grads)):
                place = self.captures.get((id(node), number))
                if place is not None:
                    self.captured[place] = grads[number]
            if self.needed is not None and node not in self.needed:
                return None
        return grads

    def validate(self, node, results):
        """Give each gradient the shape and dtype of the input it belongs to."""
        metas = node.input_meta
        if metas is None:
            return results
        targets = node.targets
        count = len(results)
        for i in range(count):
            grad = results[i]
            if grad is None or i >= len(metas):
                continue
            if targets[i] is None:
                results[i] = None
                continue
            meta = metas[i]
            if meta is None:
                continue
            shape, dtype = meta
            tensor: TensorBase = grad
            handle = tensor.handle
            if handle.shape != shape:
                grad = _sum_to_shape(grad, shape, node)
                tensor = grad
                handle = tensor.handle
                results[i] = grad
            if handle.dtype is not dtype and handle.dtype != dtype:
                results[i] = _cast(grad, dtype)
        return results

    def loop(self):
        """Run nodes until none is ready."""
        ready = self.ready
        dependencies = self.dependencies
        buffers = self.buffers
        state: LocalState = current()
        outer_node = state.evaluating_node
        while ready:
            node: Node = heappop(ready)
            grads = buffers.pop(node)
            grads = self.run_node(node, grads)
            targets = node.targets
            count = len(targets)
            results = None
            has_grad = False
            if grads is not None:
                for g in grads:
                    if g is not None:
                        has_grad = True
                        break
            if has_grad:
                state.evaluating_node = node
                if state.anomaly:
                    results = run_watched(node, grads)
                else:
                    results = node.apply(grads)
                state.evaluating_node = outer_node
                if not self.keep_graph:
                    node.release()
                if len(results) != count:
                    results = check_count(node, results, count)
                results = self.validate(node, results)
                if node.post_hooks is not None:
                    results = run_post_hooks(node, results, grads)
            grads = None
            for i in range(count):
                target = targets[i]
                if target is None:
                    continue
                grad = results[i] if results is not None else None
                if isinstance(target, Node):
                    left = dependencies.get(target, 0) - 1
                    dependencies[target] = left
                    self.deliver(target, node.numbers[i], grad)
                    if left == 0:
                        heappush(ready, target)
                else:
                    if grad is not None:
                        results[i] = None
                        self.deliver(target, 0, grad)
                        grad = None
                    key = id(target)
                    left = dependencies[key] - 1
                    dependencies[key] = left
                    if left == 0 and key in self.leaf_buffers:
                        self.finish_leaf(key)

    def run(self, roots, numbers, grads):
        """Run the pass from the `roots` (nodes or leaves); return what was captured."""
        nodes = [root for root in roots if isinstance(root, Node)]
        self.count_dependencies(nodes)
        for i in range(len(roots)):
            self.deliver(roots[i], numbers[i], grads[i])
        for root in set(nodes):
            if self.dependencies.get(root, 0) == 0:
                heappush(self.ready, root)
        self.loop()
        for key in list(self.leaf_buffers):
            self.finish_leaf(key)
        for callback in self.callbacks:
            callback()
        return self.captured

    def finish_leaf(self, key):
        """Hand the summed gradient to a leaf, or capture it: no more will come."""
        pair = self.leaf_buffers.pop(key)
        leaf: TensorBase = pair[0]
        grad = pair[1]
        pair = None
        if leaf.autograd_meta is not None:
            grad = run_leaf_hooks(leaf, grad)
        if self.captures is not None:
            place = self.captures.get((key, 0))
            if place is not None:
                self.captured[place] = grad
        if self.accumulate:
            accumulate_into(leaf, grad, self.create_graph)
            if leaf.autograd_meta is not None:
                run_accumulated_hooks(leaf)


def accumulate_into(leaf, grad, create_graph):
    """Add a gradient to ``leaf.grad`` (Note [Owning a gradient])."""
    old = leaf.grad_slot
    if old is not None:
        if create_graph:
            leaf.grad_slot = _add(old, grad)
        else:
            old.add_(grad)
        return
    if create_graph:
        leaf.grad_slot = _clone(grad)
        return
    tensor: TensorBase = grad
    handle = tensor.handle
    if (
        tensor.storage_cell is None
        and tensor.node is None
        and not tensor.requires_grad_flag
        and handle.base is None
        and handle.flags.c_contiguous
        and _getrefcount(grad) <= OWNED_REFERENCES
        and _getrefcount(handle) <= OWNED_HANDLE_REFERENCES
    ):
        leaf.grad_slot = new_tensor(handle, tensor.key_set)
    else:
        leaf.grad_slot = _detach(_clone(grad))


def accumulate_gradient(leaf, grad):
    """Add a gradient to ``leaf.grad``, as the engine does."""
    accumulate_into(leaf, grad, False)


# How many references the two calls above see when only the engine holds the gradient: one
# for the local in `finish_leaf`, the rest for arguments and aliases inside `accumulate_into`.
OWNED_REFERENCES = 4 if COMPILED else 5
OWNED_HANDLE_REFERENCES = 3


def run_leaf_hooks(leaf, grad):
    """Run the hooks of a leaf on its gradient."""
    hooks = leaf.autograd_meta.get("hooks")
    if hooks:
        for hook in list(hooks.values()):
            changed = hook(grad)
            if changed is not None:
                grad = changed
    return grad


def run_accumulated_hooks(leaf):
    """Run the hooks that want to know when ``.grad`` was updated."""
    hooks = leaf.autograd_meta.get("post_accumulate")
    if hooks:
        for hook in list(hooks.values()):
            hook(leaf)


def run_post_hooks(node, results, grads):
    """Run a node's own hooks; each may replace the gradients of its inputs."""
    results = list(results)
    for hook in list(node.post_hooks.values()):
        changed = hook(tuple(results), tuple(grads))
        if changed is not None:
            results = list(changed) if isinstance(changed, (tuple, list)) else [changed]
    return results


def run_watched(node, grads):
    """Run a node in anomaly mode: errors and NaNs name the forward call."""
    from minitorch.autograd.anomaly import watch

    return watch(node, grads)


def check_count(node, results, count):
    """Return `results` with trailing Nones cut or added; raise if gradients are too many or too few."""
    results = list(results)
    while len(results) > count and results[-1] is None:
        results.pop()
    if len(results) != count:
        raise RuntimeError(f"{node.name()} returned {len(results)} gradients for {count} inputs")
    return results


def set_operators(add, sum_to_shape, cast, clone, detach):
    """Give the engine the operators that it needs."""
    global _add, _sum_to_shape, _cast, _clone, _detach
    _add = add
    _sum_to_shape = sum_to_shape
    _cast = cast
    _clone = clone
    _detach = detach
