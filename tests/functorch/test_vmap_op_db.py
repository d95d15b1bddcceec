"""vmap of every operator is a loop of it: by its record in `minitorch.testing.op_db`."""

from __future__ import annotations

import pytest
from op_db_helpers import assert_same, call, over

import minitorch as mt
from minitorch.core.pytree import tree_flatten, tree_map
from minitorch.func import vmap, vmap_fallback_policy
from minitorch.ops.assemble import is_view

BATCH = 3

# Records that vmap refuses, and why.
DYNAMIC, VALUE = "the shape of its result depends on values", "it asks for a Python value"
REFUSED = {
    "unique": DYNAMIC, "unique_consecutive": DYNAMIC, "nonzero": DYNAMIC,
    "equal": VALUE, "allclose": VALUE, "is_nonzero": VALUE, "Tensor.item": VALUE, "Tensor.tolist": VALUE,
}  # fmt: skip

# Records that vmap refuses by which tensors are mapped: a predicate of the sample, the tensors and where they are mapped.
REFUSED_PARTLY = {
    "masked_select": lambda sample, tensors, dims: dims[1] is not None,
    "ops.aten.index": lambda sample, tensors, dims: any(
        t.dtype is mt.bool and d is not None for t, d in zip(tensors[1:], dims[1:], strict=True)
    ),
    "tensor_split": lambda sample, tensors, dims: len(dims) > 1 and dims[1] is not None,
    "embedding_renorm_": lambda sample, tensors, dims: dims[0] is None,
    "_batch_norm_with_update": lambda sample, tensors, dims: None in dims[3:],  # changes in place
    "Tensor.resize_": lambda sample, tensors, dims: dims[0] == -1 and tensors[0].ndim,  # the order in memory is the batch's
    "resize_as_": lambda sample, tensors, dims: dims[0] == -1 and tensors[0].ndim,
    # What they write must be mapped where that which it is written from is.
    "_amp_foreach_non_finite_check_and_unscale_": lambda sample, tensors, dims: (
        (dims[-2] is None and any(d is not None for d in dims[:-2])) or (dims[-1] is not None and None in dims[:-2])
    ),
    "_amp_update_scale_": lambda sample, tensors, dims: (
        (dims[1] is None and dims[2] is not None) or (dims[0] is None and dims[1:] != [None, None])
    ),
    "nn.functional.one_hot": lambda sample, tensors, dims: sample.args[1:] in ((), (-1,)) and not sample.kwargs,
}

# Views by how a tensor lies in memory: an example does not lie as a copy of it where the mapped dimension is the last.
BY_MEMORY = ("as_strided", "as_strided_copy", "view_as_complex", "view_as_complex_copy")

# Records whose results have shapes that depend on values: vmap has results where these are the same for all examples.
SAME_SHAPES = ("argwhere",)

# Records whose gradients vmap refuses, and why.
REFUSED_GRADIENTS = {"masked_scatter": "the gradient of the source has the elements that the mask selects"}

# Operators that may loop, and why a loop is the honest answer.
BINS = "how many bins there are, or where they lie, depends on the values of each example, and on the kernel's rounding"
LOOPED = {"histc": BINS, "histogram": BINS, "bincount": BINS}


def _nothing(sample, tensors, dims):
    return False


def dtypes(record):
    """Return the first dtype, and another kind of dtype if the operator takes more than one kind."""
    first = record.dtypes[0]
    kinds = {"float64": "float", "float32": "float", "int64": "int", "complex128": "complex", "bool": "bool"}
    others = [n for n in ("int64", "complex128", "bool") if n in record.dtypes and n != first and n in kinds]
    return [first, *others[:1]]


def examples(tensor, boldness):
    """Return a tensor and variations of it; the less bold, the surer to be valid arguments."""
    tensor = tensor.detach()
    flat = tensor.reshape(-1)
    moved = [tensor, flat.roll(1).reshape(tensor.shape), flat.flip(0).reshape(tensor.shape)]
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        if boldness == 2:
            return [moved[0], moved[1] * 0.5, moved[2] * -0.75]
        return [tensor, tensor * 0.5, tensor * 0.75] if boldness else [tensor.clone() for _ in range(BATCH)]
    return moved if boldness else [tensor.clone() for _ in range(BATCH)]


def filled(sample, tensors):
    """Return a sample with other tensors."""
    rest = iter(tensors)
    return sample.map(lambda _: next(rest))


def patterns(count):
    """Return which tensors are mapped, and where."""
    found = [[0] * count, [-1] * count]
    if count > 1:
        found += [[0] + [None] * (count - 1), [None] * (count - 1) + [0]]
    return found


def loop(record, sample, tensors, columns, function=None):
    """Return the results for each example; None if they do not all have the same shapes, or are no tensors."""
    results, known = [], None
    for i in range(BATCH):
        given = [t.detach().clone() if c is None else c[i].clone() for t, c in zip(tensors, columns, strict=True)]
        results.append(call(record, filled(sample, given), function))
        leaves, spec = tree_flatten(results[-1])
        if not leaves or not all(isinstance(leaf, mt.Tensor) for leaf in leaves):
            return None
        shapes = [leaf.shape for leaf in leaves]
        if known not in (None, (spec, shapes)):
            return None
        known = spec, shapes
    return results


def variations(record, sample, tensors, dims, function=None):
    """Return the examples of each mapped tensor, and the results of a loop over them."""
    error = None
    for boldness in (2, 1, 0):
        columns = [None if d is None else examples(t, boldness) for t, d in zip(tensors, dims, strict=True)]
        try:
            return columns, loop(record, sample, tensors, columns, function)
        except Exception as raised:  # these are no valid arguments
            error = raised
    raise AssertionError(f"{record.name}{sample!r}: the sample itself fails") from error


def run(record, sample, tensors, columns, dims, randomness):
    """Return the result of vmap."""

    def mapped(*given):
        return call(record, filled(sample, given))

    stacked = [t.detach() if d is None else mt.stack(c, d) for t, c, d in zip(tensors, columns, dims, strict=True)]
    return vmap(mapped, in_dims=tuple(dims), randomness=randomness)(*stacked)


def writes_unmapped(record, dims):
    """Return whether an operator is to change in place what is the same for all examples."""
    return record.name.startswith("Tensor.") and record.name.endswith("_") and record.name[-2] != "_" and dims[0] is None


@over(dtypes=dtypes)
def test_vmap_is_a_loop(record, dtype_name):
    policy = "allow" if record.name in LOOPED else "error"
    ran = 0
    for number, sample in enumerate(record.samples(getattr(mt, dtype_name))):
        tensors = sample.tensors()
        if not tensors:
            continue
        for dims in patterns(len(tensors)) if number < 3 else patterns(len(tensors))[number % 2 :: 2]:
            if -1 in dims and record.name in BY_MEMORY:
                continue
            columns, expected = variations(record, sample, tensors, dims)
            what = f"vmap over {dims} of {sample!r}"
            with vmap_fallback_policy(policy):
                refused = record.name in REFUSED or REFUSED_PARTLY.get(record.name, _nothing)(sample, tensors, dims)
                if refused or writes_unmapped(record, dims):
                    with pytest.raises(RuntimeError, match="vmap"):
                        run(record, sample, tensors, columns, dims, "different" if record.random else "error")
                    ran += 1
                    continue
                if expected is None:
                    if record.name in SAME_SHAPES:
                        with pytest.raises(RuntimeError, match="vmap"):
                            run(record, sample, tensors, columns, dims, "error")
                    continue
                try:
                    found = run(record, sample, tensors, columns, dims, "different" if record.random else "error")
                except Exception as error:
                    error.add_note(f"in {record.name}: {what}")
                    raise
            for i in range(BATCH):
                assert_same(record, tree_map(lambda t, i=i: t[i], found), expected[i], f"example {i} of {what}")
            ran += 1
    if not ran:
        pytest.skip("no sample has a tensor to map, or none has tensors for results")


@over(only=lambda record: record.name not in REFUSED and not record.random)
def test_vmap_of_vmap(record):
    """Two levels, mapped over different dimensions: a rule runs on tensors that are batched themselves."""
    ran = 0
    for number, sample in enumerate(record.samples(getattr(mt, record.dtypes[0]))):
        tensors = sample.tensors()
        dims = [-1] * len(tensors)
        if number >= 4 or not tensors or record.name in BY_MEMORY:
            continue
        if REFUSED_PARTLY.get(record.name, _nothing)(sample, tensors, dims):
            continue
        columns, expected = variations(record, sample, tensors, dims)
        if expected is None:
            continue
        inner = [mt.stack(c, -1) for c in columns]
        # The second batch holds the same examples, one place further on.
        stacked = [mt.stack([x, x.roll(1, -1)]) for x in inner]

        def mapped(*given, sample=sample):
            return call(record, filled(sample, given))

        try:
            with vmap_fallback_policy("allow" if record.name in LOOPED else "error"):
                found = vmap(vmap(mapped, in_dims=tuple(dims)))(*stacked)
        except Exception as error:
            error.add_note(f"in {record.name}: two levels of vmap over {sample!r}")
            raise
        for i in range(BATCH):
            for outer in range(2):
                got = tree_map(lambda t, outer=outer, i=i: t[outer, (i + outer) % BATCH], found)
                assert_same(record, got, expected[i], f"example {outer}, {i} of two levels of vmap over {sample!r}")
        ran += 1
    if not ran:
        pytest.skip("no sample has a tensor to map, or none has tensors for results")


def is_differentiable(record):
    return (
        record.autograd and not record.no_gradcheck and not record.random and record.supports("float64")
        and not (record.name.startswith("Tensor.") and record.name.endswith("_"))  # which changes what is to be a leaf
    )  # fmt: skip


def is_inexact(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


def gradient_of(record, sample, is_float):
    """Return the function of a sample's tensors that gives the gradients of those that are wanted."""

    def gradient(*given):
        def function(*floats):
            rest = iter(floats)
            changed = [next(rest) if f else t for t, f in zip(given, is_float, strict=True)]
            results = tree_flatten(call(record, filled(sample, changed)))[0]
            results = [mt.view_as_real(r) if r.is_complex() else r for r in results if isinstance(r, mt.Tensor)]
            # No two elements count the same.
            parts = [
                (r * mt.arange(1.0, r.numel() + 1, dtype=r.dtype).reshape(r.shape)).sum() / max(r.numel(), 1)
                for r in results if r.is_floating_point()
            ]  # fmt: skip
            return mt.stack(parts).sum()

        _, pullback = mt.func.vjp(function, *[t for t, f in zip(given, is_float, strict=True) if f])
        return pullback(mt.ones((), dtype=mt.float64))

    return gradient


@over(only=lambda record: is_differentiable(record) and record.name not in {**REFUSED, **REFUSED_GRADIENTS})
def test_vmap_of_gradients(record):
    """Gradients of each example, where a backward pass has operators of its own."""
    ran = 0
    for number, sample in enumerate(record.samples(mt.float64, requires_grad=True)):
        tensors = sample.tensors()
        is_float = [t.requires_grad for t in tensors]
        if number >= 6 or not any(is_float):
            continue
        gradient = gradient_of(record, sample, is_float)
        for dims in ([0] * len(tensors), [0 if f else None for f in is_float]):
            if REFUSED_PARTLY.get(record.name, _nothing)(sample, tensors, dims):
                continue
            columns, results = variations(record, sample, tensors, dims)
            if results is None or not any(is_inexact(t) for t in tree_flatten(results[0])[0]):
                continue
            expected = []
            for i in range(BATCH):
                given = [t.detach() if c is None else c[i] for t, c in zip(tensors, columns, strict=True)]
                expected.append(gradient(*given))
            stacked = [t.detach() if d is None else mt.stack(c, d) for t, c, d in zip(tensors, columns, dims, strict=True)]
            try:
                with vmap_fallback_policy("allow" if record.name in LOOPED else "error"):
                    found = vmap(gradient, in_dims=tuple(dims))(*stacked)
            except Exception as error:
                error.add_note(f"in {record.name}: gradients, vmap over {dims} of {sample!r}")
                raise
            for i in range(BATCH):
                for one, other in zip(found, expected[i], strict=True):
                    mt.testing.assert_close(
                        one[i], other, rtol=1e-7 * record.tolerance, atol=1e-9 * record.tolerance, equal_nan=True,
                        msg=lambda text, i=i, sample=sample, dims=dims: f"{record.name}{sample!r}, {dims}, {i}: {text}",
                    )  # fmt: skip
            ran += 1
    if not ran:
        pytest.skip("no sample has a gradient with respect to a float64 tensor")


@over(only=lambda record: record.inplace is not None and record.name not in REFUSED)
def test_vmap_in_place(record):
    """An in-place operator changes what is batched as it changes each example."""
    for sample in record.samples(getattr(mt, record.dtypes[0])):
        tensors = sample.tensors()
        if not tensors or not sample.args or sample.args[0] is not tensors[0]:
            continue
        patterns_of_self = [[0] + [None] * (len(tensors) - 1), [-1] * len(tensors)]
        for dims in patterns_of_self:
            if -1 in dims and record.name in BY_MEMORY:
                continue
            try:
                columns, expected = variations(record, sample, tensors, dims, record.inplace)
            except AssertionError:
                continue  # as where the result has another shape or dtype than self
            if expected is None:
                continue
            stacked = [t if d is None else mt.stack(c, d) for t, c, d in zip(tensors, columns, dims, strict=True)]

            def mapped(*given, sample=sample):
                result = call(record, filled(sample, given), record.inplace)
                assert result is given[0]
                return result

            with vmap_fallback_policy("allow" if record.name in LOOPED else "error"):
                try:
                    found = vmap(mapped, in_dims=tuple(dims), randomness="different" if record.random else "error")(
                        *stacked
                    )
                except Exception as error:
                    error.add_note(f"in {record.name}_: vmap over {dims} of {sample!r}")
                    raise
            for i in range(BATCH):
                assert_same(record, found[i], expected[i], f"example {i} of vmap in place of {sample!r}")
                if not any(is_view(op.declaration) for op in record.overloads()):  # as t_ is: it changes the wrapper alone
                    assert_same(record, stacked[0].select(dims[0], i), expected[i], "the mapped tensor itself")
