"""`Node`: one step of the backward graph, and how it keeps the tensors that it needs.

Compiled where a compiler exists (`node.pxd`).

Note [Edges]
    ``targets[i]`` is where the gradient of a node's input ``i`` goes: the node that
    computed the input, the input itself when it is a leaf (its gradient is accumulated
    there), or None.  ``numbers[i]`` says which output of that node the input was.

Note [Saved tensors and versions]
    An input is saved as the tensor itself, with its version at the time.  An output is
    saved as its handle and version counter, because saving the tensor would make a cycle
    (the tensor knows its node); one of a subclass is detached by its class.  Unpacking
    compares versions, so that a tensor changed in place in between is an error and never a
    wrong gradient.
"""

from __future__ import annotations

from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS, PYTHON
from minitorch.dispatch.local_state import LocalState, current
from minitorch.tensor.base import Storage, TensorBase, VersionCounter, ViewInfo, bare_copy, new_tensor

COMPILED = not __file__.endswith(".py")

_sequence = 0
_PYTHON = PYTHON  # a C integer when compiled

FREED_TEXT = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)

DETACHED_TEXT = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_(). This is not supported, please use "
    "out-of-place `.detach()` instead."
)


def next_sequence():
    """Return the next number in the order that nodes are made."""
    global _sequence
    _sequence += 1
    return _sequence


class Node:
    """One step of the backward graph.

    Attributes
    ----------
    sequence : int
        The order of creation; the engine runs later nodes first.
    targets, numbers : tuple
        Note [Edges].
    input_meta : list or None
        By edge ``(shape, dtype, key set)`` of the input, or None: what its gradient must look like.
    output_count : int
        How many gradients `apply` expects.
    pre_hooks : list of (int, dict) or None
        Hooks of output tensors: run on the incoming gradient of that output.
    retain_hooks : dict of int to weak reference, or None
        Outputs that want their gradient kept.
    post_hooks : dict or None
        Hooks of the node itself.
    extra : dict or None
        Anomaly trace, metadata, prehooks of the node.
    runs_always : bool
        It wants to run when not one gradient of its outputs is defined.
    """

    def apply(self, grads):
        """Return the gradients of the inputs, one an edge, from those of the outputs."""
        raise NotImplementedError(f"{type(self).__name__}.apply")

    def release(self):
        """Free what is saved; a second backward then raises."""

    def __call__(self, *grads):
        """Return the gradients of the inputs (one, or a tuple) from those of the outputs."""
        results = self.apply(list(grads))
        return results[0] if len(results) == 1 else tuple(results)

    def __lt__(self, other):
        # The engine's heap runs the node that was made last first.
        return self.sequence > other.sequence

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self) >> 4

    def name(self):
        """Return the name PyTorch gives to such a node."""
        return type(self).__name__

    @property
    def next_functions(self):
        """Pairs ``(node, output number)``, one an input; leaves appear as `AccumulateGrad`."""
        from minitorch.autograd.graph import as_public_edge

        return tuple([as_public_edge(t, n) for t, n in zip(self.targets, self.numbers, strict=False)])

    @property
    def metadata(self):
        """A dictionary for whoever wants to note something on this node."""
        if self.extra is None:
            self.extra = {}
        return self.extra.setdefault("metadata", {})

    def _sequence_nr(self):
        return self.sequence

    def register_hook(self, hook):
        """Call ``hook(grad_inputs, grad_outputs)`` after the node ran; a result replaces the grad_inputs."""
        from minitorch.autograd.hooks import add_hook

        if self.post_hooks is None:
            self.post_hooks = {}
        return add_hook(self.post_hooks, hook)

    def register_prehook(self, hook):
        """Call ``hook(grad_outputs)`` before the node runs; a result replaces them."""
        from minitorch.autograd.hooks import add_hook

        if self.extra is None:
            self.extra = {}
        return add_hook(self.extra.setdefault("prehooks", {}), hook)

    def __repr__(self):
        return f"<{self.name()} object at {hex(id(self))}>"


if not COMPILED:
    # Compiled, these are C fields; see the same lines in tensor/base.py.
    Node.sequence = 0
    Node.targets = ()
    Node.numbers = ()
    Node.input_meta = None
    Node.output_count = 1
    Node.pre_hooks = None
    Node.post_hooks = None
    Node.retain_hooks = None
    Node.extra = None
    Node.runs_always = False


class SavedOutput:
    """A node's own output, saved without a reference to the tensor (Note [Saved tensors and versions])."""

    __slots__ = ("counter", "detached", "handle", "key_set", "output_nr", "version")

    def __init__(self, tensor, output_nr):
        # The values of an instance of a subclass are its class's business.
        self.detached = bare_copy(tensor) if tensor.key_set & _PYTHON else None
        counter = tensor.counter_of() if not tensor.is_inference() else None
        self.handle = tensor.handle
        self.counter = counter
        self.version = counter.version if counter is not None else 0
        self.key_set = tensor.key_set
        self.output_nr = output_nr

    def unpack(self, node):
        """Return the output again: the same memory, computed by `node`."""
        counter = self.counter
        if counter is not None and counter.version != self.version:
            raise RuntimeError(changed_text(self.handle, node, self.output_nr, counter.version, self.version))
        tensor: TensorBase
        if self.detached is None:
            tensor = new_tensor(self.handle, self.key_set)
        else:
            tensor = bare_copy(self.detached)
            if tensor.storage_cell is not None:  # its class made it
                set_output(tensor, node, self.output_nr)
                return tensor
        tensor.version_counter = counter
        if isinstance(counter, Storage):
            tensor.storage_cell = counter  # the handle may be a view of its memory: a transposed result
        set_output(tensor, node, self.output_nr)
        return tensor


class SavedPacked:
    """A saved tensor as a pack hook returned it.

    Attributes
    ----------
    output_nr : int or None
        Which output of the node it is; None for an input.
    target, target_number
        Where the gradient of an input goes; None if it requires none.
    """

    __slots__ = ("output_nr", "packed", "target", "target_number", "unpack")

    def __init__(self, packed, unpack, tensor, output_nr):
        self.packed = packed
        self.unpack = unpack
        self.output_nr = output_nr
        self.target = None
        self.target_number = 0
        if output_nr is None and requires_grad(tensor):
            self.target = gradient_target(tensor)
            self.target_number = tensor.output_nr

    def restore(self, node):
        """Return what the unpack hook returns, with the history of the tensor that was saved."""
        tensor = self.unpack(self.packed)
        if not isinstance(tensor, TensorBase):
            raise TypeError(
                f"saved tensor hooks: unpack_hook must return a Tensor, and returned {type(tensor).__name__}"
            )
        if self.output_nr is None and self.target is None:
            return tensor
        restored: TensorBase = bare_copy(tensor)
        if restored.storage_cell is None:
            restored.storage_cell = tensor.storage_cell
            restored.version_counter = tensor.version_counter
        restored.requires_grad_flag = True
        restored.tracked = True
        if self.output_nr is not None:
            set_output(restored, node, self.output_nr)
        elif isinstance(self.target, Node):
            restored.node = self.target
            restored.output_nr = self.target_number
        else:
            restored.autograd_meta = {"stands_for": self.target}
        return restored


def set_output(tensor, node, output_nr):
    """Make an unpacked tensor output number `output_nr` of `node`.

    The output of a node inside a `CopySlices` is a view of what that node computes.  Integers,
    such as indices, have no history.
    """
    if tensor.handle.dtype.kind in "biu":
        return
    tensor.requires_grad_flag = True
    tensor.tracked = True
    if node.extra is not None and "copy_slices" in node.extra and current().grad_enabled:
        from minitorch.autograd.graph import output_of_slice

        node, output_nr = output_of_slice(node.extra["copy_slices"]())
    tensor.node = node
    tensor.output_nr = output_nr


def changed_text(handle, node, output_nr, version, expected):
    """Return the text of the error for a saved tensor that was changed in place."""
    from minitorch.core.dtype import from_numpy_dtype

    kind = from_numpy_dtype(handle.dtype).scalar_name
    name = node.name().removesuffix("0").removesuffix("Backward") if node is not None else ""
    what = f", which is output {output_nr} of {name}," if name else ","
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[torch.{kind}Tensor {list(handle.shape)}]{what} is at version {version}; expected version {expected} "
        "instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "minitorch.autograd.set_detect_anomaly(True)."
    )


def requires_grad(tensor):
    """Return whether a tensor requires a gradient: itself, or as a view of one that does."""
    if tensor.requires_grad_flag:
        return True
    info: ViewInfo = tensor.view_info
    return info is not None and info.base.requires_grad_flag and tensor.handle.dtype.kind not in "biu"


def gradient_target(tensor):
    """Return where the gradient of `tensor` goes: its node, or itself when it is a leaf.

    The node of a view whose base was changed in place since is made anew first.  None for a
    view made without grad mode: it requires a gradient as its base does, and has no history.
    """
    info: ViewInfo = tensor.view_info
    if info is not None and tensor.key_set:
        counter: VersionCounter = tensor.version_counter
        if (
            counter is not None
            and counter.version != info.attr_version
            and (info.base.requires_grad_flag or tensor.node is not None)
        ):
            _regenerate(tensor, info, counter)
    node = tensor.node
    if node is not None:
        return node
    if tensor.autograd_meta is not None and "stands_for" in tensor.autograd_meta:
        return tensor.autograd_meta["stands_for"]
    return tensor if info is None or tensor.requires_grad_flag else None


def _regenerate(tensor, info, counter):
    """Give a view the node that says how it comes from its changed base."""
    if info.creation != 0:
        from minitorch.autograd.graph import forbidden_view_text

        raise RuntimeError(forbidden_view_text(tensor, info, True))
    if not info.base.requires_grad_flag:
        # The base was detached in place, and its view with it.
        tensor.node = None
        tensor.requires_grad_flag = False
        return
    state: LocalState = current()
    enabled, inference, trace = state.grad_enabled, state.inference_mode, state.trace
    included, excluded = state.included, state.excluded
    state.grad_enabled, state.inference_mode, state.trace = True, False, 0
    state.excluded = excluded & ~AUTOGRAD_KEYS
    state.included = included | AD_INPLACE_OR_VIEW
    try:
        if info.base.autograd_meta is not None and "moved" in info.base.autograd_meta:
            from minitorch.autograd.graph import view_by_place

            fresh: TensorBase = view_by_place(tensor, info.base)
        else:
            fresh = info.replay(info.base)
    finally:
        state.grad_enabled, state.inference_mode, state.trace = enabled, inference, trace
        state.included, state.excluded = included, excluded
    attach_history(tensor, fresh.node, fresh.output_nr)
    info.attr_version = counter.version


def attach_history(tensor, node, output_nr):
    """Make `tensor` output number `output_nr` of `node`; a wish to keep its gradient goes along."""
    old = tensor.node
    if old is not None:
        hooks = old.retain_hooks
        if hooks is not None and tensor.output_nr in hooks and hooks[tensor.output_nr]() is tensor:
            if node.retain_hooks is None:
                node.retain_hooks = {}
            node.retain_hooks[output_nr] = hooks.pop(tensor.output_nr)
    tensor.node = node
    tensor.output_nr = output_nr
    tensor.requires_grad_flag = True
    tensor.tracked = True
