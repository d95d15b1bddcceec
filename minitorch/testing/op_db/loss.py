"""Records of losses and distances."""

from __future__ import annotations

import math

import numpy as np

import minitorch
from minitorch.testing.op_db.record import FLOATS, REAL_FLOATS
from minitorch.testing.op_db.samples import record

SINGLE_OR_DOUBLE: dict = dict(dtypes=FLOATS)
REAL: dict = dict(dtypes=REAL_FLOATS)


def _reduced(losses, reduction):
    if reduction in ("none", 0):
        return losses
    return losses.mean() if reduction in ("mean", 1) else losses.sum()


def _pairs(*extra, low=None, high=None, target_low="same", target_high="same"):
    """Return a generator of inputs and targets for each reduction, and for further keyword arguments."""
    target = dict(low=low if target_low == "same" else target_low, high=high if target_high == "same" else target_high)

    def samples(make):
        given = dict(low=low, high=high)
        return [
            (make(2, 3, **given), make(2, 3, **target)),
            (make(3, 2, layout="columns", **given), make(3, 2, **target), {"reduction": "sum"}),
            (make(4, layout="gaps", **given), make(4, **target), {"reduction": "none"}),
            (make(**given), make(**target)),
            *((make(2, 3, **given), make(2, 3, **target), more) for more in extra),
        ]

    return samples


def _wrong_reduction(make):
    return [(ValueError, "reduction|valid", make(2), make(2), {"reduction": "average"})]


def _mse(x, y, reduction="mean"):
    return _reduced((x - y) ** 2, reduction)


def _l1(x, y, reduction="mean"):
    return _reduced(np.abs(x - y), reduction)


def _smooth_l1(x, y, reduction="mean", beta=1.0):
    d = np.abs(x - y)
    return _reduced(np.where(d < beta, d * d / (2 * beta), d - beta / 2), reduction)


def _huber(x, y, reduction="mean", delta=1.0):
    d = np.abs(x - y)
    return _reduced(np.where(d < delta, d * d / 2, delta * (d - delta / 2)), reduction)


def _bce(x, y, weight=None, reduction="mean"):
    losses = -(y * np.log(x) + (1 - y) * np.log(1 - x))
    return _reduced(losses if weight is None else losses * weight, reduction)


def _bce_with_logits(x, y, weight=None, reduction="mean", pos_weight=None):
    positive = 1 if pos_weight is None else pos_weight
    losses = y * positive * np.log1p(np.exp(-x)) + (1 - y) * (np.log1p(np.exp(-x)) + x)
    return _reduced(losses if weight is None else losses * weight, reduction)


def _kl_div(x, y, reduction="mean", log_target=False):
    losses = np.exp(y) * (y - x) if log_target else y * (np.log(y) - x)
    return losses.sum() / x.shape[0] if reduction == "batchmean" else _reduced(losses, reduction)


def _poisson_nll(x, y, log_input=True, full=False, eps=1e-8, reduction="mean"):
    losses = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        losses = losses + np.where(y > 1, y * np.log(y) - y + 0.5 * np.log(2 * math.pi * y), 0)
    return _reduced(losses, reduction)


def _gaussian_nll(x, y, var, full=False, eps=1e-6, reduction="mean"):
    var = np.maximum(var, eps)
    losses = 0.5 * (np.log(var) + (x - y) ** 2 / var) + (0.5 * math.log(2 * math.pi) if full else 0)
    return _reduced(losses, reduction)


def _soft_margin(x, y, reduction="mean"):
    return _reduced(np.log1p(np.exp(-y * x)), reduction)


def _hinge_embedding(x, y, margin=1.0, reduction="mean"):
    return _reduced(np.where(y == 1, x, np.maximum(margin - x, 0)), reduction)


def _margin_ranking(a, b, y, margin=0.0, reduction="mean"):
    return _reduced(np.maximum(-y * (a - b) + margin, 0), reduction)


def _cosine(a, b, dim=1, eps=1e-8):
    norms = [np.maximum(np.sqrt((v * v).sum(dim)), eps) for v in (a, b)]
    return (a * b).sum(dim) / (norms[0] * norms[1])


def _cosine_embedding(a, b, y, margin=0.0, reduction="mean"):
    cosine = _cosine(a, b, -1)
    return _reduced(np.where(y == 1, 1 - cosine, np.maximum(cosine - margin, 0)), reduction)


def _distance(a, b, p=2.0, eps=1e-6, keepdim=False):
    return (np.abs(a - b + eps) ** p).sum(-1, keepdims=keepdim) ** (1 / p)


def _triplet(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-6, swap=False, reduction="mean", **rest):
    far = _distance(anchor, negative, p, eps)
    if swap:
        far = np.minimum(far, _distance(positive, negative, p, eps))
    return _reduced(np.maximum(margin + _distance(anchor, positive, p, eps) - far, 0), reduction)


def _nll(x, y, weight=None, reduction="mean", ignore_index=-100):
    rows = np.moveaxis(x, 1, -1) if x.ndim > 1 else x
    kept = y != ignore_index
    index = np.where(kept, y, 0)
    weights = (np.ones(rows.shape[-1]) if weight is None else weight)[index] * kept
    losses = -np.take_along_axis(rows, index[..., None], -1)[..., 0] * weights
    return losses.sum() / weights.sum() if reduction == "mean" else _reduced(losses, reduction)


def _log_softmax(x, dim):
    return x - np.log(np.exp(x).sum(dim, keepdims=True))


def _cross_entropy(x, y, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    dim = 1 if x.ndim > 1 else 0
    logs = _log_softmax(x, dim)
    classes = x.shape[dim]
    weights = np.ones(classes) if weight is None else weight
    if np.asarray(y).dtype.kind == "f":
        target = y * (1 - label_smoothing) + label_smoothing / classes
        shape = [-1 if d == dim else 1 for d in range(x.ndim)]
        losses = -(target * logs * weights.reshape(shape)).sum(dim)
        return losses.sum() / (losses.size) if reduction == "mean" else _reduced(losses, reduction)
    hard = _nll(logs, y, weight, reduction, ignore_index)
    if label_smoothing == 0:
        return hard
    kept = np.asarray(y) != ignore_index
    shape = [-1 if d == dim else 1 for d in range(x.ndim)]
    smooth = -(logs * weights.reshape(shape)).sum(dim) * kept
    if reduction == "mean":
        smooth = smooth.sum() / (weights[np.where(kept, y, 0)] * kept).sum()
    elif reduction == "sum":
        smooth = smooth.sum()
    return (1 - label_smoothing) * hard + label_smoothing / classes * smooth


def _multi_margin(x, y, p=1, margin=1.0, weight=None, reduction="mean"):
    x, y = np.atleast_2d(x), np.atleast_1d(y)
    correct = np.take_along_axis(x, y[:, None], 1)
    losses = np.maximum(margin - correct + x, 0) ** p
    if weight is not None:
        losses = losses * weight[y][:, None]
    losses[np.arange(len(y)), y] = 0
    return _reduced(losses.sum(1) / x.shape[1], reduction)


def _multilabel_margin(x, y, reduction="mean"):
    losses = []
    for row, labels in zip(np.atleast_2d(x), np.atleast_2d(y), strict=True):
        labels = labels[: list(labels).index(-1)] if -1 in labels else labels
        rest = [i for i in range(len(row)) if i not in labels]
        losses.append(sum(max(1 - (row[j] - row[i]), 0) for j in labels for i in rest) / len(row))
    losses = np.array(losses)
    return _reduced(losses if x.ndim > 1 else losses[0], reduction)


def _multilabel_soft_margin(x, y, weight=None, reduction="mean"):
    losses = y * np.log1p(np.exp(-x)) + (1 - y) * np.log1p(np.exp(x))
    losses = losses if weight is None else losses * weight
    return _reduced(losses.mean(-1), reduction)


def _signs(make, *shape):
    return make.mask(*shape).to(make.dtype) * 2 - 1


def _signed(*extra, avoid=()):
    def samples(make):
        return [
            (make(2, 3, avoid=avoid), _signs(make, 2, 3)),
            (make(3, 2, layout="columns", avoid=avoid), _signs(make, 3, 2), {"reduction": "sum"}),
            (make(4, avoid=avoid), _signs(make, 4), {"reduction": "none"}),
            *((make(2, 3, avoid=avoid), _signs(make, 2, 3), more) for more in extra),
        ]

    return samples


def _classes(*extra):
    def samples(make):
        return [
            (make(3, 4), make.indices(3, high=4)),
            (
                make(3, 4, layout="columns"),
                make.indices(3, high=4),
                make(4, low=0.5, high=2, grad=False),
                {"reduction": "sum"},
            ),
            (make(2, 3, 2), make.indices(2, 2, high=3), {"reduction": "none"}),
            (make(2, 3, 2, 2), make.indices(2, 2, 2, high=3)),
            (make(4), minitorch.tensor(2)),
            (make(3, 4), minitorch.tensor([1, 3, 0]), {"ignore_index": 3}),
            *((make(3, 4), make.indices(3, high=4), more) for more in extra),
        ]

    return samples


def _class_errors(make):
    return [
        ((ValueError, RuntimeError), "", make(3, 4), make.indices(2, high=4)),
        ((IndexError, RuntimeError), "", make(2, 3), minitorch.tensor([1, 7])),
        (ValueError, "reduction|valid", make(2, 3), make.indices(2, high=3), {"reduction": "average"}),
    ]


def _probabilities(make, *shape):
    values = make(*shape, low=0.2, high=1, grad=False)
    return values / values.sum(1, keepdim=True)


def _triplets(*extra):
    def samples(make):
        return [
            (make(2, 3), make(2, 3), make(2, 3)),
            (make(2, 3, layout="columns"), make(2, 3), make(2, 3), {"reduction": "none", "margin": 2.0}),
            (make(2, 3), make(2, 3), make(2, 3), {"reduction": "sum", "swap": True}),
            *((make(2, 3), make(2, 3), make(2, 3), more) for more in extra),
        ]

    return samples


def _ctc(make):
    logs = (make(5, 2, 3, grad=False)).log_softmax(2).detach().requires_grad_(make.requires_grad)
    targets = minitorch.tensor([[1, 2], [2, 1]])
    return [
        (logs, targets, [5, 4], [2, 1]),
        (logs, targets, minitorch.tensor([5, 5]), minitorch.tensor([2, 2]), {"reduction": "sum"}),
        (logs, targets, [5, 5], [1, 2], {"reduction": "none", "blank": 0}),
    ]


def _pdist(x, p=2.0):
    i, j = np.triu_indices(len(x), 1)
    return (np.abs(x[i] - x[j]) ** p).sum(-1) ** (1 / p)


REGRESSION = [
    record(
        "nn.functional.mse_loss",
        _pairs(),
        _mse,
        errors=_wrong_reduction,
        operators=("mse_loss",),
        tolerance=2,
        dtypes=REAL_FLOATS,
    ),
    record("nn.functional.l1_loss", _pairs(), _l1, errors=_wrong_reduction, operators=("l1_loss",), **REAL),
    record(
        "nn.functional.smooth_l1_loss", _pairs({"beta": 0.5}), _smooth_l1, errors=_wrong_reduction, tolerance=2, **REAL
    ),
    record("nn.functional.huber_loss", _pairs({"delta": 0.5}), _huber, errors=_wrong_reduction, tolerance=2, **REAL),
    record(
        "nn.functional.poisson_nll_loss",
        lambda make: [
            (make(2, 3), make(2, 3, low=0.5, high=3)),
            (make(2, 3, low=0.5, high=2), make(2, 3, low=1.2, high=3), False, True),
            (make(4), make(4, low=0.5, high=3), {"reduction": "none"}),
        ],
        lambda x, y, log_input=True, full=False, reduction="mean": _poisson_nll(
            x, y, log_input, full, reduction=reduction
        ),
        operators=("poisson_nll_loss",),
        errors=_wrong_reduction,
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.gaussian_nll_loss",
        lambda make: [
            (make(2, 3), make(2, 3), make(2, 3, low=0.5, high=2)),
            (make(2, 3), make(2, 3), make(2, 3, low=0.5, high=2), True),
            (make(4), make(4), make(4, low=0.5, high=2), {"reduction": "none"}),
        ],
        _gaussian_nll,
        operators=(),
        no_meta="looks at the variances",
        errors=lambda make: [(ValueError, "var", make(2), make(2), -minitorch.ones(2))],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.kl_div",
        lambda make: [
            (make(2, 3), make(2, 3, low=0.2, high=0.9), {"reduction": "batchmean"}),
            (make(3, 2, layout="columns"), make(3, 2, low=0.2, high=0.9), {"reduction": "sum"}),
            (make(4, layout="gaps"), make(4), {"reduction": "none", "log_target": True}),
        ],
        _kl_div,
        operators=("kl_div",),
        errors=_wrong_reduction,
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.binary_cross_entropy",
        _pairs(low=0.1, high=0.9),
        _bce,
        errors=_wrong_reduction,
        tolerance=2,
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.binary_cross_entropy_with_logits",
        lambda make: [
            *_pairs(target_low=0.1, target_high=0.9)(make),
            (
                make(2, 3),
                make(2, 3, low=0.1, high=0.9),
                make(3, low=0.5, high=2, grad=False),
                {"pos_weight": make(3, low=0.5, high=2, grad=False)},
            ),
        ],
        _bce_with_logits,
        operators=("binary_cross_entropy_with_logits",),
        errors=_wrong_reduction,
        **SINGLE_OR_DOUBLE,
    ),
]

MARGINS = [
    record("nn.functional.soft_margin_loss", _signed(), _soft_margin, errors=_wrong_reduction, **SINGLE_OR_DOUBLE),
    record(
        "nn.functional.hinge_embedding_loss",
        _signed({"margin": 0.5}, avoid=(1.0, 0.5)),
        _hinge_embedding,
        errors=_wrong_reduction,
        operators=("hinge_embedding_loss",),
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.margin_ranking_loss",
        lambda make: [
            (make(4), make(4), _signs(make, 4)),
            (make(2, 3), make(2, 3), _signs(make, 2, 3), 0.3, None, None, "sum"),
        ],
        lambda a, b, y, margin=0.0, x=None, z=None, reduction="mean": _margin_ranking(a, b, y, margin, reduction),
        operators=("margin_ranking_loss",),
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.cosine_embedding_loss",
        lambda make: [
            (make(3, 4), make(3, 4), _signs(make, 3)),
            (make(3, 4), make(3, 4), _signs(make, 3), {"margin": 0.2, "reduction": "none"}),
            (make(4), make(4), minitorch.tensor(1)),
        ],
        _cosine_embedding,
        operators=("cosine_embedding_loss",),
        errors=lambda make: [(RuntimeError, "", make(3, 4), make(3, 4), make(3, 4))],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.triplet_margin_loss",
        _triplets({"p": 3}),
        _triplet,
        operators=("triplet_margin_loss",),
        errors=lambda make: [(ValueError, "margin", make(2, 3), make(2, 3), make(2, 3), -1.0)],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.triplet_margin_with_distance_loss",
        _triplets(),
        _triplet,
        operators=(),
        errors=lambda make: [(ValueError, "margin", make(2, 3), make(2, 3), make(2, 3), {"margin": -1.0})],
        **SINGLE_OR_DOUBLE,
    ),
]

CLASSES = [
    record(
        "nn.functional.nll_loss",
        _classes(),
        _nll,
        operators=("nll_loss", "nll_loss_nd", "nll_loss2d"),
        errors=_class_errors,
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.cross_entropy",
        lambda make: [
            *_classes({"label_smoothing": 0.2})(make),
            (make(3, 4), _probabilities(make, 3, 4)),
            (make(3, 4), _probabilities(make, 3, 4), {"label_smoothing": 0.1, "reduction": "sum"}),
        ],
        _cross_entropy,
        operators=("cross_entropy_loss",),
        errors=_class_errors,
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.multi_margin_loss",
        lambda make: [
            (make(3, 4), make.indices(3, high=4)),
            (make(3, 4, layout="columns"), make.indices(3, high=4), 2, 0.5),
            (
                make(2, 3),
                make.indices(2, high=3),
                {"weight": make(3, low=0.5, high=2, grad=False), "reduction": "none"},
            ),
        ],
        _multi_margin,
        errors=lambda make: [(RuntimeError, "", make(3, 4), make.indices(2, high=4))],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.multilabel_margin_loss",
        lambda make: [
            (make(2, 4), minitorch.tensor([[1, 2, -1, 0], [3, -1, 0, 0]])),
            (make(4), minitorch.tensor([0, 3, -1, 1])),
            (make(2, 3), minitorch.tensor([[0, -1, 0], [1, 2, -1]]), {"reduction": "none"}),
        ],
        _multilabel_margin,
        errors=lambda make: [(RuntimeError, "", make(2, 4), make.indices(2, 3, high=3))],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.multilabel_soft_margin_loss",
        lambda make: [
            (make(2, 3), make.mask(2, 3).to(make.dtype)),
            (make(2, 3), make.mask(2, 3).to(make.dtype), make(3, low=0.5, high=2, grad=False), {"reduction": "sum"}),
        ],
        _multilabel_soft_margin,
        operators=(),
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.ctc_loss",
        _ctc,
        operators=("ctc_loss",),
        no_gradgrad="its backward is a kernel without a derivative",
        no_forward="its backward is a kernel without a derivative",
        # The gradient is that of the log-probabilities' softmax: only directions that keep
        # rows normalized are true, so that the inputs are normalized inside.
        prepare=lambda x, *rest, **kwargs: (x.log_softmax(2), *rest),
        errors=lambda make: [(RuntimeError, "", make(5, 2, 3).log_softmax(2), minitorch.tensor([[1, 2]]), [5], [2])],
        no_meta="looks at the lengths",
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "_ctc_loss",
        lambda make: [a[:4] for a in _ctc(make)[:1]],
        project=lambda result: result[0],
        prepare=lambda x, *rest, **kwargs: (x.log_softmax(2), *rest),
        no_gradgrad="its backward is a kernel without a derivative",
        no_forward="its backward is a kernel without a derivative",
        no_meta="looks at the lengths",
        **SINGLE_OR_DOUBLE,
    ),
]

DISTANCES = [
    record(
        "nn.functional.pairwise_distance",
        lambda make: [
            (make(2, 3), make(2, 3)),
            (make(2, 3, layout="columns"), make(3), 1.0),
            (make(3), make(3), 3.0, 1e-6, True),
        ],
        _distance,
        operators=("pairwise_distance",),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 4))],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.cosine_similarity",
        lambda make: [
            (make(2, 3), make(2, 3)),
            (make(2, 3, layout="columns"), make(3), {"dim": -1}),
            (make(3), make(3), 0),
        ],
        _cosine,
        operators=("cosine_similarity",),
        errors=lambda make: [(RuntimeError, "", make(2, 3), make(2, 4))],
        **SINGLE_OR_DOUBLE,
    ),
    record(
        "nn.functional.pdist",
        lambda make: [(make(4, 2),), (make(3, 3, layout="columns"), 1.0), (make(3, 2), 3.0)],
        _pdist,
        operators=("pdist",),
        errors=lambda make: [(RuntimeError, "2D|dim", make(3))],
        **SINGLE_OR_DOUBLE,
    ),
]


def _cdist(a, b, p=2.0, compute_mode=None):
    return (np.abs(a[..., :, None, :] - b[..., None, :, :]) ** p).sum(-1) ** (1 / p)


DISTANCES += [
    record(
        "cdist",
        lambda make: [
            (make(3, 2), make(4, 2)),
            (make(2, 3, 2), make(2, 2, 2), 1.0),
            (make(3, 2, layout="columns"), make(1, 2), 3.0),
        ],
        _cdist,
        operators=("cdist", "_cdist_forward", "_cdist_backward"),
        errors=lambda make: [(RuntimeError, "", make(3, 2), make(3, 4))],
        **SINGLE_OR_DOUBLE,
    ),
]

RECORDS = [*REGRESSION, *MARGINS, *CLASSES, *DISTANCES]
