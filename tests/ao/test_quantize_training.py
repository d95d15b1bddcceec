"""Training with fake quantization against PyTorch: results, gradients, statistics, and what the trained model becomes."""

from __future__ import annotations

import numpy as np
import pytest
from quantization_cases import FUSED, batches, cnn, mq, mt, nnq, quiet, take_state, torch_quantization, units

from minitorch.ao.nn import intrinsic as nni
from minitorch.ao.nn import qat as nnqat
from minitorch.ao.nn.intrinsic import qat as nniqat


def trained(library, quantization, model, data, targets, to):
    """Return the losses of some steps, and the trained and the converted model."""
    model.train()
    model.qconfig = quantization.get_default_qat_qconfig("fbgemm")
    model = quiet(quantization.fuse_modules_qat, model, FUSED)
    model = quiet(quantization.prepare_qat, model)
    optimizer = library.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for array in data:
        optimizer.zero_grad()
        loss = library.nn.functional.cross_entropy(quiet(model, to(array)), to(targets))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses, model, quiet(quantization.convert, model)


@pytest.mark.oracle
def test_a_network_is_trained_and_converted_as_torchs(torch):
    tq = torch_quantization(torch)
    mt.manual_seed(0)
    model, other = cnn(mt, mq), cnn(torch, tq)
    take_state(torch, other, model)
    data, targets = batches(8, 1, 8, 8, count=4), np.arange(8) % 5
    engine, torch.backends.quantized.engine = torch.backends.quantized.engine, "fbgemm"
    try:
        losses, ours, converted = trained(mt, mq, model, data, targets, mt.from_numpy)
        expected, theirs, expected_converted = trained(torch, tq, other, data, targets, torch.from_numpy)
        # Float sums are in another order, and a number near the middle of two steps may go to the other one.
        np.testing.assert_allclose(losses, expected, rtol=2e-3)
        state = theirs.state_dict()
        assert list(ours.state_dict()) == list(state)
        for key, value in ours.state_dict().items():
            np.testing.assert_allclose(value.numpy(), state[key].numpy(), rtol=0.02, atol=5e-3, err_msg=key)
        x = data[0]
        found = converted(mt.from_numpy(x))
        assert units(found, expected_converted(torch.from_numpy(x)), converted.l2.scale) < 2.01
        # Of the layers before, a result that lies between two steps may go to the other one.
        assert units(found, ours(mt.from_numpy(x)), converted.l2.scale) < 3.01
    finally:
        torch.backends.quantized.engine = engine


@pytest.mark.oracle
@pytest.mark.parametrize("frozen", [False, True])
def test_a_folded_batch_norm_learns_as_torchs(torch, frozen):
    """One forward and backward pass of a convolution with batch norm."""
    from torch.ao.nn.intrinsic import qat as torch_nniqat

    tq = torch_quantization(torch)
    mt.manual_seed(0)
    results = []
    x = batches(4, 3, 6, 6)[0]
    state = None
    for _library, quantization, modules, to in (
        (mt, mq, nniqat, mt.from_numpy), (torch, tq, torch_nniqat, torch.from_numpy),
    ):  # fmt: skip
        module = quiet(
            modules.ConvBnReLU2d,
            3,
            4,
            3,
            padding=1,
            bias=True,
            freeze_bn=frozen,
            qconfig=quantization.get_default_qat_qconfig("x86"),
        )
        if state is None:
            state = {k: v.detach().numpy().copy() for k, v in module.state_dict().items()}
        else:
            module.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()})
        result = quiet(module, to(x))
        (result * result).sum().backward()
        results.append(
            [
                result,
                module.weight.grad,
                module.bias.grad,
                module.bn.weight.grad,
                module.bn.running_mean,
                module.bn.running_var,
            ]
        )
    for found, expected in zip(*results, strict=True):
        np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-3, atol=2e-4)


def test_modules_take_the_parameters_of_float_ones():
    pairs = [
        (mt.nn.Linear(3, 2), nnqat.Linear), (mt.nn.Conv1d(2, 2, 3), nnqat.Conv1d), (mt.nn.Conv2d(2, 2, 3), nnqat.Conv2d),
        (nni.LinearReLU(mt.nn.Linear(3, 2), mt.nn.ReLU()), nniqat.LinearReLU),
        (nni.ConvReLU2d(mt.nn.Conv2d(2, 2, 3), mt.nn.ReLU()), nniqat.ConvReLU2d),
        (nni.ConvBn2d(mt.nn.Conv2d(2, 2, 3), mt.nn.BatchNorm2d(2)), nniqat.ConvBn2d),
        (nni.LinearBn1d(mt.nn.Linear(3, 2), mt.nn.BatchNorm1d(2)), nniqat.LinearBn1d),
    ]  # fmt: skip
    for module, cls in pairs:
        module.qconfig = mq.get_default_qat_qconfig()
        made = cls.from_float(module)
        first = module[0] if isinstance(module, mt.nn.Sequential) else module
        assert made.weight is first.weight
        back = made.to_float()
        kept = back[0] if isinstance(back, mt.nn.Sequential) else back
        if not hasattr(made, "bn"):
            assert mt.equal(kept.weight, first.weight)
    with pytest.raises(AssertionError, match="only works for Linear"):
        nnqat.Linear.from_float(mt.nn.Conv1d(1, 1, 1))
    with pytest.raises(AssertionError, match="must have a valid qconfig"):
        nnqat.Linear.from_float(mt.nn.Linear(1, 1))
    with pytest.raises(AssertionError, match="qconfig must be provided"):
        nnqat.Linear(1, 1)


def test_a_trained_batch_norm_is_folded_into_the_float_module():
    module = nni.ConvBnReLU2d(mt.nn.Conv2d(2, 3, 3), mt.nn.BatchNorm2d(3), mt.nn.ReLU())
    module.qconfig = mq.default_qat_qconfig
    made = nniqat.ConvBnReLU2d.from_float(module)
    for _ in range(3):
        made(mt.randn(4, 2, 5, 5) + 1)
    made.eval()
    made.apply(mq.disable_fake_quant)
    x = mt.randn(4, 2, 5, 5)
    mt.testing.assert_close(made.to_float().eval()(x), made(x), atol=1e-4, rtol=1e-4)


def test_statistics_are_frozen_on_demand():
    module = nniqat.ConvBn2d(1, 2, 1, qconfig=mq.default_qat_qconfig)
    model = mt.nn.Sequential(module)
    model.apply(nniqat.freeze_bn_stats)
    model(mt.randn(8, 1, 2, 2))
    assert module.bn.running_mean.tolist() == [0, 0]
    model.apply(nniqat.update_bn_stats)
    model(mt.randn(8, 1, 2, 2))
    assert module.bn.running_mean.tolist() != [0, 0]


def test_preparing_needs_training_mode():
    with pytest.raises(AssertionError, match="training mode"):
        mq.prepare_qat(mt.nn.Sequential(mt.nn.Linear(2, 2)).eval())


def test_dynamic_training():
    from minitorch.ao.nn.quantized import dynamic as nnqd

    linear = mt.nn.Linear(4, 3)
    linear.qconfig = mq.default_dynamic_qat_qconfig
    made = nnqat.dynamic.Linear.from_float(linear)
    assert type(nnqd.Linear.from_float(made)) is nnqd.Linear
    with pytest.raises(ValueError, match="memoryless"):
        nnqat.dynamic.Linear(4, 3, qconfig=mq.default_qat_qconfig)


def test_an_embedding_is_trained():
    embedding = mt.nn.Embedding(6, 4)
    embedding.qconfig = mq.default_embedding_qat_qconfig
    made = nnqat.Embedding.from_float(embedding)
    indices = mt.tensor([1, 5])
    made(indices).sum().backward()
    assert embedding.weight.grad is not None
    quantized = nnq.Embedding.from_float(made)
    assert (quantized(indices) - embedding(indices)).abs().max() < 0.02
    with pytest.raises(AssertionError, match="per_channel_affine_float_qparams"):
        nnqat.Embedding(2, 2, qconfig=mq.default_qat_qconfig)


def test_training_in_one_call():
    model = mq.QuantWrapper(mt.nn.Linear(4, 2))
    model.qconfig = mq.get_default_qat_qconfig()
    x = mt.randn(16, 4)

    def train(prepared):
        optimizer = mt.optim.SGD(prepared.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            prepared(x).square().sum().backward()
            optimizer.step()

    quantized = mq.quantize_qat(model, train, [])
    assert type(quantized.module) is nnq.Linear
    assert quantized(x).shape == (16, 2)
