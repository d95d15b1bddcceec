"""Sparse tensors in the dispatcher (spec Q4, R12, R19), and gradients of several layouts that meet."""

from __future__ import annotations

import itertools
import warnings

import pytest
from sparse_samples import COMPRESSED, KINDS, LAYOUTS, dense_of, in_layout, parts_of, sample

import minitorch
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.local_state import IncludeKeysGuard
from minitorch.dispatch.operator import OPERATORS
from minitorch.testing import assert_close

CPU = ("ADInplaceOrView", "AutogradCPU", "AutocastCPU")


def names_of(tensor):
    return tuple(key.name for key in DispatchKeySet.from_bits(tensor.key_set))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_keys_of_sparse_tensors(layout):
    """R12: what the constructors and conversions make has the keys of its kind."""
    backend = "SparseCPU" if layout == "sparse_coo" else "SparseCsrCPU"
    made = sample("plain", layout)
    again = in_layout(made, layout)
    for tensor in (made, again, made.clone(), made.detach(), minitorch.zeros_like(made), made.requires_grad_()):
        assert names_of(tensor) == (backend, *CPU)
    assert names_of(made.detach().to("meta")) == (backend.replace("CPU", "Meta"), "ADInplaceOrView", "AutogradMeta")
    with minitorch.inference_mode():
        assert names_of(sample("plain", layout)) == (backend, "AutocastCPU")


@pytest.mark.parametrize("layout", LAYOUTS[:3])
def test_sparse_factories_are_chosen_by_layout_and_device(layout):
    """R19: BackendSelect finds the sparse kernel, whatever keys are included around the call."""
    layout = getattr(minitorch, layout)
    with IncludeKeysGuard(DispatchKeySet("Meta")):
        x = minitorch.zeros(2, 3, layout=layout)
    assert (x.layout, x.device.type, x._nnz()) == (layout, "cpu", 0)
    for make in (minitorch.zeros, minitorch.empty):
        assert make(2, 3, layout=layout, device="meta").is_meta
    like = minitorch.zeros_like(minitorch.ones(2, 3), layout=layout, device="meta")
    assert (like.layout, like.is_meta) == (layout, True)
    kept = minitorch.empty_like(minitorch.ones(2, 3).to_sparse(layout=layout), device="meta")
    assert (kept.layout, kept.is_meta) == (layout, True)


def test_coordinates_have_no_storage_and_no_strides():
    """Q4."""
    x = sample("plain", "sparse_coo")
    for ask in (x.untyped_storage, x.data_ptr):
        with pytest.raises(NotImplementedError, match="storage"):
            ask()
    assert x.stride() == (0, 0)
    assert not x.is_contiguous()
    for layout in COMPRESSED:
        with pytest.raises(RuntimeError, match="do not have strides"):
            sample("plain", layout).stride()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_changes_in_place_are_counted(layout):
    """Q4: a tensor that was saved for backward and changed since is found out."""
    x = sample("plain", layout)
    before = x._version
    x.zero_()
    assert x._version == before + 1
    leaf = sample("plain", layout).requires_grad_()
    inner = leaf.clone()
    out = inner.to_dense()
    with minitorch.no_grad():
        inner.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_what_sparse_and_dense_tensors_make_together():
    """Q4."""
    dense, coo, csr = dense_of("plain"), sample("plain", "sparse_coo"), sample("plain", "sparse_csr")
    assert (dense + coo).layout is minitorch.strided
    with pytest.raises(RuntimeError):
        coo + dense
    assert (coo * dense).layout is minitorch.sparse_coo
    assert (coo @ dense).layout is minitorch.strided
    assert (csr + csr).layout is minitorch.sparse_csr
    assert csr.t().layout is minitorch.sparse_csc
    assert coo.t()._is_view()
    assert_close((dense + coo) / 2, dense)


class _Gradient(minitorch.autograd.Function):
    """A function whose gradient is what it is given, in any layout."""

    @staticmethod
    def forward(ctx, x, grad):
        ctx.grad = grad
        return x.to_dense().sum()

    @staticmethod
    def backward(ctx, grad):
        return ctx.grad, None


def _second():
    return minitorch.tensor(KINDS["plain"][0].T.copy()) * 2


def _given(layout, dense):
    return dense if layout == "strided" else in_layout(dense, layout)


_PAIRS = list(itertools.product(("strided", "sparse_coo", "sparse_csr"), repeat=2))


@pytest.mark.parametrize(("first", "second"), _PAIRS)
@pytest.mark.parametrize("leaf", ["strided", "sparse_coo", "sparse_csr"])
def test_gradients_of_all_layouts_add_up(leaf, first, second):
    expected = dense_of("plain") + _second()
    grads = _given(first, dense_of("plain")), _given(second, _second())
    before = [parts_of(grad) for grad in grads]
    layouts = set()
    for at in ("leaf, one pass", "leaf, two passes", "node"):
        x = _given(leaf, dense_of("plain")).detach().clone().requires_grad_()
        y = x.clone() if at == "node" else x
        if at == "leaf, two passes":
            for grad in grads:
                _Gradient.apply(y, grad).backward()
        else:
            (_Gradient.apply(y, grads[0]) + _Gradient.apply(y, grads[1])).backward()
        assert_close(x.grad.to_dense(), expected)
        layouts.add(x.grad.layout)
        with minitorch.no_grad():
            x.grad.mul_(2)
        assert [parts_of(grad) for grad in grads] == before  # which belong to others
    assert len(layouts) == 1
    if "strided" in (first, second):
        assert layouts == {minitorch.strided}
    elif first == second:
        assert layouts == {getattr(minitorch, first)}


@pytest.mark.oracle
@pytest.mark.parametrize(("first", "second"), list(itertools.product(("strided", "sparse_coo"), repeat=2)))
@pytest.mark.parametrize("leaf", ["strided", "sparse_coo"])
def test_sums_of_gradients_have_the_layouts_of_pytorch(leaf, first, second, torch):
    def outcome(library):
        class Give(library.autograd.Function):
            @staticmethod
            def forward(ctx, x, grad):
                ctx.grad = grad
                return x.sum() if x.layout == library.strided else x.to_dense().sum()

            @staticmethod
            def backward(ctx, grad):
                return ctx.grad, None

        dense = library.tensor(KINDS["plain"][0].tolist())
        make = lambda layout: dense.clone() if layout == "strided" else dense.to_sparse()  # noqa: E731
        x = make(leaf).requires_grad_()
        Give.apply(x, make(first)).backward()
        kept = x.grad
        Give.apply(x, make(second)).backward()
        return str(x.grad.layout), x.grad is kept, x.grad.to_dense().tolist()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(torch)
    assert outcome(minitorch) == expected


def test_operators_with_sparse_kernels_have_them_for_every_backend():
    minitorch.eye(2).to_sparse()
    for name in ("_to_dense", "clone", "sparse_mask"):
        op = OPERATORS[f"aten::{name}"]
        for backend in ("CPU", "CUDA", "XPU", "Meta", "PrivateUse1"):
            assert op.kernels.get(f"Sparse{backend}"), (name, backend)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_functionalization(layout):
    """Parts of a sparse tensor are new values there, and what would change its places is refused."""
    from minitorch.func import functionalize

    x = sample("plain", layout)
    expected = dense_of("plain")
    assert_close(functionalize(lambda t: t.to_dense().mul_(2))(x), 2 * expected)
    assert_close(functionalize(lambda t: in_layout(t, layout).values().mul_(2))(expected), 2 * x.values())
    assert_close(x.to_dense(), expected)
    if layout == "sparse_coo":
        with pytest.raises(RuntimeError, match="sparse_resize_"):
            functionalize(lambda t: t.sparse_resize_((5, 5), 2, 0))(x)


def test_traces():
    """Traces take sparse inputs; compiled graphs take those of coordinates, and refuse the others with what to do."""
    from minitorch._functorch.aot_autograd import aot_function
    from minitorch.fx.experimental.proxy_tensor import make_fx

    def function(t):
        return t.to_dense() ** 2

    for layout in LAYOUTS:
        x = sample("plain", layout)
        for mode in ("real", "fake"):
            assert_close(make_fx(function, tracing_mode=mode)(x)(x), function(x))
    compiled = aot_function(function, fw_compiler=lambda graph, inputs: graph)
    leaf = sample("plain", "sparse_coo").requires_grad_()
    compiled(leaf).sum().backward()
    assert leaf.grad.layout is minitorch.sparse_coo
    assert_close(leaf.grad.to_dense(), 2 * dense_of("plain"))
    with pytest.raises(NotImplementedError, match=r"to_sparse\(\)"):
        compiled(sample("plain", "sparse_csr"))
