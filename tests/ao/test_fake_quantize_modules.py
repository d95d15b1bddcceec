"""Modules of fake quantization against PyTorch, their switches, and the constructors that consist of them."""

from __future__ import annotations

import numpy as np
import pytest
from quantization_cases import batches, quiet, same, torch_quantization

import minitorch as mt
import minitorch.ao.quantization as mq

NAMES = [
    "default_fake_quant", "default_weight_fake_quant", "default_per_channel_weight_fake_quant",
    "default_histogram_fake_quant", "default_symmetric_fixed_qparams_fake_quant", "default_dynamic_fake_quant",
    "default_fused_act_fake_quant", "default_fused_wt_fake_quant", "default_fused_per_channel_wt_fake_quant",
    "fused_wt_fake_quant_range_neg_127_to_127", "fused_per_channel_wt_fake_quant_range_neg_127_to_127",
]  # fmt: skip


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_results_parameters_and_state_are_torchs(torch, name):
    ours, theirs = getattr(mq, name)(), quiet(getattr(torch_quantization(torch), name))
    for data in batches(4, 3, 6, scale=2.0):
        same(ours(mt.from_numpy(data)), quiet(theirs, torch.from_numpy(data)))
        same(ours.scale, theirs.scale)
        same(ours.zero_point, theirs.zero_point)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in ours.state_dict().items():
        same(value, theirs.state_dict()[key])
    assert repr(ours) == repr(theirs)


@pytest.mark.oracle
def test_qconfigs_are_torchs(torch):
    tq = torch_quantization(torch)

    def text(qconfig):
        return (
            repr(qconfig).replace("minitorch.", "torch.").replace("quantization.histogram.", "quantization.observer.")
        )

    names = [
        n
        for n in dir(mq)
        if n.startswith(("default_", "float", "per_channel_dynamic")) and isinstance(getattr(mq, n), mq.QConfig)
    ]
    assert len(names) > 15
    for name in names:
        assert text(getattr(mq, name)).replace("nn.modules.linear", "nn") == text(getattr(tq, name)).replace(
            "nn.modules.linear", "nn"
        ), name
    for get in ("get_default_qconfig", "get_default_qat_qconfig"):
        for backend in ("x86", "fbgemm", "qnnpack", "onednn"):
            expected = quiet(getattr(tq, get), backend)
            assert text(getattr(mq, get)(backend)) == text(expected)
            with pytest.raises(AssertionError, match="not supported"):
                getattr(mq, get)("abacus")


def test_switches():
    model = mt.nn.Sequential(mq.FakeQuantize(quant_min=0, quant_max=255), mt.nn.Identity())
    x = mt.randn(50)
    first = model(x)
    scale = model[0].scale.clone()
    assert not mt.equal(first, x)
    model.apply(mq.disable_observer)
    model(10 * x)
    assert mt.equal(model[0].scale, scale)
    model.apply(mq.disable_fake_quant)
    assert model(x) is x
    model.apply(mq.enable_fake_quant)
    model.apply(mq.enable_observer)
    model(100 * x)
    assert not mt.equal(model[0].scale, scale)


def test_gradients_pass_where_the_range_was_not_left():
    fake = mq.FakeQuantize(observer=mq.MinMaxObserver, quant_min=0, quant_max=255)
    fake(mt.tensor([-1.0, 1.0]))
    fake.disable_observer()
    x = mt.tensor([-3.0, -0.5, 0.5, 3.0], requires_grad=True)
    fake(x).sum().backward()
    assert x.grad.tolist() == [0, 1, 1, 0]


def test_states_are_loaded_whatever_their_sizes():
    fake, fresh = (mq.default_per_channel_weight_fake_quant() for _ in range(2))
    expected = fake(mt.randn(5, 2))
    fresh.load_state_dict(fake.state_dict())
    assert fresh.scale.shape == (5,)
    fresh.disable_observer()
    assert mt.equal(fresh(expected), expected)  # numbers of the grid stay


def test_what_is_refused():
    with pytest.raises(AssertionError, match="quant_max out of bound"):
        mq.FakeQuantize(quant_min=0, quant_max=256)
    with pytest.raises(AssertionError, match="quant_min must be less"):
        mq.FakeQuantize(quant_min=3, quant_max=1)
    with pytest.raises(AssertionError, match="must be a MovingAverage"):
        mq.FusedMovingAvgObsFakeQuantize(observer=mq.MinMaxObserver)
    with pytest.raises(ValueError, match="QConfig received an observer"):
        mq.QConfig(activation=mq.MinMaxObserver(), weight=mq.MinMaxObserver)


def test_qconfigs_are_compared_by_what_they_make():
    assert mq.qconfig_equals(mq.get_default_qat_qconfig(), mq.get_default_qat_qconfig())
    assert not mq.qconfig_equals(mq.get_default_qconfig("x86"), mq.get_default_qconfig("onednn"))
    assert mq.qconfig_equals(None, None)
    assert not mq.qconfig_equals(None, mq.default_qconfig)


def test_the_parameters_of_a_fixed_one_do_not_move():
    fake = mq.default_fixed_qparams_range_neg1to1_fake_quant()
    np.testing.assert_array_equal(fake(mt.tensor([-2.0, 0.0, 0.3])).numpy(), [-1.0, 0.0, 38 / 128])
    assert (fake.scale.item(), fake.zero_point.item()) == (2 / 256, 128)


@pytest.mark.oracle
@pytest.mark.parametrize("per_channel", [False, True])
def test_learned_parameters_are_torchs(torch, per_channel):
    from torch.ao.quantization._learnable_fake_quantize import _LearnableFakeQuantize as Theirs

    from minitorch.ao.quantization._learnable_fake_quantize import _LearnableFakeQuantize as Ours

    arrays, results = batches(4, 30), []
    for library, quantization, cls, to in (
        (mt, mq, Ours, mt.from_numpy), (torch, torch_quantization(torch), Theirs, torch.from_numpy),
    ):  # fmt: skip
        options = {"dtype": library.qint8, "quant_min": -8, "quant_max": 7, "use_grad_scaling": True}
        if per_channel:
            observer, options["channel_len"] = quantization.MovingAveragePerChannelMinMaxObserver, 4
        else:
            observer = quantization.MovingAverageMinMaxObserver
        fake = cls(observer, **options)
        fake.enable_static_estimate()
        seen = [quiet(fake, to(arrays[0]))]
        fake.enable_param_learning()
        optimizer = library.optim.SGD(fake.parameters(), lr=0.1)
        for array in arrays[1:]:
            optimizer.zero_grad()
            result = fake(to(array))
            (result * result).sum().backward()
            optimizer.step()
            seen += [result, fake.scale.clone(), fake.zero_point.clone()]
        results.append([*seen, *fake.calculate_qparams()])
        assert list(fake.state_dict())[:2] == ["scale", "zero_point"]
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-4, atol=1e-5)
