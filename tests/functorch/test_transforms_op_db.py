"""Transforms of every operator, and of each other, against loops and differences: by the records of `op_db`."""

from __future__ import annotations

from op_db_gradients import cases, double_dtypes, explained, is_float, weights
from op_db_helpers import over

import minitorch as mt
from minitorch.autograd import grad as gradients
from minitorch.func import grad, jacfwd, jacrev, jvp, vmap, vmap_fallback_policy
from minitorch.testing import assert_close
from minitorch.testing.op_db import Maker, op_db

BATCH = 3
SAMPLES = 3
STEP = 1e-6


# Records of which a batch is no stack of examples, and why.
NO_BATCH = {
    "as_strided": "what it returns depends on how the tensor lies in memory",
    "as_strided_copy": "what it returns depends on how the tensor lies in memory",
    "Tensor.as_strided": "what it returns depends on how the tensor lies in memory",
    "Tensor.copy_": "what it changes is here the same for all examples",
    "_batch_norm_with_update": "training changes the running statistics, which are the same for all examples",
}


def is_differentiable(record):
    return record.autograd and not record.no_gradcheck and record.name not in NO_BATCH


def has_tangents(record):
    return is_differentiable(record) and not record.no_forward


def differentiated(record, dtype_name):
    """Yield a sample, a function of some tensors to a tuple of tensors, and these tensors, none of which requires grad."""
    for sample, function, inputs in cases(record, dtype_name, SAMPLES):
        outputs = function(*inputs)
        if outputs and all(o.requires_grad for o in outputs) and all(i.numel() for i in inputs):
            yield sample, function, tuple([x.detach() for x in inputs]), weights(function, inputs)


def total(function, factors):
    """Return a function of one real value: the weighted sum of the outputs."""

    def scalar(*inputs):
        terms = [(o * w.conj()).sum() for o, w in zip(function(*inputs), factors, strict=True)]
        return sum([t.real if t.is_complex() else t for t in terms])

    return scalar


def directions(tensors):
    return tuple([Maker("cpu", t.dtype, False, i + 50)(*t.shape, low=-1, high=1) for i, t in enumerate(tensors)])


def variations(inputs):
    """Return the inputs and some near them, stacked; where they lie on both sides of a kink no two sides are compared."""
    return tuple([mt.stack([x, x * 0.875, x * 0.75]) for x in inputs])


def rows(tree, i):
    # Copies: as_strided counts from the beginning of the memory, which views have in common.
    return tuple([t[i].clone() for t in tree])


def assert_all_close(actual, expected, rtol=1e-7, atol=1e-9):
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        assert_close(one, other, rtol=rtol, atol=atol, equal_nan=True)
    return True


@over(dtypes=double_dtypes, only=is_differentiable)
def test_per_example_gradients(record, dtype_name):
    """vmap of grad is a loop of backward passes."""
    for sample, function, inputs, factors in differentiated(record, dtype_name):
        scalar, argnums = total(function, factors), tuple(range(len(inputs)))

        def check(inputs=inputs, scalar=scalar, argnums=argnums):
            stacked = variations(inputs)
            with vmap_fallback_policy("error"):
                found = vmap(grad(scalar, argnums), randomness="same")(*stacked)
            for i in range(BATCH):
                leaves = [x.clone().requires_grad_() for x in rows(stacked, i)]
                expected = gradients(scalar(*leaves), leaves, materialize_grads=True, allow_unused=True)
                assert_all_close(rows(found, i), expected)
            return True

        explained(record, sample, check)


@over(dtypes=double_dtypes, only=has_tangents)
def test_per_example_tangents(record, dtype_name):
    """jvp is what differences say, and vmap of jvp is a loop of it, also with one direction or one point for all."""
    for sample, function, inputs, _ in differentiated(record, dtype_name):
        v = directions(inputs)

        def check(inputs=inputs, function=function, v=v):
            up, down = ([x + s * STEP * t for x, t in zip(inputs, v, strict=True)] for s in (1, -1))
            slopes = [(a - b) / (2 * STEP) for a, b in zip(function(*up), function(*down), strict=True)]
            values, tangents = jvp(function, inputs, v)
            assert_all_close(values, function(*inputs))
            assert_all_close(tangents, slopes, 1e-4 * record.tolerance, 1e-5 * record.tolerance)
            stacked = variations(inputs)

            def push(x, v):
                return jvp(function, x, v)

            for in_dims in ((0, None), (None, 0), (0, 0)):
                points = inputs if in_dims[0] is None else stacked
                moved = v if in_dims[1] is None else variations(v)
                with vmap_fallback_policy("error"):
                    values, tangents = vmap(push, in_dims, randomness="same")(points, moved)
                for i in range(BATCH):
                    x = inputs if in_dims[0] is None else rows(stacked, i)
                    value, tangent = jvp(function, x, v if in_dims[1] is None else rows(moved, i))
                    assert_all_close(rows(values, i), value)
                    assert_all_close(rows(tangents, i), tangent)
            return True

        explained(record, sample, check)


@over(dtypes=lambda record: ["float64"] if "float64" in record.dtypes else [], only=has_tangents)
def test_jacobians_agree(record, dtype_name):
    """Row by row and column by column the Jacobian is the same."""
    for sample, function, inputs, _ in differentiated(record, dtype_name):
        outputs = function(*inputs)
        if sum(x.numel() for x in inputs) > 60 or sum(o.numel() for o in outputs) > 60:
            continue
        if any(o.is_complex() for o in outputs):
            continue  # the derivative of a complex output by a real input is no single number
        argnums = tuple(range(len(inputs)))

        def check(function=function, inputs=inputs, argnums=argnums):
            with vmap_fallback_policy("error"):
                by_rows = jacrev(function, argnums)(*inputs)
                by_columns = jacfwd(function, argnums, randomness="same")(*inputs)
            return all(assert_all_close(a, b) for a, b in zip(by_rows, by_columns, strict=True))

        explained(record, sample, check)


@over(dtypes=double_dtypes, only=lambda record: is_differentiable(record) and not record.no_gradgrad)
def test_second_derivatives(record, dtype_name):
    """grad of grad, and vmap of it, are what two backward passes give."""
    for sample, function, inputs, factors in differentiated(record, dtype_name):
        scalar, argnums, v = total(function, factors), tuple(range(len(inputs))), directions(inputs)

        def along(*inputs, scalar=scalar, argnums=argnums, v=v):
            slopes = grad(scalar, argnums)(*inputs)
            terms = [(s * t.conj()).sum() for s, t in zip(slopes, v, strict=True)]
            return sum([t.real if t.is_complex() else t for t in terms])

        def check(inputs=inputs, scalar=scalar, argnums=argnums, v=v, along=along):
            stacked = variations(inputs)
            with vmap_fallback_policy("error"):
                found = vmap(grad(along, argnums), randomness="same")(*stacked)
            for i in range(BATCH):
                leaves = [x.clone().requires_grad_() for x in rows(stacked, i)]
                first = gradients(scalar(*leaves), leaves, create_graph=True, materialize_grads=True, allow_unused=True)
                used = [(s, t) for s, t in zip(first, v, strict=True) if s.requires_grad]
                expected = tuple([mt.zeros_like(x) for x in leaves])
                if used:
                    expected = gradients(
                        [s for s, _ in used], leaves, [t for _, t in used], materialize_grads=True, allow_unused=True
                    )
                assert_all_close(rows(found, i), expected)
            return True

        explained(record, sample, check)


def test_the_samples_have_floats():
    """The tests above leave out what has no derivative, and nothing else: a record that they run is differentiated."""
    assert sum(is_differentiable(r) for r in op_db) > 350
    assert is_float(mt.ones(1))


