"""Records of pooling."""

from __future__ import annotations

import itertools

import numpy as np

import minitorch
from minitorch.testing.op_db.record import FLOATS, REAL_FLOATS
from minitorch.testing.op_db.samples import record

REAL: dict = dict(dtypes=REAL_FLOATS)
SINGLE_OR_DOUBLE: dict = dict(dtypes=FLOATS)
SIZES = {1: (6,), 2: (4, 5), 3: (3, 4, 2)}


def _many(value, count):
    return [value] * count if isinstance(value, int) else list(value) * (count if len(value) == 1 else 1)


def _output_size(size, kernel, stride, padding, dilation, ceil_mode):
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    if not ceil_mode:
        return span // stride + 1
    count = -(-span // stride) + 1
    # The last window has to start inside the input or its left padding.
    return count - 1 if (count - 1) * stride >= size + padding else count


def _windows(x, dims, kernel, stride, padding, dilation, ceil_mode):
    """Yield the place of each window in the output, and the places of its elements along each dimension."""
    sizes = [
        _output_size(x.shape[d - dims], kernel[d], stride[d], padding[d], dilation[d], ceil_mode) for d in range(dims)
    ]
    yield sizes
    for place in np.ndindex(*sizes):
        starts = [place[d] * stride[d] - padding[d] for d in range(dims)]
        yield (
            place,
            starts,
            [
                [
                    i
                    for i in range(starts[d], starts[d] + kernel[d] * dilation[d], dilation[d])
                    if 0 <= i < x.shape[d - dims]
                ]
                for d in range(dims)
            ],
        )


def _max_pool(dims):
    def reference(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        kernel = _many(kernel_size, dims)
        stride = kernel if stride is None else _many(stride, dims)
        windows = _windows(x, dims, kernel, stride, _many(padding, dims), _many(dilation, dims), ceil_mode)
        sizes = next(windows)
        result = np.zeros((*x.shape[:-dims], *sizes))
        indices = np.zeros(result.shape, np.int64)
        for place, _, inside in windows:
            part = x[np.ix_(*[range(n) for n in x.shape[:-dims]], *inside)].reshape(*x.shape[:-dims], -1)
            flat = [np.ravel_multi_index(p, x.shape[-dims:]) for p in itertools.product(*inside)]
            result[(..., *place)] = part.max(-1)
            indices[(..., *place)] = np.asarray(flat)[part.argmax(-1)]
        return (result, indices) if return_indices else result

    return reference


def _avg_pool(dims):
    def reference(
        x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
    ):
        kernel = _many(kernel_size, dims)
        stride = kernel if stride is None else _many(stride, dims)
        padding = _many(padding, dims)
        windows = _windows(x, dims, kernel, stride, padding, [1] * dims, ceil_mode)
        result = np.zeros((*x.shape[:-dims], *next(windows)))
        for place, starts, inside in windows:
            total = x[np.ix_(*[range(n) for n in x.shape[:-dims]], *inside)].sum(tuple(range(-dims, 0)))
            count = np.prod([len(i) for i in inside])
            if count_include_pad:
                ends = [
                    min(s + k, x.shape[d - dims] + padding[d])
                    for d, (s, k) in enumerate(zip(starts, kernel, strict=True))
                ]
                count = np.prod([e - s for s, e in zip(starts, ends, strict=True)])
            result[(..., *place)] = total / (divisor_override or count)
        return result

    return reference


def _adaptive(dims, reduce):
    def reference(x, output_size, return_indices=False):
        sizes = [x.shape[d - dims] if n is None else n for d, n in enumerate(_many(output_size, dims))]
        result = np.zeros((*x.shape[:-dims], *sizes))
        for place in np.ndindex(*sizes):
            inside = [
                range(place[d] * x.shape[d - dims] // sizes[d], -(-(place[d] + 1) * x.shape[d - dims] // sizes[d]))
                for d in range(dims)
            ]
            part = x[np.ix_(*[range(n) for n in x.shape[:-dims]], *inside)].reshape(*x.shape[:-dims], -1)
            result[(..., *place)] = reduce(part, -1)
        return result

    return reference


def _lp_pool(dims):
    average = _avg_pool(dims)

    def reference(x, norm_type, kernel_size, stride=None, ceil_mode=False):
        total = average(x**norm_type, kernel_size, stride, 0, ceil_mode, divisor_override=1)
        return np.maximum(total, 0) ** (1 / norm_type)

    return reference


def _max_samples(dims):
    size = SIZES[dims]

    def samples(make):
        return [
            (make(1, 2, *size), 2),
            (make(1, *size), 2, 1, 1),
            (make(2, 1, *size, layout="columns"), 2, {"stride": 2, "ceil_mode": True}),
            (make(1, 1, *size), 2, 1, 0, 2 if dims < 3 else 1),
            (make(1, 1, *size), 2, {"return_indices": True}),
        ]

    return samples


def _avg_samples(dims):
    size = SIZES[dims]

    def samples(make):
        result = [
            (make(1, 2, *size), 2),
            (make(1, *size), 2, 1, 1),
            (make(2, 1, *size, layout="columns"), 2, {"stride": 2, "ceil_mode": True}),
            (make(1, 1, *size), 2, 1, 1, False, False),
        ]
        return result if dims == 1 else [*result, (make(1, 1, *size), 2, {"divisor_override": 3})]

    return samples


def _adaptive_samples(dims):
    size = SIZES[dims]

    def samples(make):
        return [
            (make(1, 2, *size), 2),
            (make(1, *size), [3] if dims == 1 else [2, 3, 1][:dims]),
            (make(2, 1, *size, layout="columns"), 1),
        ]

    return samples


def _kernel_too_large(dims):
    return lambda make: [
        (RuntimeError, "", make(1, 1, *SIZES[dims]), 9),
        (RuntimeError, "", make(2, 1, 1, 1, 1, 1, 1, 1), 2),
    ]


def _wrong_dims(dims):
    return lambda make: [((RuntimeError, ValueError), "", make(2), [2] * dims)]


def _unpool_samples(dims):
    def samples(make):
        pool = getattr(minitorch.nn.functional, f"max_pool{dims}d")
        x = make(1, 2, *[4, 4, 2][:dims], grad=False)
        values, indices = pool(x, 2, return_indices=True)
        given = values.detach().requires_grad_(make.requires_grad)
        return [(given, indices, 2), (given, indices, 2, {"output_size": x.shape[2:]})]

    return samples


OPERATORS_OF_MAX = {
    1: ("max_pool1d", "max_pool1d_with_indices"),
    2: ("max_pool2d", "max_pool2d_with_indices"),
    3: ("max_pool3d", "max_pool3d_with_indices"),
}
OPERATORS_OF_AVERAGE = {
    1: ("adaptive_avg_pool1d",),
    2: ("adaptive_avg_pool2d", "_adaptive_avg_pool2d"),
    3: ("adaptive_avg_pool3d", "_adaptive_avg_pool3d"),
}

MAX = [
    record(
        f"nn.functional.max_pool{d}d",
        _max_samples(d),
        _max_pool(d),
        operators=OPERATORS_OF_MAX[d],
        errors=_kernel_too_large(d),
        **REAL,
    )
    for d in (1, 2, 3)
]
AVERAGE = [
    record(
        f"nn.functional.avg_pool{d}d",
        _avg_samples(d),
        _avg_pool(d),
        operators=(f"avg_pool{d}d",),
        errors=_kernel_too_large(d),
        **REAL,
    )
    for d in (1, 2, 3)
]
ADAPTIVE = [
    *(
        record(
            f"nn.functional.adaptive_avg_pool{d}d",
            _adaptive_samples(d),
            _adaptive(d, np.mean),
            operators=OPERATORS_OF_AVERAGE[d],
            errors=_wrong_dims(d),
            no_out="the public function has none" if d > 1 else "",
            **REAL,
        )
        for d in (1, 2, 3)
    ),
    *(
        record(
            f"nn.functional.adaptive_max_pool{d}d",
            _adaptive_samples(d),
            _adaptive(d, np.max),
            operators=(f"adaptive_max_pool{d}d",),
            errors=_wrong_dims(d),
            no_out="the public function has none",
            **SINGLE_OR_DOUBLE,
        )
        for d in (1, 2, 3)
    ),
]
OTHERS = [
    *(
        record(
            f"nn.functional.max_unpool{d}d",
            _unpool_samples(d),
            operators=(f"max_unpool{d}d",) if d > 1 else (),
            no_out="the public function has none",
            errors=lambda make: (
                [((RuntimeError, ValueError), "", make(1, 2, 2, 2), make.indices(1, 2, 2, 3, high=4), 2)]
                if d == 2
                else []
            ),
            **SINGLE_OR_DOUBLE,
        )
        for d in (1, 2, 3)
    ),
    *(
        record(
            f"nn.functional.lp_pool{d}d",
            lambda make, d=d: [
                (make(1, 2, *SIZES[d], low=0.2, high=2), 2.0, 2),
                (make(1, 1, *SIZES[d], low=0.2, high=2), 3.0, 2, 1),
            ],
            _lp_pool(d),
            operators=(),
            **SINGLE_OR_DOUBLE,
        )
        for d in (1, 2, 3)
    ),
]

FRACTIONAL = [
    record(
        f"nn.functional.fractional_max_pool{d}d",
        lambda make, d=d: [
            (make(1, 1, *[4] * d), 2, {"output_size": 2, "_random_samples": make(1, 1, d, low=0, high=1, grad=False)})
        ],
        operators=(f"fractional_max_pool{d}d",),
        **SINGLE_OR_DOUBLE,
    )
    for d in (2, 3)
]

RECORDS = [*MAX, *AVERAGE, *ADAPTIVE, *OTHERS, *FRACTIONAL]
