"""The table of the exam of sparse operators: what is called, on which operands, and which layouts refuse it.

A function of a row gets the library (minitorch, or PyTorch as the oracle), two tensors of one layout, and dense operands.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

# No ties between the two, no element at a jump or a kink of an operator; without zeros among what is dense in a hybrid tensor.
FIRST = np.array([[0, 0.9, 0, 0.4], [0.21, 0.17, 0.73, 0.33], [0, 0, 0, 0], [-0.25, -0.61, 0.11, 0.62]])
SECOND = np.array([[0.31, -0.52, 0.9 / 4, 0.13], [0, 0, 0, 0], [0.125, 0.44, 0.27, -0.8], [0.4, 0.35, -0.66, 0.19]])
FIRST[0, 0], FIRST[0, 2] = 0.57, -0.37
DENSE = np.array([[0.3, -0.7, 0.2, 1.1], [0.6, 0.8, -0.1, 0.9], [1.2, 0.4, 0.5, -0.2], [0.7, -0.3, 0.15, 0.25]])
# A pattern that is not made of whole rows, for the layouts that have none.
HOLES = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 0, 1]])
OTHER_HOLES = np.array([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 1], [0, 1, 0, 1]])
MASK = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]], dtype=bool)

LAYOUTS = ("coo", "uncoalesced", "hybrid", "csr", "csc", "bsr", "bsc")
COMPRESSED = ("csr", "csc", "bsr", "bsc")
BLOCKED = ("bsr", "bsc")


def arrays(layout, dtype="float64"):
    """Return the two matrices of a layout."""
    pair = (FIRST, SECOND)
    if layout != "hybrid":
        pair = (np.where(HOLES, FIRST, 0), np.where(OTHER_HOLES, SECOND, 0))
    if dtype.startswith("int"):
        pair = [np.trunc(a * 10) for a in pair]
    return [a.astype(dtype) * ((1 + 0.5j) if dtype.startswith("complex") else 1) for a in pair]


def sparse(lib, array, layout):
    """Return an array as a sparse tensor of a library."""
    dense = lib.tensor(array.tolist(), dtype=getattr(lib, array.dtype.name))
    if layout == "coo":
        return dense.to_sparse()
    if layout == "hybrid":
        return dense.to_sparse(1)
    if layout == "uncoalesced":
        found = dense.to_sparse()
        values = found.values()
        half = values // 2 if array.dtype.kind == "i" else values / 4
        return lib.sparse_coo_tensor(
            lib.cat([found.indices(), found.indices()], 1), lib.cat([half, values - half]), dense.shape
        )
    if layout in BLOCKED:
        return getattr(dense, f"to_sparse_{layout}")((2, 2))
    return getattr(dense, f"to_sparse_{layout}")()


def operands(lib, dtype="float64"):
    """Return the dense operands of the rows."""
    array = np.trunc(DENSE * 10).astype(dtype) if dtype.startswith("int") else DENSE.astype(dtype)
    dense = lib.tensor(array.tolist(), dtype=getattr(lib, dtype))
    return SimpleNamespace(
        dense=dense, row=dense[0], column=dense[:, 2:3], number=lib.tensor(3, dtype=dense.dtype), mask=lib.tensor(MASK.tolist()),
        rows=lib.tensor([0, 2, 0, 3]), columns=lib.tensor([1, 0, 3, -1]), row_mask=lib.tensor([True, False, True, False]),
    )  # fmt: skip


class Row:
    """One line of the table.

    Attributes
    ----------
    fn : callable
        ``fn(lib, x, y, o)``.
    refuses : tuple of str
        Layouts whose tensors cannot be the result: an error that names another.
    is_smooth : bool
        Whether it has a derivative worth a check.
    dtypes : str
        What it is tried with besides float64: ``"f"`` float32, ``"i"`` int64, ``"c"`` complex128.
    """

    def __init__(self, name, fn, refuses=(), is_smooth=True, dtypes=""):
        self.name, self.fn, self.refuses, self.is_smooth, self.dtypes = name, fn, tuple(refuses), is_smooth, dtypes


TABLE: list[Row] = []


def row(name, fn, **options):
    TABLE.append(Row(name, fn, **options))


def unary(names, **options):
    for name in names.split():
        row(name, lambda lib, x, y, o, name=name: getattr(lib, name)(x), **options)


def activation(names):
    for name in names.split():
        row(name, lambda lib, x, y, o, name=name: getattr(lib.nn.functional, name)(x))


def binary(names, **options):
    for name in names.split():
        row(f"{name}(x, y)", lambda lib, x, y, o, name=name: getattr(lib, name)(x, y), **options)


# ---------------------------------------------------------------- element by element

unary("abs angle neg sgn square positive negative absolute", dtypes="fic")
unary("asin asinh atan atanh erf erfinv expm1 log1p sin sinh tan tanh arcsin deg2rad rad2deg nan_to_num frac relu")
unary("sqrt", is_smooth=False)
unary("ceil floor round trunc fix sign", is_smooth=False, dtypes="fi")
unary("isinf isnan isneginf isposinf signbit", is_smooth=False, dtypes="fi")
unary("conj_physical", dtypes="c")
unary("conj resolve_conj", dtypes="c")
row("real", lambda lib, x, y, o: lib.real(x), dtypes="c")
activation("relu6 leaky_relu gelu silu elu selu celu hardtanh hardswish mish tanhshrink")
row("hardshrink", lambda lib, x, y, o: lib.nn.functional.hardshrink(x, 0.3))
row("softshrink", lambda lib, x, y, o: lib.nn.functional.softshrink(x, 0.3))
row("threshold", lambda lib, x, y, o: lib.nn.functional.threshold(x, 0.3, 0.0))
row("dropout", lambda lib, x, y, o: lib.nn.functional.dropout(x, 0.0, True))
row("clamp", lambda lib, x, y, o: x.clamp(-0.3, 0.6))
row("clamp_min", lambda lib, x, y, o: x.clamp_min(-0.3))
row("x * 2", lambda lib, x, y, o: x * 2, dtypes="fic")
row("2 * x", lambda lib, x, y, o: 2.5 * x, dtypes="fic")
row("x * number", lambda lib, x, y, o: x * o.number, dtypes="fi")
row("x / 2", lambda lib, x, y, o: x / 2, dtypes="fic")
row("x / number", lambda lib, x, y, o: x / o.number, dtypes="fi")
row("div floor", lambda lib, x, y, o: lib.div(x, 0.3, rounding_mode="floor"), is_smooth=False)
row("x // 2", lambda lib, x, y, o: x // 2, is_smooth=False, dtypes="fi")
row("remainder", lambda lib, x, y, o: x % 0.29)
row("fmod", lambda lib, x, y, o: lib.fmod(x, 0.29))
row("pow 2", lambda lib, x, y, o: x**2, dtypes="fic")
row("pow 1.5", lambda lib, x, y, o: x.abs() ** 1.5)
row("float_power", lambda lib, x, y, o: lib.float_power(x, 2))
row("x > 0", lambda lib, x, y, o: x > 0, is_smooth=False, dtypes="fi")
row("x < 0", lambda lib, x, y, o: x < 0, is_smooth=False)
row("x >= 0.3", lambda lib, x, y, o: x >= 0.3, is_smooth=False)
row("x <= -0.2", lambda lib, x, y, o: x <= -0.2, is_smooth=False)
row("x != 0", lambda lib, x, y, o: x != 0, is_smooth=False, dtypes="fic")
row("x == 0.4", lambda lib, x, y, o: x == 0.4, is_smooth=False)

# ---------------------------------------------------------------- two operands

binary("add sub mul rsub", dtypes="fic")
binary("maximum minimum fmax fmin atan2 hypot", dtypes="f")
binary("ne gt lt logical_and logical_or logical_xor copysign", is_smooth=False)
row("add alpha", lambda lib, x, y, o: lib.add(x, y, alpha=2), dtypes="fic")
row("x + x", lambda lib, x, y, o: x + x, dtypes="i")
row("x * x", lambda lib, x, y, o: x * x, dtypes="ic")
row("dense + x", lambda lib, x, y, o: o.dense + x, dtypes="fi")
row("dense - x", lambda lib, x, y, o: o.dense - x)
row("dense * x", lambda lib, x, y, o: o.dense * x, dtypes="f")
row("x * dense", lambda lib, x, y, o: x * o.dense, dtypes="fi")
row("x * row", lambda lib, x, y, o: x * o.row)
row("x * column", lambda lib, x, y, o: o.column * x)
row("logical_and dense", lambda lib, x, y, o: lib.logical_and(x, o.dense), is_smooth=False)
row("where", lambda lib, x, y, o: lib.where(o.mask, x, y))
row("where zero", lambda lib, x, y, o: lib.where(o.mask, x, 0.0))
row("masked_fill", lambda lib, x, y, o: x.masked_fill(o.mask, 0.0))
row("equal", lambda lib, x, y, o: [x.equal(y), x.equal(x.clone())], is_smooth=False)
row("allclose", lambda lib, x, y, o: [lib.allclose(x, y), lib.allclose(x, x * (1 + 1e-9))], is_smooth=False)

# ---------------------------------------------------------------- order and number of dimensions

row("transpose", lambda lib, x, y, o: x.transpose(0, 1), refuses=("hybrid",), dtypes="fic")
row("transpose same", lambda lib, x, y, o: x.transpose(0, 0))
row("t", lambda lib, x, y, o: x.t(), refuses=("hybrid",))
row("mT", lambda lib, x, y, o: x.mT, refuses=("hybrid",))
row("permute", lambda lib, x, y, o: x.permute(1, 0), refuses=("hybrid",))
row("permute same", lambda lib, x, y, o: x.permute(0, 1))
row("movedim", lambda lib, x, y, o: x.movedim(0, 1), refuses=("hybrid",))
row("swapaxes", lambda lib, x, y, o: x.swapaxes(0, 1), refuses=("hybrid",))
row("unsqueeze 0", lambda lib, x, y, o: x.unsqueeze(0))
row("unsqueeze 1", lambda lib, x, y, o: x.unsqueeze(1), refuses=COMPRESSED)
row("unsqueeze -1", lambda lib, x, y, o: x.unsqueeze(-1))
row("squeeze", lambda lib, x, y, o: x.unsqueeze(0).squeeze())
row("squeeze 1", lambda lib, x, y, o: x[:, 1:2].squeeze(1), refuses=COMPRESSED)
row("flatten", lambda lib, x, y, o: x.flatten(), refuses=COMPRESSED)
row("reshape", lambda lib, x, y, o: x.reshape(2, 8))
row("reshape 3", lambda lib, x, y, o: x.reshape(2, 2, 4), refuses=COMPRESSED)
row("reshape same", lambda lib, x, y, o: x.reshape(4, 4))
row("expand", lambda lib, x, y, o: x.expand(3, 4, 4))
row("repeat", lambda lib, x, y, o: x.repeat(2, 1))

# ---------------------------------------------------------------- parts

row("select", lambda lib, x, y, o: x.select(0, 1), dtypes="fic")
row("select 1", lambda lib, x, y, o: x.select(1, -1))
row("x[-1]", lambda lib, x, y, o: x[-1])
row("x[0, 1]", lambda lib, x, y, o: x[0, 1], dtypes="ic")
row("x[..., 1]", lambda lib, x, y, o: x[..., 1])
row("x[None]", lambda lib, x, y, o: x[None])
row("x[...]", lambda lib, x, y, o: x[...])
row("x[0:2]", lambda lib, x, y, o: x[0:2], dtypes="i")
row("x[:, 2:]", lambda lib, x, y, o: x[:, 2:])
row("x[0:2, 2:4]", lambda lib, x, y, o: x[0:2, 2:4])
row("x[::2]", lambda lib, x, y, o: x[::2])
row("x[1::2, ::3]", lambda lib, x, y, o: x[1::2, ::3])
row("narrow", lambda lib, x, y, o: x.narrow(0, 2, 2))
row("narrow_copy", lambda lib, x, y, o: x.narrow_copy(0, 2, 2))
row("index_select", lambda lib, x, y, o: x.index_select(0, o.rows), dtypes="fic")
row("index_select 1", lambda lib, x, y, o: x.index_select(1, o.rows))
row("x[rows]", lambda lib, x, y, o: x[o.rows])
row("x[:, rows]", lambda lib, x, y, o: x[:, o.rows])
row("x[rows of rows]", lambda lib, x, y, o: x[o.rows.reshape(2, 2)])
row("x[row mask]", lambda lib, x, y, o: x[o.row_mask])
row("x[mask]", lambda lib, x, y, o: x[o.mask])
row("x[rows, columns]", lambda lib, x, y, o: x[o.rows, o.columns])
row("masked_select", lambda lib, x, y, o: x.masked_select(o.mask), dtypes="i")
row("nonzero", lambda lib, x, y, o: x.nonzero(), is_smooth=False, dtypes="i")
row("count_nonzero", lambda lib, x, y, o: x.count_nonzero(), is_smooth=False)
row("tril", lambda lib, x, y, o: x.tril())
row("triu", lambda lib, x, y, o: x.triu(1))
row("diagonal", lambda lib, x, y, o: x.diagonal(1))
row("unbind", lambda lib, x, y, o: list(x.unbind()))
row("unbind 1", lambda lib, x, y, o: list(x.unbind(1)))
row("split", lambda lib, x, y, o: list(x.split(2)))
row("chunk", lambda lib, x, y, o: list(x.chunk(2, 1)))
row("tensor_split", lambda lib, x, y, o: list(lib.tensor_split(x, 2)))

# ---------------------------------------------------------------- together

row("cat", lambda lib, x, y, o: lib.cat([x, y]), dtypes="fic")
row("cat 1", lambda lib, x, y, o: lib.cat([x, y], 1))
row("stack", lambda lib, x, y, o: lib.stack([x, x * 2]))
row("stack -1", lambda lib, x, y, o: lib.stack([x, y], -1), refuses=COMPRESSED)
row("hstack", lambda lib, x, y, o: lib.hstack([x, y]))
row("vstack", lambda lib, x, y, o: lib.vstack([x, y]))
row("flip", lambda lib, x, y, o: x.flip(0, 1))
row("roll", lambda lib, x, y, o: x.roll(1, 0))
row("roll flat", lambda lib, x, y, o: x.roll(3))
row("index_add", lambda lib, x, y, o: x.index_add(0, o.rows, y))

# ---------------------------------------------------------------- products and reductions

row("x @ dense", lambda lib, x, y, o: x @ o.dense, refuses=("hybrid",))
row("dense @ x", lambda lib, x, y, o: o.dense @ x, refuses=("hybrid",))
row("x @ y", lambda lib, x, y, o: x @ y, refuses=("hybrid",))
row("mv", lambda lib, x, y, o: lib.mv(x, o.row), refuses=("hybrid",))
row("addmm", lambda lib, x, y, o: lib.addmm(o.dense, x, o.dense, beta=0.5, alpha=2), refuses=("hybrid",))
row(
    "sparse.mm", lambda lib, x, y, o: lib.sparse.mm(x, o.dense) if str(x.layout) != "torch.strided" else x @ o.dense,
    refuses=("hybrid",),
)  # fmt: skip
row("sum", lambda lib, x, y, o: x.sum(), dtypes="fic")
row("sum 0", lambda lib, x, y, o: x.sum(0, keepdim=True))
row("sum 1", lambda lib, x, y, o: x.sum(1, keepdim=True))
row("mean", lambda lib, x, y, o: x.mean())
row("amax", lambda lib, x, y, o: x.amax(1, keepdim=True))
row("amin", lambda lib, x, y, o: x.amin(0, keepdim=True))
row("any", lambda lib, x, y, o: x.any(), is_smooth=False)
row("norm", lambda lib, x, y, o: x.norm())
