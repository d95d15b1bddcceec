"""Constructors of sparse tensors: what they infer, what they check, and what flows back to the values."""

from __future__ import annotations

import warnings

import pytest
from sparse_samples import COMPRESSED, LAYOUTS, parts_of

import minitorch
from minitorch.testing import assert_close

NAMES = {
    "sparse_csr": ("crow_indices", "col_indices"), "sparse_bsr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"), "sparse_bsc": ("ccol_indices", "row_indices"),
}  # fmt: skip


def test_sizes_are_the_smallest_that_hold_the_indices():
    x = minitorch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0])
    assert x.shape == (2, 3)
    assert x.to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]
    assert minitorch.sparse_coo_tensor([[0, 3]], minitorch.ones(2, 5)).shape == (4, 5)
    assert minitorch.sparse_csc_tensor([0, 1, 2], [0, 4], [1.0, 2.0]).shape == (5, 2)
    assert minitorch.sparse_bsr_tensor([0, 1, 2], [0, 1], minitorch.ones(2, 2, 3)).shape == (4, 6)


def test_a_size_alone_makes_a_tensor_without_values():
    for x in (minitorch.sparse_coo_tensor((2, 3)), minitorch.sparse_coo_tensor(size=(2, 3), dtype=minitorch.int32)):
        assert x.shape == (2, 3)
        assert x._nnz() == 0
    assert x.dtype is minitorch.int32


def test_values_at_one_place_add_up():
    x = minitorch.sparse_coo_tensor([[0, 2, 0]], [1.0, 2.0, 4.0], (4,))
    assert not x.is_coalesced()
    assert x.to_dense().tolist() == [5, 0, 2, 0]
    assert x.coalesce().indices().tolist() == [[0, 2]]
    assert x.coalesce().values().tolist() == [5, 2]
    with pytest.raises(RuntimeError, match="uncoalesced"):
        x.indices()


@pytest.mark.parametrize("layout", COMPRESSED)
def test_the_constructor_of_a_layout_is_the_general_one(layout):
    values = minitorch.ones(2, 1, 2) if layout in ("sparse_bsr", "sparse_bsc") else minitorch.tensor([1.0, 2.0])
    own = getattr(minitorch, f"{layout}_tensor")
    keywords = dict(zip(NAMES[layout], ([0, 1, 2], [1, 0]), strict=True))
    made = own(**keywords, values=values, dtype=minitorch.float64)
    general = minitorch.sparse_compressed_tensor([0, 1, 2], [1, 0], values.double(), layout=getattr(minitorch, layout))
    assert parts_of(made) == parts_of(general)
    assert made.dtype is minitorch.float64
    with pytest.raises(RuntimeError, match="layout must be"):
        own([0, 1, 2], [1, 0], values, layout=minitorch.sparse_coo)


def test_operators_take_tensors():
    aten = minitorch.ops.aten
    indices, values = minitorch.tensor([[0, 1]]), minitorch.tensor([1.0, 2.0])
    assert parts_of(aten.sparse_coo_tensor.indices_size(indices, values, [3])) == parts_of(
        minitorch.sparse_coo_tensor(indices, values, (3,))
    )
    offsets, plain = minitorch.tensor([0, 1, 2]), minitorch.tensor([1, 0])
    for name in COMPRESSED[:2]:
        operator = getattr(aten, f"{name}_tensor")
        overload = operator.crow_col_value_size if name == "sparse_csr" else operator.ccol_row_value_size
        assert parts_of(overload(offsets, plain, values, [2, 2])) == parts_of(
            getattr(minitorch, f"{name}_tensor")(offsets, plain, values, (2, 2))
        )


_BAD = {
    "index too large": lambda: minitorch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (2,)),
    "negative index": lambda: minitorch.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (2,)),
    "negative index, no size": lambda: minitorch.sparse_coo_tensor([[0, -1]], [1.0, 2.0]),
    "too few values": lambda: minitorch.sparse_coo_tensor([[0, 1]], [1.0], (2,)),
    "flat indices": lambda: minitorch.sparse_coo_tensor([0, 1], [1.0, 2.0], (2,)),
    "rank of size": lambda: minitorch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2, 2)),
    "values of another size": lambda: minitorch.sparse_coo_tensor([[0]], minitorch.ones(1, 2), (2, 3)),
    "negative size": lambda: minitorch.sparse_coo_tensor([[0]], [1.0], (-2,)),
    "column too large": lambda: minitorch.sparse_csr_tensor([0, 1, 2], [0, 3], [1.0, 2.0], (2, 2)),
    "negative column": lambda: minitorch.sparse_csr_tensor([0, 1, 2], [0, -1], [1.0, 2.0], (2, 2)),
    "offsets go back": lambda: minitorch.sparse_csr_tensor([0, 2, 1, 2], [0, 1], [1.0, 2.0], (3, 2)),
    "offsets end early": lambda: minitorch.sparse_csr_tensor([0, 1, 1], [0, 1], [1.0, 2.0], (2, 2)),
    "offsets start late": lambda: minitorch.sparse_csr_tensor([1, 1, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "too few offsets": lambda: minitorch.sparse_csr_tensor([0, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "no offsets": lambda: minitorch.sparse_csr_tensor([], [], [], (0, 0)),
    "offsets that are no integers": lambda: minitorch.sparse_csr_tensor([0.0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)),
    "row too large": lambda: minitorch.sparse_csc_tensor([0, 1, 2], [0, 3], [1.0, 2.0], (2, 2)),
    "block does not fit": lambda: minitorch.sparse_bsr_tensor([0, 1], [0], minitorch.ones(1, 2, 2), (2, 3)),
    "block too far right": lambda: minitorch.sparse_bsr_tensor([0, 1], [1], minitorch.ones(1, 2, 2), (2, 2)),
    "no block": lambda: minitorch.sparse_bsr_tensor([0, 1], [0], minitorch.ones(1), (2, 2)),
    "no layout": lambda: minitorch.sparse_compressed_tensor([0, 1], [0], [1.0], (1, 1)),
    "strided layout": lambda: minitorch.sparse_compressed_tensor([0, 1], [0], [1.0], (1, 1), layout=minitorch.strided),
    "batches differ": lambda: minitorch.sparse_csr_tensor([[0, 1]], [0], [1.0], (1, 1)),
}


@pytest.mark.parametrize("case", _BAD)
def test_what_does_not_fit_is_refused_by_default(case):
    with pytest.raises(RuntimeError):
        _BAD[case]()


def test_order_is_checked_on_demand():
    def unsorted(**options):
        return minitorch.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2), **options)

    def lying(**options):
        return minitorch.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True, **options)

    assert unsorted().to_dense().tolist() == [[2, 1], [0, 0]]
    assert lying().is_coalesced()
    for make, text in ((unsorted, "sorted and distinct"), (lying, "uncoalesced")):
        with pytest.raises(RuntimeError, match=text):
            make(check_invariants=True)
        with minitorch.sparse.check_sparse_tensor_invariants(), pytest.raises(RuntimeError, match=text):
            make()
        with minitorch.sparse.check_sparse_tensor_invariants():
            make(check_invariants=False)
    assert not minitorch.sparse.check_sparse_tensor_invariants.is_enabled()


def test_checks_are_switched_for_a_scope_a_function_or_from_now_on():
    switch = minitorch.sparse.check_sparse_tensor_invariants
    with switch():
        assert switch.is_enabled()
        with switch(False):
            assert not switch.is_enabled()
        assert switch.is_enabled()
    assert switch()(switch.is_enabled)()
    switch.enable()
    assert switch.is_enabled()
    switch.disable()
    assert not switch.is_enabled()
    scope = switch()
    with scope, pytest.raises(RuntimeError, match="already activated"):
        scope.__enter__()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_gradient_of_values_is_that_at_their_places(layout):
    weights = minitorch.arange(12.0).reshape(3, 4).double()
    values = minitorch.tensor([1.0, 2.0, 3.0], dtype=minitorch.float64, requires_grad=True)
    if layout == "sparse_coo":
        x = minitorch.sparse_coo_tensor([[2, 0, 2], [3, 1, 3]], values, (3, 4))
        expected = [11.0, 1.0, 11.0]
    elif layout in ("sparse_csr", "sparse_csc"):
        outer = [0, 1, 1, 3] if layout == "sparse_csr" else [0, 1, 1, 3, 3]
        x = minitorch.sparse_compressed_tensor(outer, [1, 0, 2], values, (3, 4), layout=getattr(minitorch, layout))
        expected = [1.0, 8.0, 10.0] if layout == "sparse_csr" else [4.0, 2.0, 10.0]
    else:
        outer = [0, 1] if layout == "sparse_bsr" else [0, 0, 1]
        inner = [1] if layout == "sparse_bsr" else [0]
        blocks = values.reshape(1, 3, 1).expand(1, 3, 2)
        x = minitorch.sparse_compressed_tensor(outer, inner, blocks, (3, 4), layout=getattr(minitorch, layout))
        expected = [5.0, 13.0, 21.0]
    (x.to_dense() * weights).sum().backward()
    assert values.grad.tolist() == expected


def test_requires_grad_makes_a_leaf():
    x = minitorch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3,), requires_grad=True)
    assert x.is_leaf
    assert x.requires_grad
    assert not x._values().requires_grad
    (x.to_dense() * minitorch.arange(3.0)).sum().backward()
    assert x.grad.layout is minitorch.sparse_coo
    assert_close(x.grad.to_dense(), minitorch.tensor([0.0, 1.0, 0.0]))
    with pytest.raises(RuntimeError, match="floating point"):
        minitorch.sparse_coo_tensor([[0]], [1], (3,), requires_grad=True)


def test_indices_of_both_integer_types():
    offsets, plain = minitorch.tensor([0, 1, 2], dtype=minitorch.int32), minitorch.tensor([0, 1], dtype=minitorch.int32)
    x = minitorch.sparse_csr_tensor(offsets, plain, [1.0, 2.0], (2, 3))
    assert x.crow_indices().dtype is x.col_indices().dtype is minitorch.int32
    mixed = minitorch.sparse_csr_tensor(offsets, plain.long(), [1.0, 2.0], (2, 3))
    assert mixed.crow_indices().dtype is minitorch.int64
    assert minitorch.sparse_coo_tensor(plain.reshape(1, 2), [1.0, 2.0])._indices().dtype is minitorch.int64


def test_a_tensor_without_elements_needs_a_size():
    meta = minitorch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), device="meta")
    assert meta.device.type == "meta"
    assert meta._nnz() == 2
    for make in (
        lambda: minitorch.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], device="meta"),
        lambda: minitorch.sparse_coo_tensor([[0, 1]], [1.0, 2.0], device="meta"),
    ):
        with pytest.raises(NotImplementedError, match="size"):
            make()


_CALLS = {
    "coo": lambda t: t.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0]),
    "coo of ints": lambda t: t.sparse_coo_tensor([[0, 1]], [3, 4], (5,)),
    "coo of a dtype": lambda t: t.sparse_coo_tensor([[0, 1]], [3, 4], (5,), dtype=t.float16),
    "coo, float indices": lambda t: t.sparse_coo_tensor(t.tensor([[0.5]]), [1.0]),
    "coo, nothing": lambda t: t.sparse_coo_tensor(t.empty(1, 0), t.empty(0, 2), (3, 2)),
    "coo, no dimensions": lambda t: t.sparse_coo_tensor(t.empty((0, 1), dtype=t.int64), t.tensor([2.0])),
    "coo, coalesced": lambda t: t.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (2,), is_coalesced=True),
    "csr": lambda t: t.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0]),
    "csr in batches": lambda t: t.sparse_csr_tensor([[0, 1, 2]] * 2, [[0, 1]] * 2, [[1.0, 2.0], [3, 4]]),
    "csr, dense dimension": lambda t: t.sparse_csr_tensor([0, 1, 2], [0, 1], [[1.0, 2.0], [3, 4]]),
    "csr, no rows": lambda t: t.sparse_csr_tensor([0], t.empty(0, dtype=t.int64), [], (0, 0)),
    "bsc": lambda t: t.sparse_bsc_tensor([0, 1, 2], [0, 1], t.ones(2, 2, 3)),
    "zeros": lambda t: t.zeros(2, 3, layout=t.sparse_csr),
    "zeros coo": lambda t: t.zeros(2, 3, layout=t.sparse_coo, dtype=t.int64),
    "zeros_like": lambda t: t.zeros_like(t.ones(2, 3), layout=t.sparse_csc),
    "zeros_like bsr": lambda t: t.zeros_like(t.ones(2, 4).to_sparse_bsr((2, 2))),
    "ones_like": lambda t: t.ones_like(t.eye(3).to_sparse_csr()),
    "full_like": lambda t: t.full_like(t.eye(3).to_sparse_csc(), 3.0),
    "new_zeros": lambda t: t.eye(3).to_sparse_csr().new_zeros(2, 2),
    "too large": lambda t: t.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (2,), check_invariants=True),
    "not coalesced": lambda t: t.sparse_coo_tensor([[1, 0]], [1.0, 2.0], (2,), is_coalesced=True, check_invariants=True),
    "unsorted": lambda t: t.sparse_csr_tensor([0, 2], [1, 0], [1.0, 2.0], (1, 2), check_invariants=True),
    "twice": lambda t: t.sparse_csr_tensor([0, 2], [1, 1], [1.0, 2.0], (1, 2), check_invariants=True),
    "zeros without a block": lambda t: t.zeros(2, 2, layout=t.sparse_bsr),
    "csr of a vector": lambda t: t.zeros(2, layout=t.sparse_csr),
}


@pytest.mark.oracle
@pytest.mark.parametrize("case", _CALLS)
def test_constructors_make_what_pytorch_makes(case, torch):
    def outcome(library):
        try:
            return parts_of(_CALLS[case](library))
        except RuntimeError:
            return "RuntimeError"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(torch)
    assert outcome(minitorch) == expected


_UNCHECKED = {
    "coo": lambda: minitorch._sparse_coo_tensor_unsafe(minitorch.tensor([[0, 9**9]]), minitorch.ones(2), [3]),
    "coo, negative": lambda: minitorch._sparse_coo_tensor_unsafe(minitorch.tensor([[0, -(9**9)]]), minitorch.ones(2), [3]),
    "coo, coalesced": lambda: minitorch.sparse_coo_tensor(
        [[0, 9**9]], [1.0, 2.0], (3,), is_coalesced=True, check_invariants=False
    ),
    "column": lambda: minitorch.sparse_csr_tensor([0, 1, 2], [0, 9**9], [1.0, 2.0], (2, 2), check_invariants=False),
    "offsets": lambda: minitorch.sparse_csr_tensor([0, 9**9, 2], [0, 1], [1.0, 2.0], (2, 2), check_invariants=False),
    "offsets, negative": lambda: minitorch.sparse_csr_tensor([0, -5, 2], [0, 1], [1.0, 2.0], (2, 2), check_invariants=False),
    "offsets, too many": lambda: minitorch.sparse_csr_tensor([0, 1, 9], [0, 1], [1.0, 2.0], (2, 2), check_invariants=False),
}


@pytest.mark.parametrize("case", _UNCHECKED)
def test_what_was_not_checked_raises_where_it_is_used(case):
    x = _UNCHECKED[case]()
    for use in (lambda: x.to_dense(), lambda: minitorch.ones(tuple(x.shape)).sparse_mask(x)):
        with pytest.raises((RuntimeError, IndexError)):
            use()
