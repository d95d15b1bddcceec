"""vmap over products with sparse matrices, mapped and not."""

from __future__ import annotations

import pytest
from sparse_layouts import dense_of, full, matrix

import minitorch as mt
from minitorch.func import grad, vmap, vmap_fallback_policy
from minitorch.testing import assert_close

A = matrix(4, 6)
BATCH = mt.stack([A, A * 2, -A])
RIGHT, LEFT, VECTORS = full(3, 6, 2), full(3, 5, 4), full(3, 6)
LAYOUTS = ("coo", "csr", "csc")


def convert(dense, layout):
    return dense.to_sparse() if layout == "coo" else getattr(dense, f"to_sparse_{layout}")()


# name -> (function of a matrix and one example, the examples, what it is for dense ones)
OVER_DENSE = {
    "mm": (lambda s, b: s @ b, RIGHT, lambda: A @ RIGHT),
    "sparse.mm": (mt.sparse.mm, RIGHT, lambda: A @ RIGHT),
    "rmm": (lambda s, b: b @ s, LEFT, lambda: LEFT @ A),
    "sparse.rmm": (lambda s, b: mt.sparse.mm(b, s), LEFT, lambda: LEFT @ A),
    "mv": (mt.mv, VECTORS, lambda: VECTORS @ A.t()),
    "linear": (lambda s, v: mt.nn.functional.linear(v, s), VECTORS, lambda: VECTORS @ A.t()),
    "addmm": (lambda s, b: mt.addmm(full(4, 2), s, b, beta=2), RIGHT, lambda: 2 * full(4, 2) + A @ RIGHT),
    "sparse.addmm": (lambda s, b: mt.sparse.addmm(full(4, 2), s, b, beta=2), RIGHT, lambda: 2 * full(4, 2) + A @ RIGHT),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OVER_DENSE)
def test_over_the_dense_factor(name, layout):
    function, examples, wanted = OVER_DENSE[name]
    sparse = convert(A, layout)
    for dim in range(examples.ndim):
        found = vmap(lambda x: function(sparse, x), in_dims=dim)(examples.movedim(0, dim))
        assert_close(found, wanted())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OVER_DENSE)
def test_over_both(name, layout):
    function, examples, _ = OVER_DENSE[name]
    wanted = mt.stack([_plain(name)(s, x) for s, x in zip(BATCH, examples, strict=True)])
    assert_close(vmap(function)(convert(BATCH, layout), examples), wanted)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", OVER_DENSE)
def test_over_the_sparse_factor(name, layout):
    function, examples, _ = OVER_DENSE[name]
    wanted = mt.stack([_plain(name)(s, examples[0]) for s in BATCH])
    assert_close(vmap(lambda s: function(s, examples[0]))(convert(BATCH, layout)), wanted)


def _plain(name):
    return OVER_DENSE[name.removeprefix("sparse.")][0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_inside_and_outside(layout):
    sparse = convert(A, layout)
    loss = lambda b: mt.sparse.mm(sparse, b).pow(2).sum()  # noqa: E731
    assert_close(vmap(grad(loss))(RIGHT), 2 * A.t() @ (A @ RIGHT))
    leaf = sparse.detach().requires_grad_()
    vmap(lambda b: mt.sparse.mm(leaf, b))(RIGHT).sum().backward()
    dense = A.clone().requires_grad_()
    (dense @ RIGHT).sum().backward()
    assert leaf.grad.layout is leaf.layout
    assert_close(leaf.grad.to_dense(), mt.where(A != 0, dense.grad, 0))


def test_softmax_and_what_is_looped_over():
    sparse = A.to_sparse_csr()
    left, right = full(3, 4, 2), full(2, 6)
    with vmap_fallback_policy("allow"):
        found = vmap(lambda x: mt.sparse.sampled_addmm(sparse, x, right))(left)
    wanted = mt.stack([mt.sparse.sampled_addmm(sparse, x, right).to_dense() for x in left])
    assert_close(dense_of(found), wanted)
    for layout in LAYOUTS:
        softmax = vmap(lambda s: mt.sparse.softmax(s, 1))(convert(BATCH, layout))
        assert_close(dense_of(softmax), mt.stack([mt.sparse.softmax(s.to_sparse(), 1).to_dense() for s in BATCH]))
