"""`vmap`: a function of one example becomes one of many."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from minitorch.core.pytree import TreeSpec, broadcast_leaves, tree_flatten, tree_unflatten
from minitorch.functorch import randomness as random_modes
from minitorch.functorch.interpreters import VmapInterpreter
from minitorch.functorch.layout import batched
from minitorch.ops import functions as F
from minitorch.tensor.base import TensorBase


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """Return the function that computes `func` for many examples at once.

    The operators inside are called once for all examples: each has a rule that says what it does with a further
    dimension (`minitorch.func.vmap_fallbacks` lists those of which a loop is made).

    Parameters
    ----------
    func : callable
        Takes and returns tensors, in nested tuples, lists and dictionaries; sees one example.
    in_dims : int, None, or nested containers of them
        Which dimension of each positional argument counts the examples: of the structure of the arguments, or with one
        number or None for a whole container. None: the same for each example. Keyword arguments are passed through.
    out_dims : int, None, or nested containers of them
        Where that dimension stands in the results.
    randomness : {"error", "different", "same"}
        Random operators inside raise RuntimeError, draw for each example, or draw once for all.
    chunk_size : int, optional
        How many examples are computed at once; all by default.

    Raises
    ------
    ValueError
        If `in_dims` does not fit the arguments, nothing is mapped, sizes differ, or `out_dims` does not fit the results.
    RuntimeError
        If `randomness` is none of the three; where `func` asks for a Python value of a tensor, or changes in place what is
        the same for all examples.

    Examples
    --------
    >>> vmap(minitorch.dot)(minitorch.ones(3, 2), minitorch.ones(3, 2))
    tensor([2., 2., 2.])
    """
    random_modes.check(randomness)
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(f"vmap: `chunk_size` should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        batch_size, leaves, dims, spec = _checked_inputs(in_dims, args, func)
        if chunk_size is None or chunk_size >= batch_size:
            return _run(func, batch_size, leaves, dims, spec, out_dims, randomness, kwargs)
        return _run_in_chunks(func, chunk_size, batch_size, leaves, dims, spec, out_dims, randomness, kwargs)

    return mapped


def _name(func: Any) -> str:
    return getattr(func, "__name__", None) or repr(func)


def _is_dim(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _checked_inputs(in_dims: Any, args: tuple, func: Any) -> tuple[int, list, list, TreeSpec]:
    """Return the batch size, the leaves of the arguments, the mapped dimension of each, and their structure."""
    where = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, list, tuple)) or isinstance(in_dims, bool):
        raise ValueError(
            f"{where}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"{where}got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no inputs. "
            "The latter is unsupported."
        )
    leaves, spec = tree_flatten(args)
    dims = broadcast_leaves(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{where}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    dims = list(dims)
    sizes = []
    for i, (leaf, dim) in enumerate(zip(leaves, dims, strict=True)):
        if not _is_dim(dim):
            raise ValueError(
                f"{where}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if dim is None:
            continue
        if not isinstance(leaf, TensorBase):
            raise ValueError(
                f"{where}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise ValueError(
                f"{where}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.ndim} so expected "
                f"in_dim to satisfy -{leaf.ndim} <= in_dim < {leaf.ndim}."
            )
        dims[i] = dim % leaf.ndim
        sizes.append(leaf.shape[dims[i]])
    if not sizes:
        raise ValueError(f"{where}Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
            "dimension"
        )
    return sizes[0], leaves, dims, spec


def _run(
    func: Any, batch_size: int, leaves: list, dims: list, spec: TreeSpec, out_dims: Any, randomness: str, kwargs: dict
) -> Any:
    with VmapInterpreter(batch_size, randomness) as level:
        wrapped = [leaf if dim is None else level.wrap(leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]
        outputs = func(*tree_unflatten(wrapped, spec), **kwargs)
        return _unwrapped_outputs(outputs, out_dims, level, func)


def _unwrapped_outputs(outputs: Any, out_dims: Any, level: VmapInterpreter, func: Any) -> Any:
    leaves, spec = tree_flatten(outputs)
    dims = broadcast_leaves(tuple(out_dims) if isinstance(out_dims, list) else out_dims, spec)
    if dims is None and isinstance(outputs, TensorBase) and isinstance(out_dims, (list, tuple)) and len(out_dims) == 1:
        dims = list(out_dims)
    if dims is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    found = []
    for leaf, dim in zip(leaves, dims, strict=True):
        if not _is_dim(dim):
            raise ValueError(
                f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): `out_dims` must be an int, None or a python "
                "collection of ints representing where in the outputs the vmapped dimension should appear."
            )
        found.append(_unwrapped_output(leaf, dim, level, func))
    return tree_unflatten(found, spec)


def _unwrapped_output(leaf: Any, out_dim: int | None, level: VmapInterpreter, func: Any) -> Any:
    if not isinstance(leaf, TensorBase):
        if out_dim is not None:
            raise ValueError(
                f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(leaf)}. Did you mean to set "
                "out_dims= to None for output?"
            )
        return leaf
    value, dim = level.unwrap(leaf)
    with level.lower():
        if out_dim is None:
            if dim is not None:
                raise ValueError(
                    f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None"
                )
            return value
        value = batched(value, dim, level.batch_size)
        if not -value.ndim <= out_dim < value.ndim:
            raise IndexError(
                f"vmap({_name(func)}, ..., out_dims={out_dim}): Dimension out of range (expected to be in range of "
                f"[{-value.ndim}, {value.ndim - 1}], but got {out_dim})"
            )
        return F.movedim(value, 0, out_dim) if out_dim % value.ndim else value


def _run_in_chunks(
    func: Any, chunk_size: int, batch_size: int, leaves: list, dims: list, spec: TreeSpec, out_dims: Any, randomness: str,
    kwargs: dict,
) -> Any:  # fmt: skip
    """Compute some examples at a time, and join the results."""
    # One seed for all chunks, so that "same" holds across them.
    state = random_modes.GeneratorStates() if randomness == "same" else None
    columns: list[list] = []
    out_spec: Any = None
    for start in range(0, batch_size, chunk_size):
        count = min(chunk_size, batch_size - start)
        part = [leaf if dim is None else F.narrow(leaf, dim, start, count) for leaf, dim in zip(leaves, dims, strict=True)]
        if state is not None:
            state.restore()
        result = _run(func, count, part, dims, spec, out_dims, randomness, kwargs)
        found, out_spec = tree_flatten(result)
        columns.append(found)
    places = broadcast_leaves(tuple(out_dims) if isinstance(out_dims, list) else out_dims, out_spec)
    if places is None:
        places = list(out_dims)
    joined = [
        parts[0] if place is None or not isinstance(parts[0], TensorBase) else F.cat(list(parts), place)
        for parts, place in zip(zip(*columns, strict=True), places, strict=True)
    ]
    return tree_unflatten(joined, out_spec)
