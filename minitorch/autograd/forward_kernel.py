"""Forward mode: what the Autograd kernels do while a level is active.

Note [Forward formulas]
    Next to its result an operator computes the result's tangent, from the formula ``result=`` of
    its derivative (docs/internals.md, "Derivatives"): a function of primals ``x_p`` and tangents
    ``x_t``; ``"linear"``; ``"elementwise"``; a `Multilinear`; or nothing, and then from the
    backward formulas by differentiating them: with g(v) = J^H v, which is linear, J t is what
    reverse mode makes of t through g.  Formulas see the outer levels only (Note [Levels]), so
    that a tangent has tangents where levels nest, and are recorded for backward like all calls.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, NoReturn

from minitorch.autograd import kernel as kernels
from minitorch.autograd.backward import grad as gradients_of
from minitorch.autograd.derivatives.registry import Multilinear, parameter_names
from minitorch.autograd.dual import (
    below,
    change_tangent,
    hide_tangent,
    is_hidden,
    owned,
    set_tangent,
    tangent_of,
    visible_count,
)
from minitorch.autograd.grad_mode import enable_grad
from minitorch.autograd.graph import CopySlices
from minitorch.autograd.kernel import (
    DetachInplaceKernel,
    InplaceAutogradKernel,
    InplaceViewAutogradKernel,
    OutAutogradKernel,
)
from minitorch.autograd.node import SavedOutput, requires_grad
from minitorch.core.dtype import QUANTIZED, from_numpy_dtype
from minitorch.dispatch.keys import FUNCTORCH_KEYS
from minitorch.dispatch.local_state import current
from minitorch.ops import functions as F
from minitorch.ops.assemble import is_view
from minitorch.tensor.base import TensorBase


def run_dual(kernel: Any, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
    """Run an Autograd kernel, and compute the tangents of its results at the innermost visible level."""
    level = visible_count() - 1
    if level < 0:
        return kernel.run_primal(op, entry, args, kwargs)
    call = DualCall(kernel, op, args, kwargs, level)

    def primal():
        with below(level):
            return run_dual(kernel, op, entry, args, kwargs)

    if not call.tangents:
        result = primal()
        call.pass_on_hidden(result)
        return result
    if isinstance(kernel, OutAutogradKernel):
        raise NotImplementedError(
            f"Trying to use forward AD with {op.basename} that does not support it because it is an out= function. Call it "
            "without out= and copy the result."
        )
    if isinstance(kernel, DetachInplaceKernel):
        result = primal()
        hide_tangent(result, level)
        return result
    if isinstance(kernel, InplaceViewAutogradKernel):
        with below(level):
            tangent = kernel.functional.call((tangent_of(args[0], level), *args[1:]), kwargs)
        result = primal()
        set_tangent(result, level, tangent)
        return result
    if isinstance(kernel, InplaceAutogradKernel):
        return call.run_inplace(primal)
    return call.run_functional(primal)


class DualCall:
    """One call of an operator of which some arguments have tangents.

    Attributes
    ----------
    tangents : dict
        By the name of the argument: a tensor, or a list of tensors and None.
    values : dict
        All arguments by name, schema defaults filled in.
    """

    def __init__(self, kernel: Any, op: Any, args: tuple, kwargs: dict | None, level: int):
        self.kernel, self.op, self.args, self.kwargs, self.level = kernel, op, args, kwargs, level
        self.grad_enabled = current().grad_enabled
        self.tangents: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        for index, argument in enumerate(op.schema.arguments):
            if argument.kwarg_only:
                value = kwargs.get(argument.name, argument.default) if kwargs else argument.default
            else:
                value = args[index] if index < len(args) else argument.default
            self.values[argument.name] = value
            if isinstance(value, TensorBase):
                tangent = tangent_of(value, level)
                if tangent is not None:
                    self.tangents[argument.name] = tangent
            elif argument.type.base == "Tensor" and isinstance(value, (list, tuple)):
                found = [tangent_of(v, level) if isinstance(v, TensorBase) else None for v in value]
                if any(t is not None for t in found):
                    self.tangents[argument.name] = found

    def pass_on_hidden(self, result: Any) -> None:
        """A view of a tensor that hides its tangent hides it too."""
        if not self.args or not isinstance(self.args[0], TensorBase) or not is_hidden(self.args[0], self.level):
            return
        if self.op.declaration is not None and is_view(self.op.declaration):
            for output in _listed(result):
                hide_tangent(output, self.level)

    # -- the two kinds of calls ------------------------------------------------------------

    def run_functional(self, primal: Any) -> Any:
        result = primal()
        outputs = _listed(result)
        if not any(_is_differentiable(output) for output in outputs):
            return result
        derivative = self.kernel.derivative
        if derivative is None:
            self.refuse()
        if not derivative.formulas and not derivative.jointly:
            return result
        self.name_outputs(outputs)
        with below(self.level):
            tangents = self.evaluate(derivative, outputs)
            tangents += [None] * (len(outputs) - len(tangents))
            tangents = [self.fitted(t, output) for t, output in zip(tangents, outputs, strict=True)]
        shares = self.op.declaration is not None and is_view(self.op.declaration)
        for output, tangent in zip(outputs, tangents, strict=True):
            if tangent is not None:
                if not shares:  # what is linear may return the tangent it got, which others still have
                    tangent = owned(tangent, self.given(), self.level)
                set_tangent(output, self.level, tangent)
        self.share_with_saved(outputs)
        return result

    def run_inplace(self, primal: Any) -> Any:
        target: Any = self.args[0]
        name = self.op.schema.arguments[0].name
        derivative = self.kernel.derivative
        if derivative is None:
            self.refuse()
        if not _is_differentiable(target):
            return primal()
        with below(self.level):
            # Formulas want arguments as they were before the change, the target's among them.
            for argument, value in self.values.items():
                if isinstance(value, TensorBase) and value.counter_of() is target.counter_of():
                    self.values[argument] = value.clone()
                    if argument in self.tangents:
                        self.tangents[argument] = self.tangents[argument].clone()
        result = primal()
        self.name_outputs([target])
        with below(self.level):
            tangent = None
            if derivative.formulas or derivative.jointly:
                tangent = self.fitted(self.evaluate(derivative, [target])[0], target)
                if tangent is not None and tangent_of(target, self.level) is None:
                    tangent = owned(tangent, self.given(), self.level)
            if tangent is None:  # nothing of what there was is left
                tangent = F.zeros_like(target)
        change_tangent(target, self.level, tangent)
        self.share_with_saved([target], self.tangents.get(name))
        return result

    def given(self) -> list:
        """Return all tangents of arguments."""
        return [t for value in self.tangents.values() for t in _listed(value) if t is not None]

    def refuse(self) -> NoReturn:
        raise NotImplementedError(
            f"Trying to use forward AD with {self.op.basename} that does not support it because it has not been implemented "
            "yet. Give its derivative a formula with result=, or use reverse mode."
        )

    # -- formulas --------------------------------------------------------------------------

    def name_outputs(self, outputs: list) -> None:
        """Make the outputs known to formulas by their names."""
        for index, (returned, output) in enumerate(zip(self.op.schema.returns, outputs, strict=False)):
            self.values.setdefault(f"result{index}", output)
            if returned.name:
                self.values.setdefault(returned.name, output)
        if len(self.op.schema.returns) == 1:
            self.values.setdefault("result", outputs[0])

    def evaluate(self, derivative: Any, outputs: list) -> list:
        """Return a tangent, or None, for each output."""
        forward = derivative.forward
        if forward == "zero":
            return [F.zeros_like(o) if _is_differentiable(o) else None for o in outputs]
        if forward is None:
            return self.by_transposition(outputs)
        if forward == "linear":
            return self.linear()
        if forward == "elementwise":
            return [self.elementwise(derivative)]
        if isinstance(forward, Multilinear):
            return [self.multilinear(forward)]
        found = forward(*[self.parameter(name) for name in parameter_names(forward)])
        return list(found) if isinstance(found, (tuple, list)) else [found]

    def parameter(self, name: str) -> Any:
        """Return what a forward formula calls `name`."""
        if name in self.values:
            return self.values[name]
        stem, _, suffix = name.rpartition("_")
        if suffix == "p":
            return self.values[stem]
        if suffix == "t":
            return self.materialized(stem)
        if suffix == "shape":
            return self.values[stem].shape
        raise ValueError(f"forward formula of {self.op.qualname}: nothing is called {name!r}")

    def materialized(self, name: str) -> Any:
        """Return an argument's tangent, zeros where it has none."""
        value, tangent = self.values[name], self.tangents.get(name)
        if isinstance(value, TensorBase):
            return F.zeros_like(value) if tangent is None else tangent
        if isinstance(value, (list, tuple)):
            tangent = [None] * len(value) if tangent is None else tangent
            return [
                v if not isinstance(v, TensorBase) else F.zeros_like(v) if t is None else t
                for v, t in zip(value, tangent, strict=True)
            ]
        return None if value is None else 0  # a number in place of a tensor is constant

    def call_with(self, replaced: dict[str, Any]) -> Any:
        """Call the functional operator on other values of some arguments."""
        op = self.functional()
        args, kwargs = [], {}
        for argument in op.schema.arguments:
            value = replaced[argument.name] if argument.name in replaced else self.values[argument.name]
            if argument.kwarg_only:
                kwargs[argument.name] = value
            else:
                args.append(value)
        return op.call(tuple(args), kwargs or None)

    def functional(self) -> Any:
        declaration = self.op.declaration
        if isinstance(self.kernel, InplaceAutogradKernel) and declaration is not None and declaration.functional:
            from minitorch.ops.assemble import operator_named

            return operator_named(declaration.functional)
        return self.op

    def slots(self) -> list[str]:
        """Return the names of the arguments that have a gradient."""
        return [name for _, name, _ in self.kernel.info_of(self.op).differentiable]

    def linear(self) -> list:
        return _listed(self.call_with({name: self.materialized(name) for name in self.slots()}))

    def elementwise(self, derivative: Any) -> Any:
        total = None
        for name, formula in derivative.formulas.items():
            tangent = self.tangents.get(name)
            if tangent is None:
                continue
            values = [
                _conj(tangent) if parameter == "grad" else self.saved(parameter)
                for parameter in parameter_names(formula)
            ]
            term = formula(*values)
            if term is not None:
                term = _conj(term)
                total = term if total is None else total + term
        return total

    def saved(self, name: str) -> Any:
        """Return what a backward formula calls `name`."""
        if name in self.values:
            return self.values[name]
        stem, _, suffix = name.rpartition("_")
        value = self.values[stem]
        return getattr(value, suffix) if isinstance(value, TensorBase) else [getattr(v, suffix) for v in value]

    def multilinear(self, forward: Multilinear) -> Any:
        total = None
        rest = {name: self.constant(name) for name in forward.additive}
        added = {name: self.tangents[name] for name in forward.additive if name in self.tangents}
        for name in forward.factors:
            if name in self.tangents:
                # The first product takes the summands' tangents along.
                term = self.call_with({**rest, **added, name: self.tangents[name]})
                added = {}
                total = term if total is None else total + term
        if added:
            name = forward.factors[0]
            total_of_summands = self.call_with({**rest, **added, name: F.zeros_like(self.values[name])})
            total = total_of_summands if total is None else total + total_of_summands
        return total

    def constant(self, name: str) -> Any:
        """Return nothing in place of a summand."""
        value = self.values[name]
        return None if value is None else F.zeros_like(value)

    def by_transposition(self, outputs: list) -> list:
        """Return the tangents by differentiating the gradient (Note [Forward formulas])."""
        replaced: dict[str, Any] = {}
        inputs, tangents = [], []

        def stand_in(value: Any, tangent: Any) -> Any:
            if tangent is None:
                return value
            # The same elements and history, but a tensor of its own to differentiate by.
            # Inside transforms the history to keep is that of the levels around.
            keeps = requires_grad(value) or value.key_set & FUNCTORCH_KEYS
            own = F.alias(value) if keeps else value.detach()
            if not requires_grad(own):
                own = _leaf(own)
            inputs.append(own)
            tangents.append(tangent)
            return own

        with enable_grad(), _without_saved_tensor_hooks():
            for name in self.slots():
                tangent = self.tangents.get(name)
                if isinstance(tangent, list):
                    pairs = zip(self.values[name], tangent, strict=True)
                    replaced[name] = [stand_in(v, t) for v, t in pairs]
                elif tangent is not None:
                    replaced[name] = stand_in(self.values[name], tangent)
            if not inputs:
                return [None] * len(outputs)
            again = _listed(self.call_with(replaced))
            places = [i for i, output in enumerate(again) if _is_differentiable(output) and output.requires_grad]
            weights = [_leaf(F.zeros_like(again[i])) for i in places]
            slopes = gradients_of([again[i] for i in places], inputs, weights, create_graph=True, allow_unused=True)
            pairs = [(s, t) for s, t in zip(slopes, tangents, strict=True) if s is not None and s.requires_grad]
            found: list = [None] * len(outputs)
            if pairs:
                products = gradients_of(
                    [s for s, _ in pairs],
                    weights,
                    [t for _, t in pairs],
                    create_graph=_is_recorded(self, tangents),
                    allow_unused=True,
                )
                for place, product in zip(places, products, strict=True):
                    found[place] = product
        return [
            F.zeros_like(output) if f is None and i in places else f
            for i, (f, output) in enumerate(zip(found, outputs, strict=True))
        ]

    # -- results ---------------------------------------------------------------------------

    def fitted(self, tangent: Any, output: Any) -> Any:
        """Return a tangent in dtype and shape of its output; None where the output has none."""
        if tangent is None or not _is_differentiable(output):
            return None
        dtype = from_numpy_dtype(output.handle.dtype)
        # Those of quantized tensors are floats.
        if tangent.dtype is not dtype and dtype.category != QUANTIZED:
            if tangent.dtype.is_complex and not dtype.is_complex:
                tangent = F.real(tangent)
            tangent = F.to(tangent, dtype)
        return tangent if tangent.shape == output.shape else F.expand(tangent, list(output.shape))

    def share_with_saved(self, outputs: list, old_tangent: Any = None) -> None:
        """Let backward formulas find the tangents of what the node saved by another tensor."""
        node = next((o.node for o in outputs if isinstance(o, TensorBase) and o.node is not None), None)
        if isinstance(node, CopySlices):
            node = node.inner
        saved = getattr(node, "saved", None)
        if saved is None or getattr(node, "info", None) is not self.kernel.info:
            return
        for index, value in enumerate(saved):
            if type(value) is SavedOutput:
                saved[index] = _SavedDualOutput(value, outputs, self.level)
            elif old_tangent is not None and isinstance(value, TensorBase) and node.plan.saves[index][:2] == (0, 0):
                set_tangent(value, self.level, old_tangent)


class _SavedDualOutput(SavedOutput):
    """A saved output that has tangents."""

    def __init__(self, saved: SavedOutput, outputs: list, level: int):
        self.handle, self.counter, self.version = saved.handle, saved.counter, saved.version
        self.key_set, self.detached, self.output_nr = saved.key_set, saved.detached, saved.output_nr
        output = outputs[saved.output_nr] if len(outputs) > 1 else outputs[0]
        self.tangents = {k: tangent_of(output, k) for k in range(level + 1)}

    def unpack(self, node: Any) -> Any:
        tensor = SavedOutput.unpack(self, node)
        for level in range(visible_count()):
            if self.tangents.get(level) is not None:
                set_tangent(tensor, level, self.tangents[level])
        return tensor


def _is_recorded(call: DualCall, tangents: list) -> bool:
    """Return whether the tangent of a result is itself to be differentiated."""
    if not call.grad_enabled:
        return False
    tensors = [t for value in call.values.values() for t in _listed(value) if isinstance(t, TensorBase)]
    # What a transform's tensor requires says nothing about the transforms around, which may record too.
    return any(requires_grad(t) or t.key_set & FUNCTORCH_KEYS for t in (*tensors, *tangents) if t is not None)


@contextmanager
def _without_saved_tensor_hooks():
    """Save as if there were no hooks: of what a pack hook gets, the levels around have no history."""
    state = current()
    hooks, state.saved_tensor_hooks = state.saved_tensor_hooks, None
    try:
        yield
    finally:
        state.saved_tensor_hooks = hooks


def _leaf(tensor: Any) -> Any:
    """Ask for the gradient of a new tensor: what `requires_grad_` does, which users may not call inside transforms."""
    tensor.requires_grad_flag = True
    tensor.tracked = True
    return tensor


def _listed(result: Any) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _is_differentiable(output: Any) -> bool:
    return isinstance(output, TensorBase) and output.handle.dtype.kind not in "biu"


def _conj(tensor: Any) -> Any:
    return tensor.conj_physical() if tensor.dtype.is_complex else tensor


kernels.set_forward_run(run_dual)
