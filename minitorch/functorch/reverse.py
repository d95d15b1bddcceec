"""Reverse mode as transforms: `vjp`, `grad`, `jacrev`.

Note [Backward after the level]
    The function runs inside a level of its own, which records a graph; the backward pass through that graph
    runs when the level has ended.  Its wrappers are dead by then, so the gradients are computed by, and belong
    to, the code around the transform: it is recorded or mapped there if that is inside transforms or
    autograd itself, and nowhere else.  A second derivative is the work of a second level.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.autograd.backward import gradients_at
from minitorch.autograd.graph import GradientEdge, edge_of
from minitorch.autograd.node import Node, requires_grad
from minitorch.core.pytree import TreeSpec, tree_flatten, tree_map, tree_map_only, tree_unflatten
from minitorch.dispatch.local_state import current
from minitorch.functorch.interpreters import GradInterpreter
from minitorch.functorch.wrappers import GradHandle, unwrap_dead, wrap_grad
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase
from minitorch.tensor.wrapper import innermost


def differentiable(tensor: Any, level: GradInterpreter, what: str) -> Any:
    """Return the tensor of a level by which the function is differentiated."""
    if not isinstance(tensor, TensorBase):
        raise ValueError(f"{what}: Thing passed to transform API must be Tensor, got {type(tensor)}")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise RuntimeError(
            f"{what}: only Tensors of floating point and complex dtype can require gradients, and an argument to "
            f"differentiate by is {tensor.dtype}"
        )
    wrapper = wrap_grad(unwrap_dead(tensor), level)
    wrapper.requires_grad_flag = True
    wrapper.tracked = True
    return wrapper


def constant(tree: Any, level: Any) -> Any:
    """Return a tree with its tensors wrapped as what a level does not differentiate by."""
    return tree_map_only(TensorBase, lambda tensor: wrap_grad(unwrap_dead(tensor), level), tree)


def unwrapped(tree: Any, level: Any) -> Any:
    """Return a tree without the wrappers of a level."""

    def unwrap(tensor: Any) -> Any:
        handle = tensor.handle
        return handle.value if type(handle) is GradHandle and handle.owner is level else tensor

    return tree_map_only(TensorBase, unwrap, tree)


class Pullback:
    """The graph of a function that has run: takes gradients of its outputs to those of its inputs.

    Made inside the level, and called after it has ended (Note [Backward after the level]).

    Parameters
    ----------
    outputs, inputs : list of Tensor
        Tensors of the level.
    """

    def __init__(self, outputs: list[Any], inputs: list[Any]):
        self.inputs = inputs
        self.roots: list[Any] = []
        self.places: list[int] = []
        for place, output in enumerate(outputs):
            if requires_grad(output):
                target, number = edge_of(output)
                self.roots.append(GradientEdge(target, number) if isinstance(target, Node) else output)
                self.places.append(place)

    def __call__(self, cotangents: list[Any], keep_graph: bool, create_graph: bool | None = None) -> list[Any]:
        """Return the gradient of each input, zeros for one that no output depends on; recorded if grad mode is on."""
        if create_graph is None:
            create_graph = current().grad_enabled
        found: list[Any] = [None] * len(self.inputs)
        if self.roots:
            grads = tuple([cotangents[place] for place in self.places])
            found = gradients_at(tuple(self.roots), tuple(self.inputs), grads, keep_graph, create_graph)
        return [
            F.zeros_like(unwrap_dead(tensor)) if grad is None else unwrap_dead(grad)
            for grad, tensor in zip(found, self.inputs, strict=True)
        ]


def _outputs_of(result: Any, has_aux: bool, what: str) -> tuple[Any, Any]:
    """Return what a function returned as output and auxiliary output."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{what}: output of function f should be a tuple: (output, aux) if has_aux is True, and it returned "
            f"{type(result).__name__}"
        )
    return result


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple:
    """Return ``func(*primals)`` and the function that multiplies vectors by its Jacobian from the left.

    Parameters
    ----------
    func : callable
        Takes tensors (or nested containers of them) and returns them.
    *primals : Tensor or nested containers of Tensor
        Floating or complex.
    has_aux : bool
        `func` returns ``(output, aux)``; `aux` is passed on, and not differentiated.

    Returns
    -------
    output, vjp_fn : the result, and ``vjp_fn(cotangents) -> gradients``
        With cotangents of the structure of the output (``vjp_fn(a, b)`` for a tuple of two); gradients of the structure
        of `primals`, without the tuple for one primal. It can be called several times.
        With `has_aux`, ``(output, vjp_fn, aux)``.

    Raises
    ------
    RuntimeError
        If a primal or an output is neither floating nor complex, or a cotangent does not fit its output.

    Examples
    --------
    >>> y, vjp_fn = vjp(minitorch.sin, minitorch.zeros(2))
    >>> vjp_fn(minitorch.ones(2))
    (tensor([1., 1.]),)
    """
    return _vjp(func, primals, has_aux, tuple(range(len(primals))))


def _vjp(func: Callable[..., Any], args: tuple, has_aux: bool, places: Any, kwargs: dict | None = None) -> tuple:
    """Return what `vjp` does, differentiating by the arguments at `places` (an int: its gradient stands alone)."""
    which = (places,) if isinstance(places, int) else places
    leaves, spec = tree_flatten(tuple(args[place] for place in which))
    with GradInterpreter() as level:
        inputs = [differentiable(leaf, level, "vjp(f, *primals)") for leaf in leaves]
        chosen = tree_unflatten(inputs, spec)
        wrapped = list(constant(args, level))
        for place, value in zip(which, chosen, strict=True):
            wrapped[place] = value
        output, aux = _outputs_of(func(*wrapped, **(kwargs or {})), has_aux, "vjp(f, *primals)")
        outputs, out_spec = tree_flatten(output)
        for leaf in outputs:
            if not isinstance(leaf, TensorBase):
                raise RuntimeError(
                    f"vjp(f, *primals): Expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
                )
            if not (leaf.dtype.is_floating_point or leaf.dtype.is_complex):
                raise RuntimeError(
                    "vjp(f, *primals): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{leaf.dtype}. Return others as aux, with has_aux=True."
                )
        if not outputs:
            raise RuntimeError("vjp(f, *primals): Expected f to be a function that has non-empty output (got output = ())")
        pullback = Pullback(outputs, inputs)
        results = [unwrapped(leaf, level) for leaf in outputs]
        aux = unwrapped(aux, level)
    vjp_fn = _VjpFunction(pullback, results, out_spec, spec, isinstance(places, int))
    result = tree_unflatten(results, out_spec)
    return (result, vjp_fn, aux) if has_aux else (result, vjp_fn)


class _VjpFunction:
    """``vjp_fn(*cotangents)``: see `vjp`."""

    def __init__(self, pullback: Pullback, results: list[Any], out_spec: TreeSpec, in_spec: TreeSpec, single: bool):
        self._pullback = pullback
        self._shapes = [(result.shape, result.dtype) for result in results]
        self._out_spec, self._in_spec, self._single = out_spec, in_spec, single

    def __call__(self, *cotangents: Any, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        given: Any = cotangents[0] if len(cotangents) == 1 else cotangents
        leaves, spec = tree_flatten(given)
        if spec != self._out_spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {spec}, primal output: {self._out_spec}"
            )
        for i, (leaf, (shape, dtype)) in enumerate(zip(leaves, self._shapes, strict=True)):
            if not isinstance(leaf, TensorBase) or leaf.shape != shape:
                found = list(leaf.shape) if isinstance(leaf, TensorBase) else type(leaf).__name__
                raise RuntimeError(f"vjp_fn: cotangent {i} should be a tensor of shape {list(shape)}, and is {found}")
            if leaf.dtype.is_complex != dtype.is_complex:
                raise RuntimeError(f"vjp_fn: cotangent {i} should be of dtype {dtype}, and is {leaf.dtype}")
        gradients = tree_unflatten(self._pullback(leaves, retain_graph, create_graph), self._in_spec)
        return gradients[0] if self._single else gradients


def _checked_argnums(argnums: Any, count: int, what: str) -> Any:
    """Return `argnums` counted from 0."""
    if isinstance(argnums, bool) or not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"{what}: argnum type {type(argnums)}, expected int or tuple of ints")
    if isinstance(argnums, tuple):
        if not argnums:
            raise RuntimeError(f"{what}: argnums must be non-empty")
        places = tuple([_checked_argnums(a, count, what) for a in argnums])
        if len(set(places)) != len(places):
            raise RuntimeError(f"{what}: argnums elements must be unique, and are {argnums}")
        return places
    if not -count <= argnums < count:
        raise RuntimeError(f"{what}: Got argnum={argnums}, but only {count} positional inputs")
    return argnums % count


def grad_and_value(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return the function that computes gradients of `func` and its value.

    As `grad`, but for the result: ``(gradients, value)``, or ``(gradients, (value, aux))`` with `has_aux`.

    Examples
    --------
    >>> grad_and_value(lambda x: x**2)(minitorch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        what = "grad_and_value(f)(*args)"
        places = _checked_argnums(argnums, len(args), what)
        which = (places,) if isinstance(places, int) else places
        leaves, spec = tree_flatten(tuple(args[place] for place in which))
        with GradInterpreter() as level:
            inputs = [differentiable(leaf, level, what) for leaf in leaves]
            wrapped = list(constant(args, level))
            for place, value in zip(which, tree_unflatten(inputs, spec), strict=True):
                wrapped[place] = value
            output, aux = _outputs_of(func(*wrapped, **constant(kwargs, level)), has_aux, what)
            if not isinstance(output, TensorBase):
                raise RuntimeError(f"{what}: Expected f(*args) to return a Tensor, got {type(output)}")
            if output.ndim != 0:
                raise RuntimeError(
                    f"{what}: Expected f(*args) to return a scalar Tensor, got tensor with {output.ndim} dims. Maybe you "
                    "wanted to use the vjp or jacrev APIs instead?"
                )
            if output.dtype.is_complex:
                raise RuntimeError(
                    f"{what}: grad can be implicitly created only for real scalar outputs but got {output.dtype}. Use vjp, or "
                    "return the real part."
                )
            pullback = Pullback([output], inputs)
            value, aux = unwrapped(output, level), unwrapped(aux, level)
        gradients = tree_unflatten(pullback([F.ones_like(value)], False), spec)
        if isinstance(places, int):
            gradients = gradients[0]
        return (gradients, (value, aux)) if has_aux else (gradients, value)

    return wrapper


def grad(func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return the function that computes the gradient of `func`.

    Parameters
    ----------
    func : callable
        Returns a tensor of one element without dimensions.
    argnums : int or tuple of int
        The positional arguments to differentiate by: tensors, or nested containers of them.
    has_aux : bool
        `func` returns ``(value, aux)``, and the new function ``(gradients, aux)``.

    Returns
    -------
    callable
        Takes the arguments of `func`; returns gradients of the structure of argument `argnums`, or a tuple of them.

    Raises
    ------
    RuntimeError
        If `func` returns no such tensor or a complex one, or an argument is neither floating nor complex.

    Examples
    --------
    >>> grad(grad(lambda x: x**3))(minitorch.tensor(2.0))
    tensor(12.)
    """
    compute = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradients, value = compute(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def jacrev(
    func: Callable[..., Any],
    argnums: Any = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:
    """Return the function that computes the Jacobian of `func`, row by row: one `vjp` for all rows.

    Parameters
    ----------
    argnums : int or tuple of int
        The positional arguments to differentiate by.
    has_aux : bool
        `func` returns ``(output, aux)``, and the new function ``(jacobian, aux)``.
    chunk_size : int, optional
        How many rows are computed at once; all by default.

    Returns
    -------
    callable
        Returns, for each output, for each argument, a tensor of shape ``output.shape + argument.shape``.

    Raises
    ------
    ValueError
        If `chunk_size` is below 1.
    RuntimeError
        If `func` returns something else than floating tensors, or takes complex ones.

    Examples
    --------
    >>> jacrev(minitorch.sin)(minitorch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if chunk_size is not None and chunk_size < 1:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from minitorch.functorch.vmap import vmap

        places = _checked_argnums(argnums, len(args), "jacrev(f)(*args)")
        refuse_complex(args, "inputs", "jacrev")
        found = _vjp(func, args, has_aux, places, kwargs)
        output, vjp_fn = found[:2]
        outputs, out_spec = tree_flatten(output)
        refuse_complex(output, "outputs", "jacrev")
        # All rows: one cotangent after the other, each of one output with zeros for the others.
        lengths = [tensor.numel() for tensor in outputs]
        basis = standard_basis(outputs)
        rows = vmap(lambda *cotangents: vjp_fn(tree_unflatten(cotangents, out_spec)), chunk_size=chunk_size)(*basis)
        start = 0
        by_output = []
        for tensor, length in zip(outputs, lengths, strict=True):
            by_output.append(
                tree_map(
                    lambda g, s=start, n=length, t=tensor: F.reshape(F.narrow(g, 0, s, n), [*t.shape, *g.shape[1:]]), rows
                )
            )
            start += length
        jacobian = tree_unflatten(by_output, out_spec)
        return (jacobian, found[2]) if has_aux else jacobian

    return wrapper


def refuse_complex(tree: Any, kind: str, what: str) -> None:
    """Raise for complex tensors: what their Jacobian holds is no single number (the conjugate has a part of its own)."""
    for i, leaf in enumerate(tree_flatten(tree)[0]):
        if isinstance(leaf, TensorBase) and leaf.dtype.is_complex:
            raise RuntimeError(
                f"{what}: Expected all {kind} to be real but received complex tensor at flattened input idx: {i}. "
                "Use vjp or jvp, or view_as_real."
            )


def standard_basis(tensors: list[Any]) -> list[Any]:
    """Return, for each tensor, a batch of tensors like it: together the unit vectors of all their elements."""
    count = sum(tensor.numel() for tensor in tensors)
    found = []
    start = 0
    for tensor in tensors:
        inside = innermost(tensor)
        if inside._handle_is_all:  # fake ones beside a fake one
            unit = F.new_zeros(inside, [count, tensor.numel()])
            F.fill_(F.diagonal(unit), 1)
        else:
            unit = F.eye(count, tensor.numel(), dtype=tensor.dtype, device=tensor.device)
        rows = F.roll(unit, start, 0) if start else unit
        found.append(F.reshape(rows, [count, *tensor.shape]))
        start += tensor.numel()
    return found
