"""What a fake tensor is: its device, keys, memory, views, versions and text (spec M5, M7)."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import minitorch as mt
from minitorch import nn
from minitorch._subclasses import FakeTensor, FakeTensorMode, UnsupportedFakeTensorException
from minitorch._subclasses.fake_tensor import FakeTensorDeviceMismatchError, is_fake
from minitorch.dispatch.keys import key_set_text
from minitorch.func import vmap


@pytest.fixture
def mode():
    return FakeTensorMode()


@pytest.fixture
def x(mode):
    with mode:
        return mt.randn(2, 3)


@pytest.fixture
def far(mode):
    """A tensor on a device that need not exist."""
    with mode:
        return mt.randn(2, 3, device="cuda")


# -- what it says of itself ----------------------------------------------------------------


def test_keys_are_those_of_the_claimed_device(x, far):
    assert key_set_text(far.key_set) == (
        "DispatchKeySet(CUDA, Python, ADInplaceOrView, AutogradCUDA, AutocastCUDA, PythonTLSSnapshot)"
    )
    assert "CPU" in key_set_text(x.key_set)
    assert "Meta" not in key_set_text(x.key_set)


def test_an_accelerator_without_a_number_is_number_0(mode, far):
    assert far.device == far.fake_device == mt.device("cuda:0")
    with mode:
        assert mt.ones(1, device="cuda:3").device == mt.device("cuda", 3)
        assert mt.ones(1, device="cpu").device == mt.device("cpu")
    assert (far.is_cuda, far.is_cpu, far.is_meta, far.get_device()) == (True, False, False, 0)


def test_it_has_no_elements(x):
    assert x.data_ptr() == 0
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported"):
        x.numpy()
    with pytest.raises(RuntimeError, match=r"\.numpy\(\) is not supported"):
        np.asarray(x)
    with pytest.raises(BufferError):
        np.from_dlpack(x)


def test_text(mode, x, far):
    assert repr(x) == "FakeTensor(..., size=(2, 3))"
    assert repr(far) == "FakeTensor(..., device='cuda:0', size=(2, 3))"
    assert str(x.long()[0]) == "FakeTensor(..., size=(3,), dtype=torch.int64)"
    y = x.detach().requires_grad_()
    assert repr(y) == "FakeTensor(..., size=(2, 3), requires_grad=True)"
    assert repr(y * 2) == "FakeTensor(..., size=(2, 3), grad_fn=<MulBackward0>)"
    assert repr(nn.Parameter(x)) == "Parameter(FakeTensor(..., size=(2, 3), requires_grad=True))"
    assert f"{x.sum()}" == "FakeTensor(..., size=())"


def test_it_says_whose_it_is(mode, x):
    assert x.fake_mode is mode
    assert (x + 1).fake_mode is mode
    assert is_fake(x)
    assert not is_fake(mt.ones(1))
    assert not is_fake(3)
    vmap(lambda row: pytest.fail("inside") if not is_fake(row) else row)(x)


def test_it_is_made_of_a_meta_tensor(mode):
    elem = mt.empty(4, 2, device="meta").t()
    made = FakeTensor(mode, elem, "cuda")
    assert (made.shape, made.stride(), made.device) == ((2, 4), (1, 2), mt.device("cuda:0"))
    with pytest.raises(TypeError, match="meta tensor"):
        FakeTensor(mode, mt.ones(2), "cpu")


# -- devices ---------------------------------------------------------------------------------


def test_results_are_where_the_tensors_are(far):
    assert (far + 1).device == far.device
    assert far.cpu().device == mt.device("cpu")
    assert far.to("cuda:1").device == mt.device("cuda:1")
    assert far.to("meta").device == mt.device("meta")
    assert mt.zeros_like(far).device == far.device
    assert mt.zeros_like(far, device="cpu").device == mt.device("cpu")
    assert far.new_empty(3).device == far.device
    assert far.cpu().cuda().device == far.device


def test_a_0_dim_cpu_tensor_defers(mode, x, far):
    number = x.sum()
    assert (far + number).device == (number + far).device == far.device
    assert far.clone().add_(number).device == far.device
    with pytest.raises(FakeTensorDeviceMismatchError, match="cpu and cuda:0"):
        x + far.sum()  # the other way round it does not
    with pytest.raises(FakeTensorDeviceMismatchError, match="cuda:0 and cpu"):
        far + x[0, :1]  # neither does one element in one dimension


def test_mixtures_of_devices(mode, x, far):
    for call in (
        lambda: x @ far.t(),
        lambda: mt.cat([far, x]),
        lambda: far + far.to("cuda:1"),
        lambda: far + far.to("meta"),
        lambda: nn.functional.embedding(mt.zeros_like(x, dtype=mt.int64), far),
        lambda: x.sum().add_(far.sum()),
        lambda: mt.add(far, far, out=x.clone()),
    ):
        with pytest.raises(
            FakeTensorDeviceMismatchError, match="Expected all tensors to be on the same device"
        ) as info:
            call()
        assert isinstance(info.value, RuntimeError)
        assert info.value.first is not info.value.second


def test_operators_that_move_their_tensors(x, far):
    index = mt.zeros_like(x[0], dtype=mt.int64, device="cpu").clamp(0, 1)
    assert far[index].device == far.device
    assert x[index.to("cuda")].device == x.device
    assert far.clone().copy_(x).device == far.device
    assert mt.where(far > 0, x.sum(), 0.0).device == far.device


def test_lists_keep_the_device_of_each(x, far):
    results = mt.ops.aten._foreach_mul.Scalar([x, far], 2.0) if hasattr(mt.ops.aten, "_foreach_mul") else None
    if results is None:
        pytest.skip("there is no _foreach_mul")
    assert [t.device for t in results] == [x.device, far.device]


def test_numbers_alone_are_on_the_cpu(mode):
    with mode:
        result = mt.add(2, 3)
    assert isinstance(result, FakeTensor)
    assert (result.device, result.dtype) == (mt.device("cpu"), mt.int64)


def test_default_device(mode):
    with mode, mt.device("cuda"):
        assert mt.ones(2).device == mt.device("cuda:0")
        assert mt.tensor([1.0, 2.0]).device == mt.device("cuda:0")


def test_meta_device_under_the_mode(mode, x):
    with mode:
        made = mt.empty(2, device="meta")
    assert isinstance(made, FakeTensor)
    assert (made + 1).device == mt.device("meta")
    with pytest.raises(FakeTensorDeviceMismatchError):
        made + x[0, :2]


def test_meta_kernels_mix_with_numbers_alone():
    """A meta tensor, which is not fake, stands beside CPU tensors only of 0 dimensions (spec M4)."""
    meta, near = mt.empty(2, 2, device="meta"), mt.ones(2, 2)
    for result in (meta + near[0, 0], near[0, 0] + meta, meta + 1, meta[near.long()], meta.copy_(near)):
        assert result.is_meta
    for call in (
        lambda: meta + near,
        lambda: near + meta,
        lambda: mt.cat([meta, near]),
        lambda: near @ meta,
        lambda: meta.mul_(near),
    ):
        with pytest.raises(RuntimeError, match="Tensor on device cpu is not on the expected device meta"):
            call()
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        meta @ mt.empty(3, 2, device="meta")


# -- memory ------------------------------------------------------------------------------------


def test_views_share_the_storage(x):
    row = x[1, 1:]
    assert row.storage_offset() == 4
    assert row.untyped_storage() == x.untyped_storage()
    assert row._base is x
    assert x.t().is_set_to(x.t())
    assert not x.clone().is_set_to(x)
    assert x.untyped_storage().nbytes() == 24
    assert x.data.untyped_storage() == x.untyped_storage()
    assert x.detach().untyped_storage() == x.untyped_storage()
    halves = x.chunk(3, 1)
    assert [h.storage_offset() for h in halves] == [0, 1, 2]
    assert x.reshape(6).untyped_storage() == x.untyped_storage()
    assert x.t().reshape(6).untyped_storage() != x.untyped_storage()


def test_in_place_operators_return_their_argument_and_count(x):
    view = x.view(-1)
    assert x.add_(1) is x
    assert (x._version, view._version) == (1, 1)
    view.mul_(2)
    x[0] = 1.0
    assert x._version == 3
    assert x.data._version == 0


def test_saved_tensors_that_were_changed(x):
    y = x.detach().requires_grad_()
    z = y.exp()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_changes_of_geometry(x):
    y = x.clone()
    assert y.resize_(5, 6) is y
    assert (y.shape, y.untyped_storage().nbytes()) == ((5, 6), 120)
    y = x.clone()
    y.t_()
    assert (y.shape, y.stride()) == ((3, 2), (1, 3))
    y.unsqueeze_(0)
    assert y.shape == (1, 3, 2)
    assert y.fake_mode is x.fake_mode
    out = x.new_empty(0)
    assert mt.add(x, x, out=out) is out
    assert out.shape == (2, 3)


def test_set(x, far):
    y = x.clone()
    y.set_(x[1])
    assert y.is_set_to(x[1])
    assert (y + 1).device == x.device
    with pytest.raises(RuntimeError, match="must match"):
        y.set_(far)
    with pytest.raises(AssertionError, match="Please convert all Tensors"):
        y.set_(mt.ones(2))


def test_data(mode, x, far):
    y = x.clone()
    y.data = far
    assert (y.device, y.is_set_to(far)) == (far.device, True)
    with pytest.raises(TypeError, match="from_tensor"):
        y.data = mt.ones(2)


def test_lazy_bits(x):
    z = mt.complex(x, x)
    lazy = z.conj()
    assert lazy.is_conj()
    assert lazy.untyped_storage() == z.untyped_storage()
    assert not (lazy * 2).is_conj()
    assert lazy.imag.is_neg()
    assert (lazy.imag + 1).dtype is mt.float32
    with x.fake_mode:
        zeros = mt.ops.aten._efficientzerotensor([2, 2])
    assert zeros._is_zerotensor()
    assert isinstance(zeros + 1, FakeTensor)


def test_no_random_numbers_are_drawn(mode, x):
    mt.manual_seed(0)
    before = mt.get_rng_state()
    with mode:
        mt.randn(10)
        mt.randperm(5)
        nn.Linear(3, 3)
    nn.functional.dropout(x)
    mt.multinomial(x.abs(), 2)
    mt.bernoulli(x.abs())
    x.clone().uniform_()
    mt.normal(x, x.abs())
    nn.functional.rrelu(x, training=True)
    assert mt.equal(before, mt.get_rng_state())


# -- copies --------------------------------------------------------------------------------------


def test_deepcopy(mode, far):
    copied = copy.deepcopy(far)
    assert (type(copied), copied.device, copied.shape) == (FakeTensor, far.device, far.shape)
    assert copied.untyped_storage() != far.untyped_storage()
    one, other = copy.deepcopy([far, far[0]])
    assert one.untyped_storage() == other.untyped_storage()
    with mode:
        layer = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    layer(copied.cpu()).sum().backward()
    again = copy.deepcopy(layer)
    assert isinstance(again[0].weight, nn.Parameter)
    assert again[0].weight.grad.shape == (2, 3)
    assert isinstance(again[1].running_mean, FakeTensor)
    with pytest.raises(RuntimeError, match="graph leaves"):
        copy.deepcopy(layer[0].weight * 2)


def test_shallow_copy(x):
    y = copy.copy(nn.Parameter(x))
    assert y.untyped_storage() == x.untyped_storage()
    assert isinstance(y, nn.Parameter)
    assert y.requires_grad


def test_it_cannot_be_saved(x, tmp_path):
    with pytest.raises(RuntimeError, match="cannot be pickled or saved"):
        pickle.dumps(x)
    with pytest.raises(RuntimeError, match="cannot be pickled or saved"):
        mt.save({"x": x}, tmp_path / "x.pt")


def test_jagged_tensors_are_refused(mode):
    with mode, pytest.raises(UnsupportedFakeTensorException, match="layout"):
        mt.zeros(2, layout=mt.jagged)


# -- modules ---------------------------------------------------------------------------------------


def test_parameters_stay_fake(mode):
    with mode:
        layer = nn.Linear(3, 2)
    assert isinstance(layer.weight, nn.Parameter)
    assert type(layer.weight) is FakeTensor
    assert layer.weight.is_leaf
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    assert not isinstance(layer.weight * 2, nn.Parameter)


def test_moving_a_module(mode):
    with mode:
        layer = nn.Linear(3, 2)
    weight = layer.weight
    layer.cuda()
    assert layer.weight is weight
    assert weight.device == mt.device("cuda:0")
    assert isinstance(weight, nn.Parameter)
    layer.half().to("cpu")
    assert (weight.device, weight.dtype) == (mt.device("cpu"), mt.float16)


def test_state_dict(mode):
    with mode:
        one, other = nn.BatchNorm1d(3), nn.BatchNorm1d(3)
        state = one.state_dict()
        other.load_state_dict(state)
        assigned = nn.BatchNorm1d(3)
        assigned.load_state_dict(state, assign=True)
    assert all(isinstance(t, FakeTensor) for t in state.values())
    assert isinstance(assigned.weight, nn.Parameter)
    with pytest.raises(RuntimeError, match="Please convert all Tensors"):  # load_state_dict names the parameter
        other.load_state_dict(nn.BatchNorm1d(3).state_dict())


@pytest.mark.parametrize(
    "name",
    ["SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"],
)
@pytest.mark.parametrize("fused", [True, False])
def test_optimizers(mode, name, fused):
    with mode:
        layer = nn.Linear(3, 2)
        options = {} if fused or name not in ("SGD", "Adam", "AdamW") else {"fused": False}
        optimizer = getattr(mt.optim, name)(layer.parameters(), lr=0.1, **options)
        for _ in range(2):
            optimizer.zero_grad()
            layer(mt.randn(4, 3)).sum().backward()
            optimizer.step()
        for state in optimizer.state.values():
            assert all(isinstance(t, FakeTensor) for t in state.values() if isinstance(t, mt.Tensor))


def test_clip_grad_norm(mode):
    with mode:
        layer = nn.Linear(3, 2)
        layer(mt.randn(4, 3)).sum().backward()
        norm = nn.utils.clip_grad_norm_(layer.parameters(), 1.0)
    assert isinstance(norm, FakeTensor)
