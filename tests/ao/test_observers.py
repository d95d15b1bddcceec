"""Observers: their parameters and state against PyTorch, bit for bit, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from quantization_cases import batches, quiet, same, torch_quantization

import minitorch as mt
import minitorch.ao.quantization as mq
from minitorch.ao.quantization.utils import dtype_range, quantization_range
from minitorch.ops.composite.moving_ranges import choose_qparams

PER_TENSOR = [
    {}, {"dtype": "qint8"}, {"dtype": "qint8", "qscheme": "per_tensor_symmetric"}, {"reduce_range": True},
    {"dtype": "quint8", "qscheme": "per_tensor_symmetric"}, {"quant_min": 0, "quant_max": 127},
    {"quant_min": -127, "quant_max": 127, "dtype": "qint8", "qscheme": "per_tensor_symmetric", "eps": 2**-12},
]  # fmt: skip
PER_CHANNEL = [
    {}, {"ch_axis": 1}, {"dtype": "qint8", "qscheme": "per_channel_symmetric"}, {"reduce_range": True},
    {"qscheme": "per_channel_affine_float_qparams"},
    {"dtype": "quint4x2", "qscheme": "per_channel_affine_float_qparams"},
]  # fmt: skip
CASES = [
    (name, options)
    for names, options_of in (
        (("MinMaxObserver", "MovingAverageMinMaxObserver", "HistogramObserver"), PER_TENSOR),
        (("PerChannelMinMaxObserver", "MovingAveragePerChannelMinMaxObserver"), PER_CHANNEL),
    )
    for name in names
    for options in options_of
]


def seen():
    first, second, third, fourth = batches(4, 3, 5)
    return [first, 3 * second + np.float32(0.5), third - 2, np.float32(0.1) * fourth + 4]


def made(library, quantization, name, options):
    return getattr(quantization, name)(
        **{k: getattr(library, v) if isinstance(v, str) else v for k, v in options.items()}
    )


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("name", "options"), CASES, ids=lambda case: case if isinstance(case, str) else str(list(case.values()))
)
def test_parameters_and_state_are_torchs(torch, name, options):
    ours, theirs = made(mt, mq, name, options), quiet(made, torch, torch_quantization(torch), name, options)
    for data in seen():
        ours(mt.from_numpy(data))
        theirs(torch.from_numpy(data))
        for found, expected in zip(ours.calculate_qparams(), theirs.calculate_qparams(), strict=True):
            same(found, expected)
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    for key, value in ours.state_dict().items():
        same(value, state[key])
    assert repr(ours) == repr(theirs)


@pytest.mark.oracle
def test_a_histogram_of_one_number_and_one_that_grows(torch):
    tq = torch_quantization(torch)
    for arrays in (
        [np.full(9, 2.0), np.full(4, 5.0)],
        [np.zeros(3), np.linspace(-1, 1, 50)],
        [np.linspace(0, 1, 7)] * 2,
    ):
        ours, theirs = mq.HistogramObserver(), tq.HistogramObserver()
        for array in arrays:
            ours(mt.from_numpy(array.astype(np.float32)))
            theirs(torch.from_numpy(array.astype(np.float32)))
        for found, expected in zip(ours.calculate_qparams(), theirs.calculate_qparams(), strict=True):
            same(found, expected)
        same(ours.histogram, theirs.histogram)


@pytest.mark.oracle
@pytest.mark.parametrize("symmetric", [False, True])
def test_kernels_choose_as_torchs_fused_kernel(torch, symmetric):
    rng = np.random.default_rng(1)
    low = -np.abs(rng.normal(size=200)).astype(np.float32) * 10.0 ** rng.integers(-9, 4, 200)
    high = np.abs(rng.normal(size=200)).astype(np.float32) * 10.0 ** rng.integers(-9, 4, 200)
    low[:40], high[40:60], low[60:65], high[60:65] = 0, 0, 0, 0
    low, high = low.astype(np.float32), high.astype(np.float32)
    scale, zero_point = choose_qparams(low, high, -128, 127, symmetric)
    values = torch.tensor(np.stack([low, high], 1))
    found = [torch.ones(200), torch.zeros(200, dtype=torch.int32)]
    empty = [torch.tensor([]), torch.tensor([])]
    on = torch.tensor([1])
    quiet(
        torch.ops.aten._fused_moving_avg_obs_fq_helper,
        values,
        on,
        on,
        *empty,
        *found,
        0.01,
        -128,
        127,
        0,
        True,
        symmetric,
    )
    np.testing.assert_array_equal(scale, found[0].numpy())
    np.testing.assert_array_equal(zero_point, found[1].numpy())


def test_moving_averages_start_with_the_first_tensor():
    observer = mq.MovingAverageMinMaxObserver(averaging_constant=0.5)
    observer(mt.tensor([-1.0, 3.0]))
    observer(mt.tensor([-3.0, 1.0]))
    assert (observer.min_val.item(), observer.max_val.item()) == (-2.0, 2.0)


def test_observers_return_what_they_see_and_ignore_empty_tensors():
    observers = [
        mq.MinMaxObserver(), mq.HistogramObserver(), mq.PerChannelMinMaxObserver(), mq.RecordingObserver(), mq.NoopObserver(),
        mq.PlaceholderObserver(), mq.FixedQParamsObserver(0.5, 3), mq.MovingAverageMinMaxObserver(),
    ]  # fmt: skip
    x, empty = mt.randn(2, 3), mt.empty(0)
    for observer in observers:
        assert observer(x) is x
        assert observer(empty) is empty
    assert [t.shape for t in observers[3].get_tensor_value()] == [(2, 3), (0,)]
    assert [t.item() for t in observers[6].calculate_qparams()] == [0.5, 3]


def test_before_anything_is_seen_there_is_a_warning():
    for observer in (mq.MinMaxObserver(), mq.PerChannelMinMaxObserver(), mq.HistogramObserver()):
        with pytest.warns(UserWarning, match="has seen nothing yet"):
            scale, zero_point = observer.calculate_qparams()
        assert (scale.tolist(), zero_point.tolist()) == ([1.0], [0])


def test_a_histogram_leaves_infinities_out():
    observer = mq.HistogramObserver()
    with pytest.warns(UserWarning, match="infinite values are left out"):
        observer(mt.tensor([1.0, float("inf"), -2.0, float("-inf")]))
    assert (observer.min_val.item(), observer.max_val.item()) == (-2.0, 1.0)
    assert observer.histogram.sum() == 2


def test_forgetting():
    for observer in (mq.MinMaxObserver(), mq.PerChannelMinMaxObserver()):
        observer(mt.randn(2, 3))
        observer.reset_min_max_vals()
        with pytest.warns(UserWarning, match="seen nothing"):
            observer.calculate_qparams()


def test_states_are_loaded_whatever_their_sizes():
    model = mt.nn.Sequential(mq.PerChannelMinMaxObserver(), mq.HistogramObserver(bins=16))
    model(mt.randn(3, 8))
    fresh = mt.nn.Sequential(mq.PerChannelMinMaxObserver(), mq.HistogramObserver(bins=16))
    fresh.load_state_dict(model.state_dict())
    for ours, theirs in zip(fresh, model, strict=True):
        for found, expected in zip(ours.calculate_qparams(), theirs.calculate_qparams(), strict=True):
            assert mt.equal(found, expected)


def test_what_observers_refuse():
    with pytest.raises(NotImplementedError, match="has one range for the whole tensor"):
        mq.MinMaxObserver(qscheme=mt.per_channel_affine)
    with pytest.raises(NotImplementedError, match="has a range for each channel"):
        mq.PerChannelMinMaxObserver(qscheme=mt.per_tensor_affine)
    with pytest.raises(NotImplementedError, match="Cannot reduce range for symmetric"):
        mq.MinMaxObserver(qscheme=mt.per_tensor_symmetric, reduce_range=True)
    with pytest.raises(AssertionError, match=r"must include 0, but it is \[1, 20\]"):
        mq.MinMaxObserver(quant_min=1, quant_max=20)
    with pytest.raises(AssertionError, match="has 301 numbers"):
        mq.MinMaxObserver(quant_min=0, quant_max=300)
    with pytest.raises(NotImplementedError, match="sees nothing"):
        mq.PlaceholderObserver().calculate_qparams()
    with pytest.raises(NotImplementedError, match="have no average"):
        mq.MovingAverageMinMaxObserver(is_dynamic=True)
    with pytest.raises(ValueError, match="has no range to quantize to"):
        mq.MinMaxObserver(dtype=mt.float32)


def test_ranges():
    assert dtype_range(mt.qint8) == (-128, 127)
    assert dtype_range(mt.quint4x2) == (0, 15)
    assert quantization_range(None, None, mt.qint8, True) == (-64, 63)
    assert quantization_range(-10, 20, mt.qint8, False) == (-10, 20)


def test_constructors_with_arguments():
    constructor = mq.MinMaxObserver.with_args(reduce_range=True).with_args(dtype=mt.qint8)
    first, second = constructor(), constructor()
    assert first is not second
    assert (first.quant_min, first.quant_max, first.dtype) == (-64, 63, mt.qint8)
    counts = iter((0.25, 0.5))
    called = mq.MinMaxObserver.with_callable_args(eps=lambda: next(counts))
    assert [called().eps.item(), called().eps.item()] == [0.25, 0.5]


def test_states_of_observers_alone():
    model = mt.nn.Sequential(mt.nn.Linear(3, 2))
    model.qconfig = mq.default_qconfig
    prepared, other = mq.prepare(model), mq.prepare(model)
    prepared(mt.randn(5, 3))
    state = mq.get_observer_state_dict(prepared)
    assert list(state) == [f"0.activation_post_process.{name}" for name in ("eps", "min_val", "max_val")]
    mq.load_observer_state_dict(other, state)
    assert mt.equal(other[0].activation_post_process.max_val, prepared[0].activation_post_process.max_val)
    with pytest.raises(RuntimeError, match="missing"):
        mq.load_observer_state_dict(other, {})
