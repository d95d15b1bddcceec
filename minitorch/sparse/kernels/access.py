"""What a sparse tensor consists of: indices, values, and how many there are."""

from __future__ import annotations

from minitorch.ops import functions as F
from minitorch.ops.shapes.common import check
from minitorch.sparse.registration import COO, CSR, sparse_kernel
from minitorch.tensor.components import tensor_of


@sparse_kernel("_indices", layouts=(COO,))
def _indices(self):
    return F.detach(self.handle.indices)


@sparse_kernel("_values", layouts=(COO,))
def _values(self):
    return F.detach(self.handle.values)


def _check_coalesced(self, name):
    check(self.handle.coalesced, f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")


@sparse_kernel("indices", layouts=(COO,))
def indices(self):
    _check_coalesced(self, "indices")
    return F.detach(self.handle.indices)


@sparse_kernel("values", layouts=(COO,))
def values(self):
    _check_coalesced(self, "values")
    return F.detach(self.handle.values)


@sparse_kernel("values", layouts=(CSR,))
def compressed_values(self):
    return F.detach(self.handle.values)


def _index(name, by_rows, is_compressed):
    def kernel(self):
        handle = self.handle
        check(
            handle.by_rows is by_rows,
            f"{name}() expected a tensor compressed by {'rows' if by_rows else 'columns'}, but its layout is {self.layout}",
        )
        return F.detach(handle.compressed if is_compressed else handle.plain)

    return kernel


for _name, _by_rows, _compressed in (
    ("crow_indices", True, True), ("col_indices", True, False), ("ccol_indices", False, True), ("row_indices", False, False),
):  # fmt: skip
    sparse_kernel(_name, layouts=(CSR,))(_index(_name, _by_rows, _compressed))


@sparse_kernel("is_coalesced", layouts=(COO,))
def is_coalesced(self):
    return self.handle.coalesced


@sparse_kernel("sparse_dim", "_dimI", layouts=(COO,))
def sparse_dim(self):
    return self.handle.sparse_dim


@sparse_kernel("sparse_dim", layouts=(CSR,))
def compressed_sparse_dim(self):
    return 2


@sparse_kernel("dense_dim")
def dense_dim(self):
    return self.handle.dense_dim


@sparse_kernel("_dimV", layouts=(COO,))
def dim_v(self):
    return self.handle.dense_dim


@sparse_kernel("_nnz")
def nnz(self):
    return self.handle.nnz


@sparse_kernel("detach")
def detach(self):
    return tensor_of(self.handle)
