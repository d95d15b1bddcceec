"""Grad mode and inference mode: what is recorded, and what keys do (R15, R17, R18)."""

from __future__ import annotations

import pytest

import minitorch as mt
from minitorch.dispatch.key_set import after_ADInplaceOrView, after_autograd
from minitorch.dispatch.keys import AD_INPLACE_OR_VIEW, AUTOGRAD_KEYS
from minitorch.dispatch.library import Library
from minitorch.dispatch.local_state import below_ad_inplace_or_view, below_autograd, current


def keys():
    state = current()
    return bool(state.included & AD_INPLACE_OR_VIEW), state.excluded & AUTOGRAD_KEYS == AUTOGRAD_KEYS


NORMAL, INFERENCE = (True, False), (False, True)


@pytest.fixture
def levels():
    """An operator with kernels at three levels; calling returns the levels that ran."""
    lib = Library("testing", "FRAGMENT")
    lib.define("levels(Tensor x) -> Tensor")
    seen = []

    def through(name, scope, after):
        def kernel(key_set, x):
            seen.append(name)
            with scope():
                return mt.ops.testing.levels.default.redispatch(key_set & after, x)

        return kernel

    def cpu(x):
        seen.append("CPU")
        return x

    lib.impl("levels", through("Autograd", below_autograd, after_autograd), "Autograd", with_keyset=True)
    lib.impl(
        "levels", through("ADInplaceOrView", below_ad_inplace_or_view, after_ADInplaceOrView), "ADInplaceOrView",
        with_keyset=True,
    )
    lib.impl("levels", cpu, "CPU")

    def call(x):
        seen.clear()
        mt.ops.testing.levels(x)
        return list(seen)

    yield call
    lib._destroy()


def inference_tensor():
    with mt.inference_mode():
        return mt.ones(2)


# -- which levels run (R17) ------------------------------------------------------------


def test_which_levels_run(levels):
    normal, inference = mt.ones(2), inference_tensor()
    every = ["Autograd", "ADInplaceOrView", "CPU"]
    assert levels(normal) == every
    with mt.no_grad():
        assert levels(normal) == every
    with mt.inference_mode():
        assert levels(normal) == every[1:]
        assert levels(inference) == ["CPU"]
    assert levels(inference) == every[1:]
    with below_autograd():
        assert levels(normal) == every[1:]
    with below_ad_inplace_or_view():
        assert levels(normal) == ["CPU"]


# -- scopes (R15) ----------------------------------------------------------------------


def test_scopes_and_keys():
    assert keys() == NORMAL
    for scope in (mt.no_grad, mt.enable_grad, lambda: mt.set_grad_enabled(False)):
        with scope():
            assert keys() == NORMAL
    with mt.inference_mode():
        assert keys() == INFERENCE
        assert not mt.is_grad_enabled()
        with mt.inference_mode(False):
            assert keys() == NORMAL
            assert mt.is_grad_enabled()
            assert not mt.is_inference_mode_enabled()
        assert keys() == INFERENCE
    assert keys() == NORMAL
    assert mt.is_grad_enabled()


def test_scopes_end_with_an_error():
    for scope in (mt.no_grad, mt.inference_mode):
        with pytest.raises(ValueError, match="stop"):
            with scope():
                raise ValueError("stop")
        assert keys() == NORMAL
        assert mt.is_grad_enabled()


def test_set_grad_enabled_acts_at_once():
    mt.set_grad_enabled(False)
    try:
        assert not mt.is_grad_enabled()
    finally:
        mt.set_grad_enabled(True)
    with mt.set_grad_enabled(False):
        assert not (mt.ones(2, requires_grad=True) * 2).requires_grad
    assert mt.is_grad_enabled()


@pytest.mark.parametrize(
    "decorator",
    [
        lambda: mt.no_grad, lambda: mt.no_grad(), lambda: mt.inference_mode, lambda: mt.inference_mode(),
        lambda: mt.set_grad_enabled(False),
    ],
)
def test_scopes_decorate_functions(decorator):
    @decorator()
    def work(x):
        """Say something."""
        return x * 2

    assert work.__name__ == "work"
    assert work.__doc__ == "Say something."
    for _ in range(2):
        assert not work(mt.ones(2, requires_grad=True)).requires_grad
    assert mt.is_grad_enabled()


def test_scopes_decorate_generators():
    @mt.no_grad()
    def work():
        received = yield mt.is_grad_enabled()
        try:
            yield received, mt.is_grad_enabled()
        except ValueError:
            yield "caught", mt.is_grad_enabled()
        return "end"

    generator = work()
    assert next(generator) is False
    assert mt.is_grad_enabled()
    assert generator.send(5) == (5, False)
    assert generator.throw(ValueError()) == ("caught", False)
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == "end"


def test_scopes_nest():
    with mt.no_grad():
        with mt.enable_grad():
            assert (mt.ones(2, requires_grad=True) * 2).requires_grad
        assert not mt.is_grad_enabled()
    scope = mt.no_grad()
    for _ in range(2):
        with scope:
            assert not mt.is_grad_enabled()
        assert mt.is_grad_enabled()


# -- inference tensors (R18) -----------------------------------------------------------


def test_inference_tensors_have_no_version():
    x = inference_tensor()
    assert x.is_inference()
    with pytest.raises(RuntimeError, match="do not track version"):
        _ = x._version


def test_inplace_on_inference_tensors():
    x = inference_tensor()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        x.add_(1)
    with mt.no_grad():
        with pytest.raises(RuntimeError, match="Inplace update"):
            x.zero_()
    with mt.inference_mode():
        x.add_(1)
    assert x.tolist() == [2.0, 2.0]


def test_what_comes_of_inference_tensors():
    x = inference_tensor()
    assert x.view(2, 1).is_inference()
    assert x[0].is_inference()
    assert not (x + 1).is_inference()
    assert not x.clone().is_inference()
    with mt.inference_mode():
        assert (x + 1).is_inference()
        assert x.view(2, 1).is_inference()


def test_what_comes_of_normal_tensors_in_inference_mode():
    x = mt.ones(2, requires_grad=True) * 1
    with mt.inference_mode():
        view, result = x.view(2, 1), x + 1
        x.add_(1)
        assert not (mt.ones(2, requires_grad=True) * 2).requires_grad
    assert not view.is_inference()
    assert view._base is x
    assert result.is_inference()
    assert x._version == 1


def test_inference_tensors_and_gradients():
    constant, x = inference_tensor(), mt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires_grad=True on inference tensor"):
        constant.requires_grad_()
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * constant
    (x + constant).sum().backward()
    (x * constant.clone()).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_inference_tensors_as_operands():
    constant, x = inference_tensor(), mt.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved"):
        (x * 1).mul_(constant)
    for write in (
        lambda: constant.t_(), lambda: constant[0].zero_(), lambda: constant.copy_(mt.ones(2)),
        lambda: mt.add(mt.ones(2), 1, out=constant), lambda: constant.view(2, 1).mul_(2),
    ):
        with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            write()
    assert constant.tolist() == [1.0, 1.0]
    normal = mt.ones(2)
    assert not normal.add_(constant).is_inference()
    assert normal._version == 1
    assert constant.detach().is_inference()
    with mt.inference_mode():
        assert mt.ones(2).requires_grad_().requires_grad
        with mt.inference_mode(False):
            assert not mt.ones(2).is_inference()
            assert (x * 2).requires_grad
            with pytest.raises(RuntimeError, match="Inplace update"):
                constant.add_(1)
