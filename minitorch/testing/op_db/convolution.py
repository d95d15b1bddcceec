"""Records of convolutions."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import COMPLEX, FLOATS, REAL_FLOATS
from minitorch.testing.op_db.samples import record

KINDS: dict = dict(dtypes=FLOATS + COMPLEX)


def _many(value, count):
    return [value] * count if isinstance(value, int) else list(value) * (count if len(value) == 1 else 1)


def _convolve(x, weight, stride, padding, dilation, groups):
    """Return the convolution of a batch, tap by tap."""
    dims = weight.ndim - 2
    stride, padding, dilation = (_many(v, dims) for v in (stride, padding, dilation))
    x = np.pad(x, [(0, 0), (0, 0)] + [(p, p) for p in padding])
    taps = weight.shape[2:]
    sizes = [(x.shape[2 + d] - dilation[d] * (taps[d] - 1) - 1) // stride[d] + 1 for d in range(dims)]
    outputs, inputs = weight.shape[0] // groups, weight.shape[1]
    result = np.zeros((x.shape[0], weight.shape[0], *sizes), np.result_type(x, weight))
    for tap in np.ndindex(*taps):
        window = tuple(
            slice(tap[d] * dilation[d], tap[d] * dilation[d] + stride[d] * (sizes[d] - 1) + 1, stride[d])
            for d in range(dims)
        )
        part = x[(slice(None), slice(None), *window)]
        for g in range(groups):
            w = weight[(slice(g * outputs, (g + 1) * outputs), slice(None), *tap)]
            result[:, g * outputs : (g + 1) * outputs] += np.einsum(
                "bi...,oi->bo...", part[:, g * inputs : (g + 1) * inputs], w
            )
    return result


def _conv(dims):
    def reference(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        single = x.ndim == dims + 1
        x = x[None] if single else x
        if padding == "valid":
            padding = 0
        elif padding == "same":
            dilations = _many(dilation, dims)
            totals = [dilations[d] * (weight.shape[2 + d] - 1) for d in range(dims)]
            x = np.pad(x, [(0, 0), (0, 0)] + [(t // 2, t - t // 2) for t in totals])
            padding = 0
        result = _convolve(x, weight, stride, padding, dilation, groups)
        if bias is not None:
            result = result + bias.reshape([-1] + [1] * dims)
        return result[0] if single else result

    return reference


def _conv_transpose(dims):
    def reference(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        single = x.ndim == dims + 1
        x = x[None] if single else x
        stride, padding, extra, dilation = (_many(v, dims) for v in (stride, padding, output_padding, dilation))
        taps = weight.shape[2:]
        full = [(x.shape[2 + d] - 1) * stride[d] + dilation[d] * (taps[d] - 1) + 1 for d in range(dims)]
        outputs, inputs = weight.shape[1], weight.shape[0] // groups
        room = [full[d] + max(extra[d] - padding[d], 0) for d in range(dims)]
        result = np.zeros((x.shape[0], outputs * groups, *room), np.result_type(x, weight))
        for tap in np.ndindex(*taps):
            window = tuple(
                slice(tap[d] * dilation[d], tap[d] * dilation[d] + stride[d] * (x.shape[2 + d] - 1) + 1, stride[d])
                for d in range(dims)
            )
            for g in range(groups):
                w = weight[(slice(g * inputs, (g + 1) * inputs), slice(None), *tap)]
                part = np.einsum("bi...,io->bo...", x[:, g * inputs : (g + 1) * inputs], w)
                result[(slice(None), slice(g * outputs, (g + 1) * outputs), *window)] += part
        result = result[
            (slice(None), slice(None), *(slice(padding[d], full[d] - padding[d] + extra[d]) for d in range(dims)))
        ]
        if bias is not None:
            result = result + bias.reshape([-1] + [1] * dims)
        return result[0] if single else result

    return reference


def _unfolded(x, kernel_size, dilation=1, padding=0, stride=1):
    kernel, dilation, padding, stride = (_many(v, 2) for v in (kernel_size, dilation, padding, stride))
    x = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(p, p) for p in padding])
    sizes = [(x.shape[d - 2] - dilation[d] * (kernel[d] - 1) - 1) // stride[d] + 1 for d in range(2)]
    columns = [
        x[
            ...,
            i * dilation[0] : i * dilation[0] + stride[0] * (sizes[0] - 1) + 1 : stride[0],
            j * dilation[1] : j * dilation[1] + stride[1] * (sizes[1] - 1) + 1 : stride[1],
        ]
        for i in range(kernel[0])
        for j in range(kernel[1])
    ]
    stacked = np.stack(columns, -3)  # (..., channels, taps, rows, columns)
    return stacked.reshape(*x.shape[:-3], x.shape[-3] * len(columns), sizes[0] * sizes[1])


def _folded(x, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The transpose of `_unfolded`, column by column."""
    rows, columns = _many(output_size, 2)
    channels = x.shape[-2] // int(np.prod(_many(kernel_size, 2)))
    result = np.zeros((*x.shape[:-2], channels, rows, columns), x.dtype)
    for place in np.ndindex(channels, rows, columns):
        unit = np.zeros((channels, rows, columns))
        unit[place] = 1
        result[(..., *place)] = (x * _unfolded(unit, kernel_size, dilation, padding, stride)).sum((-1, -2))
    return result


def _samples(dims):
    size, taps = {1: (5,), 2: (4, 3), 3: (3, 3, 2)}[dims], {1: (2,), 2: (2, 2), 3: (2, 2, 1)}[dims]
    ones, twos = (1,) * dims, (2,) * dims

    def samples(make):
        shorter = [
            (make(1, 2, *size), make(2, 2, *taps), make(2)),
            (make(2, *size), make(1, 2, *taps), None, 1, 1),
            (make(1, 2, *size, layout="columns"), make(2, 1, *taps), make(2), {"groups": 2, "stride": 2}),
        ]
        if dims == 3:
            return shorter
        return [
            *shorter,
            (make(1, 2, *size), make(2, 2, *taps, layout="gaps"), None, {"padding": ones, "dilation": twos}),
            (make(1, 1, *size), make(2, 1, *taps), {"padding": "same"}),
            (make(1, 1, *size), make(2, 1, *taps), {"padding": "valid"}),
        ]

    return samples


def _transposed_samples(dims):
    size, taps = {1: (4,), 2: (3, 2), 3: (2, 2, 2)}[dims], {1: (3,), 2: (2, 3), 3: (2, 1, 2)}[dims]

    def samples(make):
        return [
            (make(1, 2, *size), make(2, 2, *taps), make(2)),
            (make(2, *size), make(2, 1, *taps), None, 2, 0, 1),
            (make(1, 2, *size, layout="columns"), make(2, 1, *taps), make(2), {"groups": 2, "stride": 2}),
        ]

    return samples


def _channels_differ(dims):
    taps, size = (2,) * dims, (4,) * dims
    return lambda make: [
        (RuntimeError, "channels", make(1, 3, *size), make(2, 2, *taps)),
        (RuntimeError, "", make(1, 2, *size), make(2, 2, *taps), make(3)),
    ]


def _raw(make, transposed=False):
    return (make(1, 2, 4), make(2, 2, 2), make(2), [1], [0], [1], transposed, [0], 1)


RECORDS = [
    *(
        record(
            f"nn.functional.conv{dims}d",
            _samples(dims),
            _conv(dims),
            operators=(f"conv{dims}d",),
            errors=_channels_differ(dims),
            **KINDS,
        )
        for dims in (1, 2, 3)
    ),
    *(
        record(
            f"nn.functional.conv_transpose{dims}d",
            _transposed_samples(dims),
            _conv_transpose(dims),
            operators=(f"conv_transpose{dims}d",),
            errors=_channels_differ(dims),
            **KINDS,
        )
        for dims in (1, 2, 3)
    ),
    record(
        "convolution",
        lambda make: [_raw(make), _raw(make, True)],
        lambda x, w, b, stride, padding, dilation, transposed, extra, groups: (
            _conv_transpose(1)(x, w, b, stride, padding, extra, groups, dilation)
            if transposed
            else _conv(1)(x, w, b, stride, padding, dilation, groups)
        ),
        operators=("convolution", "_convolution"),
        **KINDS,
    ),
    record(
        "conv_tbc",
        lambda make: [(make(4, 1, 2), make(2, 2, 3), make(3)), (make(3, 2, 1), make(2, 1, 2), make(2), 1)],
        lambda x, w, b, pad=0: np.transpose(_conv(1)(x.transpose(1, 2, 0), w.transpose(2, 1, 0), b, 1, pad), (2, 0, 1)),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "", make(4, 1, 2), make(2, 3, 3), make(3))],
    ),
    record(
        "nn.functional.unfold",
        lambda make: [
            (make(1, 2, 3, 4), (2, 2)),
            (make(2, 4, 3), 2, 1, 1, 2),
            (make(1, 1, 4, 4, layout="columns"), 2, 2),
        ],
        _unfolded,
        operators=("im2col",),
        dtypes=REAL_FLOATS + COMPLEX,
        errors=lambda make: [(RuntimeError, "", make(1, 2, 2, 2), 3)],
    ),
    record(
        "nn.functional.fold",
        lambda make: [
            (make(1, 4, 6), (3, 4), (2, 2)),
            (make(8, 4), (3, 3), 2),
            (make(1, 4, 4), (4, 4), 2, {"stride": 2}),
        ],
        _folded,
        operators=("col2im",),
        dtypes=REAL_FLOATS + COMPLEX,
        errors=lambda make: [(RuntimeError, "", make(1, 4, 5), (3, 4), (2, 2))],
    ),
]
