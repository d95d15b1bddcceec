"""Records of products of matrices and vectors."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import COMPLEX, FLOATS, FLOATS_AND_COMPLEX, NUMBERS
from minitorch.testing.op_db.samples import record

DOUBLE_OR_SINGLE = FLOATS + COMPLEX
PRODUCTS_OF: dict = dict(dtypes=NUMBERS)


def _sizes_differ(make):
    return [(RuntimeError, "", make(2, 3), make(2, 3))]


def _addmm(x, a, b, beta=1, alpha=1):
    return beta * x + alpha * (a @ b)


VECTORS = [
    record(
        "mm",
        lambda make: [
            (make(2, 3), make(3, 2)),
            (make(3, 2, layout="columns"), make(2, 4, layout="gaps")),
            (make(0, 3), make(3, 2)),
            (make(2, 0), make(0, 2)),
        ],
        np.matmul,
        errors=_sizes_differ,
        **PRODUCTS_OF,
    ),
    record(
        "bmm",
        lambda make: [
            (make(2, 2, 3), make(2, 3, 2)),
            (make(2, 3, 2).mT, make(2, 3, 1)),
            (make(0, 2, 3), make(0, 3, 2)),
        ],
        np.matmul,
        errors=lambda make: [(RuntimeError, "", make(2, 2, 3), make(3, 3, 2))],
        **PRODUCTS_OF,
    ),
    record(
        "mv",
        lambda make: [(make(2, 3), make(3)), (make(3, 2, layout="columns"), make(2, layout="gaps"))],
        np.matmul,
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2))],
        **PRODUCTS_OF,
    ),
    record(
        "dot",
        lambda make: [(make(3), make(3)), (make(3, layout="gaps"), make(3))],
        np.dot,
        errors=lambda make: [(RuntimeError, "", make(3), make(2)), (RuntimeError, "1", make(2, 2), make(2))],
        **PRODUCTS_OF,
    ),
    record(
        "vdot",
        lambda make: [(make(3), make(3)), (make(3, layout="gaps"), make(3))],
        np.vdot,
        errors=lambda make: [(RuntimeError, "", make(3), make(2))],
        **PRODUCTS_OF,
    ),
    record(
        "inner",
        lambda make: [(make(2, 3), make(2, 3)), (make(3), make(3)), (make(), make(2))],
        np.inner,
        errors=lambda make: [(RuntimeError, "", make(3), make(2))],
        **PRODUCTS_OF,
    ),
    record(
        "outer",
        lambda make: [(make(2), make(3)), (make(2, layout="gaps"), make(3))],
        np.outer,
        aliases=("ger",),
        operators=("outer", "ger"),
        errors=lambda make: [(RuntimeError, "1", make(2, 2), make(2))],
        **PRODUCTS_OF,
    ),
    record(
        "matmul",
        lambda make: [
            (make(2, 3), make(3, 2)),
            (make(3), make(3)),
            (make(2, 3), make(3)),
            (make(3), make(3, 2)),
            (make(2, 2, 3), make(3, 2)),
            (make(2, 1, 2, 3), make(2, 3, 1)),
            (make(3, 2, layout="columns"), make(2, 2, 2)),
        ],
        np.matmul,
        aliases=("linalg.matmul",),
        operators=("matmul", "linalg_matmul"),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 3)), (RuntimeError, "", make(), make(2))],
        **PRODUCTS_OF,
    ),
    record(
        "kron",
        lambda make: [
            (make(2, 2), make(1, 3)),
            (make(2), make(2, 2)),
            (make(2, 3, layout="columns"), make(2, layout="gaps")),
        ],
        np.kron,
        **PRODUCTS_OF,
    ),
    record(
        "addmm",
        lambda make: [
            (make(2, 2), make(2, 3), make(3, 2)),
            (make(2), make(2, 3), make(3, 2), {"beta": 2, "alpha": 3}),
            (make(2, 1), make(3, 2, layout="columns").t(), make(3, 4), {"beta": 0}),
        ],
        lambda x, a, b, beta=1, alpha=1: np.broadcast_to(_addmm(x, a, b, beta, alpha), (a.shape[0], b.shape[1])),
        errors=lambda make: [(RuntimeError, "", make(2, 2), make(2, 3), make(2, 3))],
        **PRODUCTS_OF,
    ),
    record(
        "addmv",
        lambda make: [(make(2), make(2, 3), make(3)), (make(), make(2, 3), make(3), {"beta": 2, "alpha": 3})],
        _addmm,
        errors=lambda make: [(RuntimeError, "", make(2), make(2, 3), make(2))],
        **PRODUCTS_OF,
    ),
    record(
        "baddbmm",
        lambda make: [
            (make(2, 2, 2), make(2, 2, 3), make(2, 3, 2)),
            (make(2), make(2, 2, 3), make(2, 3, 2), {"beta": 2, "alpha": 3}),
        ],
        _addmm,
        errors=lambda make: [(RuntimeError, "", make(2, 2, 2), make(2, 2, 3), make(3, 3, 2))],
        **PRODUCTS_OF,
    ),
    record(
        "addbmm",
        lambda make: [
            (make(2, 2), make(3, 2, 3), make(3, 3, 2)),
            (make(2), make(2, 2, 3), make(2, 3, 2), {"beta": 2, "alpha": 3}),
        ],
        lambda x, a, b, beta=1, alpha=1: beta * x + alpha * (a @ b).sum(0),
        errors=lambda make: [(RuntimeError, "", make(2, 2), make(2, 2, 3), make(3, 3, 2))],
        dtypes=FLOATS_AND_COMPLEX,
    ),
    record(
        "addr",
        lambda make: [(make(2, 3), make(2), make(3)), (make(3), make(2), make(3), {"beta": 2, "alpha": 3})],
        lambda x, a, b, beta=1, alpha=1: beta * x + alpha * np.outer(a, b),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(3), make(3))],
        **PRODUCTS_OF,
    ),
    record(
        "linalg.multi_dot",
        lambda make: [
            ([make(2, 3), make(3, 2)],),
            ([make(3), make(3, 2), make(2, 2)],),
            ([make(2, 3), make(3, 1), make(1, 2)],),
        ],
        lambda x: np.linalg.multi_dot(x),
        errors=lambda make: [(RuntimeError, "2", [make(2, 2)])],
        dtypes=DOUBLE_OR_SINGLE,
    ),
    record(
        "chain_matmul",
        lambda make: [(make(2, 3), make(3, 2)), (make(2, 3), make(3, 1), make(1, 2))],
        lambda *x: np.linalg.multi_dot(x),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 3))],
        dtypes=DOUBLE_OR_SINGLE,
    ),
    record(
        "cross",
        lambda make: [(make(2, 3), make(2, 3), 1), (make(3), make(3)), (make(3, 2, layout="columns"), make(3, 1), 0)],
        lambda x, y, dim=-1: np.cross(*np.broadcast_arrays(x, y), axis=dim),
        errors=lambda make: [(RuntimeError, "3", make(2, 2), make(2, 2), 0)],
        **PRODUCTS_OF,
    ),
    record(
        "linalg.cross",
        lambda make: [
            (make(2, 3), make(2, 3)),
            (make(3), make(3)),
            (make(3, 2, layout="columns"), make(3, 1), {"dim": 0}),
        ],
        lambda x, y, dim=-1: np.cross(*np.broadcast_arrays(x, y), axis=dim),
        errors=lambda make: [(RuntimeError, "3", make(2, 2), make(2, 2))],
        **PRODUCTS_OF,
    ),
    record(
        "linalg.vecdot",
        lambda make: [
            (make(2, 3), make(2, 3)),
            (make(3), make(2, 3)),
            (make(3, 2, layout="columns"), make(3, 2), {"dim": 0}),
        ],
        lambda x, y, dim=-1: (np.conj(x) * y).sum(dim),
        errors=lambda make: [(RuntimeError, "", make(2), make(3))],
        dtypes=FLOATS_AND_COMPLEX,
    ),
    record(
        "linalg.vander",
        lambda make: [(make(3),), (make(2, 3), {"N": 4}), (make(3, layout="gaps"), {"N": 2})],
        lambda x, N=None: x[..., None] ** np.arange(x.shape[-1] if N is None else N),
        dtypes=DOUBLE_OR_SINGLE,
        errors=lambda make: [(RuntimeError, "N", make(3), {"N": 1})],
    ),
    record(
        "linalg.diagonal",
        lambda make: [
            (make(3, 3),),
            (make(2, 3, 4), {"offset": 1}),
            (make(4, 2, layout="columns"), {"offset": -1}),
            (make(2, 3, 2), {"dim1": 0, "dim2": 1}),
        ],
        lambda x, offset=0, dim1=-2, dim2=-1: np.diagonal(x, offset, dim1, dim2),
        errors=lambda make: [(IndexError, "out of range", make(3))],
        **PRODUCTS_OF,
    ),
    record(
        "einsum",
        lambda make: [
            ("ij,jk->ik", make(2, 3), make(3, 2)),
            ("ii->i", make(3, 3)),
            ("bij,bjk", make(2, 2, 3), make(2, 3, 1)),
            ("i,j,k->ijk", make(2), make(2), make(2)),
            ("...i,i->...", make(2, 2, 3), make(3, layout="gaps")),
        ],
        np.einsum,
        operators=(),
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(RuntimeError, "", "ij,jk->ik", make(2, 3), make(2, 3))],
    ),
    record(
        "tensordot",
        lambda make: [
            (make(2, 3), make(3, 2), 1),
            (make(2, 3), make(2, 3), 2),
            (make(2, 3, 2), make(2, 3), ([1], [1])),
        ],
        lambda x, y, dims=2: np.tensordot(x, y, dims),
        operators=(),
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 3), 1)],
    ),
]

VECTORS.append(
    record(
        "Tensor.__rmatmul__",
        lambda make: [(make(3, 2), make(2, 3)), (make(3), make(3)), (make(3, 2, layout="columns"), make(2, 2, 3))],
        lambda x, y: y @ x,
        operators=(),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 3))],
        **PRODUCTS_OF,
    )
)

LINEAR = [
    record(
        "nn.functional.linear",
        lambda make: [
            (make(2, 3), make(4, 3), make(4)),
            (make(3), make(2, 3)),
            (make(2, 2, 3), make(4, 3), make(4)),
            (make(3, 2, layout="columns"), make(2, 2, layout="gaps"), None),
        ],
        lambda x, w, b=None: x @ w.T + (0 if b is None else b),
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(4, 2))],
    ),
    record(
        "nn.functional.bilinear",
        lambda make: [(make(2, 3), make(2, 2), make(4, 3, 2), make(4)), (make(3), make(2), make(2, 3, 2))],
        lambda x, y, w, b=None: np.einsum("...i,oij,...j->...o", x, w, y) + (0 if b is None else b),
        operators=(),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 2), make(4, 2, 2))],
    ),
]

VECTORS.append(
    record(
        "vander",
        lambda make: [(make(3),), (make(3, layout="gaps"), 2, True)],
        np.vander,
        errors=lambda make: [(RuntimeError, "", make(3), -1)],
        dtypes=DOUBLE_OR_SINGLE,
    )
)

PRODUCTS = [*VECTORS, *LINEAR]
