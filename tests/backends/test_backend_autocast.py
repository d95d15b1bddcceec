"""Autocast of devices from outside of the tree: registered backends, and keys that somebody fills one by one."""

from __future__ import annotations

import warnings

import pytest
from fresh import in_fresh_process

import minitorch
from minitorch import amp


@in_fresh_process
def test_a_registered_backend_has_cudas_lists():
    from toy_backend import ToyBackend

    from minitorch.backends import fallback_policy, register_backend

    class Toy(ToyBackend):
        autocast_dtypes = (minitorch.bfloat16,)

    register_backend("toy", Toy())
    assert minitorch.get_autocast_dtype("toy") is minitorch.bfloat16
    assert not minitorch.is_autocast_enabled("toy")
    with fallback_policy("allow"):
        x = minitorch.ones(2, 2).to("toy")
        w = minitorch.ones(2, 2).to("toy").requires_grad_()
        with minitorch.autocast("toy"):
            y = minitorch.mm(x, w)
            assert y.dtype is minitorch.bfloat16
            assert y.softmax(0).dtype is minitorch.float32
            assert minitorch.mm(x.cpu(), x.cpu()).dtype is minitorch.float32
            loss = minitorch.nn.functional.mse_loss(y, x)
        assert loss.dtype is minitorch.float32
        scaler = amp.GradScaler("toy", init_scale=4.0)
        optimizer = minitorch.optim.SGD([w], lr=1.0)
        scaler.scale(loss).backward()
        assert w.grad.dtype is minitorch.float32
        assert w.grad.device.type == "toy"
        scaler.step(optimizer)
        scaler.update()
        assert w.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert dict(amp.policies("toy")) == dict(amp.policies("cuda"))
    with pytest.warns(UserWarning, match="In toy autocast, but the target dtype torch.float16 is not supported"):
        minitorch.autocast("toy", minitorch.float16)


@in_fresh_process
def test_a_backend_without_dtypes_has_no_autocast():
    from toy_backend import ToyBackend

    from minitorch.backends import register_backend

    register_backend("toy", ToyBackend())
    with pytest.warns(UserWarning, match="only supports dtypes of none"):
        minitorch.autocast("toy")
    assert len(amp.policies("toy")) == 0


def register_late():
    """Register what `test_a_lazy_backend_is_loaded_for_its_policies` asks for."""
    from toy_backend import ToyBackend

    from minitorch.backends import register_backend

    class Toy(ToyBackend):
        autocast_dtypes = (minitorch.bfloat16, minitorch.float16)

    register_backend("toy", Toy())


@in_fresh_process
def test_a_lazy_backend_is_loaded_for_its_policies():
    from minitorch.backends import register_lazy_backend, registered_backends

    register_lazy_backend("toy", "PrivateUse1", "test_backend_autocast:register_late")
    assert "toy" not in registered_backends()
    minitorch.set_autocast_enabled("toy", True)
    assert "toy" in registered_backends()
    assert amp.policies("toy")["mm"] == "lower_precision_fp"
    assert minitorch.get_autocast_dtype("toy") is minitorch.bfloat16


@in_fresh_process
def test_a_key_without_a_device_module():
    with pytest.raises(AssertionError, match="Tried to use AMP with the 'privateuseone' backend.*get_amp_supported_dtype"):
        minitorch.autocast("privateuseone")
    minitorch.utils.rename_privateuse1_backend("npu")

    class Module:
        @staticmethod
        def get_amp_supported_dtype():
            return [minitorch.float16]

    minitorch._register_device_module("npu", Module())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with minitorch.autocast("npu"):
            assert minitorch.is_autocast_enabled("privateuseone")
            assert minitorch.get_autocast_dtype("npu") is minitorch.float16
    assert not minitorch.is_autocast_enabled("npu")


@in_fresh_process
def test_kernels_that_a_backend_brought_stay():
    from toy_backend import ToyBackend

    from minitorch.backends import register_backend

    class Toy(ToyBackend):
        autocast_dtypes = (minitorch.float16,)

    backend = register_backend("toy", Toy())
    lib = minitorch.library.Library("aten", "IMPL")
    lib.impl("mm", lambda a, b: a, f"Autocast{backend.key}")
    x, w = minitorch.ones(2, 2).to("toy"), minitorch.ones(2, 2).to("toy")
    with minitorch.autocast("toy"):
        assert minitorch.ops.aten.mm.default(x, w) is x
    assert "mm" not in amp.policies("toy")
    assert "bmm" in amp.policies("toy")
