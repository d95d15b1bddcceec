"""Records of random numbers: shapes and dtypes, since values are drawn."""

from __future__ import annotations

from minitorch.testing.op_db.record import FLOATS, FLOATS_AND_COMPLEX, NUMBERS, REAL_FLOATS
from minitorch.testing.op_db.samples import record

DRAWN: dict = dict(random=True, autograd=False)
MOVES = "the draws of two calls differ; tests/distributions differentiates draws of one seed"


def _kind(make):
    return {"dtype": make.dtype, "device": make.device}


def _sizes(make):
    return [([2, 3], _kind(make)), ([], _kind(make)), ([0, 2], _kind(make))]


def _like(make):
    return [(make(2, 3),), (make(3, 2, layout="columns"),), (make(),), (make(2), {"dtype": make.dtype})]


def _filled(make):
    """Return tensors to be filled: they are written to, so they have no gradient."""
    return [(make(2, 3, grad=False),), (make(3, 2, grad=False, layout="columns"),), (make(grad=False),)]


def _with(*arguments):
    return lambda make: [(*a, *arguments) for a in _filled(make)]


def _negative(make):
    return [(RuntimeError, "negative", [-1])]


def _dropped(make):
    return [
        (make(2, 3), 0.4, True),
        (make(3, 2, layout="columns"), 0.5, False),
        (make(4), 0.0, True),
        (make(2), 1.0, True),
    ]


def _channels(make):
    return [(make(2, 3, 4), 0.4, True), (make(2, 2, 2), 0.5, False)]


def _probability(make):
    return [((RuntimeError, ValueError), "probability", make(2), 1.5, True)]


FACTORIES = [
    record("rand", _sizes, errors=_negative, dtypes=FLOATS, **DRAWN),
    record("randn", _sizes, errors=_negative, dtypes=FLOATS_AND_COMPLEX, **DRAWN),
    record(
        "randint",
        lambda make: [(5, [2, 3], _kind(make)), (-3, 4, [2], _kind(make)), (1, [0], _kind(make))],
        dtypes=NUMBERS[:2],
        errors=lambda make: [(RuntimeError, "random_|from", 3, 3, [2])],
        **DRAWN,
    ),
    record(
        "randperm",
        lambda make: [(5, _kind(make)), (0, _kind(make))],
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "non-negative|negative", -1)],
        **DRAWN,
    ),
    record("rand_like", _like, dtypes=FLOATS, errors=lambda make: [(TypeError, "", 3)], **DRAWN),
    record("randn_like", _like, dtypes=FLOATS_AND_COMPLEX, errors=lambda make: [(TypeError, "", 3)], **DRAWN),
    record(
        "randint_like",
        lambda make: [(make(2, 3), 5), (make(3, 2, layout="columns"), -2, 3)],
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "random_|from", make(2), 3, 3)],
        **DRAWN,
    ),
]

DISTRIBUTIONS = [
    record(
        "normal",
        lambda make: [
            (make(2, 3), 1.0),
            (0.5, make(2, low=0.5, high=2)),
            (make(2, 3), make(2, 3, low=0.5, high=2)),
            (0.0, 1.0, [2, 3]),
        ],
        dtypes=FLOATS,
        random=True,
        no_gradcheck="the gradient is zero: nothing flows through a draw",
        no_inplace="`normal_` fills with numbers of one mean",
        errors=lambda make: [(RuntimeError, "std", make(2), -1.0)],
    ),
    record(
        "bernoulli",
        lambda make: [(make(2, 3, low=0.1, high=0.9),), (make(3, low=0, high=1), 0.3)],
        dtypes=FLOATS,
        random=True,
        no_inplace="`bernoulli_` fills with draws of one probability",
        no_gradcheck="the gradient is zero: nothing flows through a draw",
        errors=lambda make: [(RuntimeError, "p", make(2, low=1.5, high=2))],
    ),
    record(
        "multinomial",
        lambda make: [(make(4, low=0.1, high=1), 2), (make(2, 3, low=0.1, high=1), 5, True)],
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "", make(3, low=0.1, high=1), 4)],
        **DRAWN,
    ),
    record(
        "binomial",
        lambda make: [(make(2, 3, low=3, high=9, grad=False).floor(), make(2, 3, low=0.1, high=0.9, grad=False))],
        dtypes=REAL_FLOATS,
        **DRAWN,
    ),
    record(
        "_standard_gamma", lambda make: [(make(2, 3, low=0.5, high=4),)],
        dtypes=FLOATS, random=True, no_gradcheck=MOVES,
    ),
    record(
        "_sample_dirichlet", lambda make: [(make(2, 3, low=0.5, high=4),)],
        dtypes=FLOATS, random=True, no_gradcheck=MOVES,
    ),
    record(
        "_standard_gamma_grad",
        lambda make: [
            (make(2, 3, low=0.5, high=4, grad=False), make(2, 3, low=0.1, high=6, grad=False)),
            (make(3, low=0.5, high=4, grad=False), make(2, 1, low=0.1, high=6, grad=False)),
        ],
        dtypes=FLOATS, autograd=False,
    ),
    record(
        "_dirichlet_grad",
        lambda make: [
            (
                make(2, 3, low=0.1, high=0.9, grad=False), make(2, 3, low=0.5, high=2, grad=False),
                make(2, 1, low=3, high=5, grad=False),
            ),
        ],
        dtypes=FLOATS, autograd=False,
    ),
    record(
        "poisson",
        lambda make: [(make(2, 3, low=0.5, high=4),)],
        dtypes=FLOATS,
        random=True,
        no_gradcheck="the gradient is zero: nothing flows through a draw",
    ),
]

FILLING = [
    record(
        "Tensor.uniform_",
        _with(-1.0, 2.0),
        dtypes=REAL_FLOATS,
        errors=lambda make: [(RuntimeError, "from|to", make(2), 2.0, 1.0)],
        **DRAWN,
    ),
    record(
        "Tensor.normal_",
        _with(0.5, 2.0),
        dtypes=FLOATS_AND_COMPLEX,
        errors=lambda make: [(RuntimeError, "std", make(2), 0.0, -1.0)],
        **DRAWN,
    ),
    record(
        "Tensor.bernoulli_", _with(0.3), dtypes=FLOATS, errors=lambda make: [(RuntimeError, "p", make(2), 1.5)], **DRAWN
    ),
    record(
        "Tensor.random_",
        lambda make: [*_filled(make), *_with(3)(make), *_with(-2, 5)(make)],
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "from|to", make(2), 3, 2)],
        **DRAWN,
    ),
    record(
        "Tensor.exponential_",
        _with(0.5),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "lambda", make(2), -1.0)],
        **DRAWN,
    ),
    record(
        "Tensor.cauchy_",
        _with(0.5, 2.0),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "sigma", make(2), 0.0, -1.0)],
        **DRAWN,
    ),
    record(
        "Tensor.geometric_", _with(0.3), dtypes=FLOATS, errors=lambda make: [(RuntimeError, "p", make(2), 1.5)], **DRAWN
    ),
    record(
        "Tensor.log_normal_",
        _with(0.5, 2.0),
        dtypes=FLOATS,
        errors=lambda make: [(RuntimeError, "std", make(2), 0.0, -1.0)],
        **DRAWN,
    ),
]

DROPOUT = [
    record("dropout", _dropped, operators=("dropout", "dropout_"), errors=_probability, random=True, dtypes=FLOATS),
    record(
        "alpha_dropout",
        _dropped,
        operators=("alpha_dropout", "alpha_dropout_"),
        errors=_probability,
        random=True,
        dtypes=FLOATS,
    ),
    record(
        "feature_dropout",
        _channels,
        operators=("feature_dropout", "feature_dropout_"),
        errors=_probability,
        random=True,
        dtypes=FLOATS,
    ),
    record(
        "feature_alpha_dropout",
        _channels,
        operators=("feature_alpha_dropout", "feature_alpha_dropout_"),
        errors=_probability,
        random=True,
        dtypes=FLOATS,
    ),
    record(
        "native_dropout",
        lambda make: [(make(2, 3), 0.4, True), (make(3), 0.5, False)],
        errors=_probability,
        random=True,
        dtypes=FLOATS,
    ),
    record(
        "nn.functional.dropout",
        _dropped,
        operators=(),
        errors=lambda make: [(ValueError, "probability", make(2), 1.5)],
        random=True,
        dtypes=FLOATS,
    ),
    record(
        "nn.functional.alpha_dropout",
        _dropped,
        operators=(),
        errors=lambda make: [(ValueError, "probability", make(2), 1.5)],
        random=True,
        dtypes=FLOATS,
    ),
    record(
        "nn.functional.feature_alpha_dropout",
        _channels,
        operators=(),
        random=True,
        dtypes=FLOATS,
        errors=lambda make: [(ValueError, "probability", make(2, 2), 1.5)],
    ),
    *(
        record(
            f"nn.functional.dropout{d}d",
            lambda make, d=d: [(make(1, 2, *[2] * d), 0.4, True), (make(1, 2, *[2] * d), 0.5, False)],
            operators=(),
            errors=lambda make: [(ValueError, "probability", make(2, 2), 1.5)],
            random=True,
            dtypes=FLOATS,
        )
        for d in (1, 2, 3)
    ),
]


RECORDS = [*FACTORIES, *DISTRIBUTIONS, *FILLING, *DROPOUT]
