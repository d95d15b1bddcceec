"""Batch rules of operators that work along dimensions: what the samples of op_db leave out."""

from __future__ import annotations

import pytest
from loop_oracle import check, check_all, random

import minitorch as mt
from minitorch.func import vmap, vmap_fallback_policy

REDUCTIONS = {
    "sum": mt.sum, "mean": mt.mean, "prod": lambda x, *a: mt.prod(x, *a), "amax": mt.amax, "argmax": mt.argmax,
    "logsumexp": lambda x, d=0, k=False: mt.logsumexp(x, d, k), "std": lambda x, d=None, k=False: mt.std(x, d, keepdim=k),
    "var_mean": lambda x, d=None, k=False: mt.var_mean(x, d, keepdim=k),
    "vector_norm": lambda x, *a: mt.linalg.vector_norm(x, 3, *a), "max": mt.max, "median": mt.median, "mode": mt.mode,
    "any": lambda x, *a: mt.any(x > 0, *a), "all": lambda x, *a: mt.all(x > -1, *a),
    "count_nonzero": lambda x, d=None, k=False: mt.count_nonzero(x, d), "nansum": mt.nansum,
    "aminmax": lambda x, d=None, k=False: mt.aminmax(x, dim=d, keepdim=k),
    "kthvalue": lambda x, d=-1, k=False: mt.kthvalue(x, 1, d, k),
    "sort": lambda x, d=-1, k=False: mt.sort(x, d), "topk": lambda x, d=-1, k=False: mt.topk(x, 1, d),
    "cumsum": lambda x, d=0, k=False: mt.cumsum(x, d), "cummax": lambda x, d=0, k=False: mt.cummax(x, d),
    "softmax": lambda x, d=0, k=False: mt.softmax(x, d),
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("shape", [(), (1,), (4,), (2, 3), (2, 3, 2)], ids=str)
def test_dims(name, shape):
    """All dims, counted from both ends, kept or not, of examples with and without dimensions; one example, and two levels."""
    function = REDUCTIONS[name]
    for arguments in [(), *[(d, k) for d in range(-max(len(shape), 1), max(len(shape), 1)) for k in (False, True)]]:
        for count in (3, 1):
            for dim in (0, -1):
                x = random(*((count, *shape) if dim == 0 else (*shape, count)))
                check(lambda x, a=arguments: function(x, *a), [x], [dim], count)
        nested = random(2, *shape, 3)
        check(vmap(lambda x, a=arguments: function(x, *a), in_dims=-1), [nested], [0], 2)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_no_examples(name):
    with vmap_fallback_policy("error"):
        for arguments in ((), (0,), (1, True)):
            one = mt.empty(2, 3)
            expected = REDUCTIONS[name](one, *arguments)
            found = vmap(lambda x, a=arguments: REDUCTIONS[name](x, *a))(mt.empty(0, 2, 3))
            pairs = [(found, expected)] if isinstance(expected, mt.Tensor) else zip(found, expected, strict=True)
            for f, e in pairs:
                assert f.shape == (0, *e.shape)
                assert f.dtype is e.dtype


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(2), lambda x: x.sum([0, 0]), lambda x: x.amax(-3), lambda x: x.cumsum(2), lambda x: mt.sort(x, 5),
        lambda x: x.softmax(2), lambda x: x[:, :0].max(), lambda x: x[:, :0].amax(1), lambda x: x[:, :0].argmax(),
        lambda x: x.kthvalue(4), lambda x: x.topk(5), lambda x: x.int().mean(), lambda x: mt.trace(x[0]),
        lambda x: mt.aminmax(x[:, :0]), lambda x: mt.linalg.vector_norm(x.int()), lambda x: x.std(3),
        lambda x: mt.nn.functional.glu(x), lambda x: mt.searchsorted(x, x[0]), lambda x: mt.bucketize(x, x),
    ],
)  # fmt: skip
def test_errors_are_those_of_one_example(function):
    x = random(2, 3)
    with pytest.raises((RuntimeError, IndexError)) as expected:
        function(x)
    batch = mt.stack([x, x, x])
    for dim in (0, 2):
        with pytest.raises((RuntimeError, IndexError)) as found:
            vmap(function, in_dims=dim)(batch.movedim(0, dim))
        assert type(found.value) is type(expected.value)
        assert str(found.value) == str(expected.value)


def test_integers_keep_their_dtypes():
    x = mt.arange(24).reshape(3, 2, 4)
    for function in (
        mt.sum, mt.prod, mt.max, mt.median, mt.any, mt.count_nonzero, mt.trace, mt.argmax, lambda x: mt.cumsum(x, 0),
        lambda x: mt.sum(x, dtype=mt.float64), lambda x: mt.sum(x.to(mt.uint8)), lambda x: mt.any(x.to(mt.uint8)),
    ):  # fmt: skip
        check(function, [x], [0])
        assert vmap(function)(x).dtype is function(x[0]).dtype


def test_empty_lists_of_dims():
    x = random(3, 2, 2)
    for function in (mt.sum, mt.amax, mt.mean, mt.nansum):
        check(lambda x, f=function: f(x, []), [x], [0])
    check(lambda x: mt.any(x, []), [x], [-1], 2)
    check(lambda x: mt.all(x, []), [random(3)], [0])
    check(lambda x: mt.any(x, None), [x], [-1], 2)


def test_no_elements_in_an_example():
    x = mt.empty(3, 0, 2)
    functions = (mt.sum, mt.prod, mt.mean, mt.median, mt.nanmedian, mt.all, mt.any)
    for function in (*functions, lambda x: mt.sum(x, 0)):
        check(function, [x], [0])


def test_searches():
    edges, values = mt.sort(random(4, 5))[0], random(4, 2, 3)
    for dims in ((0, 0), (0, None), (None, 0)):
        one, other = (x if d is not None else x[0] for x, d in zip((edges, values), dims, strict=True))
        check(lambda e, v: mt.searchsorted(e, v), [one, other], dims, 4)
        check(lambda e, v: mt.bucketize(v, e, right=True), [one, other], dims, 4)
        check(lambda e, v: mt.isin(v, mt.cat([e, v[0]])), [one, other], dims, 4)
    check(lambda e: mt.searchsorted(e, 0.25, side="right"), [edges], [0], 4)
    check(lambda e: mt.bucketize(0.25, e), [edges], [0], 4)
    check(lambda e: mt.searchsorted(e, 1.5), [mt.arange(8).reshape(2, 4)], [0], 2)
    check(lambda e: mt.isin(3, e, invert=True), [mt.arange(8).reshape(2, 4)], [0], 2)
    check(lambda e: mt.isin(e, 3), [mt.arange(8).reshape(2, 4)], [-1], 4)
    rows = mt.sort(random(3, 2, 5))[0]
    check(lambda e, v: mt.searchsorted(e, v), [rows, random(3, 2, 4)], (0, 0))
    check(lambda e, v: mt.searchsorted(e, v), [rows, random(2, 4)], (0, None))
    check(lambda e, v: mt.searchsorted(e, v), [rows[0], random(2, 4, 3)], (None, -1))
    unsorted = random(3, 5)
    order = mt.argsort(unsorted)
    check(lambda e, s, v: mt.searchsorted(e, v, sorter=s), [unsorted, order, random(4)], (0, 0, None))
    check(lambda e, s, v: mt.searchsorted(e, v, sorter=s), [unsorted[0], order[:1].expand(3, 5), random(4)], (None, 0, None))


def test_quantiles_and_weights_of_each_example():
    check(lambda x, q: mt.quantile(x, q, 0), [random(3, 4, 2), mt.rand(3, 2, dtype=mt.float64)], (0, 0))
    with pytest.raises(RuntimeError, match=r"range \[0, 1\]"):
        vmap(lambda q: mt.quantile(mt.arange(3.0), q))(mt.tensor([0.5, 1.5]))
    check(lambda x, w: mt.cov(x, fweights=w), [random(3, 2, 4), mt.randint(1, 5, (3, 4))], (0, 0))
    with pytest.raises(RuntimeError, match="negative"):
        vmap(lambda w: mt.cov(mt.ones(2, 2), fweights=w))(mt.tensor([[1, 2], [1, -1]]))


def test_gradients():
    for function in (mt.sum, mt.prod, mt.amax, mt.median, lambda x: mt.logsumexp(x, 0), lambda x: mt.std(x, 1), mt.trace):
        check_all(function, [(2, 2)])
    for function in (
        lambda x: mt.cumprod(x, 0), mt.nn.functional.glu, lambda x: mt.log_softmax(x, -1), lambda x: mt.sort(x)[0]
    ):  # fmt: skip
        check_all(function, [(2, 4)])


@pytest.mark.parametrize("function", [mt.unique, mt.unique_consecutive, lambda x: mt.unique(x, dim=0)])
def test_dynamic_shapes_are_refused(function):
    with pytest.raises(RuntimeError, match="vmap: .*shape of its result depends on values"):
        vmap(function)(random(3, 4))


def test_bins_are_counted_in_a_loop():
    x = random(3, 8)
    with vmap_fallback_policy("allow"):
        assert (vmap(lambda x: mt.histc(x, 4))(x) == mt.stack([mt.histc(row, 4) for row in x])).all()
        counts = vmap(lambda x: mt.bincount(x, minlength=4))(mt.tensor([[0, 1, 1], [3, 3, 3]]))
        assert counts.tolist() == [[1, 2, 0, 0], [0, 0, 0, 3]]
    with pytest.warns(UserWarning, match="batching rule for aten::histc"):
        vmap(mt.histc)(x)
