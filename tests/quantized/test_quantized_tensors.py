"""Quantized tensors: what they consist of, their views and copies, how they print and are refused."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys

import numpy as np
import pytest

import minitorch as mt
from minitorch.backends import requantize_policy

VALUES = [[0.0, 0.1, -0.2], [1.0, -1.3, 12.0]]


@pytest.fixture
def q():
    return mt.quantize_per_tensor(mt.tensor(VALUES), 0.1, 3, mt.qint8)


@pytest.fixture
def c():
    return mt.quantize_per_channel(mt.tensor(VALUES), mt.tensor([0.1, 0.2]), mt.tensor([0, 1]), 0, mt.qint8)


@pytest.fixture
def packed():
    x = mt.arange(15.0).reshape(3, 5) / 10
    return mt.quantize_per_channel(x, mt.tensor([0.1, 0.2, 0.3]), mt.tensor([0.0, 1.0, 2.0]), 0, mt.quint4x2)


def test_importing_the_library_does_not_import_it():
    code = "import sys, minitorch; assert not [m for m in sys.modules if m.startswith('minitorch.quantized')]"
    code += "; assert minitorch.ops.quantized.add.default"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_it_consists_of(q, c):
    assert q.is_quantized
    assert (q.dtype, q.qscheme(), q.q_scale(), q.q_zero_point()) == (mt.qint8, mt.per_tensor_affine, 0.1, 3)
    assert q.int_repr().tolist() == [[3, 4, 1], [13, -10, 123]]
    assert q.int_repr().dtype is mt.int8
    np.testing.assert_allclose(q.dequantize().numpy(), np.array(VALUES), rtol=1e-6)
    assert (q.element_size(), q.nbytes, q.stride(), q.layout, q.device.type) == (1, 6, (3, 1), mt.strided, "cpu")
    assert (q.type(), q.is_floating_point()) == ("torch.quantized.QInt8Tensor", False)
    assert (c.qscheme(), c.q_per_channel_axis()) == (mt.per_channel_affine, 0)
    assert c.q_per_channel_scales().dtype is mt.float64
    assert c.q_per_channel_zero_points().dtype is mt.int64
    assert not mt.ones(2).is_quantized


def test_dtypes():
    for name, size in (("qint8", 1), ("quint8", 1), ("qint32", 4), ("quint4x2", 1), ("quint2x4", 1)):
        dtype = getattr(mt, name)
        assert (repr(dtype), dtype.itemsize, dtype.is_floating_point) == (f"torch.{name}", size, False)
        assert pickle.loads(pickle.dumps(dtype)) is copy.deepcopy(dtype) is dtype
        with pytest.raises(RuntimeError, match="not supported for quantized types"):
            _ = dtype.is_signed
    assert (mt.iinfo(mt.quint8).min, mt.iinfo(mt.quint8).max) == (0, 255)
    with pytest.raises(RuntimeError, match="quantized numbers"):
        mt.promote_types(mt.qint8, mt.float32)
    for make in (lambda: mt.empty(2, dtype=mt.qint8), lambda: mt.ones(2).to(mt.quint8), lambda: mt.tensor([1.0], dtype=mt.qint8)):
        with pytest.raises(RuntimeError, match="quantize_per_tensor"):
            make()


def test_schemes():
    assert repr(mt.per_channel_symmetric) == "torch.per_channel_symmetric"
    assert isinstance(mt.per_tensor_affine, mt.qscheme)
    assert pickle.loads(pickle.dumps(mt.per_tensor_symmetric)) is copy.copy(mt.per_tensor_symmetric)


def test_printing(q, c, packed):
    assert repr(q) == (
        "tensor([[ 0.0000,  0.1000, -0.2000],\n"
        "        [ 1.0000, -1.3000, 12.0000]], size=(2, 3), dtype=torch.qint8,\n"
        "       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=3)"
    )
    assert "scale=tensor([0.1000, 0.2000], dtype=torch.float64),\n       zero_point=tensor([0, 1]), axis=0)" in repr(c)
    assert "per_channel_affine_float_qparams" in repr(packed)
    assert repr(q.to("meta")).startswith("tensor(..., device='meta', size=(2, 3), dtype=torch.qint8")


# ---------------------------------------------------------------- views


def test_views_share_the_integers(q):
    views = (q.t(), q[1], q[:, 1:], q.view(-1), q.unsqueeze(0), q.permute(1, 0), q.unbind(0)[1], q.narrow(1, 0, 2), q.detach())
    for view in views:
        assert view.is_quantized
        assert view.untyped_storage() == q.untyped_storage()
        assert (view.q_scale(), view.q_zero_point()) == (0.1, 3)
    assert q[1].storage_offset() == 3
    assert q[1].data_ptr() == q.data_ptr() + 3
    assert q[1]._base is q
    row = q[1]
    before = q._version
    row.fill_(0.5)
    assert q._version == row._version == before + 1
    np.testing.assert_allclose(q.dequantize()[1].numpy(), [0.5] * 3)
    assert q.t().int_repr().tolist() == [[3, 8], [4, 8], [1, 8]]
    assert not q.t().is_contiguous()
    assert q.t().contiguous().is_contiguous()
    assert q.reshape(3, 2).untyped_storage() == q.untyped_storage()


def test_channels_follow_views(c):
    for view, axis in ((c.t(), 1), (c.unsqueeze(0), 1), (c[None, :, None], 1), (c[:, 1], 0), (c.permute(1, 0), 1), (c[:, :2], 0)):
        assert view.q_per_channel_axis() == axis
        assert view.q_per_channel_scales().numpy().tolist() == c.q_per_channel_scales().numpy().tolist()
    part = c[1:]
    assert part.q_per_channel_scales().shape == (1,)
    np.testing.assert_array_equal(part.dequantize().numpy(), c.dequantize()[1:].numpy())
    one = c[1]
    assert one.qscheme() is mt.per_tensor_affine
    assert one.q_zero_point() == 1
    assert one.q_scale() == pytest.approx(0.2)
    grouped = mt.quantize_per_channel(mt.ones(2, 3, 4), mt.tensor([0.1, 0.2, 0.3]), mt.tensor([0, 0, 0]), 1, mt.qint8)
    assert grouped.view(2, 3, 2, 2).q_per_channel_axis() == 1
    for view in (lambda: c.view(-1), lambda: c.view(6), lambda: grouped.flatten(0, 1), lambda: c.as_strided((2,), (1,))):
        with pytest.raises(RuntimeError, match="no axis of channels"):
            view()


def test_packed_elements(packed):
    assert packed.int_repr().shape == (8,)
    assert packed.shape == (3, 5)
    assert packed.qscheme() is mt.per_channel_affine_float_qparams
    assert packed.untyped_storage().nbytes() == 8
    np.testing.assert_allclose(packed.clone().dequantize().numpy(), packed.dequantize().numpy())
    with pytest.raises(RuntimeError, match="packed 2 to a byte"):
        packed.t()
    packed.copy_(mt.zeros(3, 5))
    assert packed.dequantize().abs().max() == 0


# ---------------------------------------------------------------- writing


def test_writing(q):
    q[0, 0] = 5.0
    q[1] = mt.tensor([1.0, 2.0, 3.0])
    q[q > 4.0] = 0.0
    q[:, 2] = [0.3, 0.4]
    np.testing.assert_allclose(q.dequantize().numpy(), [[0.0, 0.1, 0.3], [1.0, 2.0, 0.4]], rtol=1e-6)
    q.masked_fill_(q > 0.5, -1.0)
    np.testing.assert_allclose(q.dequantize().numpy(), [[0.0, 0.1, 0.3], [-1.0, -1.0, 0.4]], rtol=1e-6)
    assert q.q_scale() == 0.1
    other = mt.quantize_per_tensor(mt.ones(2, 3), 0.5, 0, mt.qint8)
    view = q[0]
    view.copy_(other[0])  # a view keeps its parameters
    assert (q.q_scale(), q[0].int_repr().tolist()) == (0.1, [13] * 3)
    q.copy_(other)  # what is none takes them over
    assert q.q_scale() == 0.5
    with pytest.raises(RuntimeError, match="use dequantize"):
        mt.zeros(2, 3).copy_(q)
    with pytest.raises(RuntimeError, match="kFloat"):
        q.copy_(mt.zeros(2, 3, dtype=mt.float64))
    with pytest.raises(RuntimeError, match="same data type"):
        q.copy_(mt.quantize_per_tensor(mt.ones(2, 3), 0.5, 0, mt.quint8))
    q.resize_(4)
    assert q.shape == (4,)


def test_choosing(q):
    other = mt.quantize_per_tensor(mt.ones(2, 3), 0.5, 0, mt.qint8)
    with requantize_policy("error"):
        for made in (mt.where(q > 0.05, q, 1.0), mt.where(q > 0.05, q, other), mt.where(q <= 0.05, 1.0, q)):
            assert made.q_scale() == 0.1
            np.testing.assert_allclose(made.dequantize().numpy(), [[1.0, 0.1, 1.0], [1.0, 1.0, 12.0]], rtol=1e-6)
        scattered = mt.slice_scatter(q, mt.zeros(1, 3), 0, 1)
        np.testing.assert_allclose(scattered.dequantize().numpy(), [[0.0, 0.1, -0.2], [0.0] * 3], rtol=1e-6)
        np.testing.assert_allclose(q.gather(1, mt.tensor([[2], [0]])).dequantize().numpy(), [[-0.2], [1.0]], rtol=1e-6)
        assert q.argmax() == 5
        assert [v.item() for v in q.aminmax()] == pytest.approx([-1.3, 12.0])


def test_places_without_values(q, c):
    assert mt.empty_like(q).q_scale() == 0.1
    with requantize_policy("error"):
        for made in (mt.zeros_like(q), mt.zeros_like(c), mt.zeros_like(q, device="meta"), mt.zeros_like(q, dtype=mt.float32)):
            assert made.shape == (2, 3)
        assert mt.zeros_like(q).int_repr().tolist() == [[3] * 3] * 2
        assert not mt.zeros_like(c).dequantize().any()
    assert mt.empty_like(c).q_per_channel_axis() == 0
    assert mt.empty_quantized([4], q).shape == (4,)
    made = mt._empty_affine_quantized([2, 2], scale=0.1, zero_point=2, dtype=mt.quint8)
    assert (made.q_zero_point(), made.dtype) == (2, mt.quint8)
    made = mt._empty_per_channel_affine_quantized(
        [2, 2], scales=mt.tensor([0.1, 0.2]), zero_points=mt.tensor([0, 0]), axis=1, dtype=mt.quint8
    )
    assert made.q_per_channel_axis() == 1
    meta = q.to("meta")
    assert meta.relu().t().shape == (3, 2)
    assert mt.quantize_per_tensor(mt.ones(2, 3, device="meta"), 0.1, 0, mt.qint8).sigmoid().q_scale() == 1 / 256


def test_moves(q, opencl):
    there = q.to(opencl)
    assert there.device.type == "opencl"
    assert mt.equal(there.cpu(), q)
    assert there.int_repr().device.type == "opencl"


# ---------------------------------------------------------------- copies and files


@pytest.mark.parametrize("kind", ["q", "c", "packed", "view", "parameter"])
def test_copies_and_files(kind, request):
    made = request.getfixturevalue("q" if kind in ("view", "parameter") else kind)
    if kind == "view":
        made = made.t()
    if kind == "parameter":
        made = mt.nn.Parameter(made, requires_grad=False)
    file = io.BytesIO()
    mt.save({"x": made}, file)
    for copied in (copy.deepcopy(made), pickle.loads(pickle.dumps(made)), mt.load(io.BytesIO(file.getvalue()))["x"]):
        assert type(copied) is type(made)
        assert mt.equal(copied, made)
        assert repr(copied) == repr(made)
        assert copied.untyped_storage() != made.untyped_storage()


def test_deep_copies_share_what_was_shared(q):
    whole, row = copy.deepcopy((q, q[0]))
    row.fill_(1.0)
    assert whole.int_repr()[0].tolist() == [13] * 3
    assert q.int_repr()[0].tolist() != [13] * 3


def test_state_dict(c):
    class Layer(mt.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("weight", c.clone())

    layer, other = Layer(), Layer()
    layer.weight.fill_(0.2)
    other.load_state_dict(layer.state_dict())
    assert mt.equal(other.weight, layer.weight)


# ---------------------------------------------------------------- refusals


def test_refusals(q, c):
    with pytest.raises(RuntimeError, match="only Tensors of floating point"):
        q.requires_grad_()
    for read in (q.numpy, q.tolist):
        with pytest.raises(TypeError, match="int_repr"):
            read()
    with pytest.raises(BufferError, match="int_repr"):
        q.__dlpack__()
    with pytest.raises(NotImplementedError, match=r"aten::q_scale.*CPU"):
        mt.ones(2).q_scale()
    with pytest.raises(RuntimeError, match="kPerTensorAffine"):
        c.q_scale()
    with pytest.raises(RuntimeError, match="kPerChannelAffine"):
        q.q_per_channel_scales()
    with pytest.raises(RuntimeError, match="Float Tensor, got Double"):
        mt.quantize_per_tensor(mt.ones(2, dtype=mt.float64), 0.1, 0, mt.qint8)
    with pytest.raises(RuntimeError, match="zero_point 200 is above upper bound"):
        mt.quantize_per_tensor(mt.ones(2), 0.1, 200, mt.qint8)
    with pytest.raises(RuntimeError, match="Char"):
        mt.quantize_per_tensor(mt.ones(2), 0.1, 0, mt.int8)
    with pytest.raises(RuntimeError, match="length of scales must equal to channel"):
        mt.quantize_per_channel(mt.ones(2, 3), mt.ones(3), mt.zeros(3), 0, mt.qint8)
    with pytest.raises(RuntimeError, match="axis out of range"):
        mt.quantize_per_channel(mt.ones(2, 3), mt.ones(3), mt.zeros(3), 2, mt.qint8)
    for read in (q.to, q.view):
        with pytest.raises(RuntimeError, match="use int_repr"):
            read(mt.int8)
    assert q.to(mt.float64).dtype is mt.float64


def test_closeness(q):
    mt.testing.assert_close(q, q.clone())
    with pytest.raises(AssertionError, match="not close"):
        mt.testing.assert_close(q, q.clone().fill_(0.0))
    with pytest.raises(AssertionError, match="dtype"):
        mt.testing.assert_close(q, q.dequantize())
