"""Records of padding, resampling and other operators of images."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import ANY, FLOATS, FLOATS_AND_COMPLEX
from minitorch.testing.op_db.samples import record

SINGLE_OR_DOUBLE: dict = dict(dtypes=FLOATS)


def _pad(x, pad, mode="constant", value=None):
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]
    # A negative width cuts away.
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(x.shape, widths, strict=True))
    widths = [(max(a, 0), max(b, 0)) for a, b in widths]
    if mode == "constant":
        return np.pad(x[cut], widths, constant_values=0 if value is None else value)
    return np.pad(x[cut], widths, {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}[mode])


def _pixel_shuffle(x, r):
    *batch, c, h, w = x.shape
    x = x.reshape(*batch, c // r**2, r, r, h, w)
    n = len(batch)
    return x.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2).reshape(*batch, c // r**2, h * r, w * r)


def _pixel_unshuffle(x, r):
    *batch, c, h, w = x.shape
    x = x.reshape(*batch, c, h // r, r, w // r, r)
    n = len(batch)
    return x.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3).reshape(*batch, c * r**2, h // r, w // r)


def _channel_shuffle(x, groups):
    b, c, *rest = x.shape
    return x.reshape(b, groups, c // groups, *rest).swapaxes(1, 2).reshape(x.shape)


def _resized(x, size, mode, align_corners=False):
    """Return a batch resized one dimension after the other by nearest or linear sampling."""
    for d, n in enumerate(size):
        axis, old = 2 + d, x.shape[2 + d]
        if mode == "nearest":
            x = np.take(x, np.arange(n) * old // n, axis)
            continue
        if mode == "nearest-exact":
            x = np.take(x, np.floor((np.arange(n) + 0.5) * old / n).astype(int), axis)
            continue
        if align_corners:
            place = np.arange(n) * (old - 1) / max(n - 1, 1)
        else:
            place = np.maximum((np.arange(n) + 0.5) * old / n - 0.5, 0)
        low = np.minimum(place.astype(int), old - 1)
        high = np.minimum(low + 1, old - 1)
        weight = (place - low).reshape([-1 if a == axis else 1 for a in range(x.ndim)])
        x = np.take(x, low, axis) * (1 - weight) + np.take(x, high, axis) * weight
    return x


def _interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None):
    dims = x.ndim - 2
    if size is None:
        size = [int(n * scale_factor) for n in x.shape[2:]]
    size = [size] * dims if isinstance(size, int) else size
    return _resized(x, size, mode, bool(align_corners))


def _upsampled(mode):
    return lambda x, size, align=False, *scales: _resized(x, size, mode, align)


def _interpolated(make):
    return [
        (make(1, 2, 4), 6),
        (make(1, 2, 3, 2), (4, 3)),
        (make(1, 1, 2, 3), None, 2.0),
        (make(1, 1, 2, 2, 2), 3),
        (make(1, 1, 3, 4, layout="columns"), 2),
        (make(1, 2, 4), 6, None, "linear"),
        (make(1, 1, 3, 2), (4, 3), None, "bilinear", True),
        (make(1, 1, 3, 2, layout="columns"), 4, None, "bilinear", False),
        (make(1, 1, 2, 2, 2), 3, None, "trilinear", False),
        (make(1, 1, 3, 2), (2, 4), None, "nearest-exact"),
    ]


def _grid(make, *shape):
    # Off the places where a point moves from one pixel to the next, and off the borders.
    return make(*shape, low=-0.9, high=0.9)


def _grid_sample(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """Bilinear, or nearest, sampling of a batch of images, with zeros or the border outside."""
    b, c, h, w = x.shape
    scale = (lambda g, n: (g + 1) / 2 * (n - 1)) if align_corners else (lambda g, n: ((g + 1) * n - 1) / 2)
    columns, rows = scale(grid[..., 0], w), scale(grid[..., 1], h)
    if padding_mode == "border":
        columns, rows = np.clip(columns, 0, w - 1), np.clip(rows, 0, h - 1)
    result = np.zeros((b, c, *grid.shape[1:3]))

    def pixel(i, j):
        inside = (i >= 0) & (i < h) & (j >= 0) & (j < w)
        values = np.stack([x[n][:, np.clip(i[n], 0, h - 1), np.clip(j[n], 0, w - 1)] for n in range(b)])
        return values * inside[:, None]

    if mode == "nearest":
        return pixel(np.rint(rows).astype(int), np.rint(columns).astype(int))
    low_i, low_j = np.floor(rows).astype(int), np.floor(columns).astype(int)
    for di in (0, 1):
        for dj in (0, 1):
            i, j = low_i + di, low_j + dj
            result += pixel(i, j) * ((1 - np.abs(rows - i)) * (1 - np.abs(columns - j)))[:, None]
    return result


def _affine_grid(theta, size, align_corners=False):
    def line(n):
        if align_corners:
            return np.linspace(-1, 1, n) if n > 1 else np.zeros(1)
        return (np.arange(n) * 2 + 1) / n - 1

    rows, columns = np.meshgrid(line(size[-2]), line(size[-1]), indexing="ij")
    points = np.stack([columns, rows, np.ones_like(rows)], -1)
    return np.einsum("hwk,bck->bhwc", points, theta)


def _grid_sampler(x, grid, mode, padding, align):
    return _grid_sample(
        x, grid, ("bilinear", "nearest", "bicubic")[mode], ("zeros", "border", "reflection")[padding], align
    )


PADDING = [
    record(
        "nn.functional.pad",
        lambda make: [
            (make(2, 3), (1, 2)),
            (make(2, 3, layout="columns"), (1, 0, 2, 1), "constant", 1.5),
            (make(2, 4), (-1, 1)),
            (make(1, 2, 4), (1, 2), "reflect"),
            (make(1, 3, 4), (1, 1, 2, 1), "reflect"),
            (make(1, 2, 3), (2, 1), "replicate"),
            (make(1, 1, 2, 3), (1, 1, 1, 2), "replicate"),
            (make(1, 2, 3), (2, 1), "circular"),
            (make(1, 1, 3, 2), (1, 1, 1, 0), "circular"),
            (make(1, 1, 2, 3, 2), (1, 0, 1, 1, 1, 1), "reflect"),
            (make(1, 1, 2, 2, 2), (1, 0, 1, 1, 0, 1), "replicate"),
        ],
        _pad,
        dtypes=FLOATS_AND_COMPLEX[:2] + FLOATS_AND_COMPLEX[4:],
        operators=(
            "pad",
            "constant_pad_nd",
            "_pad_circular",
            "reflection_pad1d",
            "reflection_pad2d",
            "reflection_pad3d",
            "replication_pad1d",
            "replication_pad2d",
            "replication_pad3d",
        ),
        errors=lambda make: [
            (RuntimeError, "", make(2, 3), (1,)),
            (RuntimeError, "", make(1, 2, 3), (3, 0), "reflect"),
            ((NotImplementedError, RuntimeError, ValueError), "", make(2, 3), (1, 1), "mirror"),
        ],
    ),
    record(
        "constant_pad_nd",
        lambda make: [(make(2, 3), [1, 2]), (make(2, 3), [1, 0, 2, 1], 1)],
        lambda x, pad, value=0: _pad(x, pad, "constant", value),
        dtypes=ANY,
        errors=lambda make: [(RuntimeError, "", make(2, 3), [1])],
    ),
]

RESIZING = [
    record(
        "nn.functional.interpolate",
        _interpolated,
        _interpolate,
        operators=(
            "upsample_nearest1d",
            "upsample_nearest2d",
            "upsample_nearest3d",
            "_upsample_nearest_exact1d",
            "_upsample_nearest_exact2d",
            "_upsample_nearest_exact3d",
            "upsample_linear1d",
            "upsample_bilinear2d",
            "upsample_trilinear3d",
        ),
        errors=lambda make: [
            (ValueError, "", make(1, 2, 3)),
            (NotImplementedError, "", make(1, 2, 3), 4, None, "bilinear"),
        ],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.grid_sample",
        lambda make: [
            (make(1, 2, 3, 4), _grid(make, 1, 2, 3, 2), {"align_corners": False}),
            (make(2, 1, 3, 3), _grid(make, 2, 2, 2, 2), "bilinear", "border", True),
            (make(1, 1, 3, 4), _grid(make, 1, 2, 2, 2), "nearest", "zeros", False),
        ],
        _grid_sample,
        operators=("grid_sampler", "grid_sampler_2d"),
        errors=lambda make: [
            (RuntimeError, "", make(1, 2, 3, 4), make(1, 2, 3, 3), {"align_corners": False}),
            (ValueError, "mode", make(1, 1, 2, 2), make(1, 1, 1, 2), {"mode": "no"}),
        ],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "grid_sampler_2d",
        lambda make: [
            (make(1, 2, 3, 4), _grid(make, 1, 2, 3, 2), 0, 0, False),
            (make(1, 1, 3, 3), _grid(make, 1, 2, 2, 2), 0, 1, True),
        ],
        _grid_sampler,
        no_out="in PyTorch it has none either",
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "grid_sampler_3d",
        lambda make: [
            (make(1, 1, 2, 3, 2), _grid(make, 1, 2, 2, 2, 3), 0, 0, False),
            (make(1, 1, 2, 3, 2), _grid(make, 1, 2, 2, 2, 3), 0, 1, True),
        ],
        no_out="in PyTorch it has none either",
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.affine_grid",
        lambda make: [
            (make(2, 2, 3), [2, 1, 3, 2], {"align_corners": False}),
            (make(1, 2, 3), [1, 1, 2, 2], {"align_corners": True}),
        ],
        _affine_grid,
        operators=("affine_grid_generator",),
        errors=lambda make: [(ValueError, "", make(1, 3, 3), [1, 1, 2, 2], {"align_corners": False})],
        **SINGLE_OR_DOUBLE,
    ),
]

SHUFFLES = [
    record(
        "nn.functional.pixel_shuffle",
        lambda make: [(make(1, 4, 2, 3), 2), (make(2, 4, 1, 2, layout="columns"), 2), (make(9, 1, 2), 3)],
        _pixel_shuffle,
        operators=("pixel_shuffle",),
        errors=lambda make: [(RuntimeError, "", make(1, 3, 2, 2), 2)],
        dtypes=ANY,
    ),
    record(
        "nn.functional.pixel_unshuffle",
        lambda make: [(make(1, 1, 4, 2), 2), (make(2, 1, 2, 4, layout="columns"), 2), (make(1, 3, 3), 3)],
        _pixel_unshuffle,
        operators=("pixel_unshuffle",),
        errors=lambda make: [(RuntimeError, "", make(1, 1, 3, 2), 2)],
        dtypes=ANY,
    ),
    record(
        "nn.functional.channel_shuffle",
        lambda make: [(make(1, 4, 2, 2), 2), (make(2, 6, 1, 2, layout="columns"), 3)],
        _channel_shuffle,
        operators=("channel_shuffle",),
        errors=lambda make: [(RuntimeError, "", make(1, 3, 2, 2), 2)],
        dtypes=ANY,
    ),
]


def _bicubic(make):
    return [(make(1, 1, 4, 3), [5, 2], False), (make(1, 1, 4, 3), [5, 4], True)]


def _smaller(make):
    return [(make(1, 1, 6, 4), [3, 2], False)]


MORE = [
    record(
        "ops.aten.upsample_bicubic2d",
        _bicubic,
        operators=("upsample_bicubic2d",),
        no_out="its out= form is not the public function's",
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "ops.aten._upsample_bilinear2d_aa",
        _smaller,
        operators=("_upsample_bilinear2d_aa",),
        no_out="its out= form is not the public function's",
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "ops.aten._upsample_bicubic2d_aa",
        _smaller,
        operators=("_upsample_bicubic2d_aa",),
        no_out="its out= form is not the public function's",
        **SINGLE_OR_DOUBLE,
    ),
]

RECORDS = [*PADDING, *RESIZING, *SHUFFLES, *MORE]
