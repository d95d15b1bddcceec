"""The handles of sparse tensors: coordinates, and compressed rows or columns, of elements or of blocks.

Note [Sparse handles]
    What is in a handle is never checked: constructors with checks are in `construction`.  Several tensors may have one
    handle (``detach()``); an operator that works in place puts other components into it (`assign`), so that all of
    them see the change.
"""

from __future__ import annotations

from typing import Any

from minitorch.core.dtype import bool_, get_default_complex_dtype, get_default_dtype, int64
from minitorch.core.layout import sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr
from minitorch.tensor.components import ComponentHandle, tensor_of
from minitorch.tensor.printing import array_text
from minitorch.tensor.wrapper import has_values, host_array

BY_ROWS = (sparse_csr, sparse_bsr)
BLOCKED = (sparse_bsr, sparse_bsc)
COMPRESSED = (sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)


class CooHandle(ComponentHandle):
    """The handle of a tensor of layout ``sparse_coo``.

    Attributes
    ----------
    shape : tuple of int
        First the `sparse_dim` dimensions that indices count, then the dense ones of each value.
    indices : Tensor
        int64, of shape (sparse_dim, nnz).
    values : Tensor
        Of shape (nnz, *dense dimensions).
    coalesced : bool
        Whether indices are known to be in lexicographic order, each once.
    """

    __slots__ = ("coalesced", "indices", "shape", "values")

    functionality = "Sparse"
    declared_layout = sparse_coo

    def __init__(self, shape: tuple, indices: Any, values: Any, coalesced: bool):
        self.shape = tuple(shape)
        self.indices = indices
        self.values = values
        self.coalesced = coalesced

    def __reduce__(self) -> tuple:
        return CooHandle, (self.shape, self.indices, self.values, self.coalesced)

    @property
    def dtype(self) -> Any:
        return self.values.handle.dtype

    @property
    def sparse_dim(self) -> int:
        return self.indices.shape[0]

    @property
    def dense_dim(self) -> int:
        return self.values.ndim - 1

    @property
    def nnz(self) -> int:
        """The number of values, those included that are zero or stand at an index again."""
        return self.values.shape[0]

    @property
    def strides(self) -> tuple:
        """Zeros: PyTorch's answer for what has none."""
        return (0,) * len(self.shape)

    def components(self) -> tuple:
        return self.indices, self.values

    def with_components(self, components: tuple) -> CooHandle:
        indices, values = components
        return CooHandle(self.shape, indices, values, self.coalesced)

    def printed(self, indent: int) -> tuple[str, list[str], bool]:
        parts = {"indices": self.indices, "values": self.values}
        return component_text(parts, indent), _facts(self), True

    def assign(self, other: CooHandle) -> None:
        """Take over what `other` consists of."""
        self.shape, self.indices, self.values = other.shape, other.indices, other.values
        self.coalesced = other.coalesced


class CompressedHandle(ComponentHandle):
    """The handle of a tensor of layout ``sparse_csr``, ``sparse_csc``, ``sparse_bsr`` or ``sparse_bsc``.

    Attributes
    ----------
    declared_layout : layout
    shape : tuple of int
        Batch dimensions, rows, columns, dense dimensions.
    compressed : Tensor
        int32 or int64, of shape (*batch, n + 1): where the entries of each row (or column, of elements or of blocks)
        begin, and at last how many there are.
    plain : Tensor
        Of the same type, of shape (*batch, nnz): the column (row) of each entry.
    values : Tensor
        Of shape (*batch, nnz, *block, *dense dimensions); `block` is there in the blocked layouts.
    """

    __slots__ = ("compressed", "declared_layout", "plain", "shape", "values")

    functionality = "SparseCsr"

    def __init__(self, layout: Any, shape: tuple, compressed: Any, plain: Any, values: Any):
        self.declared_layout = layout
        self.shape = tuple(shape)
        self.compressed = compressed
        self.plain = plain
        self.values = values

    def __reduce__(self) -> tuple:
        return CompressedHandle, (self.declared_layout, self.shape, *self.components())

    @property
    def strides(self) -> tuple:
        name = self.declared_layout.name.removeprefix("sparse_").upper()
        raise RuntimeError(f"Sparse {name} tensors do not have strides: the elements of their values have, see values().stride()")

    @property
    def dtype(self) -> Any:
        return self.values.handle.dtype

    @property
    def batch_dim(self) -> int:
        return self.compressed.ndim - 1

    @property
    def dense_dim(self) -> int:
        return self.values.ndim - self.plain.ndim - len(self.block_mark)

    @property
    def nnz(self) -> int:
        """The number of entries (of blocks, in the blocked layouts) of one batch."""
        return self.plain.shape[-1]

    @property
    def by_rows(self) -> bool:
        return self.declared_layout in BY_ROWS

    @property
    def block_mark(self) -> tuple:
        """One item for each dimension of a block: two in the blocked layouts, else none."""
        return (1, 1) if self.declared_layout in BLOCKED else ()

    @property
    def blocksize(self) -> tuple:
        """Rows and columns of a block; (1, 1) in the layouts of elements."""
        if self.declared_layout not in BLOCKED:
            return (1, 1)
        first = self.plain.ndim
        return tuple(self.values.shape[first : first + 2])

    def components(self) -> tuple:
        return self.compressed, self.plain, self.values

    def with_components(self, components: tuple) -> CompressedHandle:
        return CompressedHandle(self.declared_layout, self.shape, *components)

    def printed(self, indent: int) -> tuple[str, list[str], bool]:
        outer, inner = ("crow_indices", "col_indices") if self.by_rows else ("ccol_indices", "row_indices")
        parts = {outer: self.compressed, inner: self.plain, "values": self.values}
        return component_text(parts, indent), _facts(self), False

    def assign(self, other: CompressedHandle) -> None:
        """Take over what `other` consists of."""
        self.declared_layout, self.shape = other.declared_layout, other.shape
        self.compressed, self.plain, self.values = other.compressed, other.plain, other.values


def component_text(parts: dict[str, Any], indent: int) -> str:
    """Return components by name as they are printed, each from a line of its own."""
    texts = []
    for name, part in parts.items():
        prefix = f"{name}=tensor("
        known = has_values(part)
        if not known or not part.numel():
            contents = f"{'[]' if known else '...'}, size={tuple(part.shape)}"
        else:
            contents = array_text(host_array(part), indent + len(prefix))
        texts.append(f"{prefix}{contents})")
    return (",\n" + " " * indent).join(texts)


def _facts(handle: Any) -> list[str]:
    dtype = handle.values.dtype
    facts = [f"size={tuple(handle.shape)}"]
    if has_values(handle.values):
        facts.append(f"nnz={handle.nnz}")
    if dtype not in (get_default_dtype(), get_default_complex_dtype(), int64, bool_):
        facts.append(f"dtype={dtype}")
    return facts


def coo(shape: Any, indices: Any, values: Any, coalesced: bool = False) -> Any:
    """Return a tensor of layout ``sparse_coo``, unchecked; see `CooHandle`.  Of fewer than two values it is coalesced."""
    return tensor_of(CooHandle(shape, indices, values, coalesced or values.shape[0] < 2))


def compressed(layout: Any, shape: Any, compressed_indices: Any, plain_indices: Any, values: Any) -> Any:
    """Return a tensor of a compressed layout, unchecked; see `CompressedHandle`."""
    return tensor_of(CompressedHandle(layout, shape, compressed_indices, plain_indices, values))


def same_pattern(tensor: Any, values: Any) -> Any:
    """Return the sparse tensor with the indices of `tensor` and other values (of any dense dimensions and dtype)."""
    handle = tensor.handle
    if isinstance(handle, CooHandle):
        shape = handle.shape[: handle.sparse_dim] + tuple(values.shape[1:])
        return coo(shape, handle.indices, values, handle.coalesced)
    leading = handle.plain.ndim + len(handle.block_mark)
    shape = handle.shape[: handle.batch_dim + 2] + tuple(values.shape[leading:])
    return compressed(handle.declared_layout, shape, handle.compressed, handle.plain, values)


def is_coo(value: Any) -> bool:
    """Return whether a value is a tensor of layout ``sparse_coo``."""
    return isinstance(getattr(value, "handle", None), CooHandle)


def is_compressed(value: Any) -> bool:
    """Return whether a value is a tensor of a compressed layout."""
    return isinstance(getattr(value, "handle", None), CompressedHandle)


def is_sparse(value: Any) -> bool:
    """Return whether a value is a sparse tensor, of any layout."""
    return isinstance(getattr(value, "handle", None), (CooHandle, CompressedHandle))
