"""`autograd.Function` inside of transforms.

Note [A function at each level]
    A function is no operator: it does not pass the dispatcher.  Its call goes down the stack of transforms
    by itself.  A level that differentiates records the user's backward (or asks for the user's jvp) on its own
    tensors, and computes the outputs by the call one level down.  `vmap` asks the user's rule, or with
    ``generate_vmap_rule`` makes a function of the whole batch, whose forward, backward and jvp are the
    user's under `vmap`, and calls that one level down.
"""

from __future__ import annotations

from typing import Any

from minitorch.autograd.function import Function, backward_of
from minitorch.core.pytree import tree_leaves, tree_map, tree_map_only
from minitorch.dispatch.batching import rewrapped
from minitorch.dispatch.local_state import current
from minitorch.dispatch.transforms import TransformType, VmapInfo, current_interpreter
from minitorch.functorch.interpreters import VmapInterpreter
from minitorch.functorch.layout import batched
from minitorch.functorch.wrappers import GradHandle, unwrap_dead, wrap_grad
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase


def apply(cls: type[Function], args: tuple) -> Any:
    """Run a function inside of the innermost transform (Note [A function at each level]).

    Raises
    ------
    RuntimeError
        If its forward gets a context, or it has no way to run under the transform.
    """
    if cls.setup_context is Function.setup_context:
        raise RuntimeError(
            f"In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
            f"the setup_context staticmethod: {cls.__name__}.forward gets a context. Let forward take the inputs alone, and "
            "save what backward needs in setup_context(ctx, inputs, output)."
        )
    level: Any = current_interpreter()
    args = tree_map_only(TensorBase, unwrap_dead, args)
    if level.transform in (TransformType.Grad, TransformType.Jvp):
        return _differentiated(level, cls, args)
    if level.transform is TransformType.Vmap:
        return _mapped(level, cls, args)
    raise RuntimeError(f"{cls.__name__}: an autograd.Function cannot be used inside of {level.transform.name} yet")


def _differentiated(level: Any, cls: Any, args: tuple) -> Any:
    state = current()
    flags = (state.grad_enabled, state.forward_grad_enabled)
    lifted = tuple([level.lift(a) if isinstance(a, TensorBase) else a for a in args])

    def forward(*wrapped: Any) -> Any:
        pairs: list[tuple[Any, Any]] = []

        def unwrap(tensor: Any) -> Any:
            handle = tensor.handle
            if type(handle) is GradHandle and handle.owner is level:
                pairs.append((handle.value, tensor))
                return handle.value
            return tensor

        def wrap(value: Any) -> Any:
            same = next((wrapper for inner, wrapper in pairs if inner is value), None)
            return wrap_grad(value, level) if same is None else same

        values = tree_map_only(TensorBase, unwrap, wrapped)
        disabled = (state.grad_enabled, state.forward_grad_enabled)
        state.grad_enabled, state.forward_grad_enabled = flags
        try:
            with level.lower():
                output = cls.apply(*values)
        finally:
            state.grad_enabled, state.forward_grad_enabled = disabled
        return tree_map_only(TensorBase, wrap, output)

    return cls._run(lifted, forward)


def _mapped(level: VmapInterpreter, cls: Any, args: tuple) -> Any:
    values = tree_map_only(TensorBase, lambda t: level.unwrap(t)[0], args)
    dims = tree_map(lambda t: level.unwrap(t)[1] if isinstance(t, TensorBase) else None, args)
    mapped = any(dim is not None for dim in tree_leaves(dims))
    own_rule = cls.vmap is not Function.vmap
    if cls.generate_vmap_rule and own_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
        )
    if not mapped:
        with level.lower():
            return cls.apply(*values)
    if own_rule:
        with level.lower():
            result = cls.vmap(VmapInfo(level.batch_size, level.randomness), dims, *values)
        return _same_objects(level, args, rewrapped(level, cls.__name__, result))
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )
    whole = _of_whole_batch(cls, dims, level.batch_size, level.randomness)
    with level.lower():
        output = whole.apply(*values)
    return _same_objects(level, args, rewrapped(level, cls.__name__, (output, whole.out_dims)))


def _same_objects(level: VmapInterpreter, args: tuple, output: Any) -> Any:
    """Return the output with the argument itself where a function returned its input, as one that is marked dirty is."""
    pairs = [(*level.unwrap(a), a) for a in args if isinstance(a, TensorBase)]

    def same(tensor: Any) -> Any:
        value, dim = level.unwrap(tensor)
        return next((a for inner, at, a in pairs if inner is value and at == dim), tensor)

    return tree_map_only(TensorBase, same, output)


class _BatchedContext:
    """The context that the user's static methods see for one example; what it keeps is kept by that of the batch."""

    def __init__(self, ctx: Any, level: VmapInterpreter, kept: dict[str, Any]):
        self.__dict__.update(_ctx=ctx, _level=level, _kept=kept)

    def _stored(self, tree: Any) -> tuple[Any, Any]:
        level = self._level
        values = tree_map_only(TensorBase, lambda t: level.unwrap(t)[0], tree)
        return values, tree_map(lambda t: level.unwrap(t)[1] if isinstance(t, TensorBase) else None, tree)

    def _restored(self, values: Any, dims: Any) -> Any:
        level = self._level
        return tree_map(
            lambda value, dim: value if dim is None else level.wrap(value, dim), values, dims
        )

    def save_for_backward(self, *tensors: Any) -> None:
        values, self._kept["saved dims"] = self._stored(tensors)
        self._ctx.save_for_backward(*values)

    def save_for_forward(self, *tensors: Any) -> None:
        values, self._kept["saved forward dims"] = self._stored(tensors)
        self._ctx.save_for_forward(*values)

    def mark_non_differentiable(self, *tensors: Any) -> None:
        self._ctx.mark_non_differentiable(*self._stored(tensors)[0])

    def mark_dirty(self, *tensors: Any) -> None:
        self._ctx.mark_dirty(*self._stored(tensors)[0])

    def set_materialize_grads(self, value: bool) -> None:
        self._ctx.set_materialize_grads(value)

    @property
    def saved_tensors(self) -> tuple:
        forward = self._ctx.saved_for_forward is not None
        dims = self._kept["saved forward dims" if forward else "saved dims"]
        return tuple(self._restored(tuple(self._ctx.saved_tensors), tuple(dims)))

    def __setattr__(self, name: str, value: Any) -> None:
        self._kept["." + name] = self._stored(value)

    def __getattr__(self, name: str) -> Any:
        kept = self.__dict__["_kept"]
        if "." + name in kept:
            return self._restored(*kept["." + name])
        return getattr(self.__dict__["_ctx"], name)


def _of_whole_batch(cls: Any, in_dims: tuple, batch_size: int, randomness: str) -> Any:
    """Return the function that computes for a batch what `cls` does for an example."""

    def wrapped(level: VmapInterpreter, values: Any, dims: Any) -> Any:
        return tree_map(lambda value, dim: value if dim is None else level.wrap(value, dim), values, dims)

    def unwrapped(level: VmapInterpreter, tree: Any) -> tuple[Any, Any]:
        values = tree_map_only(TensorBase, lambda t: level.unwrap(t)[0], tree)
        return values, tree_map(lambda t: level.unwrap(t)[1] if isinstance(t, TensorBase) else None, tree)

    class WholeBatch(Function):
        generate_vmap_rule = True
        out_dims: Any = None

        @staticmethod
        def forward(*args: Any) -> Any:
            with VmapInterpreter(batch_size, randomness) as level:
                outputs, WholeBatch.out_dims = unwrapped(level, cls.forward(*wrapped(level, args, in_dims)))
            return outputs

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            kept: dict[str, Any] = {}
            with VmapInterpreter(batch_size, randomness) as level:
                inner = _BatchedContext(ctx, level, kept)
                cls.setup_context(inner, wrapped(level, inputs, in_dims), wrapped(level, output, WholeBatch.out_dims))
            ctx.kept_of_batch = kept

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            dims = WholeBatch.out_dims if isinstance(WholeBatch.out_dims, tuple) else (WholeBatch.out_dims,)
            with VmapInterpreter(batch_size, randomness) as level:
                inner = _BatchedContext(ctx, level, ctx.kept_of_batch)
                given = tuple(
                    [g if g is None or d is None else level.wrap(g, d) for g, d in zip(grads, dims, strict=True)]
                )
                results = backward_of(cls)(inner, *given)
                results = results if isinstance(results, tuple) else (results,)
                with level.lower():
                    return tuple([_input_gradient(level, g, d) for g, d in zip(results, in_dims, strict=False)])

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            with VmapInterpreter(batch_size, randomness) as level:
                inner = _BatchedContext(ctx, level, ctx.kept_of_batch)
                given = tuple(
                    [t if t is None or d is None else level.wrap(t, d) for t, d in zip(tangents, in_dims, strict=True)]
                )
                results, dims = unwrapped(level, cls.jvp(inner, *given))
                with level.lower():
                    return tree_map(lambda t, d, o: _placed(t, d, o, batch_size), results, dims, WholeBatch.out_dims)

    WholeBatch.__name__ = WholeBatch.__qualname__ = f"Vmapped{cls.__name__}"
    return WholeBatch


def _input_gradient(level: VmapInterpreter, grad: Any, in_dim: Any) -> Any:
    """Return the gradient of an input as the batch has it: summed over the examples if the input is the same for all."""
    if not isinstance(grad, TensorBase):
        return grad
    value, dim = level.unwrap(grad)
    if in_dim is None:
        return value if dim is None else F.sum(value, dim)
    return _placed(value, dim, in_dim, level.batch_size)


def _placed(value: Any, dim: int | None, target: int | None, size: int) -> Any:
    """Return a tensor with its mapped dimension at `target`; repeated if it has none."""
    if value is None or target is None:
        return value
    value = batched(value, dim, size)
    return F.movedim(value, 0, target) if target else value
