"""What the tests of compiled functions share: runs in eager mode and compiled, compared in all that can be seen."""

from __future__ import annotations

import minitorch as mt
from minitorch.compiler import aot_function, default_partition, interpret, min_cut_rematerialization_partition
from minitorch.core.pytree import tree_leaves, tree_map

PARTITIONS = {"default": default_partition, "min_cut": min_cut_rematerialization_partition}


def copied(tensor):
    """Return a copy with the same strides and the same wish for a gradient."""
    made = mt.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype).copy_(tensor.detach())
    return made.requires_grad_(tensor.requires_grad)


class Recorder:
    """A compiler that keeps the graphs that it is given, and interprets them."""

    def __init__(self):
        self.graphs = []

    def __call__(self, module, example_inputs):
        self.graphs.append(module)
        return interpret(module, example_inputs)

    def names(self, index):
        """Return the names of the operators of a graph."""
        return [n.target.basename for n in self.graphs[index].graph.nodes if hasattr(n.target, "basename")]


def observe(function, make):
    """Run a function on fresh arguments; return all that can be seen: results, arguments afterwards, gradients, aliasing."""
    mt.manual_seed(0)
    leaves, args = make()
    versions = [t._version for t in tree_leaves(args) if isinstance(t, mt.Tensor)]
    result = function(*args)
    tensors = [t for t in tree_leaves(result) if isinstance(t, mt.Tensor)]
    inputs = [t for t in tree_leaves(args) if isinstance(t, mt.Tensor)]
    seen = {
        "result": tree_map(lambda t: t.detach().clone() if isinstance(t, mt.Tensor) else t, result),
        "inputs": [t.detach().clone() for t in inputs],
        "geometry": [(t.shape, t.stride(), t.storage_offset()) for t in inputs],
        "results": [(t.shape, t.stride(), t.dtype, t.requires_grad) for t in tensors],
        "changed": [t._version - v for t, v in zip(inputs, versions, strict=True)],
        "requires": [t.requires_grad for t in inputs],
        "is_input": [[t is i for i in inputs] for t in tensors],
        "shares": [[t.data_ptr() == i.data_ptr() for i in (*inputs, *tensors)] for t in tensors if t.numel()],
        "next": mt.rand(3),
    }
    roots = [t for t in (*tensors, *inputs) if t.requires_grad and not t.is_leaf]
    if roots:
        cotangents = [mt.arange(float(r.numel())).reshape(r.shape).sin().to(r.dtype) for r in roots]
        mt.autograd.backward(roots, cotangents)
    seen["gradients"] = [t.grad for t in leaves]
    return seen


def assert_same(actual, expected):
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        if name in ("geometry", "results", "changed", "requires", "is_input", "shares"):
            assert actual[name] == value, name
            continue
        ours, theirs = tree_leaves(actual[name]), tree_leaves(value)
        assert len(ours) == len(theirs), name
        for one, other in zip(ours, theirs, strict=True):
            if isinstance(other, mt.Tensor):
                mt.testing.assert_close(one, other, msg=lambda text, name=name: f"{name}: {text}")
            else:
                assert one == other or (one is None and other is None), name


def check(function, make, partition="default", **options):
    """Compare a function with itself compiled, twice over; return the compiler with the graphs."""
    recorder = Recorder()
    compiled = aot_function(function, recorder, partition_fn=PARTITIONS[partition], **options)
    expected = observe(function, make)
    assert_same(observe(compiled, make), expected)
    count = len(recorder.graphs)
    assert_same(observe(compiled, make), expected)
    assert len(recorder.graphs) == count, "a second call of the same kind was compiled again"
    return recorder


def leaf(tensor):
    return copied(tensor).requires_grad_()


def plain(*tensors):
    """Return what makes arguments without gradients."""
    return lambda: ([], tuple(copied(t) for t in tensors))


def leaves(*tensors):
    """Return what makes arguments that are leaves which require gradients."""

    def make():
        made = [leaf(t) for t in tensors]
        return made, tuple(made)

    return make


def computed(*tensors):
    """Return what makes arguments that were computed from leaves."""

    def make():
        made = [leaf(t) for t in tensors]
        return made, tuple(t * 1 for t in made)

    return make
