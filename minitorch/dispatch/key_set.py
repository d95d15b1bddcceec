"""`DispatchKeySet`: a set of dispatch keys with methods; inside it is one integer (`keys`).

Note [What a key set can say]
    A set has functionalities and backends, and nothing about which belongs to which: the
    set of CPU and AutogradCUDA is also that of CUDA and AutogradCPU.  Difference removes
    functionalities only.  So ``ks - {AutogradCPU}`` takes away the autograd of every
    backend, and the backends of `ks` all stay; `remove_backend` is the only way to be rid
    of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from minitorch.dispatch import keys, operator
from minitorch.dispatch.keys import (
    BACKEND_MASK,
    BACKENDS,
    FUNCTIONALITIES,
    FUNCTIONALITY_MASK,
    KEY_OF_SLOT,
    NUM_BACKENDS,
    DispatchKey,
    functionality_bit,
    highest_slot,
    key_names,
    key_set_text,
    parse_key,
)


def _as_key(key: DispatchKey | str) -> DispatchKey:
    return parse_key(key) if isinstance(key, str) else key


class DispatchKeySet:
    """An immutable set of functionalities and backends (Note [What a key set can say]).

    Parameters
    ----------
    *keys : DispatchKey or str
        A runtime key adds its functionality and its backend, a building block (``Dense``)
        its functionality; ``Undefined`` and alias keys add nothing.

    Examples
    --------
    >>> DispatchKeySet("CPU", "AutogradCUDA")
    DispatchKeySet(CPU, CUDA, AutogradCPU, AutogradCUDA)
    """

    __slots__ = ("bits",)

    bits: int

    def __new__(cls, *keys: DispatchKey | str) -> DispatchKeySet:
        bits = 0
        for key in keys:
            bits |= _as_key(key).bits
        return cls.from_bits(bits)

    @classmethod
    def from_bits(cls, bits: int) -> DispatchKeySet:
        """Return the set that the integer `bits` stands for (see `keys`)."""
        made = object.__new__(cls)
        object.__setattr__(made, "bits", bits)
        return made

    @classmethod
    def full(cls) -> DispatchKeySet:
        """Return the set of all functionalities and all backends."""
        return cls.from_bits(keys.FULL_BITS)

    @classmethod
    def full_after(cls, key: DispatchKey | str) -> DispatchKeySet:
        """Return what may still run after the level of `key`.

        Those are all functionalities strictly below that of `key`, with all backends, and
        PythonDispatcher, so that masking with this set never switches that off.

        Raises
        ------
        ValueError
            For ``Undefined`` and alias keys.
        """
        return cls.from_bits(keys.full_after_bits(_as_key(key)))

    def has(self, key: DispatchKey | str) -> bool:
        """Return whether the set has the functionality of `key`, and its backend if it names one.

        Raises
        ------
        ValueError
            For ``Undefined`` and alias keys, which no set has.
        """
        key = _as_key(key)
        if not key.bits:
            raise ValueError(f"no key set has {key.name}: it is not the key of any tensor or call")
        return self.bits & key.bits == key.bits

    def __contains__(self, key: DispatchKey | str) -> bool:
        return self.has(key)

    def has_any(self, other: DispatchKeySet) -> bool:
        """Return whether a functionality or a backend is in both sets."""
        return self.bits & other.bits != 0

    def has_all(self, other: DispatchKeySet) -> bool:
        """Return whether all functionalities and backends of `other` are in this set."""
        return self.bits & other.bits == other.bits

    def has_backend(self, backend: str) -> bool:
        """Return whether the set has the backend called `backend` (``"CUDA"``)."""
        return bool(self.bits & _backend_bit(backend))

    def add(self, key: DispatchKey | str) -> DispatchKeySet:
        """Return this set with `key` in it."""
        return self.from_bits(self.bits | _as_key(key).bits)

    def remove(self, key: DispatchKey | str) -> DispatchKeySet:
        """Return this set without the functionality of `key`; all backends stay."""
        return self.from_bits(self.bits & ~(_as_key(key).bits & FUNCTIONALITY_MASK))

    def remove_backend(self, backend: str) -> DispatchKeySet:
        """Return this set without the backend called `backend` (``"CUDA"``)."""
        return self.from_bits(self.bits & ~_backend_bit(backend))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        if not isinstance(other, DispatchKeySet):
            return NotImplemented
        return self.from_bits(self.bits | other.bits)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        if not isinstance(other, DispatchKeySet):
            return NotImplemented
        return self.from_bits(self.bits & other.bits)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        if not isinstance(other, DispatchKeySet):
            return NotImplemented
        return self.from_bits(self.bits & ~(other.bits & FUNCTIONALITY_MASK))

    def highest_priority(self) -> DispatchKey:
        """Return the key whose kernel a call with this set runs.

        It is the highest functionality, joined with the highest backend of the whole set
        if it is per-backend; ``Undefined`` if the set has no functionality.
        """
        if not self.bits & FUNCTIONALITY_MASK:
            return parse_key("Undefined")
        if not self.bits & BACKEND_MASK:
            index = (self.bits >> (NUM_BACKENDS - 1)).bit_length() - 1
            return parse_key(FUNCTIONALITIES[index])
        return KEY_OF_SLOT[highest_slot(self.bits)]

    def backends(self) -> tuple[str, ...]:
        """Return the names of the set's backends, lowest first."""
        return tuple(name for i, name in enumerate(BACKENDS) if self.bits >> i & 1)

    def functionalities(self) -> tuple[str, ...]:
        """Return the names of the set's functionalities, lowest first."""
        return tuple(name for name in FUNCTIONALITIES if self.bits & functionality_bit(name))

    def __iter__(self) -> Iterator[DispatchKey]:
        """Yield runtime keys, lowest first: a per-backend functionality once per backend."""
        for name in key_names(self.bits):
            yield DispatchKey.by_name[name]

    def __len__(self) -> int:
        return len(key_names(self.bits))

    def __bool__(self) -> bool:
        return self.bits != 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"a DispatchKeySet does not change: {name!r} cannot be set")

    def __reduce__(self):
        return DispatchKeySet.from_bits, (self.bits,)

    def __repr__(self) -> str:
        return key_set_text(self.bits)


def _backend_bit(name: str) -> int:
    if name not in BACKENDS:
        raise ValueError(f"there is no backend {name!r}; they are {', '.join(BACKENDS)}")
    return 1 << BACKENDS.index(name)


autograd_keys = DispatchKeySet.from_bits(keys.AUTOGRAD_KEYS)
"""The three autograd functionalities, without any backend."""
after_autograd = DispatchKeySet.from_bits(keys.AFTER_AUTOGRAD)
"""What an autograd kernel passes on: everything below the lowest autograd key."""
after_ADInplaceOrView = DispatchKeySet.from_bits(keys.AFTER_AD_INPLACE_OR_VIEW)
"""What an ADInplaceOrView kernel passes on."""
autogradother_backends = DispatchKeySet.from_bits(
    BACKEND_MASK
    | sum(
        functionality_bit(name)
        for name in (
            "FPGA",
            "Vulkan",
            "Metal",
            "CustomRNGKeyId",
            "MkldnnCPU",
            "Sparse",
            "SparseCsr",
            "Quantized",
        )
    )
)
"""The backends whose tensors carry, or may carry, AutogradOther."""

# Kernels registered with `with_keyset=True` see key sets as these objects.
operator.key_set_object = DispatchKeySet.from_bits
