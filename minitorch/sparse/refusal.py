"""What happens to an operator that a sparse layout has no kernel for: an error, or a dense computation by policy.

Note [Nothing densifies silently]
    A dense tensor of the same shape may be a million times larger, so an operator without a kernel is refused, and the error
    names what works.  ``minitorch.backends.densify_policy("allow")`` (or ``"warn"``) computes with dense
    arguments, and writes it into the ledger of fallbacks.  The result is dense.
"""

from __future__ import annotations

from typing import Any

from minitorch.dispatch.keys import AUTOGRAD_KEYS, BACKEND_MASK, BACKENDS, functionality_bit
from minitorch.dispatch.local_state import ExcludeKeysGuard
from minitorch.dispatch.operator import Kernel
from minitorch.ops import functions as F
from minitorch.sparse.handles import is_sparse

_COO, _COMPRESSED = functionality_bit("Sparse"), functionality_bit("SparseCsr")
NO_KERNEL = "it has no kernel for this layout"


class Unsupported(NotImplementedError):
    """Raised by a sparse kernel for operands that it cannot do; the text says what it is about them."""


class Refusal(Kernel):
    """Runs at a sparse key for every operator that has no kernel there."""

    __slots__ = ()

    def __init__(self) -> None:
        Kernel.__init__(self, None)

    def run(self, op: Any, entry: Any, args: tuple, kwargs: dict | None) -> Any:
        return densified(op, entry, args, kwargs, NO_KERNEL)


def _map(fn: Any, value: Any) -> Any:
    if type(value) in (list, tuple):
        return [_map(fn, item) for item in value]
    return fn(value)


def densified(op: Any, entry: Any, args: tuple, kwargs: dict | None, reason: str) -> Any:
    """Compute an operator with its sparse arguments made dense, if the policy lets it.

    Raises
    ------
    NotImplementedError
        Under the policy ``"error"``; and for operators that write into a sparse argument or return a view of it.
    """
    from minitorch.backends.policy import densify_policy, note_fallback  # it is beside this package, not below it

    found: list = []
    _map(lambda value: found.append(value) if is_sparse(value) else None, [*args, *(kwargs or {}).values()])
    asked = found[0].layout if found else (kwargs or {}).get("layout")
    layout = "sparse_coo" if asked is None else str(asked).removeprefix("torch.")
    writes = any(a.alias_info is not None for a in op.schema.arguments)
    if densify_policy.current() == "error" or writes:
        raise NotImplementedError(_refusal(op, entry, layout, reason, writes))
    nbytes = sum(tensor.numel() * tensor.element_size() for tensor in found)
    dense = lambda value: F.to_dense(value) if is_sparse(value) else value  # noqa: E731
    with ExcludeKeysGuard(AUTOGRAD_KEYS):
        result = op(*_map(dense, args), **{k: _map(dense, v) for k, v in (kwargs or {}).items()})
    note_fallback(
        op.qualname, layout, reason, nbytes, _advice(op, layout), policy=densify_policy, what="made its arguments dense"
    )
    return result


def _layouts_with_kernels(op: Any, backend: str) -> list[str]:
    names = []
    if f"Sparse{backend}" in op.kernels:
        names.append("sparse_coo")
    if f"SparseCsr{backend}" in op.kernels:
        names.append("the compressed layouts")
    return names


def _advice(op: Any, layout: str) -> str:
    return "Convert with to_dense() first, or use another layout (to_sparse(), to_sparse_csr(), ...) that has it."


def _refusal(op: Any, entry: Any, layout: str, reason: str, writes: bool) -> str:
    backend = BACKENDS[(entry.key_set & BACKEND_MASK).bit_length() - 1]
    bits = entry.key_set
    key = ("SparseCsr" if bits & _COMPRESSED and not bits & _COO else "Sparse") + backend
    there = [name for name in _layouts_with_kernels(op, backend)]
    convert = {"sparse_coo": "to_sparse()", "the compressed layouts": "to_sparse_csr()"}
    other = [f"{name} ({convert[name]})" for name in there if (name == "sparse_coo") != (layout == "sparse_coo")]
    lines = [
        f"Could not run '{op.qualname}' with arguments from the '{key}' backend: {reason} (layout {layout})."
        if reason == NO_KERNEL else f"{op.qualname}: {reason} (layout {layout})."
    ]
    if other:
        lines.append(f"It works on {' and '.join(other)}.")
    lines.append("to_dense() makes a dense tensor, on which it works.")
    if not writes:
        lines.append("with minitorch.backends.densify_policy('allow') that is done where it is needed.")
    return " ".join(lines)
