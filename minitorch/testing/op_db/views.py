"""Records of view operators, and of copies."""

from __future__ import annotations

import numpy as np

import minitorch
from minitorch.testing.op_db.record import ANY, COMPLEX, FLOATS, FLOATS_AND_COMPLEX, NUMBERS
from minitorch.testing.op_db.samples import record, unary

EVERYTHING: dict = dict(dtypes=ANY)


def _out_of_range(make):
    return [(IndexError, "out of range", make(2, 3), 2)]


def _two_dims_out_of_range(make):
    return [(IndexError, "out of range", make(2, 3), 0, 2)]


def _shapes(make):
    return [
        (make(2, 3), [3, 2]),
        (make(2, 3), [-1]),
        (make(6), [1, 2, 3]),
        (make(), [1]),
        (make(0, 3), [3, 0]),
        (make(4, layout="gaps"), [2, 2]),
    ]


def _as_shape(x, shape):
    return x.shape if isinstance(shape, minitorch.dtype) else shape


def _wrong_size(make):
    return [(RuntimeError, "", make(2, 3), [4]), (RuntimeError, "", make(2, 3), [-1, -1])]


def _two_dims(make):
    return [
        (make(2, 3), 0, 1),
        (make(2, 3, 2), -1, 0),
        (make(3, 2, layout="columns"), 0, 1),
        (make(), 0, -1),
        (make(2, 0), 0, 1),
        (make(2, 3, layout="expanded"), 1, 0),
    ]


def _moves(make):
    return [
        (make(2, 3, 1), 0, 2),
        (make(2, 3, 2), [0, 1], [1, 2]),
        (make(3, 2, layout="columns"), -1, 0),
        (make(), 0, 0),
    ]


def _np_squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    return x.reshape([n for d, n in enumerate(x.shape) if n != 1 or d not in [e % x.ndim for e in dims]])


def _np_split(x, size, dim=0):
    if isinstance(size, int):
        places = list(range(size, x.shape[dim], size))
    else:
        places = list(np.cumsum(size)[:-1])
    return np.split(x, places, dim)


def _np_chunk(x, chunks, dim=0):
    return _np_split(x, max(-(-x.shape[dim] // chunks), 1), dim)


def _np_tensor_split(x, sections, dim=0):
    if isinstance(sections, np.ndarray):
        sections = sections.tolist()
    return np.array_split(x, sections, dim)


def _sections(dim):
    def samples(make):
        shape = [2, 2, 2]
        shape[dim] = 4
        return [(make(*shape), 2), (make(*shape), [1, 3]), (make(*shape, layout="columns"), 4)]

    return samples


def _np_unfold(x, dim, size, step):
    return np.moveaxis(
        np.lib.stride_tricks.sliding_window_view(x, size, dim).take(range(0, x.shape[dim] - size + 1, step), dim),
        -1,
        -1,
    )


def _flatten(x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(*x.shape[:start], -1, *x.shape[end + 1 :])


def _atleast_3d(x):
    return np.atleast_3d(x)


def _to_samples(make):
    return [
        (make(2, 3), minitorch.float64),
        (make(3, 2, layout="columns"), {"dtype": minitorch.float64}),
        (make(2, 3), "cpu"),
        (make(2), make(1)),
        (make(2), make.dtype, {"copy": True}),
        (make(), minitorch.device("cpu"), minitorch.float64),
    ]


def _to(x, *args, dtype=None, copy=False):
    wanted = [a for a in (*args, dtype) if isinstance(a, minitorch.dtype)]
    return x.astype(wanted[0].np) if wanted else x


SHAPES = [
    record(
        "Tensor.view",
        lambda make: [*_shapes(make), (make(2, 4, grad=False), make.dtype)],
        lambda x, shape: np.reshape(x, _as_shape(x, shape)),
        errors=lambda make: [*_wrong_size(make), (RuntimeError, "view|reshape", make(3, 2, layout="columns"), [6])],
        dtypes=FLOATS,
        no_layouts="a view needs strides that fit",
    ),
    record(
        "reshape",
        lambda make: [*_shapes(make), (make(3, 2, layout="columns"), [6])],
        np.reshape,
        errors=_wrong_size,
        **EVERYTHING,
    ),
    record(
        "Tensor.reshape_as",
        lambda make: [(make(2, 3), make(6, grad=False))],
        lambda x, y: x.reshape(y.shape),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(4))],
        **EVERYTHING,
    ),
    record(
        "Tensor.view_as",
        lambda make: [(make(2, 3), make(6, grad=False))],
        lambda x, y: x.reshape(y.shape),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(4))],
        no_layouts="a view needs strides that fit",
        **EVERYTHING,
    ),
    record(
        "as_strided",
        lambda make: [
            (make(6), [2, 2], [3, 1]),
            (make(6), [2, 2], [1, 1], 2),
            (make(2, 3), [3], [2]),
            (make(2), [], []),
        ],
        lambda x, size, stride, offset=0: np.lib.stride_tricks.as_strided(
            x.ravel()[offset:], size, [s * x.itemsize for s in stride]
        ),
        errors=lambda make: [(RuntimeError, "", make(4), [5, 5], [1, 1]), (RuntimeError, "", make(4), [2, 2], [1])],
        no_layouts="speaks of memory, not of elements",
        **EVERYTHING,
    ),
    record(
        "flatten",
        lambda make: [(make(2, 3),), (make(2, 3, 2), 1), (make(2, 3, 2, layout="columns"), 0, 1), (make(),)],
        _flatten,
        errors=lambda make: [
            (IndexError, "out of range", make(2, 3), 0, 2),
            (RuntimeError, "start_dim", make(2, 3), 1, 0),
        ],
        **EVERYTHING,
    ),
    record(
        "unflatten",
        lambda make: [(make(2, 6), 1, [2, 3]), (make(6), 0, [-1, 2]), (make(2, 4, layout="columns"), -1, (2, 2))],
        lambda x, dim, sizes: x.reshape(*x.shape[: dim % x.ndim], *sizes, *x.shape[dim % x.ndim + 1 :]),
        errors=lambda make: [(RuntimeError, "", make(6), 0, [4, 2])],
        **EVERYTHING,
    ),
    unary("ravel", lambda x: x.reshape(-1), **EVERYTHING),
    unary("atleast_1d", np.atleast_1d, errors=None, **EVERYTHING),
    unary("atleast_2d", np.atleast_2d, errors=None, **EVERYTHING),
    unary("atleast_3d", _atleast_3d, errors=None, **EVERYTHING),
]

DIMENSIONS = [
    record(
        "transpose",
        _two_dims,
        lambda x, a, b: np.swapaxes(x, a, b) if x.ndim else x,
        errors=_two_dims_out_of_range,
        aliases=("swapaxes", "swapdims"),
        operators=("transpose", "swapaxes", "swapdims"),
        **EVERYTHING,
    ),
    record(
        "t",
        lambda make: [(make(2, 3),), (make(3),), (make(),), (make(3, 2, layout="columns"),)],
        np.transpose,
        errors=lambda make: [(RuntimeError, "2", make(2, 2, 2))],
        **EVERYTHING,
    ),
    record(
        "adjoint",
        lambda make: [(make(2, 3),), (make(2, 3, 2),), (make(2, 3, layout="columns"),)],
        lambda x: np.conj(np.swapaxes(x, -1, -2)),
        **EVERYTHING,
    ),
    record(
        "permute",
        lambda make: [
            (make(2, 3), [1, 0]),
            (make(2, 3, 2), (2, 0, 1)),
            (make(3, 2, layout="columns"), [-1, 0]),
            (make(), []),
        ],
        np.transpose,
        errors=lambda make: [(RuntimeError, "dim", make(2, 3), [0, 0]), (RuntimeError, "dim", make(2, 3), [0])],
        **EVERYTHING,
    ),
    record(
        "movedim",
        _moves,
        lambda x, a, b: np.moveaxis(x, a, b) if x.ndim else x,
        aliases=("moveaxis",),
        operators=("movedim", "moveaxis"),
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 0, 2)],
        **EVERYTHING,
    ),
    record(
        "Tensor.expand",
        lambda make: [
            (make(2, 1), [2, 3]),
            (make(3), [2, 3]),
            (make(2, 1), [-1, 3]),
            (make(), [2]),
            (make(1, 2, layout="gaps"), (3, 2)),
        ],
        lambda x, size: np.broadcast_to(x, [x.shape[i - len(size)] if n == -1 else n for i, n in enumerate(size)]),
        errors=lambda make: [(RuntimeError, "", make(2, 3), [2, 4]), (RuntimeError, "", make(2, 3), [3])],
        **EVERYTHING,
    ),
    record(
        "Tensor.expand_as",
        lambda make: [(make(2, 1), make(2, 3, grad=False)), (make(), make(2, grad=False))],
        lambda x, y: np.broadcast_to(x, y.shape),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 4))],
        **EVERYTHING,
    ),
    record(
        "broadcast_to",
        lambda make: [(make(2, 1), [2, 3]), (make(3), (2, 3)), (make(), [2])],
        np.broadcast_to,
        errors=lambda make: [(RuntimeError, "", make(2, 3), [2, 4])],
        **EVERYTHING,
    ),
    record(
        "squeeze",
        lambda make: [
            (make(2, 1, 3, 1),),
            (make(2, 1, 3), 1),
            (make(2, 1, 3), 0),
            (make(1, 2, 1), [0, 2]),
            (make(),),
            (make(1, 2, layout="gaps"), -2),
        ],
        _np_squeeze,
        errors=_out_of_range,
        **EVERYTHING,
    ),
    record(
        "unsqueeze",
        lambda make: [(make(2, 3), 0), (make(2, 3), -1), (make(3, 2, layout="columns"), 1), (make(), 0)],
        np.expand_dims,
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 3)],
        **EVERYTHING,
    ),
    record(
        "broadcast_tensors",
        lambda make: [(make(2, 1), make(3)), (make(), make(2)), (make(2, 3, layout="gaps"),)],
        np.broadcast_arrays,
        operators=(),
        errors=lambda make: [(RuntimeError, "size|shape", make(2), make(3))],
        **EVERYTHING,
    ),
]

PARTS = [
    record(
        "select",
        lambda make: [(make(2, 3), 0, 1), (make(2, 3), -1, -2), (make(3, 2, layout="columns"), 1, 0)],
        lambda x, dim, index: np.take(x, index, dim),
        errors=lambda make: [(IndexError, "out of range", make(2, 3), 0, 2), (IndexError, "", make(), 0, 0)],
        **EVERYTHING,
    ),
    record(
        "narrow",
        lambda make: [(make(2, 3), 1, 1, 2), (make(4, 2, layout="columns"), 0, -3, 2), (make(3), 0, 3, 0)],
        lambda x, dim, start, length: (
            np.take(x, range(start % (x.shape[dim] + 1), start % (x.shape[dim] + 1) + length), dim)
            if start >= 0
            else np.take(x, range(start + x.shape[dim], start + x.shape[dim] + length), dim)
        ),
        errors=lambda make: [(RuntimeError, "", make(2, 3), 1, 2, 2), (IndexError, "", make(2, 3), 1, 4, 0)],
        **EVERYTHING,
    ),
    record(
        "split",
        lambda make: [
            (make(5), 2),
            (make(2, 4), 3, 1),
            (make(4, 2, layout="columns"), [1, 3]),
            (make(2, 3), [1, 2], -1),
        ],
        _np_split,
        errors=lambda make: [(RuntimeError, "", make(4), [1, 2]), (RuntimeError, "", make(4), -1)],
        **EVERYTHING,
    ),
    record(
        "split_with_sizes",
        lambda make: [(make(5), [2, 3]), (make(2, 4, layout="columns"), [1, 3], 1)],
        _np_split,
        errors=lambda make: [(RuntimeError, "", make(4), [1, 2])],
        **EVERYTHING,
    ),
    record(
        "chunk",
        lambda make: [(make(5), 2), (make(2, 4), 3, 1), (make(4, 2, layout="columns"), 4)],
        _np_chunk,
        errors=lambda make: [(RuntimeError, "chunks", make(4), 0)],
        **EVERYTHING,
    ),
    record(
        "tensor_split",
        lambda make: [
            (make(5), 2),
            (make(2, 4), [1, 3], 1),
            (make(4, 2, layout="columns"), 3),
            (make(5), minitorch.tensor([1, 3])),
            (make(5), minitorch.tensor(2)),
        ],
        _np_tensor_split,
        no_meta="the indices may be a tensor, whose values it needs",
        errors=lambda make: [(RuntimeError, "", make(4), 0)],
        **EVERYTHING,
    ),
    record("hsplit", _sections(1), np.hsplit, errors=lambda make: [(RuntimeError, "", make(2, 3), 2)], **EVERYTHING),
    record("vsplit", _sections(0), np.vsplit, errors=lambda make: [(RuntimeError, "", make(3, 2), 2)], **EVERYTHING),
    record("dsplit", _sections(2), np.dsplit, errors=lambda make: [(RuntimeError, "", make(2, 2), 2)], **EVERYTHING),
    record(
        "unbind",
        lambda make: [(make(2, 3),), (make(2, 3), 1), (make(3, 2, layout="columns"), -1), (make(0, 2),)],
        lambda x, dim=0: [np.take(x, i, dim) for i in range(x.shape[dim])],
        errors=_out_of_range,
        **EVERYTHING,
    ),
    record(
        "diagonal",
        lambda make: [
            (make(3, 3),),
            (make(2, 4), 1),
            (make(4, 2, layout="columns"), -1),
            (make(2, 3, 2), 0, 0, 2),
            (make(2, 3), 5),
        ],
        np.diagonal,
        errors=lambda make: [
            (RuntimeError, "dim", make(2, 3), 0, 1, 1),
            (IndexError, "out of range", make(2, 3), 0, 0, 2),
        ],
        **EVERYTHING,
    ),
    record(
        "Tensor.unfold",
        lambda make: [(make(6), 0, 3, 1), (make(2, 5), 1, 2, 2), (make(4, 2, layout="columns"), 0, 2, 1)],
        _np_unfold,
        errors=lambda make: [(RuntimeError, "size", make(3), 0, 4, 1)],
        **EVERYTHING,
    ),
]

COMPLEX_VIEWS = [
    record(
        "view_as_real",
        lambda make: [(make(2, 3),), (make(),), (make(3, 2, layout="columns"),)],
        lambda z: np.stack([z.real, z.imag], -1),
        dtypes=COMPLEX,
        errors=lambda make: [(RuntimeError, "complex", make(2).real)],
    ),
    record(
        "view_as_complex",
        lambda make: [(make(2, 3, 2),), (make(2),)],
        lambda x: x[..., 0] + 1j * x[..., 1],
        dtypes=FLOATS,
        no_layouts="needs the last dimension in one piece",
        errors=lambda make: [(RuntimeError, "2", make(3))],
    ),
    unary("conj", np.conj, **EVERYTHING),
    unary("_conj", np.conj, dtypes=COMPLEX),
    unary("_neg_view", np.negative, dtypes=NUMBERS),
    unary("_conj_physical", np.conj, dtypes=NUMBERS),
    unary("resolve_conj", lambda x: x, **EVERYTHING),
    unary("resolve_neg", lambda x: x, **EVERYTHING),
    unary("real", np.real, **EVERYTHING),
    record(
        "imag",
        lambda make: [(make(2, 3),), (make(),), (make(3, 2, layout="columns"),)],
        np.imag,
        dtypes=COMPLEX,
        errors=lambda make: [(RuntimeError, "complex", make(2).real)],
    ),
]

COPIES = [
    record(
        "clone",
        lambda make: [
            (make(2, 3),),
            (make(3, 2, layout="columns"),),
            (make(4, layout="gaps"),),
            (make(),),
            (make(3, 2, layout="columns"), {"memory_format": minitorch.contiguous_format}),
        ],
        lambda x, memory_format=None: x,
        **EVERYTHING,
    ),
    record(
        "Tensor.contiguous",
        lambda make: [(make(2, 3),), (make(3, 2, layout="columns"),), (make(4, layout="gaps"),)],
        lambda x: x,
        **EVERYTHING,
    ),
    record(
        "detach",
        lambda make: [(make(2, 3),), (make(3, 2, layout="columns"),)],
        lambda x: x,
        autograd=False,
        operators=("detach", "detach_"),
        no_inplace="`detach_` changes the history, not the elements",
        **EVERYTHING,
    ),
    record(
        "Tensor.copy_",
        lambda make: [
            (make(2, 3, grad=False), make(2, 3)),
            (make(3, 2, grad=False, layout="columns"), make(2)),
            (make(2, grad=False), make()),
        ],
        lambda x, y: np.broadcast_to(y, x.shape),
        errors=lambda make: [(RuntimeError, "", make(2), make(3))],
        **EVERYTHING,
    ),
    record(
        "Tensor.to",
        _to_samples,
        _to,
        dtypes=FLOATS,
        no_meta="of a device, which is not meta",
        errors=lambda make: [(TypeError, "", make(2), "cpu", "cpu")],
    ),
    record(
        "Tensor.type_as",
        lambda make: [(make(2, 3), minitorch.zeros(1, dtype=minitorch.float64)), (make(2), make(1))],
        lambda x, y: x.astype(y.dtype) if y.dtype == np.float64 else x,
        dtypes=FLOATS_AND_COMPLEX[:2],
    ),
    record(
        "fill",
        lambda make: [(make(2, 3), 2), (make(3, 2, layout="columns"), make()), (make(), 1), (make(0), 1)],
        lambda x, value: np.full(x.shape, value, x.dtype),
        errors=lambda make: [(RuntimeError, "", make(2), make(2))],
        **EVERYTHING,
    ),
    record(
        "zero_",
        lambda make: [(make(2, 3, grad=False),), (make(3, 2, grad=False, layout="columns"),)],
        np.zeros_like,
        autograd=False,
        no_inplace="it is one",
        **EVERYTHING,
    ),
    record(
        "Tensor.item",
        lambda make: [(make(),), (make(1, 1),)],
        lambda x: x.item(),
        autograd=False,
        no_meta="a meta tensor has no values",
        errors=lambda make: [(RuntimeError, "", make(2))],
        dtypes=FLOATS[1:],
    ),
    record(
        "is_nonzero",
        lambda make: [(make(),), (make(1),)],
        lambda x: bool(x),
        autograd=False,
        no_meta="a meta tensor has no values",
        errors=lambda make: [(RuntimeError, "", make(2))],
        **EVERYTHING,
    ),
    record(
        "Tensor.resize_",
        lambda make: [(make(6, grad=False), [2, 3]), (make(2, 3, grad=False), [2, 2])],
        lambda x, size: x.ravel()[: np.prod(size)].reshape(size),
        no_layouts="speaks of memory, not of elements",
        autograd=False,
        errors=lambda make: [(RuntimeError, "negative", make(2), [-1])],
        **EVERYTHING,
    ),
]

CASTS = [
    record(
        f"Tensor.{name}",
        lambda make: [
            (make(2, 3, low=0, high=3),),
            (make(3, 2, layout="columns", low=0, high=3),),
            (make(low=0, high=3),),
        ],
        lambda x, dtype=dtype: x.astype(dtype),
        operators=(),
        dtypes=FLOATS,
        autograd=name in ("float", "double", "cfloat", "cdouble", "half", "bfloat16"),
        # Half precision has no differences that tell a gradient.
        no_gradcheck="rounds away the steps of gradcheck" if name in ("half", "bfloat16", "float", "cfloat") else "",
    )
    for name, dtype in (
        ("float", np.float64),
        ("double", np.float64),
        ("half", np.float64),
        ("bfloat16", np.float64),
        ("cfloat", np.complex128),
        ("cdouble", np.complex128),
        ("int", np.int32),
        ("long", np.int64),
        ("short", np.int16),
        ("char", np.int8),
        ("byte", np.uint8),
        ("bool", np.bool_),
    )
]
PROPERTIES = [
    record(
        f"Tensor.{name}",
        lambda make: [(make(2, 3),), (make(3, 2, layout="columns"),)],
        reference,
        operators=(),
        call=lambda x, name=name: getattr(x, name),
        **EVERYTHING,
    )
    for name, reference in (
        ("T", np.transpose),
        ("mT", np.transpose),
        ("H", lambda x: np.conj(x.T)),
        ("mH", lambda x: np.conj(x.T)),
    )
]

RECORDS = [*SHAPES, *DIMENSIONS, *PARTS, *COMPLEX_VIEWS, *COPIES, *CASTS, *PROPERTIES]
