"""What tensors of each kind carry (spec R11, R12)."""

from __future__ import annotations

import contextlib
import warnings

import pytest

import minitorch
from minitorch.dispatch.key_set import DispatchKeySet
from minitorch.dispatch.keys import BACKENDS, DispatchKey, functionality_bit, parse_key
from minitorch.dispatch.tensor_keys import (
    functional_wrapper_keys,
    inference_keys,
    python_keys,
    tensor_keys,
)
from minitorch.nn import Parameter
from minitorch.tensor.base import new_tensor

DENSE = ("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU")


def names_of(bits: int) -> tuple[str, ...]:
    return tuple(key.name for key in DispatchKeySet.from_bits(bits))


def also(*names: str) -> int:
    """Return the key set of a dense CPU tensor with further keys."""
    return tensor_keys("Dense", "CPU") | DispatchKeySet(*names).bits


# The rows of R12: what makes the key set, and the names in it, lowest first.
_ROWS = {
    "dense": (lambda: tensor_keys("Dense", "CPU"), DENSE),
    "inference": (lambda: inference_keys(tensor_keys("Dense", "CPU")), ("CPU", "AutocastCPU")),
    "sparse": (lambda: tensor_keys("Sparse", "CPU"), ("SparseCPU", *DENSE[1:])),
    "compressed": (lambda: tensor_keys("SparseCsr", "CPU"), ("SparseCsrCPU", *DENSE[1:])),
    "quantized": (lambda: tensor_keys("Quantized", "CPU"), ("QuantizedCPU", *DENSE[1:])),
    "meta": (lambda: tensor_keys("Dense", "Meta"), ("Meta", "ADInplaceOrView", "AutogradMeta")),
    "sparse meta": (lambda: tensor_keys("Sparse", "Meta"), ("SparseMeta", "ADInplaceOrView", "AutogradMeta")),
    "opaque": (lambda: tensor_keys("MkldnnCPU"), ("MkldnnCPU", "ADInplaceOrView", "AutogradOther")),
    "nested": (
        lambda: tensor_keys("NestedTensor", "CPU"),
        ("NestedTensorCPU", "ADInplaceOrView", "AutogradCPU", "AutogradNestedTensor", "AutocastCPU"),
    ),
    "conj view": (lambda: also("Conjugate"), ("CPU", "Conjugate", *DENSE[1:])),
    "neg view": (lambda: also("Negative"), ("CPU", "Negative", *DENSE[1:])),
    "conj then neg view": (lambda: also("Conjugate", "Negative"), ("CPU", "Conjugate", "Negative", *DENSE[1:])),
    "zero": (lambda: also("ZeroTensor"), ("CPU", "ZeroTensor", *DENSE[1:])),
    "python": (
        lambda: python_keys(tensor_keys("Dense", "CPU")),
        ("CPU", "Python", *DENSE[1:], "PythonTLSSnapshot"),
    ),
    "vmapped": (lambda: also("FuncTorchBatched"), (*DENSE, "FuncTorchBatched")),
    "grad wrapper": (lambda: also("FuncTorchGradWrapper"), (*DENSE, "FuncTorchGradWrapper")),
    "functional wrapper": (
        lambda: functional_wrapper_keys(python_keys(also("FuncTorchBatched", "FuncTorchGradWrapper"))),
        ("CPU", "Functionalize", *DENSE[1:]),
    ),
    "fake cuda": (
        lambda: python_keys(tensor_keys("Dense", "CUDA")),
        ("CUDA", "Python", "ADInplaceOrView", "AutogradCUDA", "AutocastCUDA", "PythonTLSSnapshot"),
    ),
}


@pytest.mark.parametrize("kind", _ROWS)
def test_kinds_of_tensors(kind):
    make, expected = _ROWS[kind]
    assert names_of(make()) == expected


@pytest.mark.parametrize("kind", _ROWS)
def test_a_call_passes_the_levels_of_a_tensor_from_the_highest_down(kind, recorder):
    """A tensor of each kind: its keys are the levels of a call, but for autocast, which is off by default."""
    make, expected = _ROWS[kind]
    record = recorder("f(Tensor x) -> ()")
    tensor = new_tensor(minitorch.ones(2).handle, 0)
    tensor.key_set = make()
    *above, backend = [name for name in reversed(expected) if not name.startswith("Autocast")]
    record.kernel(backend)
    for name in above:
        record.level(name, contextlib.nullcontext, DispatchKeySet.full_after(name))
    assert record.call(tensor) == [*above, backend]


def test_every_backend_has_its_keys():
    for backend in BACKENDS:
        for functionality, prefix in (("Dense", ""), ("Sparse", "Sparse"), ("Quantized", "Quantized")):
            keys = DispatchKeySet.from_bits(tensor_keys(functionality, backend))
            assert keys.backends() == (backend,)
            assert keys.has(prefix + backend)
            assert keys.has(f"Autograd{backend}")
            assert keys.has("ADInplaceOrView")
            autocast = f"Autocast{backend}"
            assert (autocast in DispatchKey.by_name) == any(n.startswith("Autocast") for n in names_of(keys.bits))


@pytest.mark.parametrize("layout", ["FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU"])
def test_layouts_without_a_backend_have_the_other_autograd(layout):
    keys = tensor_keys(layout)
    assert names_of(keys) == (layout, "ADInplaceOrView", "AutogradOther")
    assert not DispatchKeySet.from_bits(keys).backends()


@pytest.mark.parametrize(
    "arguments", [("Dense",), ("MkldnnCPU", "CPU"), ("AutogradFunctionality", "CPU"), ("Dense", "Nope"), ("Nope",)]
)
def test_what_no_tensor_is(arguments):
    with pytest.raises(ValueError, match="tensor_keys"):
        tensor_keys(*arguments)


def test_real_tensors_have_the_keys_of_their_kind():
    x = minitorch.ones(2)
    for tensor in (x, Parameter(x), x.detach(), minitorch.ones(2, requires_grad=True), x[0], x.view(2, 1)):
        assert names_of(tensor.key_set) == DENSE
    with minitorch.inference_mode():
        assert names_of(minitorch.ones(2).key_set) == ("CPU", "AutocastCPU")
        assert names_of(minitorch.ones(2, device="meta").key_set) == ("Meta",)
    assert names_of(minitorch.ones(2, device="meta").key_set) == _ROWS["meta"][1]


def test_keys_of_subclasses():
    class Functions(minitorch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return super().__torch_function__(func, types, args, kwargs)

    class Dispatches(minitorch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Disabled(minitorch.Tensor):
        __torch_function__ = minitorch.Tensor.__torch_function__

    data = minitorch.ones(2)
    for cls, expected in (
        (Functions, DENSE),
        (Disabled, DENSE),
        (Dispatches, _ROWS["python"][1]),
    ):
        for tensor in (cls([1.0]), data.as_subclass(cls), minitorch.Tensor._make_subclass(cls, data), cls()):
            assert type(tensor) is cls
            assert names_of(tensor.key_set) == expected
    # Their keys are those of the class, not of the memory.
    x = data.as_subclass(Dispatches)
    x.data = minitorch.zeros(2)
    assert names_of(x.key_set) == _ROWS["python"][1]


def test_plain_tensors_never_carry_the_python_keys():
    assert names_of(new_tensor(minitorch.ones(2).handle, python_keys(tensor_keys("Dense", "CPU"))).key_set) == DENSE


def _with_keys(tensor, *names):
    tensor.key_set |= DispatchKeySet(*names).bits
    return tensor


def test_views_inherit_lazy_bits_and_results_do_not():
    """R13: views have the keys of what they are views of, results those of their backend."""
    x = minitorch.ones(2, dtype=minitorch.complex64)._neg_view().conj()
    lazy = functionality_bit("Conjugate") | functionality_bit("Negative")
    for view in (x, x.view(2, 1), x[0], x.detach(), x.data):
        assert view.key_set & lazy == lazy
    for result in (x.clone(), x * 2, minitorch.empty_like(x), x.resolve_conj(), x.resolve_neg(), x.conj().resolve_neg()):
        assert names_of(result.key_set) == DENSE
    assert names_of(x.conj()._neg_view().key_set) == DENSE


@pytest.mark.oracle
def test_kinds_agree_with_the_reference(torch):
    seen = {}
    keys_of = torch._C._dispatch_keys

    class Python(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    x, c = torch.ones(2), torch.ones(2, dtype=torch.complex64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seen["dense"] = keys_of(x)
        with torch.inference_mode():
            seen["inference"] = keys_of(torch.ones(2))
        seen["sparse"] = keys_of(x.to_sparse())
        seen["compressed"] = keys_of(torch.eye(2).to_sparse_csr())
        seen["quantized"] = keys_of(torch.quantize_per_tensor(x, 1.0, 0, torch.quint8))
        seen["meta"] = keys_of(x.to("meta"))
        seen["sparse meta"] = keys_of(torch.empty(2, 2, device="meta", layout=torch.sparse_coo))
        seen["opaque"] = keys_of(x.to_mkldnn())
        seen["nested"] = keys_of(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))
        seen["conj view"] = keys_of(c.conj())
        seen["neg view"] = keys_of(torch._neg_view(c))
        seen["conj then neg view"] = keys_of(torch._neg_view(c.conj()))
        seen["zero"] = keys_of(torch._efficientzerotensor((2,)))
        seen["python"] = keys_of(torch.Tensor._make_subclass(Python, x))
        seen["functional wrapper"] = keys_of(torch._to_functional_tensor(x))
        torch.vmap(lambda t: (seen.update(vmapped=keys_of(t)), t)[1])(torch.ones(2, 2))
        torch.func.grad(lambda t: (seen.update({"grad wrapper": keys_of(t)}), t.sum())[1])(x)
        with torch._subclasses.FakeTensorMode():
            seen["fake cuda"] = keys_of(torch.ones(2, device="cuda"))
    assert set(seen) == set(_ROWS)
    for kind, theirs in seen.items():
        assert str(DispatchKeySet.from_bits(_ROWS[kind][0]())) == str(theirs), kind


def test_requires_grad_changes_no_keys():
    x = minitorch.ones(2)
    before = x.key_set
    x.requires_grad_()
    assert x.key_set == before
    assert parse_key("AutogradCPU").bits & before
