"""The backward engine: runs the nodes of a graph in the calling thread, without recursion.

Compiled where a compiler exists (`engine.pxd`).

Note [Order of backward]
    A node runs when the gradients of all its outputs that are on the way have arrived.
    Among the nodes that are ready the one made last runs first, so the order depends on
    the forward pass alone and repeated runs give the same bits.

Note [Owning a gradient]
    The first gradient that reaches a leaf becomes its ``.grad`` without a copy when nobody
    else can see its memory: no other reference to the tensor or its handle, no view of the
    storage, and a handle that owns its elements and has the leaf's strides.  Otherwise it
    is copied, so that two leaves never share a gradient.  A sum of large gradients is
    written over the first of them on the same condition.
"""

from __future__ import annotations

import sys
import threading
from heapq import heappop, heappush

from minitorch.autograd.node import Node
from minitorch.core.meta_array import Geometry
from minitorch.dispatch.keys import FUNCTIONALIZE, FUNCTORCH_KEYS, PYTHON, ZERO_TENSOR, functionality_bit
from minitorch.dispatch.local_state import LocalState, current
from minitorch.tensor.base import TensorBase, bare_copy

COMPILED = not __file__.endswith(".py")
# Of gradients that show the memory of others, or have none, or are made of several tensors; C integers when compiled.
_PYTHON = PYTHON
_SPARSE = functionality_bit("Sparse") | functionality_bit("SparseCsr")
_WITHOUT_MEMORY = FUNCTORCH_KEYS | FUNCTIONALIZE | ZERO_TENSOR | PYTHON | _SPARSE
_getrefcount = sys.getrefcount

# Set by the autograd package: functions of the public operators that the engine needs.
_add = None
_sum_to_shape = None
_cast = None
_copy_for = None


class Task:
    """One backward pass.

    Parameters
    ----------
    captures : dict or None
        ``(id of target, number)`` to place in the result, for `grad`.
    needed : set or None
        The nodes on the way to an input that was asked for; None for all.
    leaves : set or None
        Ids of the leaves to accumulate into; None for all.
    count : int
        How many gradients are captured.
    """

    __slots__ = (
        "__weakref__",
        "buffers",
        "callbacks",
        "captured",
        "captures",
        "create_graph",
        "dependencies",
        "keep_graph",
        "leaf_buffers",
        "leaves",
        "needed",
        "ready",
        "roots",
    )

    def __init__(self, captures, needed, leaves, count, keep_graph, create_graph):
        self.dependencies = {}
        self.buffers = {}
        self.ready = []
        self.captures = captures
        self.needed = needed
        self.leaves = leaves
        self.captured = [None] * count
        self.keep_graph = keep_graph
        self.create_graph = create_graph
        self.leaf_buffers = {}
        self.callbacks = []
        self.roots = []

    def will_reach(self, target, number):
        """Return whether a gradient may come to a node or leaf in this pass."""
        key = target if isinstance(target, Node) else id(target)
        if key not in self.dependencies and not any([root is target for root in self.roots]):
            return False
        if isinstance(target, Node):
            return True
        return self.leaves is None or id(target) in self.leaves or (id(target), 0) in (self.captures or ())

    def is_on_the_way(self, target):
        """Return whether a node runs, or is only asked for the gradients that arrive at it."""
        if self.needed is None or target in self.needed:
            return True
        return any([(id(target), number) in self.captures for number in range(target.output_count)])

    def count_dependencies(self, roots):
        """Count, for each node and leaf on the way, the edges on which gradients will come."""
        dependencies = self.dependencies
        needed = self.needed
        stack = []
        seen = set()
        for root in roots:
            if root not in seen:
                seen.add(root)
                stack.append(root)
        while stack:
            node: Node = stack.pop()
            if needed is not None and node not in needed:
                continue
            for target in node.targets:
                if isinstance(target, Node):
                    if needed is not None and not self.is_on_the_way(target):
                        continue
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
                if old is None:
                    buffer[number] = grad
                elif self.may_add_in_place(old, grad):
                    old.add_(grad)
                    summed: TensorBase = old
                    # Without the storage that counts changes: the memory is still nobody else's.
                    buffer[number] = bare_copy(summed)
                else:
                    buffer[number] = added(old, grad)
        elif grad is not None:
            leaf = self.leaf_buffers.get(id(target))
            if leaf is None:
                self.leaf_buffers[id(target)] = [target, grad]
            else:
                leaf[1] = added(leaf[1], grad)

    def may_add_in_place(self, old, grad):
        """Return whether the sum of two gradients may be written over the first."""
        handle = old.handle
        # Without memory there is none to save; and a trace of fake tensors does not depend on their size.
        if self.create_graph or isinstance(handle, Geometry) or handle.size < _large:
            return False
        other = grad.handle
        return handle.shape == other.shape and handle.dtype == other.dtype and is_owned(old, _references_in_buffer)

    def capture(self, node, grads):
        """Note the gradients that were asked for among those that arrived at a node."""
        for number in range(len(grads)):
            place = self.captures.get((id(node), number))
            if place is not None:
                self.captured[place] = grads[number]

    def receive(self, node, grads):
        """Run the hooks that see the gradients of a node's outputs; None if it is not to run."""
        runs = self.needed is None or node in self.needed
        if self.captures is not None and runs:
            # As in PyTorch: of a node that runs, the gradients before the hooks.
            self.capture(node, grads)
        if node.pre_hooks is not None:
            for number, hooks in node.pre_hooks:
                for hook in list(hooks.values()):
                    if grads[number] is not None:
                        changed = hook(grads[number])
                        if changed is not None:
                            grads[number] = changed
        if node.retain_hooks is not None:
            for number, reference in node.retain_hooks.items():
                tensor = reference()
                if tensor is not None and grads[number] is not None:
                    retain(tensor, grads[number], self.create_graph)
        if not runs:
            if self.captures is not None:
                self.capture(node, grads)
            return None
        if node.extra is not None and "prehooks" in node.extra:
            for hook in list(node.extra["prehooks"].values()):
                changed = hook(tuple(grads))
                if changed is not None:
                    grads = list(changed) if isinstance(changed, (tuple, list)) else [changed]
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
            own = handle.shape
            # Tuples of unequal length are compared item by item too, which asks symbolic sizes for nothing.
            if len(own) != len(shape) or own != shape:
                grad = _sum_to_shape(grad, shape, node, i)
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
            if (
                node.pre_hooks is not None
                or node.retain_hooks is not None
                or node.extra is not None
                or self.needed is not None
            ):
                grads = self.receive(node, grads)
                if grads is None:
                    continue
            targets = node.targets
            count = len(targets)
            results = None
            wanted = node.runs_always
            if not wanted:
                for g in grads:
                    if g is not None:
                        wanted = True
                        break
            if wanted:
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
                    before = dependencies.get(target)
                    if before is None:
                        continue
                    left = before - 1
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
        self.roots = roots
        nodes = [root for root in roots if isinstance(root, Node) and self.is_on_the_way(root)]
        self.count_dependencies(nodes)
        for i in range(len(roots)):
            root = roots[i]
            if root is None or (isinstance(root, Node) and not self.is_on_the_way(root)):
                continue
            if isinstance(root, Node) and root not in self.buffers and root not in self.dependencies:
                heappush(self.ready, root)
            self.deliver(root, numbers[i], grads[i])
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
        # A leaf that no longer requires a gradient (detach_, requires_grad_(False)) gets none.
        accumulates = leaf.requires_grad_flag and (self.leaves is None or key in self.leaves)
        place = self.captures.get((key, 0)) if self.captures is not None else None
        if not accumulates and place is None:
            return
        if leaf.autograd_meta is not None:
            grad = run_leaf_hooks(leaf, grad, "hooks")
        if place is not None:
            self.captured[place] = grad
        if accumulates:
            if leaf.autograd_meta is not None:
                grad = run_leaf_hooks(leaf, grad, "node_prehooks")
            with _accumulation_lock:
                accumulate_into(leaf, grad, self.create_graph)
            if leaf.autograd_meta is not None:
                run_accumulated_hooks(leaf)


def added(old, grad):
    """Return the sum of two gradients; a dense one comes first, as it may be added to no sparse one."""
    tensor: TensorBase = old
    return _add(grad, old) if tensor.key_set & _SPARSE else _add(old, grad)


# Several threads may run backward at once and meet at a leaf.
_accumulation_lock = threading.RLock()


def accumulate_into(leaf, grad, create_graph):
    """Add a gradient to ``leaf.grad`` (Note [Owning a gradient])."""
    old = leaf.grad_slot
    if old is not None:
        kept: TensorBase = old
        came: TensorBase = grad
        if create_graph or (kept.key_set & _SPARSE and not came.key_set & _SPARSE):
            leaf.grad_slot = added(old, grad)
        else:
            old.add_(grad)
        return
    tensor: TensorBase = grad
    if (
        not create_graph
        and not (tensor.key_set | leaf.key_set) & _SPARSE
        and is_owned(tensor, _references_at_leaf)
        and tensor.handle.strides == leaf.handle.strides
    ):
        leaf.grad_slot = bare_copy(tensor)
    elif (
        not create_graph
        and tensor.key_set & _PYTHON
        and not tensor._handle_is_all
        and is_alone(tensor, _references_at_leaf)
    ):
        leaf.grad_slot = tensor.detach()
    else:
        leaf.grad_slot = _copy_for(leaf, grad, create_graph)


def accumulate_gradient(leaf, grad):
    """Add a gradient to ``leaf.grad``, as the engine does."""
    with _accumulation_lock:
        accumulate_into(leaf, grad, False)


def is_owned(tensor, references):
    """Return whether nobody else can see a gradient's memory (Note [Owning a gradient]).

    Parameters
    ----------
    references : int
        How many the caller and those that called it hold, and this function.
    """
    if tensor.storage_cell is not None or tensor.node is not None or tensor.requires_grad_flag:
        return False
    if tensor.key_set & _WITHOUT_MEMORY and not (tensor.key_set & _PYTHON and tensor._handle_is_all):
        return False  # others may show what is inside of a wrapper, and zeros cannot be changed
    handle = tensor.handle
    if _getrefcount(tensor) > references or _getrefcount(handle) > _references_to_handle:
        return False
    base = getattr(handle, "base", None)
    if base is None:
        return True
    # What a kernel computed in another shape.
    return _getrefcount(base) <= _references_to_base and getattr(base, "nbytes", -1) == handle.nbytes


def is_alone(tensor, references):
    """Return whether nobody else holds a gradient of a subclass; whose memory is inside, only the class knows."""
    return _getrefcount(tensor) <= references


# How many references `is_owned` sees when nobody else holds the gradient, its handle, and the
# array that the handle shows.  That depends on the interpreter and on compilation, so
# `calibrate` measures it.
_references_at_leaf = 0
_references_in_buffer = 0
_references_to_handle = 0
_references_to_base = 0
# Gradients of this many elements are added in place.
_large = 16384


def calibrate(make_gradient, make_reshaped, make_node):
    """Find the numbers above: the smallest with which memory is taken over where it may be.

    Parameters
    ----------
    make_gradient, make_reshaped : callable
        Return a fresh tensor of no dimension; the handle of the second shows another array.
    make_node : callable
        Returns a node of one output.
    """
    global _references_at_leaf, _references_in_buffer, _references_to_handle, _references_to_base, _large
    large, _large = _large, 0
    _references_at_leaf = _references_in_buffer = _references_to_handle = _references_to_base = 99
    for limit in range(99):
        _references_at_leaf = limit
        if _is_taken_over(make_gradient, None):
            break
    for limit in range(99):
        _references_to_handle = limit
        if _is_taken_over(make_gradient, None):
            break
    for limit in range(99):
        _references_to_base = limit
        if _is_taken_over(make_reshaped, None):
            break
    for limit in range(99):
        _references_in_buffer = limit
        if _is_taken_over(make_gradient, make_node):
            break
    _large = large


def _is_taken_over(make_gradient, make_node):
    """Return whether the array of a gradient becomes that of ``.grad``, or of the sum at a node."""
    task: Task = Task(None, None, None, 0, False, False)
    if make_node is not None:
        node: Node = make_node()
        task.deliver(node, 0, make_gradient())
        address = id(task.buffers[node][0].handle)
        task.deliver(node, 0, make_gradient())
        return id(task.buffers[node][0].handle) == address
    leaf: TensorBase = make_gradient()
    leaf.requires_grad_flag = True
    task.leaf_buffers[id(leaf)] = [leaf, make_gradient()]
    address = id(task.leaf_buffers[id(leaf)][1].handle)
    task.finish_leaf(id(leaf))
    kept: TensorBase = leaf.grad_slot
    return id(kept.handle) == address


def retain(tensor, grad, create_graph):
    """Keep the gradient of a tensor that is no leaf in its ``.grad``."""
    if tensor.grad_slot is not None:
        tensor.grad_slot = added(tensor.grad_slot, grad)
    else:
        tensor.grad_slot = _copy_for(tensor, grad, create_graph)


def run_leaf_hooks(leaf, grad, kind):
    """Run the hooks of a leaf on its gradient; `kind` says which."""
    hooks = leaf.autograd_meta.get(kind)
    if hooks:
        for hook in list(hooks.values()):
            changed = hook(grad)
            if changed is not None:
                grad = changed
    return grad


def run_accumulated_hooks(leaf):
    """Run the hooks that want to know when ``.grad`` was updated."""
    for kind in ("post_accumulate", "node_hooks"):
        hooks = leaf.autograd_meta.get(kind)
        if hooks:
            for hook in list(hooks.values()):
                hook(leaf)


def run_post_hooks(node, results, grads):
    """Run a node's own hooks; each may replace the gradients of its inputs."""
    results = [None] * len(node.targets) if results is None else list(results)
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


def set_operators(add, sum_to_shape, cast, copy_for):
    """Give the engine the operators that it needs."""
    global _add, _sum_to_shape, _cast, _copy_for
    _add = add
    _sum_to_shape = sum_to_shape
    _cast = cast
    _copy_for = copy_for
