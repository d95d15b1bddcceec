"""Records of gathering, scattering, masking and joining."""

from __future__ import annotations

import numpy as np

import minitorch
from minitorch.testing.op_db.record import ANY, FLOATS, NUMBERS
from minitorch.testing.op_db.samples import record

EVERYTHING: dict = dict(dtypes=ANY)
NON_DIFFERENTIABLE: dict = dict(autograd=False)


# ---------------------------------------------------------------- references


def _scattered(combine):
    """Return the reference of a scatter: ``result[..., index, ...]`` combined with each of `source`."""

    def reference(x, dim, index, source, *rest, **more):
        result = x.copy()
        for place in np.ndindex(*index.shape):
            target = list(place)
            if x.ndim:
                target[dim] = index[place]
            value = source[place] if isinstance(source, np.ndarray) and source.ndim else source
            result[tuple(target)] = combine(result[tuple(target)], value)
        return result

    return reference


def _indexed(combine):
    """Return the reference of an operator that combines slices of `source` into ``self[..., index]``."""

    def reference(x, dim, index, source, *rest, alpha=1, **more):
        result = np.moveaxis(x.copy(), dim, 0)
        rows = np.moveaxis(source, dim, 0) if isinstance(source, np.ndarray) and source.ndim else None
        for i, place in enumerate(index):
            result[place] = combine(result[place], source if rows is None else rows[i], alpha)
        return np.moveaxis(result, 0, dim)

    return reference


def _masked_scatter(x, mask, source):
    result = np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)).copy()
    mask = np.broadcast_to(mask, result.shape)
    result[mask] = source.ravel()[: mask.sum()]
    return result


def _embedding_bag(x, weight, offsets=None, mode="mean", per_sample_weights=None):
    rows = weight[x] if per_sample_weights is None else weight[x] * per_sample_weights[..., None]
    bags = list(rows) if offsets is None else np.split(rows, offsets[1:])
    return np.stack([{"sum": np.sum, "mean": np.mean, "max": np.max}[mode](bag, 0) for bag in bags])


def _put(x, index, source, accumulate=False):
    flat = x.ravel().copy()
    if accumulate:
        np.add.at(flat, index.ravel(), source.ravel())
    else:
        flat[index.ravel()] = source.ravel()
    return flat.reshape(x.shape)


def _index_put(x, indices, values, accumulate=False):
    result = x.copy()
    where = tuple(slice(None) if i is None else i for i in indices)
    if accumulate:
        np.add.at(result, where, values)
    else:
        result[where] = values
    return result


def _repeat_interleave(x, repeats=None, dim=None, output_size=None):
    if repeats is None:
        return np.repeat(np.arange(len(x)), x)
    return np.repeat(x, repeats, dim)


def _diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    result = np.zeros((*x.shape[:-1], n, n), x.dtype)
    rows = np.arange(x.shape[-1]) + max(-offset, 0)
    result[..., rows, rows + offset] = x
    return np.moveaxis(result, (-2, -1), (dim1, dim2))


def _roll(x, shifts, dims=()):
    dims = [dims] if isinstance(dims, int) else dims
    return np.roll(x, shifts, tuple(dims) or None)


def _slice_scatter(x, source, dim=0, start=None, end=None, step=1):
    result = x.copy()
    result[(slice(None),) * dim + (slice(start, end, step),)] = source
    return result


def _diagonal_scatter(x, source, offset=0, dim1=0, dim2=1):
    result = np.moveaxis(x.copy(), (dim1, dim2), (-2, -1))
    rows = np.arange(source.shape[-1]) + max(-offset, 0)
    result[..., rows, rows + offset] = source
    return np.moveaxis(result, (-2, -1), (dim1, dim2))


def _select_scatter(x, source, dim, index):
    result = np.moveaxis(x.copy(), dim, 0)
    result[index] = source
    return np.moveaxis(result, 0, dim)


def _tile(x, dims):
    return np.tile(x, dims)


def _block_diag(*blocks):
    blocks = [np.atleast_2d(b) for b in blocks]
    result = np.zeros(np.sum([b.shape for b in blocks], axis=0), np.result_type(*blocks))
    row = column = 0
    for b in blocks:
        result[row : row + b.shape[0], column : column + b.shape[1]] = b
        row, column = row + b.shape[0], column + b.shape[1]
    return result


def _take_along_dim(x, indices, dim=None):
    return np.take_along_axis(x.ravel() if dim is None else x, indices.ravel() if dim is None else indices, dim or 0)


# ---------------------------------------------------------------- samples


def _wrong_index_dtype(make):
    return [(IndexError, "int", make(2, 3), 0, make(2))]


def _scatter_samples(make):
    return [
        (make(3, 4), 0, make.distinct(3, 3).unsqueeze(1).expand(3, 4), make(3, 4)),
        (make(4, 3, layout="columns"), 1, minitorch.stack([make.distinct(2, 3) for _ in range(2)]), make(2, 3)),
        (make(3, layout="gaps"), -1, make.distinct(2, 3), make(2)),
    ]


def _repeating_scatter_samples(make):
    return [
        *_scatter_samples(make),
        (make(3, 2), 0, make.indices(4, 2, high=3), make(4, 2)),
        (make(), 0, minitorch.tensor(0), make()),
    ]


def _scatter_errors(make):
    return [
        (RuntimeError, "int", make(3, 2), 0, make(2, 2), make(2, 2)),
        (RuntimeError, "", make(3, 2), 0, make.indices(2, 3, high=3), make(2, 2)),
        (RuntimeError, "out of bounds|index", make(2), 0, minitorch.tensor([5]), make(1)),
    ]


def _index_samples(make):
    return [
        (make(4, 2), 0, make.distinct(3, 4), make(3, 2)),
        (make(2, 4, layout="columns"), 1, make.distinct(2, 4), make(2, 2)),
        (make(3, layout="gaps"), -1, make.distinct(2, 3), make(2)),
    ]


def _index_errors(make):
    return [
        (IndexError, "out of range", make(3, 2), 2, make.distinct(2, 3), make(2, 2)),
        ((IndexError, RuntimeError), "", make(3, 2), 0, minitorch.tensor([5, 1]), make(2, 2)),
    ]


def _masked(make):
    return [
        (make(2, 3), make.mask(2, 3)),
        (make(3, 2, layout="columns"), make.mask(2)),
        (make(4, layout="gaps"), make.mask(4)),
        (make(), minitorch.tensor(True)),
    ]


def _tensors(make):
    return [([make(2, 3), make(2, 3)],), ([make(2, 3, layout="gaps"), make(3, 2, layout="columns").t()],)]


def _tensors_and_one(make):
    return [
        (
            [
                make(3),
            ],
        ),
        ([make(2), make(2), make(2)],),
    ]


# ---------------------------------------------------------------- records

GATHERING = [
    record(
        "gather",
        lambda make: [
            (make(3, 4), 0, make.indices(2, 4, high=3)),
            (make(4, 3, layout="columns"), 1, make.indices(4, 5, high=3)),
            (make(3), -1, make.indices(2, high=3)),
            (make(), 0, minitorch.tensor(0)),
            (make(2, 3), 1, make.indices(2, 0, high=3)),
        ],
        lambda x, dim, index: np.take_along_axis(np.atleast_1d(x), np.atleast_1d(index), dim).reshape(index.shape),
        errors=lambda make: [
            (RuntimeError, "int", make(2, 3), 0, make(2, 3)),
            (RuntimeError, "out of bounds|index", make(2), 0, minitorch.tensor([5])),
        ],
        **EVERYTHING,
    ),
    record(
        "index_select",
        lambda make: [
            (make(3, 4), 0, make.indices(5, high=3)),
            (make(4, 3, layout="columns"), 1, make.indices(2, high=3)),
            (make(3, layout="gaps"), -1, minitorch.tensor(1)),
        ],
        lambda x, dim, index: np.take(x, np.atleast_1d(index), dim),
        errors=lambda make: [
            (IndexError, "out of range", make(2, 3), 2, minitorch.tensor([0])),
            (IndexError, "", make(2), 0, minitorch.tensor([5])),
        ],
        **EVERYTHING,
    ),
    record(
        "ops.aten.index",
        lambda make: [
            (make(3, 4), [make.indices(2, high=3)]),
            (make(3, 4), [None, make.indices(2, 2, high=4)]),
            (make(4, 3, layout="columns"), [make.indices(2, high=4), make.indices(2, high=3)]),
            (make(2, 3), [minitorch.tensor([[True, False, True], [False, True, True]])]),
        ],
        lambda x, indices: x[tuple(slice(None) if i is None else i for i in indices)],
        operators=("index",),
        no_meta="the length depends on the values of a mask",
        errors=lambda make: [(IndexError, "out of (range|bounds)", make(3), [minitorch.tensor([5])])],
        no_out="tested by its own name",
        **EVERYTHING,
    ),
    record(
        "Tensor.__getitem__",
        lambda make: [
            (make(3, 4), 1),
            (make(3, 4), (slice(None), slice(1, 4, 2))),
            (make(4, 3, layout="columns"), (..., -1)),
            (make(3, 4), (None, 0)),
            (make(3), minitorch.tensor([2, 0])),
            (make(3), True),
        ],
        lambda x, key: x[key],
        operators=(),
        no_meta="the length depends on the values of a mask",
        errors=lambda make: [(IndexError, "", make(3), 5)],
        **EVERYTHING,
    ),
    record(
        "masked_select",
        _masked,
        lambda x, mask: x[mask] if x.shape == mask.shape else x[np.broadcast_to(mask, x.shape)],
        no_meta="the length depends on the mask",
        errors=lambda make: [(RuntimeError, "", make(2), make(2))],
        **EVERYTHING,
    ),
    record(
        "take",
        lambda make: [
            (make(3, 4), make.indices(2, 2, high=12)),
            (make(4, 2, layout="columns"), make.indices(3, high=8)),
            (make(3), minitorch.tensor(-1)),
        ],
        lambda x, index: np.take(x, index),
        errors=lambda make: [(IndexError, "", make(2), minitorch.tensor([5]))],
        **EVERYTHING,
    ),
    record(
        "take_along_dim",
        lambda make: [
            (make(3, 4), make.indices(3, 2, high=4), 1),
            (make(3, 4), make.indices(5, high=12)),
            (make(4, 2, layout="columns"), make.indices(1, 2, high=4), 0),
        ],
        _take_along_dim,
        errors=lambda make: [(RuntimeError, "", make(2, 3), make.indices(2, high=2), 0)],
        **EVERYTHING,
    ),
    record(
        "embedding",
        lambda make: [
            (make(4, 3), make.indices(2, 2, high=4)),
            (make(3, 2, layout="columns"), minitorch.tensor(1)),
            # Their gradients leave rows out, or divide them: they are not the function's.
            (make(4, 3, grad=False), make.indices(3, high=4), 1),
            (make(3, 2, grad=False), make.indices(4, high=3), -1, True),
        ],
        lambda weight, indices, padding_idx=-1, scale=False: weight[indices],
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "", make(3), make.indices(2, high=3))],
    ),
    record(
        "nn.functional.embedding",
        lambda make: [
            (make.indices(2, 2, high=4), make(4, 3)),
            (make.indices(3, high=4), make(4, 3, layout="columns"), {"padding_idx": None}),
        ],
        lambda indices, weight, padding_idx=None: weight[indices],
        dtypes=FLOATS,
        operators=("embedding",),
        errors=lambda make: [(AssertionError, "", make.indices(2, high=3), make(4, 2), {"padding_idx": 7})],
    ),
    record(
        "nn.functional.embedding_bag",
        lambda make: [
            (make.indices(2, 3, high=4), make(4, 3)),
            (make.indices(5, high=4), make(4, 2), minitorch.tensor([0, 3]), {"mode": "sum"}),
            (make.indices(2, 2, high=4), make(4, 2), {"mode": "max"}),
            (make.indices(2, 2, high=4), make(4, 2), {"mode": "sum", "per_sample_weights": make(2, 2)}),
        ],
        _embedding_bag,
        operators=(),
        dtypes=FLOATS,
        no_meta="looks at the offsets",
        errors=lambda make: [
            (ValueError, "mode", make.indices(2, 2, high=3), make(4, 2), {"mode": "no"}),
            (ValueError, "offsets", make.indices(3, high=3), make(4, 2)),
        ],
    ),
    record(
        "nonzero",
        lambda make: [(make.mask(2, 3),), (make.mask(4),), (minitorch.tensor(True),)],
        lambda x: np.stack(np.atleast_1d(x).nonzero(), 1)[:, : x.ndim],
        no_meta="the length depends on the values",
        **NON_DIFFERENTIABLE,
    ),
    record(
        "argwhere",
        lambda make: [(make.mask(2, 3),), (make.mask(4),)],
        np.argwhere,
        no_meta="the length depends on the values",
        **NON_DIFFERENTIABLE,
    ),
    record(
        "nn.functional.one_hot",
        lambda make: [(make.indices(4, high=3), 5), (make.indices(2, 2, high=3), 3), (make.indices(3, high=3),)],
        lambda x, count=-1: np.eye(x.max() + 1 if count < 0 else count, dtype=np.int64)[x],
        no_meta="the number of classes may depend on the values",
        **NON_DIFFERENTIABLE,
        errors=lambda make: [(RuntimeError, "", make.indices(3, low=3, high=5), 2)],
    ),
]

SCATTERING = [
    record(
        "scatter",
        lambda make: [*_scatter_samples(make), (make(3, 4), 0, make.indices(2, 4, high=3), 1)],
        _scattered(lambda old, new: new),
        errors=_scatter_errors,
        **EVERYTHING,
    ),
    record(
        "scatter_add",
        _repeating_scatter_samples,
        _scattered(lambda old, new: old + new),
        errors=_scatter_errors,
        dtypes=NUMBERS,
    ),
    record(
        "scatter_reduce",
        lambda make: [
            (*arguments, mode, {"include_self": include})
            for arguments in _scatter_samples(make)[:1] + _repeating_scatter_samples(make)[3:4]
            for mode in ("sum", "prod", "mean", "amax", "amin")
            for include in (True, False)
        ],
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "reduce", make(3), 0, minitorch.tensor([0]), make(1), "median")],
    ),
    record(
        "index_add",
        lambda make: [*_index_samples(make), (make(3, 2), 0, make.indices(4, high=3), make(4, 2), {"alpha": 2})],
        _indexed(lambda old, new, alpha: old + alpha * new),
        errors=_index_errors,
        dtypes=NUMBERS,
    ),
    record("index_copy", _index_samples, _indexed(lambda old, new, alpha: new), errors=_index_errors, **EVERYTHING),
    record(
        "index_fill",
        lambda make: [
            (make(4, 2), 0, make.distinct(2, 4), 1),
            (make(2, 3, layout="columns"), 1, make.distinct(2, 3), make()),
            (make(3), -1, minitorch.tensor([0]), 0),
        ],
        _indexed(lambda old, new, alpha: new),
        errors=lambda make: [(IndexError, "out of range", make(3), 1, minitorch.tensor([0]), 1)],
        **EVERYTHING,
    ),
    record(
        "index_reduce",
        lambda make: [
            (*arguments, mode, {"include_self": include})
            for arguments in _index_samples(make)[:2]
            for mode in ("prod", "mean", "amax", "amin")
            for include in (True, False)
        ],
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "reduce", make(3), 0, minitorch.tensor([0]), make(1), "sum")],
    ),
    record(
        "index_put",
        lambda make: [
            (make(3, 4), [make.distinct(2, 3)], make(2, 4)),
            (make(3, 4), [None, make.distinct(2, 4)], make(3, 2)),
            (make(4, 3, layout="columns"), [make.distinct(2, 4), make.distinct(2, 3)], make(2)),
            (make(3), [make.indices(4, high=3)], make(4), True),
            (make(2, 3), [make.distinct(1, 2)], make()),
        ],
        _index_put,
        errors=lambda make: [(IndexError, "", make(3), [minitorch.tensor([5])], make(1))],
        dtypes=NUMBERS,
    ),
    record(
        "masked_fill",
        lambda make: [(*a, 1) for a in _masked(make)] + [(make(2, 3), make.mask(3), make())],
        lambda x, mask, value: np.where(mask, value, x),
        errors=lambda make: [
            (RuntimeError, "", make(2, 3), make.mask(4), 1),
            (RuntimeError, "bool", make(2), make.indices(2, high=2), 1),
        ],
        **EVERYTHING,
    ),
    record(
        "masked_scatter",
        lambda make: [(make(2, 3), make.mask(2, 3), make(7)), (make(3, layout="gaps"), make.mask(2, 3), make(2, 3))],
        _masked_scatter,
        errors=lambda make: [(RuntimeError, "", make(2), minitorch.tensor([True, True]), make(1))],
        **EVERYTHING,
    ),
    record(
        "put",
        lambda make: [
            (make(3, 2), make.distinct(4, 6), make(4)),
            (make(2, 3, layout="columns"), make.indices(3, high=6), make(3), True),
        ],
        _put,
        errors=lambda make: [(IndexError, "", make(2), minitorch.tensor([5]), make(1))],
        dtypes=NUMBERS,
    ),
    record(
        "diagonal_scatter",
        lambda make: [
            (make(3, 3), make(3)),
            (make(2, 4), make(2), 1),
            (make(2, 3, 2, layout="columns"), make(3, 2), 0, 0, 2),
        ],
        _diagonal_scatter,
        errors=lambda make: [(RuntimeError, "", make(3, 3), make(2))],
        **EVERYTHING,
    ),
    record(
        "select_scatter",
        lambda make: [(make(3, 4), make(4), 0, 1), (make(4, 3, layout="columns"), make(4), 1, -1)],
        _select_scatter,
        errors=lambda make: [(RuntimeError, "", make(3, 4), make(3), 0, 1)],
        **EVERYTHING,
    ),
    record(
        "slice_scatter",
        lambda make: [(make(4, 3), make(2, 3), 0, 1, 3), (make(3, 4, layout="columns"), make(3, 2), 1, 0, 4, 2)],
        _slice_scatter,
        errors=lambda make: [(RuntimeError, "", make(4), make(3), 0, 1, 3)],
        **EVERYTHING,
    ),
    record(
        "where",
        lambda make: [
            (make.mask(2, 3), make(2, 3), make(2, 3)),
            (make.mask(2, 1), make(3), make(2, 3, layout="gaps")),
            (make.mask(3), make(2, 3), 1),
            (make.mask(3), 2, make(3)),
            (minitorch.tensor(True), make(), make()),
        ],
        np.where,
        errors=lambda make: [(RuntimeError, "", make.mask(2), make(3), make(4))],
        **EVERYTHING,
    ),
]

MATRICES = [
    record(
        "tril",
        lambda make: [(make(3, 3),), (make(2, 4), 1), (make(4, 2, layout="columns"), -1), (make(2, 2, 3),)],
        np.tril,
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **EVERYTHING,
    ),
    record(
        "triu",
        lambda make: [(make(3, 3),), (make(2, 4), 1), (make(4, 2, layout="columns"), -1), (make(2, 2, 3),)],
        np.triu,
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **EVERYTHING,
    ),
    record(
        "diag",
        lambda make: [(make(3),), (make(3, 3),), (make(2, 4, layout="columns"), 1), (make(2), -1)],
        np.diag,
        errors=lambda make: [(RuntimeError, "", make(2, 2, 2))],
        **EVERYTHING,
    ),
    record(
        "diag_embed",
        lambda make: [(make(3),), (make(2, 3), 1), (make(3, 2, layout="columns"), -1), (make(2, 2), 0, 0, 2)],
        _diag_embed,
        errors=lambda make: [(RuntimeError, "dim", make(3), 0, 1, 1)],
        **EVERYTHING,
    ),
    record(
        "diagflat",
        lambda make: [(make(3),), (make(2, 2), 1), (make(2, 2, layout="columns"), -1), (make(),)],
        np.diagflat,
        **EVERYTHING,
    ),
    record(
        "roll",
        lambda make: [
            (make(5), 2),
            (make(2, 3), 1, 0),
            (make(3, 2, layout="columns"), (1, -1), (0, 1)),
            (make(2, 3), 4),
        ],
        _roll,
        errors=lambda make: [(IndexError, "", make(2, 3), 1, 2), (RuntimeError, "", make(2, 3), (1, 2), 0)],
        **EVERYTHING,
    ),
    record(
        "flip",
        lambda make: [(make(2, 3), [0]), (make(3, 2, layout="columns"), (0, -1)), (make(), []), (make(0, 2), [1])],
        lambda x, dims: np.flip(x, tuple(dims)),
        errors=lambda make: [(IndexError, "out of range", make(2), [1]), (RuntimeError, "dim", make(2), [0, 0])],
        **EVERYTHING,
    ),
    record(
        "fliplr",
        lambda make: [(make(2, 3),), (make(3, 2, layout="columns"),)],
        np.fliplr,
        errors=lambda make: [(RuntimeError, "2", make(3))],
        **EVERYTHING,
    ),
    record(
        "flipud",
        lambda make: [(make(2, 3),), (make(3),)],
        np.flipud,
        errors=lambda make: [(RuntimeError, "1", make())],
        **EVERYTHING,
    ),
    record(
        "rot90",
        lambda make: [
            (make(2, 3),),
            (make(2, 3), 2),
            (make(3, 2, layout="columns"), -1, (1, 0)),
            (make(2, 2, 3), 3, [1, 2]),
        ],
        lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
        errors=lambda make: [(RuntimeError, "", make(2, 3), 1, [0, 0])],
        **EVERYTHING,
    ),
]

JOINING = [
    record(
        "cat",
        lambda make: [
            ([make(2, 3), make(1, 3)],),
            ([make(2, 1), make(2, 3, layout="gaps")], 1),
            ([make(3)], -1),
            ([make(0), make(2, layout="gaps")],),
            ([make(3, 2, layout="columns"), make(3, 2, layout="columns")], 0),
        ],
        np.concatenate,
        aliases=("concat", "concatenate"),
        operators=("cat", "concat", "concatenate"),
        errors=lambda make: [(RuntimeError, "", [make(2, 3), make(2, 2)]), (IndexError, "out of range", [make(2)], 1)],
        **EVERYTHING,
    ),
    record(
        "stack",
        lambda make: [([make(2, 3), make(2, 3)],), ([make(3, layout="gaps"), make(3)], -1), ([make(), make()],)],
        np.stack,
        errors=lambda make: [(RuntimeError, "", [make(2), make(3)])],
        **EVERYTHING,
    ),
    record(
        "hstack",
        lambda make: [*_tensors(make), *_tensors_and_one(make), ([make(), make(2)],)],
        np.hstack,
        errors=lambda make: [(RuntimeError, "", [make(2, 2), make(3, 2)])],
        **EVERYTHING,
    ),
    record(
        "vstack",
        lambda make: [*_tensors(make), *_tensors_and_one(make)],
        np.vstack,
        aliases=("row_stack",),
        operators=("vstack", "row_stack"),
        errors=lambda make: [(RuntimeError, "", [make(2, 2), make(2, 3)])],
        **EVERYTHING,
    ),
    record(
        "dstack",
        lambda make: [*_tensors(make), *_tensors_and_one(make)],
        np.dstack,
        errors=lambda make: [(RuntimeError, "", [make(2, 2), make(2, 3)])],
        **EVERYTHING,
    ),
    record(
        "column_stack",
        lambda make: [*_tensors(make), *_tensors_and_one(make)],
        np.column_stack,
        errors=lambda make: [(RuntimeError, "", [make(2, 2), make(3, 2)])],
        **EVERYTHING,
    ),
    record(
        "block_diag",
        lambda make: [(make(2, 2), make(1, 3)), (make(3), make(2, 2, layout="columns"), make())],
        _block_diag,
        errors=lambda make: [(RuntimeError, "", make(2, 2, 2))],
        **EVERYTHING,
    ),
    record(
        "cartesian_prod",
        lambda make: [(make(2), make(3)), (make(3),)],
        lambda *x: x[0] if len(x) == 1 else np.stack([g.ravel() for g in np.meshgrid(*x, indexing="ij")], 1),
        errors=lambda make: [(RuntimeError, "", make(2, 2), make(2))],
        **EVERYTHING,
    ),
    record(
        "combinations",
        lambda make: [(make(4),), (make(3), 3), (make(3, layout="gaps"), 2, True)],
        lambda x, r=2, again=False: x[np.array(list(_combinations(len(x), r, again)))],
        errors=lambda make: [(RuntimeError, "1", make(2, 2))],
        **EVERYTHING,
    ),
    record(
        "meshgrid",
        lambda make: [(make(2), make(3), {"indexing": "ij"}), (make(2), make(3), make(2), {"indexing": "xy"})],
        lambda *x, indexing: np.meshgrid(*x, indexing=indexing),
        errors=lambda make: [
            (RuntimeError, "", make(2, 2), make(2), {"indexing": "ij"}),
            (RuntimeError, "indexing", make(2), {"indexing": "no"}),
        ],
        **EVERYTHING,
    ),
    record(
        "tile",
        lambda make: [(make(2, 3), [2, 1]), (make(3), (2, 2)), (make(3, 2, layout="columns"), [2]), (make(), [2])],
        _tile,
        errors=lambda make: [(RuntimeError, "", make(2), [-1])],
        **EVERYTHING,
    ),
    record(
        "Tensor.repeat",
        lambda make: [(make(2, 3), [2, 1]), (make(3), (2, 2)), (make(3, 2, layout="columns"), [1, 2])],
        _tile,
        errors=lambda make: [(RuntimeError, "", make(2, 3), [2])],
        **EVERYTHING,
    ),
    record(
        "repeat_interleave",
        lambda make: [
            (make(3), 2),
            (make(2, 3), 2, 1),
            (make(3, 2, layout="columns"), minitorch.tensor([1, 0, 2]), 0),
            (make(2, 2), 3),
        ],
        _repeat_interleave,
        no_meta="the length may depend on the repeats",
        errors=lambda make: [(RuntimeError, "", make(3), -1), (RuntimeError, "", make(3), minitorch.tensor([1, 2]), 0)],
        **EVERYTHING,
    ),
]


def _combinations(n, r, again):
    import itertools

    return (itertools.combinations_with_replacement if again else itertools.combinations)(range(n), r)


UNSAFE = [
    record(
        "nonzero_static",
        lambda make: [(make.mask(2, 3), {"size": 4}), (make.mask(4), {"size": 2, "fill_value": 7})],
        no_out="needs its size by keyword",
        **NON_DIFFERENTIABLE,
    ),
    record(
        "_unsafe_masked_index",
        lambda make: [(make(3, 2), make.mask(2), [make.indices(2, high=3), make.indices(2, high=2)], 0)],
        lambda x, mask, indices, fill: np.where(mask, x[tuple(indices)], fill),
        dtypes=FLOATS,
    ),
    record(
        "_unsafe_masked_index_put_accumulate",
        lambda make: [(make(3, 2), make.mask(2), [make.indices(2, high=3), make.indices(2, high=2)], make(2))],
        lambda x, mask, indices, values: _index_put(x, indices, np.where(mask, values, 0), True),
        dtypes=FLOATS,
    ),
]

RECORDS = [*GATHERING, *SCATTERING, *MATRICES, *JOINING, *UNSAFE]
