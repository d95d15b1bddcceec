"""Forward mode as transforms: `jvp`, `jacfwd`; and what takes both: `hessian`, `linearize`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.autograd import dual
from minitorch.core.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from minitorch.functorch.interpreters import JvpInterpreter
from minitorch.functorch.reverse import (
    _checked_argnums,
    _outputs_of,
    constant,
    jacrev,
    refuse_complex,
    standard_basis,
    unwrapped,
    vjp,
)
from minitorch.functorch.wrappers import unwrap_dead, wrap_grad
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase


def jvp(func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False) -> tuple:
    """Return ``func(*primals)``, and the product of its Jacobian and a vector.

    Parameters
    ----------
    primals, tangents : tuple
        The arguments, tensors or nested containers of them, and a direction of the same structure, shapes and dtypes.
    strict : bool
        Raise for an output that does not depend on the arguments; its tangent is zero otherwise.
    has_aux : bool
        `func` returns ``(output, aux)``, and `jvp` ``(output, tangent, aux)``.

    Raises
    ------
    RuntimeError
        If primals and tangents do not fit together, or `func` returns something else than tensors.

    Examples
    --------
    >>> jvp(minitorch.sin, (minitorch.zeros(2),), (minitorch.ones(2),))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    return _jvp(func, primals, tangents, strict, has_aux, None, {})


def _jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, strict: bool, has_aux: bool, args: Any, kwargs: dict,
    places: tuple[int, ...] = (),
) -> tuple:  # fmt: skip
    """Return what `jvp` does; with `args`, the primals are those of the arguments that stand at `places`."""
    what = "jvp(f, primals, tangents)"
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, tuple):
            raise RuntimeError(f"{what}: Expected {name} to be a tuple. E.g. it should be valid to call f(*primals).")
    leaves, spec = tree_flatten(primals)
    directions, direction_spec = tree_flatten(tangents)
    if spec != direction_spec:
        raise RuntimeError(
            f"{what}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 "
            f"tensors, tangents also must be. Got primals with structure {spec} and tangents with structure {direction_spec}"
        )
    if not leaves:
        raise RuntimeError(f"{what}: Expected primals to be non-empty: there is nothing to differentiate by")
    for leaf, direction in zip(leaves, directions, strict=True):
        _check_pair(leaf, direction, what)
    with JvpInterpreter() as level:
        index = dual.enter_level()
        try:
            duals = [_dual(leaf, direction, index, level) for leaf, direction in zip(leaves, directions, strict=True)]
            chosen = tree_unflatten(duals, spec)
            if args is None:
                call_args = chosen
            else:
                call_args = list(constant(args, level))
                for place, value in zip(places, chosen, strict=True):
                    call_args[place] = value
            output, aux = _outputs_of(func(*call_args, **kwargs), has_aux, what)
            outputs, out_spec = tree_flatten(output)
            if not outputs:
                raise RuntimeError(f"{what}: Expected f to be a function that has non-empty output")
            values, slopes = [], []
            for leaf in outputs:
                if not isinstance(leaf, TensorBase):
                    raise RuntimeError(f"{what}: Expected f(*primals) to return only tensors, got unsupported type {type(leaf)}")
                slope = dual.tangent_of(leaf, index)
                if slope is None and strict:
                    raise RuntimeError(
                        "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                        "allowed with strict=True."
                    )
                values.append(unwrapped(leaf, level))
                slopes.append(None if slope is None else unwrapped(slope, level))
            aux = unwrapped(aux, level)
        finally:
            dual.exit_level()
    slopes = [F.zeros_like(value) if slope is None else slope for value, slope in zip(values, slopes, strict=True)]
    result, tangent = tree_unflatten(values, out_spec), tree_unflatten(slopes, out_spec)
    return (result, tangent, aux) if has_aux else (result, tangent)


def _check_pair(primal: Any, tangent: Any, what: str) -> None:
    for value in (primal, tangent):
        if not isinstance(value, TensorBase):
            raise ValueError(f"{what}: Thing passed to transform API must be Tensor, got {type(value)}")
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"{what}: Expected primals and tangents to be floating point or complex, but got: {value.dtype}")
    if primal.shape != tangent.shape:
        raise RuntimeError(
            f"{what}: a tangent has the shape of its primal, {list(primal.shape)}, and was given as {list(tangent.shape)}"
        )


def _dual(primal: Any, tangent: Any, index: int, level: JvpInterpreter) -> Any:
    """Return a primal as a tensor of the level that has a tangent."""
    wrapper = wrap_grad(unwrap_dead(primal), level)
    dual.set_tangent(wrapper, index, wrap_grad(unwrap_dead(tangent), level))
    return wrapper


def jacfwd(
    func: Callable[..., Any], argnums: Any = 0, has_aux: bool = False, *, randomness: str = "error",
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return the function that computes the Jacobian of `func`, column by column: one `jvp` for all columns.

    Parameters
    ----------
    argnums : int or tuple of int
        The positional arguments to differentiate by.
    has_aux : bool
        `func` returns ``(output, aux)``, and the new function ``(jacobian, aux)``.
    randomness : {"error", "different", "same"}
        What random operators inside do (`vmap`).
    chunk_size : int, optional
        How many columns are computed at once; all by default.

    Returns
    -------
    callable
        Returns, for each output, for each argument, a tensor of shape ``output.shape + argument.shape``.

    Raises
    ------
    RuntimeError
        If an argument or a result is complex.

    Examples
    --------
    >>> jacfwd(minitorch.sin)(minitorch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        from minitorch.functorch.vmap import vmap

        places = _checked_argnums(argnums, len(args), "jacfwd(f)(*args)")
        which = (places,) if isinstance(places, int) else places
        primals = tuple(args[place] for place in which)
        leaves, spec = tree_flatten(primals)
        refuse_complex(tree_leaves(args), "jacfwd: Expected all inputs")

        def push(*basis: Any) -> Any:
            found = _jvp(func, primals, tree_unflatten(basis, spec), False, has_aux, args, kwargs, which)
            refuse_complex(tree_leaves(found[0]), "jacfwd: Expected all outputs")
            return found[1:] if has_aux else found[1]

        basis = standard_basis(leaves)
        if has_aux:
            columns, aux = vmap(push, out_dims=(-1, None), randomness=randomness, chunk_size=chunk_size)(*basis)
        else:
            columns = vmap(push, out_dims=-1, randomness=randomness, chunk_size=chunk_size)(*basis)
        lengths = [leaf.numel() for leaf in leaves]

        def split(slope: Any) -> Any:
            start, parts = 0, []
            for leaf, length in zip(leaves, lengths, strict=True):
                part = F.narrow(slope, slope.ndim - 1, start, length)
                parts.append(F.reshape(part, [*slope.shape[:-1], *leaf.shape]))
                start += length
            of_primals = tree_unflatten(parts, spec)
            return of_primals[0] if isinstance(places, int) else of_primals

        jacobian = tree_map(split, columns)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def hessian(func: Callable[..., Any], argnums: Any = 0) -> Callable[..., Any]:
    """Return the function that computes the Hessian of `func`: forward mode over reverse mode.

    Returns
    -------
    callable
        Returns the Jacobian of the Jacobian: for one argument a tensor of shape
        ``output.shape + argument.shape + argument.shape``.

    Examples
    --------
    >>> hessian(lambda x: (x**3).sum())(minitorch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def linearize(func: Callable[..., Any], *primals: Any) -> tuple:
    """Return ``func(*primals)``, and the function that multiplies its Jacobian there by vectors.

    The function is run once, and what its derivative needs is kept: pushing another vector forward costs no
    further run, unlike `jvp`.  It is the transpose of the transpose: the gradient of a `vjp`, which is linear.

    Returns
    -------
    output, jvp_fn : the result, and ``jvp_fn(*tangents) -> tangent of the output``

    Raises
    ------
    RuntimeError
        If tangents do not fit the primals.

    Examples
    --------
    >>> y, jvp_fn = linearize(minitorch.sin, minitorch.zeros(2))
    >>> jvp_fn(minitorch.ones(2))
    tensor([1., 1.])
    """
    leaves, spec = tree_flatten(primals)
    output, vjp_fn = vjp(func, *primals)
    zeros = tree_map(F.zeros_like, output)
    _, transposed = vjp(vjp_fn, zeros)

    def jvp_fn(*tangents: Any) -> Any:
        directions, direction_spec = tree_flatten(tangents)
        if direction_spec != spec:
            raise RuntimeError(
                "linearize: Expected tangents to have the same python structure as primals. Got primals with structure "
                f"{spec} and tangents with structure {direction_spec}"
            )
        for leaf, direction in zip(leaves, directions, strict=True):
            _check_pair(leaf, direction, "linearize(f, *primals)")
            if direction.dtype is not leaf.dtype:
                raise RuntimeError(
                    f"linearize(f, *primals): a tangent has the dtype of its primal, {leaf.dtype}, and was given as "
                    f"{direction.dtype}"
                )
        return transposed(tangents)[0]

    return output, jvp_fn
