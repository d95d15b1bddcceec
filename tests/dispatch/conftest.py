"""What the dispatcher's tests share: tensors that are only a key set, and scratch libraries."""

from __future__ import annotations

import pytest

from minitorch.dispatch import dispatcher, namespace  # noqa: F401 - makes operators OpOverloads
from minitorch.dispatch.key_set import after_autograd
from minitorch.dispatch.keys import key_set_text, parse_key
from minitorch.dispatch.library import Library
from minitorch.dispatch.local_state import current
from minitorch.dispatch.operator import (
    BACKEND_FALLBACKS,
    OPERATORS,
    FallbackKernel,
    KeyedObject,
)
from minitorch.tensor.components import load_kernels


class BareTensor(KeyedObject):
    """A tensor as the dispatcher sees one: a key set, and a number where a test needs one."""

    def __init__(self, *key_names: str, value=None):
        self.key_set = 0
        for name in key_names:
            self.key_set |= parse_key(name).bits
        self._value = value
        self.ndim = 0 if value is not None else 1

    def numel(self) -> int:
        return 1 if self.ndim == 0 else 2

    def item(self):
        return self._value

    def __eq__(self, other):
        raise AssertionError("the dispatcher compared a tensor")

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"<BareTensor {key_set_text(self.key_set)}>"


# What tensors of each kind carry (spec R12), without the bits a test does not speak of.
_KINDS = {
    "cpu": ("CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"),
    "cuda": ("CUDA", "ADInplaceOrView", "AutogradCUDA", "AutocastCUDA"),
    "meta": ("Meta", "ADInplaceOrView", "AutogradMeta"),
    "sparse": ("SparseCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"),
    "sparse_csr": ("SparseCsrCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"),
    "sparse_meta": ("SparseMeta", "ADInplaceOrView", "AutogradMeta"),
    "quantized": ("QuantizedCPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"),
    "mkldnn": ("MkldnnCPU", "ADInplaceOrView", "AutogradOther"),
    "inference": ("CPU", "AutocastCPU"),
}


@pytest.fixture
def bare():
    """Make a bare tensor: of a kind, ``bare("sparse")``, or with keys, ``bare("CPU", "Meta")``."""

    def make(*names: str, value=None) -> BareTensor:
        if len(names) == 1 and names[0] in _KINDS:
            names = _KINDS[names[0]]
        return BareTensor(*names, value=value)

    return make


@pytest.fixture
def library():
    """Make libraries that are destroyed when the test ends, the last one first."""
    made = []

    def make(ns="testing", kind="FRAGMENT", dispatch_key="") -> Library:
        lib = Library(ns, kind, dispatch_key)
        made.append(lib)
        return lib

    yield make
    for lib in reversed(made):
        lib._destroy()


def _pass_autograd_on(key_set, op, *args, **kwargs):
    return op.redispatch(key_set & after_autograd, *args, **kwargs)


@pytest.fixture(autouse=True, scope="session")
def _sparse_kernels():
    """Register the kernels of sparse tensors now, so that no test is the first to use them."""
    load_kernels("Sparse")


@pytest.fixture(autouse=True)
def without_transforms(_sparse_kernels):
    """Take the fallbacks of transforms, functionalization and sparse layouts away: other tests may have loaded them."""
    removed = []
    for name in (
        "FuncTorchBatched", "FuncTorchGradWrapper", "FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode",
        "Functionalize", "SparseCPU", "SparseCsrCPU", "SparseMeta", "SparsePrivateUse1",
    ):  # fmt: skip
        kernel = BACKEND_FALLBACKS.get(parse_key(name).slot)
        if kernel is not None:
            dispatcher.unregister_fallback(kernel)
            removed.append((name, kernel))
    yield
    for name, kernel in removed:
        dispatcher.register_fallback(name, kernel)


@pytest.fixture
def autograd_fallbacks():
    """Stand in for the fallbacks of the autograd keys where autograd is not loaded.

    The ones that take part in these tests; each passes the call on.
    """
    added = []
    for name in ("AutogradOther", "AutogradCPU", "AutogradCUDA", "AutogradMeta"):
        if parse_key(name).slot not in BACKEND_FALLBACKS:
            kernel = FallbackKernel(_pass_autograd_on, with_keyset=True)
            dispatcher.register_fallback(name, kernel)
            added.append(kernel)
    yield
    for kernel in added:
        dispatcher.unregister_fallback(kernel)


class Recorder:
    """Registers kernels that note their key, and passes calls on from level to level."""

    def __init__(self, lib: Library, schema: str):
        self.lib = lib
        self.seen: list[str] = []
        self.key_sets: list = []
        self.name = lib.define(schema)
        self.op = OPERATORS[f"{lib.ns}::{self.name}"]

    def kernel(self, key: str, result=None) -> None:
        """Register a kernel that ends the call."""

        def run(key_set, *args, **kwargs):
            self.seen.append(key)
            self.key_sets.append(key_set)
            return result

        self.lib.impl(self.name, run, key, with_keyset=True)

    def level(self, key: str, guard, after) -> None:
        """Register a kernel that redispatches ``key_set & after`` inside ``guard()``."""

        def run(key_set, *args, **kwargs):
            self.seen.append(key)
            self.key_sets.append(key_set)
            with guard():
                return self.op.redispatch(key_set & after, *args, **kwargs)

        self.lib.impl(self.name, run, key, with_keyset=True)

    def call(self, *args, **kwargs) -> list[str]:
        """Call the operator and return the keys whose kernels ran."""
        self.seen.clear()
        self.key_sets.clear()
        self.op(*args, **kwargs)
        return list(self.seen)


@pytest.fixture
def recorder(library, autograd_fallbacks):
    """Define an operator and record which of its kernels run."""
    return lambda schema, lib=None: Recorder(lib or library(), schema)


@pytest.fixture(autouse=True)
def _no_override_warning(monkeypatch):
    """Let tests override kernels as if the one warning of the process had been given."""
    monkeypatch.setattr(dispatcher, "_override_warned", True)


@pytest.fixture(autouse=True)
def _nothing_leaks():
    """Fail a test that leaves ambient keys, or operators of its own, behind."""
    state = current()
    before = (state.included, state.excluded, state.trace)
    names = set(OPERATORS)
    fallbacks = set(BACKEND_FALLBACKS)
    yield
    assert (state.included, state.excluded, state.trace) == before
    assert set(OPERATORS) - names == set()
    assert set(BACKEND_FALLBACKS) == fallbacks
