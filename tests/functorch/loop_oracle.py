"""`vmap` against a loop over the examples: the results, and the gradients in each example."""

from __future__ import annotations

import itertools

import minitorch as mt
from minitorch.core.pytree import tree_flatten, tree_map
from minitorch.func import vjp, vmap, vmap_fallback_policy
from minitorch.testing import assert_close


def random(*shape, dtype=None):
    return mt.randn(shape, dtype=mt.float64 if dtype is None else dtype)


def all_patterns(count):
    """Return all combinations of mapped and other arguments, and where the dimension stands in the mapped ones."""
    found = []
    for number, pattern in enumerate(itertools.product((False, True), repeat=count)):
        if any(pattern):
            places = itertools.cycle(((0, -1), (-1, 0), (0, 0))[number % 3])
            found.append(tuple(next(places) if mapped else None for mapped in pattern))
    return found


def example(x, dim, i):
    return x if dim is None else x.select(dim, i)


def loop(function, tensors, dims, count):
    """Return the results for all examples, stacked."""
    results = [function(*[example(x, d, i) for x, d in zip(tensors, dims, strict=True)]) for i in range(count)]
    leaves, spec = zip(*[tree_flatten(r) for r in results], strict=True)
    return [mt.stack(list(parts)) for parts in zip(*leaves, strict=True)], spec[0]


def stacked(shapes, dims, count, make=random):
    """Return tensors for examples of these shapes, with the mapped dimension where `dims` says."""
    tensors = []
    for shape, dim in zip(shapes, dims, strict=True):
        shape = list(shape)
        if dim is not None:
            shape.insert(len(shape) + 1 + dim if dim < 0 else dim, count)
        tensors.append(make(*shape))
    return tensors


def gradients(function, *tensors):
    """Return the results and the gradients for all tensors, with cotangents that differ from place to place."""
    out, pull = vjp(function, *tensors)
    cotangents = tree_map(lambda t: mt.cos(mt.arange(t.numel(), dtype=t.dtype)).reshape(t.shape), out)
    return out, pull(cotangents)


def check(function, tensors, dims, count=3, tolerance=1e-9):
    """Assert that vmap of a function, without any loop, is the loop."""
    with vmap_fallback_policy("error"):
        found = vmap(function, in_dims=tuple(dims))(*tensors)
    expected, spec = loop(function, tensors, dims, count)
    found, found_spec = tree_flatten(found)
    assert found_spec == spec
    for f, e in zip(found, expected, strict=True):
        assert f.shape == e.shape, (dims, f.shape, e.shape)
        assert_close(f, e, rtol=tolerance, atol=tolerance, equal_nan=True)


def check_all(function, shapes, backward=True, count=3, make=random, patterns=None):
    """Do that for all patterns of mapped arguments, for the function and for its gradients, and for two levels."""
    for dims in patterns or all_patterns(len(shapes)):
        tensors = stacked(shapes, dims, count, make)
        check(function, tensors, dims, count)
        if backward:
            check(lambda *t: gradients(function, *t), tensors, dims, count)
    dims = (0,) * len(shapes)
    tensors = stacked(shapes, dims, count, make)
    once = tuple(0 if i == 0 else None for i in range(len(shapes)))
    nested = [x[None] * 1.5 if i == 0 else x for i, x in enumerate(tensors)]
    check(vmap(function, in_dims=dims), nested, once, count=1)
