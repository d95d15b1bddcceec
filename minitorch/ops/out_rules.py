"""What ``out=`` arguments an operator takes: which dtypes, and which memory.

Note [What out= may be]
    PyTorch's iterator casts into any ``out`` whose type can hold the result, so most operators
    take that.  Operators that write ``out`` from a loop of their own insist on the result's
    dtype (`EXACT_DTYPE`).  An operator that reads its inputs while it writes refuses an ``out``
    that shares memory with them: some altogether (`NO_OVERLAP`), pointwise ones and some others
    only where the two are shifted against each other, since element by element nothing is read
    after it was written (`NO_SHIFTED_OVERLAP`, `NO_PARTIAL_OVERLAP`).  Ours are computed first and copied afterwards, so that any
    overlap would be harmless; the rules are kept for programs that run in both places.
"""

from __future__ import annotations

from typing import Any

from minitorch.tensor.base import TensorBase
from minitorch.tensor.memory import storage_offset

# Base names of functional operators.
EXACT_DTYPE = frozenset((
    "abs", "addbmm", "addmm", "addmv", "all", "amax", "amin", "aminmax", "any", "argmax", "argmin", "avg_pool2d",
    "avg_pool3d", "baddbmm", "bmm", "bucketize", "ceil", "conj_physical", "cross", "cummax", "cummin", "diag",
    "diff", "dot", "fft_ifft", "fft_ihfft", "floor", "frac", "frexp", "gather", "gelu", "hardshrink", "heaviside",
    "histc", "histogram", "index_add", "index_copy", "index_reduce", "index_select", "inner", "isin", "isneginf",
    "isposinf", "kthvalue", "linalg_cholesky", "linalg_cholesky_ex", "linalg_cross", "linalg_det", "linalg_eigh",
    "linalg_eigvalsh", "linalg_inv", "linalg_inv_ex", "linalg_lu", "linalg_lu_factor", "linalg_lu_factor_ex",
    "linalg_lu_solve", "linalg_matrix_norm", "linalg_multi_dot", "linalg_norm", "linalg_qr", "linalg_slogdet",
    "linalg_solve", "linalg_solve_ex", "linalg_solve_triangular", "linalg_svd", "linalg_svdvals", "linalg_vecdot",
    "linalg_vector_norm", "linear", "log_sigmoid", "log_softmax", "logcumsumexp", "lu_solve", "lu_unpack",
    "masked_select", "matmul", "max", "min", "mm", "mode", "msort", "mv", "nan_to_num", "nanquantile",
    "native_batch_norm", "neg", "nonzero", "norm", "ormqr", "qr", "quantile", "renorm", "round", "scatter",
    "scatter_add", "scatter_reduce", "searchsorted", "sgn", "sign", "signbit", "slice_scatter", "softmax",
    "softplus", "softshrink", "sort", "svd", "take", "take_along_dim", "tensordot", "topk", "triangular_solve",
    "tril", "triu", "trunc", "vdot",
))  # fmt: skip
# They cast their input to the type of ``out`` first, whatever that loses.
ANY_DTYPE = frozenset(("bernoulli", "cumprod", "cumsum"))
# A result that cannot be cast is an error of another type with these.
JOINING = frozenset(("cat", "column_stack", "dstack", "hstack", "stack", "vstack"))

NO_OVERLAP = frozenset((
    "cat", "column_stack", "cross", "dstack", "gather", "hstack", "index_select", "kthvalue", "linalg_cross",
    "masked_select", "stack", "take", "take_along_dim", "vstack",
))  # fmt: skip
NO_PARTIAL_OVERLAP = frozenset(("aminmax", "kron", "max", "min", "mode", "outer", "topk"))
# As pointwise operators: only inputs of the shape of ``out`` count.
NO_SHIFTED_OVERLAP = frozenset((
    "addbmm", "addmm", "addmv", "addr", "baddbmm", "bernoulli", "cumprod", "cumsum", "logcumsumexp", "msort",
    "renorm", "scatter", "scatter_add", "scatter_reduce", "sort", "triangular_solve",
))  # fmt: skip


def _extent(tensor: Any) -> tuple[int, int]:
    """Return the first element of the storage that a tensor has, and one past its last."""
    handle = tensor.handle
    begin = storage_offset(tensor)
    span = sum([(n - 1) * (s // handle.itemsize) for n, s in zip(handle.shape, handle.strides, strict=True)])
    return begin, begin + span + 1


def _is_dense(handle: Any) -> bool:
    """Return whether an array's elements fill a piece of memory without holes or overlaps."""
    expected = handle.itemsize
    for step, n in sorted([(s, n) for n, s in zip(handle.shape, handle.strides, strict=True) if n != 1]):
        if step != expected:
            return False
        expected *= n
    return True


def overlap(input: Any, out: Any) -> str:
    """Return how two tensors share memory: ``"none"``, ``"full"``, ``"partial"`` or ``"unclear"``.

    Only dense tensors are looked at; others, which would need a search, are unclear.
    """
    if input is out:
        return "full"
    cell = out.storage_cell
    if cell is None or input.storage_cell is not cell:
        return "none"
    first, second = input.handle, out.handle
    if first.size == 0 or second.size == 0:
        return "none"
    if not (_is_dense(first) and _is_dense(second)):
        return "unclear"
    ours, theirs = _extent(input), _extent(out)
    if ours == theirs:
        return "full" if first.strides == second.strides else "partial"
    return "partial" if ours[0] < theirs[1] and theirs[0] < ours[1] else "none"


def _tensors(values: Any) -> list:
    found = []
    for value in values:
        if isinstance(value, TensorBase):
            found.append(value)
        elif type(value) is list or type(value) is tuple:
            found += _tensors(value)
    return found


class OutRules:
    """What one operator asks of its ``out`` arguments."""

    __slots__ = ("any_dtype", "cast_error", "exact", "refuses", "same_shape")

    def __init__(self, name: str, pointwise: bool):
        self.exact = name in EXACT_DTYPE
        self.any_dtype = name in ANY_DTYPE
        self.cast_error = TypeError if name in JOINING else RuntimeError
        self.refuses: tuple[str, ...] = ()
        if name in NO_OVERLAP:
            self.refuses = ("full", "partial")
        elif pointwise or name in NO_SHIFTED_OVERLAP or name in NO_PARTIAL_OVERLAP:
            self.refuses = ("partial",)
        self.same_shape = bool(self.refuses) and name not in NO_OVERLAP and name not in NO_PARTIAL_OVERLAP

    def check_memory(self, op: Any, outs: list, args: tuple, kwargs: dict) -> None:
        """Raise where an ``out`` may not share the memory that it shares with an input."""
        if not self.refuses:
            return
        inputs = _tensors(args) + _tensors(kwargs.values())
        for out in outs:
            for given in inputs:
                if self.same_shape and given.handle.shape != out.handle.shape:
                    continue
                if overlap(given, out) in self.refuses:
                    raise RuntimeError(
                        f"{op.basename}(): unsupported operation: some elements of the input tensor and the "
                        "written-to tensor refer to a single memory location. Please clone() the tensor before "
                        "performing the operation."
                    )
