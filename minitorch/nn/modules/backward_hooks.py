"""Full backward hooks: where the backward pass enters and leaves a module.

The module's outputs and inputs go through identity nodes. The node of the outputs runs first in
the backward pass and sees the gradients of the outputs, the node of the inputs sees those of the
inputs; the hooks run on these nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minitorch.autograd.grad_mode import is_grad_enabled
from minitorch.tensor.base import TensorBase

_identity: Any = None


def _identity_function() -> Any:
    """Return the identity as an autograd function of several tensors, made at the first use."""
    global _identity
    if _identity is None:
        from minitorch.autograd import Function

        class BackwardHookFunction(Function):
            @staticmethod
            def forward(ctx: Any, *tensors: Any) -> Any:
                ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
                return tensors

            @staticmethod
            def backward(ctx: Any, *grads: Any) -> Any:
                return grads

        _identity = BackwardHookFunction
    return _identity


class BackwardHook:
    """The backward hooks of one call of a module.

    Parameters
    ----------
    module : Module
    hooks, pre_hooks : list of callable
        See `Module.register_full_backward_hook` and `register_full_backward_pre_hook`.
    """

    def __init__(self, module: Any, hooks: list[Callable], pre_hooks: list[Callable]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: Any = None
        self.input_places: list[int] | None = None
        self.input_count = 0
        self.output_places: list[int] | None = None
        self.output_count = 0

    def setup_inputs(self, args: tuple) -> tuple:
        """Return the arguments, the tensors among them passed through a node with the hooks."""
        self.input_count = len(args)

        def on_node(node: Any) -> None:
            def run(grad_input: tuple, _: tuple) -> Any:
                if self.grad_outputs is None:
                    return None
                grads = _spread(grad_input, self.input_places, self.input_count)
                result = self._run_hooks(grads)
                self.grad_outputs = None
                return tuple(result[i] for i in self.input_places or ())

            node.register_hook(run)

        changed, self.input_places = self._through_node(args, on_node)
        return changed

    def setup_outputs(self, result: Any) -> Any:
        """Return the module's result, its tensors passed through a node that runs the hooks."""
        single = not isinstance(result, tuple)
        values = (result,) if single else result
        self.output_count = len(values)

        def on_node(node: Any) -> None:
            def run(_: tuple, grad_output: tuple) -> Any:
                grads = _spread(grad_output, self.output_places, self.output_count)
                changed = False
                for hook in self.pre_hooks:
                    new = hook(self.module, grads)
                    if new is None:
                        continue
                    new = new if isinstance(new, tuple) else (new,)
                    if len(new) != len(grads):
                        raise RuntimeError(
                            "Backward pre hook returned an invalid number of grad_output, got "
                            f"{len(new)}, but expected {len(grads)}"
                        )
                    grads, changed = new, True
                self.grad_outputs = grads
                if self.input_places is None:
                    # No gradient of the input is computed: this is the only place to run.
                    self._run_hooks((None,) * self.input_count)
                    self.grad_outputs = None
                if changed:
                    return tuple(grads[i] for i in self.output_places or ())
                return None

            node.register_hook(run)

        values, self.output_places = self._through_node(values, on_node)
        return values[0] if single else values

    def _run_hooks(self, grad_input: tuple) -> tuple:
        for hook in self.hooks:
            new = hook(self.module, grad_input, self.grad_outputs)
            if new is None:
                continue
            new = new if isinstance(new, tuple) else (new,)
            if len(new) != len(grad_input):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(new)}, "
                    f"but expected {len(grad_input)}"
                )
            grad_input = new
        return grad_input

    def _through_node(self, values: tuple, on_node: Callable) -> tuple[tuple, list[int] | None]:
        """Return the values with tensors replaced, and the tensors' places (None: no node)."""
        places = [i for i, v in enumerate(values) if isinstance(v, TensorBase)]
        wanted = [i for i in places if values[i].requires_grad]
        if not wanted or not is_grad_enabled():
            return values, None
        results = _identity_function().apply(*[values[i] for i in places])
        node = next(r.grad_fn for r in results if r.requires_grad and r.grad_fn is not None)
        on_node(node)
        changed = list(values)
        for i, result in zip(places, results, strict=True):
            changed[i] = result
        return tuple(changed), places


def _spread(grads: tuple, places: list[int] | None, count: int) -> tuple:
    """Return `grads` at their places among `count` values, None elsewhere."""
    result: list[Any] = [None] * count
    for place, grad in zip(places or (), grads, strict=True):
        result[place] = grad
    return tuple(result)
