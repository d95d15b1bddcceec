"""Records of the discrete Fourier transforms."""

from __future__ import annotations

import numpy as np

from minitorch.testing.op_db.record import COMPLEX, FLOATS, OpRecord
from minitorch.testing.op_db.samples import record

REAL_OR_COMPLEX = FLOATS + COMPLEX


def _one(make):
    return [
        (make(5),),
        (make(2, 4), 6),
        (make(4, 3, layout="columns"), 3, 0),
        (make(2, 4), None, -1, "ortho"),
        (make(4, layout="gaps"), {"norm": "forward"}),
    ]


def _two(make):
    return [
        (make(3, 4),),
        (make(2, 3, 4), [4, 3]),
        (make(4, 3, layout="columns"), {"norm": "ortho"}),
        (make(3, 4, 2), None, (0, 1)),
    ]


def _many(make):
    return [
        (make(3, 4),),
        (make(2, 3, 4), [4], [1]),
        (make(4, 3, layout="columns"), {"norm": "ortho"}),
        (make(2, 3, 2), {"dim": (0, 2)}),
    ]


def _errors(make):
    return [(RuntimeError, "", make(3), 0), (IndexError, "out of range", make(2, 3), None, 2)]


def _errors_of_many(make):
    return [(RuntimeError, "", make(2, 3), None, [0, 0]), (IndexError, "out of range", make(2, 3), None, [2, 0])]


def _numpy_one(function):
    return lambda x, n=None, dim=-1, norm=None: function(x, n, dim, norm)


def _numpy_many(function, default=None):
    return lambda x, s=None, dim=default, norm=None: function(x, s, _dims(x, s, dim), norm)


def _dims(x, s, dim):
    """Return the axes: the last ones of `s`, or all."""
    if dim is not None:
        return tuple(dim)
    return tuple(range(-len(s), 0)) if s is not None else tuple(range(-x.ndim, 0))


_OTHER_WAY = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def _hfft_many(default=None):
    """Return the transform of a half Hermitian signal over several dimensions: irfftn of the conjugate."""

    def reference(x, s=None, dim=default, norm=None):
        return np.fft.irfftn(np.conj(x), s, _dims(x, s, dim), _OTHER_WAY[norm])

    return reference


def _ihfft_many(default=None):
    def reference(x, s=None, dim=default, norm=None):
        return np.conj(np.fft.rfftn(x, s, _dims(x, s, dim), _OTHER_WAY[norm]))

    return reference


def _transform(name: str, samples, reference, dtypes=REAL_OR_COMPLEX, **fields) -> OpRecord:
    return record(
        f"fft.{name}",
        samples,
        reference,
        dtypes=dtypes,
        errors=_errors if samples is _one else _errors_of_many,
        **fields,
    )


def _shift_samples(make):
    return [(make(5),), (make(2, 3),), (make(4, 3, layout="columns"), 0), (make(2, 3, 2), (0, 2))]


RECORDS = [
    _transform("fft", _one, _numpy_one(np.fft.fft)),
    _transform("ifft", _one, _numpy_one(np.fft.ifft)),
    _transform("rfft", _one, _numpy_one(np.fft.rfft), FLOATS),
    _transform("irfft", _one, _numpy_one(np.fft.irfft)),
    _transform("hfft", _one, _numpy_one(np.fft.hfft)),
    _transform("ihfft", _one, _numpy_one(np.fft.ihfft), FLOATS),
    _transform("fft2", _two, _numpy_many(np.fft.fft2, (-2, -1))),
    _transform("ifft2", _two, _numpy_many(np.fft.ifft2, (-2, -1))),
    _transform("rfft2", _two, _numpy_many(np.fft.rfft2, (-2, -1)), FLOATS),
    _transform("irfft2", _two, _numpy_many(np.fft.irfft2, (-2, -1))),
    _transform("hfft2", _two, _hfft_many((-2, -1))),
    _transform("ihfft2", _two, _ihfft_many((-2, -1)), FLOATS),
    _transform("fftn", _many, _numpy_many(np.fft.fftn)),
    _transform("ifftn", _many, _numpy_many(np.fft.ifftn)),
    _transform("rfftn", _many, _numpy_many(np.fft.rfftn), FLOATS),
    _transform("irfftn", _many, _numpy_many(np.fft.irfftn)),
    _transform("hfftn", _many, _hfft_many()),
    _transform("ihfftn", _many, _ihfft_many(), FLOATS),
    record(
        "fft.fftshift",
        _shift_samples,
        np.fft.fftshift,
        dtypes=REAL_OR_COMPLEX,
        errors=lambda make: [(IndexError, "", make(3), 1)],
    ),
    record(
        "fft.ifftshift",
        _shift_samples,
        np.fft.ifftshift,
        dtypes=REAL_OR_COMPLEX,
        errors=lambda make: [(IndexError, "", make(3), 1)],
    ),
    record(
        "fft.fftfreq",
        lambda make: [(5, {"dtype": make.dtype}), (4, 0.5, {"dtype": make.dtype})],
        lambda n, d=1.0, dtype=None: np.fft.fftfreq(n, d),
        dtypes=FLOATS,
        autograd=False,
    ),
    record(
        "fft.rfftfreq",
        lambda make: [(5, {"dtype": make.dtype}), (4, 0.5, {"dtype": make.dtype})],
        lambda n, d=1.0, dtype=None: np.fft.rfftfreq(n, d),
        dtypes=FLOATS,
        autograd=False,
    ),
    record(
        "stft",
        lambda make: [
            (make(8), 4, {"hop_length": 2, "return_complex": True, "center": False}),
            (make(2, 8), 4, {"return_complex": True, "window": make(4, low=0.5, high=1.5, grad=False)}),
            (make(8), 4, {"hop_length": 2, "return_complex": True, "onesided": False, "normalized": True}),
        ],
        operators=(),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "return_complex", make(8), 4)],
    ),
    record(
        "istft",
        lambda make: [
            (
                make(3, 6),
                4,
                {"hop_length": 1, "window": make(4, low=0.5, high=1.5, grad=False, dtype=make.dtype.to_real())},
            ),
            (make(2, 3, 6), 4, {"hop_length": 2, "normalized": True}),
        ],
        operators=(),
        dtypes=COMPLEX,
        errors=lambda make: [(RuntimeError, "", make(5, 6), 4)],
    ),
]
