"""The scopes of spec R15: what each does to the ambient sets, that it nests, and that it ends with an error."""

from __future__ import annotations

import contextlib
import threading

import pytest

import minitorch
from minitorch.dispatch import introspect
from minitorch.dispatch.key_set import DispatchKeySet, autograd_keys
from minitorch.dispatch.local_state import (
    ExcludeKeysGuard,
    IncludeKeysGuard,
    below_ad_inplace_or_view,
    below_autograd,
    current,
)
from minitorch.dispatch.scopes import (
    autocast_level,
    disable_functorch,
    disable_python_dispatcher,
    disable_torch_dispatch,
    enable_pre_dispatch,
    enable_python_dispatcher,
    include_functionalize,
    include_functorch_layers,
)
from minitorch.dispatch.transforms import Interpreter, TransformType, current_interpreter, interpreter_stack
from minitorch.modes import TorchDispatchMode


def ambient() -> tuple[set[str], set[str]]:
    return (
        set(introspect.tls_included().functionalities()),
        set(introspect.tls_excluded().functionalities()),
    )


class Transform(Interpreter):
    transform = TransformType.Grad


AUTOGRAD = set(autograd_keys.functionalities())
LAYERS = {"FuncTorchDynamicLayerFrontMode", "FuncTorchDynamicLayerBackMode"}
PYTHON = {"Python", "PythonTLSSnapshot"}

# scope: (included more, included less, excluded more, excluded less)
_SCOPES = {
    "no_grad": (minitorch.no_grad, set(), set(), set(), set()),
    "enable_grad": (minitorch.enable_grad, set(), set(), set(), set()),
    "inference_mode": (minitorch.inference_mode, set(), {"ADInplaceOrView"}, AUTOGRAD, set()),
    "below_autograd": (below_autograd, set(), set(), AUTOGRAD, set()),
    "below_ad_inplace_or_view": (
        below_ad_inplace_or_view,
        set(),
        set(),
        AUTOGRAD | {"ADInplaceOrView"},
        set(),
    ),
    "autocast on": (lambda: autocast_level("cpu"), set(), set(), set(), {"AutocastCPU"}),
    "autocast of cuda on": (lambda: autocast_level("cuda"), set(), set(), set(), {"AutocastCUDA"}),
    "autocast off": (lambda: autocast_level("cpu", False), set(), set(), set(), set()),
    "dispatch mode": (TorchDispatchMode, PYTHON, set(), set(), set()),
    "disable_torch_dispatch": (disable_torch_dispatch, set(), set(), PYTHON | {"PreDispatch"}, set()),
    "functorch layer": (Transform, LAYERS, set(), set(), set()),
    "include_functorch_layers": (include_functorch_layers, LAYERS, set(), set(), set()),
    "disable_functorch": (disable_functorch, set(), set(), LAYERS, set()),
    "functionalize": (include_functionalize, {"Functionalize"}, set(), set(), set()),
    "python dispatcher": (enable_python_dispatcher, {"PythonDispatcher"}, set(), set(), set()),
    "python dispatcher off": (disable_python_dispatcher, set(), set(), {"PythonDispatcher"}, set()),
    "pre-dispatch": (enable_pre_dispatch, {"PreDispatch"}, set(), set(), set()),
}


@pytest.mark.parametrize("name", _SCOPES)
def test_what_a_scope_changes(name):
    scope, included, not_included, excluded, not_excluded = _SCOPES[name]
    outside = ambient()
    with scope():
        assert ambient() == (
            outside[0] - not_included | included,
            outside[1] - not_excluded | excluded,
        )
    assert ambient() == outside


@pytest.mark.parametrize("name", _SCOPES)
def test_scopes_nest_and_end_with_errors(name):
    scope = _SCOPES[name][0]
    outside = ambient()
    with scope():
        inside = ambient()
        with scope():
            assert ambient() == inside
        with pytest.raises(KeyError), scope():
            raise KeyError
        assert ambient() == inside
    assert ambient() == outside


def test_a_scope_undoes_only_what_it_did():
    """An inner scope ends, and what the outer one had changed before stays."""
    with ExcludeKeysGuard(DispatchKeySet("Python")):
        with disable_torch_dispatch():
            pass
        assert introspect.tls_is_excluded("Python")
        assert not introspect.tls_is_excluded("PreDispatch")
    with IncludeKeysGuard(DispatchKeySet("FuncTorchDynamicLayerFrontMode")):
        with Transform():
            assert ambient()[0] >= LAYERS
        assert ambient()[0] & LAYERS == {"FuncTorchDynamicLayerFrontMode"}


def test_inference_mode_off_undoes_it():
    with minitorch.inference_mode():
        with minitorch.inference_mode(False):
            included, excluded = ambient()
            assert "ADInplaceOrView" in included
            assert not AUTOGRAD & excluded
            assert minitorch.is_grad_enabled()
            assert current().forward_grad_enabled
        assert not minitorch.is_grad_enabled()
        assert not current().forward_grad_enabled
    # Also where autograd keys were excluded by another scope, and grad mode was off.
    with minitorch.no_grad(), below_autograd(), minitorch.inference_mode(False):
        assert not AUTOGRAD & ambient()[1]
        assert minitorch.is_grad_enabled()


def test_autocast_scopes_touch_one_key_each():
    with autocast_level("cpu"), autocast_level("cuda"):
        with autocast_level("cpu", False):
            excluded = ambient()[1]
            assert "AutocastCPU" in excluded
            assert "AutocastCUDA" not in excluded
        assert not introspect.tls_is_excluded("AutocastCPU")
    with pytest.raises(ValueError, match="no autocast for the device type 'meta'"):
        autocast_level("meta")


def test_excluded_beats_included_in_every_pair(recorder, bare):
    record = recorder("f(Tensor x) -> ()")
    for key in ("CPU", "Functionalize", "PreDispatch"):
        record.kernel(key)
    x = bare("CPU")
    with enable_pre_dispatch():
        assert record.call(x) == ["PreDispatch"]
        with disable_torch_dispatch():
            assert record.call(x) == ["CPU"]
    with include_functionalize():
        assert record.call(x) == ["Functionalize"]


def test_a_new_thread_is_in_no_scope():
    """R5: whatever its creator is inside of."""
    seen = []

    def look():
        state = current()
        seen.append((ambient(), minitorch.is_grad_enabled(), minitorch.is_inference_mode_enabled()))
        seen.append((state.dispatch_modes, state.function_modes, state.trace, interpreter_stack()))

    outside = ambient()
    with contextlib.ExitStack() as stack:
        for scope, *_ in _SCOPES.values():
            stack.enter_context(scope())
        stack.enter_context(minitorch.no_grad())
        assert ambient() != outside
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen == [(outside, True, False), (None, None, 0, ())]
    assert ambient() == outside


# -- the stack of transforms -----------------------------------------------------------


def test_transforms_stack_up():
    assert interpreter_stack() == ()
    with pytest.raises(RuntimeError, match="no transform"):
        current_interpreter()
    with Transform() as outer, Transform() as inner:
        assert (outer.level, inner.level) == (1, 2)
        assert interpreter_stack() == (outer, inner)
        assert current_interpreter() is inner
        with pytest.raises(RuntimeError, match="active already"):
            outer.__enter__()
        with pytest.raises(RuntimeError, match="not the innermost"), outer.lower():
            pass
    assert interpreter_stack() == ()
    assert outer.level == 0


def test_lower_takes_the_innermost_out_of_the_way():
    outside = ambient()
    with Transform() as outer, Transform() as inner:
        with inner.lower():
            assert interpreter_stack() == (outer,)
            assert ambient()[0] >= LAYERS
            with outer.lower():
                assert interpreter_stack() == ()
                assert ambient() == outside
        assert interpreter_stack() == (outer, inner)
        with pytest.raises(KeyError), inner.lower():
            raise KeyError
        assert interpreter_stack() == (outer, inner)


def test_lower_brings_back_the_ambient_sets_of_the_call():
    with Transform() as interpreter:
        interpreter.ambient = (introspect.tls_included().bits, introspect.tls_excluded().bits)
        with below_autograd():
            with interpreter.lower():
                assert not AUTOGRAD & ambient()[1]
                assert not LAYERS & ambient()[0]
            assert ambient()[1] >= AUTOGRAD
