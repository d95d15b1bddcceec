"""The kernels of the Autograd key: one boxed function for all operators.

Compiled where a compiler exists (`kernel.pxd`).  What differs between operators is data:
a `DerivativeInfo` made from the schema and the formulas of `derivatives/`, and for each
combination of inputs that need a gradient a `Plan` of what to save and what to run.
"""

from __future__ import annotations

from minitorch.autograd.bookkeeping import InplaceBookkeeping, follow_view, mark_moved
from minitorch.autograd.derivatives.registry import NODE_NUMBERS, Derivative, parameter_names, sparse_formula
from minitorch.autograd.node import (
    DETACHED_TEXT,
    FREED_TEXT,
    Node,
    SavedOutput,
    SavedPacked,
    attach_history,
    changed_text,
    gradient_target,
    next_sequence,
    requires_grad,
)
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AFTER_AUTOGRAD, AUTOGRAD_KEYS, SPARSE, SPARSE_CSR
from minitorch.dispatch.local_state import LocalState, current
from minitorch.dispatch.operator import Entry, Kernel, Operator
from minitorch.tensor.base import TensorBase, VersionCounter, ViewInfo

COMPILED = not __file__.endswith(".py")

# C integers when compiled.
_AUTOGRAD_KEYS = AUTOGRAD_KEYS
_AFTER_AUTOGRAD = AFTER_AUTOGRAD
_AD_INPLACE_OR_VIEW = AD_INPLACE_OR_VIEW
_SPARSE_KEYS = SPARSE | SPARSE_CSR
# What stands for True among a node's `needs` where the input is a sparse tensor: it may have a formula of its own.
_SPARSE = 2

# How many levels of forward mode are active, and what runs then (`forward_kernel.run_dual`).
_FORWARD_LEVELS = 0
_run_dual = None


def set_forward_levels(count):
    """Say how many levels of forward mode are active; while there are none it costs nothing."""
    global _FORWARD_LEVELS
    _FORWARD_LEVELS = count


def set_forward_run(run):
    """Set what takes the place of `run` while a level of forward mode is active."""
    global _run_dual
    _run_dual = run


# What a formula's parameter is: how `GradNode.apply` finds it.
_GRAD, _GRADS, _SAVED, _NEEDS = 0, 1, 2, 3
# Where a saved value comes from.
_FROM_ARGUMENT, _FROM_KEYWORD, _FROM_OUTPUT = 0, 1, 2
# Saved instead of a tensor, by suffix of the parameter's name: these hold no memory.
_FACTS = {"_shape": 3, "_dtype": 4, "_device": 5, "_geometry": 6}


class Plan:
    """What to save and what to run when a given set of inputs needs gradients.

    Attributes
    ----------
    saves : tuple of (source, position, default)
    steps : tuple of (formula, parameters, targets)
        `targets` is a slot in the list of differentiable arguments, or a tuple of them.
    """

    __slots__ = ("saves", "saves_outputs", "saves_tensors", "steps")

    def __init__(self, saves, steps, saves_outputs, saves_tensors):
        self.saves = saves
        self.steps = steps
        self.saves_outputs = saves_outputs
        self.saves_tensors = saves_tensors


def node_name(op):
    """Return PyTorch's name of the node of an operator: ``_softmax`` makes SoftmaxBackward0."""
    inner = op.basename.strip("_")
    functional = f"{inner}.{op.overload}" if op.overload else inner
    number = NODE_NUMBERS.get(op.unqualified, NODE_NUMBERS.get(functional, 0))
    return f"{inner.title().replace('_', '')}Backward{number}"


class DerivativeInfo:
    """The derivative of one operator, bound to its schema."""

    __slots__ = (
        "derivative",
        "differentiable",
        "has_formulas",
        "implemented",
        "node_name",
        "op",
        "output_index",
        "plain",
        "plans",
    )

    def __init__(self, op, derivative):
        self.op = op
        self.derivative = derivative
        self.node_name = node_name(op)
        self.plans = {}
        self.implemented = derivative is not None
        schema = op.schema
        # (index or -1, name, is a list): every tensor argument that has a formula, or every
        # one at all when the derivative is not implemented, so that backward can say so.
        named = None
        if derivative is not None:
            named = set(derivative.formulas)
            for group in derivative.jointly:
                named.update(group)
            unknown = named - {a.name for a in schema.arguments}
            if unknown:
                raise ValueError(f"derivative of {op.qualname}: no argument is called {', '.join(sorted(unknown))}")
        slots = []
        for index, argument in enumerate(schema.arguments):
            if argument.type.base != "Tensor" or argument.is_out:
                continue
            if named is not None and argument.name not in named:
                continue
            slots.append((-1 if argument.kwarg_only else index, argument.name, argument.type.is_list))
        self.differentiable = tuple(slots)
        self.has_formulas = bool(slots)
        # How many leading positional arguments are the differentiable ones, -1 if it is not so simple.
        self.plain = len(slots)
        for place, (index, _, is_list) in enumerate(slots):
            if index != place or is_list:
                self.plain = -1
        self.output_index = None

    def plan(self, needs):
        """Return the plan for ``needs``, a tuple of bool, one a differentiable argument."""
        found = self.plans.get(needs)
        if found is None:
            found = self._make_plan(needs)
            self.plans[needs] = found
        return found

    def _make_plan(self, needs):
        if not self.implemented:
            return Plan((), (), False, False)
        schema = self.op.schema
        positions = {}
        for index, argument in enumerate(schema.arguments):
            source = _FROM_KEYWORD if argument.kwarg_only else _FROM_ARGUMENT
            positions[argument.name] = (source, argument.name if argument.kwarg_only else index, argument.default)
        outputs = {}
        for index, returned in enumerate(schema.returns):
            outputs[f"result{index}"] = index
            if returned.name and returned.name not in positions:
                outputs[returned.name] = index
        if len(schema.returns) == 1:
            outputs["result"] = 0
        saves = []
        places = {}
        saves_outputs = False

        def place_of(name):
            nonlocal saves_outputs
            if name not in places:
                if name in positions:
                    save = positions[name]
                elif name in outputs:
                    save = (_FROM_OUTPUT, outputs[name], None)
                    saves_outputs = True
                else:
                    stem, _, suffix = name.rpartition("_")
                    if stem not in positions or "_" + suffix not in _FACTS:
                        raise ValueError(f"derivative of {self.op.qualname}: nothing is called {name!r}")
                    save = (_FACTS["_" + suffix], *positions[stem][1:])
                places[name] = len(saves)
                saves.append(save)
            return places[name]

        def parameters_of(formula):
            result = []
            for name in parameter_names(formula):
                if name == "grad":
                    result.append((_GRAD, 0))
                elif name == "grads":
                    result.append((_GRADS, 0))
                elif name == "needs":
                    result.append((_NEEDS, 0))
                else:
                    result.append((_SAVED, place_of(name)))
            return tuple(result)

        slot_of = {name: i for i, (_, name, _) in enumerate(self.differentiable)}
        wanted = []
        for name, formula in self.derivative.formulas.items():
            need = needs[slot_of[name]]
            if need:
                if need == _SPARSE:
                    formula = sparse_formula(self.op, name, formula)
                wanted.append((formula, slot_of[name]))
        for group, formula in self.derivative.jointly.items():
            slots = tuple([slot_of[name] for name in group])
            if any([needs[s] for s in slots]):
                wanted.append((formula, slots))
        # Saved in alphabetical order, as in PyTorch; hooks see it.
        for name in sorted({name for formula, _ in wanted for name in parameter_names(formula)}):
            if name not in ("grad", "grads", "needs"):
                place_of(name)
        steps = [(formula, parameters_of(formula), target) for formula, target in wanted]
        tensors = {argument.name for argument in schema.arguments if argument.type.base == "Tensor"}
        saves_tensors = saves_outputs or not tensors.isdisjoint(places)
        return Plan(tuple(saves), tuple(steps), saves_outputs, saves_tensors)


class GradNode(Node):
    """The node of an operator whose derivative stands in the table."""

    def name(self):
        return self.info.node_name

    def release(self):
        # Where no tensor is saved nothing is freed, and a second backward is fine.
        plan: Plan = self.plan
        if plan.saves_tensors:
            self.saved = None

    def unpack(self, index):
        """Return saved value `index` as the tensor or value that it was."""
        value = self.saved[index]
        if isinstance(value, TensorBase):
            check_unchanged(value, self.versions[index])
            return value
        if isinstance(value, SavedOutput):
            return value.unpack(self)
        if isinstance(value, SavedPacked):
            return value.restore(self)
        if type(value) is list:
            versions = self.versions[index]
            items = []
            for i, item in enumerate(value):
                if isinstance(item, TensorBase):
                    check_unchanged(item, versions[i])
                items.append(item.restore(self) if isinstance(item, SavedPacked) else item)
            return items
        return value

    def apply(self, grads):
        info: DerivativeInfo = self.info
        if not info.implemented:
            raise RuntimeError(f"derivative for {info.op.qualname} is not implemented")
        if self.saved is None:
            raise RuntimeError(FREED_TEXT)
        count = len(self.saved)
        unpacked = [self.unpack(i) for i in range(count)]
        grad = grads[0]
        if grad is None and len(grads) > 1:
            for g in grads:
                if g is not None:
                    grad = g
                    break
        slots = len(info.differentiable)
        by_slot = [None] * slots
        plan: Plan = self.plan
        for formula, parameters, target in plan.steps:
            arguments = []
            for kind, place in parameters:
                if kind == 2:
                    arguments.append(unpacked[place])
                elif kind == 0:
                    arguments.append(grad)
                elif kind == 1:
                    arguments.append(tuple(grads))
                else:
                    arguments.append(self.needs_of(target))
            result = formula(*arguments)
            if type(target) is tuple:
                for slot, value in zip(target, result, strict=False):
                    by_slot[slot] = value
            else:
                by_slot[target] = result
        if self.list_lengths is None:
            return by_slot
        flat = []
        for slot in range(slots):
            length = self.list_lengths[slot]
            value = by_slot[slot]
            if length < 0:
                flat.append(value)
            elif value is None:
                flat.extend([None] * length)
            else:
                flat.extend(value)
        return flat

    def needs_of(self, target):
        return tuple([self.needs[s] for s in target]) if type(target) is tuple else (self.needs[target],)

    def __getattr__(self, name):
        if name.startswith("_saved_") and self.info is not None:
            return self.saved_by_name(name[7:])
        raise AttributeError(f"{self.name()} has no attribute {name!r}")

    def saved_by_name(self, name):
        """Return what was saved under an argument's or output's name."""
        if self.saved is None:
            raise RuntimeError(FREED_TEXT)
        schema = self.info.op.schema
        for index, save in enumerate(self.plan.saves):
            source, position, _ = save
            if source == 2:
                found = name in ("result", f"result{position}", schema.returns[position].name)
            elif source == 0:
                found = schema.arguments[position].name == name
            else:
                found = position == name
            if found:
                return self.unpack(index)
        raise AttributeError(f"{self.name()} saved nothing under the name {name!r}")


if not COMPILED:
    GradNode.info = None
    GradNode.plan = None
    GradNode.saved = None
    GradNode.versions = None
    GradNode.needs = ()
    GradNode.list_lengths = None


class AutogradKernel(Kernel):
    """Records an operator for backward when an input requires a gradient, and calls on."""

    __slots__ = ("derivative", "info", "inplace")

    def __init__(self, derivative):
        Kernel.__init__(self, None)
        self.derivative = derivative
        self.info = None
        self.inplace = False

    def location(self):
        if self.derivative is not None:
            for formula in (*self.derivative.formulas.values(), *self.derivative.jointly.values()):
                code = getattr(formula, "__code__", None)
                if code is not None:
                    return f"{code.co_filename}:{code.co_firstlineno}"
        return Kernel.location(self)

    def info_of(self, op):
        """Return the derivative bound to the schema, made on first use."""
        if self.info is None:
            self.info = DerivativeInfo(op, self.derivative)
        return self.info

    def any_requires_grad(self, args, kwargs):
        info: DerivativeInfo = self.info
        count = len(args)
        if info.plain >= 0:
            if info.plain < count:
                count = info.plain
            for i in range(count):
                a = args[i]
                if isinstance(a, TensorBase):
                    tensor: TensorBase = a
                    if tensor.requires_grad_flag or (tensor.view_info is not None and requires_grad(tensor)):
                        return True
            return False
        for index, name, is_list in info.differentiable:
            if index < 0:
                value = kwargs.get(name) if kwargs else None
            elif index < count:
                value = args[index]
            else:
                value = None
            if value is None:
                continue
            if is_list:
                for item in value:
                    if isinstance(item, TensorBase) and requires_grad(item):
                        return True
            elif isinstance(value, TensorBase) and requires_grad(value):
                return True
        return False

    def untracked(self, op, entry):
        """Return the entry below: all that `run` comes to when nothing requires a gradient."""
        below = op.entry_below(entry, _AFTER_AUTOGRAD)
        return below if below.leaf else None

    def run_below(self, op, below, args, kwargs, state):
        """Run the kernel below with autograd switched off."""
        if below.leaf and not state.trace:
            return below.kernel.run(op, below, args, kwargs)
        added = _AUTOGRAD_KEYS & ~state.excluded
        state.excluded |= added
        try:
            return op.run_below(below, args, kwargs)
        finally:
            state.excluded &= ~added

    def run(self, op, entry, args, kwargs):
        if _FORWARD_LEVELS != 0:
            return _run_dual(self, op, entry, args, kwargs)
        return self.run_primal(op, entry, args, kwargs)

    def run_primal(self, op, entry, args, kwargs):
        """Run the operator, recorded where an input requires a gradient."""
        if self.info is None:
            self.info_of(op)
        state: LocalState = current()
        below: Entry = entry.below
        if below is None:
            below = op.entry_below(entry, _AFTER_AUTOGRAD)
        if state.grad_enabled and self.info.has_formulas and self.any_requires_grad(args, kwargs):
            return self.record(op, below, args, kwargs, state)
        return self.run_below(op, below, args, kwargs, state)

    def make_node(self, op, args, kwargs):
        """Return a node with its edges, without anything saved."""
        info: DerivativeInfo = self.info
        targets = []
        numbers = []
        metas = []
        needs = []
        lengths = None
        count = len(args)
        for index, name, is_list in info.differentiable:
            if index < 0:
                value = kwargs.get(name) if kwargs else None
            elif index < count:
                value = args[index]
            else:
                value = None
            if is_list:
                if lengths is None:
                    lengths = [-1] * len(needs)
                need = False
                items = value if value is not None else ()
                for item in items:
                    need = self.add_edge(item, targets, numbers, metas) or need
                needs.append(need)
                lengths.append(len(items))
            else:
                need = self.add_edge(value, targets, numbers, metas)
                if need:
                    tensor: TensorBase = value
                    if tensor.key_set & _SPARSE_KEYS:
                        needs.append(_SPARSE)
                    else:
                        needs.append(True)
                else:
                    needs.append(False)
                if lengths is not None:
                    lengths.append(-1)
        node: GradNode = GradNode()
        node.sequence = next_sequence()
        node.targets = tuple(targets)
        node.numbers = tuple(numbers)
        node.input_meta = metas
        node.output_count = 1
        node.info = info
        needs_key = tuple(needs)
        node.needs = needs_key
        if lengths is not None:
            node.list_lengths = tuple(lengths)
        plan = info.plans.get(needs_key)
        node.plan = info.plan(needs_key) if plan is None else plan
        return node

    def add_edge(self, value, targets, numbers, metas):
        """Append the edge of one input; return whether it needs a gradient."""
        if isinstance(value, TensorBase):
            tensor: TensorBase = value
            if tensor.requires_grad_flag or (tensor.view_info is not None and requires_grad(tensor)):
                targets.append(gradient_target(tensor))
                numbers.append(tensor.output_nr)
                handle = tensor.handle
                metas.append((handle.shape, handle.dtype))
                return True
        targets.append(None)
        numbers.append(0)
        metas.append(None)
        return False

    def save_inputs(self, node, args, kwargs, state):
        """Save what the formulas need of the arguments; leave places for the outputs."""
        saved = []
        versions = []
        count = len(args)
        plan: Plan = node.plan
        for source, position, default in plan.saves:
            version = -1
            if source == 0:
                value = args[position] if position < count else default
            elif source == 1:
                value = kwargs.get(position, default) if kwargs else default
            elif source == 2:
                value = None
            else:
                value = args[position] if type(position) is int else (kwargs.get(position) if kwargs else None)
                if isinstance(value, TensorBase):
                    value = fact_of(value, source)
                elif type(value) is list:
                    value = [fact_of(v, source) if isinstance(v, TensorBase) else v for v in value]
            if isinstance(value, TensorBase):
                tensor: TensorBase = value
                if not tensor.key_set & _AD_INPLACE_OR_VIEW:
                    raise_inference(self.info.op)
                if self.inplace and position == 0 and source == 0:
                    # The formula wants the first argument as it was before the change.
                    tensor = tensor.clone()
                    value = tensor
                if state.saved_tensor_hooks is not None:
                    value = pack(state.saved_tensor_hooks, tensor, None)
                else:
                    version = noted_version(tensor)
            elif type(value) is list:
                saved.append([self.save_item(v, state) if isinstance(v, TensorBase) else v for v in value])
                versions.append([noted_version(v) if isinstance(v, TensorBase) else -1 for v in value])
                continue
            saved.append(value)
            versions.append(version)
        node.saved = saved
        node.versions = versions

    def save_item(self, tensor, state):
        """Return what keeps one tensor of a list."""
        if not tensor.key_set & _AD_INPLACE_OR_VIEW:
            raise_inference(self.info.op)
        return tensor if state.saved_tensor_hooks is None else pack(state.saved_tensor_hooks, tensor, None)

    def save_outputs(self, node, result, state):
        """Save the outputs that the formulas need."""
        plan: Plan = node.plan
        for index, save in enumerate(plan.saves):
            if save[0] == 2:
                output = result[save[1]] if type(result) is tuple or type(result) is list else result
                if isinstance(output, TensorBase):
                    if state.saved_tensor_hooks is not None:
                        node.saved[index] = pack(state.saved_tensor_hooks, output, save[1])
                    else:
                        node.saved[index] = SavedOutput(output, save[1])
                else:
                    node.saved[index] = output

    def record(self, op, below, args, kwargs, state):
        node: GradNode = self.make_node(op, args, kwargs)
        self.save_inputs(node, args, kwargs, state)
        if state.anomaly:
            note_traceback(node)
        result = self.run_below(op, below, args, kwargs, state)
        if isinstance(result, TensorBase):
            tensor: TensorBase = result
            if tensor.handle.dtype.kind in "biu":
                return result
            tensor.node = node
            tensor.requires_grad_flag = True
            tensor.tracked = True
        elif type(result) is tuple or type(result) is list:
            node.output_count = len(result)
            for index, item in enumerate(result):
                if isinstance(item, TensorBase):
                    output: TensorBase = item
                    if output.handle.dtype.kind not in "biu":
                        output.node = node
                        output.output_nr = index
                        output.requires_grad_flag = True
                        output.tracked = True
        plan: Plan = node.plan
        if plan.saves_outputs:
            self.save_outputs(node, result, state)
        return result


class InplaceAutogradKernel(AutogradKernel):
    """Records an in-place operator with the formulas of its functional form (spec A8)."""

    __slots__ = ()

    def __init__(self, derivative):
        AutogradKernel.__init__(self, derivative)
        self.inplace = True

    def info_of(self, op):
        """Return the derivative; of a target that has no formula the old values get a gradient of zero."""
        if self.info is None:
            derivative = self.derivative
            name = op.schema.arguments[0].name
            if derivative is not None and name not in derivative.formulas:
                if not any([name in group for group in derivative.jointly]):
                    formulas = {name: zero_gradient, **derivative.formulas}
                    derivative = Derivative(derivative.name, formulas, derivative.jointly, derivative.forward)
            self.info = DerivativeInfo(op, derivative)
        return self.info

    def untracked(self, op, entry):
        """Return the entry of the bookkeeping below, which switches autograd off itself."""
        below = op.entry_below(entry, _AFTER_AUTOGRAD)
        return below if type(below.kernel) is InplaceBookkeeping else None

    def run_primal(self, op, entry, args, kwargs):
        if self.info is None:
            self.info_of(op)
        state: LocalState = current()
        below: Entry = entry.below
        if below is None:
            below = op.entry_below(entry, _AFTER_AUTOGRAD)
        target: TensorBase = args[0]
        # A target that requires a gradient gets a new history even where nothing has a formula:
        # its old one ends here.
        records = state.grad_enabled and (requires_grad(target) or self.any_requires_grad(args, kwargs))
        if not records:
            return self.run_below(op, below, args, kwargs, state)
        check_inplace(target)
        return self.record(op, below, args, kwargs, state)

    def record(self, op, below, args, kwargs, state):
        target: TensorBase = args[0]
        if target.handle.dtype.kind in "biu":
            # Nothing that is written to integers has a gradient.
            self.run_below(op, below, args, kwargs, state)
            return target
        node: GradNode = self.make_node(op, args, kwargs)
        self.save_inputs(node, args, kwargs, state)
        if state.anomaly:
            note_traceback(node)
        self.run_below(op, below, args, kwargs, state)
        rebase_history(target, node, 0)
        plan: Plan = node.plan
        if plan.saves_outputs:
            self.save_outputs(node, target, state)
        return target


class InplaceViewAutogradKernel(Kernel):
    """Records operators such as `t_`, which make a tensor a view of what it was.

    The elements do not change: the tensor gets the history and geometry of the view that
    the functional operator returns, and its base keeps its own.
    """

    __slots__ = ("functional",)

    def __init__(self, functional):
        Kernel.__init__(self, None)
        self.functional = functional

    def run(self, op, entry, args, kwargs):
        if _FORWARD_LEVELS != 0:
            return _run_dual(self, op, entry, args, kwargs)
        return self.run_primal(op, entry, args, kwargs)

    def run_primal(self, op, entry, args, kwargs):
        state: LocalState = current()
        target: TensorBase = args[0]
        if not state.grad_enabled or not requires_grad(target):
            below: Entry = entry.below
            if below is None:
                below = op.entry_below(entry, _AFTER_AUTOGRAD)
            added = _AUTOGRAD_KEYS & ~state.excluded
            state.excluded |= added
            try:
                return op.run_below(below, args, kwargs)
            finally:
                state.excluded &= ~added
        check_inplace(target)
        functional: Operator = self.functional
        view: TensorBase = functional.call(args, kwargs)
        info: ViewInfo = target.view_info
        target.storage_cell = view.storage_cell
        target.handle = view.handle
        target.shape_cache = None
        target.bump_version()
        if info is not None:
            # Of a tensor that is no view itself, the new view would be its own base.
            follow_view(target, view.view_info)
        else:
            mark_moved(target)
        attach_history(target, view.node, view.output_nr)
        return target


class DetachInplaceKernel(Kernel):
    """Autograd kernel of `detach_`: takes a tensor's history away."""

    __slots__ = ()

    def run(self, op, entry, args, kwargs):
        if _FORWARD_LEVELS != 0:
            return _run_dual(self, op, entry, args, kwargs)
        return self.run_primal(op, entry, args, kwargs)

    def run_primal(self, op, entry, args, kwargs):
        target: TensorBase = args[0]
        if target.view_info is not None:
            raise RuntimeError("Can't detach views in-place. Use detach() instead.")
        target.node = None
        target.output_nr = 0
        target.requires_grad_flag = False
        return target


class OutAutogradKernel(AutogradKernel):
    """Refuses ``out=`` where a gradient would be lost (spec A8)."""

    __slots__ = ()

    def run_primal(self, op, entry, args, kwargs):
        state: LocalState = current()
        below: Entry = entry.below
        if below is None:
            below = op.entry_below(entry, _AFTER_AUTOGRAD)
        if state.grad_enabled:
            for value in (*args, *(kwargs.values() if kwargs else ())):
                items = value if type(value) is list else (value,)
                for item in items:
                    if isinstance(item, TensorBase) and requires_grad(item):
                        raise RuntimeError(
                            f"{op.basename}(): functions with out=... arguments don't support automatic "
                            "differentiation, but one of the arguments requires grad."
                        )
        return self.run_below(op, below, args, kwargs, state)


def zero_gradient(grad):
    """Formula: whatever comes, no gradient goes on."""
    return grad.new_zeros(grad.shape)


def noted_version(tensor):
    """Return what to remember of a tensor that is saved: twice its version, plus one if it has a history."""
    counter: VersionCounter = tensor.version_counter
    version = 2 * counter.version if counter is not None else 0
    return version if tensor.node is None else version + 1


def check_unchanged(tensor, noted):
    """Raise if a saved tensor was changed or detached in place since its `noted_version`."""
    counter: VersionCounter = tensor.version_counter
    if counter is not None and counter.version != noted >> 1:
        raise RuntimeError(changed_text(tensor.handle, tensor.node, tensor.output_nr, counter.version, noted >> 1))
    if noted & 1 and tensor.node is None:
        raise RuntimeError(DETACHED_TEXT)


def raise_inference(op):
    """Raise the error for an inference tensor that would have to be saved."""
    raise RuntimeError(
        f"Inference tensors cannot be saved for backward ({op.basename}). To work around you can make a clone to get a "
        "normal tensor and use it in autograd."
    )


def fact_of(tensor, source):
    """Return a tensor's shape, dtype, device or geometry, by the number in `_FACTS`."""
    if source == 3:
        return tensor.shape
    if source == 4:
        return tensor.dtype
    if source == 5:
        return tensor.device
    return (tensor.shape, tensor.stride(), tensor.storage_offset())


def pack(hooks, tensor, output_nr):
    """Run the pack hook on a tensor that is being saved."""
    pack_hook, unpack_hook = hooks[0], hooks[1]
    state: LocalState = current()
    state.saved_tensor_hooks = None
    enabled = state.grad_enabled
    state.grad_enabled = False
    try:
        return SavedPacked(pack_hook(tensor.detach()), unpack_hook, tensor, output_nr)
    finally:
        state.saved_tensor_hooks = hooks
        state.grad_enabled = enabled


def note_traceback(node):
    """Remember where a node was made, for anomaly mode."""
    from minitorch.autograd.anomaly import note

    note(node)


def check_inplace(target):
    """Raise for the in-place changes that autograd forbids (spec A8)."""
    info: ViewInfo = target.view_info
    if info is not None:
        if info.creation != 0:
            from minitorch.autograd.graph import forbidden_view_text

            raise RuntimeError(forbidden_view_text(target, info))
        if info.base.node is None and requires_grad(target):
            raise RuntimeError(
                "a view of a leaf Variable that requires grad is being used in an in-place operation."
            )
    elif target.requires_grad_flag and target.node is None:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


def rebase_history(target, node, slot):
    """Make `node` the history of a tensor that was changed in place, and of its base if it is a view.

    Parameters
    ----------
    slot : int
        Which input of `node` the tensor was; -1 if its old values do not matter.
    """
    info: ViewInfo = target.view_info
    if info is not None:
        from minitorch.autograd.graph import rebase_view

        rebase_view(target, info, node, slot)
        return
    attach_history(target, node, 0)
