"""Names that PyTorch programs use and that decide little here: settings, old types, old methods, modules to ask."""

from __future__ import annotations

import pytest

import minitorch


@pytest.fixture(autouse=True)
def settings():
    yield
    minitorch.use_deterministic_algorithms(False)
    minitorch.set_float32_matmul_precision("highest")
    minitorch.set_default_dtype(minitorch.float32)


def test_settings_are_what_was_set():
    minitorch.set_float32_matmul_precision("high")
    assert minitorch.get_float32_matmul_precision() == "high"
    with pytest.raises(ValueError, match="'x'"):
        minitorch.set_float32_matmul_precision("x")
    minitorch.use_deterministic_algorithms(True, warn_only=True)
    assert minitorch.are_deterministic_algorithms_enabled()
    assert minitorch.is_deterministic_algorithms_warn_only_enabled()
    assert minitorch.get_deterministic_debug_mode() == 1
    minitorch.set_deterministic_debug_mode("error")
    assert minitorch.get_deterministic_debug_mode() == 2
    with pytest.raises(RuntimeError, match="is not one of"):
        minitorch.set_deterministic_debug_mode(3)
    minitorch.backends.cudnn.benchmark = True
    assert minitorch.backends.cudnn.benchmark
    minitorch.backends.cudnn.benchmark = False
    assert not any(getattr(minitorch.backends, n).is_available() for n in ("cudnn", "mkl", "mkldnn", "openmp", "mps"))
    with minitorch.backends.cudnn.flags(enabled=False):
        pass
    assert not minitorch.distributed.is_available()
    assert minitorch.version.__version__ == minitorch.__version__


def test_anomaly_mode_can_be_asked_for():
    assert not minitorch.is_anomaly_enabled()
    with minitorch.autograd.set_detect_anomaly(True, check_nan=False):
        assert minitorch.is_anomaly_enabled()
        assert not minitorch.is_anomaly_check_nan_enabled()


def test_old_types():
    x = minitorch.FloatTensor([[1, 2]])
    assert (x.dtype, x.tolist()) == (minitorch.float32, [[1.0, 2.0]])
    assert minitorch.DoubleTensor(2, 3).shape == (2, 3)
    assert minitorch.LongTensor().shape == (0,)
    assert minitorch.ByteTensor(x.to(minitorch.uint8)).dtype is minitorch.uint8
    assert isinstance(x, minitorch.FloatTensor)
    assert not isinstance(x, minitorch.LongTensor)
    assert not isinstance(3, minitorch.FloatTensor)
    assert repr(minitorch.HalfTensor) == "<class 'torch.HalfTensor'>"
    assert not minitorch.FloatTensor.is_cuda
    with pytest.raises(TypeError, match="expected a tensor of"):
        minitorch.FloatTensor(x.double())
    minitorch.set_default_tensor_type("torch.DoubleTensor")
    assert minitorch.ones(1).dtype is minitorch.float64
    with pytest.raises(TypeError, match="only floating-point types"):
        minitorch.set_default_tensor_type(minitorch.LongTensor)
    assert [minitorch.typename(v) for v in (x, minitorch.float32, 3, minitorch.nn.ReLU())] == [
        "torch.FloatTensor", "torch.dtype", "int", "torch.nn.modules.activation.ReLU",
    ]  # fmt: skip
    with pytest.raises(AttributeError):
        minitorch.QuaternionTensor  # noqa: B018


def test_old_methods():
    x = minitorch.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.clone().apply_(lambda v: v * 2).tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert x.clone().map_(minitorch.ones(2), lambda a, b: a + b).tolist() == [[2.0, 3.0], [4.0, 5.0]]
    assert x.clone().map2_(x, x, lambda a, b, c: a + b * c).tolist() == [[2.0, 6.0], [12.0, 20.0]]
    with pytest.raises(RuntimeError, match="requires grad"):
        minitorch.ones(1, requires_grad=True).apply_(abs)
    with pytest.raises(TypeError, match="CPU tensors"):
        minitorch.ones(1, device="meta").apply_(abs)
    assert x.double().new([1]).dtype is minitorch.float64
    assert x.new(2, 3).shape == (2, 3)
    assert x.T.dim_order() == (1, 0)
    assert x.share_memory_() is x
    assert x.storage().untyped() == x.untyped_storage()
    assert minitorch.is_storage(x.storage())
    assert not any((x.is_xpu, x.is_nested, x.is_mkldnn, x.is_sparse_csr))
    assert x.name is None
    assert (x > 0)._is_all_true().item()


def test_compilers_of_python_leave_functions_as_they_are():
    jit = minitorch.jit

    @jit.script
    def double(x):
        return x * 2

    @jit.ignore(drop=True)
    def same(x):
        return x

    assert double(minitorch.ones(1)).item() == 2
    assert jit.trace(same, minitorch.ones(1)) is same
    assert not jit.is_scripting()


def test_one_process_and_one_device():
    model = minitorch.nn.DataParallel(minitorch.nn.Linear(2, 1))
    assert list(model.state_dict()) == ["module.weight", "module.bias"]
    assert model(minitorch.ones(3, 2)).shape == (3, 1)
    norms = minitorch.nn.Sequential(minitorch.nn.BatchNorm2d(3), minitorch.nn.Sequential(minitorch.nn.BatchNorm1d(4)))
    norms[0].running_mean.fill_(3.0)
    synced = minitorch.nn.SyncBatchNorm.convert_sync_batchnorm(norms.eval())
    assert [type(m).__name__ for m in synced.modules()][1::2] == ["SyncBatchNorm", "SyncBatchNorm"]
    assert synced[0].running_mean.tolist() == [3.0] * 3
    assert not synced[0].training
    assert synced[0](minitorch.ones(2, 3, 4, 4)).shape == (2, 3, 4, 4)
    with pytest.raises(ValueError, match="at least 2D"):
        synced[0](minitorch.ones(3))


def test_attention_is_computed_as_asked_for():
    from minitorch.nn.attention import SDPBackend, sdpa_kernel
    from minitorch.testing.logging_tensor import LoggingTensorMode

    q = minitorch.rand(1, 2, 5, 4)
    attention = minitorch.nn.functional.scaled_dot_product_attention
    results = {}
    for backend in (SDPBackend.MATH, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel([backend]), LoggingTensorMode() as mode:
            results[backend] = attention(q, q, q, is_causal=True)
        assert any("flash" in line for line in mode.logs) == (backend is SDPBackend.FLASH_ATTENTION)
    assert minitorch.allclose(*results.values(), atol=1e-6)
    with pytest.raises(AssertionError, match="expected an SDPBackend"), sdpa_kernel("math"):
        pass


def test_modules_of_types_and_tools():
    from minitorch.types import Device, Number
    from minitorch.utils.dlpack import from_dlpack, to_dlpack
    from minitorch.utils.hooks import RemovableHandle

    assert Number
    assert Device
    x = minitorch.ones(3)
    y = from_dlpack(to_dlpack(x))
    y[0] = 5
    assert x[0] == 5
    handle = minitorch.nn.ReLU().register_forward_hook(lambda *a: None)
    assert isinstance(handle, RemovableHandle)
