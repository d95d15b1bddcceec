"""Conjugate and negative views: what they are, how they are written to, and who reads their memory (spec B1 to B4)."""

from __future__ import annotations

import copy
import io
import pickle

import numpy as np
import pytest

import minitorch as mt
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.keys import parse_key
from minitorch.dispatch.namespace import ops
from minitorch.library import Library
from minitorch.modes import TorchDispatchMode

VALUES = np.array([1 + 2j, 3 - 1j], np.complex64)


@pytest.fixture
def library():
    """A library of the namespace `lazy_bits`; what it registered is gone after the test."""
    made = Library("lazy_bits", "DEF")
    yield made
    made._destroy()


@pytest.fixture
def c():
    return mt.tensor(VALUES)


def equal(tensor, values):
    np.testing.assert_allclose(tensor.numpy(force=True), values, rtol=1e-6)


def test_conj_is_a_view_with_the_bit(c):
    view = c.conj()
    assert view.is_conj()
    assert not view.is_neg()
    assert not c.is_conj()
    assert view._base is c
    assert view.data_ptr() == c.data_ptr()
    assert DispatchKeySet.from_bits(view.key_set) == DispatchKeySet.from_bits(c.key_set) | DispatchKeySet("Conjugate")
    equal(view, VALUES.conj())
    c.mul_(2)
    equal(view, 2 * VALUES.conj())


def test_conj_of_a_conjugate_view_has_no_bit(c):
    again = c.conj().conj()
    assert not again.is_conj()
    assert again._base is c
    equal(again, VALUES)


def test_conj_of_a_real_tensor_is_the_tensor():
    x = mt.ones(2)
    assert x.conj() is x
    assert x.resolve_conj() is x
    assert x.resolve_neg() is x
    with pytest.raises(RuntimeError, match="only complex"):
        mt._conj(x)
    with pytest.raises(RuntimeError, match="bool"):
        mt._neg_view(x > 0)


def test_parts_of_a_conjugate_view(c):
    real, imag = c.conj().real, c.conj().imag
    assert not real.is_neg()
    assert not real.is_conj()
    assert imag.is_neg()
    assert not imag.is_conj()
    equal(real, VALUES.real)
    equal(imag, -VALUES.imag)
    imag.fill_(5)
    equal(c, VALUES.real - 5j)
    view = c.conj()
    view.imag = 2
    view.real = mt.ones(2)
    equal(c, np.array([1 - 2j, 1 - 2j]))


def test_negative_views(c):
    imag = c.conj().imag
    for result in (imag * 2, -imag, imag.clone(), imag.resolve_neg(), imag + imag, imag.neg()):
        assert not result.is_neg()
    equal(-imag, VALUES.imag)
    equal(imag * imag, VALUES.imag**2)
    assert not mt._neg_view(imag).is_neg()
    assert imag[1:].is_neg()
    assert imag.detach().is_neg()
    both = c._neg_view().conj()
    assert both.is_neg()
    assert both.is_conj()
    equal(both, -VALUES.conj())
    equal(both + 1, 1 - VALUES.conj())
    assert both.resolve_conj().is_neg() == both.resolve_neg().is_conj()


def test_views_keep_the_bits():
    c = mt.tensor(np.arange(6).reshape(2, 3) * (1 + 1j))
    for view in (c.conj().t(), c.t().conj(), c.mH, c.H, c.adjoint()):
        assert view.is_conj()
        assert view.data_ptr() == c.data_ptr()
        assert view.shape == (3, 2)
    view = c.conj()
    view.t_()
    assert view.is_conj()
    assert view.shape == (3, 2)
    view.unsqueeze_(0).squeeze_()
    assert view.is_conj()
    equal(view, c.numpy().conj().T)


def test_writing_to_a_conjugate_view_stores_the_conjugate():
    y = mt.tensor([1 + 2j])
    view = y.conj()
    assert view.add_(1j) is view
    equal(y, [1 + 1j])
    assert view.is_conj()
    equal(view, [1 - 1j])
    view.fill_(3j)
    equal(y, [-3j])
    view[0] = 2 - 1j
    equal(y, [2 + 1j])


def test_out_arguments(c):
    y = mt.tensor([1 + 2j, 0])
    out = y.conj()
    assert mt.add(c, 1, out=out) is out
    equal(y, (VALUES + 1).conj())
    assert out.is_conj()
    small = mt.empty(0, dtype=mt.complex64).conj()
    mt.mul(c, c, out=small)
    assert small.is_conj()
    equal(small, VALUES * VALUES)


def test_copies_between_views(c):
    for to_view in (False, True):
        for from_view in (False, True):
            target = mt.zeros(2, dtype=mt.complex64)
            written = target.conj() if to_view else target
            assert written.copy_(c.conj() if from_view else c) is written
            equal(written, VALUES.conj() if from_view else VALUES)
            equal(target, VALUES.conj() if from_view != to_view else VALUES)
    equal(mt.zeros(2).copy_(c.conj().imag), -VALUES.imag)
    negative = mt._neg_view(mt.zeros(2))
    equal(negative.copy_(mt.ones(2)), [1, 1])
    equal(mt.zeros(2, dtype=mt.complex128).copy_(c.conj()), VALUES.conj())
    assert not c.conj().to(mt.complex128).is_conj()
    c.copy_(c.conj())
    equal(c, VALUES.conj())


def test_in_place_conjugation(c):
    view = c.conj()
    assert view.conj_physical_().is_conj()
    equal(view, VALUES)
    equal(c, VALUES.conj())
    imag = view.imag
    imag.neg_()
    assert imag.is_neg()
    equal(view, VALUES.conj())


def test_a_change_counts_once(c):
    view = c.conj()
    before = c._version
    view.add_(1)
    view.copy_(c)
    assert c._version == before + 2 == view._version


def test_lists(c):
    joined = mt.cat([c, c.conj()])
    assert not joined.is_conj()
    equal(joined, np.concatenate([VALUES, VALUES.conj()]))
    assert mt.stack([c.conj().imag, c.real]).is_neg() is False


def test_schemas_that_the_fallback_cannot_serve(library, c):
    library.define("two(Tensor(a!) x, Tensor(b!) y) -> ()")
    library.define("many(Tensor(a!)[] xs) -> ()")
    library.define("mixed(Tensor(a) x, Tensor(b!) y) -> Tensor(a)")
    library.impl("two", lambda x, y: None, "CPU")
    library.impl("many", lambda xs: None, "CPU")
    library.impl("mixed", lambda x, y: x, "CPU")
    lazy = ops.lazy_bits
    view = c.conj()
    lazy.two(view, c)  # one written view is no problem
    with pytest.raises(RuntimeError, match="several arguments"):
        lazy.two(view, c.conj())
    with pytest.raises(RuntimeError, match="a list"):
        lazy.many([c, view])
    with pytest.raises(RuntimeError, match="resolve_conj"):
        lazy.mixed(view, c)


def test_negative_stands_above_conjugate_below_autograd_and_above_functionalize():
    order = [parse_key(name).functionality for name in ("Functionalize", "Conjugate", "Negative", "ADInplaceOrView")]
    assert order == sorted(order)


# ---------------------------------------------------------------- who reads memory


def test_memory_is_not_handed_out(c):
    for view, name in ((c.conj(), "conj"), (c.conj().imag, "neg")):
        for read in (view.numpy, lambda view=view: np.asarray(view)):
            with pytest.raises(RuntimeError, match=f"resolve_{name}"):
                read()
        with pytest.raises(BufferError, match=f"resolve_{name}"):
            view.__dlpack__()
        assert view.numpy(force=True).shape == (2,)
    with pytest.raises(RuntimeError, match="resolve_conj"):
        mt.view_as_real(c.conj())
    with pytest.raises(RuntimeError, match="resolve_conj"):
        c.conj().view(mt.float32)
    with pytest.raises(RuntimeError, match="resolve_neg"):
        c.conj().imag.view(mt.int32)


def test_values_as_python_and_text(c):
    view = c.conj()
    assert view.tolist() == [1 - 2j, 3 + 1j]
    assert view[0].item() == 1 - 2j
    assert view.imag.tolist() == [-2.0, 1.0]
    assert float(view.imag[0]) == -2.0
    assert int(view.imag[0]) == -2
    assert repr(view) == repr(view.resolve_conj())
    assert repr(view.imag) == repr(view.imag.clone())
    assert mt.tensor([view[0], 1]).tolist() == [1 - 2j, 1]
    assert bool(mt.equal(view, view.clone()))
    assert view.is_set_to(c.conj())
    assert not view.is_set_to(c)


def test_data_and_detach_read_alike(c):
    view = c.conj()
    for same in (view.data, view.detach(), mt.nn.Parameter(view)):
        assert same.is_conj()
        assert same.data_ptr() == c.data_ptr()
        equal(same, VALUES.conj())
    other = mt.zeros(2, dtype=mt.complex64)
    other.data = view
    equal(other, VALUES.conj())


def _saved(x):
    file = io.BytesIO()
    mt.save(x, file)
    file.seek(0)
    return mt.load(file)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), _saved])
def test_copies_and_files(c, again):
    a, view, imag, both = again([c, c.conj(), c.conj().imag, c._neg_view().conj()])
    equal(view, VALUES.conj())
    equal(imag, -VALUES.imag)
    equal(both, -VALUES.conj())
    assert view.is_conj()
    assert imag.is_neg()
    assert both.is_conj()
    assert both.is_neg()
    a.zero_()
    equal(view, [0, 0])


def test_meta_tensors():
    view = mt.empty(2, 3, dtype=mt.complex64, device="meta").conj()
    assert view.is_conj()
    assert view.imag.is_neg()
    assert not (view + 1).is_conj()
    assert (view @ view.t()).shape == (2, 2)
    assert not mt.ones(2, dtype=mt.complex64).conj().to("meta").is_conj()


def test_inference_mode(c):
    with mt.inference_mode():
        x = c.clone()
        view = x.conj()
        assert view.is_conj()
        equal(view + 1, VALUES.conj() + 1)
        view.add_(1j)
        equal(x, VALUES - 1j)
        assert view.imag.is_neg()
        assert not view.resolve_conj().is_conj()
        assert view.view(2, 1).is_conj()
        assert view.reshape(2, 1).is_conj()


# ---------------------------------------------------------------- autograd


def test_gradients_through_views():
    x = mt.tensor(VALUES, requires_grad=True)
    weight = mt.tensor([2 + 1j, 1j])
    (x.conj() * weight).backward(mt.ones(2, dtype=mt.complex64))
    assert not x.grad.is_conj()
    equal(x.grad, weight.numpy())
    x.grad = None
    x.conj().imag.sum().backward()
    equal(x.grad, [-1j, -1j])


def test_gradients_of_changes_through_a_conjugate_view():
    def program(x, lazily):
        y = x * 1
        if lazily:
            y.conj()[0].mul_(2 + 1j)
            y.conj().imag[1:].mul_(3)
            return y
        first = (y[:1].resolve_conj().conj_physical() * (2 + 1j)).conj_physical()
        second = mt.complex(y[1:].real, 3 * y[1:].imag)
        return mt.cat([first, second])

    gradients = []
    for lazily in (False, True):
        x = mt.tensor(VALUES, requires_grad=True)
        result = program(x, lazily)
        (result * result * mt.tensor([1j, 2])).backward(mt.tensor([1 + 1j, 2]))
        gradients.append((result.detach(), x.grad))
    for one, other in zip(*gradients, strict=True):
        equal(one, other.numpy())


def test_gradcheck_through_lazy_views():
    x = mt.tensor(VALUES.astype(np.complex128), requires_grad=True)

    def program(x):
        y = x.conj()
        z = (x * 2).conj()
        z.mul_(y)
        return z.imag * y.real + mt._neg_view(y.imag)

    assert mt.autograd.gradcheck(program, (x,), check_forward_ad=True)
    assert mt.autograd.gradgradcheck(program, (x,))


# ---------------------------------------------------------------- other levels


def test_under_transforms(c):
    x = mt.stack([c, 2 * c])
    equal(mt.func.vmap(lambda row: row.conj() * 2)(x), 2 * x.numpy().conj())
    equal(mt.func.vmap(lambda row: row.conj())(x.conj()), x.numpy())
    equal(mt.func.vmap(lambda row: row.conj().imag + c.conj().real)(x), -x.numpy().imag + VALUES.real)
    equal(mt.func.grad(lambda z: (z.conj() * c.conj()).real.sum())(c), VALUES.conj())
    seen = []

    def looks(row):
        seen.append((row.is_conj(), row.conj().is_conj()))
        return row + 1

    equal(mt.func.vmap(looks)(x.conj()), x.numpy().conj() + 1)
    assert seen == [(True, False)]
    primal, tangent = mt.func.jvp(lambda z: z.conj().imag, (c,), (c.conj(),))
    equal(primal, -VALUES.imag)
    equal(tangent, VALUES.imag)


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
def test_under_functionalization(c, remove):
    def program(x):
        y = x.clone()
        y.conj().add_(1j)
        y.conj().imag.mul_(2)
        return y

    expected = program(c).numpy()
    equal(mt.func.functionalize(program, remove=remove)(c), expected)
    equal(mt.func.functionalize(program, remove=remove)(c.conj()), program(c.conj()).numpy())


def test_handlers_of_modes_see_the_right_values(c):
    class Log(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            names.append(str(func))
            return func(*args, **(kwargs or {}))

    names: list[str] = []
    with Log():
        result = c.conj() + 1
        c.conj().mul_(2)
    equal(result, VALUES.conj() + 1)
    equal(c, VALUES * 2)
    assert "aten._conj.default" in names
    assert "aten.add.Tensor" in names


def test_inside_a_handler(c):
    view = c.conj()

    class Adds(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return view + 0

    with Adds():
        result = mt.ones(2).sin()
    equal(result, VALUES.conj())
