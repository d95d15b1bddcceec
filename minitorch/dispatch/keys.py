"""Dispatch keys, and the integers that stand for sets of them.

A key set is an integer: bits 0 to 15 are backends (bit 0 CPU, the lowest; bit 15 Meta, the highest), bit ``15 + i`` is
functionality ``i``.  Integers, because the call path computes with them on every
operator; `key_set.DispatchKeySet` is the same value with methods.

A *runtime key* owns a slot of an operator's table.  It is a functionality, joined with a
backend where the functionality is per-backend.  An *alias key* is only a registration target.
"""

from __future__ import annotations

FUNCTIONALITIES = (
    "Undefined",
    "Dense",
    "FPGA",
    "Vulkan",
    "Metal",
    "Quantized",
    "CustomRNGKeyId",
    "MkldnnCPU",
    "Sparse",
    "SparseCsr",
    "NestedTensor",
    "BackendSelect",
    "Fake",
    "Python",
    "FuncTorchDynamicLayerBackMode",
    "Functionalize",
    "Conjugate",
    "Negative",
    "ZeroTensor",
    "ADInplaceOrView",
    "AutogradOther",
    "AutogradFunctionality",
    "AutogradNestedTensor",
    "Tracer",
    "AutocastCPU",
    "AutocastMTIA",
    "AutocastMAIA",
    "AutocastXPU",
    "AutocastIPU",
    "AutocastHPU",
    "AutocastXLA",
    "AutocastMPS",
    "AutocastCUDA",
    "AutocastPrivateUse1",
    "FuncTorchBatched",
    "BatchedNestedTensor",
    "FuncTorchVmapMode",
    "Batched",
    "VmapMode",
    "FuncTorchGradWrapper",
    "DeferredInit",
    "PythonTLSSnapshot",
    "FuncTorchDynamicLayerFrontMode",
    "TESTING_ONLY_GenericWrapper",
    "TESTING_ONLY_GenericMode",
    "PreDispatch",
    "PythonDispatcher",
)

BACKENDS = (
    "CPU",
    "CUDA",
    "HIP",
    "XLA",
    "MPS",
    "IPU",
    "XPU",
    "HPU",
    "VE",
    "Lazy",
    "MTIA",
    "MAIA",
    "PrivateUse1",
    "PrivateUse2",
    "PrivateUse3",
    "Meta",
)

# Prefix of the runtime key's name, by per-backend functionality.
PER_BACKEND = {
    "Dense": "",
    "Quantized": "Quantized",
    "Sparse": "Sparse",
    "SparseCsr": "SparseCsr",
    "NestedTensor": "NestedTensor",
    "AutogradFunctionality": "Autograd",
}

ALIASES = (
    "Autograd",
    "CompositeImplicitAutograd",
    "FuncTorchBatchedDecomposition",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
)

NUM_BACKENDS = len(BACKENDS)
BACKEND_MASK = (1 << NUM_BACKENDS) - 1
FUNCTIONALITY_MASK = ((1 << (len(FUNCTIONALITIES) - 1)) - 1) << NUM_BACKENDS
FULL_BITS = BACKEND_MASK | FUNCTIONALITY_MASK


def functionality_bit(name: str) -> int:
    """Return the key-set bit of a functionality, without any backend bit."""
    index = FUNCTIONALITIES.index(name)
    return 1 << (NUM_BACKENDS - 1 + index) if index else 0


class DispatchKey:
    """One key: a runtime key, a per-backend building block, an alias, or `Undefined`.

    Attributes
    ----------
    name : str
    functionality : int
        Index in the order of functionalities; -1 for an alias key.
    backend : int
        Index of the backend; -1 where there is none.
    bits : int
        Its bits in a key set; 0 for `Undefined` and alias keys.
    slot : int
        Where a runtime key's entry stands in an operator's table; -1 for what has none.
    """

    __slots__ = ("backend", "bits", "functionality", "is_alias", "is_building_block", "name", "slot")

    # Filled in below, one attribute a key: DispatchKey.CPU, DispatchKey.AutogradCUDA, ...
    by_name: dict[str, DispatchKey] = {}

    def __init__(self, name: str, functionality: int, backend: int, is_alias: bool = False):
        self.name = name
        self.functionality = functionality
        self.backend = backend
        self.is_alias = is_alias
        per_backend = not is_alias and FUNCTIONALITIES[functionality] in PER_BACKEND
        self.is_building_block = per_backend and backend < 0
        self.bits = 0
        if not is_alias and functionality:
            self.bits = 1 << (NUM_BACKENDS - 1 + functionality)
            if backend >= 0:
                self.bits |= 1 << backend
        self.slot = -1
        if not is_alias and not self.is_building_block:
            self.slot = slot_of(functionality, max(backend, 0))

    def __repr__(self) -> str:
        return f"DispatchKey.{self.name}"

    def __reduce__(self):
        return (parse_key, (self.name,))

    def __lt__(self, other: DispatchKey) -> bool:
        return (self.functionality, self.backend) < (other.functionality, other.backend)


def slot_of(functionality: int, backend: int) -> int:
    """Return the table slot of a runtime key."""
    return functionality * NUM_BACKENDS + backend


def _build_keys() -> tuple[dict[int, DispatchKey], list[DispatchKey]]:
    by_slot: dict[int, DispatchKey] = {}
    runtime: list[DispatchKey] = []

    def add(key: DispatchKey) -> None:
        DispatchKey.by_name[key.name] = key
        setattr(DispatchKey, key.name, key)
        if key.slot >= 0:
            by_slot[key.slot] = key
            runtime.append(key)

    for index, functionality in enumerate(FUNCTIONALITIES):
        if functionality in PER_BACKEND:
            add(DispatchKey(functionality, index, -1))
            for b, backend in enumerate(BACKENDS):
                add(DispatchKey(PER_BACKEND[functionality] + backend, index, b))
        else:
            add(DispatchKey(functionality, index, -1))
    for alias in ALIASES:
        add(DispatchKey(alias, -1, -1, is_alias=True))
    return by_slot, runtime


KEY_OF_SLOT, RUNTIME_KEYS = _build_keys()


def parse_key(name: str) -> DispatchKey:
    """Return the key called `name`.

    Raises
    ------
    RuntimeError
        If there is none.
    """
    key = DispatchKey.by_name.get(name)
    if key is None:
        raise RuntimeError(f"could not parse dispatch key: {name!r} is the name of none")
    return key


# Note [Bits used on the call path]
# Named once here, so that no hot function looks a key up by name.
DENSE = functionality_bit("Dense")
SPARSE = functionality_bit("Sparse")
SPARSE_CSR = functionality_bit("SparseCsr")
QUANTIZED = functionality_bit("Quantized")
NESTED = functionality_bit("NestedTensor")
BACKEND_SELECT = functionality_bit("BackendSelect")
PYTHON = functionality_bit("Python")
PYTHON_TLS_SNAPSHOT = functionality_bit("PythonTLSSnapshot")
PYTHON_DISPATCHER = functionality_bit("PythonDispatcher")
PRE_DISPATCH = functionality_bit("PreDispatch")
FUNCTIONALIZE = functionality_bit("Functionalize")
CONJUGATE = functionality_bit("Conjugate")
NEGATIVE = functionality_bit("Negative")
ZERO_TENSOR = functionality_bit("ZeroTensor")
AD_INPLACE_OR_VIEW = functionality_bit("ADInplaceOrView")
AUTOGRAD = functionality_bit("AutogradFunctionality")
AUTOGRAD_OTHER = functionality_bit("AutogradOther")
AUTOGRAD_NESTED = functionality_bit("AutogradNestedTensor")
AUTOGRAD_KEYS = AUTOGRAD | AUTOGRAD_OTHER | AUTOGRAD_NESTED
FUNCTORCH_FRONT = functionality_bit("FuncTorchDynamicLayerFrontMode")
FUNCTORCH_BACK = functionality_bit("FuncTorchDynamicLayerBackMode")
FUNCTORCH_LAYERS = FUNCTORCH_FRONT | FUNCTORCH_BACK
FUNCTORCH_BATCHED = functionality_bit("FuncTorchBatched")
FUNCTORCH_GRAD_WRAPPER = functionality_bit("FuncTorchGradWrapper")
FUNCTORCH_VMAP_MODE = functionality_bit("FuncTorchVmapMode")
# What transforms put on the tensors they wrap.
FUNCTORCH_KEYS = FUNCTORCH_BATCHED | FUNCTORCH_GRAD_WRAPPER
PYTHON_KEYS = PYTHON | PYTHON_TLS_SNAPSHOT
AUTOCAST_KEYS = 0
for _name in FUNCTIONALITIES:
    if _name.startswith("Autocast"):
        AUTOCAST_KEYS |= functionality_bit(_name)


def full_after_bits(key: DispatchKey) -> int:
    """Return every functionality strictly below `key`'s, all backend bits, and PythonDispatcher.

    Raises
    ------
    ValueError
        For `Undefined` and alias keys, below which nothing is defined.
    """
    if key.is_alias or key.functionality == 0:
        raise ValueError(f"full_after: {key.name} has no place in the order of keys; pass a runtime key")
    below = (1 << (NUM_BACKENDS - 1 + key.functionality)) - 1
    return below | PYTHON_DISPATCHER


AFTER_AUTOGRAD = full_after_bits(DispatchKey.AutogradOther)  # type: ignore[attr-defined]
AFTER_FUNCTORCH_FRONT = full_after_bits(DispatchKey.FuncTorchDynamicLayerFrontMode)  # type: ignore[attr-defined]
AFTER_FUNCTORCH_BACK = full_after_bits(DispatchKey.FuncTorchDynamicLayerBackMode)  # type: ignore[attr-defined]
AFTER_AD_INPLACE_OR_VIEW = full_after_bits(DispatchKey.ADInplaceOrView)  # type: ignore[attr-defined]

DEFAULT_INCLUDED = BACKEND_SELECT | AD_INPLACE_OR_VIEW
DEFAULT_EXCLUDED = AUTOCAST_KEYS

_DENSE_INDEX = FUNCTIONALITIES.index("Dense")
_AUTOGRAD_INDEX = FUNCTIONALITIES.index("AutogradFunctionality")

# Functionalities that registrations cover through an alias (spec K7), by index.
_XLA_LIKE = frozenset((BACKENDS.index("XLA"), BACKENDS.index("Lazy")))
_AUTOGRAD_NAMES = frozenset(("AutogradFunctionality", "AutogradOther", "AutogradNestedTensor"))
_COMPUTE_NAMES = frozenset(
    ("Dense", "Quantized", "SparseCsr", "Sparse", "FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU")
)
_AUTOGRADOTHER_BACKENDS = frozenset(
    ("FPGA", "Vulkan", "Metal", "CustomRNGKeyId", "MkldnnCPU", "Sparse", "SparseCsr", "Quantized")
)


def _is_nonfunctional_target(key: DispatchKey) -> bool:
    name = FUNCTIONALITIES[key.functionality]
    if name == "Sparse":
        return False
    return name in _COMPUTE_NAMES and key.backend not in _XLA_LIKE


def _slots(predicate) -> frozenset[int]:
    return frozenset(k.slot for k in RUNTIME_KEYS if k.functionality > 0 and predicate(k))


# Alias -> slots it covers (Undefined not counted: it is treated apart, spec T4).
ALIAS_SLOTS: dict[str, frozenset[int]] = {
    "Autograd": _slots(lambda k: FUNCTIONALITIES[k.functionality] in _AUTOGRAD_NAMES),
    "CompositeImplicitAutograd": _slots(
        lambda k: FUNCTIONALITIES[k.functionality] in _COMPUTE_NAMES | _AUTOGRAD_NAMES
        or FUNCTIONALITIES[k.functionality] == "NestedTensor"
    ),
    "CompositeExplicitAutograd": _slots(lambda k: FUNCTIONALITIES[k.functionality] in _COMPUTE_NAMES),
    "CompositeExplicitAutogradNonFunctional": _slots(_is_nonfunctional_target),
    "CompositeImplicitAutogradNestedTensor": _slots(
        lambda k: FUNCTIONALITIES[k.functionality] in ("NestedTensor", "AutogradNestedTensor")
    ),
    "FuncTorchBatchedDecomposition": _slots(lambda k: k.name == "FuncTorchBatched"),
}
AUTOGRADOTHER_BACKEND_SLOTS = _slots(lambda k: FUNCTIONALITIES[k.functionality] in _AUTOGRADOTHER_BACKENDS)
NESTED_BACKEND_SLOTS = _slots(lambda k: FUNCTIONALITIES[k.functionality] == "NestedTensor")


def backend_slots_of_autograd(slot: int) -> frozenset[int]:
    """Return the slots whose direct kernels stand for "the backend has its own" at autograd `slot`."""
    functionality, backend = divmod(slot, NUM_BACKENDS)
    if functionality == _AUTOGRAD_INDEX:
        return frozenset((slot_of(_DENSE_INDEX, backend),))
    name = FUNCTIONALITIES[functionality]
    if name == "AutogradOther":
        return AUTOGRADOTHER_BACKEND_SLOTS
    if name == "AutogradNestedTensor":
        return NESTED_BACKEND_SLOTS
    return frozenset()


def key_names(bits: int) -> list[str]:
    """Return the names of the runtime keys in a key set, lowest first (spec K14)."""
    names = []
    for index in range(1, len(FUNCTIONALITIES)):
        if not bits >> (NUM_BACKENDS - 1 + index) & 1:
            continue
        functionality = FUNCTIONALITIES[index]
        if functionality in PER_BACKEND:
            prefix = PER_BACKEND[functionality]
            names += [prefix + b for i, b in enumerate(BACKENDS) if bits >> i & 1]
        else:
            names.append(functionality)
    return names


def key_set_text(bits: int) -> str:
    """Return ``DispatchKeySet(A, B)``, the printed form of a key set."""
    return f"DispatchKeySet({', '.join(key_names(bits))})"


def highest_slot(bits: int) -> int:
    """Return the table slot of the highest-priority key of a key set; 0 is Undefined."""
    functionality = (bits >> (NUM_BACKENDS - 1)).bit_length() - 1
    if functionality < 1:
        return 0
    if FUNCTIONALITIES[functionality] in PER_BACKEND:
        backend = (bits & BACKEND_MASK).bit_length() - 1
        return slot_of(functionality, backend) if backend >= 0 else 0
    return slot_of(functionality, 0)
